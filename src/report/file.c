/*
 * file.c - one file of a report: the results that are kept already stay, the others are made.
 *
 *     hash of the bytes -> a key for each result -> which are not kept
 *     import, once for each set of options that the commands would import with
 *         queries -> tables, exporters -> outputs, what the store tells -> facts
 *
 * The import options are those that `foldmill query` and `foldmill convert` would use, so that the
 * bytes are those of the single commands; queries that end in tables share one import, since labels
 * that another query asked for do not show in theirs.
 *
 * A record (lines.h) says how a result came out:
 *
 *     facts   "fact" NAME VALUE ...        or "failed" KIND OFFSET TEXT
 *     output  "ok" | "gate" | "error", SIZE, NOTE              its bytes lie beside the record
 *     rows    the same, "event" EVENT UNIT, "column" NAME TYPE UNIT ..., "row" CELL CELL ...
 *
 * What this machine did not allow (memory, a file that cannot be read) is not kept.
 */
#include "report/lines.h"
#include "report/run.h"

#include "util/error.h"

#include <stdio.h>

/* -------------------------------------------------------------------- keys */

static void key_of(const struct fm_report_run *run, const struct fm_report_job *job,
                   const char *kind, const struct fm_report_ask *ask, const char *form,
                   size_t part, char key[FM_REPORT_KEY])
{
    struct fm_report_hash *hash = fm_report_hash_new(&run->ctx->mem);
    uint64_t digest[2] = {0};

    key[0] = '\0';
    if (hash == NULL)
        return;
    fm_report_hash_u64(hash, run->world[0]);
    fm_report_hash_u64(hash, run->world[1]);
    fm_report_hash_text(hash, job->name);
    fm_report_hash_text(hash, job->hash);
    fm_report_hash_text(hash, kind);
    if (ask != NULL) {
        fm_report_hash_u64(hash, ask->digest[0]);
        fm_report_hash_u64(hash, ask->digest[1]);
        fm_report_hash_text(hash, ask->export);
    }
    fm_report_hash_text(hash, form);
    fm_report_hash_u64(hash, part);
    fm_report_hash_get(hash, digest);
    fm_report_hash_hex(digest, key);
    fm_report_hash_free(hash, &run->ctx->mem);
}

void fm_report_facts_key(const struct fm_report_run *run, const struct fm_report_job *job,
                         char key[FM_REPORT_KEY])
{
    key_of(run, job, "facts 1", NULL, NULL, 0, key);
}

void fm_report_each_key(const struct fm_report_run *run, const struct fm_report_job *job, size_t i,
                        char key[FM_REPORT_KEY])
{
    const struct fm_report_each *each = &run->plan.each[i];

    key_of(run, job, "output 1", &each->ask, each->form, 0, key);
}

void fm_report_rows_key(const struct fm_report_run *run, const struct fm_report_job *job, size_t i,
                        char key[FM_REPORT_KEY])
{
    const struct fm_report_rows *rows = &run->plan.rows[i];

    key_of(run, job, "rows 1", &rows->ask, NULL, rows->table, key);
}

/* What all results depend on: the program, the formats, how inputs are read. */
enum fm_status fm_report_world(struct fm_report_run *run, struct fm_error *err)
{
    const struct fm_import_options *o = run->options->import;
    struct fm_report_hash *hash = fm_report_hash_new(&run->ctx->mem);
    const char *keep = "";

    if (hash == NULL)
        return fm_error_nomem(err);
    fm_report_hash_text(hash, fm_version());
    fm_report_hash_text(hash, fm_features());
    (void)fm_report_hash_folder(hash, run->ctx, "formats");
    if (o != NULL) {
        const char *const text[] = {o->format, o->symfs, o->buildid_dir, o->kallsyms, o->vmlinux,
                                    o->map_dir, o->keep, o->clock_offset, o->demangle,
                                    o->unfinished, o->gpu_map};

        for (size_t i = 0; i < FM_COUNT(text); i++)
            fm_report_hash_text(hash, text[i]);
        fm_report_hash_u64(hash, (uint64_t)o->callers_exact << 4 | (uint64_t)o->no_symbols << 3 |
                                     (uint64_t)o->inlines << 2 | (uint64_t)o->lines << 1 |
                                     o->debuginfod);
    }
    fm_report_hash_get(hash, run->world);
    fm_report_hash_free(hash, &run->ctx->mem);
    for (size_t i = 0; i < run->plan.eaches + run->plan.tables && keep != NULL; i++) {
        const struct fm_report_ask *ask = i < run->plan.eaches
                                              ? &run->plan.each[i].ask
                                              : &run->plan.rows[i - run->plan.eaches].ask;

        if (ask->query != NULL && ask->export == NULL)
            keep = fm_arena_printf(&run->arena, "%s,%s,%s,%s,%s", keep, ask->needs,
                                   ask->prepend != NULL ? ask->prepend : "",
                                   ask->append != NULL ? ask->append : "",
                                   ask->weight != NULL ? ask->weight : "");
    }
    run->keep = keep;
    return keep == NULL ? fm_error_nomem(err) : FM_OK;
}

