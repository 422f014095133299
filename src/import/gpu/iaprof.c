/*
 * iaprof.c - what Intel's iaprof writes: stalls of GPU threads by instruction, with the CPU stacks
 * that launched the kernels.
 *
 *     string 4 main::{lambda}             fields parted by TABs, no header, no end, no version
 *     interval 0 1234.567890
 *     kernel 0xffff8001fff40000 1 4242 2 3 4
 *     eustall 0x1b8 5 2 0 0 31 0 250 0 0 0 0
 *     metric busy-percent 97
 *
 * This file opens the input, cuts it into pieces of whole lines and ends it; the lines are read by
 * iaprof_line.c, ids become frames in iaprof_name.c, counts rows in iaprof_row.c. Fast mode (2026)
 * and the three classic layouts (2025) are read by the same code, see iaprof_line.c.
 *
 * Every line of the tool ends in LF: a last one that does not was cut, and counts as such even
 * where what is left would make sense ("busy-percent 10" of 100). Layouts: docs of the format in
 * the reference of Intel GPU dumps, taken from what the tool of each time prints.
 */
#include "import/gpu/iaprof.h"

#include "util/error.h"

static const char *const tag_name[FM_IAPROF_TAGS] = {
    [FM_IAPROF_STRING_LINE] = "string",        [FM_IAPROF_INTERVAL_LINE] = "interval",
    [FM_IAPROF_KERNEL_LINE] = "kernel",        [FM_IAPROF_EUSTALL_LINE] = "eustall",
    [FM_IAPROF_METRIC_LINE] = "metric",        [FM_IAPROF_START_LINE] = "interval_start",
    [FM_IAPROF_END_LINE] = "interval_end",     [FM_IAPROF_E_LINE] = "e",
    [FM_IAPROF_STATE_LINE] = "(state)",        [FM_IAPROF_FRAME_LINE] = "frame",
};

/* ---------------------------------------------------------------- reading */

/* A line longer than any may be: passed over. */
static enum fm_status skip_long(struct fm_iaprof *a, struct fm_reader *reader, bool *more,
                                struct fm_error *err)
{
    const unsigned char *data;
    size_t n;
    fm_builder_diag(a->builder, FM_DIAG_BAD_LINE, fm_reader_offset(reader), 1);
    for (;;) {
        enum fm_status status = fm_reader_peek(reader, 1, &data, &n, err);
        const unsigned char *end = n > 0 ? memchr(data, '\n', n) : NULL;
        *more = n > 0;
        if (end != NULL)
            n = (size_t)(end - data) + 1;
        fm_reader_consume(reader, n);
        if (status != FM_OK || n == 0 || end != NULL)
            return status;
    }
}

/* What stands behind the last LF of the input. */
static void cut_line(struct fm_iaprof *a, const char *s, size_t n, uint64_t at)
{
    if (n > 1 && (memcmp(s, "eustall", FM_MIN(n, 7)) == 0 || memcmp(s, "e\t", 2) == 0)) {
        fm_account_in(a->builder, 1);
        fm_account_drop(a->builder, FM_DIAG_TRUNCATED, at, 1);
        return;
    }
    fm_builder_diag(a->builder, FM_DIAG_TRUNCATED, at, 1);
}

/* Whole lines of what the window holds; *more = false at the end. */
static enum fm_status read_window(struct fm_iaprof *a, struct fm_reader *reader, bool *more,
                                  struct fm_error *err)
{
    const unsigned char *data;
    const char *end = NULL;
    size_t n, need = 1;
    enum fm_status status;
    for (;; need = FM_MIN(2 * n, FM_IAPROF_LINE_MAX)) {
        status = fm_reader_peek(reader, need, &data, &n, err);
        end = n > 0 ? memrchr(data, '\n', n) : NULL;
        if (end != NULL || n < need || n >= FM_IAPROF_LINE_MAX)
            break;
    }
    *more = n > 0;
    if (end != NULL) {
        a->window = (const char *)data;
        a->window_offset = fm_reader_offset(reader);
        n = (size_t)(end - a->window) + 1;
        fm_iaprof_lines(a, a->window, n);
        fm_reader_consume(reader, n);
        return FM_OK;
    }
    if (n >= FM_IAPROF_LINE_MAX && n >= need)
        return skip_long(a, reader, more, err);
    if (n > 0)
        cut_line(a, (const char *)data, n, fm_reader_offset(reader));
    *more = false;
    return status;
}

