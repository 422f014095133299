/*
 * color_rules.c - colours of frames by rules in a file of the user's own:
 *
 *     foldmill-colors: 1
 *     background: blue                       # or #rrggbb; by default yellow
 *     rules:                                 # the first that holds
 *       - {match: '^std::', palette: aqua}   # a regular expression on the name
 *       - {kind: kernel, palette: orange}    # by annotation: kernel inlined jit interpreted
 *       - {kind: [gpu, gpu-source], color: '#44aa44'}    # c1 gpu gpu-source waker
 *       - {match: alloc, kind: jit, palette: green}      # both must hold
 *       - {palette: red}                     # all others
 *
 * A palette is one of FlameGraph's (palette.h) and shades by the name; a colour is the same for
 * all. Names are matched without their annotation.
 */
#include "export/flame_extra.h"
#include "export/palette.h"

#include "util/error.h"
#include "util/pattern.h"
#include "util/yaml.h"

static const struct {
    const char *name;
    char letter;
} kinds[] = {{"kernel", 'k'}, {"inlined", 'i'}, {"jit", 'j'},        {"interpreted", '0'},
             {"c1", '1'},     {"gpu", 'g'},     {"gpu-source", 'G'}, {"waker", 'w'}};

struct rule {
    struct fm_pattern *match;      /* NULL: any name */
    unsigned kinds;                /* bits by row of `kinds`; 0: any */
    int palette;                   /* -1: the colour */
    unsigned rgb[3];
};

struct fm_color_rules {
    struct fm_mem *mem;
    struct rule *rule;
    size_t rules;
    const char *background;
};

struct reader {
    struct fm_color_rules *x;
    struct fm_yaml_log *log;
};

static bool hex_color(const char *s, unsigned rgb[3])
{
    for (unsigned k = 0; k < 3; k++) {
        rgb[k] = 0;
        for (unsigned i = 0; i < 2; i++) {
            char c = s[0] == '#' ? s[1 + 2 * k + i] : '\0';
            int v = c >= '0' && c <= '9' ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
            if (v < 0)
                return false;
            rgb[k] = rgb[k] * 16 + (unsigned)v;
        }
    }
    return s[7] == '\0';
}

static bool take_kind(struct reader *r, const struct fm_yaml_node *node, struct rule *rule)
{
    const char *known[FM_COUNT(kinds)];
    if (node->type == FM_YAML_LIST) {
        bool good = true;
        for (size_t i = 0; i < node->n; i++)
            good = take_kind(r, node->item[i], rule) && good;
        return good;
    }
    for (size_t i = 0; i < FM_COUNT(kinds); i++) {
        known[i] = kinds[i].name;
        if (fm_yaml_is(node, kinds[i].name)) {
            rule->kinds |= 1u << i;
            return true;
        }
    }
    if (node->type != FM_YAML_SCALAR)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), node, "'kind' is a word or a list of them");
    else
        fm_yaml_unknown(r->log, node, "kind", node->text, known, FM_COUNT(known));
    return false;
}

static bool take_palette(struct reader *r, const struct fm_yaml_node *node, struct rule *rule)
{
    const char *known[32];
    size_t n = 0;
    if (node->type == FM_YAML_SCALAR) {
        rule->palette = fm_palette_find(node->text);
        if (rule->palette >= 0)
            return true;
    }
    while (n < FM_COUNT(known) && fm_palette_name(n) != NULL) {
        known[n] = fm_palette_name(n);
        n++;
    }
    fm_yaml_unknown(r->log, node, "palette", node->type == FM_YAML_SCALAR ? node->text : "…", known,
                    n);
    return false;
}

static bool take_match(struct reader *r, const struct fm_yaml_node *node, struct rule *rule)
{
    struct fm_error err = {0};
    if (node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), node, "'match' is a regular expression");
        return false;
    }
    if (fm_pattern_new_regex(r->x->mem, node->text, node->n, NULL, &rule->match, &err) == FM_OK)
        return true;
    fm_yaml_error(fm_yaml_as(r->log, FM_YAML_REGEX), node, "%s", err.message);
    return false;
}

