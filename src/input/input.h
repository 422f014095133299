/*
 * input.h - bytes of an input, decoded.
 *
 *     file | pipe | memory  ->  [gzip | zstd | xz | lz4 | bzip2 | utf-16]*  ->  fm_reader windows
 *
 * Compression is recognised by content and stacked below every format (up to 8 layers); no
 * importer knows of it. struct fm_input is immutable once open and may be shared; each use (or
 * thread) has its own struct fm_reader with its own window.
 *
 * Plain files are pread into one reused buffer; streams keep one reused buffer. An importer that
 * must go back says so (fm_importer.seek): pipes and compressed inputs are then spooled to an
 * unlinked temporary file (in $TMPDIR) under the inflated-bytes cap; a small one (<= 32 MiB) stays
 * in memory.
 *
 * Damage (a compressed stream that is cut or broken, a limit, a failing disk) stands behind the
 * last byte that could be decoded: readers meet it there, fm_input_damage() tells of it later.
 * err->offset is then the offset of the compressed byte.
 */
#ifndef FM_INPUT_INPUT_H
#define FM_INPUT_INPUT_H

#include "util/ctx.h"
#include "util/cursor.h"
#include "util/diag.h"

struct fm_input;
struct fm_reader;

/* "-" is standard input, "tracefs:NAME" what a trace instance of the running kernel holds (taken
 * out of it; "tracefs:" is the top one). A directory is FM_FORMAT "is a directory" unless
 * fm_input_is_dir() was asked before: directories have no bytes. */
enum fm_status fm_input_open(struct fm_ctx *ctx, const char *path, struct fm_input **input,
                             struct fm_error *err);
enum fm_status fm_input_open_memory(struct fm_ctx *ctx, const void *data, size_t n,
                                    const char *name, struct fm_input **input,
                                    struct fm_error *err);
/* A file inside a directory input (or beside a file input), e.g. "data.0". */
enum fm_status fm_input_open_beside(struct fm_input *input, const char *name,
                                    struct fm_input **member, struct fm_error *err);
/* `size` bytes of a seekable input from `offset` on, as an input of their own, decompressed by
 * content as every input is; what reaches beyond the end is cut. `whole` must stay open as long. */
enum fm_status fm_input_open_part(struct fm_input *whole, uint64_t offset, uint64_t size,
                                  const char *name, struct fm_input **input,
                                  struct fm_error *err);
void fm_input_free(struct fm_input *input);

bool fm_input_is_dir(const struct fm_input *input);
const char *fm_input_name(const struct fm_input *input);   /* as given; for messages */
const char *fm_input_path(const struct fm_input *input);   /* NULL for memory and pipes */
const char *fm_input_filters(const struct fm_input *input); /* "gzip", "gzip+zstd", "" */
/* Name of the member of a zip archive whose bytes these are, known once its first byte is; "". */
const char *fm_input_member(const struct fm_input *input);

/* The first bytes (up to 64 KiB; fewer when the input is shorter or damaged), for probing: borrowed
 * until the input is read or made seekable. Not to be called from two threads at once. */
enum fm_status fm_input_head(struct fm_input *input, const unsigned char **data, size_t *n,
                             struct fm_error *err);

/* Makes the input seekable (spools when needed). Afterwards fm_input_size() is known. Damage of the
 * stream does not fail it; FM_IO, FM_NOMEM and FM_CANCELLED do. Before any reader is opened. */
enum fm_status fm_input_seekable(struct fm_input *input, struct fm_error *err);
/* True when fm_input_read_at() works: files, memory, and what has been made seekable. */
bool fm_input_is_seekable(const struct fm_input *input);
/* Decoded size; false while unknown (a stream not yet at its end). */
bool fm_input_size(const struct fm_input *input, uint64_t *size);
/* Raw bytes on disk, 0 when unknown: for progress. */
uint64_t fm_input_raw_size(const struct fm_input *input);

/* xxh3 of the decoded bytes, when the whole was read front to back by one reader (no seek, no skip
 * of more than 64 KiB, the end seen); else of size and head. Provenance only. */
uint64_t fm_input_hash(const struct fm_input *input);

