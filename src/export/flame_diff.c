/*
 * flame_diff.c - two profiles as boxes: how wide, and of which colour.
 *
 *     widths=after    the new profile's tree; what vanished has no width
 *     widths=before   the base's tree; what is new has no width
 *     elided          what vanished, as wide as it was, on its callers
 *
 * A box is coloured by new - base * scaling, of its own weight or of all above it, against the
 * greatest of all: with f = |d| / greatest,
 *
 *     more   rgb(255, c, c)    less   rgb(c, c, 255)     c = 210 * (1 - f), white when d = 0
 *
 * which are flamegraph.pl's. For eyes that do not tell red from other colours: from white to
 * rgb(230, 97, 1) and to rgb(5, 113, 176). Boxes of one side only have a dashed border.
 */
#include "export/flame.h"

#include "util/error.h"

enum source { AFTER, BEFORE, ELIDED };

struct differ {
    struct fm_flame *f;
    const struct fm_calltree *tree;
    enum source source;
    bool by_total;
    fm_u128 *gone;               /* ELIDED: by node, what vanished in it and above */
};

static fm_u128 total_of(const struct differ *d, uint32_t i)
{
    return d->source == AFTER    ? d->tree->node[i].total
           : d->source == BEFORE ? d->tree->base[i].total
                                 : d->gone[i];
}

/* Whether the node is not in the new profile. */
static bool vanished(const struct differ *d, uint32_t i)
{
    return d->tree->node[i].total == 0 && d->tree->base[i].total > 0;
}

static fm_u128 self_of(const struct differ *d, uint32_t i)
{
    if (d->source == AFTER)
        return d->tree->node[i].self;
    return d->source == BEFORE || vanished(d, i) ? d->tree->base[i].self : 0;
}

static void sum_gone(struct differ *d)
{
    for (size_t i = 0; i < d->tree->nodes; i++)
        d->gone[i] = self_of(d, (uint32_t)i);
    for (size_t i = d->tree->nodes; i-- > 1;)
        d->gone[d->tree->node[i].parent] += d->gone[i];
}

static double change(const struct differ *d, uint32_t i, bool total)
{
    const struct fm_call_node *node = &d->tree->node[i];
    const struct fm_call_base *base = &d->tree->base[i];
    double new = (double)(total ? node->total : node->self);
    double old = (double)(total ? base->total : base->self) * d->tree->scaling.by;
    double v = new - old;
    return (v < 0 ? -v : v) <= 1e-12 * (new + old) ? 0 : v; /* what scaling rounds is no change */
}

static void find_most(struct differ *d)
{
    for (uint32_t i = d->by_total ? 1 : 0; i < d->tree->nodes; i++) {
        double v = change(d, i, d->by_total);
        d->f->most = FM_MAX(d->f->most, v < 0 ? -v : v);
    }
}

static struct fm_flame_box box_of(const struct differ *d, uint32_t i, fm_u128 start)
{
    const struct fm_call_node *node = &d->tree->node[i];
    struct fm_flame_box box = {.start = (double)start, .row = node->depth, .label = node->label};
    box.weight = total_of(d, i);
    box.width = (double)box.weight;
    box.before = d->tree->base[i].total;
    box.change = change(d, i, true);
    box.delta = d->by_total ? box.change : change(d, i, false);
    if (d->source == ELIDED && !vanished(d, i))
        box.delta = 0;
    if (i > 0 && vanished(d, i))
        box.side = FM_FLAME_GONE;
    else if (i > 0 && d->tree->base[i].total == 0)
        box.side = FM_FLAME_NEW;
    if (i == 0) {
        box.label = FM_NONE;
        box.width = d->f->total;
    }
    return box;
}

/* As in add_boxes() of flamegraph.c. */
static uint32_t add_boxes(struct differ *d, fm_u128 *next)
{
    uint32_t i = 0, rows = 1;
    next[0] = 0;
    while (i < d->tree->nodes) {
        uint32_t depth = d->tree->node[i].depth;
        fm_u128 start = next[depth], total = total_of(d, i);
        struct fm_flame_box box;
        next[depth] = start + total;
        if (i > 0 && ((double)total < d->f->least || total == 0)) {
            d->f->left_out = d->f->left_out || total > 0;
            i = d->tree->node[i].end;
            continue;
        }
        box = box_of(d, i, start);
        if (!fm_flame_add(d->f, &box))
            return 0;
        rows = FM_MAX(rows, depth + 1);
        next[depth + 1] = start + self_of(d, i);
        i++;
    }
    return rows;
}

