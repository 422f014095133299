/*
 * feed.c - clocks, names, frames, threads and classes; see jfr.h.
 */
#include "import/jfr/jfr.h"

#include "util/error.h"

#include <stdio.h>

/* ----------------------------------------------------------------- numbers */

#define GIGA INT64_C(1000000000)

/* ticks * 10^9 / per_second towards zero. Quotient and rest first: two divisions of 64 bits give
 * the same as one of 128. */
bool fm_jfr_clock_span(const struct fm_jfr_clock *clock, int64_t ticks, int64_t *ns)
{
    uint64_t per = clock->per_second, n, whole;
    if (per == (uint64_t)GIGA) {
        *ns = ticks;
        return true;
    }
    n = ticks < 0 ? -(uint64_t)ticks : (uint64_t)ticks;
    if (!fm_mul_u64(n / per, (uint64_t)GIGA, &whole))
        return false;
    n %= per;
    n = per < UINT64_MAX / (uint64_t)GIGA ? n * (uint64_t)GIGA / per
                                          : (uint64_t)((fm_u128)n * (uint64_t)GIGA / per);
    if (!fm_add_u64(whole, n, &n) || n > (uint64_t)INT64_MAX)
        return false;
    *ns = ticks < 0 ? -(int64_t)n : (int64_t)n;
    return true;
}

bool fm_jfr_clock_time(const struct fm_jfr_clock *clock, int64_t ticks, int64_t *ns)
{
    int64_t since = (int64_t)((uint64_t)ticks - (uint64_t)clock->start_ticks);
    return fm_jfr_clock_span(clock, since, &since) && fm_add_i64(clock->start_ns, since, ns);
}

static bool scaled(int64_t raw, int64_t factor, int64_t *ns)
{
    return !__builtin_mul_overflow(raw, factor, ns);
}

bool fm_jfr_number_ns(const struct fm_jfr_clock *clock, enum fm_jfr_as as, int64_t raw,
                      int64_t *ns)
{
    if (raw == INT64_MIN || (raw == INT64_MAX && as >= FM_JFR_SPAN_TICKS))
        return false;
    switch (as) {
    case FM_JFR_TIME_TICKS:
        return fm_jfr_clock_time(clock, raw, ns);
    case FM_JFR_SPAN_TICKS:
        return fm_jfr_clock_span(clock, raw, ns);
    case FM_JFR_TIME_S:
    case FM_JFR_SPAN_S:
        return scaled(raw, GIGA, ns);
    case FM_JFR_TIME_MS:
    case FM_JFR_SPAN_MS:
        return scaled(raw, 1000000, ns);
    case FM_JFR_SPAN_US:
        return scaled(raw, 1000, ns);
    default:
        *ns = raw;
        return true;
    }
}

enum fm_type fm_jfr_number_type(enum fm_jfr_as as, bool is_unsigned, const char **unit)
{
    *unit = NULL;
    switch (as) {
    case FM_JFR_TIME_TICKS:
    case FM_JFR_TIME_NS:
    case FM_JFR_TIME_MS:
    case FM_JFR_TIME_S:
        *unit = "ns";
        return FM_TYPE_TIME;
    case FM_JFR_SPAN_TICKS:
    case FM_JFR_SPAN_NS:
    case FM_JFR_SPAN_US:
    case FM_JFR_SPAN_MS:
    case FM_JFR_SPAN_S:
        *unit = "ns";
        return FM_TYPE_DUR;
    case FM_JFR_BYTES:
        *unit = "bytes";
        return FM_TYPE_BYTES;
    case FM_JFR_ADDRESS:
        return FM_TYPE_ADDRESS;
    case FM_JFR_BITS:
        *unit = "bits";
        break;
    case FM_JFR_HERTZ:
        *unit = "Hz";
        break;
    case FM_JFR_SHARE:
        *unit = "share";
        break;
    case FM_JFR_PLAIN:
        break;
    }
    return is_unsigned ? FM_TYPE_U64 : FM_TYPE_I64;
}

/* -------------------------------------------------------------------- feed */

