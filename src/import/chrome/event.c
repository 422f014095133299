/*
 * event.c - the fields of one event, and who takes it by its phase.
 *
 *     {"args": {…}, "ph": "X", "ts": 12.5, "dur": 3, "pid": 1, "tid": 2, "name": "f", "cat": "c"}
 *
 * Fields stand in any order and the last of equal ones counts; newer writers put args first, so
 * the phase is known only when all fields have been seen. Booleans and null where a number is
 * expected are as good as absent.
 */
#include "import/chrome/chrome.h"

#include "util/text.h"

/* ------------------------------------------------------------------ values */

const char *fm_chrome_text(struct fm_chrome *c, const struct fm_json_field *f, size_t *n)
{
    *n = 0;
    if (!f)
        return "";
    *n = f->n;
    if (f->kind != FM_JSON_STRING || !f->escaped)
        return f->text;
    if (!fm_grow(c->mem, (void **)&c->scratch, &c->scratch_cap, (size_t)f->n + 1, 1)) {
        c->oom = true;
        *n = 0;
        return "";
    }
    *n = fm_json_unescape(f->text, f->n, c->scratch);
    return c->scratch;
}

fm_str fm_chrome_str(struct fm_chrome *c, const struct fm_json_field *f)
{
    size_t n;
    const char *s = fm_chrome_text(c, f, &n);
    return n ? fm_builder_str(c->builder, s, n) : 0;
}

static bool is_number(const struct fm_json_field *f)
{
    return f && (f->kind == FM_JSON_NUMBER || (f->kind == FM_JSON_STRING && !f->escaped));
}

bool fm_chrome_time(const struct fm_json_field *f, struct fm_json_time *t)
{
    return is_number(f) && fm_json_micros(f->text, f->n, t);
}

bool fm_chrome_i64(const struct fm_json_field *f, int64_t *out)
{
    return is_number(f) && (fm_text_i64(f->text, f->n, out) ||
                            fm_json_scaled(f->text, f->n, 1, out));
}

const struct fm_json_field *fm_chrome_member(const struct fm_json_object *o, const char *key)
{
    size_t n = strlen(key);
    for (uint32_t i = o->fields; i > 0; i--)
        if (fm_json_key_is(&o->field[i - 1], key, n))
            return &o->field[i - 1];
    return NULL;
}

void fm_chrome_diag(struct fm_chrome *c, enum fm_diag key, uint64_t offset)
{
    fm_builder_diag(c->builder, key, offset, 1);
}

/* ------------------------------------------------------------------ fields */

static int longer_field(const struct fm_json_field *f)
{
    if (fm_json_key_is(f, "flow_out", 8))
        return FM_CHROME_FLOW_OUT;
    return -1;
}

static int field_number(const struct fm_json_field *f)
{
    switch (f->name) {
    case FM_JSON_NAME('n', 'a', 'm', 'e'): return FM_CHROME_NAME;
    case FM_JSON_NAME('c', 'a', 't'): return FM_CHROME_CAT;
    case FM_JSON_NAME('p', 'h'): return FM_CHROME_PH;
    case FM_JSON_NAME('t', 's'): return FM_CHROME_TS;
    case FM_JSON_NAME('d', 'u', 'r'): return FM_CHROME_DUR;
    case FM_JSON_NAME('p', 'i', 'd'): return FM_CHROME_PID;
    case FM_JSON_NAME('t', 'i', 'd'): return FM_CHROME_TID;
    case FM_JSON_NAME('a', 'r', 'g', 's'): return FM_CHROME_ARGS;
    case FM_JSON_NAME('i', 'd'): return FM_CHROME_ID;
    case FM_JSON_NAME('i', 'd', '2'): return FM_CHROME_ID2;
    case FM_JSON_NAME('t', 't', 's'): return FM_CHROME_TTS;
    case FM_JSON_NAME('t', 'd', 'u', 'r'): return FM_CHROME_TDUR;
    case FM_JSON_NAME('s'): return FM_CHROME_S;
    case FM_JSON_NAME('b', 'p'): return FM_CHROME_BP;
    case FM_JSON_NAME('s', 'c', 'o', 'p', 'e'): return FM_CHROME_SCOPE;
    case FM_JSON_NAME('b', 'i', 'n', 'd', '_', 'i', 'd'): return FM_CHROME_BIND_ID;
    case FM_JSON_NAME('f', 'l', 'o', 'w', '_', 'i', 'n'): return FM_CHROME_FLOW_IN;
    case FM_JSON_NAME('s', 'f'): return FM_CHROME_SF;
    case FM_JSON_NAME('e', 's', 'f'): return FM_CHROME_ESF;
    case FM_JSON_NAME('s', 't', 'a', 'c', 'k'): return FM_CHROME_STACK;
    case FM_JSON_NAME('e', 's', 't', 'a', 'c', 'k'): return FM_CHROME_ESTACK;
    default: return f->key_n > 7 ? longer_field(f) : -1;
    }
}

