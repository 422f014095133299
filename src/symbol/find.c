/*
 * find.c - the search for files with symbols.
 *
 * Identity comes first: the recorded build-id. A candidate with another one (or none) is refused
 * and told; without a recorded one the file at the path is believed, once, and what is found later
 * must agree with it. The order for programs and libraries:
 *
 *   1 .gnu_debuglink of SYMFS/path: name, dir/name, dir/.debug/name, /usr/lib/debug/dir/name
 *   2 CACHE/.build-id/xx/yyyy…/{elf,debug}, the link itself (old layout), CACHE/path/id/elf; a
 *     cache is BUILDID, SYMFS when it is an archive, and INPUT.tar.bz2 (archive.h)
 *   3 SYMFS/usr/lib/debug/path.debug, …/path, SYMFS/usr/lib/debug/.build-id/xx/yyyy….debug
 *   4 SYMFS/path itself
 *   5 debuginfod servers, when they were asked for (debuginfod.h)
 *
 * The first with a .symtab gives the names, the first with code gives program headers and PLT.
 * No program is run, and nothing outside this list is read.
 */
#include "symbol/find.h"

#include "symbol/dwarf.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#define PATH_BYTES FM_FIND_PATH
#define KALLSYMS_MAX (256u << 20)
#define VDSO_MAX (64u << 10)

/* -------------------------------------------------------------- build-ids */

static bool is_zeros(const char *s)
{
    while (*s == '0')
        s++;
    return *s == '\0';
}

bool fm_build_id_equal(const char *a, const char *b)
{
    const size_t na = strlen(a), nb = strlen(b), n = FM_MIN(na, nb);

    if (n == 0 || memcmp(a, b, n) != 0)
        return false;
    if (na == nb)
        return true;
    return FM_MAX(na, nb) == 40 && n >= 8 && is_zeros(a + n) && is_zeros(b + n);
}

static bool is_build_id(const char *id)
{
    size_t n = 0;

    for (; id[n] != '\0'; n++) {
        if ((id[n] < '0' || id[n] > '9') && (id[n] < 'a' || id[n] > 'f'))
            return false;
    }
    return n >= 4 && n % 2 == 0 && n < FM_BUILD_ID_TEXT;
}

/* ------------------------------------------------------------------- life */

static void add_cache(struct fm_find *find, const char *path)
{
    if (path[0] != '\0' && find->caches < FM_COUNT(find->cache))
        find->cache[find->caches++] = path;
}

/* What `perf archive` leaves beside the recording: INPUT.tar.bz2. */
static enum fm_status add_beside(struct fm_find *find, struct fm_arena *arena)
{
    static const char *const packing[] = { ".bz2", "", ".gz", ".xz", ".zst" };

    for (size_t i = 0; i < FM_COUNT(packing) && find->options->input != NULL; i++) {
        const char *path = fm_arena_printf(arena, "%s.tar%s", find->options->input, packing[i]);
        if (path == NULL)
            return FM_NOMEM;
        if (fm_archives_add(&find->archives, find->ctx, path)) {
            add_cache(find, path);
            break;
        }
    }
    return FM_OK;
}

enum fm_status fm_find_init(struct fm_find *find, struct fm_ctx *ctx,
                            const struct fm_symbol_options *options, struct fm_arena *arena)
{
    const char *home = options->buildid_dir == NULL ? getenv("HOME") : NULL;
    const char *cache = options->buildid_dir != NULL ? options->buildid_dir : "";

    memset(find, 0, sizeof *find);
    find->ctx = ctx;
    find->options = options;
    find->symfs = options->symfs != NULL ? options->symfs : "";
    find->path = find->build_id = "";
    if (home != NULL && home[0] == '/')
        cache = fm_arena_printf(arena, "%s/.debug", home);
    if (cache == NULL)
        return FM_NOMEM;
    add_cache(find, cache);
    (void)fm_archives_add(&find->archives, ctx, options->buildid_dir);
    if (fm_archives_add(&find->archives, ctx, options->symfs))
        add_cache(find, options->symfs);
    if (add_beside(find, arena) != FM_OK)
        return FM_NOMEM;
    return fm_out_init(&find->looked, &ctx->mem, NULL);
}

