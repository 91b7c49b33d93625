// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "proc/program_name.h"

/* The first byte chooses the interpreter, what follows are its arguments. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const programs[] = { "/usr/bin/python3", "/usr/bin/node", "/x/java", "/bin/bash",
						"/bin/busybox", "/x/beam.smp", "/usr/bin/ruby3.1", "" };
	char name[PROGRAM_NAME_BYTES + 1], *arguments;

	if (!size)
		return 0;
	arguments = calloc(1, size);
	if (!arguments)
		return 0;
	memcpy(arguments, data + 1, size - 1);
	program_name(&(struct program){ programs[data[0] % 8], arguments, size - 1, "/srv/shop" }, name);
	if (!utf8_valid(name, strlen(name)))
		abort();
	free(arguments);
	return 0;
}
