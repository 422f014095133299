/*
 * tables.c - the tables beside the rows: sources with provenance and account, events, label
 * columns, modules, frames, threads. All of them intern: the same key gives the same id, and ids
 * follow first use, which is what makes split and join deterministic.
 *
 * Thread and module rows may be edited after they were made; their identity is what they were
 * interned with, kept beside the table.
 */
#include "store/inside.h"

static const struct {
    const char *name;
    enum fm_type type;
} builtin[FM_COL_LABELS] = {
    [FM_COL_TS] = {"ts", FM_TYPE_TIME},           [FM_COL_DUR] = {"dur", FM_TYPE_DUR},
    [FM_COL_EVENT] = {"event", FM_TYPE_U64},      [FM_COL_WEIGHT] = {"weight", FM_TYPE_U64},
    [FM_COL_COUNT] = {"count", FM_TYPE_U64},      [FM_COL_VALUE] = {"value", FM_TYPE_I64},
    [FM_COL_STACK] = {"stack", FM_TYPE_STACK},    [FM_COL_THREAD] = {"thread", FM_TYPE_THREAD},
    [FM_COL_CPU] = {"cpu", FM_TYPE_I64},          [FM_COL_NAME] = {"name", FM_TYPE_STRING},
    [FM_COL_CATEGORY] = {"category", FM_TYPE_STRING}, [FM_COL_COMM] = {"comm", FM_TYPE_STRING},
};

uint64_t fm_builder_ids(const struct fm_builder *b, enum fm_type type)
{
    switch (type) {
    case FM_TYPE_STRING:
        return b->store->strings.n;
    case FM_TYPE_STACK:
        return b->tree.n;
    case FM_TYPE_THREAD:
        return b->store->t.threads;
    default:
        return UINT64_MAX;
    }
}

/* One more element of a table, zeroed; NULL and the builder has failed. */
#define TABLE_ADD(b, table, n) \
    ((b)->store->t.n < FM_NONE - 1 && \
     fm_grow((b)->mem, (void **)&(b)->store->t.table, &(b)->store->t.table##_cap, \
             (b)->store->t.n + 1, sizeof *(b)->store->t.table) \
         ? memset(&(b)->store->t.table[(b)->store->t.n], 0, sizeof *(b)->store->t.table) \
         : (fm_builder_fail(b, FM_NOMEM), NULL))

/* ---------------------------------------------------------------- strings */

fm_str fm_builder_str(struct fm_builder *b, const char *s, size_t n)
{
    fm_str id;

    if (!fm_builder_ok(b))
        return 0;
    id = fm_strings_add(&b->store->strings, s, n);
    if (id == FM_NONE) {
        fm_builder_fail(b, n >= UINT32_MAX ? FM_LIMIT : FM_NOMEM);
        return 0;
    }
    return id;
}

const char *fm_builder_str_text(const struct fm_builder *b, fm_str id, size_t *n)
{
    const struct fm_strings *strings = &b->store->strings;

    if (id >= strings->n) {
        if (n != NULL)
            *n = 0;
        return "";
    }
    if (n != NULL)
        *n = strings->item[id].n;
    return strings->item[id].p;
}

/* ---------------------------------------------------------------- sources */

uint32_t fm_builder_source_add(struct fm_builder *b, fm_str name, fm_str format)
{
    struct fm_source *s;

    if (!fm_builder_ok(b) || (s = TABLE_ADD(b, source, sources)) == NULL)
        return FM_NONE;
    s->name = name;
    s->format = format;
    s->clock = FM_CLOCK_UNKNOWN;
    fm_diags_init(&s->diags);
    return (uint32_t)b->store->t.sources++;
}

uint32_t fm_builder_source(struct fm_builder *b, const char *name, const char *format)
{
    fm_str name_id = fm_builder_str(b, name, strlen(name));
    fm_str format_id = fm_builder_str(b, format, strlen(format));
    uint32_t source;

    fm_stage_finish(b);
    source = fm_builder_source_add(b, name_id, format_id);
    if (source != FM_NONE)
        b->source = source;
    return source;
}

