/*
 * settings.c - reads the saved events of a chunk; see settings.h.
 */
#include "import/jfr/settings.h"

#include "import/jfr/chunk.h"
#include "util/text.h"

#define MS UINT64_C(1000000)

enum { SAVED_SETTING, SAVED_RECORDING, SAVED_JVM, SAVED_DATA_LOSS, SAVED_SAMPLES_LOST, SAVED };

#define PICKED 7
static const struct {
    const char *class;
    const char *field[PICKED];
} saved[SAVED] = {
    {"jdk.ActiveSetting", {"startTime", "id", "name", "value"}},
    {"jdk.ActiveRecording", {"startTime", "name"}},
    {"jdk.JVMInformation", {"startTime", "jvmName", "jvmVersion", "jvmArguments",
                            "javaArguments", "jvmStartTime", "pid"}},
    {"jdk.DataLoss", {"startTime", "amount"}},
    {"jdk.CPUTimeSamplesLost", {"startTime", "lostSamples"}},
};

static int saved_kind(const char *class)
{
    for (int i = 0; i < SAVED; i++)
        if (strcmp(class, saved[i].class) == 0)
            return i;
    return -1;
}

bool fm_jfr_is_saved(const char *class_name)
{
    return saved_kind(class_name) >= 0;
}

/* ------------------------------------------------------------------- the writer */

static bool is_kernel(void *user, const struct fm_jfr_entry *entry)
{
    struct fm_jfr_pools *pools = user;
    struct fm_jfr_buf buf = {.mem = pools->mem};
    struct fm_jfr_text text;
    fm_jfr_pool_text(pools, pools->meta->known[FM_JFR_FRAME_TYPE], entry, &buf, &text);
    bool other = text.kind != FM_JFR_TEXT_HERE || text.n != 6 || memcmp(text.s, "Kernel", 6) != 0;
    fm_jfr_buf_release(&buf);
    return other;
}

/* async-profiler and what descends from it know kernel frames; without pools, its metadata id. */
static const char *find_writer(struct fm_jfr_chunk *chunk)
{
    const struct fm_jfr_meta *meta = &chunk->meta;
    uint32_t frame_type = meta->known[FM_JFR_FRAME_TYPE];
    uint32_t sample;
    bool kernel = !fm_jfr_pool_any(&chunk->pools, frame_type, is_kernel, &chunk->pools);
    if (!kernel && !(chunk->pools.entries == 0 && meta->id == 0x7fffffff))
        return "hotspot";
    if (fm_jfr_meta_named(meta, "datadog.ExecutionSample") != FM_JFR_NO_CLASS)
        return "datadog";
    sample = fm_jfr_meta_named(meta, "jdk.ExecutionSample");
    for (uint32_t i = 0; sample != FM_JFR_NO_CLASS && i < meta->class[sample].fields; i++) {
        const char *name = fm_jfr_field_at(meta, &meta->class[sample], i)->name;
        if (strcmp(name, "contextId") == 0 || strcmp(name, "spanName") == 0)
            return "grafana";
    }
    return "async-profiler";
}

/* ------------------------------------------------------------------- settings */

struct reader {
    struct fm_jfr_chunk *chunk;
    struct fm_jfr_feed *feed;
    struct fm_jfr_pick pick[SAVED];
    bool ready[SAVED];
    struct fm_jfr_buf buf[FM_JFR_PICKS];
    int64_t time[8];            /* of the setting that holds, by slot of `setting` */
    uint64_t interval;
    bool has_interval, has_wall;
    int64_t wall;
};

enum {
    SET_PERIOD, SET_NATIVE, SET_THROTTLE, SET_INTERVAL, SET_WALL, SET_EVENT, SET_DATADOG_CPU,
    SET_DATADOG_WALL, SETTINGS
};
static const char *const setting[SETTINGS][2] = {
    {"jdk.ExecutionSample", "period"}, {"jdk.NativeMethodSample", "period"},
    {"jdk.CPUTimeSample", "throttle"}, {"jdk.ExecutionSample", "interval"},
    {"jdk.ExecutionSample", "wall"}, {"jdk.ActiveRecording", "event"},
    {"datadog.ExecutionSample", "interval"}, {"datadog.MethodSample", "interval"}};

/* "20 ms", "10ms"; 0 for anything else ("500/s", "everyChunk"). */
static uint64_t period_of(const char *s, size_t n)
{
    char text[32];
    size_t at = 0;
    int64_t ns;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == ' ')
            continue;
        if (at + 1 >= sizeof text)
            return 0;
        text[at++] = s[i];
    }
    if (at == 0 || (text[at - 1] >= '0' && text[at - 1] <= '9') ||
        !fm_text_time(text, at, &ns) || ns <= 0)
        return 0;
    return (uint64_t)ns;
}

