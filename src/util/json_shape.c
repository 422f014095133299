/*
 * json_shape.c - shapes of items: learnt from items that were walked, followed by json_match.c.
 *
 *     first ── {"ph":" ── ","ts": ┬─ ,"name":" ── "} end
 *                                 └─ ,"dur": ── ,"args": ── {"id": ── } ── } end
 *
 * A tree of steps. Its size is bounded, and so is the time that is spent on it: items that match
 * earn credit, others cost it, and without credit the shapes are forgotten and not used for a
 * while, longer each time. So a document whose items all differ is walked as if there were none.
 */
#include "util/json_inner.h"

#define CREDIT 32                  /* at first */
#define MISS 2
#define NAP 1024u                  /* items, at first */
#define LONGEST_NAP 65536u
#define SIBLINGS 24u               /* steps that may follow one */
#define PATHS 12u                  /* ways through an object before it is passed over as a whole */
#define BETWEEN 1024u              /* bytes between two values */

const struct fm_json_bytes fm_json_bytes = {
    .quote = {[0 ... 31] = '"'},
    .slash = {[0 ... 31] = '\\'},
    .least = {[0 ... 31] = '-'},
    .most = {[0 ... 31] = '9' - '-'},
};

_Static_assert(FM_JSON_STEPS * sizeof(struct fm_json_step) <= UINT16_MAX, "a link holds all steps");

void fm_json_shapes_init(struct fm_json_shapes *s)
{
    memset(s, 0, offsetof(struct fm_json_shapes, keys));
    s->n = 1;
    s->generation = 1;
    s->credit = CREDIT;
    s->nap = NAP;
    memset(&s->step[0], 0, sizeof s->step[0]);
    s->step[0].n = 1;              /* what nothing begins with */
    s->step[0].mask = 1;
}

static void forget(struct fm_json_shapes *s)
{
    s->n = 1;
    s->keys_n = 0;
    s->first = 0;
    s->generation++;
}

/* ------------------------------------------------------------------ the tree */

/* What a step is, and where the next one hangs. */
struct learner {
    struct fm_json_shapes *s;
    uint16_t *at;                  /* where the step is linked; NULL: no more room */
    const char *from;              /* of the text that no step has yet */
    bool fresh;                    /* the last step is new */
    bool frozen;                   /* no new ones */
    unsigned inner;                /* members of opened objects */
};

/* The first of those at *at with this text and kind; NULL: none. */
static struct fm_json_step *find(struct learner *l, const char *text, size_t n, unsigned kind)
{
    unsigned tried = 0;
    while (*l->at) {
        struct fm_json_step *step = fm_json_step(l->s, *l->at);
        if (step->kind == kind && step->n == n && memcmp(step->text, text, n) == 0)
            return step;
        l->at = &step->other;
        if (++tried == SIBLINGS) {
            l->at = NULL;
            return NULL;
        }
    }
    return NULL;
}

/* The step with this text, which is made when there is none; NULL: no room. */
static struct fm_json_step *take(struct learner *l, const char *text, size_t n, unsigned kind)
{
    struct fm_json_step *step = find(l, text, n, kind);
    l->fresh = false;
    if (step || !l->at)
        return step;
    if (l->frozen || l->s->n == FM_JSON_STEPS) {
        l->at = NULL;
        return NULL;
    }
    step = &l->s->step[l->s->n];
    memset(step, 0, sizeof *step);
    memcpy(step->text, text, n);
    step->n = (uint8_t)n;
    step->mask = (uint32_t)((UINT64_C(1) << n) - 1);
    step->kind = (uint8_t)kind;
    *l->at = fm_json_link(l->s, step);
    l->s->n++;
    l->fresh = true;
    return step;
}

/* The last step of the text up to `to`, what stands behind it hanging on it. */
static struct fm_json_step *reach(struct learner *l, const char *to, unsigned kind)
{
    struct fm_json_step *step;
    if ((size_t)(to - l->from) > BETWEEN)
        l->at = NULL;
    while (l->at && to - l->from > (ptrdiff_t)FM_JSON_PIECE) {
        step = take(l, l->from, FM_JSON_PIECE, FM_JSON_STEP_MORE);
        l->at = step ? &step->next : NULL;
        l->from += FM_JSON_PIECE;
    }
    step = l->at ? take(l, l->from, (size_t)(to - l->from), kind) : NULL;
    l->at = step ? &step->next : NULL;
    l->from = to;
    return step;
}

