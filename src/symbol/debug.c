/*
 * debug.c - the look-up of a module's addresses: which units, their lines, and the answers.
 *
 *     units ── ranges hold a point? ──no──> next
 *                 │ yes
 *                 ├─ .dwo of a skeleton unit, matched by its id
 *                 ├─ debug_walk.c: functions and inlined calls ─> entry of each point
 *                 ├─ debug_name.c: their names
 *                 └─ line_table.c: file, line and column of each point, files of the calls
 *
 *     entry h in g in f, line table says h.c:9   ->   f at call of g, g at call of h, h at h.c:9
 *
 * A function's line is a line of that function: where others are inlined into it, the one of the
 * call. Lines come from the unit whose function holds the point; where no function does, from the
 * first unit that knows the address.
 */
#include "symbol/debug_inner.h"

#include "symbol/elf_inner.h"
#include "symbol/line_table.h"

#include <dwarf.h>
#include <stdio.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define MEAN_MAX 48u         /* inlined calls of an address, over all of them */

/* ------------------------------------------------------------------ points */

size_t fm_look_points(struct fm_look *look, uint64_t low, uint64_t high, size_t *first)
{
    size_t i, n = 0;

    if (low >= look->gap_low && high <= look->gap_high)
        return 0;
    i = fm_points_find(look->point, look->points, low);
    while (i + n < look->points && look->point[i + n].address < high)
        n++;
    if (n == 0) {
        look->gap_low = i > 0 ? look->point[i - 1].address + 1 : 0;
        look->gap_high = i < look->points ? look->point[i].address : UINT64_MAX;
    }
    *first = i;
    return n;
}

struct marking {
    struct fm_look *look;
    size_t n;
};

static void mark(void *user, uint64_t low, uint64_t high)
{
    struct marking *m = user;
    size_t first, n = fm_look_points(m->look, low, high, &first);

    if (n == 0 || !fm_dwarf_step(&m->look->main, n))
        return;
    for (size_t i = first; i < first + n; i++)
        m->look->spot[i].mark = m->look->unit + 1;
    m->look->mark_low = m->n > 0 ? FM_MIN(m->look->mark_low, first) : first;
    m->look->mark_high = m->n > 0 ? FM_MAX(m->look->mark_high, first + n) : first + n;
    m->n += n;
}

/* ------------------------------------------------------------------- lines */

static bool has_line(struct fm_look *look, const struct fm_spot *spot, uint64_t start)
{
    if (spot->mark != look->unit + 1)
        return false;
    if (spot->entry != FM_NO_ENTRY && look->entry[spot->entry].unit != look->unit)
        return false;
    if (spot->line_unit == look->unit + 1)
        return start >= spot->start;
    return spot->line_unit == 0 || spot->entry != FM_NO_ENTRY;
}

static void take_line(void *user, const struct fm_line_row *row)
{
    struct fm_look *look = user;
    size_t first, n = fm_look_points(look, row->low, row->high, &first);

    if (n == 0 || !fm_dwarf_step(&look->main, n))
        return;
    for (size_t i = first; i < first + n; i++) {
        struct fm_spot *spot = &look->spot[i];
        if (!has_line(look, spot, row->start))
            continue;
        spot->line_unit = look->unit + 1;
        spot->start = row->start;
        spot->file = row->file;
        spot->line = row->line;
        spot->column = row->column;
        spot->path = NULL;
    }
}

/* Empties a map; a large one is given back, for clearing it takes as long as it is large. */
static void forget(struct fm_map *map)
{
    struct fm_mem *mem = map->mem;

    if (map->slots <= 4096) {
        fm_map_clear(map);
        return;
    }
    fm_map_release(map);
    fm_map_init(map, mem);
}

/* The path of a file of a unit, made once. */
static const char *path_of(struct fm_look *look, const struct fm_line_table *lines, uint64_t file)
{
    struct fm_out *out = &look->text;
    const char *path;
    bool fresh;
    uint64_t *place = fm_map_put(&look->by_file, file, &fresh);

    if (place == NULL) {
        look->oom = true;
        return NULL;
    }
    if (!fresh) {
        memcpy(&path, place, sizeof path);
        return path;
    }
    out->n = 0;
    path = NULL;
    if (fm_line_table_path(lines, file, out) && fm_dwarf_step(&look->main, out->n)) {
        if (out->status == FM_OK)
            path = fm_arena_strn(&look->debug->arena, out->buf, out->n);
        look->oom = look->oom || path == NULL;
    }
    memcpy(place, &path, sizeof path);
    return path;
}

