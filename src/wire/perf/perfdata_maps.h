/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which frames stay addresses in a perf.data file: those that perf can name, and annotate, by itself.
 *
 *	named, of a file that is here	an address, if the file has a table of symbols
 *	... in an inlined function	names for what is inlined, and the start of the function around it: at the
 *					address itself newer perfs would find what is inlined once more
 *	without a name			an address, if a build id tells whose: perf may find the file somewhere
 *	all others			names in the file itself
 *
 * Profiles give addresses as they are in a process or as they are in the file, and with the latter those of several
 * files are the same. So each mapping gets a range of its own in the address space, for all processes.
 *
 * Borrows the profile, which must outlive it unchanged.
 */
#ifndef WIRE_PERFDATA_MAPS_H
#define WIRE_PERFDATA_MAPS_H

#include <stdbool.h>

#include "profile/profile.h"
#include "wire/perf/perfdata.h"
#include "wire/perf/perfdata_local.h"

#define PERFDATA_PAGE_BYTES 4096ull
#define PERFDATA_FUNCTIONS_MAX (8u << 20)	/* of all files; inlined functions of further ones are names */

struct perfdata_map {
	u64 start;			/* of its range, as far into a page as in the file; 0: it has none */
	u8 build_id[PERFDATA_BUILD_ID_MAX];
	u8 build_id_bytes;		/* 0: it has none */
	bool is_looked_at, is_used, is_here;
	u32 same;			/* the first mapping of the same file: what its local says counts */
	struct perfdata_local local;
};

struct perfdata_maps {
	const struct profile *profile;
	struct perfdata_map *at;	/* by mapping */
	u32 *first;			/* by string: the first mapping of the file of that name that is here, or 0 */
	u64 functions;			/* read so far, of all files */
	u64 next;			/* the next range begins there */
	bool embed_names;		/* frames with names never stay addresses */
};

/* 0 or -ENOMEM. */
int perfdata_maps_init(struct perfdata_maps *maps, const struct profile *profile, bool embed_names);
void perfdata_maps_done(struct perfdata_maps *maps);

struct perfdata_place {
	u64 address;	/* of the code */
	u64 caller;	/* what stands for it in a stack, behind the names of inlined functions if there are any */
};

/* Does a location stay an address? If not, its names stand for it. The mapping counts as used from then on. */
bool perfdata_maps_place(struct perfdata_maps *maps, u32 location, struct perfdata_place *ret_place);

#endif
