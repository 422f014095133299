/*
 * jfrfix.c - recordings of our own making: what each is about stands above it. See jfrfix.h; those
 * of version 0.9 are in jfrgen09.c, damaged ones in jfrbad.c.
 *
 * Times: chunks begin at 1,000,000,000 ns and 5,000 ticks of 1 ns unless it is said otherwise, so
 * that tick 5,100 is 1000000100.
 */
#include "jfrfix.h"

#include <stdio.h>
#include <string.h>

#define NS 1000000000u

/* Thread 1 "main", 2 a thread of the VM; stacks 1 (three frames) and 2 (two). */
const char jfr_pools_text[] =
    "jdk.types.FrameType 4 0 3:Interpreted 1 3:JIT%20compiled 2 3:Inlined 3 3:Native "
    "jdk.types.ThreadState 2 5 3:STATE_RUNNABLE 6 3:STATE_SLEEPING "
    "java.lang.Thread 2 1 3:main 101 3:main 1 0 0 2 3:os-2 102 0: 0 0 0 "
    "jdk.types.Symbol 7 1 3:app/Work 2 3:main 3 3:run 4 3:leaf 5 3:()V 6 3:java/lang/Object 7 3:[B "
    "java.lang.Class 3 1 0 1 0 1 0 2 0 6 0 1 0 3 0 7 0 1 0 "
    "jdk.types.Method 3 11 1 2 5 9 0 12 1 3 5 9 0 13 1 4 5 9 0 "
    "jdk.types.StackTrace 2 1 0 3 13 30 3 1 12 20 2 0 11 10 1 0 2 0 2 12 21 5 2 11 11 1 0 ";

#define STACK1 "app/Work.main:10i;app/Work.run:20i;app/Work.leaf:30j"
#define STACK2 "app/Work.main:11i;app/Work.run:21n"
#define OLD_STACK "app/Work.main:10i;app/Work.run:20j"

static void begin(struct jfr *g, unsigned major, unsigned minor)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, major, minor, NS, 5000, NS);
}

void jfr_small_chunk(struct jfr *g, uint64_t start_ns, uint64_t start_ticks)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 1, start_ns, start_ticks, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_event(g, "acme.Sample 5200 1 2");
    jfr_event(g, "acme.Sample 5300 2 2");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}

/* ---------------------------------------------------------------- versions */

#define SMALL_ROWS "acme.Sample 1000000100 w1 main " STACK1 "\n" \
    "acme.Sample 1000000200 w1 main " STACK2 "\n" \
    "acme.Sample 1000000300 w1 os-2 " STACK2 "\n"

static void version_2_1(struct jfr *g)
{
    jfr_small_chunk(g, NS, 5000);
}

static void small_of(struct jfr *g, unsigned major, unsigned minor)
{
    begin(g, major, minor);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_event(g, "acme.Sample 5200 1 2");
    jfr_event(g, "acme.Sample 5300 2 2");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}

static void version_2_0(struct jfr *g)
{
    small_of(g, 2, 0);
}

/* A minor nobody has written yet. */
static void version_2_9(struct jfr *g)
{
    small_of(g, 2, 9);
}

/* 1.0: com.oracle.jdk.ExecutionSample and com.oracle.jfr.types.StackTrace are the same things. */
static void version_1_0(struct jfr *g)
{
    g->old_names = true;
    begin(g, 1, 0);
    jfr_meta(g);
    jfr_event(g, "jdk.ObjectAllocationInNewTLAB 5100 1 1 3 24 4096");
    jfr_event(g, "jdk.JavaMonitorEnter 5200 40 1 2 2 2 77");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}

static void version_3_0(struct jfr *g)
{
    small_of(g, 3, 0);
}

/* Integers of fixed width, which no known writer makes: refused. */
static void fixed_integers(struct jfr *g)
{
    g->fixed = true;
    small_of(g, 2, 0);
}

