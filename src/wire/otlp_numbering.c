// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp_numbering.h"

static void evidence_set(struct otlp_evidence *e, enum otlp_numbering numbering)
{
	if (!e->known)
		e->numbering = numbering;
	e->known = true;
}

static void evidence_in_sample(struct otlp_evidence *e, struct pb m)
{
	struct pb_field f;

	while (!e->known && pb_next(&m, &f)) {
		if ((f.number == 3 && f.wire == PB_LEN) || (f.number == 4 && f.wire == PB_VARINT))
			evidence_set(e, OTLP_1_9);
		else if ((f.number == 4 && f.wire == PB_LEN) || (f.number == 3 && f.wire == PB_VARINT))
			evidence_set(e, OTLP_1_10);
	}
}

/* A first piece of evidence decides; one against it later has the wrong wire type and fails the request. */
static void evidence_in_profile(struct otlp_evidence *e, struct pb m)
{
	struct pb_field f;

	while (pb_next(&m, &f)) {
		if (f.number == 2 && f.wire == PB_LEN)
			evidence_in_sample(e, f.body);
		else if ((f.number == 8 && f.wire == PB_LEN) || (f.number == 9 && f.wire == PB_VARINT))
			e->v1_8 = true;
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
	struct otlp_evidence e = { .numbering = OTLP_1_10 };

	evidence_below(&e, request, 1, 2);
	if (e.v1_8 && (!e.known || e.numbering == OTLP_1_9))
		e = (struct otlp_evidence){ .known = true, .v1_8 = true, .numbering = OTLP_1_8 };
	return e;
}
