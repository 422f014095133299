/*
 * classify.c - which categories a frame is in.
 *
 *     function ─┐                        sets of patterns that match the text,
 *     module   ─┼─ matcher ─ sets ─┐     found once per distinct text
 *     file     ─┘                  ├─ rules ─ mask: bit k = k-th category by name
 *     kind     ────────────────────┘
 *
 * Rules with a function are looked at only when their set of functions has matched; the few others
 * always. Masks are kept by frame in the view, so rows only look them up.
 */
#include "query/category.h"

#include "util/out.h"

/* ----------------------------------------------------------------- matchers */

bool fm_matcher_init(struct fm_matcher *m, struct fm_mem *mem)
{
    *m = (struct fm_matcher){ .sets = 0 };
    fm_map_init(&m->ends, mem);
    fm_map_init(&m->known, mem);
    return fm_trie_init(&m->trie, mem);
}

void fm_matcher_release(struct fm_matcher *m)
{
    struct fm_mem *mem = m->ends.mem;

    if (mem == NULL)
        return;
    fm_map_release(&m->ends);
    fm_map_release(&m->known);
    fm_trie_release(&m->trie);
    fm_mem_free(mem, m->end, m->cap * sizeof *m->end);
    fm_mem_free(mem, m->pattern, m->pattern_cap * sizeof *m->pattern);
    fm_mem_free(mem, m->hit, m->hit_cap * sizeof *m->hit);
}

bool fm_matcher_exact(struct fm_matcher *m, uint32_t set, const char *s, size_t n, bool prefix)
{
    uint32_t at = 0;
    uint64_t *slot;

    for (size_t i = 0; i < n && at != UINT32_MAX; i++)
        at = fm_trie_child(&m->trie, at, (unsigned char)s[i]);
    slot = at == UINT32_MAX ? NULL : fm_map_put(&m->ends, at, NULL);
    if (slot == NULL
        || !fm_grow(m->ends.mem, (void **)&m->end, &m->cap, m->n + 1, sizeof *m->end))
        return false;
    m->end[m->n++] = (struct fm_matcher_end){ set, (uint32_t)*slot, prefix };
    *slot = m->n;
    return true;
}

bool fm_matcher_pattern(struct fm_matcher *m, uint32_t set, struct fm_pattern *pattern)
{
    if (!fm_grow(m->ends.mem, (void **)&m->pattern, &m->pattern_cap, m->patterns + 1,
                 sizeof *m->pattern))
        return false;
    m->pattern[m->patterns++] = (struct fm_matcher_pattern){ pattern, set };
    return true;
}

static bool put(struct fm_matcher *m, uint32_t v)
{
    if (!fm_grow(m->ends.mem, (void **)&m->hit, &m->hit_cap, m->hits + 1, sizeof *m->hit))
        return false;
    m->hit[m->hits++] = v;
    return true;
}

/* Adds the sets that match a text to the list that grows at the end of m->hit. */
static bool match(struct fm_matcher *m, const char *s, size_t n)
{
    uint32_t at = 0;
    bool ok = true;

    for (size_t i = 0; at != UINT32_MAX; i++) {
        const uint64_t *slot = fm_map_find(&m->ends, at);
        for (size_t k = slot == NULL ? 0 : (size_t)*slot; k != 0 && ok; k = m->end[k - 1].next) {
            if (i == n || m->end[k - 1].prefix)
                ok = put(m, m->end[k - 1].set);
        }
        if (i == n)
            break;
        at = fm_trie_find(&m->trie, at, (unsigned char)s[i]);
    }
    for (size_t i = 0; i < m->patterns && ok; i++) {
        if (fm_pattern_match(m->pattern[i].pattern, s, n))
            ok = put(m, m->pattern[i].set);
    }
    return ok;
}

/* The sets of a text of the store: *n of them; NULL: no memory. */
static const uint32_t *sets_of(struct fm_matcher *m, const struct fm_store *store, fm_str id,
                               uint32_t *n)
{
    bool fresh;
    uint64_t *slot = fm_map_put(&m->known, id, &fresh);
    size_t place, len;
    const char *s;

    if (slot == NULL)
        return NULL;
    if (fresh) {
        *slot = place = m->hits;
        s = fm_store_str(store, id, &len);
        if (!put(m, 0) || !match(m, s, len))
            return NULL;
        if (m->base) {
            size_t base = len;
            while (base > 0 && s[base - 1] != '/')
                base--;
            if (base > 0 && !match(m, s + base, len - base))
                return NULL;
        }
        m->hit[place] = (uint32_t)(m->hits - place - 1);
    }
    place = (size_t)*slot;
    *n = m->hit[place];
    return &m->hit[place + 1];
}

/* -------------------------------------------------------------------- rules */

