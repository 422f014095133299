/*
 * v8.h - profiles of V8: what v8.c (streams, times, rows) and v8_node.c (nodes, stacks) share.
 *
 *     profile
 *       node[]     {id, parent, frame}; parents by id, by `children` lists or by nesting
 *       sample[]   node ids, in file order      delta[], line[]   beside them
 *       chunk[]    {ts, first sample, n}: what arrived together, put in order at the end
 *
 * Everything is owned by the profile and freed with it.
 */
#ifndef FM_IMPORT_CHROME_V8_H
#define FM_IMPORT_CHROME_V8_H

#include "import/chrome/chrome.h"

#define FM_V8_NO_ID INT64_MIN

struct fm_v8_node {
    int64_t id, parent_id;      /* FM_V8_NO_ID: none */
    uint64_t self;              /* selfSize of a heap profile */
    uint32_t parent;            /* index + 1; 0: none, or not looked up yet */
    fm_frame frame;
    fm_node stack;              /* FM_NONE: not made yet */
    uint32_t depth;             /* frames of it */
    bool root;                  /* named "(root)" */
    bool busy;                  /* on the path that is being followed */
    bool cut;                   /* its stack lacks outer frames */
};

/* From a `children` list: the node with that id is below `parent` (an index). */
struct fm_v8_edge {
    int64_t child;
    uint32_t parent;
};

struct fm_v8_chunk {
    int64_t ts;
    size_t first, n;            /* samples */
};

struct fm_v8_profile {
    struct fm_v8_profile *next;       /* in the order of the file */
    struct fm_v8_profile *same_hash;
    uint32_t process;                 /* index of c->process; UINT32_MAX: stands alone */
    fm_str id, source;
    fm_thread thread;                 /* FM_NONE: not known yet */
    bool head;                        /* the thread is the one that was profiled */
    bool heap, tree;                  /* has selfSize; has a `head` */
    bool seconds;                     /* startTime and endTime are in s, samples have timestamps */
    char start[40], end[40];          /* numbers as they stand, "" unknown */

    struct fm_v8_node *node;
    size_t nodes, node_cap;
    struct fm_map by_id;              /* id -> index */
    struct fm_v8_edge *edge;
    size_t edges, edge_cap;
    uint32_t *path;                   /* of fm_v8_stack() */
    size_t path_cap;

    int64_t *sample;
    size_t samples, sample_cap;
    int64_t *delta;                   /* ns; of old profiles the time itself */
    size_t deltas, delta_cap;
    uint32_t *line;
    size_t lines, line_cap;
    struct fm_v8_chunk *chunk;
    size_t chunks, chunk_cap;
};

/* ---- v8_node.c */
/* Nodes: the '[' of `nodes` or the '{' of `head` has been read. false: json->error, or no memory
 * (c->oom). */
bool fm_v8_nodes(struct fm_chrome *c, struct fm_v8_profile *p, struct fm_json *j, bool head);
/* After all nodes: parents from children lists and ids. */
void fm_v8_parents(struct fm_chrome *c, struct fm_v8_profile *p);
/* The stack of a node; FM_NONE: no memory. */
fm_node fm_v8_stack(struct fm_chrome *c, struct fm_v8_profile *p, uint32_t index);

/* ---- v8.c */
/* An event of a profile; false: it is none. */
bool fm_v8_event(struct fm_chrome *c, const struct fm_chrome_event *e);
/* A key of a document that is a profile: as fm_chrome_key(). */
int fm_v8_key(struct fm_chrome *c, struct fm_json *j);
/* The document has nodes or samples of a profile. */
bool fm_v8_any(const struct fm_chrome *c);
bool fm_v8_finish(struct fm_chrome *c);
void fm_v8_release(struct fm_chrome *c);
/* The profile of a document that is one: for keys of the outermost object. NULL: no memory. */
struct fm_v8_profile *fm_v8_alone(struct fm_chrome *c);
/* An element of an array `samples` that is a number. */
bool fm_v8_add_sample(struct fm_chrome *c, struct fm_v8_profile *p, const char *s, size_t n);
/* The text of a string token as a string of the store; 0 for other tokens. */
fm_str fm_v8_str(struct fm_chrome *c, const struct fm_json *j, enum fm_json_token t);
/* A whole number, also of a string; `otherwise` for all else. */
int64_t fm_v8_number(const struct fm_json *j, enum fm_json_token t, int64_t otherwise);

/* ---- sample.c: rows of event classes P and heap */
struct fm_chrome_point {
    fm_thread thread;
    bool has_ts, has_cpu;
    bool legacy;                      /* has weight; else profile and delta */
    bool alone;                       /* the document is a profile */
    int64_t ts, cpu;
    uint64_t weight, delta;
    fm_node stack;
    uint64_t offset;
    fm_str profile, source, name, comm;
    uint32_t line;                    /* 0 unknown */
};
void fm_chrome_point(struct fm_chrome *c, const struct fm_chrome_point *p);
void fm_chrome_heap(struct fm_chrome *c, uint64_t bytes, fm_node stack);

#endif
