/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that BEAM's JIT has generated, as it tells debuggers (GDB's JIT interface, lang/jit/gdb_jit.h tells of the
 * list), with texts of its own instead of ELF files (erts/emulator/beam/jit/beam_jit_metadata.cpp of OTP 25 to 29):
 *
 *	u32 kind | u32 -- | of the emulator: u32 has frame pointers | u32 -- | u64 what the first function returns to
 *	                  | of a module: u64 address | u32 ranges | u32 bytes | u16 bytes of name | name | 6 bytes
 *	range: u32 start | u32 end | u32 lines | u16 bytes of name | name | 2 bytes, then its lines
 *	line: u32 start | u32 line | u16 bytes of file | file | 2 bytes
 *
 * Nothing of it is aligned; offsets are from the module's address on. What a module's text says is read when one of its
 * addresses is first asked for, and kept while there is room.
 */
#ifndef LANG_BEAM_MODULES_H
#define LANG_BEAM_MODULES_H

#include <stdbool.h>

#include "base/types.h"

struct lang_process;

#define BEAM_MODULES_MAX 65536u
#define BEAM_MODULE_BYTES_MAX (16u << 20)	/* of the text of one */
#define BEAM_MODULES_BYTES_MAX (32u << 20)	/* of those that are kept */
#define BEAM_NAME_MAX 4096u

struct beam_module {
	u64 start_va, end_va;
	u64 text_va, text_bytes;
	u8 *text;		/* or NULL */
};

struct beam_entry {
	u64 va, text_va, text_bytes;
};

struct beam_modules {
	u64 descriptor_va;
	struct beam_entry first;	/* of the list, as of the last look */
	u64 last_look_ns, next_look_ns;
	struct beam_module *at;		/* sorted by address */
	u32 count;
	u64 kept_bytes;			/* of texts */
	bool is_stale, has_missed;	/* a module is gone; code was asked for that was not known */
	u64 generation;			/* goes up when names may be others than before */
	u64 dropped;			/* modules past a limit, lists that could not be read to their end */
	u64 global_va;			/* the module of fragments; 0: not told of yet */
	u64 normal_exit_va;		/* 0: the emulator has not told of itself yet */
	bool has_frame_pointers;
};

/* What is at an address. Texts are the module's, good until the next call. */
struct beam_place {
	u64 start_va, end_va;
	const char *name;	/* module:function/arity */
	const char *file;
	u32 line;		/* 0: not known */
};

void beam_modules_done(struct beam_modules *modules);

/* Does an entry of such a list begin there? Asked before it is believed that something is the descriptor. */
bool beam_modules_is_entry(const struct lang_process *process, u64 entry_va);

/* Follows the list, if it has changed and was not followed lately. */
void beam_modules_look(struct beam_modules *modules, const struct lang_process *process);

/* 0, or -ENOENT. */
int beam_modules_find(struct beam_modules *modules, const struct lang_process *process, u64 va,
		      struct beam_place *ret_place);

/* The first range of the module at an address that has this name: 0, or -ENOENT. */
int beam_modules_named(struct beam_modules *modules, const struct lang_process *process, u64 module_va,
		       const char *name, struct beam_place *ret_place);

/* The module that an address lies in, or NULL. */
const struct beam_module *beam_modules_at(const struct beam_modules *modules, u64 va);

#endif
