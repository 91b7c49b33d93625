/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine, profiled for whoever asks as Go programs are asked:
 *
 *	GET /debug/pprof/profile?seconds=30&pid=0	pprof, gzip, of what the running agent samples meanwhile
 *
 * A request is held by a thread of its own until its time is over or its client has gone; TAPS_MAX (pipeline/taps.h)
 * at once. Errors are sentences that `go tool pprof` shows.
 */
#ifndef WEB_LIVE_PROFILE_H
#define WEB_LIVE_PROFILE_H

#include "base/cleanup.h"
#include "base/types.h"

struct exchange;
struct live_profile;
struct taps;

#define LIVE_PROFILE_PATH "/debug/pprof/"

/* taps is borrowed. NULL without memory. */
struct live_profile *live_profile_new(struct taps *taps);
/* Those that wait are answered with what there is, and those that come later with 503. Accepts NULL. */
void live_profile_stop(struct live_profile *live);
/* After no exchange can come any more. */
void live_profile_free(struct live_profile *live);
DEFINE_CLEANUP(struct live_profile *, live_profile_free)

/* Takes over the exchange; later than this it is answered. */
void live_profile_serve(struct live_profile *live, struct exchange *exchange);

/* What there is below the path; for browsers, and for who asks for something else. */
void live_profile_index(struct live_profile *live, struct exchange *exchange);

/* What was asked for; NULL, or a sentence about what is wrong with it. */
struct live_question {
	u32 seconds, frequency_hz;	/* 0: whatever it is */
	s64 pid;			/* 0: all */
};
const char *live_question_parse(const char *query, struct live_question *ret_question);

#endif
