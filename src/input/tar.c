/*
 * tar.c - tar archives: see tar.h.
 *
 * A run of blocks of 512 bytes: a header, the bytes of the file padded to whole blocks, the next
 * header; a block of zeros ends it. A header is text (POSIX.1-2008, pax; GNU tar's manual):
 *
 *     0   name 100       124 size 12         156 kind 1        257 magic "ustar" 6
 *     100 mode, ids 24   136 time 12         157 link 100      345 prefix 155, of ustar only
 *                        148 checksum 8: sum of the block's bytes, these eight as blanks
 *
 * Numbers are octal, ended by a blank or NUL, or binary, big-endian, when their first bit is set.
 * What does not fit stands in a member before the one it is about:
 *
 *     'x'  pax: lines "LENGTH KEY=VALUE\n", of which path, linkpath, size and GNU.sparse.* matter
 *     'L' 'K'  GNU: the name, the link
 *
 * A hard link's size is that of the file it names, and some archives repeat the bytes: they do when
 * what follows is neither a header nor the end.
 */
#include "input/tar.h"

#include "input/inner.h"
#include "util/map.h"
#include "util/text.h"

#define BLOCK ((size_t)512)
#define TEXT_MAX ((uint64_t)1 << 20)   /* bytes of an 'x', 'L' or 'K' member */
#define LINKS_MAX 40                   /* followed for one path */
#define PATH_MAX_BYTES ((size_t)64 << 10)

struct fm_tar {
    struct fm_input *input;
    struct fm_mem *mem;
    struct fm_arena arena;             /* names */
    struct fm_tar_member *member;
    size_t members, cap;
    struct fm_map by_name;             /* hash of a name -> number of its last member + 1 */
    uint32_t *before;                  /* by member: number + 1 of the last one of its hash */
    size_t before_cap;
    struct fm_error damage;
};

/* What a header says, and what the members before it said about it. */
struct entry {
    const char *name, *link;           /* NULL: not told yet */
    uint64_t size;
    bool has_size, sparse;
    char kind;
};

/* ----------------------------------------------------------------- headers */

static bool octal(const unsigned char *p, size_t n, uint64_t *out)
{
    size_t i = 0;
    *out = 0;
    if ((p[0] & 0x80) != 0) {
        uint64_t v = p[0] & 0x7f;
        if (p[0] == 0xff)
            return false;               /* negative */
        for (i = 1; i < n; i++) {
            if (v >> 56 != 0)
                return false;
            v = v << 8 | p[i];
        }
        *out = v;
        return true;
    }
    while (i < n && p[i] == ' ')
        i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) {
        if (*out >> 61 != 0)
            return false;
        *out = *out << 3 | (uint64_t)(p[i] - '0');
    }
    return i == n || p[i] == ' ' || p[i] == '\0';
}

static bool is_zero(const unsigned char *block)
{
    for (size_t i = 0; i < BLOCK; i++)
        if (block[i] != 0)
            return false;
    return true;
}

/* Some writers summed signed bytes. */
static bool is_header(const unsigned char *block)
{
    uint64_t told;
    uint32_t sum = 0, high = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        const unsigned char byte = i >= 148 && i < 156 ? ' ' : block[i];
        sum += byte;
        high += byte >> 7;
    }
    return block[0] != '\0' && octal(block + 148, 8, &told) &&
           (told == sum || told + 256u * (uint64_t)high == sum);
}

bool fm_tar_is(const unsigned char *data, size_t n)
{
    return n >= BLOCK && is_header(data);
}

static const char *text(struct fm_tar *tar, const unsigned char *p, size_t max)
{
    return fm_arena_strn(&tar->arena, (const char *)p, strnlen((const char *)p, max));
}

