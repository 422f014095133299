/*
 * Rows of other sources: off-CPU, wakeups, run queues, launches; columns of linked rows. Figures
 * are worked out by hand.
 */
#include "query_help.h"

#include <check.h>
#include <stdio.h>

static struct fm_ctx *ctx;

static void setup(void)
{
    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

static const char *run(struct fm_store *store, const char *from, const char *steps)
{
    static char text[4096];

    snprintf(text, sizeof text, "foldmill-query: 1\nname: q\nfrom: %s\nsteps:\n%s", from, steps);
    return query_run(ctx, store, text, NULL, "csv");
}

static void gives(struct fm_store *store, const char *from, const char *steps, const char *want)
{
    const char *got = run(store, from, steps);

    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, want);
}

static void fails(struct fm_store *store, const char *from, const char *steps, const char *error)
{
    ck_assert_ptr_null(run(store, from, steps));
    ck_assert_int_eq(query_status(), FM_CONFIG);
    ck_assert_msg(strstr(query_error(), error) != NULL || strstr(query_messages(), error) != NULL,
                  "%s%s", query_error(), query_messages());
}

/*
 * Thread web (101) sleeps three times. Thread worker (201) wakes it at 100; of the second sleep
 * only the waker's thread (301, irq) and stack are known; nobody woke it from the third.
 */
static const char *const sched[] = {
    "run;wake 1 event=sched_waking:count ts=100 tid=201 thread=worker cpu=1",            /* 0 */
    "main;lock 60 event=offcpu:ns:state ts=50 dur=60 tid=101 thread=web s.state=S",       /* 1 */
    "main;sleep 30 event=offcpu:ns:state ts=200 dur=30 tid=101 s.state=D",                /* 2 */
    "main;lock 10 event=offcpu:ns:state ts=300 dur=10 tid=101 s.state=R",                 /* 3 */
    "main;lock 1 event=wakeups:count:instant ts=100 tid=101",                             /* 4 */
    "main;lock 10 event=runq:ns:state ts=100 dur=10 tid=101",                             /* 5 */
    "main;work 7 event=cpu:ns ts=20 tid=101",                                             /* 6 */
    "main;work 5 event=io:ns:async ts=20 dur=5 tid=101 name=io",                          /* 7 */
    "- 1 event=mark:count:instant ts=30 tid=101 name=mark",                               /* 8 */
};

static fm_frame named(struct fm_builder *b, const char *name)
{
    struct fm_frame_row row = { .module = FM_NONE, .address = UINT64_MAX,
                                .kind = FM_FRAME_USER };

    row.function = fm_builder_str(b, name, strlen(name));
    return fm_builder_frame(b, &row);
}

static struct fm_builder *builder_of(const char *const *rows, size_t n)
{
    struct fm_builder *b;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "test", "lines");
    for (size_t i = 0; i < n; i++)
        query_row(b, rows[i], strlen(rows[i]));
    return b;
}

static struct fm_store *sched_store(void)
{
    struct fm_builder *b = builder_of(sched, FM_COUNT(sched));
    fm_frame stack[2] = { named(b, "irq"), named(b, "timer") };
    fm_thread t = fm_builder_thread(b, 300, 301, 0);

    fm_builder_thread_name(b, t, INT64_MIN, fm_builder_str(b, "irq/9", 5));
    fm_builder_link(b, FM_LINK_WAKER, 1, FM_LINK_ROW, 0);
    fm_builder_link(b, FM_LINK_WAKER, 2, FM_LINK_THREAD, t);
    fm_builder_link(b, FM_LINK_WAKER, 2, FM_LINK_STACK, fm_builder_stack(b, stack, 2));
    fm_builder_link(b, FM_LINK_WAKER, 4, FM_LINK_ROW, 0);
    fm_builder_link(b, FM_LINK_WAKER, 5, FM_LINK_ROW, 0);
    return query_seal(b);
}

START_TEST(sleeps_and_who_woke)
{
    struct fm_store *store = sched_store();

    gives(store, "offcpu",
          "  - group:\n"
          "      by: [path, waker.thread, waker.path]\n"
          "      measures: {blocked: sum(dur), self: self, share: self_share, times: count()}\n"
          "  - sort: [-blocked, path]\n",
          "path,thread,waker.path,blocked (ns),self (ns),share,times\n"
          "main;lock,worker,run;wake,60,60,0.6,1\n"
          "main;sleep,irq/9,irq;timer,30,30,0.3,1\n"
          "main;lock,,,10,10,0.1,1\n");
    gives(store, "offcpu",
          "  - where: {waker.thread: work*}\n"
          "  - group: {by: [waker.cpu, waker.tid, waker.pid, waker.leaf.function, waker.ts, state],"
          " measures: [self]}\n",
          "cpu,tid,pid,function,ts (ns),state,self (ns)\n1,201,200,wake,80,S,60\n");
    /* a number is the tid, null is no answer, not even to `not` */
    gives(store, "offcpu",
          "  - where: {waker.thread: 301}\n  - group: {by: [state], measures: [self]}\n",
          "state,self (ns)\nD,30\n");
    gives(store, "offcpu",
          "  - where: {not: {waker.thread: worker}}\n"
          "  - group: {by: [state], measures: [self]}\n", "state,self (ns)\nD,30\n");
    gives(store, "offcpu",
          "  - where: {waker.path: \"*;timer\"}\n  - group: {by: [state], measures: [self]}\n",
          "state,self (ns)\nD,30\n");
    gives(store, "offcpu",
          "  - where: \"coalesce(waker.thread, 'nobody') == 'nobody'\"\n"
          "  - group: {by: [state], measures: {n: count(), wakers: distinct(waker.path)}}\n",
          "state,n,wakers\nR,1,0\n");
    gives(store, "offcpu",
          "  - group: {by: [{late: \"ts + dur - waker.ts\"}], measures: {n: count(),"
          " who: max(waker.path)}}\n",
          "late (ns),n,who\n10,1,run;wake\n,2,irq;timer\n");
    fm_store_free(store);
}
END_TEST

