/*
 * select.c - selections: which event, which weight, which pseudo frames; and the row scan.
 *
 *   --event   see choose.c
 *   --weight  value      the WEIGHT column, in the unit of the event; `period` is the same unless
 *                        the input has a column of that name
 *             samples    the COUNT column
 *             COLUMN     any whole-number column without negative values
 *   --prepend, --append  columns, derived columns, quoted texts or bare punctuation ("-"), joined
 *                        by ','; "none"; by default the view of the event's mapping
 *
 * One sum has one unit: several events of different units are refused unless they are weighed by
 * samples or by a column.
 *
 * The scan decodes blocks of 2,048 rows; segments and blocks without a row of the selected events
 * are skipped by min and max of the event column, and blocks that filters left nothing of.
 */
#include "store/select.h"

#include "util/error.h"

/* ---------------------------------------------------------------- weight */

static enum fm_status weigh_by_value(struct fm_selection *sel, uint32_t first,
                                     struct fm_error *err)
{
    const struct fm_event *event, *other;
    size_t i, n = fm_store_events(sel->store);
    sel->weigh = FM_WEIGH_VALUE;
    sel->weigh_col = FM_COL_WEIGHT;
    sel->unit = 0;
    if (first == FM_NONE)
        return FM_OK;
    event = fm_store_event_row(sel->store, first);
    sel->unit = event->unit;
    for (i = first; i < n; i++) {
        other = fm_store_event_row(sel->store, i);
        if (sel->event[i] && other->unit != event->unit)
            return fm_error_set(err, FM_CONFIG,
                                "events of different units cannot be summed: '%s' is in %s, '%s' "
                                "in %s; choose one event, or weigh by samples",
                                fm_store_str(sel->store, event->name, NULL),
                                fm_store_str(sel->store, event->unit, NULL),
                                fm_store_str(sel->store, other->name, NULL),
                                fm_store_str(sel->store, other->unit, NULL));
    }
    return FM_OK;
}

enum fm_status fm_column_not_imported(const struct fm_store *store, fm_column col,
                                      struct fm_error *err)
{
    const struct fm_column_info *info = fm_store_column_info(store, col);

    fm_assert(info->asked);
    return fm_error_set(err, FM_CONFIG, "label '%s' was not imported: ask for it with --keep",
                        fm_store_str(store, info->name, NULL));
}

static enum fm_status weigh_by_column(struct fm_selection *sel, const char *name,
                                      struct fm_error *err)
{
    fm_column col = fm_store_column_find(sel->store, name);
    const struct fm_column_info *info;
    const char *unit = "count";
    if (col == FM_NONE)
        return fm_error_set(err, FM_CONFIG, "no column '%s' to weigh by", name);
    info = fm_store_column_info(sel->store, col);
    if (info->asked)
        return fm_column_not_imported(sel->store, col, err);
    switch (info->type) {
    case FM_TYPE_DUR:
        unit = "ns";
        break;
    case FM_TYPE_BYTES:
        unit = "bytes";
        break;
    case FM_TYPE_I64:
    case FM_TYPE_U64:
    case FM_TYPE_BOOL:
        break;
    default:
        return fm_error_set(err, FM_CONFIG, "column '%s' is of type %s: weights are whole numbers",
                            name, fm_type_text(info->type));
    }
    if ((info->type == FM_TYPE_DUR || info->type == FM_TYPE_I64) && info->rows > 0 &&
        (int64_t)info->min < 0)
        return fm_error_set(err, FM_CONFIG, "column '%s' has negative values: no weight", name);
    sel->weigh = FM_WEIGH_COLUMN;
    sel->weigh_col = col;
    sel->unit = fm_store_str_add(sel->store, unit, strlen(unit));
    return sel->unit == FM_NONE ? fm_error_nomem(err) : FM_OK;
}

