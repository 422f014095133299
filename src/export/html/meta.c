/*
 * meta.c - what the HTML report tells beside its tree, as JSON with '<', '>' and '&' written as
 * \u003c, \u003e and \u0026:
 *
 *     title, version
 *     unit, event       of the weights
 *     weigh             what was asked for: "value", "samples" or a column
 *     scale             weights of the block of nodes are multiples of it
 *     total             the sum, as text: it may be more than a double holds
 *     samples, nodes, names, depth
 *     base              of a differential {title, total (text), samples, by}: weights of the base
 *                       are multiplied by `by` to be compared; null
 *     start, end        ns on the store's timeline, or null; wall: ns since 1970 of start, as text
 *     view, order, colors, theme    how the page opens; null: as the page thinks best
 *     kinds             names of the kinds of frames, by number
 *     modules, files    by number - 1
 *     events            [{name, unit, kind, samples, selected}]
 *     sources           [{name, format, clock, bytes, in, kept, about: [[key, value]],
 *                        account: [{kind, severity, key, text, count, offset}]}]
 */
#include "export/html/html.h"

#include "util/error.h"

static void put_str(struct fm_out *out, const char *s)
{
    if (s == NULL)
        fm_out_text(out, "null");
    else
        fm_out_json(out, s, strlen(s));
}

static void put_key(struct fm_out *out, const char *key)
{
    fm_out_text(out, ",\n");
    put_str(out, key);
    fm_out_char(out, ':');
}

static void put_table(struct fm_html *h, struct fm_out *out, const struct fm_html_table *table)
{
    size_t i, n;
    fm_out_char(out, '[');
    for (i = 0; i < table->n; i++) {
        const char *s = fm_store_str(h->export->sel->store, table->text[i], &n);
        if (i > 0)
            fm_out_text(out, ",\n");
        fm_out_json(out, s, n);
    }
    fm_out_char(out, ']');
}

static void put_events(struct fm_html *h, struct fm_out *out)
{
    const struct fm_selection *sel = h->export->sel;
    size_t i;
    fm_out_char(out, '[');
    for (i = 0; i < fm_store_events(sel->store); i++) {
        struct fm_event_info event;
        fm_store_event(sel->store, i, &event);
        fm_out_text(out, i > 0 ? ",\n{\"name\":" : "{\"name\":");
        put_str(out, event.name);
        fm_out_text(out, ",\"unit\":");
        put_str(out, event.unit);
        fm_out_text(out, ",\"kind\":");
        put_str(out, fm_kind_text(event.kind));
        fm_out_text(out, ",\"samples\":");
        fm_out_u64(out, event.samples);
        fm_out_text(out, sel->event[i] ? ",\"selected\":true}" : ",\"selected\":false}");
    }
    fm_out_char(out, ']');
}

static void put_account(struct fm_html *h, struct fm_out *out, size_t source)
{
    static const char *const kind[] = {
        [FM_ACCOUNT_RECORDS] = "records", [FM_ACCOUNT_NOT_MAPPED] = "not-mapped",
        [FM_ACCOUNT_DROPPED] = "dropped", [FM_ACCOUNT_FINDING] = "finding"};
    static const char *const severity[] = {
        [FM_NOTE] = "note", [FM_LOSS] = "loss", [FM_DAMAGE] = "damage"};
    const struct fm_store *store = h->export->sel->store;
    struct fm_account_info row;
    bool any = false;
    size_t i;
    fm_out_char(out, '[');
    for (i = 0; i < fm_store_accounts(store); i++) {
        fm_store_account(store, i, &row);
        if (row.source != source)
            continue;
        fm_out_text(out, any ? ",\n{\"kind\":" : "{\"kind\":");
        any = true;
        put_str(out, kind[row.kind]);
        fm_out_text(out, ",\"severity\":");
        put_str(out, row.kind == FM_ACCOUNT_FINDING ? severity[row.severity] : NULL);
        fm_out_text(out, ",\"key\":");
        put_str(out, row.key);
        fm_out_text(out, ",\"text\":");
        put_str(out, row.text);
        fm_out_text(out, ",\"count\":");
        fm_out_u64(out, row.count);
        if (row.first_offset != FM_NO_OFFSET) {
            fm_out_text(out, ",\"offset\":");
            fm_out_u64(out, row.first_offset);
        }
        fm_out_char(out, '}');
    }
    fm_out_char(out, ']');
}

static void put_sources(struct fm_html *h, struct fm_out *out)
{
    const struct fm_store *store = h->export->sel->store;
    const char *key, *value;
    size_t i, k;
    fm_out_char(out, '[');
    for (i = 0; i < fm_store_sources(store); i++) {
        struct fm_source_info source;
        fm_store_source(store, i, &source);
        fm_out_text(out, i > 0 ? ",\n{\"name\":" : "{\"name\":");
        put_str(out, source.name);
        put_key(out, "format");
        put_str(out, source.format);
        put_key(out, "clock");
        put_str(out, source.clock);
        put_key(out, "bytes");
        fm_out_u64(out, source.bytes);
        put_key(out, "in");
        fm_out_u64(out, source.samples_in);
        put_key(out, "kept");
        fm_out_u64(out, source.samples_kept);
        put_key(out, "about");
        fm_out_char(out, '[');
        for (k = 0; fm_store_provenance(store, i, k, &key, &value); k++) {
            fm_out_text(out, k > 0 ? ",[" : "[");
            put_str(out, key);
            fm_out_char(out, ',');
            put_str(out, value);
            fm_out_char(out, ']');
        }
        fm_out_char(out, ']');
        put_key(out, "account");
        put_account(h, out, i);
        fm_out_char(out, '}');
    }
    fm_out_char(out, ']');
}

