/*
 * jitdump.h - jit-PID.dump: the code that a JIT made, when it did, and where it moved it.
 *
 * What `perf inject --jit` turns into one ELF file a function is read here as it is: a list of code
 * in the order of time. Code of a later entry lies over that of earlier ones. The machine code
 * itself is passed over.
 */
#ifndef FM_SYMBOL_JITDUMP_H
#define FM_SYMBOL_JITDUMP_H

#include "input/input.h"

/* From `address` on (as code lay when it was loaded) the code is of this line. */
struct fm_jitdump_line {
    uint64_t address;
    const char *file;
    uint32_t line;
};

struct fm_jitdump_code {
    uint64_t time;              /* of the dump's clock: it lies there from then on */
    uint64_t start, end;
    uint64_t loaded;            /* where it lay when it was loaded: == start unless it was moved */
    uint64_t index;             /* the writer's number of it */
    const char *name;           /* as written; never empty */
    size_t line, lines;         /* its lines in dump->line, by address */
};

struct fm_jitdump {
    struct fm_mem *mem;
    struct fm_arena arena;
    struct fm_jitdump_code *code;   /* by time, equal times as in the file */
    size_t codes, code_cap;
    struct fm_jitdump_line *line;
    size_t lines, line_cap;
    bool valid;                 /* the header was read */
    uint32_t pid;               /* as the process saw it itself */
    uint32_t machine;           /* ELF's number */
    bool ticks;                 /* times are of the processor's counter, else CLOCK_MONOTONIC ns */
    uint64_t lost;              /* moves of code that was never loaded */
};

/* Reads the whole. FM_FORMAT, FM_UNSUPPORTED: no jitdump (of this version), *dump is empty;
 * FM_TRUNCATED, FM_LIMIT, and FM_FORMAT behind the header: damage, what came before it is there;
 * FM_NOMEM, FM_IO. `dump` must be released in all cases. */
enum fm_status fm_jitdump_read(struct fm_jitdump *dump, struct fm_ctx *ctx,
                               struct fm_input *input, struct fm_error *err);
void fm_jitdump_release(struct fm_jitdump *dump);

/* The line of an address within code that lies at code->start; NULL unknown. */
const struct fm_jitdump_line *fm_jitdump_line(const struct fm_jitdump *dump,
                                              const struct fm_jitdump_code *code,
                                              uint64_t address);

#endif
