/*
 * Edits of stacks against brute force: the samples of thousands of small random stores are edited
 * one by one as lists of frames, here, without a tree; the engine must give the same groups. Frames
 * have modules, files, lines and inline flags, stacks recur, rows link to rows and stacks. Below
 * are cases worked out by hand.
 */
#include "query_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 24
#define FRAMES 10
#define DEPTH 8
#define DEEPEST 80
#define NAME 512
#define GROUPS 2048

struct frame {
    char name[NAME];
    char module[8], file[8];
    int line;
    bool inlined;
};

struct sample {
    struct frame f[DEEPEST];      /* root first */
    int n;
    int weight, count, thread, cpu, class;   /* -1: none */
    int link;                     /* row or, from ROWS on, stack of row - ROWS; -1: none */
    bool gone;
};

static struct fm_ctx *ctx;
static struct frame frame[FRAMES];
static struct sample raw[ROWS], now[ROWS];
static int rows;
static uint64_t seed;

static uint32_t roll(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % n;
}

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

/* ------------------------------------------------------------ random stores */

static void random_samples(void)
{
    for (int i = 0; i < FRAMES; i++) {
        struct frame *f = &frame[i];
        memset(f, 0, sizeof *f);
        snprintf(f->name, NAME, "%c%u", 'a' + (char)roll(4), roll(3));
        if (roll(4) > 0)
            snprintf(f->module, sizeof f->module, "m%u", roll(2));
        if (roll(4) > 0)
            snprintf(f->file, sizeof f->file, "f%u.c", roll(2));
        f->line = (int)roll(3);
        f->inlined = roll(3) == 0;
    }
    rows = 1 + (int)roll(ROWS);
    for (int r = 0; r < rows; r++) {
        struct sample *s = &raw[r];
        memset(s, 0, sizeof *s);
        s->n = roll(12) == 0 ? 0 : 1 + (int)roll(DEPTH);
        for (int i = 0; i < s->n; i++)
            s->f[i] = i > 0 && roll(3) == 0 ? s->f[roll((uint32_t)i)]
                                            : frame[roll(3 + (uint32_t)roll(FRAMES - 3))];
        s->weight = (int)roll(100);
        s->count = roll(4) == 0 ? (int)roll(5) : 1;
        s->thread = (int)roll(4) - 1;
        s->cpu = (int)roll(4) - 1;
        s->class = (int)roll(3) - 1;
        s->link = roll(2) == 0 ? -1 : (int)roll((uint32_t)rows) + (roll(4) == 0 ? ROWS : 0);
    }
}

static fm_frame make_frame(struct fm_builder *b, const struct frame *f)
{
    struct fm_frame_row row = { .module = FM_NONE, .address = UINT64_MAX, .kind = FM_FRAME_USER,
                                .inlined = f->inlined, .line = (uint32_t)f->line };
    struct fm_module_row module = { .kind = FM_MODULE_NAMED, .pid = -1 };

    row.function = fm_builder_str(b, f->name, strlen(f->name));
    row.file = fm_builder_str(b, f->file, strlen(f->file));
    module.path = fm_builder_str(b, f->module, strlen(f->module));
    if (f->module[0] != '\0')
        row.module = fm_builder_module(b, &module);
    return fm_builder_frame(b, &row);
}

static struct fm_store *random_store(uint64_t s)
{
    struct fm_builder *b;
    uint32_t event;
    fm_column class;
    fm_node node[ROWS];

