// SPDX-License-Identifier: Apache-2.0
/*
 * k8s_attributes: puts what Kubernetes knows of a resource's pod on it. A
 * thread lists and watches pods (k8s_watch.h) and keeps them (k8s_pods.h); the
 * data path takes what is known, and never waits.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/status.h"
#include "processors/edit.h"
#include "processors/k8s_api.h"
#include "processors/k8s_objects.h"
#include "processors/k8s_options.h"
#include "processors/k8s_pods.h"
#include "processors/k8s_watch.h"
#include "profile/attrs.h"

struct namer {
	const struct component_setup *setup;
	const struct k8s_options *options;
	struct k8s_api *api;		/* NULL: passthrough */
	struct k8s_objects *objects;
	struct k8s_pods *pods;
	struct k8s_watch watch;
	struct buf query;
	struct metric *found, *unknown, *left_out;
	struct thread thread;
	bool is_troubled;		/* the thread's: and it was said */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_listed;
};

/* ---- What the thread hears ------------------------------------------------------------------------------- */

static void on_begin(void *arg)
{
	k8s_pods_begin(((struct namer *)arg)->pods);
}

static void on_put(void *arg, const char *json, size_t bytes)
{
	struct namer *self = arg;

	if (k8s_pods_put(self->pods, json, bytes, monotonic_ns()) < 0)
		metric_add(self->left_out, 1);
}

static void on_drop(void *arg, const char *json, size_t bytes)
{
	struct namer *self = arg;

	if (k8s_pods_drop(self->pods, json, bytes, monotonic_ns()) < 0)
		metric_add(self->left_out, 1);
}

static void on_end(void *arg)
{
	struct namer *self = arg;

	k8s_pods_end(self->pods, monotonic_ns());
	LOCKED(&self->lock);
	if (!self->is_listed)
		log_info(self->setup->id, "%zu pods are known", k8s_pods_count(self->pods));
	self->is_listed = true;
	pthread_cond_broadcast(&self->changed);
}

static void on_trouble(void *arg, const char *text)
{
	struct namer *self = arg;

	if (*text && !self->is_troubled)
		log_warn(self->setup->id, "%s; what is known is used until then", text);
	else if (!*text && self->is_troubled)
		log_info(self->setup->id, "the API server answers again");
	self->is_troubled = *text;
}

static void *watch_pods(void *arg)
{
	struct namer *self = arg;

	k8s_watch_run(&self->watch);
	return NULL;
}

/* ---- The data path ------------------------------------------------------------------------------------------ */

static int change(void *arg, struct profile *profile)
{
	struct namer *self = arg;

	k8s_pods_sweep(self->pods, monotonic_ns());
	for (u32 i = 0; i < profile->resources.count; i++) {
		struct attrs attrs = attrs_of_resource(profile, &profile->resources.at[i]);

		metric_add(k8s_pods_apply(self->pods, &attrs) ? self->found : self->unknown, 1);
	}
	return 0;
}

static int namer_consume(void *arg, struct batch *batch)
{
	struct namer *self = arg;

	if (!self->api)
		return consumers_send(self->setup->next, batch);
	return processor_edit_resources(self->setup, batch, change, self);
}

/* ---- Selectors ------------------------------------------------------------------------------------------- */

static void add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_addf(out, (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' &&
												   *text <= '9') ||
			      strchr("-_.", *text) ? "%c" : "%%%02X", (unsigned char)*text);
}

static void add_selector(struct buf *out, const char **between, const char *key, const char *op, const char *value)
{
	buf_addf(out, "%s", *between);
	*between = "%2C";
	if (op[0] == '!' && !op[1])
		add_escaped(out, op);
	add_escaped(out, key);
	if (op[0] != '!' || op[1])
		add_escaped(out, op);
	add_escaped(out, value);
}

static void add_filters(struct buf *out, const char **between, const struct config_sections *filters)
{
	const struct k8s_filter *at = filters->at;

	for (u32 i = 0; i < filters->count; i++)
		add_selector(out, between, at[i].key, at[i].op == K8S_EQUALS ? "=" : at[i].op == K8S_NOT_EQUALS ? "!=" :
			     at[i].op == K8S_EXISTS ? "" : "!", at[i].op <= K8S_NOT_EQUALS ? at[i].value : "");
}

