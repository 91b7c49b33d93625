// SPDX-License-Identifier: Apache-2.0
#include "tracer/tracepoint.h"

#include <errno.h>

#include "test.h"
#include "tracer/usdt_argument.h"

TEST(tracepoints_have_fields_by_their_format)
{
	static const char format[] =
		"name: x\nID: 1\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		"\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:char comm[16];\toffset:12;\tsize:16;\tsigned:0;\n"
		"\tfield:const char * buf;\toffset:32;\tsize:8;\tsigned:0;\n"
		"\tfield:pid_t pid;\toffset:40;\tsize:4;\tsigned:1;\n"
		"\tfield:broken;\toffset:x;\n\tfield:;\toffset:1;\tsize:1;\n"
		"print fmt: \"field:%d;\", REC->pid\n";
	static const struct tracepoint_field expected[] = {
		{ 0, 2, false, true, "common_type" }, { 8, 4, false, false, "filename" },
		{ 12, 16, false, false, "comm" }, { 32, 8, false, true, "buf" }, { 40, 4, true, true, "pid" },
	};
	const char *at = format;
	struct tracepoint_field field;

	for (u32 i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		OK(tracepoint_next_field(&at, &field));
		STREQ(field.name, expected[i].name);
		EQ(field.offset, expected[i].offset);
		EQ(field.bytes, expected[i].bytes);
		EQ(field.is_signed, expected[i].is_signed);
		EQ(field.is_number, expected[i].is_number);
	}
	OK(!tracepoint_next_field(&at, &field));
}

TEST(tracepoints_have_a_number_by_their_format)
{
	static const char *const broken[] = { "", "ID: 5\n", "name: x\nID: \n", "name: x\nID: 5", "name: x\nID: x\n" };
	u64 id = 7;

	for (u32 i = 0; i < sizeof(broken) / sizeof(*broken); i++)
		EQ(tracepoint_id(broken[i], &id), -EBADMSG);
	EQ(id, 7);
	EQ(tracepoint_id("name: x\nID: 318\nformat:\n", &id), 0);
	EQ(id, 318);
}

#if defined(__x86_64__)
TEST(usdt_arguments_are_registers_numbers_or_memory)
{
	static const struct {
		const char *text;
		int result;
		struct probe_read read;
	} cases[] = {
		{ "8@%rdi", 0, { PROBE_FROM_CONTEXT, 8, 0, 0, 0, 14 * 8 } },
		{ "-4@%eax", 0, { PROBE_FROM_CONTEXT, 4, 1, 0, 0, 10 * 8 } },
		{ "1@%r15b", 0, { PROBE_FROM_CONTEXT, 1, 0, 0, 0, 0 } },
		{ "-4@$-7", 0, { PROBE_FROM_NUMBER, 4, 1, 0, 0, -7 } },
		{ "4@-20(%rbp)", 0, { PROBE_FROM_MEMORY, 4, 0, 0, 4 * 8, -20 } },
		{ "8@(%rsp)", 0, { PROBE_FROM_MEMORY, 8, 0, 0, 19 * 8, 0 } },
		{ "", -ENOENT, { 0 } },
		{ "8@%xmm0", -EOPNOTSUPP, { 0 } },
		{ "8f@%xmm0", -EOPNOTSUPP, { 0 } },
		{ "3@%rdi", -EOPNOTSUPP, { 0 } },
		{ "8@name(%rip)", -EOPNOTSUPP, { 0 } },
		{ "8@8(%rax,%rbx,4)", -EOPNOTSUPP, { 0 } },
		{ "8@99999999999(%rax)", -EOPNOTSUPP, { 0 } },
		{ "8%rdi", -EOPNOTSUPP, { 0 } },
	};
	struct probe_read read;

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		EQ(usdt_argument(cases[i].text, 0, &read), cases[i].result);
		if (cases[i].result < 0)
			continue;
		EQ(read.from, cases[i].read.from);
		EQ(read.bytes, cases[i].read.bytes);
		EQ(read.is_signed, cases[i].read.is_signed);
		EQ(read.base, cases[i].read.base);
		EQ(read.offset, cases[i].read.offset);
	}
	EQ(usdt_argument("8@%rdi  -4@$5 4@%edx", 2, &read), 0);
	EQ(read.offset, 12 * 8);
	EQ(usdt_argument("8@%rdi -4@$5", 2, &read), -ENOENT);
}
#else
TEST(usdt_arguments_are_registers_numbers_or_memory)
{
	struct probe_read read;

	EQ(usdt_argument("8@x0 -4@[sp, 16] 4@w3 8@-5 8@[x29]", 1, &read), 0);
	EQ(read.from, PROBE_FROM_MEMORY);
	EQ(read.base, 31 * 8);
	EQ(read.offset, 16);
	EQ(usdt_argument("8@x0 -4@[sp, 16] 4@w3 8@-5 8@[x29]", 2, &read), 0);
	EQ(read.offset, 3 * 8);
	EQ(usdt_argument("8@x0 -4@[sp, 16] 4@w3 8@-5 8@[x29]", 3, &read), 0);
	EQ(read.offset, -5);
	EQ(usdt_argument("8@d0", 0, &read), -EOPNOTSUPP);
	EQ(usdt_argument("8@x31", 0, &read), -EOPNOTSUPP);
}
#endif
