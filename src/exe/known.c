// SPDX-License-Identifier: Apache-2.0
#include "exe/known.h"

#include <stdint.h>
#include <string.h>

#include "base/bounds.h"
#include "exe/cfi.h"
#include "exe/elf.h"
#include "exe/functions.h"
#include "exe/symtab.h"
#include "exe/x86_insn.h"

/* An entry point without FDE is a few instructions of assembly. */
#define X86_ENTRY_BYTES_MAX 64
#define ARM64_ENTRY_BYTES_MAX 256
/* How much code without FDEs is looked at; glibc has next to none, musl 0.5 MB. */
#define SCAN_BYTES_MAX (256u << 20)
#define CODE_SECTIONS_MAX 64	/* each is compared with all functions */
/* Smaller gaps between functions are padding: looking at it would read in all the text of the file. */
#define GAP_BYTES_MIN 16
#define GAPS_FORGET 64	/* scanned, after which the pages of the file are given back */
#define UNREAD_BYTES_MAX (1ull << 30)
#define DYNAMIC_MAX 1024
#define VDSO_BYTES_MAX 65536
#define START_CONTEXT_BYTES_MAX 256
#define LEA_BYTES 7
#define ARM64_PLT_HEADER 32

#define X86_SP 7
#define X86_FP 6
#define ARM64_SP 31
#define ARM64_FP 29
#define ARM64_LR 30

/* From the stack pointer in a handler's caller to the registers: into struct ucontext, behind siginfo on arm64. */
#define X86_SIGCONTEXT 40
#define ARM64_SIGCONTEXT (128 + 176 + 8)

static const struct unwind_rule x86_rules[KNOWN_COUNT] = {
	[KNOWN_NONE] = { .kind = RULE_NONE },
	[KNOWN_END] = { .kind = RULE_END },
	[KNOWN_SIGNAL] = { .kind = RULE_SIGNAL, .cfa_reg = X86_SP, .cfa_off = X86_SIGCONTEXT },
	[KNOWN_PLT] = { .kind = RULE_PLT, .cfa_reg = X86_SP, .cfa_off = 8, .cfa_add = 11, .ra_off = -8 },
	[KNOWN_CALLED] = { .kind = RULE_CFA, .cfa_reg = X86_SP, .cfa_off = 8, .ra_off = -8 },
	[KNOWN_FRAME] = { .kind = RULE_FRAME, .cfa_reg = X86_FP, .cfa_off = 16, .ra_off = -8, .fp_off = -16,
			  .saved = FP_AT_CFA },
};

static const struct unwind_rule arm64_rules[KNOWN_COUNT] = {
	[KNOWN_END] = { .kind = RULE_END },
	[KNOWN_SIGNAL] = { .kind = RULE_SIGNAL, .cfa_reg = ARM64_SP, .cfa_off = ARM64_SIGCONTEXT },
	[KNOWN_CALLED] = { .kind = RULE_CFA, .cfa_reg = ARM64_SP, .ra_off = ARM64_LR, .saved = RA_IN_REG << 4 },
	[KNOWN_PUSHED_PAIR] = { .kind = RULE_CFA, .cfa_reg = ARM64_SP, .cfa_off = 16, .ra_off = -8 },
	[KNOWN_FRAME] = { .kind = RULE_FRAME, .cfa_reg = ARM64_FP, .cfa_off = 16, .ra_off = -8, .fp_off = -16,
			  .saved = FP_AT_CFA },
};

/* rt_sigreturn, as C libraries and the vDSO write it. */
static const struct trampoline {
	u16 machine;
	u16 bytes;
	u8 code[9];
} trampolines[] = {
	{ EM_X86_64, 9, { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 } },	/* mov $15,%rax; syscall */
	{ EM_X86_64, 7, { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 } },			/* mov $15,%eax; syscall */
	{ EM_AARCH64, 8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 } },	/* mov x8, #139; svc #0 */
};

/*
 * The first function of a greenlet (2, 3). It was called, but from the stack of another greenlet, which has changed
 * since: what lies above is pieces of others.
 */
static const char *const roots[] = {
	"_ZN8greenlet12UserGreenlet15inner_bootstrapEP9_greenletP7_object",
	"_ZN8greenlet12UserGreenlet15inner_bootstrapERNS_4refs14_OwnedGreenletI9_greenletXadL_ZNS1_15GreenletCheckerEPv"
	"EEEERNS1_14OwnedReferenceI7_objectXadL_ZNS1_11NoOpCheckerES4_EEEE",
};
#define ROOTS_COUNT (sizeof(roots) / sizeof(roots[0]))

