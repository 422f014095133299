/*
 * name.c - the text of frames, modules and column values.
 *
 *     frame { function, module, kind }
 *        foldmill:    function | "name (file:line:column)" of JavaScript
 *                     | "[unknown] (dso)" | "[unknown]"          (+ "_[k]" ... annotate)
 *        flamegraph:  function without offset, parameters and quotes | "[dso base name]"
 *
 * A frame without a function in a module of kind NAMED (formats whose frames are nothing but
 * names) has the empty name: folded stacks may hold such frames ("a;;b").
 *
 * The flamegraph style follows what stackcollapse-perf does with names, except that it loses
 * functions whose name starts with '(' and we do not. The dso is what perf script prints.
 */
#include "store/name.h"

#include "store/java.h"
#include "util/error.h"

#include <inttypes.h>

static bool starts(const char *s, size_t n, const char *prefix)
{
    size_t len = strlen(prefix);
    return n >= len && memcmp(s, prefix, len) == 0;
}

const char *fm_name_suffix(const struct fm_frame_row *frame)
{
    if (frame->inlined)
        return "_[i]";
    switch ((enum fm_frame_kind)frame->kind) {
    case FM_FRAME_KERNEL:
    case FM_FRAME_GUEST_KERNEL:
        return "_[k]";
    case FM_FRAME_INLINED:
        return "_[i]";
    case FM_FRAME_JIT:
        return "_[j]";
    case FM_FRAME_INTERPRETED:
        return "_[0]";
    case FM_FRAME_C1:
        return "_[1]";
    case FM_FRAME_GPU_INSTRUCTION:
        return "_[g]";
    case FM_FRAME_GPU_KERNEL:
    case FM_FRAME_GPU_SOURCE:
        return "_[G]";
    default:
        return "";
    }
}

/* What was written to a memory writer, as a string of the store; releases the writer. */
static fm_str intern(struct fm_store *store, struct fm_out *out)
{
    fm_str id = FM_NONE;
    if (fm_out_finish(out, NULL) == FM_OK)
        id = fm_store_str_add(store, out->n > 0 ? out->buf : "", out->n);
    fm_out_release(out);
    return id;
}

bool fm_name_suffix_kind(char letter, enum fm_frame_kind *kind)
{
    switch (letter) {
    case 'k':
        *kind = FM_FRAME_KERNEL;
        return true;
    case 'i':
        *kind = FM_FRAME_INLINED;
        return true;
    case 'j':
        *kind = FM_FRAME_JIT;
        return true;
    case '0':
        *kind = FM_FRAME_INTERPRETED;
        return true;
    case '1':
        *kind = FM_FRAME_C1;
        return true;
    case 'g':
        *kind = FM_FRAME_GPU_INSTRUCTION;
        return true;
    case 'G':
        *kind = FM_FRAME_GPU_KERNEL;
        return true;
    default:
        return false;
    }
}

/* Executable mappings without a file: perf gives them the name of the map a JIT may have left. */
static bool anonymous(const char *s, size_t n)
{
    return starts(s, n, "//anon") || starts(s, n, "/dev/zero") || starts(s, n, "/anon_hugepage") ||
           starts(s, n, "[heap]") || starts(s, n, "[stack") || starts(s, n, "/SYSV");
}

fm_str fm_name_dso(struct fm_store *store, fm_module m)
{
    const struct fm_module_row *module;
    const char *path;
    size_t n;
    if (m == FM_NONE)
        return fm_store_str_add(store, "[unknown]", 9);
    module = fm_store_module_row(store, m);
    path = fm_store_str(store, module->path, &n);
    if (module->kind == FM_MODULE_JIT && module->pid >= 0 && anonymous(path, n)) {
        struct fm_out out;
        if (fm_out_init(&out, &fm_store_ctx(store)->mem, NULL) != FM_OK)
            return FM_NONE;
        fm_out_text(&out, "/tmp/perf-");
        fm_out_i64(&out, module->pid);
        fm_out_text(&out, ".map");
        return intern(store, &out);
    }
    if (n == 0 && module->kind != FM_MODULE_NAMED)
        return fm_store_str_add(store, "[unknown]", 9);
    return module->path;
}

/* Is the frame known to be Java's? */
static bool is_java(const struct fm_frame_row *frame)
{
    return frame->signature != 0 || frame->kind == FM_FRAME_JIT ||
           frame->kind == FM_FRAME_INTERPRETED || frame->kind == FM_FRAME_C1 ||
           (frame->kind == FM_FRAME_INLINED && frame->address == UINT64_MAX);
}