static void read_lines(struct fm_look *look, const struct fm_dwarf_cu *cu, size_t first)
{
    struct fm_line_table lines;
    enum fm_status status = fm_line_table_open(&lines, cu);

    look->oom = look->oom || status == FM_NOMEM;
    if (status != FM_OK)
        return;
    forget(&look->by_file);
    fm_line_table_run(&lines, take_line, look);
    if (!fm_dwarf_step(&look->main, look->mark_high - look->mark_low))
        look->mark_high = look->mark_low;
    for (size_t i = look->mark_low; i < look->mark_high && !look->oom; i++) {
        struct fm_spot *spot = &look->spot[i];
        if (spot->line_unit == look->unit + 1)
            spot->path = path_of(look, &lines, spot->file);
    }
    for (size_t i = first; i < look->entries && !look->oom; i++) {
        if (look->entry[i].parent != FM_NO_ENTRY)
            look->entry[i].file = path_of(look, &lines, look->entry[i].call_file);
    }
    fm_line_table_close(&lines);
}

/* ------------------------------------------------------------- other files */

static struct fm_elf *open_beside(struct fm_look *look, const char *path)
{
    struct fm_image image;
    struct fm_elf *elf = NULL;
    enum fm_status status = fm_image_open(look->debug->ctx, path, false, &image);

    if (status == FM_OK)
        status = fm_elf_open(look->debug->ctx, &image, &elf);
    look->oom = look->oom || status == FM_NOMEM;
    return elf;
}

/* The unit of a .dwo that belongs to a skeleton. */
static bool dwo_unit(struct fm_look *look, struct fm_dwarf *dwo, const struct fm_dwarf_cu *skeleton,
                     struct fm_dwarf_cu *cu)
{
    for (size_t i = 0; i < dwo->units; i++) {
        const struct fm_dwarf_unit *unit = &dwo->unit[i];
        enum fm_status status;
        if (unit->type != DW_UT_split_compile && unit->type != DW_UT_compile)
            continue;
        status = fm_dwarf_cu_open(cu, dwo, unit, skeleton);
        look->oom = look->oom || status == FM_NOMEM;
        if (status != FM_OK)
            continue;
        if (cu->id == skeleton->id)
            return true;
        fm_dwarf_cu_close(cu);
    }
    return false;
}

/* Walks the unit of one candidate. False: it is not the file. */
static bool try_dwo(struct fm_look *look, const struct fm_dwarf_cu *skeleton, const char *path)
{
    struct fm_elf *elf = open_beside(look, path);
    struct fm_dwarf dwo;
    struct fm_dwarf_cu cu;
    enum fm_status status;
    bool found = false;

    if (elf == NULL)
        return false;
    status = fm_dwarf_open(&dwo, look->debug->ctx, elf, true, &look->work);
    look->oom = look->oom || status == FM_NOMEM;
    if (status == FM_OK) {
        if (dwo_unit(look, &dwo, skeleton, &cu)) {
            const size_t first = look->entries;
            found = true;
            fm_look_walk(look, &cu);
            forget(&look->by_die);
            fm_look_names(look, &cu, first);
            forget(&look->by_die);
            fm_dwarf_cu_close(&cu);
        }
        look->debug->broken = look->debug->broken || dwo.broken;
        fm_dwarf_close(&dwo);
    }
    fm_elf_close(elf);
    return found;
}

static bool join(char path[PATH_BYTES], const char *symfs, const char *folder, size_t folder_n,
                 const char *name)
{
    const bool absolute = name[0] == '/';
    int n;

    if (absolute)
        folder_n = 0;
    if (folder_n >= PATH_BYTES)
        return false;
    n = snprintf(path, PATH_BYTES, "%s%.*s%s%s", symfs, (int)folder_n, folder,
                 folder_n > 0 && folder[folder_n - 1] != '/' ? "/" : "", name);
    return n > 0 && n < PATH_BYTES;
}

/* The .dwo: as named (in the unit's folder), or beside the program. */
static void split_unit(struct fm_look *look, const struct fm_dwarf_cu *cu)
{
    size_t name_n, dir_n;
    const char *name = fm_dwarf_text(cu, &cu->dwo, &name_n);
    const char *dir = fm_dwarf_text(cu, &cu->comp_dir, &dir_n);
    const char *own = look->find != NULL ? look->find->path : NULL, *slash, *base;
    char path[PATH_BYTES];
    int n;

    if (name == NULL || name_n == 0 || own == NULL) {
        look->debug->missing++;
        return;
    }
    if (join(path, look->find->symfs, dir != NULL ? dir : "", dir != NULL ? dir_n : 0, name) &&
        try_dwo(look, cu, path))
        return;
    slash = strrchr(own, '/');
    base = strrchr(name, '/');
    base = base != NULL ? base + 1 : name;
    if (!look->oom && join(path, look->find->symfs, own, slash != NULL ? (size_t)(slash - own) : 0,
                           base) && try_dwo(look, cu, path))
        return;
    look->debug->missing++;
    n = snprintf(path, sizeof path, "%s%s.dwp", look->find->symfs, own);
    if (n > 0 && n < PATH_BYTES && access(path, R_OK) == 0)
        look->debug->package = true;
}

