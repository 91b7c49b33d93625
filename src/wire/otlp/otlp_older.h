/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of older versions of OTLP profiles, written anew as 1.10 has them. Which one it is shows in wire types and
 * numbers that no other version has:
 *
 *	Profile	2 FIXED64				1.3: a container, whose second field is a time
 *	Profile	3 LEN, 5 VARINT, 6 LEN or 13 to 22	1.7 or older; of those:
 *		4 LEN, 5 LEN or 15 to 22		1.4, 1.5: tables are in the profile
 *	Request	3 to 8					1.6: tables are in the request
 *	Profile	8 LEN or 9 VARINT			1.8: profile_id, dropped count
 *	Sample	3 LEN or 4 VARINT			1.8, 1.9: attributes, link
 *	Sample	4 LEN or 3 VARINT			1.10: values, link
 *
 * All but the last have the wrong type when they are read as 1.10: a request that can be read as 1.10 has none of
 * them. So readers take 1.10 first, and ask here only when that fails.
 *
 * A sample of stack, field 2 and times alone says nothing. It fails as 1.10 only if field 2 holds an index that is
 * outside attribute_table, or for a reason that holds in the older reading as well; so 1.9 may be tried, and if
 * that is consistent, it was a guess.
 *
 * Up to 1.7 row 0 of a table may be a row like others, a stack is a part of a list in the profile, a profile may have
 * many types of values (it becomes as many profiles), and the time stamps are varints.
 */
#ifndef WIRE_OTLP_OLDER_H
#define WIRE_OTLP_OLDER_H

#include "wire/otlp/otlp.h"
#include "wire/pb.h"

struct any;

#define OTLP_OLDER_BYTES_MAX ((size_t)256 << 20)

/*
 * The request as 1.10 has it. -EBADMSG: it is of no older version, or of two; or indices of one up to 1.7 are out of
 * range, and why, which may be NULL, tells so.
 */
int otlp_older_rewrite(struct pb request, struct buf *out, struct otlp_info *ret_info, struct buf *why);

/* What a version is called, and who sends it: "1.7 (Collector 0.128 to 0.135)". */
const char *otlp_version_text(enum otlp_numbering numbering);

/* In otlp_decode.c: a request of 1.10 alone; a value that stands alone, which goes into the profile's memory. */
int otlp_decode_newest(const void *at, size_t bytes, struct profile **ret_profile);
int otlp_decode_value(struct profile *profile, struct pb body, struct any *ret_value);

#endif
