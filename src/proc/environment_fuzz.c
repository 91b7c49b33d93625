// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/environment.h"

/* Whatever a process puts there, what is taken are whole entries with names that were asked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct environment_names names = { (const char *const[]){ "A", "BC" }, 2 };
	struct environment e;

	if (environment_pick((const char *)data, size, &names, &e) < 0)
		abort();
	for (u32 at = 0; at < e.bytes; at += (u32)strlen(e.text + at) + 1)
		if (strncmp(e.text + at, "A=", 2) && strncmp(e.text + at, "BC=", 3))
			abort();
	free(e.text);
	return 0;
}
