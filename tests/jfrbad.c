/*
 * jfrbad.c - damaged recordings of our own making, each with what must be left of it: every kind of
 * damage that is known from real files, and counts that no file can mean. See jfrfix.h.
 *
 * The base is one chunk of 40 samples at ticks 5000, 5010 ... on stacks 1 and 2 by turns, all pools
 * in one checkpoint at the end, as async-profiler writes it.
 */
#include "jfrfix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS 1000000000u
#define SAMPLES 40u

/* at[i] = offset of sample i; at[SAMPLES] = offset of the checkpoint. */
static void base_at(struct jfr *g, uint64_t start_ns, size_t at[SAMPLES + 1])
{
    jfr_schema(g, jfr_types);
    g->size_pad = 4;
    jfr_chunk(g, 2, 0, start_ns, 5000, NS);
    jfr_meta(g);
    for (unsigned i = 0; i < SAMPLES; i++) {
        char text[64];
        snprintf(text, sizeof text, "acme.Sample %u 1 %u", 5000 + 10 * i, 1 + i % 2);
        at[i] = jfr_event(g, text);
    }
    at[SAMPLES] = jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}

static void base(struct jfr *g, size_t at[SAMPLES + 1])
{
    base_at(g, NS, at);
}

static void empty(struct jfr *g)
{
    (void)g;
}

static void bad_magic(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->data[2] = 'X';
}

static void header_only(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->n = 68;
}

static void header_cut(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->n = 40;
}

/* The first of three checkpoints points forward to the last. */
static void checkpoint_loop(struct jfr *g)
{
    size_t first, last;

    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    g->pad = 3;
    g->size_pad = 4;
    first = jfr_pools(g, 0, jfr_pools_text);
    jfr_pools(g, 0, "jdk.types.Symbol 1 8 3:x ");
    jfr_event(g, "acme.Sample 5200 1 2");
    last = jfr_pools(g, 0, "jdk.types.Symbol 1 9 3:y ");
    /* size (4), type, start, duration (3 each), delta: three bytes */
    g->data[first + 13] = (unsigned char)((last - first) & 0x7f) | 0x80;
    g->data[first + 14] = (unsigned char)((last - first) >> 7 & 0x7f) | 0x80;
    g->data[first + 15] = (unsigned char)((last - first) >> 14 & 0x7f);
    jfr_end(g, 1000);
}

/* The last one points at itself. */
static void checkpoint_self(struct jfr *g)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_event(g, "acme.Sample 5200 1 2");
    jfr_pools(g, 0, jfr_pools_text);
    g->checkpoint = g->n - g->chunk;
    jfr_event_begin(g, 1);
    jfr_raw(g, "\0\0\x80\x80\x80\x80\x80\x80\x80\x80\x00\x00\x00", 13);
    jfr_event_end(g);
    jfr_end(g, 1000);
}

static void chunk_size_short(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    jfr_set_be(g, 8, at[30] + 3, 8);
}

static void chunk_size_long(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    jfr_set_be(g, 8, (uint64_t)1 << 62, 8);
}

static void chunk_size_tiny(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    jfr_set_be(g, 8, 12, 8);
}

static void pool_offset_beyond(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    jfr_set_be(g, 16, g->n + 1000, 8);
}

static void pool_offset_inside(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    jfr_set_be(g, 16, at[7] + 1, 8);
}

static void metadata_offset_beyond(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    jfr_set_be(g, 24, (uint64_t)1 << 40, 8);
}

static void event_size_zero(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    memset(g->data + at[28], 0, 4);
}

static void event_size_past(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->data[at[28] + 3] = 0x7f;
}

/* A size that ends inside the event itself. */
static void event_size_one(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->data[at[28]] = 0x81;
}

static void missing_stack(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->data[at[3] + 4 + 2 + 2 + 1] = 77; /* behind size, type, time and thread */
}

/* The count of pools stands behind size (4), type, start, duration, delta, mask. */
static void pool_count_huge(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->data[at[SAMPLES] + 9] = 127;
}

