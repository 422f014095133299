/*
 * asked.c - whether the rows of a rule can belong to the events that a command names.
 *
 * The names are those of --event (store/choose.c): events, metrics, aliases, derived events, lists
 * of them; "auto" is what default_event lists. What cannot be decided here, globs and computed
 * names, is asked for.
 */
#include "format/binding.h"

#define MAX_DEPTH 4u            /* aliases of aliases */

static bool same(const char *s, const char *word, size_t n)
{
    return strlen(s) == n && memcmp(s, word, n) == 0;
}

static bool list_has(const struct fm_mapping *m, const char *list, const char *name,
                     const char *metric, unsigned depth);

/* One name of a list. */
static bool word_has(const struct fm_mapping *m, const char *word, size_t n, const char *name,
                     const char *metric, unsigned depth)
{
    const char *as;
    if (same("auto", word, n) && fm_default_rank(m, name, metric, &as) >= 0)
        return true;
    if (same("all", word, n) || same(name, word, n) ||
        same(metric, word, n))
        return true;
    for (size_t i = 0; i < n; i++)
        if (strchr("*?[/{", word[i]) != NULL)
            return true;
    if (depth == 0)
        return true;
    for (size_t i = 0; i < m->aliases; i++)
        if (same(m->alias[i].name, word, n) &&
            list_has(m, m->alias[i].list, name, metric, depth - 1))
            return true;
    for (size_t i = 0; i < m->deriveds; i++) {
        const struct fm_rule_derived *d = &m->derived[i];
        if (same(d->name, word, n) && (list_has(m, d->event, name, metric, depth - 1) ||
                                       list_has(m, d->unless, name, metric, depth - 1)))
            return true;
    }
    return false;
}

static bool list_has(const struct fm_mapping *m, const char *list, const char *name,
                     const char *metric, unsigned depth)
{
    while (*list != '\0') {
        size_t n = strcspn(list, ","), from = strspn(list, " ");
        size_t to = n;
        while (to > from && list[to - 1] == ' ')
            to--;
        if (to > from && word_has(m, list + from, to - from, name, metric, depth))
            return true;
        list += n;
        list += *list == ',';
    }
    return false;
}

void fm_binding_only(struct fm_binding *binding, const char *events)
{
    binding->only = events;
}

bool fm_rule_asked(const struct fm_binding *binding, const char *name, const char *metric)
{
    return binding->only == NULL ||
           list_has(binding->m, binding->only, name, metric, MAX_DEPTH);
}
