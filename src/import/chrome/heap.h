/*
 * heap.h - what ends first: a binary heap of spans by their ends. Of equal ends the span that
 * stands later in order (the inner one) comes first. Inner header of chrome/.
 */
#ifndef FM_IMPORT_CHROME_HEAP_H
#define FM_IMPORT_CHROME_HEAP_H

#include "util/mem.h"

struct fm_chrome_ending {
    int64_t end;
    uint32_t record;               /* number of the span */
    uint32_t slot;                 /* of the caller */
};

struct fm_chrome_heap {
    struct fm_chrome_ending *item; /* [0] ends first */
    size_t n, cap;
};

static inline bool fm_chrome_sooner(const struct fm_chrome_ending *a,
                                    const struct fm_chrome_ending *b)
{
    return a->end != b->end ? a->end < b->end : a->record > b->record;
}

bool fm_chrome_heap_push(struct fm_chrome_heap *heap, struct fm_mem *mem,
                         struct fm_chrome_ending item) FM_MUST_USE;
/* Takes out the first; there must be one. */
void fm_chrome_heap_pop(struct fm_chrome_heap *heap);

#endif
