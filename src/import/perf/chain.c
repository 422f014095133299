/*
 * chain.c - call chains to stacks, and user parts that come later.
 *
 * A chain is leaf first. Values from -4095 on are markers that set the mode of what follows:
 *
 *     -128 k0 k1 k2  -512 u0 u1      kernel part (k0 exact, k1 k2 return addresses), user part
 *
 * The first address of a part is where that part was interrupted; all others point behind a call.
 * Call stacks from branch records hold the calls themselves. Unknown markers are counted and what
 * surrounds them is kept. Zeros at the root come from following a garbage frame pointer and are
 * dropped, unless chains are wanted as perf prints them.
 *
 * -640 says that the user part comes later, under the cookie that follows it: the row is made with
 * the kernel part and its stack patched when the CALLCHAIN_DEFERRED of its thread arrives.
 */
#include "import/perf/session.h"

static uint8_t marker_mode(uint64_t word, bool *known)
{
    *known = true;
    switch ((int64_t)word) {
    case FM_PERF_CONTEXT_HV:
        return FM_PERF_MODE_HYPERVISOR;
    case FM_PERF_CONTEXT_KERNEL:
        return FM_PERF_MODE_KERNEL;
    case FM_PERF_CONTEXT_USER:
    case FM_PERF_CONTEXT_DEFERRED:
        return FM_PERF_MODE_USER;
    case FM_PERF_CONTEXT_GUEST_KERNEL:
        return FM_PERF_MODE_GUEST_KERNEL;
    case FM_PERF_CONTEXT_GUEST:
    case FM_PERF_CONTEXT_GUEST_USER:
        return FM_PERF_MODE_GUEST_USER;
    default:
        *known = false;
        return FM_PERF_MODE_UNKNOWN;
    }
}

/* Frames of a chain into perf->frame, leaf first; *odd = unknown markers in it. */
static size_t resolve(struct fm_perf *perf, uint32_t process, unsigned tag,
                      const unsigned char *bytes, size_t n, uint64_t *odd)
{
    struct fm_perf_machine *m = &perf->machine;
    bool caller = false, known;
    size_t frames = 0;
    uint8_t mode = tag == FM_PERF_CHAIN_BRANCH ? (uint8_t)FM_PERF_MODE_UNKNOWN
                   : tag >= FM_PERF_CHAIN_FLAT ? (uint8_t)(tag - FM_PERF_CHAIN_FLAT)
                                             : (uint8_t)FM_PERF_MODE_USER;
    while (!perf->perf_chains && n > 1 && fm_load_u64(bytes + 8 * (n - 1)) == 0)
        n--;
    for (size_t i = 0; i < n; i++) {
        uint64_t word = fm_load_u64(bytes + 8 * i);
        if (word >= FM_PERF_MARKER) {
            mode = marker_mode(word, &known);
            *odd += !known;
            caller = false;
            if ((int64_t)word == FM_PERF_CONTEXT_DEFERRED)
                i++;
            continue;
        }
        bool exact = (tag == FM_PERF_CHAIN_LBR && mode == FM_PERF_MODE_USER) ||
                     tag == FM_PERF_CHAIN_BRANCH;
        fm_frame frame = fm_perf_machine_frame(m, &m->process[process], mode, word,
                                               caller && !exact);
        if (frame == FM_NONE) {
            fm_perf_fail(perf, FM_NOMEM);
            return 0;
        }
        perf->frame[frames++] = frame;
        caller = true;
    }
    return frames;
}

static fm_node make_stack(struct fm_perf *perf, uint32_t process, unsigned tag,
                          const void *words, size_t n, uint64_t *odd)
{
    if (!fm_grow(&perf->ctx->mem, (void **)&perf->frame, &perf->frame_cap, n + 1,
                 sizeof *perf->frame)) {
        fm_perf_fail(perf, FM_NOMEM);
        return FM_NONE;
    }
    size_t frames = resolve(perf, process, tag, words, n, odd);
    if (frames == 0)
        return FM_NONE;
    for (size_t i = 0, k = frames - 1; i < k; i++, k--) {
        fm_frame f = perf->frame[i];
        perf->frame[i] = perf->frame[k];
        perf->frame[k] = f;
    }
    return fm_builder_stack(perf->builder, perf->frame, frames);
}