static void build_id_text(const unsigned char *id, size_t n, char text[FM_BUILD_ID_TEXT])
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digit[id[i] >> 4];
        text[2 * i + 1] = digit[id[i] & 15];
    }
    text[2 * n] = '\0';
}

static bool try_alt(struct fm_look *look, const char *path, const char *id)
{
    enum fm_status status;

    if (look->oom)
        return false;
    look->alt_elf = open_beside(look, path);
    if (look->alt_elf == NULL)
        return false;
    if (strcmp(fm_elf_build_id(look->alt_elf), id) == 0) {
        status = fm_dwarf_open(&look->alt, look->debug->ctx, look->alt_elf, false, &look->work);
        look->oom = look->oom || status == FM_NOMEM;
        if (status == FM_OK) {
            look->main.alt = &look->alt;
            return true;
        }
    }
    fm_elf_close(look->alt_elf);
    look->alt_elf = NULL;
    return false;
}

/* .gnu_debugaltlink: a path (relative to this file's folder), NUL, and a build-id. */
static void open_alt(struct fm_look *look, const struct fm_elf *elf)
{
    const struct fm_elf_section *section = fm_elf_section_find(elf, ".gnu_debugaltlink");
    const unsigned char *bytes = fm_elf_bytes(elf, section);
    const char *name, *own, *slash;
    char id[FM_BUILD_ID_TEXT], path[PATH_BYTES];
    size_t n, left;
    struct fm_cursor c;

    if (bytes == NULL || look->find == NULL)
        return;
    fm_cursor_init(&c, bytes, (size_t)section->size, 0, false);
    name = fm_cursor_text(&c, (size_t)section->size, false, &n);
    left = fm_cursor_left(&c);
    if (name == NULL || n == 0 || left < 2 || 2 * left + 1 > sizeof id)
        return;
    build_id_text(c.p, left, id);
    if (join(path, look->find->symfs, "", 0, name) && name[0] == '/' && try_alt(look, path, id))
        return;
    own = look->find->debug_path;
    slash = own != NULL ? strrchr(own, '/') : NULL;
    if (slash != NULL && name[0] != '/' && join(path, "", own, (size_t)(slash - own), name) &&
        try_alt(look, path, id))
        return;
    n = (size_t)snprintf(path, sizeof path, "%s/usr/lib/debug/.build-id/%.2s/%s.debug",
                         look->find->symfs, id, id + 2);
    if (n < sizeof path)
        try_alt(look, path, id);
}

/* -------------------------------------------------------------------- units */

static void look_unit(struct fm_look *look, const struct fm_dwarf_unit *unit)
{
    struct marking marking = { look, 0 };
    const size_t first = look->entries;
    struct fm_dwarf_cu cu;
    enum fm_status status;

    if (unit->type != DW_UT_compile && unit->type != DW_UT_skeleton)
        return;
    status = fm_dwarf_cu_open(&cu, &look->main, unit, NULL);
    look->oom = look->oom || status == FM_NOMEM;
    if (status != FM_OK)
        return;
    fm_dwarf_ranges(&cu, &cu.pcs, mark, &marking);
    if (marking.n > 0) {
        if (cu.dwo.form != 0) {
            split_unit(look, &cu);
        } else {
            fm_look_walk(look, &cu);
            fm_look_names(look, &cu, first);
        }
        if (!look->oom)
            read_lines(look, &cu, first);
    }
    fm_dwarf_cu_close(&cu);
}

/* ------------------------------------------------------------------ answers */

static bool add_place(struct fm_debug *debug, const struct fm_place *place)
{
    if (debug->places >= UINT32_MAX - 1 ||
        !fm_grow(&debug->ctx->mem, (void **)&debug->place, &debug->place_cap, debug->places + 1,
                 sizeof *debug->place))
        return false;
    debug->place[debug->places++] = *place;
    return true;
}

static void name_place(const struct fm_look *look, const struct fm_entry *entry,
                       struct fm_place *place)
{
    const struct fm_debug_name *name;

