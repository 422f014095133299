/*
 * test_symbol_data.c - every name that perf printed for the recordings of ../shared/data/perf.
 *
 *     rec/NAME/script.txt.gz        perf 6.1: file-relative user addresses, callers looked up at
 *                                   the return address, names without parameters
 *     rec/NAME/script-612.txt.gz    perf 6.12: names with parameters, absolute user addresses; its
 *                                   samples stand in the same order, so the addresses are taken
 *                                   from the first
 *
 * The frames of a recording's call chains become frames of a store, as the importer would make
 * them; the store is named and compared with perf's column. Where perf is wrong (§26 of the
 * reference) the difference is listed in tests/data/symbol-exceptions.txt; an entry that does not
 * occur fails as well. tests/data/symbol-callers.txt lists what the usual lookup (address - 1)
 * changes, as judged by addr2line.
 */
#include "input/input.h"
#include "store/build.h"
#include "symbol/symbol.h"
#include "util/text.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SLURP_MAX (64u << 20)

static struct fm_ctx *ctx;
static char folder[512], symfs[544], kallsyms[64];

static void setup(void)
{
    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

/* ------------------------------------------------------------ perf's text */

struct line {
    uint64_t ip;
    const char *name, *dso;
    size_t name_n, dso_n;
};

struct text {
    char *data;
    size_t n;
    const char *p;
};

static bool text_open(struct text *t, const char *rec, const char *file)
{
    char path[1100];

    snprintf(path, sizeof path, "%s/rec/%s/%s", folder, rec, file);
    memset(t, 0, sizeof *t);
    if (access(path, R_OK) != 0)
        return false;
    ck_assert_int_eq(fm_input_slurp(ctx, path, SLURP_MAX, &t->data, &t->n, NULL), FM_OK);
    t->p = t->data;
    return true;
}

static void text_close(struct text *t)
{
    fm_mem_free(&ctx->mem, t->data, t->n + 1);
}

/* The last " (/", " ([" or " (//" of a frame's line opens the dso. */
static const char *find_dso(const char *p, const char *end)
{
    for (const char *q = end - 3; q > p; q--) {
        if (q[0] == ' ' && q[1] == '(' && (q[2] == '/' || q[2] == '['))
            return q;
    }
    return NULL;
}

/* The next frame of the sample, or false at its end (the empty line is left behind). */
static bool next_frame(struct text *t, struct line *line)
{
    const char *p = t->p, *end = memchr(p, '\n', (size_t)(t->data + t->n - p)), *q, *dso;

    if (end == NULL || *p != '\t')
        return false;
    t->p = end + 1;
    while (*p == ' ' || *p == '\t')
        p++;
    for (q = p; *q != ' '; q++)
        ;
    dso = find_dso(q, end);
    ck_assert_msg(dso != NULL && fm_text_hex(p, (size_t)(q - p), &line->ip), "%.*s",
                  (int)(end - p), p);
    line->name = q + 1;
    line->name_n = (size_t)(dso - line->name);
    line->dso = dso + 2;
    line->dso_n = (size_t)(end - 1 - line->dso);
    return true;
}

/* Moves to the first frame of the next sample. */
static bool next_sample(struct text *t)
{
    const char *end;

    do {
        end = memchr(t->p, '\n', (size_t)(t->data + t->n - t->p));
        if (end == NULL)
            return false;
        t->p = end + 1;
    } while (*t->p != '\t');
    return true;
}

/* -------------------------------------------------------------- expectations */

struct want {
    fm_frame frame;
    fm_module module;
    uint64_t ip;
    char *name;
};

struct world {
    struct fm_builder *builder;
    struct fm_map seen;           /* (frame, name) met already */
    struct want *want;
    size_t wants, want_cap;
};

static bool has_prefix(const char *s, size_t n, const char *prefix)
{
    size_t k = strlen(prefix);
    return n >= k && memcmp(s, prefix, k) == 0;
}

static fm_module module_of(struct fm_builder *b, const struct line *line)
{
    struct fm_module_row row = { .kind = FM_MODULE_USER, .pid = -1 };
    uint64_t pid;

    if (has_prefix(line->dso, line->dso_n, "[kernel.kallsyms]"))
        row.kind = FM_MODULE_KERNEL;
    else if (has_prefix(line->dso, line->dso_n, "[vdso]"))
        row.kind = FM_MODULE_VDSO;
    if (has_prefix(line->dso, line->dso_n, "/tmp/perf-") &&
        fm_text_u64(line->dso + 10, line->dso_n - 14, &pid)) {
        row.kind = FM_MODULE_JIT;
        row.pid = (int64_t)pid;
    }
    row.path = fm_builder_str(b, line->dso, line->dso_n);
    return fm_builder_module(b, &row);
}

static void expect(struct world *w, const struct line *at, const struct line *named)
{
    struct fm_frame_row f = { .module = module_of(w->builder, at), .address = at->ip,
                              .kind = FM_FRAME_USER, .caller = true };
    fm_str name = fm_builder_str(w->builder, named->name, named->name_n);
    struct want *want;
    bool fresh;

    f.caller = true;
    f.address = at->ip;
    ck_assert(fm_grow(&ctx->mem, (void **)&w->want, &w->want_cap, w->wants + 1, sizeof *want));
    want = &w->want[w->wants];
    want->frame = fm_builder_frame(w->builder, &f);
    want->module = f.module;
    want->ip = at->ip;
    ck_assert_ptr_nonnull(fm_map_put(&w->seen, (uint64_t)want->frame << 32 | name, &fresh));
    if (!fresh)
        return;
    want->name = strndup(named->name, named->name_n);
    w->wants++;
}

static bool is_kernel(const struct line *line)
{
    return line->dso_n == 17 && memcmp(line->dso, "[kernel.kallsyms]", 17) == 0;
}

/* Frames of script.txt: all, or only those of the kernel. */
static void expect_script(struct world *w, struct text *t, bool kernel_only)
{
    struct line line;

    while (next_sample(t)) {
        while (next_frame(t, &line)) {
            if (memcmp(line.dso, "[unknown]", 9) != 0 && (!kernel_only || is_kernel(&line)))
                expect(w, &line, &line);
        }
    }
}

/* Names of script-612.txt at the addresses of script.txt, where the stacks are the same. */
static void expect_612(struct world *w, struct text *t, struct text *t612)
{
    enum { DEPTH = 256 };
    static struct line a[DEPTH], b[DEPTH];

    while (next_sample(t) && next_sample(t612)) {
        size_t n = 0, m = 0;
        struct line line;
        while (next_frame(t, &line))
            a[n < DEPTH ? n++ : n - 1] = line;
        while (next_frame(t612, &line))
            b[m < DEPTH ? m++ : m - 1] = line;
        for (size_t i = 0; i < n && n == m; i++) {
            if (memcmp(a[i].dso, "[unknown]", 9) != 0 && a[i].dso_n == b[i].dso_n &&
                memcmp(a[i].dso, b[i].dso, a[i].dso_n) == 0)
                expect(w, &a[i], &b[i]);
        }
    }
}

/* -------------------------------------------------------------- exceptions */

/* Lines "style TAB dso TAB address TAB perf's name TAB ours TAB reason" */
static struct exception {
    char style[8], dso[128], ours[256], perf[256];
    uint64_t ip;
    bool used;
} exception[256];
static size_t exceptions;

static size_t field(const char **p, char *out, size_t max)
{
    size_t n = strcspn(*p, "\t\n");

    ck_assert_uint_lt(n, max);
    memcpy(out, *p, n);
    out[n] = '\0';
    *p += n + ((*p)[n] == '\t');
    return n;
}

static void read_exceptions(void)
{
    const char *top = getenv("top_srcdir");
    char path[600], line[2048], ip[32], reason[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/tests/data/symbol-exceptions.txt", top != NULL ? top : ".");
    f = fopen(path, "r");
    ck_assert_msg(f != NULL, "cannot open %s", path);
    exceptions = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        struct exception *e = &exception[exceptions];
        const char *p = line;
        if (line[0] == '#' || line[0] == '\n')
            continue;
        ck_assert_uint_lt(exceptions, FM_COUNT(exception));
        memset(e, 0, sizeof *e);
        field(&p, e->style, sizeof e->style);
        field(&p, e->dso, sizeof e->dso);
        ck_assert(fm_text_hex(ip, field(&p, ip, sizeof ip), &e->ip));
        field(&p, e->perf, sizeof e->perf);
        field(&p, e->ours, sizeof e->ours);
        ck_assert_uint_gt(field(&p, reason, sizeof reason), 0);
        exceptions++;
    }
    fclose(f);
}

static bool is_exception(const char *style, const char *dso, uint64_t ip, const char *perf,
                         const char *ours)
{
    for (size_t i = 0; i < exceptions; i++) {
        struct exception *e = &exception[i];
        if (e->ip == ip && strcmp(e->style, style) == 0 && strcmp(e->dso, dso) == 0 &&
            strcmp(e->perf, perf) == 0 && strcmp(e->ours, ours) == 0) {
            e->used = true;
            return true;
        }
    }
    return false;
}

static void all_used(const char *style)
{
    for (size_t i = 0; i < exceptions; i++)
        ck_assert_msg(strcmp(exception[i].style, style) != 0 || exception[i].used,
                      "the exception %s %s 0x%llx does not occur", style, exception[i].dso,
                      (unsigned long long)exception[i].ip);
}

/* --------------------------------------------------------------- comparing */

static void world_init(struct world *w)
{
    memset(w, 0, sizeof *w);
    ck_assert_int_eq(fm_builder_new(ctx, &w->builder, NULL), FM_OK);
    fm_builder_source(w->builder, "perf.data", "perf");
    fm_map_init(&w->seen, &ctx->mem);
}

/* Seals, names, compares; returns how many differ without being listed. */
static size_t world_check(struct world *w, const char *rec, const char *style, size_t *total)
{
    struct fm_symbol_options o = { .symfs = symfs, .buildid_dir = "", .kallsyms = kallsyms,
                                   .callers_exact = true };
    struct fm_store *store;
    size_t wrong = 0;
    char maps[1024];

    ck_assert(fm_demangle_find(style, &o.demangle));
    snprintf(maps, sizeof maps, "%s/rec/%s/tmp", folder, rec);
    o.map_dir = maps;
    ck_assert_int_eq(fm_builder_seal(w->builder, NULL, &store, NULL), FM_OK);
    ck_assert_int_eq(fm_symbolize(ctx, store, &o, NULL), FM_OK);
    for (size_t i = 0; i < w->wants; i++) {
        const struct want *want = &w->want[i];
        const struct fm_frame_row *f = fm_store_frame_row(store, want->frame);
        const struct fm_module_row *m = fm_store_module_row(store, want->module);
        /* perf prints what a JIT wrote as it is */
        const bool jit = m->kind == FM_MODULE_JIT && f->raw != 0;
        const char *got = fm_store_str(store, jit ? f->raw : f->function, NULL);
        const char *dso = fm_store_str(store, m->path, NULL);
        if (got[0] == '\0')
            got = "[unknown]";
        if (strcmp(got, want->name) != 0 && !is_exception(style, dso, want->ip, want->name, got)) {
            if (wrong++ < 100)
                printf("# %s %s\t%s\t%llx\t%s\t%s\n", rec, style, dso,
                       (unsigned long long)want->ip, want->name, got);
        }
        free(want->name);
    }
    *total += w->wants;
    fm_mem_free(&ctx->mem, w->want, w->want_cap * sizeof *w->want);
    fm_map_release(&w->seen);
    fm_store_free(store);
    return wrong;
}

static void all_recordings(bool full)
{
    size_t total = 0, wrong = 0, recordings = 0;
    struct dirent *entry;
    char path[600];
    DIR *dir;

    read_exceptions();
    snprintf(path, sizeof path, "%s/rec", folder);
    dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)) != NULL) {
        const bool v612 = strncmp(entry->d_name, "v612", 4) == 0;
        struct text t, t612;
        struct world w;
        if (entry->d_name[0] == '.' || !text_open(&t, entry->d_name, "script.txt.gz"))
            continue;
        if (full && !text_open(&t612, entry->d_name, "script-612.txt.gz")) {
            text_close(&t);
            continue;
        }
        world_init(&w);
        if (full)
            expect_612(&w, &t, &t612);
        else
            expect_script(&w, &t, v612);
        wrong += world_check(&w, entry->d_name, full ? "full" : "short", &total);
        recordings++;
        text_close(&t);
        if (full)
            text_close(&t612);
    }
    closedir(dir);
    printf("# %zu recordings, %zu names, %zu differ\n", recordings, total, wrong);
    ck_assert_uint_gt(total, 1000);
    ck_assert_uint_eq(wrong, 0);
    all_used(full ? "full" : "short");
}

