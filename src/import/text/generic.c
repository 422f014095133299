/*
 * generic.c - what the generic containers share: fields to lanes, classes, the driver.
 */
#include "import/text/generic.h"

#include "import/text/addresses.h"
#include "util/error.h"
#include "util/json.h"
#include "util/text.h"

#include <math.h>

/* ------------------------------------------------------------------ fields */

uint32_t fm_generic_add_field(struct fm_generic *g, const struct fm_cfield *field)
{
    if (g->fields == FM_CLASS_FIELDS)
        return UINT32_MAX;
    g->field[g->fields] = *field;
    return (uint32_t)g->fields++;
}

void fm_generic_clear(struct fm_generic *g)
{
    memset(g->present, 0, (g->fields + 63) / 64 * sizeof *g->present);
}

void fm_generic_lane(struct fm_generic *g, uint32_t field, uint64_t lane)
{
    fm_assert(field < g->fields);
    g->value[field] = lane;
    g->present[field >> 6] |= UINT64_C(1) << (field & 63);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* A number times the field's factor, as an integer; exact when the factor is 1. */
static bool integer_lane(const struct fm_cfield *f, const char *s, size_t n, uint64_t *lane)
{
    uint64_t u;
    int64_t i;
    double d;
    bool is_unsigned = f->type != FM_TYPE_I64;
    if (f->hex ? !fm_text_hex(s, n, &u) : !fm_text_u64(s, n, &u)) {
        if (f->hex || !fm_json_scaled(s, n, 1, &i) || (is_unsigned && i < 0)) {
            if (f->hex || f->factor == 1 || !fm_text_f64(s, n, &d))
                return false;
            u = 0;
        } else {
            u = (uint64_t)i;
        }
    } else if (!is_unsigned && u > INT64_MAX) {
        return false;
    }
    *lane = u;
    if (f->factor == 1)
        return true;
    if (f->hex)
        d = (double)u;
    else if (!fm_text_f64(s, n, &d))
        return false;
    d = round(d * f->factor);
    if (is_unsigned ? !(d >= 0 && d < 18446744073709551616.0)
                    : !(d >= -9223372036854775808.0 && d < 9223372036854775808.0))
        return false;
    *lane = is_unsigned ? (uint64_t)d : (uint64_t)(int64_t)d;
    return true;
}

static bool bool_lane(const char *s, size_t n, uint64_t *lane)
{
    static const char *const yes[] = {"1", "true", "yes", "TRUE", "True"};
    static const char *const no[] = {"0", "false", "no", "FALSE", "False"};
    for (size_t i = 0; i < FM_COUNT(yes); i++) {
        bool is_yes = n == strlen(yes[i]) && memcmp(s, yes[i], n) == 0;
        if (is_yes || (n == strlen(no[i]) && memcmp(s, no[i], n) == 0)) {
            *lane = is_yes;
            return true;
        }
    }
    return false;
}

/* H:M:S with decimals, as ns since midnight. */
static bool day_lane(const char *s, size_t n, uint64_t *lane)
{
    uint64_t hours, minutes;
    int64_t ns;
    const char *a = memchr(s, ':', n), *end = s + n;
    const char *b = a ? memchr(a + 1, ':', (size_t)(end - a - 1)) : NULL;
    if (!b || !fm_text_u64(s, (size_t)(a - s), &hours) ||
        !fm_text_u64(a + 1, (size_t)(b - a - 1), &minutes) ||
        !fm_json_scaled(b + 1, (size_t)(end - b - 1), 1000000000, &ns))
        return false;
    if (hours > 23 || minutes > 59 || ns < 0 || ns >= INT64_C(61000000000))
        return false;
    *lane = (hours * 60 + minutes) * UINT64_C(60000000000) + (uint64_t)ns;
    return true;
}

/* Values that begin anew go on: a step back by more than half of the range is a step over its end.
 * One that is out of the range is none of the kind, and stays as it is. */
static uint64_t unwrap(struct fm_generic *g, const struct fm_cfield *f, uint32_t field,
                       uint64_t lane)
{
    struct fm_wrap *w = &g->wrap[field];
    if (lane > f->wrap)
        return lane;
    if (w->any && w->last > lane && w->last - lane > f->wrap / 2 &&
        w->base <= INT64_MAX - 2 * f->wrap)
        w->base += f->wrap;
    w->any = true;
    w->last = lane;
    return lane + w->base;
}

static bool text_lane(struct fm_generic *g, const struct fm_cfield *f, const char *s, size_t n,
                      uint64_t *lane)
{
    int64_t i;
    double d;
    switch (f->type) {
    case FM_TYPE_STRING:
        *lane = fm_builder_str(g->builder, s, n);
        g->oom |= *lane == FM_NONE;
        return *lane != FM_NONE;
    case FM_TYPE_BOOL: return bool_lane(s, n, lane);
    case FM_TYPE_F64:
        n -= n > 1 && s[n - 1] == '%';
        if (!fm_text_f64(s, n, &d))
            return false;
        *lane = fm_f64_bits(d * f->factor);
        return true;
    case FM_TYPE_TIME:
    case FM_TYPE_DUR:
        if (f->of_day)
            return day_lane(s, n, lane);
        if (!fm_json_scaled(s, n, f->scale, &i))
            return false;
        *lane = (uint64_t)i;
        return true;
    case FM_TYPE_I64:
    case FM_TYPE_U64:
    case FM_TYPE_BYTES:
    case FM_TYPE_ADDRESS: return integer_lane(f, s, n, lane);
    case FM_TYPE_STACK:
    case FM_TYPE_THREAD: break;
    }
    return false;
}

void fm_generic_text(struct fm_generic *g, uint32_t field, const char *s, size_t n,
                     uint64_t offset)
{
    const struct fm_cfield *f = &g->field[field];
    uint64_t lane;
    if (f->trim) {
        while (n > 0 && is_blank(s[0])) {
            s++;
            n--;
        }
        while (n > 0 && is_blank(s[n - 1]))
            n--;
    }
    if (n == 0)
        return;
    if (text_lane(g, f, s, n, &lane))
        fm_generic_lane(g, field, f->wrap ? unwrap(g, f, field, lane) : lane);
    else
        fm_builder_diag(g->builder, FM_DIAG_VALUE_RANGE, offset, 1);
}

void fm_generic_bits(struct fm_generic *g, const struct fm_cfield *f, uint32_t field,
                     uint64_t bits, uint64_t offset)
{
    bool minus = f->is_signed && f->bits < 64 && (bits >> (f->bits - 1)) & 1;
    if (minus)
        bits |= ~UINT64_C(0) << f->bits;
    double whole = nearbyint(f->factor);
    if (f->type == FM_TYPE_F64) {
        double d = f->is_signed ? (double)(int64_t)bits : (double)bits;
        bits = fm_f64_bits(d * f->factor);
    } else if (f->factor != 1 && whole == f->factor && whole > 0 && whole < 1e9) {
        int64_t i = 0;
        bool over = f->is_signed
                        ? __builtin_mul_overflow((int64_t)bits, (int64_t)whole, &i)
                        : !fm_mul_u64(bits, (uint64_t)whole, &bits);
        if (over) {
            fm_builder_diag(g->builder, FM_DIAG_VALUE_RANGE, offset, 1);
            return;
        }
        bits = f->is_signed ? (uint64_t)i : bits;
    } else if (f->factor != 1) {
        bits = (uint64_t)(int64_t)round((double)(int64_t)bits * f->factor);
    }
    if (f->type == FM_TYPE_TIME || f->type == FM_TYPE_DUR)
        bits = fm_mul_sat_u64(bits, (uint64_t)f->scale);
    fm_generic_lane(g, field, f->wrap ? unwrap(g, f, field, bits) : bits);
}

/* ------------------------------------------------------------------ classes */

static bool declare(struct fm_generic *g, const char *name, size_t n, fm_str id)
{
    struct fm_field *field = fm_mem_alloc(g->mem, (g->fields + 1) * sizeof *field);
    char *text = fm_arena_strn(&g->arena, name, n);
    if (!field || !text ||
        !fm_grow(g->mem, (void **)&g->class, &g->class_cap, g->classes + 1, sizeof *g->class)) {
        if (field)
            fm_mem_free(g->mem, field, (g->fields + 1) * sizeof *field);
        return false;
    }
    for (size_t i = 0; i < g->fields; i++)
        field[i] = (struct fm_field){g->field[i].name, g->field[i].type, g->field[i].unit};
    int class_id = fm_class_declare(g->binding, text, field, g->fields, 0, NULL);
    fm_mem_free(g->mem, field, (g->fields + 1) * sizeof *field);
    g->last_class = g->classes;
    g->class[g->classes++] = (struct fm_class_entry){id, class_id};
    return class_id != -2;
}

static bool find_class(struct fm_generic *g, const char *name, size_t n)
{
    fm_str id = fm_builder_str(g->builder, name, n);
    if (id == FM_NONE)
        return false;
    if (g->last_class < g->classes && g->class[g->last_class].name == id)
        return true;
    for (size_t i = 0; i < g->classes; i++) {
        if (g->class[i].name == id) {
            g->last_class = i;
            return true;
        }
    }
    return declare(g, name, n, id);
}

void fm_generic_emit(struct fm_generic *g, const char *class, uint64_t offset)
{
    size_t n = class ? strlen(class) : 0;
    uint32_t f = g->c->class_field;
    g->records++;
    if (!class && f != UINT32_MAX && (g->present[f >> 6] >> (f & 63)) & 1 &&
        g->field[f].type == FM_TYPE_STRING) {
        class = fm_builder_str_text(g->builder, (fm_str)g->value[f], &n);
        /* Interning and declaring may move it. */
        class = fm_arena_strn(&g->arena, class, n);
    } else if (!class) {
        class = g->c->class;
        n = strlen(class);
    }
    if (!class || !find_class(g, class, n)) {
        g->oom = true;
        return;
    }
    const struct fm_class_entry *entry = &g->class[g->last_class];
    fm_account_record(g->builder, FM_ACCOUNT_RECORDS, entry->name, offset, 1);
    if (entry->id < 0) {
        fm_account_record(g->builder, FM_ACCOUNT_NOT_MAPPED, entry->name, offset, 1);
        return;
    }
    fm_binding_at(g->binding, offset);
    fm_event(g->binding, entry->id, g->value, g->present);
}

enum fm_status fm_generic_status(struct fm_generic *g, uint64_t done, struct fm_error *err)
{
    if (g->oom)
        return fm_error_nomem(err);
    if (fm_builder_status(g->builder) != FM_OK)
        return fm_error_set(err, fm_builder_status(g->builder), "the store is full");
    if (!fm_ctx_tick(g->import->ctx, done, fm_input_raw_size(g->import->input)))
        return fm_error_set(err, FM_CANCELLED, "cancelled");
    return FM_OK;
}

enum fm_status fm_generic_each_line(struct fm_generic *g, fm_generic_line_fn *take, void *user,
                                    struct fm_error *err)
{
    enum fm_status status = FM_OK;
    for (uint64_t number = 1; status == FM_OK; number++) {
        const char *s;
        size_t n;
        uint64_t offset;
        bool cut, end;
        status = fm_reader_line(g->reader, FM_GENERIC_LINE, &s, &n, &offset, &cut, &end, err);
        if (status != FM_OK || end)
            break;
        if (number == 1 && n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0) {
            s += 3;
            n -= 3;
        }
        if (cut)
            fm_builder_diag(g->builder, FM_DIAG_BAD_LINE, offset, 1);
        else
            take(user, s, n, number, offset);
        if (number % 16384 == 0 || g->oom)
            status = fm_generic_status(g, offset, err);
    }
    return status;
}

/* ------------------------------------------------------------------ the driver */

static enum fm_status start(struct fm_generic *g, struct fm_error *err)
{
    fm_arena_init(&g->arena, g->mem);
    g->field = fm_arena_alloc(&g->arena, FM_CLASS_FIELDS * sizeof *g->field);
    g->value = fm_arena_alloc(&g->arena, FM_CLASS_FIELDS * sizeof *g->value);
    g->present = fm_arena_alloc(&g->arena, FM_CLASS_FIELDS / 64 * sizeof *g->present);
    if (!g->field || !g->value || !g->present)
        return fm_error_nomem(err);
    memcpy(g->field, g->c->field, g->c->fields * sizeof *g->field);
    g->fields = g->c->fields;
    for (size_t i = 0; i < g->fields && !g->wrap; i++) {
        size_t n = FM_CLASS_FIELDS * sizeof *g->wrap;
        if (g->field[i].wrap && !(g->wrap = fm_arena_alloc(&g->arena, n)))
            return fm_error_nomem(err);
        if (g->wrap)
            memset(g->wrap, 0, n);
    }
    enum fm_status status =
        fm_binding_new(g->import->mapping, g->builder, g->import->options->keep, &g->binding, err);
    if (status == FM_OK) {
        fm_binding_account(g->binding, true);
        status = fm_reader_open(g->import->input, &g->reader, err);
    }
    const char *map = g->import->options->gpu_map;
    if (status == FM_OK && map && map[0])
        status = fm_addresses_load(g->import->ctx, map, &g->addresses, err);
    if (g->addresses)
        fm_binding_named(g->binding, fm_addresses_find, g->addresses);
    return status;
}

enum fm_status fm_generic_import(struct fm_import *import, struct fm_error *err)
{
    struct fm_generic g = {.import = import,
                           .c = fm_mapping_spec(import->mapping),
                           .builder = import->builder,
                           .mem = &import->ctx->mem};
    fm_assert(g.c != NULL);
    enum fm_status status = start(&g, err);
    if (status == FM_OK) {
        switch (g.c->kind) {
        case FM_CONTAINER_TEXT: status = fm_generic_lines(&g, err); break;
        case FM_CONTAINER_CSV: status = fm_generic_csv(&g, err); break;
        case FM_CONTAINER_JSON: status = fm_generic_json(&g, err); break;
        case FM_CONTAINER_JSONL: status = fm_generic_jsonl(&g, err); break;
        case FM_CONTAINER_RECORDS: status = fm_generic_records(&g, err); break;
        case FM_CONTAINER_NONE: break;
        }
    }
    if (g.oom && status == FM_OK)
        status = fm_error_nomem(err);
    fm_reader_close(g.reader);
    fm_binding_free(g.binding);
    fm_addresses_free(g.addresses);
    if (g.class)
        fm_mem_free(g.mem, g.class, g.class_cap * sizeof *g.class);
    if (g.scratch)
        fm_mem_free(g.mem, g.scratch, g.scratch_cap);
    fm_arena_release(&g.arena);
    return status;
}
