/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as Datadog takes it: multipart/form-data of an event.json, version "4", and pprof with Datadog's names.
 *
 *	--BOUNDARY
 *	Content-Disposition: form-data; name="event"; filename="event.json"
 *	Content-Type: application/json
 *
 *	{"attachments":["profile.pprof"],"tags_profiler":"service:x,...","start":"...Z","end":"...Z",...}
 *	--BOUNDARY
 *	Content-Disposition: form-data; name="profile.pprof"; filename="profile.pprof"
 *	Content-Type: application/octet-stream
 *
 *	...
 *	--BOUNDARY--
 */
#ifndef EXPORTERS_DATADOG_UPLOAD_H
#define EXPORTERS_DATADOG_UPLOAD_H

#include "base/buf.h"
#include "base/types.h"
#include "wire/compression.h"

struct profile;

#define DATADOG_BOUNDARY_BYTES 40		/* with the NUL */

/* One that no content has but by a chance of 2^-64. */
void datadog_boundary(char ret_boundary[DATADOG_BOUNDARY_BYTES]);

struct datadog_upload {
	const char *tags;
	enum compression compression;		/* of the attachment: NONE, GZIP or ZSTD */
	u64 now_unix_ns;			/* when a profile does not say of which time it is */
	const char *boundary;
};

/* -E2BIG past what the buffer may hold, -ENOMEM. */
int datadog_upload_write(const struct profile *profile, const struct datadog_upload *upload, struct buf *body);

#endif