/* The name of a header; of ustar (not of GNU's "ustar  ") with what stands before it. */
static const char *header_name(struct fm_tar *tar, const unsigned char *block)
{
    if (memcmp(block + 257, "ustar", 6) == 0 && block[345] != '\0')
        return fm_arena_printf(&tar->arena, "%.155s/%.100s", (const char *)block + 345,
                               (const char *)block);
    return text(tar, block, 100);
}

/* Without "/" and "./" in front and "/" behind; *folder = it had one behind. */
static const char *plain_name(struct fm_tar *tar, const char *name, bool *folder)
{
    size_t n;
    for (;;) {
        if (name[0] == '/')
            name++;
        else if (name[0] == '.' && name[1] == '/')
            name += 2;
        else
            break;
    }
    n = strlen(name);
    *folder = n > 0 && name[n - 1] == '/';
    while (n > 0 && name[n - 1] == '/')
        n--;
    return fm_arena_strn(&tar->arena, name, n);
}

/* ------------------------------------------------------------------ reading */

static enum fm_status broken(struct fm_tar *tar, enum fm_status status, uint64_t at,
                             const char *what)
{
    return fm_error_at(&tar->damage, status, fm_input_name(tar->input), at, "%s", what);
}

/* A block; *end at the end of the input. Damage is kept, FM_NOMEM and FM_IO come back. */
static enum fm_status read_block(struct fm_tar *tar, uint64_t at, unsigned char *block, bool *end,
                                 struct fm_error *err)
{
    struct fm_error met = {0};
    size_t got;
    enum fm_status status = fm_input_read_at(tar->input, at, block, BLOCK, &got, &met);
    *end = got < BLOCK;
    if (status == FM_NOMEM || status == FM_IO) {
        if (err != NULL && err->status == FM_OK)
            *err = met;
        return status;
    }
    if (got == BLOCK)
        return FM_OK;
    if (status != FM_OK)
        tar->damage = met;
    else if (got > 0)
        broken(tar, FM_TRUNCATED, at, "the archive ends inside a header");
    return FM_OK;
}

/* Bytes of an 'x', 'L' or 'K' member, in the arena; NULL: no memory, or they are not all there. */
static char *read_text(struct fm_tar *tar, uint64_t at, uint64_t size, enum fm_status *status)
{
    size_t got = 0;
    char *p;
    *status = FM_OK;
    if (size > TEXT_MAX) {
        broken(tar, FM_LIMIT, at, "a name or an extended header is longer than 1 MiB");
        return NULL;
    }
    p = fm_arena_alloc(&tar->arena, (size_t)size + 1);
    if (p == NULL) {
        *status = FM_NOMEM;
        return NULL;
    }
    *status = fm_input_read_at(tar->input, at, p, (size_t)size, &got, NULL);
    if (*status != FM_NOMEM && *status != FM_IO)
        *status = FM_OK;
    if (got < size)
        broken(tar, FM_TRUNCATED, at + got, "the archive ends inside an extended header");
    return got < size ? NULL : p;
}

/* "27 path=a/long/name\n" ...: what cannot be read ends it, what is not known is passed over. */
static void read_pax(char *p, size_t n, struct entry *e)
{
    char *end = p + n;
    while (p < end) {
        char *blank = memchr(p, ' ', (size_t)(end - p)), *equals;
        uint64_t length, size;
        if (blank == NULL || !fm_text_u64(p, (size_t)(blank - p), &length) ||
            length > (uint64_t)(end - p) || length < (uint64_t)(blank - p) + 2)
            return;
        char *stop = p + length - 1;    /* the end of the line */
        equals = memchr(blank, '=', (size_t)(stop - blank));
        p += length;
        if (equals == NULL || *stop != '\n')
            return;
        *equals = *stop = '\0';
        const char *key = blank + 1, *value = equals + 1;
        if (strcmp(key, "path") == 0)
            e->name = value;
        else if (strcmp(key, "linkpath") == 0)
            e->link = value;
        else if (strcmp(key, "size") == 0 && fm_text_u64(value, strlen(value), &size))
            e->size = size, e->has_size = true;
        else if (strncmp(key, "GNU.sparse.", 11) == 0)
            e->sparse = true;
    }
}

