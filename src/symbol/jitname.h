/*
 * jitname.h - what the names that JITs give to their code say.
 *
 *     HotSpot          long pkg.Cls.method(int)                        pkg/Cls.method
 *     perf-map-agent   Lpkg/Cls;::method                               pkg/Cls.method
 *     perf's jvmti     Lpkg/Cls;method(I)J                             pkg/Cls.method
 *     .NET             int32 [Asm] Ns.Cls::Method(string)[Tier0]       Ns.Cls::Method
 *     V8               JS:*name /a.js:10:5  LazyCompile:~name /a.js:10 name, file, line
 *     Python           py::name:/a.py                                  name, file
 *
 * Interpreted code of V8 ("~") and HotSpot's interpreter are told apart by kind, Python frames too.
 * What follows none of these habits is a name as it is, or a mangled one.
 */
#ifndef FM_SYMBOL_JITNAME_H
#define FM_SYMBOL_JITNAME_H

#include "symbol/symbol.h"
#include "util/out.h"

struct fm_jit_name {
    const char *file;           /* within the text; NULL unknown */
    size_t file_n;
    uint32_t line, column;      /* 0 unknown */
    uint8_t kind;               /* enum fm_frame_kind */
};

/* Writes the function's name for people to `out` (its status tells of no memory). With
 * FM_DEMANGLE_FULL parameters stay, with FM_DEMANGLE_RAW all of the text; the rest is told the
 * same. */
void fm_jit_name(struct fm_out *out, const char *s, size_t n, enum fm_demangle style,
                 struct fm_jit_name *name);

#endif
