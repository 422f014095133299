/*
 * iaprof_name.c - ids of an iaprof file as texts, frames and stacks.
 *
 *     string 5 send          id 5 -> near[5] -> text { "send", n } -> lazily: string, stack, frame
 *
 * Ids count from 1, so they are places of an array; ids far above what was defined so far are kept
 * in a map. Texts are copied once; what they become in the store is made when they are first used
 * as that: a text may be a process name, a stack, a file, a kernel or an instruction.
 *
 *     site   comm, pid | user frames, kernel frames _[k] | - | file _[G] | kernel _[G]
 *     leaf   + instruction _[g]
 *
 * An id that is defined again, or only after it was used, makes a new generation: sites
 * of an older one are made anew when they are met. Stacks: frames root first, parted by ';'; one
 * empty frame at the end is the classic layouts' way to end each frame with ';'.
 */
#include "import/gpu/iaprof.h"

#include "store/name.h"
#include "util/text.h"

#include <stdio.h>

/* Ids up to this much beyond four times the number of texts are places of the array. */
#define NEAR_SLACK 65536u

static const char *const reason_name[10] = {"active", "control", "pipestall", "send", "dist_acc",
                                            "sbid", "sync", "inst_fetch", "other", "tdr"};

static fm_str intern(struct fm_iaprof *a, const char *s)
{
    return fm_builder_str(a->builder, s, strlen(s));
}

static bool add_text(struct fm_iaprof *a, const char *s, size_t n)
{
    if (!fm_grow(a->mem, (void **)&a->text, &a->text_cap, a->texts + 1, sizeof *a->text))
        return false;
    a->text[a->texts++] = (struct fm_iaprof_text){s, (uint32_t)n, FM_NONE, FM_NONE, FM_NONE,
                                                     0};
    return true;
}

bool fm_iaprof_names_init(struct fm_iaprof *a)
{
    fm_arena_init(&a->arena, a->mem);
    fm_map_init(&a->far, a->mem);
    fm_map_init(&a->site_map, a->mem);
    a->names = FM_NONE;
    a->depth = a->import->ctx->cap[FM_CAP_STACK_DEPTH];
    a->here = UINT32_MAX;
    a->state_changed = true;
    a->generation = 1;
    for (size_t i = 0; i < FM_COUNT(reason_name); i++)
        a->reason[i] = intern(a, reason_name[i]);
    a->unknown_insn = intern(a, "[unknown instruction]");
    a->unknown_file = intern(a, "[unknown file]");
    a->unknown_kernel = intern(a, "[unknown kernel]");
    a->boundary = intern(a, "-");
    return add_text(a, NULL, 0);
}

void fm_iaprof_names_release(struct fm_iaprof *a)
{
    fm_mem_free(a->mem, a->text, a->text_cap * sizeof *a->text);
    fm_mem_free(a->mem, a->near, a->near_cap * sizeof *a->near);
    fm_mem_free(a->mem, a->site, a->site_cap * sizeof *a->site);
    fm_map_release(&a->far);
    fm_map_release(&a->site_map);
    fm_arena_release(&a->arena);
}

/* -------------------------------------------------------------------- ids */

static uint32_t find_text(const struct fm_iaprof *a, uint64_t id)
{
    const uint64_t *slot;
    if (id < a->nears)
        return a->near[id];
    slot = fm_map_find(&a->far, id);
    return slot != NULL ? (uint32_t)*slot : 0;
}

/* The place of an id that has none: a new text. 0: no memory. */
static uint32_t new_text(struct fm_iaprof *a, uint64_t id, const char *s, size_t n)
{
    uint64_t *slot;
    fm_assert(id != 0 && find_text(a, id) == 0);
    if (a->texts >= UINT32_MAX || !add_text(a, s, n)) {
        a->oom = true;
        return 0;
    }
    /* An id stays where it was put first: in the map once it was there. */
    if (id >= a->nears && id < a->texts * 4 + NEAR_SLACK && a->far.n == 0) {
        if (!fm_grow(a->mem, (void **)&a->near, &a->near_cap, (size_t)id + 1, sizeof *a->near)) {
            a->oom = true;
            return 0;
        }
        memset(a->near + a->nears, 0, (a->near_cap - a->nears) * sizeof *a->near);
        a->nears = a->near_cap;
    }
    if (id < a->nears) {
        a->near[id] = (uint32_t)(a->texts - 1);
        return a->near[id];
    }
    slot = fm_map_put(&a->far, id, NULL);
    if (slot == NULL) {
        a->oom = true;
        return 0;
    }
    *slot = a->texts - 1;
    return (uint32_t)*slot;
}

