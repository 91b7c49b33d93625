// SPDX-License-Identifier: Apache-2.0
/* What Pyroscope may say about a request of as many series as the first byte says. */
#include <stdint.h>

#include "exporters/pyroscope_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pyroscope_answer answer;
	u32 series = size ? data[0] % (PYROSCOPE_SERIES_MAX + 1) : 0;

	if (size && pyroscope_answer_parse((const char *)data + 1, size - 1, series, size & 1, &answer) &&
	    answer.refused_count + answer.limited_count > series)
		__builtin_trap();
	return 0;
}
