/*
 * verdict.c - what checks came to, a line each.
 *
 * A query's own messages are for people who look at its file:
 *
 *     queries/regression-gate.yaml:22:18: error: check failed: hot grew 23% [FM100]
 *        22 |       - fail_if: growth > $max_growth
 *           |                  ^~~~~~~~~~~~~~~~~~~~
 *
 * A report keeps "hot grew 23%": where the file lies is not the same everywhere, and the page is.
 */
#include "report/inner.h"

bool fm_report_judge(struct fm_report *report, const char *of, bool failed, const char *text)
{
    struct fm_report_verdict *v = fm_arena_alloc(report->arena, sizeof *v);

    if (v == NULL)
        return false;
    *v = (struct fm_report_verdict){.of = of, .failed = failed,
                                    .text = fm_arena_str(report->arena, text)};
    *report->verdict_end = v;
    report->verdict_end = &v->next;
    report->gates_failed += failed;
    return v->text != NULL;
}

/* The message of line[n] behind "error: " or "warning: "; NULL: it has none. */
static const char *message_of(const char *line, size_t n, size_t *length, bool *error)
{
    static const char *const mark[] = {": error: ", ": warning: "};
    static const char check[] = "check failed: ";

    for (size_t k = 0; k < FM_COUNT(mark); k++) {
        const char *at = memmem(line, n, mark[k], strlen(mark[k])), *end = line + n;

        if (at == NULL)
            continue;
        at += strlen(mark[k]);
        if ((size_t)(end - at) > strlen(check) && memcmp(at, check, strlen(check)) == 0)
            at += strlen(check);
        if (end > at && end[-1] == ']')
            for (const char *s = end; s > at + 4; s--)
                if (memcmp(s - 4, " [FM", 4) == 0) {
                    end = s - 4;
                    break;
                }
        *length = (size_t)(end - at);
        *error = k == 0;
        return at;
    }
    return NULL;
}

bool fm_report_judge_query(struct fm_report *report, const char *of, bool failed,
                           const char *messages)
{
    bool any = false;

    for (const char *line = messages; *line != '\0';) {
        size_t n = strcspn(line, "\n"), length = 0;
        bool error = false;
        const char *at = line[0] != ' ' ? message_of(line, n, &length, &error) : NULL;

        if (at != NULL) {
            const char *text = fm_arena_strn(report->arena, at, length);

            if (text == NULL || !fm_report_judge(report, of, failed && error, text))
                return false;
            any = any || (failed && error);
        }
        line += n + (line[n] == '\n');
    }
    if (any || (!failed && strstr(messages, ": warning: ") != NULL))
        return true;
    return fm_report_judge(report, of, failed, messages);
}
