// SPDX-License-Identifier: Apache-2.0
/*
 * A file holds PHP if it exports execute_ex() and zend_execute_scripts() or
 * what came instead of it, whatever it is called: php itself, php-fpm, Apache's
 * module, an embedder. Its version is in a text that it sends with answers.
 */
#include "lang/php/php_file.h"

#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/symtab.h"
#include "exe/x86_insn.h"
#include "lang/loop.h"

#define VERSION_TEXT "X-Powered-By: PHP/"
#define PROLOGUE_BYTES 96

enum { LOOP, CALL, GLOBALS, WANTED_COUNT };

static const char *const wanted_names[WANTED_COUNT] = {
	[LOOP] = "execute_ex",
	[CALL] = "zend_call_function",
	[GLOBALS] = "executor_globals",
};

static const struct { u32 version; struct php_layout layout; } known[] = {
	{ PHP_VERSION(7, 4), { .current = 488, .file = 136, .opcodes = 64 } },
	{ PHP_VERSION(8, 1), { .current = 488, .file = 144, .opcodes = 72 } },
	{ PHP_VERSION(8, 2), { .current = 488, .file = 152, .opcodes = 88 } },
	{ PHP_VERSION(8, 3), { .current = 488, .file = 144, .opcodes = 80 } },
	{ PHP_VERSION(8, 4), { .current = 488, .file = 168, .opcodes = 104 } },
	{ PHP_VERSION(8, 5), { .current = 512, .file = 168, .opcodes = 104 } },
};

const struct php_layout *php_layout_of(u32 version)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].version == version)
			return &known[i].layout;
	return NULL;
}

/* A number of at most two digits, and what follows it. */
static const char *read_number(const char *at, const char *end, u32 *ret_number)
{
	*ret_number = 0;
	for (u32 i = 0; i < 2 && at < end && *at >= '0' && *at <= '9'; i++)
		*ret_number = *ret_number * 10 + (u32)(*at++ - '0');
	return at;
}

static u64 find_version(const struct exe *exe)
{
	struct exe_section section;
	const char *bytes, *at, *end;
	u32 major, minor;

	if (!exe_section_named(exe, ".rodata", &section))
		return 0;
	bytes = (const char *)exe_bytes_at(exe, section.ea, section.bytes);
	at = bytes ? memmem(bytes, section.bytes, VERSION_TEXT, strlen(VERSION_TEXT)) : NULL;
	if (!at)
		return 0;
	end = bytes + section.bytes;
	at = read_number(at + strlen(VERSION_TEXT), end, &major);
	if (at >= end || *at != '.')
		return 0;
	(void)read_number(at + 1, end, &minor);
	return PHP_VERSION(major, minor);
}

/* push %rbp is one byte; those of r8 to r15 have a prefix. */
static bool is_push(const u8 *at, u32 bytes)
{
	return (bytes == 1 && (at[0] & 0xf8) == 0x50) || (bytes == 2 && at[0] == 0x41 && (at[1] & 0xf8) == 0x50);
}

/* How much stack execute_ex() takes, by its first instructions: pushes, and then a subtraction. */
static void find_frame(const struct exe *exe, u64 loop_ea, struct php_facts *facts)
{
	const u8 *at = exe_bytes_at(exe, loop_ea, PROLOGUE_BYTES);
	u64 bytes = 8, fp_below = 0;

	for (u64 done = 0; at && done + 16 <= PROLOGUE_BYTES;) {
		struct x86_insn insn = x86_decode(at + done, PROLOGUE_BYTES - done, loop_ea + done);
		const u8 *code = at + done;
		u32 taken = 0;

		if (insn.kind == X86_BAD || !insn.bytes)
			return;
		done += insn.bytes;
		if (is_push(code, insn.bytes)) {
			bytes += 8;
			if (code[0] == 0x55)
				fp_below = bytes;
		}
		if (!memcmp(code, "\x48\x83\xec", 3))		/* sub $taken, %rsp */
			taken = code[3];
		else if (!memcmp(code, "\x48\x81\xec", 3))
			memcpy(&taken, code + 3, sizeof(taken));
		if (taken && taken < 4096) {
			facts->frame_bytes = bytes + taken;
			facts->fp_below = fp_below;
			return;
		}
	}
}

static struct lang_mark segment_of(const struct exe *exe, u64 ea)
{
	for (u32 i = 0; i < exe->load_count; i++)
		if (ea - exe->load[i].ea < exe->load[i].mem_bytes)
			return (struct lang_mark){ exe->load[i].ea, exe->load[i].ea + exe->load[i].mem_bytes };
	return (struct lang_mark){ 0 };
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted wanted[WANTED_COUNT] = { 0 };
	struct php_facts facts = { 0 };

	for (u32 i = 0; i < WANTED_COUNT; i++)
		wanted[i].name = wanted_names[i];
	(void)symtab_find(exe, SHT_DYNSYM, wanted, WANTED_COUNT);
	if (!wanted[LOOP].found || !wanted[CALL].found)
		return -ENODATA;
	facts.version = find_version(exe);
	facts.globals_ea = wanted[GLOBALS].ea;
	facts.text = segment_of(exe, wanted[LOOP].ea);
	if (exe->machine == EM_X86_64)
		find_frame(exe, wanted[LOOP].ea, &facts);
	/* One that cannot be read: attach() says so. */
	if (facts.globals_ea && php_layout_of((u32)facts.version) &&
	    !loop_mark(exe, wanted[LOOP].ea, wanted[LOOP].bytes, ret_file)) {
		for (u32 i = 0; i < 2 && i < ret_file->mark_count; i++)
			facts.loop[i] = ret_file->marks[i];
		facts.caller = (struct lang_mark){ wanted[CALL].ea, wanted[CALL].ea + wanted[CALL].bytes };
		if (wanted[CALL].bytes && ret_file->mark_count < LANG_MARKS_MAX)
			ret_file->marks[ret_file->mark_count++] = facts.caller;
	} else {
		ret_file->mark_count = 0;
	}
	memcpy(ret_file->facts, &facts, sizeof(facts));
	return 0;
}

const struct lang_file_ops php_file_ops = { .recognise = recognise };
