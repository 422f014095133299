/*
 * system.c - system traces inside of Chrome traces.
 *
 *     Chrome-4211  (4200) [002] d..3 50260.929925: tracing_mark_write: B|4200|draw
 *     comm   tid   tgid    cpu  flags   seconds    event               payload
 *
 *     B|tgid|name   E|tgid   C|tgid|name|value   S|tgid|name|cookie   F|tgid|name|cookie
 *     sched_switch: … prev_pid=4211 prev_state=S ==> next_comm=x next_pid=7 …
 *
 *     {"type": "fuchsia", "events": [{"ph": "p", "pid", "name"}, {"ph": "t", "pid", "tid", "name"},
 *      {"ph": "k", "ts", "cpu", "out": {"pid", "tid"}, "in": {"pid", "tid"}}, {"ph": "w", …}]}
 *
 * Each line becomes the trace event that says the same ("B", "E", "C", "S", "F", and "T" with a
 * duration for the time that a thread ran on a cpu), and goes the way of all events. Other events
 * of ftrace are counted as not mapped. Old kernels write the event as "0".
 */
#include "import/chrome/system.h"

#include "util/out.h"
#include "util/text.h"

#define MAX_LINE ((size_t)64 << 10)
#define MAX_CPU 4096

/* Who runs on a cpu. */
struct cpu {
    bool busy;
    int64_t pid, tid, since;       /* ns */
};

struct fm_chrome_system {
    char line[MAX_LINE];
    size_t n;
    bool skip;                     /* the line is too long: until its end */
    uint64_t offset;               /* of the line */
    struct fm_map group;           /* tid -> tgid + 1, and bit 32: its name is known */
    struct cpu *cpu;
    size_t cpus, cpu_cap;
    struct fm_out out;             /* the event being made */
    struct fm_json_object object;
};

#define NAMED (UINT64_C(1) << 40)

static struct fm_chrome_system *system_of(struct fm_chrome *c)
{
    if (c->system == NULL) {
        c->system = fm_arena_alloc(&c->arena, sizeof *c->system);
        if (c->system == NULL) {
            c->oom = true;
            return NULL;
        }
        fm_map_init(&c->system->group, c->mem);
        if (fm_out_init(&c->system->out, c->mem, NULL) != FM_OK)
            c->oom = true;
    }
    return c->oom ? NULL : c->system;
}

void fm_chrome_system_release(struct fm_chrome *c)
{
    if (c->system == NULL)
        return;
    fm_map_release(&c->system->group);
    fm_mem_free(c->mem, c->system->cpu, c->system->cpu_cap * sizeof *c->system->cpu);
    fm_out_release(&c->system->out);
}

/* --------------------------------------------------------------- making events */

/* {"ph":"B","pid":1,"tid":2,"ts":3.000 */
static void begin_event(struct fm_chrome_system *s, char phase, int64_t pid, int64_t tid,
                        int64_t ns)
{
    s->out.n = 0;
    fm_out_printf(&s->out, "{\"ph\":\"%c\",\"pid\":", phase);
    fm_out_i64(&s->out, pid);
    fm_out_text(&s->out, ",\"tid\":");
    fm_out_i64(&s->out, tid);
    fm_out_text(&s->out, ",\"ts\":");
    fm_out_i64(&s->out, ns);
    fm_out_text(&s->out, "e-3");
}

static void put_text(struct fm_chrome_system *s, const char *key, const char *text, size_t n)
{
    fm_out_printf(&s->out, ",\"%s\":", key);
    fm_out_json(&s->out, text, n);
}

static void end_event(struct fm_chrome *c, uint64_t offset)
{
    struct fm_chrome_system *s = c->system;
    fm_out_char(&s->out, '}');
    if (s->out.status != FM_OK) {
        c->oom = true;
        return;
    }
    if (!fm_json_object_read(&s->object, s->out.buf, s->out.n))
        return;
    s->object.at = offset;
    fm_chrome_event(c, &s->object);
}

static void name_thread(struct fm_chrome *c, const char *what, int64_t pid, int64_t tid,
                        const char *name, size_t n)
{
    struct fm_chrome_system *s = c->system;
    begin_event(s, 'M', pid, tid, 0);
    put_text(s, "name", what, strlen(what));
    fm_out_text(&s->out, ",\"args\":{\"name\":");
    fm_out_json(&s->out, name, n);
    fm_out_char(&s->out, '}');
    end_event(c, s->offset);
}