/* More fields than the table holds: those that count are kept beside it. */
static bool more_fields(struct fm_chrome_event *e, struct fm_json_object *object,
                        struct fm_json_field *kept)
{
    for (int i = 0; i < FM_CHROME_EVENT_FIELDS; i++) {
        if (e->field[i] && e->field[i] != &kept[i]) {
            kept[i] = *e->field[i];
            e->field[i] = &kept[i];
        }
    }
    return fm_json_object_more(object);
}

/* Each place remembers the key that stood there last. */
static void find_fields(struct fm_chrome *c, struct fm_chrome_event *e,
                        const struct fm_json_object *object)
{
    for (uint32_t i = 0; i < object->fields; i++) {
        const struct fm_json_field *f = &object->field[i];
        if (FM_UNLIKELY(f->name != c->shape[i].name || f->key_n > 7)) {
            c->shape[i].name = f->name;
            c->shape[i].number = field_number(f);
        }
        int number = c->shape[i].number;
        if (number >= 0)
            e->field[number] = f->kind == FM_JSON_NULL ? NULL : f;
    }
}

/* Where the fields of a shape are, for the next event of it. */
static void keep_layout(struct fm_chrome *c, const struct fm_chrome_event *e,
                        const struct fm_json_object *object)
{
    struct fm_chrome_layout *l = fm_chrome_layout(c, object->shape);
    l->shape = object->shape;
    l->n = 0;
    for (unsigned i = 0; i < FM_CHROME_EVENT_FIELDS; i++) {
        if (e->field[i]) {
            l->number[l->n] = (uint8_t)i;
            l->place[l->n++] = (uint8_t)(e->field[i] - object->field);
        }
    }
}

/* Most events have the shape of one before (json.h), whose keys need not be looked at again. */
static void set_fields(struct fm_chrome *c, struct fm_json_object *object,
                       struct fm_json_field *kept)
{
    struct fm_chrome_event *e = &c->event;
    const struct fm_chrome_layout *l = fm_chrome_layout(c, object->shape);
    const bool known = object->shape && l->shape == object->shape;
    if (known && object->shape == c->shaped && object == e->object)
        return;
    memset(e->field, 0, sizeof e->field);
    e->object = object;
    c->shaped = object->shape;
    if (known) {
        for (unsigned i = 0; i < l->n; i++)
            e->field[l->number[i]] = &object->field[l->place[i]];
        return;
    }
    find_fields(c, e, object);
    while (FM_UNLIKELY(object->rest != NULL) && more_fields(e, object, kept))
        find_fields(c, e, object);
    if (object->shape)
        keep_layout(c, e, object);
}

/* ------------------------------------------------------------------ times */

static bool any_number(const struct fm_json_field *f)
{
    struct fm_json_time t;
    int64_t i;
    return fm_chrome_time(f, &t) || (is_number(f) && fm_json_scaled(f->text, f->n, 1, &i));
}

