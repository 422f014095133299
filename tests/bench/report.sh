#!/bin/sh
# report.sh - a report over a folder of recordings: files a second and MB/s, by threads, and again.
#
#   tests/bench/report.sh [FOLDER]        from the build folder, after make; ../shared/data beside the
#                                         checkout by default
#
# The report: the hottest paths and a flame graph of each file, the functions of all, the table of
# files. Nothing here decides a test.
set -eu
foldmill=${FOLDMILL:-$(pwd)/foldmill}
here=$(cd "$(dirname "$0")" && pwd)
data=${1:-$here/../../../shared/data}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/foldmill-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/report.yaml" <<'END'
foldmill-report: 1
name: bench
each:
  - {query: hottest-paths, to: paths.csv}
  - {export: svg, to: flame.svg}
tables:
  - {name: functions, query: top}
  - {name: files, from: files}
END
bytes=$(find "$data" -type f -exec cat {} + | wc -c)

# row NAME ARGUMENT...
row() {
    name=$1
    shift
    from=$(date +%s%N)
    "$foldmill" report "$tmp/report.yaml" "$data" --progress never "$@" >"$tmp/out" 2>/dev/null || :
    to=$(date +%s%N)
    awk -v name="$name" -v bytes="$bytes" -v ns=$((to - from)) '{
        s = ns / 1e9
        printf "%-14s %7.2f s  %8.1f files/s  %8.1f MB/s   %s\n", name, s, $1 / s, bytes / 1e6 / s, $0
    }' "$tmp/out"
}

row "1 thread" -o "$tmp/1" --threads 1
row "2 threads" -o "$tmp/2" --threads 2
row "second run" -o "$tmp/2" --threads 2
