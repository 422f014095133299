/*
 * debug_name.c - the names of functions and inlined calls.
 *
 *     inlined_subroutine ── abstract_origin ──> subprogram ── specification ──> declaration
 *
 * The linkage name counts wherever it stands on that way. Without one (C, Go, static functions of
 * C++) it is DW_AT_name, behind the namespaces and classes around the DIE that has it:
 *
 *     namespace a { namespace { struct S { f } } }  ->  a::(anonymous namespace)::S::f
 *     in function f the closure [] { … }            ->  f::{lambda}::operator()
 *
 * DIEs do not know what is around them, so the scopes of a unit are tabled once, as intervals of
 * .debug_info, when the first name needs them.
 */
#include "symbol/debug_inner.h"

#include "symbol/demangle.h"

#include <dwarf.h>
#include <stdlib.h>

#define HOPS_MAX 16u
#define SCOPES_MAX 64u
#define NESTED_MAX 4u

/* A DIE that a reference led to, with its unit. */
struct place {
    struct fm_dwarf *file;
    uint64_t die;
};

struct scope {
    uint64_t die, end;
    uint32_t parent;             /* FM_NO_ENTRY: the unit itself */
    uint16_t tag;
    struct fm_dwarf_value name;
};

struct naming {
    struct fm_look *look;
    const struct fm_dwarf_cu *cu;    /* the unit of the entries */
    struct fm_dwarf_cu other;        /* another one, kept open while names come from it */
    struct scope *scope;             /* of `scoped` */
    size_t scopes, scope_cap;
    const struct fm_dwarf_unit *scoped;
};

/* The unit of a DIE. NULL: none can be read there. */
static const struct fm_dwarf_cu *unit_of(struct naming *n, const struct place *place)
{
    const struct fm_dwarf_unit *unit;

    if (place->file == n->cu->file && place->die >= n->cu->unit->die &&
        place->die < n->cu->unit->end)
        return n->cu;
    unit = fm_dwarf_unit_at(place->file, place->die);
    if (unit == NULL || !fm_dwarf_step(place->file, 1))
        return NULL;
    if (n->other.abbrevs != NULL && n->other.unit == unit)
        return &n->other;
    fm_dwarf_cu_close(&n->other);
    switch (fm_dwarf_cu_open(&n->other, place->file, unit, NULL)) {
    case FM_OK:
        return &n->other;
    case FM_NOMEM:
        n->look->oom = true;
        return NULL;
    default:
        return NULL;
    }
}

/* ----------------------------------------------------------------- scopes */

static bool add_scope(struct naming *n, const struct scope *scope)
{
    if (n->scopes >= FM_NO_ENTRY - 1 ||
        !fm_grow(n->look->debug->arena.mem, (void **)&n->scope, &n->scope_cap, n->scopes + 1,
                 sizeof *n->scope)) {
        n->look->oom = true;
        return false;
    }
    n->scope[n->scopes++] = *scope;
    return true;
}

static bool is_scope(uint16_t tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_module:
    case DW_TAG_subprogram:
        return true;
    default:
        return false;
    }
}

/* The name of a DIE that is a scope; others are skipped. */
static struct fm_dwarf_value scope_name(const struct fm_dwarf_cu *cu, struct fm_cursor *c,
                                        const struct fm_abbrev *abbrev)
{
    struct fm_dwarf_value name = { 0 }, value;

    for (uint32_t i = 0; i < abbrev->n && fm_cursor_ok(c); i++) {
        const struct fm_abbrev_attr *attr = &cu->abbrevs->attr[abbrev->first + i];
        fm_dwarf_value(cu, c, attr, &value);
        if (attr->name == DW_AT_name)
            name = value;
    }
    return name;
}

