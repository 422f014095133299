/*
 * debug_walk.c - the DIEs of a unit, once in order: which function and which inlined calls hold
 * which points.
 *
 *     subprogram f            [10, 90)    points 20 and 50 are in f
 *       lexical_block                     looked through
 *         inlined g  (line 7) [15, 60)    … in g inlined into f at line 7
 *           inlined h         [40, 55)    … and 50 in h inlined into g
 *
 * Parents come before children, so the last one that takes a point is the innermost. Of several
 * functions around an address (folded or overlapping code) the one with the smaller range counts,
 * with its own inlined calls. A DIE becomes an entry only when it takes a point.
 */
#include "symbol/debug_inner.h"

#include <dwarf.h>

#define LEVELS_MAX 4096u

/* A DIE around the one in work that is a function or an inlined call. */
struct level {
    uint64_t die, call_file;
    uint32_t call_line, call_column;
    uint32_t outer;              /* the level that it was inlined into, or FM_NO_ENTRY */
    uint32_t entry;              /* FM_NO_ENTRY: none yet */
};

struct walk {
    struct fm_look *look;
    const struct fm_dwarf_cu *cu;
    struct level *level;         /* a stack: functions and inlined calls only */
    size_t levels, level_cap;
    uint32_t *inner;             /* by depth of nesting: its level, or that of its parent */
    size_t depth, depth_cap;
};

/* -------------------------------------------------------------- the taking */

/* The entry of a level; made, with those around it, when there is none. */
static uint32_t entry_of(struct walk *w, uint32_t at)
{
    struct fm_look *look = w->look;
    uint32_t chain[64], n = 0, made;

    /* The outermost first. Only a broken file has that many levels without an entry. */
    for (; at != FM_NO_ENTRY && w->level[at].entry == FM_NO_ENTRY; at = w->level[at].outer) {
        if (n == FM_COUNT(chain))
            return FM_NO_ENTRY;
        chain[n++] = at;
    }
    made = at != FM_NO_ENTRY ? w->level[at].entry : FM_NO_ENTRY;
    while (n > 0) {
        struct level *level = &w->level[chain[--n]];
        struct fm_entry *entry;
        if (look->entries >= FM_NO_ENTRY - 1 ||
            !fm_grow(look->debug->arena.mem, (void **)&look->entry, &look->entry_cap,
                     look->entries + 1, sizeof *look->entry)) {
            look->oom = true;
            return FM_NO_ENTRY;
        }
        entry = &look->entry[look->entries];
        memset(entry, 0, sizeof *entry);
        entry->parent = made;
        entry->root = made != FM_NO_ENTRY ? look->entry[made].root : (uint32_t)look->entries;
        entry->depth = made != FM_NO_ENTRY ? look->entry[made].depth + 1 : 0;
        entry->unit = look->unit;
        entry->name = FM_NO_ENTRY;
        entry->die = level->die;
        entry->call_file = level->call_file;
        entry->call_line = level->call_line;
        entry->call_column = level->call_column;
        made = level->entry = (uint32_t)look->entries++;
    }
    return made;
}

static void take_point(struct walk *w, struct fm_spot *spot, uint64_t span)
{
    struct fm_look *look = w->look;
    const uint32_t at = (uint32_t)w->levels - 1;
    const uint32_t outer = w->level[at].outer;
    const bool inlined = outer != FM_NO_ENTRY, taken = spot->entry != FM_NO_ENTRY;
    uint32_t entry;

    if (!inlined && taken && span >= spot->span)
        return;
    if (inlined && taken && w->level[outer].entry != FM_NO_ENTRY &&
        look->entry[w->level[outer].entry].root != look->entry[spot->entry].root)
        return;
    entry = entry_of(w, at);
    if (entry == FM_NO_ENTRY)
        return;
    if (inlined && taken &&
        (look->entry[spot->entry].root != look->entry[entry].root ||
         look->entry[spot->entry].depth >= look->entry[entry].depth))
        return;
    if (!inlined || !taken)
        spot->span = span;
    spot->entry = entry;
}