START_TEST(other_derived_rows)
{
    struct fm_store *store = sched_store();
    struct fm_select_options select = FM_INIT(select);

    gives(store, "wakeups",
          "  - group: {by: [thread, waker.thread, waker.path, link.event], measures: [self]}\n",
          "thread,waker.thread,path,event,self (samples)\nweb,worker,run;wake,sched_waking,1\n");
    gives(store, "runq", "  - group: {by: [thread], measures: {p99: p99(dur), self: self}}\n",
          "thread,p99 (ns),self (ns)\nweb,10,10\n");
    /* they are in no other view */
    gives(store, "spans", "  - group: {by: [event], measures: [self]}\n",
          "event,self (ns)\nio,5\n");
    gives(store, "instants", "  - group: {by: [event], measures: [self]}\n",
          "event,self (samples)\nmark,1\n");
    select.event = "all";
    select.weight = "samples";
    ck_assert_str_eq(query_run_with(ctx, store,
                                    query_of("  - group: {by: [event], measures: [self]}\n"),
                                    NULL, "csv", &select),
                     "event,self (samples)\ncpu,1\nio,1\nsched_waking,1\n");
    fails(store, "launches", "  - group: {by: [event], measures: [self]}\n",
          "the input has no launches");
    fails(store, "offcpu", "  - group: {by: [waker.labl], measures: [self]}\n",
          "unknown column 'waker.labl'");
    fails(store, "offcpu", "  - where: {waker.stack: x}\n"
          "  - group: {by: [event], measures: [self]}\n", "unknown column 'waker.stack'");
    fm_store_free(store);
    store = query_store(ctx, "main 1 ts=1\n");
    fails(store, "offcpu", "  - group: {by: [event], measures: [self]}\n",
          "the input has no off-CPU times");
    fm_store_free(store);
}
END_TEST

/* Call 1 launches k1 and k2, call 2 k1 again. Row 6 was launched by nobody that is known. */
static const char *const launched[] = {
    "main;train;launch 5 event=spans:ns:span name=cudaLaunch ts=10 dur=5 tid=101 thread=py",
    "main;eval;launch 5 event=spans:ns:span name=cudaLaunch ts=30 dur=5 tid=101",
    "k1 40 event=spans:ns:span name=k1 ts=20 dur=40 tid=900 thread=stream i.stream=7",
    "k2 10 event=spans:ns:span name=k2 ts=60 dur=10 tid=900 i.stream=7",
    "k1 50 event=gpu:ticks:async name=k1 ts=70 dur=50 tid=901 i.stream=8",
    "main 100 event=cpu:ns ts=15 tid=101",
    "k3 90 event=spans:ns:span name=k3 ts=200 dur=90 tid=900 i.stream=7",
};

static struct fm_store *launch_store(void)
{
    struct fm_builder *b = builder_of(launched, FM_COUNT(launched));

    fm_builder_link(b, FM_LINK_LAUNCH, 2, FM_LINK_ROW, 0);
    fm_builder_link(b, FM_LINK_LAUNCH, 3, FM_LINK_ROW, 0);
    fm_builder_link(b, FM_LINK_LAUNCH, 4, FM_LINK_ROW, 1);
    return query_seal(b);
}

START_TEST(launches_are_pairs)
{
    struct fm_store *store = launch_store();

    gives(store, "launches",
          "  - group: {by: [kernel, path], measures: {launches: count(), gpu: sum(link.dur),"
          " self: self, host: sum(dur)}}\n"
          "  - sort: [kernel, -gpu]\n",
          "kernel,path,launches,gpu (ns),self (ns),host (ns)\n"
          "k1,main;eval;launch,1,50,50,5\n"
          "k1,main;train;launch,1,40,40,5\n"
          "k2,main;train;launch,1,10,10,5\n");
    gives(store, "launches",
          "  - where: {kernel: k1, thread: py}\n"
          "  - stack: [{drop: {function: launch}}]\n"
          "  - group: {by: [any.function, stream, link.thread, launch.name], measures: [total]}\n"
          "  - sort: [-total, function, stream]\n",
          "function,stream,thread,name,total (ns)\n"
          "eval,8,,cudaLaunch,50\nmain,8,,cudaLaunch,50\n"
          "main,7,stream,cudaLaunch,40\ntrain,7,stream,cudaLaunch,40\n");
    gives(store, "launches",
          "  - group: {by: [link.event], measures: {queue: max(link.ts - ts - dur)}}\n",
          "event,queue (ns)\ngpu,35\nspans,45\n");
    /* the same from the device's side: where there is no launch, null */
    gives(store, "spans",
          "  - where: {name: k*}\n"
          "  - group: {by: [launch.path, name], measures: [self]}\n"
          "  - sort: [-self, name]\n",
          "path,name,self (ns)\n,k3,90\nmain;eval;launch,k1,50\nmain;train;launch,k1,40\n"
          "main;train;launch,k2,10\n");
    fm_store_free(store);
}
END_TEST

