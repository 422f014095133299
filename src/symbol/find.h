/*
 * find.h - where the symbols of a module are: files by path, build-id and debug link.
 */
#ifndef FM_SYMBOL_FIND_H
#define FM_SYMBOL_FIND_H

#include "symbol/archive.h"
#include "symbol/debuginfod.h"
#include "symbol/elf.h"
#include "symbol/symbol.h"
#include "util/out.h"

#define FM_FIND_PATH 4096
#define FM_FIND_CACHES 4

struct fm_find {
    struct fm_ctx *ctx;
    const struct fm_symbol_options *options;
    const char *symfs;           /* "" when none */
    const char *cache[FM_FIND_CACHES];  /* build-id caches: folders and archives */
    size_t caches;
    struct fm_archives archives;
    struct fm_debuginfod servers;   /* asked only when the options say so */
    /* the module: */
    const char *path;            /* without " (deleted)" */
    const char *build_id;        /* "" unknown */
    bool deleted;
    bool foreign_root;           /* of another mount namespace */
    /* found: */
    struct fm_elf *symtab;       /* best symbols; may be the same as runtime */
    struct fm_elf *runtime;      /* what was mapped */
    struct fm_elf *debug;        /* with .debug_info, sought only when the options need it */
    char debug_path[FM_FIND_PATH];   /* where that is */
    bool mismatch, broken, unverified, oom;
    struct fm_out looked;        /* one place a line */
};

/* `home_dir` receives $HOME/.debug (kept by the caller) when no build-id folder is given. */
enum fm_status fm_find_init(struct fm_find *find, struct fm_ctx *ctx,
                            const struct fm_symbol_options *options, struct fm_arena *arena);
void fm_find_release(struct fm_find *find);

/* Starts with a module; closes the files of the last one. `deleted`, `foreign_root`: see above. */
void fm_find_begin(struct fm_find *find, const char *path, const char *build_id, bool foreign_root);

void fm_find_user(struct fm_find *find);     /* programs and libraries */
void fm_find_module(struct fm_find *find);   /* kernel modules */
void fm_find_vdso(struct fm_find *find);

/* The kernel: an ELF in find->symtab, or the text of a kallsyms in *kallsyms. */
bool fm_find_kernel(struct fm_find *find, struct fm_image *kallsyms);

/* A kallsyms of the kernel only: as given, from the build-id cache, or of this machine. */
bool fm_find_kallsyms(struct fm_find *find, struct fm_image *kallsyms);

/* True for names of mappings that no file stands behind ("[heap]", "//anon", "/dev/zero" ...). */
bool fm_find_is_pseudo(const char *path);

/* Adds a line to `looked`. */
void fm_find_note(struct fm_find *find, const char *path, const char *what);

/* True when two build-ids name the same file: old recordings pad short ones with zeros to 20
 * bytes. */
bool fm_build_id_equal(const char *a, const char *b);

#endif