static void put_times(struct fm_html *h, struct fm_out *out)
{
    const struct fm_store *store = h->export->sel->store;
    struct fm_source_info source;
    int64_t start, end;
    size_t i;
    if (!fm_store_start(store, &start, &end)) {
        fm_out_text(out, ",\n\"start\":null,\"end\":null");
        return;
    }
    put_key(out, "start");
    fm_out_i64(out, start);
    put_key(out, "end");
    fm_out_i64(out, end);
    for (i = 0; i < fm_store_sources(store); i++) {
        __int128 wall;
        fm_store_source(store, i, &source);
        if (!source.has_wall)
            continue;
        wall = (__int128)source.wall + start - fm_store_source_row(store, i)->shift -
               source.wall_at;
        if (wall < 0 || wall > INT64_MAX)
            continue;
        fm_out_text(out, ",\n\"wall\":\"");
        fm_out_i64(out, (int64_t)wall);
        fm_out_char(out, '"');
        return;
    }
}

/* "old.data" of the base's first source. */
static void put_base(struct fm_html *h, struct fm_out *out)
{
    const struct fm_selection *base = h->export->base;
    const char *name = NULL, *slash;
    put_key(out, "base");
    if (h->tree->base == NULL || h->tree->nodes == 0) {
        fm_out_text(out, "null");
        return;
    }
    if (base != NULL && fm_store_sources(base->store) > 0) {
        name = fm_store_str(base->store, fm_store_source_row(base->store, 0)->name, NULL);
        slash = strrchr(name, '/');
        name = slash != NULL && slash[1] != '\0' ? slash + 1 : name;
    }
    fm_out_text(out, "{\"title\":");
    put_str(out, name);
    fm_out_text(out, ",\"total\":\"");
    fm_out_u128(out, h->tree->base[0].total);
    fm_out_text(out, "\",\"samples\":");
    fm_out_u64(out, h->tree->base[0].total_samples);
    fm_out_text(out, ",\"by\":");
    fm_out_f64(out, h->tree->scaling.by);
    fm_out_char(out, '}');
}

static void put_all(struct fm_html *h, struct fm_out *out)
{
    const struct fm_selection *sel = h->export->sel;
    static const char *const how[] = {"view", "order", "theme"};
    const char *colors = fm_export_setting(h->export, "colors");
    const char *weigh = sel->weigh == FM_WEIGH_SAMPLES ? "samples" : "value";
    size_t i;
    if (sel->weigh == FM_WEIGH_COLUMN)
        weigh = fm_store_str(sel->store,
                             fm_store_column_info(sel->store, sel->weigh_col)->name, NULL);
    fm_out_text(out, "{\"title\":");
    put_str(out, h->export->title);
    put_key(out, "version");
    put_str(out, PACKAGE_VERSION);
    put_key(out, "unit");
    put_str(out, h->unit);
    put_key(out, "event");
    put_str(out, fm_store_str(sel->store, sel->event_name, NULL));
    put_key(out, "weigh");
    put_str(out, weigh);
    put_key(out, "scale");
    fm_out_u128(out, h->scale);
    put_key(out, "total");
    fm_out_char(out, '"');
    fm_out_u128(out, h->tree->nodes > 0 ? h->tree->node[0].total : 0);
    fm_out_char(out, '"');
    put_key(out, "samples");
    fm_out_u64(out, sel->samples);
    put_key(out, "nodes");
    fm_out_u64(out, h->tree->nodes);
    put_key(out, "names");
    fm_out_u64(out, h->names);
    put_key(out, "depth");
    fm_out_u64(out, h->tree->depth);
    put_base(h, out);
    put_times(h, out);
    for (i = 0; i < FM_COUNT(how); i++) {
        put_key(out, how[i]);
        put_str(out, fm_export_setting(h->export, how[i]));
    }
    put_key(out, "colors");
    put_str(out, colors);
    put_key(out, "kinds");
    fm_out_char(out, '[');
    for (i = 0; i <= FM_FRAME_C1; i++) {
        fm_out_text(out, i > 0 ? "," : "");
        put_str(out, fm_frame_kind_text((enum fm_frame_kind)i));
    }
    fm_out_char(out, ']');
    put_key(out, "modules");
    put_table(h, out, &h->module);
    put_key(out, "files");
    put_table(h, out, &h->file);
    put_key(out, "events");
    put_events(h, out);
    put_key(out, "scope");
    fm_html_scope_meta(h, out);
    put_key(out, "sources");
    put_sources(h, out);
    fm_out_text(out, "}");
}

enum fm_status fm_html_write_meta(struct fm_html *h, struct fm_error *err)
{
    struct fm_out json;
    enum fm_status status = fm_out_init(&json, h->mem, NULL);
    size_t i, from = 0;
    if (status != FM_OK)
        return fm_error_nomem(err);
    put_all(h, &json);
    status = json.status == FM_OK ? FM_OK : fm_error_nomem(err);
    for (i = 0; i < json.n && status == FM_OK; i++) {
        char c = json.buf[i];
        if (c != '<' && c != '>' && c != '&')
            continue;
        fm_out_bytes(h->out, json.buf + from, i - from);
        fm_out_printf(h->out, "\\u%04x", (unsigned)c);
        from = i + 1;
    }
    if (status == FM_OK)
        fm_out_bytes(h->out, json.buf + from, json.n - from);
    fm_out_release(&json);
    return status;
}
