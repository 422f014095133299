#!/bin/sh
# Makes the small ELF files beside it (x86-64, GCC 12, binutils 2.40). They are checked in, because
# the tests must not need a compiler and the expectations name addresses.
#
#   tiny.so           everything, build-id 00112233445566778899aabbccddeeff00112233
#   tiny-stripped.so  no .symtab, .gnu_debuglink to tiny.debug
#   tiny.debug        its .symtab only (addresses are right, file offsets are not)
#   tiny-mini.so      no .symtab, .gnu_debugdata
#   tiny-noid.so      tiny-stripped.so without a build-id: the debug link's CRC decides
#   other.so          the same code, another build-id
#   tiny.ko           relocatable, with .text, .text.unlikely, .init.text
set -eu
cd "$(dirname "$0")"
id=00112233445566778899aabbccddeeff00112233
build() {
    gcc -O1 -g0 -fPIC -shared -nostdlib -fno-asynchronous-unwind-tables -fcf-protection=none \
        -Wl,-z,noseparate-code -Wl,-z,lazy -Wl,--hash-style=gnu -Wl,--section-start=.far=0x40000 \
        -Wl,--build-id="$1" -o "$2" tiny.c
}
build 0x$id tiny.so
build 0xffeeddccbbaa99887766554433221100ffeeddcc other.so
objcopy --only-keep-debug tiny.so tiny.debug
objcopy --strip-all --add-gnu-debuglink=tiny.debug tiny.so tiny-stripped.so
objcopy --remove-section=.note.gnu.build-id tiny-stripped.so tiny-noid.so
nm tiny.so --format=posix --defined-only | awk '$2 == "T" || $2 == "t" {print $1}' | sort > keep.txt
objcopy -S --keep-symbols=keep.txt tiny.debug mini.debug
xz -9 -k mini.debug
objcopy --strip-all --add-section .gnu_debugdata=mini.debug.xz tiny.so tiny-mini.so
rm -f keep.txt mini.debug mini.debug.xz
gcc -O2 -g0 -c -fno-asynchronous-unwind-tables -fcf-protection=none -o tiny.ko -x c - <<'C'
__attribute__((section(".init.text"))) int start_up(void) { return 1; }
int ko_first(int x) { return x + 1; }
int ko_second(int x) { return x * 5; }
__attribute__((cold)) int ko_cold(int x) { return x - 9; }
C
objcopy -R .comment -R .note.GNU-stack tiny.ko
