/*
 * v8.c - sampling profiles of V8: streams of chunks in traces, whole profiles in one event, and
 * documents that are a profile.
 *
 *     P Profile       args.data.startTime; pid and tid of the profiled thread; id
 *     P ProfileChunk  args.data {cpuProfile {nodes, samples}, timeDeltas, lines, endTime}; same pid
 *                     and id, the tid is the sampler's
 *     I CpuProfile    args.data.cpuProfile {nodes, samples, timeDeltas, startTime, endTime}
 *     .cpuprofile     {nodes, samples, timeDeltas, startTime, endTime}: keys in any order
 *     before 2017     {head, samples, timestamps, startTime, endTime}: s, and us for timestamps
 *     .heapprofile    {head}, its nodes with selfSize
 *
 * The time of a sample is startTime + the sum of deltas up to it; deltas may be negative, so times
 * are summed first and sorted then. A sample weighs the time to the next one; the last one that to
 * endTime. Chunks are not in order of time in a file: they are sorted by ts before that.
 *
 * A profile is known by its process and id. Samples are node ids until the end, since nodes may
 * come later.
 */
#include "import/chrome/v8.h"

#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct fm_chrome_v8 {
    struct fm_v8_profile *first, **last;
    struct fm_v8_profile *alone;       /* of the outermost object */
    struct fm_v8_profile *recent;      /* of the last event */
    struct fm_map by_key;
};

struct timed {
    int64_t ts;
    size_t sample;
};

static bool init(struct fm_chrome *c)
{
    if (c->v8 != NULL)
        return true;
    c->v8 = fm_arena_alloc(&c->arena, sizeof *c->v8);
    if (c->v8 == NULL) {
        c->oom = true;
        return false;
    }
    c->v8->last = &c->v8->first;
    fm_map_init(&c->v8->by_key, c->mem);
    return true;
}

static struct fm_v8_profile *add_profile(struct fm_chrome *c)
{
    struct fm_v8_profile *p = fm_arena_alloc(&c->arena, sizeof *p);
    if (p == NULL) {
        c->oom = true;
        return NULL;
    }
    p->process = UINT32_MAX;
    p->thread = FM_NONE;
    fm_map_init(&p->by_id, c->mem);
    *c->v8->last = p;
    c->v8->last = &p->next;
    return p;
}

/* The profile of (process, id), made when new; id 0 is nobody's: a new one each time. */
static struct fm_v8_profile *find_profile(struct fm_chrome *c, uint32_t process, fm_str id)
{
    struct fm_v8_profile *p = c->v8->recent;
    uint64_t *slot;
    bool fresh;
    if (p != NULL && p->process == process && p->id == id)
        return p;
    slot = fm_map_put(&c->v8->by_key, (uint64_t)process << 32 | id, &fresh);
    if (slot == NULL) {
        c->oom = true;
        return NULL;
    }
    if (fresh) {
        p = add_profile(c);
        if (p == NULL)
            return NULL;
        p->process = process;
        p->id = id;
        *slot = (uint64_t)(uintptr_t)p;
    }
    c->v8->recent = p = (struct fm_v8_profile *)(uintptr_t)*slot;
    return p;
}

struct fm_v8_profile *fm_v8_alone(struct fm_chrome *c)
{
    if (!init(c))
        return NULL;
    if (c->v8->alone == NULL)
        c->v8->alone = add_profile(c);
    return c->v8->alone;
}

/* -------------------------------------------------------------- lists of numbers */

bool fm_v8_add_sample(struct fm_chrome *c, struct fm_v8_profile *p, const char *s, size_t n)
{
    const struct fm_json number = {.text = s, .n = n};
    if (!fm_grow(c->mem, (void **)&p->sample, &p->sample_cap, p->samples + 1,
                 sizeof *p->sample)) {
        c->oom = true;
        return false;
    }
    p->sample[p->samples++] = fm_v8_number(&number, FM_JSON_NUMBER, FM_V8_NO_ID);
    return true;
}

/* us, as a number or a text of one; 0 for all else. */
static int64_t micros(const struct fm_json *j, enum fm_json_token t)
{
    int64_t ns;
    if ((t == FM_JSON_NUMBER || t == FM_JSON_STRING) && fm_json_scaled(j->text, j->n, 1000, &ns))
        return ns;
    return 0;
}

