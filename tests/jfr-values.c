/*
 * jfr-values.c - a recording against its right values, as an independent reader decoded them.
 *
 *     jfr-values RECORDING EXPECTED.json.gz [NAME.MODE[-OPTION...].collapsed.gz ...]
 *     jfr-values --model EXPECTED.json.gz COLLAPSED...       "converter" below alone
 *
 * $JFR_EVENTS is a folder whose formats/jfr.yaml makes a row of every event (tests/data/jfr).
 * Compared (TAP, one line each):
 *
 *   counts      events of each type: the account's records
 *   events      with that mapping: (type, start, duration, thread, stack, class, state, numbers) of
 *               every event, as a multiset; times within 1 ns
 *   rows        with the shipped mapping: (type, start, duration, thread, stack, value) of every
 *               event that is a row, the same way. value_of() says which field is the value.
 *   converter   the collapsed file is what jfrfold.c works out for the converter: the values and
 *               the file agree, and all that is wrong in the file is known
 *   folded      what foldmill writes is what jfrfold.c works out as right
 */
#include "foldmill.h"

#include "jfrfold.h"
#include "storerows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SHOWN 4

static unsigned tests;
static bool all_ok = true;

static void result(bool ok, const char *what, const char *of)
{
    printf("%sok %u - %s %s\n", ok ? "" : "not ", ++tests, what, of);
    all_ok &= ok;
}

/* -------------------------------------------------------------------- counts */

/* Events of a type that the account tells of. */
static uint64_t account_of(const struct fm_store *store, const char *type)
{
    uint64_t read = 0, not_mapped = 0;

    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info a;
        fm_store_account(store, i, &a);
        if (strcmp(a.key, type) != 0)
            continue;
        if (a.kind == FM_ACCOUNT_RECORDS)
            read += a.count;
        else if (a.kind == FM_ACCOUNT_NOT_MAPPED)
            not_mapped += a.count;
    }
    return read != 0 ? read : not_mapped;
}

/* Metadata, checkpoints and type ids that no event type has are told otherwise. */
static bool is_structure(const char *type)
{
    return strcmp(type, "jdk.Metadata") == 0 || strcmp(type, "jdk.CheckPoint") == 0 ||
           type[0] == '#' || type[0] == '?' || strcmp(type, "byte") == 0;
}

static void check_counts(const struct fm_store *store, const struct jx *x, const char *name)
{
    unsigned wrong = 0;

    for (size_t i = 0; i < x->counts; i++) {
        uint64_t ours = account_of(store, x->count[i].type);
        if (ours == x->count[i].events || is_structure(x->count[i].type))
            continue;
        if (wrong++ < SHOWN)
            printf("# %s: %" PRIu64 " of %" PRIu64 "\n", x->count[i].type, ours,
                   x->count[i].events);
    }
    result(wrong == 0, "counts", name);
}

/* ---------------------------------------------------------------------- rows */

struct item {
    const char *type;
    uint64_t thread, stack;      /* hashes */
    int64_t start, dur;
    uint64_t value, count;
    bool has_dur, has_value;
    bool counter;                /* statistics, of no thread */
    bool loose;                  /* weights are floats, of which the values have five digits */
    uint32_t has;                /* bit per enum jx_number */
    int64_t number[JX_NUMBERS];
    uint64_t class, state;       /* hashes */
    size_t from;                 /* place of the event, or node of the row */
};

struct items {
    struct item *v;
    size_t n;
};

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static uint64_t hash_text(uint64_t h, const char *s)
{
    return hash_bytes(h, s, strlen(s) + 1);
}

static uint64_t hash_number(uint64_t h, int64_t v)
{
    return hash_bytes(h, &v, sizeof v);
}

#define SEED 0xcbf29ce484222325u

/* A frame in the words of both sides. Line and bci count when they are known. */
struct frame_words {
    char name[4096];
    char kind;
    int64_t line, bci;
};

static uint64_t hash_frame(uint64_t h, const struct frame_words *w)
{
    return hash_number(hash_number(hash_bytes(hash_text(h, w->name), &w->kind, 1), w->line),
                       w->bci);
}

