// SPDX-License-Identifier: Apache-2.0
#include "pipeline/service.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "pipeline/instance.h"
#include "pipeline/plan.h"

/* What has been started may take this long to stop when something else could not be. */
#define UNWIND_NS 1000000000ull

struct lane {
	const struct plan_pipeline *pipeline;
	struct instance **processors;		/* in their order */
};

struct service {
	struct service_host host;
	struct plan *plan;
	struct instance *instances;		/* in the order they start */
	u32 instance_count;
	struct lane *lanes;			/* of plan->pipelines */
	struct instance *making;		/* whose create() runs */
	u64 started_unix_ns;
};

int service_check(const struct component_registry *registry, const struct config *config, struct config_errors *errors)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;

	return plan_make(registry, config, errors, &plan);
}

/* ---- What there is, in the order it starts -------------------------------------- */

static struct instance *find(const struct service *service, enum component_kind kind, const char *id)
{
	for (u32 i = 0; i < service->instance_count; i++) {
		if (service->instances[i].kind == kind && !strcmp(service->instances[i].id, id))
			return &service->instances[i];
	}
	return NULL;
}

static struct instance *add(struct service *service, const struct plan_component *component, const char *pipeline)
{
	struct instance *instance = &service->instances[service->instance_count++];

	instance_init(instance, component->kind, component->id, pipeline, component->ops, component->options);
	return instance;
}

static void add_used(struct service *service, enum component_kind kind)
{
	for (u32 i = 0; i < service->plan->component_count; i++) {
		const struct plan_component *component = &service->plan->components[i];

		if (component->kind == kind && component->used)
			(void)add(service, component, "");
	}
}

static void add_extensions(struct service *service)
{
	const struct component_ops *telemetry = service->host.telemetry;

	for (u32 i = 0; i < service->plan->extensions.count; i++)
		(void)add(service, service->plan->extensions.at[i], "");
	if (telemetry)
		instance_init(&service->instances[service->instance_count++], COMPONENT_EXTENSION, "telemetry", "",
			      telemetry, &service->plan->telemetry);
}

/* The connectors that it leads to, whose own targets are there already; then processors, the last first. */
static void add_pipeline(struct service *service, struct lane *lane)
{
	const struct plan_pipeline *pipeline = lane->pipeline;

	for (u32 i = 0; i < pipeline->exporters.count; i++) {
		const struct plan_component *component = pipeline->exporters.at[i];

		if (component->kind == COMPONENT_CONNECTOR && !find(service, COMPONENT_CONNECTOR, component->id))
			(void)add(service, component, "");
	}
	for (u32 i = pipeline->processors.count; i-- > 0;)
		lane->processors[i] = add(service, pipeline->processors.at[i], pipeline->id);
}

static u32 count_instances(const struct plan *plan)
{
	u32 count = plan->extensions.count + 1 + plan->component_count;

	for (u32 i = 0; i < plan->pipeline_count; i++)
		count += plan->pipelines[i].processors.count;
	return count;
}

static int add_all(struct service *service)
{
	struct plan *plan = service->plan;

	service->instances = calloc(count_instances(plan), sizeof(*service->instances));
	service->lanes = arena_zalloc(&plan->arena, plan->pipeline_count * sizeof(*service->lanes));
	if (!service->instances || !service->lanes)
		return -ENOMEM;
	for (u32 i = 0; i < plan->pipeline_count; i++) {
		struct lane *lane = &service->lanes[i];

		lane->pipeline = &plan->pipelines[i];
		lane->processors = arena_zalloc(&plan->arena, (plan->pipelines[i].processors.count + 1) *
							      sizeof(*lane->processors));
		if (!lane->processors)
			return -ENOMEM;
	}
	add_extensions(service);
	add_used(service, COMPONENT_EXPORTER);
	for (u32 i = 0; i < plan->pipeline_count; i++)
		add_pipeline(service, &service->lanes[plan->order[i]]);
	add_used(service, COMPONENT_RECEIVER);
	return 0;
}

/* ---- Wires ----------------------------------------------------------------------- */

/* What is wired; at is NULL to count first. */
struct wiring {
	struct consumer *at;
	u32 count;
	bool read_profiles;
};

static void wire(struct wiring *w, struct instance *to)
{
	if (w->at)
		w->at[w->count] = instance_consumer(to);
	w->read_profiles &= instance_reads_profiles(to);
	w->count++;
}

