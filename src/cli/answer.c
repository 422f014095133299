/*
 * answer.c - answers of queries that the program itself asks: summary and info run queries of the
 * data path on the chosen samples and read the cells.
 */
#include "cli/cli.h"

#include <string.h>

struct fm_result *answer_ask(struct cli *cli, struct fm_store *store, const char *name,
                             const char *param, const char *value, int *code)
{
    struct fm_query *query = NULL;
    struct fm_result *result = NULL;
    struct fm_error err = {0};
    enum fm_status status = fm_query_load(cli->ctx, name, &query, &err);

    if (status == FM_OK && param)
        status = fm_query_set(query, param, value, &err);
    if (status == FM_OK)
        status = fm_query_run(cli->ctx, query, &store, 1, &cli->options.select, &result, &err);
    if (status != FM_OK)
        *code = exit_worse(*code, say_error(&err));
    fm_query_free(query);
    return result;
}

size_t answer_column(const struct fm_result *result, const char *name)
{
    size_t n = fm_result_columns(result, 0);

    for (size_t i = 0; i < n; i++)
        if (strcmp(fm_result_column_name(result, 0, i), name) == 0)
            return i;
    return n;
}

u128 answer_number(struct fm_result *result, size_t row, size_t col)
{
    u128 v = 0;

    if (col < fm_result_columns(result, 0))
        for (const char *s = fm_result_cell(result, 0, row, col); *s >= '0' && *s <= '9'; s++)
            v = v * 10 + (unsigned)(*s - '0');
    return v;
}

/* What the tables sum. Samples and columns are numbers without a unit. */
static void name_chosen(const struct cli *cli, const struct fm_result *result,
                        struct chosen *chosen)
{
    const char *weight = cli->options.select.weight;
    const char *event = fm_result_event(result, 0), *unit = fm_result_unit(result, 0);

    *chosen = (struct chosen){.unit = ""};
    if (!weight || strcmp(weight, "value") == 0 || strcmp(weight, "period") == 0)
        snprintf(chosen->unit, sizeof chosen->unit, "%s", unit);
    if (strcmp(event, unit) != 0)
        snprintf(chosen->of, sizeof chosen->of, " of %s", event);
}

struct fm_result *answer_kinds(struct cli *cli, struct fm_store *store, struct chosen *chosen,
                               int *code)
{
    struct fm_result *result = answer_ask(cli, store, "leaf-kinds", NULL, NULL, code);
    size_t self, samples;

    if (!result)
        return NULL;
    self = answer_column(result, "self");
    samples = answer_column(result, "samples");
    name_chosen(cli, result, chosen);
    for (size_t i = 0; i < fm_result_rows(result, 0); i++) {
        chosen->weight += answer_number(result, i, self);
        chosen->samples += answer_number(result, i, samples);
    }
    return result;
}