/* Nine bytes for every varint, also where one would do. */
static void padded_varints(struct jfr *g)
{
    g->pad = 9;
    g->size_pad = 5;
    small_of(g, 2, 1);
}

static void padded_sizes(struct jfr *g)
{
    g->pad = 3;
    g->size_pad = 4;
    small_of(g, 2, 1);
}

/* ----------------------------------------------------------------- strings */

/* Thread names in each encoding: a pair of surrogates as two times three bytes, NUL as C0 80, a key
 * into the pool of strings, null with an OS name, empty with an OS name, a virtual thread. */
static void strings(struct jfr *g)
{
    begin(g, 2, 1);
    jfr_meta(g);
    for (unsigned i = 1; i <= 12; i++) {
        char text[64];
        snprintf(text, sizeof text, "acme.Sample %u %u 1", 5100 + i, i);
        jfr_event(g, text);
    }
    jfr_pools(g, 0, jfr_pools_text);
    jfr_pools(g, 0,
              "java.lang.String 2 40 3:from%20the%20pool 41 4:%u65E5%u672C "
              "java.lang.Thread 12 "
              "1 0: 1 3:gr%C3%B6%C3%9Fe 1 0 0 "
              "2 0: 2 3:%ED%A0%BD%ED%B8%80 2 0 0 "
              "3 0: 3 3:a%C0%80b 3 0 0 "
              "4 0: 4 5:caf%E9 4 0 0 "
              "5 0: 5 4:%u65E5%u672C%u8A9E 5 0 0 "
              "6 0: 6 4:%uD83D%uDE00! 6 0 0 "
              "7 0: 7 4:plain 7 0 0 "
              "8 0: 8 2:40 8 0 0 "
              "9 0: 9 2:41 9 0 0 "
              "10 3:os%20name 10 0: 0 0 0 "
              "11 3:a;b%22c%09d 11 3:a;b%22c%09d 11 0 0 "
              "12 0: 0 1: 12 0 1 ");
    jfr_end(g, 1000);
}

/* A string that is no UTF-8 and a lone surrogate: the rows count, whatever the name becomes. */
static void strings_invalid(struct jfr *g)
{
    begin(g, 2, 1);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 8 1");
    jfr_event(g, "acme.Sample 5200 9 1");
    jfr_event(g, "acme.Sample 5300 10 1");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_pools(g, 0,
              "java.lang.Thread 3 8 0: 8 3:%FF%FE%80x 8 0 0 9 0: 9 3:%ED%A0%BDx 9 0 0 "
              "10 0: 10 4:%uD83Dx 10 0 0 ");
    jfr_end(g, 1000);
}

/* ------------------------------------------------------------------ layout */

/* startTime is not first, fields of every kind stand before what is read, more fields and bytes
 * behind it; duration is last. */
static void order(struct jfr *g)
{
    static const unsigned char more[] = {0x80, 0xff, 0x00, 0x7f, 0x80};

    jfr_schema(g, jfr_types);
    jfr_schema_add(g,
                   "33 acme.Deep a=int b=jdk.types.VirtualSpace c=java.lang.String[]\n"
                   "34 acme.One! only=short\n"
                   "150 acme.Sample :jdk.jfr.Event flag=boolean by=byte ch=char sh=short in=int"
                   " lo=long fl=float dou=double st=java.lang.String keys=jdk.types.Symbol#[]"
                   " deep=acme.Deep one=acme.One many=acme.Deep[] stackTrace=jdk.types.StackTrace#"
                   " startTime=long@Timestamp=TICKS eventThread=java.lang.Thread#"
                   " last=java.lang.String\n");
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event_more(g,
                   "acme.Sample 1 -1 65535 -2 -3 -4 0x3f800000 0x3ff0000000000000 3:text 3 1 2 3 "
                   "7 8 9 2 4:ab 0: -5 2 1 2 3 0 4 5 6 1 5:x 1 5100 1 3:end",
                   more, sizeof more);
    jfr_event(g, "acme.Sample 0 0 0 0 0 0 0 0 0: 0 0 0 0 0 0 0 2 5200 2 2:99");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}

