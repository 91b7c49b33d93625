// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/sender_time.h"
#include "base/thread.h"
#include "pipeline/batch.h"
#include "pipeline/gather.h"
#include "pipeline/queue.h"
#include "pipeline/retry.h"
#include "pipeline/sender_parts.h"
#include "pipeline/service.h"
#include "pipeline/storage.h"

#define QUEUE_BYTES_MAX (64ull << 20)
#define QUEUE_BYTES_MIN (16ull << 20)
#define UNQUEUED_REQUESTS 1000		/* that may wait for an exporter without a queue which sends at once */
#define DRAIN_DELAY_NS 1000000000ull	/* the longest wait for another attempt once it is told to stop */

enum send_state { SEND_READY, SEND_IN_FLIGHT, SEND_WAITING };

struct send {
	struct send *next, **link;
	struct sender *sender;
	enum send_state state;
	struct gathered what;
	void *kept;			/* by the exporter */
	bool is_piece;
	u64 samples;			/* that it counts as; those of the batch unless it is a piece */
	struct retry retry;
	u64 due_ns;			/* WAITING: until then */
};

struct sender {
	struct sender *next_running;
	struct sender_parts parts;
	struct sender_options options;
	const struct sender_ops *ops;
	void *self;
	struct queue *queue;
	struct metric *sent, *failed, *refused, *in_flight, *retries, *rejected;

	pthread_mutex_t lock;		/* of the next four */
	pthread_cond_t changed;
	bool woken, stopping;
	u64 deadline_ns;

	struct thread thread;
	/* Of the thread alone. */
	struct gather *gather;
	struct send *sends;
	u32 active;			/* in flight, or waiting for the next attempt: at most num_consumers */
	bool is_failing, drains;
};

/*
 * All that run. One of an old configuration leaves what it has not sent to that of the new one with the same id, if
 * there is one: on a reload, nothing is lost because a backend is away.
 */
static pthread_mutex_t running_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sender *running;

struct batch *send_batch(struct send *send)
{
	return send->what.batch;
}

void send_keep(struct send *send, void *what)
{
	send->kept = what;
}

void *send_kept(const struct send *send)
{
	return send->kept;
}

bool send_is_piece(const struct send *send)
{
	return send->is_piece;
}

u64 send_samples(const struct send *send)
{
	return send->samples;
}

static void set_state(struct send *send, enum send_state state)
{
	send->sender->active += (state != SEND_READY) - (send->state != SEND_READY);
	if (state == SEND_IN_FLIGHT)
		metric_add(send->sender->in_flight, 1);
	if (send->state == SEND_IN_FLIGHT)
		metric_add(send->sender->in_flight, (u64)-1);
	send->state = state;
}

/* ---- Ends --------------------------------------------------------------------------------- */

static void release(struct send *send, int result, bool keep)
{
	struct sender *sender = send->sender;

	set_state(send, SEND_READY);
	for (struct queue_item *item = send->what.first, *next; item; item = next) {
		next = item->next;
		queue_finish(sender->queue, item, result, keep);
	}
	batch_unref(send->what.batch);
	*send->link = send->next;
	if (send->next)
		send->next->link = send->link;
	free(send);
}

static void drop(struct send *send, int result, const char *why, const char *reason)
{
	struct sender *sender = send->sender;

	metric_add(sender->failed, send->samples);
	log_error(sender->parts.id, "dropped %llu samples: %s%s%s", send->samples, why, *reason ? ": " : "", reason);
	release(send, result, false);
}

static void wake(void *arg)
{
	struct sender *sender = arg;

	if (sender->ops->wake) {
		sender->ops->wake(sender->self);
		return;
	}
	LOCKED(&sender->lock);
	sender->woken = true;
	pthread_cond_signal(&sender->changed);
}

/* Gives it to the one that runs under the same id now; false if there is none, or it has no room. */
static bool hand_over(struct send *send)
{
	struct sender *successor;
	int r = -ENOENT;

	if (send->sender->parts.storage)
		return false;
	pthread_mutex_lock(&running_lock);
	for (successor = running; successor && strcmp(successor->parts.id, send->sender->parts.id);)
		successor = successor->next_running;
	if (successor)
		r = queue_offer(successor->queue, batch_ref(send->what.batch), wake, successor);
	pthread_mutex_unlock(&running_lock);
	if (r == 0)
		release(send, 0, false);
	return r == 0;
}

