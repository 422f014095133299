/*
 * pseudo.c - pseudo frames: columns, derived columns and literal texts above and below a stack.
 *
 *     list   "comm, process, '-', cpu"      items joined by ',', blanks around them ignored
 *     item   a column of the store, a derived column (pid tid java_tid process container
 *            source event metric command process_label thread_label), a text in quotes, or
 *            bare punctuation
 *
 * COLUMN? is left out where a row has no value. A quoted text may hold columns,
 * '[${thread} tid=${tid}]': such a frame has several parts. The suffix of COLUMN=SUFFIX is added to
 * each value; one that is an annotation of frames ("_[i]") is written when frames are annotated,
 * and events may differ in it.
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
    [FM_DERIVED_METRIC] = {"metric", FM_TYPE_STRING},
    [FM_DERIVED_COMMAND] = {"command", FM_TYPE_STRING},
    [FM_DERIVED_JAVA_TID] = {"java_tid", FM_TYPE_I64},
    [FM_DERIVED_PROCESS_LABEL] = {"process_label", FM_TYPE_STRING},
    [FM_DERIVED_THREAD_LABEL] = {"thread_label", FM_TYPE_STRING},
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
    if (d == FM_DERIVED_METRIC) {
        *value = fm_store_event_row(store, event)->metric;
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
    case FM_DERIVED_JAVA_TID:
        *value = (uint64_t)row->java_tid;
        return row->java_tid >= 0;
    case FM_DERIVED_PROCESS:
        *value = process_name(store, row, t);
        return *value != 0;
    case FM_DERIVED_CONTAINER:
        *value = row->container;
        return *value != 0;
    case FM_DERIVED_PROCESS_LABEL:
        *value = row->process_label != 0 ? row->process_label : process_name(store, row, t);
        return *value != 0;
    case FM_DERIVED_THREAD_LABEL:
        *value = row->thread_label != 0 ? row->thread_label
                                        : fm_store_thread_name(store, t, false, 0);
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

static const struct fm_pseudo no_part = {.col = FM_NONE, .derived = -1};

static enum fm_status set_literal(struct fm_store *store, const char *s, size_t n,
                                  struct fm_pseudo *pseudo, struct fm_error *err)
{
    *pseudo = no_part;
    pseudo->literal = fm_store_str_add(store, s, n);
    return pseudo->literal == FM_NONE ? fm_error_nomem(err) : FM_OK;
}

/* "_[i]", as frames are annotated. */
static bool is_annotation(const char *s, size_t n)
{
    enum fm_frame_kind kind;
    return n == 4 && s[0] == '_' && s[1] == '[' && s[3] == ']' && fm_name_suffix_kind(s[2], &kind);
}