void fm_iaprof_define(struct fm_iaprof *a, uint64_t id, const char *s, size_t n, uint64_t offset)
{
    uint32_t at = find_text(a, id);
    char *copy;
    if (at != 0 && a->text[at].s != NULL) {
        if (a->text[at].n == n && memcmp(a->text[at].s, s, n) == 0)
            return;
        fm_builder_diag(a->builder, FM_DIAG_IAPROF_REDEFINED, offset, 1);
    }
    copy = fm_arena_strn(&a->arena, s, n);
    if (copy == NULL) {
        a->oom = true;
        return;
    }
    if (!fm_utf8_valid(s, n))
        fm_builder_diag(a->builder, FM_DIAG_BAD_UTF8, offset, 1);
    if (at == 0) {
        new_text(a, id, copy, n);
        return;
    }
    a->text[at] = (struct fm_iaprof_text){copy, (uint32_t)n, FM_NONE, FM_NONE, FM_NONE, 0};
    a->generation++;
    a->state_changed = true;
}

void fm_iaprof_classic_strings(struct fm_iaprof *a)
{
    static const char *const known[] = {
        "[unknown file]", "System Routine (Exceptions)", "[failed decode]", "active", "control",
        "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "unknown"};
    for (size_t i = 0; i < FM_COUNT(known); i++)
        if (find_text(a, i + 1) == 0)
            new_text(a, i + 1, known[i], strlen(known[i]));
}

uint32_t fm_iaprof_text_of(struct fm_iaprof *a, uint64_t id, uint64_t offset)
{
    uint32_t at = find_text(a, id);
    if (FM_LIKELY(at != 0) || id == 0)
        return at;
    fm_builder_diag(a->builder, FM_DIAG_IAPROF_STRING, offset, 1);
    return new_text(a, id, NULL, 0);
}

fm_str fm_iaprof_str(struct fm_iaprof *a, uint32_t text)
{
    struct fm_iaprof_text *t = &a->text[text];
    if (t->str == FM_NONE && t->s != NULL)
        t->str = fm_builder_str(a->builder, t->s, t->n);
    return t->str;
}

/* ----------------------------------------------------------------- frames */

static fm_frame frame_of(struct fm_iaprof *a, fm_str name, enum fm_frame_kind kind, fm_str file)
{
    struct fm_frame_row row = {.module = FM_NONE, .address = UINT64_MAX, .kind = (uint8_t)kind,
                               .function = name, .file = file};
    if (name == 0) {
        if (a->names == FM_NONE) {
            struct fm_module_row module = {.kind = FM_MODULE_NAMED, .pid = -1};
            a->names = fm_builder_module(a->builder, &module);
        }
        row.module = a->names;
    }
    return fm_builder_frame(a->builder, &row);
}

static fm_node add_frame(struct fm_iaprof *a, fm_node node, fm_str name, enum fm_frame_kind kind,
                         fm_str file)
{
    return fm_builder_node(a->builder, node, frame_of(a, name, kind, file));
}

/* One name of a stack's text. "_[k]" says what the place in the file says too. */
static fm_node add_name(struct fm_iaprof *a, fm_node node, const char *s, size_t n,
                        enum fm_frame_kind kind)
{
    if (n >= 4 && memcmp(s + n - 4, "_[k]", 4) == 0) {
        kind = FM_FRAME_KERNEL;
        n -= 4;
    } else if (n >= 4 && kind == FM_FRAME_USER && memcmp(s, "py::", 4) == 0) {
        kind = FM_FRAME_PYTHON;
    }
    return add_frame(a, node, fm_builder_str(a->builder, s, n), kind, 0);
}

/* Cuts the root side of a stack with more frames than the limit. */
static void limit_depth(struct fm_iaprof *a, const char **s, size_t *n, uint64_t offset)
{
    const char *p = *s, *end = *s + *n;
    uint64_t frames = 1;
    if (*n < a->depth)
        return;
    for (const char *q = p; q < end; q++)
        frames += *q == ';';
    if (frames <= a->depth)
        return;
    for (; frames > a->depth; p++)
        frames -= *p == ';';
    *s = p;
    *n = (size_t)(end - p);
    fm_builder_diag(a->builder, FM_DIAG_STACK_DEPTH, offset, 1);
}

static fm_node add_stack(struct fm_iaprof *a, fm_node node, uint32_t text, enum fm_frame_kind kind,
                         uint64_t offset)
{
    const char *s = a->text[text].s;
    size_t n = a->text[text].n;
    if (s == NULL)
        return node;
    if (n > 0 && s[n - 1] == ';')
        n--;
    limit_depth(a, &s, &n, offset);
    while (n > 0) {
        const char *semi = memchr(s, ';', n);
        size_t len = semi != NULL ? (size_t)(semi - s) : n;
        node = add_name(a, node, s, len, kind);
        s += len;
        n -= len;
        if (semi != NULL) {
            s++;
            n--;
        }
    }
    return node;
}

static fm_node user_stack(struct fm_iaprof *a, uint64_t id, uint64_t offset)
{
    uint32_t text = fm_iaprof_text_of(a, id, offset);
    if (text == 0)
        return FM_NODE_ROOT;
    if (a->text[text].user == FM_NONE)
        a->text[text].user = add_stack(a, FM_NODE_ROOT, text, FM_FRAME_USER, offset);
    return a->text[text].user;
}

/* ------------------------------------------------------------------ sites */

static uint64_t state_hash(const struct fm_iaprof_state *s)
{
    uint64_t h = fm_mix(0x9e3779b97f4a7c15u, s->address);
    h = fm_mix(h, s->comm);
    h = fm_mix(h, s->pid);
    h = fm_mix(h, s->ustack);
    h = fm_mix(h, s->kstack);
    h = fm_mix(h, s->file);
    h = fm_mix(h, s->symbol);
    return fm_mix(h, s->shader << 2 | (uint64_t)s->known << 1 | (uint64_t)s->fast);
}

static bool same_state(const struct fm_iaprof_state *x, const struct fm_iaprof_state *y)
{
    return x->address == y->address && x->comm == y->comm && x->pid == y->pid &&
           x->ustack == y->ustack && x->kstack == y->kstack && x->file == y->file &&
           x->symbol == y->symbol && x->shader == y->shader && x->known == y->known &&
           x->fast == y->fast;
}

/* A kernel without a symbol has its address as its name. */
static fm_str kernel_name(struct fm_iaprof *a, const struct fm_iaprof_state *s, uint64_t offset)
{
    fm_str name = FM_NONE;
    char text[20];
    if (s->known)
        name = fm_iaprof_str(a, fm_iaprof_text_of(a, s->symbol, offset));
    if (name != FM_NONE)
        return name;
    if (!s->known || !s->fast)
        return a->unknown_kernel;
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)s->address);
    return intern(a, text);
}

