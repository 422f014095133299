/*
 * jfrfold.c - folded stacks from the right values of a recording; see jfrfold.h.
 *
 * How the converter's output differs from the values, and is worked out here beside them:
 *
 *   samples without a stack are left out                         right: a [no stack] frame
 *   a frame's suffix is a vote over all samples of its node:     right: each sample's own
 *     _[i] when inlined in 1/3 of them, else _[1], _[0] in 1/2
 *   cut stacks look like whole ones                              right: [truncated] at the root
 *   the method of JDK 25's MethodTrace is left out               right: the leaf
 *   leak: what was allocated in the last tenth of the time is    right: in
 *     left out
 *   threads are "[name tid=KEY]", and a character beyond U+FFFF      right: the name as it is
 *     comes as two U+FFFD                                        (its number when it is empty)
 *   norm cuts a lambda's address and leaves its number           right: cut behind $$Lambda
 *   simple leaves the package of HotSpot's lambdas               right: gone; the left of both is
 *                                                                  --names jfrconv
 *   a line or bytecode of -1 is 65535                            right: none
 *   wall has HotSpot's samples: their threads are "runnable", too  right: async-profiler's alone
 *   ';' in names stays                                           right: ':'
 */
#include "jfrfold.h"

#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_MAX_BYTES (1u << 20)   /* the deepest stacks of the folder need 100 KB */
#define CLASS_MAX_BYTES 8192

enum { INTERPRETED, JIT, INLINED, NATIVE, CPP, KERNEL, C1 };
static const char *const type_name[] = {"Interpreted", "JIT compiled", "Inlined", "Native", "C++",
                                        "Kernel", "C1 compiled"};
static const char *const suffix[] = {"_[0]", "_[j]", "_[i]", "", "", "_[k]", "_[1]"};

static void *more(void *v, size_t n, size_t size)
{
    v = realloc(v, n * size);
    if (v == NULL) {
        fprintf(stderr, "no memory\n");
        exit(99);
    }
    return v;
}

/* -------------------------------------------------------------------- lines */

void fold_add(struct fold *fold, const char *text, size_t n, uint64_t count)
{
    if (fold->lines == fold->cap) {
        fold->cap = fold->cap != 0 ? 2 * fold->cap : 256;
        fold->line = more(fold->line, fold->cap, sizeof *fold->line);
    }
    fold->line[fold->lines].text = more(NULL, n + 1, 1);
    memcpy(fold->line[fold->lines].text, text, n);
    fold->line[fold->lines].text[n] = '\0';
    fold->line[fold->lines].samples = 0;
    fold->line[fold->lines++].n = count;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct fold_line *)a)->text, ((const struct fold_line *)b)->text);
}

void fold_merge(struct fold *fold)
{
    size_t to = 0;

    if (fold->lines == 0)
        return;
    qsort(fold->line, fold->lines, sizeof *fold->line, by_text);
    for (size_t i = 0; i < fold->lines; i++) {
        if (to > 0 && strcmp(fold->line[to - 1].text, fold->line[i].text) == 0) {
            fold->line[to - 1].n += fold->line[i].n;
            fold->line[to - 1].samples += fold->line[i].samples;
            free(fold->line[i].text);
        } else {
            fold->line[to++] = fold->line[i];
        }
    }
    fold->lines = to;
}

bool fold_read(struct fold *fold, const char *data, size_t n)
{
    for (size_t i = 0; i < n;) {
        const char *end = memchr(data + i, '\n', n - i);
        size_t len = end != NULL ? (size_t)(end - data) - i : n - i, cut = len;
        uint64_t count;
        while (cut > 0 && data[i + cut - 1] != ' ')
            cut--;
        if (cut == 0 || !fm_text_u64(data + i + cut, len - cut, &count))
            return false;
        fold_add(fold, data + i, cut - 1, count);
        i += len + 1;
    }
    return true;
}

/* Whether the line's first frame is the name of a thread. */
static bool is_thread(const struct jx *x, const char *line)
{
    size_t n = strcspn(line, ";");

    for (size_t i = 0; i < x->threads; i++) {
        const char *name = x->thread[i].java != NULL ? x->thread[i].java : x->thread[i].os;
        if (name != NULL && strlen(name) == n && memcmp(name, line, n) == 0)
            return true;
    }
    return false;
}