static void close_files(struct fm_find *find)
{
    if (find->debug != find->symtab && find->debug != find->runtime)
        fm_elf_close(find->debug);
    if (find->runtime != find->symtab)
        fm_elf_close(find->runtime);
    fm_elf_close(find->symtab);
    find->runtime = find->symtab = find->debug = NULL;
}

void fm_find_release(struct fm_find *find)
{
    if (find->ctx == NULL)
        return;
    close_files(find);
    fm_archives_release(&find->archives);
    fm_debuginfod_release(&find->servers);
    fm_out_release(&find->looked);
}

void fm_find_begin(struct fm_find *find, const char *path, const char *build_id, bool foreign_root)
{
    close_files(find);
    find->path = path;
    find->build_id = is_build_id(build_id) ? build_id : "";
    find->foreign_root = foreign_root;
    find->deleted = find->mismatch = find->broken = find->unverified = find->oom = false;
    find->looked.n = 0;
}

void fm_find_note(struct fm_find *find, const char *path, const char *what)
{
    fm_out_printf(&find->looked, "%s%s: %s", find->looked.n > 0 ? "\n" : "", path, what);
}

bool fm_find_is_pseudo(const char *path)
{
    static const char *const prefix[] = { "//anon", "[heap", "[stack", "/SYSV", "/dev/", "/memfd:",
                                          "/anon_hugepage", "[uprobes", "[vsyscall", "anon_inode:",
                                          "[anon", "[unknown", "[vvar" };

    for (size_t i = 0; i < FM_COUNT(prefix); i++) {
        if (strncmp(path, prefix[i], strlen(prefix[i])) == 0)
            return true;
    }
    return path[0] == '\0';
}

/* ------------------------------------------------------------- candidates */

/* Debug data is sought that has not been found yet. */
static bool lacks_debug(const struct fm_find *find)
{
    return find->debug == NULL && (find->options->lines || find->options->inlines);
}

static bool is_done(const struct fm_find *find)
{
    return find->oom || (find->symtab != NULL && find->runtime != NULL && !lacks_debug(find));
}

/* "…/" + parts; false (and nothing is tried) when the path is too long. */
static FM_PRINTF(2, 3) bool make_path(char path[PATH_BYTES], const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(path, PATH_BYTES, fmt, ap);
    va_end(ap);
    return n > 0 && n < PATH_BYTES;
}

static const char *slash(const char *path)
{
    return path[0] == '/' || path[0] == '\0' ? "" : "/";
}

/* SYMFS + path. A relative path without a symfs stays relative. */
static bool symfs_path(const struct fm_find *find, char out[PATH_BYTES], const char *path)
{
    return make_path(out, "%s%s%s", find->symfs, find->symfs[0] != '\0' ? slash(path) : "", path);
}

static enum fm_status open_image(struct fm_find *find, const char *path, bool unpack,
                                 struct fm_image *image)
{
    enum fm_status status;

    if (fm_archives_open(&find->archives, path, image, &status))
        return status;
    return fm_image_open(find->ctx, path, unpack, image);
}

static struct fm_elf *open_elf(struct fm_find *find, const char *path, bool unpack)
{
    struct fm_image image;
    struct fm_elf *elf = NULL;
    enum fm_status status = open_image(find, path, unpack, &image);

    if (status == FM_OK)
        status = fm_elf_open(find->ctx, &image, &elf);
    if (status == FM_NOMEM) {
        find->oom = true;
    } else if (status == FM_IO) {
        fm_find_note(find, path, "not there");
    } else if (status != FM_OK) {
        fm_find_note(find, path, "not a readable ELF file");
        find->broken = true;
    }
    return elf;
}

/* Does the file belong to the module? Tells when not. */
static bool check_identity(struct fm_find *find, const char *path, const struct fm_elf *elf)
{
    const char *id = fm_elf_build_id(elf);

    if (find->build_id[0] == '\0' || fm_build_id_equal(id, find->build_id))
        return true;
    find->mismatch = true;
    if (id[0] == '\0')
        fm_find_note(find, path, "has no build-id, not used");
    else
        fm_out_printf(&find->looked, "%s%s: has build-id %s, not used",
                      find->looked.n > 0 ? "\n" : "", path, id);
    return false;
}