struct fm_source *fm_builder_current(struct fm_builder *b)
{
    if (b->source == FM_NONE && fm_builder_ok(b))
        (void)fm_builder_source(b, "", "");
    fm_assert(b->source == FM_NONE || b->source < b->store->t.sources);
    return b->source != FM_NONE ? &b->store->t.source[b->source] : &b->no_source;
}

struct fm_source *fm_builder_source_row(struct fm_builder *b)
{
    return fm_builder_current(b);
}

void fm_builder_provenance_add(struct fm_builder *b, struct fm_source *s, struct fm_provenance p)
{
    if (!fm_builder_ok(b))
        return;
    if (!fm_grow(b->mem, (void **)&s->provenance, &s->provenance_cap, s->provenances + 1,
                 sizeof p)) {
        fm_builder_fail(b, FM_NOMEM);
        return;
    }
    s->provenance[s->provenances++] = p;
}

void fm_builder_provenance(struct fm_builder *b, const char *key, const char *value, size_t n)
{
    struct fm_source *s = fm_builder_current(b);
    fm_str key_id = fm_builder_str(b, key, strlen(key));

    fm_builder_provenance_add(b, s, (struct fm_provenance){key_id, fm_builder_str(b, value, n)});
}

/* ---------------------------------------------------------------- account */

void fm_builder_diag(struct fm_builder *b, enum fm_diag key, uint64_t offset, uint64_t n)
{
    fm_diag_add(&fm_builder_current(b)->diags, key, offset, n);
}

void fm_builder_account(struct fm_builder *b, uint32_t source, enum fm_account_kind kind,
                        fm_str key, uint64_t offset, uint64_t n)
{
    struct fm_source *s = &b->store->t.source[source];
    uint64_t id = (uint64_t)kind << 56 | (uint64_t)(source & 0xffffff) << 32 | key;
    struct fm_account_row *row;
    uint64_t *place, last = b->last_place;

    if (!fm_builder_ok(b) || n == 0)
        return;
    fm_assert(source < b->store->t.sources);
    place = id == b->last_record ? &last : fm_map_put(&b->records, id, NULL);
    if (place == NULL ||
        (*place == 0 && !fm_grow(b->mem, (void **)&s->account, &s->account_cap, s->accounts + 1,
                                 sizeof *s->account))) {
        fm_builder_fail(b, FM_NOMEM);
        return;
    }
    if (*place == 0) {
        s->account[s->accounts] = (struct fm_account_row){kind, key, 0, FM_NO_OFFSET};
        *place = ++s->accounts;
    }
    b->last_record = id;
    b->last_place = (size_t)*place;
    row = &s->account[*place - 1];
    fm_assert(row->kind == kind && row->key == key);
    row->count = fm_add_sat_u64(row->count, n);
    row->first_offset = FM_MIN(row->first_offset, offset);
}

void fm_account_in(struct fm_builder *b, uint64_t n)
{
    struct fm_source *s = fm_builder_current(b);
    s->samples_in = fm_add_sat_u64(s->samples_in, n);
}

void fm_account_drop(struct fm_builder *b, enum fm_diag reason, uint64_t offset, uint64_t n)
{
    const char *name = fm_diag_name(reason);
    fm_str key = fm_builder_str(b, name, strlen(name));

    fm_builder_diag(b, reason, offset, n);
    if (fm_builder_ok(b))
        fm_builder_account(b, b->source, FM_ACCOUNT_DROPPED, key, offset, n);
}

void fm_account_record(struct fm_builder *b, enum fm_account_kind kind, fm_str class_name,
                       uint64_t offset, uint64_t n)
{
    fm_assert(kind == FM_ACCOUNT_RECORDS || kind == FM_ACCOUNT_NOT_MAPPED);
    (void)fm_builder_current(b);
    if (fm_builder_ok(b))
        fm_builder_account(b, b->source, kind, class_name, offset, n);
}

/* ----------------------------------------------------- events and columns */

uint32_t fm_builder_event(struct fm_builder *b, const char *name, const char *unit,
                          enum fm_kind kind)
{
    return fm_builder_event_metric(b, name, name, unit, kind);
}

