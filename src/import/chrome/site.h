/*
 * site.h - where spans come from: a name and a category, and what the mapping makes of it. Inner
 * header of chrome/, for span.c and span_row.c.
 */
#ifndef FM_IMPORT_CHROME_SITE_H
#define FM_IMPORT_CHROME_SITE_H

#include "import/chrome/chrome.h"
#include "import/chrome/span.h"

/* Fields of a span; the first seven are always there, the category where there is one. */
enum {
    FM_X_SELF, FM_X_TS, FM_X_DUR, FM_X_STACK, FM_X_THREAD, FM_X_NAME, FM_X_CAT, FM_X_UNFINISHED,
    FM_X_CPU, FM_X_SF, FM_X_ESF, FM_X_FIELDS
};
#define FM_X_ALWAYS ((UINT64_C(1) << (FM_X_CAT + 1)) - 1)

struct fm_chrome_site {
    fm_str name, cat;
    uint32_t class;                /* of the group X or total */
    uint32_t number;               /* of the name, 0: it has none */
    fm_frame frame;
    uint32_t copy;                 /* of sites.copy + 1; 0: rows take the long way */
    bool links;                    /* its rows have keys of links */
};

/* A name and category as they stand in the file, and their site. */
#define FM_CHROME_RECENT 1024u
struct fm_chrome_recent {
    uint32_t site;                 /* + 1; 0: not used */
    uint16_t name_n, cat_n;
    char text[56];                 /* name, category */
};

#define FM_CHROME_COPIES 16u
struct fm_chrome_sites {
    struct fm_chrome_recent recent[FM_CHROME_RECENT];
    struct fm_chrome_site *site;
    size_t sites, site_cap;
    struct fm_map site_map;        /* name << 32 | category -> site */
    struct fm_map name_map;        /* name -> number */
    uint32_t names;
    fm_str unnamed;
    fm_str last_cat;               /* category of the last event, as it stood there */
    char cat[64];
    size_t cat_n;
    struct fm_class_copy copy[FM_CHROME_COPIES];
    uint32_t copies;
    struct fm_chrome_sweep sweep;
    size_t head_cap;
};

#endif
