/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP's ProfilesData, which on the wire equals ExportProfilesServiceRequest.
 *
 * Written with the numbering of opentelemetry-proto 1.10 and 1.11. Read also
 * with that of 1.8 and 1.9, whose Sample and Profile number their fields
 * otherwise:
 *
 *			1.8			1.9		1.10, 1.11
 *	Sample		1 stack 2 values	as 1.8		1 stack 2 attributes
 *			3 attributes 4 link			3 link 4 values
 *	Profile		7 comments 8 id ...	7 id ...	as 1.9
 *
 * One request has one numbering. Attributes that refer to the string table are
 * read, and written out in full, since most receivers know only that form.
 */
#ifndef WIRE_OTLP_H
#define WIRE_OTLP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct profile;

enum otlp_numbering { OTLP_1_8, OTLP_1_9, OTLP_1_10 };

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
