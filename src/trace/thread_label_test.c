// SPDX-License-Identifier: Apache-2.0
#include "trace/thread_label.h"

#include "test.h"

static u32 put(u64 *words, u32 at, u32 number, u32 type, const void *value, u32 bytes)
{
	struct thread_label label = { (u8)number, (u8)type, (u16)bytes, 0 };

	memcpy(&words[at], &label, sizeof(label));
	memcpy(&words[at + 1], value, bytes);
	return at + 1 + (bytes + 7) / 8;
}

static const char *shown(u32 type, const void *value, u32 bytes)
{
	static struct thread_label_value values[THREAD_LABELS_MAX];
	u64 words[1 + THREAD_LABEL_BYTES / 8];
	u8 packed[THREAD_LABELS_PACKED_MAX];
	size_t packed_bytes;

	memset(words, 0xee, sizeof(words));	/* bytes past a text mean nothing */
	packed_bytes = thread_labels_pack(words, put(words, 0, 2, type, value, bytes), packed);
	if (thread_labels_unpack(packed, packed_bytes, values) != 1 || values[0].number != 2)
		return "none";
	return values[0].text;
}

TEST(thread_label_numbers_are_shown_as_their_type_has_them)
{
	u64 all = ~0ull, low = 0xfffffffeull, zero = 0;

	STREQ(shown(THREAD_LABEL_U32, &low, 8), "4294967294");
	STREQ(shown(THREAD_LABEL_S32, &low, 8), "-2");
	STREQ(shown(THREAD_LABEL_U64, &all, 8), "18446744073709551615");
	STREQ(shown(THREAD_LABEL_S64, &all, 8), "-1");
	STREQ(shown(THREAD_LABEL_U64, &zero, 8), "0");
}

TEST(thread_label_texts_are_shown_without_what_is_no_text)
{
	char text[THREAD_LABEL_BYTES];

	STREQ(shown(THREAD_LABEL_STRING, "acme", 4), "acme");
	STREQ(shown(THREAD_LABEL_POINTER, "a\nb\xff" "c", 5), "a?b?c");
	STREQ(shown(THREAD_LABEL_STRING, "\xc3\xa4", 2), "\xc3\xa4");
	STREQ(shown(THREAD_LABEL_STRING, "x\xc3", 2), "x?");
	/* What was cut in the middle of a character ends before it; a whole one stays. */
	memset(text, 'x', sizeof(text));
	memcpy(text + 61, "\xe2\x82", 2);
	EQ(strlen(shown(THREAD_LABEL_STRING, text, 63)), 61);
	memcpy(text + 60, "\xe2\x82\xac", 3);
	EQ(strlen(shown(THREAD_LABEL_STRING, text, 63)), 63);
	text[62] = 'x';
	EQ(strlen(shown(THREAD_LABEL_STRING, text, 63)), 63);
}

TEST(thread_labels_are_packed_to_the_same_bytes_for_the_same_values)
{
	u64 words[2][LABEL_WORDS_MAX] = { { 0 }, { 0 } }, seven = 7;
	u8 packed[2][THREAD_LABELS_PACKED_MAX];
	size_t bytes[2];
	u32 count = 0;

	for (u32 i = 0; i < 2; i++) {
		memset(words[i], 0x11 * (int)i, sizeof(words[i]));
		count = put(words[i], 0, 0, THREAD_LABEL_STRING, "abc", 3);
		count = put(words[i], count, 3, THREAD_LABEL_U64, &seven, 8);
		bytes[i] = thread_labels_pack(words[i], count, packed[i]);
	}
	EQ(count, 4);
	EQ(bytes[0], bytes[1]);
	OK(!memcmp(packed[0], packed[1], bytes[0]));
	/* ... and go on to the next window as they came. */
	memset(words[1], 0, sizeof(words[1]));
	EQ(thread_labels_words(packed[0], bytes[0], words[1]), 4);
	EQ(thread_labels_pack(words[1], 4, packed[1]), bytes[0]);
	OK(!memcmp(packed[0], packed[1], bytes[0]));
}

TEST(thread_labels_that_are_too_many_say_so)
{
	struct thread_label_value values[THREAD_LABELS_MAX];
	u64 words[LABEL_WORDS_MAX] = { 0 }, seven = 7;
	u8 packed[THREAD_LABELS_PACKED_MAX];
	u32 count = put(words, put(words, 0, 0, THREAD_LABEL_STRING, "abc", 3), 3, THREAD_LABEL_U64, &seven, 8);
	size_t bytes = thread_labels_blur(packed, thread_labels_pack(words, count, packed));

	EQ(thread_labels_unpack(packed, bytes, values), 2);
	STREQ(values[0].text, THREAD_LABEL_BLURRED);
	EQ(values[1].number, 3);
	STREQ(values[1].text, THREAD_LABEL_BLURRED);
	EQ(thread_labels_words(packed, bytes, words), 0);
}

TEST(thread_labels_of_a_record_that_makes_no_sense_are_left_out)
{
	static const struct thread_label wrong[] = {
		{ THREAD_LABELS_MAX, THREAD_LABEL_U32, 8, 0 },
		{ 0, THREAD_LABEL_TYPE_COUNT, 8, 0 },
		{ 0, THREAD_LABEL_U32, 4, 0 },
		{ 0, THREAD_LABEL_STRING, THREAD_LABEL_BYTES, 0 },
		{ 0, THREAD_LABEL_STRING, 17, 0 },	/* more than there is */
	};
	u64 words[3] = { 0 };
	u8 packed[THREAD_LABELS_PACKED_MAX];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		memcpy(words, &wrong[i], sizeof(wrong[i]));
		EQ(thread_labels_pack(words, 3, packed), 0);
	}
}
