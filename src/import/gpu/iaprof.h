/*
 * iaprof.h - the parts of the iaprof importer among themselves.
 *
 *     bytes -> iaprof_line.c -> string ids   -> iaprof_name.c   (ids -> texts, frames, stacks)
 *                            -> a state      -> iaprof_name.c   (kernel line -> site)
 *                            -> counts       -> iaprof_row.c    (cells -> rows, intervals)
 *
 * A cell is one count of one reason at one instruction: what a sample row is made of. Cells of an
 * interval wait until there are enough for a block; those of the first interval until its length is
 * known, which the second one tells.
 */
#ifndef FM_IMPORT_GPU_IAPROF_H
#define FM_IMPORT_GPU_IAPROF_H

#include "import/import.h"

/* Longer lines are passed over as damage. */
#define FM_IAPROF_LINE_MAX ((size_t)16 << 20)

/* Fields of the class "stall". */
enum {
    FM_IAPROF_TIME, FM_IAPROF_DUR, FM_IAPROF_INTERVAL, FM_IAPROF_STACK, FM_IAPROF_THREAD,
    FM_IAPROF_COMM, FM_IAPROF_COUNT, FM_IAPROF_REASON, FM_IAPROF_OFFSET, FM_IAPROF_KERNEL,
    FM_IAPROF_INSN, FM_IAPROF_FILE, FM_IAPROF_ADDRESS, FM_IAPROF_SHADER, FM_IAPROF_FIELDS
};

/* Kinds of lines; the order of the account. */
enum fm_iaprof_tag {
    FM_IAPROF_STRING_LINE, FM_IAPROF_INTERVAL_LINE, FM_IAPROF_KERNEL_LINE, FM_IAPROF_EUSTALL_LINE,
    FM_IAPROF_METRIC_LINE, FM_IAPROF_START_LINE, FM_IAPROF_END_LINE, FM_IAPROF_E_LINE,
    FM_IAPROF_STATE_LINE, FM_IAPROF_FRAME_LINE, FM_IAPROF_TAGS
};

/* Which layout a file has is seen from its lines; these bits say what was seen. */
enum { FM_IAPROF_FAST = 1, FM_IAPROF_GEN1 = 2, FM_IAPROF_GEN2 = 4, FM_IAPROF_GEN3 = 8 };

/* An id that was defined, or asked for. */
struct fm_iaprof_text {
    const char *s;             /* NULL: asked for, never defined */
    uint32_t n;
    fm_str str;                /* the text in the store, FM_NONE: not yet */
    fm_node user;              /* as a stack of user frames, FM_NONE: not yet */
    fm_frame insn;             /* as an instruction, FM_NONE: not yet */
    uint32_t number;           /* of instructions, in the order in which they were met */
};

/* Instructions of a site that was met often: those met last, by the low bits of their number. */
#define FM_IAPROF_LEAVES 64u
struct fm_iaprof_leaf {
    uint32_t text;             /* 0: none */
    fm_node node;
};

/* What the lines in force say about the stalls that follow; ids are those of the file. */
struct fm_iaprof_state {
    uint64_t address;          /* of the kernel's first instruction, fast mode */
    uint64_t comm, pid, ustack, kstack, file, symbol;
    uint64_t shader;           /* shader_type */
    bool known;                /* a kernel line, or classic state, was read */
    bool fast;
};

/* A state taken apart: the same for all its stalls. */
struct fm_iaprof_site {
    struct fm_iaprof_state state;
    uint32_t generation;       /* of the ids it was made with */
    uint32_t next;             /* with the same hash, UINT32_MAX: none */
    fm_node node;              /* CPU frames, "-", file, kernel */
    fm_thread thread;
    fm_str comm, kernel, file, shader; /* FM_NONE: not known */
    uint32_t uses;             /* instructions looked up without leaves */
    struct fm_iaprof_leaf *leaf; /* FM_IAPROF_LEAVES, or NULL */
};

/* Cells that wait, column by column: value[i] of each lane is of cell i. What is the same for a
 * site is not written down for each of its cells. */