uint32_t fm_builder_event_metric(struct fm_builder *b, const char *name, const char *metric,
                                 const char *unit, enum fm_kind kind)
{
    fm_str name_id = fm_builder_str(b, name, strlen(name));
    fm_str metric_id = fm_builder_str(b, metric, strlen(metric));
    fm_str unit_id = fm_builder_str(b, unit, strlen(unit));
    uint32_t hash = fm_index_fold(fm_mix(fm_mix(fm_mix(name_id, unit_id), kind), metric_id));
    struct fm_event *e;
    size_t at;

    if (!fm_builder_ok(b))
        return FM_NONE;
    for (uint32_t id = fm_index_first(&b->event_ix, hash, &at); id != FM_NONE;
         id = fm_index_next(&b->event_ix, hash, &at)) {
        e = &b->store->t.event[id];
        if (e->name == name_id && e->metric == metric_id && e->unit == unit_id &&
            e->kind == kind)
            return id;
    }
    (void)fm_builder_current(b);
    e = TABLE_ADD(b, event, events);
    if (e == NULL || !fm_index_add(&b->event_ix, hash, (uint32_t)b->store->t.events)) {
        fm_builder_fail(b, FM_NOMEM);
        return FM_NONE;
    }
    e->name = name_id;
    e->metric = metric_id;
    e->unit = unit_id;
    e->kind = kind;
    e->source = b->source;
    e->default_rank = -1;
    return (uint32_t)b->store->t.events++;
}

struct fm_event *fm_builder_event_row(struct fm_builder *b, uint32_t event)
{
    return event < b->store->t.events ? &b->store->t.event[event] : &b->no_event;
}

void fm_builder_leave_out(struct fm_builder *b)
{
    b->store->left_out = true;
}

void fm_builder_alias(struct fm_builder *b, const char *name, const char *list)
{
    struct fm_alias a = {fm_builder_str(b, name, strlen(name)),
                         fm_builder_str(b, list, strlen(list))};
    struct fm_alias *row;

    if (!fm_builder_ok(b))
        return;
    for (size_t i = 0; i < b->store->t.aliases; i++) {
        row = &b->store->t.alias[i];
        if (row->name == a.name && row->list == a.list)
            return;
    }
    row = TABLE_ADD(b, alias, aliases);
    if (row == NULL)
        return;
    *row = a;
    b->store->t.aliases++;
}

void fm_builder_derived_event(struct fm_builder *b, const char *name, const char *event,
                              const char *unless, const char *key)
{
    struct fm_derived_event d = {fm_builder_str(b, name, strlen(name)),
                                 fm_builder_str(b, event, strlen(event)),
                                 fm_builder_str(b, unless, strlen(unless)),
                                 fm_builder_str(b, key, strlen(key))};
    struct fm_derived_event *row;

    if (!fm_builder_ok(b))
        return;
    for (size_t i = 0; i < b->store->t.deriveds; i++) {
        row = &b->store->t.derived[i];
        if (row->name == d.name && row->event == d.event && row->unless == d.unless &&
            row->key == d.key)
            return;
    }
    row = TABLE_ADD(b, derived, deriveds);
    if (row == NULL)
        return;
    *row = d;
    b->store->t.deriveds++;
}

/* Column `name`, made when absent. */
static fm_column add_column(struct fm_builder *b, fm_str name, enum fm_type type, bool asked)
{
    size_t n = b->store->t.columns;
    struct fm_column_info *c = TABLE_ADD(b, column, columns);

    if (c == NULL || !fm_stage_columns(b, n + 1) ||
        (n >= FM_COL_LABELS &&
         !fm_index_add(&b->column_ix, fm_index_fold(fm_mix(0, name)), (uint32_t)n))) {
        fm_builder_fail(b, FM_NOMEM);
        return FM_NONE;
    }
    c->name = name;
    c->type = type;
    c->asked = asked;
    b->store->t.columns++;
    return (fm_column)n;
}

