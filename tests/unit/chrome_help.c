/*
 * chrome_help.c - see chrome_help.h.
 */
#include "chrome_help.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct fm_store *chrome_read(struct fm_ctx *ctx, const char *s, size_t n, const char *keep,
                             enum fm_status want)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    struct fm_error err = {0};
    bool usable = false;
    ck_assert_int_eq(fm_input_open_memory(ctx, s, n, "trace.json", &input, &err), FM_OK);
    ck_assert_int_eq(fm_builder_new(ctx, &builder, &err), FM_OK);
    options.format = "chrome";
    options.keep = keep;
    enum fm_status got = fm_import_input(ctx, input, &options, builder, &usable, &err);
    ck_assert_msg(got == want, "status %d: %s", (int)got, err.message);
    fm_input_free(input);
    ck_assert_int_eq(fm_builder_seal(builder, NULL, &store, &err), FM_OK);
    ck_assert_msg(fm_store_verify(store, &err) == FM_OK, "%s", err.message);
    return store;
}

char *chrome_folded(struct fm_ctx *ctx, struct fm_store *store, const char *event)
{
    struct fm_select_options select = FM_INIT(select);
    struct fm_export_options options = FM_INIT(options);
    struct fm_error err = {0};
    select.event = event;
    bool any = false;
    for (size_t i = 0; i < fm_store_events(store); i++) {
        struct fm_event_info e;
        fm_store_event(store, i, &e);
        any |= strcmp(e.name, event) == 0;
    }
    if (!any)
        return calloc(1, 1);
    char *text = small_export(ctx, store, "folded", &select, &options, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    return text;
}

uint64_t chrome_finding(const struct fm_store *store, const char *key)
{
    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info a;
        fm_store_account(store, i, &a);
        if (a.kind == FM_ACCOUNT_FINDING && strcmp(a.key, key) == 0)
            return a.count;
    }
    return 0;
}

uint64_t chrome_rows(const struct fm_store *store, const char *event, enum fm_kind kind)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < fm_store_events(store); i++) {
        struct fm_event_info e;
        fm_store_event(store, i, &e);
        if (e.kind == kind && strcmp(e.name, event) == 0)
            rows += e.rows;
    }
    return rows;
}