fm_node fm_perf_stack(struct fm_perf *perf, uint32_t process, unsigned tag, const void *words,
                      size_t n)
{
    struct fm_perf_machine *m = &perf->machine;
    uint64_t context = fm_perf_machine_context(m, &m->process[process]) * 16 + tag;
    uint64_t odd = 0;
    bool hashed = perf->now.chain == words && perf->now.context == context;
    uint32_t hash = hashed ? perf->now.hash : fm_builder_chain_hash(context, words, n);
    fm_node *place = fm_builder_chain_hashed(perf->builder, hash, context, words, n);
    if (FM_LIKELY(place != NULL && *place != FM_NONE))
        return *place;
    fm_node stack = make_stack(perf, process, tag, words, n, &odd);
    if (odd > 0)
        fm_perf_note(perf, FM_DIAG_CHAIN_MARKER, perf->offset, odd);
    else if (place != NULL)
        *place = stack;     /* chains with odd markers are counted every time: not cached */
    return stack;
}

bool fm_perf_wait(struct fm_perf *perf, uint64_t row, int32_t tid, uint64_t cookie,
                  uint32_t process, const uint64_t *words, size_t n)
{
    struct fm_mem *mem = &perf->ctx->mem;
    if (perf->waiting_live == 0)
        perf->waitings = perf->waiting_words = 0;
    if (perf->waitings >= UINT32_MAX - 1 ||
        !fm_grow(mem, (void **)&perf->waiting, &perf->waiting_cap, perf->waitings + 1,
                 sizeof *perf->waiting) ||
        !fm_grow(mem, (void **)&perf->waiting_word, &perf->waiting_word_cap,
                 perf->waiting_words + n + 1, sizeof *perf->waiting_word))
        return fm_perf_fail(perf, FM_NOMEM);
    uint64_t *last = fm_map_put(&perf->waiting_by_tid, (uint32_t)tid, NULL);
    if (last == NULL)
        return fm_perf_fail(perf, FM_NOMEM);
    memcpy(perf->waiting_word + perf->waiting_words, words, n * sizeof *words);
    perf->waiting[perf->waitings] = (struct fm_perf_waiting){
        .row = row, .cookie = cookie, .process = process, .prev = (uint32_t)*last,
        .words = perf->waiting_words, .n = n, .offset = perf->offset};
    perf->waiting_words += n;
    perf->waiting_live++;
    *last = ++perf->waitings;
    return true;
}

/* u64 cookie, nr, ips[nr]: the user part of all samples of the thread that wait for the cookie;
 * those that wait for another will never get theirs. */
bool fm_perf_deferred(struct fm_perf *perf, int32_t tid, struct fm_cursor *c)
{
    uint64_t cookie = fm_cursor_u64(c), nr = fm_cursor_u64(c);
    uint64_t *last = fm_map_find(&perf->waiting_by_tid, (uint32_t)tid);
    if (!fm_cursor_ok(c) || nr > fm_cursor_left(c) / 8) {
        fm_perf_damage(perf, FM_DIAG_RECORD_BODY, FM_FORMAT, perf->offset,
                       "deferred call chain: needed %llu addresses, %zu bytes left",
                       (unsigned long long)nr, fm_cursor_left(c));
        return true;
    }
    if (last == NULL)
        return true;
    while (*last != 0) {
        struct fm_perf_waiting *w = &perf->waiting[*last - 1];
        *last = w->prev;
        perf->waiting_live--;
        if (w->cookie != cookie) {
            fm_perf_note(perf, FM_DIAG_PART_DEFERRED, w->offset, 1);
            continue;
        }
        size_t n = w->n + (size_t)nr;
        struct fm_cursor ips = *c;
        if (!fm_grow(&perf->ctx->mem, (void **)&perf->words, &perf->word_cap, n + 1,
                     sizeof *perf->words))
            return fm_perf_fail(perf, FM_NOMEM);
        memcpy(perf->words, perf->waiting_word + w->words, w->n * sizeof *perf->words);
        for (size_t i = w->n; i < n; i++)
            perf->words[i] = fm_cursor_u64(&ips);
        fm_node stack = fm_perf_stack(perf, w->process, FM_PERF_CHAIN, perf->words, n);
        if (stack != FM_NONE)
            fm_row_patch(perf->builder, w->row, FM_COL_STACK, stack);
    }
    return perf->status == FM_OK;
}

void fm_perf_waiting_finish(struct fm_perf *perf)
{
    for (size_t i = 0; i < perf->waiting_by_tid.slots; i++) {
        if (!perf->waiting_by_tid.used[i])
            continue;
        for (uint64_t k = perf->waiting_by_tid.slot[i].value; k != 0;
             k = perf->waiting[k - 1].prev)
            fm_perf_note(perf, FM_DIAG_PART_DEFERRED, perf->waiting[k - 1].offset, 1);
    }
}
