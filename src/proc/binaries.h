/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All binaries that the watched processes run code from: opened once, known
 * by device and inode, and by build id and file hash, so that copies of a file
 * are one. A binary that no process, trace or name needs any more is let go
 * after a while.
 *
 * The tracer's thread owns it.
 */
#ifndef PROC_BINARIES_H
#define PROC_BINARIES_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"

struct background_reader;
struct binaries;
struct binary;
struct mapping;
struct peek;

struct binaries_stats {
	u64 opened;
	u64 unreadable;		/* files that could not be opened: gone, or not allowed to */
	u64 not_elf;		/* mapped executable, but not something that can be parsed */
	u64 full;		/* past BINARIES_OPEN_MAX */
	u64 let_go;
};

#define BINARIES_OPEN_MAX 16384

/* The reader must outlive its jobs: free it first. */
int binaries_new(struct background_reader *reader, struct peek *peek, struct binaries **ret_binaries);
void binaries_free(struct binaries *binaries);
DEFINE_CLEANUP(struct binaries *, binaries_free)

/*
 * The binary behind a mapping of a process: 0 and a new reference, or NULL for what is no code, or for lack of memory
 * or room; -EAGAIN while it is not known what the file is. One that could not be read has fd -1; its addresses are
 * offsets in the file.
 */
int binaries_resolve(struct binaries *binaries, u32 pid, const struct mapping *mapping, struct binary **ret_binary);

/* Borrowed, or NULL. */
struct binary *binaries_get(const struct binaries *binaries, u32 id);

/* Lets go of what nobody has used since the call before; forget(arg, binary) is told of each. */
void binaries_sweep(struct binaries *binaries, void (*forget)(void *arg, struct binary *binary), void *arg);

struct binaries_stats binaries_stats(const struct binaries *binaries);

/*
 * Finds the bias (va - ea) of a mapping of a binary, and the part of it that lies in the binary's code. False if
 * none does.
 */
bool binary_place(const struct binary *binary, const struct mapping *mapping, u64 *ret_bias, u64 *ret_start_va,
		  u64 *ret_end_va);

#endif