    seed = s * 0x9e3779b97f4a7c15u + 1;
    random_samples();
    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "test", "random");
    event = fm_builder_event(b, "cpu", "ns", FM_KIND_SAMPLE);
    class = fm_builder_label(b, "class", FM_TYPE_STRING, false);
    for (int r = 0; r < rows; r++) {
        const struct sample *k = &raw[r];
        char name[16];
        node[r] = FM_NODE_ROOT;
        for (int i = 0; i < k->n; i++)
            node[r] = fm_builder_node(b, node[r], make_frame(b, &k->f[i]));
        fm_account_in(b, (uint64_t)k->count);
        fm_row_begin(b, event);
        fm_row_set(b, FM_COL_WEIGHT, (uint64_t)k->weight);
        fm_row_set(b, FM_COL_COUNT, (uint64_t)k->count);
        if (k->n > 0)
            fm_row_set(b, FM_COL_STACK, node[r]);
        if (k->thread >= 0) {
            fm_thread t = fm_builder_thread(b, 1, 10 + k->thread, 0);
            int len = snprintf(name, sizeof name, "T%d", k->thread);
            if (k->thread > 0)     /* T0 is a thread without a name */
                fm_builder_thread_name(b, t, INT64_MIN, fm_builder_str(b, name, (size_t)len));
            fm_row_set(b, FM_COL_THREAD, t);
        }
        if (k->cpu >= 0)
            fm_row_set(b, FM_COL_CPU, (uint64_t)k->cpu);
        if (k->class >= 0) {
            int len = snprintf(name, sizeof name, "C%d", k->class);
            fm_row_set(b, class, fm_builder_str(b, name, (size_t)len));
        }
        (void)fm_row_end(b);
    }
    for (int r = 0; r < rows; r++) {
        int to = raw[r].link % ROWS;
        if (raw[r].link >= ROWS && raw[to].n > 0)
            fm_builder_link(b, FM_LINK_WAKER, (uint64_t)r, FM_LINK_STACK, node[to]);
        else if (raw[r].link >= 0)
            fm_builder_link(b, FM_LINK_WAKER, (uint64_t)r, FM_LINK_ROW, (uint64_t)to);
    }
    return query_seal(b);
}

/* -------------------------------------------------------------- brute force */

enum op {
    KEEP, DROP, ROOT, LEAF, DIRECT, ALL, RUN, RENAME, LEVEL, INLINES, PREPEND, APPEND, LINK,
    INVERT, DEPTHS, WHERE, OPS
};

struct edit {
    enum op op;
    char letters[4];              /* frames whose names begin with one of them */
    bool inner, drop, below;
    int k;
    char yaml[256];
};

static bool matches(const struct edit *e, const struct frame *f)
{
    return e->letters[0] == '\0' || strchr(e->letters, f->name[0]) != NULL;
}

static void cut(struct sample *s, int from, int to)
{
    memmove(s->f, s->f + from, (size_t)(to - from) * sizeof *s->f);
    s->n = to - from;
}

static void insert(struct sample *s, int at, const char *name)
{
    ck_assert_int_lt(s->n, DEEPEST);
    memmove(s->f + at + 1, s->f + at, (size_t)(s->n - at) * sizeof *s->f);
    memset(&s->f[at], 0, sizeof *s->f);
    snprintf(s->f[at].name, NAME, "%s", name);
    s->n++;
}

static void filter(struct sample *s, const struct edit *e)
{
    int n = 0, old = s->n;

    for (int i = 0; i < s->n; i++) {
        if (matches(e, &s->f[i]) == (e->op == KEEP))
            s->f[n++] = s->f[i];
    }
    s->n = n;
    if (n > 0 || old == 0)
        return;
    if (e->drop)
        s->gone = true;
    else
        insert(s, 0, "[none]");
}

/* root, leaf */
static void cut_at(struct sample *s, const struct edit *e)
{
    int at = -1;

    for (int i = 0; i < s->n; i++) {
        if (matches(e, &s->f[i]) && (at < 0 || e->inner))
            at = i;
    }
    if (at < 0)
        s->gone = e->drop;
    else if (e->op == ROOT)
        cut(s, at, s->n);
    else
        cut(s, 0, at + 1);
}

static bool alike(const struct frame *a, const struct frame *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->module, b->module) == 0;
}

/* direct: neighbours; all: from the first to the last, from the root on. */
static void recursion(struct sample *s, const struct edit *e)
{
    int n = 0;

    for (int i = 0; i < s->n; n++) {
        struct frame first = s->f[i];
        int last = i;
        for (int k = i + 1; matches(e, &first) && k < s->n; k++) {
            if (alike(&first, &s->f[k]))
                last = k;
            else if (e->op == DIRECT)
                break;
        }
        s->f[n] = first;
        i = last + 1;
    }
    s->n = n;
}

static void run(struct sample *s, const struct edit *e)
{
    struct sample old = *s;

    s->n = 0;
    for (int i = 0; i < old.n; i++) {
        if (!matches(e, &old.f[i]))
            s->f[s->n++] = old.f[i];
        else if (i == 0 || !matches(e, &old.f[i - 1]))
            insert(s, s->n, "zrun");
    }
}

static const char *const renames[] = {
    "{match: '/^([ab])(.)/', to: '\\2\\1x'}",
    "{match: '/[0-9]/', to: '<\\0>'}",
    "{match: b*, to: grp}",
    "{match: {module: m0}, to: '\\0!\\\\'}",
    "{match: '/x*/', to: '-'}",
};

