/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer means for the batch that was sent: taken, to be sent again, or never. OTLP's rules. */
#ifndef EXPORTERS_OTLP_OUTCOME_H
#define EXPORTERS_OTLP_OUTCOME_H

#include "base/types.h"

struct client_answer;
struct send_result;

void otlp_outcome_grpc(const struct client_answer *answer, struct send_result *ret_result);
void otlp_outcome_http(const struct client_answer *answer, u64 now_unix_s, struct send_result *ret_result);

/* Retry-After: seconds, or the date of HTTP. In nanoseconds, 0 if it is neither or lies in the past. */
s64 otlp_retry_after(const char *text, u64 now_unix_s);

#endif