static void take_setting(struct reader *r, int which, const char *s, size_t n)
{
    struct fm_jfr_periods *p = &r->chunk->facts.periods;
    int64_t v;
    switch (which) {
    case SET_PERIOD:
        p->execution = period_of(s, n);
        break;
    case SET_NATIVE:
        p->native_method = period_of(s, n);
        break;
    case SET_THROTTLE:
        p->cpu_time = period_of(s, n);
        break;
    case SET_INTERVAL:
        if (fm_text_u64(s, n, &r->interval))
            r->has_interval = true;
        break;
    case SET_WALL:
        if (fm_text_i64(s, n, &v)) {
            r->has_wall = v >= 0;
            r->wall = v;
        }
        break;
    case SET_DATADOG_CPU:
        (void)fm_text_u64(s, n, &p->datadog_cpu);
        break;
    case SET_DATADOG_WALL:
        (void)fm_text_u64(s, n, &p->datadog_wall);
        break;
    default:
        n = FM_MIN(n, sizeof p->profiled - 1);
        memcpy(p->profiled, s, n);
        p->profiled[n] = '\0';
        break;
    }
}

/* Settings worth a line in `foldmill info`: all of async-profiler's that are on, HotSpot's of
 * sampling. */
static void list_setting(struct reader *r, const char *class, const char *name,
                         const char *value, size_t n)
{
    struct fm_jfr_buf *out = &r->chunk->facts.settings;
    bool sampling = strcmp(name, "period") == 0 || strcmp(name, "throttle") == 0 ||
                    strcmp(name, "interval") == 0 || strcmp(name, "wall") == 0;
    bool own = strcmp(class, "jdk.ActiveRecording") == 0;
    if ((!sampling && !own) || n == 0 || out->n > 1000 ||
        (sampling && strstr(class, "Sample") == NULL))
        return;
    if (out->n > 0)
        (void)fm_jfr_buf_add(out, ", ", 2);
    if (!own) {
        (void)fm_jfr_buf_add(out, class, strlen(class));
        (void)fm_jfr_buf_add(out, "#", 1);
    }
    (void)fm_jfr_buf_add(out, name, strlen(name));
    (void)fm_jfr_buf_add(out, "=", 1);
    (void)fm_jfr_buf_add(out, value, n);
}

static const char *keep_text(struct reader *r, struct fm_jfr_text *text, struct fm_jfr_buf *buf)
{
    fm_jfr_pool_follow(&r->chunk->pools, buf, text);
    if (text->kind != FM_JFR_TEXT_HERE)
        return NULL;
    return fm_arena_strn(&r->chunk->arena, text->s, text->n);
}

static void read_setting(struct reader *r, struct fm_jfr_raw *raw)
{
    const struct fm_jfr_meta *meta = &r->chunk->meta;
    uint32_t class = fm_jfr_meta_find(meta, raw[1].u);
    int64_t time = (int64_t)raw[0].u;
    const char *name;
    if (!raw[1].has || !raw[2].has || !raw[3].has || class == FM_JFR_NO_CLASS)
        return;
    name = keep_text(r, &raw[2].text, &r->buf[2]);
    fm_jfr_pool_follow(&r->chunk->pools, &r->buf[3], &raw[3].text);
    if (name == NULL || raw[3].text.kind != FM_JFR_TEXT_HERE)
        return;
    list_setting(r, meta->class[class].name, name, raw[3].text.s, raw[3].text.n);
    for (int i = 0; i < SETTINGS; i++) {
        if (strcmp(meta->class[class].name, setting[i][0]) != 0 ||
            strcmp(name, setting[i][1]) != 0 || time < r->time[i])
            continue;
        r->time[i] = time;
        r->chunk->facts.periods.given = true;
        take_setting(r, i, raw[3].text.s, raw[3].text.n);
    }
}

static void read_jvm(struct reader *r, struct fm_jfr_raw *raw)
{
    struct fm_jfr_facts *f = &r->chunk->facts;
    const char **text[] = {NULL, &f->jvm_name, &f->jvm_version, &f->jvm_arguments,
                           &f->java_arguments};
    for (size_t i = 1; i < FM_COUNT(text); i++)
        if (raw[i].has)
            *text[i] = keep_text(r, &raw[i].text, &r->buf[i]);
    if (raw[6].has) {
        f->pid = (int64_t)raw[6].u;
        f->jvm_start = (int64_t)raw[5].u;
        f->has_jvm = true;
    }
}

