// SPDX-License-Identifier: Apache-2.0
/* The query of /debug/pprof/profile. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "web/live_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct live_question question;

	memcpy(text, data, size);
	text[size] = '\0';
	if (!live_question_parse(text, &question) && (question.seconds < 1 || question.seconds > 300))
		__builtin_trap();
	free(text);
	return 0;
}