/* How to write a name that may be Java's "pkg/Cls.method": bits of store/java.h, 0 = as it is. */
static unsigned java_style(const struct fm_names *names)
{
    unsigned style = (names->dot ? FM_JAVA_DOT : 0u) | (names->simple ? FM_JAVA_SIMPLE : 0u) |
                     (names->norm ? FM_JAVA_NORM : 0u);
    return style != 0 && names->style == FM_NAMES_JFRCONV ? style | FM_JAVA_JFRCONV : style;
}

/* A Go method "pkg.(*T).f": parentheses that are no parameters. */
static bool go_method(const char *s, size_t n)
{
    size_t i, open = n;
    for (i = 0; i + 1 < n; i++) {
        if (open == n && s[i] == '.' && s[i + 1] == '(')
            open = i;
        if (open != n && i > open + 1 && s[i] == ')' && s[i + 1] == '.')
            return true;
    }
    return false;
}

/* Length without parameters: the first '(' that does not open "(anonymous namespace)". One at the
 * very start stays, or the name would be empty. */
static size_t without_parameters(const char *s, size_t n)
{
    size_t i;
    if (go_method(s, n))
        return n;
    for (i = 0; i < n; i++) {
        if (s[i] == '(' && i > 0 && !starts(s + i, n - i, "(anonymous namespace)"))
            return i;
    }
    return n;
}

/* Length without a trailing "+0x1f". */
static size_t without_offset(const char *s, size_t n)
{
    size_t i = n;
    while (i > 0 && ((s[i - 1] >= '0' && s[i - 1] <= '9') || (s[i - 1] >= 'a' && s[i - 1] <= 'f')))
        i--;
    if (i < n && i >= 3 && s[i - 1] == 'x' && s[i - 2] == '0' && s[i - 3] == '+')
        return i - 3;
    return n;
}

static void put_flamegraph(struct fm_out *out, const char *s, size_t n)
{
    size_t i;
    n = without_parameters(s, without_offset(s, n));
    for (i = 0; i < n; i++) {
        if (s[i] != '"' && s[i] != '\'')
            fm_out_char(out, s[i]);
    }
}

static void put_unknown(struct fm_out *out, struct fm_store *store,
                        const struct fm_frame_row *frame, const struct fm_names *names)
{
    size_t n, i;
    const char *dso;
    fm_str id;
    if (frame->module == FM_NONE) {
        fm_out_text(out, "[unknown]");
        return;
    }
    if (fm_store_module_row(store, frame->module)->kind == FM_MODULE_NAMED)
        return;
    id = fm_name_dso(store, frame->module);
    if (id == FM_NONE) {
        out->status = FM_NOMEM;
        return;
    }
    dso = fm_store_str(store, id, &n);
    if (names->style != FM_NAMES_FLAMEGRAPH) {
        fm_out_text(out, "[unknown] (");
        fm_out_bytes(out, dso, n);
        fm_out_char(out, ')');
        return;
    }
    if (starts(dso, n, "[unknown]")) {
        fm_out_text(out, "[unknown]");
        return;
    }
    for (i = n; i > 0 && dso[i - 1] != '/'; i--)
        ;
    fm_out_char(out, '[');
    fm_out_bytes(out, dso + i, n - i);
    fm_out_char(out, ']');
}

static bool breaks_folded(unsigned char c)
{
    return c == ';' || c == 0x7f || (c < 0x20 && c != '\t');
}