static void frame_of_values(const struct jx_frame *f, struct frame_words *w)
{
    static const struct {
        const char *type;
        char kind;
    } kinds[] = {{"Interpreted", 'i'}, {"JIT compiled", 'j'}, {"Inlined", 'n'}, {"Native", 'u'},
                 {"C++", 'u'}, {"Kernel", 'k'}, {"C1 compiled", '1'}, {"Optimized", 'j'}};
    const char *class = f->class != NULL ? f->class : "", *method = f->method;
    bool native = f->descriptor != NULL && (strcmp(f->descriptor, "()L;") == 0 ||
                                            strcmp(f->descriptor, "(Lk;)L;") == 0);

    w->kind = '?';
    for (size_t i = 0; f->type != NULL && i < FM_COUNT(kinds); i++) {
        if (strcmp(f->type, kinds[i].type) == 0)
            w->kind = kinds[i].kind;
    }
    if (method == NULL)
        method = "";
    if (class[0] == '\0' || (native && (w->kind == 'u' || w->kind == 'k')))
        snprintf(w->name, sizeof w->name, "%.4000s", method);
    else
        snprintf(w->name, sizeof w->name, method[0] != '\0' ? "%.2000s.%.2000s" : "%.2000s%.2000s",
                 class, method);
    w->line = f->line > 0 ? f->line : 0;
    w->bci = f->bci > 0 ? f->bci : 0;
}

static void frame_of_store(struct fm_store *store, fm_frame id, struct frame_words *w)
{
    static const struct fm_names names = {.style = FM_NAMES_FOLDMILL};
    const struct fm_frame_row *f = fm_store_frame_row(store, id);

    switch (f->kind) {
    case FM_FRAME_INTERPRETED: w->kind = 'i'; break;
    case FM_FRAME_JIT: w->kind = 'j'; break;
    case FM_FRAME_INLINED: w->kind = 'n'; break;
    case FM_FRAME_C1: w->kind = '1'; break;
    case FM_FRAME_USER: w->kind = 'u'; break;
    case FM_FRAME_KERNEL: w->kind = 'k'; break;
    case FM_FRAME_SYNTHETIC: w->kind = 's'; break;
    default: w->kind = '?'; break;
    }
    snprintf(w->name, sizeof w->name, "%s",
             fm_store_str(store, fm_name_frame(store, id, &names), NULL));
    f = fm_store_frame_row(store, id);
    w->line = f->line;
    w->bci = f->bci > 1 ? f->bci - 1 : 0;
}

/* `traced`: the method that JDK 25 traced is the leaf. */
static uint64_t stack_of_values(const struct jx *x, const struct jx_event *e, bool traced)
{
    struct frame_words w;
    const struct jx_stack *s;
    uint64_t h = SEED;

    if (strcmp(e->type, "jdk.MethodTrace") == 0 && e->method != NULL && traced) {
        snprintf(w.name, sizeof w.name, "%.*s", (int)strcspn(e->method, "("), e->method);
        w.kind = '?';
        w.line = w.bci = 0;
        h = hash_frame(h, &w);
    }
    if (e->stack >= x->stacks)
        return 0;
    s = &x->stack[e->stack];
    if (s->frames == 0)
        return 0;
    for (size_t i = 0; i < s->frames; i++) {
        frame_of_values(&s->frame[i], &w);
        h = hash_frame(h, &w);
    }
    return s->truncated ? hash_text(h, "[truncated]") : h;
}

static uint64_t stack_of_store(struct fm_store *store, uint32_t node)
{
    static fm_frame frame[65536];
    struct frame_words w;
    size_t n = store_row_frames(store, node, frame, FM_COUNT(frame));
    uint64_t h = SEED;

    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        frame_of_store(store, frame[i], &w);
        if (n == 1 && w.kind == 's' && (strcmp(w.name, "[no stack]") == 0 ||
                                        strcmp(w.name, "[unknown stack]") == 0))
            return 0;
        h = w.kind == 's' && strcmp(w.name, "[truncated]") == 0 ? hash_text(h, w.name)
                                                                : hash_frame(h, &w);
    }
    return h;
}

/* A thread that no pool names has a number and no name: the same as none. */
static uint64_t thread_hash(const char *name)
{
    return name[0] != '\0' ? hash_text(SEED, name) : 0;
}

