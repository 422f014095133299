/*
 * jfrfold.h - folded stacks worked out from the right values of a recording (jfrjson.h), in two
 * ways: as they should be, and as async-profiler's converter prints them, whose output lies beside
 * the recordings (NAME.MODE[-OPTION...].collapsed.gz). Where the two differ the second proves that
 * the first is understood: the list is in jfrfold.c.
 */
#ifndef TESTS_JFRFOLD_H
#define TESTS_JFRFOLD_H

#include "jfrjson.h"

struct fold_line {
    char *text;                  /* without the count */
    uint64_t n;
    uint64_t samples;            /* how many went into n, where that is known */
};

struct fold {
    struct fold_line *line;
    size_t lines, cap;
};

struct fold_how {
    char mode[16];
    bool threads, lines, total, bci, dot, simple, norm, classify;
    bool converter;              /* as that prints them */
    bool jfrconv;                /* its habits with names alone: --names jfrconv */
};

/* Takes "alloc-lines-total" apart; false: unknown. */
bool fold_parse(struct fold_how *how, const char *text, size_t n);

void fold_from(struct fold *fold, const struct jx *x, const struct fold_how *how);
/* What samples of the mode without a stack sum to. */
uint64_t fold_stackless(const struct jx *x, const struct fold_how *how);
/* Reads "text count" lines. */
void fold_add(struct fold *fold, const char *text, size_t n, uint64_t count);
bool fold_read(struct fold *fold, const char *data, size_t n);
/* Sorts by text and sums equal ones. */
void fold_merge(struct fold *fold);
/* Takes " tid=N" out of thread frames "[name tid=N]", which is a key for HotSpot. */
void fold_drop_tids(struct fold *fold, const struct jx *x);
/* "[[Ljava/lang/String;" -> "java.lang.String[][]". */
void fold_class(char *to, size_t size, const char *symbol);
void fold_free(struct fold *fold);

#endif
