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
	struct tls_variable variable;

	if (exe_open_mem(data, size, &exe) < 0)
		return 0;
	tls_variable_find(exe, REQUEST_VARIABLE, &variable);
	if (variable.access > TLS_MODULE)
		abort();
	return 0;
}
