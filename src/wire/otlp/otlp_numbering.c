// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/otlp_numbering.h"

static void evidence_in_sample(struct otlp_evidence *e, struct pb m)
{
	struct pb_field f;

	while (pb_next(&m, &f)) {
		e->v1_9 |= (f.number == 3 && f.wire == PB_LEN) || (f.number == 4 && f.wire == PB_VARINT);
		e->v1_10 |= (f.number == 4 && f.wire == PB_LEN) || (f.number == 3 && f.wire == PB_VARINT);
	}
}

static void evidence_in_profile(struct otlp_evidence *e, struct pb m)
{
	struct pb_field f;

	while (pb_next(&m, &f)) {
		if (f.number == 2 && f.wire == PB_LEN)
			evidence_in_sample(e, f.body);
		e->v1_8 |= (f.number == 8 && f.wire == PB_LEN) || (f.number == 9 && f.wire == PB_VARINT);
	}
}

/* Follows field 2 down: resource_profiles, scope_profiles, profiles. */
static void evidence_below(struct otlp_evidence *e, struct pb m, u32 number, int levels)
{
	struct pb_field f;

	while (pb_next(&m, &f)) {
		if (f.number != number || f.wire != PB_LEN)
			continue;
		if (levels)
			evidence_below(e, f.body, 2, levels - 1);
		else
			evidence_in_profile(e, f.body);
	}
}

struct otlp_evidence otlp_evidence_find(struct pb request)
{
	struct otlp_evidence e = { 0 };

	evidence_below(&e, request, 1, 2);
	return e;
}

bool otlp_evidence_contradicts(struct otlp_evidence e)
{
	return e.v1_10 && (e.v1_9 || e.v1_8);
}

bool otlp_older_numbering(struct pb request, struct otlp_info *ret_info)
{
	struct otlp_evidence e = otlp_evidence_find(request);

	if (e.v1_10)
		return false;
	*ret_info = (struct otlp_info){ .numbering = e.v1_8 ? OTLP_1_8 : OTLP_1_9, .guessed = !e.v1_8 && !e.v1_9 };
	return true;
}
