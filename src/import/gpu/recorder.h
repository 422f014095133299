/*
 * recorder.h - the parts of the importer of i915-perf-recorder and xe-perf-recorder files among
 * themselves.
 *
 *     records -> recorder.c      -> correlations -> recorder_time.c   (GPU ticks -> CPU ns)
 *                                -> OA reports   -> recorder_format.c (bytes -> counters)
 *                                                -> recorder_row.c    (differences -> rows)
 */
#ifndef FM_IMPORT_GPU_RECORDER_H
#define FM_IMPORT_GPU_RECORDER_H

#include "import/import.h"

/* ------------------------------------------------------ recorder_format.c */

#define FM_OA_COUNTERS 96u

/* Counters that lie one behind the other. */
struct fm_oa_run {
    char bank[5];              /* "A", "B", "C", "PEC", "MPEC" */
    uint8_t first, n, bits;    /* bits: 32, 40 or 64 */
    uint16_t low;              /* byte of the first one, or of its low 32 bits */
    uint16_t high;             /* 40 bits: byte of the first one's high 8 bits */
};

struct fm_oa_format {
    const char *name;
    uint8_t i915, xe;          /* number in the files; 0: none */
    uint16_t bytes;
    bool wide;                 /* header of qwords */
    uint8_t runs;
    struct fm_oa_run run[8];
};

struct fm_oa_report {
    uint64_t id, stamp, context, clocks;
};

/* NULL: no such format. */
const struct fm_oa_format *fm_oa_format(bool xe, uint32_t number);
size_t fm_oa_counters(const struct fm_oa_format *format);
/* Name ("A7") and width of counter i. */
unsigned fm_oa_counter(const struct fm_oa_format *format, size_t i, char *name, size_t n);
/* p holds at least format->bytes. Haswell formats have no clock: it is C2. */
void fm_oa_values(const struct fm_oa_format *format, const unsigned char *p, uint64_t *value);
/* p holds at least 32 bytes when wide, else 16. */
void fm_oa_header(bool wide, const unsigned char *p, struct fm_oa_report *report);
/* Index of a counter by its name; SIZE_MAX: the format has none. */
size_t fm_oa_find(const struct fm_oa_format *format, const char *name);

/* ------------------------------------------------------ recorder_device.c */

enum fm_oa_hardware {
    FM_OA_OTHER, FM_OA_HSW, FM_OA_BDW, FM_OA_SKL, FM_OA_DG2, FM_OA_TGL, FM_OA_LNL
};
/* Generation of a PCI device id. */
enum fm_oa_hardware fm_oa_hardware(uint32_t device);

/* What busy, active and stalled are made of, by counter names; "" = no more. */
struct fm_oa_formula {
    const char *busy;
    const char *active[4], *stall[4];
    const char *clocks;        /* NULL: those of the report's header */
};
/* NULL: the counters of that set mean something else, or are not known. */
const struct fm_oa_formula *fm_oa_formula(enum fm_oa_hardware hardware, const char *set);

/* -------------------------------------------------------- recorder_time.c */

struct fm_oa_pair {
    uint64_t cpu, gpu;
};
struct fm_oa_clock {
    struct fm_oa_pair *pair;   /* in file order; sorted by fm_oa_clock_sort() */
    size_t pairs, cap;
    size_t last;               /* the pair used last */
    uint64_t frequency;
};
bool fm_oa_clock_add(struct fm_mem *mem, struct fm_oa_clock *clock, uint64_t cpu, uint64_t gpu);
void fm_oa_clock_sort(struct fm_oa_clock *clock);
/* The value nearest to `near` whose low `bits` are those of `low`. */
uint64_t fm_oa_extend(uint64_t low, unsigned bits, uint64_t near);
/* CPU time of a full GPU timestamp; false: not known, or out of range. */
bool fm_oa_clock_time(struct fm_oa_clock *clock, uint64_t gpu, int64_t *time);

/* ---------------------------------------------------------------- recorder */

enum fm_recorder_record {
    FM_RECORDER_SAMPLE, FM_RECORDER_LOST, FM_RECORDER_BUFFER, FM_RECORDER_VERSION,
    FM_RECORDER_DEVICE, FM_RECORDER_TOPOLOGY, FM_RECORDER_CORRELATION, FM_RECORDER_RECORDS
};

/* Two reports are compared: the one before, and what was made of it. */
struct fm_recorder_last {
    bool any, timed;
    struct fm_oa_report report;
    uint64_t gpu;              /* full timestamp */
    int64_t time;
    uint64_t value[FM_OA_COUNTERS];
    unsigned char *bytes;      /* of the report */
    size_t n, cap;
    fm_str context, reason;
};

struct fm_recorder {
    struct fm_import *import;
    struct fm_builder *builder;
    struct fm_mem *mem;
    struct fm_binding *binding;
    bool xe, raw;              /* raw: no header records, the kernel's stream alone */
    bool oom;
    /* header records */
    bool has_device;
    uint32_t device, format_number;
    char set[257], uuid[41];
    uint64_t eus;
    const struct fm_oa_format *format;
    bool wide;
    enum fm_oa_hardware hardware;
    const struct fm_oa_formula *formula;
    /* first pass */
    struct fm_oa_clock clock;
    struct fm_oa_pair fit[1024];   /* cpu: low bits of a report; gpu: the pair before it */
    size_t fits;
    bool late;                 /* correlations stand behind the first report */
    bool any;                  /* a report was seen */
    uint64_t span, before;     /* of the reports' timestamps from the first one on; the last one */
    bool half;                 /* timestamps count twice as fast as the correlation's */
    /* second pass */
    uint64_t anchor;           /* full timestamp near which the next report lies */
    bool anchored;
    struct fm_recorder_last last;
    uint64_t records[FM_RECORDER_RECORDS], unknown, duplicates;
    fm_str gpu;
    int report_class, metric_class, counter_class;
    size_t fields;             /* of the class of reports */
};

/* recorder_row.c */
enum fm_status fm_recorder_declare(struct fm_recorder *r, struct fm_error *err);
void fm_recorder_report(struct fm_recorder *r, const unsigned char *p, size_t n, uint64_t offset);
/* Low bits of a report's timestamp that count, and the timestamp by these. */
unsigned fm_recorder_stamp(const struct fm_recorder *r, uint64_t *stamp);

#endif