/* false: the event has no time that could be used and is dropped. */
static bool read_times(struct fm_chrome *c, struct fm_chrome_event *e)
{
    const struct fm_json_field *ts = e->field[FM_CHROME_TS];
    e->has_ts = fm_chrome_time(ts, &e->ts);
    if (e->phase == 'M')
        return true;
    if (!e->has_ts) {
        bool beyond = any_number(ts) || (ts && ts->kind == FM_JSON_NUMBER);
        fm_chrome_diag(c, beyond ? FM_DIAG_CHROME_RANGE : FM_DIAG_CHROME_NO_TS, e->offset);
        return false;
    }
    if (e->phase != 'X' && e->phase != 'T')
        return true;
    e->has_dur = fm_chrome_time(e->field[FM_CHROME_DUR], &e->dur) ||
                 (e->phase == 'X' && fm_chrome_time(e->field[FM_CHROME_TDUR], &e->dur));
    if (e->has_dur && e->dur.ns < 0) {
        fm_chrome_diag(c, FM_DIAG_CHROME_NEGATIVE, e->offset);
        e->dur = (struct fm_json_time){0, 0, 0};
    }
    return true;
}

/* ------------------------------------------------------------------ phases */

static void take(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    switch (e->phase) {
    case 'B': case 'E': case 'X': fm_chrome_span(c, e); break;
    case 'b': case 'n': case 'e': case 'S': case 'p': case 'F': fm_chrome_async(c, e); break;
    case 'T':
        /* A thread state has a duration and no id. */
        if (e->has_dur && !e->field[FM_CHROME_ID] && !e->field[FM_CHROME_ID2])
            fm_chrome_other(c, e);
        else
            fm_chrome_async(c, e);
        break;
    case 's': case 't': case 'f': fm_chrome_flow(c, e); break;
    case 'P': fm_chrome_sample(c, e); break;
    default: fm_chrome_other(c, e); break;
    }
}

static bool known_phase(char phase)
{
    static const bool known[128] = {
        ['B'] = 1, ['E'] = 1, ['X'] = 1, ['b'] = 1, ['e'] = 1, ['n'] = 1, ['S'] = 1, ['T'] = 1,
        ['p'] = 1, ['F'] = 1, ['i'] = 1, ['I'] = 1, ['R'] = 1, ['C'] = 1, ['s'] = 1, ['t'] = 1,
        ['f'] = 1, ['P'] = 1, ['N'] = 1, ['O'] = 1, ['D'] = 1, ['M'] = 1, ['m'] = 1, ['V'] = 1,
        ['v'] = 1, ['c'] = 1, ['('] = 1, [')'] = 1};
    return (unsigned char)phase < 128 && known[(unsigned char)phase];
}

/* The first character of `ph` counts. */
static char phase_of(const struct fm_chrome_event *e)
{
    const struct fm_json_field *ph = e->field[FM_CHROME_PH];
    return ph && ph->kind == FM_JSON_STRING && ph->n > 0 && ph->text[0] != '\\' ? ph->text[0]
                                                                              : '\0';
}

void fm_chrome_event(struct fm_chrome *c, struct fm_json_object *object)
{
    struct fm_chrome_event *e = &c->event;
    struct fm_json_field kept[FM_CHROME_EVENT_FIELDS];
    if (object->fields == 0)
        return;                    /* {}: some writers end their array with it */
    set_fields(c, object, kept);
    e->offset = object->at;
    e->has_ts = e->has_dur = false;
    e->ts = e->dur = (struct fm_json_time){0};
    c->events++;
    e->phase = phase_of(e);
    c->phases[e->phase & 127]++;
    if (e->phase == '\0') {
        fm_chrome_diag(c, FM_DIAG_CHROME_NO_PHASE, e->offset);
        return;
    }
    if (!known_phase(e->phase)) {
        fm_chrome_diag(c, FM_DIAG_CHROME_PHASE, e->offset);
        return;
    }
    if (e->phase == 'm')
        e->phase = 'M';
    if (!read_times(c, e))
        return;
    e->thread = fm_chrome_thread(c, e->field[FM_CHROME_PID], e->field[FM_CHROME_TID]);
    if (e->thread == UINT32_MAX)
        return;
    if (e->phase == 'M') {
        fm_chrome_metadata(c, e);
        return;
    }
    c->thread[e->thread].events++;
    int64_t ns;
    if (!fm_json_time_round(e->ts, &ns)) {
        fm_chrome_diag(c, FM_DIAG_CHROME_RANGE, e->offset);
        return;
    }
    fm_chrome_seen(c, e->thread, ns);
    take(c, e);
}