/* The name; virtual threads without one are called by their number. */
static uint64_t thread_of_values(const struct jx *x, const struct jx_event *e)
{
    const struct jx_thread *t;
    char buf[40];

    if (e->thread_name != NULL)
        return hash_text(SEED, e->thread_name);
    if (e->thread >= x->threads)
        return 0;
    t = &x->thread[e->thread];
    if (t->is_virtual && (t->java == NULL || t->java[0] == '\0')) {
        snprintf(buf, sizeof buf, "virtual-%" PRId64, t->java_id);
        return hash_text(SEED, buf);
    }
    return thread_hash(t->java != NULL ? t->java : t->os != NULL ? t->os : "");
}

static uint64_t thread_of_store(const struct fm_store *store, fm_thread t)
{
    const char *name;

    if (t == FM_NONE)
        return 0;
    name = fm_store_str(store, fm_store_thread_name(store, t, false, 0), NULL);
    return thread_hash(name);
}

/* Which field is the value (weight), by type: its unit is bytes, ns or 1. false: not told by the
 * event (the period of ExecutionSample, NativeMethodSample and WallClockSample is a setting). */
static bool value_of(const struct jx_event *e, uint64_t *value)
{
    static const struct {
        const char *type;
        enum jx_number field;
    } table[] = {
        {"jdk.CPUTimeSample", JX_PERIOD},
        {"jdk.ObjectAllocationInNewTLAB", JX_TLAB},
        {"jdk.ObjectAllocationOutsideTLAB", JX_ALLOC_SIZE},
        {"jdk.ObjectAllocationSample", JX_WEIGHT},
        {"jdk.OldObjectSample", JX_OBJECT_SIZE},
        {"profiler.LiveObject", JX_ALLOC_SIZE},
        {"profiler.Malloc", JX_SIZE},
    };
    static const char *const duration[] = {
        "jdk.JavaMonitorEnter", "jdk.JavaMonitorWait", "jdk.ThreadPark", "jdk.ThreadSleep",
        "jdk.FileRead", "jdk.FileWrite", "jdk.SocketRead", "jdk.SocketWrite", "jdk.MethodTrace",
        "profiler.NativeLock",
    };

    for (size_t i = 0; i < FM_COUNT(table); i++) {
        if (strcmp(e->type, table[i].type) == 0) {
            *value = (uint64_t)e->number[table[i].field];
            return (e->has & 1u << table[i].field) != 0;
        }
    }
    *value = (uint64_t)e->dur;
    for (size_t i = 0; i < FM_COUNT(duration); i++) {
        if (strcmp(e->type, duration[i]) == 0)
            return true;
    }
    return false;
}

static int by_item(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int c = strcmp(x->type, y->type);

    if (c != 0)
        return c;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->dur < y->dur ? -1 : x->dur > y->dur;
}

static bool near(int64_t a, int64_t b)
{
    return a - b <= 1 && b - a <= 1;
}

/* Class, state and numbers; those that are times within 1 ns. */
static bool same_fields(const struct item *row, const struct item *event)
{
    const uint32_t times = 1u << JX_PERIOD | 1u << JX_TIME_SPAN | 1u << JX_ALLOC_TIME;

    if (row->class != event->class || row->has != event->has ||
        (row->state != event->state && event->state != 0))
        return false;
    for (unsigned i = 0; i < JX_NUMBERS; i++) {
        int64_t off = row->number[i] - event->number[i];
        int64_t allowed = event->loose && i == JX_WEIGHT ? 1 + event->number[i] / 10000 : -1;
        if (off <= allowed && -off <= allowed)
            continue;
        if ((times >> i & 1) != 0 ? !near(row->number[i], event->number[i])
                                  : row->number[i] != event->number[i])
            return false;
    }
    return true;
}

static bool same(const struct item *row, const struct item *event)
{
    if (row->thread != event->thread || row->stack != event->stack ||
        !near(row->start, event->start))
        return false;
    if (event->has_dur && (!row->has_dur || !near(row->dur, event->dur)))
        return false;
    return same_fields(row, event);
}

static bool same_value(const struct item *row, const struct item *event)
{
    bool thread = row->thread == event->thread;

    if (row->counter)
        thread |= row->thread == 0 || event->thread == 0;
    else if (row->stack == 0)
        thread |= row->thread == 0;
    if (!thread || row->stack != event->stack || !near(row->start, event->start) ||
        row->count != event->count)
        return false;
    if (event->has_dur && row->has_dur && !near(row->dur, event->dur))
        return false;
    return !event->has_value || near((int64_t)row->value, (int64_t)event->value);
}

