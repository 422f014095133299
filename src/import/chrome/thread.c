/*
 * thread.c - processes and threads.
 *
 * The key of a thread is the pair (pid, tid): tids alone collide. Ids are 64-bit numbers or texts;
 * a text of digits is the number. Without tid an event belongs to the main thread (tid = pid),
 * without pid to process 0. Names come in M events anywhere in the file and hold for all events of
 * the thread; the last one counts, so rows of the store are named at the end.
 */
#include "import/chrome/chrome.h"

#include "util/text.h"

#include <stdio.h>

#define ABSENT SIZE_MAX

/* ------------------------------------------------------------------ ids */

static struct fm_chrome_ident ident(struct fm_chrome *c, const struct fm_json_field *f)
{
    struct fm_chrome_ident id = {0, 0, FM_CHROME_NONE};
    if (!f || (f->kind != FM_JSON_NUMBER && f->kind != FM_JSON_STRING))
        return id;
    id.kind = FM_CHROME_NUMBER;
    if (fm_text_i64(f->text, f->n, &id.number) ||
        (f->kind == FM_JSON_NUMBER && fm_json_scaled(f->text, f->n, 1, &id.number)))
        return id;
    id.kind = FM_CHROME_TEXT;
    id.number = 0;
    id.text = fm_chrome_str(c, f);
    return id;
}

static bool same(const struct fm_chrome_ident *a, const struct fm_chrome_ident *b)
{
    return a->kind == b->kind && a->number == b->number && a->text == b->text;
}

static uint64_t mix(uint64_t h, const struct fm_chrome_ident *id)
{
    return fm_mix(fm_mix(h, (uint64_t)id->number), (uint64_t)id->kind << 32 | id->text);
}

/* ------------------------------------------------------------------ tables */

static uint32_t find_process(struct fm_chrome *c, const struct fm_chrome_ident *pid)
{
    for (uint64_t key = mix(1, pid);; key++) {
        bool fresh;
        uint64_t *slot = fm_map_put(&c->process_map, key, &fresh);
        if (!slot)
            return UINT32_MAX;
        if (!fresh && same(&c->process[*slot].pid, pid))
            return (uint32_t)*slot;
        if (!fresh)
            continue;
        if (!fm_grow(c->mem, (void **)&c->process, &c->process_cap, c->processes + 1,
                     sizeof *c->process) || c->processes >= UINT32_MAX)
            return UINT32_MAX;
        *slot = c->processes;
        c->process[c->processes] = (struct fm_chrome_process){.pid = *pid};
        return (uint32_t)c->processes++;
    }
}

static uint32_t add_thread(struct fm_chrome *c, const struct fm_chrome_ident *pid,
                           const struct fm_chrome_ident *tid)
{
    uint32_t process = find_process(c, pid);
    if (process == UINT32_MAX || c->threads >= UINT32_MAX ||
        !fm_grow(c->mem, (void **)&c->thread, &c->thread_cap, c->threads + 1, sizeof *c->thread))
        return UINT32_MAX;
    c->thread[c->threads] = (struct fm_chrome_thread){
        .pid = *pid, .tid = *tid, .process = process, .row = FM_NONE,
        .newest = {INT64_MIN, 0, 0}, .first = INT64_MAX, .last = INT64_MIN};
    return (uint32_t)c->threads++;
}

static uint32_t find_thread(struct fm_chrome *c, const struct fm_chrome_ident *pid,
                            const struct fm_chrome_ident *tid)
{
    for (uint64_t key = mix(mix(2, pid), tid);; key++) {
        bool fresh;
        uint64_t *slot = fm_map_put(&c->thread_map, key, &fresh);
        if (!slot)
            return UINT32_MAX;
        const struct fm_chrome_thread *t = fresh ? NULL : &c->thread[*slot];
        if (t && same(&t->pid, pid) && same(&t->tid, tid))
            return (uint32_t)*slot;
        if (!fresh)
            continue;
        uint32_t made = add_thread(c, pid, tid);
        *slot = made;
        return made;
    }
}

/* The ids of the last event, as they stand in the file: most events are of the same thread. */
static bool same_as_last(const struct fm_chrome *c, const struct fm_json_field *pid,
                         const struct fm_json_field *tid)
{
    size_t p = pid ? pid->n : ABSENT, t = tid ? tid->n : ABSENT;
    return p == c->last_pid_n && t == c->last_tid_n && c->last_thread != UINT32_MAX &&
           (!pid || fm_chrome_same(c->last_ids, pid->text, p)) &&
           (!tid || fm_chrome_same(c->last_ids + sizeof c->last_ids / 2, tid->text, t));
}

