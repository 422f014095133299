/*
 * zip_dir.c - the directory of a zip archive that can be sought.
 *
 *     PK56 disk(2) disk(2) entries(2) entries(2) size(4) offset(4) comment length(2) comment
 *     PK67 disk(4) offset of PK66(8) disks(4)                 right before PK56 when there is one
 *     PK66 size of the rest(8) made(2) need(2) disk(4) disk(4) entries(8) entries(8) size(8)
 *          offset(8)
 *     PK12 made(2) need(2) flags(2) method(2) time(2) date(2) CRC(4) packed(4) size(4)
 *          name length(2) extra length(2) comment length(2) disk(2) attributes(6) offset(4)
 *          name extra comment
 *
 * The end record is sought from the end of the bytes backwards, over the longest comment there can
 * be. Offsets are relative to the archive: bytes before it move them all alike, and how far is seen
 * where the directory ends. From the description of the format by its inventors (APPNOTE).
 */
#include "input/zip.h"

#define END_SIZE 22u
#define END64_SIZE 56u
#define LOCATOR_SIZE 20u
#define ENTRY_SIZE 46u
#define COMMENT_MAX 65535u
#define ZIP64 1u

struct end {
    uint64_t at;            /* of the record that follows the directory */
    uint64_t stop;          /* one past the archive */
    uint64_t size, offset;  /* of the directory */
};

bool fm_zip_can_seek(const struct fm_window *window)
{
    return window->stage == NULL || window->stage->seek != NULL;
}

static uint64_t window_size(struct fm_window *window)
{
    uint64_t size;
    if (window->stage == NULL)
        return window->end;
    /* All of a stage that can seek is raw: what it has given, and what is left. */
    return fm_add_u64(fm_window_raw(window), window->stage->left(window->stage), &size)
               ? size : UINT64_MAX;
}

static void take_name(struct fm_zip_member *member, const unsigned char *p, size_t n)
{
    size_t keep = FM_MIN(n, sizeof member->name - 1);
    for (size_t i = 0; i < keep; i++)
        member->name[i] = p[i] < 0x20 || p[i] == 0x7f ? '?' : (char)p[i];
    member->name[keep] = '\0';
    member->folder = n > 0 && p[n - 1] == '/';
}

void fm_zip_names(struct fm_cursor *c, struct fm_zip_member *member, size_t name, size_t extra,
                  bool entry)
{
    const unsigned char *p = fm_cursor_bytes(c, name);
    struct fm_cursor fields = fm_cursor_sub(c, extra);
    if (p != NULL)
        take_name(member, p, name);
    while (fm_cursor_ok(&fields) && fm_cursor_left(&fields) >= 4) {
        uint16_t id = fm_cursor_u16(&fields), n = fm_cursor_u16(&fields);
        struct fm_cursor field = fm_cursor_sub(&fields, n);
        if (id != ZIP64)
            continue;
        if (member->size == UINT32_MAX && fm_cursor_left(&field) >= 8)
            member->size = fm_cursor_u64(&field);
        if (member->packed == UINT32_MAX && fm_cursor_left(&field) >= 8)
            member->packed = fm_cursor_u64(&field);
        if (entry && member->at == UINT32_MAX && fm_cursor_left(&field) >= 8)
            member->at = fm_cursor_u64(&field);
    }
}

/* n bytes at an offset; false: there are fewer, or they cannot be read (*status). */
static bool bytes_at(struct fm_window *window, uint64_t offset, size_t n, struct fm_cursor *c,
                     enum fm_status *status, struct fm_error *err)
{
    const unsigned char *p;
    size_t have;
    fm_window_seek(window, offset);
    *status = fm_window_peek(window, n, &p, &have, err);
    fm_zip_cursor(c, p, FM_MIN(n, have), offset);
    return *status == FM_OK && have >= n;
}

static bool end64_at(struct fm_window *window, uint64_t at, struct end *end,
                     enum fm_status *status, struct fm_error *err)
{
    struct fm_cursor c;
    if (!bytes_at(window, at, END64_SIZE, &c, status, err) || fm_cursor_u32(&c) != FM_ZIP_END64)
        return false;
    fm_cursor_skip(&c, 36);
    end->size = fm_cursor_u64(&c);
    end->offset = fm_cursor_u64(&c);
    end->at = at;
    return true;
}

/* The zip64 records in front of the end record, if they are there: where the locator says, or, in
 * an archive behind other bytes, right before it. */
