/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an answer of an Agent, or of Datadog, means for an upload:
 *
 *	2xx				taken
 *	408, 429, 5xx, no answer	to be sent again, after Retry-After if there is one
 *	others (400, 403, 404, 413)	never
 */
#ifndef EXPORTERS_DATADOG_OUTCOME_H
#define EXPORTERS_DATADOG_OUTCOME_H

#include "base/types.h"

struct client_answer;
struct send_result;

void datadog_outcome(const struct client_answer *answer, u64 now_unix_s, struct send_result *ret_result);

#endif
