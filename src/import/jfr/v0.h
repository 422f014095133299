/*
 * v0.h - a chunk of version 0.9 (JRockit, JDK 7 and 8): types, pools, values.
 *
 *     "FLR\0" 0 u16 9 u16 | offset of the metadata i64 | events … | metadata event: the chunk's end
 *
 *     event       size i32 (whole), type i32, end i64 [, start i64] [, thread u32] [, stack u64],
 *                 fields; type 0 = metadata, 1 = checkpoint, 2 = lost buffer: thread u32, bytes u32
 *     metadata    size i32, 0 i32, producers i32, producers …, start ms i64, end ms i64,
 *                 start ticks i64, ticks per second i64, last checkpoint i64, locale utf,
 *                 offset i32
 *     producer    id i32, name utf, about utf, uri utf, relations i32, utf …, structs i32,
 *                 structs …, events i32, event types …, pools i32, pools …
 *     struct      fields i32, field …
 *     field       id utf, name utf, about utf, transition u8, type u8, pool i32, struct i32, 0 i32
 *     event type  id i32, name utf, about utf, path utf, start u8, thread u8, stack u8,
 *                 on request u8, struct i32, 0 i32
 *     pool        id i32, name utf, about utf, type of key u8, struct i32
 *     checkpoint  size i32, 1 i32, ticks i64, checkpoint before i64, then to its end:
 *                 pool i32, count i32, count x (key, value by the pool's struct)
 *     utf         length u16, bytes
 *
 * All numbers are big-endian and of fixed size. Structs are numbered within their producer, event
 * types and pools over all of them. Keys are used again over time: for an event holds the entry of
 * the earliest checkpoint that is not before the event's end; for keys inside an entry its own time
 * counts.
 */
#ifndef FM_IMPORT_JFR_V0_H
#define FM_IMPORT_JFR_V0_H

#include "import/jfr/chunk.h"

#define FM_JFR_V0_HEADER 16u
#define FM_JFR_V0_NONE UINT32_MAX

enum fm_jfr_v0_base {
    FM_JFR_V0_BOOLEAN, FM_JFR_V0_BYTE, FM_JFR_V0_U1, FM_JFR_V0_SHORT, FM_JFR_V0_U2,
    FM_JFR_V0_INT, FM_JFR_V0_U4, FM_JFR_V0_LONG, FM_JFR_V0_U8, FM_JFR_V0_FLOAT,
    FM_JFR_V0_DOUBLE, FM_JFR_V0_UTF8, FM_JFR_V0_STRING, FM_JFR_V0_ARRAY, FM_JFR_V0_STRUCT,
    FM_JFR_V0_STRUCTS, FM_JFR_V0_BASES
};

/* Contents of fields that are no pools. */
enum {
    FM_JFR_V0_BYTES = 1, FM_JFR_V0_EPOCH_MS, FM_JFR_V0_MS, FM_JFR_V0_NS, FM_JFR_V0_TICKS,
    FM_JFR_V0_ADDRESS, FM_JFR_V0_THREADS, FM_JFR_V0_STACKS = 9, FM_JFR_V0_SHARE = 11
};

struct fm_jfr_v0_field {
    const char *name;
    uint8_t base;               /* enum fm_jfr_v0_base */
    int32_t content;
    uint32_t sub;               /* STRUCT, STRUCTS: struct; ARRAY: base of the elements */
};

struct fm_jfr_v0_struct {
    struct fm_jfr_v0_field *field;
    uint32_t fields;
    uint32_t least;             /* bytes of the shortest value */
    uint32_t steps;             /* fields of a value, those of its structs too; 0: unreadable */
    uint8_t depth;              /* of the structs inside it */
    bool asked;                 /* all that is known */
};

/* What a pool's values are. */
enum fm_jfr_v0_role {
    FM_JFR_V0_TEXT, FM_JFR_V0_THREAD, FM_JFR_V0_OF_THREAD, FM_JFR_V0_STACK, FM_JFR_V0_CLASS,
    FM_JFR_V0_METHOD
};

struct fm_jfr_v0_pool {
    int32_t id;
    uint8_t key;                /* enum fm_jfr_v0_base, an integer */
    uint8_t role;
    uint32_t structure;
};

struct fm_jfr_v0_type {
    int32_t id;
    const char *name;           /* "jvm/vm/prof/execution_sample" */
    bool start, thread, stack;
    uint32_t structure;
    uint64_t count, first;
};

struct fm_jfr_v0_entry {
    uint64_t key;
    int64_t time;               /* ticks of its checkpoint */
    uint32_t pool;
    uint8_t state;              /* of the lane: see v0_pool.c */
    uint8_t text_state;
    const unsigned char *p;
    size_t n;
    size_t order;               /* in the file */
    uint64_t lane;
    fm_str signature;           /* METHOD */
    const char *text;           /* in the chunk's arena */
    size_t text_n;
};

struct fm_jfr_v0 {
    struct fm_mem *mem;
    struct fm_arena *arena;
    uint64_t metadata;          /* offset in the input */
    struct fm_jfr_v0_struct *structure;
    size_t structures, structure_cap;
    struct fm_jfr_v0_type *type;
    size_t types, type_cap;
    struct fm_jfr_v0_pool *pool;
    size_t pools, pool_cap;
    struct fm_map type_ix, pool_ix; /* id -> place */
    struct fm_jfr_v0_entry *entry;  /* sorted: pool, key, time */
    size_t entries, entry_cap;
};