/* "[name tid=12];..." -> "[name];..."; threads without a name are "[tid=26]", of which the values
 * have nothing, so they are all "[tid=]". */
void fold_drop_tids(struct fold *fold, const struct jx *x)
{
    for (size_t i = 0; i < fold->lines; i++) {
        char *s = fold->line[i].text, *tid = s, *at = NULL, *end;
        if (s[0] != '[')
            continue;
        if (strncmp(s, "[tid=", 5) == 0 && !is_thread(x, s)) {
            end = s + strcspn(s, "]");
            memmove(s + 5, end, strlen(end) + 1);
            continue;
        }
        while ((tid = strstr(tid, " tid=")) != NULL) {
            end = tid + 5 + strspn(tid + 5, "0123456789");
            if (end[0] == ']' && (end[1] == ';' || end[1] == '\0')) {
                at = tid;
                break;
            }
            tid++;
        }
        if (at != NULL)
            memmove(at, end, strlen(end) + 1);
    }
    fold_merge(fold);
}

void fold_free(struct fold *fold)
{
    for (size_t i = 0; i < fold->lines; i++)
        free(fold->line[i].text);
    free(fold->line);
    memset(fold, 0, sizeof *fold);
}

/* ------------------------------------------------------------------ options */

bool fold_parse(struct fold_how *how, const char *text, size_t n)
{
    size_t len = 0;
    bool first = true;

    memset(how, 0, sizeof *how);
    for (size_t i = 0; i <= n; i += len + 1, first = false) {
        const char *end = memchr(text + i, '-', n - i);
        char w[16];
        len = end != NULL ? (size_t)(end - text) - i : n - i;
        if (len >= sizeof w)
            return false;
        memcpy(w, text + i, len);
        w[len] = '\0';
        if (first)
            memcpy(how->mode, w, sizeof w);
        else if (strcmp(w, "threads") == 0)
            how->threads = true;
        else if (strcmp(w, "lines") == 0)
            how->lines = true;
        else if (strcmp(w, "total") == 0)
            how->total = true;
        else if (strcmp(w, "bci") == 0)
            how->bci = true;
        else if (strcmp(w, "dot") == 0)
            how->dot = true;
        else if (strcmp(w, "simple") == 0)
            how->simple = true;
        else if (strcmp(w, "norm") == 0)
            how->norm = true;
        else if (strcmp(w, "classify") == 0)
            how->classify = true;
        else
            return false;
    }
    return true;
}

/* -------------------------------------------------------------------- names */

struct name {
    char s[LINE_MAX_BYTES];
    size_t n;
};

static void put(struct name *o, const char *s, size_t n)
{
    if (n > sizeof o->s - 1 - o->n)
        n = sizeof o->s - 1 - o->n;
    memcpy(o->s + o->n, s, n);
    o->n += n;
    o->s[o->n] = '\0';
}

static void put_text(struct name *o, const char *s)
{
    put(o, s, strlen(s));
}

/* Where a class name without its package begins: "/27319466" belongs to a lambda. */
static size_t simple_start(const char *s, size_t n, bool dots)
{
    for (size_t i = n; i-- > 1;) {
        bool digit = s[i] >= '0' && s[i] <= '9';
        if ((s[i - 1] == '/' || (dots && s[i - 1] == '.')) && !digit)
            return i;
    }
    return 0;
}

/* How long the name is without what changes from run to run. */
static size_t normal_length(const char *s, size_t n, bool converter)
{
    const char *hit = strstr(s, "$$Lambda"), *form = strstr(s, "LambdaForm$");
    size_t i;

    if (hit != NULL && !converter)
        return (size_t)(hit - s) + 8;
    if (hit == NULL)
        hit = form != NULL ? form + 11 : NULL;
    if (hit == NULL)
        return n;
    for (i = (size_t)(hit - s); i + 2 < n; i++) {
        if ((s[i] == '+' || s[i] == '.' || s[i] == '/') && s[i + 1] == '0' && s[i + 2] == 'x')
            return i;
    }
    return n;
}

