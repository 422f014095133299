/*
 * trend.c - the gate on a value's change: see trend.h.
 */
#include "report/trend.h"

#include "report/axis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SIGMA_OF_MAD 1.4826

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Halves first: the sum of two large values is no value. */
static double middle(const double *v, size_t n)
{
    return n % 2 != 0 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
}

double fm_trend_median(double *v, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(v, n, sizeof *v, by_value);
    return middle(v, n);
}

enum fm_status fm_trend_baseline(struct fm_mem *mem, const double *v, size_t n,
                                 struct fm_trend_base *base)
{
    size_t bytes, kept = 0;
    double *copy;

    memset(base, 0, sizeof *base);
    if (n == 0)
        return FM_OK;
    if (!fm_mul_size(n, sizeof *copy, &bytes))
        return FM_NOMEM;
    copy = fm_mem_alloc(mem, bytes);
    if (copy == NULL)
        return FM_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i]))
            copy[kept++] = v[i];
    base->n = kept;
    if (kept > 0) {
        base->median = fm_trend_median(copy, kept);
        for (size_t i = 0; i < kept; i++)
            copy[i] = fabs(copy[i] - base->median);
        base->mad = fm_trend_median(copy, kept);
    }
    fm_mem_free(mem, copy, bytes);
    return FM_OK;
}

static double noise_of(const struct fm_trend *t)
{
    return t->rule.k * SIGMA_OF_MAD * t->base.mad;
}

void fm_trend_judge(const struct fm_trend_rule *rule, const struct fm_trend_base *base,
                    double value, struct fm_trend *t)
{
    memset(t, 0, sizeof *t);
    t->rule = *rule;
    t->base = *base;
    t->value = isfinite(value) ? value : NAN;
    t->allowed = fmax(noise_of(t), rule->share * fabs(base->median));
    t->limit = rule->lower ? base->median - t->allowed : base->median + t->allowed;
    t->change = base->n > 0 && base->median != 0
                    ? (t->value - base->median) / fabs(base->median)
                    : NAN;
    if (isnan(t->value))
        t->verdict = FM_TREND_NONE;
    else if (base->n < FM_MAX(rule->min, (size_t)1))
        t->verdict = FM_TREND_FEW;
    else if (rule->lower ? t->value < t->limit : t->value > t->limit)
        t->verdict = FM_TREND_FAIL;
    else
        t->verdict = FM_TREND_PASS;
}

const char *fm_trend_word(enum fm_trend_verdict verdict)
{
    static const char *const word[] = {"pass", "fail", "few", "none"};

    return word[verdict];
}

/* "+12.7% over the median 1.1 s of 7" */
static void put_change(const struct fm_trend *t, const char *unit, char *buf, size_t room)
{
    char value[FM_AXIS_TEXT], median[FM_AXIS_TEXT], change[FM_AXIS_TEXT];
    const char *side = t->value > t->base.median ? "over" : "under";

    fm_axis_quantity(t->value, unit, value);
    fm_axis_quantity(t->base.median, unit, median);
    if (t->value == t->base.median)
        snprintf(buf, room, "%s is the median of %zu", value, t->base.n);
    else if (isnan(t->change))
        snprintf(buf, room, "%s is %s the median %s of %zu", value, side, median, t->base.n);
    else
        snprintf(buf, room, "%s is %s %s the median %s of %zu", value,
                 fm_axis_change(t->change, change), side, median, t->base.n);
}

size_t fm_trend_explain(const struct fm_trend *t, const char *unit, char *buf, size_t room)
{
    char first[256], limit[FM_AXIS_TEXT], noise[FM_AXIS_TEXT], share[FM_AXIS_TEXT];
    char sigma[FM_AXIS_TEXT];
    int n;

    if (t->verdict != FM_TREND_NONE && t->base.n > 0)
        put_change(t, unit, first, sizeof first);
    if (t->verdict == FM_TREND_NONE)
        n = snprintf(buf, room, "there is no value to judge");
    else if (t->base.n == 0)
        n = snprintf(buf, room, "%s is not judged: the baseline has no values",
                     fm_axis_quantity(t->value, unit, limit));
    else if (t->verdict == FM_TREND_FEW)
        n = snprintf(buf, room, "%s, not judged: a baseline of at least %zu is asked for", first,
                     t->rule.min);
    else
        n = snprintf(buf, room, "%s, %s the limit %s (%s is worse; allowed: %s or %s sigma = %s)",
                     first, t->verdict == FM_TREND_FAIL ? "past" : "within",
                     fm_axis_quantity(t->limit, unit, limit),
                     t->rule.lower ? "lower" : "higher",
                     fm_axis_quantity(t->rule.share, "share", share),
                     fm_axis_quantity(t->rule.k, "", sigma),
                     fm_axis_quantity(noise_of(t), unit, noise));
    return (size_t)FM_MAX(n, 0);
}
