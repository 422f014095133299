/*
 * scope.c - the samples of the HTML report in time order, for the flame scope: symbols and numbers
 * (html.h), a track after the other. A track is the rows of one event on one thread of one source;
 * the meta block tells how many rows each has.
 *
 *     a row each:
 *     number   1: node, weight, count, duration and CPU are as in the row before (the root, 0, 1,
 *              0 and none at a track's start). Else twice a sum of what follows, in this order:
 *                  1 node   2 weight   4 count   8 duration   16 CPU
 *              the others stay
 *     number   ticks since the row before; in a track's first row since the start
 *     number   node of the tree (its place in the block fm-nodes)
 *     number   weight, divided by the greatest common divisor of all, which the meta block tells
 *     number   samples it stands for
 *     number   duration in ticks
 *     number   CPU + 1, 0 unknown
 *
 * A line feed stands before a track. Times are whole ticks after the start of the profile: a
 * nanosecond, or with more than MANY rows a microsecond (rounded down). Rows without a time are in
 * the tree and not here: the meta block tells how many, and their weight.
 *
 * The node of a row is found by its labels, down the merged tree from the root or from a caller
 * that was found before, once for each stack and tuple of pseudo frames; brothers stand in byte
 * order, so each step is a binary search.
 */
#include "export/html/html.h"
#include "export/timeline.h"

#include "util/error.h"

#define MANY 2000000u
#define MOST 10000000u       /* rows that are written without being asked for */
#define STRIDE 32u           /* frames from one that is kept to the next */
#define EXTRAS 3u            /* of the timeline: dur, count, cpu */
enum { X_DUR, X_COUNT, X_CPU };
enum { W_NODE = 1, W_WEIGHT = 2, W_COUNT = 4, W_DUR = 8, W_CPU = 16 };

struct finder {
    struct fm_html *h;
    const struct fm_store *store;
    const struct fm_timeline *line;
    const struct fm_tree_node *tree;
    fm_str *label;           /* by frame */
    size_t frames;
    uint32_t *first;         /* by merged node: where its children begin in `child` */
    uint32_t *child;
    struct fm_map seen;      /* texts << 32 | node of the stack tree -> merged node */
    struct fm_map below;     /* the same key -> merged node + 1 before appended frames */
    uint32_t *next;          /* by row: the next one of its track, or FM_NONE */
    uint32_t *path;
    size_t path_cap;
};

/* What a row was last, of which the next one says only the changes. */
struct state {
    uint64_t node, weight, count, dur, cpu;
};

/* --------------------------------------------------------------- children */

/* Children of node i: child[first[i]] to child[first[i + 1]]. */
static bool list_children(struct finder *f)
{
    const struct fm_calltree *tree = f->h->tree;
    size_t n = tree->nodes, i;
    f->first = fm_mem_zalloc(f->h->mem, (n + 2) * sizeof *f->first);
    f->child = fm_mem_alloc(f->h->mem, (n + 1) * sizeof *f->child);
    if (f->first == NULL || f->child == NULL)
        return false;
    for (i = 1; i < n; i++)
        f->first[tree->node[i].parent + 2]++;
    for (i = 2; i < n + 2; i++)
        f->first[i] += f->first[i - 1];
    for (i = 1; i < n; i++)    /* moves each start to the next one's place */
        f->child[f->first[tree->node[i].parent + 1]++] = (uint32_t)i;
    return true;
}

static int compare(const struct finder *f, fm_str a, fm_str b)
{
    size_t n, m;
    const char *s = fm_store_str(f->store, a, &n), *t = fm_store_str(f->store, b, &m);
    int c = memcmp(s, t, FM_MIN(n, m));
    return c != 0 ? c : (n > m) - (n < m);
}

