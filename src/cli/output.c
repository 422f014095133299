/*
 * output.c - where results go: standard output, or a file that appears whole or not at all.
 *
 *     convert IN -o dir/flame.svg      bytes -> dir/.flame.svg.PID.tmp -> rename -> dir/flame.svg
 *
 * A failure or a signal removes the temporary file; an existing flame.svg stays as it was until the
 * new one is complete, keeps its permissions, and may be an input of the same command. A symbolic
 * link stays a link: the file behind it is replaced.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ----------------------------------------------------------------- signals */

/* The temporary file that a signal must remove: set before it is created, so that no moment is
 * left out; removing a file that is not there does no harm. */
static const char *volatile pending;

static void interrupted(int sig)
{
    if (pending)
        unlink(pending);
    if (sig == SIGINT)
        _exit(EXIT_INTERRUPTED);
    signal(sig, SIG_DFL);
    raise(sig);
}

void catch_signals(void)
{
    struct sigaction action = {.sa_handler = interrupted};
    struct sigaction old;
    static const int sig[] = {SIGINT, SIGTERM, SIGHUP};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(sig) / sizeof(sig[0]); i++) {
        /* A shell without job control starts its background jobs with SIGINT ignored. */
        if (sigaction(sig[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(sig[i], &action, NULL);
    }
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

/* ------------------------------------------------------------------- files */

static int write_fd(void *user, const void *data, size_t n)
{
    const char *p = data;
    int fd = *(int *)user;

    while (n > 0) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return errno;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static bool failed(const char *what, const char *path)
{
    say("cannot %s '%s': %s", what, path, strerror(errno));
    return false;
}

static bool is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

/* Splits a path: *folder is a new string without the last component ("." when it is alone), *name
 * points into path. */
static char *folder_of(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char *folder;

    *name = slash ? slash + 1 : path;
    if (!slash)
        return join(".", "", "");
    folder = join(path, "", "");
    folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

/* The file behind symbolic links, a new string; path itself when it does not exist. */
static char *resolve(const char *path)
{
    char *target = realpath(path, NULL);

    return target ? target : join(path, "", "");
}

static bool exists_irregular(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

bool output_possible(const char *path)
{
    const char *name;
    char *target, *folder;
    bool good;
    struct stat st;

    if (is_stdout(path))
        return true;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return failed("write", path);
    }
    if (exists_irregular(path))
        return access(path, W_OK) == 0 || failed("write", path);
    target = resolve(path);
    folder = folder_of(target, &name);
    good = access(folder, W_OK | X_OK) == 0 || failed("create", path);
    free(folder);
    free(target);
    return good;
}

bool output_open(struct output *output, const char *path)
{
    const char *name;
    char *folder, *stem;
    char suffix[40];
    struct stat st;

    *output = (struct output){.path = path, .fd = STDOUT_FILENO};
    output->sink = (struct fm_sink){write_fd, &output->fd};
    if (is_stdout(path)) {
        output->path = NULL;
        return true;
    }
    output->target = resolve(path);
    if (exists_irregular(path)) {
        output->fd = open(path, O_WRONLY | O_CLOEXEC);
        return output->fd >= 0 || failed("write", path);
    }
    folder = folder_of(output->target, &name);
    snprintf(suffix, sizeof(suffix), ".%ld.tmp", (long)getpid());
    stem = join(folder, "/.", name);
    output->temporary = join(stem, suffix, "");
    free(stem);
    free(folder);
    pending = output->temporary;
    output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (output->fd < 0)
        return failed("create", path);
    if (stat(output->target, &st) == 0 && fchmod(output->fd, st.st_mode & 07777) != 0)
        return failed("set the permissions of", path);
    return true;
}

bool output_close(struct output *output, bool keep)
{
    bool good = true;

    if (output->path && output->fd >= 0 && close(output->fd) != 0 && keep)
        good = failed("write", output->path);
    if (output->temporary) {
        if (keep && good && rename(output->temporary, output->target) != 0)
            good = failed("create", output->path);
        if (!keep || !good)
            unlink(output->temporary);
        pending = NULL;
    }
    free(output->temporary);
    free(output->target);
    output->temporary = output->target = NULL;
    return good;
}

/* --------------------------------------------------------- standard output */

/* Past stdio, which forgets why a write failed: the caller has the reason, and stdout_done() finds
 * nothing left over. */
static int write_stdout(void *user, const void *data, size_t n)
{
    int fd = STDOUT_FILENO;

    (void)user;
    return fflush(stdout) == 0 ? write_fd(&fd, data, n) : errno;
}

const struct fm_sink stdout_sink = {write_stdout, NULL};

int stdout_done(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno == EPIPE)
        return status;
    say("cannot write to standard output: %s", strerror(errno ? errno : EIO));
    return exit_worse(status, EXIT_NOTHING);
}
