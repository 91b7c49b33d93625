// SPDX-License-Identifier: Apache-2.0
#include "wire/pb.h"

#include <errno.h>
#include <stdint.h>

#include "test.h"
#include "base/cleanup.h"
#include "base/utf8.h"

TEST(pb_reads_what_it_wrote)
{
	static const u64 numbers[] = { 0, 1, 127, 128, 300, 1u << 31, 1ull << 35, UINT64_MAX };
	u32 indices[300];
	struct buf b;
	struct pb r, list;
	struct pb_field f;
	size_t mark;

	for (u32 i = 0; i < 300; i++)
		indices[i] = i * i;
	buf_init(&b, 1 << 16);
	for (size_t i = 0; i < 8; i++)
		pb_put_varint(&b, i + 1, numbers[i]);
	pb_put_fixed64(&b, 9, 0x0102030405060708);
	mark = pb_begin(&b, 10);
	pb_put_packed_u32(&b, 1, indices, 300);
	pb_put_string(&b, 2, "caf\xc3\xa9", 5);
	pb_end(&b, mark);
	EQ(buf_err(&b), 0);

	r = pb_from(b.data, b.len);
	for (size_t i = 0; i < 8; i++) {
		OK(pb_next(&r, &f));
		EQ(f.number, i + 1);
		EQ(pb_u64(&r, &f), numbers[i]);
	}
	OK(pb_next(&r, &f) && f.wire == PB_FIXED64);
	EQ(f.value, 0x0102030405060708);
	OK(pb_next(&r, &f) && f.number == 10);
	OK(!pb_next(&r, &f));
	EQ(r.err, 0);
	r = f.body;
	OK(pb_next(&r, &f));
	list = pb_body(&r, &f);
	EQ(pb_count(&list), 300);
	for (u32 i = 0; i < 300; i++)
		EQ(pb_varint(&list), i * i);
	OK(pb_next(&r, &f));
	EQ(pb_left(&f.body), 5);
	buf_done(&b);
}

TEST(pb_refuses_broken_bytes)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "\x08", 1 },					/* no value */
		{ "\x08\x80", 2 },				/* value not ended */
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11 },	/* more than 64 bits */
		{ "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12 },
		{ "\x0a\x05"
		  "abc", 5 },					/* longer than what is left */
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },
		{ "\x09\x01\x02", 3 },				/* half a fixed64 */
		{ "\x0d\x01", 2 },				/* half a fixed32 */
		{ "\x0b\x0c", 2 },				/* a group */
		{ "\x0e", 1 },					/* no such wire type */
		{ "\x00\x01", 2 },				/* field 0 */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pb r = pb_from(cases[i].bytes, cases[i].len);
		struct pb_field f;

		OK(!pb_next(&r, &f));
		EQ(r.err, -EBADMSG);
		OK(!pb_next(&r, &f));
	}
}

TEST(pb_keeps_the_first_error)
{
	struct pb r = pb_from("\x08\x01\x10\xff\xff\xff\xff\x7f", 8), nested = { .err = -ENOMEM };
	struct pb_field f;

	OK(pb_next(&r, &f));
	EQ(pb_u32(&r, &f), 1);
	OK(pb_next(&r, &f));
	EQ(pb_u32(&r, &f), 0);
	EQ(r.err, -EBADMSG);
	pb_inherit(&r, &nested);
	EQ(r.err, -EBADMSG);
	r = pb_from("\x08\x01", 2);
	OK(pb_next(&r, &f));
	EQ(pb_left(&(struct pb){ 0 }), 0);
	pb_body(&r, &f);
	EQ(r.err, -EBADMSG);
}

TEST(pb_replaces_what_is_not_utf8)
{
	struct buf b;

	buf_init(&b, 100);
	pb_put_string(&b, 1, "a\xff\xc3z\xe2\x82", 6);
	pb_put_string_nonempty(&b, 2, "", 0);
	EQ(buf_err(&b), 0);
	EQ(b.len, 2 + 2 + 4 * 3);
	OK(!memcmp(b.data, "\x0a\x0e" "a" UTF8_REPLACEMENT UTF8_REPLACEMENT "z" UTF8_REPLACEMENT UTF8_REPLACEMENT,
		   b.len));
	buf_done(&b);
}

