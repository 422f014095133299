/*
 * test_golden.c - SVG flame graphs against the rectangles of flamegraph.pl.
 *
 * ../shared/data/folded/golden/INDEX.tsv lists option sets; each NAME.tsv has one line a frame:
 * x, y, width, height, fill, text place, tooltip and label. The folded input goes through importer,
 * store and exporter with `compat`; every frame must agree in every figure. Without the data the
 * test is skipped. Where flamegraph.pl does not draw a function twice under one caller and nothing
 * is a differential, the default layout must give the same frames.
 */
#include "small.h"

#include "export/export.h"
#include "export/palette.h"
#include "import/import.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct fm_ctx *ctx;
static char base[4096];

/* Drawn otherwise by default: functions with two boxes, stacks that are rewritten, time; and a
 * factor's shares of rounded weights. */
static const char *const only_compat[] = {"sort-split", "separators", "chain", "diff", "flamechart",
                                          "nameattr", "vertx-reverse", "factor"};

/* ----------------------------------------------------------------- import */

static struct fm_store *import(const char *path)
{
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    struct fm_error err = {0};
    bool usable = false;
    struct fm_import_options options = FM_INIT(options);
    options.format = "folded";
    ck_assert_int_eq(fm_builder_new(ctx, &builder, &err), FM_OK);
    ck_assert_msg(fm_input_open(ctx, path, &input, &err) == FM_OK, "%s", err.message);
    ck_assert_msg(fm_import_input(ctx, input, &options, builder, &usable, &err) == FM_OK, "%s",
                  err.message);
    fm_input_free(input);
    ck_assert_int_eq(fm_builder_seal(builder, NULL, &store, &err), FM_OK);
    return store;
}

/* ------------------------------------------------------------------ lines */

struct lines {
    char **line;
    size_t n;
};

static void add(struct lines *l, const char *s)
{
    l->line = realloc(l->line, (l->n + 1) * sizeof *l->line);
    l->line[l->n++] = strdup(s);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct lines *l)
{
    if (l->n > 0)
        qsort(l->line, l->n, sizeof *l->line, by_text);
}

static void release(struct lines *l)
{
    while (l->n > 0)
        free(l->line[--l->n]);
    free(l->line);
}

/* Resolves XML entities in place. */
static void resolve(char *s)
{
    static const char *const entity[][2] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}};
    char *out = s;
    size_t k;
    while (*s != '\0') {
        for (k = 0; k < FM_COUNT(entity); k++) {
            if (strncmp(s, entity[k][0], strlen(entity[k][0])) == 0)
                break;
        }
        *out++ = k < FM_COUNT(entity) ? entity[k][1][0] : *s;
        s += k < FM_COUNT(entity) ? strlen(entity[k][0]) : 1;
    }
    *out = '\0';
}

/* What stands between `from` and `to` after *p; *p moves behind it. */
static char *between(const char **p, const char *end, const char *from, const char *to)
{
    const char *a = strstr(*p, from);
    char *text;
    if (a == NULL || a >= end)
        return calloc(1, 1);
    a += strlen(from);
    *p = strstr(a, to);
    text = strndup(a, (size_t)(*p - a));
    resolve(text);
    return text;
}

/* The frames of our SVG in the golden files' form. The root's label "all" is ours. */
static void read_svg(const char *svg, struct lines *l)
{
    const char *p = strstr(svg, "<g id=\"frames\">");
    while (p != NULL && (p = strstr(p, " data-x=")) != NULL) {
        const char *end = p[-1] == 'a' ? strstr(p, "</a>") : strstr(p, "</g>");
        char *title = between(&p, end, "<title>", "</title>");
        char *x = between(&p, end, "<rect x=\"", "\""), *y = between(&p, end, "y=\"", "\"");
        char *w = between(&p, end, "width=\"", "\""), *h = between(&p, end, "height=\"", "\"");
        char *fill = between(&p, end, "fill=\"", "\"");
        char *tx = between(&p, end, "<text x=\"", "\"");
        char *ty = between(&p, tx[0] ? end : p, "y=\"", "\"");
        char *text = between(&p, tx[0] ? end : p, ">", "</text>");
        char line[8192];
        bool root = strncmp(title, "all (", 5) == 0;
        if (text[0] == '\0' || root)
            tx[0] = ty[0] = text[0] = '\0';
        snprintf(line, sizeof line, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", x, y, w, h, fill, tx,
                 ty, title, text);
        add(l, line);
        free(title), free(x), free(y), free(w), free(h), free(fill), free(tx), free(ty), free(text);
        p = end;
    }
}