/* Keeps a file for what it is good for, else closes it. */
static void keep(struct fm_find *find, const char *path, struct fm_elf *elf)
{
    const bool names = find->symtab == NULL && fm_elf_has_symtab(elf);
    const bool code = find->runtime == NULL && fm_elf_is_runtime(elf);
    const bool debug = lacks_debug(find) && fm_dwarf_is_in(elf);

    if (names)
        find->symtab = elf;
    if (code)
        find->runtime = elf;
    if (debug) {
        find->debug = elf;
        snprintf(find->debug_path, sizeof find->debug_path, "%s", path);
    }
    if (names || code)
        fm_find_note(find, path, names ? "symbols used (.symtab)" : "no .symtab, headers used");
    if (debug)
        fm_find_note(find, path, "debug data used (DWARF)");
    if (!names && !code && !debug)
        fm_elf_close(elf);
}

static void try_file(struct fm_find *find, const char *path, bool unpack)
{
    struct fm_elf *elf;

    if (is_done(find))
        return;
    elf = open_elf(find, path, unpack);
    if (elf == NULL)
        return;
    if (check_identity(find, path, elf))
        keep(find, path, elf);
    else
        fm_elf_close(elf);
}

/* A file that a debug link names: by its build-id, or by the CRC when it has none. */
static void try_debuglink(struct fm_find *find, const char *path, const struct fm_elf *self,
                          uint32_t crc)
{
    const char *own = fm_elf_build_id(self), *id;
    struct fm_elf *elf;

    if (is_done(find) || (find->symtab != NULL && !lacks_debug(find)))
        return;
    elf = open_elf(find, path, false);
    if (elf == NULL)
        return;
    id = fm_elf_build_id(elf);
    if (own[0] != '\0' && id[0] != '\0') {
        if (!fm_build_id_equal(own, id)) {
            find->mismatch = true;
            fm_find_note(find, path, "debug link with another build-id, not used");
            fm_elf_close(elf);
            return;
        }
    } else if (fm_elf_crc(elf) != crc) {
        find->mismatch = true;
        fm_find_note(find, path, "debug link with another CRC, not used");
        fm_elf_close(elf);
        return;
    }
    keep(find, path, elf);
}

static void by_debuglink(struct fm_find *find, const struct fm_elf *self)
{
    char path[PATH_BYTES];
    const char *name, *end = strrchr(find->path, '/');
    const int dir = end != NULL ? (int)FM_MIN(end - find->path, (ptrdiff_t)PATH_BYTES) : 0;
    uint32_t crc;

    if (!fm_elf_debuglink(self, &name, &crc))
        return;
    if (make_path(path, "%s", name))
        try_debuglink(find, path, self, crc);
    if (strchr(name, '/') != NULL)
        return;
    if (make_path(path, "%s%.*s/%s", find->symfs, dir, find->path, name))
        try_debuglink(find, path, self, crc);
    if (make_path(path, "%s%.*s/.debug/%s", find->symfs, dir, find->path, name))
        try_debuglink(find, path, self, crc);
    if (make_path(path, "%s/usr/lib/debug%.*s/%s", find->symfs, dir, find->path, name))
        try_debuglink(find, path, self, crc);
}

/* CACHE/.build-id/xx/yyyy…: a folder with `member`, or in the old layout the file itself. */
static bool cache_path(const struct fm_find *find, size_t cache, char path[PATH_BYTES],
                       const char *member)
{
    if (find->build_id[0] == '\0')
        return false;
    return make_path(path, "%s/.build-id/%.2s/%s%s%s", find->cache[cache], find->build_id,
                     find->build_id + 2, member[0] != '\0' ? "/" : "", member);
}

static void by_cache(struct fm_find *find, const char *member)
{
    char path[PATH_BYTES];

    for (size_t i = 0; i < find->caches; i++) {
        if (cache_path(find, i, path, member))
            try_file(find, path, false);
        if (strcmp(member, "elf") == 0 && cache_path(find, i, path, "debug"))
            try_file(find, path, false);
        if (cache_path(find, i, path, ""))
            try_file(find, path, false);
        if (find->build_id[0] != '\0' &&
            make_path(path, "%s%s%s/%s/%s", find->cache[i], slash(find->path), find->path,
                      find->build_id, member))
            try_file(find, path, false);
    }
}

