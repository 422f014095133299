#!/bin/sh
# make.sh - makes the programs of the recordings here, and the recordings (root, perf 6.1).
# The programs stand in sysroot/ as they were recorded: --symfs tests/data/perf/sysroot.
set -eu
cd "$(dirname "$0")"
mkdir -p sysroot/opt/foldmill-demo /opt/foldmill-demo
for p in tree crew; do
    gcc -O0 -fno-omit-frame-pointer -fno-stack-protector -fno-asynchronous-unwind-tables \
        -fcf-protection=none -static -nostdlib -Wl,--build-id=sha1 -Wl,-n \
        -Wl,-z,noseparate-code -o sysroot/opt/foldmill-demo/$p $p.c
    strip -g -R .comment sysroot/opt/foldmill-demo/$p
    cp sysroot/opt/foldmill-demo/$p /opt/foldmill-demo/
done
perf record -q -o tree.perf.data -e cpu-clock:u -F 99 -g -- /opt/foldmill-demo/tree
perf record -q -o tree-mono.perf.data -k mono -e cpu-clock:u -F 99 -g -- /opt/foldmill-demo/tree
perf record -q -o crew.perf.data -e cpu-clock:u -e page-faults:u -F 99 -g \
    -- /opt/foldmill-demo/crew
chmod 644 ./*.perf.data