/* A thread is on a cpu from now on (pid -1: nobody); who was there has run until now. */
static void switch_cpu(struct fm_chrome *c, int64_t cpu, int64_t pid, int64_t tid, int64_t ns)
{
    struct fm_chrome_system *s = c->system;
    struct cpu *at;
    if (cpu < 0 || cpu >= MAX_CPU)
        return;
    if ((size_t)cpu >= s->cpus) {
        if (!fm_grow(c->mem, (void **)&s->cpu, &s->cpu_cap, (size_t)cpu + 1, sizeof *s->cpu)) {
            c->oom = true;
            return;
        }
        memset(s->cpu + s->cpus, 0, ((size_t)cpu + 1 - s->cpus) * sizeof *s->cpu);
        s->cpus = (size_t)cpu + 1;
    }
    at = &s->cpu[cpu];
    if (at->busy && ns >= at->since) {
        begin_event(s, 'T', at->pid, at->tid, at->since);
        fm_out_text(&s->out, ",\"dur\":");
        fm_out_u64(&s->out, (uint64_t)ns - (uint64_t)at->since);
        fm_out_text(&s->out, "e-3,\"name\":\"Running\",\"cat\":\"sched\",\"args\":{\"cpu\":");
        fm_out_i64(&s->out, cpu);
        fm_out_char(&s->out, '}');
        end_event(c, s->offset);
    }
    *at = (struct cpu){pid >= 0, pid, tid, ns};
}

/* ------------------------------------------------------------------ one line */

struct line {
    const char *comm, *event, *payload;
    size_t comm_n, event_n, payload_n;
    int64_t tid, tgid, cpu, ns;    /* tgid -1: not told */
};

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* "[002]" in s[0..n), at which the head of a line ends; NULL: none. */
static const char *find_cpu(const char *s, const char *end, int64_t *cpu)
{
    for (const char *p = s; (p = memchr(p, '[', (size_t)(end - p))) != NULL; p++) {
        const char *close = memchr(p, ']', (size_t)(end - p));
        if (close == NULL)
            return NULL;
        if (fm_text_i64(p + 1, (size_t)(close - p - 1), cpu) && p > s)
            return p;
    }
    return NULL;
}

/* comm-tid (tgid): the tid stands behind the last '-'. */
static bool read_head(const char *s, const char *end, struct line *l)
{
    const char *p = end, *dash;
    s = skip_blanks(s, end);
    while (p > s && p[-1] == ' ')
        p--;
    l->tgid = -1;
    if (p > s && p[-1] == ')') {
        const char *open = p - 1;
        while (open > s && *open != '(')
            open--;
        const char *digits = skip_blanks(open + 1, p - 1);
        if (!fm_text_i64(digits, (size_t)(p - 1 - digits), &l->tgid))
            l->tgid = -1;          /* "(-----)" */
        for (p = open; p > s && p[-1] == ' ';)
            p--;
    }
    for (dash = p; dash > s && dash[-1] != '-';)
        dash--;
    if (dash <= s + 1 || !fm_text_i64(dash, (size_t)(p - dash), &l->tid))
        return false;
    l->comm = s;
    l->comm_n = (size_t)(dash - 1 - s);
    return true;
}

/* Seconds with a fraction -> ns. */
static bool read_seconds(const char *s, size_t n, int64_t *ns)
{
    return n > 0 && s[0] >= '0' && s[0] <= '9' && memchr(s, '.', n) != NULL &&
           fm_json_scaled(s, n, 1000000000, ns);
}

static bool read_line(const char *s, size_t n, struct line *l)
{
    const char *end = s + n, *cpu = find_cpu(s, end, &l->cpu), *p, *colon;
    if (cpu == NULL || !read_head(s, cpu, l))
        return false;
    p = (const char *)memchr(cpu, ']', (size_t)(end - cpu)) + 1;
    /* Flags, when there are any, then the time with its colon. */
    for (;;) {
        const char *word;
        p = skip_blanks(p, end);
        for (word = p; p < end && *p != ' ' && *p != '\t';)
            p++;
        if (p == word)
            return false;
        if (p[-1] == ':' && read_seconds(word, (size_t)(p - 1 - word), &l->ns))
            break;
    }
    l->event = p = skip_blanks(p, end);
    colon = memchr(p, ':', (size_t)(end - p));
    if (colon == NULL)
        return false;
    l->event_n = (size_t)(colon - p);
    l->payload = skip_blanks(colon + 1, end);
    l->payload_n = (size_t)(end - l->payload);
    return true;
}

/* The i-th part of a payload between bars; the last one asked for takes the rest when `rest`. */
static const char *part(const struct line *l, unsigned i, bool rest, size_t *n)
{
    const char *p = l->payload, *end = p + l->payload_n, *bar;
    for (; i > 0; i--) {
        bar = memchr(p, '|', (size_t)(end - p));
        if (bar == NULL) {
            *n = 0;
            return end;
        }
        p = bar + 1;
    }
    bar = rest ? NULL : memchr(p, '|', (size_t)(end - p));
    *n = (size_t)((bar != NULL ? bar : end) - p);
    return p;
}

