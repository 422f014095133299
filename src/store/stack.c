/*
 * stack.c - the growing stack tree, its pre-order, and the whole-chain cache; see stack.h.
 *
 * Pre-order without recursion (stacks may be 65,536 deep): since parent < child, one backward pass
 * sums subtree sizes and one forward pass hands out places:
 *
 *     size[i] = 1 + sum of size[children]            i = n-1 .. 1
 *     place[i] = cursor[parent]; cursor[parent] += size[i]; cursor[i] = place[i] + 1
 *
 * (a node's size is not needed any more once it has a cursor: one array holds both)
 *
 * A chain record of n words takes 2 + n words:
 *
 *     +---------+-----------------+----------------+---------- - -
 *     | context | n: u32 | stack: u32 | word[0] | word[1] …
 *     +---------+-----------------+----------------+---------- - -
 */
#include "store/stack.h"

bool fm_tree_init(struct fm_tree *tree, struct fm_mem *mem)
{
    memset(tree, 0, sizeof *tree);
    tree->mem = mem;
    fm_index_init(&tree->index, mem);
    if (!fm_grow(mem, (void **)&tree->node, &tree->cap, 64, sizeof *tree->node))
        return false;
    tree->node[0] = (struct fm_tree_link){FM_NONE, FM_NONE, 0};
    tree->n = 1;
    return true;
}

void fm_tree_release(struct fm_tree *tree)
{
    fm_mem_free(tree->mem, tree->node, tree->cap * sizeof *tree->node);
    fm_index_release(&tree->index);
    tree->node = NULL;
    tree->n = tree->cap = 0;
}

fm_node fm_tree_add(struct fm_tree *tree, fm_node parent, fm_frame frame)
{
    uint32_t hash = 0, first;
    fm_node id;

    fm_assert(parent < tree->n);
    first = tree->node[parent].first;
    if (first != 0) {
        uint64_t h = ((uint64_t)parent << 32 | frame) * 0x9e3779b97f4a7c15u;
        size_t at;
        if (tree->node[first].frame == frame)
            return first;
        hash = fm_index_fold(fm_mix(h, h >> 29));
        for (id = fm_index_first(&tree->index, hash, &at); id != FM_NONE;
             id = fm_index_next(&tree->index, hash, &at)) {
            if (tree->node[id].parent == parent && tree->node[id].frame == frame)
                return id;
        }
    }
    if (tree->n >= FM_NONE - 1)
        return FM_NONE;
    if (tree->n == tree->cap && !fm_grow(tree->mem, (void **)&tree->node, &tree->cap, tree->n + 1,
                                         sizeof *tree->node))
        return FM_NONE;
    id = (fm_node)tree->n;
    if (first == 0)
        tree->node[parent].first = id;
    else if (!fm_index_add(&tree->index, hash, id))
        return FM_NONE;
    tree->node[id] = (struct fm_tree_link){parent, frame, 0};
    tree->n++;
    fm_assert(tree->index.n + 1 < tree->n);
    return id;
}

