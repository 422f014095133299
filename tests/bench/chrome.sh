#!/bin/sh
# chrome.sh - Chrome traces into the store and on to pictures: CPU seconds, MB/s, peak memory, beside
# node's and python's JSON parsers in the same run.
#
#   tests/bench/chrome.sh [MB [FILE…]]    from the build folder, after make && make
#                                         tests/bench/chrome tests/bench/measure tests/chrome-make
#
# Traces of MB (300) megabytes are made with tests/chrome-make, plain and gzipped. Peers that are
# not on PATH are skipped; they read whole files into memory, so above 500 MB node fails by its limit
# on strings. Nothing here decides a test.
set -eu
foldmill=${FOLDMILL:-./foldmill}
measure=${MEASURE:-./tests/bench/measure}
tmp=${TMPDIR:-/tmp}/foldmill-bench
mkdir -p "$tmp"
mb=${1:-300}
[ $# -eq 0 ] || shift

# row NAME BYTES COMMAND…
row() {
    name=$1
    bytes=$2
    shift 2
    "$measure" "$@" | awk -v name="$name" -v bytes="$bytes" '{
        cpu = $2 > 0 ? $2 : 0.001
        printf "%-34s cpu %7.3f s  wall %7.3f s  %8.1f MB/s  rss %7.1f MiB%s\n",
            name, $2, $4, bytes / 1e6 / cpu, $6, $8 ? "  FAILED" : "" }'
}

for shape in spans small; do
    file=$tmp/chrome-$shape-$mb.json
    [ -s "$file" ] || ./tests/chrome-make $shape "$mb" >"$file" 2>"$file.right"
    [ -s "$file.gz" ] || gzip -6c "$file" >"$file.gz"
    bytes=$(wc -c <"$file")
    printf '%s: %s bytes, %s\n' "$file" "$bytes" "$(cat "$file.right")"
    ./tests/bench/chrome "$file" "$file.gz"
    row "foldmill -> folded" "$bytes" "$foldmill" convert --to folded -o - "$file"
    row "foldmill -> svg" "$bytes" "$foldmill" convert --to svg -o - "$file"
    row "gzip -dc" "$bytes" gzip -dc "$file.gz"
    if command -v node >/dev/null 2>&1; then
        row "node JSON.parse" "$bytes" node --max-old-space-size=8192 -e '
            JSON.parse(require("fs").readFileSync(process.argv[1], "latin1"))' "$file"
    fi
    if command -v python3 >/dev/null 2>&1; then
        row "python3 json.load" "$bytes" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' \
            "$file"
    fi
done
for file; do
    ./tests/bench/chrome "$file"
done