static void put_class(struct name *o, const char *s, const struct fold_how *how, char slash)
{
    size_t n = strlen(s), from = 0;

    if (how->norm)
        n = normal_length(s, n, how->jfrconv);
    if (how->simple) /* HotSpot's recorder writes lambda classes with dots */
        from = simple_start(s, n, !how->jfrconv && strstr(s, "$$Lambda") != NULL);
    for (size_t i = from; i < n; i++)
        put(o, s[i] == '/' ? &slash : s + i, 1);
}

/* A class as a frame below the leaf: "[[Ljava/lang/String;" is java.lang.String[][]. */
static void put_leaf_class(struct name *o, const char *s, const struct fold_how *how)
{
    static const char letter[] = "BCDFIJSZ";
    static const char *const primitive[] = {"byte", "char", "double", "float", "int", "long",
                                            "short", "boolean"};
    size_t dims = strspn(s, "[");
    const char *at = s[dims] != '\0' ? strchr(letter, s[dims]) : NULL;
    char plain[CLASS_MAX_BYTES];

    if (dims == 0) {
        put_class(o, s, how, '.');
    } else if (at != NULL && s[dims + 1] == '\0') {
        put_text(o, primitive[at - letter]);
    } else {
        snprintf(plain, sizeof plain, "%s", s + dims + (s[dims] == 'L'));
        if (plain[0] != '\0' && plain[strlen(plain) - 1] == ';')
            plain[strlen(plain) - 1] = '\0';
        put_class(o, plain, how, '.');
    }
    while (dims-- > 0)
        put_text(o, "[]");
}

void fold_class(char *to, size_t size, const char *symbol)
{
    static const struct fold_how plain;
    static struct name o;

    o.n = 0;
    o.s[0] = '\0';
    put_leaf_class(&o, symbol, &plain);
    snprintf(to, size, "%s", o.s);
}

static unsigned frame_type(const struct jx_frame *f)
{
    for (unsigned i = 0; f->type != NULL && i < 7; i++) {
        if (strcmp(f->type, type_name[i]) == 0)
            return i;
    }
    return NATIVE;
}

/* C functions and kernel frames have no class: what stands there is a library. */
static bool is_native(const struct jx_frame *f)
{
    return f->descriptor != NULL && (strcmp(f->descriptor, "()L;") == 0 ||
                                     strcmp(f->descriptor, "(Lk;)L;") == 0);
}

static void put_frame(struct name *o, const struct jx_frame *f, const struct fold_how *how)
{
    const char *class = f->class != NULL ? f->class : "";
    const char *method = f->method != NULL ? f->method : "";
    unsigned type = frame_type(f);
    char buf[32];

    o->n = 0;
    if (class[0] == '\0' || (type >= NATIVE && type <= KERNEL && is_native(f))) {
        put_text(o, method);
        return;
    }
    put_class(o, class, how, how->dot ? '.' : '/');
    if (method[0] != '\0') {
        put_text(o, ".");
        put_text(o, method);
    }
    if (how->lines && (f->line & 0xffff) != 0 && (how->converter || f->line > 0)) {
        snprintf(buf, sizeof buf, ":%d", (int)(f->line & 0xffff));
        put_text(o, buf);
    }
    if (how->bci && (f->bci & 0xffff) != 0 && (how->converter || f->bci > 0)) {
        snprintf(buf, sizeof buf, "@%d", (int)(f->bci & 0xffff));
        put_text(o, buf);
    }
}

/* ------------------------------------------------------------------ samples */

struct sample {
    const struct jx_event *e;
    uint64_t ticks;
    const char *class;           /* frame below the leaf, or NULL */
    unsigned class_type;
};

static bool is(const struct jx_event *e, const char *type)
{
    const char *name = e->type;

    if (strncmp(name, "com.oracle.", 11) == 0)
        name += 11;
    return strcmp(name, type) == 0;
}

static bool state_is_default(const struct jx_event *e)
{
    return e->state != NULL && strcmp(e->state, "STATE_DEFAULT") == 0;
}

static uint64_t number(const struct jx_event *e, enum jx_number i)
{
    return (uint64_t)e->number[i];
}

