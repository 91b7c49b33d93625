// SPDX-License-Identifier: Apache-2.0
/*
 * resource_detection: puts what detectors found out about this machine on
 * every resource.
 *
 *  - A thread asks, in the order of the configuration. start() waits for it, but not longer than timeout;
 *    what comes later counts from then on. The data path takes what is known and never waits.
 *  - With refresh_interval it asks again; what was known stays if nobody answers.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/thread.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "processors/detect.h"
#include "processors/edit.h"
#include "profile/attrs.h"

#define SECOND 1000000000ll
#define DETECTION_BYTES_MAX ((size_t)1 << 20)

struct options {
	struct config_texts detectors, attributes;
	bool override, fail_on_missing_metadata;
	s64 timeout_ns, refresh_interval_ns;
	const struct config_node *blocks[DETECTORS_MAX];	/* by number of the detector */
};

/* What is known; immutable once shared. */
struct known {
	_Atomic u32 references;
	struct detection detection;
};

struct detector {
	const struct component_setup *setup;
	const struct options *options;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct known *known;		/* or NULL: nothing yet */
	bool asked;			/* the first round is over */
	int failure;			/* of the first round, if missing metadata are one */
	bool ends;
	struct thread thread;
};

/* ---- What is known ------------------------------------------------------------------------------------ */

static struct known *known_new(void)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	atomic_init(&known->references, 1);
	arena_init(&known->detection.arena, DETECTION_BYTES_MAX);
	buf_init(&known->detection.why, 4096);
	return known;
}

static void known_unref(struct known *known)
{
	if (!known || atomic_fetch_sub(&known->references, 1) != 1)
		return;
	arena_done(&known->detection.arena);
	buf_done(&known->detection.why);
	free(known);
}

static struct known *known_get(struct detector *self)
{
	struct known *known;

	LOCKED(&self->lock);
	known = self->known;
	if (known)
		atomic_fetch_add(&known->references, 1);
	return known;
}

/* ---- Asking -------------------------------------------------------------------------------------------- */

static int run_detector(struct detector *self, struct detection *d, const char *name)
{
	const struct detector_ops *ops = detector_find(name);
	int r;

	d->now = ops;
	d->block = self->options->blocks[detector_number(ops)];
	d->deadline_ns = monotonic_ns() + (u64)self->options->timeout_ns;
	d->why.len = 0;
	r = detector_enabled(ops, d->block, &d->enabled, &d->why);
	if (r == 0)
		r = ops->detect(d, ops);
	if (r < 0)
		log_warn(self->setup->id, "%s: %s", name, d->why.len ? d->why.data :
			 r == -ENOENT ? "this machine is not there" : strerror(-r));
	return r;
}

static bool is_chosen(const struct options *o, struct str key)
{
	for (u32 i = 0; i < o->attributes.count; i++)
		if (strlen(o->attributes.at[i]) == key.len && !memcmp(o->attributes.at[i], key.at, key.len))
			return true;
	return !o->attributes.count;
}

static void keep_chosen(const struct options *o, struct detection *d)
{
	u32 kept = 0;

	for (u32 i = 0; i < d->count; i++)
		if (is_chosen(o, d->at[i].key))
			d->at[kept++] = d->at[i];
	d->count = kept;
}

/* One round: 0, or what the first detector that failed said. */
static int detect(struct detector *self, struct known **ret_known)
{
	struct known *known = known_new();
	int failure = 0;

	if (!known)
		return -ENOMEM;
	for (u32 i = 0; i < self->options->detectors.count; i++) {
		int r = run_detector(self, &known->detection, self->options->detectors.at[i]);

		failure = failure ? failure : r;
	}
	keep_chosen(self->options, &known->detection);
	*ret_known = known;
	return failure;
}

static bool wait_for_next(struct detector *self)
{
	u64 due = deadline_after((u64)self->options->refresh_interval_ns);

	LOCKED(&self->lock);
	while (!self->ends && monotonic_ns() < due)
		(void)cond_wait_until(&self->changed, &self->lock, due);
	return !self->ends;
}

static void *ask(void *arg)
{
	struct detector *self = arg;

	do {
		struct known *known = NULL, *old;
		int r = detect(self, &known);

		pthread_mutex_lock(&self->lock);
		old = self->known;
		/* A refresh that finds less than was known is not better: somebody did not answer. */
		if (known && (!old || known->detection.count >= old->detection.count))
			self->known = TAKE(known);
		else
			old = NULL;
		if (!self->asked)
			self->failure = r;
		self->asked = true;
		pthread_cond_broadcast(&self->changed);
		pthread_mutex_unlock(&self->lock);
		known_unref(known);
		known_unref(old);
	} while (self->options->refresh_interval_ns && wait_for_next(self));
	return NULL;
}

/* ---- The data path ------------------------------------------------------------------------------------------ */

struct view {
	const struct detection *detection;
	bool override;
};

static int change(void *arg, struct profile *profile)
{
	const struct view *view = arg;

	for (u32 i = 0; i < profile->resources.count; i++) {
		struct attrs attrs = attrs_of_resource(profile, &profile->resources.at[i]);

		for (u32 n = 0; n < view->detection->count; n++)
			if (view->override || !attrs_find(&attrs, view->detection->at[n].key))
				attrs_set(&attrs, view->detection->at[n].key, &view->detection->at[n].value);
	}
	return 0;
}

static int detector_consume(void *arg, struct batch *batch)
{
	struct detector *self = arg;
	struct known *known = known_get(self);
	struct view view = { known ? &known->detection : NULL, self->options->override };
	int r;

	if (known && known->detection.count)
		r = processor_edit_resources(self->setup, batch, change, &view);
	else
		r = consumers_send(self->setup->next, batch);
	known_unref(known);
	return r;
}