bool fm_tree_order(const struct fm_tree *tree, uint32_t *map, struct fm_tree_node *node)
{
    size_t n = tree->n, bytes = n * sizeof(uint32_t);
    uint32_t *at = fm_mem_alloc(tree->mem, bytes);      /* size, from its turn on cursor */

    fm_assert(n >= 1);
    if (at == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        at[i] = 1;
    for (size_t i = n - 1; i > 0; i--) {
        fm_assert(tree->node[i].parent < i);
        at[tree->node[i].parent] += at[i];
    }
    fm_assert(at[0] == n);
    map[0] = 0;
    at[0] = 1;
    node[0] = (struct fm_tree_node){FM_NONE, (uint32_t)n, FM_NONE, 0};
    for (size_t i = 1; i < n; i++) {
        uint32_t parent = tree->node[i].parent;
        uint32_t place = at[parent], end = place + at[i];
        at[parent] = end;
        at[i] = place + 1;
        map[i] = place;
        node[place] = (struct fm_tree_node){map[parent], end, tree->node[i].frame,
                                            node[map[parent]].depth + 1};
    }
    fm_mem_free(tree->mem, at, bytes);
    return true;
}

/* ------------------------------------------------------------ chain cache */

#define FIRST_BITS 12u
#define LAST_BITS 21u
#define DOUBLING (LAST_BITS - FIRST_BITS + 1)               /* segments that double */
#define FIRST ((uint32_t)1 << FIRST_BITS)
#define LAST ((uint32_t)1 << LAST_BITS)
#define WORDS_MAX ((uint32_t)1 << 30)
#define MAP_BYTES ((size_t)2 << 20)
#define NEAR_LINES 3u       /* cache lines of a record: 22 words */

/* Segment of a word number, *at = its place there, *words = the segment's size. */
static unsigned segment_of(uint32_t word, uint32_t *at, uint32_t *words)
{
    uint32_t w = word + FIRST;
    unsigned k;

    if (w < 2 * LAST) {
        unsigned bits = 31u - (unsigned)__builtin_clz(w);
        k = bits - FIRST_BITS;
        *words = (uint32_t)1 << bits;
        *at = w - *words;
    } else {
        k = DOUBLING + ((w - 2 * LAST) >> LAST_BITS);
        *words = LAST;
        *at = w & (LAST - 1);
    }
    return k;
}

void fm_chains_init(struct fm_chains *chains, struct fm_mem *mem)
{
    memset(chains, 0, sizeof *chains);
    chains->mem = mem;
    fm_index_init(&chains->index, mem);
}

static size_t segment_bytes(unsigned k)
{
    unsigned bits = k < DOUBLING ? FIRST_BITS + k : LAST_BITS;
    return (size_t)8 << bits;
}

void fm_chains_release(struct fm_chains *chains)
{
    for (unsigned k = 0; k < FM_CHAIN_SEGMENTS; k++) {
        size_t bytes = segment_bytes(k);
        if (chains->segment[k] == NULL)
            continue;
        if (bytes >= MAP_BYTES)
            fm_mem_unmap(chains->mem, chains->segment[k], bytes);
        else
            fm_mem_free(chains->mem, chains->segment[k], bytes);
        chains->segment[k] = NULL;
    }
    fm_index_release(&chains->index);
    chains->next = 0;
}

/* Room for `need` words in one segment: *word = where it begins. */
static uint64_t *chain_room(struct fm_chains *chains, uint32_t need, uint32_t *word)
{
    uint32_t at, words;
    unsigned k;

    for (;;) {
        if (chains->next > WORDS_MAX - need)
            return NULL;
        k = segment_of(chains->next, &at, &words);
        if (need <= words - at)
            break;
        chains->next += words - at;     /* the tail stays untouched */
    }
    fm_assert(k < FM_CHAIN_SEGMENTS && segment_bytes(k) == (size_t)8 * words);
    if (chains->segment[k] == NULL) {
        size_t bytes = segment_bytes(k);
        chains->segment[k] = bytes >= MAP_BYTES ? fm_mem_map(chains->mem, bytes)
                                                : fm_mem_alloc(chains->mem, bytes);
        if (chains->segment[k] == NULL)
            return NULL;
    }
    *word = chains->next;
    return chains->segment[k] + at;
}

static inline fm_node *record_stack(uint64_t *record)
{
    return (fm_node *)(record + 1) + 1;
}

static inline uint32_t record_words(const uint64_t *record)
{
    return *(const uint32_t *)(record + 1);
}

static inline uint64_t chain_mix(uint64_t h, uint64_t w)
{
    h ^= w;
    return (h << 29 | h >> 35) * 0x9e3779b97f4a7c15u;
}

/* All words count (deep recursion differs far from its leaf); four lanes hide the multiplications:
 * half the time of XXH3 for 20 words. Equality is decided by comparing, not by this. */
uint32_t fm_chains_hash(uint64_t context, const void *words, size_t n)
{
    const unsigned char *p = words;
    uint64_t a = context, b = n, c = 0x6a09e667f3bcc908u, d = 0xbb67ae8584caa73bu, w[4];
    size_t i = 0;

    for (; i + 4 <= n; i += 4) {
        memcpy(w, p + 8 * i, sizeof w);
        a = chain_mix(a, w[0]);
        b = chain_mix(b, w[1]);
        c = chain_mix(c, w[2]);
        d = chain_mix(d, w[3]);
    }
    for (; i < n; i++) {
        memcpy(w, p + 8 * i, sizeof *w);
        a = chain_mix(a, w[0]);
    }
    a = chain_mix(chain_mix(chain_mix(a, b), c), d);
    return fm_index_fold(fm_mix(a, a >> 29));
}

/* Two steps, because the second needs what the first fetches. */
void fm_chains_near(const struct fm_chains *chains, uint32_t hash)
{
    if (chains->index.slots != 0)
        __builtin_prefetch(&chains->index.slot[hash & (chains->index.slots - 1)]);
}

void fm_chains_nearer(const struct fm_chains *chains, uint32_t hash)
{
    uint32_t at32, size;
    size_t at;
    uint32_t word = fm_index_first(&chains->index, hash, &at);

    if (word == FM_NONE)
        return;
    unsigned k = segment_of(word, &at32, &size);
    const uint64_t *record = chains->segment[k] + at32;
    for (size_t line = 0; line < NEAR_LINES; line++)
        __builtin_prefetch(record + 8 * line);
}

fm_node *fm_chains_find(struct fm_chains *chains, uint32_t hash, uint64_t context,
                        const void *words, size_t n)
{
    uint32_t word, at32, size;
    uint64_t *record;
    size_t at;

    for (word = fm_index_first(&chains->index, hash, &at); word != FM_NONE;
         word = fm_index_next(&chains->index, hash, &at)) {
        unsigned k = segment_of(word, &at32, &size);
        record = chains->segment[k] + at32;
        if (record[0] == context && record_words(record) == n &&
            (n == 0 || memcmp(record + 2, words, n * 8) == 0))
            return record_stack(record);
    }
    if (n > LAST - 2)
        return NULL;
    record = chain_room(chains, (uint32_t)n + 2, &word);
    if (record == NULL || !fm_index_add(&chains->index, hash, word))
        return NULL;
    record[0] = context;
    *(uint32_t *)(record + 1) = (uint32_t)n;
    *record_stack(record) = FM_NONE;
    if (n != 0)
        memcpy(record + 2, words, n * 8);
    chains->next += (uint32_t)n + 2;
    return record_stack(record);
}
