// SPDX-License-Identifier: Apache-2.0
#include "extensions/self_profile.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "halves/remote.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "wire/otlp/otlp.h"

/* How long *stop may go unnoticed. */
#define WAIT_MS 100
#define WINDOW_MS 1000

struct agent_options self_profile_options(void)
{
	return (struct agent_options){
		.tracer = { .frequency_hz = SELF_PROFILE_HZ },
		.symbolizer = { .inlines = true },
		.interval_ms = WINDOW_MS,
	};
}

static int add(struct merger *merger, struct remote_window *window)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	int r = window->otlp.len ? otlp_decode(window->otlp.data, window->otlp.len, NULL, &profile) : 0;

	if (r == 0 && profile)
		r = merger_add(merger, profile);
	buf_done(&window->otlp);
	return r;
}

/* Takes windows until it is time to end, and then what is left. */
static int take_windows(struct remote *remote, struct merger *merger, u64 end_ns, const atomic_bool *stop)
{
	bool stopping = false;

	for (;;) {
		struct remote_window window;
		int r;

		if (!stopping && (monotonic_ns() >= end_ns || atomic_load(stop))) {
			stopping = true;
			remote_stop(remote, 0);
		}
		r = remote_next(remote, WAIT_MS, &window);
		if (r == 1)
			r = add(merger, &window);
		if (r < 0)
			return r == -ENODATA ? 0 : r;
	}
}

int self_profile(struct control *control, u64 duration_ns, const atomic_bool *stop, struct profile **ret_profile,
		 struct buf *why)
{
	_cleanup_(remote_freep) struct remote *remote = NULL;
	_cleanup_(merger_freep) struct merger *merger = NULL;
	int r = merger_new(MERGE_TIMES_MAX, &merger);
	u64 now;

	if (r == 0)
		r = remote_open(control, SELF_PROFILE_ID, &remote, why);
	now = monotonic_ns();
	if (r == 0)
		r = take_windows(remote, merger, duration_ns > ~0ull - now ? ~0ull : now + duration_ns, stop);
	if (r < 0) {
		if (!why->len)
			buf_addf(why, "%s", strerror(-r));
		return r;
	}
	*ret_profile = merger_finish(merger);
	return *ret_profile ? 0 : -ENOMEM;
}
