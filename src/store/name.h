/*
 * name.h - the text of frames, and of columns as pseudo frames.
 *
 * foldmill's own style: the function; "[unknown] (dso)" for an address in a known module without a
 * name, with the dso as perf script prints it; "[unknown]" without one. FlameGraph's style follows
 * stackcollapse-perf's habits. ';' becomes ':' only where folded is written, not here.
 */
#ifndef FM_STORE_NAME_H
#define FM_STORE_NAME_H

#include "store/store.h"

enum fm_name_style { FM_NAMES_FOLDMILL, FM_NAMES_FLAMEGRAPH };

struct fm_names {
    enum fm_name_style style;
    bool annotate;      /* _[k] _[i] _[j] _[0] _[1] _[g] _[G] by frame kind */
    bool dot;           /* Java names with dots */
};

/* The text of frame f as a string of the store (added when new). FM_NONE: no memory. */
fm_str fm_name_frame(struct fm_store *store, fm_frame f, const struct fm_names *names);

/* The dso as perf prints it: "[kernel.kallsyms]", "/usr/bin/x", "[unknown]". */
fm_str fm_name_dso(const struct fm_store *store, fm_module m);

/* The bare text of a value of a column ("4711", "worker", "12.5"), appended to out. Strings as they
 * are, threads as their name, stacks as their leaf, times in ns. */
struct fm_out;
void fm_name_value(const struct fm_store *store, fm_column col, uint64_t value,
                   struct fm_out *out);

#endif
