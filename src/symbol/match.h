/*
 * match.h - which symbol covers which address: a few sorted addresses meet many unsorted symbols.
 *
 * A module has up to some ten thousand frames and up to millions of symbols, so the symbols are
 * never kept nor sorted: each is offered once, and only those that touch an address stay.
 *
 *     points (sorted)   a0   a1     a2        a3   a4
 *     symbol, sized        [========)                    -> hits a1 a2: kept as a hit
 *     symbol, size 0                       |------...    -> may name a3: kept as `near` of a3
 *     symbol, sized                                   [) -> hits nothing: forgotten
 *
 * The rules (choice among symbols of equal start as perf makes it):
 *  - a sized symbol names what it covers; of several the innermost, that is the one that starts
 *    last; of equal starts: not weak, global, fewer leading underscores, longer name, no SyS_
 *    alias, first in the file; underscores and length as the name is shown (see `show`);
 *  - a symbol of size 0 reaches to the next symbol's start, or to its limit (end of its section, of
 *    its page); of several with one start the last in the file counts, and one with a size wins;
 *  - an address inside a sized symbol is not named by a label of size 0 within it.
 *
 * Names are borrowed: they must stay until the caller has read the picks.
 */
#ifndef FM_SYMBOL_MATCH_H
#define FM_SYMBOL_MATCH_H

#include "util/mem.h"

enum fm_binding { FM_BIND_LOCAL, FM_BIND_GLOBAL, FM_BIND_WEAK };

struct fm_symbol {
    uint64_t start;
    uint64_t size;           /* 0: up to the next symbol */
    uint64_t limit;          /* size 0: it ends here at the latest */
    const char *name;        /* not terminated */
    uint32_t length;
    uint8_t binding;         /* enum fm_binding */
};

struct fm_point {
    uint64_t address;        /* in the address space of the symbols */
    uint32_t user;           /* the caller's: index of a frame */
    uint32_t pick;           /* after fm_match_finish(): place in `pick`, or UINT32_MAX */
};

struct fm_hit;

/* How a name is shown: its length and leading underscores once demangled. */
typedef void fm_match_show(void *user, const char *name, size_t n, uint32_t *length,
                           uint32_t *underscores);

struct fm_match {
    struct fm_mem *mem;
    struct fm_point *point;  /* sorted by address */
    size_t points;
    struct fm_symbol *pick;  /* the symbols that name something */
    size_t picks, pick_cap;
    struct fm_symbol *near;  /* by point: symbol with the greatest start up to it */
    struct fm_hit *hit;
    size_t hits, hit_cap;
    fm_match_show *show;     /* NULL: names are shown as they are */
    void *show_user;
    size_t hint;             /* point where the last symbol began: lists are often sorted */
    bool oom;                /* sticks */
};

/* Sorts points by address, equal ones in their order. FM_NOMEM is the only failure. */
enum fm_status fm_points_sort(struct fm_mem *mem, struct fm_point *point, size_t n);
/* The first of n sorted points at or after an address. */
size_t fm_points_find(const struct fm_point *point, size_t n, uint64_t address);
/* Union-find over [0, n]: next[i] = i where free. The first free place from i on. */
size_t fm_points_free(uint32_t *next, size_t i);

/* Sorts the points in place (by address, equal ones in their order); `point` stays the caller's.
 * FM_NOMEM is the only failure. */
enum fm_status fm_match_init(struct fm_match *match, struct fm_mem *mem, struct fm_point *point,
                             size_t points);
void fm_match_release(struct fm_match *match);

/* False when offering a symbol of this start and size would change nothing: its name need not even
 * be looked at. */
bool fm_match_touches(struct fm_match *match, uint64_t start, uint64_t size);
void fm_match_offer(struct fm_match *match, const struct fm_symbol *symbol);

/* True when a point lies in [start, end). */
bool fm_match_wants(const struct fm_match *match, uint64_t start, uint64_t end);

/* Forgets all offers. */
void fm_match_clear(struct fm_match *match);

/* Decides: point[i].pick. Points that no symbol names keep UINT32_MAX. FM_NOMEM only. */
enum fm_status fm_match_finish(struct fm_match *match);

#endif
