// SPDX-License-Identifier: Apache-2.0
#include "exe/tls_variable.h"

#include <stdint.h>
#include <stdlib.h>

#include "exe/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	static const char *const names[] = { "otel_thread_ctx_v1", "elastic_apm_profiling_correlation_tls_v1" };
	const struct tls_wanted wanted = { .count = 2, .name = { "other", "otel_thread_ctx_v1" } };
	struct tls_variable exported[2], variables[TLS_WANTED_MAX];

	if (exe_open_mem(data, size, &exe) < 0)
		return 0;
	tls_variables_exported(exe, names, 2, exported);
	if (exported[0].access > TLS_MODULE || exported[1].access > TLS_MODULE ||
	    tls_variables_find(exe, &wanted, variables) < 0 ||
	    (variables[0].access | variables[1].access) > (TLS_MODULE | TLS_DESCRIPTOR))
		abort();
	return 0;
}
