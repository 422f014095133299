/*
 * row.c - an event of a trace.dat to a row, through formats/trace-dat.yaml.
 *
 * Each event is a class of its own, "system:event", with the fields below and behind them those of
 * its payload ("args.NAME"). The stack is the chains that followed the event, user part at the
 * root; of the function tracer's events, which have none, the function and its caller.
 *
 * Addresses of the kernel are named out of the file's own list of symbols, callers at address - 1;
 * of user code the file tells nothing but the addresses.
 *
 * The scheduler's events of one buffer become time off the CPU: of several buffers the first that
 * has some, because the others tell the same again.
 */
#include "import/ftrace/ftrace.h"

#define KERNEL_PATH "[kernel.kallsyms]"
#define UNKNOWN_PATH "[unknown]"

enum {
    F_TIME, F_STACK, F_THREAD, F_COMM, F_CPU, F_BUFFER, F_FLAGS, F_PREEMPT, FIELDS,
    FIELDS_MAX = FIELDS + FM_TRACE_FIELDS
};

static const struct fm_field field[FIELDS] = {
    [F_TIME] = {"time", FM_TYPE_TIME, NULL},
    [F_STACK] = {"stack", FM_TYPE_STACK, NULL},
    [F_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [F_COMM] = {"comm", FM_TYPE_STRING, NULL},
    [F_CPU] = {"cpu", FM_TYPE_I64, NULL},
    [F_BUFFER] = {"buffer", FM_TYPE_STRING, NULL},
    [F_FLAGS] = {"flags", FM_TYPE_U64, NULL},
    [F_PREEMPT] = {"preempt", FM_TYPE_U64, NULL},
};

_Static_assert(FIELDS_MAX <= 64, "the fields of a class have a bit each in one word");

struct row {
    uint64_t value[FIELDS_MAX], present;
};

static void set(struct row *r, unsigned i, uint64_t v)
{
    r->value[i] = v;
    r->present |= UINT64_C(1) << i;
}

/* ------------------------------------------------------------------ classes */

static bool declare(struct fm_ftrace *f, struct fm_ftrace_event *event)
{
    struct fm_field all[FIELDS_MAX];
    uint64_t wanted[1] = {0};
    size_t n = FIELDS;
    if (!fm_trace_parse(&f->arena, event->system, event->text, event->text_n, f->long_size, f->big,
                        &event->trace))
        return fm_ftrace_fail(f, FM_NOMEM);
    memcpy(all, field, sizeof field);
    for (size_t i = 0; event->trace != NULL && i < event->trace->fields; i++)
        all[n++] = (struct fm_field){event->trace->field[i].name, event->trace->field[i].type,
                                     NULL};
    event->class_id = fm_class_declare(f->binding, event->name, all, n, 0, wanted);
    if (event->class_id < FM_CLASS_UNMAPPED)
        return fm_ftrace_fail(f, FM_NOMEM);
    fm_sched_event(&f->sched, event->name, event->trace, &event->sched);
    event->wanted = wanted[0];
    event->declared = true;
    return true;
}

/* ------------------------------------------------------------------ threads */

static bool set_thread(struct fm_ftrace *f, const struct fm_ftrace_record *record, struct row *r)
{
    bool fresh;
    uint64_t *place = fm_map_put(&f->thread, (uint32_t)record->pid, &fresh);
    const uint64_t *comm = fm_map_find(&f->comm, (uint32_t)record->pid);
    const uint64_t *tgid = fm_map_find(&f->tgid, (uint32_t)record->pid);
    fm_str name = comm != NULL ? (fm_str)*comm : 0;
    if (place == NULL)
        return fm_ftrace_fail(f, FM_NOMEM);
    if (record->pid == 0 && name == 0)
        name = fm_builder_str(f->builder, "<idle>", 6);
    if (fresh) {
        int64_t pid = tgid != NULL      ? (int64_t)*tgid - 1
                      : record->pid == 0 ? 0
                                         : record->tgid;
        *place = fm_builder_thread(f->builder, pid, record->pid, 0);
        if (name != 0)
            fm_builder_thread_name(f->builder, (fm_thread)*place, INT64_MIN, name);
    }
    set(r, F_THREAD, *place);
    if (name != 0)
        set(r, F_COMM, name);
    return true;
}

/* ------------------------------------------------------------------ stacks */

enum part { KERNEL_LEAF, KERNEL_CALLER, USER };

static fm_module module_of(struct fm_ftrace *f, bool user)
{
    fm_module *place = user ? &f->unknown : &f->kernel;
    const char *path = user ? UNKNOWN_PATH : KERNEL_PATH;
    if (*place == FM_NONE) {
        struct fm_module_row row = {.path = fm_builder_str(f->builder, path, strlen(path)),
                                    .kind = user ? FM_MODULE_UNKNOWN : FM_MODULE_KERNEL,
                                    .pid = -1};
        *place = fm_builder_module(f->builder, &row);
    }
    return *place;
}

static fm_frame frame_of(struct fm_ftrace *f, uint64_t address, enum part part)
{
    bool fresh;
    uint64_t *place = fm_map_put(&f->frame[part], address, &fresh);
    if (place == NULL) {
        (void)fm_ftrace_fail(f, FM_NOMEM);
        return FM_NONE;
    }
    if (!fresh)
        return (fm_frame)*place;
    struct fm_frame_row row = {.module = module_of(f, part == USER), .address = address,
                               .kind = part == USER ? FM_FRAME_USER : FM_FRAME_KERNEL,
                               .caller = part != KERNEL_LEAF};
    const struct fm_ftrace_symbol *symbol = NULL;
    if (part != USER)
        symbol = fm_ftrace_symbol_at(f, address - (row.caller && !f->exact ? 1 : 0));
    if (symbol != NULL)
        row.function = fm_builder_str(f->builder, symbol->name, symbol->n);
    *place = fm_builder_frame(f->builder, &row);
    return (fm_frame)*place;
}

/* Puts the chain's frames behind the n that there are, root first. */
static bool push(struct fm_ftrace *f, const struct fm_ftrace_chain *chain, enum part part,
                 size_t *n)
{
    if (!fm_grow(&f->ctx->mem, (void **)&f->frames, &f->frame_cap, *n + chain->n + 1,
                 sizeof *f->frames))
        return fm_ftrace_fail(f, FM_NOMEM);
    for (size_t i = chain->n; i > 0; i--) {
        fm_frame frame = frame_of(f, chain->word[i - 1], part);
        if (f->status != FM_OK)
            return false;
        f->frames[(*n)++] = frame;
    }
    return true;
}

/* The function tracer: "ip" was called from "parent_ip". */
static bool push_function(struct fm_ftrace *f, const struct fm_ftrace_event *event,
                          const struct fm_ftrace_record *record, size_t *n)
{
    const struct fm_trace_field *ip, *parent;
    uint64_t at, from;
    if (strcmp(event->name, "ftrace:function") != 0)
        return true;
    ip = fm_trace_find(event->trace, "ip");
    parent = fm_trace_find(event->trace, "parent_ip");
    if (ip == NULL || ip->type == FM_TYPE_STRING || parent == NULL ||
        parent->type == FM_TYPE_STRING ||
        !fm_trace_value(f->builder, ip, record->data, record->n, f->swap, &at) ||
        !fm_trace_value(f->builder, parent, record->data, record->n, f->swap, &from))
        return true;
    struct fm_ftrace_chain caller = {.word = &from, .n = 1}, leaf = {.word = &at, .n = 1};
    return push(f, &caller, KERNEL_CALLER, n) && push(f, &leaf, KERNEL_LEAF, n);
}

static bool set_stack(struct fm_ftrace *f, const struct fm_ftrace_event *event,
                      const struct fm_ftrace_record *record, struct row *r)
{
    size_t n = 0;
    if (!push(f, &record->user, USER, &n) || !push(f, &record->kernel, KERNEL_CALLER, &n))
        return false;
    if (n == 0 && event->trace != NULL && !push_function(f, event, record, &n))
        return false;
    if (n > 0)
        set(r, F_STACK, fm_builder_stack(f->builder, f->frames, n));
    return true;
}

/* ------------------------------------------------------------------ rows */

static void read_payload(struct fm_ftrace *f, const struct fm_ftrace_event *event,
                         const struct fm_ftrace_record *record, struct row *r)
{
    for (uint64_t left = event->wanted >> FIELDS; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        uint64_t value;
        if (fm_trace_value(f->builder, &event->trace->field[i], record->data, record->n, f->swap,
                           &value))
            set(r, FIELDS + i, value);
        else
            fm_ftrace_note(f, FM_DIAG_TRACE_PAYLOAD, record->offset, 1);
    }
}

static uint64_t known(const struct row *r, unsigned i)
{
    return (r->present >> i & 1) != 0 ? r->value[i] : UINT64_MAX;
}

static bool add_moment(struct fm_ftrace *f, const struct fm_ftrace_stream *s,
                       const struct fm_ftrace_event *event, const struct row *r, uint64_t row)
{
    const struct fm_ftrace_record *record = &s->record;
    if (event->sched.role == FM_SCHED_NONE)
        return true;
    if (f->sched_buffer == FM_NONE)
        f->sched_buffer = s->buffer;
    if (f->sched_buffer != s->buffer)
        return true;
    const struct fm_sched_moment m = {
        .time = known(r, F_TIME), .tid = record->pid, .thread = known(r, F_THREAD),
        .comm = known(r, F_COMM), .stack = known(r, F_STACK), .cpu = s->cpu, .row = row,
        .offset = record->offset, .raw = record->data, .raw_n = record->n};
    return fm_sched_sample(&f->sched, &event->sched, &m) || fm_ftrace_fail(f, FM_NOMEM);
}

/* On the file's clock: ticks to ns, and what the user had added while recording. */
static bool time_of(const struct fm_ftrace *f, uint64_t time, uint64_t *ns)
{
    if (f->mult != 0)
        time = (uint64_t)((fm_u128)time * f->mult >> f->mult_shift) + f->mult_offset;
    *ns = time + (uint64_t)f->shift;
    return *ns <= INT64_MAX;
}

bool fm_ftrace_record(struct fm_ftrace *f, const struct fm_ftrace_stream *s)
{
    const struct fm_ftrace_record *record = &s->record;
    const uint64_t *place = fm_map_find(&f->by_id, record->id);
    struct row r = {.present = 0};
    uint64_t ns;
    if (place == NULL || *place == 0) {
        f->dropped++;
        fm_account_drop(f->builder, FM_DIAG_TRACE_ID, record->offset, 1);
        return true;
    }
    struct fm_ftrace_event *event = &f->event[*place - 1];
    struct fm_ftrace_buffer *buffer = &f->buffer[s->buffer];
    if (!event->declared && !declare(f, event))
        return false;
    if (event->class_id == FM_CLASS_UNMAPPED) {
        fm_event_unmapped(f->binding, event->name, record->offset);
        return true;
    }
    if (time_of(f, record->time, &ns))
        set(&r, F_TIME, ns);
    set(&r, F_CPU, s->cpu);
    set(&r, F_FLAGS, record->flags);
    set(&r, F_PREEMPT, record->preempt);
    if (buffer->name[0] != '\0') {
        if (buffer->label == 0)
            buffer->label = fm_builder_str(f->builder, buffer->name, strlen(buffer->name));
        set(&r, F_BUFFER, buffer->label);
    }
    if (!set_thread(f, record, &r) || !set_stack(f, event, record, &r))
        return false;
    if (event->wanted >> FIELDS != 0)
        read_payload(f, event, record, &r);
    fm_binding_at(f->binding, record->offset);
    uint64_t row = fm_event(f->binding, event->class_id, r.value, &r.present);
    if (row == UINT64_MAX)
        return fm_builder_status(f->builder) == FM_OK || fm_ftrace_fail(f, FM_NOMEM);
    return add_moment(f, s, event, &r, row);
}

void fm_ftrace_rows_finish(struct fm_ftrace *f)
{
    fm_sched_finish(&f->sched);
    fm_account_in(f->builder, f->dropped);
    for (size_t i = 0; i < f->events; i++) {
        const struct fm_ftrace_event *event = &f->event[i];
        if (event->seen > 0)
            fm_account_record(f->builder, FM_ACCOUNT_RECORDS,
                              fm_builder_str(f->builder, event->name, strlen(event->name)),
                              event->first, event->seen);
    }
}
