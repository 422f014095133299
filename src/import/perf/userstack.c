/*
 * userstack.c - user stacks that the kernel only copied: see userstack.h.
 *
 *     REGS_USER    u64 abi | u64 for each bit of sample_regs_user, lowest first
 *     STACK_USER   u64 size | size bytes from the stack pointer on | u64 how many of them are real
 *
 * The bytes are used where they stand. What a process had mapped is the machine's knowledge; the
 * files are opened and read by symbol/unwind. The result are words of a chain like any other;
 * equal stacks meet in the chain cache:
 *
 *     kernel part | -512 | pc | return address ... | -512 | pc under a signal | return address ...
 *
 * AArch64 chains by frame pointers lack the caller of a leaf that has not saved its return address
 * yet: with the registers at hand one step from the leaf tells, and the caller is put in its place.
 *
 * perf prints callers at the byte before the return address; so do we when chains are wanted as it
 * has them.
 */
#include "import/perf/session.h"

#define FRAMES_MAX 127u

void fm_perf_userstack_init(struct fm_perf *perf)
{
    struct fm_perf_userstack *us = &perf->userstack;
    us->arch = FM_UNWIND_NO_ARCH;
    us->options = fm_symbol_options_of(perf->import->options);
    fm_map_init(&us->by_key, &perf->ctx->mem);
}

void fm_perf_userstack_release(struct fm_perf *perf)
{
    struct fm_perf_userstack *us = &perf->userstack;
    fm_unwind_free(us->unwind);
    fm_map_release(&us->by_key);
    fm_mem_free(&perf->ctx->mem, us->file, us->file_cap * sizeof *us->file);
}

void fm_perf_userstack_arch(struct fm_perf *perf, const char *name, size_t n)
{
    char text[32];
    if (n >= sizeof text)
        return;
    memcpy(text, name, n);
    text[n] = '\0';
    perf->userstack.arch = fm_unwind_arch_find(text);
    perf->userstack.told = true;
}

/* --------------------------------------------------------------------- mappings */

/* The number of a file for the unwinder; FM_NONE without memory. */
static uint32_t file_of(struct fm_perf *perf, const struct fm_perf_range *range, fm_str build_id)
{
    struct fm_perf_userstack *us = &perf->userstack;
    const bool vdso = range->kind == FM_MODULE_VDSO;
    const bool foreign = range->mnt_ns != 0 && range->mnt_ns != perf->machine.recorder_ns;
    uint64_t key = fm_mix(fm_mix(fm_mix(0, range->name), build_id), range->mnt_ns), i;
    uint64_t *head = fm_map_put(&us->by_key, key, NULL);
    size_t n;
    if (head == NULL)
        return FM_NONE;
    for (i = *head; i != 0; i = us->file[i - 1].next) {
        const struct fm_perf_unwound *f = &us->file[i - 1];
        if (f->name == range->name && f->build_id == build_id && f->mnt_ns == range->mnt_ns &&
            f->vdso == vdso)
            return f->module;
    }
    if (us->files >= UINT32_MAX - 1 ||
        !fm_grow(&perf->ctx->mem, (void **)&us->file, &us->file_cap, us->files + 1,
                 sizeof *us->file))
        return FM_NONE;
    const char *name = fm_builder_str_text(perf->builder, range->name, &n);
    const char *id = build_id != 0 ? fm_builder_str_text(perf->builder, build_id, &n) : "";
    uint32_t module = fm_unwind_module(us->unwind, name, id, foreign, vdso);
    us->file[us->files++] = (struct fm_perf_unwound){range->name, build_id, range->mnt_ns, vdso,
                                                     module, (uint32_t)*head};
    *head = us->files;
    return module;
}

static bool find_place(void *user, uint64_t address, struct fm_unwind_place *place)
{
    struct fm_perf *perf = user;
    struct fm_perf_machine *m = &perf->machine;
    struct fm_perf_range *range =
        fm_perf_machine_range(m, &m->process[perf->userstack.process], FM_PERF_MODE_USER, address);
    if (range == NULL)
        return false;
    bool file = range->kind == FM_MODULE_USER || range->kind == FM_MODULE_VDSO ||
                (range->kind == FM_MODULE_UNKNOWN && range->delta != 0);
    if (file && range->unwind == FM_NONE) {
        const uint64_t *late = fm_map_find(&m->build_id, range->name);
        fm_str id = range->build_id != 0 ? range->build_id : late != NULL ? (fm_str)*late : 0;
        range->unwind = file_of(perf, range, id);
        if (range->unwind == FM_NONE)
            fm_perf_fail(perf, FM_NOMEM);
    }
    place->module = file ? range->unwind : FM_NONE;
    place->delta = range->delta;
    place->code = range->kind != FM_MODULE_UNKNOWN;
    return true;
}

/* -------------------------------------------------------------------- registers */

/* The machine of a file that does not name it: the masks of the kernel's register sets differ. */
static enum fm_unwind_arch guess_arch(uint64_t mask)
{
    if (mask >> 32 == 1)
        return FM_UNWIND_AARCH64;
    return (mask & 0xff000000u) == 0 ? FM_UNWIND_X86_64 : FM_UNWIND_NO_ARCH;
}

static enum fm_unwind_arch arch_of(const struct fm_perf *perf, uint64_t abi, uint64_t mask)
{
    enum fm_unwind_arch arch = perf->userstack.told ? perf->userstack.arch : guess_arch(mask);
    if ((abi & 3) == 2)
        return arch == FM_UNWIND_I386 ? FM_UNWIND_NO_ARCH : arch;
    return arch == FM_UNWIND_X86_64 || arch == FM_UNWIND_I386 ? FM_UNWIND_I386
                                                               : FM_UNWIND_NO_ARCH;
}