/* "base 38 samples, scaled by 1.342105; new 51 samples": both sums stand in the picture. */
static void put_note(struct differ *d)
{
    struct fm_flame *f = d->f;
    const char *unit = f->unit;
    struct fm_out out;
    size_t n;
    if (f->subtitle != NULL || fm_out_init(&out, &f->export->ctx->mem, NULL) != FM_OK)
        return;
    fm_out_text(&out, "base ");
    fm_out_u128(&out, d->tree->base[0].total);
    fm_out_char(&out, ' ');
    fm_out_text(&out, unit);
    if (d->tree->scaling.by != 1) {
        fm_out_text(&out, ", scaled by ");
        fm_out_fixed(&out, d->tree->scaling.by, 6);
    }
    fm_out_text(&out, "; new ");
    fm_out_u128(&out, d->tree->node[0].total);
    fm_out_char(&out, ' ');
    fm_out_text(&out, unit);
    n = FM_MIN(out.n, sizeof f->note - 1);
    if (out.status == FM_OK) {
        memcpy(f->note, out.buf, n);
        f->note[n] = '\0';
        f->subtitle = f->note;
    }
    fm_out_release(&out);
}

static enum fm_status choose(struct differ *d, struct fm_error *err)
{
    const struct fm_export *export = d->f->export;
    const char *delta = fm_export_setting(export, "delta");
    const char *widths = fm_export_setting(export, "widths");
    bool elided = false;
    d->by_total = delta != NULL && strcmp(delta, "total") == 0;
    if (delta != NULL && !d->by_total && strcmp(delta, "self") != 0)
        return fm_error_set(err, FM_CONFIG, "setting delta: '%s' is neither self nor total", delta);
    if (widths != NULL && strcmp(widths, "before") == 0)
        d->source = BEFORE;
    else if (widths != NULL && strcmp(widths, "after") != 0)
        return fm_error_set(err, FM_CONFIG, "setting widths: '%s' is neither after nor before",
                            widths);
    if (fm_export_setting_bool(export, "elided", &elided, err) != FM_OK)
        return FM_CONFIG;
    if (elided)
        d->source = ELIDED;
    return FM_OK;
}

/* What the whole width is, and what changes are shares of. */
static enum fm_status measure(struct differ *d, struct fm_error *err)
{
    struct fm_flame *f = d->f;
    double asked = 0;
    enum fm_status status = fm_export_setting_f64(f->export, "total", 0, 1e30, &asked, err);
    f->whole = total_of(d, 0);
    f->total = (double)f->whole;
    if (asked > f->total) {
        f->total = asked;
        f->whole = (fm_u128)asked;
    }
    f->delta_whole = d->tree->node[0].total > 0
                         ? (double)d->tree->node[0].total
                         : (double)d->tree->base[0].total * d->tree->scaling.by;
    if (d->source == ELIDED)
        f->nothing = "Nothing vanished";
    return status == FM_OK ? fm_flame_scale(f, err) : status;
}

enum fm_status fm_flame_diff(struct fm_flame *f, struct fm_error *err)
{
    struct differ d = {.f = f, .tree = f->export->tree};
    struct fm_mem *mem = &f->export->ctx->mem;
    size_t depths = (size_t)d.tree->depth + 2;
    fm_u128 *next = fm_mem_alloc(mem, depths * sizeof *next);
    enum fm_status status = choose(&d, err);
    uint32_t rows = 1;
    fm_assert(d.tree->base != NULL);
    if (status == FM_OK && d.source == ELIDED) {
        d.gone = fm_mem_alloc(mem, d.tree->nodes * sizeof *d.gone);
        if (d.gone != NULL)
            sum_gone(&d);
        else
            status = fm_error_nomem(err);
    }
    if (status == FM_OK)
        status = measure(&d, err);
    if (status == FM_OK) {
        find_most(&d);
        put_note(&d);
        if (next != NULL && f->total > 0)
            rows = add_boxes(&d, next);
        if (next == NULL || rows == 0 || !fm_flame_add_lane(f, FM_NONE, rows))
            status = fm_error_nomem(err);
    }
    fm_mem_free(mem, d.gone, d.tree->nodes * sizeof *d.gone);
    fm_mem_free(mem, next, depths * sizeof *next);
    return status;
}

void fm_flame_delta_color(const struct fm_flame *f, const struct fm_flame_box *box,
                          unsigned rgb[3])
{
    static const unsigned more[] = {230, 97, 1}, less[] = {5, 113, 176};
    double d = f->negate ? -box->delta : box->delta, size = d < 0 ? -d : d;
    double share = f->most > 0 ? FM_MIN(size / f->most, 1.0) : 0;
    unsigned c = f->most > 0 ? (unsigned)(210 * (f->most - size) / f->most) : 0;
    rgb[0] = rgb[1] = rgb[2] = 255;
    if (share == 0)
        return;
    if (f->colorblind) {
        for (size_t i = 0; i < 3; i++)
            rgb[i] = (unsigned)(255 - share * (255 - (d > 0 ? more[i] : less[i])));
        return;
    }
    rgb[1] = c;
    rgb[d > 0 ? 2 : 0] = c;
}
