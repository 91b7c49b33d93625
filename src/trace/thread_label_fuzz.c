// SPDX-License-Identifier: Apache-2.0
#include "trace/thread_label.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const u8 *packed, size_t bytes)
{
	struct thread_label_value values[THREAD_LABELS_MAX];
	u32 count = thread_labels_unpack(packed, bytes, values);

	for (u32 i = 0; i < count; i++)
		if (values[i].number >= THREAD_LABELS_MAX || !memchr(values[i].text, 0, sizeof(values[i].text)) ||
		    !utf8_valid(values[i].text, strlen(values[i].text)))
			abort();
}

/* Words that a record might hold: texts come out, and the same again from what was packed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u64 words[LABEL_WORDS_MAX] = { 0 };
	u8 packed[THREAD_LABELS_PACKED_MAX], again[THREAD_LABELS_PACKED_MAX];
	size_t bytes = size < sizeof(words) ? size : sizeof(words), packed_bytes;
	u32 count;

	memcpy(words, data, bytes);
	packed_bytes = thread_labels_pack(words, (u32)(bytes / sizeof(u64)), packed);
	check(packed, packed_bytes);
	count = thread_labels_words(packed, packed_bytes, words);
	if (thread_labels_pack(words, count, again) != packed_bytes || memcmp(packed, again, packed_bytes) != 0)
		abort();
	check(packed, thread_labels_blur(packed, packed_bytes));
	return 0;
}