static void show(const char *side, const struct item *i)
{
    printf("# %s %s start %" PRId64 " dur %" PRId64 " value %" PRIu64 " count %" PRIu64
           " thread %" PRIx64 " stack %" PRIx64 " of %zu class %" PRIx64 " state %" PRIx64,
           side, i->type, i->start, i->dur, i->value, i->count, i->thread, i->stack, i->from,
           i->class, i->state);
    for (unsigned k = 0; k < JX_NUMBERS; k++) {
        if ((i->has >> k & 1) != 0)
            printf(" %u:%" PRId64, k, i->number[k]);
    }
    printf("\n");
}

/* Types that the store has rows of; not jdk.G1HeapRegionInformation and TypeChange: their field
 * "start" stands in the values where the time should. */
static bool is_row_type(const struct fm_store *store, const char *type)
{
    return fm_store_event_find(store, type) != FM_NONE &&
           strncmp(type, "jdk.G1HeapRegion", 16) != 0;
}

/* Events of version 0.9 are rows under the names that later versions have for them. */
static const char *row_type(const char *type)
{
    static const char *const old[][2] = {
        {"jvm/vm/prof/execution_sample", "jdk.ExecutionSample"},
        {"jvm/java/object_alloc_in_new_TLAB", "jdk.ObjectAllocationInNewTLAB"},
        {"jvm/java/object_alloc_outside_TLAB", "jdk.ObjectAllocationOutsideTLAB"},
        {"jvm/java/thread_park", "jdk.ThreadPark"},
        {"jvm/java/monitor_enter", "jdk.JavaMonitorEnter"},
        {"jvm/java/monitor_wait", "jdk.JavaMonitorWait"},
        {"jvm/java/thread_sleep", "jdk.ThreadSleep"},
        {"jdk/java/file_read", "jdk.FileRead"},
        {"jdk/java/file_write", "jdk.FileWrite"},
        {"jdk/java/socket_read", "jdk.SocketRead"},
        {"jdk/java/socket_write", "jdk.SocketWrite"},
        {"jvm/java/socket_read", "jdk.SocketRead"},
        {"jdk/java/exception_throw", "jdk.JavaExceptionThrow"},
        {"jdk/java/error_throw", "jdk.JavaErrorThrow"},
        {"jdk/java/statistics/throwables", "jdk.ExceptionStatistics"},
        {"jvm/java/statistics/threads", "jdk.JavaThreadStatistics"},
        {"jvm/java/statistics/class_loading", "jdk.ClassLoadingStatistics"},
        {"jvm/java/statistics/thread_allocation", "jdk.ThreadAllocationStatistics"},
        {"jvm/vm/gc/collector/garbage_collection", "jdk.GarbageCollection"},
        {"jvm/vm/gc/garbage_collection", "jdk.GarbageCollection"},
        {"jvm/vm/gc/phases/pause", "jdk.GCPhasePause"},
        {"jvm/vm/gc/phases/stopped", "jdk.GCPhasePause"},
        {"jvm/vm/gc/phases/concurrent", "jdk.GCPhaseConcurrent"},
        {"jvm/vm/gc/phases_sublevels/level_1/stopped", "jdk.GCPhasePauseLevel1"},
        {"jvm/vm/gc/phases_sublevels/level_2/stopped", "jdk.GCPhasePauseLevel2"},
        {"jvm/vm/compiler/compilation", "jdk.Compilation"},
        {"jvm/vm/compiler/opt_compile", "jdk.Compilation"},
        {"jvm/vm/compiler/jit_compile", "jdk.Compilation"},
        {"jvm/vm/runtime/execute_vm_operation", "jdk.ExecuteVMOperation"},
        {"jvm/os/processor/cpu_load", "jdk.CPULoad"},
        {"jvm/os/cpu_load", "jdk.CPULoad"},
        {"jvm/os/processor/context_switch_rate", "jdk.ThreadContextSwitchRate"},
        {"jvm/os/context_switch_rate", "jdk.ThreadContextSwitchRate"},
        {"jvm/os/memory/physical_memory", "jdk.PhysicalMemory"},
        {"jvm/os/physical_memory", "jdk.PhysicalMemory"},
    };
    const char *path = strncmp(type, "jrockit/", 8) == 0 ? type + 8 : type;

    for (size_t i = 0; i < FM_COUNT(old); i++)
        if (strcmp(path, old[i][0]) == 0)
            return old[i][1];
    return type;
}

