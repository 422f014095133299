/*
 * block.c - buffers of waiting records: see block.h.
 *
 * Buffers come in slabs of 4 MiB (huge pages where the system has them: touching memory for the
 * first time is what costs) and go back to a stack of spares, so the warmest is used first.
 */
#include "import/perf/block.h"

#include "util/error.h"

#define SLAB_BLOCKS 16u
#define SLAB (SLAB_BLOCKS * FM_PERF_BLOCK)
#define BUDGET_MAX 2048u    /* blocks: 512 MiB */

void fm_perf_blocks_init(struct fm_perf_blocks *blocks, struct fm_mem *mem, size_t budget)
{
    memset(blocks, 0, sizeof *blocks);
    blocks->mem = mem;
    blocks->budget = FM_MAX(budget / FM_PERF_BLOCK, (size_t)SLAB_BLOCKS);
}

void fm_perf_blocks_release(struct fm_perf_blocks *blocks)
{
    struct fm_mem *mem = blocks->mem;
    for (size_t i = 0; i < blocks->slabs; i++)
        fm_mem_unmap(mem, blocks->slab[i], SLAB);
    fm_mem_free(mem, blocks->slab, blocks->slab_cap * sizeof *blocks->slab);
    fm_mem_free(mem, blocks->spare, blocks->spare_cap * sizeof *blocks->spare);
    fm_mem_free(mem, blocks->block, blocks->cap * sizeof *blocks->block);
    memset(blocks, 0, sizeof *blocks);
}

static void recycle(struct fm_perf_blocks *blocks, struct fm_perf_block *block)
{
    if (block->data == NULL)
        return;
    fm_assert(blocks->spares < blocks->spare_cap);
    if (block->input == NULL)
        blocks->kept--;
    blocks->spare[blocks->spares++] = block->data;
    block->data = NULL;
}

static bool add_slab(struct fm_perf_blocks *blocks)
{
    size_t buffers = blocks->buffers + SLAB_BLOCKS;
    if (!fm_grow(blocks->mem, (void **)&blocks->slab, &blocks->slab_cap, blocks->slabs + 1,
                 sizeof *blocks->slab) ||
        !fm_grow(blocks->mem, (void **)&blocks->spare, &blocks->spare_cap, buffers,
                 sizeof *blocks->spare))
        return false;
    unsigned char *slab = fm_mem_map(blocks->mem, SLAB);
    if (slab == NULL)
        return false;
    blocks->slab[blocks->slabs++] = slab;
    blocks->buffers = buffers;
    for (size_t i = SLAB_BLOCKS; i-- > 0;)
        blocks->spare[blocks->spares++] = slab + i * FM_PERF_BLOCK;
    return true;
}

/* Takes the buffer of the block that was used longest ago and can be read again. */
static void evict(struct fm_perf_blocks *blocks)
{
    struct fm_perf_block *oldest = NULL;
    for (size_t i = 0; i < blocks->n; i++) {
        struct fm_perf_block *block = &blocks->block[i];
        if (block->data != NULL && !block->open && block->input != NULL &&
            (oldest == NULL || block->used < oldest->used))
            oldest = block;
    }
    if (oldest != NULL)
        recycle(blocks, oldest);
}

static unsigned char *take_buffer(struct fm_perf_blocks *blocks)
{
    if (blocks->spares == 0 && blocks->buffers >= blocks->budget)
        evict(blocks);
    if (blocks->spares == 0 && !add_slab(blocks))
        return NULL;
    return blocks->spare[--blocks->spares];
}

enum fm_status fm_perf_blocks_open(struct fm_perf_blocks *blocks, struct fm_input *input,
                                   uint64_t offset, size_t *index, struct fm_error *err)
{
    if (!fm_grow(blocks->mem, (void **)&blocks->block, &blocks->cap, blocks->n + 1,
                 sizeof *blocks->block))
        return fm_error_nomem(err);
    unsigned char *data = take_buffer(blocks);
    if (data == NULL)
        return fm_error_nomem(err);
    if (input == NULL)
        blocks->kept++;
    *index = blocks->n++;
    blocks->block[*index] = (struct fm_perf_block){
        .data = data, .input = input, .offset = offset, .used = ++blocks->uses, .open = true};
    return FM_OK;
}

void fm_perf_blocks_close(struct fm_perf_blocks *blocks, size_t index)
{
    struct fm_perf_block *block = &blocks->block[index];
    fm_assert(block->open);
    block->open = false;
    if (block->pending == 0)
        recycle(blocks, block);
}

/* The bytes were there before: fewer now means that somebody is changing the file. */
static enum fm_status reread(struct fm_perf_blocks *blocks, struct fm_perf_block *block,
                             struct fm_error *err)
{
    size_t got = 0;
    if (++block->again > 1 && blocks->budget < BUDGET_MAX)
        blocks->budget += SLAB_BLOCKS;
    unsigned char *data = take_buffer(blocks);
    if (data == NULL)
        return fm_error_nomem(err);
    block->data = data;
    enum fm_status status =
        fm_input_read_at(block->input, block->offset, data, block->n, &got, err);
    if (status == FM_OK && got < block->n)
        status = fm_error_at(err, FM_IO, fm_input_name(block->input), block->offset,
                             "file shrank while it was read: needed %u bytes, %zu left", block->n,
                             got);
    if (status != FM_OK)
        recycle(blocks, block);
    return status;
}

enum fm_status fm_perf_blocks_data(struct fm_perf_blocks *blocks, size_t index,
                                   const unsigned char **data, struct fm_error *err)
{
    fm_assert(index < blocks->n);
    struct fm_perf_block *block = &blocks->block[index];
    block->used = ++blocks->uses;
    if (block->data == NULL) {
        fm_assert(block->input != NULL);
        enum fm_status status = reread(blocks, block, err);
        if (status != FM_OK)
            return status;
    }
    *data = block->data;
    return FM_OK;
}

void fm_perf_blocks_done(struct fm_perf_blocks *blocks, size_t index)
{
    struct fm_perf_block *block = &blocks->block[index];
    fm_assert(block->pending > 0);
    if (--block->pending == 0 && !block->open)
        recycle(blocks, block);
}
