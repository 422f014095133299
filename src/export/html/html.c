/*
 * html.c - the profile as one HTML page that needs nothing else.
 *
 * html.h draws the file. The page's script and style (the files of page/, ours) are constants of
 * the program, put together at build; the policy in the head names them by their SHA-256, so that
 * a browser runs nothing else, whatever a name in the profile says, and fetches nothing:
 *
 *     default-src 'none'; script-src 'sha256-...'; style-src 'sha256-...'; ...
 *
 * Names are data all the way: escaped in their blocks (names.c), and put on the page as text nodes
 * and canvas text only.
 */
#include "export/html/html.h"
#include "export/flame_extra.h"
#include "export/palette.h"

#include "util/error.h"
#include "util/sha256.h"
#include "util/text.h"

static const char script[] =
#include "export/html/page_js.inc"
    ;
static const char style[] =
#include "export/html/page_css.inc"
    ;

static const char *const views[] = {"flame", "icicle", "top", "tree", "sandwich",
                                    "scope"};
static const char *const orders[] = {"name", "weight"};
static const char *const themes[] = {"light", "dark"};

static const struct fm_export_setting settings[] = {
    {"view", "NAME", "what the page opens with: flame icicle top tree sandwich scope (flame)"},
    {"order", "name|weight", "order of the frames of a caller (name)"},
    {"theme", "light|dark", "colours of the page (as the viewer's system)"},
    {"colors", "NAME|FILE.yaml", "a palette or rules, as of svg (by kind, module or name)"},
    {"scope", "yes|no", "the flame scope: samples over time (yes, up to 10 million rows)"},
    {"hash", "yes|no", "colours of the palette by the first letters of names (no)"},
    {"countname", "TEXT", "the word for the weight (its unit)"},
    {NULL, NULL, NULL},
};