static void items_of_values(const struct fm_store *store, struct jx *x, bool all,
                            struct items *items)
{
    char class[8192];

    items->v = calloc(x->events + 1, sizeof *items->v);
    items->n = 0;
    for (size_t i = 0; i < x->events; i++) {
        struct jx_event *e = &x->event[i];
        struct item *it = &items->v[items->n];
        e->type = row_type(e->type);
        if (!is_row_type(store, e->type))
            continue;
        it->type = e->type;
        it->thread = thread_of_values(x, e);
        it->stack = stack_of_values(x, e, !all);
        it->start = e->start;
        it->dur = e->dur;
        /* in ms by its annotation; the values take it for ticks */
        it->has_dur = e->has_dur && strcmp(e->type, "datadog.WallClockSamplingEpoch") != 0;
        it->has_value = !all && value_of(e, &it->value);
        it->value = it->has_value ? it->value : 0;
        it->count = (e->has & 1u << JX_SAMPLES) != 0 ? (uint64_t)e->number[JX_SAMPLES] : 1;
        if (!all && (e->has & 1u << JX_ALLOC_TIME) != 0)
            it->start = e->number[JX_ALLOC_TIME];
        it->has = e->has;
        if (strncmp(e->type, "profiler.", 9) != 0)
            it->has &= ~(1u << JX_ADDRESS);
        for (unsigned k = 0; k < JX_NUMBERS; k++)
            it->number[k] = (it->has >> k & 1) != 0 ? e->number[k] : 0;
        if (e->class != NULL && !(x->old && strncmp(e->type, "jdk.", 4) != 0)) {
            fold_class(class, sizeof class, e->class);
            it->class = hash_text(SEED, class);
        }
        it->state = e->state != NULL ? hash_text(SEED, e->state) : 0;
        it->loose = strncmp(e->type, "datadog.", 8) == 0;
        it->from = i;
        items->n++;
    }
}

/* The columns of what is compared, by enum jx_number; FM_NONE: no such label. */
struct labels {
    fm_column number[JX_NUMBERS], class, state;
};

static void find_labels(const struct fm_store *store, struct labels *l)
{
    static const char *const name[JX_NUMBERS] = {
        "samples", "tlabSize", "allocationSize", "weight_", "size", "address", "samplingPeriod",
        "timeSpan", "allocationTime", "objectSize", "bytesRead", "bytesWritten",
    };

    for (unsigned i = 0; i < JX_NUMBERS; i++)
        l->number[i] = fm_store_column_find(store, name[i]);
    l->class = fm_store_column_find(store, "class");
    l->state = fm_store_column_find(store, "state");
}

static uint64_t text_cell(const struct fm_store *store, fm_column col, uint64_t row)
{
    uint64_t v;

    if (col == FM_NONE || !fm_store_cell(store, col, row, &v))
        return 0;
    return hash_text(SEED, fm_store_str(store, (fm_str)v, NULL));
}

static void add_labels(const struct fm_store *store, const struct labels *l, uint64_t row,
                       struct item *it)
{
    uint64_t v;

    for (unsigned i = 0; i < JX_NUMBERS; i++) {
        if (l->number[i] != FM_NONE && fm_store_cell(store, l->number[i], row, &v)) {
            it->has |= 1u << i;
            it->number[i] = (int64_t)v;
        }
    }
    it->class = text_cell(store, l->class, row);
    it->state = text_cell(store, l->state, row);
}

static void items_of_store(struct fm_store *store, bool all, struct items *items)
{
    struct labels labels;
    struct store_rows rows;
    struct store_row row;
    uint64_t *hash = calloc(fm_store_tree_nodes(store) + 1, sizeof *hash);
    bool *known = calloc(fm_store_tree_nodes(store) + 1, 1);

    items->v = calloc(fm_store_rows(store) + 1, sizeof *items->v);
    items->n = 0;
    if (!store_rows_init(&rows, store) || items->v == NULL || hash == NULL || known == NULL)
        exit(99);
    find_labels(store, &labels);
    while (store_rows_next(&rows, &row)) {
        struct item *it = &items->v[items->n++];
        it->type = fm_store_str(store, row.event->name, NULL);
        it->thread = thread_of_store(store, row.thread);
        if (!known[row.node])
            hash[row.node] = stack_of_store(store, row.node);
        known[row.node] = true;
        it->stack = hash[row.node];
        it->start = row.timed ? row.ts : 0;
        it->dur = row.dur;
        it->has_dur = row.spanned;
        it->value = all ? 0 : row.weight;
        it->count = row.count;
        it->from = row.node;
        it->counter = row.event->kind == FM_KIND_COUNTER;
        if (all)
            add_labels(store, &labels, items->n - 1, it);
    }
    store_rows_release(&rows);
    free(hash);
    free(known);
}

