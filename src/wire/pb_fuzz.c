// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>

#include "wire/pb.h"

/* A list that is read at once is what it is number by number. */
static void unpack(struct pb body)
{
	struct pb list = body, again = body;
	u32 *at = malloc(pb_count(&body) * sizeof(*at)), count = pb_unpack(&list, UINT32_MAX, true, at), i = 0;
	bool fits = true;

	for (; fits && again.at < again.end; i++) {
		u64 value = pb_varint(&again);

		fits = !again.err && value <= UINT32_MAX && (list.err || (i < count && at[i] == value));
	}
	if (fits == !!list.err || (fits && i != count))
		abort();
	free(at);
}

/* Reads all fields, and LEN ones again as messages and as packed lists. */
static void walk(struct pb r, int depth)
{
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.wire != PB_LEN)
			continue;
		unpack(f.body);
		if (depth)
			walk(f.body, depth - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk(pb_from(data, size), 8);
	return 0;
}