static enum fm_status choose_weight(struct fm_selection *sel, const char *want, uint32_t first,
                                    struct fm_error *err)
{
    if (want == NULL || want[0] == '\0' || strcmp(want, "value") == 0 ||
        strcmp(want, "weight") == 0)
        return weigh_by_value(sel, first, err);
    if (strcmp(want, "samples") == 0 || strcmp(want, "count") == 0) {
        sel->weigh = FM_WEIGH_SAMPLES;
        sel->weigh_col = FM_COL_COUNT;
        sel->unit = fm_store_str_add(sel->store, "samples", 7);
        return sel->unit == FM_NONE ? fm_error_nomem(err) : FM_OK;
    }
    if (strcmp(want, "period") == 0 && fm_store_column_find(sel->store, want) == FM_NONE)
        return weigh_by_value(sel, first, err);
    return weigh_by_column(sel, want, err);
}

/* ------------------------------------------------------------------ init */

enum fm_status fm_selection_init(struct fm_selection *sel, struct fm_store *store,
                                 const struct fm_select_options *options, struct fm_error *err)
{
    const struct fm_select_options none = FM_INIT(none);
    size_t events = fm_store_events(store);
    struct fm_choice choice;
    enum fm_status status;
    uint32_t first;
    memset(sel, 0, sizeof *sel);
    sel->store = store;
    sel->mem = &fm_store_ctx(store)->mem;
    if (options == NULL)
        options = &none;
    sel->event = fm_mem_zalloc(sel->mem, events);
    if (sel->event == NULL)
        return fm_error_nomem(err);
    choice.event = sel->event;
    status = fm_events_choose(store, options->event, &choice, err);
    first = choice.first;
    sel->event_name = choice.name;
    if (status == FM_OK && choice.derived != NULL)
        status = fm_derive_rows(sel, choice.derived, err);
    if (status == FM_OK)
        status = choose_weight(sel, options->weight, first, err);
    if (status == FM_OK)
        status = fm_pseudo_views(sel, first, options->prepend, options->append, err);
    if (status == FM_OK)
        status = fm_selection_sum(sel, err);
    if (status == FM_OK)
        sel->weight_all = sel->weight;
    else
        fm_selection_release(sel);
    return status;
}

static size_t block_places(const struct fm_store *store)
{
    return fm_store_segments(store) * FM_SEGMENT_BLOCKS + 1;
}

static void release_rows(struct fm_selection *sel)
{
    if (sel->rows != NULL)
        fm_mem_free(sel->mem, sel->rows, sel->row_words * sizeof *sel->rows);
    if (sel->block != NULL)
        fm_mem_free(sel->mem, sel->block, block_places(sel->store));
    if (sel->out != NULL)
        fm_mem_free(sel->mem, sel->out, fm_store_append_nodes(sel->store) + 1);
    sel->rows = NULL;
    sel->block = NULL;
    sel->out = NULL;
}

void fm_selection_release(struct fm_selection *sel)
{
    if (sel->mem == NULL)
        return;
    fm_mem_free(sel->mem, sel->event, fm_store_events(sel->store));
    fm_mem_free(sel->mem, sel->letter, fm_store_events(sel->store) * 2 * FM_PSEUDO_MAX);
    release_rows(sel);
    if (sel->row_weight != NULL)
        fm_mem_free(sel->mem, sel->row_weight,
                    fm_store_rows(sel->store) * sizeof *sel->row_weight);
    if (sel->row_node != NULL)
        fm_mem_free(sel->mem, sel->row_node, fm_store_rows(sel->store) * sizeof *sel->row_node);
    if (sel->stacks != NULL) {
        struct fm_stacks *stacks = sel->stacks;
        fm_mem_free(sel->mem, stacks->node, stacks->nodes * sizeof *stacks->node);
        fm_mem_free(sel->mem, stacks->frame, stacks->frames * sizeof *stacks->frame);
        fm_mem_free(sel->mem, stacks->of_tree,
                    fm_store_tree_nodes(sel->store) * sizeof *stacks->of_tree);
        fm_mem_free(sel->mem, stacks, sizeof *stacks);
    }
    memset(sel, 0, sizeof *sel);
}

