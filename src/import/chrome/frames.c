/*
 * frames.c - the dictionary `stackFrames`, and stacks of events.
 *
 *     "stackFrames": {"7": {"name": "f", "category": "libc.so", "parent": 3, "line": "12"}}
 *     "sf": 7                          a frame of it: the leaf
 *     "stack": ["leaf", "caller"]      the stack itself
 *
 * Ids are texts or numbers and compare as text. A frame of an M event belongs to its process, one
 * of the document to all. The dictionary may come after the events that use it, so a stack that
 * an event asks for is made at the end and its row is patched. No parent, one that is not there,
 * and a circle all end a stack.
 */
#include "import/chrome/legacy.h"
#include "import/chrome/v8.h"

struct fm_chrome_legacy *fm_chrome_legacy(struct fm_chrome *c)
{
    if (c->legacy == NULL) {
        c->legacy = fm_arena_alloc(&c->arena, sizeof *c->legacy);
        if (c->legacy == NULL)
            c->oom = true;
        else
            fm_map_init(&c->legacy->by_id, c->mem);
    }
    return c->legacy;
}

/* Index + 1 of the frame; 0: none. */
static uint32_t find(const struct fm_chrome_legacy *f, uint32_t process, fm_str id)
{
    uint64_t *slot = fm_map_find(&f->by_id, (uint64_t)process << 32 | id);
    return slot != NULL ? (uint32_t)*slot : 0;
}

/* Of the process, else of the document. */
static uint32_t find_near(const struct fm_chrome_legacy *f, uint32_t process, fm_str id)
{
    uint32_t at = process != UINT32_MAX ? find(f, process, id) : 0;
    return at != 0 ? at : find(f, UINT32_MAX, id);
}

/* ------------------------------------------------------------------ reading */

static bool key_is(const struct fm_json *j, const char *key)
{
    size_t n = strlen(key);
    return j->n == n && memcmp(j->text, key, n) == 0;
}

/* A number as it stands or a text. */
static bool id_of(struct fm_chrome *c, const struct fm_json *j, enum fm_json_token t, fm_str *id)
{
    if (t == FM_JSON_NUMBER)
        *id = fm_builder_str(c->builder, j->text, j->n);
    else if (t == FM_JSON_STRING)
        *id = fm_v8_str(c, j, t);
    else
        return false;
    return true;
}

static uint32_t place(const struct fm_json *j, enum fm_json_token t)
{
    int64_t v = fm_v8_number(j, t, 0);
    return v > 0 && v < UINT32_MAX ? (uint32_t)v : 0;
}

static bool add_frame(struct fm_chrome *c, struct fm_legacy_frame *frame)
{
    struct fm_chrome_legacy *f = c->legacy;
    uint64_t *slot;
    if (f->n >= UINT32_MAX - 1 ||
        !fm_grow(c->mem, (void **)&f->frame, &f->cap, f->n + 1, sizeof *f->frame) ||
        (slot = fm_map_put(&f->by_id, (uint64_t)frame->process << 32 | frame->id, NULL)) == NULL) {
        c->oom = true;
        return false;
    }
    f->frame[f->n++] = *frame;     /* of two with one id the last one counts */
    *slot = f->n;
    return true;
}

/* The members of one frame, after its '{'. */
static bool read_frame(struct fm_chrome *c, struct fm_json *j, struct fm_legacy_frame *frame)
{
    struct fm_frame_row row = {.module = FM_NONE, .address = UINT64_MAX,
                               .kind = FM_FRAME_UNKNOWN};
    struct fm_module_row module = {.kind = FM_MODULE_NAMED, .pid = -1};
    enum fm_json_token t;
    while ((t = fm_json_next(j)) == FM_JSON_KEY) {
        bool name = key_is(j, "name"), parent = key_is(j, "parent");
        bool category = key_is(j, "category"), line = key_is(j, "line");
        bool column = key_is(j, "column");
        t = fm_json_next(j);
        if (name)
            row.function = fm_v8_str(c, j, t);
        else if (parent)
            frame->has_parent = id_of(c, j, t, &frame->parent);
        else if (category)
            module.path = fm_v8_str(c, j, t);
        else if (line)
            row.line = place(j, t);
        else if (column)
            row.column = place(j, t);
        if (!fm_json_skip(j, t))
            return false;
    }
    if (row.function == 0)
        row.function = fm_builder_str(c->builder, "(unnamed)", 9);
    if (module.path != 0) {
        row.module = fm_builder_module(c->builder, &module);
    }
    frame->frame = fm_builder_frame(c->builder, &row);
    return t == FM_JSON_OBJECT_END;
}

