/*
 * v0_names.c - what version 0.9 calls the event types and fields that later versions have too, so
 * that formats/jfr.yaml has one set of rules.
 *
 *     HotSpot  "jvm/java/monitor_enter" klass          -> jdk.JavaMonitorEnter monitorClass
 *     JRockit  "jrockit/jvm/java/monitor_enter" class  -> the same
 */
#include "import/jfr/v0.h"

struct name {
    const char *old, *modern;
};

static const struct name types[] = {
    {"jvm/vm/prof/execution_sample", "jdk.ExecutionSample"},
    {"jvm/java/object_alloc_in_new_TLAB", "jdk.ObjectAllocationInNewTLAB"},
    {"jvm/java/object_alloc_outside_TLAB", "jdk.ObjectAllocationOutsideTLAB"},
    {"jvm/java/monitor_enter", "jdk.JavaMonitorEnter"},
    {"jvm/java/monitor_wait", "jdk.JavaMonitorWait"},
    {"jvm/java/thread_park", "jdk.ThreadPark"},
    {"jvm/java/thread_sleep", "jdk.ThreadSleep"},
    {"jvm/java/thread_start", "jdk.ThreadStart"},
    {"jvm/java/thread_end", "jdk.ThreadEnd"},
    {"jvm/java/statistics/threads", "jdk.JavaThreadStatistics"},
    {"jvm/java/statistics/class_loading", "jdk.ClassLoadingStatistics"},
    {"jvm/java/statistics/thread_allocation", "jdk.ThreadAllocationStatistics"},
    {"jvm/vm/class/load", "jdk.ClassLoad"},
    {"jvm/vm/class/unload", "jdk.ClassUnload"},
    {"jvm/vm/compiler/compilation", "jdk.Compilation"},
    {"jvm/vm/compiler/failure", "jdk.CompilationFailure"},
    {"jvm/vm/compiler/phase", "jdk.CompilerPhase"},
    {"jvm/vm/gc/collector/garbage_collection", "jdk.GarbageCollection"},
    {"jvm/vm/gc/collector/young_garbage_collection", "jdk.YoungGarbageCollection"},
    {"jvm/vm/gc/collector/old_garbage_collection", "jdk.OldGarbageCollection"},
    {"jvm/vm/gc/collector/parold_garbage_collection", "jdk.ParallelOldGarbageCollection"},
    {"jvm/vm/gc/collector/g1_garbage_collection", "jdk.G1GarbageCollection"},
    {"jvm/vm/gc/heap/summary", "jdk.GCHeapSummary"},
    {"jvm/vm/gc/heap/metaspace_summary", "jdk.MetaspaceSummary"},
    {"jvm/vm/gc/heap/ps_summary", "jdk.PSHeapSummary"},
    {"jvm/vm/gc/phases/pause", "jdk.GCPhasePause"},
    {"jvm/vm/gc/phases/pause_level_1", "jdk.GCPhasePauseLevel1"},
    {"jvm/vm/gc/phases/pause_level_2", "jdk.GCPhasePauseLevel2"},
    {"jvm/vm/gc/phases/pause_level_3", "jdk.GCPhasePauseLevel3"},
    {"jvm/vm/runtime/execute_vm_operation", "jdk.ExecuteVMOperation"},
    {"jvm/vm/runtime/thread_dump", "jdk.ThreadDump"},
    {"jvm/vm/info", "jdk.JVMInformation"},
    {"jvm/vm/initial_system_property", "jdk.InitialSystemProperty"},
    {"jvm/os/information", "jdk.OSInformation"},
    {"jvm/os/initial_environment_variable", "jdk.InitialEnvironmentVariable"},
    {"jvm/os/memory/physical_memory", "jdk.PhysicalMemory"},
    {"jvm/os/processor/cpu_information", "jdk.CPUInformation"},
    {"jvm/os/processor/cpu_load", "jdk.CPULoad"},
    {"jvm/os/processor/cpu_tsc", "jdk.CPUTimeStampCounter"},
    {"jvm/os/processor/context_switch_rate", "jdk.ThreadContextSwitchRate"},
    {"jdk/java/exception_throw", "jdk.JavaExceptionThrow"},
    {"jdk/java/error_throw", "jdk.JavaErrorThrow"},
    {"jdk/java/statistics/throwables", "jdk.ExceptionStatistics"},
    {"jdk/java/file_read", "jdk.FileRead"},
    {"jdk/java/file_write", "jdk.FileWrite"},
    {"jdk/java/socket_read", "jdk.SocketRead"},
    {"jdk/java/socket_write", "jdk.SocketWrite"},
    {"jfr-info/recordings/recording", "jdk.ActiveRecording"},
    {"jfr-info/recordings/recording_setting", "jdk.ActiveSetting"},
    {"jrockit/jvm/vm/prof/execution_sample", "jdk.ExecutionSample"},
    {"jrockit/jvm/java/object_alloc_in_new_tla", "jdk.ObjectAllocationInNewTLAB"},
    {"jrockit/jvm/java/object_alloc_outside_tla", "jdk.ObjectAllocationOutsideTLAB"},
    {"jrockit/jvm/java/monitor_enter", "jdk.JavaMonitorEnter"},
    {"jrockit/jvm/java/monitor_wait", "jdk.JavaMonitorWait"},
    {"jrockit/jvm/java/thread_park", "jdk.ThreadPark"},
    {"jrockit/jvm/java/thread_sleep", "jdk.ThreadSleep"},
    {"jrockit/jvm/java/thread_start", "jdk.ThreadStart"},
    {"jrockit/jvm/java/thread_end", "jdk.ThreadEnd"},
    {"jrockit/jvm/java/statistics/threads", "jdk.JavaThreadStatistics"},
    {"jrockit/jvm/java/exception_throw", "jdk.JavaExceptionThrow"},
    {"jrockit/jvm/java/file_read", "jdk.FileRead"},
    {"jrockit/jvm/java/file_write", "jdk.FileWrite"},
    {"jrockit/jvm/java/socket_read", "jdk.SocketRead"},
    {"jrockit/jvm/java/socket_write", "jdk.SocketWrite"},
    {"jrockit/jvm/vm/class/load", "jdk.ClassLoad"},
    {"jrockit/jvm/vm/compiler/jit_compile", "jdk.Compilation"},
    {"jrockit/jvm/vm/compiler/opt_compile", "jdk.Compilation"},
    {"jrockit/jvm/vm/gc/garbage_collection", "jdk.GarbageCollection"},
    {"jrockit/jvm/vm/gc/phases/stopped", "jdk.GCPhasePause"},
    {"jrockit/jvm/vm/gc/phases_sublevels/level_1/stopped", "jdk.GCPhasePauseLevel1"},
    {"jrockit/jvm/vm/gc/phases_sublevels/level_2/stopped", "jdk.GCPhasePauseLevel2"},
    {"jrockit/jvm/vm/gc/phases_sublevels/level_3/stopped", "jdk.GCPhasePauseLevel3"},
    {"jrockit/jvm/vm/gc/phases_sublevels/level_4/stopped", "jdk.GCPhasePauseLevel4"},
    {"jrockit/jvm/vm/gc/phases/concurrent", "jdk.GCPhaseConcurrent"},
    {"jrockit/jvm/vm/info", "jdk.JVMInformation"},
    {"jrockit/jvm/os/cpu_load", "jdk.CPULoad"},
    {"jrockit/jvm/os/context_switch_rate", "jdk.ThreadContextSwitchRate"},
    {"jrockit/jvm/os/physical_memory", "jdk.PhysicalMemory"},
};

