/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes perf.data (wire/perf/perfdata.h) as `perf record` would have:
 *
 *	sample type			an event; clock ticks weigh count times period, as perf's cpu-clock
 *	sample				a SAMPLE for each of its times; without times one, when its profile began
 *	thread				COMM; once, or before each sample if the name is not always the same
 *	frame that stays an address	MMAP2 with its build id, and the address (wire/perf/perfdata_maps.h)
 *	any other function		KSYMBOL: perf takes a name for a range of addresses from the kernel alone
 *
 * Records that tell names have time 0, at which perf takes them when it reads them, and stand before their first use.
 */
#ifndef WIRE_PERFDATA_ENCODE_H
#define WIRE_PERFDATA_ENCODE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/types.h"

struct profile;

/* The machine that was profiled, for what the profile does not say. Texts may be NULL. */
struct perfdata_host {
	const char *name, *release, *machine;	/* as uname(2) has them */
	u32 cpus_present, cpus_online;		/* 0: not known */
	const char *const *command;		/* that made the profile; ended by NULL */
};

struct perfdata_options {
	bool embed_names;			/* for machines without the files: what has a name is no address */
	const struct perfdata_host *host;	/* NULL: not known */
};

struct perfdata_stats {
	u64 bytes;
	u64 samples;		/* written */
	u64 stacks_cut;		/* of those: too long for a record, [truncated] at the root */
	u64 names_cut;		/* too long for a name */
	u64 weightless;		/* not written: weight 0 or less */
};

/* options NULL: all zero. ret_stats may be NULL. -ENOMEM, -E2BIG. */
int perfdata_write(const struct profile *profile, const struct perfdata_options *options, struct buf *out,
		   struct perfdata_stats *ret_stats);
int perfdata_encode(const struct profile *profile, struct buf *out);

/* The same into a file that is empty, so that memory does not grow with it. -errno of writing, too. */
int perfdata_write_file(const struct profile *profile, const struct perfdata_options *options, int fd,
			struct perfdata_stats *ret_stats);

/* About how many bytes its samples take, without names. ret_times: how many they will be. */
u64 perfdata_estimate(const struct profile *profile, u64 *ret_times);

#endif