/* Tables the scopes of a unit. `inner` (by depth of nesting) is the scope there. */
static void table_scopes(struct naming *n, const struct fm_dwarf_cu *cu)
{
    struct fm_cursor c = fm_dwarf_cursor(cu->file, FM_DWARF_INFO, cu->unit->die, cu->unit->end);
    struct fm_mem *mem = n->look->debug->arena.mem;
    uint32_t *inner = NULL;
    size_t depth = 0, cap = 0;

    n->scopes = 0;
    n->scoped = cu->unit;
    while (fm_cursor_left(&c) > 0 && !n->look->oom) {
        struct scope scope = { .die = fm_cursor_offset(&c), .end = cu->unit->end };
        const struct fm_abbrev *abbrev = fm_dwarf_die(cu, &c);
        uint32_t in = depth > 0 ? inner[depth - 1] : FM_NO_ENTRY;
        if (abbrev == NULL) {
            if (!fm_cursor_ok(&c) || depth <= 1)
                break;
            if (in != FM_NO_ENTRY && in != inner[depth - 2])
                n->scope[in].end = scope.die;
            depth--;
            continue;
        }
        if (!abbrev->children || !is_scope(abbrev->tag)) {
            fm_dwarf_skip(cu, &c, abbrev);
        } else {
            scope.parent = in;
            scope.tag = abbrev->tag;
            scope.name = scope_name(cu, &c, abbrev);
            in = (uint32_t)n->scopes;
            if (!add_scope(n, &scope))
                break;
        }
        if (!abbrev->children)
            continue;
        if (depth >= 4096)
            break;
        if (!fm_grow(mem, (void **)&inner, &cap, depth + 1, sizeof *inner)) {
            n->look->oom = true;
            break;
        }
        inner[depth++] = in;
    }
    fm_mem_free(mem, inner, cap * sizeof *inner);
}

/* The innermost scope around a DIE: the last one that begins before it, or one around that. */
static uint32_t scope_at(const struct naming *n, uint64_t die)
{
    size_t lo = 0, hi = n->scopes;
    uint32_t at;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (n->scope[mid].die < die)
            lo = mid + 1;
        else
            hi = mid;
    }
    at = lo > 0 ? (uint32_t)lo - 1 : FM_NO_ENTRY;
    while (at != FM_NO_ENTRY && n->scope[at].end <= die)
        at = n->scope[at].parent;
    return at;
}

static bool has_scopes(uint64_t language)
{
    switch (language) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case 0x2c:                   /* C17 */
    case DW_LANG_Go:
    case DW_LANG_Mips_Assembler:
        return false;
    default:
        return true;
    }
}

/* The scopes around a DIE up to the first function, which may be one of theirs: *n of `chain`,
 * innermost first. Returns that function's DIE, UINT64_MAX without one. */
static uint64_t scopes_around(struct naming *naming, const struct fm_dwarf_cu *cu, uint64_t die,
                              uint32_t chain[SCOPES_MAX], uint32_t *n)
{
    *n = 0;
    if (!has_scopes(cu->language))
        return UINT64_MAX;
    if (naming->scoped != cu->unit)
        table_scopes(naming, cu);
    for (uint32_t at = scope_at(naming, die); at != FM_NO_ENTRY && *n < SCOPES_MAX;
         at = naming->scope[at].parent) {
        if (naming->scope[at].tag == DW_TAG_subprogram)
            return naming->scope[at].die;
        chain[(*n)++] = at;
    }
    return UINT64_MAX;
}

static void put_scope(const struct naming *n, const struct fm_dwarf_cu *cu,
                      const struct scope *scope, const char *name)
{
    struct fm_out *out = &n->look->text;
    size_t k;
    const char *s = fm_dwarf_text(cu, &scope->name, &k);

    if (s != NULL && k > 0)
        fm_out_bytes(out, s, k);
    else if (scope->tag == DW_TAG_namespace)
        fm_out_text(out, "(anonymous namespace)");
    else
        fm_out_text(out, strncmp(name, "operator()", 10) == 0 ? "{lambda}" : "{unnamed type}");
    fm_out_text(out, "::");
}

