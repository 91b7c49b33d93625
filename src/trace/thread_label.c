// SPDX-License-Identifier: Apache-2.0
#include "trace/thread_label.h"

#include <stdio.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/utf8.h"

#define BLURRED THREAD_LABEL_TYPE_COUNT	/* as a type: there is no value */

static u32 words_of(u32 bytes)
{
	return 1 + (bytes + 7) / 8;
}

static bool is_number(u32 type)
{
	return type < THREAD_LABEL_STRING;
}

static bool makes_sense(const struct thread_label *label)
{
	if (label->number >= THREAD_LABELS_MAX || label->type >= THREAD_LABEL_TYPE_COUNT)
		return false;
	return is_number(label->type) ? label->bytes == sizeof(u64) : label->bytes < THREAD_LABEL_BYTES;
}

size_t thread_labels_pack(const u64 *words, u32 count, u8 ret_bytes[THREAD_LABELS_PACKED_MAX])
{
	size_t to = 0;
	struct thread_label label;

	for (u32 at = 0; at < count; at += words_of(label.bytes)) {
		memcpy(&label, &words[at], sizeof(label));
		if (!makes_sense(&label) || words_of(label.bytes) > count - at ||
		    3u + label.bytes > THREAD_LABELS_PACKED_MAX - to)
			break;
		ret_bytes[to++] = label.number;
		ret_bytes[to++] = label.type;
		ret_bytes[to++] = (u8)label.bytes;
		memcpy(ret_bytes + to, &words[at + 1], label.bytes);
		to += label.bytes;
	}
	return to;
}

/* The head of the one at `at`; false past the last, or if it is cut off. */
static bool head_at(const u8 *bytes, size_t count, size_t at, struct thread_label *ret_label)
{
	if (count < at || count - at < 3 || count - at - 3 < bytes[at + 2])
		return false;
	*ret_label = (struct thread_label){ bytes[at], bytes[at + 1], bytes[at + 2], 0 };
	return true;
}

size_t thread_labels_blur(u8 bytes[THREAD_LABELS_PACKED_MAX], size_t count)
{
	struct thread_label label;
	size_t to = 0;

	for (size_t at = 0; head_at(bytes, count, at, &label); at += 3u + label.bytes) {
		bytes[to++] = label.number;
		bytes[to++] = BLURRED;
		bytes[to++] = 0;
	}
	return to;
}

/* A text that was cut may end in the middle of a character. */
static void put_text(char to[THREAD_LABEL_BYTES], const void *from, size_t bytes)
{
	size_t last = bytes;

	memcpy(to, from, bytes);
	to[bytes] = '\0';
	while (bytes == THREAD_LABEL_BYTES - 1 && last && bytes - last < 3 && ((u8)to[last - 1] & 0xc0) == 0x80)
		last--;
	if (bytes == THREAD_LABEL_BYTES - 1 && last && (u8)to[last - 1] >= 0xc0 &&
	    !utf8_next(to + last - 1, bytes - last + 1))
		to[last - 1] = '\0';
	clean_text(to);
}

static void put_number(char to[THREAD_LABEL_BYTES], u32 type, const void *from)
{
	u64 value;

	memcpy(&value, from, sizeof(value));
	if (type == THREAD_LABEL_S32)
		snprintf(to, THREAD_LABEL_BYTES, "%d", (s32)value);
	else if (type == THREAD_LABEL_S64)
		snprintf(to, THREAD_LABEL_BYTES, "%lld", (long long)value);
	else
		snprintf(to, THREAD_LABEL_BYTES, "%llu", (unsigned long long)value);
}

u32 thread_labels_unpack(const u8 *bytes, size_t count, struct thread_label_value ret_values[THREAD_LABELS_MAX])
{
	struct thread_label label;
	u32 found = 0;

	for (size_t at = 0; found < THREAD_LABELS_MAX && head_at(bytes, count, at, &label); at += 3u + label.bytes) {
		struct thread_label_value *to = &ret_values[found++];

		to->number = label.number;
		if (label.type == BLURRED)
			memcpy(to->text, THREAD_LABEL_BLURRED, sizeof(THREAD_LABEL_BLURRED));
		else if (is_number(label.type))
			put_number(to->text, label.type, bytes + at + 3);
		else
			put_text(to->text, bytes + at + 3, label.bytes);
	}
	return found;
}

u32 thread_labels_words(const u8 *bytes, size_t count, u64 ret_words[LABEL_WORDS_MAX])
{
	struct thread_label label;
	u32 to = 0;

	for (size_t at = 0; head_at(bytes, count, at, &label); at += 3u + label.bytes) {
		if (label.type == BLURRED || words_of(label.bytes) > LABEL_WORDS_MAX - to)
			continue;
		memset(&ret_words[to], 0, words_of(label.bytes) * sizeof(u64));
		memcpy(&ret_words[to], &label, sizeof(label));
		memcpy(&ret_words[to + 1], bytes + at + 3, label.bytes);
		to += words_of(label.bytes);
	}
	return to;
}
