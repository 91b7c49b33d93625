// SPDX-License-Identifier: Apache-2.0
#include "proc/process_context.h"

#include <errno.h>

#include "test.h"

#define SCHEMA(text) "\x12\x2e\x0a\x1athreadlocal.schema_version\x12\x10\x0a\x0e" text
#define KEY_MAP "\x12\x30\x0a\x1dthreadlocal.attribute_key_map\x12\x0f" \
		"\x2a\x0d\x0a\x04\x0a\x02" "k1\x0a\x05\x0a\x03" "key"

static int threads(const char *payload, size_t bytes, char keys[PROCESS_CONTEXT_KEYS_BYTES], size_t *ret_bytes)
{
	return process_context_threads(payload, bytes, keys, ret_bytes);
}
#define THREADS(text) threads(text, sizeof(text) - 1, keys, &bytes)

TEST(process_context_says_that_threads_tell_of_requests_and_what_their_attributes_are)
{
	char keys[PROCESS_CONTEXT_KEYS_BYTES];
	size_t bytes;

	EQ(THREADS("\x0a\x00" SCHEMA("tlsdesc_v1_dev") KEY_MAP), 1);
	EQ(bytes, 7);
	OK(!memcmp(keys, "k1\0key", 7));
	EQ(THREADS(KEY_MAP SCHEMA("tlsdesc_v1_dev")), 1);
	EQ(bytes, 7);
}

TEST(process_context_of_another_schema_or_none_says_nothing_of_threads)
{
	char keys[PROCESS_CONTEXT_KEYS_BYTES];
	size_t bytes;

	EQ(THREADS(SCHEMA("of_nobody_v9.9")), 0);
	EQ(THREADS(KEY_MAP), 0);
	EQ(THREADS(""), 0);
	EQ(THREADS("\x12\x7f\x0a"), -EBADMSG);
}