/* What was met below the bytes so far: broken or cut compression, a limit, bytes behind the last
 * compressed member (gzip(1) warns of those). Adds to *diags; offsets are those of compressed
 * bytes. */
void fm_input_findings(const struct fm_input *input, struct fm_diags *diags);
/* The damage that ended the bytes, if it has been met; else FM_OK. */
enum fm_status fm_input_damage(const struct fm_input *input, struct fm_error *err);

/*
 * Readers. A stream that is not seekable has one reader, front to back.
 */
enum fm_status fm_reader_open(struct fm_input *input, struct fm_reader **reader,
                              struct fm_error *err);
void fm_reader_close(struct fm_reader *reader);

/*
 * At least `need` bytes at the current position, without moving: *data is borrowed until the next
 * call on this reader, *n >= need, or less at the end of the input (0 = end). More than `need` may
 * come: whatever the window holds. FM_IO / FM_TRUNCATED / FM_FORMAT / FM_LIMIT (broken or oversized
 * compression) come, again and again, when fewer than `need` bytes stand before the damage: *data
 * and *n are set then as well. A `need` beyond what the input has allocates nothing for it.
 */
enum fm_status fm_reader_peek(struct fm_reader *reader, size_t need, const unsigned char **data,
                              size_t *n, struct fm_error *err);
/* Moves forward by n bytes that a peek has shown. */
void fm_reader_consume(struct fm_reader *reader, size_t n);
/* Moves forward over n bytes, shown or not; stops at the end. *skipped = how many. */
enum fm_status fm_reader_skip(struct fm_reader *reader, uint64_t n, uint64_t *skipped,
                              struct fm_error *err);
/* Seekable inputs only. */
enum fm_status fm_reader_seek(struct fm_reader *reader, uint64_t offset, struct fm_error *err);
uint64_t fm_reader_offset(const struct fm_reader *reader);
/* Raw bytes taken in so far, for progress beside fm_input_raw_size(). */
uint64_t fm_reader_raw_offset(const struct fm_reader *reader);

/* Reads exactly up to n bytes at offset into buf (seekable inputs): *got = how many there were. */
enum fm_status fm_input_read_at(struct fm_input *input, uint64_t offset, void *buf, size_t n,
                                size_t *got, struct fm_error *err);

/* Text lines: the next line without its end (\n or \r\n), borrowed until the next call. *n and
 * *offset (byte offset of the line) are set; *end = true at the end of the input. A line longer
 * than `max` is cut to max (the rest skipped) and *cut set. A failure leaves the piece of a line
 * before the damage unread (in *line, *n): it may be half a number. */
enum fm_status fm_reader_line(struct fm_reader *reader, size_t max, const char **line, size_t *n,
                              uint64_t *offset, bool *cut, bool *end, struct fm_error *err);

/* A decompressor for one stream inside an importer (perf COMPRESSED records): feed pieces, take
 * what comes out. kind: "zstd", "gzip", "xz", "lz4", "bzip2", "deflate" (bare). */
struct fm_inflate;
enum fm_status fm_inflate_new(struct fm_ctx *ctx, const char *kind, struct fm_inflate **inflate,
                              struct fm_error *err);
void fm_inflate_free(struct fm_inflate *inflate);
/* Decompresses from *in (moved forward, *in_left reduced) into out[0..cap): *produced bytes. Call
 * again while *in_left > 0 or *produced == cap. FM_FORMAT on broken data. */
enum fm_status fm_inflate_run(struct fm_inflate *inflate, const unsigned char **in,
                              size_t *in_left, unsigned char *out, size_t cap, size_t *produced,
                              struct fm_error *err);

/* A whole small file (ELF members, kallsyms, maps), decompressed by content, at most `max` bytes:
 * allocated from ctx->mem, freed with fm_mem_free(&ctx->mem, *data, *n + 1); NUL-terminated. */
enum fm_status fm_input_slurp(struct fm_ctx *ctx, const char *path, size_t max, char **data,
                              size_t *n, struct fm_error *err);
/* The same for an input that nobody has read. */
enum fm_status fm_input_slurp_all(struct fm_input *input, size_t max, char **data, size_t *n,
                                  struct fm_error *err);

#endif
