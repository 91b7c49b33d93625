// SPDX-License-Identifier: Apache-2.0
#include "net/http1_parse.h"
#include "base/hex.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define CHUNK_DIGITS_MAX 8		/* 4 GiB */
#define CHUNK_EXTRA_MAX 8192		/* of a body: extensions and trailers are thrown away, but not without end */

/* ---- The head ------------------------------------------------------------------------ */

/* RFC 9110 5.6.2 */
static bool is_token(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_len(const char *at, size_t len)
{
	size_t n = 0;

	while (n < len && is_token((unsigned char)at[n]))
		n++;
	return n;
}

size_t http1_head_bytes(const char *at, size_t bytes, size_t from)
{
	const char *end;

	from = from > 3 ? from - 3 : 0;
	end = bytes > from ? memmem(at + from, bytes - from, "\r\n\r\n", 4) : NULL;
	return end ? (size_t)(end - at) + 4 : 0;
}

/* The next line without its CRLF. -EBADMSG also for a CR or LF alone. */
static int next_line(char **at, char *end, char **ret_line, size_t *ret_len)
{
	char *line = *at, *lf = memchr(line, '\n', end - line);
	size_t len;

	if (!lf || lf == line || lf[-1] != '\r')
		return -EBADMSG;
	len = lf - 1 - line;
	if (memchr(line, '\r', len) || memchr(line, '\0', len))
		return -EBADMSG;
	*at = lf + 1;
	*ret_line = line;
	*ret_len = len;
	return 0;
}

static int parse_version(const char *at, size_t len, struct http1_head *head)
{
	if (len != 8 || memcmp(at, "HTTP/", 5) || at[5] < '0' || at[5] > '9' || at[6] != '.' || at[7] < '0' ||
	    at[7] > '9')
		return -EBADMSG;
	if (at[5] != '1')
		return -EPROTONOSUPPORT;
	head->http10 = at[7] == '0';
	head->keep_alive = !head->http10;
	return 0;
}

/* "http://host/path" is meant as "/path". */
static int parse_target(const char *at, size_t len, struct http1_head *head)
{
	const char *slash;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)at[i] <= ' ' || at[i] == 0x7f)
			return -EBADMSG;
	if (len > 7 && (!strncasecmp(at, "http://", 7) || (len > 8 && !strncasecmp(at, "https://", 8)))) {
		size_t scheme = at[4] == ':' ? 7 : 8;

		slash = memchr(at + scheme, '/', len - scheme);
		if (!slash)
			return -EBADMSG;
		len -= slash - at;
		at = slash;
	}
	if (!len || (at[0] != '/' && !(len == 1 && at[0] == '*')))
		return -EBADMSG;
	head->target = at;
	head->target_len = len;
	return 0;
}

static int parse_request_line(const char *line, size_t len, struct http1_head *head)
{
	const char *target, *version;
	int r;

	head->method = line;
	head->method_len = token_len(line, len);
	if (!head->method_len || head->method_len == len || line[head->method_len] != ' ')
		return -EBADMSG;
	target = line + head->method_len + 1;
	version = memrchr(target, ' ', line + len - target);
	if (!version)
		return -EBADMSG;
	r = parse_version(version + 1, line + len - version - 1, head);
	return r < 0 ? r : parse_target(target, version - target, head);
}

static bool value_is(const char *value, size_t len, const char *what)
{
	return len == strlen(what) && !strncasecmp(value, what, len);
}

static int parse_length(const char *value, size_t len, struct http1_head *head)
{
	s64 length = 0;

	if (head->content_length >= 0 || !len || len > 18)
		return -EBADMSG;
	for (size_t i = 0; i < len; i++) {
		if (value[i] < '0' || value[i] > '9')
			return -EBADMSG;
		length = length * 10 + (value[i] - '0');
	}
	head->content_length = length;
	return 0;
}

static void parse_connection(const char *value, size_t len, struct http1_head *head)
{
	while (len) {
		const char *comma = memchr(value, ',', len);
		size_t word = comma ? (size_t)(comma - value) : len, rest = comma ? word + 1 : len;

		while (word && (*value == ' ' || *value == '\t')) {
			value++;
			word--;
			rest--;
			len--;
		}
		while (word && (value[word - 1] == ' ' || value[word - 1] == '\t'))
			word--;
		if (value_is(value, word, "close"))
			head->keep_alive = false;
		else if (value_is(value, word, "keep-alive"))
			head->keep_alive = true;
		value += rest;
		len -= rest;
	}
}

/* What the headers say about the message itself. */
static int note_header(struct http1_head *head, const char *name, size_t name_len, const char *value, size_t len,
		       u32 *hosts)
{
	if (value_is(name, name_len, "host"))
		++*hosts;
	if (value_is(name, name_len, "connection"))
		parse_connection(value, len, head);
	if (value_is(name, name_len, "content-length"))
		return parse_length(value, len, head);
	if (value_is(name, name_len, "transfer-encoding")) {
		if (head->chunked)
			return -EBADMSG;
		head->chunked = true;
		return value_is(value, len, "chunked") ? 0 : -ENOSYS;
	}
	if (value_is(name, name_len, "expect")) {
		head->expect_continue = value_is(value, len, "100-continue");
		return head->expect_continue ? 0 : -EINVAL;
	}
	return 0;
}

