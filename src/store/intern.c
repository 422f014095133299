/*
 * intern.c - growing chunks and the string table; see intern.h.
 *
 *     item[id] = {text, length, hash}     index: hash -> id     text: "malloc\0main\0..."
 */
#include "store/intern.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define CHUNK_FIRST ((size_t)32 << 10)
#define CHUNK_LAST ((size_t)4 << 20)
#define CHUNK_MAP ((size_t)2 << 20)

void fm_chunks_init(struct fm_chunks *chunks, struct fm_mem *mem)
{
    memset(chunks, 0, sizeof *chunks);
    chunks->mem = mem;
}

static void chunk_free(struct fm_mem *mem, struct fm_chunk c)
{
    if (c.size >= CHUNK_MAP)
        fm_mem_unmap(mem, c.p, c.size);
    else
        fm_mem_free(mem, c.p, c.size);
}

void fm_chunks_release(struct fm_chunks *chunks)
{
    for (size_t i = 0; i < chunks->n; i++)
        chunk_free(chunks->mem, chunks->chunk[i]);
    fm_mem_free(chunks->mem, chunks->chunk, chunks->cap * sizeof *chunks->chunk);
    fm_chunks_init(chunks, chunks->mem);
}

void *fm_chunks_room(struct fm_chunks *chunks, size_t n)
{
    size_t size = CHUNK_FIRST;
    struct fm_chunk c;

    if (FM_LIKELY(n <= chunks->left))
        return chunks->next;
    while (size < CHUNK_LAST && size < chunks->bytes)
        size *= 2;
    if (size < n && !fm_add_size(n, 63, &size))
        return NULL;
    size &= ~(size_t)63;
    if (!fm_grow(chunks->mem, (void **)&chunks->chunk, &chunks->cap, chunks->n + 1, sizeof c))
        return NULL;
    c.size = size;
    c.p = size >= CHUNK_MAP ? fm_mem_map(chunks->mem, size) : fm_mem_alloc(chunks->mem, size);
    if (c.p == NULL)
        return NULL;
    chunks->chunk[chunks->n++] = c;
    chunks->bytes += size;
    chunks->next = c.p;
    chunks->left = size;
    fm_assert(n <= chunks->left);
    return chunks->next;
}

void fm_chunks_take(struct fm_chunks *chunks, size_t n)
{
    size_t take = (n + 7) & ~(size_t)7;

    fm_assert(n <= chunks->left);
    take = FM_MIN(take, chunks->left);
    chunks->next += take;
    chunks->left -= take;
}

bool fm_chunks_absorb(struct fm_chunks *to, struct fm_chunks *from)
{
    if (from->n == 0)
        return true;
    if (!fm_grow(to->mem, (void **)&to->chunk, &to->cap, to->n + from->n, sizeof *to->chunk))
        return false;
    memcpy(to->chunk + to->n, from->chunk, from->n * sizeof *from->chunk);
    to->n += from->n;
    to->bytes += from->bytes;
    fm_assert(to->n <= to->cap);
    from->n = 0;
    from->bytes = from->left = 0;
    from->next = NULL;
    return true;
}

/* ---------------------------------------------------------------- strings */

static uint32_t hash_of(const char *s, size_t n)
{
    return fm_index_fold(XXH3_64bits(s, n));
}

bool fm_strings_init(struct fm_strings *strings, struct fm_mem *mem)
{
    memset(strings, 0, sizeof *strings);
    strings->mem = mem;
    fm_index_init(&strings->index, mem);
    fm_chunks_init(&strings->text, mem);
    return fm_strings_add(strings, "", 0) == 0;
}

void fm_strings_release(struct fm_strings *strings)
{
    fm_mem_free(strings->mem, strings->item, strings->cap * sizeof *strings->item);
    fm_index_release(&strings->index);
    fm_chunks_release(&strings->text);
    strings->item = NULL;
    strings->n = strings->cap = 0;
}

static fm_str find(const struct fm_strings *strings, const char *s, size_t n, uint32_t hash)
{
    size_t at;
    fm_str id = fm_index_first(&strings->index, hash, &at);

    for (; id != FM_NONE; id = fm_index_next(&strings->index, hash, &at)) {
        const struct fm_string *t = &strings->item[id];
        fm_assert(id < strings->n);
        if (t->n == n && memcmp(t->p, s, n) == 0)
            return id;
    }
    return FM_NONE;
}

fm_str fm_strings_find(const struct fm_strings *strings, const char *s, size_t n)
{
    return find(strings, n != 0 ? s : "", n, hash_of(n != 0 ? s : "", n));
}

fm_str fm_strings_add(struct fm_strings *strings, const char *s, size_t n)
{
    const char *from = n != 0 ? s : "";
    uint32_t hash = hash_of(from, n);
    fm_str id = find(strings, from, n, hash);
    char *p;

    if (FM_LIKELY(id != FM_NONE))
        return id;
    if (n >= UINT32_MAX || strings->n >= FM_NONE - 1)
        return FM_NONE;
    if (!fm_grow(strings->mem, (void **)&strings->item, &strings->cap, strings->n + 1,
                 sizeof *strings->item))
        return FM_NONE;
    p = fm_chunks_room(&strings->text, n + 1);
    if (p == NULL)
        return FM_NONE;
    id = (fm_str)strings->n;
    if (!fm_index_add(&strings->index, hash, id))
        return FM_NONE;
    memcpy(p, from, n);
    p[n] = '\0';
    fm_chunks_take(&strings->text, n + 1);
    strings->item[id] = (struct fm_string){p, (uint32_t)n, hash};
    strings->n++;
    fm_assert(strings->index.n == strings->n);
    return id;
}

bool fm_strings_copy(struct fm_strings *to, const struct fm_strings *from)
{
    memset(to, 0, sizeof *to);
    to->mem = from->mem;
    fm_index_init(&to->index, to->mem);
    fm_chunks_init(&to->text, to->mem);
    if (!fm_grow(to->mem, (void **)&to->item, &to->cap, from->n, sizeof *to->item))
        return false;
    memcpy(to->item, from->item, from->n * sizeof *to->item);
    if (!fm_index_copy(&to->index, &from->index))
        return false;
    to->n = from->n;
    return true;
}

size_t fm_strings_memory(const struct fm_strings *strings)
{
    return strings->cap * sizeof *strings->item + fm_index_memory(&strings->index) +
           strings->text.bytes;
}
