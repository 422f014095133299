#!/bin/sh
# trace.sh - a recording of tracepoints with call chains: off-CPU time, all samples and one field of a
# payload, in CPU seconds, samples/s and peak memory, beside perf itself in the same run.
#
#   tests/bench/trace.sh [RECORDING]     from the build folder, after make && make tests/bench/measure
#
# Without RECORDING one of the whole machine is made (scheduler and system calls, as root, with tracefs),
# where perf can. Nothing here decides a test.
set -eu
foldmill=${FOLDMILL:-./foldmill}
measure=${MEASURE:-./tests/bench/measure}
tmp=${TMPDIR:-/tmp}/foldmill-bench
mkdir -p "$tmp"

record() {
    perf record -q -m 4096 -a -g -o "$1" \
        -e 'sched:sched_switch,sched:sched_waking,raw_syscalls:sys_enter,raw_syscalls:sys_exit' -- sh -c '
        for i in 1 2 3; do find /usr/include -name "*.h" | xargs cat >/dev/null 2>&1; done'
}

input=${1:-$tmp/trace.data}
if [ ! -s "$input" ] && ! record "$input"; then
    echo "no recording, and none can be made here"
    exit 0
fi
bytes=$(wc -c <"$input")
samples=$("$foldmill" info "$input" 2>/dev/null | sed -n 's/.*= kept \([0-9,]*\) .*/\1/p' | tr -d ,)
printf '%s: %s bytes, %s samples\n' "$input" "$bytes" "$samples"

# row NAME COMMAND…
row() {
    name=$1
    shift
    "$measure" "$@" 2>/dev/null | awk -v name="$name" -v bytes="$bytes" -v samples="$samples" '{
        cpu = $2 > 0 ? $2 : 0.001
        printf "%-34s cpu %7.3f s  wall %7.3f s  %8.1f MB/s  %10.0f samples/s  rss %7.1f MiB%s\n",
            name, $2, $4, bytes / 1e6 / cpu, samples / cpu, $6, $8 ? "  FAILED" : "" }'
}

row "read the bytes (cat)" -c "cat '$input' | cat >/dev/null"
row "foldmill, all samples -> folded" "$foldmill" convert --event all --weight samples --to folded -o - "$input"
row "foldmill, offcpu -> folded" "$foldmill" convert --event offcpu --to folded -o - "$input"
row "foldmill, system calls by number" "$foldmill" top --event raw_syscalls:sys_enter --by arg.id "$input"
if command -v perf >/dev/null 2>&1; then
    row "perf script, chains" perf script -F comm,ip,sym -i "$input"
    row "perf script, payloads" perf script -F comm,tid,time,event,trace -i "$input"
fi