/* Whether the event is of the mode; its value and the class that is shown. */
static bool take(const struct jx_event *e, const char *mode, uint64_t *value, struct sample *s)
{
    bool execution = is(e, "jdk.ExecutionSample");

    s->class = NULL;
    s->class_type = INLINED;
    *value = 1;
    if (strcmp(mode, "cpu") == 0)
        return execution && state_is_default(e);
    if (strcmp(mode, "exec") == 0)
        return execution || is(e, "jdk.NativeMethodSample");
    if (strcmp(mode, "cputime") == 0)
        return is(e, "jdk.CPUTimeSample");
    if (strcmp(mode, "wall") == 0)
        return is(e, "profiler.WallClockSample") || (execution && !state_is_default(e)) ||
               is(e, "jdk.NativeMethodSample");
    if (strcmp(mode, "alloc") == 0) {
        bool tlab = is(e, "jdk.ObjectAllocationInNewTLAB");
        s->class = e->class;
        s->class_type = tlab ? INLINED : KERNEL;
        *value = tlab ? number(e, JX_TLAB) : number(e, JX_ALLOC_SIZE);
        if (is(e, "jdk.ObjectAllocationSample"))
            *value = number(e, JX_WEIGHT);
        return tlab || is(e, "jdk.ObjectAllocationOutsideTLAB") ||
               is(e, "jdk.ObjectAllocationSample");
    }
    if (strcmp(mode, "live") == 0) {
        s->class = e->class;
        *value = number(e, JX_ALLOC_SIZE);
        return is(e, "profiler.LiveObject");
    }
    if (strcmp(mode, "nativemem") == 0 || strcmp(mode, "leak") == 0) {
        *value = number(e, JX_SIZE);
        return is(e, "profiler.Malloc");
    }
    *value = (uint64_t)e->dur;
    if (strcmp(mode, "lock") == 0) {
        s->class = e->class;
        return is(e, "jdk.JavaMonitorEnter") || is(e, "jdk.ThreadPark");
    }
    return strcmp(mode, "nativelock") == 0 ? is(e, "profiler.NativeLock")
                                           : is(e, "jdk.MethodTrace");
}

/* Malloc and Free by address and time; equal times keep the order of the file. */
static const struct jx *sorting;

static int by_address(const void *a, const void *b)
{
    const struct jx_event *x = &sorting->event[*(const size_t *)a];
    const struct jx_event *y = &sorting->event[*(const size_t *)b];

    if (x->number[JX_ADDRESS] != y->number[JX_ADDRESS])
        return x->number[JX_ADDRESS] < y->number[JX_ADDRESS] ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return *(const size_t *)a < *(const size_t *)b ? -1 : 1;
}

/* The last event of each address when it is a Malloc. */
static bool *leaks(const struct jx *x, bool converter)
{
    bool *leak = calloc(x->events + 1, 1);
    size_t *order = more(NULL, x->events + 1, sizeof *order), n = 0;
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < x->events; i++) {
        if (is(&x->event[i], "profiler.Malloc") || is(&x->event[i], "profiler.Free")) {
            order[n++] = i;
            first = FM_MIN(first, x->event[i].start);
            last = FM_MAX(last, x->event[i].start);
        }
    }
    sorting = x;
    qsort(order, n, sizeof *order, by_address);
    for (size_t i = 0; i < n; i++) {
        const struct jx_event *e = &x->event[order[i]];
        bool is_last = i + 1 == n ||
                       x->event[order[i + 1]].number[JX_ADDRESS] != e->number[JX_ADDRESS];
        if (is_last && is(e, "profiler.Malloc") &&
            (!converter || e->start <= last - (last - first) / 10))
            leak[order[i]] = true;
    }
    free(order);
    return leak;
}

/* -------------------------------------------------------- the converter's way */

struct node {
    char *name;
    unsigned type;
    size_t child, sibling;       /* 0 none */
    uint64_t total, self, samples, inlined, c1, interpreted;
};

struct tree {
    struct node *node;
    size_t n, cap;
};