static void rename_frame(struct frame *f, int k)
{
    char old[NAME];
    size_t n = 0;

    memcpy(old, f->name, NAME);
    switch (k) {
    case 0:
        if ((old[0] == 'a' || old[0] == 'b') && old[1] != '\0')
            snprintf(f->name, NAME, "%c%cx%.*s", old[1], old[0], NAME - 8, old + 2);
        break;
    case 1:
        for (const char *c = old; *c != '\0'; c++)
            n += (size_t)snprintf(f->name + n, NAME - n, *c >= '0' && *c <= '9' ? "<%c>" : "%c",
                                  *c);
        break;
    case 2:
        if (old[0] == 'b')
            snprintf(f->name, NAME, "grp");
        break;
    case 3:
        if (strcmp(f->module, "m0") == 0)
            snprintf(f->name, NAME, "%.*s!\\", NAME - 8, old);
        break;
    default:
        for (const char *c = old; n < NAME - 4; c++) {
            f->name[n++] = '-';
            if (*c == 'x') {
                while (*c == 'x')
                    c++;
                f->name[n++] = '-';
            }
            if (*c == '\0')
                break;
            f->name[n++] = *c;
        }
        f->name[n] = '\0';
        break;
    }
}

static const char *const levels[] = { "function", "file", "line", "module" };

static void level(struct frame *f, int k)
{
    struct frame old = *f;         /* of its own: printing from f into f is no good */

    if (k == 1 && old.file[0] != '\0')
        snprintf(f->name, NAME, "%s", old.file);
    if (k == 3 && old.module[0] != '\0')
        snprintf(f->name, NAME, "%s", old.module);
    if (k == 2 && old.file[0] != '\0' && old.line > 0) {
        snprintf(f->name, NAME, "%.*s (%s:%d)", NAME - 32, old.name, old.file, old.line);
        return;
    }
    f->line = 0;
    if (k != 1)
        f->file[0] = '\0';
}

static void fold(struct sample *s)
{
    int n = 0;

    for (int i = 0; i < s->n; i++) {
        if (i == 0 || !s->f[i].inlined)
            s->f[n++] = s->f[i];
    }
    s->n = n;
}

static const char *const columns[] = { "thread", "[cpu, class]", "[leaf.module, thread]",
                                       "[{w: weight % 3}]" };

static void put(struct sample *s, int at, const char *name, const char *value)
{
    char text[64];

    if (value == NULL)
        snprintf(text, sizeof text, "[no %s]", name);
    else
        snprintf(text, sizeof text, "[%s: %s]", name, value);
    insert(s, at, text);
}

static void columns_around(struct sample *s, const struct edit *e)
{
    int at = e->op == PREPEND ? 0 : s->n;
    char cpu[8], class[8], thread[8], w[8], module[8] = "";

    snprintf(cpu, sizeof cpu, "%d", s->cpu);
    snprintf(class, sizeof class, "C%d", s->class);
    snprintf(thread, sizeof thread, "T%d", s->thread);
    snprintf(w, sizeof w, "%d ns", s->weight % 3);
    if (s->n > 0)
        memcpy(module, s->f[s->n - 1].module, sizeof module);
    switch (e->k) {
    case 0:
        put(s, at, "thread", s->thread > 0 ? thread : NULL);
        break;
    case 1:
        put(s, at, "cpu", s->cpu >= 0 ? cpu : NULL);
        put(s, at + 1, "class", s->class >= 0 ? class : NULL);
        break;
    case 2:
        put(s, at, "leaf.module", module[0] != '\0' ? module : NULL);
        put(s, at + 1, "thread", s->thread > 0 ? thread : NULL);
        break;
    default:
        put(s, at, "w", w);
        break;
    }
}

static void linked(struct sample *s, bool below)
{
    const struct sample *to;
    int at = below ? s->n : 0;

    if (s->link < 0)
        return;
    to = &raw[s->link % ROWS];
    for (int i = 0; i < to->n; i++) {
        insert(s, at + i, "");
        s->f[at + i] = to->f[i];
    }
}

static void depth(struct sample *s, const struct edit *e)
{
    if (s->n <= e->k)
        return;
    if (e->below) {
        cut(s, s->n - e->k, s->n);
        insert(s, 0, "[truncated]");
    } else {
        cut(s, 0, e->k);
        insert(s, s->n, "[truncated]");
    }
}

