/*
 * input_help.h - what the tests of src/input/ share: a context, a sample, a folder, pipes.
 */
#ifndef TESTS_INPUT_HELP_H
#define TESTS_INPUT_HELP_H

#include "input/inner.h"
#include "pack.h"

#include <check.h>
#include <sys/types.h>

#define SAMPLE 300000
#define SHORT 30000 /* of it, through pipes in small writes */

extern struct fm_ctx *ctx;
extern unsigned char *sample;
extern char folder[64];

void setup(void);
void teardown(void);

/* A file of that name in the folder; the path is good until the next call. */
const char *write_file(const char *name, const void *data, size_t n);
/* The bytes come through a pipe in writes of `piece` bytes; the reading end is standard input. */
pid_t feed_stdin(const void *data, size_t n, size_t piece);
void feed_end(pid_t pid);
/* Reads all in needs of `need` bytes, and compares with the sample; *n = how many were right. */
enum fm_status read_through(struct fm_input *input, size_t need, size_t *n, struct fm_error *err);
/* The input is the first `size` bytes of the sample, or all of it, and is freed. */
void check_some(struct fm_input *input, size_t need, const char *filters, size_t size);
void check_all(struct fm_input *input, size_t need, const char *filters);
/* a then b, in new memory. */
unsigned char *join(const void *a, size_t an, const void *b, size_t bn);
struct fm_input *open_memory(const void *data, size_t n);

#endif
