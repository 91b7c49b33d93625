/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kind of sample: what its values are, and what others call them. Whoever shows, sums, stores or sends samples asks
 * here, by the types and units that a profile states; so kinds that came from elsewhere work as well, by their unit.
 *
 * All of it is constant; any thread.
 */
#ifndef KINDS_KIND_H
#define KINDS_KIND_H

#include <stddef.h>

#include "base/str.h"
#include "base/types.h"
#include "kinds/list.h"
#include "kinds/unit.h"

/* As pprof and OTLP have it: what is counted, and in what. */
struct kind_type {
	const char *type, *unit;
};

/* As in struct perf_event_attr. */
struct kind_event {
	const char *name;		/* what -e calls it */
	u32 type;
	u64 config;
};

#define KIND_EVENT_HOOKS (~0u)	/* a type: none of perf's; the object's programs say where in the kernel they belong */

struct kind {
	const char *name;		/* what -e calls it; NULL: others make it, wick does not */
	const char *title;		/* what people call it: "CPU time" */
	struct kind_type sample;	/* no two kinds have the same */
	struct kind_type period;	/* what lies between two samples; in time: values are counts of it. Or NULLs */

	/* Of other systems; NULL: the sample type as it is. */
	const char *pyroscope;		/* __name__ of a series */
	const char *datadog;		/* sample type */
	const char *datadog_period;	/* sample type of count times period */

	/* perf's event, as in struct perf_event_attr; both 0: none. */
	u32 perf_type;
	u64 perf_config;

	/*
	 * How wick samples it (kinds/README.md): at events of perf, of which the first that this machine has is taken,
	 * by a program in its BPF object (as tools/pack.sh has packed it).
	 */
	const struct kind_event *events;	/* ended by one without a name */
	u64 events_per_sample;		/* unless it is chosen; 0: by frequency */
	const void *(*object)(size_t *ret_bytes);
	const char *parts;		/* instead: the kinds whose samples are also samples of this one, with commas */
};

/* By number; NULL where there is none. */
extern const struct kind *const kind_list[KIND_MAX];

/* NULL: wick makes none of that name. */
const struct kind *kind_named(struct str name);

/*
 * The kind of a set of samples by its type and that of its period, which may be empty; NULL: none that is known.
 * What a kind's samples add up to (cpu, beside samples) is of that kind. '-' and '_' are the same.
 */
const struct kind *kind_of(struct str type, struct str period_type);

#endif
