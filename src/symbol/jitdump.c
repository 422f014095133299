/*
 * jitdump.c - reading jitdump files: see jitdump.h. The layout is that of the kernel's
 * tools/perf/Documentation/jitdump-specification.txt.
 *
 *     u32 magic "JiTD", version 1, size of this header, ELF machine, 0, pid; u64 time, flags
 *     records: u32 id, size with this header; u64 time; then
 *       0 LOAD        u32 pid, tid; u64 vma, address, size, index; name NUL; code
 *       1 MOVE        u32 pid, tid; u64 vma, old address, new address, size, index
 *       2 DEBUG_INFO  u64 address, n; n x { u64 address; u32 line, discriminator; file NUL }
 *       3 CLOSE       4 UNWINDING_INFO
 *
 * The magic tells the byte order, bit 0 of the flags the clock. Lines come before the LOAD that
 * they are of; a file "\xff" is that of the line before. V8 writes its lines as they will lie in
 * the ELF file of `perf inject`, behind that file's header: moved back here.
 */
#include "symbol/jitdump.h"

#include "symbol/match.h"
#include "util/error.h"
#include "util/map.h"

#define MAGIC 0x4a695444u
#define MAGIC_SWAPPED 0x4454694au
#define HEADER 40u
#define RECORD 16u
#define NAME_MAX_BYTES (64u << 10)
#define DEBUG_MAX (64u << 20)       /* bytes of one DEBUG_INFO */

enum { LOAD, MOVE, DEBUG_INFO };

struct reading {
    struct fm_jitdump *dump;
    struct fm_reader *reader;
    const char *name;
    bool swap;
    uint64_t debug_of;              /* what the lines that wait are of */
    size_t debug, debugs;           /* and which they are */
    struct fm_map by_index, by_start;   /* -> number of the last code + 1 */
};

/* ------------------------------------------------------------------- lines */

/* Lines come by address from most writers. */
static enum fm_status sort_lines(struct fm_jitdump *dump, size_t first, size_t n)
{
    struct fm_jitdump_line *line = dump->line + first, *old;
    struct fm_point *point;
    bool sorted = true;

    for (size_t i = 1; i < n && sorted; i++)
        sorted = line[i - 1].address <= line[i].address;
    if (sorted)
        return FM_OK;
    point = fm_mem_alloc(dump->mem, n * sizeof *point);
    old = fm_mem_alloc(dump->mem, n * sizeof *old);
    for (size_t i = 0; i < n && point != NULL; i++)
        point[i] = (struct fm_point){.address = line[i].address, .user = (uint32_t)i};
    sorted = point != NULL && old != NULL && fm_points_sort(dump->mem, point, n) == FM_OK;
    if (sorted) {
        memcpy(old, line, n * sizeof *old);
        for (size_t i = 0; i < n; i++)
            line[i] = old[point[i].user];
    }
    fm_mem_free(dump->mem, old, n * sizeof *old);
    fm_mem_free(dump->mem, point, n * sizeof *point);
    return sorted ? FM_OK : FM_NOMEM;
}

static enum fm_status add_lines(struct reading *r, struct fm_cursor *c)
{
    struct fm_jitdump *dump = r->dump;
    const char *file = "";
    size_t file_n = 0;
    uint64_t n;

    r->debug_of = fm_cursor_u64(c);
    n = fm_cursor_u64(c);
    r->debug = dump->lines;
    r->debugs = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t address = fm_cursor_u64(c);
        const uint32_t line = fm_cursor_u32(c);
        const char *text;
        size_t text_n = 0;
        fm_cursor_skip(c, 4);
        text = fm_cursor_text(c, fm_cursor_left(c), false, &text_n);
        if (!fm_cursor_ok(c) || text == NULL)
            break;
        if (!(text_n == 1 && (unsigned char)text[0] == 0xff) &&
            (text_n != file_n || memcmp(text, file, text_n) != 0)) {
            file = fm_arena_strn(&dump->arena, text, text_n);
            file_n = text_n;
        }
        if (file == NULL || !fm_grow(dump->mem, (void **)&dump->line, &dump->line_cap,
                                     dump->lines + 1, sizeof *dump->line))
            return FM_NOMEM;
        dump->line[dump->lines++] = (struct fm_jitdump_line){address, file, line};
        r->debugs++;
    }
    return sort_lines(dump, r->debug, r->debugs);
}