/* Where the member behind one that begins at `at` begins; false: beyond all numbers. */
static bool skip(uint64_t *at, uint64_t size)
{
    uint64_t whole;
    if (!fm_add_u64(size, BLOCK - 1, &whole))
        return false;
    return fm_add_u64(*at, whole / BLOCK * BLOCK, at);
}

/* ------------------------------------------------------------------ members */

static uint64_t name_key(const char *name, size_t n)
{
    return fm_hash_of(name, n);
}

static enum fm_status add_member(struct fm_tar *tar, const struct fm_tar_member *member)
{
    uint64_t *last;
    if (tar->members >= UINT32_MAX - 1 ||
        !fm_grow(tar->mem, (void **)&tar->member, &tar->cap, tar->members + 1,
                 sizeof *tar->member) ||
        !fm_grow(tar->mem, (void **)&tar->before, &tar->before_cap, tar->members + 1,
                 sizeof *tar->before))
        return FM_NOMEM;
    last = fm_map_put(&tar->by_name, name_key(member->name, strlen(member->name)), NULL);
    if (last == NULL)
        return FM_NOMEM;
    tar->member[tar->members] = *member;
    tar->before[tar->members] = (uint32_t)*last;
    *last = ++tar->members;
    return FM_OK;
}

static enum fm_tar_kind kind_of(char kind, bool folder, bool sparse)
{
    switch (kind) {
    case '\0': case '0': case '7':
        return sparse ? FM_TAR_OTHER : folder ? FM_TAR_FOLDER : FM_TAR_FILE;
    case '1':
        return FM_TAR_HARD;
    case '2':
        return FM_TAR_SYMBOLIC;
    case '5': case 'D':
        return FM_TAR_FOLDER;
    default:
        return FM_TAR_OTHER;
    }
}

/* Bytes behind the header of a member. */
static enum fm_status body_size(struct fm_tar *tar, const struct entry *e, uint64_t at,
                                uint64_t *size, struct fm_error *err)
{
    unsigned char block[BLOCK];
    enum fm_status status;
    bool end;
    *size = e->size;
    if (e->kind == '2' || e->kind == '5' || (e->kind >= '3' && e->kind <= '6'))
        *size = 0;
    if (e->kind != '1' || e->size == 0)
        return FM_OK;
    status = read_block(tar, at, block, &end, err);
    if (status == FM_OK && (end || is_header(block) || is_zero(block)))
        *size = 0;
    return status;
}

/* The member of a header whose bytes begin at *at, which moves behind them. */
static enum fm_status take_member(struct fm_tar *tar, struct entry *e, uint64_t total,
                                  uint64_t *at, struct fm_error *err)
{
    struct fm_tar_member member = {.at = *at};
    uint64_t size;
    bool folder;
    enum fm_status status = body_size(tar, e, *at, &size, err);
    if (status != FM_OK)
        return status;
    member.name = plain_name(tar, e->name, &folder);
    member.link = e->link;
    if (member.name == NULL)
        return fm_error_nomem(err);
    member.kind = (uint8_t)kind_of(e->kind, folder, e->sparse);
    if (member.kind == FM_TAR_FILE) {
        member.size = FM_MIN(size, total > *at ? total - *at : 0);
        if (member.size < size)
            broken(tar, FM_TRUNCATED, total, "the archive ends inside a member");
    }
    if (member.name[0] != '\0' && add_member(tar, &member) != FM_OK)
        return fm_error_nomem(err);
    if (!skip(at, size))
        broken(tar, FM_FORMAT, *at, "a member's size is impossible");
    return FM_OK;
}

