// SPDX-License-Identifier: Apache-2.0
#include "receivers/host_series.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "proc/host.h"
#include "wire/otlp/machine_metrics.h"

#define SENDERS_MAX (2 * HOST_SERIES_HOSTS_MAX)	/* those without hosts are the first to be forgotten */
#define HOSTS_OF_SENDER (HOST_SERIES_HOSTS_MAX / 2)
#define DAY_NS (86400 * SECOND_NS)
#define OWNED_NS (300 * SECOND_NS)		/* after so long of silence another sender may tell of a host */
#define FORGET_NS DAY_NS			/* ... and it is forgotten */
#define FUTURE_NS (300 * SECOND_NS)		/* as of profiles: clocks of hosts do not differ by more */
#define PAST_NS DAY_NS				/* what a sender has kept while it could not send */
#define BACK_NS (60 * SECOND_NS)		/* by less is out of order, by more a clock that was set */
#define GAP_NS (900 * SECOND_NS)		/* nobody knows what was between samples that are further apart */
#define ROW_NS_MIN SECOND_NS			/* what comes sooner is part of the next row */
#define ROW_NS_MAX (60 * SECOND_NS)		/* longer ones are written as several */
#define ROWS_BURST 1024				/* of a host; and one each second */
#define TRIM_ROWS 256
#define ROWS_AT_ONCE 64				/* kept aside while the lock is held */
#define ROUNDING 1.5				/* how much more than its CPUs a machine may seem to use */

const char *const host_series_refusal_names[HOST_SERIES_REFUSAL_COUNT] = {
#define X(id, text) text,
	HOST_SERIES_REFUSALS(X)
#undef X
};

/* What leaks out in time: so much was spent when it was looked at last. */
struct spending {
	double spent;
	u64 at_ns;
};

struct sender {
	u64 key;
	u32 hosts;
	struct spending names;
};

struct known {
	char name[MACHINE_NAME_MAX];
	struct sender *sender;
	u64 heard_ns;			/* CLOCK_MONOTONIC */
	struct host_sample before;	/* monotonic_ns 0: none yet */
	u64 end_ns;			/* of the last row, 0: none */
	struct spending rows;
	u32 since_trim;
};

struct host_series {
	pthread_mutex_t lock;
	struct known *hosts[HOST_SERIES_HOSTS_MAX];
	u32 count;
	struct sender senders[SENDERS_MAX];
	u32 sender_count, owner_count;	/* all, and those that have hosts */
};

/* Rows that are to be written when the lock is released. */
struct written {
	u32 count;
	struct {
		char host[MACHINE_NAME_MAX];
		struct series_other other;
		struct series_row row;
	} at[ROWS_AT_ONCE];
};

struct host_series *host_series_new(void)
{
	struct host_series *series = calloc(1, sizeof(*series));

	if (!series)
		return NULL;
	pthread_mutex_init(&series->lock, NULL);
	return series;
}

void host_series_free(struct host_series *series)
{
	if (!series)
		return;
	for (u32 i = 0; i < series->count; i++)
		free(series->hosts[i]);
	pthread_mutex_destroy(&series->lock);
	free(series);
}

static struct {
	pthread_mutex_t lock;
	struct host_series *series;
	u32 users;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct host_series *host_series_share(void)
{
	LOCKED(&shared.lock);
	if (!shared.series)
		shared.series = host_series_new();
	shared.users += shared.series != NULL;
	return shared.series;
}

void host_series_release(struct host_series *series)
{
	LOCKED(&shared.lock);
	if (series && series == shared.series && --shared.users == 0)
		host_series_free(TAKE(shared.series));
}

/* ---- Limits ------------------------------------------------------------------------------ */

/* May n more be spent, of what leaks out in a time? */
static bool spend(struct spending *s, u32 n, double most, u64 leak_ns, u64 now_ns)
{
	double leaked = most * (double)(now_ns - s->at_ns) / (double)leak_ns;

	s->spent = s->at_ns && s->spent > leaked ? s->spent - leaked : 0;
	s->at_ns = now_ns;
	if (s->spent + n > most)
		return false;
	s->spent += n;
	return true;
}

/* By its key; of more than there is room for, who brought the fewest names and has no host is forgotten. */
static struct sender *sender_of(struct host_series *series, u64 key)
{
	struct sender *spare = NULL;

