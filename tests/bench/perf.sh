#!/bin/sh
# perf.sh - perf.data to folded and to SVG: CPU seconds, MB/s, samples/s and peak memory, beside perf
# itself in the same run.
#
#   tests/bench/perf.sh [RECORDING]      from the build folder, after make && make tests/bench/perf tests/bench/measure
#
# Without RECORDING one of at least 200 MB is made where perf can record (software clock, 24 kHz, over
# the demo programs of ../shared/data/perf), else by tests/bench/perf --make. Peers that are not on PATH
# are skipped. Nothing here decides a test.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
foldmill=${FOLDMILL:-./foldmill}
measure=${MEASURE:-./tests/bench/measure}
demo=$here/../../../shared/data/perf/sysroot/opt/tmdemo/bin
tmp=${TMPDIR:-/tmp}/foldmill-bench
mkdir -p "$tmp"

record() {
    cp "$demo/calltree-fp" "$demo/cxx" "$demo/gob" "$tmp/"
    chmod +x "$tmp/calltree-fp" "$tmp/cxx" "$tmp/gob"
    perf record -q -m 4096 -e cpu-clock -F 24000 -g -o "$1" -- sh -c \
        "$tmp/calltree-fp 9000 r & $tmp/calltree-fp 9000 & $tmp/cxx 9000 & $tmp/gob 9000 & wait"
}

input=${1:-$tmp/bench.data}
if [ ! -s "$input" ]; then
    if command -v perf >/dev/null 2>&1 && [ -d "$demo" ] && record "$input"; then
        :
    else
        ./tests/bench/perf --make 1000000 "$input"
    fi
fi
bytes=$(wc -c <"$input")
samples=$("$foldmill" info "$input" | sed -n 's/.*= kept \([0-9,]*\) .*/\1/p' | tr -d ,)
printf '%s: %s bytes, %s samples\n' "$input" "$bytes" "$samples"

# row NAME COMMAND…
row() {
    name=$1
    shift
    "$measure" "$@" | awk -v name="$name" -v bytes="$bytes" -v samples="$samples" '{
        cpu = $2 > 0 ? $2 : 0.001
        printf "%-34s cpu %7.3f s  wall %7.3f s  %8.1f MB/s  %10.0f samples/s  rss %7.1f MiB%s\n",
            name, $2, $4, bytes / 1e6 / cpu, samples / cpu, $6, $8 ? "  FAILED" : "" }'
}

row "read the bytes (cat)" -c "cat '$input' | cat >/dev/null"
row "foldmill into the store" "$foldmill" info --no-symbols "$input"
row "foldmill -> folded" "$foldmill" convert --to folded -o - "$input"
row "foldmill -> svg" "$foldmill" convert --to svg -o - "$input"
row "foldmill -> speedscope" "$foldmill" convert --to speedscope -o - "$input"
row "foldmill query hottest-paths" "$foldmill" query hottest-paths "$input"
if command -v perf >/dev/null 2>&1; then
    row "perf report -g folded" perf report --stdio --no-children -g folded,0.5,caller,count \
        -s comm -i "$input"
    row "perf script | awk" -c "perf script -F comm,ip,sym -i '$input' | awk '
        /^[^ \\t]/ { comm = \$1; stack = \"\"; next }
        NF == 0 { if (comm != \"\") n[comm stack]++; comm = \"\"; next }
        { \$1 = \"\"; stack = \";\" substr(\$0, 2) stack }
        END { for (s in n) print s, n[s] }'"
fi
