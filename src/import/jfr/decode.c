/*
 * decode.c - the second walk over a chunk: events of the types that the mapping takes become rows.
 *
 * A plan may read behind its event while the window has bytes there: that is noticed afterwards,
 * and the event is counted as damage.
 */
#include "import/jfr/plan.h"

#include "util/error.h"

#define EVENT_MAX ((size_t)64 << 20)  /* bytes of one event that are looked at */

struct type {
    struct fm_jfr_plan *plan;   /* NULL: not wanted */
    struct fm_jfr_event event;
};

struct decoder {
    struct fm_jfr_reading rd;
    struct fm_jfr_resolver resolver;
    struct type *type;          /* by class */
    bool *wanted;               /* by class: it has a plan */
    bool few;                   /* most events are stepped over */
    struct fm_error *err;
    enum fm_status status;
};

static void count_named(struct fm_jfr_feed *feed, const char *name, uint64_t offset, uint64_t n)
{
    if (n > 0)
        fm_account_record(feed->builder, FM_ACCOUNT_RECORDS,
                          fm_builder_str(feed->builder, name, strlen(name)), offset, n);
}

/* The account of the survey: what there is, by type. */
static void account(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed)
{
    const struct fm_jfr_meta *meta = &chunk->meta;
    uint64_t first = chunk->offset + FM_JFR_HEADER;
    count_named(feed, "jdk.Metadata", first, chunk->metadatas);
    count_named(feed, "jdk.CheckPoint", first, chunk->checkpoint_events);
    for (size_t i = 0; i < meta->classes; i++)
        count_named(feed, meta->class[i].name, chunk->first[i], chunk->count[i]);
    count_named(feed, "unknown event type", chunk->unknown_first, chunk->unknown);
}

/* Plans for the types that occur. */
static bool make_plans(struct decoder *d)
{
    struct fm_jfr_chunk *chunk = d->rd.chunk;
    const struct fm_jfr_meta *meta = &chunk->meta;
    uint64_t all = 0, wanted = 0;
    d->type = fm_arena_alloc(&chunk->arena, meta->classes * sizeof *d->type);
    d->wanted = fm_arena_alloc(&chunk->arena, meta->classes * sizeof *d->wanted);
    if (d->type == NULL || d->wanted == NULL)
        return false;
    for (uint32_t i = 0; i < meta->classes; i++) {
        struct type *t = &d->type[i];
        if (chunk->count[i] == 0)
            continue;
        if (!fm_jfr_plan_make(&d->rd, i, &t->event, &t->plan))
            return false;
        if (t->event.id == FM_CLASS_UNMAPPED)
            fm_account_record(d->rd.feed->builder, FM_ACCOUNT_NOT_MAPPED, t->event.name_str,
                              chunk->first[i], chunk->count[i]);
        d->wanted[i] = t->plan != NULL;
        wanted += d->wanted[i] ? chunk->count[i] : 0;
        all += chunk->count[i];
    }
    d->few = wanted < all / 2;
    return true;
}

static void drop_event(struct fm_jfr_feed *feed, const struct type *t,
                       const struct fm_jfr_event_head *head)
{
    uint32_t event = fm_class_event(feed->binding, t->event.id);
    bool sample = event == FM_NONE ||
                  fm_builder_event_row(feed->builder, event)->kind == FM_KIND_SAMPLE;
    fm_jfr_damage(feed, sample ? FM_DIAGS : FM_DIAG_JFR_EVENT_BODY, FM_FORMAT, head->offset,
                  "event '%s' of %llu bytes is shorter than its fields", t->event.name,
                  (unsigned long long)head->size);
    if (!sample)
        return;
    fm_account_in(feed->builder, 1);
    fm_account_drop(feed->builder, FM_DIAG_JFR_EVENT_BODY, head->offset, 1);
}

static bool read_event(struct decoder *d, struct fm_jfr_walk *w, struct fm_jfr_event_head *head,
                       struct type *t)
{
    struct fm_jfr_feed *feed = d->rd.feed;
    size_t size = (size_t)FM_MIN(head->size, (uint64_t)EVENT_MAX);
    struct fm_cursor c;
    if (FM_UNLIKELY(head->have < size)) {
        if (!fm_jfr_walk_whole(w, head, size))
            return false;
        size = FM_MIN(size, head->have);
    }
    c = fm_jfr_cursor_of(head->p, head->have, head->offset, d->rd.chunk->meta.wide);
    fm_cursor_skip(&c, head->payload);
    d->resolver.offset = head->offset;
    fm_jfr_event_begin(&t->event);
    fm_jfr_plan_run(&d->rd, t->plan, &c, &t->event);
    if (FM_UNLIKELY(c.bad || c.p > head->p + size)) {
        drop_event(feed, t, head);  /* some of its values were the bytes of the next one */
        return true;
    }
    fm_jfr_event_end(feed, &t->event, head->offset);
    return true;
}

static bool read_events(struct decoder *d, struct fm_reader *reader)
{
    struct fm_jfr_chunk *chunk = d->rd.chunk;
    struct fm_jfr_walk w;
    struct fm_jfr_event_head head;
    uint64_t last_type = 0;
    struct type *last = NULL;
    fm_jfr_walk_init(&w, reader, chunk->offset + FM_JFR_HEADER, chunk->walked, d->err);
    w.wide = chunk->meta.wide;
    while (fm_jfr_walk_next(&w, &head) == FM_JFR_EVENT) {
        if (head.type <= 1)
            continue;
        if (head.type != last_type) {
            uint32_t class = fm_jfr_meta_find(&chunk->meta, head.type);
            last_type = head.type;
            last = class != FM_JFR_NO_CLASS && d->type[class].plan != NULL ? &d->type[class]
                                                                           : NULL;
        }
        if (last != NULL && !read_event(d, &w, &head, last))
            break;
        if (d->few)
            fm_jfr_walk_past(&w, &chunk->meta, d->wanted, NULL, NULL);
    }
    d->status = w.status;
    return d->status == FM_OK;
}

enum fm_status fm_jfr_decode(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed,
                             struct fm_input *input, struct fm_error *err)
{
    struct decoder d = {.err = err};
    struct fm_reader *reader = NULL;
    if (!chunk->usable)
        return FM_OK;
    d.rd = (struct fm_jfr_reading){feed, chunk, &d.resolver};
    account(chunk, feed);
    d.status = fm_jfr_resolver_init(&d.resolver, feed, chunk, input, err);
    if (d.status == FM_OK && !make_plans(&d))
        d.status = fm_error_nomem(err);
    if (d.status == FM_OK)
        d.status = fm_reader_open(input, &reader, err);
    if (d.status == FM_OK && read_events(&d, reader) && feed->oom)
        d.status = fm_error_nomem(err);
    if (d.status == FM_OK)
        d.status = d.resolver.status;
    fm_reader_close(reader);
    fm_jfr_resolver_release(&d.resolver);
    return d.status;
}