static void by_debug_folder(struct fm_find *find)
{
    char path[PATH_BYTES];

    if (make_path(path, "%s/usr/lib/debug%s%s.debug", find->symfs, slash(find->path), find->path))
        try_file(find, path, false);
    if (make_path(path, "%s/usr/lib/debug%s%s", find->symfs, slash(find->path), find->path))
        try_file(find, path, false);
    if (find->build_id[0] != '\0' &&
        make_path(path, "%s/usr/lib/debug/.build-id/%.2s/%s.debug", find->symfs, find->build_id,
                  find->build_id + 2))
        try_file(find, path, false);
}

/* What is still missing, from debuginfod servers. */
static void by_servers(struct fm_find *find, bool unpack)
{
    char path[PATH_BYTES];

    if (!find->options->debuginfod || find->build_id[0] == '\0' || is_done(find))
        return;
    if ((find->symtab == NULL || lacks_debug(find)) &&
        fm_debuginfod_find(&find->servers, FM_DEBUGINFOD_DEBUG, find->build_id, path, sizeof path))
        try_file(find, path, unpack);
    if (find->runtime == NULL && !find->oom &&
        fm_debuginfod_find(&find->servers, FM_DEBUGINFOD_PROGRAM, find->build_id, path,
                           sizeof path))
        try_file(find, path, unpack);
}

/* What `perf inject --jit` wrote, which is often moved together with the recording. */
static void by_jitted(struct fm_find *find)
{
    const char *folder[] = { find->options->map_dir, find->options->input_dir };
    const char *base = strrchr(find->path, '/');
    char path[PATH_BYTES];

    base = base != NULL ? base + 1 : find->path;
    if (strncmp(base, "jitted-", 7) != 0)
        return;
    for (size_t i = 0; i < FM_COUNT(folder); i++) {
        if (folder[i] != NULL && make_path(path, "%s%s%s", folder[i],
                                           folder[i][0] != '\0' ? "/" : "", base))
            try_file(find, path, false);
    }
}

void fm_find_user(struct fm_find *find)
{
    struct fm_elf *self = NULL;
    char path[PATH_BYTES];
    const bool known = find->build_id[0] != '\0';

    if (!known && find->deleted) {
        fm_find_note(find, find->path, "deleted while recording and no build-id, not used");
        return;
    }
    if (!known && find->foreign_root && find->symfs[0] == '\0') {
        fm_find_note(find, find->path, "of another mount namespace and no build-id, not used");
        return;
    }
    if (symfs_path(find, path, find->path))
        self = open_elf(find, path, false);
    if (self != NULL && !check_identity(find, path, self)) {
        fm_elf_close(self);
        self = NULL;
    }
    if (self != NULL) {
        if (!known) {
            find->unverified = true;
            find->build_id = fm_elf_build_id(self);   /* the others must agree with it */
        }
        by_debuglink(find, self);
    }
    by_cache(find, "elf");
    by_debug_folder(find);
    if (known)
        by_jitted(find);
    if (!known)
        find->build_id = "";                          /* it may have been the text of `self` */
    if (self != NULL && !is_done(find))
        keep(find, path, self);
    else
        fm_elf_close(self);
    by_servers(find, false);
}

/* ---------------------------------------------------------------- modules */

static size_t without_packing(const char *path)
{
    static const char *const suffix[] = { ".gz", ".xz", ".zst" };
    const size_t n = strlen(path);

    for (size_t i = 0; i < FM_COUNT(suffix); i++) {
        size_t k = strlen(suffix[i]);
        if (n > k && strcmp(path + n - k, suffix[i]) == 0)
            return n - k;
    }
    return n;
}

void fm_find_module(struct fm_find *find)
{
    static const char *const packing[] = { "", ".gz", ".xz", ".zst" };
    const int n = (int)FM_MIN(without_packing(find->path), (size_t)PATH_BYTES);
    const char *end = strrchr(find->path, '/');
    char path[PATH_BYTES];

    by_cache(find, "elf");
    if (find->path[0] != '/') {
        by_servers(find, true);
        return;
    }
    for (size_t i = 0; i < FM_COUNT(packing); i++) {
        if (make_path(path, "%s%.*s%s", find->symfs, n, find->path, packing[i]))
            try_file(find, path, true);
    }
    if (end != NULL && make_path(path, "%s%.*s/.debug%.*s", find->symfs, (int)(end - find->path),
                                 find->path, n - (int)(end - find->path), end))
        try_file(find, path, true);
    if (make_path(path, "%s/usr/lib/debug%.*s", find->symfs, n, find->path))
        try_file(find, path, true);
    if (strncmp(find->path, "/usr/", 5) == 0 &&
        make_path(path, "%s/usr/lib/debug%.*s", find->symfs, n - 4, find->path + 4))
        try_file(find, path, true);
    by_servers(find, true);
}