/* Types that the metadata does not have, between others; metadata twice, the second with a type
 * more, the header pointing at it. */
static void unknown_types(struct jfr *g)
{
    begin(g, 2, 1);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_event_begin(g, 4711);
    jfr_raw(g, "any bytes", 9);
    jfr_event_end(g);
    jfr_schema_add(g, "151 acme.Late :jdk.jfr.Event startTime=long@Timestamp=TICKS"
                      " stackTrace=jdk.types.StackTrace# eventThread=java.lang.Thread#\n");
    jfr_meta(g);
    jfr_event(g, "acme.Late 5200 2 2");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}

/* ------------------------------------------------------------------- pools */

/* Three checkpoints linked by their deltas; what is named first stands in the last; a pool without
 * entries, the same type twice in one checkpoint, a String pool of one null entry, a ChunkHeader
 * pool. Key 3 of Symbol is written twice: the newer one counts. */
static void pool_chain(struct jfr *g)
{
    begin(g, 2, 1);
    jfr_meta(g);
    jfr_pools(g, 8, "jdk.types.StackTrace 1 1 0 3 13 30 3 1 12 20 2 0 11 10 1 0 "
                    "jdk.types.Symbol 1 3 3:old ");
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_pools(g, 1,
              "jdk.types.StackTrace 0 jdk.types.Method 1 11 1 2 5 9 0 jdk.types.Symbol 0 "
              "jdk.types.Method 2 12 1 3 5 9 0 13 1 4 5 9 0 java.lang.String 1 0 0: "
              "jdk.types.ChunkHeader 1 1 68 "
              "70 76 82 0 0 2 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
              "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 3 "
              "jdk.types.FrameType 3 0 3:Interpreted 1 3:JIT%20compiled 2 3:Inlined ");
    jfr_event(g, "acme.Sample 5200 1 2");
    jfr_pools(g, 0,
              "java.lang.Thread 1 1 3:main 101 3:main 1 0 0 "
              "jdk.types.Symbol 4 1 3:app/Work 2 3:main 4 3:leaf 5 3:()V "
              "java.lang.Class 1 1 0 1 0 1 0 jdk.types.Symbol 1 3 3:run "
              "jdk.types.StackTrace 1 2 0 2 12 21 5 2 11 11 1 0 ");
    jfr_end(g, 1000);
}

/* Keys as they come: negative, of 64 bits, and 0 where the writer uses it. */
static void keys(struct jfr *g)
{
    begin(g, 2, 1);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 0x8000000000000001 -7");
    jfr_event(g, "acme.Sample 5200 0x7fffffffffffffff 0xffffffff00000001");
    jfr_pools(g, 0,
              "jdk.types.FrameType 1 0 3:Interpreted "
              "java.lang.Thread 2 0x8000000000000001 3:a 1 3:first 1 0 0 "
              "0x7fffffffffffffff 3:b 2 3:second 2 0 0 "
              "jdk.types.Symbol 3 0x1000000000000001 3:C 0x2000000000000001 3:m -1 3:n "
              "java.lang.Class 1 0xdeadbeefcafebabe 0 0x1000000000000001 0 0 0 "
              "jdk.types.Method 2 -9223372036854775808 0xdeadbeefcafebabe 0x2000000000000001 0 0 0 "
              "-2 0xdeadbeefcafebabe -1 0 0 0 "
              "jdk.types.StackTrace 2 -7 0 1 -9223372036854775808 1 0 0 "
              "0xffffffff00000001 0 2 -2 2 0 0 -9223372036854775808 3 0 0 ");
    jfr_end(g, 1000);
}

