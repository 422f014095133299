/*
 * sample.c - sampled profiles inside traces: told apart and counted.
 */
#include "import/chrome/chrome.h"

#include "util/error.h"

void fm_chrome_sample(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    fm_event_unmapped(c->binding, "P", e->offset);
}

void fm_chrome_frames(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    fm_event_unmapped(c->binding, "stackFrames", e->offset);
}

int fm_chrome_key(struct fm_chrome *c, struct fm_json *json, const char *key, size_t n)
{
    (void)c, (void)json, (void)key, (void)n;
    return 0;
}

bool fm_chrome_samples_finish(struct fm_chrome *c)
{
    return !c->oom;
}

void fm_chrome_samples_release(struct fm_chrome *c)
{
    (void)c;
}

bool fm_chrome_html(struct fm_chrome *c)
{
    c->read = fm_error_at(c->err, FM_UNSUPPORTED, fm_input_name(c->import->input), 0,
                          "is an HTML page");
    return false;
}
