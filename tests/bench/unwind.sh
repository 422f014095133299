#!/bin/sh
# unwind.sh - a recording of --call-graph dwarf to folded stacks: CPU seconds, samples/s and peak
# memory, beside perf itself and a plain read of the same bytes in the same run.
#
#   tests/bench/unwind.sh [RECORDING]    from the build folder, after make && make tests/bench/measure
#
# Without RECORDING one of some 300 MB is made (software clock, 1.5 kHz, stacks of 8 KiB, over the
# demo programs of ../shared/data/perf), where perf can record. Nothing here decides a test.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
foldmill=${FOLDMILL:-./foldmill}
measure=${MEASURE:-./tests/bench/measure}
demo=$here/../../../shared/data/perf/sysroot/opt/tmdemo/bin
tmp=${TMPDIR:-/tmp}/foldmill-bench
mkdir -p "$tmp"

record() {
    perf record -q -m 8192 -e cpu-clock -F 1500 --call-graph dwarf,8192 -o "$1" -- sh -c "
        for i in 1 2 3; do
            $demo/calltree-nofp 800; $demo/cxx-nofp 600; $demo/gob 400; $demo/forker
        done" >/dev/null
}

input=${1:-$tmp/unwind.data}
if [ ! -s "$input" ]; then
    command -v perf >/dev/null 2>&1 && [ -d "$demo" ] || { echo "no recording, and no perf to make one"; exit 0; }
    record "$input"
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
row "foldmill -> folded" "$foldmill" convert --to folded -o - "$input"
if command -v perf >/dev/null 2>&1; then
    row "perf script --no-inline" perf script --no-inline -F comm,ip,sym -i "$input"
    row "perf script" perf script -F comm,ip,sym -i "$input"
fi
