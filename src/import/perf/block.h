/*
 * block.h - the bytes of records that wait for their turn.
 *
 * Records are read once into blocks of 256 KiB and stay there until every one of them has been
 * delivered; a block is recycled when none is left. A record never crosses a block: one that would
 * is moved to the start of the next. The place of a record is (block number, offset in it), which
 * grows in file order.
 *
 *     file   |----block 0----|----block 1----|--...
 *     place   block << 18 | offset
 *
 * Beyond a budget the block that was used longest ago gives its buffer away and is read again when
 * one of its records is due. That is cheap as long as the budget holds a block of every run of the
 * merge; when blocks are read a third time it does not, and grows. Inflated bytes cannot be read
 * again: their blocks stay.
 */
#ifndef FM_IMPORT_PERF_BLOCK_H
#define FM_IMPORT_PERF_BLOCK_H

#include "input/input.h"

#define FM_PERF_BLOCK_BITS 18
#define FM_PERF_BLOCK ((size_t)1 << FM_PERF_BLOCK_BITS)

struct fm_perf_block {
    unsigned char *data;       /* NULL: given away or recycled */
    struct fm_input *input;    /* where it can be read again; NULL: nowhere */
    uint64_t offset;           /* of data[0] in the file; inflated: of the record it came from */
    uint32_t n;                /* bytes in it */
    uint32_t pending;          /* records that wait */
    uint32_t again;            /* how often it was read again */
    uint64_t used;             /* when last, in uses */
    bool open;                 /* still being filled */
    bool linear;               /* the caller's: offsets in the file grow with those in the block */
};

struct fm_perf_blocks {
    struct fm_mem *mem;
    struct fm_perf_block *block;
    size_t n, cap;
    unsigned char **spare;     /* buffers without a block */
    size_t spares, spare_cap;
    void **slab;
    size_t slabs, slab_cap;
    size_t buffers, budget;    /* made so far, and how many may be */
    size_t kept;               /* buffers held by blocks that cannot be read again */
    uint64_t uses;
};

void fm_perf_blocks_init(struct fm_perf_blocks *blocks, struct fm_mem *mem, size_t budget);
void fm_perf_blocks_release(struct fm_perf_blocks *blocks);

/* A new open block; *index. Its buffer has FM_PERF_BLOCK bytes. */
enum fm_status fm_perf_blocks_open(struct fm_perf_blocks *blocks, struct fm_input *input,
                                   uint64_t offset, size_t *index, struct fm_error *err);
/* Nothing will be added any more. */
void fm_perf_blocks_close(struct fm_perf_blocks *blocks, size_t index);
/* The bytes of a block, read again when needed; valid until another block is asked for. */
enum fm_status fm_perf_blocks_data(struct fm_perf_blocks *blocks, size_t index,
                                   const unsigned char **data, struct fm_error *err);
/* The bytes of a block when they are at hand, else NULL. */
static inline const unsigned char *fm_perf_blocks_peek(const struct fm_perf_blocks *blocks,
                                                       size_t index)
{
    return blocks->block[index].data;
}
/* One waiting record less. */
void fm_perf_blocks_done(struct fm_perf_blocks *blocks, size_t index);

#endif
