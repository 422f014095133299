/*
 * heap.c - a binary heap of spans by their ends; see heap.h.
 *
 *     item[i] ends no later than item[2 i + 1] and item[2 i + 2]
 *
 * Ends stand in the heap itself, so that no comparison reaches for the records.
 */
#include "import/chrome/heap.h"

bool fm_chrome_heap_push(struct fm_chrome_heap *heap, struct fm_mem *mem,
                         struct fm_chrome_ending item)
{
    if (!fm_grow(mem, (void **)&heap->item, &heap->cap, heap->n + 1, sizeof *heap->item))
        return false;
    size_t at = heap->n++;
    for (; at > 0 && fm_chrome_sooner(&item, &heap->item[(at - 1) / 2]); at = (at - 1) / 2)
        heap->item[at] = heap->item[(at - 1) / 2];
    heap->item[at] = item;
    return true;
}

void fm_chrome_heap_pop(struct fm_chrome_heap *heap)
{
    fm_assert(heap->n > 0);
    struct fm_chrome_ending last = heap->item[--heap->n];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->n)
            break;
        if (child + 1 < heap->n && fm_chrome_sooner(&heap->item[child + 1], &heap->item[child]))
            child++;
        if (!fm_chrome_sooner(&heap->item[child], &last))
            break;
        heap->item[at] = heap->item[child];
        at = child;
    }
    heap->item[at] = last;
}
