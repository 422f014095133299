/*
 * recorder_row.c - OA reports as rows: each report, and what was counted from one to the next.
 *
 *     report i-1 ----- metrics, counters ----- report i      context and reason are those of i-1
 *     time t                 dur t' - t        time t'
 *
 * Counters are differences modulo their width. Where the set's formulas are known they become
 * percentages; else each one is a row under its own name, of the unit of the set.
 */
#include "import/gpu/recorder.h"

#include "util/error.h"

#include <stdio.h>

enum { R_TIME, R_GPU_TIME, R_CLOCKS, R_CONTEXT, R_REASON, R_GPU, R_FIELDS };
enum { M_TIME, M_DUR, M_NAME, M_VALUE, M_CONTEXT, M_REASON, M_GPU, M_FIELDS };

enum fm_status fm_recorder_declare(struct fm_recorder *r, struct fm_error *err)
{
    struct fm_field report[R_FIELDS + FM_OA_COUNTERS] = {
        [R_TIME] = {"time", FM_TYPE_TIME, "ns"},
        [R_GPU_TIME] = {"gpu_time", FM_TYPE_U64, NULL},
        [R_CLOCKS] = {"clocks", FM_TYPE_U64, NULL},
        [R_CONTEXT] = {"context", FM_TYPE_STRING, NULL},
        [R_REASON] = {"reason", FM_TYPE_STRING, NULL},
        [R_GPU] = {"gpu", FM_TYPE_STRING, NULL},
    };
    struct fm_field metric[M_FIELDS] = {
        [M_TIME] = {"time", FM_TYPE_TIME, "ns"},      [M_DUR] = {"dur", FM_TYPE_DUR, "ns"},
        [M_NAME] = {"name", FM_TYPE_STRING, NULL},    [M_VALUE] = {"value", FM_TYPE_F64, NULL},
        [M_CONTEXT] = {"context", FM_TYPE_STRING, NULL},
        [M_REASON] = {"reason", FM_TYPE_STRING, NULL}, [M_GPU] = {"gpu", FM_TYPE_STRING, NULL},
    };
    char name[FM_OA_COUNTERS][12];
    size_t n = fm_oa_counters(r->format);
    for (size_t i = 0; i < n; i++) {
        (void)fm_oa_counter(r->format, i, name[i], sizeof name[i]);
        report[R_FIELDS + i] = (struct fm_field){name[i], FM_TYPE_U64, NULL};
    }
    r->fields = R_FIELDS + n;
    r->report_class = fm_class_declare(r->binding, "report", report, r->fields, 0, NULL);
    r->metric_class = fm_class_declare(r->binding, "metric", metric, M_FIELDS, 0, NULL);
    metric[M_VALUE].type = FM_TYPE_U64;
    r->counter_class = fm_class_declare(r->binding, "counter", metric, M_FIELDS, 0, NULL);
    if (r->report_class == -2 || r->metric_class == -2 || r->counter_class == -2)
        return fm_error_nomem(err);
    return FM_OK;
}

/* ----------------------------------------------------------------- header */

unsigned fm_recorder_stamp(const struct fm_recorder *r, uint64_t *stamp)
{
    if (r->wide)
        return 64;
    *stamp &= UINT32_MAX;
    if (r->half)
        *stamp >>= 1;
    return r->half ? 31 : 32;
}

static fm_str text_of(struct fm_recorder *r, const char *s)
{
    fm_str str = fm_builder_str(r->builder, s, strlen(s));
    r->oom |= str == FM_NONE;
    return str;
}

static fm_str context_of(struct fm_recorder *r, const struct fm_oa_report *report)
{
    char text[24];
    bool valid = r->hardware == FM_OA_BDW   ? report->id >> 25 & 1
                 : r->hardware == FM_OA_SKL ? report->id >> 16 & 1
                                            : true;
    if (r->wide)
        valid = true;
    (void)snprintf(text, sizeof text, "0x%llx", (unsigned long long)report->context);
    return text_of(r, valid ? text : "idle");
}