/* "JS:~f", "LazyCompile:*f", "Script:", ...: a word of letters, then ':'. */
static bool is_v8(const char *name)
{
    static const char *const tag[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:",
                                      "BytecodeHandler:", "RegExp:", "Builtin:", "Callback:"};
    for (size_t i = 0; i < FM_COUNT(tag); i++)
        if (strncmp(name, tag[i], strlen(tag[i])) == 0)
            return true;
    return false;
}

/* Gives the lines that wait to a LOAD. */
static void take_lines(struct reading *r, struct fm_jitdump_code *code)
{
    struct fm_jitdump *dump = r->dump;
    const bool narrow = dump->machine == 3 || dump->machine == 40;  /* EM_386, EM_ARM */
    const uint64_t header = narrow ? 0x34 : 0x40;

    if (r->debugs > 0 && r->debug_of == code->start) {
        code->line = r->debug;
        code->lines = r->debugs;
        if (is_v8(code->name) && dump->line[r->debug].address >= code->start + header) {
            for (size_t i = 0; i < r->debugs; i++)
                dump->line[r->debug + i].address -= header;
        }
    }
    r->debugs = 0;
}

const struct fm_jitdump_line *fm_jitdump_line(const struct fm_jitdump *dump,
                                              const struct fm_jitdump_code *code,
                                              uint64_t address)
{
    const struct fm_jitdump_line *line = dump->line + code->line;
    size_t lo = 0, hi = code->lines;

    address = address - code->start + code->loaded;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (line[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo > 0 && line[lo - 1].file[0] != '\0' && line[lo - 1].line != 0 ? &line[lo - 1] : NULL;
}

/* -------------------------------------------------------------------- code */

static enum fm_status add_code(struct reading *r, const struct fm_jitdump_code *code)
{
    struct fm_jitdump *dump = r->dump;
    uint64_t *by_index = fm_map_put(&r->by_index, code->index, NULL);
    uint64_t *by_start = fm_map_put(&r->by_start, code->start, NULL);

    if (by_index == NULL || by_start == NULL || dump->codes >= UINT32_MAX ||
        !fm_grow(dump->mem, (void **)&dump->code, &dump->code_cap, dump->codes + 1,
                 sizeof *dump->code))
        return FM_NOMEM;
    dump->code[dump->codes++] = *code;
    *by_index = *by_start = dump->codes;
    return FM_OK;
}

static enum fm_status add_load(struct reading *r, struct fm_cursor *c, uint64_t time)
{
    struct fm_jitdump_code code = {.time = time};
    const char *name;
    size_t n = 0;
    uint64_t size;

    fm_cursor_skip(c, 16);          /* pid, tid, vma */
    code.start = code.loaded = fm_cursor_u64(c);
    size = fm_cursor_u64(c);
    code.index = fm_cursor_u64(c);
    name = fm_cursor_text(c, fm_cursor_left(c), true, &n);
    code.end = fm_add_sat_u64(code.start, size);
    if (!fm_cursor_ok(c) || name == NULL || n == 0 || code.end == code.start) {
        r->debugs = 0;
        return FM_OK;
    }
    code.name = fm_arena_strn(&r->dump->arena, name, n);
    if (code.name == NULL)
        return FM_NOMEM;
    take_lines(r, &code);
    return add_code(r, &code);
}

/* What lies at the address that code moves from: the newest of that index, else the newest that
 * begins there. */
static const struct fm_jitdump_code *find_moved(const struct reading *r, uint64_t index,
                                                uint64_t address)
{
    const uint64_t *number[] = {fm_map_find(&r->by_index, index),
                                fm_map_find(&r->by_start, address)};
    for (size_t i = 0; i < FM_COUNT(number); i++) {
        const struct fm_jitdump_code *code;
        if (number[i] == NULL)
            continue;
        code = &r->dump->code[*number[i] - 1];
        if (address >= code->start && address < code->end)
            return code;
    }
    return NULL;
}

static enum fm_status add_move(struct reading *r, struct fm_cursor *c, uint64_t time)
{
    const struct fm_jitdump_code *from;
    struct fm_jitdump_code code;
    uint64_t old, size, index;

    fm_cursor_skip(c, 16);
    old = fm_cursor_u64(c);
    code.start = fm_cursor_u64(c);
    size = fm_cursor_u64(c);
    index = fm_cursor_u64(c);
    if (!fm_cursor_ok(c) || size == 0)
        return FM_OK;
    from = find_moved(r, index, old);
    if (from == NULL) {
        r->dump->lost++;
        return FM_OK;
    }
    code = (struct fm_jitdump_code){
        .time = time, .start = code.start, .end = fm_add_sat_u64(code.start, size),
        .loaded = from->loaded + (old - from->start), .index = index, .name = from->name,
        .line = from->line, .lines = from->lines};
    return code.end > code.start ? add_code(r, &code) : FM_OK;
}

static enum fm_status sort_codes(struct fm_jitdump *dump)
{
    const size_t n = dump->codes;
    struct fm_jitdump_code *code;
    struct fm_point *point;
    bool sorted = true;

    for (size_t i = 1; i < n && sorted; i++)
        sorted = dump->code[i - 1].time <= dump->code[i].time;
    if (sorted)
        return FM_OK;
    point = fm_mem_alloc(dump->mem, n * sizeof *point);
    code = fm_mem_alloc(dump->mem, n * sizeof *code);
    for (size_t i = 0; i < n && point != NULL; i++)
        point[i] = (struct fm_point){.address = dump->code[i].time, .user = (uint32_t)i};
    sorted = point != NULL && code != NULL && fm_points_sort(dump->mem, point, n) == FM_OK;
    for (size_t i = 0; i < n && sorted; i++)
        code[i] = dump->code[point[i].user];
    fm_mem_free(dump->mem, point, n * sizeof *point);
    if (!sorted) {
        fm_mem_free(dump->mem, code, n * sizeof *code);
        return FM_NOMEM;
    }
    fm_mem_free(dump->mem, dump->code, dump->code_cap * sizeof *dump->code);
    dump->code = code;
    dump->code_cap = n;
    return FM_OK;
}

/* ----------------------------------------------------------------- reading */

static enum fm_status damage(struct reading *r, enum fm_status status, const char *what,
                             struct fm_error *err)
{
    return fm_error_at(err, status, r->name, fm_reader_offset(r->reader), "%s", what);
}

static enum fm_status read_header(struct reading *r, struct fm_error *err)
{
    struct fm_jitdump *dump = r->dump;
    const unsigned char *p;
    struct fm_cursor c;
    uint32_t magic, version, size;
    uint64_t skipped;
    size_t n;
    enum fm_status status = fm_reader_peek(r->reader, HEADER, &p, &n, err);

    if (n < HEADER)
        return status != FM_OK ? status : damage(r, FM_FORMAT, "is not a jitdump file", err);
    fm_cursor_init(&c, p, n, 0, false);
    magic = fm_cursor_u32(&c);
    if (magic != MAGIC && magic != MAGIC_SWAPPED)
        return damage(r, FM_FORMAT, "is not a jitdump file", err);
    c.swap = r->swap = magic != MAGIC;
    version = fm_cursor_u32(&c);
    size = fm_cursor_u32(&c);
    if (version != 1)
        return damage(r, FM_UNSUPPORTED, "is a jitdump file of another version", err);
    if (size < HEADER)
        return damage(r, FM_FORMAT, "the header's size is impossible", err);
    dump->machine = fm_cursor_u32(&c);
    fm_cursor_skip(&c, 4);
    dump->pid = fm_cursor_u32(&c);
    fm_cursor_skip(&c, 8);
    dump->ticks = (fm_cursor_u64(&c) & 1) != 0;
    dump->valid = true;
    return fm_reader_skip(r->reader, size, &skipped, err);
}

/* How much of a record's body must be seen: without the code of a LOAD. */
static uint64_t body_size(uint32_t id, uint64_t size)
{
    switch (id) {
    case LOAD:
        return FM_MIN(size, (uint64_t)40 + NAME_MAX_BYTES);
    case MOVE:
        return FM_MIN(size, (uint64_t)64);
    case DEBUG_INFO:
        return size <= DEBUG_MAX ? size : 0;
    default:
        return 0;
    }
}

/* A record's body, of `size` bytes with what of it is not looked at; the reader stands at it. */
static enum fm_status take_record(struct reading *r, uint32_t id, uint64_t time, uint64_t size,
                                  struct fm_error *err)
{
    const uint64_t need = body_size(id, size);
    const unsigned char *p = NULL;
    struct fm_cursor c;
    uint64_t skipped;
    size_t n = 0;
    enum fm_status status = FM_OK;

    if (need > 0)
        status = fm_reader_peek(r->reader, (size_t)need, &p, &n, err);
    if (status != FM_OK)
        return status;
    if (n < need)
        return damage(r, FM_TRUNCATED, "the file ends inside a record", err);
    fm_cursor_init(&c, p, (size_t)need, fm_reader_offset(r->reader), r->swap);
    if (id == LOAD)
        status = add_load(r, &c, time);
    else if (id == MOVE)
        status = add_move(r, &c, time);
    else if (id == DEBUG_INFO && need > 0)
        status = add_lines(r, &c);
    if (status != FM_OK)
        return fm_error_nomem(err);
    status = fm_reader_skip(r->reader, size, &skipped, err);
    if (status == FM_OK && skipped < size)
        return damage(r, FM_TRUNCATED, "the file ends inside a record", err);
    return status;
}

static enum fm_status read_records(struct reading *r, struct fm_error *err)
{
    for (;;) {
        const unsigned char *p;
        struct fm_cursor c;
        uint32_t id, size;
        uint64_t time;
        size_t n;
        enum fm_status status = fm_reader_peek(r->reader, RECORD, &p, &n, err);
        if (status != FM_OK || n == 0)
            return status;
        if (n < RECORD)
            return damage(r, FM_TRUNCATED, "the file ends inside a record", err);
        fm_cursor_init(&c, p, n, fm_reader_offset(r->reader), r->swap);
        id = fm_cursor_u32(&c);
        size = fm_cursor_u32(&c);
        time = fm_cursor_u64(&c);
        if (size < RECORD)
            return damage(r, FM_FORMAT, "a record's size is impossible", err);
        fm_reader_consume(r->reader, RECORD);
        status = take_record(r, id, time, size - RECORD, err);
        if (status != FM_OK)
            return status;
    }
}

enum fm_status fm_jitdump_read(struct fm_jitdump *dump, struct fm_ctx *ctx,
                               struct fm_input *input, struct fm_error *err)
{
    struct reading r = {.dump = dump, .name = fm_input_name(input)};
    enum fm_status status;

    memset(dump, 0, sizeof *dump);
    dump->mem = &ctx->mem;
    fm_arena_init(&dump->arena, dump->mem);
    fm_map_init(&r.by_index, dump->mem);
    fm_map_init(&r.by_start, dump->mem);
    status = fm_reader_open(input, &r.reader, err);
    if (status == FM_OK)
        status = read_header(&r, err);
    if (status == FM_OK)
        status = read_records(&r, err);
    fm_reader_close(r.reader);
    fm_map_release(&r.by_index);
    fm_map_release(&r.by_start);
    if (status != FM_NOMEM && sort_codes(dump) != FM_OK)
        status = fm_error_nomem(err);
    return status;
}

void fm_jitdump_release(struct fm_jitdump *dump)
{
    if (dump->mem == NULL)
        return;
    fm_mem_free(dump->mem, dump->code, dump->code_cap * sizeof *dump->code);
    fm_mem_free(dump->mem, dump->line, dump->line_cap * sizeof *dump->line);
    fm_arena_release(&dump->arena);
    memset(dump, 0, sizeof *dump);
}
