// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>

#include "wire/pb.h"

/* Reads all fields, and LEN ones again as messages and as packed lists. */
static void walk(struct pb r, int depth)
{
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.wire != PB_LEN)
			continue;
		for (struct pb list = f.body; list.at < list.end;)
			pb_varint(&list);
		if (depth)
			walk(f.body, depth - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk(pb_from(data, size), 8);
	return 0;
}
