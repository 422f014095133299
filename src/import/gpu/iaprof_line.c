/*
 * iaprof_line.c - lines of an iaprof file: a tag and fields parted by one TAB.
 *
 *     fast mode    eustall 0x1b8 8 2 0 0 31 0 250 0 0 0 0       offset, instruction, ten counts
 *     generation 1 eustall 14 4242 15 16 0 0 17 21 20 4 0x0 12  ids, pid, flags, reason, offset, n
 *     generation 2 e 9 1b8 250                                  reason, offset, count
 *     generation 3 e 25 9 1b8 250                               whole stack, reason, offset, count
 *
 * Nothing in a file says which layout it has: each line does, by its tag, the number of its fields
 * and where its "0x" stands. Every line here ends in LF, see iaprof_number.h. Nearly all lines are
 * eustall lines of fast mode: iaprof_fast.c reads those.
 *
 * A line is taken as a whole or not at all.
 */
#include "import/gpu/iaprof_number.h"

#include "util/cursor.h"
#include "util/text.h"

/* ---------------------------------------------------------------- numbers */

/* Seconds with up to nine decimals. */
static bool seconds(const char *s, const char *end, int64_t *ns)
{
    uint64_t whole, part = 0;
    unsigned digits = 0;
    if (!fm_iaprof_decimal(&s, &whole) || whole > INT64_MAX / 1000000000 - 1)
        return false;
    if (*s == '.') {
        for (s++; *s >= '0' && *s <= '9'; s++) {
            if (++digits > 9)
                return false;
            part = part * 10 + (unsigned)(*s - '0');
        }
        if (digits == 0)
            return false;
        for (; digits < 9; digits++)
            part *= 10;
    }
    *ns = (int64_t)(whole * 1000000000 + part);
    return s == end;
}

/* n decimal fields and no more; the tag's TAB is before s. */
static bool decimals(const char *s, const char *end, uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((i > 0 && !fm_iaprof_tab(&s)) || !fm_iaprof_decimal(&s, &out[i]))
            return false;
    return s == end;
}

/* ----------------------------------------------------------------- stalls */

/* A stall of the classic layouts: one reason, by id. */
static void classic_stall(struct fm_iaprof *a, uint64_t insn, uint64_t reason, uint64_t offset,
                          uint64_t count, uint64_t at)
{
    uint64_t node, insn_name;
    fm_str name;
    if (count == 0)
        return;
    name = fm_iaprof_str(a, fm_iaprof_text_of(a, reason, at));
    if (!fm_iaprof_begin(a, insn, at, &node, &insn_name))
        return;
    fm_iaprof_cell(a, count, offset, node, insn_name, name);
    fm_iaprof_end(a);
}

/* A line that only classic layouts have: what they all begin with is known. */
static void classic(struct fm_iaprof *a)
{
    if (!a->classic)
        fm_iaprof_classic_strings(a);
    a->classic = true;
}

static void set_state(struct fm_iaprof *a, uint64_t *field, uint64_t value)
{
    classic(a);
    if (*field == value && a->state.known && !a->state.fast)
        return;
    *field = value;
    a->state.known = true;
    a->state.fast = false;
    a->state.address = 0;
    a->state_changed = true;
}

static bool add_eustall(struct fm_iaprof *a, const char *s, const char *end, uint64_t at)
{
    uint64_t f[10], offset, count;
    for (size_t i = 0; i < FM_COUNT(f); i++)
        if (!fm_iaprof_decimal(&s, &f[i]) || !fm_iaprof_tab(&s))
            return false;
    if (!fm_iaprof_prefixed(&s, &offset) || !fm_iaprof_tab(&s) ||
        !fm_iaprof_decimal(&s, &count) || s != end)
        return false;
    a->layouts |= FM_IAPROF_GEN1;
    set_state(a, &a->state.comm, f[0]);
    set_state(a, &a->state.pid, f[1]);
    set_state(a, &a->state.ustack, f[2]);
    set_state(a, &a->state.kstack, f[3]);
    set_state(a, &a->state.shader, f[4] != 0 ? 3 : f[5] != 0 ? 2 : 0);
    set_state(a, &a->state.file, f[6]);
    set_state(a, &a->state.symbol, f[7]);
    classic_stall(a, f[8], f[9], offset, count, at);
    return true;
}