/* A golden file; frames without a label have a text place of their own there: not compared. */
static void read_golden(const char *name, struct lines *l, char *head, size_t head_size)
{
    char path[4500], line[8192];
    FILE *f;
    snprintf(path, sizeof path, "%s/golden/%s.tsv", base, name);
    f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    while (fgets(line, sizeof line, f) != NULL) {
        size_t n = strcspn(line, "\n"), k;
        char *field[9];
        line[n] = '\0';
        if (strncmp(line, "#svg", 4) == 0)
            snprintf(head, head_size, "%.*s", (int)head_size - 1, line);
        if (line[0] == '#')
            continue;
        field[0] = line;
        for (k = 1; k < 9; k++) {
            field[k] = strchr(field[k - 1], '\t');
            ck_assert_ptr_nonnull(field[k]);
            *field[k]++ = '\0';
        }
        {
            char out[8192];
            int length;
            bool bare = field[8][0] == '\0';
            resolve(field[7]);
            resolve(field[8]);
            length = snprintf(out, sizeof out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", field[0],
                              field[1], field[2], field[3], field[4], bare ? "" : field[5],
                              bare ? "" : field[6], field[7], field[8]);
            ck_assert(length > 0 && (size_t)length < sizeof out);
            add(l, out);
        }
    }
    fclose(f);
}

/* --------------------------------------------------------------- settings */

struct plan {
    char name[128], input[256];
    char set[16][4500];
    const char *sets[16];
    size_t n;
    char title[64];
};

/* Options of flamegraph.pl as ours; false: one that we do not have. */
static bool translate(struct plan *p, char *options)
{
    char *save = NULL, *word = strtok_r(options, " \n", &save);
    strcpy(p->title, "Flame Graph");
    p->n = 0;
    for (; word != NULL; word = strtok_r(NULL, " \n", &save)) {
        static const char *const flag[] = {"--hash", "--inverted", "--reverse", "--flamechart",
                                           "--negate"};
        static const char *const valued[] = {"--colors", "--width", "--height", "--fontsize",
                                             "--fontwidth", "--minwidth", "--bgcolors",
                                             "--subtitle", "--total", "--factor", "--countname"};
        size_t k;
        if (strcmp(word, "--title") == 0) {
            snprintf(p->title, sizeof p->title, "%s", strtok_r(NULL, " \n", &save));
            continue;
        }
        if (strcmp(word, "--nameattr") == 0) {
            snprintf(p->set[p->n++], sizeof p->set[0], "nameattr=%s/%s", base,
                     strtok_r(NULL, " \n", &save));
            continue;
        }
        for (k = 0; k < FM_COUNT(flag) && strcmp(word, flag[k]) != 0; k++)
            ;
        if (k < FM_COUNT(flag)) {
            snprintf(p->set[p->n++], sizeof p->set[0], "%s", word + 2);
            continue;
        }
        for (k = 0; k < FM_COUNT(valued) && strcmp(word, valued[k]) != 0; k++)
            ;
        if (k == FM_COUNT(valued))
            return false;
        snprintf(p->set[p->n++], sizeof p->set[0], "%s=%s", word + 2, strtok_r(NULL, " \n", &save));
    }
    return true;
}