bool fm_categories_index(struct fm_categories *x, struct fm_arena *arena)
{
    uint32_t sets = x->matcher[FM_TEXT_FUNCTION].sets;

    x->of_function = fm_arena_alloc(arena, ((size_t)sets + 1) * sizeof *x->of_function);
    x->plain = fm_arena_alloc(arena, (x->rules + 1) * sizeof *x->plain);
    if (x->of_function == NULL || x->plain == NULL)
        return false;
    for (size_t i = 0; i < x->rules; i++) {
        struct fm_category_rule *rule = x->rule[i];
        if (rule->set[FM_TEXT_FUNCTION] != FM_NONE)
            x->of_function[rule->set[FM_TEXT_FUNCTION]] = rule;
        else
            x->plain[x->plains++] = rule;
    }
    return true;
}

/* A frame while it is looked at. */
struct subject {
    const uint32_t *set[FM_TEXT_ATTRS];
    uint32_t n[FM_TEXT_ATTRS];
    uint8_t kind;
};

static bool has(const struct subject *s, size_t attr, uint32_t set)
{
    for (uint32_t i = 0; i < s->n[attr]; i++) {
        if (s->set[attr][i] == set)
            return true;
    }
    return false;
}

static bool holds(const struct fm_category_rule *rule, const struct subject *s)
{
    if (rule->kinds != 0 && ((rule->kinds >> s->kind) & 1) == 0)
        return false;
    for (size_t a = 0; a < FM_TEXT_ATTRS; a++) {
        if (rule->set[a] != FM_NONE && !has(s, a, rule->set[a]))
            return false;
    }
    return rule->except == NULL || !holds(rule->except, s);
}

uint64_t fm_category_row(struct fm_compile *c, const struct fm_frame_row *row, fm_str label,
                         fm_str dso)
{
    struct fm_categories *x = c->categories;
    const fm_str text[FM_TEXT_ATTRS] = { label, dso == FM_NONE ? 0 : dso, row->file };
    struct subject s = { .kind = row->kind };
    uint64_t mask = FM_CATEGORY_KNOWN;

    if (x == NULL)
        return mask;
    for (size_t a = 0; a < FM_TEXT_ATTRS; a++) {
        s.set[a] = sets_of(&x->matcher[a], c->store, text[a], &s.n[a]);
        if (s.set[a] == NULL) {
            c->arena->oom = true;
            return mask;
        }
    }
    for (uint32_t i = 0; i < s.n[FM_TEXT_FUNCTION]; i++) {
        const struct fm_category_rule *rule = x->of_function[s.set[FM_TEXT_FUNCTION][i]];
        if (rule != NULL && holds(rule, &s))
            mask |= UINT64_C(1) << x->rank[rule->category];
    }
    for (size_t i = 0; i < x->plains; i++) {
        if (holds(x->plain[i], &s))
            mask |= UINT64_C(1) << x->rank[x->plain[i]->category];
    }
    return mask;
}

uint64_t fm_category_mask(struct fm_compile *c, const struct fm_view *v, uint32_t frame)
{
    uint64_t *mask = *v->category;

    if (mask == NULL) {
        mask = *v->category = fm_arena_alloc(v->arena, (v->frames + 1) * sizeof *mask);
        if (mask == NULL) {
            c->arena->oom = true;
            return FM_CATEGORY_KNOWN;
        }
    }
    if (mask[frame] == 0)
        mask[frame] = fm_category_row(c, fm_view_frame(v, frame), v->label[frame], v->dso[frame]);
    return mask[frame];
}

fm_str fm_category_name(struct fm_compile *c, unsigned bit)
{
    const char *name = c->categories->name[bit];

    return fm_store_str_add(c->store, name, strlen(name));
}

fm_str fm_category_list(struct fm_compile *c, uint64_t mask)
{
    struct fm_categories *x = c->categories;
    uint64_t *slot;
    struct fm_out out;
    bool fresh;

    if ((mask & ~FM_CATEGORY_KNOWN) == 0)
        return FM_NONE;
    slot = fm_map_put(&x->list, mask, &fresh);
    if (slot != NULL && !fresh)
        return (fm_str)*slot;
    if (slot == NULL || fm_out_init(&out, x->mem, NULL) != FM_OK)
        return c->arena->oom = true, FM_NONE;
    for (unsigned bit = 0; bit < x->categories; bit++) {
        if (((mask >> bit) & 1) == 0)
            continue;
        if (out.n > 0)
            fm_out_char(&out, ',');
        fm_out_text(&out, x->name[bit]);
    }
    *slot = out.status == FM_OK ? fm_store_str_add(c->store, out.buf, out.n) : FM_NONE;
    fm_out_release(&out);
    c->arena->oom |= *slot == FM_NONE;
    return (fm_str)*slot;
}
