/*
 * perf_make.h - writes small perf.data files for tests: files, pipes and old files, in either byte
 * order; and imports them.
 */
#ifndef TESTS_PERF_MAKE_H
#define TESTS_PERF_MAKE_H

#include "import/perf/event.h"
#include "import/perf/perf.h"

struct make {
    unsigned char *p;
    size_t n, cap;
    bool big;
    /* of the event that trailers are written for */
    uint64_t sample_type;
    uint64_t id;
};

void make_free(struct make *m);
void make_bytes(struct make *m, const void *p, size_t n);
void make_u8(struct make *m, uint8_t v);
void make_u16(struct make *m, uint16_t v);
void make_u32(struct make *m, uint32_t v);
void make_u64(struct make *m, uint64_t v);
/* With NUL, padded to 8. */
void make_text(struct make *m, const char *s);
void make_patch_u16(struct make *m, size_t at, uint16_t v);

/* A record: begin returns where it began; end sets its size. */
size_t make_begin(struct make *m, uint32_t type, uint16_t misc);
void make_end(struct make *m, size_t begin);
/* The trailer of the event. */
void make_trailer(struct make *m, uint32_t pid, uint32_t tid, uint64_t time);

void make_comm(struct make *m, uint32_t pid, uint32_t tid, const char *comm, bool exec,
               uint64_t time);
void make_fork(struct make *m, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid,
               uint32_t ptid, uint64_t time);
void make_mmap2(struct make *m, uint32_t pid, uint64_t start, uint64_t length, uint64_t offset,
                const char *file, uint64_t time);
/* IP TID TIME [ID] PERIOD CALLCHAIN, as sample_type says; chain may be NULL. */
void make_sample(struct make *m, uint16_t misc, uint64_t ip, uint32_t pid, uint32_t tid,
                 uint64_t time, uint64_t period, const uint64_t *chain, size_t n);

struct make_event {
    uint32_t type;
    uint64_t config, period, sample_type, read_format, flags, branch_type;
    uint64_t id[2];
    size_t ids;
    uint32_t clockid;
    uint64_t regs_user;
    uint32_t stack_user;
};

enum make_form { MAKE_FILE, MAKE_OLD, MAKE_PIPE };
/* A whole input around records. */
void make_file(struct make *m, enum make_form form, const struct make_event *event, size_t events,
               const struct make *records);

struct run {
    struct fm_ctx *ctx;
    enum fm_status status;
    struct fm_error err;
    struct fm_store *store;     /* NULL when nothing was sealed */
};

/* Imports bytes (or, with n == 0, the file at name) through formats/perf.yaml with all fields,
 * seals and verifies the store. */
void run_import(struct run *run, const void *data, size_t n, const char *name, bool exact);
/* The same in a context of the caller's, whose memory may fail: FM_NOMEM then. */
void run_import_in(struct run *run, struct fm_ctx *ctx, const void *data, size_t n,
                   const char *name, bool exact);
void run_free(struct run *run);

/* A cell by column name; false when it has no value. */
bool run_cell(const struct run *run, uint64_t row, const char *column, uint64_t *value);
/* "comm pid/tid time period event: module+address;..." leaf first, for comparing. */
const char *run_row(const struct run *run, uint64_t row);
uint64_t run_account(const struct run *run, enum fm_account_kind kind, const char *key);
const char *run_provenance(const struct run *run, const char *key);

#endif
