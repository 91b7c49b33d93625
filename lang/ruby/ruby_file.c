// SPDX-License-Identifier: Apache-2.0
/*
 * A file holds Ruby if it exports ruby_api_version and rb_errinfo(), whatever
 * it is called: ruby itself, libruby, an embedder. From 3.3 on neither the loop
 * nor the variable with the thread's state is exported. rb_errinfo() begins
 * with reading that variable; rb_iseq_eval() and rb_iseq_eval_main(), which
 * run files, both end with calling the loop, rb_vm_exec(), and have no other
 * function of the file in common. That calls vm_exec_core(), by far the
 * largest of those it calls. Those that call it are marked, too: some ten.
 */
#include "lang/ruby/ruby_file.h"

#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/symtab.h"
#include "exe/x86_insn.h"
#include "lang/list.h"
#include "lang/loop.h"

#define CALLS_MAX 64		/* of a function that are looked at */
#define CORE_BYTES_MIN 8192	/* of vm_exec_core(): 17 to 23 KB */
#define FUNCTION_BYTES_MAX 8192	/* of others: 0.2 to 3 KB */
#define ACCESS_BYTES 64		/* how far rb_errinfo() is looked at */

enum { API_VERSION, ERRINFO, OBJECT, EVAL, EVAL_MAIN, LOOP, CONTEXT_2_7, WANTED_COUNT };

static const char *const wanted_names[WANTED_COUNT] = {
	[API_VERSION] = "ruby_api_version",
	[ERRINFO] = "rb_errinfo",
	[OBJECT] = "rb_cObject",
	[EVAL] = "rb_iseq_eval",
	[EVAL_MAIN] = "rb_iseq_eval_main",
	[LOOP] = "rb_vm_exec",					/* -3.2 */
	[CONTEXT_2_7] = "ruby_current_execution_context_ptr",	/* -2.7 */
};

/* What an instruction that ends with a distance refers to. */
static u64 after(const u8 *at, u64 ea, u32 bytes)
{
	s32 distance;

	memcpy(&distance, at + bytes - 4, sizeof(distance));
	return ea + bytes + (u64)(s64)distance;
}

/* The functions that one calls or jumps to. */
struct calls {
	u32 count;
	u64 ea[CALLS_MAX];
	bool is_jump[CALLS_MAX];
};

static void find_calls(const struct exe *exe, const struct loop_function *function, struct calls *ret_calls)
{
	u64 bytes = function->end_ea - function->start_ea;
	const u8 *at = exe_bytes_at(exe, function->start_ea, bytes);

	ret_calls->count = 0;
	if (!at || bytes > FUNCTION_BYTES_MAX)
		return;
	for (u64 done = 0; done < bytes && ret_calls->count < CALLS_MAX;) {
		struct x86_insn insn = x86_decode(at + done, bytes - done, function->start_ea + done);

		if (insn.kind == X86_BAD || !insn.bytes)
			return;
		done += insn.bytes;
		if ((insn.kind == X86_CALL || insn.kind == X86_JUMP) && insn.target &&
		    insn.target - function->start_ea >= bytes) {
			ret_calls->is_jump[ret_calls->count] = insn.kind == X86_JUMP;
			ret_calls->ea[ret_calls->count++] = insn.target;
		}
	}
}

static bool has_call(const struct calls *calls, u64 ea)
{
	for (u32 i = 0; i < calls->count; i++)
		if (calls->ea[i] == ea)
			return true;
	return false;
}

/* What a call leads to, if that is the beginning of a function; what leads to another file has none of its own. */
static bool is_function(const struct exe *exe, u64 ea, struct loop_function *ret_function)
{
	return loop_function_at(exe, ea, ret_function) && ret_function->start_ea == ea;
}

/* The loop, and where calls of it lead to: an exported function's go by way of a stub, which could lead elsewhere. */
struct exec {
	struct loop_function function;
	u64 stub_ea;		/* 0: there is none */
};

