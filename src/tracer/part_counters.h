/* SPDX-License-Identifier: Apache-2.0 */
/* What parts of the tracer have counted, put where enum tracer_counter says. The tracer's thread calls it. */
#ifndef TRACER_PART_COUNTERS_H
#define TRACER_PART_COUNTERS_H

#include "tracer/counters.h"

struct modules_stats;
struct processes_stats;
struct requests;
struct row_pages_stats;
struct runtimes_stats;
struct sideband_stats;

void part_counters_rows(const struct row_pages_stats *rows, const struct modules_stats *modules, u64 *ret_values);
void part_counters_processes(const struct processes_stats *processes, const struct modules_stats *modules,
			     u64 *ret_values);
void part_counters_sideband(const struct sideband_stats *sideband, u64 *ret_values);
void part_counters_runtimes(const struct runtimes_stats *runtimes, u64 *ret_values);
void part_counters_requests(const struct requests *requests, u64 *ret_values);

#endif
