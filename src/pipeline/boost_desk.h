/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where boosts are asked for ("this one now, faster": proc/boost.h), and listed: the page's API on one side, the
 * receiver that samples on the other. What may run the sampler decides; here is who asked, and what became of it.
 *
 * The last BOOST_ROWS_MAX are kept. Any thread.
 */
#ifndef PIPELINE_BOOST_DESK_H
#define PIPELINE_BOOST_DESK_H

#include "agent/boosts.h"
#include "base/cleanup.h"
#include "base/types.h"

struct boost_desk;
struct buf;

#define BOOST_ROWS_MAX 16
#define BOOST_WHO_BYTES 128

struct boost_row {
	struct boost boost;
	char who[BOOST_WHO_BYTES];	/* asked for it */
	bool is_answered;		/* ... and something is known of it */
	enum boost_outcome outcome;
	u64 asked_ns, end_ns;		/* CLOCK_MONOTONIC; end_ns of one that runs, or when it ended */
};

/* NULL without memory. */
struct boost_desk *boost_desk_new(void);
void boost_desk_free(struct boost_desk *desk);
DEFINE_CLEANUP(struct boost_desk *, boost_desk_free)

/* ---- For who samples. desk may be NULL: nobody asks. ------------------------------- */

/* send(arg, boost) tells the sampler, and does not wait; hz 0: its end. Whoever joined last is asked. */
void boost_desk_join(struct boost_desk *desk, u32 usual_hz, int (*send)(void *arg, const struct boost *boost),
		     void *arg);
void boost_desk_leave(struct boost_desk *desk, void *arg);

/* What became of one. */
void boost_desk_note(struct boost_desk *desk, const struct boost_event *event);

/*
 * Whether the sampler leaves something out for want of CPU time, as it has told last: it would refuse all, but may take
 * its time to say so.
 */
void boost_desk_set_tight(struct boost_desk *desk, bool is_tight);

/* The sampler is gone, and all that it did. */
void boost_desk_gone(struct boost_desk *desk);

/* ---- For who asks ------------------------------------------------------------------- */

/* How often a second everything is sampled here; 0: it is not. */
u32 boost_desk_usual_hz(struct boost_desk *desk);

/*
 * Asks for one, whose id it gets, and waits up to timeout_ms for an answer. -EINVAL: it cannot be meant; -ENODEV:
 * nobody samples here; -EBUSY: refused; -ETIMEDOUT: it is withdrawn; with a sentence in `why`.
 */
int boost_desk_start(struct boost_desk *desk, struct boost *boost, const char *who, int timeout_ms, struct buf *why);

/* Ends one that runs: 0; -ENOENT. */
int boost_desk_stop(struct boost_desk *desk, u32 id);

/* Those that run and those that did of late, the newest first; how many. */
u32 boost_desk_list(struct boost_desk *desk, struct boost_row ret_rows[BOOST_ROWS_MAX]);

#endif