/* A byte order mark, and how lines end. */
static enum fm_status read_head(struct fm_iaprof *a, struct fm_reader *reader,
                                struct fm_error *err)
{
    const unsigned char *data, *end;
    size_t n;
    enum fm_status status = fm_reader_peek(reader, 3, &data, &n, err);
    if (n >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        fm_reader_consume(reader, 3);
    else if (n > 0)
        status = FM_OK;
    if (fm_reader_peek(reader, 1, &data, &n, NULL) == FM_OK && n > 0) {
        end = memchr(data, '\n', n);
        a->crlf = end != NULL && end > data && end[-1] == '\r';
    }
    return status;
}

static enum fm_status read_all(struct fm_iaprof *a, struct fm_reader *reader, struct fm_error *err)
{
    uint64_t total = fm_input_raw_size(a->import->input);
    enum fm_status status = read_head(a, reader, err);
    bool more = true;
    while (status == FM_OK && more) {
        status = read_window(a, reader, &more, err);
        if (a->oom)
            return fm_error_nomem(err);
        if (fm_builder_status(a->builder) != FM_OK)
            return fm_builder_status(a->builder);
        if (!fm_ctx_tick(a->import->ctx, fm_reader_raw_offset(reader), total))
            return fm_error_set(err, FM_CANCELLED, "cancelled");
    }
    return status;
}

/* ------------------------------------------------------------------ driver */

static void tell_layout(struct fm_iaprof *a)
{
    static const char *const text[] = {"fast", "generation 1", "generation 2", "generation 3"};
    /* a few lines of generation 2 stand in files of generation 3 */
    unsigned seen = a->layouts & FM_IAPROF_GEN3 ? a->layouts & ~(unsigned)FM_IAPROF_GEN2
                                                : a->layouts;
    for (size_t i = 0; i < FM_COUNT(text); i++)
        if (seen & 1u << i)
            fm_builder_provenance(a->builder, "layout", text[i], strlen(text[i]));
}

static void tell_lines(struct fm_iaprof *a)
{
    for (size_t i = 0; i < FM_IAPROF_TAGS; i++)
        if (a->lines[i] > 0)
            fm_account_record(a->builder, FM_ACCOUNT_RECORDS,
                              fm_builder_str(a->builder, tag_name[i], strlen(tag_name[i])),
                              FM_NO_OFFSET, a->lines[i]);
}

static enum fm_status import_iaprof(struct fm_import *import, struct fm_error *err)
{
    struct fm_iaprof a = {.import = import, .builder = import->builder, .mem = &import->ctx->mem};
    struct fm_reader *reader = NULL;
    enum fm_status status = FM_OK;
    fm_iaprof_fast_init(&a);
    if (!fm_iaprof_names_init(&a))
        status = fm_error_nomem(err);
    if (status == FM_OK)
        status = fm_binding_new(import->mapping, import->builder, import->options->keep,
                                &a.binding, err);
    if (status == FM_OK)
        status = fm_iaprof_declare(&a, err);
    if (status == FM_OK)
        status = fm_reader_open(import->input, &reader, err);
    if (status == FM_OK) {
        status = read_all(&a, reader, err);
        if (!a.oom)
            fm_iaprof_finish(&a);
        tell_layout(&a);
        tell_lines(&a);
    }
    if (reader != NULL)
        fm_reader_close(reader);
    fm_binding_free(a.binding);
    fm_iaprof_cells_release(&a);
    fm_mem_free(a.mem, a.mark, a.mark_cap * sizeof *a.mark);
    fm_iaprof_names_release(&a);
    return status;
}

/* ------------------------------------------------------------------- probe */

/* The first lines. A file whose head was cut may begin inside a line. */
static unsigned probe_iaprof(const unsigned char *data, size_t n, bool whole,
                             struct fm_input *input)
{
    const char *s = (const char *)data;
    unsigned good = 0, bad = 0, lines = 0;
    bool first_bad = false;
    size_t at = 0;
    (void)input;
    if (data == NULL || n == 0)
        return 0;
    if (n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    for (; at < n && lines < 256; lines++) {
        const char *end = memchr(s + at, '\n', n - at);
        size_t len = end != NULL ? (size_t)(end - s) - at : n - at;
        size_t body = len > 0 && s[at + len - 1] == '\r' ? len - 1 : len;
        bool ok = fm_iaprof_shape(s + at, body);
        if (end == NULL && !ok && (!whole || good > 0))
            break; /* the rest of the line is not here */
        good += ok;
        bad += !ok && body > 0;
        first_bad |= lines == 0 && !ok;
        at += len + 1;
    }
    if (good == 0 || (first_bad && good < 2))
        return 0;
    if (bad == 0)
        return 30;
    bad -= first_bad && bad > 0;
    return bad == 0 ? 28 : bad * 4 <= good ? 26 : 0;
}

const struct fm_importer fm_importer_iaprof = {
    .name = "iaprof",
    .summary = "GPU stalls with CPU stacks of Intel's iaprof",
    .extensions = "iaprof,profile",
    .mapping = true,
    .probe = probe_iaprof,
    .import = import_iaprof,
};
