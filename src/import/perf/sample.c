/*
 * sample.c - a SAMPLE record to a row, through formats/perf.yaml.
 *
 * Each event is a class of its own, named as perf prints the event, with the fields below. The
 * mapping says which are wanted; the rest is not decoded. The body, in order (a field is there when
 * its bit of sample_type is set):
 *
 *     IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD      8 bytes each (event.c)
 *     READ           not GROUP: u64 value, [enabled], [running], [id], [lost]
 *                    GROUP: u64 nr, [enabled], [running], nr x { u64 value, [id], [lost] }
 *     CALLCHAIN      u64 nr, u64 ips[nr]
 *     RAW            u32 size, bytes
 *     BRANCH_STACK   u64 nr, [u64 hw_idx], nr x { u64 from, to, flags }, [nr x u64 counters]
 *     REGS_USER      u64 abi; abi != 0: a u64 for each bit of sample_regs_user; abi & 4: SIMD data
 *     STACK_USER     u64 size; size != 0: bytes, u64 dyn_size
 *     WEIGHT(_STRUCT) u64   DATA_SRC u64   TRANSACTION u64
 *     REGS_INTR      as REGS_USER
 *     PHYS_ADDR u64  CGROUP u64  DATA_PAGE_SIZE u64  CODE_PAGE_SIZE u64
 *     AUX            u64 size, bytes
 *
 * A long wait, in RAW of the event offcpu-time:
 *     u32 pid, tid | u64 ns | u64 nr, ips[nr] | u64 cgroup
 *
 * Counter values inside a sample (READ) say how far each member of a group has come since the last
 * sample: one row per member that moved, weighed by the difference, as perf delivers them.
 *
 * The stack: the call chain; for events with branch call stacks its kernel part and the branches;
 * without any the ip alone. When the hardware recorded the exact instruction (misc bit 14), that ip
 * is the leaf in place of where the interrupt found the program.
 */
#include "import/perf/session.h"

enum {
    F_IP, F_TIME, F_STACK, F_THREAD, F_COMM, F_CPU, F_PERIOD, F_ADDR, F_WEIGHT, F_DATA_SRC,
    F_TRANSACTION, F_PHYS_ADDR, F_CGROUP, F_DATA_PAGE_SIZE, F_CODE_PAGE_SIZE, F_ID, F_STREAM_ID,
    F_EXACT_IP, F_STACK_END,
    FIELDS,
    FIELDS_MAX = FIELDS + FM_TRACE_FIELDS  /* those of a tracepoint's payload behind them */
};