static bool add_e(struct fm_iaprof *a, const char *s, const char *end, uint64_t at)
{
    uint64_t reason, offset, count;
    const char *p = s, *q;
    size_t tabs = 0;
    for (q = s; q < end; q++)
        tabs += *q == '\t';
    if (tabs == 3 && (!fm_iaprof_decimal(&p, &reason) || !fm_iaprof_tab(&p)))
        return false;
    if ((tabs != 2 && tabs != 3) || !fm_iaprof_decimal(&p, &reason) || !fm_iaprof_tab(&p) ||
        !fm_iaprof_hexadecimal(&p, &offset) || !fm_iaprof_tab(&p) ||
        !fm_iaprof_decimal(&p, &count) || p != end)
        return false;
    classic(a);
    a->layouts |= tabs == 3 ? FM_IAPROF_GEN3 : FM_IAPROF_GEN2;
    classic_stall(a, a->insn, reason, offset, count, at);
    return true;
}

/* ------------------------------------------------------------ other lines */

static bool add_string(struct fm_iaprof *a, const char *s, const char *end, uint64_t at)
{
    uint64_t id;
    if (!fm_iaprof_decimal(&s, &id) || !fm_iaprof_tab(&s) || id == 0 || end - s > UINT32_MAX)
        return false;
    fm_iaprof_define(a, id, s, (size_t)(end - s), at);
    return true;
}

static bool add_interval(struct fm_iaprof *a, const char *s, const char *end, uint64_t at)
{
    uint64_t number;
    int64_t time;
    a->state = (struct fm_iaprof_state){.known = false};
    a->state_changed = true;
    if (!fm_iaprof_decimal(&s, &number) || !fm_iaprof_tab(&s) || !seconds(s, end, &time)) {
        fm_iaprof_no_interval(a);
        return false;
    }
    a->layouts |= FM_IAPROF_FAST;
    fm_iaprof_interval(a, number, true, time, at);
    return true;
}

/* State is carried over intervals in the classic layouts. */
static bool add_start(struct fm_iaprof *a, const char *s, const char *end, uint64_t at)
{
    uint64_t number;
    int64_t time = 0;
    bool timed;
    if (!fm_iaprof_decimal(&s, &number) ||
        (s != end && (!fm_iaprof_tab(&s) || !seconds(s, end, &time)))) {
        fm_iaprof_no_interval(a);
        return false;
    }
    timed = s != end;
    classic(a);
    fm_iaprof_interval(a, number, timed, time, at);
    return true;
}

/* Samples without a known kernel may follow: the interval ends where the next one begins. */
static bool add_end(struct fm_iaprof *a, const char *s, const char *end, uint64_t at)
{
    uint64_t number;
    (void)at;
    if (!decimals(s, end, &number, 1))
        return false;
    classic(a);
    return true;
}

static bool add_kernel(struct fm_iaprof *a, const char *s, const char *end, uint64_t at)
{
    struct fm_iaprof_state state = {.known = true, .fast = true};
    uint64_t id[5];
    (void)at;
    if (!fm_iaprof_prefixed(&s, &state.address) || !fm_iaprof_tab(&s) ||
        !decimals(s, end, id, FM_COUNT(id))) {
        a->state = (struct fm_iaprof_state){.known = false};
        a->state_changed = true;
        return false;
    }
    state.comm = id[0];
    state.pid = id[1];
    state.ustack = id[2];
    state.file = id[3];
    state.symbol = id[4];
    a->state = state;
    a->state_changed = true;
    a->layouts |= FM_IAPROF_FAST;
    return true;
}

static bool add_metric(struct fm_iaprof *a, const char *s, const char *end, uint64_t at)
{
    const char *name = s;
    uint64_t value;
    s = memchr(name, '\t', (size_t)(end - name));
    if (s == NULL || s == name)
        return false;
    size_t n = (size_t)(s - name);
    s++;
    if (!decimals(s, end, &value, 1))
        return false;
    fm_iaprof_mark(a, FM_IAPROF_MARK_METRIC, fm_builder_str(a->builder, name, n), value, at);
    return true;
}

