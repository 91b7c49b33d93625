// SPDX-License-Identifier: Apache-2.0
#include "extensions/self_profile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/merge.h"
#include "profile/profile.h"

/* How long *stop may go unnoticed. */
#define WAIT_MS 100
#define WINDOW_MS 1000

/* Takes windows until it is time to end, and then what is left. */
static int take_windows(struct agent *agent, struct merger *merger, u64 end_ns, const atomic_bool *stop)
{
	bool stopping = false;

	for (;;) {
		_cleanup_(profile_freep) struct profile *window = NULL;
		int r;

		if (!stopping && (monotonic_ns() >= end_ns || atomic_load(stop))) {
			stopping = true;
			agent_stop(agent);
		}
		r = agent_next(agent, WAIT_MS, &window);
		if (r == -ENODATA)
			return 0;
		if (r < 0)
			return r;
		r = window ? merger_add(merger, window) : 0;
		if (r < 0)
			return r;
	}
}

int self_profile(u64 duration_ns, const atomic_bool *stop, struct profile **ret_profile, struct buf *why)
{
	_cleanup_(agent_freep) struct agent *agent = NULL;
	_cleanup_(merger_freep) struct merger *merger = NULL;
	pid_t self = getpid();
	const struct agent_options options = {
		.tracer = { .frequency_hz = SELF_PROFILE_HZ, .pids = &self, .pid_count = 1 },
		.symbolizer = { .inlines = true },
		.interval_ms = WINDOW_MS,
	};
	u64 now = monotonic_ns();
	int r = merger_new(MERGE_TIMES_MAX, &merger);

	if (r == 0)
		r = agent_start(&options, &agent, why);
	if (r == 0)
		r = take_windows(agent, merger, duration_ns > ~0ull - now ? ~0ull : now + duration_ns, stop);
	if (r < 0) {
		if (!why->len)
			buf_addf(why, "%s", strerror(-r));
		return r;
	}
	*ret_profile = merger_finish(merger);
	return *ret_profile ? 0 : -ENOMEM;
}
