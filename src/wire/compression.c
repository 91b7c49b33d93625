// SPDX-License-Identifier: Apache-2.0
#include "wire/compression.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <pthread.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "wire/lz.h"

#define STEP_MIN ((size_t)64 << 10)
#define GZIP_LEVEL 4
#define GZIP_WINDOW (15 + 16)	/* the largest, with gzip's header */
#define GZIP_LEVEL_MAX 9
#define ZLIB_WINDOW 15
#define AT_ONCE_MAX ((size_t)1 << 20)	/* what is longer grows as it comes, whatever it claims */
#define ZSTD_LEVEL 3
#define ZSTD_LEVEL_MAX 22

DEFINE_CLEANUP(ZSTD_DCtx *, ZSTD_freeDCtx)

enum compression compression_of(const void *at, size_t bytes)
{
	if (bytes >= 2 && !memcmp(at, "\x1f\x8b", 2))
		return COMPRESSION_GZIP;
	if (bytes >= 4 && !memcmp(at, "\x28\xb5\x2f\xfd", 4))
		return COMPRESSION_ZSTD;
	return COMPRESSION_NONE;
}

/* Room for the next piece: as much again as there is, but no more than the limit allows. 0: there is none. */
static size_t next_step(struct buf *out)
{
	size_t step = out->len > STEP_MIN ? out->len : STEP_MIN;

	if (step > out->max - out->len)
		step = out->max - out->len;
	if (step > INT_MAX)
		step = INT_MAX;
	return buf_reserve(out, step) == 0 ? step : 0;
}

/* ---- gzip ------------------------------------------------------------------ */

