/*
 * jfr.h - what the readers of JFR 0.9 (v0.c) and of 1.x and 2.x share: damage, clocks, types of
 * fields, names of classes and methods, frames, stacks, threads, and the way into the mapping.
 *
 *     chunk ── events ──> struct fm_jfr_feed ──> fm_event() ──> rows
 *                            │ one for each builder that is filled (a chunk on its own thread)
 *                            └ names, frames, stacks, threads of that builder
 */
#ifndef FM_IMPORT_JFR_JFR_H
#define FM_IMPORT_JFR_JFR_H

#include "import/import.h"
#include "import/jfr/value.h"

/* ----------------------------------------------------------------- numbers */

/* What a number means, by the annotations of its field. */
enum fm_jfr_as {
    FM_JFR_PLAIN,
    FM_JFR_TIME_TICKS, FM_JFR_TIME_NS, FM_JFR_TIME_MS, FM_JFR_TIME_S,
    FM_JFR_SPAN_TICKS, FM_JFR_SPAN_NS, FM_JFR_SPAN_US, FM_JFR_SPAN_MS, FM_JFR_SPAN_S,
    FM_JFR_BYTES, FM_JFR_BITS, FM_JFR_ADDRESS, FM_JFR_HERTZ, FM_JFR_SHARE
};

/* ns since 1970 = start_ns + (ticks - start_ticks) * 10^9 / ticks_per_second, towards zero. */
struct fm_jfr_clock {
    int64_t start_ns, start_ticks;
    uint64_t per_second;        /* > 0 */
};
/* false: the result does not fit. */
bool fm_jfr_clock_time(const struct fm_jfr_clock *clock, int64_t ticks, int64_t *ns);
bool fm_jfr_clock_span(const struct fm_jfr_clock *clock, int64_t ticks, int64_t *ns);

/* A time or span (`as`) as ns; false: it says "none" or "forever", or does not fit. */
bool fm_jfr_number_ns(const struct fm_jfr_clock *clock, enum fm_jfr_as as, int64_t raw,
                      int64_t *ns);
/* Type and unit (or NULL) of an integer field. */
enum fm_type fm_jfr_number_type(enum fm_jfr_as as, bool is_unsigned, const char **unit);

/* -------------------------------------------------------------------- feed */

enum fm_jfr_place { FM_JFR_NO_STACK, FM_JFR_UNKNOWN_STACK, FM_JFR_PLACES };

struct fm_jfr_feed {
    struct fm_ctx *ctx;
    struct fm_mem *mem;
    const char *name;           /* of the input, for messages */
    struct fm_builder *builder;
    struct fm_binding *binding;
    const char *events;         /* that are asked for, NULL: all */
    enum fm_status damage;      /* the first, described in err; FM_OK: none */
    struct fm_error err;
    bool quiet;                 /* findings are not counted: they have been before */
    bool oom;
    fm_node place[FM_JFR_PLACES]; /* FM_NONE: not made yet */
    fm_frame truncated;
    fm_frame *frame;            /* scratch of fm_jfr_stack() */
    size_t frame_cap;
    struct fm_jfr_buf text;     /* scratch of names */
};

/* A feed for `builder`: binds the mapping to it. */
enum fm_status fm_jfr_feed_init(struct fm_jfr_feed *feed, const struct fm_import *import,
                                struct fm_builder *builder, struct fm_error *err);
void fm_jfr_feed_release(struct fm_jfr_feed *feed);

/* Counts a finding (FM_DIAGS: it is counted elsewhere); the first becomes the feed's error, with
 * name and offset. */
void fm_jfr_damage(struct fm_jfr_feed *feed, enum fm_diag key, enum fm_status status,
                   uint64_t offset, const char *fmt, ...) FM_PRINTF(5, 6);
static inline void fm_jfr_note(struct fm_jfr_feed *feed, enum fm_diag key, uint64_t offset,
                               uint64_t n)
{
    if (!feed->quiet)
        fm_builder_diag(feed->builder, key, offset, n);
}

/* ------------------------------------------------------------------- names */

/* "[[Ljava/lang/String;" -> "java.lang.String[][]", "[B" -> "byte[]", '/' -> '.'. */
fm_str fm_jfr_class_name(struct fm_jfr_feed *feed, const char *symbol, size_t n);
/* "pkg/Cls.method"; the method alone when there is no class (class_n == 0). */
fm_str fm_jfr_method_name(struct fm_jfr_feed *feed, const char *class, size_t class_n,
                          const char *method, size_t method_n);