static size_t child(struct tree *t, size_t parent, const char *name, unsigned type, uint64_t ticks)
{
    bool java = type == INTERPRETED || type == INLINED || type == C1;
    unsigned key = java ? JIT : type;
    size_t i = t->n > parent ? t->node[parent].child : 0;

    while (i != 0 && (t->node[i].type != key || strcmp(t->node[i].name, name) != 0))
        i = t->node[i].sibling;
    if (i == 0) {
        if (t->n == t->cap) {
            t->cap = t->cap != 0 ? 2 * t->cap : 1024;
            t->node = more(t->node, t->cap, sizeof *t->node);
        }
        i = t->n++;
        memset(&t->node[i], 0, sizeof t->node[i]);
        t->node[i].name = more(NULL, strlen(name) + 1, 1);
        strcpy(t->node[i].name, name);
        t->node[i].type = key;
        if (i != parent) {
            t->node[i].sibling = t->node[parent].child;
            t->node[parent].child = i;
        }
    }
    t->node[i].total += ticks;
    t->node[i].inlined += type == INLINED ? ticks : 0;
    t->node[i].c1 += type == C1 ? ticks : 0;
    t->node[i].interpreted += type == INTERPRETED ? ticks : 0;
    return i;
}

static unsigned voted(const struct node *n)
{
    if (n->inlined != 0 && n->inlined * 3 >= n->total)
        return INLINED;
    if (n->c1 != 0 && n->c1 * 2 >= n->total)
        return C1;
    if (n->interpreted != 0 && n->interpreted * 2 >= n->total)
        return INTERPRETED;
    return n->type;
}

static void print_tree(const struct tree *t, size_t i, struct fold *fold, struct name *line)
{
    for (size_t k = t->node[i].child; k != 0; k = t->node[k].sibling) {
        size_t n = line->n;
        if (n > 0)
            put_text(line, ";");
        put_text(line, t->node[k].name);
        put_text(line, suffix[voted(&t->node[k])]);
        if (t->node[k].self > 0) {
            fold_add(fold, line->s, line->n, t->node[k].self);
            fold->line[fold->lines - 1].samples = t->node[k].samples;
        }
        print_tree(t, k, fold, line);
        line->n = n;
    }
}

/* ------------------------------------------------------------------ together */

static const char *thread_text(const struct jx *x, const struct jx_event *e)
{
    const struct jx_thread *t;

    if (e->thread >= JX_ABSENT)
        return NULL;
    t = &x->thread[e->thread];
    return t->java != NULL ? t->java : t->os;
}

/* "[name tid=PLACE]": each thread of the table apart, as the converter's keys do. */
static void put_converter_thread(struct name *o, const struct jx *x, const struct jx_event *e)
{
    const char *s = thread_text(x, e);
    char buf[48];

    o->n = 0;
    if (s == NULL)
        s = "[tid=]";
    if (strncmp(s, "[tid=", 5) == 0) { /* names of all such threads are one frame */
        put_text(o, s);
        return;
    }
    put_text(o, "[");
    for (; *s != '\0'; s++) {
        if ((unsigned char)*s >= 0xf0) {
            put_text(o, "\xef\xbf\xbd\xef\xbf\xbd");
            s += 3;
        } else {
            put(o, s, 1);
        }
    }
    snprintf(buf, sizeof buf, " tid=%zu]", e->thread);
    put_text(o, buf);
}

static void put_cleaned(struct name *o, const char *s)
{
    for (; *s != '\0'; s++) {
        char buf[8];
        unsigned char c = (unsigned char)*s;
        if (c == ';') {
            put_text(o, ":");
        } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
            snprintf(buf, sizeof buf, "\\x%02x", c);
            put_text(o, buf);
        } else {
            put(o, s, 1);
        }
    }
}

/* "app/Work.run(I)V" without the descriptor; until the next call. */
static const char *method_name(const char *method)
{
    static char s[CLASS_MAX_BYTES];

    snprintf(s, sizeof s, "%.*s", (int)strcspn(method, "("), method);
    return s;
}

