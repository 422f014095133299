/*
 * inline.c - what DWARF says of a module's addresses, written into the frames.
 *
 *     frame F at an address ── debug.c ──> F at F.c:12 (kept: the symbol's name)
 *                                          G at G.h:3  ┐ new frames of F's address and module,
 *                                          H at H.h:9  ┘ inlined: an expansion of F
 *
 * The tree is rewritten once, when all modules are done (store/inline.c). The function that holds
 * the address keeps the name that its symbol gave it.
 */
#include "symbol/inline.h"

#include "symbol/debug.h"
#include "symbol/demangle.h"
#include "util/error.h"

void fm_inliner_init(struct fm_inliner *in, struct fm_ctx *ctx, struct fm_store *store,
                     const struct fm_symbol_options *options, struct fm_out *text)
{
    memset(in, 0, sizeof *in);
    in->ctx = ctx;
    in->store = store;
    in->options = options;
    in->text = text;
    fm_map_init(&in->names, &ctx->mem);
}

void fm_inliner_release(struct fm_inliner *in)
{
    if (in->ctx == NULL)
        return;
    fm_map_release(&in->names);
    fm_mem_free(&in->ctx->mem, in->expansion, in->expansion_cap * sizeof *in->expansion);
}

bool fm_name_strings(struct fm_store *store, struct fm_out *text, const char *name, size_t n,
                     bool mangled, enum fm_demangle style, fm_str *function, fm_str *raw)
{
    *raw = 0;
    text->n = 0;
    if (mangled && fm_demangle(text, name, n, style)) {
        *function = fm_store_str_add(store, text->buf, text->n);
        *raw = fm_store_str_add(store, name, n);
    } else {
        *function = fm_store_str_add(store, name, n);
    }
    return *function != FM_NONE && *raw != FM_NONE && text->status == FM_OK;
}

/* The name of a place. Places share the texts of names: each is made once a module. */
static bool place_name(struct fm_inliner *in, const struct fm_place *place, fm_str *function,
                       fm_str *raw)
{
    uint64_t key = 0, *value;
    bool fresh;

    *function = *raw = 0;
    if (place->name == NULL)
        return true;
    memcpy(&key, &place->name, sizeof place->name);
    value = fm_map_put(&in->names, key, &fresh);
    if (value == NULL)
        return false;
    if (fresh) {
        if (!fm_name_strings(in->store, in->text, place->name, place->name_n, place->linkage,
                             in->options->demangle, function, raw))
            return false;
        *value = (uint64_t)*raw << 32 | *function;
    }
    *function = (fm_str)*value;
    *raw = (fm_str)(*value >> 32);
    return true;
}

static bool set_line(struct fm_inliner *in, struct fm_frame_row *row, const struct fm_place *place)
{
    if (!in->options->lines || row->line != 0)
        return true;
    if (place->file != NULL) {
        row->file = fm_store_str_add(in->store, place->file, strlen(place->file));
        if (row->file == FM_NONE)
            return false;
    }
    row->line = place->line;
    row->column = place->column;
    return true;
}

/* The frame itself. */
static bool fill_frame(struct fm_inliner *in, fm_frame frame, const struct fm_place *place)
{
    struct fm_frame_row row = *fm_store_frame_row(in->store, frame);

    if (row.function == 0 && !place_name(in, place, &row.function, &row.raw))
        return false;
    if (!set_line(in, &row, place))
        return false;
    *fm_store_frame_edit(in->store, frame) = row;
    return true;
}

/* What was inlined into it, outermost first. */
static bool add_inlined(struct fm_inliner *in, fm_frame frame, const struct fm_place *place,
                        uint32_t n)
{
    struct fm_expansion expansion = { .frame = frame, .n = 0 };

    for (uint32_t i = 0; i < n; i++) {
        struct fm_frame_row row = *fm_store_frame_row(in->store, frame);
        fm_frame added;
        row.kind = FM_FRAME_INLINED;
        row.inlined = true;
        row.file = 0;
        row.line = row.column = 0;
        if (place[i].name == NULL)
            continue;
        if (!place_name(in, &place[i], &row.function, &row.raw) || !set_line(in, &row, &place[i]))
            return false;
        added = fm_store_frame_add(in->store, &row);
        if (added == FM_NONE)
            return false;
        if (expansion.n++ == 0)
            expansion.first = added;
    }
    if (expansion.n == 0)
        return true;
    if (!fm_grow(&in->ctx->mem, (void **)&in->expansion, &in->expansion_cap, in->expansions + 1,
                 sizeof *in->expansion))
        return false;
    in->expansion[in->expansions++] = expansion;
    return true;
}

static bool take_answers(struct fm_inliner *in, const struct fm_debug *debug,
                         const struct fm_point *point, size_t n)
{
    fm_map_clear(&in->names);
    for (size_t i = 0; i < n; i++) {
        const struct fm_answer *answer = &debug->answer[i];
        const struct fm_place *place;
        if (answer->n == 0)
            continue;
        place = &debug->place[answer->first];
        if (!fill_frame(in, point[i].user, place))
            return false;
        if (in->options->inlines && !add_inlined(in, point[i].user, place + 1, answer->n - 1))
            return false;
    }
    return true;
}

enum fm_status fm_inliner_module(struct fm_inliner *in, struct fm_find *find,
                                 struct fm_point *point, size_t n, uint64_t shift)
{
    struct fm_debug debug;
    enum fm_status status;

    if (find->debug == NULL || n == 0 || (!in->options->lines && !in->options->inlines))
        return FM_OK;
    for (size_t i = 0; i < n; i++)
        point[i].address -= shift;
    status = fm_points_sort(&in->ctx->mem, point, n);
    if (status != FM_OK)
        return status;
    status = fm_debug_find(&debug, in->ctx, find->debug, find, point, n);
    if (status == FM_OK && debug.answer != NULL && !take_answers(in, &debug, point, n))
        status = FM_NOMEM;
    if (status == FM_OK && debug.broken) {
        fm_find_note(find, find->debug_path, "its debug data is damaged or too much work");
        find->broken = true;
    }
    if (status == FM_OK && debug.missing > 0)
        fm_out_printf(&find->looked, "\n%s: split debug data (.dwo) of %u units not found%s",
                      find->debug_path, debug.missing,
                      debug.package ? "; packages (.dwp) are not read" : "");
    fm_debug_release(&debug);
    return status;
}

enum fm_status fm_inliner_finish(struct fm_inliner *in)
{
    return fm_store_expand(in->store, in->expansion, in->expansions) ? FM_OK : FM_NOMEM;
}