START_TEST(names_of_perf_6_1)
{
    all_recordings(false);
}
END_TEST

START_TEST(names_of_perf_6_12)
{
    all_recordings(true);
}
END_TEST

/* Lines "dso TAB address TAB name at the address TAB name before it" */
START_TEST(callers_as_addr2line_names_them)
{
    const char *top = getenv("top_srcdir");
    struct fm_symbol_options o = { .symfs = symfs, .buildid_dir = "" };
    char path[600], line[2048];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/tests/data/symbol-callers.txt", top != NULL ? top : ".");
    f = fopen(path, "r");
    ck_assert_msg(f != NULL, "cannot open %s", path);
    while (fgets(line, sizeof line, f) != NULL) {
        char dso[256], ip[32], name[2][512];
        const char *p = line;
        uint64_t address;
        if (line[0] == '#')
            continue;
        field(&p, dso, sizeof dso);
        ck_assert(fm_text_hex(ip, field(&p, ip, sizeof ip), &address));
        field(&p, name[0], sizeof name[0]);
        field(&p, name[1], sizeof name[1]);
        for (int k = 0; k < 2; k++) {
            struct fm_module_row m = { .kind = FM_MODULE_USER, .pid = -1 };
            struct fm_frame_row row = { .address = address, .kind = FM_FRAME_USER,
                                        .caller = true };
            struct fm_builder *b;
            struct fm_store *store;
            fm_frame frame;
            ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
            m.source = fm_builder_source(b, "perf.data", "perf");
            m.path = fm_builder_str(b, dso, strlen(dso));
            row.module = fm_builder_module(b, &m);
            frame = fm_builder_frame(b, &row);
            ck_assert_int_eq(fm_builder_seal(b, NULL, &store, NULL), FM_OK);
            o.callers_exact = k == 0;
            ck_assert_int_eq(fm_symbolize(ctx, store, &o, NULL), FM_OK);
            ck_assert_str_eq(fm_store_str(store, fm_store_frame_row(store, frame)->function, NULL),
                             name[k]);
            fm_store_free(store);
        }
        n++;
    }
    fclose(f);
    ck_assert_uint_ge(n, 5);
}
END_TEST

