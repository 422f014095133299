/*
 * collect.h - a file while its results are collected.
 */
#ifndef FM_REPORT_COLLECT_H
#define FM_REPORT_COLLECT_H

#include "report/run.h"

struct fm_report_gathered {
    const struct fm_report_file *file;
    const char **fact;               /* [fm_report_facts], NULL where unknown */
    bool usable;                     /* it has results */
};

#endif