	for (u32 i = 0; i < series->sender_count; i++) {
		struct sender *s = &series->senders[i];

		if (s->key == key)
			return s;
		if (!s->hosts && (!spare || s->names.spent < spare->names.spent))
			spare = s;
	}
	if (series->sender_count < SENDERS_MAX)
		spare = &series->senders[series->sender_count++];
	/* There are more of them than hosts. */
	*spare = (struct sender){ .key = key };
	return spare;
}

static void give(struct host_series *series, struct known *host, struct sender *sender)
{
	host->sender = sender;
	series->owner_count += sender->hosts++ == 0;
}

static void take_back(struct host_series *series, const struct known *host)
{
	series->owner_count -= --host->sender->hosts == 0;
}

static void forget(struct host_series *series, u32 i)
{
	take_back(series, series->hosts[i]);
	free(series->hosts[i]);
	series->hosts[i] = series->hosts[--series->count];
}

static void forget_silent(struct host_series *series, u64 now_ns)
{
	for (u32 i = series->count; i-- > 0;)
		if (now_ns - series->hosts[i]->heard_ns > FORGET_NS)
			forget(series, i);
}

/* Room for another one of this sender. */
static bool make_room(struct host_series *series, const struct sender *sender)
{
	u32 victim = 0;
	u32 most = 0;

	if (series->count < HOST_SERIES_HOSTS_MAX)
		return true;
	for (u32 i = 0; i < series->count; i++) {
		u32 hosts = series->hosts[i]->sender->hosts;

		if (hosts < most || (hosts == most && series->hosts[i]->heard_ns >= series->hosts[victim]->heard_ns))
			continue;
		most = hosts;
		victim = i;
	}
	if (most <= sender->hosts + 1)
		return false;
	forget(series, victim);
	return true;
}

static struct known *add_host(struct host_series *series, const char *name, const struct host_series_options *options)
{
	struct sender *sender = sender_of(series, options->sender);
	struct known *host;

	forget_silent(series, options->monotonic_ns);
	if (sender->hosts >= HOSTS_OF_SENDER ||
	    !spend(&sender->names, 1, HOSTS_OF_SENDER, DAY_NS, options->monotonic_ns))
		return NULL;
	host = make_room(series, sender) ? calloc(1, sizeof(*host)) : NULL;
	if (!host) {
		sender->names.spent--;
		return NULL;
	}
	memcpy(host->name, name, strlen(name));
	give(series, host, sender);
	host->heard_ns = options->monotonic_ns;
	series->hosts[series->count++] = host;
	return host;
}

/* The host, if this sender may tell of it; else why not. */
static struct known *admit(struct host_series *series, const char *name, const struct host_series_options *options,
			   enum host_series_refusal *ret_why)
{
	struct known *host = NULL;
	struct sender *sender;

