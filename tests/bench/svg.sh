#!/bin/sh
# svg.sh - a million folded stacks to an SVG flame graph: CPU seconds and peak memory, and how they
# compare with sorting the file (LC_ALL=C sort) in the same run, and with flamegraph.pl and inferno
# where they are on PATH.
#
#     sh tests/bench/svg.sh [FILE.folded]        in the build folder; without FILE one is made
#
# The made file has 1,000,000 different stacks of nine frames: 132 MB, 5 million nodes.

set -u
LC_ALL=C
export LC_ALL
bin=${FOLDMILL:-$(pwd)/foldmill}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
file=${1-}
if [ -z "$file" ]; then
    file=$tmp/million.folded
    awk 'BEGIN {
        srand(1)
        for (i = 0; i < 1000000; i++) {
            printf "app;main;run_stage_%03d;handler_%04d;process_item_%04d", i % 97,
                int(i / 97) % 101, int(i / 9797) % 103
            for (d = 0; d < 3; d++)
                printf ";library::call_%04d", int(rand() * 3000)
            printf ";leaf_function_%03d %d\n", int(rand() * 500), 1 + int(rand() * 99)
        }
    }' >"$file"
fi
printf 'stacks %s, %s bytes\n' "$(wc -l <"$file")" "$(wc -c <"$file")"

# run NAME COMMAND...: user + system seconds, KiB at most
run() {
    name=$1
    shift
    if [ -x /usr/bin/time ]; then
        /usr/bin/time -o "$tmp/t" -f '%U %S %M' "$@" >/dev/null 2>&1
        awk -v name="$name" '{ printf "%-14s %6.2f CPU-s %8.0f MiB\n", name, $1 + $2, $3 / 1024 }' "$tmp/t"
        awk '{ print $1 + $2 }' "$tmp/t" >"$tmp/last"
    else
        bash -c 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1' run "$@" 2>"$tmp/t"
        awk -v name="$name" '{ printf "%-14s %6.2f CPU-s\n", name, $1 + $2 }' "$tmp/t"
        awk '{ print $1 + $2 }' "$tmp/t" >"$tmp/last"
    fi
}

run sort sort --parallel=1 "$file" -o "$tmp/sorted"
read -r sort <"$tmp/last"
run foldmill "$bin" convert "$file" -o "$tmp/a.svg"
read -r ours <"$tmp/last"
awk -v a="$ours" -v b="$sort" 'BEGIN { printf "foldmill takes %.2f times sort\n", a / b }'
for peer in flamegraph.pl inferno-flamegraph; do
    command -v "$peer" >/dev/null && run "$peer" "$peer" "$file"
done
exit 0
