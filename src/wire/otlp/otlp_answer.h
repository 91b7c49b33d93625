/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server says to profiles that it took: ExportProfilesServiceResponse.
 *
 *	1 partial_success	1 rejected_profiles, 2 error_message
 */
#ifndef WIRE_OTLP_ANSWER_H
#define WIRE_OTLP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct otlp_answer {
	u64 rejected;			/* profiles */
	char message[200];		/* "" if there is none; cut; printable */
};

/* Nothing at all is an answer too. -EBADMSG: it is none. */
int otlp_answer_parse(const void *at, size_t bytes, bool is_json, struct otlp_answer *ret_answer);

#endif
