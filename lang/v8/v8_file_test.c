// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/v8_file.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exe/arm64_insn.h"
#include "exe/elf.h"
#include "forge_symbols.h"

#define TEXT 0x1000
#define BUILTINS (TEXT + 0x100)
#define DATA 0x4000

static const char *const names[V8_NUMBER_COUNT] = {
#define X(ID, symbol) [V8_##ID] = symbol,
	V8_NUMBERS(X)
#undef X
};

/* Two functions, at 0 and 32, return where built-in code is, and its size; a number is 100 more than its place. */
static int recognise(u32 machine, const void *code_at, const void *code_bytes, u32 left_out, struct lang_file *file)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct sym symbols[V8_NUMBER_COUNT + 2];
	u8 text[0x300] = { 0 };
	s32 numbers[V8_NUMBER_COUNT + 1];
	struct forge f;
	int r;

	memcpy(text, code_at, 16);
	memcpy(text + 32, code_bytes, 16);
	for (u32 i = 0; i <= V8_NUMBER_COUNT; i++)
		numbers[i] = 100 + (s32)i;
	numbers[V8_NUMBER_COUNT] = 0x180;
	for (u32 i = 0; i < V8_NUMBER_COUNT; i++)
		symbols[i] = (struct sym){ i == left_out ? "other" : names[i], DATA + 4 * i, 4, STT_OBJECT,
					   STB_GLOBAL };
	symbols[V8_NUMBER_COUNT] = (struct sym){ "_ZN2v88internal23DefaultEmbeddedBlobCodeEv", TEXT, 16, STT_FUNC,
						 STB_GLOBAL };
	symbols[V8_NUMBER_COUNT + 1] = (struct sym){ "_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv", TEXT + 32, 16,
						     STT_FUNC, STB_GLOBAL };
	forge_init(&f, machine);
	forge_section(&f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, text, sizeof(text));
	forge_section(&f, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, numbers, sizeof(numbers));
	forge_symbols(&f, ".dynsym", SHT_DYNSYM, symbols, V8_NUMBER_COUNT + 2);
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	memset(file, 0, sizeof(*file));
	r = v8_file_ops.recognise(exe, file);
	forge_done(&f);
	return r;
}

/*
 * mov eax, BUILTINS, also with a frame; lea rax, [rip + ...], behind endbr64, to the same; mov eax, 0x180;
 * mov eax, [the last number]
 */
static const u8 at_constant[16] = { 0xb8, 0x00, 0x11, 0x00, 0x00, 0xc3 };
static const u8 at_near[16] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, 0x05, 0xf5, 0x00, 0x00, 0x00, 0xc3 };
static const u8 at_framed[16] = { 0x55, 0x48, 0x89, 0xe5, 0xb8, 0x00, 0x11, 0x00, 0x00, 0x5d, 0xc3 };
static const u8 bytes_constant[16] = { 0xb8, 0x80, 0x01, 0x00, 0x00, 0xc3 };

static void check(const struct lang_file *file)
{
	EQ(file->mark_count, 1);
	EQ(file->marks[0].start_ea, BUILTINS);
	EQ(file->marks[0].end_ea, BUILTINS + 0x180);
}

TEST(v8_is_known_by_what_it_exports)
{
	u8 bytes_near[16] = { 0x8b, 0x05, 0, 0, 0, 0, 0xc3 };
	u8 bytes_far[16] = { 0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x8b, 0x00, 0xc3 };
	u32 away = DATA + 4 * V8_NUMBER_COUNT - (TEXT + 32 + 6);
	struct lang_file file;

	memcpy(bytes_near + 2, &away, sizeof(away));
	EQ(recognise(EM_X86_64, at_constant, bytes_constant, V8_THIN_TAG, &file), 0);
	check(&file);
	EQ(file.facts[V8_FP_FUNCTION], 100 + V8_FP_FUNCTION);
	EQ(file.facts[V8_THIN_TAG], V8_MISSING);
	EQ(recognise(EM_X86_64, at_near, bytes_near, V8_THIN_TAG, &file), 0);
	check(&file);
	EQ(recognise(EM_X86_64, at_framed, bytes_near, V8_THIN_TAG, &file), 0);
	check(&file);
	/* lea rax, [rip + ...]; mov eax, [rax] */
	away--;
	memcpy(bytes_far + 3, &away, sizeof(away));
	EQ(recognise(EM_X86_64, at_constant, bytes_far, V8_THIN_TAG, &file), 0);
	check(&file);
}

TEST(v8_for_arm64_is_known_by_what_it_exports)
{
	/* bti c; adrp x0, TEXT; add x0, x0, #0x100; ret. The last number is at DATA + 4 * V8_NUMBER_COUNT. */
	static const u32 near[4] = { 0xd503245f, 0x90000000, 0x91040000, ARM64_RET };
	/* adr x0, BUILTINS; mov x0, #0x180 */
	static const u32 nearer[4] = { 0x10000800, ARM64_RET }, constant[4] = { 0xd2803000, ARM64_RET };
	/* adrp x0, DATA; ldr w0, [x0, ...] */
	const u32 loaded[4] = { 0xf0000000, 0xb9400000 | V8_NUMBER_COUNT << 10, ARM64_RET };
	static const u32 other[4] = { 0x90000000, 0x91040000, 0xd503201f, ARM64_RET };
	struct lang_file file;

	EQ(recognise(EM_AARCH64, near, loaded, V8_THIN_TAG, &file), 0);
	check(&file);
	EQ(recognise(EM_AARCH64, nearer, constant, V8_THIN_TAG, &file), 0);
	check(&file);
	EQ(recognise(EM_AARCH64, other, constant, V8_THIN_TAG, &file), -ENODATA);
	EQ(recognise(EM_AARCH64, near, other, V8_THIN_TAG, &file), -ENODATA);
}

TEST(v8_is_not_a_file_that_lacks_something)
{
	static const u8 nothing[16], far[16] = { 0xb8, 0x00, 0x00, 0x01, 0x00, 0xc3 };
	struct lang_file file;

	EQ(recognise(EM_AARCH64, at_constant, bytes_constant, V8_THIN_TAG, &file), -ENODATA);
	EQ(recognise(EM_X86_64, at_constant, bytes_constant, V8_FP_FUNCTION, &file), -ENODATA);
	EQ(recognise(EM_X86_64, nothing, bytes_constant, V8_THIN_TAG, &file), -ENODATA);
	EQ(recognise(EM_X86_64, at_constant, nothing, V8_THIN_TAG, &file), -ENODATA);
	EQ(recognise(EM_X86_64, far, bytes_constant, V8_THIN_TAG, &file), -ENODATA);
	EQ(recognise(EM_X86_64, at_constant, far, V8_THIN_TAG, &file), -ENODATA);
}
