/*
 * schema.c - the keys of a report file, for the reader and as a JSON Schema for editors, so that
 * the two cannot differ; and whether a file is a right report.
 */
#include "report/reader.h"

#include "util/error.h"

struct key {
    const char *name, *schema;
};

#define TEXT "{\"type\": \"string\"}"
#define ANY "{\"type\": [\"string\", \"number\", \"boolean\"]}"
#define TEXTS "{\"type\": [\"string\", \"array\"]}"
#define VALUES "{\"type\": \"object\"}"
#define LIST(part) "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/" part "\"}}"
#define ASK \
    {"query", TEXT}, {"with", VALUES}, {"export", TEXT}, {"event", TEXT}, {"weight", TEXT}, \
    {"prepend", TEXT}, {"append", TEXT}, {"filter", TEXTS}, {"title", TEXT}, {"set", VALUES}, \
    {"names", TEXT}, {"normalize", TEXT}

static const struct key top[] = {
    {"foldmill-report", "{\"enum\": [1, \"1\"]}"}, {"name", TEXT}, {"about", TEXT},
    {"title", TEXT}, {"params", VALUES}, {"labels", TEXTS}, {"each", LIST("each")},
    {"tables", LIST("table")}, {"groups", VALUES}, {"compare", LIST("compare")},
    {"gates", LIST("gate")}, {"trends", LIST("trend")},
    {"index", "{\"anyOf\": [{\"type\": \"string\"}, {\"$ref\": \"#/$defs/index\"}]}"},
};
static const struct key each[] = {ASK, {"to", TEXT}};
static const struct key rows[] = {
    {"name", TEXT}, {"about", TEXT}, {"from", "{\"enum\": [\"files\"]}"}, {"query", TEXT},
    {"with", VALUES}, {"event", TEXT}, {"weight", TEXT}, {"filter", TEXTS}, {"part", ANY},
    {"front", TEXTS}, {"columns", TEXTS}, {"to", TEXTS},
};
static const struct key compare[] = {
    ASK, {"name", TEXT}, {"inputs", VALUES}, {"base", TEXT}, {"new", TEXT}, {"to", TEXT},
};
static const struct key gate[] = {
    {"table", TEXT}, {"fail_if", TEXT}, {"warn_if", TEXT}, {"message", TEXT},
};
static const struct key trend[] = {
    {"name", TEXT}, {"about", TEXT}, {"table", TEXT}, {"where", VALUES}, {"value", TEXT},
    {"sum", ANY}, {"time", TEXT}, {"by", TEXTS}, {"to", TEXT}, {"chart", TEXT},
    {"gate", "{\"$ref\": \"#/$defs/trend-gate\"}"},
};
static const struct key trend_gate[] = {
    {"baseline", TEXT}, {"candidate", TEXT}, {"worse", "{\"enum\": [\"up\", \"down\"]}"},
    {"by", ANY}, {"sigma", ANY}, {"files", ANY}, {"warn", ANY},
};
static const struct key index_page[] = {{"to", TEXT}, {"picture", TEXT}};

static const struct {
    const char *name;
    const struct key *key;
    size_t n;
} part_table[FM_REPORT_PARTS] = {
    [FM_REPORT_TOP] = {"report", top, FM_COUNT(top)},
    [FM_REPORT_EACH] = {"each", each, FM_COUNT(each)},
    [FM_REPORT_ROWS] = {"table", rows, FM_COUNT(rows)},
    [FM_REPORT_COMPARE] = {"compare", compare, FM_COUNT(compare)},
    [FM_REPORT_GATE] = {"gate", gate, FM_COUNT(gate)},
    [FM_REPORT_TREND] = {"trend", trend, FM_COUNT(trend)},
    [FM_REPORT_TREND_GATE] = {"trend-gate", trend_gate, FM_COUNT(trend_gate)},
    [FM_REPORT_INDEX] = {"index", index_page, FM_COUNT(index_page)},
};

