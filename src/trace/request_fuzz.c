// SPDX-License-Identifier: Apache-2.0
#include "trace/request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/utf8.h"
#include "proc/process_context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a thread says of its request, and after it what its process says of the attributes: texts come out. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char keys[PROCESS_CONTEXT_KEYS_BYTES];
	size_t keys_bytes, record_bytes = sizeof(struct request_record) + REQUEST_ATTRIBUTES_MAX;
	struct request request;

	if (size < sizeof(struct request_record))
		return 0;
	if (record_bytes > size)
		record_bytes = size;
	if (process_context_threads(data + record_bytes, size - record_bytes, keys, &keys_bytes) < 0)
		keys_bytes = 0;
	if (keys_bytes > sizeof(keys) || (keys_bytes && keys[keys_bytes - 1]))
		abort();
	request_decode(data, record_bytes, keys, keys_bytes, &request);
	for (u32 i = 0; i < request.label_count; i++) {
		struct str value = request.labels[i].value;

		if (!utf8_valid(value.at, value.len) || memchr(value.at, '\0', value.len) || !request.labels[i].key.len)
			abort();
	}
	return 0;
}
