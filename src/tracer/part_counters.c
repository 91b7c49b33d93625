// SPDX-License-Identifier: Apache-2.0
#include "tracer/part_counters.h"

#include "proc/processes.h"
#include "tracer/modules.h"
#include "tracer/row_pages.h"

void part_counters_rows(const struct row_pages_stats *rows, const struct modules_stats *m, u64 *ret_values)
{
	ret_values[TRACER_ROWS_BYTES] = rows->bytes;
	ret_values[TRACER_ROWS_USED] = rows->used_bytes;
	ret_values[TRACER_ROWS_INSTALLED] = rows->installed;
	ret_values[TRACER_ROWS_EVICTED] = rows->evicted;
	ret_values[TRACER_ROWS_BORROWED] = rows->borrowed;
	ret_values[TRACER_ROWS_UNREADABLE] = rows->unreadable;
	ret_values[TRACER_ROWS_FULL] = rows->files_full + m->rows_full;
	ret_values[TRACER_ROWS_NONE] = m->rows_none;
	ret_values[TRACER_ROWS_FAILED] = m->rows_failed;
	ret_values[TRACER_ROWS_CUT] = m->rows_cut;
	ret_values[TRACER_ROWS_CACHED] = m->rows_cached;
	ret_values[TRACER_RULES_FULL] = rows->rules_full;
	ret_values[TRACER_SWEEP_PARTS] = rows->parts;
	ret_values[TRACER_SWEEP_PARTS_FAILED] = rows->parts_failed + m->parts_refused;
}

void part_counters_processes(const struct processes_stats *p, const struct modules_stats *m, u64 *ret_values)
{
	ret_values[TRACER_PROCESSES] = p->known;
	ret_values[TRACER_PROCESSES_FULL] = p->full;
	ret_values[TRACER_PROC_SCANS] = p->scans;
	ret_values[TRACER_PROC_SCAN_FAILURES] = p->scan_failures;
	ret_values[TRACER_MAPPINGS_DROPPED] = p->maps_dropped;
	ret_values[TRACER_FILES] = m->files;
	ret_values[TRACER_FILES_UNREADABLE] = m->unreadable;
	ret_values[TRACER_FILES_NOT_ELF] = m->not_elf;
	ret_values[TRACER_FILES_FULL] = m->full;
}
