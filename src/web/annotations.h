/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of moments (store/notes.h), for the page and for who posts it: docs/api.md says how. */
#ifndef WEB_ANNOTATIONS_H
#define WEB_ANNOTATIONS_H

#include "web/api.h"

struct buf;
struct store;
struct store_selection;

#define ANNOTATION_BYTES_MAX 16000	/* of a form; what is in it has limits of its own */

/* {"left_out", "rows": [{"id", "time", "end", "kind", "title", "text", "host", "service"}, ...]}, at most max. */
int annotations_json(struct store *store, const struct store_selection *selection, u32 max, struct buf *out);

/* A form with time, end, kind, title, text, host, service. Always answers: {"id"}, or an error. */
void annotations_add(struct store *store, const char *form, struct api_answer *answer);

/* Of the id in the query. Always answers. */
void annotations_drop(struct store *store, const char *query, struct api_answer *answer);

#endif