/* One header: a member, or what is said about the next one. */
static enum fm_status take_header(struct fm_tar *tar, const unsigned char *block, struct entry *e,
                                  uint64_t total, uint64_t *at, struct fm_error *err)
{
    enum fm_status status;
    uint64_t size;
    char *p;
    if (!octal(block + 124, 12, &size)) {
        broken(tar, FM_FORMAT, *at - BLOCK + 124, "a member's size is no number");
        return FM_OK;
    }
    e->kind = (char)block[156];
    if (e->kind == 'x' || e->kind == 'X' || e->kind == 'L' || e->kind == 'K') {
        p = read_text(tar, *at, size, &status);
        if (p == NULL)
            return status == FM_OK ? FM_OK : fm_error_set(err, status, "cannot read");
        if (e->kind == 'L')
            e->name = p;
        else if (e->kind == 'K')
            e->link = p;
        else
            read_pax(p, (size_t)size, e);
        if (!skip(at, size))
            broken(tar, FM_FORMAT, *at, "a member's size is impossible");
        return FM_OK;
    }
    if (e->name == NULL)
        e->name = header_name(tar, block);
    if (e->link == NULL)
        e->link = text(tar, block + 157, 100);
    if (e->name == NULL || e->link == NULL)
        return fm_error_nomem(err);
    if (!e->has_size)
        e->size = size;
    if (e->kind == 'g')     /* about all members: nothing that is used here */
        e->name = "";
    status = take_member(tar, e, total, at, err);
    memset(e, 0, sizeof *e);
    return status;
}

static enum fm_status read_all(struct fm_tar *tar, struct fm_error *err)
{
    unsigned char block[BLOCK];
    struct entry entry = {0};
    uint64_t at = 0, total = 0;
    (void)fm_input_size(tar->input, &total);
    while (tar->damage.status == FM_OK) {
        bool end;
        enum fm_status status = read_block(tar, at, block, &end, err);
        if (status != FM_OK)
            return status;
        if (end || is_zero(block))
            break;
        if (!is_header(block)) {
            if (at == 0)
                return fm_error_at(err, FM_FORMAT, fm_input_name(tar->input), 0,
                                   "is not a tar archive");
            broken(tar, FM_FORMAT, at, "a header's checksum is wrong");
            break;
        }
        at += BLOCK;
        status = take_header(tar, block, &entry, total, &at, err);
        if (status != FM_OK)
            return status;
        if (!fm_ctx_tick(tar->input->ctx, at, total))
            return fm_error_at(err, FM_CANCELLED, fm_input_name(tar->input), FM_NO_OFFSET,
                               "cancelled");
    }
    return FM_OK;
}

/* --------------------------------------------------------------------- life */

enum fm_status fm_tar_open(struct fm_input *input, struct fm_tar **out, struct fm_error *err)
{
    struct fm_mem *mem = &input->ctx->mem;
    struct fm_tar *tar;
    enum fm_status status;
    *out = NULL;
    status = fm_input_seekable(input, err);
    if (status != FM_OK)
        return status;
    tar = fm_mem_zalloc(mem, sizeof *tar);
    if (tar == NULL)
        return fm_error_nomem(err);
    tar->input = input;
    tar->mem = mem;
    fm_arena_init(&tar->arena, mem);
    fm_map_init(&tar->by_name, mem);
    status = read_all(tar, err);
    if (status == FM_OK && tar->damage.status == FM_OK)
        (void)fm_input_damage(input, &tar->damage);
    if (status != FM_OK) {
        fm_tar_close(tar);
        return status;
    }
    *out = tar;
    return FM_OK;
}

void fm_tar_close(struct fm_tar *tar)
{
    if (tar == NULL)
        return;
    struct fm_mem *mem = tar->mem;
    fm_mem_free(mem, tar->member, tar->cap * sizeof *tar->member);
    fm_mem_free(mem, tar->before, tar->before_cap * sizeof *tar->before);
    fm_map_release(&tar->by_name);
    fm_arena_release(&tar->arena);
    fm_mem_free(mem, tar, sizeof *tar);
}