/* ------------------------------------------------------------------- items */

enum item_kind { FACTS, OUTPUT, ROWS };

/* A result that is wanted of the file. */
struct item {
    enum item_kind kind;
    const struct fm_report_ask *ask;
    const char *form;
    size_t part;
    const char *keep, *events;       /* how the file is imported for it */
    char key[FM_REPORT_KEY];
    bool wanted;                     /* it is not kept yet */
};

struct work {
    struct fm_report_run *run;
    struct fm_report_job *job;
    struct fm_ctx *ctx;              /* NULL before the first import */
    struct fm_arena arena;
    struct item *item;
    size_t items;
};

/* How the commands would import for an ask. false: no memory. */
static bool import_needs(struct work *w, struct item *item)
{
    const struct fm_report_ask *ask = item->ask;
    const char *more, *needs;

    if (ask == NULL || (ask->query != NULL && ask->export == NULL)) {
        item->keep = w->run->keep;
        return true;
    }
    needs = ask->query != NULL ? ask->needs : fm_export_needs(ask->export);
    item->keep = fm_arena_printf(&w->arena, "%s,%s,%s,%s", needs,
                                 ask->prepend != NULL ? ask->prepend : "",
                                 ask->append != NULL ? ask->append : "",
                                 ask->weight != NULL ? ask->weight : "");
    if (ask->query == NULL) {
        more = fm_export_events(ask->export);
        item->events = fm_arena_printf(&w->arena, "%s%s%s",
                                       ask->event != NULL ? ask->event : "auto",
                                       more[0] != '\0' ? "," : "", more);
    }
    return item->keep != NULL && (ask->query != NULL || item->events != NULL);
}

static bool is_kept(struct work *w, const struct item *item)
{
    const struct fm_report_run *run = w->run;
    const char *field[2] = {"", ""};
    uint64_t size = 0;
    char *at;
    size_t n;

    if (run->options->redo)
        return false;
    at = fm_place_kept(&run->place, &w->arena, item->key, &n);
    if (at == NULL)
        return false;
    if (item->kind == FACTS) {
        w->job->failed = strncmp(at, "failed\t", 7) == 0;
        w->job->damaged = strstr(at, "fact\tstatus\tdamaged\n") != NULL;
    }
    if (item->kind != OUTPUT || fm_line_next(&at, field, 2) != 2 || strcmp(field[0], "error") == 0)
        return true;
    for (const char *s = field[1]; *s >= '0' && *s <= '9'; s++)
        size = size * 10 + (uint64_t)(*s - '0');
    return fm_place_has(&run->place, item->key, size);
}

static bool list_items(struct work *w)
{
    struct fm_report_run *run = w->run;
    const struct fm_report_plan *plan = &run->plan;
    struct item *item = fm_arena_alloc(&w->arena,
                                       (1 + plan->eaches + plan->tables) * sizeof *item);
    struct item *at = item;

    if (item == NULL)
        return false;
    w->item = item;
    fm_report_facts_key(run, w->job, at++->key);
    for (size_t i = 0; i < plan->eaches; i++) {
        *at = (struct item){.kind = OUTPUT, .ask = &plan->each[i].ask, .form = plan->each[i].form};
        fm_report_each_key(run, w->job, i, at++->key);
    }
    for (size_t i = 0; i < plan->tables; i++) {
        if (plan->rows[i].ask.query == NULL)
            continue;
        *at = (struct item){.kind = ROWS, .ask = &plan->rows[i].ask, .part = plan->rows[i].table};
        fm_report_rows_key(run, w->job, i, at++->key);
    }
    w->items = (size_t)(at - item);
    for (size_t i = 0; i < w->items; i++) {
        if (item[i].key[0] == '\0' || !import_needs(w, &item[i]))
            return false;
        item[i].wanted = !is_kept(w, &item[i]);
    }
    return !w->arena.oom;
}

/* -------------------------------------------------------------------- made */

/* A failure that is this machine's, and says nothing of the file. */
static bool is_passing(enum fm_status status)
{
    return status == FM_NOMEM || status == FM_IO || status == FM_CANCELLED;
}