static bool find_input(struct plan *p, char *path, size_t n)
{
    static const char *const folder[] = {"flamegraph/results", "edge", "golden"};
    size_t i;
    for (i = 0; i < FM_COUNT(folder); i++) {
        snprintf(path, n, "%s/%s/%s", base, folder[i], p->input);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static void compare(struct plan *p, bool compat)
{
    struct fm_export_options options = FM_INIT(options);
    struct fm_error err = {0};
    struct small_text text = {0};
    struct fm_sink sink = {small_write, &text};
    struct lines ours = {0}, theirs = {0};
    char path[4500], head[512] = "", want[256];
    char *svg;
    struct fm_store *store;
    size_t i;
    ck_assert_msg(find_input(p, path, sizeof path), "no input %s", p->input);
    store = import(path);
    for (i = 0; i < p->n; i++)
        p->sets[i] = p->set[i];
    if (compat)
        p->sets[p->n] = "compat";
    options.set = p->sets;
    options.sets = p->n + compat;
    options.title = p->title;
    ck_assert_msg(fm_export(ctx, store, "svg", NULL, &options, &sink, &err) == FM_OK, "%s: %s",
                  p->name, err.message);
    svg = text.s;
    read_svg(svg, &ours);
    read_golden(p->name, &theirs, head, sizeof head);
    sort(&ours);
    sort(&theirs);
    for (i = 0; i < FM_MIN(ours.n, theirs.n); i++)
        ck_assert_msg(strcmp(ours.line[i], theirs.line[i]) == 0, "%s:\nours   %s\ntheirs %s",
                      p->name, ours.line[i], theirs.line[i]);
    ck_assert_msg(ours.n == theirs.n, "%s: %zu frames, want %zu", p->name, ours.n, theirs.n);
    for (i = 0; i < 2; i++) { /* width and height of the picture */
        char *at = strstr(head, i == 0 ? "width=" : "height=");
        snprintf(want, sizeof want, " %s=\"%.*s\"", i == 0 ? "width" : "height",
                 (int)strcspn(at + 6 + i, "\t"), at + 6 + i);
        ck_assert_msg(strstr(svg, want) != NULL, "%s: no%s", p->name, want);
    }
    release(&ours);
    release(&theirs);
    free(svg);
    fm_store_free(store);
}

START_TEST(rectangles_equal_flamegraph)
{
    char path[4500], line[1024];
    unsigned done = 0, alike = 0;
    FILE *f;
    snprintf(path, sizeof path, "%s/golden/INDEX.tsv", base);
    f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) != NULL) {
        struct plan p;
        char *tab = strchr(line, '\t'), *options;
        bool common = true;
        if (line[0] == '#' || tab == NULL)
            continue;
        options = strchr(tab + 1, '\t');
        *tab = *options++ = '\0';
        snprintf(p.name, sizeof p.name, "%.*s", (int)sizeof p.name - 1, line);
        snprintf(p.input, sizeof p.input, "%.*s", (int)sizeof p.input - 1, tab + 1);
        p.input[strcspn(p.input, "\t")] = '\0';
        ck_assert_msg(translate(&p, options), "%s: an option that is not known", p.name);
        compare(&p, true);
        done++;
        for (size_t i = 0; i < FM_COUNT(only_compat); i++)
            common = common && strstr(p.name, only_compat[i]) == NULL;
        if (common) {
            compare(&p, false);
            alike++;
        }
    }
    fclose(f);
    ck_assert_uint_eq(done, 62);
    ck_assert_uint_ge(alike, 46);
}
END_TEST

/* x, width, colour and label of a golden line, or of ours in the same form. */
static void cut(const char *line, char *out, size_t n)
{
    char x[64], w[64], fill[64];
    ck_assert_int_eq(sscanf(line, "%63[^\t]\t%*[^\t]\t%63[^\t]\t%*[^\t]\t%63[^\t]", x, w, fill), 3);
    snprintf(out, n, "%s\t%s\t%s\t%s", x, w, fill, strrchr(line, '\t') + 1);
}