enum fm_status fm_tar_damage(const struct fm_tar *tar, struct fm_error *err)
{
    if (tar->damage.status != FM_OK && err != NULL && err->status == FM_OK)
        *err = tar->damage;
    return tar->damage.status;
}

size_t fm_tar_members(const struct fm_tar *tar)
{
    return tar->members;
}

const struct fm_tar_member *fm_tar_member(const struct fm_tar *tar, size_t i)
{
    return i < tar->members ? &tar->member[i] : NULL;
}

enum fm_status fm_tar_input(const struct fm_tar *tar, const struct fm_tar_member *member,
                            const char *name, struct fm_input **input, struct fm_error *err)
{
    if (member->kind != FM_TAR_FILE)
        return fm_error_at(err, FM_UNSUPPORTED, name, FM_NO_OFFSET, "is no plain file");
    return fm_input_open_part(tar->input, member->at, member->size, name, input, err);
}

/* ---------------------------------------------------------------- by path */

/* The last member whose name is name[0..n). */
static const struct fm_tar_member *exact(const struct fm_tar *tar, const char *name, size_t n)
{
    const uint64_t *last = fm_map_find(&tar->by_name, name_key(name, n));
    for (uint64_t i = last != NULL ? *last : 0; i != 0; i = tar->before[i - 1]) {
        const struct fm_tar_member *member = &tar->member[i - 1];
        if (strncmp(member->name, name, n) == 0 && member->name[n] == '\0')
            return member;
    }
    return NULL;
}

/* "a/./b//../c" -> "a/c", in place; false: it leads out of the archive. */
static bool normalize(char *path)
{
    char *to = path;
    for (const char *p = path; *p != '\0';) {
        const size_t n = strcspn(p, "/");
        const bool up = n == 2 && p[0] == '.' && p[1] == '.';
        if (up && to == path)
            return false;
        if (up) {
            while (to > path && *--to != '/')
                continue;
        } else if (n > 0 && !(n == 1 && p[0] == '.')) {
            if (to > path)
                *to++ = '/';
            memmove(to, p, n);
            to += n;
        }
        p += n;
        while (*p == '/')
            p++;
    }
    *to = '\0';
    return true;
}

/* The path with the link that its first `n` bytes are replaced by what it names. */
static char *follow(struct fm_arena *arena, const struct fm_tar_member *link, const char *path,
                    size_t n)
{
    size_t folder = n;
    if (link->kind == FM_TAR_HARD || link->link[0] == '/')
        return fm_arena_printf(arena, "%s%s", link->link, path + n);
    while (folder > 0 && path[folder - 1] != '/')
        folder--;
    return fm_arena_printf(arena, "%.*s%s%s", (int)folder, path, link->link, path + n);
}

const struct fm_tar_member *fm_tar_find(const struct fm_tar *tar, const char *path, bool *oom)
{
    const struct fm_tar_member *found = NULL;
    struct fm_arena arena;
    *oom = false;
    fm_arena_init(&arena, tar->mem);
    char *at = fm_arena_str(&arena, path);
    for (unsigned links = 0; at != NULL && links <= LINKS_MAX; links++) {
        const struct fm_tar_member *link = NULL;
        size_t n = 0;
        if (strlen(at) > PATH_MAX_BYTES || !normalize(at))
            break;
        do {    /* the first part of the path that is a link */
            n += strcspn(at + n, "/");
            link = exact(tar, at, n);
            if (link != NULL && link->kind != FM_TAR_SYMBOLIC &&
                !(link->kind == FM_TAR_HARD && at[n] == '\0'))
                link = NULL;
        } while (link == NULL && at[n] != '\0' && ++n > 0);
        if (link == NULL) {
            found = exact(tar, at, strlen(at));
            break;
        }
        at = follow(&arena, link, at, n);
    }
    *oom = at == NULL;
    fm_arena_release(&arena);
    return found != NULL && found->kind == FM_TAR_FILE ? found : NULL;
}
