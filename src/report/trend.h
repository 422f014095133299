/*
 * trend.h - is a value worse than those of a baseline, and by more than their noise?
 *
 *     baseline   n finite values; median m; MAD = median of |value - m|
 *     noise      k * 1.4826 * MAD: k standard deviations, were the values normally distributed
 *     allowed    max(noise, share * |m|)
 *     fails      value > m + allowed; with `lower` (a fall is worse) value < m - allowed
 *
 * One outlier in a baseline moves neither median nor MAD, and values that all agree (MAD 0) still
 * allow `share`. With fewer than `min` values nothing is judged: FM_TREND_FEW, never a failure by
 * itself. 1.4826 = 1 / Phi^-1(3/4).
 */
#ifndef FM_REPORT_TREND_H
#define FM_REPORT_TREND_H

#include "util/mem.h"

struct fm_trend_rule {
    double k;           /* how many sigma are noise */
    double share;       /* relative change that is allowed in any case: 0.05 = 5% */
    size_t min;         /* values that a baseline must have */
    bool lower;         /* smaller is worse */
};
#define FM_TREND_RULE {.k = 3, .share = 0.05, .min = 3}

struct fm_trend_base {
    size_t n;           /* finite values */
    double median, mad; /* 0 when n is 0 */
};

enum fm_trend_verdict {
    FM_TREND_PASS,
    FM_TREND_FAIL,
    FM_TREND_FEW,       /* the baseline has fewer values than asked for */
    FM_TREND_NONE       /* there is no value to judge */
};

struct fm_trend {
    enum fm_trend_verdict verdict;
    struct fm_trend_rule rule;
    struct fm_trend_base base;
    double value;       /* NAN when there is none */
    double allowed;     /* distance from the median, >= 0 */
    double limit;       /* median + allowed, or - allowed */
    double change;      /* value / median - 1; NAN for a median of 0 or no value */
};

/* The median of v[n] (finite values), which is put in order; NAN for none. The mean of the middle
 * two when n is even. */
double fm_trend_median(double *v, size_t n);
/* What is not finite in v[n] is left out. FM_NOMEM alone. */
enum fm_status fm_trend_baseline(struct fm_mem *mem, const double *v, size_t n,
                                 struct fm_trend_base *base);
void fm_trend_judge(const struct fm_trend_rule *rule, const struct fm_trend_base *base,
                    double value, struct fm_trend *trend);
const char *fm_trend_word(enum fm_trend_verdict verdict); /* "pass", "fail", "few", "none" */

/* One line that says why, its values in `unit` (axis.h): "1.24 s is +12.7% over the median 1.1 s of
 * 7, past the limit 1.15 s (higher is worse; allowed: 5% or 3 sigma = 13.3 ms)". The length it
 * needs, like snprintf(). */
size_t fm_trend_explain(const struct fm_trend *trend, const char *unit, char *buf, size_t room);

#endif