static void apply(struct sample *s, const struct edit *e)
{
    switch (e->op) {
    case KEEP:
    case DROP:
        filter(s, e);
        break;
    case ROOT:
    case LEAF:
        cut_at(s, e);
        break;
    case DIRECT:
    case ALL:
        recursion(s, e);
        break;
    case RUN:
        run(s, e);
        break;
    case RENAME:
        for (int i = 0; i < s->n; i++)
            rename_frame(&s->f[i], e->k);
        break;
    case LEVEL:
        for (int i = 0; i < s->n; i++)
            level(&s->f[i], e->k);
        break;
    case INLINES:
        if (e->k > 0)
            fold(s);
        break;
    case LINK:
        linked(s, e->below);
        break;
    case INVERT:
        for (int i = 0; i < s->n / 2; i++) {
            struct frame f = s->f[i];
            s->f[i] = s->f[s->n - 1 - i];
            s->f[s->n - 1 - i] = f;
        }
        break;
    case DEPTHS:
        depth(s, e);
        break;
    case WHERE:
        s->gone |= s->n == 0 || !matches(e, &s->f[s->n - 1]);
        break;
    default:
        columns_around(s, e);
        break;
    }
}

/* ------------------------------------------------------------- random edits */

static void predicate(const struct edit *e, char *out, size_t room)
{
    size_t n = strlen(e->letters);

    if (n == 1)
        snprintf(out, room, "/^%c/", e->letters[0]);
    else
        snprintf(out, room, "[%c*, /^%c/]", e->letters[0], e->letters[1]);
}

static void random_edit(struct edit *e)
{
    static const char *const drops[] = { "keep", "drop" };
    char p[32], *y = e->yaml;
    size_t room = sizeof e->yaml;

    memset(e, 0, sizeof *e);
    e->op = (enum op)roll(OPS);
    e->letters[0] = (char)('a' + roll(4));
    if (roll(2) == 0)
        e->letters[1] = (char)('a' + roll(4));
    e->inner = roll(2) == 0;
    e->drop = roll(4) == 0;
    e->below = roll(2) == 0;
    predicate(e, p, sizeof p);
    switch (e->op) {
    case KEEP:
    case DROP:
        snprintf(y, room, "- {%s: %s, empty: %s}", e->op == KEEP ? "keep" : "drop", p,
                 drops[e->drop]);
        break;
    case ROOT:
    case LEAF:
        snprintf(y, room, "- {%s: %s, at: %s, missing: %s}", e->op == ROOT ? "root" : "leaf", p,
                 e->inner ? "innermost" : "outermost", drops[e->drop]);
        break;
    case DIRECT:
    case ALL:
        if (roll(2) == 0)
            e->letters[0] = '\0';
        snprintf(y, room, "- collapse: {recursion: %s%s%s}", e->op == ALL ? "all" : "direct",
                 e->letters[0] == '\0' ? "" : ", of: ", e->letters[0] == '\0' ? "" : p);
        break;
    case RUN:
        snprintf(y, room, "- collapse: {run: %s, as: zrun}", p);
        break;
    case RENAME:
        e->k = (int)roll(FM_COUNT(renames));
        snprintf(y, room, "- rename: %s", renames[e->k]);
        break;
    case LEVEL:
        e->k = (int)roll(FM_COUNT(levels));
        snprintf(y, room, "- level: %s", levels[e->k]);
        break;
    case INLINES:
        e->k = (int)roll(4);
        snprintf(y, room, "- inlines: %s", e->k > 0 ? "fold" : "expand");
        break;
    case LINK:
        snprintf(y, room, "- %s: {link: waker}", e->below ? "append" : "prepend");
        break;
    case INVERT:
        snprintf(y, room, "- invert");
        break;
    case DEPTHS:
        e->k = 1 + (int)roll(DEPTH);
        snprintf(y, room, "- depth: {max: %d, from: %s}", e->k, e->below ? "leaf" : "root");
        break;
    case WHERE:
        snprintf(y, room, "leaf.function: %s", p);
        break;
    default:
        e->k = (int)roll(FM_COUNT(columns));
        snprintf(y, room, "- %s: %s", e->op == PREPEND ? "prepend" : "append", columns[e->k]);
        break;
    }
}

/* ------------------------------------------------------------------- groups */

static const char *const groups[] = {
    "{by: [path], measures: {s: self, n: samples, t: count()}}",
    "{by: [any.function, any.module], measures: {s: self, n: samples, t: total}}",
    "{by: [leaf.function, leaf.module, leaf.file, leaf.line], "
    "measures: {s: self, n: samples, t: total}}",
    "{by: [root.function, cpu], measures: {s: self, n: samples, t: count()}}",
};

static struct group {
    char key[DEEPEST * 64];
    long self, samples, total;
} group[GROUPS];
static size_t found;

