/*
 * speedscope.c - the file format of speedscope.app: profiles, one a thread; those of spans have
 * events (evented.c), those of all else samples:
 *
 *     {"$schema": ..., "exporter": "foldmill@V", "name": TITLE, "activeProfileIndex": heaviest,
 *      "profiles": [{"type": "sampled", "name": "comm pid/tid", "unit": U,
 *                    "startValue": 0, "endValue": sum of weights,
 *                    "samples": [[frame, frame ...] ...], "weights": [n ...]} ...],
 *      "shared": {"frames": [{"name": N, "file": F} ...]}}
 *
 * Stacks are root first, samples in time order; equal neighbours are one sample with the sum of
 * their weights, samples of weight 0 are left out (the viewer drops them). The viewer knows frames
 * by index, so frames are numbered once per (name, file), as they are met: their table comes last.
 * Units: ns, us, ms, s and bytes have names there, everything else is "none".
 */
#include "export/scope.h"

#include "util/error.h"

bool fm_scope_number(struct fm_scope *s, fm_str name, fm_str file, uint32_t *n)
{
    bool fresh;
    uint64_t key = (uint64_t)name << 32 | file, *slot = fm_map_put(&s->index, key, &fresh);
    if (slot == NULL)
        return false;
    if (fresh) {
        if (!fm_grow(s->mem, (void **)&s->entry, &s->entry_cap, s->entries + 1,
                     sizeof *s->entry))
            return false;
        s->entry[s->entries] = key;
        *slot = s->entries++;
    }
    *n = (uint32_t)*slot;
    return true;
}

/* Fills s->stack with the frame numbers of a row, root first. Frames are numbered in that order. */
static bool make_stack(struct fm_scope *s, const struct fm_timeline_row *row)
{
    const fm_str *text = s->line.texts > 0 ? s->line.text + row->texts * s->line.texts : NULL;
    size_t depth = s->tree[row->node].depth, above = text != NULL ? s->line.prepends : 0, k, n;
    uint32_t node = row->node;
    n = s->line.texts + depth;
    if (!fm_grow(s->mem, (void **)&s->stack, &s->stack_cap, n + 1, sizeof *s->stack))
        return false;
    for (k = depth; k > 0; k--) {
        s->stack[above + k - 1] = node;
        node = s->tree[node].parent;
    }
    s->stack_n = 0;
    for (k = 0; k < n; k++) {
        fm_str name, file = 0;
        if (k < above || k >= above + depth) {
            name = text[k < above ? k : k - depth];
        } else {
            fm_frame f = s->tree[s->stack[k]].frame;
            name = s->label[f];
            file = fm_selection_frame(s->sel, f)->file;
        }
        if (name != FM_PSEUDO_SKIP && !fm_scope_number(s, name, file, &s->stack[s->stack_n++]))
            return false;
    }
    return true;
}

static void put_stack(struct fm_scope *s)
{
    size_t k;
    if (s->weights > 0)
        fm_out_char(s->out, ',');
    fm_out_char(s->out, '[');
    for (k = 0; k < s->stack_n; k++) {
        if (k > 0)
            fm_out_char(s->out, ',');
        fm_out_u64(s->out, s->stack[k]);
    }
    fm_out_char(s->out, ']');
}

static bool add_sample(struct fm_scope *s, const struct fm_timeline_row *row)
{
    uint32_t *swap;
    size_t cap;
    if (row->weight == 0)
        return true;
    if (!make_stack(s, row))
        return false;
    if (s->weights > 0 && s->stack_n == s->last_n &&
        memcmp(s->stack, s->last, s->stack_n * sizeof *s->stack) == 0 &&
        fm_add_u64(s->weight[s->weights - 1], row->weight, &s->weight[s->weights - 1]))
        return true;
    put_stack(s);
    if (!fm_grow(s->mem, (void **)&s->weight, &s->weight_cap, s->weights + 1, sizeof *s->weight))
        return false;
    s->weight[s->weights++] = row->weight;
    swap = s->last;
    cap = s->last_cap;
    s->last = s->stack;
    s->last_cap = s->stack_cap;
    s->last_n = s->stack_n;
    s->stack = swap;
    s->stack_cap = cap;
    return true;
}