    if (entry->name == FM_NO_ENTRY)
        return;
    name = &look->name[entry->name];
    place->name = name->text;
    place->name_n = name->n;
    place->linkage = name->linkage;
}

static bool answer(struct fm_look *look, const struct fm_spot *spot, struct fm_answer *out)
{
    uint32_t chain[FM_DEBUG_INLINES_MAX + 1], n = 0, at = spot->entry, most = FM_DEBUG_INLINES_MAX;

    out->first = (uint32_t)look->debug->places;
    /* of a chain that is too long the outer part is kept */
    if (look->debug->places > MEAN_MAX * (look->points + 1024)) {
        most = 0;
        look->debug->broken = true;
    }
    while (at != FM_NO_ENTRY && look->entry[at].depth > most)
        at = look->entry[at].parent;
    for (; at != FM_NO_ENTRY; at = look->entry[at].parent)
        chain[n++] = at;
    if (n == 0 && spot->path == NULL)
        return true;
    for (uint32_t i = FM_MAX(n, 1u); i-- > 0;) {
        struct fm_place place = { .file = spot->path, .line = spot->line, .column = spot->column };
        if (n > 0)
            name_place(look, &look->entry[chain[i]], &place);
        if (i > 0) {             /* what is inlined here tells the line */
            const struct fm_entry *call = &look->entry[chain[i - 1]];
            place.file = call->file;
            place.line = call->call_line;
            place.column = call->call_column;
        }
        if (!add_place(look->debug, &place))
            return false;
        out->n++;
    }
    return true;
}

static enum fm_status look_up(struct fm_look *look)
{
    for (size_t i = 0; i < look->points; i++)
        look->spot[i].entry = FM_NO_ENTRY;
    for (size_t i = 0; i < look->main.units && !look->oom; i++) {
        if (!fm_dwarf_step(&look->main, 1))
            break;
        look->unit = (uint32_t)i;
        look_unit(look, &look->main.unit[i]);
    }
    for (size_t i = 0; i < look->points && !look->oom; i++) {
        if (!answer(look, &look->spot[i], &look->debug->answer[i]))
            look->oom = true;
    }
    return look->oom || look->debug->arena.oom ? FM_NOMEM : FM_OK;
}

enum fm_status fm_debug_find(struct fm_debug *debug, struct fm_ctx *ctx, const struct fm_elf *elf,
                             struct fm_find *find, const struct fm_point *point, size_t n)
{
    struct fm_look look = { .debug = debug, .find = find, .point = point, .points = n,
                            .gap_low = UINT64_MAX };
    struct fm_mem *mem = &ctx->mem;
    size_t bytes = 0;
    enum fm_status status;

    memset(debug, 0, sizeof *debug);
    debug->ctx = ctx;
    fm_arena_init(&debug->arena, mem);
    fm_map_init(&look.by_die, mem);
    fm_map_init(&look.by_file, mem);
    status = fm_dwarf_open(&look.main, ctx, elf, false, &look.work);
    if (status == FM_OK)
        status = fm_out_init(&look.text, mem, NULL);
    if (status == FM_OK && (!fm_mul_size(n, sizeof *look.spot, &bytes) || n >= UINT32_MAX))
        status = FM_NOMEM;
    if (status == FM_OK) {
        look.spot = fm_mem_zalloc(mem, bytes);
        debug->answer = fm_mem_zalloc(mem, n * sizeof *debug->answer);
        debug->answers = n;
        if (look.spot == NULL || debug->answer == NULL)
            status = FM_NOMEM;
    }
    if (status == FM_OK) {
        open_alt(&look, elf);
        status = look_up(&look);
        debug->broken = debug->broken || look.main.broken || look.alt.broken;
    }
    fm_mem_free(mem, look.spot, bytes);
    fm_mem_free(mem, look.entry, look.entry_cap * sizeof *look.entry);
    fm_mem_free(mem, look.name, look.name_cap * sizeof *look.name);
    fm_map_release(&look.by_die);
    fm_map_release(&look.by_file);
    fm_out_release(&look.text);
    fm_dwarf_close(&look.main);
    fm_dwarf_close(&look.alt);
    fm_elf_close(look.alt_elf);
    return status == FM_UNKNOWN ? FM_OK : status;
}

void fm_debug_release(struct fm_debug *debug)
{
    if (debug->ctx == NULL)
        return;
    fm_mem_free(&debug->ctx->mem, debug->answer, debug->answers * sizeof *debug->answer);
    fm_mem_free(&debug->ctx->mem, debug->place, debug->place_cap * sizeof *debug->place);
    fm_arena_release(&debug->arena);
    memset(debug, 0, sizeof *debug);
}