/* All that a pipeline's last processor leads to. */
static void wire_tail(struct service *service, const struct lane *lane, struct wiring *w)
{
	for (u32 i = 0; i < lane->pipeline->exporters.count; i++) {
		const struct plan_component *component = lane->pipeline->exporters.at[i];

		wire(w, find(service, component->kind, component->id));
	}
}

static void wire_head(struct service *service, const struct lane *lane, struct wiring *w)
{
	if (lane->pipeline->processors.count)
		wire(w, lane->processors[0]);
	else
		wire_tail(service, lane, w);
}

/* What a receiver or connector leads to: the heads of all pipelines that name it. */
static void wire_heads(struct service *service, const struct instance *from, struct wiring *w)
{
	for (u32 i = 0; i < service->plan->pipeline_count; i++) {
		const struct plan_list *receivers = &service->plan->pipelines[i].receivers;

		for (u32 k = 0; k < receivers->count; k++) {
			if (receivers->at[k]->kind == from->kind && !strcmp(receivers->at[k]->id, from->id))
				wire_head(service, &service->lanes[i], w);
		}
	}
}

static void wire_processor(struct service *service, const struct instance *from, struct wiring *w)
{
	for (u32 i = 0; i < service->plan->pipeline_count; i++) {
		const struct lane *lane = &service->lanes[i];

		for (u32 k = 0; k < lane->pipeline->processors.count; k++) {
			if (lane->processors[k] != from)
				continue;
			if (k + 1 < lane->pipeline->processors.count)
				wire(w, lane->processors[k + 1]);
			else
				wire_tail(service, lane, w);
		}
	}
}

static void wire_targets(struct service *service, struct instance *from, struct wiring *w)
{
	if (from->kind == COMPONENT_RECEIVER || from->kind == COMPONENT_CONNECTOR)
		wire_heads(service, from, w);
	else if (from->kind == COMPONENT_PROCESSOR)
		wire_processor(service, from, w);
}

/* ---- Starting -------------------------------------------------------------------- */

static int make(struct service *service, struct instance *instance, struct buf *why)
{
	struct wiring w = { .read_profiles = true };
	int r;

	wire_targets(service, instance, &w);
	if (w.count) {
		w.at = arena_alloc(&service->plan->arena, w.count * sizeof(*w.at));
		if (!w.at)
			return arena_err(&service->plan->arena);
		w.count = 0;
		wire_targets(service, instance, &w);
		instance->targets = (struct consumers){ w.at, w.count };
		/* Where several edit, all but one need a copy, which is made of the bytes. */
		instance->target_reads_profiles = w.read_profiles && w.count == 1;
	}
	service->making = instance;
	r = instance_make(instance, service, service->host.metrics, why);
	service->making = NULL;
	return r;
}

static int start_all(struct service *service, struct buf *why)
{
	int r = 0;

	for (u32 i = 0; i < service->instance_count && r >= 0; i++)
		r = make(service, &service->instances[i], why);
	for (u32 i = 0; i < service->instance_count && r >= 0; i++)
		r = instance_start(&service->instances[i], why);
	if (r < 0)
		service_stop(service, monotonic_ns() + UNWIND_NS);
	return r;
}

static int plan_again(struct service *service, const struct config *config, struct buf *why)
{
	struct config_errors errors;
	int r;

	config_errors_init(&errors);
	r = plan_make(service->host.registry, config, &errors, &service->plan);
	if (r == -EINVAL)
		buf_addf(why, "%s", errors.errors[0]);
	config_errors_done(&errors);
	return r;
}

struct service *service_new(const struct service_host *host)
{
	struct service *service = calloc(1, sizeof(*service));

	if (!service)
		return NULL;
	service->host = *host;
	service->started_unix_ns = clock_ns(CLOCK_REALTIME);
	return service;
}

int service_start(const struct service_host *host, const struct config *config, struct service **ret_service,
		  struct buf *why)
{
	_cleanup_(service_freep) struct service *service = service_new(host);
	int r;

