/*
 * pseudo.c - pseudo frames: columns, derived columns and literal texts above and below a stack.
 *
 *     list   "comm, process, '-', cpu"      items joined by ',', blanks around them ignored
 *     item   a column of the store, a derived column (pid tid process container source event
 *            command), a text in quotes, or bare punctuation
 *
 * The text of a frame is the bare value; a row without a value shows "[no NAME]", so that every
 * stack has the same number of pseudo frames. Labels are made once per distinct value.
 */
#include "store/select.h"

#include "util/error.h"
#include "util/out.h"
#include "util/text.h"

#include <stdio.h>

/* --------------------------------------------------------------- derived */

static const struct {
    const char *name;
    enum fm_type type;
} derived[] = {
    [FM_DERIVED_PID] = {"pid", FM_TYPE_I64},
    [FM_DERIVED_TID] = {"tid", FM_TYPE_I64},
    [FM_DERIVED_PROCESS] = {"process", FM_TYPE_STRING},
    [FM_DERIVED_CONTAINER] = {"container", FM_TYPE_STRING},
    [FM_DERIVED_SOURCE] = {"source", FM_TYPE_STRING},
    [FM_DERIVED_EVENT] = {"event", FM_TYPE_STRING},
    [FM_DERIVED_COMMAND] = {"command", FM_TYPE_STRING},
};

int fm_derived_find(const char *name)
{
    size_t i;
    for (i = 0; i < FM_COUNT(derived); i++) {
        if (strcmp(name, derived[i].name) == 0)
            return (int)i;
    }
    return -1;
}

enum fm_type fm_derived_type(enum fm_derived d)
{
    return derived[d].type;
}

/* The process name: its own, else its main thread's, else the last name of that thread. */
static fm_str process_name(const struct fm_store *store, const struct fm_thread_row *row,
                           fm_thread t)
{
    if (row->process == 0 && row->leader != FM_NONE && row->leader != t) {
        t = row->leader;
        row = fm_store_thread_row(store, t);
    }
    if (row->process != 0)
        return row->process;
    if (row->leader == t || row->pid == row->tid)
        return fm_store_thread_name(store, t, false, 0);
    return 0;
}

bool fm_derived_value(const struct fm_store *store, enum fm_derived d, fm_thread t,
                      uint32_t source, uint32_t event, uint64_t *value)
{
    const struct fm_thread_row *row;
    if (d == FM_DERIVED_SOURCE) {
        *value = fm_store_source_row(store, source)->name;
        return true;
    }
    if (d == FM_DERIVED_EVENT) {
        *value = fm_store_event_row(store, event)->name;
        return true;
    }
    if (t == FM_NONE)
        return false;
    row = fm_store_thread_row(store, t);
    switch (d) {
    case FM_DERIVED_PID:
        *value = (uint64_t)row->pid;
        return row->pid >= 0;
    case FM_DERIVED_TID:
        *value = (uint64_t)row->tid;
        return row->tid >= 0;
    case FM_DERIVED_PROCESS:
        *value = process_name(store, row, t);
        return *value != 0;
    case FM_DERIVED_CONTAINER:
        *value = row->container;
        return *value != 0;
    default:
        *value = row->command;
        return *value != 0;
    }
}

/* ----------------------------------------------------------------- lists */

/* Neither a letter, a digit nor a blank: "-", "--", "|". */
static bool punctuation(const char *s, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x80 || c <= ' ' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
            (c >= 'A' && c <= 'Z') || c == '_')
            return false;
    }
    return n > 0;
}

static enum fm_status unknown_column(struct fm_store *store, const char *name,
                                     struct fm_error *err)
{
    const char *known[128];
    const char *near;
    size_t n = 0, i;
    for (i = 0; i < FM_COUNT(derived); i++)
        known[n++] = derived[i].name;
    for (i = 0; i < fm_store_columns(store) && n < FM_COUNT(known); i++)
        known[n++] = fm_store_str(store, fm_store_column_info(store, (fm_column)i)->name, NULL);
    near = fm_text_nearest(name, known, n);
    if (near != NULL)
        return fm_error_set(err, FM_CONFIG, "no column '%s' (did you mean '%s'?)", name, near);
    return fm_error_set(err, FM_CONFIG, "no column '%s': texts for pseudo frames stand in quotes",
                        name);
}

