/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/boosts (docs/api.md): GET lists those that run and ran of late, POST starts one on this host, DELETE ends
 * one. Whoever asks is logged.
 */
#ifndef WEB_BOOSTS_H
#define WEB_BOOSTS_H

#include <stddef.h>

#include "base/types.h"

struct api_answer;
struct boost;
struct boost_desk;
struct buf;
struct exchange;

#define BOOST_FORM_BYTES_MAX 4096

/* Who is asked, and what this host is called; desk may be NULL: nobody samples. */
struct boosts_here {
	struct boost_desk *desk;
	const char *host_name, *log_id;
};

/* By the method of the request. */
void boosts_answer(const struct boosts_here *here, struct exchange *exchange, struct api_answer *answer);

/* What a form asks for; usual_hz is what everything is sampled at. -EINVAL with a sentence in `why`. */
int boosts_read_form(const char *form, const char *host_name, u32 usual_hz, struct boost *ret_boost, struct buf *why);

void boosts_json(struct boost_desk *desk, struct buf *out);

#endif
