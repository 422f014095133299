/*
 * jfrfix.h - recordings of our own making, one small subject each, with what they must give.
 *
 * rows: a line a row, in byte order:
 *
 *     EVENT TIME[+DUR] wWEIGHT [xCOUNT] THREAD STACK [class=CLASS]
 *
 * TIME and DUR in ns, THREAD "-" when there is none, bytes below 0x21 and '%' as %XX; STACK is root
 * first, frames joined by ';', each NAME[:LINE][KIND], KIND a letter: i interpreted, j JIT, n
 * inlined, c C1, u native code, k kernel, s made by us, ? unknown. The values were worked out by
 * hand from the reference of the format.
 */
#ifndef TESTS_JFRFIX_H
#define TESTS_JFRFIX_H

#include "jfrgen.h"

enum jfr_outcome {
    JFR_WHOLE,      /* FM_OK */
    JFR_DAMAGED,    /* rows, and a damage */
    JFR_NOTHING     /* nothing usable */
};

struct jfr_fixture {
    const char *name;
    void (*make)(struct jfr *g);
    enum jfr_outcome outcome;
    const char *rows;        /* NULL: not compared, only counted */
    unsigned samples;        /* with rows == NULL: rows there are at least */
    unsigned at_most;        /* 0: the same */
    const char *message;     /* part of the error, or NULL */
};

extern const struct jfr_fixture jfr_fixtures[];       /* name NULL at the end */
extern const struct jfr_fixture jfr_damages[];
const struct jfr_fixture *jfr_fixture_find(const char *name);

/* Of version 0.9. */
void jfr_09_hotspot(struct jfr *g);
void jfr_09_reused_keys(struct jfr *g);
void jfr_09_two_chunks(struct jfr *g);
void jfr_09_then_2(struct jfr *g);
void jfr_09_cut(struct jfr *g);
void jfr_09_cut_behind_2(struct jfr *g);
void jfr_09_event_size(struct jfr *g);
void jfr_09_endless(struct jfr *g);

/* What events mean: jfrmean.c. */
void jfr_modes_profiler(struct jfr *g);
void jfr_modes_hotspot(struct jfr *g);

/* The parts that most of them are made of. */
extern const char jfr_pools_text[];
void jfr_small_chunk(struct jfr *g, uint64_t start_ns, uint64_t start_ticks);

#endif