START_TEST(differentials_equal_flamegraph)
{
    static const struct {
        const char *golden, *input, *set;
        size_t frames;               /* one more than theirs: flamegraph.pl loses main;0xcafe;x */
    } one[] = {
        {"diff", "difffolded.txt", "negate=no", 8},
        {"diff-n", "difffolded-n.txt", "negate=no", 8},
        {"diff-negate", "difffolded-swapped.txt", "negate=yes", 8},
        {"diff-reverse", "difffolded.txt", "reverse=yes", 0},
    };
    for (size_t i = 0; i < FM_COUNT(one); i++) {
        struct fm_export_options options = FM_INIT(options);
        struct fm_error err = {0};
        struct small_text text = {0};
        struct fm_sink sink = {small_write, &text};
        struct lines ours = {0}, theirs = {0};
        char path[4500], head[512], a[1024], b[1024];
        struct fm_store *store;
        snprintf(path, sizeof path, "%s/golden/%s", base, one[i].input);
        store = import(path);
        options.set = &one[i].set;
        options.sets = 1;
        ck_assert_msg(fm_export(ctx, store, "svg", NULL, &options, &sink, &err) == FM_OK, "%s",
                      err.message);
        read_svg(text.s, &ours);
        read_golden(one[i].golden, &theirs, head, sizeof head);
        for (size_t k = 0; k < theirs.n; k++) {
            bool found = false;
            cut(theirs.line[k], a, sizeof a);
            for (size_t m = 0; m < ours.n && !found; m++) {
                cut(ours.line[m], b, sizeof b);
                found = strcmp(a, b) == 0;
            }
            ck_assert_msg(found, "%s: no %s", one[i].golden, a);
        }
        ck_assert_msg(one[i].frames == 0 || ours.n == one[i].frames, "%zu", ours.n);
        release(&ours);
        release(&theirs);
        free(text.s);
        fm_store_free(store);
    }
}
END_TEST

START_TEST(colours_equal_flamegraph)
{
    static const char *const palette[] = {"hot", "mem", "io", "java", "js", "perl", "wakeup",
                                          "chain", "red", "green", "blue", "yellow", "purple",
                                          "aqua", "orange"};
    unsigned hash, done = 0;
    for (hash = 0; hash < 2; hash++) {
        char path[4500], line[4096];
        FILE *f;
        snprintf(path, sizeof path, "%s/golden/colours-%s.tsv", base, hash ? "hash" : "default");
        f = fopen(path, "r");
        ck_assert_ptr_nonnull(f);
        while (fgets(line, sizeof line, f) != NULL) {
            char *field = line + strcspn(line, "\t");
            size_t n = (size_t)(field - line), k;
            if (line[0] == '#' && strncmp(line, "#name\t", 6) == 0)
                continue;
            for (k = 0; k < 3; k++)
                field += 1 + strcspn(field + 1, "\t");
            for (k = 0; k < FM_COUNT(palette); k++) {
                unsigned rgb[3];
                char want[64];
                fm_palette_color(fm_palette_find(palette[k]), hash, line, n, rgb);
                snprintf(want, sizeof want, "\trgb(%u,%u,%u)", rgb[0], rgb[1], rgb[2]);
                ck_assert_msg(strncmp(field, want, strlen(want)) == 0, "%.*s %s: %s not %.20s",
                              (int)n, line, palette[k], want, field);
                field += 1 + strcspn(field + 1, "\t\n");
                done++;
            }
        }
        fclose(f);
    }
    ck_assert_uint_gt(done, 7000);
}
END_TEST

int main(void)
{
    const char *top = getenv("top_srcdir");
    TCase *t;
    Suite *s;
    SRunner *r;
    int failed;

    snprintf(base, sizeof base, "%s/../shared/data/folded", top != NULL ? top : "..");
    if (access(base, R_OK) != 0) {
        printf("no %s\n", base);
        return 77;
    }
    if (getenv("FM_SHORT") != NULL) {
        printf("FM_SHORT: values are another run's\n");
        return 77;
    }
    ctx = fm_ctx_new();
    s = suite_create("golden");
    t = tcase_create("golden");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, colours_equal_flamegraph);
    tcase_add_test(t, rectangles_equal_flamegraph);
    tcase_add_test(t, differentials_equal_flamegraph);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    fm_ctx_free(ctx);
    return failed == 0 ? 0 : 1;
}