/* A pool of a type that the metadata does not have ends its checkpoint; the other still counts. */
static void pool_unknown(struct jfr *g)
{
    begin(g, 2, 1);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_event_begin(g, 1);
    for (unsigned i = 0; i < 2; i++)
        jfr_long(g, 0);
    jfr_long(g, g->checkpoint - (uint64_t)(g->event - g->chunk));
    jfr_be(g, 0, 1);
    jfr_be(g, 2, 1);
    jfr_raw(g, "\x1d\x01\x09\x03\x01?\xd0\x24\x01\x01\x01\x02\x03", 13);
    jfr_event_end(g);
    g->checkpoint = g->event - g->chunk;
    jfr_end(g, 1000);
}

/* Cut stacks, lines and methods that are not known, a missing stack, a missing method, a missing
 * thread. */
static void stacks(struct jfr *g)
{
    begin(g, 2, 1);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 5");
    jfr_event(g, "acme.Sample 5200 1 0");
    jfr_event(g, "acme.Sample 5300 1 99");
    jfr_event(g, "acme.Sample 5400 0 2");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_pools(g, 0, "jdk.types.StackTrace 1 5 1 2 13 -1 -1 3 12 0 0 0 ");
    jfr_end(g, 1000);
}

/* ---------------------------------------------------------------- rotation */

/* Chunk 1 goes on where chunk 0 ends; its event's stack and thread are in chunk 0's pools alone. */
static void contiguous(struct jfr *g)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 2");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
    jfr_chunk(g, 2, 1, NS + 1000, 6000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5900 1 1");
    jfr_event(g, "acme.Sample 6100 7 7");
    jfr_pools(g, 0, "java.lang.Thread 1 7 3:late 107 3:late 7 0 0 "
                    "jdk.types.FrameType 1 0 3:Interpreted "
                    "jdk.types.Symbol 2 61 3:B 62 3:b "
                    "java.lang.Class 1 6 0 61 0 1 0 jdk.types.Method 1 16 6 62 0 1 0 "
                    "jdk.types.StackTrace 1 7 0 1 16 5 0 0 ");
    jfr_end(g, 1000);
}

/* The same keys in another JVM's chunk mean other things, and one that is missing there is not to
 * be taken from the first. Other type ids too. */
static void colliding(struct jfr *g)
{
    jfr_small_chunk(g, NS, 5000);
    jfr_schema_add(g,
                   "150 acme.Other :jdk.jfr.Event startTime=long@Timestamp=TICKS n=int\n"
                   "250 acme.Sample :jdk.jfr.Event startTime=long@Timestamp=TICKS"
                   " eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace#\n");
    jfr_chunk(g, 2, 1, 9ull * NS, 100, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 200 1 1");
    jfr_event(g, "acme.Sample 300 1 2");
    jfr_event(g, "acme.Other 300 1");
    jfr_pools(g, 0, "java.lang.Thread 1 1 3:other 101 3:other 1 0 0 "
                    "jdk.types.FrameType 1 0 3:JIT%20compiled "
                    "jdk.types.Symbol 2 1 3:z/Z 2 3:zz "
                    "java.lang.Class 1 1 0 1 0 1 0 jdk.types.Method 1 11 1 2 0 1 0 "
                    "jdk.types.StackTrace 1 1 0 1 11 5 0 0 ");
    jfr_end(g, 1000);
}

/* Rates of 2.8 GHz and 10 MHz; an event before the chunk's first tick, truncated towards zero:
 * -2 ticks at 2799999858/s are -0.71 ns, which is 0. */
static void rates(struct jfr *g)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 0, NS, 5000, 2799999858u);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 2800004998 1 2");
    jfr_event(g, "acme.Sample 4998 1 2");
    jfr_event(g, "acme.Sample -2799994858 1 2");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
    jfr_chunk(g, 2, 0, 5ull * NS, 70, 10000000);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 71 1 2");
    jfr_event(g, "jdk.ThreadSleep 60 33 1 2 7");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}

/* A JVM's chunk and a profiler's in one file, each with its own clock. */
static void mixed(struct jfr *g)
{
    jfr_small_chunk(g, NS, 5000);
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 0, NS, 777000, NS);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 777050 2 1");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 500);
}

