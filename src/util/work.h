/*
 * work.h - the only code that makes threads: run n independent jobs on up to `threads` workers.
 *
 * Jobs are taken in index order. The result must not depend on which worker runs a job; join in
 * index order afterwards. With threads <= 1 all runs on the caller's thread.
 */
#ifndef FM_UTIL_WORK_H
#define FM_UTIL_WORK_H

#include "util/base.h"

/* Runs fn(user, i) for i in [0, n). Returns when all are done. A thread that cannot be made is
 * done without. */
void fm_work_run(unsigned threads, size_t n, void (*fn)(void *user, size_t i), void *user);

#endif