/* One line a row: the columns that rows of each source are told by. */
START_TEST(lines_of_rows)
{
    struct fm_store *store = sched_store();

    gives(store, "offcpu", "  - sort: -dur\n  - limit: 2\n",
          "ts (ns),dur (ns),state,process,thread,path\n"
          "30,60,S,,web,main;lock\n180,30,D,,web,main;sleep\n");
    gives(store, "offcpu",
          "  - select: [dur, waker.thread, waker.path, path, state]\n  - sort: -dur\n",
          "dur (ns),thread,waker.path,path,state\n60,worker,run;wake,main;lock,S\n"
          "30,irq/9,irq;timer,main;sleep,D\n10,,,main;lock,R\n");
    gives(store, "offcpu", "  - sort: [-waker.ts, dur]\n  - limit: 2\n",
          "ts (ns),dur (ns),state,process,thread,path,waker.ts (ns)\n"
          "30,60,S,,web,main;lock,80\n280,10,R,,web,main;lock,\n");
    gives(store, "wakeups", "  - limit: 5\n",
          "ts (ns),process,thread,waker.thread,path\n80,,web,worker,main;lock\n");
    gives(store, "runq", "  - sort: -dur\n",
          "ts (ns),dur (ns),cpu,process,thread,path\n80,10,,,web,main;lock\n");
    gives(store, "instants", "  - sort: name\n", "ts (ns),name,thread\n10,mark,web\n");
    fm_store_free(store);
    store = launch_store();
    gives(store, "launches", "  - sort: -link.dur\n  - limit: 2\n",
          "ts (ns),dur (ns),name,thread,kernel,link.ts (ns),link.dur (ns),path\n"
          "20,5,cudaLaunch,py,k1,60,50,main;eval;launch\n"
          "0,5,cudaLaunch,py,k1,10,40,main;train;launch\n");
    /* the rows that a filter of rows leaves, with what a window has cut; 900 is the
     * main thread of its process */
    gives(store, "spans",
          "  - time: {range: 0ns..20ns, clip: true}\n  - sort: [-dur, name]\n  - limit: 2\n",
          "ts (ns),dur (ns),self_dur (ns),name,category,process,thread\n"
          "10,10,10,k1,,stream,stream\n0,5,5,cudaLaunch,,,py\n");
    fm_store_free(store);
}
END_TEST

/* ------------------------------------------------------------------- weigh */

static const char *const weighed[] = {
    "main;read 10 event=cpu:ns ts=1 tid=101 i.size=4 count=2",
    "main;write 20 event=cpu:ns ts=2 tid=101 i.size=6",
    "main;read 5 event=cpu:ns ts=3 tid=101",
    "main;read 7 event=mem:bytes ts=4 tid=101 i.size=1 f.half=0.5",
};

START_TEST(weights_of_steps)
{
    struct fm_store *store;

    store = query_seal(builder_of(weighed, FM_COUNT(weighed)));
    /* `all` is the weight before any step, in the same measure */
    gives(store, "samples",
          "  - where: {event: cpu, leaf.function: read}\n"
          "  - weigh: label.size\n"
          "  - group: {by: [any.function], measures: {self: self, total: total,"
          " all: \"share(total, all)\", n: samples}}\n",
          "function,self (count),total (count),all,n\nmain,0,4,0.4,3\nread,4,4,0.4,3\n");
    gives(store, "samples",
          "  - weigh: samples\n"
          "  - group: {by: [leaf.function], measures: [self]}\n",
          "function,self (samples)\nread,3\nwrite,1\n");
    gives(store, "samples",
          "  - weigh: {by: \"size * 2 + 1 if size > 4\", unit: bytes}\n"
          "  - group: {by: [leaf.function], measures: {self: self, mean: avg(weight)}}\n",
          "function,self (bytes),mean (bytes)\nread,0,0\nwrite,13,13\n");
    /* `weight` is what the steps before have made of it */
    gives(store, "samples",
          "  - weigh: weight / 4\n  - weigh: weight * 10\n"
          "  - where: weight > 20\n"
          "  - group: {by: [leaf.function], measures: [self]}\n",
          "function,self (ns)\nread,30\nwrite,50\n");
    /* edits change no weight */
    gives(store, "samples",
          "  - weigh: \"if(leaf.function == 'read', weight, 1)\"\n"
          "  - stack: [{drop: {function: read}}]\n"
          "  - group: {by: [leaf.function], measures: [self, self_share]}\n",
          "function,self (ns),self_share\nmain,15,0.9375\nwrite,1,0.0625\n");
    fm_store_free(store);
}
END_TEST

