// SPDX-License-Identifier: Apache-2.0
#include "wire/compression.h"

#include <errno.h>

#include "test.h"

static void fill(struct buf *b, size_t bytes)
{
	unsigned int state = 1;

	buf_init(b, bytes);
	for (size_t i = 0; i < bytes; i++) {
		state = state * 1103515245 + 12345;
		buf_add(b, &(char){ state >> 28 }, 1);
	}
}

TEST(compression_unpacks_what_it_packed)
{
	static const size_t sizes[] = { 0, 1, 65536, 300000 };

	for (enum compression kind = COMPRESSION_NONE; kind <= COMPRESSION_ZSTD; kind++) {
		for (size_t i = 0; i < 4; i++) {
			struct buf plain, packed, again;

			fill(&plain, sizes[i]);
			buf_init(&packed, 1 << 20);
			buf_init(&again, 1 << 20);
			EQ(compression_pack(kind, plain.data, plain.len, &packed), 0);
			EQ(compression_of(packed.data, packed.len), kind);
			EQ(compression_unpack(kind, packed.data, packed.len, &again), 0);
			EQ(again.len, plain.len);
			OK(!plain.len || !memcmp(again.data, plain.data, plain.len));
			buf_done(&plain);
			buf_done(&packed);
			buf_done(&again);
		}
	}
}

TEST(compression_refuses_bombs_cuts_and_garbage)
{
	static char zeros[4 << 20];

	for (enum compression kind = COMPRESSION_GZIP; kind <= COMPRESSION_ZSTD; kind++) {
		struct buf packed, out;

		buf_init(&packed, 8 << 20);
		EQ(compression_pack(kind, zeros, sizeof(zeros), &packed), 0);
		buf_init(&out, 1 << 20);
		EQ(compression_unpack(kind, packed.data, packed.len, &out), -E2BIG);
		OK(out.cap <= 2 << 20);
		buf_done(&out);
		buf_init(&out, 8 << 20);
		EQ(compression_unpack(kind, packed.data, packed.len - 1, &out), -EBADMSG);
		buf_done(&out);
		buf_init(&out, 8 << 20);
		EQ(compression_unpack(kind, packed.data, 3, &out), -EBADMSG);
		buf_done(&out);
		buf_add(&packed, "garbage", 7);
		buf_init(&out, 8 << 20);
		EQ(compression_unpack(kind, packed.data, packed.len, &out), -EBADMSG);
		buf_done(&out);
		buf_done(&packed);
	}
}

TEST(compression_joins_what_follows)
{
	for (enum compression kind = COMPRESSION_GZIP; kind <= COMPRESSION_ZSTD; kind++) {
		struct buf packed, out;

		buf_init(&packed, 4096);
		buf_init(&out, 4096);
		EQ(compression_pack(kind, "one,", 4, &packed), 0);
		EQ(compression_pack(kind, "two", 3, &packed), 0);
		EQ(compression_unpack(kind, packed.data, packed.len, &out), 0);
		EQ(out.len, 7);
		OK(!memcmp(out.data, "one,two", 7));
		buf_done(&packed);
		buf_done(&out);
	}
}

TEST(compression_survives_a_failed_allocation)
{
	for (enum compression kind = COMPRESSION_GZIP; kind <= COMPRESSION_ZSTD; kind++) {
		struct buf packed, out;

		buf_init(&packed, 4096);
		EQ(compression_pack(kind, "text", 4, &packed), 0);
		buf_init(&out, 4096);
		test_alloc_fail(0);
		EQ(compression_unpack(kind, packed.data, packed.len, &out), -ENOMEM);
		test_alloc_reset();
		buf_done(&out);
		buf_done(&packed);
	}
}

TEST(compression_is_better_at_higher_levels)
{
	for (enum compression kind = COMPRESSION_GZIP; kind <= COMPRESSION_ZSTD; kind++) {
		struct buf plain, quick, small, beyond, again;

		buf_init(&plain, 1 << 20);
		for (int i = 0; i < 20000; i++)
			buf_addf(&plain, "frame_%d;", i * i % 977);
		buf_init(&quick, 1 << 20);
		buf_init(&small, 1 << 20);
		buf_init(&beyond, 1 << 20);
		buf_init(&again, 1 << 20);
		EQ(compression_pack_level(kind, 1, plain.data, plain.len, &quick), 0);
		EQ(compression_pack_level(kind, 9, plain.data, plain.len, &small), 0);
		EQ(compression_pack_level(kind, 99, plain.data, plain.len, &beyond), 0);
		OK(small.len < quick.len);
		EQ(compression_unpack(kind, beyond.data, beyond.len, &again), 0);
		EQ(again.len, plain.len);
		buf_done(&plain);
		buf_done(&quick);
		buf_done(&small);
		buf_done(&beyond);
		buf_done(&again);
	}
}