static bool add_frame(struct fm_iaprof *a, const char *s, const char *end, uint64_t at)
{
    if (s != end)
        return false;
    fm_iaprof_mark(a, FM_IAPROF_MARK_FRAME, FM_NONE, 0, at);
    return true;
}

#define STATE(name, field) \
    static bool add_##name(struct fm_iaprof *a, const char *s, const char *end, uint64_t at) \
    { \
        uint64_t value; \
        (void)at; \
        if (!decimals(s, end, &value, 1)) \
            return false; \
        set_state(a, &a->field, value); \
        return true; \
    }

STATE(proc_name, state.comm)
STATE(pid, state.pid)
STATE(ustack, state.ustack)
STATE(kstack, state.kstack)
STATE(shader_type, state.shader)
STATE(gpu_file, state.file)
STATE(gpu_symbol, state.symbol)

static bool add_insn_text(struct fm_iaprof *a, const char *s, const char *end, uint64_t at)
{
    (void)at;
    classic(a);
    return decimals(s, end, &a->insn, 1);
}

/* Tags in order of frequency, eustall lines of fast mode apart. */
static const struct tag {
    const char *name;
    uint8_t n;
    uint8_t line;                  /* enum fm_iaprof_tag */
    bool (*add)(struct fm_iaprof *a, const char *s, const char *end, uint64_t at);
} tags[] = {
#define TAG(name, line, add) {name, sizeof(name) - 1, line, add}
    TAG("e", FM_IAPROF_E_LINE, add_e),
    TAG("kernel", FM_IAPROF_KERNEL_LINE, add_kernel),
    TAG("string", FM_IAPROF_STRING_LINE, add_string),
    TAG("eustall", FM_IAPROF_EUSTALL_LINE, add_eustall),
    TAG("insn_text", FM_IAPROF_STATE_LINE, add_insn_text),
    TAG("metric", FM_IAPROF_METRIC_LINE, add_metric),
    TAG("interval", FM_IAPROF_INTERVAL_LINE, add_interval),
    TAG("interval_start", FM_IAPROF_START_LINE, add_start),
    TAG("interval_end", FM_IAPROF_END_LINE, add_end),
    TAG("gpu_symbol", FM_IAPROF_STATE_LINE, add_gpu_symbol),
    TAG("gpu_file", FM_IAPROF_STATE_LINE, add_gpu_file),
    TAG("proc_name", FM_IAPROF_STATE_LINE, add_proc_name),
    TAG("pid", FM_IAPROF_STATE_LINE, add_pid),
    TAG("ustack", FM_IAPROF_STATE_LINE, add_ustack),
    TAG("kstack", FM_IAPROF_STATE_LINE, add_kstack),
    TAG("shader_type", FM_IAPROF_STATE_LINE, add_shader_type),
    TAG("frame", FM_IAPROF_FRAME_LINE, add_frame),
#undef TAG
};

/* What every line of a kind has, for the probe: fields, and what the first one begins with. */
static const struct shape {
    const char *tag;
    uint8_t min, max;
    char first;                    /* '0' a digit, 'x' "0x", 'a' anything */
} shapes[] = {
    {"string", 2, 255, '0'},       {"interval", 2, 2, '0'},     {"kernel", 6, 6, 'x'},
    {"eustall", 12, 12, '0'},      {"metric", 2, 2, 'a'},       {"interval_start", 1, 2, '0'},
    {"interval_end", 1, 1, '0'},   {"e", 3, 4, '0'},            {"proc_name", 1, 1, '0'},
    {"pid", 1, 1, '0'},            {"ustack", 1, 1, '0'},       {"kstack", 1, 1, '0'},
    {"shader_type", 1, 1, '0'},    {"gpu_file", 1, 1, '0'},     {"gpu_symbol", 1, 1, '0'},
    {"insn_text", 1, 1, '0'},
};