static bool add_delta(struct fm_chrome *c, struct fm_v8_profile *p, int64_t ns)
{
    if (!fm_grow(c->mem, (void **)&p->delta, &p->delta_cap, p->deltas + 1, sizeof *p->delta)) {
        c->oom = true;
        return false;
    }
    p->delta[p->deltas++] = ns;
    return true;
}

static bool add_line(struct fm_chrome *c, struct fm_v8_profile *p, int64_t line)
{
    if (!fm_grow(c->mem, (void **)&p->line, &p->line_cap, p->lines + 1, sizeof *p->line)) {
        c->oom = true;
        return false;
    }
    p->line[p->lines++] = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
    return true;
}

enum list { SAMPLES, DELTAS, LINES };

/* A value that is a list of numbers; inner arrays and objects count as no number. */
static bool read_list(struct fm_chrome *c, struct fm_v8_profile *p, struct fm_json *j,
                      enum list list)
{
    enum fm_json_token t = fm_json_next(j);
    bool ok = true;
    if (t != FM_JSON_ARRAY)
        return fm_json_skip(j, t);
    while (ok && (t = fm_json_next(j)) > FM_JSON_END && t != FM_JSON_ARRAY_END) {
        if ((t == FM_JSON_OBJECT || t == FM_JSON_ARRAY) && !fm_json_skip(j, t))
            return false;
        if (list == SAMPLES)
            ok = fm_v8_add_sample(c, p, t == FM_JSON_NUMBER ? j->text : "",
                                  t == FM_JSON_NUMBER ? j->n : 0);
        else if (list == DELTAS)
            ok = add_delta(c, p, micros(j, t));
        else
            ok = add_line(c, p, fm_v8_number(j, t, 0));
    }
    return ok && t > FM_JSON_END;
}

/* ------------------------------------------------------------------ one profile */

static void keep_number(const struct fm_json *j, char to[40])
{
    if (j->n < 40) {
        memcpy(to, j->text, j->n);
        to[j->n] = '\0';
    }
}

struct part {
    struct fm_v8_profile *p;
    bool whole;                /* a profile in itself: startTime and endTime are its own */
    bool data;                 /* has anything of a profile */
    size_t deltas;             /* of the profile before this part */
};

static bool key_is(const struct fm_json *j, const char *key)
{
    size_t n = strlen(key);
    return j->n == n && memcmp(j->text, key, n) == 0;
}

static bool read_nodes(struct fm_chrome *c, struct fm_v8_profile *p, struct fm_json *j, bool head)
{
    enum fm_json_token t = fm_json_next(j);
    if (t != (head ? FM_JSON_OBJECT : FM_JSON_ARRAY))
        return fm_json_skip(j, t);
    p->tree |= head;
    return fm_v8_nodes(c, p, j, head);
}

static bool read_scalar(struct fm_chrome *c, struct fm_v8_profile *p, struct fm_json *j, char *to)
{
    enum fm_json_token t = fm_json_next(j);
    if (to != NULL && (t == FM_JSON_NUMBER || t == FM_JSON_STRING))
        keep_number(j, to);
    else if (to == NULL && t == FM_JSON_STRING)
        p->source = fm_v8_str(c, j, t);
    return fm_json_skip(j, t);
}

/* A member of `data`, of `cpuProfile`, or of a document; the key has been read. 1: its value is
 * read; 0: none of ours, untouched; -1: failed. */
static int member(struct fm_chrome *c, struct part *part, struct fm_json *j, bool inner)
{
    struct fm_v8_profile *p = part->p;
    bool ok;
    if (key_is(j, "nodes")) {
        ok = read_nodes(c, p, j, false);
    } else if (key_is(j, "head")) {
        ok = read_nodes(c, p, j, true);
    } else if (key_is(j, "samples")) {
        ok = read_list(c, p, j, SAMPLES);
    } else if (key_is(j, "timeDeltas")) {
        /* Some write it in both places: the first one counts. */
        ok = p->deltas == part->deltas ? read_list(c, p, j, DELTAS)
                                       : fm_json_skip(j, FM_JSON_KEY);
    } else if (key_is(j, "timestamps")) {
        p->seconds = true;
        ok = read_list(c, p, j, DELTAS);
    } else if (key_is(j, "lines")) {
        ok = read_list(c, p, j, LINES);
    } else if (key_is(j, "startTime") && (part->whole || !inner)) {
        ok = read_scalar(c, p, j, p->start);
    } else if (key_is(j, "endTime") && (part->whole || !inner)) {
        ok = read_scalar(c, p, j, p->end);
    } else if (key_is(j, "source") && !inner) {
        ok = read_scalar(c, p, j, NULL);
    } else {
        return 0;
    }
    part->data = true;
    return ok ? 1 : -1;
}