static fm_str reason_of(struct fm_recorder *r, const struct fm_oa_report *report)
{
    static const char *const name[] = {"timer", "trigger1", "trigger2", "context-switch",
                                       "go", "clock-ratio", "mmio-trigger"};
    char text[96] = "";
    size_t n = 0;
    uint64_t bits = report->id >> 19 & 0x7f;
    if (r->hardware == FM_OA_HSW)
        bits = 1;
    else if (r->hardware == FM_OA_BDW || r->hardware == FM_OA_SKL)
        bits &= 0x3f; /* the next one says whether the context is valid */
    for (size_t i = 0; i < FM_COUNT(name); i++)
        if (bits >> i & 1)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? "," : "", name[i]);
    return text_of(r, n > 0 ? text : "unknown");
}

/* ----------------------------------------------------------------- events */

static void unmapped_or(struct fm_recorder *r, int class, const char *name, const uint64_t *value,
                        uint64_t *present, uint64_t offset)
{
    fm_binding_at(r->binding, offset);
    if (class >= 0)
        (void)fm_event(r->binding, class, value, present);
    else if (class == FM_CLASS_UNMAPPED)
        fm_event_unmapped(r->binding, name, offset);
}

/* A row of what was counted between the report before and `now`. */
static void add(struct fm_recorder *r, const struct fm_recorder_last *now, const char *name,
                bool metric, uint64_t value, uint64_t offset)
{
    const struct fm_recorder_last *last = &r->last;
    const uint64_t values[M_FIELDS] = {
        [M_TIME] = (uint64_t)last->time, [M_DUR] = (uint64_t)now->time - (uint64_t)last->time,
        [M_NAME] = text_of(r, name),     [M_VALUE] = value,
        [M_CONTEXT] = last->context,     [M_REASON] = last->reason,
        [M_GPU] = r->gpu,
    };
    uint64_t present = (1u << M_FIELDS) - 1;
    if (!last->timed)
        present &= ~(1u << M_TIME);
    if (!last->timed || !now->timed || now->time < last->time)
        present &= ~(1u << M_DUR);
    if (r->gpu == FM_NONE)
        present &= ~(1u << M_GPU);
    if (!r->oom)
        unmapped_or(r, metric ? r->metric_class : r->counter_class, metric ? "metric" : "counter",
                    values, &present, offset);
}

static uint64_t difference(const struct fm_recorder *r, const struct fm_recorder_last *now,
                           size_t i)
{
    char name[12];
    unsigned bits = fm_oa_counter(r->format, i, name, sizeof name);
    uint64_t d = now->value[i] - r->last.value[i];
    return bits < 64 ? d & ((UINT64_C(1) << bits) - 1) : d;
}

/* The sum of counters by name; 0 and *has = false where one is missing. */
static double sum(const struct fm_recorder *r, const struct fm_recorder_last *now,
                  const char *const *name, size_t n, bool *has)
{
    double total = 0;
    for (size_t i = 0; i < n && name[i] != NULL; i++) {
        size_t at = fm_oa_find(r->format, name[i]);
        *has &= at != SIZE_MAX;
        total += at != SIZE_MAX ? (double)difference(r, now, at) : 0;
    }
    return total;
}

/* Percentages by the formulas of the set. */
static void derive(struct fm_recorder *r, const struct fm_recorder_last *now, double clocks,
                   uint64_t offset)
{
    const struct fm_oa_formula *f = r->formula;
    bool has = true;
    double busy = sum(r, now, &f->busy, 1, &has), active = sum(r, now, f->active, 4, &has),
           stall = sum(r, now, f->stall, 4, &has), eus = (double)r->eus;
    if (!has || !(clocks > 0))
        return;
    add(r, now, "gpu-busy", true, fm_f64_bits(100 * busy / clocks), offset);
    if (r->eus == 0)
        return;
    add(r, now, "eu-active", true, fm_f64_bits(100 * active / eus / clocks), offset);
    add(r, now, "eu-stalled", true, fm_f64_bits(100 * stall / eus / clocks), offset);
}

