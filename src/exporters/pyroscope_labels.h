/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes of a resource as Pyroscope takes them for labels of a series. It refuses a request with more than 30
 * of them (five are its own), with other characters in a name than letters, digits, _ and ., with two names that are
 * equal once dots are underscores, or with a long value; and every distinct set of them is a series that it keeps an
 * index for. So:
 *
 *  - What differs from process to process (its number, its command line) goes, unless it is asked for.
 *  - Values other than texts and numbers go; so do those that do not fit, the least important first. They are counted.
 *  - service.name is there in the end, as given or derived.
 */
#ifndef EXPORTERS_PYROSCOPE_LABELS_H
#define EXPORTERS_PYROSCOPE_LABELS_H

#include "base/arena.h"
#include "profile/profile.h"

#define PYROSCOPE_LABELS_MAX 25
#define PYROSCOPE_VALUE_BYTES_MAX 2048

/* Where the name of a service comes from if the resource has none. */
enum pyroscope_service {
	PYROSCOPE_SERVICE_UNKNOWN,	/* unknown_service:EXECUTABLE, OpenTelemetry's rule and Pyroscope's own */
	PYROSCOPE_SERVICE_EXECUTABLE,	/* EXECUTABLE */
	PYROSCOPE_SERVICE_CONTAINER,	/* the workload or container it runs in, else EXECUTABLE */
};

struct pyroscope_labels {
	struct keyvalue at[PYROSCOPE_LABELS_MAX];
	u32 count;
	u32 dropped;		/* that did not fit, or Pyroscope knows no such value */
};

/* What is not borrowed from the resource is put into the arena, whose error sticks. */
void pyroscope_labels_of(const struct profile_resource *resource, enum pyroscope_service service, bool per_process,
			 struct arena *arena, struct pyroscope_labels *ret_labels);

#endif
