// SPDX-License-Identifier: Apache-2.0
#include "exe/reader_protocol.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says how many descriptors came along; the rest is a message, to either side. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	union {
		struct reader_request request;
		struct reader_reply reply;
		struct exe_info info;
		char bytes[READER_REQUEST_MAX];
	} message;
	u64 sum = 0;

	if (!size || size - 1 > sizeof(message))
		return 0;
	memcpy(&message, data + 1, size - 1);
	if (reader_request_check(&message.request, size - 1, data[0]) == 0)
		for (u32 i = 0; i < message.request.count; i++)
			sum += message.request.ea[i];
	if (reader_reply_check(&message.reply, size - 1, data[0]) == 0)
		sum += message.reply.bytes;
	if (exe_info_check(&message.info, size - 1) == 0)
		sum += strlen(message.info.debuglink) + strlen(message.info.altlink) + strlen(message.info.go_build_id);
	return sum == UINT64_MAX;
}
