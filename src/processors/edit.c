// SPDX-License-Identifier: Apache-2.0
#include "processors/edit.h"

#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "profile/profile.h"
#include "profile/prune.h"

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