/* A stack of 2^31 - 1 frames behind the good pools. */
static void frame_count_huge(struct jfr *g)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_event_begin(g, 1);
    jfr_long(g, 0);
    jfr_long(g, 0);
    jfr_long(g, g->checkpoint - (uint64_t)(g->event - g->chunk));
    jfr_raw(g, "\x00\x01\x1b\x01\x09\x00\xff\xff\xff\xff\x07\x01", 12);
    jfr_event_end(g);
    g->checkpoint = g->event - g->chunk;
    jfr_end(g, 1000);
}

/* 2^62 entries of a pool of strings, in a checkpoint of a few bytes. */
static void entry_count_huge(struct jfr *g)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_event_begin(g, 1);
    jfr_long(g, 0);
    jfr_long(g, 0);
    jfr_long(g, g->checkpoint - (uint64_t)(g->event - g->chunk));
    jfr_raw(g, "\x00\x01\x09\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x03\x7fxyz", 18);
    jfr_event_end(g);
    g->checkpoint = g->event - g->chunk;
    jfr_end(g, 1000);
}

static void chunk_twice(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    base(g, at);
}

static void string_encoding_9(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->data[68 + 4 + 1 + 3 + 2] = 9; /* size, type, start, duration, id, count */
}

/* The count of strings, of attributes, of children: more than there are bytes. */
static void string_count_huge(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    g->pad = 5;
    base(g, at);
    memcpy(g->data + 68 + 4 + 5 * 4, "\xff\xff\xff\xff\x07", 5);
}

static void third_chunk_cut(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    for (unsigned i = 0; i < 3; i++)
        base_at(g, NS + 1000000 * i, at);
    g->n = at[20] + 3;
}

/* The second of three chunks says it is longer than it is; the third is whole. */
static void middle_chunk(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base_at(g, NS, at);
    base_at(g, 2ull * NS, at);
    jfr_set_be(g, g->chunk + 8, (uint64_t)1 << 50, 8);
    base_at(g, 3ull * NS, at);
}

/* The second one's metadata is lost. */
static void middle_metadata(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base_at(g, NS, at);
    base_at(g, 2ull * NS, at);
    memset(g->data + g->chunk + 72, 0xff, 200);
    base_at(g, 3ull * NS, at);
}

static void trailing_garbage(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    for (unsigned i = 0; i < 1000; i++)
        jfr_be(g, i * 37 % 251, 1);
}

static void trailing_zeros(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    for (unsigned i = 0; i < 500; i++)
        jfr_be(g, 0, 8);
}

static void cut_in_events(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->n = at[8] + 5;
}

static void cut_between_events(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->n = at[8];
}

/* Behind the types' pools and the threads'. */
static void cut_in_pools(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    g->n = jfr_find(g, "java/lang/Object", 16);
}

static void zero_tail(struct jfr *g)
{
    size_t at[SAMPLES + 1], from;

    base(g, at);
    from = jfr_find(g, "java/lang/Object", 16);
    memset(g->data + from, 0, g->n - from);
}

/* A sample written into the middle of another one, whose size then ends in a third. */
static void nested(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    memmove(g->data + at[5] + 6, g->data + at[6], at[7] - at[6]);
}

/* Inline types that hold themselves, and a field of a type that nobody has. */
static void endless_type(struct jfr *g)
{
    jfr_schema(g, jfr_types);
    jfr_schema_add(g, "40 acme.Self next=acme.Self\n"
                      "41 acme.Tree kids=acme.Tree[]\n"
                      "151 acme.Bad :jdk.jfr.Event startTime=long@Timestamp=TICKS"
                      " self=acme.Self stackTrace=jdk.types.StackTrace#\n"
                      "152 acme.Kids :jdk.jfr.Event startTime=long@Timestamp=TICKS"
                      " tree=acme.Tree stackTrace=jdk.types.StackTrace#\n");
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_event_begin(g, 151);
    jfr_raw(g, "\x80\x27\x01\x01\x01\x01\x01", 7);
    jfr_event_end(g);
    jfr_event_begin(g, 152);
    jfr_raw(g, "\x80\x27\x01\x01\x01\x01\x01", 7);
    jfr_event_end(g);
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}