/* "a::S::f" in look->text; `function` is the name of the one around S, if there is one. */
static void put_scoped(struct naming *n, const struct fm_dwarf_cu *cu, uint64_t die,
                       const char *name, size_t length, const struct fm_debug_name *function)
{
    struct fm_out *out = &n->look->text;
    uint32_t chain[SCOPES_MAX], depth;

    scopes_around(n, cu, die, chain, &depth);
    out->n = 0;
    if (function->text != NULL) {
        if (!function->linkage ||
            !fm_demangle(out, function->text, function->n, FM_DEMANGLE_SHORT))
            fm_out_bytes(out, function->text, function->n);
        fm_out_text(out, "::");
    }
    while (depth > 0)
        put_scope(n, cu, &n->scope[chain[--depth]], name);
    fm_out_bytes(out, name, length);
}

/* ------------------------------------------------------------------- names */

/* What one DIE says of its name. */
struct named {
    const char *name, *linkage;
    size_t name_n, linkage_n;
    struct place next;           /* die UINT64_MAX: none */
};

static void take_reference(const struct fm_dwarf_cu *cu, const struct fm_dwarf_value *value,
                           struct place *next)
{
    switch (value->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
    case DW_FORM_ref_addr:
        next->file = cu->file;
        next->die = value->u;
        break;
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
        next->file = cu->file->alt;
        next->die = next->file != NULL ? value->u : UINT64_MAX;
        break;
    default:
        break;
    }
}

static bool read_named(const struct fm_dwarf_cu *cu, uint64_t die, struct named *out)
{
    struct fm_cursor c = fm_dwarf_cursor(cu->file, FM_DWARF_INFO, die, cu->unit->end);
    const struct fm_abbrev *abbrev = fm_dwarf_die(cu, &c);

    memset(out, 0, sizeof *out);
    out->next.die = UINT64_MAX;
    for (uint32_t i = 0; abbrev != NULL && i < abbrev->n && fm_cursor_ok(&c); i++) {
        const struct fm_abbrev_attr *attr = &cu->abbrevs->attr[abbrev->first + i];
        struct fm_dwarf_value value;
        fm_dwarf_value(cu, &c, attr, &value);
        switch (attr->name) {
        case DW_AT_linkage_name:
        case DW_AT_MIPS_linkage_name:
            out->linkage = fm_dwarf_text(cu, &value, &out->linkage_n);
            break;
        case DW_AT_name:
            out->name = fm_dwarf_text(cu, &value, &out->name_n);
            break;
        case DW_AT_abstract_origin:
        case DW_AT_specification:
            take_reference(cu, &value, &out->next);
            break;
        default:
            break;
        }
    }
    return abbrev != NULL && fm_cursor_ok(&c);
}

/* A step a byte: names may overlap, and would be more than the file when copied. */
static void keep(struct fm_look *look, struct fm_debug_name *name, const char *text, size_t n,
                 bool linkage)
{
    if (n == 0 || n > UINT32_MAX || !fm_dwarf_step(&look->main, n))
        return;
    name->text = fm_arena_strn(&look->debug->arena, text, n);
    name->n = (uint32_t)n;
    name->linkage = linkage;
    look->oom = look->oom || name->text == NULL;
}

static struct fm_debug_name find_name(struct naming *n, struct place at, unsigned nested);

/* The name of a DIE that has DW_AT_name, with what is around it. */
static void scoped_name(struct naming *n, struct place at, unsigned nested,
                        struct fm_debug_name *out)
{
    const struct fm_dwarf_cu *cu = unit_of(n, &at);
    struct fm_debug_name function = { NULL, 0, false };
    uint32_t chain[SCOPES_MAX], depth;
    struct named named;
    uint64_t around;