/* ------------------------------------------------------------------- vdso */

/* The image in this process: trusted memory of the kernel, ELF header first. Its size is the end of
 * the section headers, which the vdso has last. */
static struct fm_elf *own_vdso(struct fm_find *find)
{
    const unsigned long at = getauxval(AT_SYSINFO_EHDR);
    const unsigned char *p = NULL;
    struct fm_elf *elf = NULL;
    struct fm_image image;
    uint64_t offset = 0;
    uint16_t each = 0, n = 0;

    if (at == 0 || sizeof(void *) != 8)
        return NULL;
    memcpy(&p, &at, sizeof p);
    memcpy(&offset, p + 40, sizeof offset);
    memcpy(&each, p + 58, sizeof each);
    memcpy(&n, p + 60, sizeof n);
    if (offset > VDSO_MAX || offset + (uint64_t)each * n > VDSO_MAX)
        return NULL;
    if (fm_image_copy(find->ctx, p, (size_t)offset + (size_t)each * n, &image) != FM_OK ||
        fm_elf_open(find->ctx, &image, &elf) == FM_NOMEM)
        find->oom = true;
    return elf;
}

void fm_find_vdso(struct fm_find *find)
{
    char path[PATH_BYTES];
    struct fm_elf *elf;

    if (find->build_id[0] == '\0') {
        fm_find_note(find, find->path, "no build-id recorded, this machine's vdso is not used");
        return;
    }
    for (size_t i = 0; i < find->caches; i++) {
        if (cache_path(find, i, path, "vdso"))
            try_file(find, path, false);
        if (cache_path(find, i, path, ""))
            try_file(find, path, false);
        if (make_path(path, "%s/[vdso]/%s/vdso", find->cache[i], find->build_id))
            try_file(find, path, false);
    }
    if (find->runtime != NULL || find->oom)
        return;
    if (find->symfs[0] != '\0') { /* the user's root folder stands for the recorded machine */
        fm_find_note(find, "[vdso] of this machine", "not used with a symbol root folder");
        return;
    }
    elf = own_vdso(find);
    if (elf == NULL)
        return;
    if (fm_build_id_equal(fm_elf_build_id(elf), find->build_id)) {
        find->runtime = elf;
        fm_find_note(find, "[vdso] of this machine", "symbols used");
    } else {
        fm_elf_close(elf);
        fm_find_note(find, "[vdso] of this machine", "another build-id, not used");
    }
}

/* ----------------------------------------------------------------- kernel */

static bool open_kallsyms(struct fm_find *find, const char *path, bool live,
                          struct fm_image *image)
{
    enum fm_status status = live ? fm_image_read(find->ctx, path, KALLSYMS_MAX, image)
                                 : open_image(find, path, true, image);

    if (status == FM_NOMEM)
        find->oom = true;
    else if (status != FM_OK)
        fm_find_note(find, path, status == FM_IO ? "not there" : "not readable");
    return status == FM_OK;
}

static bool try_vmlinux(struct fm_find *find, const char *path)
{
    if (find->oom)
        return false;
    try_file(find, path, true);
    if (find->symtab != NULL)
        return true;
    close_files(find);                   /* without a .symtab it is of no use here */
    return false;
}

static bool given_kallsyms(struct fm_find *find, struct fm_image *kallsyms)
{
    const char *path = find->options->kallsyms;

    if (path == NULL || find->oom || !open_kallsyms(find, path, false, kallsyms))
        return false;
    fm_find_note(find, path, "symbols used (kallsyms as given)");
    return true;
}

