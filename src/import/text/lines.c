/*
 * lines.c - container `text`: lines by regular expressions.
 *
 *     start   comm 12/34 1.5: 1 cycles:       fields of the record
 *     frame       55d0 main (/bin/x)          stack
 *     end     (a blank line)                  the record is whole
 *
 * Lines that open and close ranges are range.c's.
 * Values of `set` lines are kept apart and copied into each record when it begins.
 */
#include "import/text/generic.h"

#include "util/error.h"
#include "util/text.h"

#define MAX_GROUPS 64

struct text {
    struct fm_generic *g;
    const struct fm_container *c;
    uint64_t *set_value, *set_present; /* of `set` lines */
    size_t words;
    bool open, dropped;                /* a record; the one that was is forgotten */
    const char *class;                 /* of the open record, or NULL */
    uint64_t offset;                   /* where it began */
    struct fm_ranges *ranges;          /* NULL: the format has none */
    const struct fm_line_rule *range;  /* the open record begins or ends one of them; NULL: no */
    fm_frame *frame;
    size_t frames, frame_cap;
    size_t at[2 * MAX_GROUPS];
};

static void captures(struct text *t, const struct fm_line_rule *r, const char *s, size_t groups,
                     uint64_t offset)
{
    for (size_t i = 0; i < r->captures; i++) {
        uint32_t k = r->capture[i].group;
        if (k < groups && k < MAX_GROUPS && t->at[2 * k] != SIZE_MAX)
            fm_generic_text(t->g, r->capture[i].field, s + t->at[2 * k],
                            t->at[2 * k + 1] - t->at[2 * k], offset);
    }
}

static void begin(struct text *t, const struct fm_line_rule *r, uint64_t offset)
{
    struct fm_generic *g = t->g;
    memcpy(g->value, t->set_value, g->fields * sizeof *g->value);
    memcpy(g->present, t->set_present, t->words * sizeof *g->present);
    t->open = true;
    t->dropped = false;
    t->range = NULL;
    t->class = r->class;
    t->offset = offset;
    t->frames = 0;
}

static void finish(struct text *t)
{
    struct fm_generic *g = t->g;
    if (!t->open)
        return;
    t->open = false;
    if (t->range && t->range->what == FM_LINE_OPEN) {
        fm_range_open(t->ranges, t->class, t->range->kind, t->offset);
        return;
    }
    if (t->range) {
        fm_range_close(t->ranges, t->offset);
        return;
    }
    if (t->c->stack_field != UINT32_MAX) {
        for (size_t i = 0; t->c->leaf_first && i < t->frames / 2; i++) {
            fm_frame swap = t->frame[i];
            t->frame[i] = t->frame[t->frames - 1 - i];
            t->frame[t->frames - 1 - i] = swap;
        }
        fm_node node = fm_builder_stack(g->builder, t->frame, t->frames);
        fm_generic_lane(g, t->c->stack_field, node);
    }
    fm_generic_emit(g, t->class, t->offset);
}

/* The text of a group; 0 when it is unset. */
static size_t group(const struct text *t, uint32_t k, const char *line, const char **s)
{
    if (k == 0 || k >= MAX_GROUPS || t->at[2 * k] == SIZE_MAX)
        return 0;
    *s = line + t->at[2 * k];
    return t->at[2 * k + 1] - t->at[2 * k];
}

static void add_frame(struct text *t, const struct fm_line_rule *r, const char *line)
{
    struct fm_builder *b = t->g->builder;
    struct fm_frame_row f = {.module = FM_NONE, .address = UINT64_MAX, .kind = (uint8_t)r->kind};
    const char *s;
    uint64_t number;
    size_t n = group(t, r->function, line, &s);
    f.function = n ? fm_builder_str(b, s, n) : 0;
    if ((n = group(t, r->file, line, &s)) != 0)
        f.file = fm_builder_str(b, s, n);
    if ((n = group(t, r->line, line, &s)) != 0 && fm_text_u64(s, n, &number) &&
        number <= UINT32_MAX)
        f.line = (uint32_t)number;
    if ((n = group(t, r->address, line, &s)) != 0 && fm_text_hex(s, n, &number))
        f.address = number;
    if ((n = group(t, r->module, line, &s)) != 0) {
        struct fm_module_row m = {.kind = FM_MODULE_NAMED, .pid = -1};
        m.path = fm_builder_str(b, s, n);
        f.module = fm_builder_module(b, &m);
    }
    if (f.function == 0 && f.address == UINT64_MAX)
        return;
    if (!fm_grow(t->g->mem, (void **)&t->frame, &t->frame_cap, t->frames + 1, sizeof *t->frame)) {
        t->g->oom = true;
        return;
    }
    if (t->frames < t->g->import->ctx->cap[FM_CAP_STACK_DEPTH])
        t->frame[t->frames++] = fm_builder_frame(b, &f);
    else
        fm_builder_diag(b, FM_DIAG_STACK_DEPTH, t->offset, 1);
}