static void remember(struct fm_chrome *c, const struct fm_json_field *pid,
                     const struct fm_json_field *tid, uint32_t thread)
{
    const size_t half = sizeof c->last_ids / 2;
    c->last_thread = UINT32_MAX;
    if ((pid && (pid->n > half || pid->escaped)) || (tid && (tid->n > half || tid->escaped)))
        return;
    c->last_thread = thread;
    c->last_pid_n = pid ? pid->n : ABSENT;
    c->last_tid_n = tid ? tid->n : ABSENT;
    if (pid)
        memcpy(c->last_ids, pid->text, pid->n);
    if (tid)
        memcpy(c->last_ids + half, tid->text, tid->n);
}

uint32_t fm_chrome_thread(struct fm_chrome *c, const struct fm_json_field *pid,
                          const struct fm_json_field *tid)
{
    if (FM_LIKELY(same_as_last(c, pid, tid)))
        return c->last_thread;
    struct fm_chrome_ident p = ident(c, pid), t = ident(c, tid);
    if (p.kind == FM_CHROME_NONE)
        p.kind = FM_CHROME_NUMBER;
    if (t.kind == FM_CHROME_NONE)
        t = p;
    uint32_t thread = find_thread(c, &p, &t);
    if (thread == UINT32_MAX)
        c->oom = true;
    remember(c, pid, tid, thread);
    return thread;
}

void fm_chrome_seen_all(struct fm_chrome *c)
{
    c->first = INT64_MAX;
    c->last = INT64_MIN;
    for (size_t i = 0; i < c->threads; i++) {
        c->first = FM_MIN(c->first, c->thread[i].first);
        c->last = FM_MAX(c->last, c->thread[i].last);
    }
    c->has_time = c->first <= c->last;
}

/* ------------------------------------------------------------------ rows of the store */

static void ident_text(struct fm_chrome *c, struct fm_out *out, const struct fm_chrome_ident *id)
{
    size_t n;
    if (id->kind != FM_CHROME_TEXT) {
        fm_out_i64(out, id->number);
        return;
    }
    const char *s = fm_builder_str_text(c->builder, id->text, &n);
    fm_out_bytes(out, s, n);
}

/* "pid/tid": the row of a thread whose ids are not both numbers. */
static fm_thread text_row(struct fm_chrome *c, const struct fm_chrome_thread *t)
{
    struct fm_out out;
    fm_thread row = FM_NONE;
    if (fm_out_init(&out, c->mem, NULL) != FM_OK)
        return FM_NONE;
    ident_text(c, &out, &t->pid);
    fm_out_char(&out, '/');
    ident_text(c, &out, &t->tid);
    if (fm_out_finish(&out, NULL) == FM_OK)
        row = fm_builder_thread_text(c->builder, fm_builder_str(c->builder, out.buf, out.n));
    fm_out_release(&out);
    return row;
}

fm_thread fm_chrome_thread_row(struct fm_chrome *c, uint32_t thread)
{
    struct fm_chrome_thread *t = &c->thread[thread];
    if (FM_LIKELY(t->row != FM_NONE))
        return t->row;
    if (t->pid.kind == FM_CHROME_NUMBER && t->tid.kind == FM_CHROME_NUMBER) {
        t->row = fm_builder_thread(c->builder, t->pid.number, t->tid.number, 0);
    } else {
        t->row = text_row(c, t);
        struct fm_thread_row *row =
            t->row != FM_NONE ? fm_builder_thread_row(c->builder, t->row) : NULL;
        if (row) {
            row->pid = t->pid.kind == FM_CHROME_NUMBER ? t->pid.number : -1;
            row->tid = t->tid.kind == FM_CHROME_NUMBER ? t->tid.number : -1;
        }
    }
    if (t->row == FM_NONE)
        c->oom = true;
    return t->row;
}

/* "NAME ID", or "pid ID" and "tid ID" where there is no name. */
static fm_str label(struct fm_chrome *c, bool named, fm_str name, const char *none,
                    const struct fm_chrome_ident *id)
{
    struct fm_out out;
    fm_str str = 0;
    size_t n;
    if (fm_out_init(&out, c->mem, NULL) != FM_OK)
        return 0;
    if (named) {
        const char *s = fm_builder_str_text(c->builder, name, &n);
        fm_out_bytes(&out, s, n);
    } else {
        fm_out_text(&out, none);
    }
    fm_out_char(&out, ' ');
    ident_text(c, &out, id);
    if (fm_out_finish(&out, NULL) == FM_OK)
        str = fm_builder_str(c->builder, out.buf, out.n);
    fm_out_release(&out);
    return str == FM_NONE ? 0 : str;
}

