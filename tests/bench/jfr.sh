#!/bin/sh
# jfr.sh - Java Flight Recorder files: CPU seconds, MB/s and peak memory, beside the tools of the JDK
# and of async-profiler where they are on PATH.
#
#   tests/bench/jfr.sh [RECORDING...]    from the build folder, after make && make tests/bench/jfr
#                                        tests/bench/measure
#
# Without RECORDING: 200 MB in 20 chunks made by tests/bench/jfr (mixes ap, jdk, both), and the real
# recordings of ../shared/data/jfr one behind the other up to 200 MB. Nothing here decides a test.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
foldmill=${FOLDMILL:-./foldmill}
measure=${MEASURE:-./tests/bench/measure}
bench=${BENCH:-./tests/bench/jfr}
data=$here/../../../shared/data/jfr/own
tmp=${TMPDIR:-/tmp}/foldmill-bench
mkdir -p "$tmp"

# row NAME BYTES COMMAND...
row() {
    name=$1
    bytes=$2
    shift 2
    "$measure" "$@" | awk -v name="$name" -v bytes="$bytes" '{
        cpu = $2 > 0 ? $2 : 0.001
        printf "%-44s cpu %7.3f s  wall %7.3f s  %8.1f MB/s  rss %7.1f MiB%s\n",
            name, $2, $4, bytes / 1e6 / cpu, $6, $8 ? "  FAILED" : "" }'
}

one() {
    bytes=$(wc -c <"$1")
    printf '%s: %s bytes\n' "$1" "$bytes"
    "$bench" "$1" || true
    row "foldmill, all events into the store" "$bytes" "$foldmill" info "$1"
    for event in cpu alloc lock wall; do
        row "foldmill --event $event -> folded" "$bytes" "$foldmill" convert --event $event --to folded -o - "$1"
    done
    if command -v jfrconv >/dev/null 2>&1; then
        row "jfrconv --cpu -> collapsed" "$bytes" jfrconv --cpu -o collapsed "$1" /dev/null
    fi
    if command -v jfr >/dev/null 2>&1; then
        row "jfr summary" "$bytes" jfr summary "$1"
        row "jfr print --events ExecutionSample" "$bytes" jfr print --events ExecutionSample "$1"
    fi
}

if [ $# -gt 0 ]; then
    for file; do
        one "$file"
    done
    exit
fi
for mix in ap jdk both; do
    [ -s "$tmp/$mix.jfr" ] || "$bench" --make $mix 200 "$tmp/$mix.jfr"
    one "$tmp/$mix.jfr"
done
if [ -d "$data" ]; then
    if [ ! -s "$tmp/real.jfr" ]; then
        : >"$tmp/real.jfr"
        while [ "$(wc -c <"$tmp/real.jfr")" -lt 200000000 ]; do
            cat "$data"/ap-chunks.jfr "$data"/jdk17-profile-cpu.jfr "$data"/ap-live.jfr \
                "$data"/ap-wall.jfr "$data"/jdk25-virtual.jfr "$data"/jdk25-cputime.jfr >>"$tmp/real.jfr"
            gzip -dc "$data"/ap-nativemem.jfr.gz "$data"/jdk17-profile-mixed.jfr.gz >>"$tmp/real.jfr"
        done
    fi
    one "$tmp/real.jfr"
    for file in "$data"/jdk25-cputime.jfr "$data"/ap-wall.jfr; do
        row "${file##*/} -> folded" "$(wc -c <"$file")" "$foldmill" convert --to folded -o - "$file"
    done
fi
