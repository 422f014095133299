/*
 * category.h - categories of frames: gc, alloc, lock … as dictionaries on the data path name them.
 *
 *     category.c    queries/categories/NAME.yaml -> rules, checked
 *     classify.c    rules x frames -> a bit a category
 *
 * A frame may be in several categories. Its value as a lane is their list, joined by ',' in byte
 * order of their names; a test holds when it does for one of them.
 */
#ifndef FM_QUERY_CATEGORY_H
#define FM_QUERY_CATEGORY_H

#include "query/pred.h"
#include "query/trie.h"

#define FM_CATEGORIES 63             /* bit 63 of a mask says that it is known */
#define FM_CATEGORY_KNOWN (UINT64_C(1) << 63)

/* What the patterns of dictionaries look at. */
enum fm_text_attr { FM_TEXT_FUNCTION, FM_TEXT_MODULE, FM_TEXT_FILE };
#define FM_TEXT_ATTRS 3

/* Holds when all of its conditions do, and those of `except` do not. */
struct fm_category_rule {
    uint32_t category;
    uint32_t set[FM_TEXT_ATTRS];     /* of the matcher of that text; FM_NONE: any */
    uint32_t kinds;                  /* bit by enum fm_frame_kind; 0: any */
    struct fm_category_rule *except;
};

/* Many sets of patterns tried on a text at once: exact texts and prefixes by one walk of a trie of
 * bytes, the others one by one. */
struct fm_matcher {
    struct fm_trie trie;
    struct fm_map ends;              /* node of the trie -> end + 1 */
    struct fm_matcher_end {
        uint32_t set, next;          /* next end at this node + 1; 0: none */
        bool prefix;
    } *end;
    size_t n, cap;
    struct fm_matcher_pattern {
        struct fm_pattern *pattern;
        uint32_t set;
    } *pattern;
    size_t patterns, pattern_cap;
    uint32_t sets;
    bool base;                       /* the last component of a path may match as well */
    /* by string id: place in hit, where a count stands and that many sets */
    struct fm_map known;
    uint32_t *hit;
    size_t hits, hit_cap;
};

struct fm_category {
    const char *name, *about;
    size_t rules;
    fm_str id;                       /* in the store of the compile; 0: not yet */
};

struct fm_categories {
    struct fm_mem *mem;
    struct fm_category category[FM_CATEGORIES];
    uint32_t rank[FM_CATEGORIES];    /* category -> place in byte order of names: its bit */
    const char *name[FM_CATEGORIES]; /* in that order */
    size_t categories;
    struct fm_matcher matcher[FM_TEXT_ATTRS];
    struct fm_category_rule **rule;
    size_t rules, rule_cap;
    size_t files;
    /* classify.c */
    struct fm_category_rule **of_function;   /* function set -> its rule; NULL: of an `except` */
    struct fm_category_rule **plain;         /* rules without a function */
    size_t plains;
    struct fm_map list;              /* mask -> list as a string of the store */
};

/* The dictionaries of the data path, once a compile; what is wrong with them goes to c->log. false:
 * they are wrong, there are none, or no memory. */
bool fm_categories_load(struct fm_compile *c);
void fm_categories_release(struct fm_categories *x);      /* also NULL */

/* classify.c. false: no memory. */
bool fm_matcher_init(struct fm_matcher *m, struct fm_mem *mem);
void fm_matcher_release(struct fm_matcher *m);
/* Adds a pattern to a set. The matcher does not own it. */
bool fm_matcher_exact(struct fm_matcher *m, uint32_t set, const char *s, size_t n, bool prefix);
bool fm_matcher_pattern(struct fm_matcher *m, uint32_t set, struct fm_pattern *pattern);
bool fm_categories_index(struct fm_categories *x, struct fm_arena *arena);

#endif