bool fm_chrome_frames_read(struct fm_chrome *c, struct fm_json *j, uint32_t process)
{
    enum fm_json_token t = fm_json_next(j);
    if (t != FM_JSON_OBJECT)
        return fm_json_skip(j, t);
    if (fm_chrome_legacy(c) == NULL)
        return false;
    while ((t = fm_json_next(j)) == FM_JSON_KEY) {
        struct fm_legacy_frame frame = {.process = process, .stack = FM_NONE};
        frame.id = fm_v8_str(c, j, FM_JSON_STRING);
        t = fm_json_next(j);
        if (t != FM_JSON_OBJECT) {
            if (!fm_json_skip(j, t))
                return false;
            continue;
        }
        if (!read_frame(c, j, &frame) || !add_frame(c, &frame))
            return false;
    }
    return t == FM_JSON_OBJECT_END;
}

void fm_chrome_frames(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    struct fm_json j;
    enum fm_json_token t;
    const struct fm_json_field *args = e->field[FM_CHROME_ARGS];
    if (args == NULL)
        return;
    fm_json_init_memory(&j, args->text, args->n);
    if (fm_json_next(&j) != FM_JSON_OBJECT)
        return;
    while ((t = fm_json_next(&j)) == FM_JSON_KEY)
        if (key_is(&j, "stackFrames")
                ? !fm_chrome_frames_read(c, &j, c->thread[e->thread].process)
                : !fm_json_skip(&j, t))
            break;
}

/* ------------------------------------------------------------------- stacks */

static void make_stack(struct fm_chrome *c, struct fm_legacy_frame *frame,
                       const struct fm_legacy_frame *up)
{
    uint64_t cap = c->ctx->cap[FM_CAP_STACK_DEPTH];
    bool cut = up != NULL && cap != 0 && up->depth >= cap;
    frame->busy = false;
    frame->depth = up != NULL && !cut ? up->depth + 1 : 1;
    frame->stack = fm_builder_node(c->builder, up != NULL && !cut ? up->stack : FM_NODE_ROOT,
                                   frame->frame);
    if (cut)
        fm_chrome_diag(c, FM_DIAG_STACK_DEPTH, FM_NO_OFFSET);
}

/* The index of a frame's parent + 1; 0: it is outermost. */
static uint32_t parent_of(struct fm_chrome *c, const struct fm_legacy_frame *frame)
{
    uint32_t at;
    if (!frame->has_parent)
        return 0;
    at = find_near(c->legacy, frame->process, frame->parent);
    if (at == 0 || c->legacy->frame[at - 1].busy) {
        fm_chrome_diag(c, FM_DIAG_STACK_PARENT, FM_NO_OFFSET);
        return 0;
    }
    return at;
}

/* The stack whose leaf is that frame: outer frames first, each made once. */
static fm_node stack_of(struct fm_chrome *c, uint32_t at)
{
    struct fm_chrome_legacy *f = c->legacy;
    size_t n = 0;
    uint32_t leaf = at;
    while (at != 0 && f->frame[at - 1].stack == FM_NONE) {
        if (!fm_grow(c->mem, (void **)&f->path, &f->path_cap, n + 1, sizeof *f->path)) {
            c->oom = true;
            return FM_NONE;
        }
        f->path[n++] = at;
        f->frame[at - 1].busy = true;
        at = parent_of(c, &f->frame[at - 1]);
    }
    while (n > 0) {
        uint32_t next = f->path[--n];
        make_stack(c, &f->frame[next - 1], at != 0 ? &f->frame[at - 1] : NULL);
        at = next;
    }
    return f->frame[leaf - 1].stack;
}

fm_node fm_chrome_frame_stack(struct fm_chrome *c, uint32_t process, fm_str id)
{
    uint32_t at = c->legacy != NULL ? find_near(c->legacy, process, id) : 0;
    struct fm_frame_row row = {.module = FM_NONE, .address = UINT64_MAX,
                               .kind = FM_FRAME_SYNTHETIC};
    if (at != 0)
        return stack_of(c, at);
    fm_chrome_diag(c, FM_DIAG_STACK_PARENT, FM_NO_OFFSET);
    row.function = fm_builder_str(c->builder, "(unresolved)", 12);
    return fm_builder_node(c->builder, FM_NODE_ROOT, fm_builder_frame(c->builder, &row));
}

static fm_node name_node(struct fm_chrome *c, fm_node parent, fm_str name)
{
    struct fm_frame_row row = {.module = FM_NONE, .address = UINT64_MAX,
                               .kind = FM_FRAME_UNKNOWN, .function = name};
    return fm_builder_node(c->builder, parent, fm_builder_frame(c->builder, &row));
}

fm_node fm_chrome_name_stack(struct fm_chrome *c, fm_str name)
{
    return name_node(c, FM_NODE_ROOT,
                     name != 0 ? name : fm_builder_str(c->builder, "(unnamed)", 9));
}