static bool take_registers(const struct fm_perf *perf, uint64_t mask,
                           const struct fm_perf_dump *dump, struct fm_unwind_input *in)
{
    bool pc = false;
    size_t at = 0;
    for (uint64_t left = mask; left != 0 && at + 8 <= dump->regs_n; left &= left - 1, at += 8) {
        int to = fm_unwind_register(in->arch, (unsigned)__builtin_ctzll(left));
        uint64_t value = fm_perf_u64(dump->regs + at, perf->swap);
        if (to == FM_UNWIND_PC) {
            in->pc = value;
            pc = true;
        } else if (to >= 0) {
            in->reg[to] = value;
            in->valid |= 1ull << to;
        }
    }
    return pc;
}

/* ------------------------------------------------------------------------ words */

/* The user part's first address in the chain, SIZE_MAX: it has none. */
static size_t user_leaf(const uint64_t *word, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if ((int64_t)word[i] == FM_PERF_CONTEXT_USER && word[i + 1] < FM_PERF_MARKER)
            return i + 1;
    return SIZE_MAX;
}

/* An unwinder and room for more words; false without memory. */
static bool prepare(struct fm_perf *perf, size_t words)
{
    struct fm_perf_userstack *us = &perf->userstack;
    if (us->unwind == NULL)
        us->unwind = fm_unwind_new(perf->ctx, &us->options);
    return (us->unwind != NULL && fm_grow(&perf->ctx->mem, (void **)&perf->words, &perf->word_cap,
                                          words, sizeof *perf->words)) ||
           fm_perf_fail(perf, FM_NOMEM);
}

bool fm_perf_leaf_caller(struct fm_perf *perf, uint32_t process, uint64_t mask,
                         const struct fm_perf_dump *dump, size_t *n)
{
    struct fm_unwind_input in = {.arch = arch_of(perf, dump->abi, mask), .stack = dump->regs,
                                 .find = find_place, .user = perf};
    struct fm_unwind_frame frame[2];
    enum fm_unwind_end end;
    size_t leaf = user_leaf(perf->words, *n);
    if (in.arch != FM_UNWIND_AARCH64 || leaf == SIZE_MAX ||
        !take_registers(perf, mask, dump, &in) || in.pc != perf->words[leaf])
        return true;
    if (!prepare(perf, *n + 2))
        return false;
    perf->userstack.process = process;
    in.space = fm_perf_machine_context(&perf->machine, &perf->machine.process[process]);
    size_t frames = fm_unwind_run(perf->userstack.unwind, &in, frame, FM_COUNT(frame), &end);
    if (fm_unwind_oom(perf->userstack.unwind))
        return fm_perf_fail(perf, FM_NOMEM);
    uint64_t *next = perf->words + leaf + 1;
    if (frames < 2 || (leaf + 1 < *n && *next == frame[1].pc))
        return true;
    memmove(next + 1, next, (*n - leaf - 1) * sizeof *next);
    *next = frame[1].pc;
    (*n)++;
    return true;
}

enum fm_perf_userstack_end fm_perf_userstack(struct fm_perf *perf, uint32_t process, uint64_t mask,
                                             size_t max, const struct fm_perf_dump *dump,
                                             size_t *n)
{
    struct fm_perf_userstack *us = &perf->userstack;
    struct fm_unwind_frame frame[FRAMES_MAX];
    enum fm_unwind_end end;
    if (dump->abi == 0 || dump->n == 0 || user_leaf(perf->words, *n) != SIZE_MAX)
        return FM_PERF_STACK_NONE;
    struct fm_unwind_input in = {.arch = arch_of(perf, dump->abi, mask), .stack = dump->stack,
                                 .n = dump->n, .find = find_place, .user = perf};
    if (in.arch == FM_UNWIND_NO_ARCH || !take_registers(perf, mask, dump, &in)) {
        fm_perf_note(perf, FM_DIAG_PART_STACK, perf->offset, 1);
        return FM_PERF_STACK_NONE;
    }
    if (!prepare(perf, *n + 2 * FRAMES_MAX + 1))
        return FM_PERF_STACK_NONE;
    us->process = process;
    in.space = fm_perf_machine_context(&perf->machine, &perf->machine.process[process]);
    size_t frames = fm_unwind_run(us->unwind, &in, frame,
                                  max > 0 && max < FRAMES_MAX ? max : FRAMES_MAX, &end);
    if (fm_unwind_oom(us->unwind))
        fm_perf_fail(perf, FM_NOMEM);
    for (size_t i = 0; i < frames; i++) {
        if (frame[i].exact)
            perf->words[(*n)++] = (uint64_t)(int64_t)FM_PERF_CONTEXT_USER;
        perf->words[(*n)++] = frame[i].pc - (perf->perf_chains && !frame[i].exact);
    }
    if (end == FM_UNWIND_ROOT)
        return FM_PERF_STACK_ROOT;
    fm_perf_note(perf, end == FM_UNWIND_CUT ? FM_DIAG_USER_STACK_CUT : FM_DIAG_USER_STACK_LOST,
                 perf->offset, 1);
    return end == FM_UNWIND_CUT ? FM_PERF_STACK_CUT : FM_PERF_STACK_LOST;
}