/* Leaves out rows of types that the values only count. */
static void drop_uncompared(const struct fm_store *store, const struct jx *x,
                            struct items *ours)
{
    size_t to = 0;
    const char *last = "";
    bool told = false;

    for (size_t i = 0; i < ours->n; i++) {
        if (strcmp(ours->v[i].type, last) != 0) {
            told = false;
            last = ours->v[i].type;
            for (size_t k = 0; !told && k < x->events; k++)
                told = strcmp(x->event[k].type, last) == 0 && is_row_type(store, last);
        }
        if (told)
            ours->v[to++] = ours->v[i];
    }
    ours->n = to;
}

/*
 * What is left of both sides, once more without thread and stack where the values have none: they
 * are of a pool of the chunk before, in recordings of several chunks. Returns how many differ.
 */
static size_t match_found(const struct jx *x, const struct items *ours, const struct items *right,
                          bool all)
{
    size_t wrong = 0;

    for (size_t k = 0; k < right->n; k++) {
        struct item *event = &right->v[k];
        bool found = false;
        for (size_t i = 0; !found && i < ours->n; i++) {
            struct item row = ours->v[i];
            if (row.type == NULL || strcmp(row.type, event->type) != 0)
                continue;
            row.thread = x->chunks > 1 && event->thread == 0 ? 0 : row.thread;
            row.stack = x->chunks > 1 && event->stack == 0 ? 0 : row.stack;
            found = all ? same(&row, event) : same_value(&row, event);
            if (found)
                ours->v[i].type = NULL;
        }
        if (!found && wrong++ < SHOWN)
            show("right", event);
    }
    for (size_t i = 0; i < ours->n; i++) {
        if (ours->v[i].type != NULL && wrong++ < 2 * SHOWN)
            show("ours ", &ours->v[i]);
    }
    return wrong;
}

/* `all`: rows are whole events, of the mapping made for that; else what the shipped one makes. */
static void check_rows(struct fm_store *store, struct jx *x, bool all, const char *name)
{
    struct items ours, right, our_rest = {0}, right_rest = {0};
    size_t i = 0, k = 0, wrong;

    items_of_store(store, all, &ours);
    items_of_values(store, x, all, &right);
    qsort(ours.v, ours.n, sizeof *ours.v, by_item);
    qsort(right.v, right.n, sizeof *right.v, by_item);
    drop_uncompared(store, x, &ours);
    our_rest.v = calloc(ours.n + 1, sizeof *ours.v);
    right_rest.v = calloc(right.n + 1, sizeof *right.v);
    while (i < ours.n || k < right.n) {
        bool both = i < ours.n && k < right.n && strcmp(ours.v[i].type, right.v[k].type) == 0;
        if (both && (all ? same(&ours.v[i], &right.v[k]) : same_value(&ours.v[i], &right.v[k]))) {
            i++;
            k++;
        } else if (k == right.n || (i < ours.n && by_item(&ours.v[i], &right.v[k]) < 0)) {
            our_rest.v[our_rest.n++] = ours.v[i++];
        } else {
            right_rest.v[right_rest.n++] = right.v[k++];
        }
    }
    wrong = match_found(x, &our_rest, &right_rest, all);
    if (wrong > 0)
        printf("# %zu differences between %zu rows and %zu events\n", wrong, ours.n, right.n);
    result(wrong == 0, all ? "events" : "rows", name);
    free(ours.v);
    free(right.v);
    free(our_rest.v);
    free(right_rest.v);
}

/* -------------------------------------------------------------------- folded */

struct bytes {
    char *s;
    size_t n, cap;
};

static int collect(void *user, const void *data, size_t n)
{
    struct bytes *b = user;

    if (b->cap - b->n < n) {
        b->cap = 2 * (b->n + n);
        b->s = realloc(b->s, b->cap);
        if (b->s == NULL)
            exit(99);
    }
    memcpy(b->s + b->n, data, n);
    b->n += n;
    return 0;
}

