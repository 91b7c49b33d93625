// SPDX-License-Identifier: Apache-2.0
/* What a request says, without its wrapping: Content-Encoding of HTTP, the frame of gRPC. See net/server.h. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "net/exchange.h"
#include "wire/compression.h"

/* The bytes are handed over, not copied, to an empty buffer. */
static int move_body(struct exchange *exchange, struct buf *out)
{
	struct buf *body = &exchange->body;

	if (body->len > out->max - out->len)
		return -E2BIG;
	if (out->len) {
		buf_add(out, body->data, body->len);
		return buf_err(out);
	}
	return buf_move(out, body);
}

static int find_coding(const char *name, enum compression *ret_kind)
{
	static const struct { const char *name; enum compression kind; } known[] = {
		{ "gzip", COMPRESSION_GZIP }, { "x-gzip", COMPRESSION_GZIP }, { "zstd", COMPRESSION_ZSTD },
		{ "zlib", COMPRESSION_ZLIB }, { "deflate", COMPRESSION_ZLIB }, { "snappy", COMPRESSION_SNAPPY },
		{ "x-snappy-framed", COMPRESSION_SNAPPY }, { "lz4", COMPRESSION_LZ4 },
		{ "identity", COMPRESSION_NONE }, { "", COMPRESSION_NONE },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcasecmp(name ? name : "", known[i].name)) {
			*ret_kind = known[i].kind;
			return 0;
		}
	return -EOPNOTSUPP;
}

static int unpack(struct exchange *exchange, enum compression kind, struct buf *out)
{
	int r;

	if (kind == COMPRESSION_NONE)
		return move_body(exchange, out);
	r = compression_unpack(kind, exchange->body.data, exchange->body.len, out);
	buf_done(&exchange->body);
	return r;
}

static u32 message_bytes(const struct exchange *exchange)
{
	const u8 *at = exchange->prefix + 1;

	return (u32)at[0] << 24 | (u32)at[1] << 16 | (u32)at[2] << 8 | at[3];
}

/*
 *	 0       1               5
 *	+-------+---------------+----------------+
 *	| packed| length, big e.| message        |	exactly once in a unary call
 *	+-------+---------------+----------------+
 */
static int grpc_message(struct exchange *exchange, struct buf *out)
{
	enum compression kind;
	int r;

	if (exchange->prefix_len < GRPC_PREFIX_BYTES || exchange->surplus || exchange->prefix[0] > 1 ||
	    exchange->body.len != message_bytes(exchange))
		return -EBADMSG;
	if (!exchange->prefix[0])
		return move_body(exchange, out);
	r = find_coding(exchange_header(exchange, "grpc-encoding"), &kind);
	if (r < 0)
		return r;
	/* Said to be packed, but not how. */
	return kind == COMPRESSION_NONE ? -EBADMSG : unpack(exchange, kind, out);
}

int exchange_message(struct exchange *exchange, struct buf *out)
{
	enum compression kind;
	int r;

	if (exchange->grpc)
		return grpc_message(exchange, out);
	if (exchange_header_count(exchange, "content-encoding") > 1)
		return -EOPNOTSUPP;
	r = find_coding(exchange_header(exchange, "content-encoding"), &kind);
	return r < 0 ? r : unpack(exchange, kind, out);
}
