// SPDX-License-Identifier: Apache-2.0
#include "tracer/part_counters.h"

#include "proc/containers.h"
#include "proc/processes.h"
#include "tracer/fold.h"
#include "tracer/modules.h"
#include "tracer/requests.h"
#include "tracer/row_pages.h"
#include "tracer/runtimes.h"
#include "tracer/sideband.h"
#include "tracer/source_maps.h"
#include "tracer/tables.h"

static void part_counters_rows(const struct row_pages_stats *rows, const struct modules_stats *m, u64 *ret_values)
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
	ret_values[TRACER_ROWS_READ] = rows->pages_read;
	ret_values[TRACER_SWEEP_PARTS] = rows->parts_swept;
	ret_values[TRACER_SWEEP_PARTS_FAILED] = rows->parts_failed + m->parts_refused;
}

void part_counters_tables(const struct tables_stats *tables, const struct modules_stats *m, u64 *ret_values)
{
	part_counters_rows(&tables->rows, m, ret_values);
	ret_values[TRACER_MAPS_FULL] = tables->maps_full;
	ret_values[TRACER_MAPS_SHARES] = tables->maps_shares;
	ret_values[TRACER_PROCS_FULL] = tables->procs_full;
	ret_values[TRACER_RUNTIMES_FULL] = tables->slots_full;
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

void part_counters_containers(const struct containers_stats *c, u64 *ret_values)
{
	ret_values[TRACER_CONTAINERS] = c->asked;
	ret_values[TRACER_CONTAINERS_FOUND] = c->found;
	ret_values[TRACER_ENGINES_FAILED] = c->failed;
}

void part_counters_sideband(const struct sideband_stats *s, u64 *ret_values)
{
	ret_values[TRACER_SIDEBAND_EVENTS] = s->events;
	ret_values[TRACER_SIDEBAND_LOST] = s->lost;
	ret_values[TRACER_SIDEBAND_MALFORMED] = s->malformed;
	ret_values[TRACER_SIDEBAND_LATE] = s->late;
	ret_values[TRACER_THROTTLED] = s->throttled;
}

void part_counters_runtimes(const struct runtimes_stats *rt, u64 *ret_values)
{
	ret_values[TRACER_RUNTIMES] = rt->attached;
	ret_values[TRACER_RUNTIMES_NEWER] = rt->newer;
	ret_values[TRACER_RUNTIMES_REFUSED] = rt->refused;
	ret_values[TRACER_PROGRAMS_FAILED] = rt->programs_failed;
	ret_values[TRACER_FRAMES_ASKED] = rt->asked;
	ret_values[TRACER_FRAMES_UNNAMED] = rt->unnamed;
	ret_values[TRACER_CODE_DROPPED] = rt->dropped;
	ret_values[TRACER_NAMES_EVICTED] = rt->evictions;
}

void part_counters_requests(const struct requests *requests, u64 *ret_values)
{
	ret_values[TRACER_REQUESTS_FOUND] = requests->attached;
	ret_values[TRACER_REQUESTS_REFUSED] = requests->refused;
	ret_values[TRACER_LABELS_FOUND] = requests->labelled;
	ret_values[TRACER_LABELS_REFUSED] = requests->labels_refused;
}

void part_counters_source_maps(const struct source_maps_stats *maps, u64 *ret_values)
{
	ret_values[TRACER_SOURCE_MAPS] = maps->read;
	ret_values[TRACER_SOURCE_MAPS_FAILED] = maps->failed;
	ret_values[TRACER_SOURCE_MAPS_EVICTED] = maps->evictions;
}

void part_counters_fold(const struct fold_options *fold, u64 *ret_values)
{
	ret_values[TRACER_PAIRS_OPEN] = fold->pairs.open;
	ret_values[TRACER_PAIRS_LOST] = fold->pairs.evicted;
	ret_values[TRACER_LANES_FULL] = fold->lanes_lost;
}
