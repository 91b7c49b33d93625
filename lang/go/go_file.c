// SPDX-License-Identifier: Apache-2.0
/*
 * A file holds Go's runtime if its pclntab has the functions that change between stacks. Their code tells where a
 * thread has its g, and whether the runtime's structures are as the table of versions says.
 */
#include "lang/go/go_file.h"

#include <errno.h>
#include <string.h>

#include "exe/arm64_insn.h"
#include "exe/elf.h"
#include "lang/go/build_info.h"
#include "lang/go/go_tables.h"
#include "lang/go/layout.h"
#include "lang/go/pclntab.h"

#define CODE_MAX 256		/* bytes of a function that are looked at */
#define MINOR_FRAMELESS 20	/* the last version whose systemstack() has no frame */

enum { SYSTEMSTACK, MCALL, MORESTACK, LAST_SWITCH = MORESTACK, SET_LABELS, LOAD_G, WANTED_COUNT };

static const char *const wanted_names[WANTED_COUNT] = {
	[SYSTEMSTACK] = "runtime.systemstack",
	[MCALL] = "runtime.mcall",
	[MORESTACK] = "runtime.morestack",
	[SET_LABELS] = "runtime/pprof.runtime_setProfLabel",	/* all who set labels call it */
	[LOAD_G] = "runtime.load_g",	/* arm64: gets g where C code was */
};

/* A function's code. */
struct code {
	u64 start_ea, end_ea;
	const u8 *at;
	size_t bytes;		/* that are looked at; 0: there is no such function */
};

static void find_code(const struct exe *exe, const struct pclntab *table, struct code code[WANTED_COUNT])
{
	struct go_function function;

	for (u32 i = 0; i < table->function_count; i++) {
		if (!pclntab_function(table, i, &function))
			continue;
		for (u32 w = 0; w < WANTED_COUNT; w++) {
			u64 bytes = function.end_ea - function.start_ea;

			/* Go calls those in assembly by wrappers of the same name. */
			if ((w <= LAST_SWITCH && !(function.flags & GO_SP_WRITE)) ||
			    !pclntab_is_named(table, &function, wanted_names[w]))
				continue;
			bytes = bytes < CODE_MAX ? bytes : CODE_MAX;
			code[w] = (struct code){ function.start_ea, function.end_ea,
						 exe_bytes_at(exe, function.start_ea, bytes), bytes };
			if (!code[w].at)
				code[w].bytes = 0;
		}
	}
}