/* The step before a value that begins at `to`. NULL: no room, or the key had escapes (such keys
 * stand elsewhere). */
static struct fm_json_step *reach_value(struct learner *l, const struct fm_json_field *f,
                                        const char *to, unsigned kind)
{
    struct fm_json_shapes *s = l->s;
    struct fm_json_step *step = NULL;
    if (f->key < l->from || f->key > f->text || f->key_n > sizeof s->keys - s->keys_n)
        l->at = NULL;
    else
        step = reach(l, to, kind);
    if (!step || !l->fresh)
        return step;
    memcpy(s->keys + s->keys_n, f->key, f->key_n);
    step->field = *f;
    step->field.key = s->keys + s->keys_n;
    step->field.split = step->field.escaped = false;
    s->keys_n += f->key_n;
    return step;
}

/* ------------------------------------------------------------------ values */

static bool is_number(const struct fm_json_field *f)
{
    const unsigned char *text = (const unsigned char *)f->text;
    if (!fm_json_number_at(text))
        return false;
    for (uint32_t i = 0; i < f->n; i++)
        if (!fm_json_exponent_byte(text[i]))
            return false;
    return true;
}

/* A value that is no object, or one within an object that is opened. */
static void learn_value(struct learner *l, const struct fm_json_field *f)
{
    const bool word = f->kind == FM_JSON_TRUE || f->kind == FM_JSON_FALSE ||
                      f->kind == FM_JSON_NULL;
    if ((f->kind == FM_JSON_NUMBER && !is_number(f)) || (word && f->n > FM_JSON_PIECE))
        l->at = NULL;
    struct fm_json_step *step = reach_value(l, f, word ? f->text + f->n : f->text, f->kind);
    if (step)
        step->word = word ? (uint8_t)f->n : 0;
    l->from = f->text + f->n;
}

static void learn_members(struct learner *l, const struct fm_json_field *f)
{
    struct fm_json_object o;
    if (!fm_json_object_read(&o, f->text, f->n) || o.rest ||
        (l->inner += o.fields) >= FM_JSON_FIELDS) {
        l->at = NULL;
        return;
    }
    for (uint32_t i = 0; i < o.fields && l->at; i++)
        learn_value(l, &o.field[i]);
    reach(l, f->text + f->n, FM_JSON_STEP_CLOSE);
}

/* The step that passes over the object that `open` opens. */
static void learn_whole(struct learner *l, struct fm_json_step *open)
{
    struct fm_json_shapes *s = l->s;
    if (!open->whole && s->n < FM_JSON_STEPS) {
        struct fm_json_step *whole = &s->step[s->n];
        *whole = *open;
        whole->kind = FM_JSON_OBJECT;
        whole->next = whole->other = whole->whole = 0;
        open->whole = fm_json_link(s, whole);
        s->n++;
    }
    l->at = open->whole ? &fm_json_step(s, open->whole)->next : NULL;
}

static void learn_object(struct learner *l, const struct fm_json_field *f)
{
    struct fm_json_step *open = reach_value(l, f, f->text, FM_JSON_STEP_OPEN);
    if (!open)
        return;
    const uint32_t before = l->s->n;
    l->frozen = open->paths >= PATHS;
    learn_members(l, f);
    open->paths += l->s->n != before;
    l->frozen = false;
    if (!l->at)
        learn_whole(l, open);
    l->from = f->text + f->n;
}

static void learn(struct fm_json_shapes *s, const struct fm_json_object *o)
{
    struct learner l = {.s = s, .at = &s->first, .from = o->text};
    for (uint32_t i = 0; i < o->fields && l.at; i++) {
        if (o->field[i].kind == FM_JSON_OBJECT)
            learn_object(&l, &o->field[i]);
        else
            learn_value(&l, &o->field[i]);
    }
    reach(&l, o->text + o->bytes, FM_JSON_STEP_END);
}

void fm_json_shapes_learn(struct fm_json_shapes *s, const struct fm_json_object *o)
{
    if (s->sleep) {
        if (--s->sleep == 0) {
            forget(s);
            s->credit = CREDIT;
        }
        return;
    }
    s->credit -= MISS;
    if (s->credit < 0) {
        s->sleep = s->nap;
        s->nap = FM_MIN(4 * s->nap, LONGEST_NAP);
    } else if (!o->rest && o->fields > 0 && o->fields < FM_JSON_FIELDS) {
        learn(s, o);
    }
}