/* The members of an object that has been opened, those of `inner` inside it as its own. */
static bool members(struct fm_chrome *c, struct part *part, struct fm_json *j, const char *inner,
                    bool is_inner)
{
    enum fm_json_token t;
    while ((t = fm_json_next(j)) == FM_JSON_KEY) {
        bool into = inner != NULL && key_is(j, inner);
        int got = into ? 0 : member(c, part, j, is_inner);
        if (got < 0)
            return false;
        if (into) {
            t = fm_json_next(j);
            if (t == FM_JSON_OBJECT ? !members(c, part, j, NULL, true) : !fm_json_skip(j, t))
                return false;
        } else if (got == 0 && !fm_json_skip(j, t)) {
            return false;
        }
    }
    return t == FM_JSON_OBJECT_END;
}

/* Lists beside the samples are made as long as they are. */
static void even_lists(struct fm_chrome *c, struct fm_v8_profile *p, const struct part *part,
                       uint64_t offset)
{
    bool have = p->deltas > part->deltas;
    if (p->samples != p->deltas && (have || p->samples > part->deltas))
        fm_chrome_diag(c, FM_DIAG_PROFILE_LENGTHS, offset);
    while (p->deltas < p->samples && add_delta(c, p, 0))
        ;
    if (p->deltas > p->samples)
        p->deltas = p->samples;
    while (p->lines < p->samples && add_line(c, p, 0))
        ;
    p->lines = p->samples;
}

static void add_chunk(struct fm_chrome *c, struct fm_v8_profile *p, size_t first, int64_t ts)
{
    if (p->samples == first)
        return;
    if (!fm_grow(c->mem, (void **)&p->chunk, &p->chunk_cap, p->chunks + 1, sizeof *p->chunk)) {
        c->oom = true;
        return;
    }
    p->chunk[p->chunks++] = (struct fm_v8_chunk){ts, first, p->samples - first};
}

/* args {data {…, cpuProfile {…}}} of an event. */
static void read_args(struct fm_chrome *c, struct fm_v8_profile *p,
                      const struct fm_chrome_event *e, bool whole)
{
    struct part part = {.p = p, .whole = whole, .deltas = p->samples};
    struct fm_json j;
    enum fm_json_token t;
    bool ok = true;
    const struct fm_json_field *args = e->field[FM_CHROME_ARGS];
    fm_json_init_memory(&j, args != NULL ? args->text : "", args != NULL ? args->n : 0);
    if (fm_json_next(&j) == FM_JSON_OBJECT)
        while (ok && (t = fm_json_next(&j)) == FM_JSON_KEY) {
            if (!key_is(&j, "data"))
                ok = fm_json_skip(&j, t);
            else if ((t = fm_json_next(&j)) == FM_JSON_OBJECT)
                ok = members(c, &part, &j, "cpuProfile", false);
            else
                ok = fm_json_skip(&j, t);
        }
    if (j.error != FM_JSON_OK && j.error != FM_JSON_CUT)
        fm_chrome_diag(c, FM_DIAG_CHROME_EVENT, e->offset);
    if (!part.data)
        fm_chrome_diag(c, FM_DIAG_PROFILE_WITHOUT_DATA, e->offset);
    even_lists(c, p, &part, e->offset);
    add_chunk(c, p, part.deltas, e->has_ts ? e->ts.ns : 0);
}

/* ---------------------------------------------------------------------- events */

