// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "proc/environment.h"

#define PREFIX "process.environment_variable."

/* Whatever a process puts there, what is taken are whole entries with names that were asked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct environment_names names = { (const char *const[]){ "A", "BC" }, 2 };
	struct buf out;

	buf_init(&out, 65536);
	environment_pick((const char *)data, size, &names, &out);
	if (buf_err(&out) < 0)
		abort();
	for (size_t at = 0; at < out.len; at += strlen(out.data + at) + 1)
		if (strncmp(out.data + at, PREFIX "A=", sizeof(PREFIX) + 1) &&
		    strncmp(out.data + at, PREFIX "BC=", sizeof(PREFIX) + 2))
			abort();
	buf_done(&out);
	return 0;
}
