/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler, as the service sees it: windows that come over a connection. If it dies, the supervisor starts
 * another, and the connection is made anew.
 *
 * One thread owns it; remote_stop(), remote_boost() and remote_counters() may be called by any.
 */
#ifndef HALVES_REMOTE_H
#define HALVES_REMOTE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/types.h"
#include "tracer/counters.h"

struct boost;
struct boost_event;
struct control;
struct remote;

/* A window: OTLP bytes that were not checked; none: nothing was sampled. */
struct remote_window {
	u64 end_ns;		/* CLOCK_MONOTONIC */
	struct buf otlp;	/* the caller's */
};

/* id: of the receiver. It samples when this returns. On failure `why` gets a sentence. control is borrowed. */
int remote_open(struct control *control, const char *id, struct remote **ret_remote, struct buf *why);
void remote_free(struct remote *remote);
DEFINE_CLEANUP(struct remote *, remote_free)

/*
 * Waits up to timeout_ms for a window: 1; 0: none yet. -ENODATA after remote_stop(). -ENOTCONN: the sampler is gone,
 * ask for it by remote_reconnect(); -EBADMSG: it said what it cannot have meant, likewise. -ENOMEM.
 */
int remote_next(struct remote *remote, int timeout_ms, struct remote_window *ret_window);
int remote_reconnect(struct remote *remote, struct buf *why);

/* When the window that is open is to end, CLOCK_MONOTONIC; UINT64_MAX: when it likes. */
void remote_want(struct remote *remote, u64 wanted_ns);

/*
 * Asks for a boost, or its end (halves/channel.h). -ENOTCONN: the sampler is gone; -EAGAIN: it does not listen. Any
 * thread.
 */
int remote_boost(struct remote *remote, const struct boost *boost);

/* What becomes of boosts is told by the thread that calls remote_next(). Before that. */
void remote_on_boosted(struct remote *remote, void (*boosted)(void *arg, const struct boost_event *event), void *arg);

/* The window that is open ends; it, and those before it, are still returned, if they come before the deadline. */
void remote_stop(struct remote *remote, u64 deadline_ns);

/* Waits; true: it is to stop. */
bool remote_pause(struct remote *remote, int ms);

/* What it counts, as of its last window: count_max of them at most; their number. Texts live as long as the control. */
size_t remote_counters(struct remote *remote, struct counter_value *ret_values, size_t count_max);

/* What one of these is called as a metric. */
const char *remote_metric_name(const struct counter_value *value);

#endif
