/*
 * elfmake.c - writes small ELF files; see elfmake.h. Layout by the System V ABI.
 */
#include "elfmake.h"

#include <elf.h>
#include <string.h>

struct writer {
    unsigned char *p;
    size_t at;
    bool wide, big;
};

static void put(struct writer *w, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        w->p[w->at++] = (unsigned char)(v >> 8 * (w->big ? bytes - 1 - i : i));
}

static void word(struct writer *w, uint64_t v)
{
    put(w, v, w->wide ? 8 : 4);
}

static void align(struct writer *w, size_t to)
{
    while (w->at % to != 0)
        w->p[w->at++] = 0;
}

static void section(struct writer *w, uint32_t name, uint32_t type, uint64_t flags,
                    uint64_t address, uint64_t offset, uint64_t size, uint32_t link,
                    uint64_t entry)
{
    put(w, name, 4);
    put(w, type, 4);
    word(w, flags);
    word(w, address);
    word(w, offset);
    word(w, size);
    put(w, link, 4);
    put(w, 0, 4);
    word(w, 4);
    word(w, entry);
}

static void symbol(struct writer *w, const struct elfmake_symbol *s, uint32_t name)
{
    unsigned info = s->binding << 4 | s->type;

    put(w, name, 4);
    if (!w->wide) {
        put(w, s->value, 4);
        put(w, s->size, 4);
    }
    put(w, info, 1);
    put(w, s->visibility, 1);
    put(w, s->section, 2);
    if (w->wide) {
        put(w, s->value, 8);
        put(w, s->size, 8);
    }
}

static void header(struct writer *w, const struct elfmake *make, uint64_t shoff, unsigned phnum)
{
    static const unsigned char ident[] = { 0x7f, 'E', 'L', 'F' };

    memcpy(w->p, ident, 4);
    w->p[4] = make->wide ? 2 : 1;
    w->p[5] = make->big ? 2 : 1;
    w->p[6] = 1;
    w->at = 16;
    put(w, make->type, 2);
    put(w, make->machine, 2);
    put(w, 1, 4);
    word(w, 0);
    word(w, phnum > 0 ? (make->wide ? 64 : 52) : 0);
    word(w, shoff);
    put(w, 0, 4);
    put(w, make->wide ? 64 : 52, 2);
    put(w, make->wide ? 56 : 32, 2);
    put(w, phnum, 2);
    put(w, make->wide ? 64 : 40, 2);
    put(w, 7, 2);
    put(w, 5, 2);
}

static void load(struct writer *w, const struct elfmake *make, uint64_t offset)
{
    put(w, PT_LOAD, 4);
    if (w->wide)
        put(w, PF_R | PF_X, 4);
    word(w, offset);
    word(w, make->text_address);
    word(w, make->text_address);
    word(w, make->text_size);
    word(w, make->text_size);
    if (!w->wide)
        put(w, PF_R | PF_X, 4);
    word(w, 4096);
}

size_t elfmake(const struct elfmake *make, unsigned char out[ELFMAKE_MAX], uint64_t *text_offset)
{
    static const char names[] = "\0.text\0.note.gnu.build-id\0.symtab\0.strtab\0.shstrtab"
                                "\0.eh_frame\0.debug_frame";
    struct writer w = { .p = out, .wide = make->wide, .big = make->big };
    size_t note, note_n = 0, frames, symtab, strtab, strtab_n, shstrtab, shdrs;
    uint32_t name = 1;

    memset(out, 0, ELFMAKE_MAX);
    w.at = 256;
    *text_offset = w.at;
    memset(out + w.at, 0x90, make->text_size);
    w.at += make->text_size;
    align(&w, 8);
    note = w.at;
    if (make->build_id != NULL) {
        put(&w, 4, 4);
        put(&w, 4, 4);
        put(&w, NT_GNU_BUILD_ID, 4);
        memcpy(out + w.at, "GNU", 4);
        memcpy(out + w.at + 4, make->build_id, 4);
        w.at += 8;
        note_n = w.at - note;
    }
    align(&w, 8);
    frames = w.at;
    if (make->frames != NULL)
        memcpy(out + w.at, make->frames, make->frames_n);
    w.at += make->frames_n;
    align(&w, 8);
    symtab = w.at;
    symbol(&w, &(struct elfmake_symbol){ "", 0, 0, 0, 0, 0, 0 }, 0);
    for (size_t i = 0; i < make->symbols; i++) {
        symbol(&w, &make->symbol[i], name);
        name += (uint32_t)strlen(make->symbol[i].name) + 1;
    }
    strtab = w.at;
    w.at++;
    for (size_t i = 0; i < make->symbols; i++) {
        size_t n = strlen(make->symbol[i].name) + 1;
        memcpy(out + w.at, make->symbol[i].name, n);
        w.at += n;
    }
    strtab_n = w.at - strtab;
    shstrtab = w.at;
    memcpy(out + w.at, names, sizeof names);
    w.at += sizeof names;
    align(&w, 8);
    shdrs = w.at;
    section(&w, 0, SHT_NULL, 0, 0, 0, 0, 0, 0);
    section(&w, 1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, make->text_address, *text_offset,
            make->text_size, 0, 0);
    section(&w, 7, SHT_NOTE, SHF_ALLOC, 0, note, note_n, 0, 0);
    section(&w, 26, SHT_SYMTAB, 0, 0, symtab, strtab - symtab, 4, make->wide ? 24 : 16);
    section(&w, 34, SHT_STRTAB, 0, 0, strtab, strtab_n, 0, 0);
    section(&w, 42, SHT_STRTAB, 0, 0, shstrtab, sizeof names, 0, 0);
    section(&w, make->debug_frame ? 62 : 52, SHT_PROGBITS, make->debug_frame ? 0 : SHF_ALLOC,
            make->debug_frame ? 0 : make->frames_address, frames, make->frames_n, 0, 0);
    shdrs = w.at - shdrs;
    {
        const size_t end = w.at;
        header(&w, make, end - shdrs, make->no_load ? 0 : 1);
        if (!make->no_load)
            load(&w, make, *text_offset);
        return end;
    }
}
