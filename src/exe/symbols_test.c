// SPDX-License-Identifier: Apache-2.0
#include "exe/symbols.h"

#include <errno.h>

#include "base/cleanup.h"
#include "test.h"

struct block {
	struct symbols head;
	struct symbol symbol[3];
	char strings[16];
};

/* outer [0x100, 0x200) with inner [0x120, 0x130) in it, and one by its FDE alone */
static struct symbols *new_block(void)
{
	static const struct block block = {
		.head = { .magic = SYMBOLS_MAGIC, .count = 3, .strings_bytes = 16, .bytes = sizeof(block) },
		.symbol = { { 0x100, 0x100, 1 }, { 0x120, 0x10, 7 }, { 0x300, 4, 0 } },
		.strings = "\0outer\0inner",
	};
	void *at = malloc(sizeof(block));

	OK(at);
	return memcpy(at, &block, sizeof(block));
}

TEST(symbols_finds_the_function_that_covers_an_address)
{
	_cleanup_(freep) struct symbols *symbols = new_block();

	EQ(symbols_check(symbols, symbols->bytes), 0);
	OK(!symbols_find(symbols, 0xff));
	STREQ(symbols_name(symbols, symbols_find(symbols, 0x100)), "outer");
	STREQ(symbols_name(symbols, symbols_find(symbols, 0x11f)), "outer");
	STREQ(symbols_name(symbols, symbols_find(symbols, 0x12f)), "inner");
	EQ(symbols_find(symbols, 0x130)->ea, 0x100);
	OK(!symbols_find(symbols, 0x200));
	OK(!symbols_find(symbols, 0x2ff));
	STREQ(symbols_name(symbols, symbols_find(symbols, 0x303)), "");
	OK(!symbols_find(symbols, 0x304));
}

TEST(symbols_checks_blocks_that_came_from_elsewhere)
{
	static const struct {
		const char *what;
		size_t offset;
		u64 value;
		u32 bytes;
	} cases[] = {
		{ "magic", 0, 'x', 1 },
		{ "bytes", offsetof(struct symbols, bytes), 7, 4 },
		{ "count", offsetof(struct symbols, count), 2, 4 },
		{ "huge count", offsetof(struct symbols, count), ~0u, 4 },
		{ "no strings", offsetof(struct symbols, strings_bytes), 0, 4 },
		{ "name", offsetof(struct block, symbol[1].name), 16, 4 },
		{ "empty", offsetof(struct block, symbol[1].bytes), 0, 4 },
		{ "wraps", offsetof(struct block, symbol[2].ea), -2ull, 8 },
		{ "order", offsetof(struct block, symbol[1].ea), 0x100, 8 },
		{ "first string", offsetof(struct block, strings), 'x', 1 },
		{ "last string", offsetof(struct block, strings[15]), 'x', 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(freep) struct symbols *symbols = new_block();

		memcpy((char *)symbols + cases[i].offset, &cases[i].value, cases[i].bytes);
		if (symbols_check(symbols, sizeof(struct block)) != -EBADMSG)
			FAIL("%s was taken", cases[i].what);
	}
	EQ(symbols_check((const struct symbols *)SYMBOLS_MAGIC, 8), -EBADMSG);
}