static void between(struct fm_recorder *r, const struct fm_recorder_last *now, uint64_t offset)
{
    uint64_t ticks = now->gpu - r->last.gpu, clocks = now->report.clocks - r->last.report.clocks;
    double seconds = r->clock.frequency > 0 ? (double)ticks / (double)r->clock.frequency : 0, used;
    bool has = true;
    if (!r->wide)
        clocks &= UINT32_MAX;
    used = (double)clocks;
    if (r->hardware == FM_OA_HSW && r->format != NULL && r->format->runs > 0)
        used = sum(r, now, (const char *const[]){"C2"}, 1, &has);
    if (seconds > 0)
        add(r, now, "gpu-time", true, fm_f64_bits(seconds * 1e9), offset);
    else
        add(r, now, "gpu-time-ticks", true, fm_f64_bits((double)ticks), offset);
    if (has)
        add(r, now, "gpu-core-clocks", true, fm_f64_bits(used), offset);
    if (has && seconds > 0)
        add(r, now, "gpu-core-MHz", true, fm_f64_bits(used / seconds / 1e6), offset);
    if (r->formula != NULL && r->format != NULL && r->format->runs > 0) {
        derive(r, now, used, offset);
        return;
    }
    for (size_t i = 0, n = fm_oa_counters(r->format); i < n; i++) {
        char name[12];
        (void)fm_oa_counter(r->format, i, name, sizeof name);
        add(r, now, name, false, difference(r, now, i), offset);
    }
}

static void add_report(struct fm_recorder *r, const struct fm_recorder_last *now, uint64_t offset)
{
    uint64_t value[R_FIELDS + FM_OA_COUNTERS], present[(R_FIELDS + FM_OA_COUNTERS + 63) / 64];
    value[R_TIME] = (uint64_t)now->time;
    value[R_GPU_TIME] = now->gpu;
    value[R_CLOCKS] = now->report.clocks;
    value[R_CONTEXT] = now->context;
    value[R_REASON] = now->reason;
    value[R_GPU] = r->gpu;
    memcpy(value + R_FIELDS, now->value, (r->fields - R_FIELDS) * sizeof *value);
    memset(present, 0xff, sizeof present);
    if (!now->timed)
        present[0] &= ~(uint64_t)(1u << R_TIME);
    if (r->gpu == FM_NONE)
        present[0] &= ~(uint64_t)(1u << R_GPU);
    unmapped_or(r, r->report_class, "report", value, present, offset);
}

/* --------------------------------------------------------------- a report */

static bool same_as_last(struct fm_recorder *r, const unsigned char *p, size_t n)
{
    struct fm_recorder_last *last = &r->last;
    if (last->any && last->n == n && memcmp(last->bytes, p, n) == 0)
        return true;
    if (!fm_grow(r->mem, (void **)&last->bytes, &last->cap, n, 1)) {
        r->oom = true;
        return true;
    }
    memcpy(last->bytes, p, n);
    last->n = n;
    return false;
}

void fm_recorder_report(struct fm_recorder *r, const unsigned char *p, size_t n, uint64_t offset)
{
    struct fm_recorder_last now = {.any = true};
    uint64_t stamp;
    unsigned bits;
    if (n < (r->wide ? 32u : 16u) || (r->format != NULL && n < r->format->bytes)) {
        fm_builder_diag(r->builder, FM_DIAG_RECORD_BODY, offset, 1);
        return;
    }
    if (same_as_last(r, p, n)) {
        r->duplicates++;
        fm_builder_diag(r->builder, FM_DIAG_OA_DUPLICATE, offset, 1);
        return;
    }
    fm_oa_header(r->wide, p, &now.report);
    if (r->format != NULL)
        fm_oa_values(r->format, p, now.value);
    stamp = now.report.stamp;
    bits = fm_recorder_stamp(r, &stamp);
    now.gpu = r->anchored ? fm_oa_extend(stamp, bits, r->anchor) : stamp;
    r->anchor = now.gpu;
    r->anchored = true;
    now.timed = fm_oa_clock_time(&r->clock, now.gpu, &now.time);
    if (!now.timed && !(r->clock.pairs == 0 || (r->clock.pairs == 1 && r->clock.frequency == 0)))
        fm_builder_diag(r->builder, FM_DIAG_OA_TIME, offset, 1);
    now.context = context_of(r, &now.report);
    now.reason = reason_of(r, &now.report);
    if (r->oom)
        return;
    add_report(r, &now, offset);
    if (r->last.any && now.gpu > r->last.gpu)
        between(r, &now, offset);
    else if (r->last.any)
        fm_builder_diag(r->builder, FM_DIAG_RECORD_ORDER, offset, 1);
    now.bytes = r->last.bytes;
    now.n = r->last.n;
    now.cap = r->last.cap;
    r->last = now;
}
