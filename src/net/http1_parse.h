/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 requests (RFC 9112), strictly: what two readers could understand
 * differently is refused. Lines end in CRLF, no folded lines, no space before
 * a colon, one Content-Length in digits or one "Transfer-Encoding: chunked",
 * never both.
 *
 * Pure: bytes in, results out; allocates nothing.
 */
#ifndef NET_HTTP1_PARSE_H
#define NET_HTTP1_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

struct http1_head {
	const char *method, *target;	/* in the bytes given */
	size_t method_len, target_len;
	s64 content_length;		/* -1: not told */
	bool chunked;
	bool keep_alive;
	bool expect_continue;
	bool http10;
};

/* 0 to go on; names are in lower case. */
typedef int http1_header_fn(void *arg, const char *name, size_t name_len, const char *value, size_t value_len);

/* Bytes of the head with its empty line, or 0 if that did not come yet. `from`: how many were searched before. */
size_t http1_head_bytes(const char *at, size_t bytes, size_t from);

/*
 * Parses a whole head, changing names to lower case in place. -EBADMSG: 400;
 * -EPROTONOSUPPORT: 505; -ENOSYS: 501 (a transfer coding); -EINVAL: 417; or
 * what the callback returned.
 */
int http1_parse_head(char *at, size_t bytes, http1_header_fn *header, void *arg, struct http1_head *ret_head);

struct http1_chunks {
	u8 state;
	u8 size_digits;
	u64 left;			/* of this chunk */
	u32 extra_bytes;		/* extensions and trailers */
};

/*
 * Takes bytes of a chunked body off *at: 1 with a piece of the body, which may be empty; 0 at its end, the rest of *at
 * is the next request's; -EAGAIN: all is taken, more must come; -EBADMSG.
 */
int http1_chunk(struct http1_chunks *chunks, const char **at, size_t *bytes, const char **ret_piece, size_t *ret_bytes);

#endif