static void take_range(void *user, uint64_t low, uint64_t high)
{
    struct walk *w = user;
    size_t first, n = fm_look_points(w->look, low, high, &first);

    if (n == 0 || !fm_dwarf_step(w->cu->file, n))
        return;
    for (size_t i = first; i < first + n && !w->look->oom; i++)
        take_point(w, &w->look->spot[i], high - low);
}

/* ---------------------------------------------------------------- the walk */

/* Reads a function or an inlined call. True: it became a level. */
static bool read_code(struct walk *w, struct fm_cursor *c, uint64_t die,
                      const struct fm_abbrev *abbrev, uint32_t outer)
{
    struct level level = { .die = die, .outer = outer, .entry = FM_NO_ENTRY };
    struct fm_dwarf_pcs pcs = { { 0 }, { 0 }, { 0 } };

    if (abbrev->tag != DW_TAG_inlined_subroutine)
        level.outer = FM_NO_ENTRY;
    for (uint32_t i = 0; i < abbrev->n && fm_cursor_ok(c); i++) {
        const struct fm_abbrev_attr *attr = &w->cu->abbrevs->attr[abbrev->first + i];
        struct fm_dwarf_value value;
        fm_dwarf_value(w->cu, c, attr, &value);
        if (fm_dwarf_pcs_take(&pcs, attr->name, &value))
            continue;
        if (attr->name == DW_AT_call_file)
            level.call_file = value.u;
        else if (attr->name == DW_AT_call_line)
            level.call_line = fm_dwarf_limit(value.u);
        else if (attr->name == DW_AT_call_column)
            level.call_column = fm_dwarf_limit(value.u);
    }
    if (!fm_grow(w->look->debug->arena.mem, (void **)&w->level, &w->level_cap, w->levels + 1,
                 sizeof *w->level)) {
        w->look->oom = true;
        return false;
    }
    w->level[w->levels++] = level;
    if (pcs.low.form != 0 || pcs.ranges.form != 0)
        fm_dwarf_ranges(w->cu, &pcs, take_range, w);
    return true;
}

/* One DIE. False: the unit is at its end. */
static bool read_die(struct walk *w, struct fm_cursor *c)
{
    const uint64_t die = fm_cursor_offset(c);
    const struct fm_abbrev *abbrev = fm_dwarf_die(w->cu, c);
    uint32_t inner = w->depth > 0 ? w->inner[w->depth - 1] : FM_NO_ENTRY;

    if (abbrev == NULL) {
        if (!fm_cursor_ok(c) || w->depth <= 1)
            return false;
        w->depth--;
        return true;
    }
    w->levels = inner != FM_NO_ENTRY ? inner + 1 : 0;
    if (abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine) {
        if (read_code(w, c, die, abbrev, inner))
            inner = (uint32_t)w->levels - 1;
    } else {
        fm_dwarf_skip(w->cu, c, abbrev);
    }
    if (!abbrev->children)
        return w->depth > 0;
    if (w->depth >= LEVELS_MAX) {
        c->bad = true;
        return false;
    }
    if (!fm_grow(w->look->debug->arena.mem, (void **)&w->inner, &w->depth_cap, w->depth + 1,
                 sizeof *w->inner)) {
        w->look->oom = true;
        return false;
    }
    w->inner[w->depth++] = inner;
    return true;
}

void fm_look_walk(struct fm_look *look, const struct fm_dwarf_cu *cu)
{
    struct fm_mem *mem = look->debug->arena.mem;
    struct fm_cursor c = fm_dwarf_cursor(cu->file, FM_DWARF_INFO, cu->unit->die, cu->unit->end);
    struct walk w = { .look = look, .cu = cu };

    while (fm_cursor_left(&c) > 0 && !look->oom && read_die(&w, &c) && fm_cursor_ok(&c))
        ;
    if (!fm_cursor_ok(&c))
        cu->file->broken = true;
    fm_mem_free(mem, w.level, w.level_cap * sizeof *w.level);
    fm_mem_free(mem, w.inner, w.depth_cap * sizeof *w.inner);
}