enum fm_status fm_jfr_feed_init(struct fm_jfr_feed *feed, const struct fm_import *import,
                                struct fm_builder *builder, struct fm_error *err)
{
    enum fm_status status;
    memset(feed, 0, sizeof *feed);
    feed->ctx = import->ctx;
    feed->mem = &import->ctx->mem;
    feed->name = fm_input_name(import->input);
    feed->builder = builder;
    feed->text.mem = feed->mem;
    feed->truncated = FM_NONE;
    for (size_t i = 0; i < FM_JFR_PLACES; i++)
        feed->place[i] = FM_NONE;
    status = fm_binding_new(import->mapping, builder, import->options->keep, &feed->binding, err);
    if (status == FM_OK) {
        fm_binding_account(feed->binding, true);
        feed->events = import->options->events;
        fm_binding_only(feed->binding, feed->events);
    }
    return status;
}

void fm_jfr_feed_release(struct fm_jfr_feed *feed)
{
    fm_binding_free(feed->binding);
    fm_jfr_buf_release(&feed->text);
    fm_mem_free(feed->mem, feed->frame, feed->frame_cap * sizeof *feed->frame);
    feed->frame = NULL;
    feed->frame_cap = 0;
    feed->binding = NULL;
}

void fm_jfr_damage(struct fm_jfr_feed *feed, enum fm_diag key, enum fm_status status,
                   uint64_t offset, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    if (feed->quiet)
        return;
    if (key < FM_DIAGS)
        fm_builder_diag(feed->builder, key, offset, 1);
    if (feed->damage != FM_OK)
        return;
    feed->damage = status;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fm_error_at(&feed->err, status, feed->name, offset, "%s", text);
}

/* ------------------------------------------------------------------- names */

static fm_str take_text(struct fm_jfr_feed *feed)
{
    if (feed->text.oom) {
        feed->oom = true;
        return 0;
    }
    return fm_builder_str(feed->builder, feed->text.n > 0 ? feed->text.p : "", feed->text.n);
}

static const char *primitive(char letter)
{
    switch (letter) {
    case 'B': return "byte";
    case 'C': return "char";
    case 'D': return "double";
    case 'F': return "float";
    case 'I': return "int";
    case 'J': return "long";
    case 'S': return "short";
    case 'Z': return "boolean";
    default: return NULL;
    }
}

fm_str fm_jfr_class_name(struct fm_jfr_feed *feed, const char *s, size_t n)
{
    struct fm_jfr_buf *out = &feed->text;
    size_t dims = 0, at;
    const char *word = NULL;
    out->n = 0;
    while (dims < n && dims < 255 && s[dims] == '[')
        dims++;
    if (dims > 0 && n - dims == 1)
        word = primitive(s[dims]);
    if (word != NULL) {
        (void)fm_jfr_buf_add(out, word, strlen(word));
    } else if (dims > 0 && n - dims > 2 && s[dims] == 'L' && s[n - 1] == ';') {
        (void)fm_jfr_buf_add(out, s + dims + 1, n - dims - 2);
    } else {
        (void)fm_jfr_buf_add(out, s, n);
        dims = 0;
    }
    at = out->n;
    for (size_t i = 0; !out->oom && i < at; i++)
        if (out->p[i] == '/')
            out->p[i] = '.';
    for (; dims > 0; dims--)
        (void)fm_jfr_buf_add(out, "[]", 2);
    return take_text(feed);
}

fm_str fm_jfr_method_name(struct fm_jfr_feed *feed, const char *class, size_t class_n,
                          const char *method, size_t method_n)
{
    struct fm_jfr_buf *out = &feed->text;
    if (class_n == 0)
        return fm_builder_str(feed->builder, method, method_n);
    out->n = 0;
    (void)(fm_jfr_buf_add(out, class, class_n) && fm_jfr_buf_add(out, ".", 1) &&
           fm_jfr_buf_add(out, method, method_n));
    return take_text(feed);
}

/* ------------------------------------------------------------------ frames */

