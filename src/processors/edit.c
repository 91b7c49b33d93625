// SPDX-License-Identifier: Apache-2.0
#include "processors/edit.h"

#include <errno.h>

#include "base/buf.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "profile/profile.h"
#include "profile/prune.h"
#include "wire/otlp/otlp_resources.h"

struct metric *processor_counter(const struct component_setup *setup, const char *name, const char *help)
{
	const struct metric_label label = { "processor", setup->id };

	return metrics_get(service_metrics(setup->service), METRIC_COUNTER, name, help, &label, 1);
}

int processor_edit(const struct component_setup *setup, struct batch *batch,
		   int (*change)(void *arg, struct profile *profile), void *arg)
{
	_cleanup_(batch_unrefp) struct batch *held = batch;
	struct profile *profile;
	int r = batch_edit(&held, &profile);

	if (r < 0)
		return r;
	r = change(arg, profile);
	if (r == 0)
		r = profile_err(profile);
	if (r < 0)
		return r;
	batch_edited(held);
	return consumers_send(setup->next, TAKE(held));
}

/* ---- Resources alone, in the bytes --------------------------------------------------------- */

/* The resources of a batch that nobody has decoded; -EOPNOTSUPP: it must be decoded whole. */
static int read_resources(struct batch *batch, struct profile **ret_resources)
{
	const void *at;
	size_t bytes;
	int r;

	if (!batch_is_encoded(batch))
		return -EOPNOTSUPP;
	r = batch_bytes(batch, &at, &bytes);
	return r < 0 ? r : otlp_resources_read(at, bytes, ret_resources);
}

/* A batch with these resources instead; the old one stays the caller's. */
static int write_resources(struct batch *batch, const struct profile *resources, const bool *drop,
			   struct batch **ret_batch)
{
	_cleanup_(buf_done) struct buf out;
	const void *at;
	u64 dropped;
	size_t bytes;
	int r = batch_bytes(batch, &at, &bytes);

	buf_init(&out, BATCH_BYTES_MAX);
	if (r == 0)
		r = otlp_resources_write(at, bytes, resources, drop, &out, &dropped);
	if (r < 0)
		return r;
	*ret_batch = batch_from_bytes(&out, batch_samples(batch) - dropped);
	if (!*ret_batch)
		return -ENOMEM;
	batch_set_sender(*ret_batch, batch_sender(batch));
	return 0;
}

int processor_edit_resources(const struct component_setup *setup, struct batch *batch,
			     int (*change)(void *arg, struct profile *profile), void *arg)
{
	_cleanup_(batch_unrefp) struct batch *held = batch;
	_cleanup_(profile_freep) struct profile *resources = NULL;
	struct batch *changed;
	int r = read_resources(batch, &resources);

	if (r == -EOPNOTSUPP)
		return processor_edit(setup, TAKE(held), change, arg);
	if (r == 0)
		r = change(arg, resources);
	if (r == 0)
		r = profile_err(resources);
	if (r == 0)
		r = write_resources(batch, resources, NULL, &changed);
	return r < 0 ? r : consumers_send(setup->next, changed);
}

struct dropping {
	int (*goes)(void *arg, struct profile *profile, struct profile_resource *resource);
	void *arg;
	struct profile *profile;
};

static int resource_goes(void *arg, const struct profile_resource *resource)
{
	struct dropping *d = arg;

	return d->goes(d->arg, d->profile, (struct profile_resource *)resource);	/* it only looks */
}

/* In the whole profile: what came decoded, or cannot be read otherwise. */
static int drop_decoded(const struct component_setup *setup, struct batch *batch, struct dropping *d,
			struct metric *dropped)
{
	static const struct prune_ops ops = { .resource = resource_goes };
	const struct profile *profile;
	struct prune prune = { 0 };
	int r = batch_profile(batch, &profile);

	d->profile = (struct profile *)profile;
	if (r == 0)
		r = prune_plan(profile, &ops, d, &prune);
	if (r == 0) {
		metric_add(dropped, prune.samples_dropped);
		r = processor_prune(setup, batch, &prune);
	} else {
		batch_unref(batch);
	}
	prune_done(&prune);
	return r;
}

/* Asks about each; how many go. */
static int mark_dropped(struct dropping *d, bool *drop)
{
	int count = 0;

	for (u32 i = 0; i < d->profile->resources.count; i++) {
		int r = d->goes(d->arg, d->profile, &d->profile->resources.at[i]);

		if (r < 0)
			return r;
		drop[i] = r;
		count += r;
	}
	return count;
}

int processor_drop_resources(const struct component_setup *setup, struct batch *batch,
			     int (*goes)(void *arg, struct profile *profile, struct profile_resource *resource),
			     void *arg, struct metric *dropped)
{
	_cleanup_(batch_unrefp) struct batch *held = batch;
	_cleanup_(profile_freep) struct profile *resources = NULL;
	_cleanup_(freep) bool *drop = NULL;
	struct dropping d = { goes, arg, NULL };
	struct batch *changed;
	int r = read_resources(batch, &resources);

	if (r == -EOPNOTSUPP)
		return drop_decoded(setup, TAKE(held), &d, dropped);
	if (r < 0)
		return r;
	d.profile = resources;
	drop = calloc(resources->resources.count + 1, sizeof(*drop));
	r = drop ? mark_dropped(&d, drop) : -ENOMEM;
	if (r < 0)
		return r;
	if (!r)
		return consumers_send(setup->next, TAKE(held));
	r = write_resources(batch, resources, drop, &changed);
	if (r < 0)
		return r;
	metric_add(dropped, batch_samples(batch) - batch_samples(changed));
	if (batch_samples(changed))
		return consumers_send(setup->next, changed);
	batch_unref(changed);
	return 0;
}

/* ---- Taking out what was planned ------------------------------------------------------------ */

static int apply(void *arg, struct profile *profile)
{
	prune_apply(profile, arg);
	return 0;
}

int processor_prune(const struct component_setup *setup, struct batch *batch, const struct prune *prune)
{
	if (!prune->dropped)
		return consumers_send(setup->next, batch);
	if (!prune->samples_kept) {
		batch_unref(batch);
		return 0;
	}
	return processor_edit(setup, batch, apply, (void *)prune);
}
