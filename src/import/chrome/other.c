/*
 * other.c - what becomes a row at once: counters, instants, objects, thread states.
 *
 *     C             a row for each series of args that is a number, or a text of one
 *     i I R         instants; scope g, p or t (also when there is none)
 *     T with dur    a thread's state
 *     N O D V v ( ) their phase, name and id; what they hold is passed over
 */
#include "import/chrome/chrome.h"

#include "util/text.h"

enum { C_TS, C_VALUE, C_THREAD, C_NAME, C_CAT, C_ID, C_SERIES, C_COUNTER, C_FIELDS };
static const struct fm_field counter_field[C_FIELDS] = {
    [C_TS] = {"ts", FM_TYPE_TIME, "ns"},
    [C_VALUE] = {"value", FM_TYPE_F64, NULL},
    [C_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [C_NAME] = {"name", FM_TYPE_STRING, NULL},
    [C_CAT] = {"cat", FM_TYPE_STRING, NULL},
    [C_ID] = {"id", FM_TYPE_STRING, NULL},
    [C_SERIES] = {"series", FM_TYPE_STRING, NULL},
    [C_COUNTER] = {"counter", FM_TYPE_STRING, NULL},
};
static const struct fm_chrome_group counter_group = {"C", counter_field, C_FIELDS, false};

enum { I_TS, I_DUR, I_THREAD, I_NAME, I_CAT, I_SCOPE, I_ID, I_PH, I_FIELDS };
static const struct fm_field other_field[I_FIELDS] = {
    [I_TS] = {"ts", FM_TYPE_TIME, "ns"},
    [I_DUR] = {"dur", FM_TYPE_DUR, "ns"},
    [I_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [I_NAME] = {"name", FM_TYPE_STRING, NULL},
    [I_CAT] = {"cat", FM_TYPE_STRING, NULL},
    [I_SCOPE] = {"s", FM_TYPE_STRING, NULL},
    [I_ID] = {"id", FM_TYPE_STRING, NULL},
    [I_PH] = {"ph", FM_TYPE_STRING, NULL},
};
static const struct fm_chrome_group instant_group = {"i", other_field, I_FIELDS, true};
static const struct fm_chrome_group state_group = {"state", other_field, I_FIELDS, true};
static const struct fm_chrome_group object_group = {"object", other_field, I_FIELDS, false};

/* ------------------------------------------------------------------ instants and the like */

static void set(uint64_t *value, uint64_t *present, uint32_t field, uint64_t lane)
{
    value[field] = lane;
    present[0] |= UINT64_C(1) << field;
}

static void add_other(struct fm_chrome *c, const struct fm_chrome_event *e,
                      const struct fm_chrome_group *group)
{
    uint64_t value[FM_CHROME_FIELDS], present[FM_CHROME_FIELDS / 64] = {0};
    fm_str cat = fm_chrome_str(c, e->field[FM_CHROME_CAT]), id;
    uint32_t class = fm_chrome_class(c, group, cat);
    bool local;
    int64_t ns, end;
    struct fm_json_time until;
    if (class == UINT32_MAX || !fm_json_time_round(e->ts, &ns))
        return;
    set(value, present, I_TS, (uint64_t)ns);
    set(value, present, I_THREAD, fm_chrome_thread_row(c, e->thread));
    set(value, present, I_NAME, fm_chrome_str(c, e->field[FM_CHROME_NAME]));
    set(value, present, I_PH, fm_builder_str(c->builder, &e->phase, 1));
    if (cat)
        set(value, present, I_CAT, cat);
    if (e->field[FM_CHROME_S])
        set(value, present, I_SCOPE, fm_chrome_str(c, e->field[FM_CHROME_S]));
    if (fm_chrome_event_id(c, e, &id, &local))
        set(value, present, I_ID, id);
    if (e->has_dur && fm_json_time_add(e->ts, e->dur, &until) &&
        fm_json_time_round(until, &end)) {
        set(value, present, I_DUR, (uint64_t)end - (uint64_t)ns);
        fm_chrome_seen(c, e->thread, end);
    }
    size_t args = c->args;
    uint32_t chain =
        c->class[class].args ? fm_chrome_args(c, e->field[FM_CHROME_ARGS], 0) : 0;
    fm_chrome_event_stack(c, e, fm_chrome_row(c, class, value, present, chain, e->offset));
    c->args = args;
}

/* ------------------------------------------------------------------ counters */

/* "NAME", "NAME[ID]", each with ".SERIES" when the series has a name. */
static fm_str counter_name(struct fm_chrome *c, fm_str name, fm_str id, bool has_id, fm_str series)
{
    bool fresh;
    uint64_t key = fm_mix(fm_mix(fm_mix(8, name), (uint64_t)has_id << 32 | id), series);
    uint64_t *slot = fm_map_put(&c->counter_map, key, &fresh);
    struct fm_out out;
    size_t n;
    if (!slot)
        return FM_NONE;
    if (!fresh)
        return (fm_str)*slot;
    *slot = FM_NONE;
    if (fm_out_init(&out, c->mem, NULL) != FM_OK)
        return FM_NONE;
    const char *s = fm_builder_str_text(c->builder, name, &n);
    fm_out_bytes(&out, s, n);
    if (has_id) {
        s = fm_builder_str_text(c->builder, id, &n);
        fm_out_char(&out, '[');
        fm_out_bytes(&out, s, n);
        fm_out_char(&out, ']');
    }
    s = fm_builder_str_text(c->builder, series, &n);
    if (n) {
        fm_out_char(&out, '.');
        fm_out_bytes(&out, s, n);
    }
    if (fm_out_finish(&out, NULL) == FM_OK)
        *slot = fm_builder_str(c->builder, out.buf, out.n);
    fm_out_release(&out);
    return (fm_str)*slot;
}

/* A number as JSON and printf write it, also inside quotes: ".75", "246.", "+10.5"; not "1.5e". */
static bool counter_value(const struct fm_json_field *f, double *d)
{
    if (f->kind != FM_JSON_NUMBER && (f->kind != FM_JSON_STRING || f->escaped))
        return false;
    const char *s = f->text;
    size_t n = f->n;
    if (n > 1 && s[0] == '+') {
        s++;
        n--;
    }
    if (n > 1 && s[n - 1] == '.')
        n--;
    return fm_text_f64(s, n, d);
}

static void add_counters(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    uint64_t value[FM_CHROME_FIELDS], present[FM_CHROME_FIELDS / 64] = {0};
    const struct fm_json_field *args = e->field[FM_CHROME_ARGS];
    struct fm_json_object o;
    fm_str name = fm_chrome_str(c, e->field[FM_CHROME_NAME]), id = 0;
    fm_str cat = fm_chrome_str(c, e->field[FM_CHROME_CAT]);
    bool local, has_id = fm_chrome_event_id(c, e, &id, &local);
    uint32_t class = fm_chrome_class(c, &counter_group, cat);
    uint32_t thread = fm_chrome_thread(c, e->field[FM_CHROME_PID], NULL);
    int64_t ns;
    if (class == UINT32_MAX || thread == UINT32_MAX || !fm_json_time_round(e->ts, &ns) || !args ||
        args->kind != FM_JSON_OBJECT || !fm_json_object_read(&o, args->text, args->n))
        return;
    set(value, present, C_TS, (uint64_t)ns);
    set(value, present, C_THREAD, fm_chrome_thread_row(c, thread));
    set(value, present, C_NAME, name);
    if (cat)
        set(value, present, C_CAT, cat);
    if (has_id)
        set(value, present, C_ID, id);
    do {
        for (uint32_t i = 0; i < o.fields; i++) {
            const struct fm_json_field *f = &o.field[i];
            double d;
            if (!counter_value(f, &d))
                continue;
            fm_str series = f->key_n ? fm_builder_str(c->builder, f->key, f->key_n) : 0;
            set(value, present, C_VALUE, fm_f64_bits(d));
            set(value, present, C_SERIES, series);
            set(value, present, C_COUNTER, counter_name(c, name, id, has_id, series));
            fm_chrome_row(c, class, value, present, 0, e->offset);
        }
    } while (fm_json_object_more(&o));
}

void fm_chrome_other(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    const struct fm_json_field *name = e->field[FM_CHROME_NAME];
    switch (e->phase) {
    case 'C': add_counters(c, e); break;
    case 'T': add_other(c, e, &state_group); break;
    case 'i': case 'I': case 'R':
        if (name && name->n == 10 && memcmp(name->text, "CpuProfile", 10) == 0)
            fm_chrome_sample(c, e);
        else
            add_other(c, e, &instant_group);
        break;
    default: add_other(c, e, &object_group); break;
    }
}
