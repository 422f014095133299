/*
 * settings.h - what a chunk says about its recording: writer, JVM, sampling periods, losses.
 *
 * Setting events (id of an event type, name, value) tell the periods:
 *
 *     HotSpot          jdk.ExecutionSample, jdk.NativeMethodSample   period    "20 ms"
 *                      jdk.CPUTimeSample                             throttle  "10ms", "500/s"
 *     async-profiler   jdk.ExecutionSample    interval ns, 0 = 10 ms
 *                                             wall     ns, 0 = 50 ms, negative = off
 *                      jdk.ActiveRecording    event    cpu, ctimer, wall, cycles, a method …
 *     Datadog          datadog.ExecutionSample, datadog.MethodSample   interval ns
 *
 * Later chunks of a rotated recording have no settings: those of the last chunk of the same writer
 * hold on.
 */
#ifndef FM_IMPORT_JFR_SETTINGS_H
#define FM_IMPORT_JFR_SETTINGS_H

#include "import/jfr/jfr.h"

struct fm_jfr_chunk;

struct fm_jfr_periods {
    bool given;                 /* any setting was read */
    uint64_t execution, native_method, cpu_time, wall; /* ns, 0 unknown */
    uint64_t datadog_cpu, datadog_wall;
    char profiled[64];          /* async-profiler's `event`, "" unknown */
};

struct fm_jfr_facts {
    const char *writer;         /* "hotspot", "async-profiler", "datadog", "grafana" */
    struct fm_jfr_periods periods;
    bool has_jvm;
    int64_t pid;                /* -1 unknown */
    int64_t jvm_start;
    const char *jvm_name, *jvm_version, *jvm_arguments, *java_arguments, *recording; /* or NULL */
    struct fm_jfr_buf settings; /* "jdk.ExecutionSample#period=20 ms, …" */
};

/* Whether events of the class are kept by the survey. */
bool fm_jfr_is_saved(const char *class_name);
/* Reads the chunk's saved events; chunk->facts is filled. */
void fm_jfr_facts_read(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed);
/* What holds for events of a class. */
void fm_jfr_extra_for(const struct fm_jfr_chunk *chunk, const char *class_name,
                      struct fm_jfr_extra *extra);

#endif
