/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind tables in BPF maps (bpf/abi.h draws them): rows of files (kept by
 * tracer/row_pages.h), mappings of processes. Written through shared memory,
 * published by one update of the map of processes.
 *
 * What is dropped may still be in use by a program on another CPU: it is
 * given back by tables_collect() a second later.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_TABLES_H
#define TRACER_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"
#include "base/cleanup.h"
#include "tracer/row_pages.h"

struct tracer_bpf;
struct rows_file;
struct rows_part;
struct tables;

struct tables_stats {
	struct row_pages_stats rows;
	u64 maps_full;		/* processes whose mappings did not fit */
	u64 maps_shares;	/* ... the share of their user */
	u64 procs_full;		/* processes that did not fit the map */
	u64 slots_full;		/* runtimes that found no slot */
};

/* skel NULL: in memory of our own, for stacks that no kernel half unwinds; then nothing is published. */
int tables_new(struct tracer_bpf *skel, u32 rows_max_bytes, struct tables **ret_tables);
void tables_free(struct tables *tables);
DEFINE_CLEANUP(struct tables *, tables_free)

/*
 * Takes the rows of a file whose code lies in ELF addresses [start_ea, end_ea). -ENOSPC when the table of pages is
 * full, -E2BIG when the file spans too many.
 */
int tables_add_rows(struct tables *tables, struct rows_file *file, u64 start_ea, u64 end_ea,
		    struct row_pages_range *ret_rows);
void tables_drop_rows(struct tables *tables, const struct row_pages_range *rows, u64 now_ns);

/* As row_pages_want_part(), row_pages_part_is_coming(), row_pages_put_part(). */
bool tables_part_is_coming(const struct tables *tables, u32 index);
enum row_part tables_want_part(struct tables *tables, const struct row_pages_range *rows, u64 ea,
			       struct rows_part *ret_part);
void tables_put_part(struct tables *tables, const struct row_pages_range *rows, u64 number,
		     const struct rows_file *swept);

/* What a mapping says of the file's rows. */
u32 tables_page_base(const struct row_pages_range *rows);

/*
 * Sorted by address, at most PROC_MAPS_MAX. owner: the user whose process it is. The last quarter of the table is for
 * users who have little of it: one who has an eighth or more, and wants some of it, gets -ENOSPC.
 */
int tables_add_maps(struct tables *tables, u64 owner, const struct map_entry *maps, u32 count, u32 *ret_first);
void tables_drop_maps(struct tables *tables, u32 first, u32 count, u64 now_ns);

/* Is there little room for more, what was dropped included? */
bool tables_maps_are_scarce(const struct tables *tables);

/*
 * A slot for what a runtime's kernel half knows of a process: its number, never 0, or -ENOSPC. It is filled before the
 * process is published.
 */
int tables_take_slot(struct tables *tables, struct runtime_slot **ret_slot);
struct runtime_slot *tables_slot(const struct tables *tables, u32 number);
void tables_drop_slot(struct tables *tables, u32 number, u64 now_ns);

/*
 * From now on rules of that number hold, 0: none; of another number, nothing is known of anybody by them. has_clocks:
 * there is more than one (tracer/sampler.h).
 */
void tables_set_rules(struct tables *tables, u64 number, bool has_clocks);

/* Of a process one of so many ticks is a sample by them, 0: none, unless it calls exec; or all of another clock. */
void tables_judge(struct tables *tables, u32 kernel_pid, const struct proc_id *id, u32 every, u32 clock_hz);

/* Fills in the serial number of the mappings. */
int tables_publish(struct tables *tables, u32 pid, const struct proc_entry *entry);

/* Removes the entry of a process, unless another process has taken its place. */
void tables_unpublish(struct tables *tables, u32 pid, const struct proc_id *id);

void tables_collect(struct tables *tables, u64 now_ns);

/* The tables as the kernel half sees them, for the unwinder in user space; a page it needs is put into place. */
struct page_entry *tables_need_page(struct tables *tables, u32 index);
const struct map_entry *tables_map(const struct tables *tables, u32 index);
const struct page_entry *tables_page(const struct tables *tables, u32 index);
const struct rows_chunk *tables_chunk(const struct tables *tables, u32 index);
const struct unwind_rule *tables_rule(const struct tables *tables, u32 index);

struct tables_stats tables_stats(const struct tables *tables);

#endif
