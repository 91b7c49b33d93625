/* SPDX-License-Identifier: Apache-2.0 */
/* What the page and scripts ask, under /api/v1/ (docs/api.md): each a question to the store, answered in JSON. */
#ifndef WEB_API_H
#define WEB_API_H

#include "store/store.h"

struct arrivals;
struct buf;
struct service;
struct source_options;
struct taps;

/* Who is asked. */
struct api_sources {
	struct store *store;
	struct store *base;		/* what it is compared with; mostly the same */
	struct arrivals *arrivals;	/* or NULL */
	struct taps *taps;		/* or NULL */
	struct service *service;	/* or NULL: how the others are is not known */
	const struct source_options *source;	/* or NULL: no source files are read */
};

struct api_answer {
	int status;			/* of HTTP */
	const char *content_type;
	char file_name[40];		/* to be saved as; empty: to be shown */
	struct buf *body;
};

/* name: what follows /api/v1/. Always answers; errors are {"error": "..."}. */
void api_answer(const struct api_sources *sources, const char *name, const char *query, struct api_answer *answer);

/* In the place of whatever was answered so far. */
void api_error(struct api_answer *answer, int status, const char *sentence);

/*
 * What an answer stands for: equal tags, equal answers. It changes with the store, with the question, and with time
 * for ranges that do, by steps of a 256th of the range. "" for what has none: it is never kept.
 */
#define API_TAG_BYTES 20
void api_tag(struct store *store, const char *name, const char *query, char ret_tag[API_TAG_BYTES]);

#endif