static void write_query(const struct k8s_options *o, struct buf *out)
{
	const char *fields = "&fieldSelector=", *labels = "&labelSelector=";

	buf_addf(out, "%s", "");
	if (*k8s_node(o))
		add_selector(out, &fields, "spec.nodeName", "=", k8s_node(o));
	if (*o->namespace)
		add_selector(out, &fields, "metadata.namespace", "=", o->namespace);
	add_filters(out, &fields, &o->field_filters);
	add_filters(out, &labels, &o->label_filters);
}

/* ---- Life ------------------------------------------------------------------------------------------------------ */

static void namer_free(void *arg);
DEFINE_CLEANUP(void *, namer_free)

static int set_up(struct namer *self, const struct k8s_options *o, struct buf *why)
{
	struct k8s_lookup lookup;
	int r = k8s_api_new((enum k8s_auth)o->auth_type, &self->api, why);

	if (r < 0)
		return r;
	self->objects = k8s_objects_new(self->api, self->setup->id, o->sync_ns);
	if (!self->objects)
		return -ENOMEM;
	lookup = (struct k8s_lookup){ self->objects, k8s_objects_find };
	r = k8s_pods_new(o, &lookup, &self->pods, why);
	write_query(o, &self->query);
	if (r == 0)
		r = buf_err(&self->query);
	self->watch = (struct k8s_watch){ .api = self->api, .id = self->setup->id, .path = "/api/v1/pods",
					  .query = self->query.data,
					  .sync_ns = o->sync_ns,
					  .ops = { self, on_begin, on_put, on_drop, on_end, on_trouble } };
	return r;
}

static int namer_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	const struct k8s_options *o = options;
	struct namer *self = calloc(1, sizeof(*self));
	_cleanup_(namer_freep) void *held = self;
	int r = 0;

	if (!self)
		return -ENOMEM;
	self->setup = setup;
	self->options = o;
	pthread_mutex_init(&self->lock, NULL);
	cond_init(&self->changed);
	buf_init(&self->query, 4096);
	self->found = processor_counter(setup, "otelcol_processor_k8s_attributes_found",
					"resources whose pod is known");
	self->unknown = processor_counter(setup, "otelcol_processor_k8s_attributes_unknown", "... whose pod is not");
	self->left_out = processor_counter(setup, "otelcol_processor_k8s_attributes_pods_left_out",
					   "pods that could not be read, or for which there was no room");
	if (!o->passthrough)
		r = set_up(self, o, why);
	if (r < 0)
		return r;
	*ret_self = TAKE(held);
	return 0;
}

static bool wait_until_listed(struct namer *self)
{
	u64 due = deadline_after((u64)self->options->wait_ns);

	LOCKED(&self->lock);
	while (!self->is_listed && monotonic_ns() < due)
		(void)cond_wait_until(&self->changed, &self->lock, due);
	return self->is_listed;
}

static int namer_start(void *arg, struct buf *why)
{
	struct namer *self = arg;
	int r = self->api ? thread_start(&self->thread, "wick: pods", watch_pods, self) : 0;

	if (r == 0 && self->api && self->options->wait_for_metadata && !wait_until_listed(self)) {
		buf_addf(why, "the pods are not known after wait_for_metadata_timeout");
		r = -ETIMEDOUT;
	}
	return r;
}

static void namer_stop(void *arg, u64 deadline_ns)
{
	struct namer *self = arg;

	if (!self->thread.is_started)
		return;
	k8s_api_stop(self->api);
	thread_join(&self->thread);
}

static void namer_free(void *arg)
{
	struct namer *self = arg;

	if (!self)
		return;
	namer_stop(self, 0);
	k8s_pods_free(self->pods);
	k8s_objects_free(self->objects);
	k8s_api_free(self->api);
	buf_done(&self->query);
	pthread_cond_destroy(&self->changed);
	pthread_mutex_destroy(&self->lock);
	free(self);
}

static const char *const aliases[] = { "k8sattributes", NULL };

const struct component_ops processor_k8s_attributes = {
	.type = "k8s_attributes",
	.aliases = aliases,
	.help = "adds what Kubernetes knows of a resource's pod",
	.fields = k8s_fields,
	.options_bytes = sizeof(struct k8s_options),
	.defaults = &k8s_defaults,
	.check = k8s_options_check,
	.create = namer_create,
	.start = namer_start,
	.looks = LOOKS_AT_NOTHING,	/* of resources, as they come */
	.consume = namer_consume,
	.stop = namer_stop,
	.free = namer_free,
};