START_TEST(weights_have_one_unit)
{
    struct fm_store *store = query_seal(builder_of(weighed, FM_COUNT(weighed)));

    fails(store, "samples", "  - where: {event: [cpu, mem]}\n"
          "  - group: {by: [leaf.function], measures: [self]}\n",
          "events of different units cannot be summed: 'cpu' in ns, 'mem' in bytes");
    gives(store, "samples", "  - where: {event: [cpu, mem]}\n  - weigh: samples\n"
          "  - group: {by: [event], measures: [self]}\n", "event,self (samples)\ncpu,4\nmem,1\n");
    fails(store, "samples",
          "  - where: {event: [cpu, mem]}\n  - weigh: samples\n  - weigh: weight\n"
          "  - group: {by: [event], measures: [self]}\n",
          "q.yaml:7:12: error: events of different units cannot be summed: 'cpu' is in ns, 'mem' "
          "in bytes");
    fails(store, "samples", "  - weigh: weight - 100\n"
          "  - group: {by: [event], measures: [self]}\n", "gives a negative value");
    fails(store, "samples", "  - weigh: dur + weight * 1KiB\n"
          "  - group: {by: [event], measures: [self]}\n", "");
    fails(store, "samples", "  - weigh: leaf.function\n"
          "  - group: {by: [event], measures: [self]}\n", "needs numbers, not texts");
    fails(store, "samples", "  - weigh: {bye: dur}\n"
          "  - group: {by: [event], measures: [self]}\n", "unknown key 'bye'");
    fm_store_free(store);
}
END_TEST

/* -------------------------------------------------------------------- clip */

/*
 * Thread 101: A [0,100), in it B [20,60), in it C [30,50); D [90,130) overlaps A: 10 of its time
 * lie under A, 30 alone, which is a part. Thread 102: E [10,20) crosses nothing. F is async.
 */
static const char *const cut[] = {
    "A 50 event=spans:ns:span name=A ts=0 dur=100 tid=101",
    "A;B 20 event=spans:ns:span name=B ts=20 dur=40 tid=101",
    "A;B;C 20 event=spans:ns:span name=C ts=30 dur=20 tid=101",
    "A;D 10 event=spans:ns:span name=D ts=90 dur=40 tid=101",
    "D 30 event=spans:ns:part name=D tid=101",
    "E 10 event=spans:ns:span name=E ts=10 dur=10 tid=102",
    "F 100 event=async:ns:async name=F ts=5 dur=100 tid=102",
    "main 60 event=offcpu:ns:state ts=0 dur=60 tid=101",
};

static struct fm_store *cut_store(void)
{
    struct fm_builder *b = builder_of(cut, FM_COUNT(cut));

    fm_builder_link(b, FM_LINK_PARENT, 4, FM_LINK_ROW, 3);
    return query_seal(b);
}

#define SPANS "  - group: {by: [name], measures: {ts: min(ts), dur: sum(dur), " \
              "own: sum(self_dur), self: self}}\n"
#define HEAD "name,ts (ns),dur (ns),own (ns),self (ns)\n"

START_TEST(spans_are_cut)
{
    struct fm_store *store = cut_store();

    gives(store, "spans", SPANS, HEAD "A,0,100,50,50\nB,20,40,20,20\nC,30,20,20,20\n"
          "D,90,40,40,40\nE,10,10,10,10\nF,5,100,100,100\n");
    gives(store, "spans", "  - time: 40ns..95ns\n" SPANS,
          HEAD "A,0,100,50,50\nB,20,40,20,20\nC,30,20,20,20\nD,90,40,40,40\nF,5,100,100,100\n");
    /* [40,95): C 40-50, B 50-60, A 60-90, D 90-95 */
    gives(store, "spans", "  - time: {range: 40ns..95ns, clip: true}\n" SPANS,
          HEAD "A,40,55,30,30\nB,40,20,10,10\nC,40,10,10,10\nD,90,5,5,5\nF,40,55,55,55\n");
    /* [95,110): D alone, whether under A or not */
    gives(store, "spans", "  - time: {range: 95ns..110ns, clip: true}\n" SPANS,
          HEAD "A,95,5,0,0\nD,95,15,15,15\nF,95,10,10,10\n");
    /* what filters leave out is still on top of what they keep */
    gives(store, "spans",
          "  - where: {name: [A, B]}\n"
          "  - time: {range: ..45ns, clip: true}\n" SPANS,
          HEAD "A,0,45,20,20\nB,20,25,10,10\n");
    /* twice: both windows */
    gives(store, "spans",
          "  - time: {range: 10ns..45ns, clip: true}\n"
          "  - time: {range: 25ns.., clip: true}\n" SPANS,
          HEAD "A,25,20,0,0\nB,25,20,5,5\nC,30,15,15,15\nF,25,20,20,20\n");
    /* tests see what is left, and so do other weights */
    gives(store, "spans",
          "  - time: {range: 40ns..95ns, clip: true}\n"
          "  - where: {dur: \"<= 10ns\"}\n"
          "  - weigh: dur\n" SPANS,
          HEAD "C,40,10,10,10\nD,90,5,5,5\n");
    gives(store, "offcpu", "  - time: {range: 40ns..95ns, clip: true}\n"
          "  - group: {by: [path], measures: {dur: sum(dur), self: self}}\n",
          "path,dur (ns),self (ns)\nmain,20,20\n");
    fails(store, "samples", "  - time: {range: 1ns.., clip: true}\n"
          "  - group: {by: [name], measures: [self]}\n", "'clip' cuts spans");
    fails(store, "spans", "  - time: {range: 1ns.., clip: maybe}\n" SPANS,
          "'clip' is true or false");
    fm_store_free(store);
}
END_TEST

