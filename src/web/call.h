/* SPDX-License-Identifier: Apache-2.0 */
/* A request while it is answered: what its questions (api.c, numbers.c) share. Of the thread that answers. */
#ifndef WEB_CALL_H
#define WEB_CALL_H

#include "store/labels.h"
#include "web/types.h"

struct api_answer;
struct arrivals;
struct buf;
struct json_write;
struct question;
struct service;
struct source_options;
struct store;
struct taps;

struct api_call {
	struct store *store, *base;
	struct arrivals *arrivals;
	struct taps *taps;
	struct service *service;
	const struct source_options *source;
	struct question *question;
	u64 now_ns;
	struct api_answer *answer;
	struct buf *why;
	char type[TYPE_BYTES];	/* the one that is taken where none is asked for */
};

/* A label by its name in the question, or "auto": whose it is. As question_label(). */
int call_label(struct api_call *call, const char *key, enum store_label *ret_label);

/* Are labels of samples asked for, of a store that has none? Then -EINVAL and a sentence. */
int call_check_labels(struct api_call *call);

#endif