fm_node fm_chrome_list_stack(struct fm_chrome *c, const struct fm_json_field *list)
{
    struct fm_json j;
    enum fm_json_token t;
    fm_str id, *name = NULL;
    size_t n = 0, cap = 0;
    fm_node stack = FM_NODE_ROOT;
    uint64_t limit = c->ctx->cap[FM_CAP_STACK_DEPTH];
    if (list == NULL || list->kind != FM_JSON_ARRAY)
        return FM_NONE;
    fm_json_init_memory(&j, list->text, list->n);
    t = fm_json_next(&j);
    while ((t = fm_json_next(&j)) > FM_JSON_END && t != FM_JSON_ARRAY_END) {
        if (!id_of(c, &j, t, &id)) {
            if (!fm_json_skip(&j, t))
                break;
        } else if (limit != 0 && n >= limit) {
            fm_chrome_diag(c, FM_DIAG_STACK_DEPTH, FM_NO_OFFSET);
            break;
        } else if (!fm_grow(c->mem, (void **)&name, &cap, n + 1, sizeof *name)) {
            c->oom = true;
            break;
        } else {
            name[n++] = id;
        }
    }
    if (n == 0)
        stack = FM_NONE;
    while (n > 0)
        stack = name_node(c, stack, name[--n]);
    fm_mem_free(c->mem, name, cap * sizeof *name);
    return stack;
}

/* ----------------------------------------------------------- stacks of events */

bool fm_chrome_frame_id(struct fm_chrome *c, const struct fm_json_field *sf, fm_str *id)
{
    if (sf == NULL || (sf->kind != FM_JSON_NUMBER && sf->kind != FM_JSON_STRING))
        return false;
    *id = fm_chrome_str(c, sf);
    return true;
}

void fm_chrome_event_stack(struct fm_chrome *c, const struct fm_chrome_event *e, uint64_t row)
{
    struct fm_chrome_legacy *f;
    fm_node stack;
    fm_str id;
    if (row == UINT64_MAX)
        return;
    if (!fm_chrome_frame_id(c, e->field[FM_CHROME_SF], &id)) {
        stack = fm_chrome_list_stack(c, e->field[FM_CHROME_STACK]);
        if (stack != FM_NONE)
            fm_row_patch(c->builder, row, FM_COL_STACK, stack);
        return;
    }
    f = fm_chrome_legacy(c);
    if (f == NULL)
        return;
    if (!fm_grow(c->mem, (void **)&f->wait, &f->wait_cap, f->waits + 1, sizeof *f->wait)) {
        c->oom = true;
        return;
    }
    f->wait[f->waits++] = (struct fm_legacy_wait){row, c->thread[e->thread].process, id};
}

uint32_t fm_chrome_hang_stack(struct fm_chrome *c, const struct fm_json_field *sf,
                              const struct fm_json_field *list, bool end, uint32_t chain)
{
    fm_str id;
    if (fm_chrome_frame_id(c, sf, &id))
        return fm_chrome_hang(c, chain, end ? FM_CHROME_HANG_ESF : FM_CHROME_HANG_SF, id);
    fm_node stack = fm_chrome_list_stack(c, list);
    if (stack == FM_NONE)
        return chain;
    return fm_chrome_hang(c, chain, end ? FM_CHROME_HANG_ESTACK : FM_CHROME_HANG_STACK, stack);
}

fm_node fm_chrome_hung_stack(struct fm_chrome *c, uint32_t process,
                             const struct fm_chrome_arg *item)
{
    switch (item->number) {
    case FM_CHROME_HANG_SF:
    case FM_CHROME_HANG_ESF: return fm_chrome_frame_stack(c, process, (fm_str)item->lane);
    case FM_CHROME_HANG_STACK:
    case FM_CHROME_HANG_ESTACK: return (fm_node)item->lane;
    default: return FM_NONE;
    }
}

void fm_chrome_frames_finish(struct fm_chrome *c)
{
    struct fm_chrome_legacy *f = c->legacy;
    for (size_t i = 0; f != NULL && i < f->waits && !c->oom; i++) {
        fm_node stack = fm_chrome_frame_stack(c, f->wait[i].process, f->wait[i].id);
        if (stack != FM_NONE)
            fm_row_patch(c->builder, f->wait[i].row, FM_COL_STACK, stack);
    }
}

void fm_chrome_frames_release(struct fm_chrome *c)
{
    struct fm_chrome_legacy *f = c->legacy;
    if (f == NULL)
        return;
    fm_map_release(&f->by_id);
    fm_mem_free(c->mem, f->frame, f->cap * sizeof *f->frame);
    fm_mem_free(c->mem, f->wait, f->wait_cap * sizeof *f->wait);
    fm_mem_free(c->mem, f->path, f->path_cap * sizeof *f->path);
}