/* Splits a header's line; the value without the spaces around it. */
static int parse_header(char *line, size_t len, size_t *ret_name_len, const char **ret_value, size_t *ret_value_len)
{
	size_t name_len = token_len(line, len);
	const char *value = line + name_len + 1;

	if (!name_len || name_len == len || line[name_len] != ':')
		return -EBADMSG;
	len -= name_len + 1;
	for (; len && (*value == ' ' || *value == '\t'); len--)
		value++;
	while (len && (value[len - 1] == ' ' || value[len - 1] == '\t'))
		len--;
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
			return -EBADMSG;
	for (size_t i = 0; i < name_len; i++)
		if (line[i] >= 'A' && line[i] <= 'Z')
			line[i] |= 0x20;
	*ret_name_len = name_len;
	*ret_value = value;
	*ret_value_len = len;
	return 0;
}

int http1_parse_head(char *at, size_t bytes, http1_header_fn *header, void *arg, struct http1_head *ret_head)
{
	struct http1_head head = { .content_length = -1 };
	char *end = at + bytes, *line;
	size_t len, name_len, value_len;
	const char *value;
	u32 hosts = 0;
	int r = next_line(&at, end, &line, &len);

	if (r == 0)
		r = parse_request_line(line, len, &head);
	while (r == 0) {
		r = next_line(&at, end, &line, &len);
		if (r < 0 || !len)
			break;
		r = parse_header(line, len, &name_len, &value, &value_len);
		if (r == 0)
			r = note_header(&head, line, name_len, value, value_len, &hosts);
		if (r == 0)
			r = header(arg, line, name_len, value, value_len);
	}
	if (r < 0)
		return r;
	if (at != end || (head.chunked && (head.content_length >= 0 || head.http10)) || hosts > 1 ||
	    (!hosts && !head.http10))
		return -EBADMSG;
	*ret_head = head;
	return 0;
}

/* ---- Chunks ------------------------------------------------------------------------------ */

enum { CHUNK_SIZE, CHUNK_EXTENSION, CHUNK_SIZE_LF, CHUNK_DATA, CHUNK_DATA_CR, CHUNK_DATA_LF, CHUNK_TRAILER_START,
       CHUNK_TRAILER, CHUNK_TRAILER_LF, CHUNK_LAST_LF, CHUNK_DONE };

static int size_byte(struct http1_chunks *chunks, char c)
{
	int digit = hex_digit(c);

	if (digit >= 0) {
		if (++chunks->size_digits > CHUNK_DIGITS_MAX)
			return -EBADMSG;
		chunks->left = chunks->left << 4 | (u64)digit;
		return CHUNK_SIZE;
	}
	if (!chunks->size_digits)
		return -EBADMSG;
	return c == '\r' ? CHUNK_SIZE_LF : c == ';' ? CHUNK_EXTENSION : -EBADMSG;
}

/* What is skipped: up to the end of the line. */
static int extra_byte(struct http1_chunks *chunks, char c, int same, int at_end)
{
	if (++chunks->extra_bytes > CHUNK_EXTRA_MAX || c == '\n' || c == '\0')
		return -EBADMSG;
	return c == '\r' ? at_end : same;
}

/* The state after a byte that is not of the body. */
static int chunk_byte(struct http1_chunks *chunks, char c)
{
	switch (chunks->state) {
	case CHUNK_SIZE:
		return size_byte(chunks, c);
	case CHUNK_EXTENSION:
		return extra_byte(chunks, c, CHUNK_EXTENSION, CHUNK_SIZE_LF);
	case CHUNK_SIZE_LF:
		chunks->size_digits = 0;
		return c != '\n' ? -EBADMSG : chunks->left ? CHUNK_DATA : CHUNK_TRAILER_START;
	case CHUNK_DATA_CR:
		return c == '\r' ? CHUNK_DATA_LF : -EBADMSG;
	case CHUNK_DATA_LF:
		return c == '\n' ? CHUNK_SIZE : -EBADMSG;
	case CHUNK_TRAILER_START:
		return extra_byte(chunks, c, CHUNK_TRAILER, CHUNK_LAST_LF);
	case CHUNK_TRAILER:
		return extra_byte(chunks, c, CHUNK_TRAILER, CHUNK_TRAILER_LF);
	case CHUNK_TRAILER_LF:
		return c == '\n' ? CHUNK_TRAILER_START : -EBADMSG;
	default:
		return c == '\n' ? CHUNK_DONE : -EBADMSG;
	}
}

int http1_chunk(struct http1_chunks *chunks, const char **at, size_t *bytes, const char **ret_piece, size_t *ret_bytes)
{
	while (chunks->state != CHUNK_DONE) {
		int state;

		if (!*bytes)
			return -EAGAIN;
		if (chunks->state == CHUNK_DATA) {
			*ret_piece = *at;
			*ret_bytes = chunks->left < *bytes ? (size_t)chunks->left : *bytes;
			*at += *ret_bytes;
			*bytes -= *ret_bytes;
			chunks->left -= *ret_bytes;
			if (!chunks->left)
				chunks->state = CHUNK_DATA_CR;
			return 1;
		}
		state = chunk_byte(chunks, **at);
		if (state < 0)
			return state;
		chunks->state = (u8)state;
		++*at;
		--*bytes;
	}
	return 0;
}
