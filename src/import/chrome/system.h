/*
 * system.h - system traces inside of Chrome traces: what html.c and sample.c hand over.
 */
#ifndef FM_IMPORT_CHROME_SYSTEM_H
#define FM_IMPORT_CHROME_SYSTEM_H

#include "import/chrome/chrome.h"

/* A piece of ftrace text; lines may reach over the border of two pieces. */
void fm_chrome_ftrace(struct fm_chrome *c, const char *s, size_t n, uint64_t offset);
/* The text is over: the last line may have no end. */
void fm_chrome_ftrace_end(struct fm_chrome *c);
/* The value of systemTraceEvents: ftrace text, or Fuchsia's object. false: reading failed. */
bool fm_chrome_system(struct fm_chrome *c, struct fm_json *j);
void fm_chrome_system_release(struct fm_chrome *c);

#endif
