/*
 * perfscript.c - the text of `perf script -F comm,pid,tid,time,event,ip,sym,dso,period`, as perf
 * 6.1 prints it: for other tools that read it, and to compare values with perf's.
 *
 *     COMM PID/TID SECONDS.MICROS:     PERIOD EVENT:
 *     <TAB>IP SYMBOL (DSO)                               one a frame, leaf first
 *     <empty line>
 *
 *     COMM PID/TID SECONDS.MICROS:     PERIOD EVENT:  IP SYMBOL (DSO)
 *
 * The second form is that of events recorded without call chains: the comm is then padded to 16.
 * The store does not say how an event was recorded; an event none of whose rows has more than one
 * frame is taken for one, provided that the absolute addresses were imported (the label `ip`).
 *
 * IP: in chains the address as perf maps it: the file offset for user code, absolute for the
 * kernel, JIT code and code of no module. Inlined frames share the address of the frame that they
 * were inlined into and have "(inlined)" in place of the dso. The event name is padded to the
 * longest of the whole input. Time is the source's own clock, cut to microseconds. PERIOD is the
 * WEIGHT column, whatever the selection weighs by, unless it has weights row by row.
 */
#include "export/export.h"
#include "export/timeline.h"

#include "util/error.h"

enum { COMM, PERIOD, IP };

struct script {
    struct fm_export *export;
    const struct fm_selection *sel;
    struct fm_store *store;
    struct fm_out *out;
    struct fm_timeline line;
    const struct fm_tree_node *tree;
    fm_str *label;
    size_t frames;
    size_t event_width;
    uint8_t *chains;          /* by event: has rows of several frames */
    size_t extras;
};

static void put_padded(struct fm_out *out, const char *s, size_t n, size_t width)
{
    fm_out_pad(out, ' ', width > n ? width - n : 0);
    fm_out_bytes(out, s, n);
}

