/*
 * folded.c - folded stacks in, by FlameGraph's rules.
 *
 *     root;caller;leaf 12          one stack, one count
 *     root;caller;leaf 10 12       a differential: before, after
 *
 * The last run of digits (".digits" may follow) behind a blank is the count; if what is left ends
 * in such a number again there are two. Frames are parted by ';'; inner and leading empty frames
 * stay, trailing ones are dropped, so that iaprof's "...; COUNT" reads as well as its
 * "..._[g];COUNT". A suffix "_[k]" "_[i]" "_[j]" "_[0]" "_[1]" "_[g]" "_[G]" is
 * the frame's kind; "_[w]" has no kind and stays in the name. Blank lines and lines "# ..." are
 * skipped; a byte order mark and CR LF are taken off; bytes that are not UTF-8 are kept. A line
 * that does not end in a count is counted as bad, with its offset.
 *
 * Counts go as events to formats/folded.yaml: class "samples" (the only count, or the second one)
 * and class "before" (the first of two), each with the fields `stack` and `count`. Fractions are
 * rounded half to even and counted.
 *
 * Lines come sorted as a rule: the frames shared with the line before are not looked up again.
 *
 *     previous   main;work;parse;json 7      node  1    2     3     4
 *     this       main;work;print 3                 keep keep  new
 *
 * Below them, each node remembers the child met last: stacks come again, and comparing one name is
 * cheaper than looking it up (642 ms to 291 for 3,000 stacks of 20 frames, 100 times over).
 */
#include "import/import.h"

#include "store/name.h"
#include "util/error.h"
#include "util/text.h"

#define LINE_MAX_BYTES ((size_t)16 << 20)
#define FIELDS 2

/* A frame of the line before: where its text ends, and its node. */
struct open_frame {
    size_t end;
    fm_node node;
};

/* The child of a node that was met last, when its text is its name (no annotation). */
struct last_child {
    fm_str name;
    fm_node node;                 /* 0: none */
};

struct folded {
    struct fm_import *import;
    struct fm_builder *builder;
    struct fm_mem *mem;
    struct fm_binding *binding;
    int samples, before;          /* classes */
    uint64_t offset;              /* of the line */
    char *last;                   /* stack text of the line before */
    size_t last_n, last_cap;
    struct open_frame *open;
    size_t opens, open_cap;
    struct last_child *child;     /* by node */
    size_t childs, child_cap;
    struct fm_map frame;          /* name << 8 | kind -> frame */
    uint32_t *plain;              /* by name: its frame of unknown kind + 1; 0: not yet */
    size_t plains, plain_cap;
    fm_module names;              /* for frames without a name */
    uint64_t depth;               /* limit */
    bool oom;
};

/* ----------------------------------------------------------------- lines */

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes " DIGITS[.DIGITS]" off the end of s[0..*n): [*from, *to) is the number. */
static bool take_count(const char *s, size_t *n, size_t *from, size_t *to)
{
    size_t i = *n, whole;
    while (i > 0 && digit(s[i - 1]))
        i--;
    whole = *n - i;
    if (i > 0 && s[i - 1] == '.') {
        i--;
        whole = 0;
        while (i > 0 && digit(s[i - 1])) {
            i--;
            whole++;
        }
    }
    if (whole == 0 || i == 0 || !blank(s[i - 1]))
        return false;
    *from = i;
    *to = *n;
    *n = i - 1;
    return true;
}

/* ";DIGITS" behind a GPU instruction: iaprof printed its counts so for some days. */
static bool take_glued(const char *s, size_t *n, size_t *from, size_t *to)
{
    size_t i = *n;
    while (i > 0 && digit(s[i - 1]))
        i--;
    if (i == *n || i < 5 || memcmp(s + i - 5, "_[g];", 5) != 0)
        return false;
    *from = i;
    *to = *n;
    *n = i - 1;
    return true;
}

struct line {
    size_t n;                  /* of the stack text */
    size_t from[2], to[2];     /* numbers, last one first */
    unsigned counts;
};

static bool cut_line(const char *s, size_t n, struct line *line)
{
    while (n > 0 && blank(s[n - 1]))
        n--;
    line->n = n;
    line->counts = 0;
    while (line->counts < 2 && take_count(s, &line->n, &line->from[line->counts],
                                          &line->to[line->counts]))
        line->counts++;
    if (line->counts == 0 && take_glued(s, &line->n, &line->from[0], &line->to[0]))
        line->counts++;
    return line->counts > 0;
}

static bool skipped(const char *s, size_t n)
{
    size_t i;
    if (n > 0 && s[0] == '#' && (n == 1 || s[1] == ' '))
        return true;
    for (i = 0; i < n && blank(s[i]); i++)
        ;
    return i == n;
}

