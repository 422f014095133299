/*
 * fuzz_json.c - any bytes as JSON: tokens, items, numbers. What is read must not depend on windows
 * or on how bytes are searched; pieces must be in order and inside of the input.
 *
 * Words for a fuzzer that makes inputs: json.dict.
 */
#include "util/json_inner.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "json";

struct source {
    const uint8_t *data;
    size_t n, at, step;
    unsigned char *window;
};

static void demand(bool ok)
{
    if (!ok)
        abort();
}

static bool more(void *user, size_t used, size_t need, const unsigned char **data, size_t *n)
{
    struct source *s = user;
    demand(used <= s->n - s->at);
    s->at += used;
    *n = FM_MIN(need + s->step, s->n - s->at);
    unsigned char *fresh = malloc(*n + 1); /* of its own: sanitizers see each step */
    demand(fresh != NULL);
    memcpy(fresh, s->data + s->at, *n);
    free(s->window);
    s->window = realloc(fresh, *n ? *n : 1);
    *data = s->window;
    return s->window != NULL;
}

static void mix(uint64_t *sum, uint64_t v)
{
    *sum = (*sum ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    *sum ^= *sum >> 29;
}

static void mix_text(uint64_t *sum, const char *s, size_t n)
{
    mix(sum, n);
    for (size_t i = 0; i < n; i++)
        mix(sum, (unsigned char)s[i]);
}

static void numbers(uint64_t *sum, const char *s, size_t n)
{
    struct fm_json_time t;
    int64_t v;
    if (fm_json_scaled(s, n, 1000, &v))
        mix(sum, (uint64_t)v);
    if (fm_json_micros(s, n, &t)) {
        demand(t.ps < 1000 && t.rest < 1000000000);
        mix(sum, (uint64_t)t.ns + t.ps);
        if (fm_json_time_add(t, t, &t) && fm_json_time_round(t, &v))
            mix(sum, (uint64_t)v);
    }
}

static void members(uint64_t *sum, struct fm_json_object *o, uint64_t n, unsigned depth)
{
    do
        for (uint32_t i = 0; i < o->fields; i++) {
            const struct fm_json_field *f = &o->field[i];
            mix(sum, f->name);
            mix(sum, f->kind);
            mix_text(sum, f->key, f->key_n);
            mix_text(sum, f->text, f->n);
            demand(f->text >= o->text && f->text + f->n <= o->text + o->bytes);
            demand(f->n <= n);
            if (f->kind == FM_JSON_NUMBER || f->kind == FM_JSON_STRING)
                numbers(sum, f->text, f->n);
            struct fm_json_object *inner = f->kind == FM_JSON_OBJECT && depth < 3
                                               ? malloc(sizeof *inner) : NULL;
            if (inner && fm_json_object_read(inner, f->text, f->n))
                members(sum, inner, f->n, depth + 1);
            free(inner);
        }
    while (o->rest && fm_json_object_more(o));
}

/* All items of the array that was opened. */
static bool items(uint64_t *sum, struct fm_json *j, size_t n)
{
    static struct fm_json_object o;
    enum fm_json_item item;
    uint64_t end = j->at;
    while ((item = fm_json_item(j, &o)) > FM_JSON_ITEM_END) {
        demand(o.at >= end && o.bytes > 0 && o.bytes <= n - o.at);
        end = o.at + o.bytes;
        mix(sum, (uint64_t)item + 1);
        mix(sum, o.at);
        mix(sum, o.bytes);
        mix(sum, o.resumed);
        if (item == FM_JSON_ITEM_LOST)
            mix(sum, o.damage);
        if (item == FM_JSON_ITEM_OBJECT)
            members(sum, &o, n, 0);
    }
    mix(sum, (uint64_t)item + 1);
    if (item == FM_JSON_ITEM_CUT) {
        mix(sum, j->state);
        mix(sum, o.at + o.bytes);
    }
    return item == FM_JSON_ITEM_END;
}

/* Everything; `by_item`: arrays within an object, or outermost ones, an item at a time. */
static uint64_t read_all(struct fm_json *j, size_t n, bool by_item)
{
    enum fm_json_token t;
    uint64_t sum = 1;
    while ((t = fm_json_next(j)) > FM_JSON_END) {
        mix(&sum, (uint64_t)t);
        mix(&sum, j->at);
        demand(j->at <= n);
        if (t == FM_JSON_KEY || t == FM_JSON_STRING || t == FM_JSON_NUMBER)
            mix_text(&sum, j->text, j->n);
        if (t == FM_JSON_ARRAY && by_item && j->depth < 3 && !items(&sum, j, n))
            break;
        if ((t == FM_JSON_OBJECT || t == FM_JSON_ARRAY) && j->depth == 5 && !fm_json_skip(j, t))
            break;
    }
    mix(&sum, (uint64_t)j->error);
    mix(&sum, (uint64_t)j->state);
    if (j->error == FM_JSON_SYNTAX)
        mix(&sum, fm_json_line(j, j->at));
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const size_t steps[] = {0, 7, 64, 4096};
    static struct fm_json j;
    for (int by_item = 0; by_item < 2; by_item++) {
        bool known = true;
        fm_json_init_memory(&j, data, n);
        uint64_t expected = read_all(&j, n, by_item);
        for (unsigned v = 0; known; v++) {
            const struct fm_json_vector *vector = fm_json_vector_get(v, &known);
            for (size_t k = 0; vector && k < FM_COUNT(steps); k++) {
                struct source s = {.data = data, .n = n, .step = steps[k]};
                fm_json_init(&j, more, &s);
                j.vector = vector;
                demand(read_all(&j, n, by_item) == expected);
                free(s.window);
            }
        }
    }
    numbers(&(uint64_t){1}, (const char *)data, n);
    return 0;
}
