/*
 * page.h - one page ("sub-buffer") of the kernel's trace ring buffer, event by event.
 */
#ifndef FM_IMPORT_FTRACE_PAGE_H
#define FM_IMPORT_FTRACE_PAGE_H

#include "util/cursor.h"

/* Where things are in a page's head: the text of events/header_page. */
struct fm_page_shape {
    bool big;                   /* byte order of the recorded machine */
    unsigned commit_at, commit_size;    /* commit_size: 4 or 8, its long */
    unsigned data_at;           /* first event */
};

struct fm_page {
    const struct fm_page_shape *shape;
    struct fm_cursor c;         /* the events that are left */
    uint64_t time;              /* of the event that was read last */
    bool missed;                /* events were lost before this page */
    uint64_t missed_n;          /* how many; 0: not known */
};

enum fm_page_result {
    FM_PAGE_EVENT,
    FM_PAGE_END,
    FM_PAGE_BAD                 /* the rest of the page makes no sense */
};

/* The shape of 64-bit machines, and what a header_page text (n bytes) says of another; false: the
 * text says what cannot be, and the shape is left alone. */
void fm_page_shape_init(struct fm_page_shape *shape, bool big, unsigned long_size);
bool fm_page_shape_read(struct fm_page_shape *shape, const char *text, size_t n);

/* Where a format text (n bytes) has the field whose declaration ends in `name`. */
bool fm_page_field(const char *text, size_t n, const char *name, uint64_t *offset,
                   uint64_t *size);

/* A page of n bytes that stands at `offset` of the input. false: its head says what cannot be. */
bool fm_page_open(struct fm_page *page, const struct fm_page_shape *shape,
                  const unsigned char *data, size_t n, uint64_t offset);
/* The next event: its payload in *data, *n, its time in page->time. */
enum fm_page_result fm_page_next(struct fm_page *page, const unsigned char **data, size_t *n);

#endif