static bool give_up(struct work *w, const struct fm_error *err)
{
    w->job->busy_error = true;
    w->job->err = *err;
    return false;
}

void fm_report_state(struct fm_out *out, const char *state, uint64_t size, const char *note)
{
    size_t n = strlen(note);

    while (n > 0 && note[n - 1] == '\n')
        n--;
    fm_out_printf(out, "%s\t%llu\t", state, (unsigned long long)size);
    fm_out_tsv(out, note, n);
    fm_out_char(out, '\n');
}

static const char *type_text(enum fm_result_type type)
{
    static const char *const text[] = {
        [FM_RESULT_TEXT] = "text", [FM_RESULT_PATH] = "text", [FM_RESULT_INTEGER] = "number",
        [FM_RESULT_NUMBER] = "number", [FM_RESULT_SHARE] = "share", [FM_RESULT_BOOL] = "bool",
        [FM_RESULT_ADDRESS] = "text",
    };

    return text[type];
}

static void put_rows(struct fm_result *result, size_t part, struct fm_out *out)
{
    size_t columns = fm_result_columns(result, part);

    fm_line_put(out, true, "event");
    fm_line_put(out, false, fm_result_event(result, part));
    fm_line_put(out, false, fm_result_unit(result, part));
    for (size_t c = 0; c < columns; c++) {
        fm_out_text(out, "\ncolumn");
        fm_line_put(out, false, fm_result_column_name(result, part, c));
        fm_line_put(out, false, type_text(fm_result_column_type(result, part, c)));
        fm_line_put(out, false, fm_result_column_unit(result, part, c));
    }
    for (size_t r = 0; r < fm_result_rows(result, part); r++) {
        fm_out_text(out, "\nrow");
        for (size_t c = 0; c < columns; c++) {
            const char *cell = fm_result_cell(result, part, r, c);

            fm_line_put(out, false, cell[0] != '\0' ? cell : NULL);
        }
    }
    fm_out_char(out, '\n');
}

static struct fm_select_options select_of(const struct fm_report_ask *ask)
{
    return (struct fm_select_options){
        .size = sizeof(struct fm_select_options), .event = ask->event, .weight = ask->weight,
        .prepend = ask->prepend, .append = ask->append, .filter = ask->filter,
        .filters = ask->filters,
    };
}

enum fm_status fm_report_ask_query(struct fm_ctx *ctx, const struct fm_report_ask *ask,
                                   struct fm_store *const *store, size_t stores,
                                   struct fm_query **query, struct fm_result **result,
                                   struct fm_error *err)
{
    struct fm_select_options select = select_of(ask);
    enum fm_status status = fm_query_load(ctx, ask->query, query, err);

    *result = NULL;
    if (status == FM_OK && !fm_report_ask_set(ask, *query, err))
        status = FM_CONFIG;
    if (status != FM_OK)
        return status;
    fm_query_keep_rows(*query, ask->export != NULL);
    return fm_query_run(ctx, *query, store, stores, &select, result, err);
}

enum fm_status fm_report_ask_write(struct fm_ctx *ctx, const struct fm_report_ask *ask,
                                   const char *form, struct fm_result *result,
                                   const struct fm_sink *sink, struct fm_error *err)
{
    struct fm_export_options export = {
        .size = sizeof export, .title = ask->title, .names = ask->names, .set = ask->set,
        .sets = ask->sets, .normalize = ask->normalize,
    };

    if (ask->export == NULL)
        return fm_result_write(result, form, sink, err);
    if (fm_result_tables(result) != 1)
        return fm_error_set(err, FM_CONFIG, "the result has %zu tables: a profile is made of one",
                            fm_result_tables(result));
    return fm_result_export(ctx, result, 0, ask->export, &export, sink, err);
}

enum fm_status fm_report_ask_export(struct fm_ctx *ctx, const struct fm_report_ask *ask,
                                    struct fm_store *base, struct fm_store *store,
                                    const struct fm_sink *sink, struct fm_error *err)
{
    struct fm_select_options select = select_of(ask);
    struct fm_export_options export = {
        .size = sizeof export, .title = ask->title, .names = ask->names, .set = ask->set,
        .sets = ask->sets, .normalize = ask->normalize,
    };

    if (base != NULL)
        return fm_export_diff(ctx, base, store, ask->export, &select, &export, sink, err);
    return fm_export(ctx, store, ask->export, &select, &export, sink, err);
}