/* ------------------------------------------------------------------ within */

static const char *const slow[] = {
    "req 50 event=spans:ns:span name=req ts=0 dur=50 tid=101 thread=web",     /* process 100 */
    "req 20 event=spans:ns:span name=req ts=40 dur=20 tid=101",
    "req 10 event=spans:ns:span name=req ts=100 dur=10 tid=201 thread=db",
    "a 1 event=cpu:ns ts=0 tid=101",
    "b 2 event=cpu:ns ts=49 tid=102 thread=pool",                             /* process 100 */
    "c 4 event=cpu:ns ts=50 tid=101",
    "d 8 event=cpu:ns ts=60 tid=101",
    "e 16 event=cpu:ns ts=105 tid=201",
    "f 32 event=cpu:ns ts=105 tid=101",
    "g 64 event=cpu:ns ts=20",
    "h 128 event=cpu:ns tid=101",
};

static void lets(struct fm_store *store, const char *let, const char *steps, const char *want)
{
    static char text[4096];
    const char *got;

    snprintf(text, sizeof text,
             "foldmill-query: 1\nname: q\nlet:\n%sfrom: samples\nsteps:\n"
             "  - where: {event: cpu}\n%s  - group: {by: [leaf.function], measures: [self]}\n",
             let, steps);
    got = query_run(ctx, store, text, NULL, "csv");
    if (want == NULL) {
        ck_assert_ptr_null(got);
        return;
    }
    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, want);
}

#define REQ "  req:\n    from: spans\n    steps:\n      - where: {name: req}\n"
#define OUT "function,self (ns)\n"

START_TEST(samples_within_spans)
{
    struct fm_store *store = query_seal(builder_of(slow, FM_COUNT(slow)));

    lets(store, REQ, "  - within: {spans: req}\n", OUT "a,1\nc,4\ne,16\n");
    lets(store, REQ, "  - within: {spans: req, on: process}\n", OUT "a,1\nb,2\nc,4\ne,16\n");
    lets(store, REQ, "  - within: {spans: req, on: any}\n",
         OUT "a,1\nb,2\nc,4\ne,16\nf,32\ng,64\n");
    lets(store, REQ, "  - within: {spans: req, outside: true}\n", OUT "b,2\nd,8\nf,32\n");
    lets(store, REQ, "  - within: {spans: req, on: any, outside: true}\n", OUT "d,8\n");
    lets(store, REQ "      - where: {dur: \"> 20ns\"}\n", "  - within: {spans: req}\n",
         OUT "a,1\n");
    lets(store, REQ "      - time: {range: 45ns.., clip: true}\n",
         "  - within: {spans: req, on: any}\n", OUT "b,2\nc,4\ne,16\nf,32\n");
    lets(store, REQ, "  - within: {spans: reqs}\n", NULL);
    ck_assert_msg(strstr(query_messages(), "unknown let 'reqs' (did you mean 'req'?)") != NULL,
                  "%s", query_messages());
    fm_store_free(store);
}
END_TEST

#define SLOTS(keys) "  slots:\n    from: samples\n    steps:\n      - where: {event: cpu}\n" \
                    "      - group: {by: [" keys "{slot: \"bucket(ts, 50ns)\"}], " \
                    "measures: {busy: sum(weight)}}\n"

/* The spans themselves as a table: the longest, then that of db. */
START_TEST(samples_within_lines)
{
    struct fm_store *store = query_seal(builder_of(slow, FM_COUNT(slow)));

    lets(store, "  long:\n    from: spans\n    steps:\n      - sort: -dur\n      - limit: 1\n",
         "  - within: {spans: long}\n", OUT "a,1\n");
    lets(store, "  long:\n    from: spans\n    steps:\n      - sort: -dur\n      - limit: 1\n",
         "  - within: {spans: long, on: any}\n", OUT "a,1\nb,2\ng,64\n");
    lets(store, "  last:\n    from: spans\n    steps:\n      - select: [thread, dur, ts]\n"
                "      - sort: -ts\n      - limit: 1\n",
         "  - within: {spans: last}\n", OUT "e,16\n");
    lets(store, "  bare:\n    from: spans\n    steps:\n      - select: [dur, name]\n",
         "  - within: {spans: bare, on: any}\n", NULL);
    ck_assert_msg(strstr(query_messages(), "and it has no ts and dur") != NULL, "%s",
                  query_messages());
    fm_store_free(store);
}
END_TEST