/* The end of the process is near: what is on disk waits for the next, the rest is lost. */
static void abandon(struct send *send)
{
	if (send->sender->parts.storage)
		release(send, -EAGAIN, true);
	else if (!hand_over(send))
		drop(send, -EAGAIN, "wick stops before they could be sent", "");
}

static void report_failure(struct sender *sender, const char *reason)
{
	sender->is_failing = true;
	component_report(sender->parts.status, HEALTH_RECOVERABLE, reason);
}

static void report_success(struct sender *sender)
{
	if (sender->is_failing)
		component_report(sender->parts.status, HEALTH_OK, "");
	sender->is_failing = false;
}

static double random_unit(void)
{
	u32 random = 0;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);	/* if it fails, waits are the shortest */
	return random / 4294967296.0;
}

static void try_later(struct send *send, const struct send_result *result)
{
	struct sender *sender = send->sender;
	u64 now = monotonic_ns(), delay;

	report_failure(sender, result->reason);
	if (sender->drains && sender->parts.storage) {
		release(send, -EAGAIN, true);
		return;
	}
	if (sender->drains && hand_over(send))
		return;
	if (!retry_again(&send->retry, &sender->options.retry, now, result->delay_ns, random_unit(), &delay)) {
		drop(send, -EAGAIN, sender->options.retry.enabled ? "no more retries left" : "retry_on_failure is off",
		     result->reason);
		return;
	}
	if (sender->drains && delay > DRAIN_DELAY_NS)
		delay = DRAIN_DELAY_NS;
	metric_add(sender->retries, 1);
	log_debug(sender->parts.id, "sending failed, trying again in %.1f s: %s", (double)delay / 1e9, result->reason);
	send->due_ns = now + delay;
	set_state(send, SEND_WAITING);
}

void sender_done(struct send *send, const struct send_result *result)
{
	struct sender *sender = send->sender;

	switch (result->outcome) {
	case SEND_OK:
		metric_add(sender->sent, send->samples);
		metric_add(sender->rejected, result->rejected);
		if (result->rejected || *result->reason)
			log_warn(sender->parts.id, "the other side took it but for %llu profiles: %s", result->rejected,
				 result->reason);
		report_success(sender);
		release(send, 0, false);
		return;
	case SEND_RETRY:
		try_later(send, result);
		return;
	case SEND_PERMANENT:
		report_failure(sender, result->reason);
		drop(send, -EBADMSG, "they will not be taken", result->reason);
		return;
	}
}

/* ---- Beginnings --------------------------------------------------------------------------- */

static void begin(struct send *send, u64 now)
{
	struct sender *sender = send->sender;
	struct send_result result = { 0 };
	int r;

	retry_begin(&send->retry, &sender->options.retry, now);
	set_state(send, SEND_IN_FLIGHT);
	if (sender->ops->send) {
		u64 began_ns = sender_time_of_thread(), by = batch_sender(send->what.batch);

		sender->ops->send(sender->self, send->what.batch, &result);
		sender_time_note_since(by, began_ns);
		sender_done(send, &result);
		return;
	}
	r = sender->ops->begin(sender->self, send);
	if (r < 0) {
		result.outcome = SEND_RETRY;
		(void)snprintf(result.reason, sizeof(result.reason), "cannot begin to send: %s", strerror(-r));
		sender_done(send, &result);
	}
}

static void add_send(struct sender *sender, struct send *send)
{
	send->sender = sender;
	send->next = sender->sends;
	send->link = &sender->sends;
	if (send->next)
		send->next->link = &send->next;
	sender->sends = send;
}

static struct send *new_send(struct sender *sender)
{
	struct send *send = calloc(1, sizeof(*send));

	if (!send)
		return NULL;
	if (!gather_next(sender->gather, monotonic_ns(), sender->drains, &send->what)) {
		free(send);
		return NULL;
	}
	send->samples = batch_samples(send->what.batch);
	add_send(sender, send);
	return send;
}

