#!/bin/sh
# html.sh - the HTML report at size: bytes a frame, and how long Chromium takes to open, zoom, search
# and change the view. From the build folder: sh ../tests/bench/html.sh [FRAMES...]
#
# The profiles are random walks of about that many frames over 20,000 functions (158,550 and 5.06
# million are the sizes at which an async-profiler page was measured: 1.6 MB, 2.7 s to open and 0.2 s
# to zoom; 50 MB, 64 s). Needs node, playwright-core and chromium.

set -u
here=$(cd "$(dirname "$0")" && pwd)
foldmill=${FOLDMILL:-$(pwd)/foldmill}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/foldmill-bench.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
browser=$(command -v chromium || command -v chromium-browser)

[ $# -gt 0 ] || set -- 158550 5060000
for frames; do
    awk -v want="$frames" 'BEGIN {
        srand(7)
        for (made = 0; made < want;) {
            keep = int(rand() < 0.75 ? d - 1 - rand() * 6 : rand() * d)
            if (keep < 8 && d >= 8 && rand() < 0.98) keep = 8
            d = keep < 0 ? 0 : keep > d ? d : keep
            for (add = 1 + int(rand() * 5); add > 0 && d < 60; add--) {
                f = int(20000 * rand() ^ 3)
                name[++d] = "lib" f % 37 "::Class" f % 997 "::method_" f
                path[d] = d > 1 ? path[d - 1] ";" name[d] : name[d]
                made++
            }
            print path[d], 1 + int(rand() * 30)
        }
    }' >"$tmp/in.folded"
    start=$(date +%s%N)
    "$foldmill" convert "$tmp/in.folded" -o "$tmp/page.html" || exit 1
    end=$(date +%s%N)
    echo "$frames frames asked for: $(wc -c <"$tmp/in.folded") bytes folded," \
        "written in $(((end - start) / 1000000)) ms"
    [ -n "$browser" ] && node "$here/html.cjs" "$tmp/page.html" "$browser"
done