/* ------------------------------------------------------------------ frames */

/* Kind by the text of the frame type ("Interpreted", "JIT compiled", "Inlined", "Native" …).
 * A Java native method and a C function are both "Native": kind user. */
enum fm_frame_kind fm_jfr_frame_kind(const char *type, size_t n);

struct fm_jfr_frame {
    fm_str function;
    fm_str signature;           /* "(I)V", 0 = none */
    fm_module module;           /* library of a native function, or FM_NONE */
    enum fm_frame_kind kind;
    int64_t line, bci;          /* <= 0 and < 0: unknown */
};
fm_frame fm_jfr_frame_add(struct fm_jfr_feed *feed, const struct fm_jfr_frame *frame);
/* Module of a native library by its name, FM_NONE for "". */
fm_module fm_jfr_library(struct fm_jfr_feed *feed, const char *name, size_t n);

/* A stack of n frames, LEAF first; `truncated` puts "[truncated]" at its root. */
fm_node fm_jfr_stack(struct fm_jfr_feed *feed, const fm_frame *leaf, size_t n, bool truncated);
/* Room for n frames, kept in the feed; NULL = no memory (feed->oom). */
fm_frame *fm_jfr_frames(struct fm_jfr_feed *feed, size_t n);
/* "[no stack]" (the event has none) or "[unknown stack]" (its key is in no pool). */
fm_node fm_jfr_no_stack(struct fm_jfr_feed *feed, enum fm_jfr_place place);

/* ----------------------------------------------------------------- threads */

struct fm_jfr_thread {
    int64_t pid;                /* -1 unknown */
    uint32_t jvm;               /* number of the JVM in this input: two never share a thread */
    int64_t os_id;              /* 0: none (virtual threads) */
    int64_t java_id;            /* 0: none */
    bool is_virtual;
    const char *os_name, *java_name;  /* NULL: none */
    size_t os_name_n, java_name_n;
    uint32_t reused;            /* tells threads apart that had the same OS id: 0.9 */
    int64_t since;              /* of the name, beside that it is the name from the beginning;
                                 * INT64_MIN: only that */
};
/* Named by its Java name, else by that of the OS; a virtual one without is "virtual-JAVAID". */
fm_thread fm_jfr_thread_add(struct fm_jfr_feed *feed, const struct fm_jfr_thread *thread);

/* ----------------------------------------------------------------- classes */

/* A declared event class and the fields of the event that is being read. */
struct fm_jfr_event {
    int id;                     /* or FM_CLASS_UNMAPPED, FM_CLASS_NOT_ASKED */
    const char *name;
    fm_str name_str;
    size_t fields, words;
    uint64_t *wanted;           /* bits by field */
    uint64_t *value;            /* by field */
    uint64_t *present, *preset; /* bits; preset: fields that are the same in every event */
};

/*
 * Declares the class with fields[n] of its own and those that the importer adds where they are
 * known: `period` and `wallPeriod` (ns), `writer`, `profiled`. Arrays lie in the arena. false: no
 * memory.
 */
struct fm_jfr_extra {
    const char *writer;         /* "hotspot", "async-profiler" …; NULL: absent */
    const char *profiled;       /* what the samples count ("cpu", "cycles" …); NULL: absent */
    uint64_t period, wall_period; /* 0: absent */
};
bool fm_jfr_event_declare(struct fm_jfr_feed *feed, struct fm_arena *arena, const char *name,
                          const struct fm_field *field, size_t n,
                          const struct fm_jfr_extra *extra, struct fm_jfr_event *event);

static inline bool fm_jfr_event_wants(const struct fm_jfr_event *event, size_t field)
{
    return event->id >= 0 && (event->wanted[field >> 6] >> (field & 63) & 1) != 0;
}

static inline void fm_jfr_event_begin(struct fm_jfr_event *event)
{
    for (size_t w = 0; w < event->words; w++)
        event->present[w] = event->preset[w];
}

static inline void fm_jfr_event_set(struct fm_jfr_event *event, size_t field, uint64_t lane)
{
    event->value[field] = lane;
    event->present[field >> 6] |= UINT64_C(1) << (field & 63);
}

/* Adds the event's row. */
static inline void fm_jfr_event_end(struct fm_jfr_feed *feed, const struct fm_jfr_event *event,
                                    uint64_t offset)
{
    fm_binding_at(feed->binding, offset);
    (void)fm_event(feed->binding, event->id, event->value, event->present);
}

#endif