/* The kernel's list once unpacked, not for each recording. */
static bool prepare(void)
{
    const char *top = getenv("top_srcdir");
    struct fm_ctx *own;
    char path[600];
    char *text;
    size_t n;
    FILE *f;
    int fd;

    snprintf(folder, sizeof folder, "%s/../shared/data/perf", top != NULL ? top : ".");
    snprintf(symfs, sizeof symfs, "%s/sysroot", folder);
    snprintf(path, sizeof path, "%s/kallsyms.gz", folder);
    if (access(path, R_OK) != 0)
        return false;
    own = fm_ctx_new();
    if (own == NULL || fm_input_slurp(own, path, SLURP_MAX, &text, &n, NULL) != FM_OK)
        return false;
    snprintf(kallsyms, sizeof kallsyms, "/tmp/foldmill-kallsyms-XXXXXX");
    fd = mkstemp(kallsyms);
    f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL || fwrite(text, 1, n, f) != n || fclose(f) != 0)
        return false;
    fm_mem_free(&own->mem, text, n + 1);
    fm_ctx_free(own);
    return true;
}

int main(void)
{
    TCase *t;
    Suite *s;
    SRunner *r;
    int failed;

    if (!prepare()) {
        printf("../shared/data/perf is not here\n");
        return 77;
    }
    s = suite_create("symbol-data");
    t = tcase_create("symbol-data");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, names_of_perf_6_1);
    tcase_add_test(t, names_of_perf_6_12);
    tcase_add_test(t, callers_as_addr2line_names_them);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    unlink(kallsyms);
    return failed == 0 ? 0 : 1;
}
