/*
 * debuginfod.h - files by build-id from debuginfod servers, when the user asks for that.
 *
 * elfutils' client library is opened at run time. It asks the servers of $DEBUGINFOD_URLS and keeps
 * what it gets in its own cache ($DEBUGINFOD_CACHE_PATH), which it looks into first. One file may
 * take half a minute, all together two; servers that fail three times are asked no more.
 */
#ifndef FM_SYMBOL_DEBUGINFOD_H
#define FM_SYMBOL_DEBUGINFOD_H

#include "util/mem.h"

enum fm_debuginfod_state {
    FM_DEBUGINFOD_NEW,       /* nothing was asked for yet */
    FM_DEBUGINFOD_READY,
    FM_DEBUGINFOD_NO_URLS,   /* DEBUGINFOD_URLS is not set */
    FM_DEBUGINFOD_NO_LIBRARY,
    FM_DEBUGINFOD_FAILED     /* too many failures, or too long */
};

struct fm_debuginfod {
    enum fm_debuginfod_state state;
    void *library, *client;
    int (*find[2])(void *client, const unsigned char *build_id, int n, char **path);
    void (*end)(void *client);
    uint64_t spent;          /* ns */
    unsigned failures;
};

enum fm_debuginfod_kind { FM_DEBUGINFOD_DEBUG, FM_DEBUGINFOD_PROGRAM };

/* Writes the path of a file with that build-id (hexadecimal) to path[0..n); false: none. */
bool fm_debuginfod_find(struct fm_debuginfod *d, enum fm_debuginfod_kind kind,
                        const char *build_id, char *path, size_t n);
void fm_debuginfod_release(struct fm_debuginfod *d);

#endif