bool fm_builder_builtin(struct fm_builder *b)
{
    for (size_t i = 0; i < FM_COL_LABELS; i++) {
        fm_str name = fm_builder_str(b, builtin[i].name, strlen(builtin[i].name));
        fm_column col = add_column(b, name, builtin[i].type, false);
        fm_assert(col == i || !fm_builder_ok(b));
        (void)col;
    }
    return fm_builder_ok(b);
}

fm_column fm_builder_label(struct fm_builder *b, const char *name, enum fm_type type, bool asked)
{
    fm_str id = fm_builder_str(b, name, strlen(name));
    uint32_t hash = fm_index_fold(fm_mix(0, id)), col;
    size_t at;

    if (!fm_builder_ok(b))
        return FM_NONE;
    for (col = fm_index_first(&b->column_ix, hash, &at); col != FM_NONE;
         col = fm_index_next(&b->column_ix, hash, &at)) {
        struct fm_column_info *c = &b->store->t.column[col];
        if (c->name != id)
            continue;
        if (c->type != type)
            return FM_NONE;
        c->asked = c->asked && asked;
        return col;
    }
    return add_column(b, id, type, asked);
}

/* ----------------------------------------------------- modules and frames */

static bool same_module(const struct fm_module_row *a, const struct fm_module_row *b)
{
    return a->path == b->path && a->build_id == b->build_id && a->kind == b->kind &&
           a->pid == b->pid && a->mnt_ns == b->mnt_ns && a->generation == b->generation &&
           a->source == b->source && a->start == b->start && a->end == b->end &&
           a->reference == b->reference;
}

fm_module fm_builder_module_key(struct fm_builder *b, const struct fm_module_row *key)
{
    struct fm_module_row *row;
    uint64_t h;
    uint32_t hash, id;
    size_t at;

    fm_assert(key->source < b->store->t.sources);
    h = fm_mix(fm_mix(fm_mix(key->path, key->build_id), (uint64_t)key->pid), key->generation);
    hash = fm_index_fold(fm_mix(fm_mix(fm_mix(h, key->start), key->mnt_ns), key->source));
    for (id = fm_index_first(&b->module_ix, hash, &at); id != FM_NONE;
         id = fm_index_next(&b->module_ix, hash, &at)) {
        if (same_module(&b->module_key[id], key))
            return id;
    }
    row = TABLE_ADD(b, module, modules);
    id = (uint32_t)b->store->t.modules;
    if (row == NULL || !fm_grow(b->mem, (void **)&b->module_key, &b->module_key_cap, id + 1u,
                                sizeof *key) ||
        !fm_index_add(&b->module_ix, hash, id)) {
        fm_builder_fail(b, FM_NOMEM);
        return FM_NONE;
    }
    b->module_key[id] = *row = *key;
    b->store->t.modules++;
    return id;
}

fm_module fm_builder_module(struct fm_builder *b, const struct fm_module_row *module)
{
    struct fm_module_row key = *module;

    (void)fm_builder_current(b);
    if (!fm_builder_ok(b))
        return FM_NONE;
    key.source = b->source;
    return fm_builder_module_key(b, &key);
}

struct fm_module_row *fm_builder_module_row(struct fm_builder *b, fm_module m)
{
    return m < b->store->t.modules ? &b->store->t.module[m] : &b->no_module;
}

static bool same_frame(const struct fm_frame_row *a, const struct fm_frame_row *b)
{
    if (a->address != b->address || a->module != b->module || a->kind != b->kind ||
        a->caller != b->caller || a->function != b->function)
        return false;
    return a->function == 0 || (a->raw == b->raw && a->file == b->file && a->line == b->line &&
                                a->column == b->column && a->inlined == b->inlined &&
                                a->bci == b->bci && a->signature == b->signature);
}