TEST(pb_writer_stops_at_the_limit)
{
	struct buf b;
	size_t mark;

	buf_init(&b, 140);
	mark = pb_begin(&b, 1);
	for (int i = 0; i < 100; i++)
		pb_put_varint(&b, 1, 1);
	pb_end(&b, mark);
	EQ(buf_err(&b), -E2BIG);
	OK(b.len <= 140);
	buf_done(&b);
}

TEST(utf8_knows_characters_from_bytes)
{
	static const struct {
		const char *text;
		bool valid;
	} cases[] = {
		{ "", true }, { "plain ascii text, longer than a word", true }, { "\xc3\xa9", true },
		{ "0123456\xe2\x82\xac", true }, { "\xf0\x9f\x94\xa5", true }, { "\x80", false },
		{ "\xc0\xaf", false }, { "\xe0\x80\xaf", false }, { "\xed\xa0\x80", false },
		{ "\xf4\x90\x80\x80", false }, { "\xf5\x80\x80\x80", false }, { "01234567\xe2\x82", false },
		{ "\xf0\x80\x80\x80", false }, { "\xef\xbf\xbd", true }, { "\xc3" "A", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		EQ(utf8_valid(cases[i].text, strlen(cases[i].text)), cases[i].valid);
}

TEST(pb_unpacks_numbers_of_every_length)
{
	static const u32 numbers[] = { 0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 1u << 28, UINT32_MAX };
	u32 got[16], count = sizeof(numbers) / sizeof(*numbers);
	struct buf b;

	for (u32 n = 0; n <= count; n++) {
		struct pb list;

		buf_init(&b, 4096);
		for (u32 i = 0; i < n; i++)
			pb_put_raw_varint(&b, numbers[i]);
		list = pb_from(b.data, b.len);
		EQ(pb_count(&list), n);
		EQ(pb_unpack(&list, UINT32_MAX, true, got), n);
		EQ(list.err, 0);
		OK(!n || !memcmp(got, numbers, n * sizeof(*got)));
		for (size_t cut = 1; n && cut < b.len; cut++) {
			list = pb_from(b.data, cut);
			if ((u8)b.data[cut - 1] >= 0x80) {
				EQ(pb_unpack(&list, UINT32_MAX, true, got), 0);
				EQ(list.err, -EBADMSG);
			}
		}
		buf_done(&b);
	}
}

TEST(pb_unpacks_only_numbers_within_limits)
{
	static const struct {
		const char *bytes;
		size_t len;
		u32 max;
		bool may_be_zero, fits;
	} cases[] = {
		{ "\x05", 1, 5, false, true }, { "\x06", 1, 5, false, false }, { "\x00", 1, 5, false, false },
		{ "\x00", 1, 5, true, true }, { "\x80", 1, 5, true, false },
		{ "\x80\x80\x80\x80\x10", 5, UINT32_MAX, true, false },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT32_MAX, true, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pb list = pb_from(cases[i].bytes, cases[i].len);
		u32 *got = calloc(pb_count(&list), sizeof(*got));

		EQ(pb_unpack(&list, cases[i].max, cases[i].may_be_zero, got), cases[i].fits);
		EQ(list.err, cases[i].fits ? 0 : -EBADMSG);
		free(got);
	}
}

TEST(pb_packs_numbers_of_every_length)
{
	u32 numbers[2 * 32 + 1], got[2 * 32 + 1], count = 0;
	_cleanup_(buf_done) struct buf b;
	struct pb r, list;
	struct pb_field f;

	for (u32 bit = 0; bit < 32; bit++) {
		numbers[count++] = 1u << bit;
		numbers[count++] = (1u << bit) - 1;
	}
	numbers[count++] = UINT32_MAX;
	buf_init(&b, 1024);
	pb_put_packed_u32(&b, 1, numbers, count);
	r = pb_from(b.data, b.len);
	OK(pb_next(&r, &f));
	list = f.body;
	EQ(pb_count(&list), count);
	for (u32 i = 0; i < count; i++)
		EQ(pb_varint(&list), numbers[i]);
	EQ(pb_left(&list), 0);
	list = f.body;
	EQ(pb_unpack(&list, UINT32_MAX, true, got), count);
	OK(!memcmp(got, numbers, sizeof(numbers)));
}