static bool cached_kallsyms(struct fm_find *find, struct fm_image *kallsyms)
{
    char path[PATH_BYTES];

    for (size_t i = 0; i < find->caches && !find->oom && find->build_id[0] != '\0'; i++) {
        bool found = cache_path(find, i, path, "kallsyms") &&
                     open_kallsyms(find, path, false, kallsyms);
        if (!found && cache_path(find, i, path, "") &&
            open_kallsyms(find, path, false, kallsyms)) {
            found = kallsyms->n < 4 || memcmp(kallsyms->data, "\177ELF", 4) != 0;
            if (!found)
                fm_image_close(kallsyms);
        }
        if (!found && make_path(path, "%s/[kernel.kallsyms]/%s/kallsyms", find->cache[i],
                                find->build_id))
            found = open_kallsyms(find, path, false, kallsyms);
        if (found) {
            fm_find_note(find, path, "symbols used (kallsyms)");
            return true;
        }
    }
    return false;
}

static bool cached_vmlinux(struct fm_find *find)
{
    static const char *const member[] = { "vmlinux", "elf", "debug" };
    char path[PATH_BYTES];

    for (size_t i = 0; i < find->caches; i++) {
        for (size_t k = 0; k < FM_COUNT(member); k++) {
            if (cache_path(find, i, path, member[k]) && try_vmlinux(find, path))
                return true;
        }
    }
    return false;
}

static bool search_vmlinux(struct fm_find *find)
{
    static const char *const place[] = { "/boot/vmlinux-%s", "/usr/lib/debug/boot/vmlinux-%s",
                                         "/lib/modules/%s/build/vmlinux",
                                         "/usr/lib/debug/lib/modules/%s/vmlinux",
                                         "/usr/lib/debug/boot/vmlinux-%s.debug" };
    const char *release = find->options->os_release, *at;
    char path[PATH_BYTES];

    if (find->build_id[0] == '\0') {
        fm_find_note(find, find->path, "kernel without build-id, local vmlinux is not used");
        return false;
    }
    if (find->symfs[0] == '\0' && try_vmlinux(find, "vmlinux"))
        return true;
    if (make_path(path, "%s/boot/vmlinux", find->symfs) && try_vmlinux(find, path))
        return true;
    if (release == NULL || release[0] == '\0' || strchr(release, '/') != NULL)
        return false;
    for (size_t i = 0; i < FM_COUNT(place); i++) {
        at = strstr(place[i], "%s");
        if (make_path(path, "%s%.*s%s%s", find->symfs, (int)(at - place[i]), place[i], release,
                      at + 2) && try_vmlinux(find, path))
            return true;
    }
    return false;
}

/* /proc/kallsyms, when this is the kernel that was recorded. */
static bool try_live(struct fm_find *find, struct fm_image *kallsyms)
{
    char id[FM_BUILD_ID_TEXT];
    struct fm_image notes;
    bool same;

    if (find->build_id[0] == '\0' ||
        fm_image_read(find->ctx, "/sys/kernel/notes", 1u << 20, &notes) != FM_OK)
        return false;
    same = fm_elf_notes_build_id(notes.data, notes.n, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, 4,
                                 id) && fm_build_id_equal(id, find->build_id);
    fm_image_close(&notes);
    if (!same) {
        fm_find_note(find, "/proc/kallsyms", "this machine runs another kernel, not used");
        return false;
    }
    if (!open_kallsyms(find, "/proc/kallsyms", true, kallsyms))
        return false;
    fm_find_note(find, "/proc/kallsyms", "symbols used (same build-id)");
    return true;
}

static bool server_vmlinux(struct fm_find *find)
{
    char path[PATH_BYTES];

    return find->options->debuginfod && !find->oom &&
           fm_debuginfod_find(&find->servers, FM_DEBUGINFOD_DEBUG, find->build_id, path,
                              sizeof path) &&
           try_vmlinux(find, path);
}

bool fm_find_kernel(struct fm_find *find, struct fm_image *kallsyms)
{
    const char *vmlinux = find->options->vmlinux;

    return (vmlinux != NULL && try_vmlinux(find, vmlinux)) || given_kallsyms(find, kallsyms) ||
           cached_vmlinux(find) || cached_kallsyms(find, kallsyms) || search_vmlinux(find) ||
           (!find->oom && try_live(find, kallsyms)) || server_vmlinux(find);
}

bool fm_find_kallsyms(struct fm_find *find, struct fm_image *kallsyms)
{
    return given_kallsyms(find, kallsyms) || cached_kallsyms(find, kallsyms) ||
           (!find->oom && try_live(find, kallsyms));
}
