/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GDB's JIT interface (gdb's manual, "JIT Compilation Interface"): a runtime
 * keeps a list of ELF files, one for each piece of code that it has
 * generated, in its own memory, and a variable that leads there:
 *
 *	__jit_debug_descriptor: u32 version (1) | u32 action | entry *changed | entry *first
 *	entry: entry *next | entry *previous | char *file | u64 bytes
 *
 * Nobody tells us of changes: the list is walked again when the descriptor
 * has changed. It may be changed while it is read, and is hostile: what is
 * walked and read for one look is bounded, the rest is left for the next.
 */
#ifndef LANG_JIT_GDB_JIT_H
#define LANG_JIT_GDB_JIT_H

#include <stddef.h>

#include "base/types.h"

struct lang_process;

#define GDB_JIT_ENTRIES_MAX 65536
#define GDB_JIT_FILE_BYTES_MAX (16u << 20)
/* Of new files for one look, at least one file. */
#define GDB_JIT_LOOK_BYTES_MAX (32u << 20)
#define GDB_JIT_LOOK_NS 100000000ull

struct gdb_jit_entry {
	u64 va;
	u64 file_va, file_bytes;
};

struct gdb_jit {
	u64 descriptor_va;
	u64 seen[6];			/* the descriptor and its first entry, as of the last look; all 0: look */
	struct gdb_jit_entry *known;	/* whose files were taken, sorted */
	u32 known_count;
	u64 dropped;			/* files that were too large or could not be read, lists that were cut */
};

void gdb_jit_done(struct gdb_jit *jit);

/* All files are new again. */
void gdb_jit_forget(struct gdb_jit *jit);

/* Tells of each file that is new, in the order in which they were made; the bytes are good during the call. */
void gdb_jit_look(struct gdb_jit *jit, const struct lang_process *process,
		  void (*file)(void *arg, const void *at, size_t bytes), void *arg);

#endif