static void put_number(struct fm_out *out, uint64_t v, size_t width, bool left)
{
    char digit[24];
    size_t n = 0;
    do {
        digit[sizeof digit - ++n] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    fm_out_pad(out, ' ', !left && width > n ? width - n : 0);
    fm_out_bytes(out, digit + sizeof digit - n, n);
    fm_out_pad(out, ' ', left && width > n ? width - n : 0);
}

/* -1 (unknown) and numbers as "%5d" prints them. */
static void put_id(struct fm_out *out, int64_t id, bool left)
{
    if (id >= 0)
        put_number(out, (uint64_t)id, 5, left);
    else
        fm_out_text(out, left ? "-1   " : "   -1");
}

static void put_ip(struct fm_out *out, uint64_t ip)
{
    char digit[16];
    size_t i;
    for (i = 0; i < sizeof digit; i++) {
        bool zero = ip == 0 && i > 0;
        digit[sizeof digit - 1 - i] = zero ? ' ' : "0123456789abcdef"[ip & 15];
        ip >>= 4;
    }
    fm_out_bytes(out, digit, sizeof digit);
}

static void put_frame(struct script *s, fm_frame f, uint64_t ip)
{
    const struct fm_frame_row *frame = fm_selection_frame(s->sel, f);
    fm_str dso = fm_name_dso(s->store, frame->module);
    size_t n;
    const char *text;
    put_ip(s->out, ip);
    fm_out_char(s->out, ' ');
    text = fm_store_str(s->store, s->label[f], &n);
    if (frame->function == 0 && frame->module != FM_NONE)
        fm_out_text(s->out, "[unknown]");
    else
        fm_out_bytes(s->out, text, n);
    fm_out_text(s->out, " (");
    if (dso == FM_NONE)
        s->out->status = FM_NOMEM;
    else if (frame->inlined)
        fm_out_text(s->out, "inlined");
    else {
        text = fm_store_str(s->store, dso, &n);
        fm_out_bytes(s->out, text, n);
    }
    fm_out_text(s->out, ")\n");
}

static void put_time(struct script *s, const struct fm_timeline_row *row)
{
    int64_t ts = row->ts;
    uint64_t us;
    if (ts == INT64_MIN)
        ts = 0;
    else if (!fm_add_i64(ts, -fm_store_source_row(s->store, row->source)->shift, &ts) || ts < 0)
        ts = 0;
    us = (uint64_t)ts / 1000;
    put_number(s->out, us / 1000000, 5, false);
    fm_out_printf(s->out, ".%06u: ", (unsigned)(us % 1000000));
}

static void put_row(struct script *s, const struct fm_timeline_row *row)
{
    const struct fm_thread_row *thread = NULL;
    bool flat = s->extras > IP && (row->has >> IP & 1) && !s->chains[row->event];
    uint32_t node = row->node;
    size_t n;
    const char *text;
    fm_str comm = 0;
    if (row->thread != FM_NONE)
        thread = fm_store_thread_row(s->store, row->thread);
    if (row->has >> COMM & 1)
        comm = (fm_str)row->extra[COMM];
    else if (row->thread != FM_NONE)
        comm = fm_store_thread_name(s->store, row->thread, row->ts != INT64_MIN, row->ts);
    text = fm_store_str(s->store, comm, &n);
    put_padded(s->out, n > 0 ? text : "[unknown]", n > 0 ? n : 9, flat ? 16 : 0);
    fm_out_char(s->out, ' ');
    put_id(s->out, thread != NULL ? thread->pid : -1, false);
    fm_out_char(s->out, '/');
    put_id(s->out, thread != NULL ? thread->tid : -1, true);
    fm_out_char(s->out, ' ');
    put_time(s, row);
    put_number(s->out, row->extra[PERIOD], 10, false);
    fm_out_char(s->out, ' ');
    text = fm_store_str(s->store, fm_store_event_row(s->store, row->event)->name, &n);
    put_padded(s->out, text, n, s->event_width);
    fm_out_text(s->out, ": ");
    if (flat && node != 0) {
        fm_out_char(s->out, ' ');
        put_frame(s, s->tree[node].frame, row->extra[IP]);
        return;
    }
    fm_out_char(s->out, '\n');
    for (; node != 0; node = s->tree[node].parent) {
        uint64_t ip = fm_selection_frame(s->sel, s->tree[node].frame)->address;
        fm_out_char(s->out, '\t');
        put_frame(s, s->tree[node].frame, ip == UINT64_MAX ? 0 : ip);
    }
    fm_out_char(s->out, '\n');
}

static void put_rows(struct script *s)
{
    size_t i, n;
    for (i = 0; i < fm_store_events(s->store); i++) {
        const struct fm_event *event = fm_store_event_row(s->store, i);
        fm_store_str(s->store, event->name, &n);
        if (event->kind == FM_KIND_SAMPLE)
            s->event_width = FM_MAX(s->event_width, n);
    }
    for (i = 0; i < s->line.rows; i++) {
        const struct fm_timeline_row *row = fm_timeline_at(&s->line, i);
        if (s->tree[row->node].depth > 1)
            s->chains[row->event] = 1;
    }
    for (i = 0; i < s->line.rows; i++)
        put_row(s, fm_timeline_at(&s->line, i));
}

static enum fm_status write_script(struct fm_export *export, struct fm_error *err)
{
    struct script s = {.export = export, .sel = export->sel, .store = export->sel->store,
                       .out = export->out};
    struct fm_mem *mem = &export->ctx->mem;
    fm_column extra[3] = {FM_COL_COMM, FM_COL_WEIGHT, fm_store_column_find(s.store, "ip")};
    size_t nodes, events = fm_store_events(s.store);
    enum fm_status status;
    s.tree = fm_selection_tree(s.sel, &nodes);
    s.extras = extra[IP] != FM_NONE ? 3 : 2;
    s.chains = fm_mem_zalloc(mem, events);
    if (s.chains == NULL)
        return fm_error_nomem(err);
    status = fm_selection_labels(s.sel, &export->names, &s.label, &s.frames, err);
    if (status == FM_OK)
        status = fm_timeline_make(&s.line, s.sel, NULL, extra, s.extras, false, err);
    if (status == FM_OK) {
        put_rows(&s);
        fm_timeline_release(&s.line);
    }
    fm_mem_free(mem, s.chains, events);
    if (s.label != NULL)
        fm_mem_free(mem, s.label, s.frames * sizeof *s.label);
    return status;
}

const struct fm_exporter fm_exporter_perf_script = {
    .name = "perf-script",
    .summary = "the text of perf script, for tools that read it",
    .extension = ".perf-script,.linux-perf.txt",
    .shape = FM_SHAPE_TIMELINE,
    .needs = "ip", /* a sample without a call chain prints its absolute address */
    .write = write_script,
};