	if (!service)
		return -ENOMEM;
	r = plan_again(service, config, why);
	if (r == 0)
		r = add_all(service);
	if (r == 0 && host->log_fd)
		r = telemetry_setup_logs(&service->plan->telemetry.logs, host->log_fd, why);
	if (r == 0)
		r = start_all(service, why);
	if (r < 0) {
		if (!why->len)
			buf_addf(why, "%s", strerror(-r));
		return r;
	}
	*ret_service = TAKE(service);
	return 0;
}

/* ---- Stopping -------------------------------------------------------------------- */

/* An exporter may go on beside its successor, and so may the extensions that it needs, unless they are its storage. */
static bool may_go_on(const struct instance *instance)
{
	if (instance->kind == COMPONENT_EXPORTER)
		return !instance->is_alone;
	return instance->kind == COMPONENT_EXTENSION && instance->is_needed && !instance->ops->storage;
}

void service_retire(struct service *service, u64 deadline_ns)
{
	for (u32 i = service->instance_count; i-- > 0;) {
		if (!may_go_on(&service->instances[i]))
			instance_stop(&service->instances[i], deadline_ns);
	}
}

void service_stop(struct service *service, u64 deadline_ns)
{
	for (u32 i = service->instance_count; i-- > 0;)
		instance_stop(&service->instances[i], deadline_ns);
}

void service_free(struct service *service)
{
	if (!service)
		return;
	for (u32 i = service->instance_count; i-- > 0;)
		instance_done(&service->instances[i]);
	free(service->instances);
	plan_free(service->plan);
	free(service);
}

/* ---- For components --------------------------------------------------------------- */

struct metrics *service_metrics(struct service *service)
{
	return service->host.metrics;
}

struct arrivals *service_arrivals(struct service *service)
{
	return service->host.arrivals;
}

struct taps *service_taps(struct service *service)
{
	return service->host.taps;
}

struct boost_desk *service_boosts(struct service *service)
{
	return service->host.boosts;
}

struct control *service_control(struct service *service)
{
	return service->host.control;
}

uid_t service_starter(struct service *service)
{
	return service->host.starter;
}

struct server *service_server(struct service *service)
{
	return service->host.server;
}

const struct component_ops *service_extension(struct service *service, const char *id, void **ret_self)
{
	struct instance *extension = find(service, COMPONENT_EXTENSION, id), *user = service->making;

	if (!extension || !extension->is_made)
		return NULL;
	if (user && user->kind == COMPONENT_EXPORTER) {
		extension->is_needed = true;
		user->is_alone |= extension->ops->storage != NULL;
	}
	*ret_self = extension->self;
	return extension->ops;
}

/* ---- For whoever shows it --------------------------------------------------------- */

int service_component(struct service *service, u32 i, struct component_view *ret_view)
{
	struct instance *instance;
	struct status_view status;

	if (i >= service->instance_count)
		return -ENOENT;
	instance = &service->instances[i];
	status_read(&instance->status, &status);
	*ret_view = (struct component_view){
		.kind = instance->kind,
		.id = instance->id,
		.type = instance->ops->type,
		.pipeline = instance->pipeline,
		.health = status.health,
		.last_error_unix_ns = status.last_error_unix_ns,
	};
	memcpy(ret_view->last_error, status.last_error, sizeof(ret_view->last_error));
	return 0;
}

int service_pipeline(struct service *service, u32 i, struct pipeline_view *ret_view)
{
	const struct plan_pipeline *pipeline;

	if (!service->plan || i >= service->plan->pipeline_count)
		return -ENOENT;
	pipeline = &service->plan->pipelines[i];
	*ret_view = (struct pipeline_view){
		.id = pipeline->id,
		.receivers = pipeline->receiver_ids,
		.processors = pipeline->processor_ids,
		.exporters = pipeline->exporter_ids,
	};
	return 0;
}

enum health service_health(struct service *service)
{
	static const int badness[] = {
		[HEALTH_OK] = 0,	  [HEALTH_STOPPED] = 1,	  [HEALTH_STARTING] = 2,
		[HEALTH_RECOVERABLE] = 3, [HEALTH_PERMANENT] = 4,
	};
	enum health worst = HEALTH_OK;
	struct status_view status;

	for (u32 i = 0; i < service->instance_count; i++) {
		status_read(&service->instances[i].status, &status);
		if (badness[status.health] > badness[worst])
			worst = status.health;
	}
	return worst;
}

u64 service_started_unix_ns(struct service *service)
{
	return service->started_unix_ns;
}
