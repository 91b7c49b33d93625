/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request that a thread worked for when it was sampled: a trace and a span, and what else is said of it. What a
 * thread says itself (struct request_record) is its own to write; labels of a goroutine are, too.
 *
 * No state. Texts are borrowed from what was decoded; labels may point into the request itself.
 */
#ifndef TRACE_REQUEST_H
#define TRACE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/types.h"

#define REQUEST_LABELS_MAX 16

struct request {
	u8 trace_id[16], span_id[8];
	bool has_trace, has_span;
	char transaction[16];		/* an APM agent's, in hexadecimal: a label's value */
	struct {
		struct str key, value;
	} labels[REQUEST_LABELS_MAX];
	u32 label_count;
};

/*
 * A record with its attributes; keys: by number, each ended by NUL. Of attributes with the same key the last counts;
 * those whose key is not known, or whose value is no text, are left out. An APM agent's has one, the transaction's id.
 */
void request_decode(const void *record, size_t bytes, const char *keys, size_t keys_bytes, struct request *ret_request);

/* Was it OBI who told the record, and not the thread? */
bool request_is_from_obi(const void *record);

/* Adds the id that a label holds, by the keys under which tracing libraries set them; false: it holds none. */
bool request_take_label(struct request *request, const char *key, const char *value);

#endif