bool fm_v8_event(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    bool head, chunk, whole, local;
    fm_str id;
    struct fm_v8_profile *p;
    const struct fm_chrome_thread *thread = &c->thread[e->thread];
    const struct fm_json_field *f = e->field[FM_CHROME_NAME];
    const char *name = f != NULL ? f->text : "";
    size_t n = f != NULL ? f->n : 0;
    head = n == 7 && memcmp(name, "Profile", 7) == 0;
    chunk = n == 12 && memcmp(name, "ProfileChunk", 12) == 0;
    whole = n == 10 && memcmp(name, "CpuProfile", 10) == 0;
    if (e->phase == 'P' ? !head && !chunk : !whole)
        return false;
    if (!init(c))
        return true;
    if (!fm_chrome_event_id(c, e, &id, &local))
        id = 0;
    p = whole ? add_profile(c) : find_profile(c, thread->process, id);
    if (p == NULL)
        return true;
    if (whole) {
        p->process = thread->process;
        p->id = id;
    }
    if (head || whole) {
        p->thread = fm_chrome_thread_row(c, e->thread);
        p->head = true;
    } else if (p->thread == FM_NONE) {
        p->thread = fm_chrome_thread_row(c, fm_chrome_thread(c, e->field[FM_CHROME_PID], NULL));
    }
    read_args(c, p, e, whole);
    return true;
}

int fm_v8_key(struct fm_chrome *c, struct fm_json *j)
{
    struct part part = {.whole = true};
    static const char *const key[] = {"nodes", "head", "timeDeltas", "timestamps", "startTime",
                                      "endTime"};
    for (size_t i = 0; i < FM_COUNT(key); i++) {
        if (!key_is(j, key[i]))
            continue;
        part.p = fm_v8_alone(c);
        return part.p != NULL ? member(c, &part, j, true) : -1;
    }
    return 0;
}

/* ------------------------------------------------------------------------ rows */