const struct unwind_rule *known_rule(u16 machine, enum known_rule known)
{
	return machine == EM_AARCH64 ? &arm64_rules[known] : &x86_rules[known];
}

/* The first trampoline in some code, or NULL. */
static const u8 *find_trampoline(u16 machine, const u8 *at, size_t bytes, size_t *ret_bytes)
{
	const u8 *first = NULL;

	for (size_t i = 0; i < sizeof(trampolines) / sizeof(*trampolines); i++) {
		const struct trampoline *t = &trampolines[i];
		const u8 *found = t->machine == machine ? memmem(at, bytes, t->code, t->bytes) : NULL;

		if (!found || (first && found >= first))
			continue;
		first = found;
		*ret_bytes = t->bytes;
	}
	return first;
}

bool known_signal_fde(const struct exe *exe, const struct cfi_fde *fde, u64 *ret_start_ea)
{
	u64 bytes = fde->end_ea - fde->start_ea;
	const u8 *at, *found;
	size_t length;

	bytes = bytes < 32 ? bytes : 32;
	at = exe_bytes_at(exe, fde->start_ea, bytes);
	found = at ? find_trampoline(exe->machine, at, bytes, &length) : NULL;
	if (!found)
		return false;
	/* A handler returns to its first instruction, and return addresses are looked up one byte lower. */
	*ret_start_ea = fde->start_ea + (u64)(found - at) - 1;
	return true;
}

static const struct known_range all_code = { 0, UINT64_MAX };

typedef void gap_fn(const struct exe *exe, u64 start_ea, u64 end_ea, struct functions *ret);

/* Adds the trampolines of a stretch of code that no function covers. */
static void add_trampolines(const struct exe *exe, u64 start_ea, u64 end_ea, struct functions *ret)
{
	const u8 *at = exe_bytes_at(exe, start_ea, end_ea - start_ea), *found;
	size_t length;

	while (at && (found = find_trampoline(exe->machine, at, end_ea - start_ea, &length))) {
		start_ea += found - at;
		functions_add(ret, start_ea - 1, start_ea + length, FUNCTION_KNOWN, KNOWN_SIGNAL);
		start_ea += length;
		at = found + length;
	}
}

/* The child's half of musl's clone() on arm64: ldp x1, x0, [sp], #16; blr x1. */
static void add_thread_starts(const struct exe *exe, u64 start_ea, u64 end_ea, struct functions *ret)
{
	static const u8 start[] = { 0xe1, 0x03, 0xc1, 0xa8, 0x20, 0x00, 0x3f, 0xd6 };
	const u8 *at = exe_bytes_at(exe, start_ea, end_ea - start_ea);
	const u8 *found = at ? memmem(at, end_ea - start_ea, start, sizeof(start)) : NULL;

	if (found)
		functions_add(ret, start_ea + (u64)(found - at), start_ea + (u64)(found - at) + sizeof(start),
			      FUNCTION_KNOWN, KNOWN_END);
}

static void add_swept(const struct exe *exe, u64 start_ea, u64 end_ea, struct functions *ret)
{
	functions_add(ret, start_ea, end_ea, FUNCTION_SWEPT, 0);
}

/* A range of code is larger than a function can be, so it is cut into several. */
static void add_unread(const struct exe *exe, u64 start_ea, u64 end_ea, struct functions *ret)
{
	for (; start_ea < end_ea; start_ea += at_most(end_ea - start_ea, UNREAD_BYTES_MAX))
		functions_add(ret, start_ea, start_ea + at_most(end_ea - start_ea, UNREAD_BYTES_MAX), FUNCTION_UNREAD,
			      0);
}

/* Calls gap() for the gaps of a range; *left is how many bytes may still be looked at. */
static void scan_range(const struct exe *exe, const struct functions *functions, u64 ea, u64 end_ea, u64 *left,
		       gap_fn *gap, struct functions *ret)
{
	u64 start_ea = ea;
	u32 scanned = 0;

	for (u32 i = functions_from(functions, ea); ea < end_ea && *left; i++) {
		bool last = i >= functions->count || functions->at[i].start_ea >= end_ea;
		u64 to = last ? end_ea : functions->at[i].start_ea;

		to = to > ea && to - ea > *left ? ea + *left : to;
		if (to > ea && (to - ea >= GAP_BYTES_MIN || (ea == start_ea && to == end_ea))) {
			*left -= to - ea;
			gap(exe, ea, to, ret);
			if (++scanned % GAPS_FORGET == 0)
				exe_forget(exe);
		}
		ea = last ? end_ea : function_end(&functions->at[i]);
	}
}

