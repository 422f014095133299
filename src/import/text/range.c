/*
 * range.c - lines that begin and end ranges, for container `text`: `do: open` and `do: close`.
 *
 *     open   frame        1000             range  frame    stack frame         self 111000
 *     open     draw       2500      -->    range  draw     stack frame;draw     self 40000
 *     close    draw      42500 count=36
 *     close  frame      152000                 a record each, when its range closes
 *
 * A range is named by field `range` and lies in a lane, field `lane`, if the format has one: an end
 * closes the youngest open range of its name and lane. The record has the fields of both lines,
 * those of the end over those of the beginning; `stack`, the ranges of the lane that were open when
 * it began, and itself; and `self`, its time without that of ranges that closed inside. Field `at`,
 * if the format has one, is the time of either line.
 *
 * At most DEPTH ranges are open: the oldest gives way, as one that never ended, so that a file
 * which lost its ends costs no more than another.
 */
#include "import/text/generic.h"

#include "util/error.h"

#define DEPTH 256

struct open {
    uint64_t offset;                   /* of the line that began it */
    int64_t children;                  /* ns of the ranges that closed inside */
    fm_frame frame;
    const char *class;
};

struct fm_ranges {
    struct fm_generic *g;
    struct fm_range_fields at;
    size_t words, row;                 /* of a presence map; of the fields of one range with it */
    size_t n;
    struct open open[DEPTH];
    uint64_t value[];                  /* DEPTH rows: values, presence */
};

struct fm_ranges *fm_ranges_new(struct fm_generic *g)
{
    size_t words = (g->fields + 63) / 64, row = g->fields + words;
    struct fm_ranges *r =
        fm_arena_alloc(&g->arena, sizeof *r + DEPTH * row * sizeof *r->value);
    if (!r)
        return NULL;
    r->g = g;
    r->at = g->c->range;
    r->words = words;
    r->row = row;
    r->n = 0;
    return r;
}

static uint64_t *row(struct fm_ranges *r, size_t i)
{
    return r->value + i * r->row;
}

static bool has(const uint64_t *present, uint32_t field)
{
    return present[field >> 6] >> (field & 63) & 1;
}

/* Whether range i lies in the lane of the record that is being read. */
static bool same_lane(struct fm_ranges *r, size_t i)
{
    const struct fm_generic *g = r->g;
    uint32_t lane = r->at.lane;
    if (lane == UINT32_MAX)
        return true;
    bool theirs = has(row(r, i) + g->fields, lane), ours = has(g->present, lane);
    return theirs == ours && (!ours || row(r, i)[lane] == g->value[lane]);
}

static void take_out(struct fm_ranges *r, size_t i)
{
    size_t after = r->n - i - 1;
    memmove(&r->open[i], &r->open[i + 1], after * sizeof *r->open);
    memmove(row(r, i), row(r, i + 1), after * r->row * sizeof *r->value);
    r->n--;
}

/* The stack field of the record: the open ranges of its lane, and itself. */
static void set_stack(struct fm_ranges *r, fm_frame self)
{
    fm_frame frame[DEPTH + 1];
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (same_lane(r, i))
            frame[n++] = r->open[i].frame;
    frame[n++] = self;
    fm_generic_lane(r->g, r->at.stack, fm_builder_stack(r->g->builder, frame, n));
}

/* Field `at` is the start of a line that opens, the end of one that closes. */
static void take_at(struct fm_ranges *r, uint32_t field)
{
    struct fm_generic *g = r->g;
    if (r->at.at != UINT32_MAX && has(g->present, r->at.at))
        fm_generic_lane(g, field, g->value[r->at.at]);
}

void fm_range_open(struct fm_ranges *r, const char *class, enum fm_frame_kind kind,
                   uint64_t offset)
{
    struct fm_generic *g = r->g;
    take_at(r, r->at.start);
    if (!has(g->present, r->at.name) || !has(g->present, r->at.start)) {
        fm_builder_diag(g->builder, FM_DIAG_BAD_LINE, offset, 1);
        return;
    }
    if (r->n == DEPTH) {
        fm_builder_diag(g->builder, FM_DIAG_RANGE_OPEN, r->open[0].offset, 1);
        take_out(r, 0);
    }
    struct fm_frame_row f = {.function = (fm_str)g->value[r->at.name], .module = FM_NONE,
                             .address = UINT64_MAX, .kind = (uint8_t)kind};
    fm_frame self = fm_builder_frame(g->builder, &f);
    set_stack(r, self);
    r->open[r->n] = (struct open){offset, 0, self, class};
    memcpy(row(r, r->n), g->value, g->fields * sizeof *g->value);
    memcpy(row(r, r->n) + g->fields, g->present, r->words * sizeof *g->present);
    r->n++;
}

/* The fields of range i that the record does not have itself; its stack in any case. */
static void take_over(struct fm_ranges *r, size_t i)
{
    struct fm_generic *g = r->g;
    const uint64_t *value = row(r, i), *present = value + g->fields;
    for (uint32_t f = 0; f < g->fields; f++)
        if (has(present, f) && (f == r->at.stack || !has(g->present, f)))
            fm_generic_lane(g, f, value[f]);
}

/* The youngest range of the record's name and lane, or r->n. */
static size_t find(struct fm_ranges *r)
{
    uint32_t name = r->at.name;
    for (size_t i = r->n; i-- > 0;)
        if (row(r, i)[name] == r->g->value[name] && same_lane(r, i))
            return i;
    return r->n;
}

void fm_range_close(struct fm_ranges *r, uint64_t offset)
{
    struct fm_generic *g = r->g;
    size_t i = has(g->present, r->at.name) ? find(r) : r->n;
    int64_t dur;
    take_at(r, r->at.end);
    if (i == r->n) {
        fm_builder_diag(g->builder, FM_DIAG_RANGE_ALONE, offset, 1);
        return;
    }
    struct open was = r->open[i];
    take_over(r, i);
    take_out(r, i);
    if (!has(g->present, r->at.end) ||
        __builtin_sub_overflow((int64_t)g->value[r->at.end], (int64_t)g->value[r->at.start],
                               &dur) ||
        dur < 0) {
        fm_builder_diag(g->builder, FM_DIAG_VALUE_RANGE, offset, 1);
        return;
    }
    for (size_t k = i; k-- > 0;) {     /* those after i began inside of it */
        if (!same_lane(r, k))
            continue;
        if (__builtin_add_overflow(r->open[k].children, dur, &r->open[k].children))
            r->open[k].children = INT64_MAX;
        break;
    }
    fm_generic_lane(g, r->at.self, (uint64_t)(was.children < dur ? dur - was.children : 0));
    fm_generic_emit(g, was.class, was.offset);
}

void fm_ranges_end(struct fm_ranges *r)
{
    for (size_t i = 0; i < r->n; i++)
        fm_builder_diag(r->g->builder, FM_DIAG_RANGE_OPEN, r->open[i].offset, 1);
    r->n = 0;
}
