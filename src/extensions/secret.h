/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets: compared in a time that tells nothing about them, and small files
 * of them that are read again when they change.
 */
#ifndef EXTENSIONS_SECRET_H
#define EXTENSIONS_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "base/types.h"

#define SECRET_FILE_MAX (1u << 20)

/* What stands for a secret: to know it does not help. */
struct secret_digest {
	u8 bytes[SHA256_BYTES];
};

struct secret_digest secret_digest(const void *at, size_t len);
bool secret_equal(const struct secret_digest *a, const struct secret_digest *b);

/* Looked at once a second at most. One thread at a time. */
struct secret_file {
	const char *path;
	struct timespec changed;	/* as of the last read */
	ino_t inode;
	u64 looked_ns;
	struct buf text;		/* ended by NUL */
};

void secret_file_init(struct secret_file *file, const char *path);
void secret_file_done(struct secret_file *file);

/* 1: text is new; 0: as before; -errno: cannot be read, text is as before. */
int secret_file_look(struct secret_file *file, u64 now_ns);

#endif
