/*
 * name.h - the text of frames, and of columns as pseudo frames.
 *
 * foldmill's own style: the function; "[unknown] (dso)" for an address in a known module without a
 * name, with the dso as perf script prints it; "[unknown]" without one. FlameGraph's style follows
 * stackcollapse-perf's habits, jfrconv's those of async-profiler's converter. `folded` makes labels
 * that folded lines can hold.
 */
#ifndef FM_STORE_NAME_H
#define FM_STORE_NAME_H

#include "store/store.h"

enum fm_name_style { FM_NAMES_FOLDMILL, FM_NAMES_FLAMEGRAPH, FM_NAMES_JFRCONV };

struct fm_names {
    enum fm_name_style style;
    bool annotate;      /* _[k] _[i] _[j] _[0] _[1] _[g] _[G] by frame kind */
    bool dot, simple, norm; /* Java: pkg.Cls.method, Cls.method, no numbers of a run */
    bool signatures;    /* Java: the descriptor behind the method */
    bool lines, bci;    /* ":LINE" and "@BYTECODE" where they are known and not 0 */
    bool addresses;     /* numbers like 0x1f as 0x..., so that two runs can be compared */
    bool folded;        /* fm_name_folded() is applied */
};
/* Takes a list of words apart ("dot,norm,lines") and sets what they name. FM_CONFIG: an unknown
 * word. */
enum fm_status fm_names_parse(struct fm_names *names, const char *list, struct fm_error *err);

/* The text of frame f as a string of the store (added when new). FM_NONE: no memory. */
fm_str fm_name_frame(struct fm_store *store, fm_frame f, const struct fm_names *names);
/* The same for a frame that need not be in the store (edited stacks). */
fm_str fm_name_frame_row(struct fm_store *store, const struct fm_frame_row *frame,
                         const struct fm_names *names);

/* The text as a folded line can hold it: ';' becomes ':', control bytes (but TAB) "\x1b". The same
 * id when there is nothing to change; FM_NONE: no memory. */
fm_str fm_name_folded(struct fm_store *store, fm_str id);

/* The text of a class ("java.lang.String[]") in the style of the names: the same id when there is
 * nothing to change; FM_NONE: no memory. */
fm_str fm_name_class(struct fm_store *store, fm_str id, const struct fm_names *names);

/* The annotation of a frame, "_[k]" ... or "". */
const char *fm_name_suffix(const struct fm_frame_row *frame);
/* The kind that the letter of an annotation stands for ('k' of "_[k]"); false: none ('w' too). */
bool fm_name_suffix_kind(char letter, enum fm_frame_kind *kind);

/* The dso as perf prints it: "[kernel.kallsyms]", "/usr/bin/x", "[unknown]"; code of a JIT in
 * anonymous memory is "/tmp/perf-PID.map". FM_NONE: no memory. */
fm_str fm_name_dso(struct fm_store *store, fm_module m);

/* The bare text of a value of a column ("4711", "worker", "12.5"), appended to out. Strings as they
 * are, threads as their name, stacks as their leaf, times in ns. */
struct fm_out;
void fm_name_value(const struct fm_store *store, fm_column col, uint64_t value,
                   struct fm_out *out);

#endif
