#!/bin/sh
# json.sh - the JSON scanner beside python3's and node's parsers: MB per CPU-second of each, in one
# run over the same bytes. Run in the build folder after `make tests/bench/json`:
#
#     ../tests/bench/json.sh FILE...          traces, plain or gzip; the peers read them once each
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for file; do
    case $file in
    *.gz) gzip -dc "$file" >"$dir/trace.json" ;;
    *) cat "$file" >"$dir/trace.json" ;;
    esac
    echo "$file"
    tests/bench/json "$dir/trace.json" | sed 1d
    if command -v python3 >/dev/null; then
        python3 - "$dir/trace.json" <<'PY'
import json, sys, time
data = open(sys.argv[1], "rb").read()
start = time.process_time()
json.loads(data)
print("  python3 %8.0f MB/s" % (len(data) / 1e6 / (time.process_time() - start)))
PY
    fi
    if command -v node >/dev/null; then
        node -e '
            const data = require("fs").readFileSync(process.argv[1], "utf8");
            const start = process.cpuUsage();
            JSON.parse(data);
            const used = process.cpuUsage(start);
            const rate = data.length / (used.user + used.system);
            console.log("  node    " + rate.toFixed(0).padStart(8) + " MB/s");
        ' "$dir/trace.json"
    fi
done
