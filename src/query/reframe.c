/*
 * reframe.c - edits that make other frames of the frames and leave the stacks as deep as they are:
 * level and rename. Each distinct frame is looked at once.
 *
 *     level    frame -> its function, file, line, address, module or categories; frames that agree
 *              are one
 *     rename   function -> another text
 *                /regex/   every match in the name becomes the text, with \1 … of the match
 *                others    the whole name does; \0 is the name
 *
 * The name of a JavaScript function shows its place (store/name.h). A frame whose name is made here
 * has no place of its own any more, or it would be shown twice.
 */
#include "query/category.h"
#include "query/edit.h"

#include "util/map.h"
#include "util/out.h"
#include "util/text.h"

static void put_nodes(struct fm_restack *b, const uint32_t *frame)
{
    const struct fm_tree_node *node = b->v->node;

    for (size_t n = 1; n < b->v->nodes && !b->oom; n++)
        b->to[n] = fm_restack_child(b, b->to[node[n].parent], frame[node[n].frame]);
}

/* ------------------------------------------------------------------- level */

/* Its categories, or [other]; pseudo frames stay what they are. */
static fm_str category_label(struct fm_restack *b, uint32_t f)
{
    uint64_t mask;

    if (fm_view_frame(b->v, f)->kind == FM_FRAME_SYNTHETIC)
        return b->v->label[f];
    mask = fm_category_mask(b->c, b->v, f);
    return (mask & ~FM_CATEGORY_KNOWN) != 0 ? fm_category_list(b->c, mask)
                                            : fm_store_str_add(b->v->store, "[other]", 7);
}

/* The text of frame f at a level; FM_NONE: no memory. */
static fm_str level_label(struct fm_restack *b, uint32_t f, struct fm_out *out)
{
    const struct fm_view *v = b->v;
    const struct fm_frame_row *row = fm_view_frame(v, f);

    out->n = 0;
    switch (b->edit->level) {
    case FM_LEVEL_CATEGORY:
        return category_label(b, f);
    case FM_LEVEL_FILE:
        return row->file != 0 ? row->file : v->label[f];
    case FM_LEVEL_MODULE:
        return v->dso[f] != FM_NONE ? v->dso[f] : v->label[f];
    case FM_LEVEL_LINE:
        if (row->file == 0 || row->line == 0 || row->kind == FM_FRAME_JS)
            return v->label[f];
        fm_out_printf(out, "%s (%s:%u)", fm_store_str(v->store, v->label[f], NULL),
                      fm_store_str(v->store, row->file, NULL), row->line);
        break;
    case FM_LEVEL_ADDRESS:
        if (row->address == UINT64_MAX)
            return v->label[f];
        fm_out_text(out, "0x");
        fm_out_hex(out, row->address);
        fm_out_char(out, ' ');
        fm_out_text(out, fm_store_str(v->store, v->label[f], NULL));
        break;
    default:
        return v->label[f];
    }
    return out->status != FM_OK ? FM_NONE : fm_store_str_add(v->store, out->buf, out->n);
}

static void forget_place(struct fm_frame_row *row)
{
    row->file = 0;
    row->line = row->column = 0;
}

static uint32_t level_row(struct fm_restack *b, uint32_t f, fm_str label)
{
    struct fm_frame_row row = *fm_view_frame(b->v, f);
    enum fm_edit_level level = b->edit->level;

    if (level == FM_LEVEL_CATEGORY)
        row = (struct fm_frame_row){ .module = FM_NONE, .kind = FM_FRAME_SYNTHETIC };
    row.function = label;
    row.caller = false;
    if (level != FM_LEVEL_ADDRESS) {
        row.address = UINT64_MAX;
        row.column = row.bci = 0;
        row.line = level == FM_LEVEL_LINE ? row.line : 0;
        row.file = level == FM_LEVEL_LINE || level == FM_LEVEL_FILE ? row.file : 0;
    }
    if (level != FM_LEVEL_ADDRESS && level != FM_LEVEL_LINE)
        row.raw = row.signature = 0;
    if (row.kind == FM_FRAME_JS || (level == FM_LEVEL_LINE && (row.file == 0 || row.line == 0)))
        forget_place(&row);
    return fm_restack_row(b, &row);
}

