/*
 * test_perf_synth.c - hand-made recordings with a JSON of what is in them (shared test data beside
 * the source tree; skipped where that is absent): records by type, samples in order, their fields.
 */
#include "perf_make.h"
#include "util/text.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------- just enough JSON for these files */

struct json {
    enum { J_NULL, J_BOOL, J_NUMBER, J_TEXT, J_LIST, J_MAP } type;
    char *key;              /* of a member of a map */
    uint64_t number;        /* two's complement; fractions are cut */
    char *text;
    struct json *child, *next;
};

static const char *at;

static void blank(void)
{
    while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
        at++;
}

static char *json_text(void)
{
    char *s = malloc(strlen(at) + 1 < 4096 ? strlen(at) + 1 : 4096);
    size_t n = 0;
    ck_assert_int_eq(*at++, '"');
    while (*at != '"') {
        if (*at == '\\')
            at++;
        ck_assert(*at != '\0' && n < 4000);
        s[n++] = *at++;
    }
    at++;
    s[n] = '\0';
    return s;
}

static struct json *json_value(void)
{
    struct json *j = calloc(1, sizeof *j), **last = &j->child;
    blank();
    if (*at == '{' || *at == '[') {
        char close = *at++ == '{' ? '}' : ']';
        j->type = close == '}' ? J_MAP : J_LIST;
        for (blank(); *at != close; blank()) {
            char *key = NULL;
            if (j->type == J_MAP) {
                key = json_text();
                blank();
                ck_assert_int_eq(*at++, ':');
            }
            *last = json_value();
            (*last)->key = key;
            last = &(*last)->next;
            blank();
            if (*at == ',')
                at++;
        }
        at++;
    } else if (*at == '"') {
        j->type = J_TEXT;
        j->text = json_text();
    } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
        bool minus = *at == '-';
        j->type = J_NUMBER;
        for (at += minus; *at >= '0' && *at <= '9'; at++)
            j->number = j->number * 10 + (uint64_t)(*at - '0');
        while (strchr("+-.eE0123456789", *at) != NULL && *at != '\0')
            at++;
        if (minus)
            j->number = 0 - j->number;
    } else {
        j->type = *at == 'n' ? J_NULL : J_BOOL;
        j->number = *at == 't';
        while (*at >= 'a' && *at <= 'z')
            at++;
    }
    return j;
}

static void json_free(struct json *j)
{
    while (j != NULL) {
        struct json *next = j->next;
        json_free(j->child);
        free(j->key);
        free(j->text);
        free(j);
        j = next;
    }
}

static const struct json *member(const struct json *j, const char *key)
{
    for (j = j != NULL ? j->child : NULL; j != NULL; j = j->next)
        if (strcmp(j->key, key) == 0)
            return j->type == J_NULL ? NULL : j;
    return NULL;
}

static const struct json *item(const struct json *list, uint64_t i)
{
    const struct json *j = list->child;
    for (; j != NULL && i > 0; i--)
        j = j->next;
    return j;
}

static struct json *json_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = malloc(4 << 20);
    ck_assert_ptr_nonnull(f);
    size_t n = fread(text, 1, (4 << 20) - 1, f);
    fclose(f);
    text[n] = '\0';
    at = text;
    struct json *j = json_value();
    free(text);
    return j;
}

/* ---------------------------------------------------------------------- comparing */

static const char *folder(void)
{
    static char path[4096];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/../shared/data/perf/synth", top != NULL ? top : ".");
    return path;
}

