/*
 * resolve.h - keys of a chunk's pools as ids of the builder: texts, classes, methods, threads and
 * stacks, each decoded once.
 *
 * A key that no pool of the chunk has may be in those of the chunk before it, when both are parts
 * of one recording of one JVM: stacks and threads are sought there (an event is stored where it
 * ends, its stack where it began).
 */
#ifndef FM_IMPORT_JFR_RESOLVE_H
#define FM_IMPORT_JFR_RESOLVE_H

#include "import/jfr/chunk.h"

struct fm_jfr_method {
    fm_str java, native;        /* FM_NONE: not made yet */
    fm_str signature;
    fm_module library;
    uint64_t type;              /* key of the class */
    uint64_t name;              /* key of the symbol */
    bool found;                 /* the method has a name */
    /* the frame asked for last */
    fm_frame frame;
    enum fm_frame_kind kind;
    int64_t line, bci;
};

#define FM_JFR_FRAME_TYPES 16u
#define FM_JFR_RECENT 1024u     /* methods found last, by key */

struct fm_jfr_resolver {
    struct fm_jfr_feed *feed;
    struct fm_jfr_chunk *chunk;
    struct fm_input *input;
    struct fm_jfr_pick thread, method, class, stack, frame;
    bool has_thread, has_method, has_class, has_stack, has_frame;
    int8_t role[4];             /* of the varints that a frame is, when it is four of them */
    bool four;
    struct fm_jfr_buf buf[FM_JFR_PICKS];
    struct fm_jfr_method *methods;
    size_t method_n, method_cap;
    struct {
        uint64_t key;
        uint32_t method;        /* + 1; 0: none */
    } recent[FM_JFR_RECENT];
    uint8_t kind[FM_JFR_FRAME_TYPES]; /* by key: frame kind + 1 */
    fm_str unknown;             /* "[unknown]" */
    uint64_t offset;            /* of the event, for findings */
    bool is_before, asked_before;
    struct fm_jfr_resolver *before;  /* of the chunk before, or NULL */
    enum fm_status status;      /* of reading it */
    struct fm_error *err;
};

enum fm_status fm_jfr_resolver_init(struct fm_jfr_resolver *r, struct fm_jfr_feed *feed,
                                    struct fm_jfr_chunk *chunk, struct fm_input *input,
                                    struct fm_error *err);
void fm_jfr_resolver_release(struct fm_jfr_resolver *r);

/* false: there is no such key (counted, unless it is 0), or the value is null. */
bool fm_jfr_text_lane(struct fm_jfr_resolver *r, uint32_t class, uint64_t key, uint64_t *lane);
bool fm_jfr_class_lane(struct fm_jfr_resolver *r, uint64_t key, uint64_t *lane);
bool fm_jfr_method_lane(struct fm_jfr_resolver *r, uint64_t key, uint64_t *lane);
bool fm_jfr_thread_lane(struct fm_jfr_resolver *r, uint64_t key, uint64_t *lane);
/* Always a stack: "[no stack]" and "[unknown stack]" are ones too. */
fm_node fm_jfr_stack_lane(struct fm_jfr_resolver *r, uint64_t key);

#endif