static fm_str shader_name(struct fm_iaprof *a, uint64_t shader)
{
    static const char *const name[] = {NULL, "shader", "system routine", "debug area"};
    return shader > 0 && shader < FM_COUNT(name) ? intern(a, name[shader]) : FM_NONE;
}

/* The launching thread is not in the file, its process is. */
static fm_thread thread_of(struct fm_iaprof *a, const struct fm_iaprof_state *s, fm_str comm)
{
    struct fm_thread_row *row;
    fm_thread t;
    if (!s->known || s->pid > INT64_MAX)
        return FM_NONE;
    t = fm_builder_thread(a->builder, (int64_t)s->pid, -1, 0);
    row = t != FM_NONE ? fm_builder_thread_row(a->builder, t) : NULL;
    if (row != NULL && comm != FM_NONE) {
        row->process = comm;
        fm_builder_thread_name(a->builder, t, INT64_MIN, comm);
    }
    return t;
}

static void make_site(struct fm_iaprof *a, uint32_t at, uint64_t offset)
{
    const struct fm_iaprof_state s = a->state;
    struct fm_iaprof_site site = {.state = s, .generation = a->generation,
                                  .next = a->site[at].next, .comm = FM_NONE, .file = FM_NONE,
                                  .uses = a->site[at].uses, .leaf = a->site[at].leaf};
    fm_node node = FM_NODE_ROOT;
    if (site.leaf != NULL)
        memset(site.leaf, 0, FM_IAPROF_LEAVES * sizeof *site.leaf);
    if (s.known) {
        site.comm = fm_iaprof_str(a, fm_iaprof_text_of(a, s.comm, offset));
        site.file = fm_iaprof_str(a, fm_iaprof_text_of(a, s.file, offset));
        node = user_stack(a, s.ustack, offset);
        node = add_stack(a, node, fm_iaprof_text_of(a, s.kstack, offset), FM_FRAME_KERNEL, offset);
    }
    if (site.file == a->unknown_file)
        site.file = FM_NONE;
    site.kernel = kernel_name(a, &s, offset);
    site.shader = shader_name(a, s.shader);
    site.thread = thread_of(a, &s, site.comm);
    node = add_frame(a, node, a->boundary, FM_FRAME_SYNTHETIC, 0);
    node = add_frame(a, node, site.file != FM_NONE ? site.file : a->unknown_file,
                     FM_FRAME_GPU_SOURCE, 0);
    site.node = add_frame(a, node, site.kernel, FM_FRAME_GPU_KERNEL,
                          site.file != FM_NONE ? site.file : 0);
    if (site.kernel == a->unknown_kernel)
        site.kernel = FM_NONE;
    a->site[at] = site;
}

