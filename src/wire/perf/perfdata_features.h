/* SPDX-License-Identifier: Apache-2.0 */
/* The features of a perf.data file: what it says of the machine and of itself, behind the records. */
#ifndef WIRE_PERFDATA_FEATURES_H
#define WIRE_PERFDATA_FEATURES_H

#include "base/buf.h"
#include "wire/perf/perfdata_encode.h"
#include "wire/perf/perfdata_maps.h"

/* As much of struct perf_event_attr as Linux 6.1 has. */
#define PERFDATA_ATTR_BYTES 128

struct perfdata_described {
	char name[128];
	u8 attr[PERFDATA_ATTR_BYTES];
	u64 id;
};

struct perfdata_facts {
	const struct profile *profile;
	const struct perfdata_host *host;		/* may be NULL */
	const struct perfdata_maps *maps;
	const struct perfdata_described *events;
	u32 event_count;
	u64 first_ns, last_ns;				/* times of samples; 0: there are none */
	u32 cpu_count;					/* the highest that was seen, plus 1 */
	u64 before;					/* bytes of the file that are not in out any more */
};

/* Appends the table of sections and what they point to. ret_bits: those that are there. */
void perfdata_features_put(const struct perfdata_facts *facts, struct buf *out, u64 ret_bits[4]);

#endif
