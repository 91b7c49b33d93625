// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python_codes.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"

static const u8 lines[64] = { 1, 2, 3 };

TEST(python_codes_tell_successors_apart_by_their_cookie)
{
	_cleanup_(python_codes_done) struct python_codes codes;

	python_codes_init(&codes);
	OK(!python_codes_find(&codes, 0x1000, 1));
	python_codes_add(&codes, 0x1000, 1, &(struct python_known_code){ "one", "a.py", lines, 3, 7 });
	python_codes_add(&codes, 0x1000, 2, &(struct python_known_code){ "two", "a.py", lines, 2, 8 });
	STREQ(python_codes_find(&codes, 0x1000, 1)->function, "one");
	STREQ(python_codes_find(&codes, 0x1000, 2)->function, "two");
	STREQ(python_codes_find(&codes, 0x1000, 2)->file, "a.py");
	EQ(python_codes_find(&codes, 0x1000, 1)->lines_bytes, 3);
	EQ(memcmp(python_codes_find(&codes, 0x1000, 1)->lines, lines, 3), 0);
	EQ(python_codes_find(&codes, 0x1000, 2)->line, 8);
	OK(!python_codes_find(&codes, 0x1000, 3));
	OK(!python_codes_find(&codes, 0x1008, 1));
}

TEST(python_codes_stay_within_their_room)
{
	_cleanup_(python_codes_done) struct python_codes codes;
	static u8 long_table[PYTHON_CODE_LINES_MAX + 1];
	char name[32];
	u32 found = 0;

	python_codes_init(&codes);
	for (u32 i = 0; i < 20000; i++) {
		(void)snprintf(name, sizeof(name), "function_%u", i);
		python_codes_add(&codes, i * 16, 1,
				 &(struct python_known_code){ name, "a.py", lines, sizeof(lines), i });
	}
	for (u32 i = 0; i < 20000; i++) {
		const struct python_known_code *code = python_codes_find(&codes, i * 16, 1);

		(void)snprintf(name, sizeof(name), "function_%u", i);
		if (!code)
			continue;
		found++;
		EQ(code->line, i);
		STREQ(code->function, name);
	}
	OK(found > 0 && found < 20000);
	python_codes_add(&codes, 1, 1, &(struct python_known_code){ "x", "a.py", long_table, sizeof(long_table), 1 });
	OK(!python_codes_find(&codes, 1, 1));
}

TEST(python_codes_survive_each_failed_allocation)
{
	for (long i = 0; i < 8; i++) {
		_cleanup_(python_codes_done) struct python_codes codes;

		test_alloc_fail(i);
		python_codes_init(&codes);
		python_codes_add(&codes, 1, 1, &(struct python_known_code){ "x", "a.py", lines, 3, 1 });
		python_codes_add(&codes, 2, 1, &(struct python_known_code){ "y", "a.py", lines, 3, 1 });
		test_alloc_reset();
		(void)python_codes_find(&codes, 1, 1);
		(void)python_codes_find(&codes, 2, 1);
	}
}