static enum fm_status set_column(struct fm_store *store, const char *s, size_t n,
                                 struct fm_pseudo *pseudo, struct fm_error *err)
{
    char name[256];
    char missing[sizeof name + 8];
    const char *suffix = memchr(s, '=', n);
    int len;
    *pseudo = no_part;
    if (suffix != NULL) { /* COLUMN=SUFFIX */
        size_t suffix_n = n - (size_t)(suffix + 1 - s);
        n = (size_t)(suffix - s);
        if (is_annotation(suffix + 1, suffix_n))
            pseudo->letter = suffix[3];
        else
            pseudo->suffix = fm_store_str_add(store, suffix + 1, suffix_n);
        if (pseudo->suffix == FM_NONE)
            return fm_error_nomem(err);
    }
    if (n > 1 && s[n - 1] == '?') {
        pseudo->optional = true;
        n--;
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

/* One more part, or the failure for too many of them. */
static enum fm_status next_part(const char *list, size_t n, struct fm_error *err)
{
    if (n < FM_PSEUDO_MAX)
        return FM_OK;
    return fm_error_set(err, FM_CONFIG, "more than %d pseudo frames in '%s'", FM_PSEUDO_MAX, list);
}

/* A quoted text: literals and ${COLUMN}, the parts of one frame. */
static enum fm_status set_text(struct fm_store *store, const char *list, const char *s, size_t len,
                               struct fm_pseudo *pseudo, size_t *n, struct fm_error *err)
{
    const char *end = s + len;
    size_t first = *n;
    do {
        const char *at = memmem(s, (size_t)(end - s), "${", 2);
        const char *close = at != NULL ? memchr(at, '}', (size_t)(end - at)) : NULL;
        enum fm_status status = FM_OK;
        if (close == NULL)
            at = end;
        if (at > s || (at == end && *n == first)) {
            status = next_part(list, *n, err);
            if (status == FM_OK)
                status = set_literal(store, s, (size_t)(at - s), &pseudo[*n], err);
            if (status != FM_OK)
                return status;
            pseudo[*n].joined = *n > first;
            ++*n;
        }
        if (close == NULL)
            return FM_OK;
        status = next_part(list, *n, err);
        if (status == FM_OK)
            status = set_column(store, at + 2, (size_t)(close - at - 2), &pseudo[*n], err);
        if (status != FM_OK)
            return status;
        pseudo[*n].joined = *n > first;
        ++*n;
        s = close + 1;
    } while (s < end);
    return FM_OK;
}

static enum fm_status set_item(struct fm_store *store, const char *list, const char *s, size_t len,
                               struct fm_pseudo *pseudo, size_t *n, struct fm_error *err)
{
    enum fm_status status;
    if (len >= 2 && (s[0] == '\'' || s[0] == '"') && s[len - 1] == s[0])
        return set_text(store, list, s + 1, len - 2, pseudo, n, err);
    status = next_part(list, *n, err);
    if (status == FM_OK && punctuation(s, len))
        status = set_literal(store, s, len, &pseudo[*n], err);
    else if (status == FM_OK)
        status = set_column(store, s, len, &pseudo[*n], err);
    *n += status == FM_OK;
    return status;
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
            status = set_item(store, list, s, (size_t)(last - s), pseudo, n, err);
            if (status != FM_OK)
                return status;
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
        pseudo->derived == FM_DERIVED_EVENT || pseudo->derived == FM_DERIVED_METRIC)
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
    labels->annotate = names->annotate;
    fm_map_init(&labels->joins, sel->mem);
    fm_map_init(&labels->marks, sel->mem);
    labels->underscore = names->style == FM_NAMES_FLAMEGRAPH;
    labels->folded = names->folded;
    labels->names = *names;
    for (k = 0; k < sel->prepends + sel->appends; k++) {
        const struct fm_pseudo *pseudo = at(sel, k);
        fm_column need = needs(pseudo);
        if (!pseudo->joined) {
            labels->prepends += k < sel->prepends;
            labels->appends += k >= sel->prepends;
            labels->first[labels->n++] = (uint8_t)k;
        }
        fm_map_init(&labels->seen[k], sel->mem);
        labels->fixed[k] = pseudo->col == FM_NONE && pseudo->derived < 0 ? pseudo->literal
                           : pseudo->optional                           ? FM_PSEUDO_SKIP
                                                                        : pseudo->missing;
        if (labels->folded && labels->fixed[k] != FM_PSEUDO_SKIP)
            labels->fixed[k] = fm_name_folded(sel->store, labels->fixed[k]);
        labels->oom = labels->oom || labels->fixed[k] == FM_NONE;
        labels->slot[k] = need == FM_NONE ? SIZE_MAX : fm_scan_find(scan, need);
        fm_assert(need == FM_NONE || labels->slot[k] != SIZE_MAX);
    }
    labels->first[labels->n] = (uint8_t)k;
}

void fm_pseudo_labels_release(struct fm_pseudo_labels *labels)
{
    size_t k;
    if (labels->sel == NULL)
        return;
    for (k = 0; k < labels->first[labels->n]; k++)
        fm_map_release(&labels->seen[k]);
    fm_map_release(&labels->joins);
    fm_map_release(&labels->marks);
}

/* Labels that hold Java classes: "class", "monitorClass". */
static bool is_class(const struct fm_store *store, fm_column col)
{
    const struct fm_column_info *info = fm_store_column_info(store, col);
    size_t n;
    const char *name = fm_store_str(store, info->name, &n);
    return col >= FM_COL_LABELS && info->type == FM_TYPE_STRING && n >= 5 &&
           (memcmp(name + n - 5, "class", 5) == 0 || memcmp(name + n - 5, "Class", 5) == 0);
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
        bool class = is_class(store, pseudo->col);
        if (class)
            value = fm_name_class(store, (fm_str)value, &labels->names);
        if (class && value == FM_NONE)
            out.status = FM_NOMEM;
        else
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

/* a and then b, as one text; with `map` the key of which is both. */
static fm_str both(struct fm_pseudo_labels *labels, struct fm_map *map, uint64_t key, fm_str a,
                   const char *b, size_t b_n)
{
    struct fm_store *store = labels->sel->store;
    bool fresh;
    uint64_t *slot = fm_map_put(map, key, &fresh);
    struct fm_out out;
    size_t n;
    const char *s;
    if (slot != NULL && !fresh)
        return (fm_str)*slot;
    if (slot == NULL || fm_out_init(&out, labels->sel->mem, NULL) != FM_OK) {
        labels->oom = true;
        return FM_NONE;
    }
    s = fm_store_str(store, a, &n);
    fm_out_bytes(&out, s, n);
    fm_out_bytes(&out, b, b_n);
    *slot = fm_out_finish(&out, NULL) == FM_OK
                ? fm_store_str_add(store, out.n > 0 ? out.buf : "", out.n) : FM_NONE;
    fm_out_release(&out);
    labels->oom = labels->oom || *slot == FM_NONE;
    return (fm_str)*slot;
}

static fm_str part_label(struct fm_pseudo_labels *labels, const struct fm_scan *scan, size_t k,
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

/* The label with the annotation that the view gives it. */
static fm_str mark(struct fm_pseudo_labels *labels, const struct fm_scan *scan, size_t k,
                   uint32_t place, fm_str label)
{
    const struct fm_selection *sel = labels->sel;
    char letter = sel->letter[scan->event[place] * 2 * FM_PSEUDO_MAX + k];
    char text[] = "_[?]";
    if (letter == '\0')
        return label;
    text[2] = letter;
    return both(labels, &labels->marks, (uint64_t)(unsigned char)letter << 32 | label, label, text,
                4);
}

fm_str fm_pseudo_label(struct fm_pseudo_labels *labels, const struct fm_scan *scan, size_t frame,
                       uint32_t place)
{
    size_t k = labels->first[frame], end = labels->first[frame + 1];
    fm_str label = part_label(labels, scan, k, place);
    if (labels->annotate && label < FM_PSEUDO_SKIP)
        label = mark(labels, scan, k, place, label);
    for (k++; k < end && label != FM_NONE; k++) {
        fm_str next = part_label(labels, scan, k, place);
        const char *s;
        size_t n;
        if (next == FM_NONE)
            return FM_NONE;
        if (next == FM_PSEUDO_SKIP || label == FM_PSEUDO_SKIP) {
            label = FM_MIN(next, label);
            continue;
        }
        s = fm_store_str(labels->sel->store, next, &n);
        label = both(labels, &labels->joins, (uint64_t)label << 32 | next, label, s, n);
    }
    return label;
}

/* ----------------------------------------------------------------- views */

static bool same_part(const struct fm_pseudo *a, const struct fm_pseudo *b)
{
    return a->col == b->col && a->derived == b->derived && a->literal == b->literal &&
           a->suffix == b->suffix && a->optional == b->optional && a->joined == b->joined;
}

/* The view of one side: of the first event when the others agree in all but annotations. */
static enum fm_status side(struct fm_selection *sel, uint32_t first, bool append,
                           struct fm_error *err)
{
    size_t events = fm_store_events(sel->store), n, i, k;
    struct fm_pseudo *own = append ? sel->append : sel->prepend, other[FM_PSEUDO_MAX];
    size_t *count = append ? &sel->appends : &sel->prepends;
    const struct fm_event *a = fm_store_event_row(sel->store, first);
    fm_str text = append ? a->append : a->prepend;
    enum fm_status status = fm_pseudo_parse(sel->store, fm_store_str(sel->store, text, NULL), own,
                                            count, err);
    for (i = first; i < events && status == FM_OK; i++) {
        const struct fm_event *b = fm_store_event_row(sel->store, i);
        fm_str its = append ? b->append : b->prepend;
        if (!sel->event[i])
            continue;
        status = fm_pseudo_parse(sel->store, fm_store_str(sel->store, its, NULL), other, &n, err);
        for (k = 0; status == FM_OK && n == *count && k < n && same_part(&own[k], &other[k]); k++)
            sel->letter[i * 2 * FM_PSEUDO_MAX + k + (append ? sel->prepends : 0)] =
                other[k].letter;
        if (status == FM_OK && (n != *count || k < n)) {
            *count = 0;
            return FM_OK;
        }
    }
    return status;
}

/* A list that was given: the same for all events. */
static enum fm_status given(struct fm_selection *sel, const char *list, bool append,
                            struct fm_error *err)
{
    struct fm_pseudo *own = append ? sel->append : sel->prepend;
    size_t *n = append ? &sel->appends : &sel->prepends, base = append ? sel->prepends : 0;
    enum fm_status status = fm_pseudo_parse(sel->store, list, own, n, err);
    for (size_t i = 0; i < fm_store_events(sel->store); i++)
        for (size_t k = 0; status == FM_OK && k < *n; k++)
            sel->letter[i * 2 * FM_PSEUDO_MAX + base + k] = own[k].letter;
    return status;
}

enum fm_status fm_pseudo_views(struct fm_selection *sel, uint32_t first, const char *prepend,
                               const char *append, struct fm_error *err)
{
    enum fm_status status = FM_OK;
    sel->letter = fm_mem_zalloc(sel->mem, fm_store_events(sel->store) * 2 * FM_PSEUDO_MAX);
    if (sel->letter == NULL)
        return fm_error_nomem(err);
    if (prepend != NULL)
        status = given(sel, prepend, false, err);
    else if (first != FM_NONE)
        status = side(sel, first, false, err);
    if (status == FM_OK && append != NULL)
        status = given(sel, append, true, err);
    else if (status == FM_OK && first != FM_NONE)
        status = side(sel, first, true, err);
    return status;
}