fm_frame fm_builder_frame(struct fm_builder *b, const struct fm_frame_row *frame)
{
    uint64_t h = fm_mix(fm_mix(frame->address, frame->module),
                        (uint64_t)frame->kind << 1 | frame->caller);
    struct fm_frame_row *row;
    uint32_t hash, id;
    size_t at;

    if (!fm_builder_ok(b))
        return FM_NONE;
    if (frame->function != 0)
        h = fm_mix(fm_mix(h, (uint64_t)frame->function << 32 | frame->file),
                   (uint64_t)frame->bci << 32 | frame->line);
    hash = fm_index_fold(h);
    for (id = fm_index_first(&b->frame_ix, hash, &at); id != FM_NONE;
         id = fm_index_next(&b->frame_ix, hash, &at)) {
        if (same_frame(&b->store->t.frame[id], frame))
            return id;
    }
    fm_assert(frame->module == FM_NONE || frame->module < b->store->t.modules);
    row = TABLE_ADD(b, frame, frames);
    id = (uint32_t)b->store->t.frames;
    if (row == NULL || !fm_index_add(&b->frame_ix, hash, id)) {
        fm_builder_fail(b, FM_NOMEM);
        return FM_NONE;
    }
    *row = *frame;
    b->store->t.frames++;
    return id;
}

/* ---------------------------------------------------------------- threads */

fm_thread fm_builder_thread_key(struct fm_builder *b, const struct fm_thread_key *key)
{
    /* Main threads have pid == tid: the two are not simply combined. */
    uint64_t h = fm_mix(fm_mix(fm_mix(1, (uint64_t)key->pid), (uint64_t)key->tid),
                        (uint64_t)key->incarnation << 32 | key->source);
    uint32_t hash = fm_index_fold(fm_mix(h, key->text_id)), id;
    struct fm_thread_row *row;
    size_t at;

    for (id = fm_index_first(&b->thread_ix, hash, &at); id != FM_NONE;
         id = fm_index_next(&b->thread_ix, hash, &at)) {
        const struct fm_thread_key *k = &b->thread_key[id];
        if (k->tid == key->tid && k->pid == key->pid && k->incarnation == key->incarnation &&
            k->source == key->source && k->text_id == key->text_id)
            return id;
    }
    row = TABLE_ADD(b, thread, threads);
    id = (uint32_t)b->store->t.threads;
    if (row == NULL || !fm_grow(b->mem, (void **)&b->thread_key, &b->thread_key_cap, id + 1u,
                                sizeof *key) ||
        !fm_index_add(&b->thread_ix, hash, id)) {
        fm_builder_fail(b, FM_NOMEM);
        return FM_NONE;
    }
    b->thread_key[id] = *key;
    row->source = key->source;
    row->pid = key->pid;
    row->tid = key->tid;
    row->text_id = key->text_id;
    row->incarnation = key->incarnation;
    row->java_tid = -1;
    row->leader = FM_NONE;
    b->store->t.threads++;
    return id;
}

fm_thread fm_builder_thread(struct fm_builder *b, int64_t pid, int64_t tid, uint32_t incarnation)
{
    struct fm_thread_key key = {0, incarnation, pid, tid, 0};

    (void)fm_builder_current(b);
    if (!fm_builder_ok(b))
        return FM_NONE;
    key.source = b->source;
    return fm_builder_thread_key(b, &key);
}

fm_thread fm_builder_thread_text(struct fm_builder *b, fm_str id)
{
    struct fm_thread_key key = {0, 0, -1, -1, id};

    (void)fm_builder_current(b);
    if (!fm_builder_ok(b))
        return FM_NONE;
    key.source = b->source;
    return fm_builder_thread_key(b, &key);
}

struct fm_thread_row *fm_builder_thread_row(struct fm_builder *b, fm_thread t)
{
    return t < b->store->t.threads ? &b->store->t.thread[t] : &b->no_thread;
}

void fm_thread_row_name(struct fm_builder *b, struct fm_thread_row *t, int64_t since, fm_str name)
{
    size_t at = t->names;

    while (at > 0 && t->name[at - 1].since > since)
        at--;
    if (at > 0 && t->name[at - 1].since == since) {
        t->name[at - 1].name = name;
        return;
    }
    if (!fm_grow(b->mem, (void **)&t->name, &t->name_cap, t->names + 1, sizeof *t->name)) {
        fm_builder_fail(b, FM_NOMEM);
        return;
    }
    memmove(t->name + at + 1, t->name + at, (t->names - at) * sizeof *t->name);
    t->name[at] = (struct fm_thread_name){since, name};
    t->names++;
    fm_assert(at == 0 || t->name[at - 1].since < since);
}

