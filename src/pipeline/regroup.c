// SPDX-License-Identifier: Apache-2.0
#include "pipeline/regroup.h"

#include <errno.h>
#include <stdint.h>

#include "pipeline/batch.h"
#include "profile/append.h"
#include "profile/profile.h"

struct regroup {
	u64 samples_max;
	int (*emit)(void *arg, struct batch *batch);
	void *arg;
	struct profile *into;		/* the piece that is being filled, or NULL */
	u64 samples;			/* in it */
	u64 sender;			/* of what is added */
	u64 lost;
	int err;			/* the first */
};

static void note(struct regroup *g, int r)
{
	if (r < 0 && g->err == 0)
		g->err = r;
}

/* What the piece held is lost too. */
static void lose(struct regroup *g, int r, u64 samples)
{
	note(g, r);
	g->lost += samples + g->samples;
	g->samples = 0;
	profile_free(TAKE(g->into));
}

static void flush(struct regroup *g)
{
	struct batch *batch;

	if (!g->into)
		return;
	batch = batch_from_profile(g->into);
	if (!batch) {
		lose(g, -ENOMEM, 0);
		return;
	}
	batch_set_sender(batch, g->sender);
	g->into = NULL;
	g->samples = 0;
	note(g, g->emit(g->arg, batch));
}

/* One piece more of what is left; false if that failed. */
static bool fill(struct regroup *g, struct appender *appender, u64 *left)
{
	u64 count = 0;
	int r = -ENOMEM;

	if (!g->into)
		g->into = profile_new();
	if (g->into)
		r = appender_next(appender, g->into, g->samples_max - g->samples, &count);
	if (r < 0) {
		lose(g, r, *left);
		return false;
	}
	g->samples += count;
	*left -= count;
	if (g->samples == g->samples_max)
		flush(g);
	return true;
}

static void add(struct regroup *g, struct batch *batch)
{
	_cleanup_(appender_freep) struct appender *appender = NULL;
	u64 left = batch_samples(batch);
	const struct profile *profile;
	int r;

	r = batch_profile(batch, &profile);
	if (r == 0) {
		appender = appender_new(profile);
		r = appender ? 0 : -ENOMEM;
	}
	if (r < 0) {
		note(g, r);
		g->lost += left;
		return;
	}
	while (!appender_done(appender)) {
		if (!fill(g, appender, &left))
			return;
	}
}

static void add_those(struct regroup *g, struct batch *const *batches, u32 count, bool local)
{
	g->sender = BATCH_LOCAL;
	for (u32 i = 0; i < count; i++) {
		u64 sender = batch_sender(batches[i]);

		if ((sender == BATCH_LOCAL) != local)
			continue;
		if (g->sender == BATCH_LOCAL)
			g->sender = sender;
		add(g, batches[i]);
	}
	flush(g);
}

int batches_regroup(struct batch *const *batches, u32 count, u64 samples_max,
		    int (*emit)(void *arg, struct batch *batch), void *arg, u64 *ret_lost)
{
	struct regroup g = { .samples_max = samples_max ? samples_max : UINT64_MAX, .emit = emit, .arg = arg };

	if (count == 1 && batch_samples(batches[0]) <= g.samples_max) {
		note(&g, emit(arg, batch_ref(batches[0])));
	} else {
		add_those(&g, batches, count, true);
		add_those(&g, batches, count, false);
	}
	*ret_lost = g.lost;
	return g.err;
}