static const char *unit_name(const struct fm_scope *s)
{
    static const char *const names[][2] = {
        {"ns", "nanoseconds"}, {"us", "microseconds"}, {"ms", "milliseconds"},
        {"s", "seconds"},      {"bytes", "bytes"},
    };
    const char *unit = fm_store_str(s->sel->store, s->sel->unit, NULL);
    size_t i;
    for (i = 0; i < FM_COUNT(names); i++) {
        if (strcmp(unit, names[i][0]) == 0)
            return names[i][1];
    }
    return "none";
}

void fm_scope_name(struct fm_scope *s, fm_thread t)
{
    struct fm_out text;
    if (t == FM_NONE) {
        fm_out_json(s->out, s->export->title, strlen(s->export->title));
        return;
    }
    if (fm_out_init(&text, s->mem, NULL) == FM_OK) {
        fm_timeline_thread(s->sel->store, t, &text);
        if (text.status == FM_OK)
            fm_out_json(s->out, text.n > 0 ? text.buf : "", text.n);
    }
    if (text.status != FM_OK)
        s->out->status = text.status;
    fm_out_release(&text);
}

void fm_scope_profile(struct fm_scope *s)
{
    if (s->profiles++ > 0)
        fm_out_text(s->out, ",\n");
}

void fm_scope_weigh(struct fm_scope *s, fm_u128 sum)
{
    if (sum > s->most) {
        s->most = sum;
        s->heaviest = s->profiles - 1;
    }
}

/* One profile: rows [from, to) of the timeline. */
static bool put_profile(struct fm_scope *s, size_t from, size_t to)
{
    fm_u128 sum = 0;
    size_t i;
    for (i = from; i < to; i++)
        sum += fm_timeline_at(&s->line, i)->weight;
    fm_scope_profile(s);
    fm_scope_weigh(s, sum);
    fm_out_text(s->out, "{\"type\":\"sampled\",\"name\":");
    fm_scope_name(s, from < to ? fm_timeline_at(&s->line, from)->thread : FM_NONE);
    fm_out_text(s->out, ",\"unit\":\"");
    fm_out_text(s->out, unit_name(s));
    fm_out_text(s->out, "\",\"startValue\":0,\"endValue\":");
    fm_out_u128(s->out, sum);
    fm_out_text(s->out, ",\"samples\":[");
    s->weights = 0;
    for (i = from; i < to; i++) {
        if (!add_sample(s, fm_timeline_at(&s->line, i)))
            return false;
    }
    fm_out_text(s->out, "],\"weights\":[");
    for (i = 0; i < s->weights; i++) {
        if (i > 0)
            fm_out_char(s->out, ',');
        fm_out_u64(s->out, s->weight[i]);
    }
    fm_out_text(s->out, "]}");
    return true;
}

static bool put_sampled(struct fm_scope *s)
{
    size_t from = 0, to;
    do {
        fm_thread thread = FM_NONE;
        to = from;
        if (to < s->line.rows)
            thread = fm_timeline_at(&s->line, to)->thread;
        while (to < s->line.rows && fm_timeline_at(&s->line, to)->thread == thread)
            to++;
        if (!put_profile(s, from, to))
            return false;
        from = to;
    } while (from < s->line.rows);
    return true;
}

/* The selection without its spans, which are written already. `event` has a place per event. */
static enum fm_status put_others(struct fm_scope *s, uint8_t *event, struct fm_error *err)
{
    const struct fm_store *store = s->sel->store;
    struct fm_selection rest = *s->sel;
    size_t n = fm_store_events(store), i;
    enum fm_status status;
    for (i = 0; i < n; i++) {
        enum fm_kind kind = fm_store_event_row(store, i)->kind;
        event[i] = s->sel->event[i] && kind != FM_KIND_SPAN && kind != FM_KIND_PART;
    }
    rest.event = event;
    status = fm_timeline_make(&s->line, &rest, &s->export->names, NULL, 0, true, err);
    if (status != FM_OK)
        return status;
    if (s->line.rows > 0 && !put_sampled(s))
        status = fm_error_nomem(err);
    fm_timeline_release(&s->line);
    return status;
}