static void find_end64(struct fm_window *window, struct end *end, enum fm_status *status,
                       struct fm_error *err)
{
    struct fm_cursor c;
    uint64_t at, before;
    if (end->at < LOCATOR_SIZE + END64_SIZE ||
        !bytes_at(window, end->at - LOCATOR_SIZE, LOCATOR_SIZE, &c, status, err) ||
        fm_cursor_u32(&c) != FM_ZIP_LOCATOR64)
        return;
    before = end->at - LOCATOR_SIZE - END64_SIZE;
    fm_cursor_skip(&c, 4);
    at = fm_cursor_u64(&c);
    if (at > before || !end64_at(window, at, end, status, err))
        (void)end64_at(window, before, end, status, err);
}

/* The last end record whose comment fits. */
static bool find_end(struct fm_window *window, struct end *end, enum fm_status *status,
                     struct fm_error *err)
{
    uint64_t size = window_size(window);
    size_t tail = (size_t)FM_MIN(size, (uint64_t)END_SIZE + COMMENT_MAX);
    struct fm_cursor whole;
    if (tail < END_SIZE || !bytes_at(window, size - tail, tail, &whole, status, err))
        return false;
    for (size_t i = tail - END_SIZE + 1; i-- > 0;) {
        struct fm_cursor c;
        size_t comment;
        fm_zip_cursor(&c, whole.p + i, tail - i, size - tail + i);
        if (fm_cursor_u32(&c) != FM_ZIP_END)
            continue;
        fm_cursor_skip(&c, 8);
        end->size = fm_cursor_u32(&c);
        end->offset = fm_cursor_u32(&c);
        comment = fm_cursor_u16(&c);
        if (comment > fm_cursor_left(&c))
            continue;
        end->at = size - tail + i;
        end->stop = end->at + END_SIZE + comment;
        find_end64(window, end, status, err);
        return *status == FM_OK;
    }
    return false;
}

/* One entry: *n bytes long. */
static bool read_entry(struct fm_window *window, uint64_t at, struct fm_zip_member *member,
                       uint64_t *n, enum fm_status *status, struct fm_error *err)
{
    struct fm_cursor c;
    size_t name, extra, comment;
    if (!bytes_at(window, at, ENTRY_SIZE, &c, status, err) || fm_cursor_u32(&c) != FM_ZIP_ENTRY)
        return false;
    fm_cursor_skip(&c, 4);
    member->flags = fm_cursor_u16(&c);
    member->method = fm_cursor_u16(&c);
    fm_cursor_skip(&c, 4);
    member->crc = fm_cursor_u32(&c);
    member->packed = fm_cursor_u32(&c);
    member->size = fm_cursor_u32(&c);
    name = fm_cursor_u16(&c);
    extra = fm_cursor_u16(&c);
    comment = fm_cursor_u16(&c);
    fm_cursor_skip(&c, 8);
    member->at = fm_cursor_u32(&c);
    *n = ENTRY_SIZE + name + extra + comment;
    if (!bytes_at(window, at, ENTRY_SIZE + name + extra, &c, status, err))
        return false;
    fm_cursor_skip(&c, ENTRY_SIZE);
    fm_zip_names(&c, member, name, extra, true);
    return true;
}

enum fm_status fm_zip_directory(struct fm_window *window, struct fm_zip_directory *dir,
                                struct fm_error *err)
{
    enum fm_status status = FM_OK;
    struct end end;
    uint64_t at, stop, moved, n;
    memset(dir, 0, sizeof *dir);
    if (!find_end(window, &end, &status, err))
        return status != FM_OK ? status : fm_error_set(err, FM_FORMAT, "no directory");
    if (end.size > end.at || end.offset > end.at - end.size)
        return fm_error_set(err, FM_FORMAT, "the directory has an impossible size");
    stop = end.at;
    at = dir->at = end.at - end.size;
    moved = at - end.offset;
    while (at < stop) {
        struct fm_zip_member m;
        if (!read_entry(window, at, &m, &n, &status, err) || n > stop - at ||
            !fm_add_u64(m.at, moved, &m.at))
            return status != FM_OK ? status : fm_error_set(err, FM_FORMAT, "broken directory");
        if (!m.folder && m.size > 0) {
            bool larger = dir->files == 0 || m.size > dir->largest.size;
            if (larger)
                dir->largest = m;
            dir->files++;
        }
        at += n;
    }
    dir->end = end.stop;
    return FM_OK;
}
