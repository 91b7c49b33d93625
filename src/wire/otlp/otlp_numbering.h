/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which numbering an OTLP request uses, told from wire types:
 *
 *	Sample 3 LEN or 4 VARINT	attributes or link of 1.8 and 1.9
 *	Sample 4 LEN or 3 VARINT	values or link of 1.10
 *	Profile 8 LEN or 9 VARINT	profile_id or dropped count of 1.8
 *
 * Evidence of an older numbering has, read as 1.10, the wrong wire type: a
 * request that can be read as 1.10 has none. So readers take 1.10 first, and
 * ask here only when that fails.
 *
 * A sample of stack, field 2 and times alone says nothing. It fails as 1.10
 * only if field 2 holds an index that is outside attribute_table, or for a
 * reason that holds in the older reading as well; so the older one may be
 * tried, and if it is consistent, that was a guess.
 */
#ifndef WIRE_OTLP_NUMBERING_H
#define WIRE_OTLP_NUMBERING_H

#include "wire/otlp/otlp.h"
#include "wire/pb.h"

struct otlp_evidence {
	bool v1_8, v1_9, v1_10;		/* v1_9: of 1.8 as well */
};

struct otlp_evidence otlp_evidence_find(struct pb request);

/* Evidence for both: no reading is right. */
bool otlp_evidence_contradicts(struct otlp_evidence evidence);

/* The numbering to try for a request that is not of 1.10; false if there is none. */
bool otlp_older_numbering(struct pb request, struct otlp_info *ret_info);

#endif