static void right_line(struct fold *fold, const struct jx *x, const struct sample *s,
                       const struct fold_how *how)
{
    static struct name line, frame;
    const struct jx_event *e = s->e;
    const struct jx_stack *stack = e->stack < x->stacks ? &x->stack[e->stack] : NULL;
    const char *thread = thread_text(x, e);
    char number[40];

    line.n = 0;
    if (how->threads) {
        if (e->thread < x->threads && x->thread[e->thread].is_virtual)
            snprintf(number, sizeof number, "virtual-%" PRId64, x->thread[e->thread].java_id);
        else
            snprintf(number, sizeof number, "%" PRId64,
                     e->thread < x->threads ? x->thread[e->thread].os_id : 0);
        put_cleaned(&line, thread == NULL ? "[no thread]" : thread[0] == '\0' ? number : thread);
        put_text(&line, ";");
    }
    if (stack == NULL)
        put_text(&line, "[no stack];");
    else if (stack->truncated)
        put_text(&line, "[truncated];");
    for (size_t i = stack != NULL ? stack->frames : 0; i-- > 0;) {
        put_frame(&frame, &stack->frame[i], how);
        put_cleaned(&line, frame.s);
        put_text(&line, suffix[frame_type(&stack->frame[i])]);
        put_text(&line, ";");
    }
    if (is(e, "jdk.MethodTrace") && e->method != NULL) {
        put_cleaned(&line, method_name(e->method));
        put_text(&line, ";");
    }
    if (s->class != NULL) {
        frame.n = 0;
        put_leaf_class(&frame, s->class, how);
        put_cleaned(&line, frame.s);
        put_text(&line, suffix[s->class_type]);
        put_text(&line, ";");
    }
    fold_add(fold, line.s, line.n - 1, s->ticks);
    fold->line[fold->lines - 1].samples = 1;
}

static void converter_sample(struct tree *tree, const struct jx *x, const struct sample *s,
                             const struct fold_how *how)
{
    static struct name frame;
    const struct jx_stack *stack;
    size_t at = 0;

    if (s->e->stack >= JX_ABSENT)
        return;
    stack = &x->stack[s->e->stack];
    if (how->threads) {
        put_converter_thread(&frame, x, s->e);
        at = child(tree, at, frame.s, NATIVE, s->ticks);
    }
    for (size_t i = stack->frames; i-- > 0;) {
        put_frame(&frame, &stack->frame[i], how);
        at = child(tree, at, frame.s, frame_type(&stack->frame[i]), s->ticks);
    }
    if (s->class != NULL) {
        frame.n = 0;
        put_leaf_class(&frame, s->class, how);
        at = child(tree, at, frame.s, s->class_type, s->ticks);
    }
    tree->node[at].self += s->ticks;
    tree->node[at].samples++;
}

uint64_t fold_stackless(const struct jx *x, const struct fold_how *how)
{
    uint64_t sum = 0, value;
    struct sample s;

    for (size_t i = 0; i < x->events; i++) {
        const struct jx_event *e = &x->event[i];
        if (e->stack >= JX_ABSENT && take(e, how->mode, &value, &s))
            sum += how->total ? value : 1;
    }
    return sum;
}

/* Whether a recording of the JVM's own holds samples: only those have NativeMethodSample. */
static bool is_hotspot(const struct jx *x)
{
    for (size_t i = 0; i < x->counts; i++) {
        if (strcmp(x->count[i].type, "jdk.NativeMethodSample") == 0)
            return true;
    }
    return false;
}

void fold_from(struct fold *fold, const struct jx *x, const struct fold_how *how)
{
    static struct name line;
    struct tree tree = {0};
    bool *leak = strcmp(how->mode, "leak") == 0 ? leaks(x, how->converter) : NULL;
    bool skip = strcmp(how->mode, "wall") == 0 && !how->converter && is_hotspot(x);

    (void)child(&tree, 0, "", NATIVE, 0);
    for (size_t i = 0; i < x->events; i++) {
        struct sample s = {.e = &x->event[i]};
        uint64_t value;
        if (!take(s.e, how->mode, &value, &s) || (leak != NULL && !leak[i]))
            continue;
        if (skip && !is(s.e, "profiler.WallClockSample"))
            continue;
        s.ticks = how->total ? value : 1;
        if (!how->total && (s.e->has & 1u << JX_SAMPLES) != 0)
            s.ticks = number(s.e, JX_SAMPLES);
        if (how->converter)
            converter_sample(&tree, x, &s, how);
        else
            right_line(fold, x, &s, how);
    }
    line.n = 0;
    if (how->converter)
        print_tree(&tree, 0, fold, &line);
    for (size_t i = 0; i < tree.n; i++)
        free(tree.node[i].name);
    free(tree.node);
    free(leak);
    fold_merge(fold);
}
