/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One component that lives: its options, its state, how it is, and what comes
 * after it. What passes a processor is counted on both sides.
 *
 * The service's thread makes, starts, stops and frees it; consumers are called by any.
 */
#ifndef PIPELINE_INSTANCE_H
#define PIPELINE_INSTANCE_H

#include "pipeline/component.h"
#include "pipeline/status.h"

struct buf;
struct metric;
struct metrics;

struct instance {
	enum component_kind kind;
	const char *id;
	const char *pipeline;		/* of a processor; "" else */
	const struct component_ops *ops;
	const void *options;

	struct consumers targets;	/* what comes next; empty for exporters and extensions */
	bool target_reads_profiles;	/* there is one, and it looks into every profile */
	struct consumer counter;	/* of a processor: counts, and sends on to targets */
	struct consumers counted;	/* just that */
	struct metric *incoming, *outgoing;	/* of a processor */

	struct component_setup setup;
	struct component_status status;
	struct sender *sender;		/* of an exporter that sends, or NULL */
	void *self;
	bool is_made, is_started;
	bool is_alone;			/* see component_ops.alone */
	bool is_needed;			/* of an extension: an exporter uses it, until it has stopped */
};

/* All but targets and setup.service is set. */
void instance_init(struct instance *instance, enum component_kind kind, const char *id, const char *pipeline,
		   const struct component_ops *ops, const void *options);
void instance_done(struct instance *instance);

/* targets are wired, and made. A failure is told in `why`, with the component's path. */
int instance_make(struct instance *instance, struct service *service, struct metrics *metrics, struct buf *why);
int instance_start(struct instance *instance, struct buf *why);

/* Nothing happens if it was not started. */
void instance_stop(struct instance *instance, u64 deadline_ns);

/* Does it look into every profile that it gets, by itself or by what comes next? */
bool instance_reads_profiles(const struct instance *instance);

/* Where to send to it: good until it is done. */
struct consumer instance_consumer(struct instance *instance);

#endif