static void count(const char *key, const struct sample *s, bool own, bool rows_are_total)
{
    size_t g = 0;

    while (g < found && strcmp(group[g].key, key) != 0)
        g++;
    if (g == found) {
        ck_assert_uint_lt(found, GROUPS);
        memset(&group[g], 0, sizeof *group);
        ck_assert_uint_lt(strlen(key), sizeof group[g].key);
        memcpy(group[g].key, key, strlen(key) + 1);
        found++;
    }
    group[g].self += own ? s->weight : 0;
    group[g].samples += s->count;
    group[g].total += rows_are_total ? 1 : s->weight;
}

static size_t add(char *key, size_t room, size_t at, const char *text)
{
    size_t n = strlen(text);

    ck_assert_uint_lt(at + n, room);
    memcpy(key + at, text, n + 1);
    return at + n;
}

static void count_any(const struct sample *s)
{
    char key[2 * NAME];

    if (s->n == 0)
        count(",", s, true, false);
    for (int i = 0; i < s->n; i++) {
        bool before = false;
        for (int k = 0; k < i; k++)
            before |= alike(&s->f[k], &s->f[i]);
        size_t at = add(key, sizeof key, 0, s->f[i].name);
        at = add(key, sizeof key, at, ",");
        add(key, sizeof key, at, s->f[i].module);
        if (!before)
            count(key, s, alike(&s->f[i], &s->f[s->n - 1]), false);
    }
}

static void count_sample(const struct sample *s, size_t kind)
{
    static char key[DEEPEST * NAME];
    const struct frame *leaf = &s->f[s->n == 0 ? 0 : s->n - 1];
    char number[16] = "";
    size_t at = 0;

    switch (kind) {
    case 0:
        key[0] = '\0';
        for (int i = 0; i < s->n; i++) {
            at = add(key, sizeof key, at, i == 0 ? "" : ";");
            at = add(key, sizeof key, at, s->f[i].name);
        }
        count(key, s, true, true);
        break;
    case 1:
        count_any(s);
        break;
    case 2:
        if (s->n > 0 && leaf->line > 0)
            snprintf(number, sizeof number, "%d", leaf->line);
        snprintf(key, sizeof key, "%s,%s,%s,%s", s->n == 0 ? "" : leaf->name,
                 s->n == 0 ? "" : leaf->module, s->n == 0 ? "" : leaf->file, number);
        count(key, s, true, false);
        break;
    default:
        if (s->cpu >= 0)
            snprintf(number, sizeof number, "%d", s->cpu);
        at = add(key, sizeof key, 0, s->n == 0 ? "" : s->f[0].name);
        at = add(key, sizeof key, at, ",");
        add(key, sizeof key, at, number);
        count(key, s, true, true);
        break;
    }
}

/* The engine's lines are the groups, each once. */
static void compare(const char *got, const char *steps)
{
    size_t lines = 0;

    for (got = strchr(got, '\n') + 1; *got != '\0'; got = strchr(got, '\n') + 1, lines++) {
        bool known = false;
        size_t n = strcspn(got, "\n");
        for (size_t g = 0; g < found && !known; g++) {
            static char want[DEEPEST * 64 + 80];
            int len = snprintf(want, sizeof want, "%s,%ld,%ld,%ld", group[g].key, group[g].self,
                               group[g].samples, group[g].total);
            known = (size_t)len == n && memcmp(want, got, n) == 0;
        }
        ck_assert_msg(known, "not wanted: %.*s\n%s", (int)n, got, steps);
    }
    ck_assert_msg(lines == found, "%zu groups, not %zu:\n%s", lines, found, steps);
}

static void check(struct fm_store *store, const struct edit *chain, size_t edits, size_t kind)
{
    char steps[4096] = "";
    size_t at = 0;
    const char *got;

    memcpy(now, raw, sizeof now);
    for (size_t e = 0; e < edits; e++) {
        if (chain[e].op == WHERE)
            at += (size_t)snprintf(steps + at, sizeof steps - at, "  - where: {%s}\n",
                                   chain[e].yaml);
        else
            at += (size_t)snprintf(steps + at, sizeof steps - at, "  - stack:\n      %s\n",
                                   chain[e].yaml);
        for (int r = 0; r < rows; r++) {
            if (!now[r].gone)
                apply(&now[r], &chain[e]);
        }
    }
    snprintf(steps + at, sizeof steps - at, "  - group: %s\n", groups[kind]);
    found = 0;
    for (int r = 0; r < rows; r++) {
        if (!now[r].gone)
            count_sample(&now[r], kind);
    }
    got = query_run(ctx, store, query_of(steps), NULL, "csv");
    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    compare(got, steps);
}