static enum fm_status set_item(struct fm_store *store, const char *s, size_t n,
                               struct fm_pseudo *pseudo, struct fm_error *err)
{
    char name[256];
    char missing[sizeof name + 8];
    const char *suffix;
    bool quoted = n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n - 1] == s[0];
    int len;
    pseudo->col = FM_NONE;
    pseudo->derived = -1;
    pseudo->missing = 0;
    pseudo->suffix = 0;
    if (quoted || punctuation(s, n)) {
        pseudo->literal = fm_store_str_add(store, s + quoted, n - 2 * quoted);
        return pseudo->literal == FM_NONE ? fm_error_nomem(err) : FM_OK;
    }
    suffix = memchr(s, '=', n);
    if (suffix != NULL) { /* COLUMN=SUFFIX */
        pseudo->suffix = fm_store_str_add(store, suffix + 1, n - (size_t)(suffix + 1 - s));
        if (pseudo->suffix == FM_NONE)
            return fm_error_nomem(err);
        n = (size_t)(suffix - s);
    }
    if (n >= sizeof name)
        return fm_error_set(err, FM_CONFIG, "a column name of %zu bytes is too long", n);
    memcpy(name, s, n);
    name[n] = '\0';
    pseudo->derived = fm_derived_find(name);
    if (pseudo->derived < 0)
        pseudo->col = fm_store_column_find(store, name);
    if (pseudo->derived < 0 && pseudo->col == FM_NONE)
        return unknown_column(store, name, err);
    if (pseudo->derived < 0 && fm_store_column_info(store, pseudo->col)->asked)
        return fm_column_not_imported(store, pseudo->col, err);
    len = snprintf(missing, sizeof missing, "[no %s]", name);
    pseudo->missing = fm_store_str_add(store, missing, (size_t)len);
    return pseudo->missing == FM_NONE ? fm_error_nomem(err) : FM_OK;
}

/* End of the item at s: a comma inside quotes belongs to the item. */
static const char *item_end(const char *s)
{
    char quote = '\0';
    for (; *s != '\0' && (quote != '\0' || *s != ','); s++) {
        if (quote == *s)
            quote = '\0';
        else if (quote == '\0' && (*s == '\'' || *s == '"'))
            quote = *s;
    }
    return s;
}

enum fm_status fm_pseudo_parse(struct fm_store *store, const char *list, struct fm_pseudo *pseudo,
                               size_t *n, struct fm_error *err)
{
    const char *s = list;
    enum fm_status status;
    *n = 0;
    if (strcmp(list, "none") == 0)
        return FM_OK;
    while (*s != '\0') {
        const char *end = item_end(s), *last = end;
        while (s < last && *s == ' ')
            s++;
        while (last > s && last[-1] == ' ')
            last--;
        if (last > s) {
            if (*n == FM_PSEUDO_MAX)
                return fm_error_set(err, FM_CONFIG, "more than %d pseudo frames in '%s'",
                                    FM_PSEUDO_MAX, list);
            status = set_item(store, s, (size_t)(last - s), &pseudo[*n], err);
            if (status != FM_OK)
                return status;
            ++*n;
        }
        s = *end == ',' ? end + 1 : end;
    }
    return FM_OK;
}

/* ---------------------------------------------------------------- labels */

static const struct fm_pseudo *at(const struct fm_selection *sel, size_t k)
{
    return k < sel->prepends ? &sel->prepend[k] : &sel->append[k - sel->prepends];
}

/* The stored column that a pseudo frame reads, or FM_NONE. */
static fm_column needs(const struct fm_pseudo *pseudo)
{
    if (pseudo->col != FM_NONE)
        return pseudo->col;
    if (pseudo->derived < 0 || pseudo->derived == FM_DERIVED_SOURCE ||
        pseudo->derived == FM_DERIVED_EVENT)
        return FM_NONE;
    return FM_COL_THREAD;
}

void fm_pseudo_columns(const struct fm_selection *sel, fm_column *col, size_t *cols)
{
    size_t k, i;
    for (k = 0; k < sel->prepends + sel->appends; k++) {
        fm_column need = needs(at(sel, k));
        if (need == FM_NONE)
            continue;
        for (i = 0; i < *cols && col[i] != need; i++)
            ;
        if (i == *cols) {
            fm_assert(*cols < FM_SCAN_COLUMNS);
            col[(*cols)++] = need;
        }
    }
}