bool fm_iaprof_shape(const char *s, size_t n)
{
    const char *end = s + n, *tab_at = memchr(s, '\t', n);
    size_t tag = tab_at != NULL ? (size_t)(tab_at - s) : n, fields = 0;
    if (tab_at == NULL)
        return false;
    for (const char *p = tab_at; p < end && fields < 255; p++)
        fields += *p == '\t';
    for (size_t i = 0; i < FM_COUNT(shapes); i++) {
        const struct shape *sh = &shapes[i];
        const char *p = tab_at + 1;
        if (strlen(sh->tag) != tag || memcmp(sh->tag, s, tag) != 0)
            continue;
        return fields >= sh->min && fields <= sh->max && p < end &&
               (sh->first == 'a' || (*p >= '0' && *p <= '9')) &&
               (sh->first != 'x' || (end - p > 2 && p[1] == 'x'));
    }
    return false;
}

static const struct tag *find_tag(const char *s, size_t n)
{
    for (size_t i = 0; i < FM_COUNT(tags); i++)
        if (tags[i].n == n && memcmp(tags[i].name, s, n) == 0)
            return &tags[i];
    return NULL;
}

/* ------------------------------------------------------------------- input */

/* A word of letters, digits, '_' and '-', as tags are. */
static bool is_tag(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (!((c >= 'a' && c <= 'z') || c == '_' || c == '-' || (i > 0 && c >= '0' && c <= '9')))
            return false;
    }
    return n > 0 && n < 32;
}

/* A kind of line that we do not know: by name in the account, as long as there are few. Without a
 * name it is no line of the tool. */
static void other_line(struct fm_iaprof *a, const char *s, size_t n, uint64_t at)
{
    char name[32];
    size_t i;
    if (!is_tag(s, n)) {
        fm_builder_diag(a->builder, FM_DIAG_BAD_LINE, at, 1);
        return;
    }
    fm_builder_diag(a->builder, FM_DIAG_RECORD_UNKNOWN, at, 1);
    memcpy(name, s, n);
    name[n] = '\0';
    for (i = 0; i < a->others && strcmp(a->other[i], name) != 0; i++)
        ;
    if (i == FM_COUNT(a->other))
        return;
    if (i == a->others)
        memcpy(a->other[a->others++], name, n + 1);
    fm_event_unmapped(a->binding, name, at);
}

static void bad_line(struct fm_iaprof *a, const struct tag *tag, uint64_t at)
{
    if (tag->line != FM_IAPROF_EUSTALL_LINE && tag->line != FM_IAPROF_E_LINE) {
        fm_builder_diag(a->builder, FM_DIAG_BAD_LINE, at, 1);
        return;
    }
    fm_account_in(a->builder, 1); /* at least */
    fm_account_drop(a->builder, FM_DIAG_BAD_LINE, at, 1);
}

static void add_line(struct fm_iaprof *a, const char *s, const char *end)
{
    uint64_t at = fm_iaprof_at(a, s);
    const char *tab_at;
    const struct tag *tag;
    size_t n;
    if (a->crlf && end > s && end[-1] == '\r')
        end--;
    if (s == end)
        return;
    tab_at = memchr(s, '\t', (size_t)(end - s));
    n = tab_at != NULL ? (size_t)(tab_at - s) : (size_t)(end - s);
    tag = find_tag(s, n);
    if (tag == NULL || (size_t)(end - s) >= FM_IAPROF_LINE_MAX) {
        other_line(a, s, tag == NULL ? n : 0, at);
        return;
    }
    a->lines[tag->line]++;
    if (!tag->add(a, s + n + (tab_at != NULL), end, at))
        bad_line(a, tag, at);
}

void fm_iaprof_lines(struct fm_iaprof *a, const char *s, size_t n)
{
    const char *end = s + n;
    fm_assert(n == 0 || end[-1] == '\n');
    while (s < end && !a->oom) {
        const char *next = NULL, *stop;
        if (end - s > 9 && memcmp(s, "eustall\t", 8) == 0)
            next = fm_iaprof_stall(a, s, end);
        if (next == NULL) {
            stop = memchr(s, '\n', (size_t)(end - s));
            add_line(a, s, stop);
            next = stop + 1;
        }
        s = next;
    }
}
