// SPDX-License-Identifier: Apache-2.0
#include "web/page_reply.h"

#include <string.h>

#include "base/buf.h"
#include "extensions/http_endpoint.h"
#include "wire/compression.h"

#define PACK_FROM 1024	/* shorter answers are not worth packing */
#define PACK_LEVEL 1	/* what is better costs more time than it saves, here and on the way */

static const struct http_header guards[] = {
	{ "content-security-policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	  "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'" },
	{ "x-content-type-options", "nosniff" },
	{ "referrer-policy", "no-referrer" },
	{ "cross-origin-opener-policy", "same-origin" },
	{ "cross-origin-resource-policy", "same-origin" },
};
_Static_assert(sizeof(guards) / sizeof(guards[0]) + 6 == PAGE_REPLY_HEADERS_MAX,
	       "there is room for those of an answer");

void page_reply_init(struct page_reply *reply)
{
	memcpy(reply->headers, guards, sizeof(guards));
	reply->count = sizeof(guards) / sizeof(guards[0]);
}

void page_reply_header(struct page_reply *reply, const char *name, const char *value)
{
	if (reply->count < PAGE_REPLY_HEADERS_MAX)
		reply->headers[reply->count++] = (struct http_header){ name, value };
}

void page_reply_send(struct page_reply *reply, struct exchange *exchange, int status, const char *type,
		     struct buf *body)
{
	exchange_reply(exchange, status, type, reply->headers, reply->count, body);
}

void page_refuse(struct exchange *exchange, int status, const char *sentence)
{
	struct page_reply reply;
	struct buf body;

	page_reply_init(&reply);
	buf_init(&body, 1024);
	buf_addf(&body, "{\"error\":\"%s\"}\n", sentence);
	page_reply_send(&reply, exchange, status, CONTENT_JSON, &body);
}

bool page_takes_gzip(const struct exchange *exchange)
{
	const char *accepted = exchange_header(exchange, "accept-encoding");

	return accepted && strstr(accepted, "gzip");
}

void page_reply_pack(struct page_reply *reply, struct exchange *exchange, struct buf *body)
{
	struct buf packed;

	if (body->len < PACK_FROM || !page_takes_gzip(exchange))
		return;
	buf_init(&packed, body->max);
	if (compression_pack_level(COMPRESSION_GZIP, PACK_LEVEL, body->data, body->len, &packed) < 0) {
		buf_done(&packed);
		return;
	}
	buf_done(body);
	*body = packed;
	page_reply_header(reply, "content-encoding", "gzip");
}

bool page_read_form(struct exchange *exchange, size_t bytes_max, struct buf *ret_form)
{
	int r;

	buf_init(ret_form, bytes_max + 1);
	r = exchange_message(exchange, ret_form);
	if (r == 0 && !ret_form->len)
		buf_addf(ret_form, "%s", exchange_query(exchange));
	if (r == 0)
		buf_add(ret_form, "", 1);
	return r == 0 && buf_err(ret_form) == 0 && strlen(ret_form->data) + 1 == ret_form->len;
}