static void *copy_of(struct fm_mem *mem, const void *from, size_t bytes)
{
    void *to = fm_mem_alloc(mem, bytes);

    if (to != NULL && bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

static bool copy_stacks(struct fm_selection *to, const struct fm_stacks *from)
{
    struct fm_stacks *s = fm_mem_zalloc(to->mem, sizeof *s);
    size_t tree = fm_store_tree_nodes(to->store);

    to->stacks = s;
    if (s == NULL)
        return false;
    s->node = copy_of(to->mem, from->node, from->nodes * sizeof *s->node);
    s->nodes = s->node == NULL ? 0 : from->nodes;
    s->frame = copy_of(to->mem, from->frame, from->frames * sizeof *s->frame);
    s->frames = s->frame == NULL ? 0 : from->frames;
    s->of_tree = copy_of(to->mem, from->of_tree, tree * sizeof *s->of_tree);
    return s->node != NULL && (s->frame != NULL || from->frames == 0) && s->of_tree != NULL;
}

static bool copy_by_row(struct fm_selection *to, const struct fm_selection *from)
{
    uint64_t rows = fm_store_rows(from->store);

    if (from->row_weight != NULL)
        to->row_weight = copy_of(to->mem, from->row_weight, rows * sizeof *to->row_weight);
    if (from->row_node != NULL)
        to->row_node = copy_of(to->mem, from->row_node, rows * sizeof *to->row_node);
    return (from->row_weight == NULL || to->row_weight != NULL)
           && (from->row_node == NULL || to->row_node != NULL);
}

enum fm_status fm_selection_copy(struct fm_selection *to, const struct fm_selection *from,
                                 struct fm_error *err)
{
    size_t events = fm_store_events(from->store);
    bool ok;

    *to = *from;
    to->rows = NULL;
    to->block = NULL;
    to->out = NULL;
    to->stacks = NULL;
    to->letter = NULL;
    to->row_weight = NULL;
    to->row_node = NULL;
    to->event = copy_of(to->mem, from->event, events);
    ok = to->event != NULL;
    if (ok && from->letter != NULL) {
        to->letter = copy_of(to->mem, from->letter, events * 2 * FM_PSEUDO_MAX);
        ok = to->letter != NULL;
    }
    if (ok && from->rows != NULL) {
        to->rows = copy_of(to->mem, from->rows, from->row_words * sizeof *to->rows);
        ok = to->rows != NULL;
    }
    if (ok && from->block != NULL) {
        to->block = copy_of(to->mem, from->block, block_places(from->store));
        ok = to->block != NULL;
    }
    if (ok && from->out != NULL) {
        to->out = copy_of(to->mem, from->out, fm_store_append_nodes(from->store) + 1);
        ok = to->out != NULL;
    }
    ok = ok && copy_by_row(to, from);
    if (ok && from->stacks != NULL)
        ok = copy_stacks(to, from->stacks);
    if (ok)
        return FM_OK;
    fm_selection_release(to);
    return fm_error_nomem(err);
}

fm_column fm_selection_weight_column(const struct fm_selection *sel)
{
    return sel->weigh_col;
}

const struct fm_tree_node *fm_selection_tree(const struct fm_selection *sel, size_t *nodes)
{
    if (sel->stacks != NULL) {
        *nodes = sel->stacks->nodes;
        return sel->stacks->node;
    }
    *nodes = fm_store_tree_nodes(sel->store);
    return fm_store_tree(sel->store);
}

size_t fm_selection_frames(const struct fm_selection *sel)
{
    return sel->stacks != NULL ? sel->stacks->frames : fm_store_frames(sel->store);
}

const struct fm_frame_row *fm_selection_frame(const struct fm_selection *sel, fm_frame f)
{
    fm_assert(f < fm_selection_frames(sel));
    return sel->stacks != NULL ? &sel->stacks->frame[f] : fm_store_frame_row(sel->store, f);
}

uint32_t fm_selection_node(const struct fm_selection *sel, bool valid, uint64_t stack)
{
    uint32_t node;

    if (sel->row_node != NULL)
        return valid ? (uint32_t)stack : 0;
    node = valid ? fm_store_tree_node(sel->store, (fm_node)stack) : 0;
    return sel->stacks != NULL ? sel->stacks->of_tree[node] : node;
}

/* ------------------------------------------------------------------ rows */

bool fm_selection_own_rows(struct fm_selection *sel)
{
    size_t places = block_places(sel->store);

    if (sel->block != NULL)
        return true;
    sel->block = fm_mem_alloc(sel->mem, places);
    if (sel->block == NULL)
        return false;
    memset(sel->block, sel->rows == NULL ? FM_ROWS_ALL : FM_ROWS_SOME, places);
    if (sel->rows != NULL)
        return true;
    sel->row_words = (fm_store_rows(sel->store) + 63) / 64;
    sel->rows = fm_mem_zalloc(sel->mem, sel->row_words * sizeof *sel->rows);
    if (sel->rows != NULL)
        return true;
    fm_mem_free(sel->mem, sel->block, places);
    sel->block = NULL;
    return false;
}

bool fm_selection_own_stacks(struct fm_selection *sel)
{
    if (sel->out == NULL)
        sel->out = fm_mem_zalloc(sel->mem, fm_store_append_nodes(sel->store) + 1);
    return sel->out != NULL;
}

enum fm_rows fm_selection_block(const struct fm_selection *sel, size_t segment, uint32_t block)
{
    if (sel->block != NULL)
        return (enum fm_rows)sel->block[fm_block_place(segment, block)];
    return sel->rows != NULL ? FM_ROWS_SOME : FM_ROWS_ALL;
}

void fm_selection_set_block(struct fm_selection *sel, size_t segment, uint32_t block,
                            uint64_t first, uint32_t n, const uint64_t *bits)
{
    uint32_t live = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t row = first + i, bit = bits[i / 64] >> (i % 64) & 1;
        sel->rows[row / 64] = (sel->rows[row / 64] & ~(UINT64_C(1) << (row % 64)))
                              | bit << (row % 64);
        live += (uint32_t)bit;
    }
    sel->block[fm_block_place(segment, block)] = live == 0   ? FM_ROWS_NONE
                                                 : live == n ? FM_ROWS_ALL
                                                             : FM_ROWS_SOME;
}

/* Every row of the selected events counts: they have been counted as they came. false: not so. */
static bool sum_events(struct fm_selection *sel)
{
    if (sel->rows != NULL || sel->block != NULL || sel->out != NULL || sel->stacks != NULL
        || sel->row_weight != NULL || sel->weigh == FM_WEIGH_COLUMN)
        return false;
    for (size_t i = 0; i < fm_store_events(sel->store); i++) {
        const struct fm_event *e = fm_store_event_row(sel->store, i);
        if (!sel->event[i])
            continue;
        sel->samples = fm_add_sat_u64(sel->samples, e->samples);
        sel->weight += sel->weigh == FM_WEIGH_VALUE ? e->weight : e->samples;
    }
    return true;
}

enum fm_status fm_selection_sum(struct fm_selection *sel, struct fm_error *err)
{
    fm_column col[3] = {FM_COL_COUNT, FM_COL_STACK, sel->weigh_col};
    struct fm_scan scan;
    enum fm_status status;
    uint32_t i;
    sel->samples = 0;
    sel->weight = 0;
    if (sum_events(sel))
        return FM_OK;
    status = fm_scan_init(&scan, sel, col, 3, err);
    if (status != FM_OK)
        return status;
    while (fm_scan_next(&scan)) {
        for (i = 0; i < scan.n; i++) {
            uint32_t place = scan.live[i];
            if (sel->stacks != NULL &&
                fm_selection_node(sel, fm_scan_valid(&scan, 1, place), scan.value[1][place]) ==
                    FM_NONE)
                continue;
            sel->samples = fm_add_sat_u64(sel->samples, scan.value[0][place]);
            sel->weight += scan.value[2][place];
        }
    }
    fm_scan_release(&scan);
    return FM_OK;
}

/* ------------------------------------------------------------------ scan */

#define SCAN_WORDS (FM_BLOCK_ROWS / 64)
#define SCAN_LANE (FM_BLOCK_ROWS + SCAN_WORDS)

enum fm_status fm_scan_init(struct fm_scan *scan, const struct fm_selection *sel,
                            const fm_column *col, size_t cols, struct fm_error *err)
{
    size_t i;
    fm_assert(cols <= FM_SCAN_COLUMNS);
    memset(scan, 0, offsetof(struct fm_scan, live));
    scan->sel = sel;
    scan->cols = cols;
    scan->buffer = fm_mem_alloc(sel->mem, (cols + 2) * SCAN_LANE * sizeof(uint64_t));
    if (scan->buffer == NULL)
        return fm_error_nomem(err);
    for (i = 0; i < cols; i++) {
        scan->col[i] = col[i];
        scan->value[i] = scan->buffer + i * SCAN_LANE;
        scan->valid[i] = scan->value[i] + FM_BLOCK_ROWS;
    }
    scan->event = scan->buffer + cols * SCAN_LANE;
    scan->stack = scan->event + SCAN_LANE;
    return FM_OK;
}

void fm_scan_release(struct fm_scan *scan)
{
    if (scan->buffer != NULL)
        fm_mem_free(scan->sel->mem, scan->buffer,
                    (scan->cols + 2) * SCAN_LANE * sizeof(uint64_t));
    scan->buffer = NULL;
}

size_t fm_scan_find(const struct fm_scan *scan, fm_column col)
{
    size_t i;
    for (i = 0; i < scan->cols; i++) {
        if (scan->col[i] == col)
            return i;
    }
    return SIZE_MAX;
}

/* Whether a segment can hold a selected row: none when all its events are outside. */
static bool segment_has(const struct fm_scan *scan, size_t segment)
{
    uint64_t min, max, e;
    if (fm_store_segment_empty(scan->sel->store, segment, FM_COL_EVENT, &min, &max))
        return false;
    for (e = min; e <= max; e++) {
        if (scan->sel->event[e])
            return true;
    }
    return false;
}

/* Fills scan->live for a block of `n` rows. */
static void pick(struct fm_scan *scan, uint32_t n, bool some)
{
    const uint8_t *event = scan->sel->event;
    const uint64_t *rows = scan->sel->rows;
    uint32_t i, live = 0;
    fm_assert(n <= FM_BLOCK_ROWS);
    for (i = 0; i < n; i++) {
        bool take = event[scan->event[i]];
        if (some) {
            uint64_t row = scan->first_row + i;
            take = take && ((rows[row / 64] >> (row % 64)) & 1);
        }
        scan->live[live] = (uint16_t)i;
        live += take;
    }
    scan->n = live;
}

/* Takes out the live rows whose stack is left out. */
static void pick_stacks(struct fm_scan *scan, uint32_t block)
{
    const uint8_t *out = scan->sel->out;
    uint64_t *stack = scan->stack, *valid = stack + FM_BLOCK_ROWS;
    size_t none = fm_store_append_nodes(scan->sel->store);
    uint32_t live = 0;
    bool all;
    fm_store_block(scan->sel->store, scan->segment, block, FM_COL_STACK, stack, valid, &all);
    for (uint32_t i = 0; i < scan->n; i++) {
        uint32_t place = scan->live[i];
        bool has = (valid[place >> 6] >> (place & 63)) & 1;
        scan->live[live] = (uint16_t)place;
        live += !out[has ? stack[place] : none];
    }
    scan->n = live;
}

/* No row of the block is of a selected event: known without reading it. */
static bool block_has(const struct fm_scan *scan, uint32_t block)
{
    uint64_t min, max;
    if (fm_store_block_empty(scan->sel->store, scan->segment, block, FM_COL_EVENT, &min, &max))
        return false;
    while (min < max && !scan->sel->event[min])
        min++;
    return scan->sel->event[min];
}

/* The live rows of a block; false: there are none. */
static bool take_block(struct fm_scan *scan, uint32_t block)
{
    const struct fm_store *store = scan->sel->store;
    enum fm_rows state = fm_selection_block(scan->sel, scan->segment, block);
    uint32_t n = FM_MIN(fm_store_segment_rows(store, scan->segment) - block * FM_BLOCK_ROWS,
                        FM_BLOCK_ROWS);
    bool all;
    scan->first_row = scan->next_row;
    scan->next_row += n;
    if (state == FM_ROWS_NONE || !block_has(scan, block))
        return false;
    fm_store_block(store, scan->segment, block, FM_COL_EVENT, scan->event,
                   scan->event + FM_BLOCK_ROWS, &all);
    fm_assert(all);
    pick(scan, n, state == FM_ROWS_SOME);
    if (scan->n > 0 && scan->sel->out != NULL)
        pick_stacks(scan, block);
    return scan->n > 0;
}

/* What the selection has by row stands in the place of the store's columns. */
static void put_by_row(struct fm_scan *scan)
{
    const struct fm_selection *sel = scan->sel;

    for (size_t c = 0; c < scan->cols; c++) {
        uint64_t *value = scan->value[c], *valid = scan->valid[c];
        bool weight = scan->col[c] == FM_COL_WEIGHT && sel->row_weight != NULL;

        if (!weight && (scan->col[c] != FM_COL_STACK || sel->row_node == NULL))
            continue;
        for (uint32_t i = 0; i < scan->n; i++) {
            uint32_t place = scan->live[i];
            uint64_t row = scan->first_row + place, bit = UINT64_C(1) << (place & 63);

            value[place] = weight ? sel->row_weight[row] : sel->row_node[row];
            valid[place >> 6] |= bit;
            if (!weight && value[place] == 0)
                valid[place >> 6] &= ~bit;
        }
    }
}

bool fm_scan_next(struct fm_scan *scan)
{
    const struct fm_store *store = scan->sel->store;
    size_t segments = fm_store_segments(store), i;
    for (; scan->segment < segments; scan->segment++) {
        uint32_t rows = fm_store_segment_rows(store, scan->segment);
        if (scan->block == 0 && !segment_has(scan, scan->segment)) {
            scan->next_row += rows;
            continue;
        }
        while (scan->block * FM_BLOCK_ROWS < rows) {
            uint32_t block = scan->block++;
            bool all;
            if (!take_block(scan, block))
                continue;
            scan->at_block = block;
            scan->source = fm_store_segment_source(store, scan->segment);
            for (i = 0; i < scan->cols; i++)
                fm_store_block(store, scan->segment, block, scan->col[i], scan->value[i],
                               scan->valid[i], &all);
            if (scan->sel->row_weight != NULL || scan->sel->row_node != NULL)
                put_by_row(scan);
            return true;
        }
        scan->block = 0;
    }
    return false;
}

enum fm_status fm_selection_settle(struct fm_selection *sel, struct fm_error *err)
{
    uint64_t words = (fm_store_rows(sel->store) + 63) / 64, *rows;
    struct fm_scan scan;
    enum fm_status status;
    if (sel->block == NULL && sel->out == NULL)
        return FM_OK;
    rows = fm_mem_zalloc(sel->mem, words * sizeof *rows);
    if (rows == NULL)
        return fm_error_nomem(err);
    status = fm_scan_init(&scan, sel, NULL, 0, err);
    while (status == FM_OK && fm_scan_next(&scan)) {
        for (uint32_t i = 0; i < scan.n; i++) {
            uint64_t row = scan.first_row + scan.live[i];
            rows[row / 64] |= UINT64_C(1) << (row % 64);
        }
    }
    fm_scan_release(&scan);
    release_rows(sel);
    sel->rows = rows;
    sel->row_words = words;
    return status;
}