bool fm_report_known(const struct fm_yaml_node *map, enum fm_report_part part,
                     struct fm_yaml_log *log)
{
    const char *name[32];
    size_t n = part_table[part].n;

    fm_assert(n <= FM_COUNT(name));
    for (size_t i = 0; i < n; i++)
        name[i] = part_table[part].key[i].name;
    return fm_yaml_known(log, map, name, n, "key");
}

static void map(struct fm_out *out, enum fm_report_part part)
{
    fm_out_text(out, "\"type\": \"object\", \"additionalProperties\": false,\n    "
                     "\"properties\": {");
    for (size_t i = 0; i < part_table[part].n; i++) {
        const struct key *key = &part_table[part].key[i];

        fm_out_text(out, i > 0 ? ",\n      " : "\n      ");
        fm_out_json(out, key->name, strlen(key->name));
        fm_out_printf(out, ": %s", key->schema);
    }
    fm_out_char(out, '}');
}

enum fm_status fm_report_schema(struct fm_ctx *ctx, const struct fm_sink *sink,
                                struct fm_error *err)
{
    enum fm_status status;
    struct fm_out out;

    if (fm_out_init(&out, &ctx->mem, sink) != FM_OK)
        return fm_error_nomem(err);
    fm_out_text(&out, "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  "
                      "\"title\": \"foldmill report\",\n  \"$defs\": {");
    for (int part = FM_REPORT_EACH; part < FM_REPORT_PARTS; part++) {
        fm_out_printf(&out, "%s\n    \"%s\": {", part > FM_REPORT_EACH ? "," : "",
                      part_table[part].name);
        map(&out, (enum fm_report_part)part);
        fm_out_char(&out, '}');
    }
    fm_out_text(&out, "},\n  ");
    map(&out, FM_REPORT_TOP);
    fm_out_text(&out, ",\n  \"required\": [\"foldmill-report\", \"name\"]}\n");
    status = fm_out_finish(&out, err);
    fm_out_release(&out);
    return status;
}

/* ---------------------------------------------------------------- checking */

/* Whether the file says of itself that it is a report. */
static bool is_report(struct fm_arena *arena, const char *path)
{
    struct fm_yaml_file *file = NULL;
    struct fm_yaml_log log;

    fm_yaml_log_init(&log, arena);
    return fm_yaml_load(arena, path, &file, &log, NULL) == FM_OK && file->documents > 0
           && fm_yaml_get(file->document[0], "foldmill-report") != NULL;
}

static void describe(const struct fm_report_plan *plan, struct fm_out *out)
{
    fm_out_printf(out, "report %s: %s\n", plan->name, plan->about[0] != '\0' ? plan->about : "-");
    for (size_t i = 0; i < plan->params; i++)
        fm_out_printf(out, "  -p %s  default %s\n", plan->param[i].name, plan->param[i].value);
}

enum fm_status fm_report_check(struct fm_ctx *ctx, const char *path, const struct fm_sink *sink,
                               struct fm_error *err)
{
    struct fm_report_plan plan = {.pattern = NULL};
    const char *messages = "";
    struct fm_arena arena;
    struct fm_out out;
    enum fm_status status, written;

    fm_arena_init(&arena, &ctx->mem);
    if (!is_report(&arena, path)) {
        fm_arena_release(&arena);
        return FM_UNKNOWN;
    }
    if (fm_out_init(&out, &ctx->mem, sink) != FM_OK) {
        fm_arena_release(&arena);
        return fm_error_nomem(err);
    }
    status = fm_report_plan_load(&plan, ctx, &arena, path, NULL, 0, &messages, err);
    fm_out_text(&out, messages);
    if (status == FM_OK)
        describe(&plan, &out);
    written = fm_out_finish(&out, err);
    fm_out_release(&out);
    fm_report_plan_release(&plan);
    fm_arena_release(&arena);
    return status == FM_OK ? written : status;
}