fm_str fm_name_folded(struct fm_store *store, fm_str id)
{
    size_t n, i;
    const char *s = fm_store_str(store, id, &n);
    struct fm_out out;
    for (i = 0; i < n && !breaks_folded((unsigned char)s[i]); i++)
        ;
    if (i == n)
        return id;
    if (fm_out_init(&out, &fm_store_ctx(store)->mem, NULL) != FM_OK)
        return FM_NONE;
    fm_out_bytes(&out, s, i);
    for (; i < n; i++) {
        if (s[i] == ';')
            fm_out_char(&out, ':');
        else if (breaks_folded((unsigned char)s[i]))
            fm_out_printf(&out, "\\x%02x", (unsigned)(unsigned char)s[i]);
        else
            fm_out_char(&out, s[i]);
    }
    return intern(store, &out);
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Each 0x1f becomes 0x..., as by difffolded.pl -s. */
static fm_str without_addresses(struct fm_store *store, fm_str id)
{
    size_t n, i = 0;
    const char *s = fm_store_str(store, id, &n);
    struct fm_out out;
    while (i + 2 < n && !(s[i] == '0' && s[i + 1] == 'x' && is_hex(s[i + 2])))
        i++;
    if (i + 2 >= n)
        return id;
    if (fm_out_init(&out, &fm_store_ctx(store)->mem, NULL) != FM_OK)
        return FM_NONE;
    fm_out_bytes(&out, s, i);
    while (i < n) {
        if (n - i < 3 || s[i] != '0' || s[i + 1] != 'x' || !is_hex(s[i + 2])) {
            fm_out_char(&out, s[i++]);
            continue;
        }
        fm_out_text(&out, "0x...");
        for (i += 2; i < n && is_hex(s[i]); i++)
            ;
    }
    return intern(store, &out);
}

/* What follows the name: descriptor, line, bytecode. */
static void put_place(struct fm_out *out, struct fm_store *store, const struct fm_frame_row *frame,
                      const struct fm_names *names)
{
    size_t n;
    bool line = names->lines && frame->line > 0;
    if (names->signatures && frame->signature != 0) {
        const char *s = fm_store_str(store, frame->signature, &n);
        fm_out_bytes(out, s, n);
    }
    if (line)
        fm_out_printf(out, ":%" PRIu32, frame->line);
    if (names->bci && frame->bci > 1 && !(line && names->style == FM_NAMES_JFRCONV))
        fm_out_printf(out, "@%" PRIu32, frame->bci - 1);
}

static bool has_place(const struct fm_frame_row *frame, const struct fm_names *names)
{
    return (names->signatures && frame->signature != 0) || (names->lines && frame->line > 0) ||
           (names->bci && frame->bci > 1);
}

/* JavaScript: functions without a name and of the same name are told apart by their place. */
static void put_script(struct fm_out *out, const struct fm_store *store,
                       const struct fm_frame_row *frame)
{
    size_t n;
    const char *s = fm_store_str(store, frame->file, &n);
    fm_out_text(out, " (");
    fm_out_bytes(out, s, n);
    if (frame->line != 0)
        fm_out_printf(out, ":%u", frame->line);
    if (frame->column != 0)
        fm_out_printf(out, ":%u", frame->column);
    fm_out_char(out, ')');
}

static fm_str frame_text(struct fm_store *store, const struct fm_frame_row *frame,
                         const struct fm_names *names)
{
    const char *suffix = names->annotate ? fm_name_suffix(frame) : "";
    unsigned java = is_java(frame) || frame->kind == FM_FRAME_UNKNOWN ? java_style(names) : 0;
    bool script = names->style == FM_NAMES_FOLDMILL && frame->kind == FM_FRAME_JS &&
                  frame->file != 0;
    const char *s;
    size_t n;
    struct fm_out out;
    if (frame->function != 0 && names->style != FM_NAMES_FLAMEGRAPH && java == 0 &&
        suffix[0] == '\0' && !script && !has_place(frame, names))
        return frame->function;
    if (fm_out_init(&out, &fm_store_ctx(store)->mem, NULL) != FM_OK)
        return FM_NONE;
    s = fm_store_str(store, frame->function, &n);
    if (frame->function == 0)
        put_unknown(&out, store, frame, names);
    else if (names->style == FM_NAMES_FLAMEGRAPH)
        put_flamegraph(&out, s, n);
    else if (java != 0)
        fm_java_method(&out, s, n, is_java(frame), java);
    else
        fm_out_bytes(&out, s, n);
    if (script)
        put_script(&out, store, frame);
    else
        put_place(&out, store, frame, names);
    fm_out_text(&out, suffix);
    return intern(store, &out);
}

fm_str fm_name_class(struct fm_store *store, fm_str id, const struct fm_names *names)
{
    unsigned java = java_style(names);
    struct fm_out out;
    const char *s;
    size_t n;
    if (java == 0)
        return id;
    if (fm_out_init(&out, &fm_store_ctx(store)->mem, NULL) != FM_OK)
        return FM_NONE;
    s = fm_store_str(store, id, &n);
    fm_java_class(&out, s, n, java);
    return intern(store, &out);
}

fm_str fm_name_frame_row(struct fm_store *store, const struct fm_frame_row *frame,
                         const struct fm_names *names)
{
    fm_str id = frame_text(store, frame, names);
    if (id != FM_NONE && names->addresses)
        id = without_addresses(store, id);
    return id != FM_NONE && names->folded ? fm_name_folded(store, id) : id;
}

fm_str fm_name_frame(struct fm_store *store, fm_frame f, const struct fm_names *names)
{
    fm_assert(f < fm_store_frames(store));
    return fm_name_frame_row(store, fm_store_frame_row(store, f), names);
}

enum fm_status fm_names_parse(struct fm_names *names, const char *list, struct fm_error *err)
{
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {
        {"addresses", &names->addresses}, {"annotate", &names->annotate},
        {"bci", &names->bci},             {"dot", &names->dot},
        {"lines", &names->lines},         {"norm", &names->norm},
        {"signatures", &names->signatures}, {"simple", &names->simple},
    };
    static const char *const style[] = {
        [FM_NAMES_FOLDMILL] = "foldmill", [FM_NAMES_FLAMEGRAPH] = "flamegraph",
        [FM_NAMES_JFRCONV] = "jfrconv"};
    for (;;) {
        size_t n = strcspn(list, ","), i, k;
        for (i = 0; i < FM_COUNT(style); i++) {
            if (strlen(style[i]) == n && memcmp(style[i], list, n) == 0)
                break;
        }
        for (k = 0; k < FM_COUNT(flags); k++) {
            if (strlen(flags[k].word) == n && memcmp(flags[k].word, list, n) == 0)
                break;
        }
        if (i < FM_COUNT(style))
            names->style = (enum fm_name_style)i;
        else if (k < FM_COUNT(flags))
            *flags[k].flag = true;
        else
            return fm_error_set(err, FM_CONFIG,
                                "no style of names '%.*s': foldmill, flamegraph, jfrconv, "
                                "addresses, annotate, bci, dot, lines, norm, signatures, simple",
                                (int)FM_MIN(n, (size_t)100), list);
        if (list[n] == '\0')
            return FM_OK;
        list += n + 1;
    }
}

static void put_str(const struct fm_store *store, fm_str id, struct fm_out *out)
{
    size_t n;
    const char *s = fm_store_str(store, id, &n);
    fm_out_bytes(out, s, n);
}

/* A thread's last name, else its text id, else its number. */
static void put_thread(const struct fm_store *store, fm_thread t, struct fm_out *out)
{
    const struct fm_thread_row *row = fm_store_thread_row(store, t);
    fm_str name = fm_store_thread_name(store, t, false, 0);
    if (name != 0)
        put_str(store, name, out);
    else if (row->text_id != 0)
        put_str(store, row->text_id, out);
    else
        fm_out_i64(out, row->tid);
}

static void put_stack(const struct fm_store *store, fm_node append_id, struct fm_out *out)
{
    uint32_t node = fm_store_tree_node(store, append_id);
    const struct fm_frame_row *frame;
    if (node == 0)
        return;
    frame = fm_store_frame_row(store, fm_store_tree(store)[node].frame);
    if (frame->function != 0)
        put_str(store, frame->function, out);
    else
        fm_out_text(out, "[unknown]");
}

void fm_name_value(const struct fm_store *store, fm_column col, uint64_t value, struct fm_out *out)
{
    if (col == FM_COL_EVENT) {
        put_str(store, fm_store_event_row(store, value)->name, out);
        return;
    }
    switch (fm_store_column_info(store, col)->type) {
    case FM_TYPE_BOOL:
        fm_out_text(out, value ? "true" : "false");
        break;
    case FM_TYPE_I64:
    case FM_TYPE_TIME:
    case FM_TYPE_DUR:
        fm_out_i64(out, (int64_t)value);
        break;
    case FM_TYPE_U64:
    case FM_TYPE_BYTES:
        fm_out_u64(out, value);
        break;
    case FM_TYPE_F64:
        fm_out_f64(out, fm_bits_f64(value));
        break;
    case FM_TYPE_STRING:
        put_str(store, (fm_str)value, out);
        break;
    case FM_TYPE_ADDRESS:
        fm_out_text(out, "0x");
        fm_out_hex(out, value);
        break;
    case FM_TYPE_STACK:
        put_stack(store, (fm_node)value, out);
        break;
    case FM_TYPE_THREAD:
        put_thread(store, (fm_thread)value, out);
        break;
    }
}