/* The process of a thread: told by the mark, by the line, or by an earlier one. */
static int64_t process_of(struct fm_chrome *c, const struct line *l, int64_t told)
{
    bool fresh;
    uint64_t *slot = fm_map_put(&c->system->group, (uint64_t)l->tid, &fresh);
    int64_t pid = told >= 0 ? told : l->tgid;
    if (slot == NULL) {
        c->oom = true;
        return 0;
    }
    if (pid < 0)
        pid = (*slot & (NAMED - 1)) != 0 ? (int64_t)(*slot & (NAMED - 1)) - 1 : l->tid;
    if (pid >= (int64_t)(NAMED - 1))
        return pid;
    bool named = (*slot & NAMED) != 0;
    *slot = ((uint64_t)pid + 1) | NAMED;
    if (!named && l->comm_n > 0 && l->comm[0] != '<')
        name_thread(c, "thread_name", pid, l->tid, l->comm, l->comm_n);
    return pid;
}

static bool mark(struct fm_chrome *c, const struct line *l)
{
    struct fm_chrome_system *s = c->system;
    size_t n, m;
    int64_t told = -1, pid;
    const char *text;
    char kind = l->payload_n > 0 ? l->payload[0] : '\0';
    if ((l->payload_n > 1 && l->payload[1] != '|') || strchr("BECSF", kind) == NULL)
        return false;
    text = part(l, 1, false, &n);
    if (!fm_text_i64(text, n, &told))
        told = -1;
    pid = process_of(c, l, told);
    begin_event(s, kind, pid, l->tid, l->ns);
    if (kind != 'E') {
        text = part(l, 2, kind == 'B', &n);
        put_text(s, "name", text, n);
    }
    if (kind == 'C') {
        text = part(l, 3, false, &m);
        fm_out_text(&s->out, ",\"args\":{\"\":");
        fm_out_json(&s->out, text, m);
        fm_out_char(&s->out, '}');
    } else if (kind == 'S' || kind == 'F') {
        /* A cookie means something within its process only. */
        text = part(l, 3, false, &m);
        put_text(s, "id", text, m);
        fm_out_printf(&s->out, ",\"scope\":\"%lld\"", (long long)pid);
    }
    end_event(c, s->offset);
    return true;
}

/* The number behind "KEY=" in a payload. */
static bool number_of(const struct line *l, const char *key, int64_t *v)
{
    size_t n = strlen(key);
    for (size_t i = 0; i + n < l->payload_n; i++) {
        size_t k = i + n;
        if ((i > 0 && l->payload[i - 1] != ' ') || memcmp(l->payload + i, key, n) != 0)
            continue;
        while (k < l->payload_n && l->payload[k] != ' ')
            k++;
        return fm_text_i64(l->payload + i + n, k - i - n, v);
    }
    return false;
}

static bool sched_switch(struct fm_chrome *c, const struct line *l)
{
    int64_t next, pid;
    uint64_t *slot;
    if (!number_of(l, "next_pid=", &next))
        return false;
    (void)process_of(c, l, -1);
    slot = fm_map_find(&c->system->group, (uint64_t)next);
    pid = slot != NULL ? (int64_t)(*slot & (NAMED - 1)) - 1 : next;
    switch_cpu(c, l->cpu, next == 0 ? -1 : pid, next, l->ns);
    return true;
}

static bool event_is(const struct line *l, const char *name)
{
    size_t n = strlen(name);
    return l->event_n == n && memcmp(l->event, name, n) == 0;
}

static void take_line(struct fm_chrome *c, const char *s, size_t n)
{
    struct line l;
    bool taken;
    /* The text of a JavaScript string ends its lines with \n\ and the last one with \n"; */
    if (n >= 4 && memcmp(s + n - 4, "\\n\";", 4) == 0)
        n -= 4;
    if (n >= 3 && memcmp(s + n - 3, "\\n\\", 3) == 0)
        n -= 3;
    if (n > 0 && s[n - 1] == '\r')
        n--;
    if (n == 0 || s[0] == '#' || !read_line(s, n, &l))
        return;
    if (event_is(&l, "tracing_mark_write") || event_is(&l, "0") || event_is(&l, "print"))
        taken = mark(c, &l);
    else if (event_is(&l, "sched_switch"))
        taken = sched_switch(c, &l);
    else
        taken = false;
    if (!taken)
        fm_account_record(c->builder, FM_ACCOUNT_NOT_MAPPED,
                          fm_builder_str(c->builder, l.event, l.event_n), c->system->offset, 1);
}

