// SPDX-License-Identifier: Apache-2.0
#include "tracer/usdt_argument.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#if defined(__aarch64__)

u32 register_of_argument(u32 number)
{
	return number * 8;
}

u32 register_of_result(void)
{
	return 0;
}

u32 register_of_stack(void)
{
	return 31 * 8;
}

/* x0 to x30, w0 to w30, sp. */
static bool find_register(struct str name, u32 *ret_offset)
{
	char digits[4] = "", *end;
	unsigned long number;

	if (str_is(name, "sp")) {
		*ret_offset = register_of_stack();
		return true;
	}
	if (name.len < 2 || name.len > 3 || (name.at[0] != 'x' && name.at[0] != 'w'))
		return false;
	memcpy(digits, name.at + 1, name.len - 1);
	number = strtoul(digits, &end, 10);
	*ret_offset = (u32)number * 8;
	return !*end && number <= 30;
}
#else

/* In the order of struct pt_regs; of each: 8, 4, 2 bytes, and the lowest one. */
static const char *const registers[][4] = {
	{ "r15", "r15d", "r15w", "r15b" }, { "r14", "r14d", "r14w", "r14b" }, { "r13", "r13d", "r13w", "r13b" },
	{ "r12", "r12d", "r12w", "r12b" }, { "rbp", "ebp", "bp", "bpl" }, { "rbx", "ebx", "bx", "bl" },
	{ "r11", "r11d", "r11w", "r11b" }, { "r10", "r10d", "r10w", "r10b" }, { "r9", "r9d", "r9w", "r9b" },
	{ "r8", "r8d", "r8w", "r8b" }, { "rax", "eax", "ax", "al" }, { "rcx", "ecx", "cx", "cl" },
	{ "rdx", "edx", "dx", "dl" }, { "rsi", "esi", "si", "sil" }, { "rdi", "edi", "di", "dil" },
	{ "", "", "", "" }, { "", "", "", "" }, { "", "", "", "" }, { "", "", "", "" }, { "rsp", "esp", "sp", "spl" },
};

u32 register_of_argument(u32 number)
{
	static const u8 at[REGISTER_ARGUMENTS] = { 14, 13, 12, 11, 9, 8 };

	return at[number] * 8u;
}

u32 register_of_result(void)
{
	return 10 * 8;
}

u32 register_of_stack(void)
{
	return 19 * 8;
}

static bool find_register(struct str name, u32 *ret_offset)
{
	if (name.len < 3 || name.at[0] != '%')
		return false;
	name = (struct str){ name.at + 1, name.len - 1 };
	for (u32 i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		for (u32 k = 0; k < 4; k++)
			if (str_is(name, registers[i][k])) {
				*ret_offset = i * 8;
				return true;
			}
	return false;
}
#endif

static bool take_number(struct str text, s64 *ret_number)
{
	char digits[24], *end;

	if (!text.len || text.len >= sizeof(digits))
		return false;
	memcpy(digits, text.at, text.len);
	digits[text.len] = '\0';
	*ret_number = strtoll(digits, &end, 0);
	return !*end && digits[0] != ' ';
}

#if defined(__aarch64__)
/* "[sp, 16]", "[x0]" */
static bool take_memory(struct str text, struct probe_read *read)
{
	struct str name;

	if (text.len < 3 || text.at[0] != '[' || text.at[text.len - 1] != ']')
		return false;
	text = (struct str){ text.at + 1, text.len - 2 };
	return str_cut(&text, ',', &name) && find_register(str_trim(name), &read->base) &&
	       (!text.len || take_number(str_trim(text), &read->offset));
}

static bool is_number(struct str text)
{
	return text.len && (text.at[0] == '-' || (text.at[0] >= '0' && text.at[0] <= '9'));
}
#else
/* "-20(%rbp)", "(%rax)" */
static bool take_memory(struct str text, struct probe_read *read)
{
	const char *open = text.len ? memchr(text.at, '(', text.len) : NULL;
	u32 len = open ? (u32)(open - text.at) : 0;

	if (!open || text.at[text.len - 1] != ')')
		return false;
	return (!len || take_number((struct str){ text.at, len }, &read->offset)) &&
	       find_register((struct str){ open + 1, text.len - len - 2 }, &read->base);
}

static bool is_number(struct str text)
{
	return text.len && text.at[0] == '$';
}
#endif

/* What follows "-4@". */
static bool take_place(struct str text, struct probe_read *read)
{
	u32 offset;

	if (is_number(text)) {
		read->from = PROBE_FROM_NUMBER;
		if (text.at[0] == '$')
			text = (struct str){ text.at + 1, text.len - 1 };
		return take_number(text, &read->offset);
	}
	if (find_register(text, &offset)) {
		read->from = PROBE_FROM_CONTEXT;
		read->offset = offset;
		return true;
	}
	read->from = PROBE_FROM_MEMORY;
	return take_memory(text, read) && read->offset > -(1 << 24) && read->offset < 1 << 24;
}

static int take_argument(struct str text, struct probe_read *ret_read)
{
	struct probe_read read = { 0 };
	struct str size;
	s64 bytes;

	if (!str_cut(&text, '@', &size) || !take_number(size, &bytes))
		return -EOPNOTSUPP;
	read.is_signed = bytes < 0;
	bytes = bytes < 0 ? -bytes : bytes;
	if ((bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || !take_place(text, &read))
		return -EOPNOTSUPP;
	read.bytes = (u8)bytes;
	*ret_read = read;
	return 0;
}

/* Blanks part them, but for those in brackets. */
static bool next(struct str *rest, struct str *ret_argument)
{
	u32 len = 0, depth = 0;

	*rest = str_trim(*rest);
	for (; len < rest->len && (depth || rest->at[len] != ' '); len++)
		depth += (rest->at[len] == '[') - (rest->at[len] == ']' && depth);
	*ret_argument = (struct str){ rest->at, len };
	*rest = (struct str){ rest->at + len, rest->len - len };
	return len;
}

int usdt_argument(const char *arguments, u32 number, struct probe_read *ret_read)
{
	struct str rest = str_of(arguments), argument;

	while (next(&rest, &argument))
		if (number-- == 0)
			return take_argument(argument, ret_read);
	return -ENOENT;
}