void fm_pseudo_labels_init(struct fm_pseudo_labels *labels, const struct fm_selection *sel,
                           const struct fm_scan *scan, const struct fm_names *names)
{
    size_t k;
    memset(labels, 0, sizeof *labels);
    labels->sel = sel;
    labels->n = sel->prepends + sel->appends;
    labels->underscore = names->style == FM_NAMES_FLAMEGRAPH;
    labels->folded = names->folded;
    for (k = 0; k < labels->n; k++) {
        const struct fm_pseudo *pseudo = at(sel, k);
        fm_column need = needs(pseudo);
        fm_map_init(&labels->seen[k], sel->mem);
        labels->fixed[k] = pseudo->col == FM_NONE && pseudo->derived < 0 ? pseudo->literal
                                                                         : pseudo->missing;
        if (labels->folded)
            labels->fixed[k] = fm_name_folded(sel->store, labels->fixed[k]);
        labels->oom = labels->oom || labels->fixed[k] == FM_NONE;
        labels->slot[k] = need == FM_NONE ? SIZE_MAX : fm_scan_find(scan, need);
        fm_assert(need == FM_NONE || labels->slot[k] != SIZE_MAX);
    }
}

void fm_pseudo_labels_release(struct fm_pseudo_labels *labels)
{
    size_t k;
    for (k = 0; k < labels->n; k++)
        fm_map_release(&labels->seen[k]);
}

/* Makes the text of a value. `value` is of the stored column, or of the derived one. */
static fm_str make(struct fm_pseudo_labels *labels, const struct fm_pseudo *pseudo, uint64_t value)
{
    struct fm_store *store = labels->sel->store;
    fm_str id = FM_NONE;
    struct fm_out out;
    const char *text;
    size_t i, n;
    bool named = pseudo->derived >= 0 && fm_derived_type(pseudo->derived) == FM_TYPE_STRING;
    if (named && pseudo->suffix == 0)
        return (fm_str)value;
    if (fm_out_init(&out, labels->sel->mem, NULL) != FM_OK)
        return FM_NONE;
    if (named) {
        text = fm_store_str(store, (fm_str)value, &n);
        fm_out_bytes(&out, text, n);
    } else if (pseudo->derived >= 0) {
        fm_out_i64(&out, (int64_t)value);
    } else {
        fm_name_value(store, pseudo->col, value, &out);
    }
    for (i = 0; i < out.n && labels->underscore && pseudo->col == FM_COL_COMM; i++) {
        if (out.buf[i] == ' ')
            out.buf[i] = '_';
    }
    text = fm_store_str(store, pseudo->suffix, &n);
    fm_out_bytes(&out, text, n);
    if (fm_out_finish(&out, NULL) == FM_OK)
        id = fm_store_str_add(store, out.n > 0 ? out.buf : "", out.n);
    fm_out_release(&out);
    return id;
}

fm_str fm_pseudo_label(struct fm_pseudo_labels *labels, const struct fm_scan *scan, size_t k,
                       uint32_t place)
{
    const struct fm_pseudo *pseudo = at(labels->sel, k);
    struct fm_pseudo_recent *recent;
    size_t slot = labels->slot[k];
    uint64_t value, *label;
    bool fresh;
    if (pseudo->col == FM_NONE && pseudo->derived < 0)
        return labels->fixed[k];
    if (pseudo->col != FM_NONE) {
        if (!fm_scan_valid(scan, slot, place))
            return labels->fixed[k];
        value = scan->value[slot][place];
    } else {
        fm_thread t = FM_NONE;
        if (slot != SIZE_MAX && fm_scan_valid(scan, slot, place))
            t = (fm_thread)scan->value[slot][place];
        if (!fm_derived_value(labels->sel->store, pseudo->derived, t, scan->source,
                              (uint32_t)scan->event[place], &value))
            return labels->fixed[k];
    }
    recent = &labels->recent[k][value % FM_PSEUDO_RECENT];
    if (recent->used && recent->value == value)
        return recent->label;
    label = fm_map_put(&labels->seen[k], value, &fresh);
    if (label != NULL && fresh) {
        fm_str id = make(labels, pseudo, value);
        *label = id != FM_NONE && labels->folded ? fm_name_folded(labels->sel->store, id) : id;
    }
    if (label == NULL || *label == FM_NONE) {
        labels->oom = true;
        return FM_NONE;
    }
    *recent = (struct fm_pseudo_recent){value, (fm_str)*label, true};
    return recent->label;
}