/* ns were rounded event by event: each may be off by one. */
static bool equal(const struct fold_line *a, const struct fold_line *b)
{
    uint64_t off = a->n > b->n ? a->n - b->n : b->n - a->n;

    return off == 0 || (a->n > 1000 && off <= FM_MAX(a->samples, b->samples));
}

static unsigned compare(const struct fold *ours, const struct fold *right, const char *label)
{
    size_t i = 0, k = 0;
    unsigned wrong = 0;

    while (i < ours->lines || k < right->lines) {
        int c = i == ours->lines ? 1
                : k == right->lines ? -1
                                    : strcmp(ours->line[i].text, right->line[k].text);
        if (c == 0 && equal(&ours->line[i], &right->line[k])) {
            i++;
            k++;
            continue;
        }
        if (wrong++ < SHOWN && c <= 0)
            printf("# %s ours  %s %" PRIu64 "\n", label, ours->line[i].text, ours->line[i].n);
        if (wrong <= SHOWN && c >= 0)
            printf("# %s right %s %" PRIu64 "\n", label, right->line[k].text, right->line[k].n);
        i += c <= 0;
        k += c >= 0;
    }
    if (wrong > 0)
        printf("# %s: %u lines differ\n", label, wrong);
    return wrong;
}

static bool has_metric(const struct fm_store *store, const char *metric)
{
    size_t n;
    const struct fm_derived_event *derived = fm_store_derived_events(store, &n);

    for (size_t i = 0; i < n; i++) {
        if (strcmp(fm_store_str(store, derived[i].name, NULL), metric) == 0)
            return true;
    }
    for (size_t i = 0; i < fm_store_events(store); i++) {
        if (strcmp(fm_store_str(store, fm_store_event_row(store, i)->metric, NULL), metric) == 0)
            return true;
    }
    return false;
}

/* One event into fold; false when that fails. */
static bool export_event(struct fm_ctx *ctx, struct fm_store *store, const char *event,
                         const struct fold_how *how, struct fold *fold)
{
    struct fm_select_options select = FM_INIT(select);
    struct fm_export_options options = FM_INIT(options);
    struct fm_error err = {0};
    struct bytes out = {0};
    struct fm_sink sink = {collect, &out};
    bool ok;

    if (fm_store_event_find(store, event) == FM_NONE && !has_metric(store, event))
        return true;
    select.event = event;
    select.weight = how->total ? "value" : "samples";
    select.prepend = how->threads ? "thread" : "none";
    options.annotate = true;
    options.dot = how->dot;
    options.simple = how->simple;
    options.norm = how->norm;
    options.lines = how->lines;
    options.names = how->bci ? "foldmill,bci" : how->jfrconv ? "jfrconv" : NULL;
    ok = fm_export(ctx, store, "folded", &select, &options, &sink, &err) == FM_OK;
    if (!ok)
        printf("# folded: %s\n", err.message);
    ok = ok && fold_read(fold, out.s, out.n);
    free(out.s);
    return ok;
}

static bool export(struct fm_ctx *ctx, struct fm_store *store, const struct fold_how *how,
                   struct fold *fold)
{
    bool ok;

    if (strcmp(how->mode, "exec") == 0)
        ok = export_event(ctx, store, "execution", how, fold) &&
             export_event(ctx, store, "native", how, fold);
    else
        ok = export_event(ctx, store, how->mode, how, fold);
    for (size_t i = 0; i < fold->lines; i++) { /* the values do not tell the two apart */
        char *at = strstr(fold->line[i].text, "[unknown stack]");
        if (at != NULL) {
            memcpy(at, "[no stack]", 10);
            memmove(at + 10, at + 15, strlen(at + 15) + 1);
        }
    }
    fold_merge(fold);
    return ok;
}

/*
 * Stacks that are in an earlier chunk's pool alone: the values have none for them, the converter
 * keeps pools over chunks and finds them, foldmill when the chunks are parts of one recording. True
 * when `with` differs from `without` by nothing but more of some lines, and all that is more is as
 * much as the events without a stack.
 */