/* -------------------------------------------------------------- unfinished */

/* A JVM's chunk while it is written: state 3, the header as of the last flush, bytes behind. */
static void in_progress(struct jfr *g)
{
    size_t size;

    jfr_small_chunk(g, NS, 5000);
    size = g->n;
    jfr_event(g, "acme.Sample 5900 1 1");
    jfr_raw(g, "\x90\x01\x01", 3);
    g->data[64] = 3;
    jfr_set_be(g, 8, size, 8);
}

/* A profiler that was killed: size 2^30, no offsets; metadata is the first event. */
static void killed(struct jfr *g)
{
    begin(g, 2, 0);
    jfr_meta(g);
    jfr_event(g, "acme.Sample 5100 1 1");
    jfr_event(g, "acme.Sample 5200 2 1");
    jfr_event(g, "acme.Sample 5300 1 9");
    jfr_raw(g, "\x20\x96\x01\x00", 4);
    jfr_set_be(g, 8, (uint64_t)1 << 30, 8);
}

#define MODES_PROFILER \
    "jdk.ExecutionSample 1000000100 w10000000 main " STACK1 "\n" \
    "jdk.ExecutionSample 1000000110 w10000000 main " STACK1 "\n" \
    "jdk.ExecutionSample 1000000120 w10000000 os-2 [no%20stack]s\n" \
    "jdk.ExecutionSample 1000000150 w50000000 main " STACK2 "\n" \
    "jdk.JavaMonitorEnter 1000000400+40 w40 main " STACK2 " class=java.lang.Object\n" \
    "jdk.ObjectAllocationInNewTLAB 1000000300 w4096 main " STACK1 " class=byte[]\n" \
    "jdk.ObjectAllocationInNewTLAB 1000000310 w24 main " STACK1 " class=java.lang.Object\n" \
    "profiler.Free 1000000700 w0 main [no%20stack]s\n" \
    "profiler.Free 1000000720 w0 main [no%20stack]s\n" \
    "profiler.LiveObject 1000000300 w24 main " STACK1 " class=byte[]\n" \
    "profiler.Malloc 1000000600 w100 main " STACK1 "\n" \
    "profiler.Malloc 1000000610 w200 main " STACK2 "\n" \
    "profiler.Malloc 1000000710 w400 main " STACK1 "\n" \
    "profiler.NativeLock 1000000500+30 w30 main " STACK1 "\n" \
    "profiler.WallClockSample 1000000200+150 w200000000 x4 main " STACK2 "\n"

#define MODES_HOTSPOT \
    "acme.Sample 1000000600 w1 main " STACK1 "\n" \
    "jdk.CPULoad.jvmSystem 1000000500 w0 - \n" \
    "jdk.CPULoad.jvmUser 1000000500 w0 - \n" \
    "jdk.CPULoad.machineTotal 1000000500 w0 - \n" \
    "jdk.CPUTimeSample 1000000130 w10 main " STACK1 "\n" \
    "jdk.CPUTimeSample 1000000140 w20 main " STACK2 "\n" \
    "jdk.CPUTimeSample 1000000150 w10 main [no%20stack]s\n" \
    "jdk.ExecutionSample 1000000100 w20000000 main " STACK1 "\n" \
    "jdk.ExecutionSample 1000000120 w20000000 main " STACK2 "\n" \
    "jdk.GCHeapSummary 1000000490 w0 - \n" \
    "jdk.GCPhasePause 1000000400+90 w90 os-2 \n" \
    "jdk.JavaExceptionThrow 1000000340 w1 main " STACK2 " class=java.lang.Object\n" \
    "jdk.JavaMonitorEnter 1000000300+40 w40 main " STACK2 " class=java.lang.Object\n" \
    "jdk.MethodTrace 1000000350+80 w80 main " STACK2 ";app/Work.leaf?\n" \
    "jdk.ObjectAllocationSample 1000000200 w1000 main " STACK1 " class=byte[]\n" \
    "jdk.SocketRead 1000000330+70 w70 main " STACK2 "\n" \
    "jdk.ThreadPark 1000000310+50 w50 main " STACK2 "\n" \
    "jdk.ThreadSleep 1000000320+60 w60 main " STACK2 "\n"

