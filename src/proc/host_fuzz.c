// SPDX-License-Identifier: Apache-2.0
#include "proc/host.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host_sample sample = { 0 };
	struct host_process process;
	u64 sum = 0;

	host_parse_stat((const char *)data, size, 10000000, &sample);
	host_parse_meminfo((const char *)data, size, &sample);
	host_parse_vmstat((const char *)data, size, &sample);
	host_parse_loadavg((const char *)data, size, &sample);
	for (int i = HOST_MEMORY_USED + 1; i < HOST_MEMORY_STATE_COUNT; i++)
		sum = __builtin_add_overflow(sum, sample.memory_bytes[i], &sum) ? ~0ull : sum;
	if (sum <= sample.memory_total_bytes &&
	    sample.memory_bytes[HOST_MEMORY_USED] + sum != sample.memory_total_bytes)
		abort();
	if (host_parse_process((const char *)data, size, 10000000, 4096, &process) == 0 &&
	    (process.pid <= 0 || memchr(process.name, '\0', sizeof(process.name)) == NULL))
		abort();
	return 0;
}