static bool take_rule(struct reader *r, const struct fm_yaml_node *node, struct rule *rule)
{
    static const char *const keys[] = {"match", "kind", "palette", "color"};
    const struct fm_yaml_node *match = fm_yaml_get(node, "match");
    const struct fm_yaml_node *kind = fm_yaml_get(node, "kind");
    const struct fm_yaml_node *palette = fm_yaml_get(node, "palette");
    const struct fm_yaml_node *color = fm_yaml_get(node, "color");
    bool good;
    rule->palette = -1;
    if (node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), node, "a rule is a map");
        return false;
    }
    good = fm_yaml_known(r->log, node, keys, FM_COUNT(keys), "key of a rule");
    if ((palette == NULL) == (color == NULL)) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), node,
                      "a rule needs one of 'palette' and 'color'");
        good = false;
    }
    if (match != NULL)
        good = take_match(r, match, rule) && good;
    if (kind != NULL)
        good = take_kind(r, kind, rule) && good;
    if (palette != NULL)
        good = take_palette(r, palette, rule) && good;
    if (color != NULL && (color->type != FM_YAML_SCALAR || !hex_color(color->text, rule->rgb))) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), color, "a color is written '#rrggbb'");
        good = false;
    }
    return good;
}

static bool take_file(struct reader *r, struct fm_arena *arena, const struct fm_yaml_node *root)
{
    static const char *const keys[] = {"foldmill-colors", "about", "background", "rules"};
    const struct fm_yaml_node *version = fm_yaml_get(root, "foldmill-colors");
    const struct fm_yaml_node *background = fm_yaml_get(root, "background");
    const struct fm_yaml_node *rules = fm_yaml_get(root, "rules");
    bool good = true;
    if (version == NULL || !fm_yaml_is(version, "1") || rules == NULL ||
        rules->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), root,
                      "a file of colours has 'foldmill-colors: 1' and a list of 'rules'");
        return false;
    }
    good = fm_yaml_known(r->log, root, keys, FM_COUNT(keys), "key of a file of colours");
    if (background != NULL && background->type == FM_YAML_SCALAR)
        r->x->background = background->text;
    r->x->rule = fm_arena_alloc(arena, (rules->n + 1) * sizeof *r->x->rule);
    if (r->x->rule == NULL)
        return false;
    for (size_t i = 0; i < rules->n; i++) {
        r->x->rules = i + 1;
        good = take_rule(r, rules->item[i], &r->x->rule[i]) && good;
    }
    return good;
}

enum fm_status fm_color_rules_read(struct fm_ctx *ctx, struct fm_arena *arena, const char *path,
                                   struct fm_color_rules **result, struct fm_error *err)
{
    struct fm_yaml_file *file;
    struct fm_yaml_log log;
    struct reader r = {.x = fm_arena_alloc(arena, sizeof *r.x), .log = &log};
    enum fm_status status;
    fm_yaml_log_init(&log, arena);
    if (r.x == NULL)
        return fm_error_nomem(err);
    r.x->mem = &ctx->mem;
    *result = r.x;
    status = fm_yaml_load(arena, path, &file, &log, err);
    if (status != FM_OK)
        return status;
    if (file->documents != 1)
        return fm_error_set(err, FM_CONFIG, "%s: one document is expected, there are %zu", path,
                            file->documents);
    if (take_file(&r, arena, file->document[0]))
        return FM_OK;
    if (log.errors == 0)
        return fm_error_nomem(err);
    if (err != NULL)
        *err = log.first;
    return FM_CONFIG;
}

void fm_color_rules_release(struct fm_color_rules *x)
{
    for (size_t i = 0; x != NULL && i < x->rules; i++)
        fm_pattern_free(x->rule[i].match);
}

const char *fm_color_rules_background(const struct fm_color_rules *x)
{
    return x->background;
}

/* The bit of the annotation that ends a name, whose length is then *n; 0: none. */
static unsigned annotation(const char *s, size_t *n)
{
    if (*n < 4 || s[*n - 1] != ']' || s[*n - 3] != '[' || s[*n - 4] != '_')
        return 0;
    for (size_t i = 0; i < FM_COUNT(kinds); i++) {
        if (s[*n - 2] == kinds[i].letter) {
            *n -= 4;
            return 1u << i;
        }
    }
    return 0;
}

void fm_color_rules_color(const struct fm_color_rules *x, bool hash, const char *name, size_t n,
                          unsigned rgb[3])
{
    size_t bare = n;
    unsigned kind = annotation(name, &bare);
    for (size_t i = 0; i < x->rules; i++) {
        const struct rule *rule = &x->rule[i];
        if ((rule->kinds != 0 && (rule->kinds & kind) == 0) ||
            (rule->match != NULL && !fm_pattern_match(rule->match, name, bare)))
            continue;
        if (rule->palette >= 0)
            fm_palette_color(rule->palette, hash, name, n, rgb);
        else
            memcpy(rgb, rule->rgb, sizeof rule->rgb);
        return;
    }
    fm_palette_color(fm_palette_find("hot"), hash, name, n, rgb);
}
