/*
 * legacy.h - samples that are no V8 profile, and the frames of stackFrames: what frames.c and
 * sample.c share.
 */
#ifndef FM_IMPORT_CHROME_LEGACY_H
#define FM_IMPORT_CHROME_LEGACY_H

#include "import/chrome/chrome.h"

struct fm_legacy_frame {
    uint32_t process;              /* UINT32_MAX: of the document */
    fm_str id, parent;
    fm_frame frame;
    fm_node stack;                 /* FM_NONE: not made yet */
    uint32_t depth;
    bool has_parent, busy;
};

/* A row that waits for its stack. */
struct fm_legacy_wait {
    uint64_t row;
    uint32_t process;
    fm_str id;
};

/* A sample; its row is made at the end, when all frames are known. */
struct fm_legacy_sample {
    int64_t ts;
    uint64_t weight, offset;
    int64_t cpu;
    fm_thread thread;
    uint32_t process;              /* whose frames; UINT32_MAX unknown */
    fm_str name, comm, frame;
    fm_node stack;                 /* an inline one, else FM_NONE */
    bool has_ts, has_cpu, has_frame;
};

struct fm_chrome_legacy {
    struct fm_legacy_frame *frame;
    size_t n, cap;
    struct fm_map by_id;           /* process << 32 | id -> index + 1 */
    struct fm_legacy_wait *wait;
    size_t waits, wait_cap;
    struct fm_legacy_sample *sample;
    size_t samples, sample_cap;
    uint32_t *path;                /* of a stack that is being made */
    size_t path_cap;
};

/* Made when it is first asked for; NULL: no memory (c->oom). */
struct fm_chrome_legacy *fm_chrome_legacy(struct fm_chrome *c);

/* ---- frames.c */
/* The dictionary: the key stackFrames has been read, not its value. process: UINT32_MAX for that of
 * the document. false: reading failed, or no memory. */
bool fm_chrome_frames_read(struct fm_chrome *c, struct fm_json *j, uint32_t process);
/* Stacks: of a frame's id, of the first usable name alone, of a list of names (leaf first; FM_NONE:
 * no list, or an empty one). */
fm_node fm_chrome_frame_stack(struct fm_chrome *c, uint32_t process, fm_str id);
fm_node fm_chrome_name_stack(struct fm_chrome *c, fm_str name);
fm_node fm_chrome_list_stack(struct fm_chrome *c, const struct fm_json_field *list);
/* An event's sf or esf as an id; false: it has none. */
bool fm_chrome_frame_id(struct fm_chrome *c, const struct fm_json_field *sf, fm_str *id);
void fm_chrome_frames_finish(struct fm_chrome *c);
void fm_chrome_frames_release(struct fm_chrome *c);

/* ---- sample.c */
/* The array `samples` of a document: the key has been read. */
bool fm_chrome_samples_read(struct fm_chrome *c, struct fm_json *j);

#endif