START_TEST(samples_within_buckets)
{
    struct fm_store *store = query_seal(builder_of(slow, FM_COUNT(slow)));

    /* slots 0: a b g (67), 50: c d (12), 100: e f (48); and h without time */
    lets(store, SLOTS("") "      - where: busy < 60\n", "  - within: {spans: slots, on: any}\n",
         OUT "c,4\nd,8\ne,16\nf,32\n");
    lets(store, SLOTS("") "      - sort: [-busy, slot]\n      - limit: {rows: 1, at: 50%}\n",
         "  - within: {spans: slots, on: any}\n", OUT "a,1\nb,2\ng,64\n");
    lets(store, SLOTS("thread, ") "      - where: {thread: web, busy: \"> 10\"}\n",
         "  - within: {spans: slots}\n", OUT "c,4\nd,8\nf,32\n");
    lets(store, SLOTS(""), "  - within: {spans: slots}\n", NULL);
    ck_assert_msg(strstr(query_messages(), "the table 'slots' has no column 'thread'") != NULL,
                  "%s", query_messages());
    lets(store, "  slots:\n    from: samples\n    steps:\n"
                "      - group: {by: [cpu], measures: [self]}\n",
         "  - within: {spans: slots, on: any}\n", NULL);
    ck_assert_msg(strstr(query_messages(), "has no intervals") != NULL, "%s", query_messages());
    fm_store_free(store);
}
END_TEST

/* ------------------------------------------------------------------ tables */

/* work is recursive: 5 of the 12 of main;work;main lie under work twice and count once. */
static const char *const stored[] = {
    "main@app;work@lib@w.c:7 10 ts=5 tid=101 thread=web",
    "main@app;work@lib@w.c:7;main@app 12 ts=9 tid=101 count=3",
    "main@app 3 ts=7 tid=102 thread=pool",
    "- 4 ts=2 tid=102",
    "work@lib@w.c:7 6 ts=8",
    "idle 9 event=other:count ts=1 tid=201 thread=db",
};

static struct fm_store *stored_store(void)
{
    struct fm_builder *b = builder_of(stored, FM_COUNT(stored));
    struct fm_source *s = fm_builder_source_row(b);

    s->bytes = 4096;
    s->clock = FM_CLOCK_REALTIME;
    s->has_wall = true;
    s->wall = INT64_C(1769860800000000000);      /* 2026-01-31T12:00:00Z, of clock value 0 */
    s->wall_at = 0;
    fm_builder_provenance(b, "host", "box", 3);
    fm_builder_provenance(b, "command", "run it", 6);
    fm_account_in(b, 5);
    fm_account_drop(b, FM_DIAG_VALUE_RANGE, 100, 5);
    return query_seal(b);
}

START_TEST(tables_of_the_store)
{
    struct fm_store *store = stored_store();
    struct fm_select_options select = FM_INIT(select);
    const char *filter[] = { "tid=101" };

    /* times are ns since the first row of any event, at 1 */
    gives(store, "threads", "  - where: {samples: \">= 0\"}\n",
          "source,pid,tid,thread,process,command,container,java_tid,first (ns),last (ns),rows,"
          "samples,weight (ns)\n"
          "test,100,101,web,,,,,4,8,2,4,22\n"
          "test,100,102,pool,,,,,1,6,2,2,7\n"
          "test,200,201,db,,,,,,,0,0,0\n"
          ",,,,,,,,7,7,1,1,6\n");
    gives(store, "frames", "  - sort: -total\n",
          "function,module,file,line,address,kind,raw,inlined,self (ns),total (ns),samples\n"
          "work,lib,w.c,7,,user,work,false,16,28,5\n"
          "main,app,,,,user,main,false,15,25,5\n");
    gives(store, "frames", "  - compute: {below: total - self}\n  - where: below > 10\n"
          "  - sort: -below\n  - limit: 1\n",
          "function,module,file,line,address,kind,raw,inlined,self (ns),total (ns),samples,"
          "below (ns)\nwork,lib,w.c,7,,user,work,false,16,28,5,12\n");
    gives(store, "inputs", "  - limit: all\n",
          "file,format,size (bytes),host,kernel,command,start,duration (ns),clock,events,"
          "samples_in,samples_kept,dropped,reasons\n"
          "test,lines,4096,box,,run it,2026-01-31T12:00:00.000000001Z,8,realtime,\"cpu, other\","
          "13,8,5,value-range: 5\n");
    /* the command line's filters and event hold */
    select.filter = filter;
    select.filters = 1;
    ck_assert_str_eq(query_run_with(ctx, store,
                                    "foldmill-query: 1\nname: q\nfrom: threads\nsteps:\n"
                                    "  - where: comm != 'db'\n", NULL, "csv", &select),
                     "source,pid,tid,thread,process,command,container,java_tid,first (ns),"
                     "last (ns),rows,samples,weight (ns)\n"
                     "test,100,101,web,,,,,4,8,2,4,22\n"
                     "test,100,102,pool,,,,,,,0,0,0\n");
    select.filters = 0;
    select.event = "other";
    ck_assert_str_eq(query_run_with(ctx, store,
                                    "foldmill-query: 1\nname: q\nfrom: frames\nsteps:\n"
                                    "  - sort: function\n", NULL, "csv", &select),
                     "function,module,file,line,address,kind,raw,inlined,self (count),"
                     "total (count),samples\nidle,,,,,user,idle,false,9,9,1\n");
    fm_store_free(store);
}
END_TEST

