/*
 * sample.c - what has a stack and a weight of its own: rows of classes P and heap, and samples that
 * are no V8 profile.
 *
 *     "samples": [{"cpu", "tid", "pid", "ts", "name", "comm", "sf", "weight"}, …]
 *     {"ph": "P", "name": …, "sf": 7}
 *
 * The document's key `samples` has three meanings, told apart by its elements: numbers are node ids
 * of a V8 profile, objects with a nodeId repeat what the nodes of a heap profile say, others are
 * samples. A sample without sf has the single frame of its name. Fractions of weights are cut off.
 */
#include "import/chrome/legacy.h"
#include "import/chrome/system.h"
#include "import/chrome/v8.h"

#include "util/text.h"

/* --------------------------------------------------------------------- rows */

enum { TS, STACK, THREAD, PROFILE, SOURCE, DELTA, LINE, WEIGHT, CPU, NAME, COMM };

static const struct fm_field point_field[] = {
    {"ts", FM_TYPE_TIME, "ns"},     {"stack", FM_TYPE_STACK, NULL},
    {"thread", FM_TYPE_THREAD, NULL}, {"profile", FM_TYPE_STRING, NULL},
    {"source", FM_TYPE_STRING, NULL}, {"delta", FM_TYPE_DUR, "ns"},
    {"line", FM_TYPE_I64, NULL},    {"weight", FM_TYPE_U64, NULL},
    {"cpu", FM_TYPE_I64, NULL},     {"name", FM_TYPE_STRING, NULL},
    {"comm", FM_TYPE_STRING, NULL}};
static const struct fm_chrome_group point_group = {"P", point_field, FM_COUNT(point_field), false};
static const struct fm_chrome_group alone_group = {"profile", point_field, FM_COUNT(point_field),
                                                   false};

static const struct fm_field heap_field[] = {{"selfSize", FM_TYPE_BYTES, "bytes"},
                                             {"stack", FM_TYPE_STACK, NULL}};
static const struct fm_chrome_group heap_group = {"heap", heap_field, FM_COUNT(heap_field), false};

struct row {
    uint64_t value[FM_CHROME_FIELDS], present[FM_CHROME_FIELDS / 64];
};

static void put(struct row *r, unsigned field, uint64_t value, bool present)
{
    if (!present)
        return;
    r->value[field] = value;
    r->present[field / 64] |= UINT64_C(1) << (field % 64);
}

void fm_chrome_point(struct fm_chrome *c, const struct fm_chrome_point *p)
{
    struct row r;
    uint32_t class = fm_chrome_class(c, p->alone ? &alone_group : &point_group, 0);
    if (class == UINT32_MAX)
        return;
    memset(r.present, 0, sizeof r.present);
    put(&r, TS, (uint64_t)p->ts, p->has_ts);
    put(&r, STACK, p->stack, p->stack != FM_NONE);
    put(&r, THREAD, p->thread, p->thread != FM_NONE);
    put(&r, PROFILE, p->profile, !p->legacy);
    put(&r, SOURCE, p->source, p->source != 0);
    put(&r, DELTA, p->delta, !p->legacy);
    put(&r, LINE, p->line, p->line != 0);
    put(&r, WEIGHT, p->weight, p->legacy);
    put(&r, CPU, (uint64_t)p->cpu, p->has_cpu);
    put(&r, NAME, p->name, p->name != 0);
    put(&r, COMM, p->comm, p->comm != 0);
    fm_chrome_row(c, class, r.value, r.present, 0, p->offset);
}

void fm_chrome_heap(struct fm_chrome *c, uint64_t bytes, fm_node stack)
{
    struct row r;
    uint32_t class = fm_chrome_class(c, &heap_group, 0);
    if (class == UINT32_MAX)
        return;
    memset(r.present, 0, sizeof r.present);
    put(&r, 0, bytes, true);
    put(&r, 1, stack, stack != FM_NONE);
    fm_chrome_row(c, class, r.value, r.present, 0, FM_NO_OFFSET);
}

/* ------------------------------------------------------------------- samples */

