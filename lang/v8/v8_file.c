// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/v8_file.h"

#include <errno.h>
#include <string.h>

#include "exe/arm64_insn.h"
#include "exe/elf.h"
#include "exe/symtab.h"

#define BUILTINS_MAX (64u << 20)	/* bytes; 2 MiB in Node 20 */

static u64 number_at(const struct exe *exe, u64 ea)
{
	const u8 *at = exe_bytes_at(exe, ea, sizeof(s32));
	s32 value = 0;		/* what is 0 need not be in the file */

	if (at)
		memcpy(&value, at, sizeof(value));
	return (u64)(s64)value;
}

static u64 word_at(const struct exe *exe, u64 ea)
{
	const u8 *at = exe_bytes_at(exe, ea, sizeof(u64));
	u64 value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

/* The length of what stands there, if it does. */
static u32 passes(const u8 *at, const char *bytes, u32 count)
{
	return memcmp(at, bytes, count) ? 0 : count;
}

/*
 * What a small function returns: a constant, an address near it, or a word near it. The built-in code has no exported
 * symbol, but there is a function for its address and one for its size. clang gives them frames; Debian's libnode takes
 * two steps to a word, whose file has it as it is before it is moved.
 */
static u64 returned_by(const struct exe *exe, u64 ea)
{
	static const struct {
		char code[4], then[4];
		u8 code_bytes, then_bytes;
	} forms[] = {
		{ "\xb8", "", 1, 0 },			/* mov eax, operand */
		{ "\x48\x8d\x05", "\x48\x8b\x00", 3, 3 },	/* lea rax, [rip + operand]; mov rax, [rax] */
		{ "\x48\x8d\x05", "\x8b\x00", 3, 2 },	/* lea rax, [rip + operand]; mov eax, [rax] */
		{ "\x48\x8d\x05", "", 3, 0 },		/* lea rax, [rip + operand] */
		{ "\x48\x8b\x05", "", 3, 0 },		/* mov rax, [rip + operand] */
		{ "\x8b\x05", "", 2, 0 },		/* mov eax, [rip + operand] */
	};
	enum { CONSTANT, NEAR_WORD, NEAR_NUMBER, NEAR, WORD, NUMBER, FORMS };
	const u8 *code = exe_bytes_at(exe, ea, 28);
	u32 at = 0, form = 0, frame;
	u64 target;
	s32 operand;

	if (!code)
		return 0;
	at += passes(code, "\xf3\x0f\x1e\xfa", 4);		/* endbr64 */
	frame = passes(code + at, "\x55\x48\x89\xe5", 4);	/* push rbp; mov rbp, rsp */
	at += frame;
	for (; form < FORMS; form++) {
		const u8 *then = code + at + forms[form].code_bytes + sizeof(operand);

		if (passes(code + at, forms[form].code, forms[form].code_bytes) &&
		    !memcmp(then, forms[form].then, forms[form].then_bytes))
			break;
	}
	if (form == FORMS)
		return 0;
	at += forms[form].code_bytes;
	memcpy(&operand, code + at, sizeof(operand));
	at += sizeof(operand);
	target = ea + at + (u64)(s64)operand;
	at += forms[form].then_bytes;
	if (!(frame ? passes(code + at, "\x5d\xc3", 2) : passes(code + at, "\xc3", 1)))
		return 0;
	if (form == CONSTANT)
		return (u32)operand;
	if (form == NEAR)
		return target;
	return form == WORD || form == NEAR_WORD ? word_at(exe, target) : number_at(exe, target);
}

/* The same of arm64. */
static u64 returned_by_arm64(const struct exe *exe, u64 ea)
{
	const u8 *at = exe_bytes_at(exe, ea, 16);
	u32 code[4], first = 0;
	u64 page, offset;

	if (!at)
		return 0;
	memcpy(code, at, sizeof(code));
	if (code[0] == 0xd503245f)						/* bti c */
		first = 1;
	offset = code[first + 1] >> 10 & 0xfff;
	page = arm64_near(code[first], ea + first * 4);
	if (code[first + 1] == ARM64_RET) {
		if ((code[first] & 0x7fe0001f) == 0x52800000)			/* mov x0, operand */
			return code[first] >> 5 & 0xffff;
		return arm64_is_adr(code[first], 0) ? page : 0;
	}
	if (!arm64_is_adrp(code[first], 0) || code[first + 2] != ARM64_RET)
		return 0;
	switch (code[first + 1] & 0xffc003ff) {
	case 0x91000000:							/* add x0, x0, operand */
		return page + offset;
	case 0xf9400000:							/* ldr x0, [x0 + operand] */
		return word_at(exe, page + offset * 8);
	case 0xb9400000:							/* ldr w0, [x0 + operand] */
		return number_at(exe, page + offset * 4);
	default:
		return 0;
	}
}

static int mark_builtins(const struct exe *exe, struct lang_file *file)
{
	struct symtab_wanted wanted[] = {
		{ .name = "_ZN2v88internal23DefaultEmbeddedBlobCodeEv" },
		{ .name = "_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv" },
	};
	u64 (*returned)(const struct exe *exe, u64 ea) = exe->machine == EM_AARCH64 ? returned_by_arm64 : returned_by;
	u64 start, bytes;

	if (symtab_find(exe, SHT_DYNSYM, wanted, 2) != 2 && symtab_find(exe, SHT_SYMTAB, wanted, 2) != 2)
		return -ENODATA;	/* Node 24 does not export them any more */
	start = returned(exe, wanted[0].ea);
	bytes = returned(exe, wanted[1].ea);
	if (!bytes || bytes > BUILTINS_MAX || !exe_executable(exe, start) || !exe_bytes_at(exe, start, bytes))
		return -ENODATA;
	file->marks[0] = (struct lang_mark){ start, start + bytes };
	file->mark_count = 1;
	return 0;
}

static void find_sizes(const struct exe *exe, struct lang_file *file)
{
	struct symtab_wanted sizes = { .name = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE" };
	bool found = symtab_find(exe, SHT_DYNSYM, &sizes, 1) || symtab_find(exe, SHT_SYMTAB, &sizes, 1);

	file->facts[V8_FACT_SIZES] = found ? sizes.ea : V8_MISSING;
	file->facts[V8_FACT_SIZES_BYTES] = sizes.bytes;
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted first = { .name = "v8dbg_off_fp_function" };
	struct symtab_wanted wanted[] = {
#define X(ID, symbol) { .name = symbol },
		V8_NUMBERS(X)
		V8_NUMBERS_ALSO(X)
#undef X
	};
	static const u8 number_of[] = {
#define X(ID, symbol) V8_##ID,
		V8_NUMBERS(X)
		V8_NUMBERS_ALSO(X)
#undef X
	};

	/* One is looked for in every file, the rest only in V8's. */
	if ((exe->machine != EM_X86_64 && exe->machine != EM_AARCH64) ||
	    symtab_find(exe, SHT_DYNSYM, &first, 1) != 1 || mark_builtins(exe, ret_file) < 0)
		return -ENODATA;
	(void)symtab_find(exe, SHT_DYNSYM, wanted, sizeof(number_of));
	find_sizes(exe, ret_file);
	for (u32 i = 0; i < V8_NUMBER_COUNT; i++)
		ret_file->facts[i] = V8_MISSING;
	for (u32 i = 0; i < sizeof(number_of); i++)
		if (wanted[i].found)
			ret_file->facts[number_of[i]] = number_at(exe, wanted[i].ea);
	return 0;
}

const struct lang_file_ops v8_file_ops = {
	.recognise = recognise,
};
