// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/tracepoint.h"
#include "tracer/usdt_argument.h"

static void check_fields(const char *text)
{
	struct tracepoint_field field;

	for (const char *at = text; tracepoint_next_field(&at, &field);)
		if (at < text || at > text + strlen(text) || !*field.name || (field.is_number && field.bytes > 8))
			abort();
}

static void check_arguments(const char *text)
{
	struct probe_read read;

	for (u32 i = 0; i < 13; i++)
		if (usdt_argument(text, i, &read) == 0 &&
		    (read.bytes > 8 || read.base > 31 * 8 || (read.from == PROBE_FROM_CONTEXT && read.offset > 31 * 8)))
			abort();
}

/* What describes where values are: of tracepoints by the kernel, of markers by files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	check_fields(text);
	check_arguments(text);
	free(text);
	return 0;
}
