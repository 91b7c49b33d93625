// SPDX-License-Identifier: Apache-2.0
/*
 * A file holds BEAM if it defines what native functions of Erlang call, whatever it is called and however it was
 * stripped. That it has the JIT is told by a name that this gives to code.
 */
#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/lang_file.h"
#include "exe/symtab.h"
#include "lang/beam/beam.h"

static const char prologue[] = "-CodeInfoPrologue";	/* a part of what its code is called */

enum { SCHEDULE, DRIVER, RELEASE, WANTED_COUNT };

static bool has_text(const struct exe *exe, const char *text)
{
	for (u32 i = 0; i < exe->load_count; i++) {
		const struct exe_phdr *load = &exe->load[i];
		const u8 *bytes = load->flags & PF_X ? NULL : exe_bytes(exe, load->fo, load->file_bytes);

		if (bytes && memmem(bytes, load->file_bytes, text, strlen(text)))
			return true;
	}
	return false;
}

/* The text "25", which newer packages do not export. */
static u64 release_at(const struct exe *exe, u64 ea)
{
	for (u32 i = 0; i < exe->load_count; i++) {
		const struct exe_phdr *load = &exe->load[i];
		const u8 *text;

		if (ea < load->ea || ea - load->ea + 3 > load->file_bytes)
			continue;
		text = exe_bytes(exe, load->fo + (ea - load->ea), 3);
		if (text && text[0] >= '0' && text[0] <= '9' && text[1] >= '0' && text[1] <= '9' && !text[2])
			return (text[0] - '0') * 10u + (text[1] - '0');
	}
	return 0;
}

static void find_ranges(const struct exe *exe, struct beam_facts *facts)
{
	for (u32 i = 0; i < exe->load_count; i++) {
		const struct exe_phdr *load = &exe->load[i];

		if (load->flags & PF_W) {
			facts->data_ea = load->ea;
			facts->data_end_ea = load->ea + load->mem_bytes;
		} else if (load->flags & PF_X) {
			facts->text_ea = load->ea;
			facts->text_end_ea = load->ea + load->mem_bytes;
		}
	}
}

static int recognise(const struct exe *exe, struct lang_file *ret_file)
{
	struct symtab_wanted wanted[WANTED_COUNT] = {
		[SCHEDULE] = { .name = "enif_schedule_nif" },
		[DRIVER] = { .name = "erl_drv_thread_create" },
		[RELEASE] = { .name = "etp_otp_release" },
	};
	struct beam_facts facts = { 0 };

	(void)symtab_find(exe, SHT_DYNSYM, wanted, WANTED_COUNT);
	if (!wanted[SCHEDULE].found || !wanted[DRIVER].found)
		return -ENODATA;
	facts.is_x86_64 = exe->machine == EM_X86_64;
	facts.has_jit = has_text(exe, prologue);
	if (wanted[RELEASE].found)
		facts.release = release_at(exe, wanted[RELEASE].ea);
	find_ranges(exe, &facts);
	memcpy(ret_file->facts, &facts, sizeof(facts));
	return 0;
}

const struct lang_file_ops beam_file_ops = { .recognise = recognise };