/* Every record that was met is in the account, by its type. */
static void check_records(const struct run *run, const struct json *records, const char *name)
{
    uint64_t count[128] = {0}, unknown = 0;
    for (const struct json *r = records->child; r != NULL; r = r->next) {
        uint64_t type = member(r, "type")->number;
        ck_assert_uint_lt(type, 128);
        const struct json *label = member(r, "name");
        if (label != NULL && strncmp(label->text, "unknown", 7) == 0)
            unknown++;
        else
            count[type]++;
    }
    ck_assert_msg(run_account(run, FM_ACCOUNT_RECORDS, "SAMPLE") == count[9], "%s: SAMPLE", name);
    ck_assert_msg(run_account(run, FM_ACCOUNT_RECORDS, "COMM") == count[3], "%s: COMM", name);
    ck_assert_msg(run_account(run, FM_ACCOUNT_RECORDS, "MMAP") == count[1], "%s: MMAP", name);
    ck_assert_msg(run_account(run, FM_ACCOUNT_RECORDS, "MMAP2") == count[10], "%s: MMAP2", name);
    ck_assert_msg(run_account(run, FM_ACCOUNT_RECORDS, "FORK") == count[7], "%s: FORK", name);
    ck_assert_msg(run_account(run, FM_ACCOUNT_RECORDS, "KSYMBOL") == count[17], "%s", name);
    ck_assert_msg(run_account(run, FM_ACCOUNT_RECORDS, "CPU_MAP") == count[74], "%s", name);
    ck_assert_msg(run_account(run, FM_ACCOUNT_RECORDS, "TIME_CONV") == count[79], "%s", name);
    ck_assert_msg(run_account(run, FM_ACCOUNT_RECORDS, "CALLCHAIN_DEFERRED") == count[22], "%s",
                  name);
    ck_assert_msg(run_account(run, FM_ACCOUNT_RECORDS, "unknown") == unknown, "%s: unknown", name);
}

/* What the sample's weight must be: its period, or how far its counter has come. */
static uint64_t weight_of(const struct json *sample, uint64_t *last)
{
    const struct json *read = member(sample, "read"), *id = member(sample, "id");
    if (read != NULL && id != NULL) {
        for (const struct json *v = member(read, "v")->child; v != NULL; v = v->next) {
            if (member(v, "id")->number != id->number)
                continue;
            uint64_t moved = member(v, "value")->number - *last;
            *last = member(v, "value")->number;
            return moved;
        }
    }
    const struct json *period = member(sample, "period");
    return period != NULL ? period->number : 1000000;    /* the setting in all these files */
}

static void check_stack(const struct run *run, uint64_t row, const struct json *want,
                        const char *name)
{
    const char *text = run_row(run, row);
    const char *p = strstr(text, ": ");
    for (const struct json *frame = want->child; frame != NULL; frame = frame->next) {
        uint64_t got, expected;
        p = p != NULL ? strchr(p, '+') : NULL;
        ck_assert_msg(p != NULL, "%s: %s", name, text);
        p++;
        ck_assert(fm_text_hex(p, strspn(p, "0123456789abcdef"), &got));
        ck_assert(fm_text_hex(frame->text, strlen(frame->text), &expected));
        if (got < 0x400000 && expected < 0x1000000)
            got += 0x400000;    /* where the files map their program: rows hold file offsets */
        ck_assert_msg(got == expected, "%s: %s is not in %s", name, frame->text, text);
    }
    ck_assert_msg(p == NULL || strchr(p, '+') == NULL, "%s: more frames: %s", name, text);
}

static void check_sample(const struct run *run, uint64_t row, const struct json *s,
                         const char *name, uint64_t *last)
{
    static const struct {
        const char *key, *column;
    } plain[] = {{"ip", "ip"}, {"time", "ts"}, {"addr", "addr"}, {"id", "id"}, {"cpu", "cpu"},
                 {"stream_id", "stream_id"}, {"weight", "local_weight"}, {"data_src", "data_src"},
                 {"transaction", "transaction"}, {"phys_addr", "phys_addr"},
                 {"data_page_size", "data_page_size"}, {"code_page_size", "code_page_size"}};
    uint64_t value, thread;
    struct fm_thread_info info;
    for (size_t i = 0; i < FM_COUNT(plain); i++) {
        const struct json *want = member(s, plain[i].key);
        if (want == NULL)
            continue;
        ck_assert_msg(run_cell(run, row, plain[i].column, &value), "%s row %llu: no %s", name,
                      (unsigned long long)row, plain[i].key);
        ck_assert_msg(value == want->number, "%s row %llu: %s is %llu, not %llu", name,
                      (unsigned long long)row, plain[i].key, (unsigned long long)value,
                      (unsigned long long)want->number);
    }
    if (member(s, "weight_struct") != NULL) {
        ck_assert(run_cell(run, row, "local_weight", &value));
        ck_assert_uint_eq(value, member(s, "weight_struct")->child->number);
    }
    if (member(s, "tid") != NULL) {
        ck_assert(run_cell(run, row, "thread", &thread));
        fm_store_thread(run->store, thread, &info);
        ck_assert_int_eq(info.pid, (int64_t)member(s, "pid")->number);
        ck_assert_int_eq(info.tid, (int64_t)member(s, "tid")->number);
    }
    ck_assert(run_cell(run, row, "weight", &value));
    ck_assert_msg(value == weight_of(s, last), "%s row %llu: weight", name,
                  (unsigned long long)row);
}