static struct fm_legacy_sample *add_sample(struct fm_chrome *c)
{
    struct fm_chrome_legacy *l = fm_chrome_legacy(c);
    if (l == NULL || !fm_grow(c->mem, (void **)&l->sample, &l->sample_cap, l->samples + 1,
                              sizeof *l->sample)) {
        c->oom = true;
        return NULL;
    }
    l->sample[l->samples] = (struct fm_legacy_sample){
        .thread = FM_NONE, .process = UINT32_MAX, .stack = FM_NONE, .weight = 1};
    return &l->sample[l->samples++];
}

/* A whole number of a text; the fraction is cut off, and told. */
static uint64_t weight_of(struct fm_chrome *c, const char *s, size_t n, uint64_t offset)
{
    uint64_t v;
    double d;
    if (fm_text_u64(s, n, &v))
        return v;
    if (!fm_text_f64(s, n, &d))
        return 1;
    if (!(d >= 0 && d < 18446744073709549568.0)) {
        fm_chrome_diag(c, FM_DIAG_VALUE_RANGE, offset);
        return 0;
    }
    v = (uint64_t)d;
    if ((double)v != d)
        fm_chrome_diag(c, FM_DIAG_FRACTION, offset);
    return v;
}

/* Members of an element, as they stand in the file. */
enum member { M_TS, M_PID, M_TID, M_CPU, M_NAME, M_COMM, M_SF, M_WEIGHT, M_NODE, MEMBERS };

struct element {
    struct fm_json_field value[MEMBERS];
    bool given[MEMBERS];
    char copy[MEMBERS][32];        /* of numbers and ids: texts of a token do not last */
    fm_str name, comm;
};

static void keep(struct element *e, enum member m, const struct fm_json *j, enum fm_json_token t)
{
    size_t n = FM_MIN(j->n, sizeof e->copy[m] - 1);
    memcpy(e->copy[m], j->text, n);
    e->value[m].text = e->copy[m];
    e->value[m].n = (uint32_t)n;
    e->value[m].kind = (uint8_t)t;
    e->given[m] = true;
}

static bool read_element(struct fm_chrome *c, struct fm_json *j, struct element *e)
{
    static const char *const key[MEMBERS] = {"ts",   "pid", "tid",    "cpu",   "name",
                                             "comm", "sf",  "weight", "nodeId"};
    enum fm_json_token t;
    memset(e, 0, sizeof *e);
    while ((t = fm_json_next(j)) == FM_JSON_KEY) {
        size_t m = 0;
        while (m < MEMBERS && (strlen(key[m]) != j->n || memcmp(key[m], j->text, j->n) != 0))
            m++;
        t = fm_json_next(j);
        if (m == M_NAME)
            e->name = fm_v8_str(c, j, t);
        else if (m == M_COMM)
            e->comm = fm_v8_str(c, j, t);
        else if (m < MEMBERS && (t == FM_JSON_NUMBER || t == FM_JSON_STRING))
            keep(e, (enum member)m, j, t);
        if (!fm_json_skip(j, t))
            return false;
    }
    return t == FM_JSON_OBJECT_END;
}

static const struct fm_json_field *given(const struct element *e, enum member m)
{
    return e->given[m] ? &e->value[m] : NULL;
}

static void take_thread(struct fm_chrome *c, struct fm_legacy_sample *s, const struct element *e)
{
    int64_t tid;
    if (e->given[M_PID]) {
        uint32_t thread = fm_chrome_thread(c, given(e, M_PID), given(e, M_TID));
        if (thread == UINT32_MAX)
            return;
        s->process = c->thread[thread].process;
        s->thread = fm_chrome_thread_row(c, thread);
    } else if (e->given[M_TID] && fm_chrome_i64(&e->value[M_TID], &tid)) {
        s->thread = fm_builder_thread(c->builder, -1, tid, 0);
    }
}

static void take_element(struct fm_chrome *c, const struct element *e, uint64_t offset)
{
    struct fm_legacy_sample *s = add_sample(c);
    const struct fm_json_field *v = e->value;
    if (s == NULL)
        return;
    s->offset = offset;
    s->name = e->name;
    s->comm = e->comm;
    s->has_ts = e->given[M_TS] && fm_json_scaled(v[M_TS].text, v[M_TS].n, 1000, &s->ts);
    s->has_cpu = e->given[M_CPU] && fm_chrome_i64(&v[M_CPU], &s->cpu) && s->cpu >= 0;
    if (e->given[M_WEIGHT])
        s->weight = weight_of(c, v[M_WEIGHT].text, v[M_WEIGHT].n, offset);
    s->has_frame = fm_chrome_frame_id(c, given(e, M_SF), &s->frame);
    take_thread(c, s, e);
}