enum {
    FM_IAPROF_LANE_COUNT, FM_IAPROF_LANE_OFFSET, FM_IAPROF_LANE_NODE, FM_IAPROF_LANE_REASON,
    FM_IAPROF_LANE_INSN, FM_IAPROF_LANES
};
struct fm_iaprof_run {
    size_t end;                /* one past its last cell */
    uint32_t site;
};
struct fm_iaprof_cells {
    uint64_t *lane[FM_IAPROF_LANES];
    size_t n, cap, most;       /* most: cells that may wait */
    struct fm_iaprof_run *run;
    size_t runs, run_cap;
};

/* A row of another class that waits: what a line said, and when the interval has ended its time. */
enum fm_iaprof_mark_kind {
    FM_IAPROF_MARK_METRIC, FM_IAPROF_MARK_FRAME, FM_IAPROF_MARK_INTERVAL, FM_IAPROF_MARKS
};
struct fm_iaprof_mark {
    enum fm_iaprof_mark_kind kind;
    bool timed;
    fm_str name;               /* metric */
    uint64_t value;            /* metric; interval: stalls */
    uint64_t number;           /* of the interval */
    int64_t start, end;
    uint64_t offset;
};

struct fm_iaprof_interval {
    bool open, timed, first;
    uint64_t number, stalls;
    int64_t start, end;        /* ns; the interval is (start, end] */
};

struct fm_iaprof {
    struct fm_import *import;
    struct fm_builder *builder;
    struct fm_mem *mem;
    struct fm_binding *binding;
    struct fm_arena arena;             /* texts of string lines */
    bool oom;
    bool wide;                         /* the processor has AVX2 */
    bool crlf;                         /* lines end in CR LF */
    bool classic;                      /* a line of a classic layout was seen */
    unsigned layouts;
    uint64_t lines[FM_IAPROF_TAGS];
    const char *window;                /* bytes that are being looked at */
    uint64_t window_offset;            /* of window[0] in the input */

    struct fm_iaprof_text *text;       /* 0: id 0, never defined */
    size_t texts, text_cap;
    uint32_t *near;                    /* id -> text, for ids as they are given out */
    size_t nears, near_cap;
    struct fm_map far;                 /* others */
    uint32_t insns;                    /* numbers of instructions given out */
    uint32_t generation;               /* changes when an id that was used changes */
    fm_str reason[10];                 /* columns of fast mode */
    fm_str unknown_insn, unknown_file, unknown_kernel, boundary;
    fm_module names;                   /* for frames without a name */
    uint64_t depth;                    /* limit of stacks */

    struct fm_iaprof_state state;
    bool state_changed;
    uint64_t insn;                     /* id, classic */
    uint32_t here;                     /* site of the state */
    struct fm_iaprof_site *site;
    size_t sites, site_cap;
    struct fm_map site_map;            /* hash -> first */

    struct fm_iaprof_interval interval;
    bool had_time;
    int64_t last_time;                 /* of the interval before */
    struct fm_iaprof_cells cells;
    struct fm_iaprof_mark *mark;
    size_t marks, mark_cap, marks_before; /* before: of intervals that have ended */
    int stall, other_class[FM_IAPROF_MARKS];
    struct fm_class_copy copy[2];      /* without and with times */
    bool copies[2];
    char other[8][32];                 /* tags that are not known */
    size_t others;
};

static inline uint64_t fm_iaprof_at(const struct fm_iaprof *a, const char *p)
{
    return a->window_offset + (uint64_t)(p - a->window);
}

/* iaprof_fast.c: an eustall line of fast mode at s, of bytes up to `end`, the last of which is LF.
 * Returns what follows it; NULL: it is no such line, and nothing was taken of it. */
const char *fm_iaprof_stall(struct fm_iaprof *a, const char *s, const char *end);
void fm_iaprof_fast_init(struct fm_iaprof *a);

/* iaprof_line.c: s[0 .. n) are whole lines. */
void fm_iaprof_lines(struct fm_iaprof *a, const char *s, size_t n);
/* s[0 .. n), a line without its end, has the shape of one of these files. */
bool fm_iaprof_shape(const char *s, size_t n);

