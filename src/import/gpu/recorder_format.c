/*
 * recorder_format.c - layouts of OA reports, as a table: where each counter lies.
 *
 *     32-bit header   u32 id | u32 timestamp | u32 context | u32 clocks | counters …
 *     64-bit header   u64 id | u64 timestamp | u64 context | u64 clocks | counters …
 *
 * A counter of 40 bits has its low 32 bits in one array and its high 8 in another. Layouts: the
 * format reference of Intel GPU dumps (section OA reports), after the kernel's list of OA formats.
 */
#include "import/gpu/recorder.h"

#include <stdio.h>

#define A45_B8_C8 3, {{"A", 0, 45, 32, 12, 0}, {"B", 0, 8, 32, 192, 0}, {"C", 0, 8, 32, 224, 0}}
#define A32U40 \
    4, {{"A", 0, 32, 40, 16, 160}, {"A", 32, 4, 32, 144, 0}, {"B", 0, 8, 32, 192, 0}, \
        {"C", 0, 8, 32, 224, 0}}
#define A24U40 \
    8, {{"A", 0, 4, 32, 16, 0}, {"A", 4, 20, 40, 32, 164}, {"A", 24, 4, 32, 112, 0}, \
        {"A", 28, 4, 40, 128, 188}, {"A", 32, 5, 32, 144, 0}, {"A", 37, 1, 32, 184, 0}, \
        {"B", 0, 8, 32, 192, 0}, {"C", 0, 8, 32, 224, 0}}
#define OAC \
    3, {{"A", 28, 8, 64, 160, 0}, {"B", 0, 8, 32, 224, 0}, {"C", 0, 8, 32, 256, 0}}

/* The others (A13 … A12_B8_C8, and those of few counters) are known by name and size; of their
 * reports the header is read. */
static const struct fm_oa_format table[] = {
    {"A13", 1, 0, 64, false, 0, {{"", 0, 0, 0, 0, 0}}},
    {"A29", 2, 0, 128, false, 0, {{"", 0, 0, 0, 0, 0}}},
    {"A13_B8_C8", 3, 0, 128, false, 0, {{"", 0, 0, 0, 0, 0}}},
    {"B4_C8", 4, 0, 64, false, 0, {{"", 0, 0, 0, 0, 0}}},
    {"A45_B8_C8", 5, 0, 256, false, A45_B8_C8},
    {"B4_C8_A16", 6, 0, 128, false, 0, {{"", 0, 0, 0, 0, 0}}},
    {"C4_B8", 7, 1, 64, false, 0, {{"", 0, 0, 0, 0, 0}}},
    {"A12", 8, 2, 64, false, 1, {{"A", 0, 12, 32, 16, 0}}},
    {"A12_B8_C8", 9, 3, 128, false, 3,
     {{"A", 0, 12, 32, 16, 0}, {"B", 0, 8, 32, 64, 0}, {"C", 0, 8, 32, 96, 0}}},
    {"A32u40_A4u32_B8_C8", 10, 4, 256, false, A32U40},
    {"OAR_A32u40_A4u32_B8_C8", 11, 5, 256, false, A32U40},
    {"A24u40_A14u32_B8_C8", 12, 6, 256, false, A24U40},
    {"OAC_A24u64_B8_C8", 0, 7, 320, true, OAC},
    {"OAC_A22u32_R2u32_B8_C8", 0, 8, 192, true, 0, {{"", 0, 0, 0, 0, 0}}},
    {"MPEC8u64_B8_C8", 13, 9, 192, true, 3,
     {{"MPEC", 0, 8, 64, 32, 0}, {"B", 0, 8, 32, 96, 0}, {"C", 0, 8, 32, 128, 0}}},
    {"MPEC8u32_B8_C8", 14, 10, 128, true, 3,
     {{"MPEC", 0, 8, 32, 32, 0}, {"B", 0, 8, 32, 64, 0}, {"C", 0, 8, 32, 96, 0}}},
    {"PEC64u64", 0, 11, 576, true, 1, {{"PEC", 0, 64, 64, 32, 0}}},
    {"PEC64u64_B8_C8", 0, 12, 640, true, 1, {{"PEC", 0, 64, 64, 32, 0}}},
    {"PEC64u32", 0, 13, 320, true, 1, {{"PEC", 0, 64, 32, 32, 0}}},
    {"PEC32u64_G1", 0, 14, 320, true, 1, {{"PEC", 0, 32, 64, 32, 0}}},
};

const struct fm_oa_format *fm_oa_format(bool xe, uint32_t number)
{
    for (size_t i = 0; number != 0 && i < FM_COUNT(table); i++)
        if ((xe ? table[i].xe : table[i].i915) == number)
            return &table[i];
    return NULL;
}

size_t fm_oa_counters(const struct fm_oa_format *format)
{
    size_t n = 0;
    for (size_t i = 0; format != NULL && i < format->runs; i++)
        n += format->run[i].n;
    fm_assert(n <= FM_OA_COUNTERS);
    return n;
}

unsigned fm_oa_counter(const struct fm_oa_format *format, size_t i, char *name, size_t n)
{
    const struct fm_oa_run *run = format->run;
    for (; i >= run->n; run++)
        i -= run->n;
    (void)snprintf(name, n, "%.4s%u", run->bank, (unsigned)(run->first + i));
    return run->bits;
}

size_t fm_oa_find(const struct fm_oa_format *format, const char *name)
{
    char own[16];
    for (size_t i = 0, n = fm_oa_counters(format); i < n; i++) {
        (void)fm_oa_counter(format, i, own, sizeof own);
        if (strcmp(own, name) == 0)
            return i;
    }
    return SIZE_MAX;
}

void fm_oa_values(const struct fm_oa_format *format, const unsigned char *p, uint64_t *value)
{
    for (size_t k = 0; k < format->runs; k++) {
        const struct fm_oa_run *run = &format->run[k];
        fm_assert(run->low + (size_t)run->n * (run->bits == 64 ? 8u : 4u) <= format->bytes);
        for (size_t i = 0; i < run->n; i++) {
            if (run->bits == 64)
                *value++ = fm_load_u64(p + run->low + 8 * i);
            else if (run->bits == 40)
                *value++ = fm_load_u32(p + run->low + 4 * i) | (uint64_t)p[run->high + i] << 32;
            else
                *value++ = fm_load_u32(p + run->low + 4 * i);
        }
    }
}

void fm_oa_header(bool wide, const unsigned char *p, struct fm_oa_report *report)
{
    *report = wide ? (struct fm_oa_report){fm_load_u64(p), fm_load_u64(p + 8),
                                           fm_load_u64(p + 16), fm_load_u64(p + 24)}
                   : (struct fm_oa_report){fm_load_u32(p), fm_load_u32(p + 4),
                                           fm_load_u32(p + 8), fm_load_u32(p + 12)};
}
