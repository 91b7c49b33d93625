/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a file of a process that grows, and may be replaced by another at any time; read as proc/peek.h does. */
#ifndef LANG_JIT_PIECE_H
#define LANG_JIT_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct lang_process;

#define PIECE_NAME_MAX 256
#define PIECE_FILE_BYTES_MAX (512ll << 20)	/* what lies behind is not read */

/* Which file, and how much of it was taken. */
struct piece_file {
	dev_t device;
	ino_t inode;
	off_t done;
};

struct piece {
	struct piece_file file;	/* where this is from */
	bool is_known;		/* it is the file that was known, and the bytes are the next ones; else its first */
	off_t file_bytes;
	bool is_cut;		/* the file is longer */
	size_t bytes;
	char *at;
};

/*
 * Reads up to cap bytes of a file by the name that the process has for it: a regular one, that its user or root has
 * written. 0, or -errno.
 */
int piece_read(const struct lang_process *process, uid_t uid, const char *name, const struct piece_file *known,
	       size_t cap, struct piece *ret_piece);

/* For _cleanup_(). */
void piece_donep(struct piece *piece);

#endif