    if (cu == NULL)
        return;
    around = scopes_around(n, cu, at.die, chain, &depth);
    if (around != UINT64_MAX && nested < NESTED_MAX) {
        function = find_name(n, (struct place){ at.file, around }, nested + 1);
        cu = unit_of(n, &at);            /* another one may have been opened for it */
    }
    if (cu == NULL || !read_named(cu, at.die, &named) || named.name == NULL)
        return;
    put_scoped(n, cu, at.die, named.name, named.name_n, &function);
    n->look->oom = n->look->oom || n->look->text.status != FM_OK;
    if (!n->look->oom)
        keep(n->look, out, n->look->text.buf, n->look->text.n, false);
}

/* Follows a DIE to its name. `nested`: it is asked for that many names within it. */
static struct fm_debug_name find_name(struct naming *n, struct place at, unsigned nested)
{
    struct fm_debug_name name = { NULL, 0, false };
    struct place last = { NULL, UINT64_MAX };
    struct named named;

    for (unsigned hop = 0; hop < HOPS_MAX && at.die != UINT64_MAX; hop++) {
        const struct fm_dwarf_cu *cu = unit_of(n, &at);
        if (cu == NULL || !read_named(cu, at.die, &named))
            break;
        if (named.linkage != NULL && named.linkage_n > 0) {
            keep(n->look, &name, named.linkage, named.linkage_n, true);
            return name;
        }
        if (named.name != NULL && named.name_n > 0)
            last = at;
        at = named.next;
    }
    if (last.file != NULL)
        scoped_name(n, last, nested, &name);
    return name;
}

/* The DIE that many others share: the origin of an inlined call. */
static struct place shared(struct naming *n, uint64_t die)
{
    struct place own = { n->cu->file, die };
    struct named named;

    if (read_named(n->cu, die, &named) && named.linkage == NULL && named.name == NULL &&
        named.next.die != UINT64_MAX)
        return named.next;
    return own;
}

static uint32_t name_of(struct naming *n, uint64_t key, struct place place)
{
    struct fm_look *look = n->look;
    struct fm_debug_name name;
    uint64_t *found = fm_map_find(&look->by_die, key);

    if (found != NULL)
        return (uint32_t)*found;
    name = find_name(n, place, 0);
    found = fm_map_put(&look->by_die, key, NULL);
    if (look->oom || found == NULL || look->names >= FM_NO_ENTRY - 1 ||
        !fm_grow(look->debug->arena.mem, (void **)&look->name, &look->name_cap, look->names + 1,
                 sizeof *look->name)) {
        look->oom = true;
        return FM_NO_ENTRY;
    }
    look->name[look->names] = name;
    *found = look->names;
    return (uint32_t)look->names++;
}

struct wanted {
    uint64_t key;                /* the DIE, and whether it is in another file */
    struct place place;
    size_t entry;
};

static int by_key(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

/* In the order of the DIEs that have the names, so that each unit is opened once. */
void fm_look_names(struct fm_look *look, const struct fm_dwarf_cu *cu, size_t first)
{
    struct naming n = { .look = look, .cu = cu };
    struct fm_mem *mem = look->debug->arena.mem;
    const size_t count = look->entries - first;
    struct wanted *wanted;
    size_t bytes;

    if (count == 0)
        return;
    if (!fm_mul_size(count, sizeof *wanted, &bytes) ||
        (wanted = fm_mem_alloc(mem, bytes)) == NULL) {
        look->oom = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct place place = shared(&n, look->entry[first + i].die);
        wanted[i] = (struct wanted){ place.die << 1 | (place.file != cu->file), place, first + i };
    }
    qsort(wanted, count, sizeof *wanted, by_key);
    for (size_t i = 0; i < count && !look->oom; i++)
        look->entry[wanted[i].entry].name = name_of(&n, wanted[i].key, wanted[i].place);
    fm_mem_free(mem, wanted, bytes);
    fm_dwarf_cu_close(&n.other);
    fm_mem_free(mem, n.scope, n.scope_cap * sizeof *n.scope);
}
