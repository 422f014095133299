/*
 * clock.c - one timeline for all sources: shift = what is added to a source's ts.
 *
 * The first timed source is the timeline. Every other one takes the first that fits of the sources
 * before it: the same known clock of the same host (shift equal), or wall time known to both
 *
 *     shift = shift' + (wall - wall_at) - (wall' - wall_at')
 *
 * Nothing fits: FM_DIAG_CLOCK_UNKNOWN and a provenance row "clock-warning" that names both, their
 * clocks, and what helps. `--clock-offset SRC=+1ms,…` is added on top and silences the warning of
 * that source; of all of them, when it is given for the first.
 *
 * The scheduler clock of perf is one clock for all recordings of a host. It runs unslewed, as
 * CLOCK_MONOTONIC_RAW does, but has an offset of its own: it is not taken for another clock.
 */
#include "store/inside.h"
#include "util/error.h"
#include "util/text.h"

static bool shared_clock(enum fm_clock clock)
{
    return clock == FM_CLOCK_MONOTONIC || clock == FM_CLOCK_MONOTONIC_RAW ||
           clock == FM_CLOCK_REALTIME || clock == FM_CLOCK_BOOT || clock == FM_CLOCK_PERF;
}

static fm_str host_of(const struct fm_store *store, const struct fm_source *s)
{
    fm_str key = fm_strings_find(&store->strings, "host", 4);

    for (size_t i = 0; i < s->provenances; i++) {
        if (s->provenance[i].key == key)
            return s->provenance[i].value;
    }
    return 0;
}

/* Wall time of clock value 0; false when unknown. */
static bool wall_zero(const struct fm_source *s, int64_t *zero)
{
    if (s->has_wall)
        return !__builtin_sub_overflow(s->wall, s->wall_at, zero);
    *zero = 0;
    return s->clock == FM_CLOCK_REALTIME;
}

static bool align(const struct fm_store *store, struct fm_source *s, const struct fm_source *to)
{
    fm_str host = host_of(store, s), other = host_of(store, to);
    int64_t zero, to_zero, apart;

    if (s->clock == to->clock && shared_clock(s->clock) &&
        (host == other || host == 0 || other == 0)) {
        s->shift = to->shift;
        return true;
    }
    if (!wall_zero(s, &zero) || !wall_zero(to, &to_zero))
        return false;
    return !__builtin_sub_overflow(zero, to_zero, &apart) &&
           !__builtin_add_overflow(to->shift, apart, &s->shift);
}

/* Clocks that count from boot do not reach 2001 as nanoseconds since 1970: times from then on, of a
 * source that does not tell its clock, are of the wall clock. */
#define YEAR_2001 1000000000000000000

static void tell_dates(struct fm_source *s)
{
    if (s->clock == FM_CLOCK_UNKNOWN && s->has_time && !s->has_wall && s->first >= YEAR_2001)
        s->clock = FM_CLOCK_REALTIME;
}

/* True when ts + shift stays within int64 for every row. */
static bool fits(const struct fm_source *s)
{
    int64_t t;
    return fm_add_i64(s->first, s->shift, &t) && fm_add_i64(s->last, s->shift, &t);
}

/* How perf is told to use the clock of the other source; NULL: neither is perf's own clock. The
 * wall time that newer perfs write down beside monotonic times serves for all other clocks. */
static const char *perf_option(enum fm_clock a, enum fm_clock b)
{
    enum fm_clock other = a == FM_CLOCK_PERF ? b : a;

    if (a != FM_CLOCK_PERF && b != FM_CLOCK_PERF)
        return NULL;
    return other == FM_CLOCK_MONOTONIC_RAW ? "raw" : other == FM_CLOCK_BOOT ? "boot" : "mono";
}

static void not_aligned(struct fm_builder *b, size_t i, size_t reference)
{
    struct fm_source *s = &b->store->t.source[i], *to = &b->store->t.source[reference];
    const char *name = fm_builder_str_text(b, s->name, NULL), *slash = strrchr(name, '/');
    const char *option = perf_option(s->clock, to->clock);
    struct fm_arena arena;
    char *text;

    fm_diag_add(&s->diags, FM_DIAG_CLOCK_UNKNOWN, FM_NO_OFFSET, 1);
    fm_arena_init(&arena, b->mem);
    text = fm_arena_printf(&arena, "times of '%s' (clock %s) are not aligned to '%s' (clock %s): "
                           "give --clock-offset %s=±TIME%s%s", name, fm_clock_text(s->clock),
                           fm_builder_str_text(b, to->name, NULL), fm_clock_text(to->clock),
                           slash != NULL ? slash + 1 : name,
                           option != NULL ? ", or record with perf record -k " : "",
                           option != NULL ? option : "");
    if (text == NULL) {
        fm_builder_fail(b, FM_NOMEM);
    } else {
        uint32_t current = b->source;
        b->source = (uint32_t)i;
        fm_builder_provenance(b, "clock-warning", text, strlen(text));
        b->source = current;
    }
    fm_arena_release(&arena);
}