static int gzip(int level, int window, const void *at, size_t bytes, struct buf *out)
{
	z_stream z = { .next_in = (void *)at, .avail_in = (uInt)bytes };
	size_t bound;
	int r;

	if (bytes > INT_MAX)
		return -E2BIG;
	if (deflateInit2(&z, level, Z_DEFLATED, window, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&z, bytes);
	r = buf_reserve(out, bound);
	if (r == 0) {
		z.next_out = (Bytef *)out->data + out->len;
		z.avail_out = (uInt)bound;
		r = deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -E2BIG;
		out->len += z.total_out;
	}
	deflateEnd(&z);
	return r;
}

/* One step of inflate(): 0 to go on, 1 at the end of a member, or an error. */
static int gunzip_step(z_stream *z, struct buf *out)
{
	size_t step = next_step(out);
	int r;

	if (!step)
		return buf_err(out) ? buf_err(out) : -E2BIG;
	z->next_out = (Bytef *)out->data + out->len;
	z->avail_out = (uInt)step;
	r = inflate(z, Z_NO_FLUSH);
	out->len += step - z->avail_out;
	if (r == Z_STREAM_END)
		return 1;
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	/* No progress although there was room: the input is cut. */
	return r == Z_OK && (z->avail_in || !z->avail_out) ? 0 : -EBADMSG;
}

/* Members may follow one another; their contents are joined. */
static int gunzip(const void *at, size_t bytes, int window, struct buf *out)
{
	z_stream z = { .next_in = (void *)at, .avail_in = (uInt)bytes };
	int r = 0;

	if (bytes > INT_MAX)
		return -E2BIG;
	if (inflateInit2(&z, window) != Z_OK)
		return -ENOMEM;
	while (r == 0) {
		r = gunzip_step(&z, out);
		if (r == 1 && z.avail_in)
			r = inflateReset(&z) == Z_OK ? 0 : -EBADMSG;
	}
	inflateEnd(&z);
	return r < 0 ? r : 0;
}

/* ---- zstd ------------------------------------------------------------------ */

static int zstd_compress(int level, const void *at, size_t bytes, struct buf *out)
{
	size_t bound = ZSTD_compressBound(bytes), len;
	int r = buf_reserve(out, bound);

	if (r < 0)
		return r;
	len = ZSTD_compress(out->data + out->len, bound, at, bytes, level);
	if (ZSTD_isError(len))
		return -ENOMEM;
	out->len += len;
	return 0;
}

/* One frame that says how long it is. */
static int zstd_at_once(ZSTD_DCtx *context, const void *at, size_t bytes, size_t claimed, struct buf *out)
{
	int r = buf_reserve(out, claimed + 1);	/* an empty one, too, is written somewhere */
	size_t len;

	if (r < 0)
		return r;
	len = ZSTD_decompressDCtx(context, out->data + out->len, claimed, at, bytes);
	if (ZSTD_isError(len))
		return -EBADMSG;
	out->len += len;
	return 0;
}

/* The library refuses windows of more than 128 MiB by itself. */
static pthread_key_t context_key;
static pthread_once_t context_once = PTHREAD_ONCE_INIT;

static void free_context(void *context)
{
	ZSTD_freeDCtx(context);
}

static void make_key(void)
{
	(void)pthread_key_create(&context_key, free_context);
}

/* Of this thread, until it ends: a question reads thousands of small pieces, and a new one for each costs more. */
static ZSTD_DCtx *own_context(void)
{
	ZSTD_DCtx *context;

	(void)pthread_once(&context_once, make_key);
	context = pthread_getspecific(context_key);
	if (context)
		return context;
	context = ZSTD_createDCtx();
	if (context && pthread_setspecific(context_key, context)) {
		ZSTD_freeDCtx(context);
		return NULL;
	}
	return context;
}

static int zstd_by_pieces(const void *at, size_t bytes, struct buf *out)
{
	_cleanup_(ZSTD_freeDCtxp) ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_inBuffer in = { at, bytes, 0 };
	size_t left = 1;

	if (!context)
		return -ENOMEM;
	while (left || in.pos < in.size) {
		ZSTD_outBuffer piece = { 0 };
		size_t step = next_step(out), before = in.pos;

		if (!step)
			return buf_err(out) ? buf_err(out) : -E2BIG;
		piece = (ZSTD_outBuffer){ out->data + out->len, step, 0 };
		left = ZSTD_decompressStream(context, &piece, &in);
		if (ZSTD_isError(left) || (left && in.pos == before && !piece.pos))
			return -EBADMSG;
		out->len += piece.pos;
	}
	return 0;
}

static int zstd_decompress(const void *at, size_t bytes, struct buf *out)
{
	unsigned long long claimed = ZSTD_getFrameContentSize(at, bytes);
	ZSTD_DCtx *context;

	if (claimed > AT_ONCE_MAX || claimed >= out->max - out->len || ZSTD_findFrameCompressedSize(at, bytes) != bytes)
		return zstd_by_pieces(at, bytes, out);
	context = own_context();
	return context ? zstd_at_once(context, at, bytes, (size_t)claimed, out) : -ENOMEM;
}

static int level_within(int level, int standard, int max)
{
	return level == 0 ? standard : level < 1 ? 1 : level > max ? max : level;
}

int compression_pack_level(enum compression kind, int level, const void *at, size_t bytes, struct buf *out)
{
	switch (kind) {
	case COMPRESSION_GZIP:
		return gzip(level_within(level, GZIP_LEVEL, GZIP_LEVEL_MAX), GZIP_WINDOW, at, bytes, out);
	case COMPRESSION_ZLIB:
		return gzip(level_within(level, GZIP_LEVEL, GZIP_LEVEL_MAX), ZLIB_WINDOW, at, bytes, out);
	case COMPRESSION_ZSTD:
		return zstd_compress(level_within(level, ZSTD_LEVEL, ZSTD_LEVEL_MAX), at, bytes, out);
	case COMPRESSION_SNAPPY:
	case COMPRESSION_LZ4:
		return -EOPNOTSUPP;
	case COMPRESSION_NONE:
		break;
	}
	buf_add(out, at, bytes);
	return buf_err(out);
}

int compression_pack(enum compression kind, const void *at, size_t bytes, struct buf *out)
{
	return compression_pack_level(kind, 0, at, bytes, out);
}

int compression_unpack(enum compression kind, const void *at, size_t bytes, struct buf *out)
{
	switch (kind) {
	case COMPRESSION_GZIP:
		return gunzip(at, bytes, GZIP_WINDOW, out);
	case COMPRESSION_ZLIB:
		return gunzip(at, bytes, ZLIB_WINDOW, out);
	case COMPRESSION_ZSTD:
		return zstd_decompress(at, bytes, out);
	case COMPRESSION_SNAPPY:
		return lz_unpack_snappy(at, bytes, out);
	case COMPRESSION_LZ4:
		return lz_unpack_lz4(at, bytes, out);
	case COMPRESSION_NONE:
		break;
	}
	buf_add(out, at, bytes);
	return buf_err(out);
}