/* The child of `parent` with that label; FM_NONE: there is none. */
static uint32_t find_child(const struct finder *f, uint32_t parent, fm_str label)
{
    const struct fm_call_node *node = f->h->tree->node;
    uint32_t lo = f->first[parent], hi = f->first[parent + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2, at = f->child[mid];
        int c = node[at].label == label ? 0 : compare(f, node[at].label, label);
        if (c == 0)
            return at;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return FM_NONE;
}

static uint32_t go_texts(const struct finder *f, uint32_t at, const fm_str *text, size_t from,
                         size_t to)
{
    size_t k;
    for (k = from; k < to && at != FM_NONE; k++) {
        if (text[k] != FM_PSEUDO_SKIP)
            at = find_child(f, at, text[k]);
    }
    return at;
}

/* Down the stack of a row. Each STRIDE-th frame is kept, so that stacks which grow out of each
 * other, as those of nested spans do, are not walked from the root each time: that would be the
 * square of their depth. FM_NONE: no memory. */
static uint32_t go_stack(struct finder *f, const struct fm_timeline_row *row)
{
    const struct fm_timeline *line = f->line;
    uint64_t texts = (uint64_t)row->texts << 32, *slot = NULL;
    uint32_t node = row->node, at;
    size_t n = 0;
    while (node != 0) {
        slot = f->tree[node].depth % STRIDE == 0 ? fm_map_find(&f->below, texts | node) : NULL;
        if (slot != NULL)
            break;
        if (!fm_grow(f->h->mem, (void **)&f->path, &f->path_cap, n + 1, sizeof *f->path))
            return FM_NONE;
        f->path[n++] = node;
        node = f->tree[node].parent;
    }
    at = slot != NULL ? (uint32_t)*slot - 1
                      : go_texts(f, 0, line->text + (size_t)row->texts * line->texts, 0,
                                 line->prepends);
    while (n > 0 && at != FM_NONE) {
        node = f->path[--n];
        at = find_child(f, at, f->label[f->tree[node].frame]);
        if (at == FM_NONE || f->tree[node].depth % STRIDE != 0)
            continue;
        slot = fm_map_put(&f->below, texts | node, NULL);
        if (slot == NULL)
            return FM_NONE;
        *slot = (uint64_t)at + 1;
    }
    return at;
}

/* The merged node of a row; false: no memory. */
static bool find_node(struct finder *f, const struct fm_timeline_row *row, uint32_t *node)
{
    const struct fm_timeline *line = f->line;
    bool fresh;
    uint64_t *slot = fm_map_put(&f->seen, (uint64_t)row->texts << 32 | row->node, &fresh);
    if (slot == NULL)
        return false;
    if (fresh) {
        uint32_t at = go_stack(f, row);
        if (at != FM_NONE)
            at = go_texts(f, at, line->text + (size_t)row->texts * line->texts, line->prepends,
                          line->texts);
        if (at == FM_NONE)
            return false;    /* every row is in the tree: only memory can have failed */
        *slot = at;
    }
    *node = (uint32_t)*slot;
    return true;
}

/* ------------------------------------------------------------------- rows */

static bool same_track(const struct fm_timeline_row *a, const struct fm_timeline_row *b)
{
    return a->thread == b->thread && a->event == b->event && a->source == b->source;
}

static unsigned changes(const struct state *was, const struct state *is)
{
    return (was->node != is->node ? W_NODE : 0u) | (was->weight != is->weight ? W_WEIGHT : 0u) |
           (was->count != is->count ? W_COUNT : 0u) | (was->dur != is->dur ? W_DUR : 0u) |
           (was->cpu != is->cpu ? W_CPU : 0u);
}

static void put_row(struct fm_html *h, uint64_t ticks, const struct state *was,
                    const struct state *is)
{
    unsigned what = changes(was, is);
    fm_html_number(h->out, what == 0 ? 1u : what * 2u);
    fm_html_number(h->out, ticks);
    if ((what & W_NODE) != 0)
        fm_html_number(h->out, is->node);
    if ((what & W_WEIGHT) != 0)
        fm_html_number(h->out, is->weight);
    if ((what & W_COUNT) != 0)
        fm_html_number(h->out, is->count);
    if ((what & W_DUR) != 0)
        fm_html_number(h->out, is->dur);
    if ((what & W_CPU) != 0)
        fm_html_number(h->out, is->cpu);
}

static uint64_t extra(const struct fm_timeline_row *row, unsigned k, uint64_t missing)
{
    return (row->has >> k & 1) != 0 ? row->extra[k] : missing;
}

static struct fm_html_track *new_track(struct fm_html *h, const struct fm_timeline_row *row)
{
    struct fm_html_scope *s = &h->scope;
    if (!fm_grow(h->mem, (void **)&s->track, &s->track_cap, s->tracks + 1, sizeof *s->track))
        return NULL;
    s->track[s->tracks] = (struct fm_html_track){
        .source = row->source, .event = row->event, .thread = row->thread};
    return &s->track[s->tracks++];
}

/* Rows of a thread lie together, in time order; of several events they are mixed. */
static bool put_track(struct finder *f, size_t from)
{
    struct fm_html *h = f->h;
    const struct fm_timeline_row *head = fm_timeline_at(f->line, from);
    struct fm_html_track *track = new_track(h, head);
    struct state was = {.count = 1};
    uint64_t last = 0;
    size_t i;
    if (track == NULL)
        return false;
    fm_out_char(h->out, '\n');
    for (i = from; i != FM_NONE; i = f->next[i]) {
        const struct fm_timeline_row *row = fm_timeline_at(f->line, i);
        uint64_t at, dur = extra(row, X_DUR, 0);
        uint32_t node;
        struct state is;
        fm_assert(same_track(head, row));
        if (!find_node(f, row, &node))
            return false;
        at = ((uint64_t)row->ts - (uint64_t)h->scope.start) / h->scope.tick;
        is = (struct state){.node = node, .weight = row->weight / h->scope.scale,
                            .count = extra(row, X_COUNT, 1),
                            .dur = (int64_t)dur > 0 ? dur / h->scope.tick : 0,
                            .cpu = extra(row, X_CPU, UINT64_MAX) + 1};
        put_row(h, at - last, &was, &is);
        was = is;
        last = at;
        track->rows++;
    }
    h->scope.rows += track->rows;
    return true;
}

/* The events of one thread's rows, one track each: rows of one event are linked, so that many
 * events do not each look at all rows. `last` is the caller's: by event, its last row + 1. */
static bool put_thread(struct finder *f, size_t from, size_t to, uint32_t source, size_t *last)
{
    size_t i;
    for (i = from; i < to; i++) {
        const struct fm_timeline_row *row = fm_timeline_at(f->line, i);
        if (row->source != source || row->ts == INT64_MIN)
            continue;
        f->next[i] = FM_NONE;
        if (last[row->event] > from)
            f->next[last[row->event] - 1] = (uint32_t)i;
        last[row->event] = i + 1;
    }
    for (i = from; i < to; i++) {
        const struct fm_timeline_row *row = fm_timeline_at(f->line, i);
        if (row->source != source || row->ts == INT64_MIN || last[row->event] == 0)
            continue;
        last[row->event] = 0;
        if (!put_track(f, i))
            return false;
    }
    return true;
}

static bool put_all(struct finder *f)
{
    const struct fm_timeline *line = f->line;
    size_t events = fm_store_events(f->store), sources = fm_store_sources(f->store), from, to, s;
    size_t *last = fm_mem_zalloc(f->h->mem, events * sizeof *last);
    bool ok;
    f->next = fm_mem_alloc(f->h->mem, line->rows * sizeof *f->next);
    ok = last != NULL && f->next != NULL;
    for (from = 0; ok && from < line->rows; from = to) {
        fm_thread thread = fm_timeline_at(line, from)->thread;
        for (to = from + 1; to < line->rows && fm_timeline_at(line, to)->thread == thread; to++)
            ;
        if (thread != FM_NONE)
            ok = put_thread(f, from, to, fm_timeline_at(line, from)->source, last);
        for (s = 0; ok && thread == FM_NONE && s < sources; s++)
            ok = put_thread(f, from, to, (uint32_t)s, last);
    }
    fm_mem_free(f->h->mem, f->next, line->rows * sizeof *f->next);
    fm_mem_free(f->h->mem, last, events * sizeof *last);
    return ok;
}

static uint64_t common(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Looks at all rows: the smallest time, the tick, the scale of weights, and those without a time.
 * false: none has one. */
static bool survey(struct fm_html *h, const struct fm_timeline *line)
{
    struct fm_html_scope *s = &h->scope;
    bool any = false;
    size_t i;
    for (i = 0; i < line->rows; i++) {
        const struct fm_timeline_row *row = fm_timeline_at(line, i);
        if (row->ts == INT64_MIN) {
            s->untimed++;
            s->untimed_weight += row->weight;
            continue;
        }
        if (!any || row->ts < s->start)
            s->start = row->ts;
        any = true;
        if (row->weight > 0 && s->scale != 1)
            s->scale = common(row->weight, s->scale);
    }
    s->tick = line->rows > MANY ? 1000 : 1;
    s->scale = FM_MAX(s->scale, UINT64_C(1));
    return any;
}

static enum fm_status put_rows(struct fm_html *h, const struct fm_timeline *line,
                               struct fm_error *err)
{
    const struct fm_selection *sel = h->export->sel;
    struct finder f = {.h = h, .store = sel->store, .line = line};
    struct fm_names names = h->export->names;
    size_t nodes, n = h->tree->nodes;
    enum fm_status status;
    fm_map_init(&f.seen, h->mem);
    fm_map_init(&f.below, h->mem);
    f.tree = fm_selection_tree(sel, &nodes);
    names.annotate = true;     /* as the tree was made: frames of different kinds stay apart */
    status = fm_selection_labels(sel, &names, &f.label, &f.frames, err);
    if (status == FM_OK && !(list_children(&f) && put_all(&f)))
        status = fm_error_nomem(err);
    if (f.label != NULL)
        fm_mem_free(h->mem, f.label, f.frames * sizeof *f.label);
    fm_mem_free(h->mem, f.first, (n + 2) * sizeof *f.first);
    fm_mem_free(h->mem, f.child, (n + 1) * sizeof *f.child);
    fm_mem_free(h->mem, f.path, f.path_cap * sizeof *f.path);
    fm_map_release(&f.seen);
    fm_map_release(&f.below);
    return status;
}

enum fm_status fm_html_write_scope(struct fm_html *h, bool asked, struct fm_error *err)
{
    static const fm_column extras[EXTRAS] = {
        [X_DUR] = FM_COL_DUR, [X_COUNT] = FM_COL_COUNT, [X_CPU] = FM_COL_CPU};
    struct fm_names names = h->export->names;
    struct fm_timeline line;
    enum fm_status status;
    names.annotate = true;
    status = fm_timeline_make(&line, h->export->sel, &names, extras, EXTRAS, true, err);
    if (status != FM_OK)
        return status;
    h->scope.timed = survey(h, &line);
    h->scope.left_out = !asked && line.rows > MOST;
    if (h->scope.timed && !h->scope.left_out)
        status = put_rows(h, &line, err);
    fm_timeline_release(&line);
    return status;
}

void fm_html_release_scope(struct fm_html *h)
{
    fm_mem_free(h->mem, h->scope.track, h->scope.track_cap * sizeof *h->scope.track);
}

/* --------------------------------------------------------------- the meta */

static void put_label(struct fm_out *out, const struct fm_store *store, enum fm_derived d,
                      const struct fm_html_track *track)
{
    uint64_t value;
    size_t n;
    if (!fm_derived_value(store, d, track->thread, track->source, track->event, &value)) {
        fm_out_text(out, ",null");
        return;
    }
    const char *s = fm_store_str(store, (fm_str)value, &n);
    fm_out_char(out, ',');
    fm_out_json(out, s, n);
}

void fm_html_scope_meta(struct fm_html *h, struct fm_out *out)
{
    const struct fm_html_scope *s = &h->scope;
    const struct fm_store *store = h->export->sel->store;
    int64_t second = s->start / 1000000000, rest = s->start % 1000000000, first, last;
    size_t i;
    if (!s->timed || s->left_out || !fm_store_start(store, &first, &last)) {
        fm_out_text(out, "null");
        return;
    }
    if (rest < 0) {
        rest += 1000000000;
        second--;
    }
    fm_out_text(out, "{\"tick\":");
    fm_out_u64(out, s->tick);
    fm_out_text(out, ",\"second\":");
    fm_out_i64(out, second);
    fm_out_text(out, ",\"rest\":");
    fm_out_i64(out, rest);
    fm_out_text(out, ",\"offset\":");
    fm_out_u64(out, (uint64_t)s->start - (uint64_t)first);
    fm_out_text(out, ",\"scale\":");
    fm_out_u64(out, s->scale);
    fm_out_text(out, ",\"rows\":");
    fm_out_u64(out, s->rows);
    fm_out_text(out, ",\"untimed\":");
    fm_out_u64(out, s->untimed);
    fm_out_text(out, ",\"untimedWeight\":\"");
    fm_out_u128(out, s->untimed_weight);
    fm_out_text(out, "\",\"tracks\":[");
    for (i = 0; i < s->tracks; i++) {
        const struct fm_html_track *track = &s->track[i];
        fm_out_text(out, i > 0 ? ",\n[" : "[");
        fm_out_u64(out, track->rows);
        fm_out_char(out, ',');
        fm_out_u64(out, track->source);
        fm_out_char(out, ',');
        fm_out_u64(out, track->event);
        put_label(out, store, FM_DERIVED_PROCESS_LABEL, track);
        put_label(out, store, FM_DERIVED_THREAD_LABEL, track);
        fm_out_char(out, ']');
    }
    fm_out_text(out, "]}");
}