enum fm_frame_kind fm_jfr_frame_kind(const char *type, size_t n)
{
    static const struct {
        const char *text;
        enum fm_frame_kind kind;
    } kind[] = {
        {"Interpreted", FM_FRAME_INTERPRETED}, {"JIT compiled", FM_FRAME_JIT},
        {"Inlined", FM_FRAME_INLINED}, {"Native", FM_FRAME_USER}, {"C++", FM_FRAME_USER},
        {"Kernel", FM_FRAME_KERNEL}, {"C1 compiled", FM_FRAME_C1}, {"Optimized", FM_FRAME_JIT}};
    for (size_t i = 0; i < FM_COUNT(kind); i++)
        if (strlen(kind[i].text) == n && memcmp(kind[i].text, type, n) == 0)
            return kind[i].kind;
    return FM_FRAME_UNKNOWN;
}

fm_frame fm_jfr_frame_add(struct fm_jfr_feed *feed, const struct fm_jfr_frame *frame)
{
    struct fm_frame_row row = {.module = frame->module, .address = UINT64_MAX,
                               .kind = (uint8_t)frame->kind, .function = frame->function,
                               .signature = frame->signature};
    row.inlined = frame->kind == FM_FRAME_INLINED;
    if (frame->line > 0 && frame->line <= UINT32_MAX)
        row.line = (uint32_t)frame->line;
    if (frame->bci >= 0 && frame->bci < UINT32_MAX)
        row.bci = (uint32_t)frame->bci + 1;
    return fm_builder_frame(feed->builder, &row);
}

fm_module fm_jfr_library(struct fm_jfr_feed *feed, const char *name, size_t n)
{
    struct fm_module_row row = {.kind = FM_MODULE_NAMED, .pid = -1};
    if (n == 0)
        return FM_NONE;
    row.path = fm_builder_str(feed->builder, name, n);
    return fm_builder_module(feed->builder, &row);
}

static fm_frame named(struct fm_jfr_feed *feed, const char *name)
{
    struct fm_jfr_frame f = {.module = FM_NONE, .kind = FM_FRAME_SYNTHETIC, .bci = -1};
    f.function = fm_builder_str(feed->builder, name, strlen(name));
    return fm_jfr_frame_add(feed, &f);
}

fm_frame *fm_jfr_frames(struct fm_jfr_feed *feed, size_t n)
{
    if (n <= feed->frame_cap && n > 0)
        return feed->frame;
    if (!fm_grow(feed->mem, (void **)&feed->frame, &feed->frame_cap, FM_MAX(n, (size_t)64),
                 sizeof *feed->frame)) {
        feed->oom = true;
        return NULL;
    }
    return feed->frame;
}

fm_node fm_jfr_stack(struct fm_jfr_feed *feed, const fm_frame *leaf, size_t n, bool truncated)
{
    uint64_t cap = feed->ctx->cap[FM_CAP_STACK_DEPTH];
    fm_node node = FM_NODE_ROOT;
    if (cap != 0 && n > cap) {
        n = (size_t)cap;
        fm_builder_diag(feed->builder, FM_DIAG_STACK_DEPTH, FM_NO_OFFSET, 1);
    }
    if (truncated) {
        if (feed->truncated == FM_NONE)
            feed->truncated = named(feed, "[truncated]");
        node = fm_builder_node(feed->builder, node, feed->truncated);
    }
    while (n-- > 0)
        node = fm_builder_node(feed->builder, node, leaf[n]);
    return node;
}

fm_node fm_jfr_no_stack(struct fm_jfr_feed *feed, enum fm_jfr_place place)
{
    static const char *const text[FM_JFR_PLACES] = {"[no stack]", "[unknown stack]"};
    if (feed->place[place] == FM_NONE) {
        fm_frame frame = named(feed, text[place]);
        feed->place[place] = fm_builder_node(feed->builder, FM_NODE_ROOT, frame);
    }
    return feed->place[place];
}

/* ----------------------------------------------------------------- threads */

/* A thread of the store is (pid, tid, incarnation): the last tells JVMs and Java threads apart
 * that had the same OS thread. The same on every builder, so that chunks meet in one row. */
static uint32_t incarnation(const struct fm_jfr_thread *t)
{
    uint64_t java = (uint64_t)t->java_id;
    uint32_t low = (uint32_t)(java ^ java >> 32);
    return low ^ t->jvm << 24 ^ t->jvm >> 8 ^ t->reused;
}