/* Another part of what a request came from; its retries go on where those of the whole are. */
static void add_piece(struct send *whole, const struct send_piece *piece)
{
	struct send *send = calloc(1, sizeof(*send));

	if (!send) {
		metric_add(whole->sender->failed, piece->samples);
		log_error(whole->sender->parts.id, "dropped %llu samples: out of memory", piece->samples);
		batch_unref(piece->batch);
		return;
	}
	send->what = (struct gathered){ piece->batch, whole->what.first };
	send->is_piece = true;
	send->samples = piece->samples;
	send->retry = whole->retry;
	for (struct queue_item *item = whole->what.first; item; item = item->next)
		item->parts++;
	add_send(whole->sender, send);
}

void sender_split(struct send *send, const struct send_piece *pieces, u32 count, u64 sent, u64 failed)
{
	struct sender *sender = send->sender;

	metric_add(sender->sent, sent);
	metric_add(sender->failed, failed);
	if (sent)
		report_success(sender);
	for (u32 i = count; i > 0; i--)		/* the list begins with the last that is added */
		add_piece(send, &pieces[i - 1]);
	release(send, failed ? -EBADMSG : 0, false);
}

void sender_shrink(struct send *send, struct send_piece piece, u64 sent, u64 failed)
{
	metric_add(send->sender->sent, sent);
	metric_add(send->sender->failed, failed);
	batch_unref(send->what.batch);
	send->what.batch = piece.batch;
	send->samples = piece.samples;
}

/* One that is there already, or the next of the queue. */
static struct send *next_send(struct sender *sender)
{
	struct send *send = sender->sends;

	while (send && send->state != SEND_READY)
		send = send->next;
	return send ? send : new_send(sender);
}

/* What failed before goes first, as it is older. */
static void begin_all(struct sender *sender)
{
	u32 max = sender->ops->send ? 1 : (u32)sender->options.queue.num_consumers;
	u64 now = monotonic_ns();
	struct send *next;

	for (struct send *send = sender->sends; send; send = next) {
		next = send->next;
		if (send->state == SEND_WAITING && send->due_ns <= now)
			begin(send, now);
	}
	while (sender->active < max && (next = next_send(sender)))
		begin(next, now);
}

/* ---- The thread ---------------------------------------------------------------------------- */

static u64 next_time(const struct sender *sender)
{
	u64 next = sender->drains ? sender->deadline_ns : UINT64_MAX, due = gather_due(sender->gather);

	if (due < next)
		next = due;
	for (const struct send *send = sender->sends; send; send = send->next) {
		if (send->state == SEND_WAITING && send->due_ns < next)
			next = send->due_ns;
	}
	return next;
}

static void wait_by_condition(struct sender *sender, u64 until_ns)
{
	int r = 0;

	LOCKED(&sender->lock);
	while (!sender->woken && !(sender->stopping && !sender->drains) && r == 0)
		r = cond_wait_until(&sender->changed, &sender->lock, until_ns);
	sender->woken = false;
}

/* Until something is done, somebody comes, or it is time for something. */
static void wait_for_news(struct sender *sender)
{
	u32 max = sender->ops->send ? 1 : (u32)sender->options.queue.num_consumers;
	u64 until = next_time(sender), now = monotonic_ns();
	int timeout_ms = -1;

	if (sender->active < max && !sender->drains && !queue_sleep(sender->queue))
		return;
	if (sender->ops->send) {
		wait_by_condition(sender, until);
		return;
	}
	if (until != UINT64_MAX)
		timeout_ms = until <= now ? 0 : (int)(until - now > 60000000000 ? 60000 : (until - now) / 1000000 + 1);
	sender->ops->wait(sender->self, timeout_ms);
}

/*
 * From now on nothing new comes. What is not in flight goes to the successor, or stays on disk; what neither takes is
 * sent as long as there is time.
 */
