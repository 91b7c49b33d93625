/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands before every exporter: a bounded queue, in memory or on disk, batching, retries and
 * a thread, so that a slow exporter slows nobody. The Collector's exporterhelper.
 *
 *	consume -> queue -> (batch) -> request in flight -> done, or wait and again, or drop
 *
 *  - Overflow drops the whole batch that came, counted
 *    (otelcol_exporter_enqueue_failed_profile_samples), and tells the caller -EAGAIN; block_on_overflow waits.
 *  - Results: sent, to be retried (with the delay the other side asked for),
 *    permanent. Retries follow retry_on_failure; what runs out of time is
 *    dropped, counted (otelcol_exporter_send_failed_profile_samples) and logged.
 *  - Without sending_queue nobody waits for the network either: num_consumers requests may be under way (of the kind
 *    that sends at once, 1000 may wait), the next one is refused.
 *  - sender_stop() leaves what is not in flight to a sender that runs under the same id, the next configuration's, or
 *    on disk; else it is sent until the deadline, and dropped then.
 *
 *  - A request may turn out to be several: sender_split() puts pieces in its place, each with retries of its own.
 *
 * The exporter is one of two kinds:
 *	send()				does it at once, in the sender's thread (files, text)
 *	begin(), wait(), wake()		has up to num_consumers requests in flight (curl); sender_done() for each
 */
#ifndef PIPELINE_SENDER_H
#define PIPELINE_SENDER_H

#include "base/cleanup.h"
#include "base/types.h"
#include "config/fields.h"
#include "pipeline/component.h"

struct batch;
struct send;
struct sender;

struct retry_options {
	bool enabled;
	s64 initial_interval_ns, max_interval_ns, max_elapsed_time_ns;
	double randomization_factor, multiplier;
};

enum queue_sizer { QUEUE_REQUESTS, QUEUE_ITEMS, QUEUE_BYTES };

struct queue_options {
	bool enabled;
	s64 num_consumers, queue_size;
	int sizer;				/* enum queue_sizer */
	bool block_on_overflow, wait_for_result;
	const char *storage;			/* id of an extension; "" none */
	bool has_batch;
	struct {
		s64 flush_timeout_ns, min_size, max_size;
		int sizer;			/* QUEUE_ITEMS, QUEUE_BYTES; 0: see sender_batch_sizer() */
	} batch;
};

struct sender_options {
	struct retry_options retry;
	struct queue_options queue;
	s64 timeout_ns;
};

/* Entries for an exporter's own table, and the Collector's defaults for them. */
extern const struct config_field retry_fields[], queue_fields[];
#define SENDER_DEFAULTS(timeout) { \
	.retry = { true, 5000000000, 30000000000, 300000000000, 0.5, 1.5 }, \
	.queue = { .enabled = true, .num_consumers = 10, .queue_size = 1000, .storage = "", \
		   .batch = { 200000000, 8192, 0, 0 } }, \
	.timeout_ns = (timeout) }
#define SENDER_FIELDS(type, member) \
	{ "retry_on_failure", CONFIG_SECTION, FIELD(type, member.retry), .fields = retry_fields, \
	  .help = "what happens when sending fails" }, \
	{ "sending_queue", CONFIG_SECTION, FIELD(type, member.queue), .fields = queue_fields, \
	  .help = "what waits to be sent" }, \
	{ "timeout", CONFIG_DURATION, FIELD(type, member.timeout_ns), .help = "of one attempt; 0: none" }

/* In component_ops: what sends, and where the options of its queue are. */
#define EXPORTER_SENDS(ops, type, member) .sends = &ops, .sender_at = offsetof(type, member)

/* What the tables cannot say; the plan calls it. */
void sender_check(const struct sender_options *options, struct config_place place, const char *path,
		  struct config_errors *errors);

/* That of the batch section, or of the queue if it has none. */
enum queue_sizer sender_batch_sizer(const struct queue_options *queue);

enum send_outcome { SEND_OK, SEND_RETRY, SEND_PERMANENT };

struct send_result {
	enum send_outcome outcome;
	s64 delay_ns;			/* RETRY: as the other side asked; 0: it did not */
	u64 rejected;			/* OK: samples or profiles that the other side says it did not take */
	char reason[256];		/* "" if all went well */
};

struct sender_ops {
	bool never_joins;		/* batches stay as they came, whatever sending_queue::batch says */
	void (*send)(void *self, struct batch *batch, struct send_result *ret_result);

	int (*begin)(void *self, struct send *send);	/* -errno: could not even begin; to be retried */
	void (*wait)(void *self, int timeout_ms);	/* until something is done, or wake(); -1: no limit */
	void (*wake)(void *self);			/* from any thread */
	void (*cancel)(void *self, struct send *send);	/* at the deadline */
};

/* The batch of a request in flight; borrowed until sender_done(). */
struct batch *send_batch(struct send *send);

/* What the exporter keeps with a request in flight. */
void send_keep(struct send *send, void *what);
void *send_kept(const struct send *send);

void sender_done(struct send *send, const struct send_result *result);

/*
 * Instead of sender_done(): what is left of the request are these, each a request of its own that counts as so many
 * samples. `sent` samples were taken, `failed` will never be; both are counted. Takes over the references.
 */
struct send_piece {
	struct batch *batch;
	u64 samples;
};
void sender_split(struct send *send, const struct send_piece *pieces, u32 count, u64 sent, u64 failed);

/* Before sender_done(): what is left of the request is this. Takes over the reference. */
void sender_shrink(struct send *send, struct send_piece piece, u64 sent, u64 failed);

/* Whether sender_split() made it, and as how many samples it counts. */
bool send_is_piece(const struct send *send);
u64 send_samples(const struct send *send);

int sender_new(const struct component_setup *setup, const struct sender_options *options, const struct sender_ops *ops,
	       void *self, struct sender **ret_sender, struct buf *why);
int sender_start(struct sender *sender, struct buf *why);
int sender_consume(struct sender *sender, struct batch *batch);
void sender_stop(struct sender *sender, u64 deadline_ns);
void sender_free(struct sender *sender);
DEFINE_CLEANUP(struct sender *, sender_free)

#endif
