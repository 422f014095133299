/*
 * diag.c - the table of findings (util/diag.def) and its counters.
 */
#include "util/diag.h"

struct diag_row {
    const char *name;
    enum fm_severity severity;
    const char *text;
};

static const struct diag_row table[FM_DIAGS] = {
#define FM_DIAG(key, name, severity, text) {name, severity, text},
#include "util/diag.def"
#undef FM_DIAG
};

void fm_diags_init(struct fm_diags *diags)
{
    for (size_t i = 0; i < FM_DIAGS; i++)
        diags->row[i] = (struct fm_diag_count){0, FM_NO_OFFSET};
}

void fm_diag_add(struct fm_diags *diags, enum fm_diag key, uint64_t offset, uint64_t n)
{
    struct fm_diag_count *row = &diags->row[key];

    fm_assert(key < FM_DIAGS);
    row->count = fm_add_sat_u64(row->count, n);
    if (offset < row->first_offset)
        row->first_offset = offset;
}

void fm_diags_merge(struct fm_diags *diags, const struct fm_diags *from)
{
    for (size_t i = 0; i < FM_DIAGS; i++)
        fm_diag_add(diags, (enum fm_diag)i, from->row[i].first_offset, from->row[i].count);
}

const char *fm_diag_name(enum fm_diag key)
{
    fm_assert(key < FM_DIAGS);
    return table[key].name;
}

enum fm_severity fm_diag_severity(enum fm_diag key)
{
    fm_assert(key < FM_DIAGS);
    return table[key].severity;
}

const char *fm_diag_text(enum fm_diag key)
{
    fm_assert(key < FM_DIAGS);
    return table[key].text;
}

int fm_diags_worst(const struct fm_diags *diags)
{
    int worst = -1;

    for (size_t i = 0; i < FM_DIAGS; i++)
        if (diags->row[i].count > 0 && (int)table[i].severity > worst)
            worst = (int)table[i].severity;
    return worst;
}