static void begin_draining(struct sender *sender)
{
	struct send *send, *next;

	sender->drains = true;
	for (send = sender->sends; send; send = next) {
		next = send->next;
		if (send->state == SEND_IN_FLIGHT)
			continue;
		if (sender->parts.storage)
			release(send, -EAGAIN, true);
		else if (!hand_over(send))
			send->due_ns = 0;
	}
	while ((send = new_send(sender)) && hand_over(send))
		;
}

/* The deadline has come, or there is nothing left. */
static void end_all(struct sender *sender)
{
	struct send *send;

	while ((send = sender->sends)) {
		if (send->state == SEND_IN_FLIGHT)
			sender->ops->cancel(sender->self, send);
		abandon(send);
	}
	while ((send = new_send(sender)))
		abandon(send);
}

static void *run(void *arg)
{
	struct sender *sender = arg;

	for (;;) {
		bool stopping;

		pthread_mutex_lock(&sender->lock);
		stopping = sender->stopping;
		pthread_mutex_unlock(&sender->lock);
		if (stopping && !sender->drains)
			begin_draining(sender);
		begin_all(sender);
		if (sender->drains && (!sender->sends || monotonic_ns() >= sender->deadline_ns))
			break;
		wait_for_news(sender);
	}
	end_all(sender);
	return NULL;
}

/* ---- For exporters ------------------------------------------------------------------------- */

/* Never so much that the machine suffers from a backend that is away. */
static u64 bytes_max(void)
{
	u64 memory = (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE) / 8;

	return memory < QUEUE_BYTES_MIN ? QUEUE_BYTES_MIN : memory > QUEUE_BYTES_MAX ? QUEUE_BYTES_MAX : memory;
}

static struct queue_limits limits_of(const struct sender *sender)
{
	const struct queue_options *options = &sender->options.queue;
	struct queue_limits limits = { .bytes_max = bytes_max() };

	if (!options->enabled) {
		limits.size_max = sender->ops->send ? UNQUEUED_REQUESTS : (u64)options->num_consumers;
		return limits;
	}
	limits.sizer = options->sizer;
	limits.size_max = (u64)options->queue_size;
	limits.block_on_overflow = options->block_on_overflow;
	limits.wait_for_result = options->wait_for_result;
	if (limits.sizer == QUEUE_BYTES)
		limits.bytes_max = limits.size_max;
	return limits;
}

static struct metric *metric_of(const struct sender *sender, enum metric_kind kind, const char *name, const char *help)
{
	const struct metric_label labels[] = { { "exporter", sender->parts.id }, { "data_type", "profiles" } };

	return metrics_get(sender->parts.metrics, kind, name, help, labels, kind == METRIC_GAUGE ? 2 : 1);
}

static void make_metrics(struct sender *sender)
{
	sender->sent = metric_of(sender, METRIC_COUNTER, "otelcol_exporter_sent_profile_samples",
				 "Samples that the destination took.");
	sender->failed = metric_of(sender, METRIC_COUNTER, "otelcol_exporter_send_failed_profile_samples",
				   "Samples that were dropped because they could not be sent.");
	sender->refused = metric_of(sender, METRIC_COUNTER, "otelcol_exporter_enqueue_failed_profile_samples",
				    "Samples that found the sending queue full.");
	sender->in_flight = metric_of(sender, METRIC_GAUGE, "otelcol_exporter_in_flight_requests",
				      "Requests that are being sent.");
	sender->retries = metric_of(sender, METRIC_COUNTER, "wick_exporter_retries",
				    "Requests that are sent again because an attempt failed.");
	sender->rejected = metric_of(sender, METRIC_COUNTER, "wick_exporter_rejected_profiles",
				     "Profiles of partly successful requests that the destination did not take.");
}