/* The number as a whole one, half to even; false: it does not fit. */
static bool count_value(const char *s, size_t n, uint64_t *value, bool *fraction)
{
    const char *dot = memchr(s, '.', n);
    size_t whole = dot != NULL ? (size_t)(dot - s) : n, i;
    bool above = false;
    if (!fm_text_u64(s, whole, value))
        return false;
    *fraction = false;
    for (i = whole + 1; i < n; i++) {
        *fraction = *fraction || s[i] != '0';
        above = above || (i > whole + 1 && s[i] != '0');
    }
    if (whole + 1 < n && (s[whole + 1] > '5' ||
                          (s[whole + 1] == '5' && (above || (*value & 1)))))
        return fm_add_u64(*value, 1, value);
    return true;
}

/* ---------------------------------------------------------------- frames */

static fm_frame make_frame(struct folded *f, fm_str name, enum fm_frame_kind kind)
{
    struct fm_frame_row row = {.module = FM_NONE, .address = UINT64_MAX, .kind = (uint8_t)kind,
                               .function = name};
    if (name != 0)
        return fm_builder_frame(f->builder, &row);
    if (f->names == FM_NONE) {
        struct fm_module_row module = {.kind = FM_MODULE_NAMED, .pid = -1};
        f->names = fm_builder_module(f->builder, &module);
    }
    row.module = f->names;
    return fm_builder_frame(f->builder, &row);
}

/* Room in the table of frames by name, zeroed. */
static bool room_for_plain(struct folded *f, fm_str name)
{
    if (name < f->plains)
        return true;
    if (!fm_grow(f->mem, (void **)&f->plain, &f->plain_cap, (size_t)name + 1, sizeof *f->plain))
        return false;
    memset(f->plain + f->plains, 0, (f->plain_cap - f->plains) * sizeof *f->plain);
    f->plains = f->plain_cap;
    return true;
}

/* The frame of a text. *plain = its name, when that is all of the text; else FM_NONE. */
static fm_frame find_frame(struct folded *f, const char *s, size_t n, fm_str *plain)
{
    enum fm_frame_kind kind = FM_FRAME_UNKNOWN;
    uint64_t *slot;
    fm_str name;
    bool fresh;
    *plain = FM_NONE;
    if (n >= 4 && s[n - 1] == ']' && s[n - 3] == '[' && s[n - 4] == '_' &&
        fm_name_suffix_kind(s[n - 2], &kind))
        n -= 4;
    name = fm_builder_str(f->builder, s, n);
    if (kind == FM_FRAME_UNKNOWN)
        *plain = name;
    if (kind == FM_FRAME_UNKNOWN && name < f->plains && f->plain[name] != 0)
        return f->plain[name] - 1;
    slot = fm_map_put(&f->frame, (uint64_t)name << 8 | (uint64_t)kind, &fresh);
    if (slot == NULL || !room_for_plain(f, name)) {
        f->oom = true;
        return FM_NONE;
    }
    if (fresh) {
        *slot = make_frame(f, name, kind);
        if (!fm_utf8_valid(s, n))
            fm_builder_diag(f->builder, FM_DIAG_BAD_UTF8, f->offset, 1);
    }
    if (kind == FM_FRAME_UNKNOWN && *slot < FM_NONE - 1)
        f->plain[name] = (uint32_t)*slot + 1;
    return (fm_frame)*slot;
}

/* The child of `parent` for a text; FM_NODE_ROOT and f->oom: no memory. */
static fm_node find_child(struct folded *f, fm_node parent, const char *s, size_t n)
{
    fm_str plain;
    fm_frame frame;
    fm_node node;
    if (parent < f->childs && f->child[parent].node != 0) {
        size_t len;
        const char *name = fm_builder_str_text(f->builder, f->child[parent].name, &len);
        if (len == n && memcmp(name, s, n) == 0)
            return f->child[parent].node;
    }
    frame = find_frame(f, s, n, &plain);
    if (f->oom)
        return FM_NODE_ROOT;
    node = fm_builder_node(f->builder, parent, frame);
    if (parent >= f->childs) {
        if (!fm_grow(f->mem, (void **)&f->child, &f->child_cap, (size_t)parent + 1,
                     sizeof *f->child)) {
            f->oom = true;
            return FM_NODE_ROOT;
        }
        memset(f->child + f->childs, 0, (f->child_cap - f->childs) * sizeof *f->child);
        f->childs = f->child_cap;
    }
    if (plain != FM_NONE && node != FM_NONE)
        f->child[parent] = (struct last_child){plain, node};
    return node;
}

