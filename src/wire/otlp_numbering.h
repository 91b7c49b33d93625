/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which numbering an OTLP request uses, told from wire types:
 *
 *	Sample 3 LEN or 4 VARINT	attributes or link of 1.8 and 1.9
 *	Sample 4 LEN or 3 VARINT	values or link of 1.10
 *	Profile 8 LEN or 9 VARINT	profile_id or dropped count of 1.8
 *
 * The first piece of evidence decides; one against it has, read so, the wrong
 * wire type and fails the request. A sample of stack, field 2 and times alone
 * says nothing.
 */
#ifndef WIRE_OTLP_NUMBERING_H
#define WIRE_OTLP_NUMBERING_H

#include "wire/otlp.h"
#include "wire/pb.h"

struct otlp_evidence {
	bool known;			/* else numbering is the newest */
	bool v1_8;
	enum otlp_numbering numbering;
};

struct otlp_evidence otlp_evidence_find(struct pb request);

#endif