	*ret_why = HOST_SERIES_OWN;
	if (*options->own_host && !strcmp(name, options->own_host))
		return NULL;
	for (u32 i = 0; i < series->count && !host; i++)
		host = strcmp(series->hosts[i]->name, name) ? NULL : series->hosts[i];
	*ret_why = HOST_SERIES_HOSTS;
	if (!host)
		return add_host(series, name, options);
	if (host->sender->key != options->sender) {
		*ret_why = HOST_SERIES_TAKEN;
		if (options->monotonic_ns - host->heard_ns < OWNED_NS)
			return NULL;
		*ret_why = HOST_SERIES_HOSTS;
		sender = sender_of(series, options->sender);
		if (sender->hosts >= HOSTS_OF_SENDER)
			return NULL;
		take_back(series, host);
		give(series, host, sender);
		host->before = (struct host_sample){ 0 };
	}
	host->heard_ns = options->monotonic_ns;
	return host;
}

/* ---- Rows -------------------------------------------------------------------------------- */

/* No more than its CPUs can have done; and counters that are less than they were have begun anew. */
static bool is_plausible(const struct host_sample *before, const struct host_sample *now)
{
	double span_ns = (double)(now->monotonic_ns - before->monotonic_ns), total = 0;
	u32 cpus = now->cpu_count > before->cpu_count ? now->cpu_count : before->cpu_count;

	for (int i = 0; i < HOST_CPU_STATE_COUNT; i++)
		if (now->cpu_ns[i] > before->cpu_ns[i])
			total += (double)(now->cpu_ns[i] - before->cpu_ns[i]);
	return total <= ROUNDING * span_ns * cpus + 1e9;
}

static bool began_anew(const struct host_sample *before, const struct host_sample *now)
{
	double was = 0, is = 0;

	for (int i = 0; i < HOST_CPU_STATE_COUNT; i++) {
		was += (double)before->cpu_ns[i];
		is += (double)now->cpu_ns[i];
	}
	return is < was;
}

/* From when to when it is of, by this machine's clock; false: that was told already. */
static bool place(const struct known *host, u64 span_ns, u64 time_ns, u64 now_ns, u64 *ret_start_ns, u64 *ret_end_ns)
{
	bool is_near = time_ns < now_ns + FUTURE_NS && time_ns + PAST_NS > now_ns;
	u64 end_ns = is_near ? time_ns : now_ns, start_ns = end_ns - span_ns;

	/* By its own clock it follows the last one; by the time of arrival it may seem to begin sooner. */
	if (!is_near && start_ns < host->end_ns)
		start_ns = host->end_ns;
	*ret_start_ns = start_ns;
	*ret_end_ns = end_ns;
	return start_ns < end_ns && end_ns - start_ns >= span_ns / 2;
}

static void write_rows(struct host_series *series, struct known *host, const struct series_row *row, u32 pieces,
		       const struct host_series_options *options, struct written *out)
{
	u64 span_ns = (row->end_ns - row->start_ns) / pieces;

	for (u32 i = 0; i < pieces && out->count < ROWS_AT_ONCE; i++) {
		typeof(out->at[0]) *to = &out->at[out->count++];

		memcpy(to->host, host->name, sizeof(to->host));
		to->row = *row;
		to->row.start_ns = row->start_ns + i * span_ns;
		to->row.end_ns = i + 1 == pieces ? row->end_ns : to->row.start_ns + span_ns;
		to->other = (struct series_other){
			.parts = series->owner_count * host->sender->hosts,
			.now_ns = options->now_ns,
			.is_time_to_trim = ++host->since_trim % TRIM_ROWS == 0,
		};
	}
}

/* With what a host told before: -1 or why that is no row. What is too soon is part of the next one. */
static int compare(struct host_series *series, struct known *host, const struct host_sample *now,
		   const struct host_series_options *options, struct written *out)
{
	u64 time_ns = now->monotonic_ns, before_ns = host->before.monotonic_ns, start_ns, end_ns;
	struct series_row row;
	u32 pieces;

	if (before_ns && time_ns <= before_ns && before_ns - time_ns <= BACK_NS)
		return HOST_SERIES_TIME;
	if (before_ns && time_ns > before_ns && time_ns - before_ns < ROW_NS_MIN)
		return -1;
	if (!before_ns || time_ns < before_ns || time_ns - before_ns > GAP_NS || began_anew(&host->before, now)) {
		host->before = *now;
		return before_ns && time_ns < before_ns ? HOST_SERIES_TIME : -1;
	}
	if (!is_plausible(&host->before, now)) {
		host->before = *now;
		return HOST_SERIES_VALUE;
	}
	series_row_measure(&host->before, now, time_ns, &row);
	host->before = *now;
	if (!place(host, time_ns - before_ns, time_ns, options->now_ns, &start_ns, &end_ns))
		return HOST_SERIES_TIME;
	pieces = (u32)((end_ns - start_ns - 1) / ROW_NS_MAX) + 1;
	if (!spend(&host->rows, pieces, ROWS_BURST, ROWS_BURST * SECOND_NS, options->monotonic_ns))
		return HOST_SERIES_ROWS;
	row.start_ns = start_ns;
	row.end_ns = host->end_ns = end_ns;
	write_rows(series, host, &row, pieces, options, out);
	return -1;
}

static void flush(struct written *out, const struct host_series_options *options, struct host_series_told *told)
{
	for (u32 i = 0; i < out->count; i++) {
		int r;

		out->at[i].other.host = out->at[i].host;
		r = options->keep(options->arg, &out->at[i].other, &out->at[i].row);
		if (r < 0)
			told->refused[r == -EDQUOT ? HOST_SERIES_HOSTS : HOST_SERIES_STORE]++;
		else
			told->rows++;
	}
	out->count = 0;
}

static void take_one(struct host_series *series, const struct machine_sample *sample,
		     const struct host_series_options *options, struct host_series_told *told, struct written *out)
{
	enum host_series_refusal why;
	struct known *host;
	int r;

	LOCKED(&series->lock);
	host = admit(series, sample->host, options, &why);
	r = host ? compare(series, host, &sample->at, options, out) : (int)why;
	if (r >= 0)
		told->refused[r]++;
}

void host_series_take(struct host_series *series, const struct machine_metrics *metrics,
		      const struct host_series_options *options, struct host_series_told *told)
{
	_cleanup_(freep) struct written *out = malloc(sizeof(*out));

	if (!out) {
		told->refused[HOST_SERIES_STORE] += metrics->count;
		return;
	}
	out->count = 0;
	for (u32 i = 0; i < metrics->count; i++) {
		if (metrics->samples[i].has_cpu)
			take_one(series, &metrics->samples[i], options, told, out);
		else
			told->refused[HOST_SERIES_NO_CPU]++;
		if (out->count + GAP_NS / ROW_NS_MAX > ROWS_AT_ONCE)
			flush(out, options, told);
	}
	flush(out, options, told);
}
