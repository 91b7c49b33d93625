// SPDX-License-Identifier: Apache-2.0
#include "lang/loop.h"

#include <errno.h>
#include <string.h>

#include "exe/arm64_insn.h"
#include "exe/cfi.h"
#include "exe/elf.h"
#include "exe/lang_file.h"
#include "exe/x86_insn.h"

#define LOOP_BYTES_MAX (1u << 20)	/* 58 KB, mostly */
#define JUMPS_MAX 32		/* that lead out of the loop, and are looked after */

static void add_mark(struct lang_file *file, u64 start_ea, u64 end_ea)
{
	if (file->mark_count < LANG_MARKS_MAX && start_ea < end_ea)
		file->marks[file->mark_count++] = (struct lang_mark){ start_ea, end_ea };
}

/* Looking for the FDE that an address lies in. */
struct search {
	u64 ea;
	struct loop_function found;
};

static void look_at(void *arg, u64 start_ea, u64 end_ea)
{
	struct search *search = arg;

	if (start_ea <= search->ea && search->ea < end_ea)
		search->found = (struct loop_function){ start_ea, end_ea };
}

bool loop_function_at(const struct exe *exe, u64 ea, struct loop_function *ret_function)
{
	struct search search = { .ea = ea };

	if (cfi_each_function(exe, look_at, &search) <= 0 || !search.found.end_ea)
		return false;
	*ret_function = search.found;
	return true;
}

/* A jump in the loop's code. */
struct jump {
	u64 target_ea;		/* 0: it is none */
	u32 bytes;		/* of the instruction; 0: it is none */
	bool stays;		/* in the function; others may be calls in its last place */
};

static struct jump jump_of_x86(const u8 *at, size_t bytes, u64 ea)
{
	struct x86_insn insn = x86_decode(at, bytes, ea);
	struct jump jump = { .bytes = insn.bytes };

	if (insn.kind == X86_BRANCH) {
		jump.target_ea = insn.target;
		jump.stays = true;
	}
	return jump;
}

/* Conditional ones reach a megabyte: compilers go to a .cold part by others. */
static struct jump jump_of_arm64(const u8 *at, size_t bytes, u64 ea)
{
	struct jump jump = { .bytes = 4 };
	u32 word;

	if (bytes < sizeof(word))
		return (struct jump){ 0 };
	memcpy(&word, at, sizeof(word));
	jump.target_ea = arm64_jump(word, ea, &jump.stays);
	return jump;
}

/* Marks what a jump leads to, if that is a part of the loop: nobody calls the middle of a function. */
static bool mark_cold(const struct exe *exe, const struct jump *jump, struct lang_file *file)
{
	struct loop_function cold;

	if (!loop_function_at(exe, jump->target_ea, &cold) || (!jump->stays && cold.start_ea == jump->target_ea))
		return false;
	add_mark(file, cold.start_ea, cold.end_ea);
	return true;
}

int loop_mark(const struct exe *exe, u64 start_ea, u64 bytes, struct lang_file *file)
{
	const u8 *at;
	u32 looked = 0;

	bytes = bytes < LOOP_BYTES_MAX ? bytes : LOOP_BYTES_MAX;
	at = exe_bytes_at(exe, start_ea, bytes);
	add_mark(file, start_ea, start_ea + bytes);
	if (!at || !bytes)
		return -ENODATA;
	for (u64 done = 0; done < bytes && looked < JUMPS_MAX;) {
		struct jump jump = (exe->machine == EM_AARCH64 ? jump_of_arm64 : jump_of_x86)(at + done, bytes - done,
											start_ea + done);

		if (!jump.bytes)
			break;
		done += jump.bytes;
		if (!jump.target_ea || jump.target_ea - start_ea < bytes)
			continue;
		looked++;
		if (mark_cold(exe, &jump, file))
			break;
	}
	return 0;
}
