/*
 * jsonschema.c - the JSON Schema of query files, for editors: `foldmill check --schema`.
 *
 * The keys, types, steps and sources are those of the tables that the parser itself goes by, so
 * that the two cannot differ. What stands under a step is left open: steps judge it themselves, and
 * better than a schema could.
 */
#include "query/plan.h"

#include "util/error.h"

static void words(struct fm_out *out, const char *const *word, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fm_out_text(out, i > 0 ? ", " : "");
        fm_out_json(out, word[i], strlen(word[i]));
    }
}

/* What is known of the value of a key; "" = anything. */
static const char *value_of(enum fm_query_part part, const char *key)
{
    static const struct {
        enum fm_query_part part;
        const char *key, *schema;
    } known[] = {
        { FM_PART_TOP, "foldmill-query", "{\"enum\": [1, \"1\"]}" },
        { FM_PART_TOP, "name", "{\"type\": \"string\"}" },
        { FM_PART_TOP, "about", "{\"type\": \"string\"}" },
        { FM_PART_TOP, "params",
          "{\"type\": \"object\", \"additionalProperties\": {\"$ref\": \"#/$defs/param\"}}" },
        { FM_PART_TOP, "inputs", "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}" },
        { FM_PART_TOP, "let",
          "{\"type\": \"object\", \"additionalProperties\": {\"$ref\": \"#/$defs/let\"}}" },
        { FM_PART_TOP, "from", "{\"$ref\": \"#/$defs/from\"}" },
        { FM_PART_TOP, "steps", "{\"$ref\": \"#/$defs/steps\"}" },
        { FM_PART_TOP, "show", "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}" },
        { FM_PART_TOP, "output", "{\"$ref\": \"#/$defs/output\"}" },
        { FM_PART_LET, "from", "{\"$ref\": \"#/$defs/from\"}" },
        { FM_PART_LET, "steps", "{\"$ref\": \"#/$defs/steps\"}" },
        { FM_PART_OUTPUT, "columns", "{\"type\": \"array\"}" },
        { FM_PART_OUTPUT, "path", "{\"$ref\": \"#/$defs/path\"}" },
        { FM_PART_PATH, "order", "{\"enum\": [\"root-first\", \"leaf-first\"]}" },
        { FM_PART_PATH, "separator", "{\"type\": \"string\"}" },
        { FM_PART_PARAM, "type", "{\"$ref\": \"#/$defs/type\"}" },
        { FM_PART_PARAM, "required", "{\"type\": \"boolean\"}" },
        { FM_PART_PARAM, "choices", "{\"type\": \"array\"}" },
        { FM_PART_PARAM, "about", "{\"type\": \"string\"}" }
    };

    for (size_t i = 0; i < FM_COUNT(known); i++) {
        if (known[i].part == part && strcmp(known[i].key, key) == 0)
            return known[i].schema;
    }
    return "{}";
}

/* A map of the keys of a part, and no others. */
static void keys(struct fm_out *out, enum fm_query_part part)
{
    size_t n;
    const char *const *key = fm_query_keys(part, &n);

    fm_out_text(out, "\"type\": \"object\", \"additionalProperties\": false,\n    "
                     "\"properties\": {");
    for (size_t i = 0; i < n; i++) {
        fm_out_text(out, i > 0 ? ",\n      " : "\n      ");
        words(out, &key[i], 1);
        fm_out_printf(out, ": %s", value_of(part, key[i]));
    }
    fm_out_char(out, '}');
}

static void define(struct fm_out *out, const char *name, enum fm_query_part part,
                   const char *required)
{
    fm_out_printf(out, ",\n    \"%s\": {", name);
    keys(out, part);
    fm_out_printf(out, "%s}", required);
}

static void types(struct fm_out *out)
{
    fm_out_text(out, "\n    \"type\": {\"enum\": [");
    for (size_t i = 0; i < FM_PARAM_TYPES; i++) {
        const char *name = fm_param_type_text((enum fm_param_type)i);
        fm_out_text(out, i > 0 ? ", " : "");
        words(out, &name, 1);
    }
    fm_out_text(out, "]}");
}

/* A name of rows, any other name (a let), or a map. */
static void from(struct fm_out *out)
{
    fm_out_text(out, ",\n    \"view\": {\"enum\": [");
    for (size_t i = 0; i < FM_FROMS; i++) {
        const char *name = fm_from_text((enum fm_from)i);
        fm_out_text(out, i > 0 ? ", " : "");
        words(out, &name, 1);
    }
    fm_out_text(out, "]},\n    \"from\": {\"anyOf\": [{\"$ref\": \"#/$defs/view\"}, "
                     "{\"type\": \"string\"},\n      {\"type\": \"object\", "
                     "\"properties\": {\"table\": {\"$ref\": \"#/$defs/view\"}, \"use\": "
                     "{\"type\": \"string\"}, \"with\": {\"type\": \"object\"}, \"input\": "
                     "{}},\n       \"additionalProperties\": false}]}");
}

static void steps(struct fm_out *out)
{
    const char *name;

    fm_out_text(out, ",\n    \"steps\": {\"type\": \"array\", \"items\": {\"type\": \"object\", "
                     "\"minProperties\": 1, \"maxProperties\": 1,\n      "
                     "\"additionalProperties\": false, \"properties\": {");
    for (size_t i = 0; (name = fm_step_name(i)) != NULL; i++) {
        fm_out_text(out, i > 0 ? ", " : "");
        words(out, &name, 1);
        fm_out_text(out, ": {}");
    }
    fm_out_text(out, "}}}");
}

enum fm_status fm_query_schema(struct fm_ctx *ctx, const struct fm_sink *sink,
                               struct fm_error *err)
{
    enum fm_status status;
    struct fm_out out;

    if (fm_out_init(&out, &ctx->mem, sink) != FM_OK)
        return fm_error_nomem(err);
    fm_out_text(&out, "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  "
                      "\"title\": \"foldmill query\",\n  \"$defs\": {");
    types(&out);
    from(&out);
    steps(&out);
    define(&out, "path", FM_PART_PATH, "");
    define(&out, "output", FM_PART_OUTPUT, "");
    define(&out, "param", FM_PART_PARAM, ", \"required\": [\"type\"]");
    define(&out, "let", FM_PART_LET, "");
    fm_out_text(&out, "},\n  ");
    keys(&out, FM_PART_TOP);
    fm_out_text(&out, ",\n  \"required\": [\"foldmill-query\", \"name\"]}\n");
    status = fm_out_finish(&out, err);
    fm_out_release(&out);
    return status;
}