void fm_chrome_name_threads(struct fm_chrome *c)
{
    for (size_t i = 0; i < c->threads; i++) {
        const struct fm_chrome_thread *t = &c->thread[i];
        const struct fm_chrome_process *p = &c->process[t->process];
        if (t->row == FM_NONE)
            continue;
        fm_str process = label(c, p->named, p->name, "pid", &t->pid);
        fm_str thread = label(c, t->named, t->name, "tid", &t->tid);
        struct fm_thread_row *row = fm_builder_thread_row(c->builder, t->row);
        if (row) {
            row->process_label = process;
            row->thread_label = thread;
            row->process_order = p->order;
            row->order = t->order;
            if (p->named)
                row->process = p->name;
        }
        if (t->named)
            fm_builder_thread_name(c->builder, t->row, INT64_MIN, t->name);
    }
    if (c->cpus > 0) {
        char cpus[24];
        int n = snprintf(cpus, sizeof cpus, "%lld", (long long)c->cpus);
        fm_chrome_fact(c, "num_cpus", cpus, (size_t)n);
    }
}

void fm_chrome_threads_release(struct fm_chrome *c)
{
    fm_map_release(&c->thread_map);
    fm_map_release(&c->process_map);
    fm_map_release(&c->fact_map);
    fm_mem_free(c->mem, c->thread, c->thread_cap * sizeof *c->thread);
    fm_mem_free(c->mem, c->process, c->process_cap * sizeof *c->process);
}

/* ------------------------------------------------------------------ M */

static bool is_named(const struct fm_json_field *name, const char *want)
{
    return name && name->n == strlen(want) && memcmp(name->text, want, name->n) == 0;
}

static uint64_t text_hash(const char *s, size_t n)
{
    uint64_t h = n + 1;
    for (size_t i = 0; i < n; i++)
        h = fm_mix(h, (unsigned char)s[i]);
    return h;
}

/* Notes a fact; 0: it is known, -1: with another value, 1: it is new. */
static int note_fact(struct fm_chrome *c, const char *key, const char *s, size_t n)
{
    bool fresh;
    uint64_t value = text_hash(s, n);
    uint64_t *slot = fm_map_put(&c->fact_map, text_hash(key, strlen(key)), &fresh);
    if (!slot) {
        c->oom = true;
        return 0;
    }
    if (!fresh)
        return *slot == value ? 0 : -1;
    *slot = value;
    return 1;
}

/* A fact that is worth keeping: its first scalar argument. Processes say the same things: once is
 * enough, and another value is that of its process. */
static void keep_fact(struct fm_chrome *c, const struct fm_chrome_event *e,
                      const struct fm_json_object *args)
{
    size_t n;
    char key[160];
    const char *s = fm_chrome_text(c, e->field[FM_CHROME_NAME], &n);
    if (n == 0 || n >= sizeof key - 32)
        return;
    memcpy(key, s, n);
    key[n] = '\0';
    for (uint32_t i = 0; i < args->fields; i++) {
        const struct fm_json_field *f = &args->field[i];
        size_t value_n;
        if (f->kind != FM_JSON_STRING && f->kind != FM_JSON_NUMBER)
            continue;
        s = fm_chrome_text(c, f, &value_n);
        int found = is_named(e->field[FM_CHROME_NAME], "process_labels")
                        ? -1 : note_fact(c, key, s, value_n);
        if (found < 0) {
            snprintf(key + n, sizeof key - n, ".%lld", (long long)c->thread[e->thread].pid.number);
            found = note_fact(c, key, s, value_n);
        }
        if (found > 0)
            fm_chrome_fact(c, key, s, value_n);
        return;
    }
}

/* A sort index is a number, or a text that holds one. */
static void take_order(const struct fm_json_object *args, int64_t *order)
{
    (void)fm_chrome_i64(fm_chrome_member(args, "sort_index"), order);
}

void fm_chrome_metadata(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    const struct fm_json_field *name = e->field[FM_CHROME_NAME], *args = e->field[FM_CHROME_ARGS];
    struct fm_chrome_thread *t = &c->thread[e->thread];
    struct fm_chrome_process *p = &c->process[t->process];
    struct fm_json_object o;
    if (is_named(name, "stackFrames")) {
        fm_chrome_frames(c, e);
        return;
    }
    if (!args || args->kind != FM_JSON_OBJECT || !fm_json_object_read(&o, args->text, args->n))
        return;
    if (is_named(name, "thread_name")) {
        t->name = fm_chrome_str(c, fm_chrome_member(&o, "name"));
        t->named = t->name != 0;
    } else if (is_named(name, "process_name")) {
        p->name = fm_chrome_str(c, fm_chrome_member(&o, "name"));
        p->named = p->name != 0;
    } else if (is_named(name, "trace_buffer_overflowed")) {
        fm_chrome_diag(c, FM_DIAG_CHROME_OVERFLOW, e->offset);
    } else if (is_named(name, "process_sort_index")) {
        take_order(&o, &p->order);
    } else if (is_named(name, "thread_sort_index")) {
        take_order(&o, &t->order);
    } else if (is_named(name, "num_cpus")) {
        int64_t cpus = 0;
        if (fm_chrome_i64(fm_chrome_member(&o, "number"), &cpus))
            c->cpus = FM_MAX(c->cpus, cpus);
    } else if (!is_named(name, "typeNames")) {
        keep_fact(c, e, &o);
    }
}