static bool find_exec(const struct exe *exe, const struct symtab_wanted *wanted, struct exec *ret_exec)
{
	struct exec exec = { 0 };
	struct loop_function eval, eval_main, target;
	struct calls one, other;
	bool found = wanted[LOOP].found && is_function(exe, wanted[LOOP].ea, &exec.function);

	if (!wanted[EVAL].found || !wanted[EVAL_MAIN].found || !is_function(exe, wanted[EVAL].ea, &eval) ||
	    !is_function(exe, wanted[EVAL_MAIN].ea, &eval_main))
		return false;
	find_calls(exe, &eval, &one);
	find_calls(exe, &eval_main, &other);
	for (u32 i = 0; i < one.count; i++) {
		if (!has_call(&other, one.ea[i]))
			continue;
		if (!is_function(exe, one.ea[i], &target)) {
			if (one.is_jump[i])
				exec.stub_ea = one.ea[i];
		} else if (!found) {
			exec.function = target;
			found = true;
		}
	}
	if (found)
		*ret_exec = exec;
	return found;
}

static void copy_marks(const struct lang_file *file, u32 from, struct lang_mark ret_marks[2])
{
	for (u32 i = 0; i < 2 && from + i < file->mark_count; i++)
		ret_marks[i] = file->marks[from + i];
}

/* vm_exec_core(), unless it is a part of rb_vm_exec(). */
static void mark_core(const struct exe *exe, const struct exec *exec, struct ruby_facts *facts, struct lang_file *file)
{
	u32 from = file->mark_count;
	struct loop_function core;
	struct calls calls;

	find_calls(exe, &exec->function, &calls);
	for (u32 i = 0; i < calls.count && file->mark_count == from; i++)
		if (is_function(exe, calls.ea[i], &core) && core.end_ea - core.start_ea >= CORE_BYTES_MIN)
			(void)loop_mark(exe, core.start_ea, core.end_ea - core.start_ea, file);
	copy_marks(file, from, facts->core);
}

static bool is_marked(const struct lang_file *file, u64 ea)
{
	for (u32 i = 0; i < file->mark_count; i++)
		if (file->marks[i].start_ea <= ea && ea < file->marks[i].end_ea)
			return true;
	return false;
}

/* Functions that call the loop, wherever in the code of the file: calls and jumps by a distance. */
static void mark_callers(const struct exe *exe, const struct exec *exec, struct lang_file *file)
{
	struct exe_section text;
	const u8 *at = exe_section_named(exe, ".text", &text) ? exe_bytes_at(exe, text.ea, text.bytes) : NULL;
	struct loop_function caller;

	for (u64 i = 0; at && i + 5 <= text.bytes && file->mark_count < LANG_MARKS_MAX; i++) {
		u64 target;

		if (at[i] != 0xe8 && at[i] != 0xe9)
			continue;
		target = after(at + i, text.ea + i, 5);
		if ((target == exec->function.start_ea || (exec->stub_ea && target == exec->stub_ea)) &&
		    !is_marked(file, text.ea + i) && loop_function_at(exe, text.ea + i, &caller))
			file->marks[file->mark_count++] = (struct lang_mark){ caller.start_ea, caller.end_ea };
	}
}

static int mark_loop(const struct exe *exe, const struct exec *exec, struct ruby_facts *facts, struct lang_file *file)
{
	u64 bytes = exec->function.end_ea - exec->function.start_ea;
	int r = loop_mark(exe, exec->function.start_ea, bytes, file);

	if (r < 0)
		return r;
	copy_marks(file, 0, facts->exec);
	mark_core(exe, exec, facts, file);
	mark_callers(exe, exec, file);
	return 0;
}

/*
 * How rb_errinfo() gets at the variable: by a call that is told a pair of words, as libraries do; by an offset from fs
 * that is in the code, or in a word (ELF Handling For Thread-Local Storage, 4.1.6).
 */