/* `set`: read into the record's place, moved to the kept values. */
static void set_values(struct text *t, const struct fm_line_rule *r, const char *s, size_t groups,
                       uint64_t offset)
{
    struct fm_generic *g = t->g;
    finish(t);
    fm_generic_clear(g);
    captures(t, r, s, groups, offset);
    for (size_t i = 0; i < r->captures; i++) {
        uint32_t f = r->capture[i].field;
        uint64_t bit = UINT64_C(1) << (f & 63);
        t->set_value[f] = g->value[f];
        t->set_present[f >> 6] =
            (t->set_present[f >> 6] & ~bit) | (g->present[f >> 6] & bit);
    }
}

/* The line of a range; `field` lines may follow, so that it is whole when the next one begins. */
static void take_range(struct text *t, const struct fm_line_rule *r, const char *s, size_t groups,
                       uint64_t offset)
{
    finish(t);
    begin(t, r, offset);
    if (r->what == FM_LINE_CLOSE)      /* values of `set` lines are those of its beginning */
        fm_generic_clear(t->g);
    t->range = r;
    captures(t, r, s, groups, offset);
}

static void act(struct text *t, const struct fm_line_rule *r, const char *s, size_t groups,
                uint64_t offset)
{
    bool inside = r->what == FM_LINE_FRAME || r->what == FM_LINE_FIELD ||
                  r->what == FM_LINE_END || r->what == FM_LINE_DROP;
    if (inside && !t->open && t->dropped)
        return;
    if (inside && !t->open) {
        fm_builder_diag(t->g->builder, FM_DIAG_BAD_LINE, offset, 1);
        return;
    }
    switch (r->what) {
    case FM_LINE_RECORD:
    case FM_LINE_START:
        finish(t);
        begin(t, r, offset);
        captures(t, r, s, groups, offset);
        if (r->what == FM_LINE_RECORD)
            finish(t);
        break;
    case FM_LINE_FRAME:
        add_frame(t, r, s);
        captures(t, r, s, groups, offset);
        break;
    case FM_LINE_FIELD: captures(t, r, s, groups, offset); break;
    case FM_LINE_END:
        captures(t, r, s, groups, offset);
        finish(t);
        break;
    case FM_LINE_DROP:
        t->open = false;
        t->dropped = true;
        break;
    case FM_LINE_OPEN:
    case FM_LINE_CLOSE: take_range(t, r, s, groups, offset); break;
    case FM_LINE_SET: set_values(t, r, s, groups, offset); break;
    case FM_LINE_SKIP: break;
    }
}

static void take_line(void *user, const char *s, size_t n, uint64_t number, uint64_t offset)
{
    struct text *t = user;
    (void)number;
    const struct fm_container *c = t->c;
    for (size_t i = 0; i < c->lines; i++) {
        size_t groups = fm_pattern_captures(c->line[i].match, s, n, 0, t->at, MAX_GROUPS);
        if (groups) {
            act(t, &c->line[i], s, groups, offset);
            return;
        }
    }
    size_t blank = 0;
    while (blank < n && (s[blank] == ' ' || s[blank] == '\t'))
        blank++;
    if (blank == n) {
        if (c->blank_ends)
            finish(t);
        return;
    }
    fm_builder_diag(t->g->builder,
                    c->unmatched == FM_UNMATCHED_BAD ? FM_DIAG_BAD_LINE : FM_DIAG_OTHER_LINE,
                    offset, 1);
}

enum fm_status fm_generic_lines(struct fm_generic *g, struct fm_error *err)
{
    struct text t = {.g = g, .c = g->c, .words = (g->fields + 63) / 64};
    enum fm_status status;
    t.set_value = fm_arena_alloc(&g->arena, (g->fields + 1) * sizeof *t.set_value);
    t.set_present = fm_arena_alloc(&g->arena, (t.words + 1) * sizeof *t.set_present);
    if (!t.set_value || !t.set_present)
        return fm_error_nomem(err);
    if (t.c->ranges && !(t.ranges = fm_ranges_new(g)))
        return fm_error_nomem(err);
    status = fm_generic_each_line(g, take_line, &t, err);
    finish(&t);
    if (t.ranges)
        fm_ranges_end(t.ranges);
    if (t.frame)
        fm_mem_free(g->mem, t.frame, t.frame_cap * sizeof *t.frame);
    return status;
}
