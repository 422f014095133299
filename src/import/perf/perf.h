/*
 * perf.h - the importer of Linux perf.data: files, pipes and directories, both byte orders.
 */
#ifndef FM_IMPORT_PERF_PERF_H
#define FM_IMPORT_PERF_PERF_H

#include "import/import.h"

extern const struct fm_importer fm_importer_perf;

#endif