static void find_access(const struct exe *exe, u64 errinfo_ea, struct ruby_facts *facts)
{
	const u8 *at = exe_bytes_at(exe, errinfo_ea, ACCESS_BYTES);

	for (u32 i = 0; at && i + 16 <= ACCESS_BYTES && !facts->access; i++) {
		const u8 *code = at + i;

		if (!memcmp(code, "\x66\x48\x8d\x3d", 4)) {		/* lea pair(%rip), %rdi */
			facts->access = RUBY_ACCESS_PAIR;
			facts->access_at = after(code, errinfo_ea + i, 8);
		} else if (!memcmp(code, "\x64\x48\x8b\x04\x25", 5)) {	/* mov %fs:offset, %rax */
			facts->access = RUBY_ACCESS_OFFSET;
			facts->access_at = after(code, 0, 9) - 9;
		} else if (!memcmp(code, "\x48\xc7\xc0", 3) && !memcmp(code + 7, "\x64\x48\x8b\x00", 4)) {
			facts->access = RUBY_ACCESS_OFFSET;		/* mov $offset, %rax; mov %fs:(%rax), %rax */
			facts->access_at = after(code, 0, 7) - 7;
		} else if (!memcmp(code, "\x48\x8b\x05", 3) && !memcmp(code + 7, "\x64\x48\x8b\x00", 4)) {
			facts->access = RUBY_ACCESS_WORD;		/* mov word(%rip), %rax; mov %fs:(%rax), %rax */
			facts->access_at = after(code, errinfo_ea + i, 7);
		}
	}
}

static u64 find_version(const struct exe *exe, u64 ea)
{
	u32 numbers[3];
	const u8 *at = exe_bytes_at(exe, ea, sizeof(numbers));

	if (!at)
		return 0;
	memcpy(numbers, at, sizeof(numbers));
	return numbers[0] < 256 && numbers[1] < 256 ? RUBY_VERSION(numbers[0], numbers[1]) : 0;
}

/* The segments with the loop and with Object. */
static void find_segments(const struct exe *exe, struct ruby_facts *facts)
{
	for (u32 i = 0; i < exe->load_count; i++) {
		const struct exe_phdr *load = &exe->load[i];
		struct lang_mark all = { load->ea, load->ea + load->mem_bytes };

		if (facts->exec[0].start_ea - load->ea < load->mem_bytes)
			facts->text = all;
		if (facts->object_ea - load->ea < load->mem_bytes)
			facts->data = all;
	}
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted wanted[WANTED_COUNT] = { 0 };
	struct ruby_facts facts = { 0 };
	struct exec exec;
	int r;

	for (u32 i = 0; i < WANTED_COUNT; i++)
		wanted[i].name = wanted_names[i];
	(void)symtab_find(exe, SHT_DYNSYM, wanted, WANTED_COUNT);
	if (!wanted[API_VERSION].found || !wanted[ERRINFO].found || !wanted[OBJECT].found)
		return -ENODATA;
	facts.version = find_version(exe, wanted[API_VERSION].ea);
	facts.object_ea = wanted[OBJECT].ea;
	if (wanted[CONTEXT_2_7].found) {
		facts.access = RUBY_ACCESS_GLOBAL;
		facts.access_at = wanted[CONTEXT_2_7].ea;
	} else if (exe->machine == EM_X86_64) {
		find_access(exe, wanted[ERRINFO].ea, &facts);
	}
	/* One that cannot be read: attach() says so. */
	if (facts.access && ruby_layout_of((u32)facts.version) && find_exec(exe, wanted, &exec)) {
		r = mark_loop(exe, &exec, &facts, ret_file);
		if (r < 0)
			return r;
	}
	find_segments(exe, &facts);
	memcpy(ret_file->facts, &facts, sizeof(facts));
	return 0;
}

const struct lang_file_ops ruby_file_ops = { .recognise = recognise };