/* ------------------------------------------------------------------- tests */

START_TEST(one_edit)
{
    struct edit e;

    for (uint64_t s = 1; s <= 1500; s++) {
        struct fm_store *store = random_store(s);
        random_edit(&e);
        check(store, &e, 1, (size_t)s % FM_COUNT(groups));
        fm_store_free(store);
    }
}
END_TEST

START_TEST(chains)
{
    struct edit chain[5];

    for (uint64_t s = 1; s <= 1500; s++) {
        struct fm_store *store = random_store(100000 + s);
        size_t edits = 2 + roll(4);
        for (size_t e = 0; e < edits; e++)
            random_edit(&chain[e]);
        check(store, chain, edits, (size_t)s % FM_COUNT(groups));
        fm_store_free(store);
    }
}
END_TEST

static void gives(struct fm_store *store, const char *edits, const char *by, const char *want)
{
    char steps[1024];
    const char *got;

    snprintf(steps, sizeof steps, "  - stack:\n%s  - group: %s\n", edits, by);
    got = query_run(ctx, store, query_of(steps), NULL, "csv");
    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, want);
}

#define PATHS "{by: [path], measures: [self]}"

START_TEST(renames_by_hand)
{
    struct fm_store *store = query_store(ctx,
        "main@app;malloc@libc.so;_int_malloc@libc.so 1\nmain@app;calloc@libc.so 2\n"
        "a.B$$Lambda$17.run;a.B$$Lambda$18.run 4\nmain@app;free@jemalloc.so 8\n");

    /* all of *alloc become one, and being one may collapse */
    gives(store, "      - rename: {match: '/^(_int_)?[mc]alloc$/', to: allocation}\n"
                 "      - collapse: {recursion: direct}\n", PATHS,
          "path,self (ns)\na.B$$Lambda$17.run;a.B$$Lambda$18.run,4\nmain;allocation,3\n"
          "main;free,8\n");
    /* the match alone is replaced; a '$' is no parameter */
    gives(store, "      - rename: {match: '/\\$\\$Lambda[^.]*/', to: '$$Lambda'}\n",
          "{by: [any.function], measures: [total]}",
          "function,total (ns)\n_int_malloc,1\na.B$$Lambda.run,4\ncalloc,2\nfree,8\nmain,11\n"
          "malloc,1\n");
    /* a predicate that is no regex replaces all of the name; raw and module stay */
    gives(store, "      - rename: {match: {module: libc.so}, to: 'libc!\\0'}\n",
          "{by: [leaf.function, leaf.raw, leaf.module], measures: [self]}",
          "function,raw,module,self (ns)\na.B$$Lambda$18.run,a.B$$Lambda$18.run,,4\n"
          "free,free,jemalloc.so,8\nlibc!_int_malloc,_int_malloc,libc.so,1\n"
          "libc!calloc,calloc,libc.so,2\n");
    /* a name that would be empty stays */
    gives(store, "      - rename: {match: '/^(x?)main$/', to: '\\1'}\n      - depth: 1\n", PATHS,
          "path,self (ns)\na.B$$Lambda$17.run;[truncated],4\nmain;[truncated],11\n");
    fm_store_free(store);
}
END_TEST

/* Names of JavaScript show their place: an edit's name does not show it again. */
START_TEST(names_of_scripts)
{
    struct fm_builder *b;
    struct fm_store *store;
    struct fm_frame_row row = { .module = FM_NONE, .address = UINT64_MAX, .kind = FM_FRAME_JS,
                                .line = 7, .column = 3 };
    uint32_t event;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "test", "hand");
    event = fm_builder_event(b, "cpu", "ns", FM_KIND_SAMPLE);
    row.function = fm_builder_str(b, "f", 1);
    row.file = fm_builder_str(b, "x.js", 4);
    fm_account_in(b, 1);
    fm_row_begin(b, event);
    fm_row_set(b, FM_COL_WEIGHT, 5);
    fm_row_set(b, FM_COL_STACK, fm_builder_node(b, FM_NODE_ROOT, fm_builder_frame(b, &row)));
    (void)fm_row_end(b);
    store = query_seal(b);
    gives(store, "      - depth: all\n", PATHS, "path,self (ns)\nf (x.js:7:3),5\n");
    gives(store, "      - rename: {match: '/^f/', to: g}\n", PATHS,
          "path,self (ns)\ng (x.js:7:3),5\n");
    gives(store, "      - rename: {match: f*, to: g}\n", PATHS, "path,self (ns)\ng,5\n");
    gives(store, "      - level: line\n", PATHS, "path,self (ns)\nf (x.js:7:3),5\n");
    gives(store, "      - level: file\n", PATHS, "path,self (ns)\nx.js,5\n");
    fm_store_free(store);
}
END_TEST

