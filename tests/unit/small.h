/*
 * small.h - a store of six rows for the tests of selections and exporters, and a memory sink.
 *
 *   row event        ts  weight count  thread        stack
 *   0   cpu-clock   1100     10     1  10/10 app     main;work (at 0x10)
 *   1   cpu-clock   1200     20     1  10/10 app     main;work (at 0x20);kfn
 *   2   cpu-clock   1150      5     1  10/11 wor;ker main
 *   3   page-faults 1300      1     1  10/10 app     main;(no name, /usr/bin/app)
 *   4   cpu-clock   1400      7     1  10/10 app     none
 *   5   cpu-clock   none      3     2  10/10 app     main;work (at 0x10)
 *
 * Times are in microseconds here. Label "size" (bytes): 100 for row 0, 50 for row 2. Label "ip"
 * (address): 0x1000 + row.
 */
#ifndef FM_TESTS_UNIT_SMALL_H
#define FM_TESTS_UNIT_SMALL_H

#include "store/select.h"

struct fm_store *small_store(struct fm_ctx *ctx);

/* Collects what a sink is given; NUL-terminated, from malloc(). */
struct small_text {
    char *s;
    size_t n;
};
int small_write(void *user, const void *data, size_t n);

/* The store through an exporter, as text to be freed; NULL with err set on failure. */
char *small_export(struct fm_ctx *ctx, struct fm_store *store, const char *exporter,
                   const struct fm_select_options *select,
                   const struct fm_export_options *options, struct fm_error *err);

#endif
