#!/bin/sh
# autogen.sh - from a fresh checkout to a result.
#
#   ./autogen.sh         makes ./configure, nothing else (needs autoconf, automake, libtool, pkg-config)
#   ./autogen.sh demo    installs what is missing, builds into build/, and converts a recording:
#                        flame.svg, profile.speedscope.json, profile.folded, the top 10 paths
#   ./autogen.sh check   installs what is missing, builds into build/, and runs the tests
#
# demo and check install Debian packages (as root, or with sudo) and only those that are missing.
# On other systems they say what is missing and go on when nothing is. check adds the tools without
# which some tests are skipped (mandoc, xmllint, zstd, node, chromium, GNU parallel) and the library that reads gzip faster
# than zlib (ISA-L), where that needs no password and no question: as root; and the packages of tests/npm into build/npm, where npm is there.

set -eu
cd "$(dirname "$0")"

# The tools and libraries by their Debian 12 package names; has() below says how to find each on
# any system.
packages="autoconf automake libtool make gcc libc6-dev pkg-config check
    libyaml-dev libtraceevent-dev libtracefs-dev zlib1g-dev libzstd-dev libelf-dev libdw-dev
    libpcre2-dev libxxhash-dev libiberty-dev liblzma-dev liblz4-dev libbz2-dev"
tools="libisal-dev mandoc libxml2-utils xz-utils zstd nodejs npm chromium parallel"

say() { echo "autogen.sh: $*" >&2; }

# has PACKAGE: true when the thing is there, on any system
has() {
    case $1 in
    autoconf) command -v autoreconf ;;
    automake) command -v automake ;;
    libtool) command -v libtoolize || command -v glibtoolize ;;
    make | gcc) command -v "$1" || { [ "$1" = gcc ] && command -v cc; } ;;
    mandoc | zstd) command -v "$1" ;;
    xz-utils) command -v xz ;;
    libxml2-utils) command -v xmllint ;;
    nodejs) command -v node ;;
    parallel) command -v parallel ;;
    npm) command -v npm ;;
    chromium) command -v chromium || command -v chromium-browser ;;
    pkg-config) command -v pkg-config || command -v pkgconf ;;
    libc6-dev) header stdio.h ;;
    check) module check ;;
    libyaml-dev) module yaml-0.1 ;;
    libtraceevent-dev) module libtraceevent ;;
    libtracefs-dev) module libtracefs ;;
    zlib1g-dev) module zlib ;;
    libzstd-dev) module libzstd ;;
    libelf-dev) module libelf ;;
    libdw-dev) module libdw ;;
    libpcre2-dev) module libpcre2-8 ;;
    liblzma-dev) module liblzma ;;
    liblz4-dev) module liblz4 ;;
    libisal-dev) module libisal ;;
    libxxhash-dev) header xxhash.h ;;
    libiberty-dev) header libiberty/demangle.h ;;
    libbz2-dev) header bzlib.h ;;
    esac >/dev/null 2>&1
}

module() { pkg-config --exists "$1"; }
header() { echo "#include <$1>" | cc -E - >/dev/null 2>&1; }

# missing [PACKAGE...]: those that are not there, of all that a build needs by default
missing() {
    lacks=
    for package in ${*:-$packages}; do
        has "$package" || lacks="$lacks $package"
    done
    echo $lacks
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_missing() {
    lacks=$(missing)
    [ -n "$lacks" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        say "missing, by their Debian names: $lacks"
        say "install what your system calls them and run this again"
        exit 1
    fi
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null 2>&1; then
        say "packages are missing, and neither root nor sudo is here; as root, run"
        say "apt-get install $lacks"
        exit 1
    fi
    say "installing $lacks"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update >&2
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
        install $lacks >&2
    lacks=$(missing)
    if [ -n "$lacks" ]; then
        say "still missing after the installation: $lacks"
        exit 1
    fi
}

# What tests are skipped without. An installation that fails is no failure.
install_tools() {
    lacks=$(missing $tools)
    if [ -n "$lacks" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing $lacks"
        { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y \
            --no-install-recommends install $lacks; } >&2 ||
            say "going on without $lacks: some tests will be skipped"
    fi
}

# The packages of tests/npm (a browser driver, a schema checker, a query engine to compare with), at
# the versions that its lock file names, into build/npm. Without them some tests are skipped.
install_modules() {
    modules=$PWD/build/npm
    command -v npm >/dev/null 2>&1 || return 0
    if ! cmp -s tests/npm/package-lock.json "$modules/installed"; then
        mkdir -p "$modules"
        cp tests/npm/package.json tests/npm/package-lock.json "$modules/"
        if (cd "$modules" && npm ci --no-audit --no-fund --ignore-scripts) >&2; then
            cp "$modules/package-lock.json" "$modules/installed"
        else
            say "going on without the packages of tests/npm: some tests will be skipped"
        fi
    fi
    NODE_PATH=$modules/node_modules${NODE_PATH:+:$NODE_PATH}
    export NODE_PATH
}

# Makes ./configure. Who has not even the tools for that is told what they are called.
configure() {
    lacks=$(missing autoconf automake libtool pkg-config)
    if [ -n "$lacks" ]; then
        say "missing, by their Debian names: $lacks"
        exit 1
    fi
    autoreconf --install --force
}

jobs() { nproc 2>/dev/null || echo 2; }

# build [CONFIGURE OPTIONS]: configures and builds into build/
build() {
    [ -x configure ] && [ configure -nt configure.ac ] && [ configure -nt Makefile.am ] ||
        configure >&2
    mkdir -p build
    (cd build && ../configure -q "$@" && make -s -j"$(jobs)") >&2
}

demo() {
    install_missing
    build
    recording=tests/data/perf/demo.data
    symbols="--symfs tests/data/perf/sysroot"
    foldmill=build/foldmill
    "$foldmill" convert $symbols "$recording" -o flame.svg
    "$foldmill" convert $symbols "$recording" -o profile.speedscope.json
    "$foldmill" convert $symbols "$recording" -o profile.folded
    "$foldmill" query hottest-paths $symbols -p n=10 "$recording"
    ls -l flame.svg profile.speedscope.json profile.folded
}

check() {
    install_missing
    install_tools
    install_modules
    build "$@"
    make -s -C build -j"$(jobs)" check
}

case ${1-} in
'') configure ;;
demo) demo ;;
check) shift && check "$@" ;;
*)
    say "unknown word '$1': use nothing, 'demo' or 'check'"
    exit 2
    ;;
esac
