/*
 * time.c - `time:`, a window of rows.
 *
 *     time: 1.5s..2s            time: {range: 10%..20%, origin: start|end|epoch, clip: true}
 *
 * Ranges are told in filter.c. A row is kept when its time lies in the window, a span when it
 * overlaps it; with `clip` spans are cut at its borders (clip.c).
 */
#include "query/plan.h"

#include "util/error.h"

struct time_step {
    struct fm_range *range;
    bool clip;
};

/* true|false of `clip`; what has no duration cannot be cut. */
static bool compile_clip(struct fm_pipe *pipe, const struct fm_yaml_pair *pair, bool *clip)
{
    struct fm_compile *c = &pipe->c;
    struct fm_scalar s = { .n = 0 };

    if (pair->value->type == FM_YAML_SCALAR
        && !fm_scalar_get(c->q, c->arena, c->log, pair->value, &s))
        return false;
    *clip = s.n == 4 && memcmp(s.text, "true", 4) == 0;
    if (!*clip && !s.unknown && !(s.n == 5 && memcmp(s.text, "false", 5) == 0)) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), pair->value, "'clip' is true or false");
        return false;
    }
    if (*clip && c->from != FM_FROM_SPANS && c->from != FM_FROM_OFFCPU && c->from != FM_FROM_RUNQ) {
        fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_PLACE), pair,
                          "'clip' cuts spans: it needs from: spans, offcpu or runq");
        return false;
    }
    return true;
}

void *fm_time_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    static const char *const known[] = { "range", "origin", "clip" };
    struct fm_compile *c = &pipe->c;
    const struct fm_yaml_node *node = step->at->value;
    struct time_step *t = fm_arena_alloc(c->arena, sizeof *t);
    const struct fm_yaml_pair *clip = NULL;
    struct fm_scalar s, origin = { .text = NULL };

    (void)schema;
    if (t == NULL)
        return NULL;
    if (node->type == FM_YAML_MAP) {
        const struct fm_yaml_node *from = fm_yaml_get(node, "origin");
        if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
            return NULL;
        clip = fm_yaml_find(node, "clip");
        if (from != NULL && (from->type != FM_YAML_SCALAR
                             || !fm_scalar_get(c->q, c->arena, c->log, from, &origin)))
            origin.text = "";
        if (origin.text != NULL && !origin.unknown && strcmp(origin.text, "start") != 0
            && strcmp(origin.text, "end") != 0 && strcmp(origin.text, "epoch") != 0) {
            fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), from,
                          "'origin' is start, end or epoch");
            return NULL;
        }
        node = fm_yaml_get(node, "range");
    }
    if (node == NULL || node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), step->at->value,
                      "'time' takes {range: A..B, origin: start|end|epoch, clip: true}");
        return NULL;
    }
    if ((clip != NULL && !compile_clip(pipe, clip, &t->clip))
        || !fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return NULL;
    t->range = fm_range_compile(c, &s, origin.text);
    return t->range == NULL ? NULL : t;
}

enum fm_status fm_time_run(struct fm_flow *flow, const struct fm_step *step, struct fm_error *err)
{
    const struct time_step *t = step->object;
    int64_t from, to;
    enum fm_status status = fm_range_run(flow->c, t->range, &flow->sel, &flow->view, &from, &to,
                                         err);

    if (status == FM_OK && t->clip)
        status = fm_clip_make(&flow->view, from, to, err);
    flow->totals.known = false;
    flow->window.from = FM_MAX(flow->window.from, from);
    flow->window.to = FM_MIN(flow->window.to, to);
    return status != FM_OK ? status : fm_flow_empty(flow, step, err);
}