void fm_chrome_ftrace(struct fm_chrome *c, const char *text, size_t n, uint64_t offset)
{
    struct fm_chrome_system *s = system_of(c);
    size_t at = 0;
    while (s != NULL && at < n && !c->oom) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = (end != NULL ? (size_t)(end - text) : n) - at;
        if (s->n == 0 && !s->skip)
            s->offset = offset + at;
        if (end != NULL && s->n == 0 && !s->skip) {
            take_line(c, text + at, len);
        } else {
            s->skip |= len > MAX_LINE - s->n;
            if (!s->skip) {
                memcpy(s->line + s->n, text + at, len);
                s->n += len;
            }
            if (end != NULL)
                fm_chrome_ftrace_end(c);
        }
        at += len + 1;
    }
}

void fm_chrome_ftrace_end(struct fm_chrome *c)
{
    struct fm_chrome_system *s = c->system;
    if (s == NULL)
        return;
    if (!s->skip && s->n > 0)
        take_line(c, s->line, s->n);
    s->n = 0;
    s->skip = false;
}

/* ------------------------------------------------------------------- Fuchsia */

static bool ids_of(const struct fm_json_field *f, int64_t *pid, int64_t *tid)
{
    struct fm_json_object o;
    return f != NULL && f->kind == FM_JSON_OBJECT && fm_json_object_read(&o, f->text, f->n) &&
           fm_chrome_i64(fm_chrome_member(&o, "pid"), pid) &&
           fm_chrome_i64(fm_chrome_member(&o, "tid"), tid);
}

static void fuchsia_event(struct fm_chrome *c, const struct fm_json_object *o)
{
    const struct fm_json_field *ph = fm_chrome_member(o, "ph"), *name = fm_chrome_member(o, "name");
    int64_t pid = -1, tid = -1, cpu, ns;
    size_t n;
    char phase = ph != NULL && ph->n > 0 ? ph->text[0] : '\0';
    c->system->offset = o->at;
    if (phase == 'p' || phase == 't') {
        if (!fm_chrome_i64(fm_chrome_member(o, "pid"), &pid) ||
            (phase == 't' && !fm_chrome_i64(fm_chrome_member(o, "tid"), &tid)))
            return;
        const char *text = fm_chrome_text(c, name, &n);
        name_thread(c, phase == 'p' ? "process_name" : "thread_name", pid,
                    phase == 'p' ? pid : tid, text, n);
    } else if (phase == 'k') {
        const struct fm_json_field *ts = fm_chrome_member(o, "ts");
        if (ts == NULL || !fm_json_scaled(ts->text, ts->n, 1000, &ns) ||
            !fm_chrome_i64(fm_chrome_member(o, "cpu"), &cpu))
            return;
        if (!ids_of(fm_chrome_member(o, "in"), &pid, &tid) || tid == 0)
            pid = -1;
        switch_cpu(c, cpu, pid, tid, ns);
    } else {
        fm_account_record(c->builder, FM_ACCOUNT_NOT_MAPPED,
                          fm_builder_str(c->builder, "fuchsia", 7), o->at, 1);
    }
}

static bool fuchsia(struct fm_chrome *c, struct fm_json *j)
{
    enum fm_json_token t;
    enum fm_json_item item;
    struct fm_json_object o;
    while ((t = fm_json_next(j)) == FM_JSON_KEY) {
        bool events = j->n == 6 && memcmp(j->text, "events", 6) == 0;
        t = fm_json_next(j);
        if (!events || t != FM_JSON_ARRAY) {
            if (!fm_json_skip(j, t))
                return false;
            continue;
        }
        while ((item = fm_json_item(j, &o)) > FM_JSON_ITEM_END && !c->oom)
            if (item == FM_JSON_ITEM_OBJECT)
                fuchsia_event(c, &o);
        if (item != FM_JSON_ITEM_END)
            return false;
    }
    return t == FM_JSON_OBJECT_END;
}

bool fm_chrome_system(struct fm_chrome *c, struct fm_json *j)
{
    enum fm_json_token t = fm_json_next(j);
    size_t n = j->n;
    char *text;
    if (system_of(c) == NULL)
        return false;
    if (t == FM_JSON_OBJECT)
        return fuchsia(c, j);
    if (t != FM_JSON_STRING)
        return fm_json_skip(j, t);
    text = fm_mem_alloc(c->mem, n + 1);
    if (text == NULL) {
        c->oom = true;
        return false;
    }
    fm_chrome_ftrace(c, text, fm_json_unescape(j->text, n, text), j->at);
    fm_chrome_ftrace_end(c);
    fm_mem_free(c->mem, text, n + 1);
    return !c->oom;
}