/*
 * The gaps of code between two addresses. Code is in sections; where their headers were stripped, data may be mapped
 * executable with it.
 */
static void scan_gaps(const struct exe *exe, const struct functions *functions, const struct known_range *range,
		      gap_fn *gap, struct functions *ret)
{
	u64 left = gap == add_unread ? UINT64_MAX : SCAN_BYTES_MAX;
	struct exe_section s;

	for (u32 i = 1, count = 0; count < CODE_SECTIONS_MAX && exe_section(exe, i, &s); i++) {
		if (!(s.flags & SHF_EXECINSTR) || s.type != SHT_PROGBITS || s.ea + s.bytes < s.ea)
			continue;
		scan_range(exe, functions, at_least(s.ea, range->start_ea), at_most(s.ea + s.bytes, range->end_ea),
			   &left, gap, ret);
		count++;
	}
	for (u32 i = 0; !exe->section_count && i < exe->load_count; i++) {
		const struct exe_phdr *load = &exe->load[i];

		if (load->flags & PF_X && load->ea + load->file_bytes >= load->ea)
			scan_range(exe, functions, at_least(load->ea, range->start_ea),
				   at_most(load->ea + load->file_bytes, range->end_ea), &left, gap, ret);
	}
	functions_settle(ret);
}

/* True for programs, dynamic or static, as opposed to libraries, which may have any address for an entry. */
static bool is_program(const struct exe *exe)
{
	struct exe_phdr phdr;
	Elf64_Dyn dyn;

	if (exe->type == ET_EXEC)
		return true;
	for (u32 i = 0; exe_phdr(exe, i, &phdr); i++) {
		if (phdr.type == PT_INTERP)
			return true;
		for (u64 n = 0; phdr.type == PT_DYNAMIC && n < DYNAMIC_MAX; n++) {
			const u8 *at = exe_bytes_at(exe, phdr.ea + n * sizeof(dyn), sizeof(dyn));

			if (!at)
				break;
			memcpy(&dyn, at, sizeof(dyn));
			if (dyn.d_tag == DT_FLAGS_1 && dyn.d_un.d_val & DF_1_PIE)
				return true;
		}
	}
	return false;
}

/* Old linkers give libraries the start of .text for an entry point. */
static bool is_text_start(const struct exe *exe, u64 ea)
{
	struct exe_section section;

	return exe_section_named(exe, ".text", &section) && section.ea == ea;
}

/* Where an entry point without FDE ends: with an instruction that does not go on, or before what it calls. */
static u64 entry_end(const struct exe *exe, u64 ea)
{
	u64 end = ea + X86_ENTRY_BYTES_MAX;

	if (exe->machine != EM_X86_64)
		return ea + ARM64_ENTRY_BYTES_MAX;
	while (ea < end) {
		const u8 *at = exe_bytes_at(exe, ea, 1);
		struct x86_insn insn;

		if (!at)
			return ea;
		insn = x86_decode(at, exe->at + exe->bytes - at, ea);
		ea += insn.bytes;
		if (insn.kind == X86_CALL && insn.target >= ea && insn.target < end)
			end = insn.target;
		if (insn.kind == X86_BAD || insn.kind == X86_STOP || insn.kind == X86_JUMP)
			return ea < end ? ea : end;
	}
	return end;
}

/* The address that lea N(%rip),REG puts into a register; 0 if there is none at that place. */
static u64 lea_target(const u8 *code, u64 ea)
{
	s32 away;

	if ((code[0] | 4) != 0x4c || code[1] != 0x8d || (code[2] & 0xc7) != 5)
		return 0;
	memcpy(&away, code + 3, sizeof(away));
	return ea + LEA_BYTES + (u64)(s64)away;
}

