/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other hosts tell of themselves (wire/otlp/machine_metrics.h) becomes rows (store/series_row.h), as a look at
 * /proc does on this machine: two samples of a host make a row, CPU time being counted since its boot.
 *
 *  - A host belongs to the sender who tells of it, until that one was silent for some minutes. Nobody tells of the
 *    machine that is sampled here.
 *  - Hosts are remembered, HOST_SERIES_HOSTS_MAX of all and half of them for one sender, who may also bring no more
 *    than so many new ones in a day. When there is no room, who has most loses the one that was silent for longest.
 *  - Values that cannot be, times that are out of order, counters that began anew: no row, and what follows is compared
 *    with that. A time that is far from this machine's is taken for that of arrival, as with profiles.
 *
 * Any thread; who takes a row in is called without the lock.
 */
#ifndef RECEIVERS_HOST_SERIES_H
#define RECEIVERS_HOST_SERIES_H

#include "base/cleanup.h"
#include "base/types.h"
#include "store/series.h"

struct host_series;
struct machine_metrics;

#define HOST_SERIES_HOSTS_MAX 1024

/* id, what the counter says: why samples of hosts become no rows. */
#define HOST_SERIES_REFUSALS(X)		\
	X(OWN, "own_host")		\
	X(TAKEN, "other_sender")	\
	X(HOSTS, "too_many_hosts")	\
	X(ROWS, "too_many_rows")	\
	X(TIME, "time")			\
	X(VALUE, "value")		\
	X(NO_CPU, "no_cpu_time")	\
	X(STORE, "store")

enum host_series_refusal {
#define X(id, text) HOST_SERIES_##id,
	HOST_SERIES_REFUSALS(X)
#undef X
	HOST_SERIES_REFUSAL_COUNT,
};
extern const char *const host_series_refusal_names[HOST_SERIES_REFUSAL_COUNT];

struct host_series_told {
	u64 rows;
	u64 refused[HOST_SERIES_REFUSAL_COUNT];
};

/* Keeps a row: 0 or -errno, -EDQUOT if there is no room for another host. */
typedef int host_series_keep_fn(void *arg, const struct series_other *other, const struct series_row *row);

struct host_series_options {
	u64 sender;			/* a key that others cannot choose to have */
	const char *own_host;		/* the one that is sampled here; "": none */
	u64 now_ns, monotonic_ns;	/* CLOCK_REALTIME, CLOCK_MONOTONIC */
	host_series_keep_fn *keep;
	void *arg;
};

/* NULL without memory. */
struct host_series *host_series_new(void);
void host_series_free(struct host_series *series);
DEFINE_CLEANUP(struct host_series *, host_series_free)

/* The one of this process, of whom there are so many users; NULL without memory. */
struct host_series *host_series_share(void);
void host_series_release(struct host_series *series);

/* Adds to what was told. */
void host_series_take(struct host_series *series, const struct machine_metrics *metrics,
		      const struct host_series_options *options, struct host_series_told *told);

#endif