static bool found_later(const struct fold *without, const struct fold *with, const struct jx *x,
                        const struct fold_how *how)
{
    uint64_t missing = fold_stackless(x, how), extra = 0;
    size_t i = 0, k = 0;

    if (missing == 0 || x->chunks < 2)
        return false;
    while (i < without->lines || k < with->lines) {
        const struct fold_line *a = &without->line[i], *b = &with->line[k];
        int c = i == without->lines ? 1 : k == with->lines ? -1 : strcmp(a->text, b->text);
        bool stackless = c <= 0 && strstr(a->text, "[no stack]") != NULL;
        if (!stackless && (c < 0 || (c == 0 && a->n > b->n)))
            return false;
        if (!stackless)
            extra += b->n - (c == 0 ? a->n : 0);
        i += c <= 0;
        k += c >= 0;
    }
    return extra == missing;
}

/* "dir/NAME.MODE.collapsed.gz" -> MODE */
static bool mode_of(const char *path, struct fold_how *how)
{
    const char *end = strstr(path, ".collapsed"), *start = end;

    while (start != NULL && start > path && start[-1] != '.' && start[-1] != '/')
        start--;
    return end != NULL && fold_parse(how, start, (size_t)(end - start));
}

static void check_folded(struct fm_ctx *ctx, struct fm_store *store, const struct jx *x,
                         const char *path)
{
    struct fold_how how;
    struct fold file = {0}, model = {0}, right = {0}, ours = {0};
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    char *data;
    size_t n;

    if (!mode_of(path, &how) || how.classify)
        return;
    if (fm_input_slurp(ctx, path, (size_t)1 << 30, &data, &n, NULL) != FM_OK ||
        !fold_read(&file, data, n)) {
        result(false, "read", name);
        return;
    }
    fm_mem_free(&ctx->mem, data, n + 1);
    how.converter = how.jfrconv = true;
    fold_from(&model, x, &how);
    fold_merge(&file);
    if (how.threads) {
        fold_drop_tids(&file, x);
        fold_drop_tids(&model, x);
    }
    result(found_later(&model, &file, x, &how) || compare(&model, &file, "model") == 0,
           "converter", name);
    how.converter = false;
    for (int style = 0; style < 2 && store != NULL; style++) {
        how.jfrconv = style == 1;
        if (how.jfrconv && !how.simple && !how.norm)
            continue;
        fold_free(&right);
        fold_free(&ours);
        fold_from(&right, x, &how);
        result(export(ctx, store, &how, &ours) &&
                   (found_later(&right, &ours, x, &how) || compare(&ours, &right, "folded") == 0),
               how.jfrconv ? "folded, names jfrconv," : "folded", name);
    }
    fold_free(&file);
    fold_free(&model);
    fold_free(&right);
    fold_free(&ours);
}

/* What each event holds, by the mapping of $JFR_EVENTS. */
static void check_events(const char *folder, const char *path, struct jx *x, const char *name)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_store *store = NULL;
    struct fm_error err = {0};

    if (ctx == NULL || fm_ctx_add_data_dir(ctx, folder) != FM_OK)
        exit(99);
    options.keep = "all";
    (void)fm_import(ctx, &path, 1, &options, &store, &err);
    if (store == NULL)
        printf("# %s\n", err.message);
    result(store != NULL, "import", name);
    if (store != NULL) {
        check_counts(store, x, name);
        check_rows(store, x, true, name);
    }
    fm_store_free(store);
    fm_ctx_free(ctx);
}

int main(int argc, char **argv)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_store *store = NULL;
    struct fm_error err = {0};
    struct jx x;
    const char *name, *folder = getenv("JFR_EVENTS");
    bool model = argc > 1 && strcmp(argv[1], "--model") == 0;

    if (argc < 3 || ctx == NULL || !jx_load(&x, ctx, argv[2])) {
        fprintf(stderr, "usage: jfr-values RECORDING|--model EXPECTED.json.gz [COLLAPSED...]\n");
        return 2;
    }
    name = strrchr(argv[1], '/') != NULL ? strrchr(argv[1], '/') + 1 : argv[1];
    if (!model && folder != NULL)
        check_events(folder, argv[1], &x, name);
    if (!model) {
        (void)fm_import(ctx, (const char *const *)&argv[1], 1, &options, &store, &err);
        if (store != NULL)
            check_rows(store, &x, false, name);
    }
    for (int i = 3; i < argc && (model || store != NULL); i++)
        check_folded(ctx, store, &x, argv[i]);
    printf("1..%u\n", tests);
    fm_store_free(store);
    jx_free(&x);
    fm_ctx_free(ctx);
    return !all_ok;
}