/* Two launches of one kernel by different callers, one kernel without a launch; the launches are
 * rows of another event. Levels before the link are of the kernel's stack alone. */
START_TEST(linked_stacks)
{
    static const char *const row[] = {
        "main;train;cudaLaunchKernel 1 event=calls:ns",
        "main;test;cudaLaunchKernel 1 event=calls:ns",
        "gemm@lib.cubin 10", "gemm@lib.cubin 20", "gemm@lib.cubin 40", "- 80",
    };
    struct fm_builder *b;
    struct fm_store *store;
    const char *got;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "test", "lines");
    for (size_t i = 0; i < FM_COUNT(row); i++)
        query_row(b, row[i], strlen(row[i]));
    fm_builder_link(b, FM_LINK_LAUNCH, 2, FM_LINK_ROW, 5);     /* no stack: the next one is it */
    fm_builder_link(b, FM_LINK_LAUNCH, 2, FM_LINK_ROW, 0);
    fm_builder_link(b, FM_LINK_LAUNCH, 3, FM_LINK_ROW, 1);
    fm_builder_link(b, FM_LINK_LAUNCH, 5, FM_LINK_ROW, 1);
    store = query_seal(b);
    got = query_run(ctx, store, query_of(
        "  - where: {event: cpu}\n"
        "  - stack:\n      - level: module\n      - prepend: {link: launch}\n"
        "      - drop: cudaLaunchKernel\n"
        "  - group: {by: [path], measures: [self, samples]}\n"), NULL, "csv");
    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, "path,self (ns),samples\nlib.cubin,40,1\nmain;test,80,1\n"
                          "main;test;lib.cubin,20,1\nmain;train;lib.cubin,10,1\n");
    /* waker links are others */
    got = query_run(ctx, store, query_of(
        "  - where: {event: cpu}\n  - stack: [{prepend: {link: waker}}]\n"
        "  - group: {by: [path], measures: [self]}\n"), NULL, "csv");
    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, "path,self (ns)\ngemm,70\n,80\n");
    fm_store_free(store);
}
END_TEST

/* Links across many blocks and segments, to a row far away. */
START_TEST(links_far_away)
{
    struct fm_builder *b;
    struct fm_store *store;
    uint64_t n = 3 * FM_SEGMENT_ROWS / 2;
    const char *got;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "test", "lines");
    for (uint64_t r = 0; r < n; r++)
        query_row(b, r % 3 == 0 ? "p 1" : r % 3 == 1 ? "q 2" : "- 4", 3);
    for (uint64_t r = 0; r < n; r++)
        fm_builder_link(b, FM_LINK_PARENT, r, FM_LINK_ROW, (r * 7919 + 1) % n);
    store = query_seal(b);
    got = query_run(ctx, store, query_of(
        "  - stack: [{append: {link: parent}}, invert]\n"
        "  - group: {by: [path], measures: [self, samples]}\n"), NULL, "csv");
    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    /* n is a multiple of 3: row r leads to a row of kind (2 r + 1) mod 3; 98304 / 3 = 32768 each */
    ck_assert_str_eq(got, "path,self (ns),samples\np;q,65536,32768\nq;p,32768,32768\n"
                          ",131072,32768\n");
    fm_store_free(store);
}
END_TEST

/* Two pipes go on from one whose stacks are by row: the edits of one are none of the other's. */
START_TEST(pipes_apart)
{
    struct fm_store *store = query_store(ctx, "a;b 1 cpu=0\na;c 2 cpu=1\na;c 4 cpu=0\n");
    const char *got = query_run(ctx, store,
        "foldmill-query: 1\nname: q\n"
        "let:\n"
        "  all:\n"
        "    from: samples\n"
        "    steps: [{stack: [{prepend: cpu}]}]\n"
        "  one:\n"
        "    from: all\n"
        "    steps: [{stack: [invert, {append: cpu}]}, {group: {by: [path], measures: [self]}}]\n"
        "  two:\n"
        "    from: all\n"
        "    steps: [{stack: [{drop: a}, {prepend: {link: waker}}]}, "
        "{group: {by: [path], measures: [self]}}]\n"
        "  three:\n"
        "    from: all\n"
        "    steps: [{group: {by: [path], measures: [self]}}]\n"
        "show: [one, two, three]\n", NULL, "csv");

    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got,
        "path,self (ns)\nb;a;[cpu: 0];[cpu: 0],1\nc;a;[cpu: 0];[cpu: 0],4\n"
        "c;a;[cpu: 1];[cpu: 1],2\n\n"
        "path,self (ns)\n[cpu: 0];b,1\n[cpu: 0];c,4\n[cpu: 1];c,2\n\n"
        "path,self (ns)\n[cpu: 0];a;b,1\n[cpu: 0];a;c,4\n[cpu: 1];a;c,2\n");
    fm_store_free(store);
}
END_TEST