/* Runs a query or an exporter; its output goes to `file`, its rows to `body`. */
static enum fm_status make(struct work *w, const struct item *item, struct fm_store *store,
                           struct fm_report_file_out *file, struct fm_out *body,
                           const char **note, struct fm_error *err)
{
    struct fm_query *query = NULL;
    struct fm_result *result = NULL;
    struct fm_error late = {0};
    enum fm_status status, written = FM_OK;

    if (item->ask->query == NULL) {
        status = fm_report_ask_export(w->ctx, item->ask, NULL, store, &file->sink, err);
        *note = err->message;
        return status;
    }
    status = fm_report_ask_query(w->ctx, item->ask, &store, 1, &query, &result, err);
    *note = fm_arena_str(&w->arena, fm_query_errors(query));
    if (result != NULL && item->kind == OUTPUT)
        written = fm_report_ask_write(w->ctx, item->ask, item->form, result, &file->sink, &late);
    else if (result != NULL && item->part < fm_result_tables(result))
        put_rows(result, item->part, body);
    fm_result_free(result);
    fm_query_free(query);
    if (written != FM_OK)
        *err = late;
    if (*note == NULL || (*note)[0] == '\0')
        *note = err->message;
    return written != FM_OK ? written : status;
}

/* Makes one result and keeps it. false: w->job has the reason. */
static bool make_item(struct work *w, const struct item *item, struct fm_store *store)
{
    struct fm_report_place *place = &w->run->place;
    struct fm_report_file_out file = {.fd = -1};
    struct fm_out rows, body;
    struct fm_error err = {0};
    const char *note = "";
    char path[FM_RESULT_PATH_BYTES];
    enum fm_status status = FM_OK;
    bool good;

    if (fm_out_init(&rows, &w->ctx->mem, NULL) != FM_OK)
        return give_up(w, &(struct fm_error){.status = FM_NOMEM, .message = "out of memory"});
    if (fm_out_init(&body, &w->ctx->mem, NULL) != FM_OK)
        status = fm_error_nomem(&err);
    if (status == FM_OK && item->kind == OUTPUT)
        status = fm_place_create(place, &file, &err);
    if (status == FM_OK)
        status = make(w, item, store, &file, &rows, &note, &err);
    good = status == FM_OK || status == FM_GATE;
    if (good && item->kind == OUTPUT) {
        fm_result_path(item->key, true, path);
        if (fm_place_commit(&file, path, &err) != FM_OK)
            status = err.status;
    }
    if (!is_passing(status)) {
        fm_report_state(&body, status == FM_OK ? "ok" : good ? "gate" : "error", file.written,
                  note == NULL ? "" : note);
        fm_out_bytes(&body, rows.buf, rows.n);
        if (fm_place_keep(place, item->key, &body, &err) != FM_OK)
            status = err.status;
    }
    fm_place_abandon(&file);
    fm_out_release(&rows);
    fm_out_release(&body);
    return is_passing(status) ? give_up(w, &err) : true;
}

static bool make_facts(struct work *w, const struct item *item, const struct fm_store *store,
                       enum fm_status status, const struct fm_error *import)
{
    struct fm_error err = {0};
    struct fm_out body;
    char text[700];

    if (fm_out_init(&body, &w->ctx->mem, NULL) != FM_OK)
        return give_up(w, &(struct fm_error){.status = FM_NOMEM, .message = "out of memory"});
    snprintf(text, sizeof text, "%s", import->message);
    if (store == NULL) {
        fm_out_printf(&body, "failed\t%s\t%lld\t", status == FM_UNKNOWN ? "unknown" : "damaged",
                      import->offset == FM_NO_OFFSET ? -1 : (long long)import->offset);
        fm_out_tsv(&body, text, strlen(text));
        fm_out_char(&body, '\n');
        w->job->failed = true;
    } else {
        fm_report_facts_write(store, status, &body);
        if (status != FM_OK) {
            fm_out_printf(&body, "fact\toffset\t");
            if (import->offset == FM_NO_OFFSET)
                fm_out_text(&body, "\\N");
            else
                fm_out_u64(&body, import->offset);
            fm_out_text(&body, "\nfact\terror\t");
            fm_out_tsv(&body, text, strlen(text));
            fm_out_char(&body, '\n');
        }
        fm_out_char(&body, '\0');
        w->job->damaged = body.status == FM_OK
                          && strstr(body.buf, "fact\tstatus\tdamaged\n") != NULL;
        body.n -= body.status == FM_OK;
    }
    if (fm_place_keep(&w->run->place, item->key, &body, &err) != FM_OK)
        give_up(w, &err);
    fm_out_release(&body);
    return !w->job->busy_error;
}

/* ------------------------------------------------------------------ import */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