bool fm_chrome_samples_read(struct fm_chrome *c, struct fm_json *j)
{
    enum fm_json_token t = fm_json_next(j);
    struct fm_v8_profile *p;
    struct element e;
    if (t != FM_JSON_ARRAY)
        return fm_json_skip(j, t);
    while ((t = fm_json_next(j)) > FM_JSON_END && t != FM_JSON_ARRAY_END) {
        uint64_t offset = j->at;
        if (t == FM_JSON_NUMBER) {
            p = fm_v8_alone(c);
            if (p == NULL || !fm_v8_add_sample(c, p, j->text, j->n))
                return false;
        } else if (t == FM_JSON_OBJECT) {
            if (!read_element(c, j, &e))
                return false;
            if (!e.given[M_NODE])
                take_element(c, &e, offset);
        } else if (!fm_json_skip(j, t)) {
            return false;
        }
        if (c->oom)
            return false;
    }
    return t == FM_JSON_ARRAY_END;
}

void fm_chrome_sample(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    struct fm_legacy_sample *s;
    if (fm_v8_event(c, e) || e->phase != 'P' || (s = add_sample(c)) == NULL)
        return;
    s->offset = e->offset;
    s->has_ts = e->has_ts && fm_json_time_round(e->ts, &s->ts);
    s->process = c->thread[e->thread].process;
    s->thread = fm_chrome_thread_row(c, e->thread);
    s->name = fm_chrome_str(c, e->field[FM_CHROME_NAME]);
    s->has_frame = fm_chrome_frame_id(c, e->field[FM_CHROME_SF], &s->frame);
    if (!s->has_frame)
        s->stack = fm_chrome_list_stack(c, e->field[FM_CHROME_STACK]);
}

/* --------------------------------------------------------------- the end of it */

static void finish_samples(struct fm_chrome *c)
{
    struct fm_chrome_legacy *l = c->legacy;
    for (size_t i = 0; l != NULL && i < l->samples && !c->oom; i++) {
        const struct fm_legacy_sample *s = &l->sample[i];
        struct fm_chrome_point p = {.thread = s->thread, .has_ts = s->has_ts, .ts = s->ts,
                                    .stack = s->stack, .offset = s->offset, .legacy = true,
                                    .weight = s->weight, .has_cpu = s->has_cpu, .cpu = s->cpu,
                                    .name = s->name, .comm = s->comm};
        if (s->has_frame)
            p.stack = fm_chrome_frame_stack(c, s->process, s->frame);
        else if (s->stack == FM_NONE)
            p.stack = fm_chrome_name_stack(c, s->name);
        fm_chrome_point(c, &p);
    }
}

int fm_chrome_key(struct fm_chrome *c, struct fm_json *j, const char *key, size_t n)
{
    if (n == 7 && memcmp(key, "samples", 7) == 0)
        return fm_chrome_samples_read(c, j) ? 1 : -1;
    if (n == 11 && memcmp(key, "stackFrames", 11) == 0)
        return fm_chrome_frames_read(c, j, UINT32_MAX) ? 1 : -1;
    if (n == 17 && memcmp(key, "systemTraceEvents", 17) == 0)
        return fm_chrome_system(c, j) ? 1 : -1;
    return fm_v8_key(c, j);
}

/* Keys alone make no profile: heap snapshots have `nodes` as well. */
static bool any_profile(const struct fm_chrome *c)
{
    return (c->legacy != NULL && c->legacy->samples > 0) || c->system != NULL || fm_v8_any(c);
}

bool fm_chrome_samples_finish(struct fm_chrome *c)
{
    c->profile = any_profile(c);
    fm_chrome_frames_finish(c);
    if (!c->oom && fm_v8_finish(c))
        finish_samples(c);
    return !c->oom;
}

void fm_chrome_samples_release(struct fm_chrome *c)
{
    struct fm_chrome_legacy *l = c->legacy;
    fm_v8_release(c);
    fm_chrome_system_release(c);
    if (l == NULL)
        return;
    fm_mem_free(c->mem, l->sample, l->sample_cap * sizeof *l->sample);
    fm_chrome_frames_release(c);
}
