// SPDX-License-Identifier: Apache-2.0
#include "exe/tls_variable.h"

#include <stdint.h>
#include <stdlib.h>

#include "abi.h"
#include "exe/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	const struct tls_wanted wanted = { .count = 2, .name = { "other", REQUEST_VARIABLE } };
	struct tls_variable variable, variables[TLS_WANTED_MAX];

	if (exe_open_mem(data, size, &exe) < 0)
		return 0;
	tls_variable_find(exe, REQUEST_VARIABLE, &variable);
	if (variable.access > TLS_MODULE || tls_variables_find(exe, &wanted, variables) < 0 ||
	    (variables[0].access | variables[1].access) > (TLS_MODULE | TLS_DESCRIPTOR))
		abort();
	return 0;
}
