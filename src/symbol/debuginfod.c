/*
 * debuginfod.c - asking debuginfod servers through elfutils' library: see debuginfod.h.
 *
 * Of the library five functions are used, as debuginfod_find_debuginfo(3) describes them:
 *
 *     client *debuginfod_begin(void)          void debuginfod_end(client *)
 *     int debuginfod_find_debuginfo(client *, const unsigned char *build_id, int n, char **path)
 *     int debuginfod_find_executable(the same)        n == 0: the build-id is hexadecimal text;
 *                                                     an open file and its path, or -errno
 *     void debuginfod_set_progressfn(client *, int (*)(client *, long, long))   not 0: give up
 */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FILE_NS ((uint64_t)30 * 1000000000)
#define ALL_NS ((uint64_t)120 * 1000000000)
#define FAILURES 3

/* Of the call that runs in this thread: the library's callback is told nothing of the caller's. */
static _Thread_local uint64_t deadline;

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int progress(void *client, long done, long total)
{
    (void)client;
    (void)done;
    (void)total;
    return now() > deadline;
}

/* A function by name; ISO C does not turn dlsym()'s object pointer into one. */
static bool symbol(void *library, const char *name, void *function)
{
    void *p = dlsym(library, name);

    memcpy(function, &p, sizeof p);
    return p != NULL;
}

static enum fm_debuginfod_state begin(struct fm_debuginfod *d)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    void *(*start)(void) = NULL;
    void (*set_progress)(void *, int (*)(void *, long, long)) = NULL;

    if (urls == NULL || urls[0] == '\0')
        return FM_DEBUGINFOD_NO_URLS;
    d->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (d->library == NULL || !symbol(d->library, "debuginfod_begin", &start) ||
        !symbol(d->library, "debuginfod_end", &d->end) ||
        !symbol(d->library, "debuginfod_find_debuginfo", &d->find[FM_DEBUGINFOD_DEBUG]) ||
        !symbol(d->library, "debuginfod_find_executable", &d->find[FM_DEBUGINFOD_PROGRAM]) ||
        !symbol(d->library, "debuginfod_set_progressfn", &set_progress))
        return FM_DEBUGINFOD_NO_LIBRARY;
    d->client = start();
    if (d->client == NULL)
        return FM_DEBUGINFOD_FAILED;
    set_progress(d->client, progress);
    return FM_DEBUGINFOD_READY;
}

bool fm_debuginfod_find(struct fm_debuginfod *d, enum fm_debuginfod_kind kind,
                        const char *build_id, char *path, size_t n)
{
    const uint64_t start = now();
    char *found = NULL;
    int fd, length = -1;

    if (d->state == FM_DEBUGINFOD_NEW)
        d->state = begin(d);
    if (d->state != FM_DEBUGINFOD_READY || build_id[0] == '\0')
        return false;
    deadline = start + FM_MIN(FILE_NS, ALL_NS - d->spent);
    fd = d->find[kind](d->client, (const unsigned char *)build_id, 0, &found);
    d->spent += now() - start;
    if (fd >= 0) {
        close(fd);
        if (found != NULL)
            length = snprintf(path, n, "%s", found);
        free(found);
    } else if (fd != -ENOENT) {
        d->failures++;
    }
    if (d->failures >= FAILURES || d->spent >= ALL_NS)
        d->state = FM_DEBUGINFOD_FAILED;
    return length > 0 && (size_t)length < n;
}

void fm_debuginfod_release(struct fm_debuginfod *d)
{
    if (d->client != NULL)
        d->end(d->client);
    /* the library stays: what it loaded in turn may have left handlers in this process */
    memset(d, 0, sizeof *d);
}