/* Keeps the frames that this stack shares with the line before; returns where the rest begins. */
static size_t keep_shared(struct folded *f, const char *s, size_t n)
{
    size_t most = FM_MIN(n, f->last_n), same = 0;
    while (same + 8 <= most && fm_load_u64((const unsigned char *)s + same) ==
                                   fm_load_u64((const unsigned char *)f->last + same))
        same += 8;
    while (same < most && s[same] == f->last[same])
        same++;
    while (f->opens > 0 && f->open[f->opens - 1].end >= same)
        f->opens--;
    return f->opens > 0 ? f->open[f->opens - 1].end + 1 : 0;
}

/* Cuts the root side of a stack with more frames than the limit: *s and *n move. */
static void limit_depth(struct folded *f, const char **s, size_t *n)
{
    uint64_t frames = 1;
    size_t i;
    if (*n < f->depth)
        return;
    for (i = 0; i < *n; i++)
        frames += (*s)[i] == ';';
    if (frames <= f->depth)
        return;
    for (i = 0; frames > f->depth; i++)
        frames -= (*s)[i] == ';';
    *s += i;
    *n -= i;
    fm_builder_diag(f->builder, FM_DIAG_STACK_DEPTH, f->offset, 1);
}

/* The stack of a text, as an append node. */
static fm_node make_stack(struct folded *f, const char *s, size_t n)
{
    size_t at;
    fm_node node;
    while (n > 0 && s[n - 1] == ';')
        n--;
    limit_depth(f, &s, &n);
    at = keep_shared(f, s, n);
    node = f->opens > 0 ? f->open[f->opens - 1].node : FM_NODE_ROOT;
    while (at < n) {
        const char *semi = memchr(s + at, ';', n - at);
        size_t end = semi != NULL ? (size_t)(semi - s) : n;
        node = find_child(f, node, s + at, end - at);
        if (f->oom || node == FM_NONE || !fm_grow(f->mem, (void **)&f->open, &f->open_cap,
                                                  f->opens + 1, sizeof *f->open)) {
            f->oom = true;
            return FM_NODE_ROOT;
        }
        f->open[f->opens++] = (struct open_frame){end, node};
        at = end + 1;
    }
    if (!fm_grow(f->mem, (void **)&f->last, &f->last_cap, n, 1)) {
        f->oom = true;
        return FM_NODE_ROOT;
    }
    if (n > 0)
        memcpy(f->last, s, n);
    f->last_n = n;
    return node;
}

/* ---------------------------------------------------------------- events */

static void drop(struct folded *f, enum fm_diag reason)
{
    fm_account_in(f->builder, 1);
    fm_account_drop(f->builder, reason, f->offset, 1);
}

static void add_event(struct folded *f, int class_id, fm_node stack, uint64_t count)
{
    uint64_t value[FIELDS] = {stack, count}, present = 3;
    fm_account_in(f->builder, count);
    fm_event(f->binding, class_id, value, &present);
}

static void add_line(struct folded *f, const char *s, size_t n)
{
    struct line line;
    uint64_t count[2] = {0, 0};
    bool fraction = false;
    fm_node stack;
    unsigned i;
    if (skipped(s, n))
        return;
    if (!cut_line(s, n, &line)) {
        drop(f, FM_DIAG_BAD_LINE);
        return;
    }
    for (i = 0; i < line.counts; i++) {
        if (!count_value(s + line.from[i], line.to[i] - line.from[i], &count[i], &fraction)) {
            drop(f, FM_DIAG_VALUE_RANGE);
            return;
        }
        if (fraction)
            fm_builder_diag(f->builder, FM_DIAG_FRACTION, f->offset, 1);
    }
    stack = make_stack(f, s, line.n);
    if (f->oom)
        return;
    if (line.counts == 2)
        add_event(f, f->before, stack, count[1]);
    add_event(f, f->samples, stack, count[0]);
}

static enum fm_status declare(struct folded *f, struct fm_error *err)
{
    static const struct fm_field field[FIELDS] = {
        {"stack", FM_TYPE_STACK, NULL},
        {"count", FM_TYPE_U64, NULL},
    };
    enum fm_status status = fm_binding_new(f->import->mapping, f->builder,
                                           f->import->options->keep, &f->binding, err);
    if (status != FM_OK)
        return status;
    f->samples = fm_class_declare(f->binding, "samples", field, FIELDS, 0, NULL);
    f->before = fm_class_declare(f->binding, "before", field, FIELDS, 0, NULL);
    if (f->samples == -2 || f->before == -2)
        return fm_error_nomem(err);
    if (f->samples < 0 || f->before < 0)
        return fm_error_set(err, FM_CONFIG,
                            "the mapping '%s' has no rule for the classes 'samples' and 'before'",
                            fm_mapping_name(f->import->mapping));
    return FM_OK;
}

