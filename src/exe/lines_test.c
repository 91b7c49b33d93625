// SPDX-License-Identifier: Apache-2.0
#include "exe/lines.h"

#include <errno.h>

#include "base/cleanup.h"
#include "test.h"

/* Two addresses: f inlined into g, and one without lines; a third was not looked at. */
static int build(struct exe_lines **ret_lines)
{
	_cleanup_(lines_done) struct lines_builder builder;

	lines_init(&builder);
	lines_add(&builder, "f", "a.c", 7, 3, 5);
	lines_add(&builder, "g", "a.c", 9, 0, 8);
	lines_next(&builder);
	lines_next(&builder);
	lines_next(&builder);
	return lines_finish(&builder, 1, ret_lines);
}

TEST(lines_build_chains)
{
	_cleanup_(freep) struct exe_lines *lines = NULL;
	const struct exe_line *line;
	const char *strings;

	EQ(build(&lines), 0);
	EQ(exe_lines_check(lines, lines->bytes), 0);
	EQ(lines->address_count, 3);
	EQ(lines->truncated, 1);
	EQ(exe_lines_first(lines)[1], 2);
	EQ(exe_lines_first(lines)[3], 2);
	line = exe_lines_array(lines);
	strings = exe_lines_strings(lines);
	STREQ(strings + line[0].function, "f");
	STREQ(strings + line[1].function, "g");
	EQ(line[0].file, line[1].file);
	EQ(line[1].line, 9);
	EQ(line[1].start_line, 8);
	EQ(line[0].column, 3);
	EQ(lines->strings_bytes, 1 + 2 + 4 + 2);
}

TEST(lines_checks_blocks_that_came_from_elsewhere)
{
	static const struct {
		const char *what;
		size_t offset;
		u32 value;
	} cases[] = {
		{ "magic", 0, 0 },
		{ "bytes", offsetof(struct exe_lines, bytes), 1 },
		{ "addresses", offsetof(struct exe_lines, address_count), 2 },
		{ "many addresses", offsetof(struct exe_lines, address_count), ~0u },
		{ "lines", offsetof(struct exe_lines, line_count), 1 },
		{ "many lines", offsetof(struct exe_lines, line_count), ~0u },
		{ "no strings", offsetof(struct exe_lines, strings_bytes), 0 },
		{ "truncated", offsetof(struct exe_lines, truncated), 4 },
		{ "first chain", sizeof(struct exe_lines), 1 },
		{ "descends", sizeof(struct exe_lines) + 4, 3 },
		{ "last chain", sizeof(struct exe_lines) + 12, 1 },
		{ "function", sizeof(struct exe_lines) + 16, 9 },
		{ "file", sizeof(struct exe_lines) + 20, 9 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(freep) struct exe_lines *lines = NULL;
		size_t bytes;

		EQ(build(&lines), 0);
		bytes = lines->bytes;
		memcpy((char *)lines + cases[i].offset, &cases[i].value, sizeof(u32));
		if (exe_lines_check(lines, bytes) != -EBADMSG)
			FAIL("%s was taken", cases[i].what);
	}
}

TEST(lines_survive_each_failed_allocation)
{
	_cleanup_(freep) struct exe_lines *lines = NULL;
	int r = -ENOMEM;

	for (long n = 0; !lines && n < 100; n++) {
		test_alloc_fail(n);
		r = build(&lines);
		test_alloc_reset();
		OK(r == 0 || r == -ENOMEM);
	}
	EQ(r, 0);
}
