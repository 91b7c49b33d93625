// SPDX-License-Identifier: Apache-2.0
#include "pipeline/instance.h"

#include <string.h>

#include "base/buf.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/registry.h"
#include "pipeline/sender.h"

void instance_init(struct instance *instance, enum component_kind kind, const char *id, const char *pipeline,
		   const struct component_ops *ops, const void *options)
{
	*instance = (struct instance){
		.kind = kind,
		.id = id,
		.pipeline = pipeline,
		.ops = ops,
		.options = options,
		.is_alone = ops->alone,
	};
	status_init(&instance->status, id);
}

void instance_done(struct instance *instance)
{
	sender_free(instance->sender);
	if (instance->is_made)
		instance->ops->free(instance->self);
	status_done(&instance->status);
}

/* ---- Counting ------------------------------------------------------------------- */

static int count_incoming(void *self, struct batch *batch)
{
	struct instance *instance = self;

	metric_add(instance->incoming, batch_samples(batch));
	return instance->ops->consume(instance->self, batch);
}

static int count_outgoing(void *self, struct batch *batch)
{
	struct instance *instance = self;

	metric_add(instance->outgoing, batch_samples(batch));
	return consumers_send(&instance->targets, batch);
}

static void make_counters(struct instance *instance, struct metrics *metrics)
{
	const struct metric_label labels[] = { { "processor", instance->id }, { "otel_signal", "profiles" } };

	instance->incoming = metrics_get(metrics, METRIC_COUNTER, "otelcol_processor_incoming_items",
					 "Samples that came to a processor", labels, 2);
	instance->outgoing = metrics_get(metrics, METRIC_COUNTER, "otelcol_processor_outgoing_items",
					 "Samples that a processor sent on", labels, 2);
	instance->counter = (struct consumer){ count_outgoing, instance };
	instance->counted = (struct consumers){ &instance->counter, 1 };
}

static int enqueue(void *self, struct batch *batch)
{
	return sender_consume(self, batch);
}

struct consumer instance_consumer(struct instance *instance)
{
	if (instance->kind == COMPONENT_PROCESSOR)
		return (struct consumer){ count_incoming, instance };
	if (!instance->ops->consume)
		return (struct consumer){ enqueue, instance->sender };
	return (struct consumer){ instance->ops->consume, instance->self };
}

bool instance_reads_profiles(const struct instance *instance)
{
	if (instance->ops->looks == LOOKS_AT_NOTHING)
		return instance->target_reads_profiles;
	return instance->ops->looks == LOOKS_AT_PROFILE;
}

/* ---- Life ------------------------------------------------------------------------ */

/* What the component said goes behind its path; if it said nothing, the errno's text. */
static int fail(const struct instance *instance, int error, const struct buf *said, struct buf *why)
{
	buf_addf(why, "%s::%s: %.*s", component_section_name(instance->kind), instance->id, (int)said->len,
		 said->len ? said->data : "");
	if (!said->len)
		buf_addf(why, "%s", strerror(-error));
	return error;
}

int instance_make(struct instance *instance, struct service *service, struct metrics *metrics, struct buf *why)
{
	_cleanup_(buf_done) struct buf said;
	int r;

	if (instance->kind == COMPONENT_PROCESSOR)
		make_counters(instance, metrics);
	instance->setup = (struct component_setup){
		.id = instance->id,
		.kind = instance->kind,
		.service = service,
		.status = &instance->status,
		.next = instance->kind == COMPONENT_PROCESSOR ? &instance->counted :
			instance->targets.count ? &instance->targets : NULL,
		.next_reads_profiles = instance->target_reads_profiles,
	};
	buf_init(&said, why->max);
	r = instance->ops->create(&instance->setup, instance->options, &instance->self, &said);
	instance->is_made = r == 0;
	if (r == 0 && instance->ops->sends)
		r = sender_new(&instance->setup, (const void *)((const char *)instance->options +
								instance->ops->sender_at),
			       instance->ops->sends, instance->self, &instance->sender, &said);
	instance->setup.sender = instance->sender;
	return r < 0 ? fail(instance, r, &said, why) : 0;
}

int instance_start(struct instance *instance, struct buf *why)
{
	_cleanup_(buf_done) struct buf said;
	struct status_view view;
	int r;

	buf_init(&said, why->max);
	r = instance->ops->start ? instance->ops->start(instance->self, &said) : 0;
	if (r == 0 && instance->sender)
		r = sender_start(instance->sender, &said);
	if (r < 0)
		return fail(instance, r, &said, why);
	instance->is_started = true;
	status_read(&instance->status, &view);
	if (view.health == HEALTH_STARTING)
		component_report(&instance->status, HEALTH_OK, "");
	return 0;
}

void instance_stop(struct instance *instance, u64 deadline_ns)
{
	if (!instance->is_started)
		return;
	if (instance->ops->flush)
		instance->ops->flush(instance->self);
	if (instance->sender)
		sender_stop(instance->sender, deadline_ns);
	if (instance->ops->stop)
		instance->ops->stop(instance->self, deadline_ns);
	instance->is_started = false;
	component_report(&instance->status, HEALTH_STOPPED, "");
}
