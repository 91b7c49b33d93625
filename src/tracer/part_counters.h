/* SPDX-License-Identifier: Apache-2.0 */
/* What parts of the tracer have counted, put where enum tracer_counter says. The tracer's thread calls it. */
#ifndef TRACER_PART_COUNTERS_H
#define TRACER_PART_COUNTERS_H

#include "tracer/counters.h"

struct containers_stats;
struct fold_options;
struct modules_stats;
struct processes_stats;
struct requests;
struct runtimes_stats;
struct sideband_stats;
struct source_maps_stats;
struct tables_stats;

void part_counters_processes(const struct processes_stats *processes, const struct modules_stats *modules,
			     u64 *ret_values);
void part_counters_containers(const struct containers_stats *containers, u64 *ret_values);
void part_counters_tables(const struct tables_stats *tables, const struct modules_stats *modules, u64 *ret_values);
void part_counters_sideband(const struct sideband_stats *sideband, u64 *ret_values);
void part_counters_runtimes(const struct runtimes_stats *runtimes, u64 *ret_values);
void part_counters_requests(const struct requests *requests, u64 *ret_values);
void part_counters_source_maps(const struct source_maps_stats *maps, u64 *ret_values);
void part_counters_fold(const struct fold_options *fold, u64 *ret_values);

#endif