uint32_t fm_iaprof_site_make(struct fm_iaprof *a, uint64_t offset)
{
    uint64_t *first;
    uint32_t at;
    bool fresh;
    fm_assert(a->state_changed);
    first = fm_map_put(&a->site_map, state_hash(&a->state), &fresh);
    if (first == NULL || !fm_grow(a->mem, (void **)&a->site, &a->site_cap, a->sites + 1,
                                  sizeof *a->site)) {
        a->oom = true;
        return 0;
    }
    for (at = fresh ? UINT32_MAX : (uint32_t)*first;
         at != UINT32_MAX && !same_state(&a->site[at].state, &a->state); at = a->site[at].next)
        ;
    if (at == UINT32_MAX) {
        at = (uint32_t)a->sites++;
        a->site[at] = (struct fm_iaprof_site){.next = fresh ? UINT32_MAX : (uint32_t)*first};
        *first = at;
        make_site(a, at, offset);
    } else if (a->site[at].generation != a->generation) {
        make_site(a, at, offset);
    }
    a->here = at;
    a->state_changed = false;
    for (size_t i = 0; a->site[at].leaf != NULL && i < FM_IAPROF_LEAVES; i += 8)
        __builtin_prefetch(&a->site[at].leaf[i]);
    return at;
}

/* Sites that are met once or twice have no table: one would be larger than what is read. */
#define LEAVES_FROM 16u

fm_node fm_iaprof_leaf_make(struct fm_iaprof *a, uint32_t site, uint32_t text)
{
    struct fm_iaprof_site *s = &a->site[site];
    struct fm_iaprof_text *t = &a->text[text];
    fm_node node;
    if (t->insn == FM_NONE) {
        fm_str name = fm_iaprof_str(a, text);
        t->insn = frame_of(a, name != FM_NONE ? name : a->unknown_insn, FM_FRAME_GPU_INSTRUCTION,
                           0);
        t->number = a->insns++;
    }
    node = fm_builder_node(a->builder, s->node, t->insn);
    if (s->leaf == NULL && ++s->uses >= LEAVES_FROM) {
        s->leaf = fm_arena_alloc(&a->arena, FM_IAPROF_LEAVES * sizeof *s->leaf);
        a->oom = a->oom || s->leaf == NULL;
    }
    if (s->leaf != NULL)
        s->leaf[t->number % FM_IAPROF_LEAVES] = (struct fm_iaprof_leaf){text, node};
    return node;
}
