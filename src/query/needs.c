/*
 * needs.c - which labels a query may read, so that an importer that leaves labels out keeps them.
 *
 * A walk over the steps and the parameters' values: every word that could be a column (letters,
 * digits, '_' and '.'), without its scope ("label.addr", "leaf.function" -> "addr", "function").
 * More words than labels are found; importers ignore the others. Nothing is resolved here: there is
 * no store yet.
 */
#include "query/lang.h"

#include "util/out.h"

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.';
}

/* "arg.data.url": an argument by its path, which importers may know by no other name. */
static bool is_argument(const char *s, size_t n)
{
    return (n > 4 && memcmp(s, "arg.", 4) == 0) || (n > 5 && memcmp(s, "args.", 5) == 0);
}

/* The word without "waker.", "link." …: of linked rows the same labels are needed. */
static size_t link_prefix(const char *s, size_t n)
{
    static const char *const prefix[] = { "waker.", "launch.", "parent.", "link." };

    for (size_t i = 0; i < FM_COUNT(prefix); i++) {
        size_t len = strlen(prefix[i]);
        if (n > len && memcmp(s, prefix[i], len) == 0)
            return len;
    }
    return 0;
}

/* Words of one text, each followed by ','. "all" would mean every label. */
static void words(struct fm_out *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t from = i, start;

        while (i < n && word_char(s[i]))
            i++;
        for (start = i; start > from && s[start - 1] != '.';)
            start--;
        if (i > start && !(i - start == 3 && memcmp(s + start, "all", 3) == 0)) {
            fm_out_bytes(out, s + start, i - start);
            fm_out_char(out, ',');
        }
        start = from + link_prefix(s + from, i - from);
        if (is_argument(s + start, i - start)) {
            fm_out_bytes(out, s + start, i - start);
            fm_out_char(out, ',');
        }
        if (i == from)
            i++;
    }
}

static void walk(struct fm_out *out, const struct fm_yaml_node *node)
{
    if (node == NULL)
        return;
    switch (node->type) {
    case FM_YAML_SCALAR:
        words(out, node->text, node->n);
        break;
    case FM_YAML_LIST:
        for (size_t i = 0; i < node->n; i++)
            walk(out, node->item[i]);
        break;
    case FM_YAML_MAP:
        for (size_t i = 0; i < node->n; i++) {
            words(out, node->pair[i].key, strlen(node->pair[i].key));
            walk(out, node->pair[i].value);
        }
        break;
    }
}

static void walk_query(struct fm_out *out, const struct fm_query *query)
{
    walk(out, query->steps);
    walk(out, query->lets);
    walk(out, query->from);                 /* parameters of a used query: columns, too */
    for (size_t i = 0; i < query->params; i++) {
        const struct fm_param *p = &query->param[i];

        walk(out, p->node);
        if (p->text != NULL)
            words(out, p->text, p->n);
    }
    for (const struct fm_used *used = query->used; used != NULL; used = used->next)
        walk_query(out, used->query);
}

const char *fm_query_needs(struct fm_query *query)
{
    struct fm_out out;
    const char *needs = "";

    if (fm_out_init(&out, &query->ctx->mem, NULL) != FM_OK)
        return "";
    walk_query(&out, query);
    if (out.status == FM_OK)
        needs = fm_arena_strn(&query->arena, out.buf, out.n);
    fm_out_release(&out);
    return needs != NULL ? needs : "";
}

/* The i-th of the query and those it uses; *i is what is left of i. */
static const struct fm_query *source(const struct fm_query *query, size_t *i)
{
    const struct fm_query *found = NULL;

    if (*i == 0)
        return query;
    --*i;
    for (const struct fm_used *used = query->used; used != NULL && found == NULL;
         used = used->next)
        found = source(used->query, i);
    return found;
}

const char *fm_query_source(const struct fm_query *query, size_t i)
{
    const struct fm_query *found = source(query, &i);

    return found == NULL || found->file == NULL ? NULL : found->file->name;
}