static void check_file(const char *path, const char *name)
{
    char json_path[4500];
    struct run run;
    uint64_t row = 0, last = 0, i = 0;
    snprintf(json_path, sizeof json_path, "%s.json", path);
    struct json *truth = json_read(json_path);
    const struct json *records = member(truth, "records"), *order = member(truth, "order");
    const struct json *stacks = member(truth, "expect_stack"), *sample[1024];
    size_t samples = 0;
    run_import(&run, NULL, 0, path, false);
    ck_assert_msg(run.status == (strstr(name, "killed") != NULL ? FM_TRUNCATED : FM_OK), "%s: %s",
                  name, run.err.message);
    check_records(&run, records, name);
    for (const struct json *r = records->child; r != NULL; r = r->next)
        if (member(r, "sample") != NULL && samples < FM_COUNT(sample))
            sample[samples++] = member(r, "sample");
    for (const struct json *o = order->child; o != NULL; o = o->next, i++, row++) {
        const struct json *s = sample[o->number];
        struct fm_event_info event;
        uint64_t id;
        /* rows of the other members of a group stand between */
        for (;; row++) {
            ck_assert_msg(row < fm_store_rows(run.store), "%s: rows end early", name);
            ck_assert(run_cell(&run, row, "event", &id));
            fm_store_event(run.store, id, &event);
            const struct json *read = member(s, "read");
            if (read == NULL || item(member(read, "v"), 1) == NULL ||
                strcmp(event.name, member(s, "event")->text) == 0)
                break;
        }
        check_sample(&run, row, s, name, &last);
        if (stacks != NULL)
            check_stack(&run, row, item(stacks, i), name);
    }
    if (strncmp(name, "all-records", 11) == 0) {
        ck_assert_str_eq(run_provenance(&run, "host"), "synth-host");
        ck_assert_str_eq(run_provenance(&run, "kernel"), "6.18.0-synth");
        ck_assert_str_eq(run_provenance(&run, "cpus"), "8 available, 4 online");
        ck_assert_str_eq(run_provenance(&run, "memory"), "16777216 kB");
        ck_assert_str_eq(run_provenance(&run, "command"),
                         "/usr/bin/perf record -g 'it'\\''s' 'a b'");
        ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "lost-samples"), 8);
        ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "lost-records"), 17);
    }
    run_free(&run);
    json_free(truth);
}

START_TEST(every_file)
{
    DIR *dir = opendir(folder());
    unsigned files = 0;
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char path[4400];
        size_t n = strlen(e->d_name);
        if (n < 5 || strcmp(e->d_name + n - 5, ".data") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder(), e->d_name);
        check_file(path, e->d_name);
        files++;
    }
    closedir(dir);
    ck_assert_uint_ge(files, 16);
}
END_TEST

int main(void)
{
    DIR *dir = opendir(folder());
    if (dir == NULL) {
        printf("%s is not there\n", folder());
        return 77;
    }
    closedir(dir);
    Suite *s = suite_create("perf synth");
    TCase *t = tcase_create("synth");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_file);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