/* ---- Life ------------------------------------------------------------------------------------------------------ */

static int detector_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct detector *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	self->setup = setup;
	self->options = options;
	pthread_mutex_init(&self->lock, NULL);
	cond_init(&self->changed);
	*ret_self = self;
	return 0;
}

static int detector_start(void *arg, struct buf *why)
{
	struct detector *self = arg;
	u64 due = deadline_after((u64)self->options->timeout_ns);
	bool asked;
	int r = thread_start(&self->thread, "wick: detect", ask, self);

	if (r < 0)
		return r;
	pthread_mutex_lock(&self->lock);
	while (!self->asked && monotonic_ns() < due)
		(void)cond_wait_until(&self->changed, &self->lock, due);
	asked = self->asked;
	r = self->failure;
	pthread_mutex_unlock(&self->lock);
	if (self->options->fail_on_missing_metadata && (!asked || r < 0)) {
		buf_addf(why, "a detector found nothing, and fail_on_missing_metadata is set");
		return r < 0 ? r : -ETIMEDOUT;
	}
	if (!asked)
		log_warn(self->setup->id, "there is no answer yet; attributes are added once there is");
	return 0;
}

static void detector_stop(void *arg, u64 deadline_ns)
{
	struct detector *self = arg;

	pthread_mutex_lock(&self->lock);
	self->ends = true;
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->lock);
	thread_join(&self->thread);
}

static void detector_free(void *arg)
{
	struct detector *self = arg;

	if (!self)
		return;
	if (self->thread.is_started)
		detector_stop(self, 0);		/* start() failed after the thread was made */
	known_unref(self->known);
	pthread_cond_destroy(&self->changed);
	pthread_mutex_destroy(&self->lock);
	free(self);
}

/* ---- Options ---------------------------------------------------------------------- */

static void check_detector(const char *name, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct detector_ops *ops = detector_find(name);
	struct nearest nearest;

	if (ops && !ops->refused)
		return;
	nearest_init(&nearest, name);
	for (u32 i = 0; detectors[i]; i++)
		nearest_try(&nearest, detectors[i]->name);
	if (ops)
		config_error(errors, place, path, "detector %s: %s", name, ops->refused);
	else
		config_error(errors, place, path, "there is no detector %s%s%s%s", name,
			     nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
			     nearest.best ? "?" : "");
}

static void detector_check(const void *options, struct config_place place, const char *path,
			   struct config_errors *errors)
{
	const struct options *o = options;

	for (u32 i = 0; i < o->detectors.count; i++)
		check_detector(o->detectors.at[i], place, path, errors);
	for (u32 i = 0; detectors[i]; i++) {
		_cleanup_(buf_done) struct buf why;
		u64 enabled;

		buf_init(&why, 1024);
		if (o->blocks[i] && detector_enabled(detectors[i], o->blocks[i], &enabled, &why) < 0)
			config_error(errors, o->blocks[i]->place, path, "%s", why.len ? why.data : "out of memory");
	}
}

static const char *const default_detectors[] = { "env" };
static const struct options defaults = { .detectors = { 1, default_detectors }, .override = true,
					 .timeout_ns = 5 * SECOND };
static const char *const aliases[] = { "resourcedetection", NULL };

/* In the order of detect.c; the test compares. */
#define BLOCK(id, number) \
	{ #id, CONFIG_NODE, FIELD(struct options, blocks[number]), .help = "options of the detector " #id }

static const struct config_field fields[] = {
	{ "detectors", CONFIG_TEXTS, FIELD(struct options, detectors),
	  .help = "who is asked, in this order; the first that knows an attribute wins" },
	{ "override", CONFIG_BOOL, FIELD(struct options, override),
	  .help = "whether attributes that a resource has already are overwritten" },
	{ "timeout", CONFIG_DURATION, FIELD(struct options, timeout_ns), .min = 1, .max = INFINITY,
	  .help = "how long one detector may take, and how long the start waits" },
	{ "refresh_interval", CONFIG_DURATION, FIELD(struct options, refresh_interval_ns), .min = 0, .max = INFINITY,
	  .help = "ask again after this time; 0: never" },
	{ "fail_on_missing_metadata", CONFIG_BOOL, FIELD(struct options, fail_on_missing_metadata),
	  .help = "do not start if a detector finds nothing" },
	{ "attributes", CONFIG_TEXTS, FIELD(struct options, attributes),
	  .help = "only these attributes; the older form of resource_attributes" },
	{ "retry", CONFIG_REFUSED, .help = "wick asks once, and again after refresh_interval; set that instead" },
	BLOCK(env, 0), BLOCK(system, 1), BLOCK(docker, 2), BLOCK(gcp, 3), BLOCK(ec2, 4), BLOCK(ecs, 5), BLOCK(eks, 6),
	BLOCK(lambda, 7), BLOCK(azure, 8), BLOCK(aks, 9), BLOCK(azurecontainerapps, 10), BLOCK(heroku, 11),
	BLOCK(hetzner, 12), BLOCK(akamai, 13), BLOCK(scaleway, 14), BLOCK(vultr, 15), BLOCK(oraclecloud, 16),
	BLOCK(digitalocean, 17), BLOCK(nova, 18), BLOCK(upcloud, 19), BLOCK(alibaba_ecs, 20), BLOCK(tencent_cvm, 21),
	{ 0 },
};

const struct component_ops processor_resource_detection = {
	.type = "resource_detection",
	.aliases = aliases,
	.help = "adds what is known about this machine to every resource",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = detector_check,
	.create = detector_create,
	.start = detector_start,
	.looks = LOOKS_AT_NOTHING,	/* of resources, as they come */
	.consume = detector_consume,
	.stop = detector_stop,
	.free = detector_free,
};