/* The function that glibc's _start puts into rdi for __libc_start_main; 0 if it is another's, or does not say. */
static u64 find_main(const struct exe *exe)
{
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	/* xor %ebp,%ebp; mov %rdx,%r9; pop %rsi; mov %rsp,%rdx; and $-16,%rsp; push %rax; push %rsp */
	static const u8 start[] = { 0x31, 0xed, 0x49, 0x89, 0xd1, 0x5e, 0x48, 0x89, 0xe2, 0x48, 0x83, 0xe4, 0xf0, 0x50,
				    0x54 };
	const u8 *code = exe_bytes_at(exe, exe->entry_ea, X86_ENTRY_BYTES_MAX);
	u32 at = code && !memcmp(code, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
	u64 main_ea = 0;
	s32 number;

	if (exe->machine != EM_X86_64 || !code || memcmp(code + at, start, sizeof(start)))
		return 0;
	for (at += sizeof(start); at + LEA_BYTES <= X86_ENTRY_BYTES_MAX;) {
		struct x86_insn insn = x86_decode(code + at, X86_ENTRY_BYTES_MAX - at, exe->entry_ea + at);

		if (insn.kind != X86_OTHER)	/* the call */
			break;
		memcpy(&number, code + at + LEA_BYTES - sizeof(number), sizeof(number));
		if (!memcmp(code + at, "\x48\x8d\x3d", 3))		/* lea N(%rip),%rdi */
			main_ea = lea_target(code + at, exe->entry_ea + at);
		else if (!memcmp(code + at, "\x48\xc7\xc7", 3))	/* mov $N,%rdi */
			main_ea = (u64)(s64)number;
		at += insn.bytes;
	}
	return exe_executable(exe, main_ea) ? main_ea : 0;
}

bool known_program(const struct exe *exe, struct known_program *ret_program)
{
	u64 ea = exe->entry_ea;

	if (exe->elf_class != ELFCLASS64 || !ea || !exe_executable(exe, ea) || !is_program(exe))
		return false;
	*ret_program = (struct known_program){ ea, entry_end(exe, ea), find_main(exe) };
	return true;
}

static void add_entry(const struct exe *exe, struct functions *functions, struct functions *ret)
{
	struct function *function = functions_find(functions, exe->entry_ea);
	u64 ea = exe->entry_ea, end;
	bool program = is_program(exe);

	if (!ea || !exe_executable(exe, ea))
		return;
	if (function && function->start_ea == ea && program) {
		function->source = FUNCTION_KNOWN;
		function->ref = KNOWN_END;
	}
	if (!function && (program || !is_text_start(exe, ea))) {
		u32 next = functions_from(functions, ea);

		end = entry_end(exe, ea);
		/* Cut here, since behind the next function it would be something else. */
		if (next < functions->count && functions->at[next].start_ea < end)
			end = functions->at[next].start_ea;
		functions_add(ret, ea, end, FUNCTION_KNOWN, KNOWN_END);
	}
}

static void mark_roots(const struct exe *exe, struct functions *functions)
{
	struct symtab_wanted wanted[ROOTS_COUNT] = { 0 };

	for (u32 i = 0; i < ROOTS_COUNT; i++)
		wanted[i].name = roots[i];
	if (!symtab_find(exe, SHT_DYNSYM, wanted, ROOTS_COUNT))
		return;
	for (u32 i = 0; i < ROOTS_COUNT; i++) {
		struct function *function = wanted[i].found ? functions_find(functions, wanted[i].ea) : NULL;

		if (function && function->start_ea == wanted[i].ea) {
			function->source = FUNCTION_KNOWN;
			function->ref = KNOWN_END;
		}
	}
}

/*
 * glibc's __start_context, to which makecontext() lets a function return: it takes its stack from rbx. Nobody calls it,
 * and so the byte before it, where return addresses are looked up, is no part of the function that happens to be there.
 */
static bool add_start_context(const struct exe *exe, const struct functions *functions, u64 ea, struct functions *ret)
{
	static const u8 stack_is_rbx[] = { 0x48, 0x89, 0xdc };
	const struct function *function = functions_find(functions, ea);
	const u8 *code;

	if (!function || function->start_ea != ea || function->bytes > START_CONTEXT_BYTES_MAX)
		return false;
	code = exe_bytes_at(exe, ea, function->bytes);
	if (!code || !memmem(code, function->bytes, stack_is_rbx, sizeof(stack_is_rbx)))
		return false;
	functions_add(ret, ea - 1, ea, FUNCTION_KNOWN, KNOWN_NONE);
	functions_add(ret, ea, function_end(function), FUNCTION_KNOWN, KNOWN_END);
	return true;
}

static void add_contexts(const struct exe *exe, struct functions *functions, struct functions *ret)
{
	struct symtab_wanted wanted = { .name = "makecontext" };
	const struct function *function;
	struct exe_section dynsym;
	const u8 *code;

	if (exe->machine != EM_X86_64 ||
	    !symtab_find(exe, exe_section_typed(exe, SHT_DYNSYM, &dynsym) ? SHT_DYNSYM : SHT_SYMTAB, &wanted, 1))
		return;
	function = functions_find(functions, wanted.ea);
	code = function ? exe_bytes_at(exe, function->start_ea, function->bytes) : NULL;
	for (u32 i = 0; code && i + LEA_BYTES <= function->bytes; i++) {
		u64 ea = lea_target(code + i, function->start_ea + i);

		if (ea && add_start_context(exe, functions, ea, ret))
			return;
	}
}

static void add_plt(const struct exe *exe, struct functions *ret)
{
	struct exe_section s;

	for (u32 i = 1; exe_section(exe, i, &s); i++) {
		bool lazy = !strcmp(s.name, ".plt");

		if (!(s.flags & SHF_EXECINSTR) || (!lazy && strcmp(s.name, ".plt.sec") && strcmp(s.name, ".plt.got") &&
						  strcmp(s.name, ".iplt")))
			continue;
		if (exe->machine == EM_AARCH64 && lazy && s.bytes > ARM64_PLT_HEADER) {
			functions_add(ret, s.ea, s.ea + 4, FUNCTION_KNOWN, KNOWN_CALLED);
			functions_add(ret, s.ea + 4, s.ea + ARM64_PLT_HEADER, FUNCTION_KNOWN, KNOWN_PUSHED_PAIR);
			functions_add(ret, s.ea + ARM64_PLT_HEADER, s.ea + s.bytes, FUNCTION_KNOWN, KNOWN_CALLED);
		} else {
			functions_add(ret, s.ea, s.ea + s.bytes, FUNCTION_KNOWN,
				      exe->machine == EM_X86_64 && lazy ? KNOWN_PLT : KNOWN_CALLED);
		}
	}
	functions_settle(ret);
}

static bool is_go(const struct exe *exe)
{
	struct exe_section section;

	return exe_section_named(exe, ".gopclntab", &section) ||
	       exe_section_named(exe, ".data.rel.ro.gopclntab", &section);
}

/* All of Go's text, or of an arm64 vDSO that says nothing of its functions, most of which push nothing. */
static void add_text(const struct exe *exe, bool go, bool has_functions, struct functions *ret)
{
	static const char sigreturn[] = "__kernel_rt_sigreturn";
	struct exe_section section;

	if (!exe_section_named(exe, ".text", &section))
		return;
	if (go)
		functions_add(ret, section.ea, section.ea + section.bytes, FUNCTION_KNOWN, KNOWN_FRAME);
	else if (exe->machine == EM_AARCH64 && !has_functions && exe->bytes <= VDSO_BYTES_MAX &&
		 memmem(exe->at, exe->bytes, sigreturn, sizeof(sigreturn)))
		functions_add(ret, section.ea, section.ea + section.bytes, FUNCTION_KNOWN, KNOWN_CALLED);
}

/* What code without call frame information is known to be, by its instructions. */
static void add_recognized(const struct exe *exe, const struct functions *functions, const struct known_range *range,
			   struct functions *ret)
{
	scan_gaps(exe, functions, range, add_trampolines, ret);
	if (exe->machine == EM_AARCH64)
		scan_gaps(exe, functions, range, add_thread_starts, ret);
}

static void fill_swept(const struct exe *exe, const struct known_range *range, struct functions *functions)
{
	struct functions swept = { 0 };

	if (exe->machine == EM_X86_64)
		scan_gaps(exe, functions, range, add_swept, &swept);
	functions_fill(functions, &swept);
}

void known_fill(const struct exe *exe, bool has_tables, struct functions *functions)
{
	struct functions known = { 0 }, entry = { 0 }, plt = { 0 }, text = { 0 }, contexts = { 0 };
	bool go = !has_tables && is_go(exe), has_functions = functions->count;

	add_recognized(exe, functions, &all_code, &known);
	if (!go)
		add_entry(exe, functions, &entry);
	mark_roots(exe, functions);
	add_plt(exe, &plt);
	add_text(exe, go, has_functions, &text);
	functions_fill(&known, &entry);
	functions_fill(&known, &plt);
	functions_fill(&known, &text);
	functions_fill(functions, &known);
	fill_swept(exe, &all_code, functions);
	add_contexts(exe, functions, &contexts);
	functions_overlay(functions, &contexts);
}

void known_fill_range(const struct exe *exe, const struct known_range *range, struct functions *functions)
{
	struct functions known = { 0 }, plt = { 0 };

	add_recognized(exe, functions, range, &known);
	add_plt(exe, &plt);
	functions_fill(&known, &plt);
	functions_fill(functions, &known);
	fill_swept(exe, range, functions);
}

void known_fill_unread(const struct exe *exe, struct functions *functions)
{
	struct functions entry = { 0 }, unread = { 0 };

	add_entry(exe, functions, &entry);
	functions_fill(functions, &entry);
	scan_gaps(exe, functions, &all_code, add_unread, &unread);
	functions_fill(functions, &unread);
}