static enum fm_status read_lines(struct folded *f, struct fm_reader *reader, struct fm_error *err)
{
    uint64_t lines = 0, total = fm_input_raw_size(f->import->input);
    const char *line;
    size_t n;
    bool cut, end;
    for (;;) {
        enum fm_status status = fm_reader_line(reader, LINE_MAX_BYTES, &line, &n, &f->offset, &cut,
                                               &end, err);
        if (status != FM_OK && n > 0)
            drop(f, FM_DIAG_TRUNCATED); /* a piece of a line before the damage */
        if (status != FM_OK || end)
            return status;
        if (lines == 0 && n >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
            line += 3;
            n -= 3;
        }
        if (cut)
            drop(f, FM_DIAG_BAD_LINE);
        else
            add_line(f, line, n);
        if (f->oom)
            return fm_error_nomem(err);
        if (++lines % 16384 == 0) {
            if (fm_builder_status(f->builder) != FM_OK)
                return fm_builder_status(f->builder);
            if (!fm_ctx_tick(f->import->ctx, fm_reader_raw_offset(reader), total))
                return fm_error_set(err, FM_CANCELLED, "cancelled");
        }
    }
}

static enum fm_status import_folded(struct fm_import *import, struct fm_error *err)
{
    struct folded f = {.import = import, .builder = import->builder, .mem = &import->ctx->mem,
                       .names = FM_NONE, .depth = import->ctx->cap[FM_CAP_STACK_DEPTH]};
    struct fm_reader *reader = NULL;
    enum fm_status status;
    fm_map_init(&f.frame, f.mem);
    fm_builder_source_row(f.builder)->clock = FM_CLOCK_NONE;
    status = declare(&f, err);
    if (status == FM_OK)
        status = fm_reader_open(import->input, &reader, err);
    if (status == FM_OK)
        status = read_lines(&f, reader, err);
    if (reader != NULL)
        fm_reader_close(reader);
    fm_binding_free(f.binding);
    fm_map_release(&f.frame);
    fm_mem_free(f.mem, f.plain, f.plain_cap * sizeof *f.plain);
    fm_mem_free(f.mem, f.child, f.child_cap * sizeof *f.child);
    fm_mem_free(f.mem, f.open, f.open_cap * sizeof *f.open);
    fm_mem_free(f.mem, f.last, f.last_cap);
    return status;
}

/* ----------------------------------------------------------------- probe */

/* No more than that is known when the first stack is longer than what a probe sees. */
static bool is_named_so(const struct fm_input *input)
{
    static const char *const ends[] = {".folded", ".collapsed"};
    const char *path = fm_input_path(input);
    size_t n = path != NULL ? strlen(path) : 0;

    for (size_t i = 0; i < FM_COUNT(ends); i++) {
        size_t k = strlen(ends[i]);
        if (n > k && memcmp(path + n - k, ends[i], k) == 0)
            return true;
    }
    return false;
}

/* Whole lines that end in a count, against those that do not. Many texts have some lines that end
 * in a number (protobuf text, tables): without any ';' every line must, with some most of them. */
static unsigned probe_folded(const unsigned char *data, size_t n, bool whole,
                             struct fm_input *input)
{
    const char *s = (const char *)data;
    size_t at = 0, good = 0, bad = 0, parted = 0;

    if (memchr(s, '\0', n) != NULL)
        return 0;
    if (!whole && memchr(s, '\n', n) == NULL)
        return memchr(s, ';', n) != NULL && is_named_so(input) ? 4 : 0;
    if (n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    while (at < n) {
        const char *end = memchr(s + at, '\n', n - at);
        size_t len = end != NULL ? (size_t)(end - s) - at : n - at;
        struct line line;
        if (end == NULL && !whole && good + bad > 0)
            break;
        if (!skipped(s + at, len)) {
            bool ok = cut_line(s + at, len, &line);
            good += ok;
            bad += !ok;
            parted += ok && memchr(s + at, ';', line.n) != NULL;
        }
        at += len + 1;
    }
    if (parted == 0)
        return good > 0 && bad == 0 ? 4 : 0;
    if (bad * 10 <= good)
        return bad == 0 ? 24 : 12;
    return bad < good && parted * 2 >= good ? 6 : 0;
}

const struct fm_importer fm_importer_folded = {
    .name = "folded",
    .summary = "folded stacks (flamegraph.pl, inferno, async-profiler)",
    .extensions = "folded,collapsed,txt",
    .mapping = true,
    .probe = probe_folded,
    .import = import_folded,
};