/* An event that ends before its last fields do. */
static void event_short(struct jfr *g)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_event_begin(g, jfr_type_id(g, "acme.Sample"));
    jfr_raw(g, "\x80", 1);
    jfr_event_end(g);
    jfr_event(g, "acme.Sample 5200 1 2");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}

static void no_ticks_rate(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    jfr_set_be(g, 56, 0, 8);
}

/* The first header is wrong, the second chunk is whole. */
static void first_ticks_rate(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    jfr_set_be(g, 56, 0, 8);
    base_at(g, 3 * (uint64_t)NS, at);
}

static void first_version(struct jfr *g)
{
    size_t at[SAMPLES + 1];

    base(g, at);
    jfr_set_be(g, 4, 3, 2);
    base_at(g, 3 * (uint64_t)NS, at);
}

/* Structs in structs in structs, 20 to the power of 6 numbers: nothing is read behind them. */
static void wide_type(struct jfr *g)
{
    char text[512];
    size_t n;

    jfr_schema(g, jfr_types);
    for (unsigned level = 0; level < 6; level++) {
        n = (size_t)snprintf(text, sizeof text, "%u acme.W%u", 40 + level, level);
        for (unsigned i = 0; i < 20; i++)
            n += level == 0 ? (size_t)snprintf(text + n, sizeof text - n, " f%u=int", i)
                            : (size_t)snprintf(text + n, sizeof text - n, " f%u=acme.W%u", i,
                                               level - 1);
        snprintf(text + n, sizeof text - n, "\n");
        jfr_schema_add(g, text);
    }
    jfr_schema_add(g, "151 acme.Wide :jdk.jfr.Event startTime=long@Timestamp=TICKS"
                      " stackTrace=jdk.types.StackTrace# wide=acme.W5\n");
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_event_begin(g, 151);
    jfr_raw(g, "\x80\x27\x01\x01\x01\x01\x01", 7);
    jfr_event_end(g);
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}

/* A stack whose method's class's loader's class has that loader again. */
static void reference_cycle(struct jfr *g)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_pools(g, 0,
              "jdk.types.FrameType 1 0 3:Interpreted "
              "java.lang.Thread 1 1 3:main 101 3:main 1 5 0 "
              "jdk.types.ThreadGroup 2 5 6 3:a 6 5 3:b "
              "java.lang.Class 1 1 1 1 1 0 0 jdk.types.ClassLoader 1 1 1 2 "
              "jdk.types.Package 1 1 1 jdk.types.Symbol 2 1 3:p/C 2 3:m "
              "jdk.types.Method 1 1 1 2 2 0 0 jdk.types.StackTrace 1 1 0 1 1 4 0 0 ");
    jfr_end(g, 1000);
}