bool fm_edit_level(struct fm_restack *b)
{
    const struct fm_view *v = b->v;
    uint32_t *level = fm_arena_alloc(b->c->arena, (v->frames + 1) * sizeof *level);
    struct fm_map pair, map;
    struct fm_out out;

    if (level == NULL || fm_out_init(&out, b->mem, NULL) != FM_OK)
        return false;
    fm_map_init(&pair, b->mem);
    fm_map_init(&map, b->mem);
    for (size_t f = 0; f < v->frames && !b->oom; f++) {
        const struct fm_frame_row *row = fm_view_frame(v, (uint32_t)f);
        fm_str label = level_label(b, (uint32_t)f, &out), dso = v->dso[f];
        uint64_t *place, *slot = NULL, kind = (uint64_t)row->kind << 1 | row->inlined;
        bool fresh;
        if (b->edit->level == FM_LEVEL_CATEGORY) {
            dso = FM_NONE;
            kind = 0;
        }
        /* (label, module) -> number, then (number, kind, inlined) -> new frame: exact keys */
        place = label == FM_NONE
                    ? NULL : fm_map_put(&pair, (uint64_t)label << 32 | dso, &fresh);
        if (place != NULL && fresh)
            *place = pair.n;
        if (place != NULL)
            slot = fm_map_put(&map, *place << 9 | kind, &fresh);
        if (slot == NULL) {
            b->oom = true;
            break;
        }
        if (fresh)
            *slot = level_row(b, (uint32_t)f, label);
        level[f] = (uint32_t)*slot;
    }
    fm_map_release(&pair);
    fm_map_release(&map);
    fm_out_release(&out);
    put_nodes(b, level);
    return true;
}

/* ------------------------------------------------------------------ rename */

#define GROUPS 10

/* The new text, with the groups of a match in s. */
static void put_groups(const struct fm_edit *edit, const char *s, const size_t *at, size_t groups,
                       struct fm_out *out)
{
    for (size_t i = 0; i < edit->as_n; i++) {
        size_t g;
        if (edit->as[i] != '\\' || i + 1 == edit->as_n) {
            fm_out_char(out, edit->as[i]);
            continue;
        }
        i++;
        g = (size_t)(unsigned char)edit->as[i] - '0';
        if (edit->as[i] == '\\')
            fm_out_char(out, '\\');
        else if (g < groups && g < GROUPS && at[2 * g] != SIZE_MAX)
            fm_out_bytes(out, s + at[2 * g], at[2 * g + 1] - at[2 * g]);
    }
}

static void replace_whole(const struct fm_edit *edit, const char *s, size_t n, struct fm_out *out)
{
    size_t at[2] = { 0, n };

    put_groups(edit, s, at, 1, out);
}

/* Every match in s; an empty one lets a character pass. */
static void replace_matches(const struct fm_edit *edit, const char *s, size_t n,
                            struct fm_out *out)
{
    const struct fm_pattern *pattern = edit->p->test.pattern;
    size_t at[2 * GROUPS], from = 0, groups;

    while (from <= n
           && (groups = fm_pattern_captures(pattern, s, n, from, at, GROUPS)) > 0
           && at[0] >= from && at[0] != SIZE_MAX) {
        uint32_t cp;
        unsigned len;
        fm_out_bytes(out, s + from, at[0] - from);
        put_groups(edit, s, at, groups, out);
        from = at[1];
        if (at[1] > at[0])
            continue;
        if (from == n)
            return;
        len = fm_utf8_next(s + from, n - from, &cp);
        len = len == 0 ? 1 : len;
        fm_out_bytes(out, s + from, len);
        from += len;
    }
    if (from < n)
        fm_out_bytes(out, s + from, n - from);
}

static bool by_match(const struct fm_edit *edit)
{
    const struct fm_pred *p = edit->p;

    return p->op == FM_PRED_TEST && p->operand->id == FM_ATTR_FUNCTION
           && p->test.kind == FM_TEST_TEXT
           && fm_pattern_form(p->test.pattern) == FM_PATTERN_REGEX;
}

static bool rename_row(struct fm_restack *b, uint32_t f, struct fm_out *out)
{
    struct fm_store *store = b->v->store;
    struct fm_frame_row row = *fm_view_frame(b->v, f);
    fm_str label = b->v->label[f], to;
    size_t n;
    const char *s = fm_store_str(store, label, &n);

    out->n = 0;
    if (b->match[f]) {
        if (by_match(b->edit))
            replace_matches(b->edit, s, n, out);
        else
            replace_whole(b->edit, s, n, out);
    }
    if (out->n > 0) {
        to = out->status != FM_OK ? FM_NONE : fm_store_str_add(store, out->buf, out->n);
        if (to == FM_NONE)
            return false;
        if (to != label) {
            row.raw = row.raw != 0 ? row.raw : row.function;
            row.function = to;
            row.signature = 0;
            if (row.kind == FM_FRAME_JS)
                forget_place(&row);
        }
    }
    return fm_restack_row(b, &row) == f && out->status == FM_OK;
}

bool fm_edit_rename(struct fm_restack *b)
{
    const struct fm_tree_node *node = b->v->node;
    struct fm_out out;
    bool ok = true;

    if (fm_out_init(&out, b->mem, NULL) != FM_OK)
        return false;
    for (size_t f = 0; f < b->v->frames && ok; f++)
        ok = rename_row(b, (uint32_t)f, &out);
    fm_out_release(&out);
    for (size_t n = 1; n < b->v->nodes && ok; n++)
        b->to[n] = fm_restack_child(b, b->to[node[n].parent], node[n].frame);
    return ok;
}