/* ------------------------------------------------------- times, expressions */

static void kept(struct fm_store *store, const char *step, const char *self)
{
    char steps[512], want[64];

    snprintf(steps, sizeof steps, "%s  - group: {by: [{all: \"1\"}], measures: [self]}\n", step);
    snprintf(want, sizeof want, "all,self (ns)\n1,%s\n", self);
    gives(store, "samples", steps, want);
}

/* Rows at 5 (10), 9 (12), 7 (3), 2 (4) and 8 (6); the first of all is at 1. */
START_TEST(forms_of_time)
{
    struct fm_store *store = stored_store();

    kept(store, "  - time: -2ns..\n", "21");
    kept(store, "  - time: {range: -2ns.., origin: end}\n", "21");
    kept(store, "  - time: {range: ..-2ns, origin: end}\n", "14");
    kept(store, "  - time: {range: 1ns..6ns, origin: start}\n", "14");
    kept(store, "  - time: 50%/2\n", "31");
    kept(store, "  - time: 50%/1\n", "4");
    kept(store, "  - time: 12.5%..75%\n", "14");
    kept(store, "  - time: 75%..\n", "21");
    kept(store, "  - time: ..100%\n", "35");
    kept(store, "  - time: \"@5ns..@8ns\"\n", "13");
    kept(store, "  - time: 2026-01-31T12:00:00.000000008Z..\n", "18");
    kept(store, "  - time: ..2026-01-31T13:00:00.000000007+01:00\n", "14");
    kept(store, "  - time: {range: 1769860800s.., origin: epoch}\n", "35");
    fails(store, "samples", "  - time: 5ns\n  - group: {by: [cpu], measures: [self]}\n",
          "'5ns' is no time range");
    fm_store_free(store);
    store = query_store(ctx, "main 1 ts=5\n");
    fails(store, "samples",
          "  - time: 2026-01-31T12:00:00Z..\n  - group: {by: [cpu], measures: [self]}\n",
          "no input knows its wall clock");
    fails(store, "samples",
          "  - time: {range: 1s.., origin: epoch}\n  - group: {by: [cpu], measures: [self]}\n",
          "no input knows its wall clock");
    fm_store_free(store);
}
END_TEST

START_TEST(expressions_over_rows)
{
    struct fm_store *store = query_store(ctx, "main;work 10 i.x=-7 i.y=2 name=ab ts=1\n"
                                              "main 20 i.x=3 ts=2\n"
                                              "main;work;main 30 i.y=5 name=cde ts=3\n"
                                              "- 40 ts=4\n");

    gives(store, "samples",
          "  - group:\n      by: [{all: \"1\"}]\n      measures:\n"
          "        abs: sum(abs(x))\n        min: \"sum(min(x, y))\"\n"
          "        max: \"sum(max(x, y, 0))\"\n        or: \"sum(coalesce(x, y, 100))\"\n"
          "        bucket: \"sum(bucket(x, 5))\"\n        len: sum(len(name))\n"
          "        when: sum(weight if x > 0)\n        if: \"sum(if(x > 0, 1, 2))\"\n"
          "        work: \"sum(weight if stack.has(function: wor*))\"\n"
          "        mod: sum(x % 4)\n        half: sum(x / 2)\n        tests: count(x > 0)\n"
          "        names: \"distinct(coalesce(name, '?'))\"\n",
          "all,abs,min,max,or,bucket,len,when (ns),if,work (ns),mod,half,tests,names\n"
          "1,10,1,10,101,-10,5,20,7,40,0,-2,2,3\n");
    kept(store, "  - where: x > 0 or y > 0\n", "60");
    kept(store, "  - where: not (x > 0 and y > 0)\n", "10");
    kept(store, "  - where: not (x > 0)\n", "10");
    kept(store, "  - where: {not: {x: \"> 0\"}}\n", "10");
    kept(store, "  - where: {not: {all: [{x: \"> 0\"}, {y: \"> 0\"}]}}\n", "10");
    kept(store, "  - where: {any: [{x: \"> 0\"}, {y: 5}]}\n", "50");
    kept(store, "  - where: \"coalesce(x > 0, false) == false\"\n", "80");
    kept(store, "  - where: \"stack.has(function: /^wo/)\"\n", "40");
    kept(store, "  - where: \"not stack.has(function: work)\"\n", "60");
    kept(store, "  - where: {not: {stack: {has: work}}}\n", "60");
    fm_store_free(store);
}
END_TEST