/* Periods in ns out of async-profiler's settings. */
static void settle_profiler(struct reader *r)
{
    struct fm_jfr_periods *p = &r->chunk->facts.periods;
    bool wall = strcmp(p->profiled, "wall") == 0;
    bool timed = wall || p->profiled[0] == '\0' || strcmp(p->profiled, "cpu") == 0 ||
                 strcmp(p->profiled, "ctimer") == 0 || strcmp(p->profiled, "itimer") == 0 ||
                 strcmp(p->profiled, "cpu-clock") == 0;
    if (r->has_interval)
        p->execution = r->interval != 0 ? r->interval : wall ? 50 * MS : timed ? 10 * MS : 0;
    if (r->has_wall)
        p->wall = r->wall != 0 ? (uint64_t)r->wall : 50 * MS;
    else if (wall)
        p->wall = p->execution;
}

static void read_saved(struct reader *r, const struct fm_jfr_saved *s)
{
    struct fm_jfr_chunk *chunk = r->chunk;
    int kind = saved_kind(chunk->meta.class[s->class].name);
    struct fm_cursor c = fm_jfr_cursor_of(s->p, s->n, s->offset, chunk->meta.wide);
    struct fm_jfr_raw raw[FM_JFR_PICKS];
    fm_assert(kind >= 0);
    if (!r->ready[kind]) {
        size_t n = 0;
        while (n < PICKED && saved[kind].field[n] != NULL)
            n++;
        r->ready[kind] = fm_jfr_pick_init(&r->pick[kind], &chunk->meta, s->class,
                                          saved[kind].field, n);
    }
    if (!r->ready[kind] || r->pick[kind].class != s->class ||
        !fm_jfr_pick_read(&r->pick[kind], &c, r->buf, raw))
        return;
    switch (kind) {
    case SAVED_SETTING:
        read_setting(r, raw);
        break;
    case SAVED_RECORDING:
        if (raw[1].has)
            chunk->facts.recording = keep_text(r, &raw[1].text, &r->buf[1]);
        break;
    case SAVED_JVM:
        read_jvm(r, raw);
        break;
    case SAVED_DATA_LOSS:
        fm_jfr_note(r->feed, FM_DIAG_JFR_DATA_LOSS, s->offset, raw[1].has ? raw[1].u : 1);
        break;
    default:
        fm_jfr_note(r->feed, FM_DIAG_LOST_SAMPLES, s->offset, raw[1].has ? raw[1].u : 1);
        break;
    }
}

void fm_jfr_facts_read(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed)
{
    struct reader r = {.chunk = chunk, .feed = feed};
    for (size_t i = 0; i < FM_JFR_PICKS; i++)
        r.buf[i].mem = chunk->mem;
    for (size_t i = 0; i < FM_COUNT(r.time); i++)
        r.time[i] = INT64_MIN;
    chunk->facts.writer = find_writer(chunk);
    for (size_t i = 0; i < chunk->saveds; i++)
        read_saved(&r, &chunk->saved[i]);
    if (strcmp(chunk->facts.writer, "hotspot") != 0)
        settle_profiler(&r);
    for (size_t i = 0; i < FM_JFR_PICKS; i++)
        fm_jfr_buf_release(&r.buf[i]);
}

void fm_jfr_extra_for(const struct fm_jfr_chunk *chunk, const char *class_name,
                      struct fm_jfr_extra *extra)
{
    const struct fm_jfr_periods *p = &chunk->periods;
    memset(extra, 0, sizeof *extra);
    extra->writer = chunk->facts.writer;
    extra->wall_period = p->wall;
    if (p->profiled[0] != '\0')
        extra->profiled = p->profiled;
    if (strcmp(class_name, "jdk.ExecutionSample") == 0)
        extra->period = p->execution;
    else if (strcmp(class_name, "datadog.ExecutionSample") == 0)
        extra->period = p->datadog_cpu;
    else if (strcmp(class_name, "datadog.MethodSample") == 0)
        extra->period = p->datadog_wall;
    else if (strcmp(class_name, "jdk.NativeMethodSample") == 0)
        extra->period = p->native_method;
    else if (strcmp(class_name, "jdk.CPUTimeSample") == 0)
        extra->period = p->cpu_time;
    else if (strcmp(class_name, "profiler.WallClockSample") == 0)
        extra->period = p->wall;
}