struct fm_ctx *fm_report_context(const struct fm_report_run *run)
{
    struct fm_ctx *ctx = fm_ctx_new();
    const char *dir;

    if (ctx == NULL)
        return NULL;
    fm_ctx_set_cap(ctx, FM_CAP_THREADS, 1);
    fm_ctx_set_cap(ctx, FM_CAP_MEMORY, run->memory);
    for (size_t k = 0; k < run->dirs; k++) {
        dir = run->dir[k];
        if (fm_ctx_add_data_dir(ctx, dir) != FM_OK)
            break;
    }
    return ctx;
}

struct fm_import_options fm_report_import(const struct fm_report_run *run, const char *keep,
                                          const char *events)
{
    struct fm_import_options o = FM_INIT(o);

    if (run->options->import != NULL)
        o = *run->options->import;
    o.keep = keep;
    o.events = events;
    return o;
}

/* Imports the file as `first` wants it, and makes all results that want it so. */
static bool make_like(struct work *w, struct item *first)
{
    struct fm_import_options o = fm_report_import(w->run, first->keep, first->events);
    const char *const path[1] = {w->job->name};
    struct fm_store *store = NULL;
    struct fm_error err = {0};
    enum fm_status status = fm_import(w->ctx, path, 1, &o, &store, &err);
    bool good = true;

    if (store == NULL && is_passing(status))
        return give_up(w, &err);
    if (!fm_report_job_same(w->job)) {
        fm_store_free(store);
        return give_up(w, &(struct fm_error){.status = FM_IO, .offset = FM_NO_OFFSET,
                                             .message = "the file changed while it was read"});
    }
    for (struct item *item = first; good && item < w->item + w->items; item++) {
        if (!item->wanted || !same_text(item->keep, first->keep)
            || !same_text(item->events, first->events))
            continue;
        item->wanted = false;
        if (item->kind == FACTS)
            good = make_facts(w, item, store, status, &err);
        else if (store != NULL)
            good = make_item(w, item, store);
        w->job->made++;
    }
    fm_store_free(store);
    return good && !w->job->failed;
}

static void do_file(struct work *w)
{
    struct fm_report_job *job = w->job;

    if (!fm_report_job_hash(w->run, job))
        return;
    if (!list_items(w)) {
        give_up(w, &(struct fm_error){.status = FM_NOMEM, .offset = FM_NO_OFFSET,
                                      .message = "out of memory"});
        return;
    }
    for (size_t i = 0; i < w->items && !job->failed && !job->busy_error; i++) {
        if (!w->item[i].wanted || atomic_load(&w->run->stop))
            continue;
        if (w->ctx == NULL)
            w->ctx = fm_report_context(w->run);
        if (w->ctx == NULL || !make_like(w, &w->item[i]))
            break;
    }
    job->results = job->failed ? 1 : w->items;
    job->made = FM_MIN(job->made, job->results);
    job->reused = job->made == 0 && !job->busy_error;
}

static void tell(struct fm_report_run *run)
{
    struct fm_report_count count = {
        .files = run->jobs, .bytes = run->bytes, .done = atomic_load(&run->done),
        .reused = atomic_load(&run->reused), .damaged = atomic_load(&run->damaged),
        .failed = atomic_load(&run->failed), .results = atomic_load(&run->results),
        .made = atomic_load(&run->made), .bytes_done = atomic_load(&run->bytes_done),
    };

    if (run->options->progress == NULL || atomic_flag_test_and_set(&run->telling))
        return;
    if (!run->options->progress(run->options->user, &count)) {
        atomic_store(&run->cancelled, true);
        atomic_store(&run->stop, true);
    }
    atomic_flag_clear(&run->telling);
}

void fm_report_do(void *user, size_t i)
{
    struct fm_report_run *run = user;
    struct work w = {.run = run, .job = &run->job[i]};

    if (atomic_load(&run->stop))
        return;
    fm_arena_init(&w.arena, &run->ctx->mem);
    do_file(&w);
    fm_arena_release(&w.arena);
    fm_ctx_free(w.ctx);
    w.job->failed |= w.job->busy_error;
    atomic_fetch_add(&run->done, 1);
    atomic_fetch_add(&run->reused, w.job->reused);
    atomic_fetch_add(&run->damaged, w.job->damaged);
    atomic_fetch_add(&run->failed, w.job->failed);
    atomic_fetch_add(&run->results, w.job->results);
    atomic_fetch_add(&run->made, w.job->made);
    atomic_fetch_add(&run->bytes_done, w.job->size);
    if (run->options->strict && (w.job->damaged || (w.job->failed && w.job->given)))
        atomic_store(&run->stop, true);
    tell(run);
}
