// SPDX-License-Identifier: Apache-2.0
#include "symbol/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char at[DEMANGLE_MAX], *name = malloc(size + 1);

	memcpy(name, data, size);
	name[size] = '\0';
	if (demangle(name, at) != 0 && strlen(at) == 0)
		abort();
	free(name);
	return 0;
}
