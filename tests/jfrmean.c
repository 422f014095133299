/*
 * jfrmean.c - recordings about what events mean (formats/jfr.yaml): one of async-profiler with most
 * of its modes on, one of HotSpot. The rows they must give stand beside them in jfrfix.c.
 */
#include "jfrfix.h"

#define NS 1000000000u

/* Interval 10 ms, wall 50 ms. A run of four ticks, a TLAB of 4,096 bytes and one without a size.
 *
 *     malloc 0x10 @ 600, freed @ 700      malloc 0x20 @ 610 is never freed
 *     malloc 0x10 @ 710 is never freed    free of 0x99, which nobody allocated */
void jfr_modes_profiler(struct jfr *g)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 0, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "jdk.ActiveSetting 5000 101 5:interval 5:10000000");
    jfr_event(g, "jdk.ActiveSetting 5000 101 5:wall 5:50000000");
    jfr_event(g, "jdk.ExecutionSample 5100 1 1 9");
    jfr_event(g, "jdk.ExecutionSample 5110 1 1 9");
    jfr_event(g, "jdk.ExecutionSample 5120 2 0 9");
    jfr_event(g, "jdk.ExecutionSample 5150 1 2 5");
    jfr_event(g, "profiler.WallClockSample 5200 1 2 6 4 150");
    jfr_event(g, "jdk.ObjectAllocationInNewTLAB 5300 1 1 3 24 4096");
    jfr_event(g, "jdk.ObjectAllocationInNewTLAB 5310 1 1 2 24 0");
    jfr_event(g, "profiler.LiveObject 5990 1 1 3 24 5300");
    jfr_event(g, "jdk.JavaMonitorEnter 5400 40 1 2 2 0 77");
    jfr_event(g, "profiler.NativeLock 5500 30 1 1 78");
    jfr_event(g, "profiler.Free 5700 1 0 16");
    jfr_event(g, "profiler.Malloc 5600 1 1 16 100");
    jfr_event(g, "profiler.Malloc 5610 1 2 32 200");
    jfr_event(g, "profiler.Malloc 5710 1 1 16 400");
    jfr_event(g, "profiler.Free 5720 1 0 153");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_pools(g, 0, "jdk.types.FrameType 1 7 3:Kernel jdk.types.ThreadState 1 9 3:STATE_DEFAULT ");
    jfr_end(g, 1000);
}

/* Period 20 ms. CPU time samples, one that failed and one of two periods, beside execution samples;
 * a park without a class; a traced method that is not in its stack; pauses and their counters. */
void jfr_modes_hotspot(struct jfr *g)
{
    jfr_schema(g, jfr_types);
    jfr_chunk(g, 2, 1, NS, 5000, NS);
    jfr_meta(g);
    jfr_event(g, "jdk.ActiveSetting 5000 101 3:period 4:20%20ms");
    jfr_event(g, "jdk.ExecutionSample 5100 1 1 5");
    jfr_event(g, "jdk.ExecutionSample 5120 1 2 5");
    jfr_event(g, "jdk.CPUTimeSample 5130 1 1 0 10 1");
    jfr_event(g, "jdk.CPUTimeSample 5140 2 1 0 20 0");
    jfr_event(g, "jdk.CPUTimeSample 5150 0 1 1 10 0");
    jfr_event(g, "jdk.ObjectAllocationSample 5200 1 1 3 1000");
    jfr_event(g, "jdk.JavaMonitorEnter 5300 40 1 2 2 2 77");
    jfr_event(g, "jdk.ThreadPark 5310 50 1 2 0 0 -9223372036854775808 0");
    jfr_event(g, "jdk.ThreadSleep 5320 60 1 2 5");
    jfr_event(g, "jdk.SocketRead 5330 70 1 2 3:db 3:10.0.0.1 80 0 -1 1");
    jfr_event(g, "jdk.JavaExceptionThrow 5340 0 1 2 3:broken 2");
    jfr_event(g, "jdk.MethodTrace 5350 80 1 2 13");
    jfr_event(g, "jdk.GCPhasePause 5400 90 2 1 3:GC%20Pause");
    jfr_event(g, "jdk.GCHeapSummary 5490 1 3:After%20GC 1 2 12345");
    jfr_event(g, "jdk.CPULoad 5500 0x3e800000 0 0x3f800000");
    jfr_event(g, "acme.Sample 5600 1 1");
    jfr_pools(g, 0, jfr_pools_text);
    jfr_end(g, 1000);
}
