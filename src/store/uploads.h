/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with symbols that somebody gave to a store: in the directory `symbols`
 * of it, each named by its build id (by OpenTelemetry's hash if it has none), in
 * hexadecimal. At most UPLOADS_BYTES_MAX in all; what was given first goes first.
 *
 * They are foreign: only the reader process looks into them. Any thread may call it.
 */
#ifndef STORE_UPLOADS_H
#define STORE_UPLOADS_H

#include <stddef.h>

#include "exe/reader.h"

#define UPLOADS_BYTES_MAX ((u64)1 << 30)
#define UPLOADS_ID_MAX (2 * BUILD_ID_MAX + 1)

struct upload {
	int fd;				/* the file, to be closed by the caller */
	struct exe_info info;
	char id[UPLOADS_ID_MAX];	/* what it is named by */
	u32 dropped;			/* older ones that had to go */
};

/* -ENOEXEC: no ELF file; -EBADMSG: the reader did not survive it; else -errno of the file system. */
int uploads_add(const char *store_directory, struct reader *reader, const void *at, size_t bytes,
		struct upload *ret_upload);

/* Where they are: borrowed from out. */
const char *uploads_path(const char *store_directory, char out[4096]);

#endif
