#!/bin/sh
# Makes ./configure. `demo` and `check` do more: see README.md.
set -eu
cd "$(dirname "$0")"
autoreconf --install --force