static u32 load32(const u8 *at)
{
	u32 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Does the code use that offset into a structure? */
static bool has_offset(const struct exe *exe, const struct code *code, u32 offset)
{
	bool is_arm64 = exe->machine == EM_AARCH64;

	for (size_t i = 0; i + 4 <= code->bytes; i += is_arm64 ? 4 : 1) {
		u32 word = load32(code->at + i);

		/* arm64: ldr or str of 64 bits, which counts in words */
		if (is_arm64 ? (word & 0xff800000) == 0xf9000000 && (word >> 10 & 0xfff) == offset / 8 :
			       word == offset)
			return true;
	}
	return false;
}

/*
 * systemstack() begins with getting g, as the linker has made it:
 *
 *	mov %fs:N,%rax
 *	mov $N,%rcx; mov %fs:(%rcx),%rax	PIE
 *	mov N(%rip),%rcx; mov %fs:(%rcx),%rax	libraries: what the dynamic linker has put there
 */
static bool find_tls(const struct code *code, struct go_facts *facts)
{
	static const u8 direct[] = { 0x64, 0x48, 0x8b, 0x04, 0x25 }, constant[] = { 0x48, 0xc7, 0xc1 };
	static const u8 loaded[] = { 0x48, 0x8b, 0x0d }, get[] = { 0x64, 0x48, 0x8b, 0x01 };

	for (size_t i = 0; i + 11 <= code->bytes; i++) {
		const u8 *at = code->at + i;

		if (!memcmp(at, direct, sizeof(direct))) {
			facts->tls = (u64)(s64)(s32)load32(at + 5);
			return true;
		}
		if (memcmp(at + 7, get, sizeof(get)))
			continue;
		if (!memcmp(at, constant, sizeof(constant))) {
			facts->tls = (u64)(s64)(s32)load32(at + 3);
			return true;
		}
		if (!memcmp(at, loaded, sizeof(loaded))) {
			facts->tls_ea = code->start_ea + i + 7 + (u64)(s64)(s32)load32(at + 3);
			return true;
		}
	}
	return false;
}

/*
 * load_g() of arm64, where the linker has put in the offset:
 *
 *	mrs x0, tpidr_el0; mov x27, #N
 *	mrs x0, tpidr_el0; adrp x27, PAGE; ldr x27, [x27, #N]	libraries: what the dynamic linker has put there
 *
 * Without C code in the program nothing is stored there.
 */
static void find_tls_arm64(const struct code *code, struct go_facts *facts)
{
	const u32 get_pointer = 0xd53bd040;

	for (size_t i = 0; i + 12 <= code->bytes; i += 4) {
		u32 first = load32(code->at + i + 4), second = load32(code->at + i + 8);

		if (load32(code->at + i) != get_pointer)
			continue;
		if ((first & 0xffe0001f) == 0xd280001b)
			facts->tls = first >> 5 & 0xffff;
		else if (arm64_is_adrp(first, 27) && (second & 0xffc003ff) == 0xf940037b)
			facts->tls_ea = arm64_near(first, code->start_ea + i + 4) + (second >> 10 & 0xfff) * 8;
		return;
	}
}

static bool find_layout(const struct exe *exe, const struct code code[WANTED_COUNT], struct go_facts *facts)
{
	u32 minor = go_build_minor(exe);
	const struct go_layout *layout = go_layout_known(minor);

	if (!layout || !has_offset(exe, &code[SYSTEMSTACK], layout->curg))
		return false;
	facts->minor = minor;
	facts->is_newer = minor > GO_MINOR_LAST;
	facts->curg = layout->curg;
	facts->kind = layout->kind;
	facts->sched_bp = layout->sched_bp;
	if (has_offset(exe, &code[SET_LABELS], layout->labels))
		facts->labels = layout->labels;
	return true;
}

static void add_mark(struct lang_file *file, const struct code *code)
{
	if (code->bytes)
		file->marks[file->mark_count++] = (struct lang_mark){ code->start_ea, code->end_ea };
}

static int find_switches(const struct exe *exe, const struct code code[WANTED_COUNT], struct go_facts *facts,
			 struct lang_file *file)
{
	if (exe->machine == EM_AARCH64) {
		find_tls_arm64(&code[LOAD_G], facts);
		/* What mcall() has called has its argument in a register: there is no way back. */
		add_mark(file, &code[MORESTACK]);
		return 0;
	}
	if (!find_tls(&code[SYSTEMSTACK], facts))
		return -ENODATA;
	facts->mcall_start_ea = code[MCALL].start_ea;
	facts->mcall_end_ea = code[MCALL].end_ea;
	/* Later ones have a frame, and are followed by it. */
	if (facts->minor <= MINOR_FRAMELESS)
		add_mark(file, &code[SYSTEMSTACK]);
	add_mark(file, &code[MCALL]);
	add_mark(file, &code[MORESTACK]);
	return 0;
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct code code[WANTED_COUNT] = { 0 };
	struct go_facts facts = { 0 };
	struct pclntab table;

	if (pclntab_open(exe, &table) < 0)
		return -ENODATA;
	find_code(exe, &table, code);
	if (!find_layout(exe, code, &facts) || find_switches(exe, code, &facts, ret_file) < 0)
		return -ENODATA;
	_Static_assert(sizeof(facts) <= sizeof(ret_file->facts), "fits");
	memcpy(ret_file->facts, &facts, sizeof(facts));
	return 0;
}

const struct lang_file_ops go_file_ops = {
	.recognise = recognise,
	.tables = &go_tables_ops,
};