/* ------------------------------------------------------------ types: v0_meta.c */

/* Reads a metadata event of n bytes; NULL: fine, else what is wrong (*where: offset in it). Fills
 * in the times of the header too. */
const char *fm_jfr_v0_metadata(struct fm_jfr_v0 *v0, struct fm_jfr_header *h,
                               const unsigned char *data, size_t n, uint64_t *where);
void fm_jfr_v0_release(struct fm_jfr_v0 *v0);
struct fm_jfr_v0_type *fm_jfr_v0_type_find(const struct fm_jfr_v0 *v0, int32_t id);
uint32_t fm_jfr_v0_pool_find(const struct fm_jfr_v0 *v0, int32_t id);

/* ------------------------------------------------------------------- values */

/* Move behind a value; what cannot be read makes the cursor bad. */
void fm_jfr_v0_skip(const struct fm_jfr_v0 *v0, const struct fm_jfr_v0_field *field,
                    struct fm_cursor *c);
void fm_jfr_v0_skip_struct(const struct fm_jfr_v0 *v0, uint32_t structure, struct fm_cursor *c);
/* An integer or a boolean. */
int64_t fm_jfr_v0_number(struct fm_cursor *c, enum fm_jfr_v0_base base);
static inline bool fm_jfr_v0_is_number(enum fm_jfr_v0_base base)
{
    return base <= FM_JFR_V0_U8;
}
static inline bool fm_jfr_v0_is_text(enum fm_jfr_v0_base base)
{
    return base == FM_JFR_V0_UTF8 || base == FM_JFR_V0_STRING;
}
/* A utf8 or string as UTF-8: borrowed from the cursor's bytes or from buf. false: it is cut, or
 * there is no memory (buf->oom). */
bool fm_jfr_v0_read_text(struct fm_cursor *c, enum fm_jfr_v0_base base, struct fm_jfr_buf *buf,
                         const char **s, size_t *n);
/* The field of that name in a value: its description, and a cursor at it; NULL: none. */
const struct fm_jfr_v0_field *fm_jfr_v0_field_at(const struct fm_jfr_v0 *v0, uint32_t structure,
                                                 struct fm_cursor value, const char *name,
                                                 struct fm_cursor *at);

/* ------------------------------------------------------------ pools: v0_pool.c */

/* Adds the entries of a checkpoint of n bytes, which must stay; NULL or what is wrong, at *where.
 */
const char *fm_jfr_v0_pools_add(struct fm_jfr_v0 *v0, const unsigned char *data, size_t n,
                                uint64_t *where, bool *oom);
/* After the last one. */
void fm_jfr_v0_pools_sort(struct fm_jfr_v0 *v0);

struct fm_jfr_v0_reading {
    struct fm_jfr_feed *feed;
    struct fm_jfr_chunk *chunk;
    struct fm_jfr_v0 *v0;
    struct fm_jfr_buf buf;
    uint64_t offset;            /* of the event, for findings */
};

/* A key of a pool at a time as the value of a field. false: null, or no such key (counted, unless
 * it is 0). Stacks always have one. */
bool fm_jfr_v0_lane(struct fm_jfr_v0_reading *rd, uint32_t pool, uint64_t key, int64_t time,
                    uint64_t *lane);

/* ------------------------------------------------------------ names: v0_names.c */

/* The name of an event type: the producer's uri and the path, without the vendor's
 * "http://www.oracle.com/hotspot/" or "http://www.oracle.com/". */
const char *fm_jfr_v0_type_name(struct fm_arena *arena, const char *uri, size_t uri_n,
                                const char *path, size_t path_n);
/* How later versions call the type: itself when they do not have it. */
const char *fm_jfr_v0_modern(const char *type);
/* How they call one of its fields. */
const char *fm_jfr_v0_modern_field(const char *type, const char *field);

/* ----------------------------------------------------- chunks: v0_survey.c, v0.c */

#define FM_JFR_V0_CHECKPOINT 1
#define FM_JFR_V0_EVENT ((size_t)64 << 20)  /* bytes of one event that are looked at */

struct fm_jfr_v0_head {
    uint64_t offset;
    uint32_t size;
    int32_t type;
    const unsigned char *p;
    size_t have;
};

struct fm_jfr_v0_walk {
    struct fm_reader *reader;
    uint64_t at, end;
    enum fm_status status;
    struct fm_error *err;
    const char *why;            /* an impossible event */
};
enum fm_status fm_jfr_v0_walk_init(struct fm_jfr_v0_walk *walk, struct fm_reader *reader,
                                   const struct fm_jfr_chunk *chunk, struct fm_error *err);
/* The next event; its first `max` bytes at least are in the window. false: the end, or walk->why,
 * or walk->status. */
bool fm_jfr_v0_next(struct fm_jfr_v0_walk *walk, struct fm_jfr_v0_head *head, size_t max);

/* Whether a chunk of 0.9 begins at `at` of an input of `size` bytes; *end = where it ends, beyond
 * the input when it is cut. */
enum fm_status fm_jfr_v0_scan(struct fm_input *input, uint64_t at, uint64_t size,
                              struct fm_jfr_header *h, bool *is, uint64_t *end,
                              struct fm_error *err);
/* fm_jfr_survey() and fm_jfr_decode() of such a chunk. */
enum fm_status fm_jfr_v0_survey(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed,
                                struct fm_input *input, struct fm_error *err);
enum fm_status fm_jfr_v0_decode(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed,
                                struct fm_input *input, struct fm_error *err);

#endif