void fm_builder_thread_name(struct fm_builder *b, fm_thread t, int64_t since, fm_str name)
{
    if (fm_builder_ok(b) && t < b->store->t.threads)
        fm_thread_row_name(b, &b->store->t.thread[t], since, name);
}

/* ------------------------------------------------------- the tables whole */

void fm_tables_release(struct fm_tables *t, struct fm_mem *mem)
{
    for (size_t i = 0; i < t->sources; i++) {
        struct fm_source *s = &t->source[i];
        fm_mem_free(mem, s->provenance, s->provenance_cap * sizeof *s->provenance);
        fm_mem_free(mem, s->account, s->account_cap * sizeof *s->account);
    }
    for (size_t i = 0; i < t->threads; i++)
        fm_mem_free(mem, t->thread[i].name, t->thread[i].name_cap * sizeof *t->thread[i].name);
    fm_mem_free(mem, t->column, t->column_cap * sizeof *t->column);
    fm_mem_free(mem, t->event, t->event_cap * sizeof *t->event);
    fm_mem_free(mem, t->alias, t->alias_cap * sizeof *t->alias);
    fm_mem_free(mem, t->derived, t->derived_cap * sizeof *t->derived);
    fm_mem_free(mem, t->source, t->source_cap * sizeof *t->source);
    fm_mem_free(mem, t->thread, t->thread_cap * sizeof *t->thread);
    fm_mem_free(mem, t->module, t->module_cap * sizeof *t->module);
    fm_mem_free(mem, t->frame, t->frame_cap * sizeof *t->frame);
    memset(t, 0, sizeof *t);
}

#define TABLE_COPY(to, from, table, count, mem) \
    ((from)->count == 0 || \
     (fm_grow(mem, (void **)&(to)->table, &(to)->table##_cap, (from)->count, \
              sizeof *(to)->table) && \
      memcpy((to)->table, (from)->table, (from)->count * sizeof *(to)->table) != NULL))

bool fm_tables_copy(struct fm_tables *to, const struct fm_tables *from, struct fm_mem *mem,
                    bool frames)
{
    memset(to, 0, sizeof *to);
    if (!TABLE_COPY(to, from, column, columns, mem) || !TABLE_COPY(to, from, event, events, mem) ||
        !TABLE_COPY(to, from, alias, aliases, mem) ||
        !TABLE_COPY(to, from, derived, deriveds, mem) ||
        !TABLE_COPY(to, from, source, sources, mem) ||
        !TABLE_COPY(to, from, module, modules, mem) ||
        (frames && !TABLE_COPY(to, from, frame, frames, mem)) ||
        !TABLE_COPY(to, from, thread, threads, mem))
        return false;
    to->columns = from->columns;
    to->events = from->events;
    to->aliases = from->aliases;
    to->deriveds = from->deriveds;
    to->modules = from->modules;
    to->frames = frames ? from->frames : 0;
    for (; to->sources < from->sources; to->sources++) {    /* what was counted stays there */
        struct fm_source *s = &to->source[to->sources];
        s->provenance = NULL;
        s->account = NULL;
        s->provenances = s->provenance_cap = s->accounts = s->account_cap = 0;
        s->samples_in = s->samples_kept = 0;
        s->has_time = false;
        s->first = s->last = 0;
        fm_diags_init(&s->diags);
    }
    for (size_t i = 0; i < to->events; i++) {
        struct fm_event *e = &to->event[i];
        e->rows = e->samples = e->stacks = 0;
        e->weight = 0;
    }
    for (; to->threads < from->threads; to->threads++) {
        struct fm_thread_row *t = &to->thread[to->threads];
        const struct fm_thread_row *f = &from->thread[to->threads];
        t->name = NULL;
        t->name_cap = t->names = 0;
        t->samples = 0;
        if (f->names == 0)
            continue;
        if (!fm_grow(mem, (void **)&t->name, &t->name_cap, f->names, sizeof *t->name))
            return false;
        memcpy(t->name, f->name, f->names * sizeof *t->name);
        t->names = f->names;
    }
    return true;
}