fm_thread fm_jfr_thread_add(struct fm_jfr_feed *feed, const struct fm_jfr_thread *t)
{
    struct fm_builder *b = feed->builder;
    fm_thread id = fm_builder_thread(b, t->pid, t->os_id > 0 ? t->os_id : -1, incarnation(t));
    struct fm_thread_row *row = fm_builder_thread_row(b, id);
    const char *name = t->java_name != NULL && t->java_name_n > 0 ? t->java_name : t->os_name;
    size_t n = name == t->java_name ? t->java_name_n : t->os_name_n;
    char text[40];
    if (t->java_id != 0)
        row->java_tid = t->java_id;
    if ((name == NULL || n == 0) && (t->is_virtual || (t->os_id <= 0 && t->java_id > 0))) {
        n = (size_t)snprintf(text, sizeof text, "virtual-%lld", (long long)t->java_id);
        name = text;
    }
    if (name != NULL && n > 0) {
        fm_str s = fm_builder_str(b, name, n);
        fm_builder_thread_name(b, id, INT64_MIN, s);
        if (t->since != INT64_MIN)
            fm_builder_thread_name(b, id, t->since, s);
    }
    return id;
}

/* ----------------------------------------------------------------- classes */

static void preset(struct fm_jfr_event *event, size_t field, uint64_t lane)
{
    event->value[field] = lane;
    event->preset[field >> 6] |= UINT64_C(1) << (field & 63);
}

/* A field that the importer adds: the same value in every event. */
struct extra {
    struct fm_field field;
    uint64_t lane;
    const char *text;           /* of strings */
};

/* Those that are known: has() tells rules when the class is declared. */
static size_t list_extras(const struct fm_jfr_extra *from, struct extra extra[4])
{
    size_t n = 0;
    if (from->period != 0)
        extra[n++] = (struct extra){{"period", FM_TYPE_DUR, "ns"}, from->period, NULL};
    if (from->wall_period != 0)
        extra[n++] = (struct extra){{"wallPeriod", FM_TYPE_DUR, "ns"}, from->wall_period, NULL};
    if (from->writer != NULL)
        extra[n++] = (struct extra){{"writer", FM_TYPE_STRING, NULL}, 0, from->writer};
    if (from->profiled != NULL)
        extra[n++] = (struct extra){{"profiled", FM_TYPE_STRING, NULL}, 0, from->profiled};
    return n;
}

bool fm_jfr_event_declare(struct fm_jfr_feed *feed, struct fm_arena *arena, const char *name,
                          const struct fm_field *field, size_t n,
                          const struct fm_jfr_extra *from, struct fm_jfr_event *event)
{
    struct extra extra[4];
    size_t extras = list_extras(from, extra);
    struct fm_field *all = fm_arena_alloc(arena, (n + extras) * sizeof *all);
    memset(event, 0, sizeof *event);
    event->id = FM_CLASS_UNMAPPED;
    event->fields = n + extras;
    event->words = (event->fields + 63) / 64;
    event->wanted = fm_arena_alloc(arena, event->words * 3 * sizeof *event->wanted);
    event->value = fm_arena_alloc(arena, event->fields * sizeof *event->value);
    event->name = fm_arena_str(arena, name);
    if (all == NULL || event->wanted == NULL || event->value == NULL || event->name == NULL)
        return false;
    event->present = event->wanted + event->words;
    event->preset = event->present + event->words;
    event->name_str = fm_builder_str(feed->builder, name, strlen(name));
    if (n > 0)
        memcpy(all, field, n * sizeof *all);
    for (size_t i = 0; i < extras; i++)
        all[n + i] = extra[i].field;
    event->id = fm_class_declare(feed->binding, name, all, event->fields, from->period,
                                 event->wanted);
    if (event->id == -2)
        return false;
    for (size_t i = 0; i < extras && event->id >= 0; i++) {
        const char *text = extra[i].text;
        if (!fm_jfr_event_wants(event, n + i))
            continue;
        preset(event, n + i, text == NULL ? extra[i].lane
                                          : fm_builder_str(feed->builder, text, strlen(text)));
    }
    return true;
}