START_TEST(messages)
{
    static const struct {
        const char *edit, *messages;
    } table[] = {
        { "rename: {match: '/a(b)/', to: '\\2'}",
          "q.yaml:6:39: error: 'match' has no group \\2: it has 1 [FM106]\n" },
        { "rename: {match: a, to: '\\1'}",
          "q.yaml:6:32: error: 'match' has no group \\1: it has 0 [FM106]\n" },
        { "rename: {match: a, to: '\\x'}",
          "q.yaml:6:32: error: a '\\' in 'to' stands before the number of a group, or another "
          "'\\' [FM106]\n" },
        { "rename: {match: a}", "q.yaml:6:17: error: 'rename' has no 'to' [FM105]\n" },
        { "rename: a",
          "q.yaml:6:17: error: 'rename' takes {match: /REGEX/, to: NAME} [FM104]\n" },
        { "rename: {match: '/(/', to: b}",
          "q.yaml:6:28: error: bad regular expression: missing closing parenthesis [FM106]\n" },
        { "depth: 0",
          "q.yaml:6:16: error: 'depth' keeps a number of frames, 1 or more, or all [FM104]\n" },
        { "depth: {from: leaf}",
          "q.yaml:6:16: error: 'depth' takes {max: N, from: root|leaf} [FM104]\n" },
        { "depth: {max: 3, from: laef}",
          "q.yaml:6:31: error: unknown 'from' value 'laef' (did you mean 'leaf'?) [FM104]\n" },
        { "inlines: on", "q.yaml:6:18: error: unknown 'inlines' value 'on' [FM104]\n" },
        { "prepend: [thraed]",
          "q.yaml:6:19: error: unknown column 'thraed' (did you mean 'thread'?) [FM102]\n" },
        { "prepend: {link: launched}",
          "q.yaml:6:25: error: unknown 'link' value 'launched' (did you mean 'launch'?) "
          "[FM104]\n" },
        { "append: [[cpu]]",
          "q.yaml:6:18: error: a pseudo frame is the name of a column, or {NAME: EXPRESSION} "
          "[FM104]\n" },
        { "append: waker.path",
          "q.yaml:6:17: error: 'waker.path' is a stack: {link: KIND} puts stacks around stacks "
          "[FM104]\n" },
        { "invert: maybe", "q.yaml:6:17: error: unknown 'invert' value 'maybe' [FM104]\n" },
        { "{invert: true, at: innermost}",
          "q.yaml:6:24: error: stack edit 'invert' has no option 'at' [FM102]\n" },
    };
    struct fm_store *store = query_store(ctx, "a;b 1 thread=T tid=1\n");

    for (size_t i = 0; i < FM_COUNT(table); i++) {
        char steps[256];
        const char *newline;
        snprintf(steps, sizeof steps,
                 "  - stack:\n      - %s\n  - group: {by: [path], measures: [self]}\n",
                 table[i].edit);
        ck_assert_ptr_null(query_run(ctx, store, query_of(steps), NULL, "csv"));
        ck_assert_int_eq(query_status(), FM_CONFIG);
        newline = strchr(query_messages(), '\n');
        ck_assert_ptr_nonnull(newline);
        ck_assert_msg(strncmp(query_messages(), table[i].messages, strlen(table[i].messages)) == 0,
                      "%s: got\n%s", table[i].edit, query_messages());
    }
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("query_stack");
    TCase *t = tcase_create("query_stack");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, one_edit);
    tcase_add_test(t, chains);
    tcase_add_test(t, renames_by_hand);
    tcase_add_test(t, names_of_scripts);
    tcase_add_test(t, linked_stacks);
    tcase_add_test(t, links_far_away);
    tcase_add_test(t, pipes_apart);
    tcase_add_test(t, messages);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
