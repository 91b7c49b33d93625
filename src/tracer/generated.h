/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rows of generated code, where a runtime tells of them: put into the
 * tables for each mapping that has some. They belong to the process's
 * mappings (proc/maps.h), as long as those are installed.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_GENERATED_H
#define TRACER_GENERATED_H

#include "abi.h"

struct map_entry;
struct mapping;
struct maps;
struct maps_rows;
struct process;
struct tables;

/*
 * A mapping takes an entry of the tables for each 64 KiB, whatever part of it is code. What is larger has no rows:
 * qemu, which reserves the most, takes no more than that.
 */
#define GENERATED_MAPPING_BYTES_MAX (2ull << 30)
#define GENERATED_PROCESS_BYTES_MAX (2ull << 30)

/* Of one time that mappings are installed. */
struct generated {
	struct tables *tables;
	const struct process *process;
	struct maps *maps;
	struct maps_rows *list;		/* those that are installed now, in order; room for all mappings */
	u32 count;
	u32 left_out;			/* mappings past the limits */
	u64 bytes;			/* of those in the list */
};

/* 0 or -ENOMEM. */
int generated_begin(struct generated *generated, struct tables *tables, const struct process *process,
		    struct maps *maps);

/* Tells the entry of a mapping of its rows, if there are any. In the order of the mappings. */
void generated_entry(struct generated *generated, const struct mapping *mapping, struct map_entry *entry);

/*
 * The entries are installed, or (r < 0) are not: what is not needed any more is dropped. How many mappings more than
 * the last time were left out.
 */
u32 generated_end(struct generated *generated, int r, u64 now_ns);

/* Mappings that are installed no more. */
void generated_drop(struct tables *tables, struct maps *maps, u64 now_ns);

#endif