static enum fm_status put_profiles(struct fm_scope *s, struct fm_error *err)
{
    size_t n = fm_store_events(s->sel->store);
    enum fm_status status;
    bool done;
    status = fm_scope_spans(s, &done, err);
    if (status == FM_OK && done) {
        uint8_t *event = fm_mem_alloc(s->mem, n);
        status = event != NULL ? put_others(s, event, err) : fm_error_nomem(err);
        fm_mem_free(s->mem, event, n);
    } else if (status == FM_OK) {
        status = fm_timeline_make(&s->line, s->sel, &s->export->names, NULL, 0, true, err);
        if (status != FM_OK)
            return status;
        if (!put_sampled(s))
            status = fm_error_nomem(err);
        fm_timeline_release(&s->line);
    }
    return status;
}

static void put_frames(struct fm_scope *s)
{
    size_t i, n;
    fm_out_text(s->out, "\"shared\":{\"frames\":[");
    for (i = 0; i < s->entries; i++) {
        fm_str file = (fm_str)s->entry[i];
        const char *text = fm_store_str(s->sel->store, (fm_str)(s->entry[i] >> 32), &n);
        fm_out_text(s->out, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
        fm_out_json(s->out, text, n);
        if (file != 0) {
            text = fm_store_str(s->sel->store, file, &n);
            fm_out_text(s->out, ",\"file\":");
            fm_out_json(s->out, text, n);
        }
        fm_out_char(s->out, '}');
    }
    fm_out_text(s->out, "]}");
}

static enum fm_status put_document(struct fm_scope *s, struct fm_error *err)
{
    enum fm_status status;
    fm_out_text(s->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                        "\"exporter\":\"foldmill@");
    fm_out_text(s->out, PACKAGE_VERSION);
    fm_out_text(s->out, "\",\"name\":");
    fm_out_json(s->out, s->export->title, strlen(s->export->title));
    fm_out_text(s->out, ",\n\"profiles\":[");
    status = put_profiles(s, err);
    if (status != FM_OK)
        return status;
    fm_out_text(s->out, "],\n\"activeProfileIndex\":");
    fm_out_u64(s->out, s->heaviest);
    fm_out_text(s->out, ",\n");
    put_frames(s);
    fm_out_text(s->out, "}\n");
    return FM_OK;
}

static enum fm_status write_speedscope(struct fm_export *export, struct fm_error *err)
{
    struct fm_scope s = {.export = export, .sel = export->sel, .out = export->out,
                         .mem = &export->ctx->mem};
    enum fm_status status;
    fm_map_init(&s.index, s.mem);
    s.tree = fm_selection_tree(s.sel, &s.nodes);
    status = fm_selection_labels(s.sel, &export->names, &s.label, &s.frames, err);
    if (status == FM_OK)
        status = put_document(&s, err);
    fm_map_release(&s.index);
    if (s.label != NULL)
        fm_mem_free(s.mem, s.label, s.frames * sizeof *s.label);
    fm_mem_free(s.mem, s.entry, s.entry_cap * sizeof *s.entry);
    fm_mem_free(s.mem, s.stack, s.stack_cap * sizeof *s.stack);
    fm_mem_free(s.mem, s.last, s.last_cap * sizeof *s.last);
    fm_mem_free(s.mem, s.weight, s.weight_cap * sizeof *s.weight);
    return status;
}

const struct fm_exporter fm_exporter_speedscope = {
    .name = "speedscope",
    .summary = "speedscope.app JSON, one profile a thread",
    .extension = ".speedscope.json,.speedscope",
    .shape = FM_SHAPE_TIMELINE,
    .events = "span-time", /* times in all spans make the gaps in those around them */
    .write = write_speedscope,
};