static int by_time(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static int by_chunk(const void *a, const void *b)
{
    const struct fm_v8_chunk *x = a, *y = b;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static bool edge_time(const char *text, bool seconds, int64_t *ns)
{
    return text[0] != '\0' &&
           fm_json_scaled(text, strlen(text), seconds ? 1000000000 : 1000, ns);
}

/* Times of all samples, in order. A delta that leads out of range counts as 0. */
static void make_times(struct fm_chrome *c, struct fm_v8_profile *p, struct timed *timed)
{
    int64_t ts = 0, sum;
    size_t n = 0;
    bool sorted = true;
    edge_time(p->start, p->seconds, &ts);
    qsort(p->chunk, p->chunks, sizeof *p->chunk, by_chunk);
    for (size_t k = 0; k < p->chunks; k++)
        for (size_t i = p->chunk[k].first; i < p->chunk[k].first + p->chunk[k].n; i++) {
            if (p->seconds)
                ts = p->delta[i];
            else if (fm_add_i64(ts, p->delta[i], &sum))
                ts = sum;
            else
                fm_chrome_diag(c, FM_DIAG_VALUE_RANGE, FM_NO_OFFSET);
            sorted &= n == 0 || ts >= timed[n - 1].ts;
            timed[n++] = (struct timed){ts, i};
        }
    if (!sorted)
        qsort(timed, n, sizeof *timed, by_time);
}

static fm_node sample_stack(struct fm_chrome *c, struct fm_v8_profile *p, int64_t id)
{
    uint64_t *at = id != FM_V8_NO_ID ? fm_map_find(&p->by_id, (uint64_t)id) : NULL;
    struct fm_frame_row frame = {.module = FM_NONE, .address = UINT64_MAX,
                                 .kind = FM_FRAME_SYNTHETIC};
    fm_node stack;
    if (at != NULL) {
        stack = fm_v8_stack(c, p, (uint32_t)*at);
        if (p->node[*at].cut)
            fm_chrome_diag(c, FM_DIAG_STACK_DEPTH, FM_NO_OFFSET);
        return stack;
    }
    fm_chrome_diag(c, FM_DIAG_PROFILE_NODE, FM_NO_OFFSET);
    frame.function = fm_builder_str(c->builder, "(unresolved)", 12);
    return fm_builder_node(c->builder, FM_NODE_ROOT, fm_builder_frame(c->builder, &frame));
}

static void add_rows(struct fm_chrome *c, struct fm_v8_profile *p, const struct timed *timed)
{
    int64_t end;
    bool has_end = edge_time(p->end, p->seconds, &end);
    for (size_t i = 0; i < p->samples && !c->oom; i++) {
        struct fm_chrome_point point = {.thread = p->thread, .has_ts = true, .ts = timed[i].ts,
                                        .offset = FM_NO_OFFSET, .profile = p->id,
                                        .source = p->source, .alone = p == c->v8->alone};
        int64_t next = i + 1 < p->samples ? timed[i + 1].ts : has_end ? end : timed[i].ts;
        point.delta = next > timed[i].ts ? (uint64_t)next - (uint64_t)timed[i].ts : 0;
        point.stack = sample_stack(c, p, p->sample[timed[i].sample]);
        point.line = p->line[timed[i].sample];
        fm_chrome_point(c, &point);
    }
}

static bool finish_samples(struct fm_chrome *c, struct fm_v8_profile *p)
{
    struct timed *timed;
    size_t size;
    if (p->samples == 0)
        return true;
    if (!fm_mul_size(p->samples, sizeof *timed, &size) ||
        (timed = fm_mem_alloc(c->mem, size)) == NULL) {
        c->oom = true;
        return false;
    }
    make_times(c, p, timed);
    add_rows(c, p, timed);
    fm_mem_free(c->mem, timed, size);
    return !c->oom;
}

static void finish_heap(struct fm_chrome *c, struct fm_v8_profile *p)
{
    for (uint32_t i = 0; i < p->nodes && !c->oom; i++)
        if (p->node[i].self > 0)
            fm_chrome_heap(c, p->node[i].self, fm_v8_stack(c, p, i));
}

/* The document itself. */
static void finish_alone(struct fm_chrome *c, struct fm_v8_profile *p)
{
    struct part part = {.p = p};
    const char *kind = p->heap ? "heapprofile" : p->tree ? "cpuprofile-old" : "cpuprofile";
    even_lists(c, p, &part, FM_NO_OFFSET);
    add_chunk(c, p, 0, 0);
    if (p->nodes > 0)
        fm_builder_provenance(c->builder, "kind", kind, strlen(kind));
}

bool fm_v8_any(const struct fm_chrome *c)
{
    const struct fm_v8_profile *p = c->v8 != NULL ? c->v8->alone : NULL;
    return p != NULL && (p->nodes > 0 || p->samples > 0);
}

bool fm_v8_finish(struct fm_chrome *c)
{
    uint64_t profiles = 0;
    char text[24];
    if (c->v8 == NULL)
        return true;
    if (c->v8->alone != NULL)
        finish_alone(c, c->v8->alone);
    for (struct fm_v8_profile *p = c->v8->first; p != NULL && !c->oom; p = p->next) {
        fm_v8_parents(c, p);
        profiles += !p->heap && (p != c->v8->alone || p->samples > 0);
        if (p->heap)
            finish_heap(c, p);
        else
            finish_samples(c, p);
    }
    if (profiles > 0) {
        int n = snprintf(text, sizeof text, "%" PRIu64, profiles);
        fm_builder_provenance(c->builder, "profiles", text, (size_t)n);
    }
    return !c->oom;
}

static void release(struct fm_chrome *c, struct fm_v8_profile *p)
{
    fm_map_release(&p->by_id);
    fm_mem_free(c->mem, p->node, p->node_cap * sizeof *p->node);
    fm_mem_free(c->mem, p->edge, p->edge_cap * sizeof *p->edge);
    fm_mem_free(c->mem, p->path, p->path_cap * sizeof *p->path);
    fm_mem_free(c->mem, p->sample, p->sample_cap * sizeof *p->sample);
    fm_mem_free(c->mem, p->delta, p->delta_cap * sizeof *p->delta);
    fm_mem_free(c->mem, p->line, p->line_cap * sizeof *p->line);
    fm_mem_free(c->mem, p->chunk, p->chunk_cap * sizeof *p->chunk);
}

void fm_v8_release(struct fm_chrome *c)
{
    if (c->v8 == NULL)
        return;
    for (struct fm_v8_profile *p = c->v8->first; p != NULL; p = p->next)
        release(c, p);
    fm_map_release(&c->v8->by_key);
}