/* ----------------------------------------------------------- clock offsets */

/* The source called (s, n): its whole name, or what follows the last '/'. */
static size_t find_source(const struct fm_builder *b, const char *s, size_t n)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < b->store->t.sources; i++) {
            const char *name = fm_builder_str_text(b, b->store->t.source[i].name, NULL);
            const char *slash = strrchr(name, '/');
            if (pass == 1 && slash != NULL)
                name = slash + 1;
            if (strlen(name) == n && memcmp(name, s, n) == 0)
                return i;
        }
    }
    return SIZE_MAX;
}

/* One "SRC=+1ms"; offset[i] += it, given[i] = true. */
static enum fm_status take_offset(struct fm_builder *b, const char *s, size_t n, int64_t *offset,
                                  bool *given, struct fm_error *err)
{
    size_t eq = n, i;
    int64_t ns;

    while (eq > 0 && s[eq - 1] != '=')
        eq--;
    if (eq == 0)
        return fm_error_set(err, FM_CONFIG, "clock offset '%.*s' is not SOURCE=TIME", (int)n, s);
    if (!fm_text_time(s + eq, n - eq, &ns))
        return fm_error_set(err, FM_CONFIG, "clock offset '%.*s': '%.*s' is no time", (int)n, s,
                            (int)(n - eq), s + eq);
    i = find_source(b, s, eq - 1);
    if (i == SIZE_MAX)
        return fm_error_set(err, FM_CONFIG, "clock offset '%.*s': no input is called '%.*s'",
                            (int)n, s, (int)(eq - 1), s);
    if (!fm_add_i64(offset[i], ns, &offset[i]))
        return fm_error_set(err, FM_CONFIG, "clock offset '%.*s' is too large", (int)n, s);
    given[i] = true;
    return FM_OK;
}

static enum fm_status take_offsets(struct fm_builder *b, const char *text, int64_t *offset,
                                   bool *given, struct fm_error *err)
{
    while (*text != '\0') {
        size_t n = strcspn(text, ",");
        if (n > 0) {
            enum fm_status status = take_offset(b, text, n, offset, given, err);
            if (status != FM_OK)
                return status;
        }
        text += n + (text[n] == ',');
    }
    return FM_OK;
}

/* Times that any two sources can have between them, 146 years from 0: what lies in between is no
 * more than int64 holds. */
#define FAR INT64_C(0x3fffffffffffffff)

/* Adds what the user said; times must stay where others can be told apart from them. */
static enum fm_status add_offset(struct fm_builder *b, struct fm_source *s, int64_t offset,
                                 struct fm_error *err)
{
    int64_t first, last;
    if (fm_add_i64(s->shift, offset, &s->shift) &&
        (!s->has_time || (fm_add_i64(s->first, s->shift, &first) && first >= -FAR &&
                          fm_add_i64(s->last, s->shift, &last) && last <= FAR)))
        return FM_OK;
    return fm_error_set(err, FM_CONFIG, "clock offset of '%s' moves its times out of range",
                        fm_builder_str_text(b, s->name, NULL));
}

static enum fm_status align_all(struct fm_builder *b, const int64_t *offset, const bool *given,
                                struct fm_error *err)
{
    struct fm_tables *t = &b->store->t;
    size_t reference = SIZE_MAX;

    for (size_t i = 0; i < t->sources; i++) {
        struct fm_source *s = &t->source[i];
        bool done = reference == SIZE_MAX;
        s->shift = 0;
        if (!s->has_time)
            continue;
        tell_dates(s);
        for (size_t k = 0; !done && k < i; k++) {
            if (t->source[k].has_time)
                done = align(b->store, s, &t->source[k]) && fits(s);
        }
        if (!done) {
            s->shift = 0;
            if (!given[i] && !given[reference])
                not_aligned(b, i, reference);
        }
        if (reference == SIZE_MAX)
            reference = i;
    }
    /* offsets last: a source that follows another's clock does not follow its correction */
    enum fm_status status = FM_OK;
    for (size_t i = 0; i < t->sources && status == FM_OK; i++)
        if (given[i])
            status = add_offset(b, &t->source[i], offset[i], err);
    return status;
}

enum fm_status fm_seal_clocks(struct fm_builder *b, const char *clock_offset, struct fm_error *err)
{
    size_t n = b->store->t.sources;
    int64_t *offset = fm_mem_zalloc(b->mem, n * sizeof *offset);
    bool *given = fm_mem_zalloc(b->mem, n * sizeof *given);
    enum fm_status status = FM_OK;

    if (offset == NULL || given == NULL)
        status = fm_error_nomem(err);
    else if (clock_offset != NULL)
        status = take_offsets(b, clock_offset, offset, given, err);
    if (status == FM_OK)
        status = align_all(b, offset, given, err);
    fm_mem_free(b->mem, offset, n * sizeof *offset);
    fm_mem_free(b->mem, given, n * sizeof *given);
    if (status == FM_OK && !fm_builder_ok(b))
        status = fm_error_set(err, b->status, "out of memory");
    return status;
}