START_TEST(names_and_labels)
{
    struct fm_store *store = query_store(ctx, "main 1 cpu=3 s.cpu=left s.kind=hot ts=5\n"
                                              "main 2 cpu=4 s.kind=cold ts=5\n");

    /* a bare name is a column of the rows, else a label; label.X is always one */
    gives(store, "samples",
          "  - group: {by: [cpu, label.cpu, arg.cpu, kind], measures: [self]}\n",
          "cpu,label.cpu,arg.cpu,kind,self (ns)\n3,left,left,hot,1\n4,,,cold,2\n");
    kept(store, "  - where: {label.cpu: left}\n", "1");
    kept(store, "  - where: {cpu: 4}\n", "2");
    kept(store, "  - where: \"label.cpu == 'left' or cpu == 4\"\n", "3");
    fails(store, "samples", "  - where: {label.nothing: 4}\n"
          "  - group: {by: [cpu], measures: [self]}\n", "unknown column 'label.nothing'");
    fm_store_free(store);
}
END_TEST

/* ------------------------------------------------------ rows as a profile */

static char profile[4096];

static int write_profile(void *user, const void *data, size_t n)
{
    size_t *at = user;

    ck_assert_uint_lt(n, sizeof profile - *at);
    memcpy(profile + *at, data, n);
    *at += n;
    profile[*at] = '\0';
    return 0;
}

/* The folded stacks of the rows that the steps leave. */
static enum fm_status draw(struct fm_store *store, const char *steps,
                           const struct fm_select_options *select)
{
    struct fm_query *query = NULL;
    struct fm_result *result = NULL;
    size_t at = 0;
    const struct fm_sink sink = { write_profile, &at };
    enum fm_status status = query_load(ctx, query_of(steps), &query, NULL);

    profile[0] = '\0';
    if (status == FM_OK) {
        fm_query_keep_rows(query, true);
        status = fm_query_run(ctx, query, &store, 1, select, &result, NULL);
    }
    if (status == FM_OK) {
        ck_assert_uint_eq(fm_result_tables(result), 1);
        ck_assert_uint_eq(fm_result_columns(result, 0), 0);
        status = fm_result_export(ctx, result, 0, "folded", NULL, &sink, NULL);
    }
    fm_result_free(result);
    fm_query_free(query);
    return status;
}

static const char *const drawn =
    "main;work 10 tid=1 comm=a cpu=0\n"
    "main;work 20 tid=2 comm=b cpu=3\n"
    "main;idle 5 tid=1 comm=a cpu=1\n"
    "- 7 tid=1 comm=a cpu=2\n";

static void draws(const char *steps, const char *prepend, const char *want)
{
    struct fm_store *store = query_store(ctx, drawn);
    struct fm_select_options select = FM_INIT(select);

    select.prepend = prepend;
    ck_assert_int_eq(draw(store, steps, &select), FM_OK);
    ck_assert_str_eq(profile, want);
    fm_store_free(store);
}

START_TEST(rows_are_a_profile)
{
    draws("  - where: {leaf.function: work}\n", NULL, "main;work 30\n");
    draws("  - where: {leaf.function: work}\n", "comm", "a;main;work 10\nb;main;work 20\n");
    draws("  - weigh: cpu\n", NULL, " 2\nmain;idle 1\nmain;work 3\n");
    draws("  - weigh: cpu\n  - where: {tid: 2}\n", "comm", "b;main;work 3\n");
    draws("  - stack: [{drop: {function: main}}]\n  - where: {cpu: {not: 2}}\n", "comm",
          "a;idle 5\na;work 10\nb;work 20\n");
    draws("  - stack: [{root: {function: work}, at: outermost}]\n", "comm", "work 30\n");
    draws("  - stack: [{root: {function: work}, at: outermost}]\n", NULL, "work 30\n");
}
END_TEST

START_TEST(no_memory_for_a_profile)
{
    struct fm_store *store = query_store(ctx, drawn);
    struct fm_select_options select = FM_INIT(select);
    enum fm_status status = FM_NOMEM;

    select.prepend = "comm";
    for (uint64_t at = 1; status == FM_NOMEM && at < 20000; at++) {
        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + at;
        status = draw(store, "  - weigh: cpu\n  - stack: [{root: {function: work}}]\n", &select);
        ctx->mem.fail_at = 0;
    }
    ck_assert_int_eq(status, FM_OK);
    ck_assert_str_eq(profile, "work 3\n");
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("query_rows");
    TCase *t = tcase_create("query_rows");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, sleeps_and_who_woke);
    tcase_add_test(t, other_derived_rows);
    tcase_add_test(t, launches_are_pairs);
    tcase_add_test(t, lines_of_rows);
    tcase_add_test(t, weights_of_steps);
    tcase_add_test(t, weights_have_one_unit);
    tcase_add_test(t, spans_are_cut);
    tcase_add_test(t, samples_within_spans);
    tcase_add_test(t, samples_within_buckets);
    tcase_add_test(t, samples_within_lines);
    tcase_add_test(t, tables_of_the_store);
    tcase_add_test(t, forms_of_time);
    tcase_add_test(t, expressions_over_rows);
    tcase_add_test(t, names_and_labels);
    tcase_add_test(t, rows_are_a_profile);
    tcase_add_test(t, no_memory_for_a_profile);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