const struct jfr_fixture jfr_fixtures[] = {
    {"version-2.1", version_2_1, JFR_WHOLE, SMALL_ROWS, 3, 0, NULL},
    {"version-2.0", version_2_0, JFR_WHOLE, SMALL_ROWS, 3, 0, NULL},
    {"version-2.9", version_2_9, JFR_WHOLE, SMALL_ROWS, 3, 0, NULL},
    {"version-1.0", version_1_0, JFR_WHOLE,
     "jdk.JavaMonitorEnter 1000000200+40 w40 main " STACK2 " class=java.lang.Object\n"
     "jdk.ObjectAllocationInNewTLAB 1000000100 w4096 main " STACK1 " class=byte[]\n", 2, 0, NULL},
    {"version-3.0", version_3_0, JFR_NOTHING, NULL, 0, 0, "3.0"},
    {"fixed-integers", fixed_integers, JFR_WHOLE, SMALL_ROWS, 3, 0, NULL},
    {"padded-varints", padded_varints, JFR_WHOLE, SMALL_ROWS, 3, 0, NULL},
    {"padded-sizes", padded_sizes, JFR_WHOLE, SMALL_ROWS, 3, 0, NULL},
    {"strings", strings, JFR_WHOLE,
     "acme.Sample 1000000101 w1 gr\xc3\xb6\xc3\x9f""e " STACK1 "\n"
     "acme.Sample 1000000102 w1 \xf0\x9f\x98\x80 " STACK1 "\n"
     "acme.Sample 1000000103 w1 a%00b " STACK1 "\n"
     "acme.Sample 1000000104 w1 caf\xc3\xa9 " STACK1 "\n"
     "acme.Sample 1000000105 w1 \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e " STACK1 "\n"
     "acme.Sample 1000000106 w1 \xf0\x9f\x98\x80! " STACK1 "\n"
     "acme.Sample 1000000107 w1 plain " STACK1 "\n"
     "acme.Sample 1000000108 w1 from%20the%20pool " STACK1 "\n"
     "acme.Sample 1000000109 w1 \xe6\x97\xa5\xe6\x9c\xac " STACK1 "\n"
     "acme.Sample 1000000110 w1 os%20name " STACK1 "\n"
     "acme.Sample 1000000111 w1 a;b\"c%09d " STACK1 "\n"
     "acme.Sample 1000000112 w1 virtual-12 " STACK1 "\n", 12, 0, NULL},
    {"strings-invalid", strings_invalid, JFR_WHOLE, NULL, 3, 0, NULL},
    {"order", order, JFR_WHOLE,
     "acme.Sample 1000000100 w1 main " STACK1 "\n"
     "acme.Sample 1000000200 w1 os-2 " STACK2 "\n", 2, 0, NULL},
    {"unknown-types", unknown_types, JFR_WHOLE,
     "acme.Late 1000000200 w1 os-2 " STACK2 "\n"
     "acme.Sample 1000000100 w1 main " STACK1 "\n", 2, 0, NULL},
    {"pool-chain", pool_chain, JFR_WHOLE,
     "acme.Sample 1000000100 w1 main " STACK1 "\n"
     "acme.Sample 1000000200 w1 main " STACK2 "\n", 2, 0, NULL},
    {"keys", keys, JFR_WHOLE,
     "acme.Sample 1000000100 w1 first C.m:1i\n"
     "acme.Sample 1000000200 w1 second C.m:3i;C.n:2i\n", 2, 0, NULL},
    {"pool-unknown", pool_unknown, JFR_DAMAGED,
     "acme.Sample 1000000100 w1 main " STACK1 "\n", 1, 0, NULL},
    {"stacks", stacks, JFR_WHOLE,
     "acme.Sample 1000000100 w1 main [truncated]s;app/Work.runi;app/Work.leafu\n"
     "acme.Sample 1000000200 w1 main [no%20stack]s\n"
     "acme.Sample 1000000300 w1 main [unknown%20stack]s\n"
     "acme.Sample 1000000400 w1 - " STACK2 "\n", 4, 0, NULL},
    {"contiguous", contiguous, JFR_WHOLE,
     "acme.Sample 1000000100 w1 main " STACK2 "\n"
     "acme.Sample 1000000900 w1 main " STACK1 "\n"
     "acme.Sample 1000001100 w1 late B.b:5i\n", 3, 0, NULL},
    {"colliding", colliding, JFR_WHOLE,
     SMALL_ROWS
     "acme.Sample 9000000100 w1 other z/Z.zz:5j\n"
     "acme.Sample 9000000200 w1 other [unknown%20stack]s\n", 5, 0, NULL},
    {"rates", rates, JFR_WHOLE,
     "acme.Sample 0 w1 main " STACK2 "\n"
     "acme.Sample 1000000000 w1 main " STACK2 "\n"
     "acme.Sample 2000000050 w1 main " STACK2 "\n"
     "acme.Sample 5000000100 w1 main " STACK2 "\n"
     "jdk.ThreadSleep 4999999000+3300 w3300 main " STACK2 "\n", 5, 0, NULL},
    {"mixed", mixed, JFR_WHOLE,
     "acme.Sample 1000000050 w1 os-2 " STACK1 "\n" SMALL_ROWS, 4, 0, NULL},
    {"in-progress", in_progress, JFR_DAMAGED, NULL, 3, 0, NULL},
    {"killed", killed, JFR_DAMAGED, NULL, 3, 0, NULL},
    {"0.9-hotspot", jfr_09_hotspot, JFR_WHOLE,
     "jdk.ExecutionSample 2000000000 w1 main " OLD_STACK "\n"
     "jdk.JavaMonitorEnter 1000000100+2000 w2000 main " OLD_STACK " class=byte[]\n"
     "jdk.ObjectAllocationInNewTLAB 1000000100 w4096 gr\303\266\303\237e " OLD_STACK
     " class=byte[]\n"
     "jvm/acme/sample 1000000000+1000 w1000 main " OLD_STACK "\n", 4, 0, NULL},
    {"0.9-reused-keys", jfr_09_reused_keys, JFR_WHOLE,
     "jdk.ExecutionSample 1000000500 w1 main " OLD_STACK "\n"
     "jdk.ExecutionSample 1000000900 w1 main " OLD_STACK "\n"
     "jdk.ExecutionSample 1000001000 w1 main " OLD_STACK "\n"
     "jdk.ExecutionSample 1000001001 w1 second app/Work.main:99j\n", 4, 0, NULL},
    {"0.9-two-chunks", jfr_09_two_chunks, JFR_WHOLE,
     "jdk.ExecutionSample 1000000100 w1 main " OLD_STACK "\n"
     "jdk.ExecutionSample 2001000000 w1 gr\303\266\303\237e " OLD_STACK "\n", 2, 0, NULL},
    {"modes-profiler", jfr_modes_profiler, JFR_WHOLE, MODES_PROFILER, 15, 0, NULL},
    {"modes-hotspot", jfr_modes_hotspot, JFR_WHOLE, MODES_HOTSPOT, 18, 0, NULL},
    {"0.9-then-2.1", jfr_09_then_2, JFR_WHOLE, NULL, 9, 0, NULL},
    {NULL, NULL, 0, NULL, 0, 0, NULL},
};

const struct jfr_fixture *jfr_fixture_find(const char *name)
{
    for (const struct jfr_fixture *f = jfr_fixtures; f->name != NULL; f++) {
        if (strcmp(f->name, name) == 0)
            return f;
    }
    for (const struct jfr_fixture *f = jfr_damages; f->name != NULL; f++) {
        if (strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}
