/*
 * small.c - see small.h.
 */
#include "small.h"

#include "export/export.h"
#include "store/build.h"

#include <check.h>
#include <stdlib.h>

static fm_str str(struct fm_builder *b, const char *s)
{
    return fm_builder_str(b, s, strlen(s));
}

struct parts {
    struct fm_builder *b;
    uint32_t event[2];
    fm_thread thread[2];
    fm_frame main_, work[2], kfn, nameless;
    fm_column size, ip;
};

static void make_frames(struct parts *p)
{
    struct fm_module_row app = {.path = str(p->b, "/usr/bin/app"), .kind = FM_MODULE_USER,
                                .pid = -1};
    struct fm_module_row kernel = {.path = str(p->b, "[kernel.kallsyms]"),
                                   .kind = FM_MODULE_KERNEL, .pid = -1};
    fm_module a = fm_builder_module(p->b, &app), k = fm_builder_module(p->b, &kernel);
    struct fm_frame_row row = {.module = a, .kind = FM_FRAME_USER};
    row.address = 0x5;
    row.function = str(p->b, "main");
    p->main_ = fm_builder_frame(p->b, &row);
    row.function = str(p->b, "work");
    row.address = 0x10;
    p->work[0] = fm_builder_frame(p->b, &row);
    row.address = 0x20;
    p->work[1] = fm_builder_frame(p->b, &row);
    row.function = 0;
    row.address = 0x99;
    p->nameless = fm_builder_frame(p->b, &row);
    row.module = k;
    row.kind = FM_FRAME_KERNEL;
    row.function = str(p->b, "kfn");
    row.address = 0xffffffff81000010u;
    p->kfn = fm_builder_frame(p->b, &row);
}

static void add(struct parts *p, unsigned row, unsigned event, int64_t us, uint64_t weight,
                unsigned thread, const fm_frame *frame, size_t frames)
{
    const char *comm = thread == 0 ? "app" : "wor;ker";
    fm_row_begin(p->b, p->event[event]);
    if (us >= 0)
        fm_row_set(p->b, FM_COL_TS, (uint64_t)us * 1000);
    fm_row_set(p->b, FM_COL_WEIGHT, weight);
    fm_row_set(p->b, FM_COL_THREAD, p->thread[thread]);
    fm_row_set(p->b, FM_COL_COMM, str(p->b, comm));
    if (frames > 0)
        fm_row_set(p->b, FM_COL_STACK, fm_builder_stack(p->b, frame, frames));
    if (row == 5)
        fm_row_set(p->b, FM_COL_COUNT, 2);
    if (row == 0 || row == 2)
        fm_row_set(p->b, p->size, row == 0 ? 100 : 50);
    fm_row_set(p->b, p->ip, 0x1000 + row);
    fm_account_in(p->b, row == 5 ? 2 : 1);
    ck_assert_uint_eq(fm_row_end(p->b), row);
}

struct fm_store *small_store(struct fm_ctx *ctx)
{
    struct parts p;
    struct fm_store *store = NULL;
    struct fm_error err = {0};
    unsigned i;
    ck_assert_int_eq(fm_builder_new(ctx, &p.b, &err), FM_OK);
    fm_builder_source(p.b, "some/small.data", "test");
    p.event[0] = fm_builder_event(p.b, "cpu-clock", "ns", FM_KIND_SAMPLE);
    p.event[1] = fm_builder_event(p.b, "page-faults", "count", FM_KIND_SAMPLE);
    for (i = 0; i < 2; i++) {
        fm_builder_event_row(p.b, p.event[i])->prepend = str(p.b, "comm");
        p.thread[i] = fm_builder_thread(p.b, 10, 10 + (int64_t)i, 0);
        fm_builder_thread_name(p.b, p.thread[i], INT64_MIN, str(p.b, i ? "wor;ker" : "app"));
    }
    p.size = fm_builder_label(p.b, "size", FM_TYPE_BYTES, false);
    p.ip = fm_builder_label(p.b, "ip", FM_TYPE_ADDRESS, true);
    make_frames(&p);
    add(&p, 0, 0, 1100, 10, 0, (fm_frame[]){p.main_, p.work[0]}, 2);
    add(&p, 1, 0, 1200, 20, 0, (fm_frame[]){p.main_, p.work[1], p.kfn}, 3);
    add(&p, 2, 0, 1150, 5, 1, (fm_frame[]){p.main_}, 1);
    add(&p, 3, 1, 1300, 1, 0, (fm_frame[]){p.main_, p.nameless}, 2);
    add(&p, 4, 0, 1400, 7, 0, NULL, 0);
    add(&p, 5, 0, -1, 3, 0, (fm_frame[]){p.main_, p.work[0]}, 2);
    ck_assert_int_eq(fm_builder_seal(p.b, NULL, &store, &err), FM_OK);
    ck_assert_int_eq(fm_store_verify(store, &err), FM_OK);
    return store;
}

int small_write(void *user, const void *data, size_t n)
{
    struct small_text *text = user;
    text->s = realloc(text->s, text->n + n + 1);
    memcpy(text->s + text->n, data, n);
    text->n += n;
    text->s[text->n] = '\0';
    return 0;
}

char *small_export(struct fm_ctx *ctx, struct fm_store *store, const char *exporter,
                   const struct fm_select_options *select,
                   const struct fm_export_options *options, struct fm_error *err)
{
    struct small_text text = {0};
    struct fm_sink sink = {small_write, &text};
    struct fm_selection sel;
    enum fm_status status = fm_selection_init(&sel, store, select, err);
    if (status == FM_OK) {
        status = fm_export_run(ctx, &sel, fm_exporter_find(exporter), options, &sink, err);
        fm_selection_release(&sel);
    }
    if (status == FM_OK)
        return text.s != NULL ? text.s : calloc(1, 1);
    free(text.s);
    return NULL;
}
