// SPDX-License-Identifier: Apache-2.0
#include "wire/lz.h"

#include <errno.h>

#include "test.h"

#define WORDS "wick wick wick wick wick wick wick wick wick wick wick wick and more"
#define BLOCK "\x44\x10wick \xda\x05\x00\x1c" "and more"
#define MAGIC "\xff\x06\x00\x00sNaPpY"
/* A packed chunk, one to be skipped, a plain one. */
#define FRAMED MAGIC "\x00\x17\x00\x00\x11\xb2\xc7\x11" BLOCK "\x80\x01\x00\x00\x09" "\x01\x05\x00\x00\x2e\xec\x9b\x5f!"
/* What lz4 -9 -BX, --no-frame-crc and -BD write. */
#define LZ4_CHECKED "\x04\x22\x4d\x18\x74\x40\xbd\x12\x00\x00\x00\x5fwick \x05\x00\x24\x80" "and more\x16\x4f\x2e\x36" \
	"\x00\x00\x00\x00\x9c\x9d\x10\x80"
#define LZ4_BARE "\x04\x22\x4d\x18\x60\x40\x82\x12\x00\x00\x00\x5fwick \x05\x00\x24\x80" "and more\x00\x00\x00\x00"
#define LZ4_LINKED "\x04\x22\x4d\x18\x64\x40\xa7\x12\x00\x00\x00\x5fwick \x05\x00\x24\x80" "and more\x00\x00\x00\x00" \
	"\x9c\x9d\x10\x80"
#define SKIPPABLE "\x50\x2a\x4d\x18\x01\x00\x00\x00x"

typedef int unpack_fn(const void *at, size_t bytes, struct buf *out);

static const struct packed {
	unpack_fn *unpack;
	const char *at;
	size_t bytes;
	const char *plain;
} all[] = {
#define PACKED(fn, text, plain) { lz_unpack_##fn, text, sizeof(text) - 1, plain }
	PACKED(snappy, BLOCK, WORDS),
	PACKED(snappy, FRAMED, WORDS "!"),
	PACKED(snappy, MAGIC, ""),
	PACKED(lz4, LZ4_CHECKED, WORDS),
	PACKED(lz4, LZ4_BARE, WORDS),
	PACKED(lz4, LZ4_LINKED, WORDS),
	PACKED(lz4, LZ4_BARE SKIPPABLE LZ4_LINKED, WORDS WORDS),
};
#define COUNT (sizeof(all) / sizeof(*all))

TEST(lz_unpacks_what_others_pack)
{
	for (size_t i = 0; i < COUNT; i++) {
		struct buf out;

		buf_init(&out, 4096);
		EQ(all[i].unpack(all[i].at, all[i].bytes, &out), 0);
		EQ(out.len, strlen(all[i].plain));
		OK(!out.len || !memcmp(out.data, all[i].plain, out.len));
		buf_done(&out);
	}
}

TEST(lz_refuses_what_is_cut_and_what_is_too_long)
{
	for (size_t i = 0; i < COUNT; i++) {
		struct buf out;

		for (size_t cut = 0; cut < all[i].bytes; cut++) {
			int r;

			buf_init(&out, 4096);
			r = all[i].unpack(all[i].at, cut, &out);
			/* Between two chunks or frames it is a shorter one. */
			OK(r == -EBADMSG || (r == 0 && out.len < strlen(all[i].plain)) || (!*all[i].plain && r < 0));
			buf_done(&out);
		}
		if (!*all[i].plain)
			continue;
		buf_init(&out, strlen(WORDS) - 1);
		EQ(all[i].unpack(all[i].at, all[i].bytes, &out), -E2BIG);
		buf_done(&out);
	}
}

/* Each byte changed: it is refused, or means something of the same length at most. */
TEST(lz_survives_any_byte_changed)
{
	for (size_t i = 0; i < COUNT; i++)
		for (size_t at = 0; at < all[i].bytes; at++) {
			char copy[256];
			struct buf out;

			memcpy(copy, all[i].at, all[i].bytes);
			copy[at] ^= 0x41;
			buf_init(&out, 4096);
			(void)all[i].unpack(copy, all[i].bytes, &out);
			OK(out.len <= 4096);
			buf_done(&out);
		}
}

/* 4 GiB by its word, in 5 bytes; a copy from before the beginning. */
TEST(lz_believes_no_claim)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	EQ(lz_unpack_snappy("\xff\xff\xff\xff\x0f", 5, &out), -E2BIG);
	EQ(out.cap, 0);
	EQ(lz_unpack_snappy(NULL, 0, &out), -EBADMSG);
	EQ(lz_unpack_lz4(NULL, 0, &out), -EBADMSG);
	EQ(lz_unpack_snappy("\x05\x01\x01", 3, &out), -EBADMSG);
	EQ(lz_unpack_snappy("\x05\x00x\x01\x02", 5, &out), -EBADMSG);
	buf_done(&out);
}