/* iaprof_name.c */
bool fm_iaprof_names_init(struct fm_iaprof *a);
void fm_iaprof_names_release(struct fm_iaprof *a);
void fm_iaprof_define(struct fm_iaprof *a, uint64_t id, const char *s, size_t n, uint64_t offset);
/* The strings 1 to 13 of the classic layouts, where the head of the file was cut. */
void fm_iaprof_classic_strings(struct fm_iaprof *a);
/* Index of the text of an id; one that is not defined is counted once. */
uint32_t fm_iaprof_text_of(struct fm_iaprof *a, uint64_t id, uint64_t offset);
/* The string of a text in the store; FM_NONE: not defined, or no memory. */
fm_str fm_iaprof_str(struct fm_iaprof *a, uint32_t text);
uint32_t fm_iaprof_site_make(struct fm_iaprof *a, uint64_t offset);
/* The node of an instruction of a site. */
fm_node fm_iaprof_leaf_make(struct fm_iaprof *a, uint32_t site, uint32_t text);

/* iaprof_row.c */
enum fm_status fm_iaprof_declare(struct fm_iaprof *a, struct fm_error *err);
/* Begins interval `number`, whose data was written at `time` (timed == false: not told). */
void fm_iaprof_interval(struct fm_iaprof *a, uint64_t number, bool timed, int64_t time,
                        uint64_t offset);
/* The line of an interval was broken: times are not known until the next one. */
void fm_iaprof_no_interval(struct fm_iaprof *a);
/* Makes room for ten more cells where there is none. */
bool fm_iaprof_room(struct fm_iaprof *a);
void fm_iaprof_cells_release(struct fm_iaprof *a);
void fm_iaprof_mark(struct fm_iaprof *a, enum fm_iaprof_mark_kind kind, fm_str name,
                    uint64_t value, uint64_t offset);
/* Everything that still waits. */
void fm_iaprof_finish(struct fm_iaprof *a);

/* --------------------------------------------------------------- in a row */

/* Site of the state in force. */
static inline uint32_t fm_iaprof_site_of(struct fm_iaprof *a, uint64_t offset)
{
    return FM_LIKELY(!a->state_changed) ? a->here : fm_iaprof_site_make(a, offset);
}

static inline fm_node fm_iaprof_leaf_of(struct fm_iaprof *a, uint32_t site, uint32_t text)
{
    const struct fm_iaprof_leaf *leaf = a->site[site].leaf;
    uint32_t at = a->text[text].number % FM_IAPROF_LEAVES;
    if (FM_LIKELY(leaf != NULL && text != 0 && leaf[at].text == text))
        return leaf[at].node;
    return fm_iaprof_leaf_make(a, site, text);
}

/* Begins the cells of a line: false, no memory. */
static inline bool fm_iaprof_begin(struct fm_iaprof *a, uint64_t insn, uint64_t at, uint64_t *node,
                                   uint64_t *name)
{
    uint32_t site = fm_iaprof_site_of(a, at), text;
    struct fm_iaprof_cells *c = &a->cells;
    text = FM_LIKELY(insn < a->nears && a->near[insn] != 0) ? a->near[insn]
                                                            : fm_iaprof_text_of(a, insn, at);
    if (FM_UNLIKELY(a->oom || ((c->n + 10 > c->most || c->n + 10 > c->cap) && !fm_iaprof_room(a))))
        return false;
    *node = fm_iaprof_leaf_of(a, site, text);
    *name = a->text[text].str;
    if (c->runs == 0 || c->run[c->runs - 1].site != site)
        c->run[c->runs++].site = site;
    return true;
}

static inline void fm_iaprof_cell(struct fm_iaprof *a, uint64_t count, uint64_t offset,
                                  uint64_t node, uint64_t name, fm_str reason)
{
    struct fm_iaprof_cells *c = &a->cells;
    size_t n = c->n++;
    c->lane[FM_IAPROF_LANE_COUNT][n] = count;
    c->lane[FM_IAPROF_LANE_OFFSET][n] = offset;
    c->lane[FM_IAPROF_LANE_NODE][n] = node;
    c->lane[FM_IAPROF_LANE_REASON][n] = reason;
    c->lane[FM_IAPROF_LANE_INSN][n] = name;
}

/* Ends them. */
static inline void fm_iaprof_end(struct fm_iaprof *a)
{
    a->cells.run[a->cells.runs - 1].end = a->cells.n;
}

#endif
