/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip, zstd and zlib (what HTTP calls deflate) over whole buffers; snappy and
 * LZ4, which are only read. What comes out never exceeds the limit of the
 * buffer it goes to, whatever the input claims.
 */
#ifndef WIRE_COMPRESSION_H
#define WIRE_COMPRESSION_H

#include <stddef.h>

#include "base/buf.h"

enum compression {
	COMPRESSION_NONE,
	COMPRESSION_GZIP,
	COMPRESSION_ZSTD,
	COMPRESSION_ZLIB,
	COMPRESSION_SNAPPY,
	COMPRESSION_LZ4,
};

/* By the first bytes: gzip or zstd. */
enum compression compression_of(const void *at, size_t bytes);

/*
 * Appends the compressed or plain bytes; -EBADMSG for broken input, -E2BIG past the buffer's limit, -ENOMEM,
 * -EOPNOTSUPP to pack what is only read.
 */
int compression_pack(enum compression kind, const void *at, size_t bytes, struct buf *out);
/* At a level: of gzip 1 to 9, of zstd 1 to 22; 0 is the default, others become the nearest. */
int compression_pack_level(enum compression kind, int level, const void *at, size_t bytes, struct buf *out);
int compression_unpack(enum compression kind, const void *at, size_t bytes, struct buf *out);

#endif
