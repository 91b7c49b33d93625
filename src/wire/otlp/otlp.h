/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP's ProfilesData, which on the wire equals ExportProfilesServiceRequest.
 *
 * Written as opentelemetry-proto 1.10 and 1.11 have it. Older versions, back to 1.3, are read too (otlp_older.h). One
 * request has one version. Attributes that refer to the string table are read, and written out in full, since most
 * receivers know only that form.
 */
#ifndef WIRE_OTLP_H
#define WIRE_OTLP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct profile;

enum otlp_numbering { OTLP_1_3, OTLP_1_5, OTLP_1_6, OTLP_1_7, OTLP_1_8, OTLP_1_9, OTLP_1_10 };

/* Resources, scopes and profiles of one request: an empty one has two bytes there and a hundred in memory. */
#define OTLP_GROUPS_MAX (1u << 20)

struct otlp_info {
	enum otlp_numbering numbering;
	bool guessed;	/* nothing in the request said so, but read as 1.10 its indices make no sense */
};

/*
 * ret_info may be NULL. -EBADMSG: not ProfilesData, or indices out of range, or two numberings in one request;
 * otlp_check() (wire/otlp/otlp_check.h) says which.
 */
int otlp_decode(const void *at, size_t bytes, struct otlp_info *ret_info, struct profile **ret_profile);
int otlp_encode(const struct profile *profile, struct buf *out);

#endif