static int make_queue(struct sender *sender, struct buf *why)
{
	struct queue_limits limits = limits_of(sender);
	struct queue_metrics metrics = {
		metric_of(sender, METRIC_GAUGE, "otelcol_exporter_queue_size", "What waits and is being sent."),
		metric_of(sender, METRIC_COUNTER, "wick_exporter_storage_failures",
			  "Batches that were refused because they could not be written to disk."),
		metric_of(sender, METRIC_COUNTER, "wick_exporter_storage_damaged_records",
			  "Records of the queue on disk that were not what was once written."),
	};
	struct storage *storage = NULL;
	char owner[256];
	int r = 0;

	metric_set(metric_of(sender, METRIC_GAUGE, "otelcol_exporter_queue_capacity", "What queue_size allows."),
		   (s64)limits.size_max);
	(void)snprintf(owner, sizeof(owner), "exporter/%s", sender->parts.id);
	if (sender->parts.storage)
		r = sender->parts.storage->open(sender->parts.storage_self, owner, &storage, why);
	if (r == 0)
		r = queue_new(&limits, &metrics, storage, &sender->queue);
	if (r == 0)
		r = gather_new(&sender->options.queue, sender->queue, &sender->gather);
	return r;
}

int sender_make(const struct sender_parts *parts, const struct sender_options *options, const struct sender_ops *ops,
		void *self, struct sender **ret_sender)
{
	struct sender *sender = calloc(1, sizeof(*sender));

	if (!sender)
		return -ENOMEM;
	sender->parts = *parts;
	sender->options = *options;
	sender->options.queue.has_batch &= !ops->never_joins;
	sender->ops = ops;
	sender->self = self;
	pthread_mutex_init(&sender->lock, NULL);
	cond_init(&sender->changed);
	make_metrics(sender);
	*ret_sender = sender;
	return 0;
}

int sender_new(const struct component_setup *setup, const struct sender_options *options, const struct sender_ops *ops,
	       void *self, struct sender **ret_sender, struct buf *why)
{
	struct sender_parts parts = { .id = setup->id, .status = setup->status,
				      .metrics = service_metrics(setup->service) };
	const struct component_ops *extension;

	if (options->queue.enabled && *options->queue.storage) {
		extension = service_extension(setup->service, options->queue.storage, &parts.storage_self);
		if (!extension || !extension->storage) {
			buf_addf(why, "sending_queue::storage: service::extensions names no file_storage %s",
				 options->queue.storage);
			return -ENOENT;
		}
		parts.storage = extension->storage;
	}
	return sender_make(&parts, options, ops, self, ret_sender);
}

int sender_start(struct sender *sender, struct buf *why)
{
	int r = make_queue(sender, why);

	if (r < 0)
		return r;
	r = thread_start(&sender->thread, "wick: sender", run, sender);
	if (r < 0) {
		buf_addf(why, "cannot start a thread: %s", strerror(-r));
		return r;
	}
	LOCKED(&running_lock);
	sender->next_running = running;
	running = sender;
	return 0;
}

int sender_consume(struct sender *sender, struct batch *batch)
{
	u64 samples = batch_samples(batch);
	int r;

	/* As OTLP says: an empty request is a success, and goes nowhere. */
	if (!samples) {
		batch_unref(batch);
		return 0;
	}
	r = queue_put(sender->queue, batch, wake, sender);
	if (r != -ENOBUFS && r != -E2BIG)
		return r;
	metric_add(sender->refused, samples);
	log_error(sender->parts.id, "dropped %llu samples: %s", samples,
		  r == -E2BIG ? "the batch alone is larger than the sending queue" :
				"the sending queue is full, or its disk");
	return r == -E2BIG ? r : -EAGAIN;
}

static void forget(struct sender *sender)
{
	struct sender **link = &running;

	LOCKED(&running_lock);
	while (*link != sender)
		link = &(*link)->next_running;
	*link = sender->next_running;
}

void sender_stop(struct sender *sender, u64 deadline_ns)
{
	if (!sender->thread.is_started)
		return;
	forget(sender);
	queue_close(sender->queue);
	pthread_mutex_lock(&sender->lock);
	sender->stopping = true;
	sender->deadline_ns = deadline_ns;
	pthread_mutex_unlock(&sender->lock);
	wake(sender);
	thread_join(&sender->thread);
}

void sender_free(struct sender *sender)
{
	if (!sender)
		return;
	sender_stop(sender, 0);
	gather_free(sender->gather);
	queue_free(sender->queue);
	pthread_cond_destroy(&sender->changed);
	pthread_mutex_destroy(&sender->lock);
	free(sender);
}