static enum fm_status choose_word(const struct fm_export *export, const char *key,
                                  const char *const *word, size_t n, struct fm_error *err)
{
    const char *value = fm_export_setting(export, key), *near;
    size_t i;
    for (i = 0; value != NULL && i < n && strcmp(value, word[i]) != 0; i++)
        ;
    if (value == NULL || i < n)
        return FM_OK;
    near = fm_text_nearest(value, word, n);
    return fm_error_set(err, FM_CONFIG, "setting %s: there is no '%s'%s%s%s", key, value,
                        near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static enum fm_status choose_colors(struct fm_html *h, struct fm_error *err)
{
    const char *name = fm_export_setting(h->export, "colors");
    const char *known[32], *near;
    size_t n = 0, length = name != NULL ? strlen(name) : 0;
    if (length > 5 && strcmp(name + length - 5, ".yaml") == 0) {
        enum fm_status status = fm_export_setting_file(
            "colors", name,
            fm_color_rules_read(h->export->ctx, &h->arena, name, &h->rules, err), err);
        if (status != FM_OK)
            return status;
        name = NULL;
    }
    h->palette = fm_palette_find(name != NULL ? name : "hot");
    if (h->palette >= 0)
        return fm_export_setting_bool(h->export, "hash", &h->hash, err);
    while (n < FM_COUNT(known) && fm_palette_name(n) != NULL) {
        known[n] = fm_palette_name(n);
        n++;
    }
    near = fm_text_nearest(name, known, n);
    return fm_error_set(err, FM_CONFIG, "setting colors: no palette '%s'%s%s%s", name,
                        near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static enum fm_status choose(struct fm_html *h, struct fm_error *err)
{
    const struct fm_selection *sel = h->export->sel;
    enum fm_status status = choose_word(h->export, "view", views, FM_COUNT(views), err);
    if (status == FM_OK)
        status = choose_word(h->export, "order", orders, FM_COUNT(orders), err);
    if (status == FM_OK)
        status = choose_word(h->export, "theme", themes, FM_COUNT(themes), err);
    if (status == FM_OK)
        status = choose_colors(h, err);
    h->with_scope = true;
    h->scope_asked = fm_export_setting(h->export, "scope") != NULL;
    if (status == FM_OK)
        status = fm_export_setting_bool(h->export, "scope", &h->with_scope, err);
    h->unit = fm_export_setting(h->export, "countname");
    if (h->unit == NULL)
        h->unit = fm_store_str(sel->store, sel->unit, NULL);
    return status;
}

/* --------------------------------------------------------------- document */

static void put_hash(struct fm_out *out, const char *text, size_t n)
{
    uint8_t hash[FM_SHA256_BYTES];
    char base64[FM_SHA256_BASE64];
    fm_sha256(text, n, hash);
    fm_base64(hash, sizeof hash, base64);
    fm_out_text(out, "'sha256-");
    fm_out_text(out, base64);
    fm_out_char(out, '\'');
}

static void put_head(struct fm_html *h)
{
    struct fm_out *out = h->out;
    fm_out_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "script-src ");
    put_hash(out, script, sizeof script - 1);
    fm_out_text(out, "; style-src ");
    put_hash(out, style, sizeof style - 1);
    fm_out_text(out, "; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n"
                     "<meta name=\"generator\" content=\"foldmill " PACKAGE_VERSION "\">\n"
                     "<title>");
    fm_out_xml(out, h->export->title, strlen(h->export->title));
    fm_out_text(out, "</title>\n<style>");
    fm_out_bytes(out, style, sizeof style - 1);
    fm_out_text(out, "</style>\n</head>\n<body>\n");
}

static void open_block(struct fm_html *h, const char *id)
{
    fm_out_text(h->out, "<script type=\"text/plain\" id=\"");
    fm_out_text(h->out, id);
    fm_out_text(h->out, "\">");
}

static void close_block(struct fm_html *h)
{
    fm_out_text(h->out, "</script>\n");
}

static enum fm_status put_blocks(struct fm_html *h, struct fm_error *err)
{
    enum fm_status status;
    open_block(h, "fm-nodes");
    fm_html_write_nodes(h);
    close_block(h);
    if (h->tree->base != NULL) {
        open_block(h, "fm-base");
        fm_html_write_base(h);
        close_block(h);
    }
    open_block(h, "fm-names");
    status = fm_html_write_names(h, err);
    close_block(h);
    if (status != FM_OK)
        return status;
    if (h->with_scope) {
        open_block(h, "fm-scope");
        status = fm_html_write_scope(h, h->scope_asked, err);
        close_block(h);
        if (status != FM_OK)
            return status;
    }
    open_block(h, "fm-meta");
    status = fm_html_write_meta(h, err);
    close_block(h);
    return status;
}

static enum fm_status write_html(struct fm_export *export, struct fm_error *err)
{
    struct fm_html h = {.export = export, .out = export->out, .tree = export->tree,
                        .mem = &export->ctx->mem};
    enum fm_status status;
    fm_arena_init(&h.arena, h.mem);
    fm_map_init(&h.file.of, h.mem);
    fm_map_init(&h.module.of, h.mem);
    status = choose(&h, err);
    if (status == FM_OK)
        status = fm_html_number_names(&h, err);
    if (status != FM_OK)
        goto out;
    fm_html_find_scale(&h);
    put_head(&h);
    status = fm_html_write_plain(&h, err);
    if (status != FM_OK)
        goto out;
    status = put_blocks(&h, err);
    if (status != FM_OK)
        goto out;
    fm_out_text(h.out, "<script>");
    fm_out_bytes(h.out, script, sizeof script - 1);
    fm_out_text(h.out, "</script>\n</body>\n</html>\n");
out:
    fm_html_release_scope(&h);
    fm_html_release_names(&h);
    fm_color_rules_release(h.rules);
    fm_arena_release(&h.arena);
    return status;
}

const struct fm_exporter fm_exporter_html = {
    .name = "html",
    .summary = "one page: flame graph, functions, tree, callers and callees",
    .extension = ".html,.htm",
    .shape = FM_SHAPE_TREE,
    .setting = settings,
    .kinds = true,
    .pair = FM_PAIR_ALWAYS,
    .write = write_html,
};