static const struct {
    const char *modern;         /* type */
    const char *old, *field;
} fields[] = {
    {"jdk.ExecutionSample", "thread", "sampledThread"},
    {"jdk.ExecutionSample", "stacktrace", "stackTrace"},
    {"jdk.ObjectAllocationInNewTLAB", "class", "objectClass"},
    {"jdk.ObjectAllocationInNewTLAB", "object.class", "objectClass"},
    {"jdk.ObjectAllocationInNewTLAB", "object.size", "allocationSize"},
    {"jdk.ObjectAllocationInNewTLAB", "tlaSize", "tlabSize"},
    {"jdk.ObjectAllocationOutsideTLAB", "class", "objectClass"},
    {"jdk.ObjectAllocationOutsideTLAB", "object.class", "objectClass"},
    {"jdk.ObjectAllocationOutsideTLAB", "object.size", "allocationSize"},
    {"jdk.JavaMonitorEnter", "klass", "monitorClass"},
    {"jdk.JavaMonitorEnter", "class", "monitorClass"},
    {"jdk.JavaMonitorEnter", "owner", "previousOwner"},
    {"jdk.JavaMonitorWait", "klass", "monitorClass"},
    {"jdk.JavaMonitorWait", "class", "monitorClass"},
    {"jdk.ThreadPark", "klass", "parkedClass"},
    {"jdk.ThreadPark", "class", "parkedClass"},
    {"jdk.JavaExceptionThrow", "class", "thrownClass"},
    {"jdk.FileRead", "bytes", "bytesRead"},
    {"jdk.FileWrite", "bytes", "bytesWritten"},
    {"jdk.SocketRead", "bytes", "bytesRead"},
    {"jdk.SocketWrite", "bytes", "bytesWritten"},
    {"jdk.Compilation", "compileID", "compileId"},
    {"jdk.Compilation", "succeded", "succeeded"},
    {"jdk.GarbageCollection", "type", "name"},
    {"jdk.ThreadContextSwitchRate", "switchrate", "switchRate"},
    {"jdk.PhysicalMemory", "total", "totalSize"},
    {"jdk.PhysicalMemory", "used", "usedSize"},
    {"jdk.CPULoad", "user", "jvmUser"},
    {"jdk.CPULoad", "system", "jvmSystem"},
    {"jdk.CPULoad", "total", "machineTotal"},
};

static size_t prefix(const char *s, size_t n, const char *with)
{
    size_t len = strlen(with);
    return n >= len && memcmp(s, with, len) == 0 ? len : 0;
}

const char *fm_jfr_v0_type_name(struct fm_arena *arena, const char *uri, size_t uri_n,
                                const char *path, size_t path_n)
{
    size_t cut = prefix(uri, uri_n, "http://www.oracle.com/hotspot/");
    if (cut == 0)
        cut = prefix(uri, uri_n, "http://www.oracle.com/");
    return fm_arena_printf(arena, "%.*s%.*s", (int)(uri_n - cut), uri + cut, (int)path_n, path);
}

const char *fm_jfr_v0_modern(const char *type)
{
    for (size_t i = 0; i < FM_COUNT(types); i++)
        if (strcmp(types[i].old, type) == 0)
            return types[i].modern;
    return type;
}

const char *fm_jfr_v0_modern_field(const char *type, const char *field)
{
    const char *modern = fm_jfr_v0_modern(type);
    for (size_t i = 0; i < FM_COUNT(fields); i++)
        if (strcmp(fields[i].modern, modern) == 0 && strcmp(fields[i].old, field) == 0)
            return fields[i].field;
    return field;
}