const struct jfr_fixture jfr_damages[] = {
    {"empty", empty, JFR_NOTHING, NULL, 0, 0, "empty"},
    {"bad-magic", bad_magic, JFR_NOTHING, NULL, 0, 0, NULL},
    {"header-only", header_only, JFR_NOTHING, NULL, 0, 0, NULL},
    {"header-cut", header_cut, JFR_NOTHING, NULL, 0, 0, NULL},
    {"checkpoint-loop", checkpoint_loop, JFR_DAMAGED,
     "acme.Sample 1000000100 w1 main app/Work.main:10i;app/Work.run:20i;app/Work.leaf:30j\n"
     "acme.Sample 1000000200 w1 main app/Work.main:11i;app/Work.run:21n\n", 2, 0, NULL},
    {"checkpoint-self", checkpoint_self, JFR_WHOLE, NULL, 2, 0, NULL},
    {"chunk-size-short", chunk_size_short, JFR_DAMAGED, NULL, 30, 40, NULL},
    {"chunk-size-long", chunk_size_long, JFR_DAMAGED, NULL, 40, 0, NULL},
    {"chunk-size-tiny", chunk_size_tiny, JFR_DAMAGED, NULL, 40, 0, NULL},
    {"pool-offset-beyond", pool_offset_beyond, JFR_DAMAGED, NULL, 40, 0, NULL},
    {"pool-offset-inside", pool_offset_inside, JFR_DAMAGED, NULL, 40, 0, NULL},
    {"metadata-offset-beyond", metadata_offset_beyond, JFR_DAMAGED, NULL, 40, 0, NULL},
    {"event-size-zero", event_size_zero, JFR_DAMAGED, NULL, 28, 0, NULL},
    {"event-size-past", event_size_past, JFR_DAMAGED, NULL, 28, 0, NULL},
    {"event-size-one", event_size_one, JFR_DAMAGED, NULL, 28, 0, NULL},
    {"missing-stack", missing_stack, JFR_WHOLE, NULL, 40, 0, NULL},
    {"pool-count-huge", pool_count_huge, JFR_DAMAGED, NULL, 40, 0, NULL},
    {"frame-count-huge", frame_count_huge, JFR_DAMAGED,
     "acme.Sample 1000000100 w1 main app/Work.main:10i;app/Work.run:20i;app/Work.leaf:30j\n", 1, 0,
     NULL},
    {"entry-count-huge", entry_count_huge, JFR_DAMAGED,
     "acme.Sample 1000000100 w1 main app/Work.main:10i;app/Work.run:20i;app/Work.leaf:30j\n", 1, 0,
     NULL},
    {"chunk-twice", chunk_twice, JFR_WHOLE, NULL, 80, 0, NULL},
    {"string-encoding-9", string_encoding_9, JFR_NOTHING, NULL, 0, 0, "encoding 9"},
    {"string-count-huge", string_count_huge, JFR_NOTHING, NULL, 0, 0, NULL},
    {"third-chunk-cut", third_chunk_cut, JFR_DAMAGED, NULL, 80, 100, NULL},
    {"middle-chunk", middle_chunk, JFR_DAMAGED, NULL, 80, 120, NULL},
    {"middle-metadata", middle_metadata, JFR_DAMAGED, NULL, 80, 0, NULL},
    {"trailing-garbage", trailing_garbage, JFR_DAMAGED, NULL, 40, 0, NULL},
    {"trailing-zeros", trailing_zeros, JFR_DAMAGED, NULL, 40, 0, NULL},
    {"cut-in-events", cut_in_events, JFR_DAMAGED, NULL, 8, 0, NULL},
    {"cut-between-events", cut_between_events, JFR_DAMAGED, NULL, 8, 0, NULL},
    {"cut-in-pools", cut_in_pools, JFR_DAMAGED, NULL, 40, 0, NULL},
    {"zero-tail", zero_tail, JFR_DAMAGED, NULL, 40, 0, NULL},
    {"nested", nested, JFR_DAMAGED, NULL, 5, 40, NULL},
    {"endless-type", endless_type, JFR_DAMAGED, NULL, 1, 3, NULL},
    {"event-short", event_short, JFR_DAMAGED, NULL, 2, 3, NULL},
    {"no-ticks-rate", no_ticks_rate, JFR_NOTHING, NULL, 0, 0, NULL},
    {"first-ticks-rate", first_ticks_rate, JFR_DAMAGED, NULL, 40, 0, "ticks per second"},
    {"first-version", first_version, JFR_DAMAGED, NULL, 40, 0, "version 3.0"},
    {"wide-type", wide_type, JFR_DAMAGED, NULL, 2, 0, "cannot be read"},
    {"reference-cycle", reference_cycle, JFR_WHOLE,
     "acme.Sample 1000000100 w1 main p/C.m:4i\n", 1, 0, NULL},
    {"0.9-cut", jfr_09_cut, JFR_NOTHING, NULL, 0, 0, "its types stood at its end"},
    {"0.9-cut-behind-2", jfr_09_cut_behind_2, JFR_DAMAGED, NULL, 3, 0, "its types stood at"},
    {"0.9-event-size", jfr_09_event_size, JFR_DAMAGED,
     "jdk.ExecutionSample 1000000500 w1 main app/Work.main:10i;app/Work.run:20j\n", 1, 0,
     "event of 5000 bytes"},
    {"0.9-endless", jfr_09_endless, JFR_DAMAGED,
     "jdk.ExecutionSample 1000000500 w1  [unknown%20stack]s\n", 1, 0, NULL}, /* no name */
    {NULL, NULL, 0, NULL, 0, 0, NULL},
};