static const struct fm_field field[FIELDS] = {
    [F_IP] = {"ip", FM_TYPE_ADDRESS, NULL},
    [F_TIME] = {"time", FM_TYPE_TIME, NULL},
    [F_STACK] = {"stack", FM_TYPE_STACK, NULL},
    [F_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [F_COMM] = {"comm", FM_TYPE_STRING, NULL},
    [F_CPU] = {"cpu", FM_TYPE_I64, NULL},
    [F_PERIOD] = {"period", FM_TYPE_U64, NULL},
    [F_ADDR] = {"addr", FM_TYPE_ADDRESS, NULL},
    [F_WEIGHT] = {"weight", FM_TYPE_U64, NULL},
    [F_DATA_SRC] = {"data_src", FM_TYPE_U64, NULL},
    [F_TRANSACTION] = {"transaction", FM_TYPE_U64, NULL},
    [F_PHYS_ADDR] = {"phys_addr", FM_TYPE_ADDRESS, NULL},
    [F_CGROUP] = {"cgroup", FM_TYPE_STRING, NULL},
    [F_DATA_PAGE_SIZE] = {"data_page_size", FM_TYPE_BYTES, "bytes"},
    [F_CODE_PAGE_SIZE] = {"code_page_size", FM_TYPE_BYTES, "bytes"},
    [F_ID] = {"id", FM_TYPE_U64, NULL},
    [F_STREAM_ID] = {"stream_id", FM_TYPE_U64, NULL},
    [F_EXACT_IP] = {"exact_ip", FM_TYPE_BOOL, NULL},
    [F_STACK_END] = {"stack_end", FM_TYPE_STRING, NULL},
};

#define TAIL_BITS                                                                               \
    (FM_PERF_RAW | FM_PERF_BRANCH_STACK | FM_PERF_REGS_USER | FM_PERF_STACK_USER |              \
     FM_PERF_WEIGHT | FM_PERF_WEIGHT_STRUCT | FM_PERF_DATA_SRC | FM_PERF_TRANSACTION |          \
     FM_PERF_REGS_INTR | FM_PERF_PHYS_ADDR | FM_PERF_CGROUP | FM_PERF_DATA_PAGE_SIZE |          \
     FM_PERF_CODE_PAGE_SIZE | FM_PERF_AUX)
#define RARE_FIELDS (1ull << F_ADDR | 1ull << F_ID | 1ull << F_STREAM_ID | 1ull << F_EXACT_IP)
#define CHAIN_LIMIT 127u       /* sysctl perf_event_max_stack, as it comes */

/* A sample while it is decoded. */
struct sample {
    struct fm_perf_event *event;
    uint16_t misc;
    uint64_t value[FIELDS_MAX], present;
    const unsigned char *chain;     /* NULL: none recorded */
    size_t chain_n;
    const unsigned char *raw;       /* payload of a tracepoint; NULL: none */
    size_t raw_n;
    struct fm_cursor read;          /* READ values */
    bool has_read;
    uint64_t weight;                /* the whole word */
    struct fm_cursor branch;        /* entries of 24 bytes */
    uint64_t branches;
    uint64_t cookie;                /* of a user part that comes later */
    bool deferred;
    struct fm_perf_dump dump;       /* registers and stack of user code */
    uint32_t process;
    int32_t tid;
};

static void set(struct sample *s, unsigned f, uint64_t value)
{
    s->value[f] = value;
    s->present |= 1ull << f;
}

/* -------------------------------------------------------------------- decoding */

static void skip_read(struct sample *s, struct fm_cursor *c)
{
    uint64_t format = s->event->attr.read_format, nr = 1;
    struct fm_cursor start = *c;
    unsigned words = 1u + ((format & FM_PERF_READ_ID) != 0) + ((format & FM_PERF_READ_LOST) != 0);
    size_t each = 8u * words;
    if ((format & FM_PERF_READ_GROUP) != 0)
        nr = fm_cursor_u64(c);
    if ((format & FM_PERF_READ_ENABLED) != 0)
        fm_cursor_skip(c, 8);
    if ((format & FM_PERF_READ_RUNNING) != 0)
        fm_cursor_skip(c, 8);
    if (nr > fm_cursor_left(c) / each) {
        c->bad = true;
        return;
    }
    fm_cursor_skip(c, nr * each);
    s->read = start;
    s->has_read = true;
}

/* Registers into `dump`, when that is not NULL. */
static void read_registers(struct fm_cursor *c, uint64_t mask, struct fm_perf_dump *dump)
{
    uint64_t abi = fm_cursor_u64(c);
    size_t n = 8u * (unsigned)__builtin_popcountll(mask);
    if (abi == 0)
        return;
    const unsigned char *p = fm_cursor_bytes(c, n);
    if (dump != NULL && p != NULL) {
        dump->abi = abi;
        dump->regs = p;
        dump->regs_n = n;
    }
    if ((abi & 4) == 0)
        return;
    uint64_t vectors = fm_cursor_u16(c), words = fm_cursor_u16(c);
    uint64_t predicates = fm_cursor_u16(c), predicate_words = fm_cursor_u16(c);
    fm_cursor_skip(c, 8 * (vectors * words + predicates * predicate_words));
}

static void read_branches(struct sample *s, struct fm_cursor *c)
{
    uint64_t type = s->event->attr.branch_type, nr = fm_cursor_u64(c);
    if ((type & FM_PERF_BRANCH_HW_INDEX) != 0)
        fm_cursor_skip(c, 8);
    if (nr > fm_cursor_left(c) / 24) {
        c->bad = true;
        return;
    }
    s->branch = fm_cursor_sub(c, nr * 24);
    s->branches = nr;
    if ((type & FM_PERF_BRANCH_COUNTERS) != 0) {
        if (nr > fm_cursor_left(c) / 8)
            c->bad = true;
        else
            fm_cursor_skip(c, nr * 8);
    }
}

static void read_stack_dump(struct sample *s, struct fm_cursor *c)
{
    uint64_t size = fm_cursor_u64(c);
    if (size == 0 || size > fm_cursor_left(c)) {
        c->bad |= size != 0;
        return;
    }
    s->dump.stack = fm_cursor_bytes(c, (size_t)size);
    uint64_t real = fm_cursor_u64(c);
    s->dump.n = (size_t)FM_MIN(real, size);
}

static void read_word(struct sample *s, struct fm_cursor *c, uint64_t bit, unsigned f)
{
    if ((s->event->attr.sample_type & bit) != 0)
        set(s, f, fm_cursor_u64(c));
}

/* What follows the call chain. */
static void read_tail(struct fm_perf *perf, struct sample *s, struct fm_cursor *c)
{
    const struct fm_perf_attr *attr = &s->event->attr;
    uint64_t type = attr->sample_type;
    if ((type & FM_PERF_RAW) != 0) {
        uint32_t size = fm_cursor_u32(c);
        s->raw = fm_cursor_bytes(c, size);
        s->raw_n = size;
        /* record -R: events that are no tracepoints have four bytes of nothing */
        if (size > (attr->type == 2 ? 0 : 4) && s->event->trace == NULL && !s->event->direct &&
            fm_cursor_ok(c))
            fm_perf_note(perf, FM_DIAG_PART_RAW, perf->offset, 1);
    }
    if ((type & FM_PERF_BRANCH_STACK) != 0)
        read_branches(s, c);
    if ((type & FM_PERF_REGS_USER) != 0)
        read_registers(c, attr->regs_user, &s->dump);
    if ((type & FM_PERF_STACK_USER) != 0)
        read_stack_dump(s, c);
    if ((type & (FM_PERF_WEIGHT | FM_PERF_WEIGHT_STRUCT)) != 0) {
        s->weight = fm_cursor_u64(c);
        set(s, F_WEIGHT, (type & FM_PERF_WEIGHT) != 0 ? s->weight : (uint32_t)s->weight);
    }
    read_word(s, c, FM_PERF_DATA_SRC, F_DATA_SRC);
    read_word(s, c, FM_PERF_TRANSACTION, F_TRANSACTION);
    if ((type & FM_PERF_REGS_INTR) != 0)
        read_registers(c, attr->regs_intr, NULL);
    read_word(s, c, FM_PERF_PHYS_ADDR, F_PHYS_ADDR);
    if ((type & FM_PERF_CGROUP) != 0) {
        const uint64_t *path = fm_map_find(&perf->machine.cgroup, fm_cursor_u64(c));
        if (path != NULL)
            set(s, F_CGROUP, *path);
    }
    read_word(s, c, FM_PERF_DATA_PAGE_SIZE, F_DATA_PAGE_SIZE);
    read_word(s, c, FM_PERF_CODE_PAGE_SIZE, F_CODE_PAGE_SIZE);
    if ((type & FM_PERF_AUX) != 0) {
        uint64_t size = fm_cursor_u64(c);
        fm_cursor_skip(c, size);
        if (size > 0 && fm_cursor_ok(c))
            fm_perf_note(perf, FM_DIAG_PART_AUX, perf->offset, 1);
    }
}

/* Everything behind the fixed fields; false when it does not parse. */
static bool read_body(struct fm_perf *perf, struct sample *s, const unsigned char *p, size_t n)
{
    const struct fm_perf_event *event = s->event;
    uint64_t type = event->attr.sample_type;
    struct fm_cursor c;
    fm_cursor_init(&c, p + event->body, n - event->body, perf->offset + event->body, perf->swap);
    if ((type & FM_PERF_READ) != 0)
        skip_read(s, &c);
    if ((type & FM_PERF_CALLCHAIN) != 0) {
        uint64_t nr = fm_cursor_u64(&c);
        if (nr > fm_cursor_left(&c) / 8)
            return false;
        s->chain = fm_cursor_bytes(&c, (size_t)nr * 8);
        s->chain_n = (size_t)nr;
    }
    if (FM_UNLIKELY((type & TAIL_BITS) != 0))
        read_tail(perf, s, &c);
    return fm_cursor_ok(&c);
}

/* --------------------------------------------------------------------- the stack */

static bool words_room(struct fm_perf *perf, size_t n)
{
    return fm_grow(&perf->ctx->mem, (void **)&perf->words, &perf->word_cap, n + 1,
                   sizeof *perf->words) ||
           fm_perf_fail(perf, FM_NOMEM);
}

static uint64_t marker_of(uint8_t mode)
{
    static const int16_t marker[] = {
        FM_PERF_CONTEXT_USER, FM_PERF_CONTEXT_KERNEL, FM_PERF_CONTEXT_USER, FM_PERF_CONTEXT_HV,
        FM_PERF_CONTEXT_GUEST_KERNEL, FM_PERF_CONTEXT_GUEST_USER, FM_PERF_CONTEXT_USER,
        FM_PERF_CONTEXT_USER};
    return (uint64_t)(int64_t)marker[mode & 7];
}

/* The exact ip in place of the chain's first address; the chain is in perf->words with one word of
 * room. */
static size_t put_exact_ip(struct fm_perf *perf, const struct sample *s, size_t n)
{
    uint64_t *w = perf->words, marker = marker_of(s->misc & 7), ip = s->value[F_IP];
    size_t at = 0;
    while (at < n && w[at] >= FM_PERF_MARKER)
        at++;
    if (at == n || w[at] == ip)
        return n;
    if (at == 1 && w[0] == marker) {
        w[1] = ip;
        return n;
    }
    /* the interrupt came in another mode than the instruction */
    uint64_t mode = at > 0 ? w[at - 1] : marker_of(FM_PERF_MODE_USER);
    memmove(w + 3, w + at + 1, (n - at - 1) * sizeof *w);
    w[0] = marker;
    w[1] = ip;
    w[2] = mode;
    return n - at + 2;
}

/* Kernel part and user marker of the chain, then the branches: where the newest went, and where
 * each came from. */
static size_t put_branches(struct fm_perf *perf, struct sample *s, size_t n)
{
    uint64_t *w = perf->words;
    size_t at = 0;
    while (at < n && (int64_t)w[at] != FM_PERF_CONTEXT_USER)
        at++;
    if (at == n)
        return n;
    if (!words_room(perf, at + 2 + (size_t)s->branches))
        return 0;
    w = perf->words;
    at++;
    for (uint64_t i = 0; i < s->branches; i++) {
        uint64_t from = fm_cursor_u64(&s->branch), to = fm_cursor_u64(&s->branch);
        fm_cursor_skip(&s->branch, 8);
        if (i == 0)
            w[at++] = to;
        w[at++] = from;
    }
    return at;
}

/* A chain that is full, or that needs work before it can be resolved. */
static fm_node odd_stack(struct fm_perf *perf, struct sample *s)
{
    unsigned tag = FM_PERF_CHAIN;
    size_t n = s->chain_n;
    if (!words_room(perf, n + 3))
        return FM_NONE;
    for (size_t i = 0; i < n; i++)
        perf->words[i] = fm_perf_u64(s->chain + 8 * i, perf->swap);
    if (n >= 2 && (int64_t)perf->words[n - 2] == FM_PERF_CONTEXT_DEFERRED) {
        s->deferred = true;
        s->cookie = perf->words[n - 1];
        n -= 2;
    }
    if (s->branches > 0 && (s->event->attr.branch_type & FM_PERF_BRANCH_CALL_STACK) != 0) {
        tag = FM_PERF_CHAIN_LBR;
        n = put_branches(perf, s, n);
    } else if ((s->misc & FM_PERF_MISC_14) != 0 && !perf->perf_chains &&
               s->event->ip != FM_PERF_NO_FIELD) {
        n = put_exact_ip(perf, s, n);
    } else if (s->dump.abi != 0 &&
               !fm_perf_leaf_caller(perf, s->process, s->event->attr.regs_user, &s->dump, &n)) {
        return FM_NONE;
    }
    s->chain_n = n;
    return fm_perf_stack(perf, s->process, tag, perf->words, n);
}

/* A chain whose user part is unwound from the sample's copy of the stack. */
static fm_node unwound_stack(struct fm_perf *perf, struct sample *s)
{
    static const char *const text[] = {[FM_PERF_STACK_ROOT] = "root", [FM_PERF_STACK_CUT] = "cut",
                                       [FM_PERF_STACK_LOST] = "lost"};
    size_t n = s->chain_n;
    if (!words_room(perf, n))
        return FM_NONE;
    for (size_t i = 0; i < n; i++)
        perf->words[i] = fm_perf_u64(s->chain + 8 * i, perf->swap);
    unsigned end = fm_perf_userstack(perf, s->process, s->event->attr.regs_user,
                                     s->event->attr.max_stack, &s->dump, &n);
    if (end != FM_PERF_STACK_NONE && (s->event->wanted >> F_STACK_END & 1) != 0)
        set(s, F_STACK_END, fm_builder_str(perf->builder, text[end], strlen(text[end])));
    return n > 0 && perf->status == FM_OK
               ? fm_perf_stack(perf, s->process, FM_PERF_CHAIN, perf->words, n) : FM_NONE;
}

static void count_full(struct fm_perf *perf, const struct sample *s)
{
    size_t limit = s->event->attr.max_stack != 0 ? s->event->attr.max_stack : CHAIN_LIMIT;
    size_t addresses = 0;
    for (size_t i = 0; i < s->chain_n; i++)
        addresses += fm_perf_u64(s->chain + 8 * i, perf->swap) < FM_PERF_MARKER;
    if (addresses >= limit)
        fm_perf_note(perf, FM_DIAG_CHAIN_FULL, perf->offset, 1);
}

static fm_node stack_of(struct fm_perf *perf, struct sample *s)
{
    const struct fm_perf_event *event = s->event;
    fm_node stack = FM_NONE;
    if (s->dump.n > 0) {
        stack = unwound_stack(perf, s);
    } else if (s->chain_n > 0) {
        bool odd = perf->swap || s->branches > 0 || s->dump.abi != 0 ||
                   (s->misc & FM_PERF_MISC_14) != 0 ||
                   (s->chain_n >= 2 && fm_load_u64(s->chain + 8 * (s->chain_n - 2)) ==
                                           (uint64_t)(int64_t)FM_PERF_CONTEXT_DEFERRED);
        if (FM_UNLIKELY(s->chain_n > CHAIN_LIMIT ||
                        (event->attr.max_stack != 0 && s->chain_n > event->attr.max_stack)))
            count_full(perf, s);
        stack = FM_UNLIKELY(odd)
                    ? odd_stack(perf, s)
                    : fm_perf_stack(perf, s->process, FM_PERF_CHAIN, s->chain, s->chain_n);
    }
    if (stack == FM_NONE && perf->status == FM_OK && event->ip != FM_PERF_NO_FIELD)
        stack = fm_perf_stack(perf, s->process, FM_PERF_CHAIN_FLAT + (s->misc & 7),
                              &s->value[F_IP], 1);
    return stack;
}

/* ---------------------------------------------------------------------- delivering */

_Static_assert(FIELDS_MAX <= 64, "the fields of a class have a bit each in one word");

static bool declare(struct fm_perf *perf, struct fm_perf_event *event)
{
    struct fm_field all[FIELDS_MAX];
    uint64_t wanted[1] = {0};
    const char *name = fm_perf_event_name(&perf->events, event);
    uint64_t period = event->attr.period;
    size_t n = FIELDS;
    _Static_assert(FM_PERF_EXTRAS <= FM_TRACE_FIELDS, "they stand in the same places");
    if (name == NULL)
        return fm_perf_fail(perf, FM_NOMEM);
    memcpy(all, field, sizeof field);
    for (size_t i = 0; event->trace != NULL && i < event->trace->fields; i++)
        all[n++] = (struct fm_field){event->trace->field[i].name, event->trace->field[i].type,
                                     NULL};
    if (event->trace == NULL) {
        memcpy(all + n, fm_perf_extra_field, sizeof fm_perf_extra_field);
        n += FM_PERF_EXTRAS;
    }
    event->class_id = fm_class_declare(perf->binding, name, all, n, period, wanted);
    if (event->class_id < FM_CLASS_UNMAPPED)
        return fm_perf_fail(perf, FM_NOMEM);
    fm_sched_event(&perf->sched, name, event->trace, &event->sched);
    event->wanted = wanted[0];
    event->direct = event->attr.type == 1 && event->attr.config == 10 &&
                    strncmp(name, "offcpu-time", 11) == 0;
    event->declared = true;
    return true;
}

static uint64_t default_period(struct fm_perf *perf, const struct fm_perf_event *event)
{
    if ((event->attr.flags & FM_PERF_F_FREQ) == 0)
        return event->attr.period;
    fm_perf_note(perf, FM_DIAG_PERIOD_FREQ, perf->offset, 1);
    return 1;
}

/* The fields of its payload that are wanted. */
static void read_payload(struct fm_perf *perf, const struct fm_perf_event *event, struct sample *s)
{
    for (uint64_t left = event->wanted >> FIELDS; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        uint64_t value;
        if (fm_trace_value(perf->builder, &event->trace->field[i], s->raw, s->raw_n, perf->swap,
                           &value))
            set(s, FIELDS + i, value);
        else
            fm_perf_note(perf, FM_DIAG_TRACE_PAYLOAD, perf->offset, 1);
    }
}

static uint64_t known(const struct sample *s, unsigned f)
{
    return (s->present >> f & 1) != 0 ? s->value[f] : UINT64_MAX;
}

static struct fm_perf_extra extra_of(const struct sample *s)
{
    uint64_t type = s->event->attr.sample_type;
    return (struct fm_perf_extra){.data_src = s->value[F_DATA_SRC], .weight = s->weight,
                                  .has_data_src = (type & FM_PERF_DATA_SRC) != 0,
                                  .has_weights = (type & FM_PERF_WEIGHT_STRUCT) != 0,
                                  .branch = s->branch, .branches = s->branches,
                                  .process = s->process, .addr = s->value[F_ADDR],
                                  .has_addr = (s->present >> F_ADDR & 1) != 0};
}

/* What stands behind the fields of every sample. */
static void read_more(struct fm_perf *perf, const struct fm_perf_event *event, struct sample *s)
{
    if (event->trace != NULL) {
        read_payload(perf, event, s);
        return;
    }
    const struct fm_perf_extra extra = extra_of(s);
    s->present &= (1ull << FIELDS) - 1;
    s->present |= fm_perf_extra_read(perf, &extra, event->wanted >> FIELDS, s->value + FIELDS)
                  << FIELDS;
}

/* Branches that are no call stack: rows of their own. */
static bool add_branches(struct fm_perf *perf, const struct sample *s)
{
    const struct fm_perf_extra extra = extra_of(s);
    const struct fm_perf_branch_row row = {.time = known(s, F_TIME),
                                           .thread = known(s, F_THREAD),
                                           .comm = known(s, F_COMM), .cpu = known(s, F_CPU)};
    return fm_perf_branch_rows(perf, &extra, &row);
}

/* Tells the scheduler's part of the importer. */
static bool add_moment(struct fm_perf *perf, const struct fm_perf_event *event,
                       const struct sample *s, uint64_t row)
{
    const struct fm_sched_moment m = {
        .time = known(s, F_TIME), .tid = s->tid, .thread = known(s, F_THREAD),
        .comm = known(s, F_COMM), .stack = known(s, F_STACK), .cpu = known(s, F_CPU), .row = row,
        .offset = perf->offset, .raw = s->raw, .raw_n = s->raw_n};
    return fm_sched_sample(&perf->sched, &event->sched, &m) || fm_perf_fail(perf, FM_NOMEM);
}

/* One row for an event. */
static bool add_row(struct fm_perf *perf, struct fm_perf_event *event, struct sample *s)
{
    uint64_t row;
    if (FM_UNLIKELY(!event->declared) && !declare(perf, event))
        return false;
    event->seen++;
    if (event->class_id == FM_CLASS_UNMAPPED) {
        fm_event_unmapped(perf->binding, fm_perf_event_name(&perf->events, event),
                          perf->offset);
        return true;
    }
    if (FM_UNLIKELY(event->wanted >> FIELDS != 0))
        read_more(perf, event, s);
    row = fm_event(perf->binding, event->class_id, s->value, &s->present);
    if (row == UINT64_MAX)
        return fm_builder_status(perf->builder) == FM_OK || fm_perf_fail(perf, FM_NOMEM);
    if (FM_UNLIKELY(perf->sched.switches) && !add_moment(perf, event, s, row))
        return false;
    return !s->deferred || fm_perf_wait(perf, row, s->tid, s->cookie, s->process, perf->words,
                                        s->chain_n);
}

static uint64_t *last_value(struct fm_perf *perf, const struct sample *s, uint64_t id)
{
    uint64_t key = id;
    if ((s->event->attr.flags & FM_PERF_F_INHERIT) != 0 && s->event->tid != FM_PERF_NO_FIELD)
        key = fm_mix(id, (uint32_t)s->tid);
    return fm_map_put(&perf->events.read, key, NULL);
}

/* One member of a READ: its event and how far it has come. */
static bool add_member(struct fm_perf *perf, struct sample *s, uint64_t id, uint64_t value)
{
    struct fm_perf_event *event = fm_perf_events_find(&perf->events, id);
    if (event == NULL) {
        perf->samples_in++;
        fm_account_drop(perf->builder, FM_DIAG_SAMPLE_ID, perf->offset, 1);
        return true;
    }
    uint64_t *last = last_value(perf, s, id);
    if (last == NULL)
        return fm_perf_fail(perf, FM_NOMEM);
    uint64_t moved = value - *last;
    *last = value;
    if (moved == 0) {
        fm_perf_note(perf, FM_DIAG_READ_STILL, perf->offset, 1);
        return true;
    }
    set(s, F_PERIOD, moved);
    set(s, F_ID, id);
    return add_row(perf, event, s);
}

static bool add_members(struct fm_perf *perf, struct sample *s)
{
    uint64_t format = s->event->attr.read_format, nr = 1;
    struct fm_cursor *c = &s->read;
    bool group = (format & FM_PERF_READ_GROUP) != 0;
    bool enabled = (format & FM_PERF_READ_ENABLED) != 0;
    unsigned times = enabled + ((format & FM_PERF_READ_RUNNING) != 0);
    if (group) {
        nr = fm_cursor_u64(c);
        fm_cursor_skip(c, 8 * times);
    }
    for (uint64_t i = 0; i < nr; i++) {
        uint64_t value = fm_cursor_u64(c);
        if (!group)
            fm_cursor_skip(c, 8 * times);
        uint64_t id = fm_cursor_u64(c);
        if ((format & FM_PERF_READ_LOST) != 0)
            fm_cursor_skip(c, 8);
        if (!add_member(perf, s, id, value))
            return false;
    }
    return true;
}

static bool drop(struct fm_perf *perf, enum fm_diag reason, const char *what, size_t n)
{
    perf->samples_in++;
    fm_account_drop(perf->builder, reason, perf->offset, 1);
    fm_perf_damage(perf, FM_DIAGS, FM_FORMAT, perf->offset, "sample of %zu bytes: %s", n, what);
    return true;
}

/* A field at a fixed place, when the mapping or we want it. */
static inline void read_at(struct sample *s, uint64_t wanted, unsigned f,
                           const unsigned char *p, uint8_t at, bool swap)
{
    if (at != FM_PERF_NO_FIELD && (wanted >> f & 1) != 0)
        set(s, f, fm_perf_u64(p + at, swap));
}

static bool set_thread(struct fm_perf *perf, struct sample *s, int32_t pid, bool known)
{
    struct fm_perf_thread *thread = fm_perf_machine_thread(&perf->machine, pid, s->tid);
    if (thread == NULL || (FM_UNLIKELY(thread->row == FM_NONE || thread->comm == 0) &&
                           !fm_perf_machine_row(&perf->machine, thread)))
        return fm_perf_fail(perf, FM_NOMEM);
    s->process = thread->process;
    if (FM_UNLIKELY((s->present >> F_CGROUP & 1) != 0 && s->value[F_CGROUP] != thread->cgroup))
        fm_perf_machine_contain(&perf->machine, thread, (fm_str)s->value[F_CGROUP]);
    if (known) {
        set(s, F_THREAD, thread->row);
        set(s, F_COMM, thread->comm);
    }
    return true;
}

/* The fields at fixed places, and who it was. */
static bool read_fixed(struct fm_perf *perf, struct sample *s, const unsigned char *p)
{
    const struct fm_perf_event *e = s->event;
    uint64_t wanted = s->has_read ? UINT64_MAX : e->wanted;     /* of members, too */
    bool swap = perf->swap;
    int32_t pid = -1;
    s->tid = -1;
    if ((wanted >> (FIELDS + FM_PERF_X_OBJECT) & 1) != 0)
        wanted |= 1ull << F_ADDR;
    if (e->ip != FM_PERF_NO_FIELD)
        set(s, F_IP, fm_perf_u64(p + e->ip, swap));
    if (e->tid != FM_PERF_NO_FIELD) {
        pid = (int32_t)fm_perf_u32(p + e->tid, swap);
        s->tid = (int32_t)fm_perf_u32(p + e->tid + 4, swap);
    }
    if (e->time != FM_PERF_NO_FIELD) {
        uint64_t time = fm_perf_u64(p + e->time, swap);
        if (time <= INT64_MAX)      /* blocked-time samples have counts there, not times */
            set(s, F_TIME, time);
    }
    if (e->cpu != FM_PERF_NO_FIELD)
        set(s, F_CPU, (uint64_t)(int64_t)(int32_t)fm_perf_u32(p + e->cpu, swap));
    if (e->period != FM_PERF_NO_FIELD)
        set(s, F_PERIOD, fm_perf_u64(p + e->period, swap));
    else if (!s->has_read)
        set(s, F_PERIOD, default_period(perf, e));
    if (FM_UNLIKELY((wanted & RARE_FIELDS) != 0)) {
        read_at(s, wanted, F_ADDR, p, e->addr, swap);
        read_at(s, wanted, F_ID, p, e->id, swap);
        read_at(s, wanted, F_STREAM_ID, p, e->stream, swap);
        set(s, F_EXACT_IP, (s->misc & FM_PERF_MISC_14) != 0);
    }
    return set_thread(perf, s, pid, e->tid != FM_PERF_NO_FIELD);
}

/* What a program in the kernel tells of a long wait, in place of the sample's own fields (perf
 * record --off-cpu since 6.15); see the head of the file. False: it does not parse. */
static bool read_direct(struct fm_perf *perf, struct sample *s, int32_t *pid)
{
    struct fm_cursor c;
    fm_cursor_init(&c, s->raw, s->raw_n, perf->offset, perf->swap);
    *pid = fm_cursor_i32(&c);
    s->tid = fm_cursor_i32(&c);
    uint64_t period = fm_cursor_u64(&c), nr = fm_cursor_u64(&c);
    if (nr > fm_cursor_left(&c) / 8)
        return false;
    s->chain = fm_cursor_bytes(&c, (size_t)nr * 8);
    s->chain_n = (size_t)nr;
    const uint64_t *path = fm_map_find(&perf->machine.cgroup, fm_cursor_u64(&c));
    if (!fm_cursor_ok(&c))
        return false;
    set(s, F_PERIOD, period);
    if (path != NULL)
        set(s, F_CGROUP, *path);
    return true;
}

bool fm_perf_sample(struct fm_perf *perf, const unsigned char *p, size_t n)
{
    struct sample s;
    struct fm_perf_event *event = perf->events.n == 1
                                      ? perf->events.event
                                      : fm_perf_events_of_sample(&perf->events, p, n, perf->swap);
    if (FM_UNLIKELY(event == NULL))
        return drop(perf, FM_DIAG_SAMPLE_ID, "its event id is not known", n);
    if (FM_UNLIKELY(n < event->body))
        return drop(perf, FM_DIAG_SAMPLE_BODY, "too short for its fields", n);
    if (FM_UNLIKELY(!event->declared) && !declare(perf, event))
        return false;
    s.event = event;
    s.misc = (uint16_t)(perf->swap ? p[4] << 8 | p[5] : p[4] | p[5] << 8);
    s.present = 0;
    s.chain = NULL;
    s.chain_n = 0;
    s.raw = NULL;
    s.raw_n = 0;
    s.has_read = s.deferred = false;
    s.dump = (struct fm_perf_dump){0};
    s.branches = 0;
    s.weight = 0;
    if (FM_UNLIKELY(!read_body(perf, &s, p, n)))
        return drop(perf, FM_DIAG_SAMPLE_BODY, "a part of it goes beyond its end", n);
    if (!read_fixed(perf, &s, p))
        return false;
    if (FM_UNLIKELY(event->direct && s.raw_n > 0)) {
        int32_t pid;
        if (!read_direct(perf, &s, &pid))
            return drop(perf, FM_DIAG_SAMPLE_BODY, "its wait goes beyond its end", n);
        if (!set_thread(perf, &s, pid, true))
            return false;
    }
    if ((s.misc & 7) == FM_PERF_MODE_USER)
        fm_perf_machine_runs(&perf->machine, &perf->machine.process[s.process]);
    if (FM_UNLIKELY(perf->machine.process[s.process].jit != 0) &&
        !fm_perf_jit_until(perf, s.process, known(&s, F_TIME)))
        return false;
    fm_node stack = stack_of(perf, &s);
    if (FM_UNLIKELY(perf->status != FM_OK))
        return false;
    if (stack != FM_NONE)
        set(&s, F_STACK, stack);
    if (FM_UNLIKELY(s.branches > 0) &&
        (event->attr.branch_type & FM_PERF_BRANCH_CALL_STACK) == 0 && !add_branches(perf, &s))
        return false;
    if (FM_UNLIKELY(s.has_read)) {
        if ((event->attr.read_format & FM_PERF_READ_ID) != 0)
            return add_members(perf, &s);
        fm_perf_note(perf, FM_DIAG_PART_READ, perf->offset, 1);
        if (event->period == FM_PERF_NO_FIELD)
            set(&s, F_PERIOD, default_period(perf, event));
    }
    return add_row(perf, event, &s);
}

void fm_perf_sample_ahead(const struct fm_perf *perf, const unsigned char *p, size_t n,
                          struct fm_perf_ahead *ahead)
{
    const struct fm_perf_event *event = perf->events.event;
    ahead->chain = NULL;
    if (perf->events.n == 0 || !perf->events.same_layout || perf->swap ||
        fm_load_u32(p) != FM_PERF_R_SAMPLE || event->tid == FM_PERF_NO_FIELD ||
        (event->attr.sample_type & (FM_PERF_CALLCHAIN | FM_PERF_READ)) != FM_PERF_CALLCHAIN ||
        n < event->body + 8u)
        return;
    const unsigned char *chain = p + event->body + 8;
    uint64_t words = fm_load_u64(p + event->body);
    if (words == 0 || words > (n - event->body - 8) / 8)
        return;
    const struct fm_perf_thread *thread =
        fm_perf_machine_recent(&perf->machine, (int32_t)fm_load_u32(p + event->tid),
                               (int32_t)fm_load_u32(p + event->tid + 4));
    if (thread == NULL)
        return;
    ahead->context = perf->machine.process[thread->process].context * 16 + FM_PERF_CHAIN;
    ahead->hash = fm_builder_chain_hash(ahead->context, chain, (size_t)words);
    ahead->chain = chain;
    fm_builder_chain_near(perf->builder, ahead->hash);
}

void fm_perf_samples_finish(struct fm_perf *perf)
{
    fm_perf_waiting_finish(perf);
    fm_sched_finish(&perf->sched);
    fm_account_in(perf->builder, perf->samples_in);
    for (size_t i = 0; i < FM_PERF_R_SLOTS; i++) {
        const char *name = fm_perf_slot_name(i);
        if (perf->count[i] == 0)
            continue;
        fm_account_record(perf->builder, FM_ACCOUNT_RECORDS,
                          fm_builder_str(perf->builder, name, strlen(name)), perf->first[i],
                          perf->count[i]);
    }
}
