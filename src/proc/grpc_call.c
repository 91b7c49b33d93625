// SPDX-License-Identifier: Apache-2.0
#include "proc/grpc_call.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cursor.h"

/* RFC 9113, 4.1: length (24 bits), type, flags, stream (31 bits). */
#define HEADER_BYTES 9
#define STREAM 1
#define PREFIX_BYTES 5		/* gRPC: is it compressed, length; then the message */
enum frame_type { FRAME_DATA, FRAME_HEADERS, FRAME_RST_STREAM = 3, FRAME_SETTINGS, FRAME_GOAWAY = 7, FRAME_WINDOW = 8 };
enum frame_flag { FLAG_END_STREAM = 1, FLAG_ACK = 1, FLAG_END_HEADERS = 4, FLAG_PADDED = 8 };

const u8 grpc_call_ack[GRPC_CALL_ACK_BYTES] = { 0, 0, 0, FRAME_SETTINGS, FLAG_ACK };

/* ---- Asking ---------------------------------------------------------------------------------- */

static void put_u32(struct buf *out, u32 value)
{
	const u8 bytes[4] = { (u8)(value >> 24), (u8)(value >> 16), (u8)(value >> 8), (u8)value };

	buf_add(out, bytes, 4);
}

static void put_header(struct buf *out, u32 bytes, u8 type, u8 flags, u32 stream)
{
	const u8 head[5] = { (u8)(bytes >> 16), (u8)(bytes >> 8), (u8)bytes, type, flags };

	buf_add(out, head, sizeof(head));
	put_u32(out, stream);
}

/* HPACK (RFC 7541, 6.2.2): a field that is not indexed, as plain text; the name by its number, or as text, too. */
static void put_field(struct buf *out, const char *number, const char *name, const char *value)
{
	const u8 name_len = (u8)strlen(name), value_len = (u8)strlen(value);

	buf_add(out, number, number[0] == 0x0f ? 2 : 1);
	if (name_len) {
		buf_add(out, &name_len, 1);
		buf_add(out, name, name_len);
	}
	buf_add(out, &value_len, 1);
	buf_add(out, value, value_len);
}

static void put_fields(struct buf *out, const char *path, const char *name_space)
{
	buf_add(out, "\x83\x86", 2);			/* :method POST, :scheme http */
	put_field(out, "\x04", "", path);		/* :path */
	put_field(out, "\x01", "", "localhost");	/* :authority */
	put_field(out, "\x0f\x10", "", "application/grpc");
	put_field(out, "\0", "te", "trailers");
	if (*name_space)
		put_field(out, "\0", "containerd-namespace", name_space);
}

void grpc_call_write(struct buf *out, const char *path, const char *name_space, const void *message, u32 bytes)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	static const u8 settings[6] = { 0, 4, 0, GRPC_CALL_ANSWER_MAX >> 16, 0, 0 };	/* INITIAL_WINDOW_SIZE */
	_cleanup_(buf_done) struct buf fields;

	buf_init(&fields, 1024);
	if (strlen(path) <= GRPC_CALL_TEXT_MAX && strlen(name_space) <= GRPC_CALL_TEXT_MAX)
		put_fields(&fields, path, name_space);
	buf_add(out, preface, sizeof(preface) - 1);
	put_header(out, sizeof(settings), FRAME_SETTINGS, 0, 0);
	buf_add(out, settings, sizeof(settings));
	put_header(out, 4, FRAME_WINDOW, 0, 0);
	put_u32(out, GRPC_CALL_ANSWER_MAX);
	put_header(out, (u32)fields.len, FRAME_HEADERS, FLAG_END_HEADERS, STREAM);
	buf_add(out, fields.data, fields.len);
	put_header(out, bytes + PREFIX_BYTES, FRAME_DATA, FLAG_END_STREAM, STREAM);
	buf_add(out, "", 1);
	put_u32(out, bytes);
	buf_add(out, message, bytes);
}

/* ---- What comes back --------------------------------------------------------------------------- */

struct frame {
	u32 type, flags, stream;
	struct cursor body;
};

static u32 big_endian(struct cursor *c, u32 bytes)
{
	u32 value = 0;

	while (bytes--)
		value = value << 8 | cursor_u8(c);
	return value;
}

/* False if it is not there as a whole. */
static bool next_frame(struct cursor *c, struct frame *ret_frame)
{
	u32 bytes;

	if (cursor_left(c) < HEADER_BYTES)
		return false;
	bytes = big_endian(c, 3);
	ret_frame->type = cursor_u8(c);
	ret_frame->flags = cursor_u8(c);
	ret_frame->stream = big_endian(c, 4) & 0x7fffffff;
	if (bytes > cursor_left(c))
		return false;
	ret_frame->body = cursor_of(c->at, bytes);
	return cursor_skip(c, bytes);
}

struct grpc_call_state grpc_call_look(const void *at, size_t bytes)
{
	struct cursor c = cursor_of(at, bytes);
	struct grpc_call_state state = { 0, false };
	struct frame f;

	while (next_frame(&c, &f)) {
		bool is_ours = f.stream == STREAM;

		state.settings += f.type == FRAME_SETTINGS && !(f.flags & FLAG_ACK);
		state.is_over |= f.type == FRAME_GOAWAY || (is_ours && f.type == FRAME_RST_STREAM) ||
				 (is_ours && f.type <= FRAME_HEADERS && f.flags & FLAG_END_STREAM);
	}
	return state;
}

static int add_data(const struct frame *f, struct buf *out)
{
	struct cursor body = f->body;
	u32 padding = f->flags & FLAG_PADDED ? cursor_u8(&body) : 0;

	if (body.bad || padding > cursor_left(&body))
		return -EBADMSG;
	buf_add(out, body.at, cursor_left(&body) - padding);
	return buf_err(out);
}

int grpc_call_message(const void *at, size_t bytes, struct buf *out)
{
	struct cursor c = cursor_of(at, bytes), data;
	struct frame f;
	u32 is_compressed, message_bytes;
	bool is_ended = false;
	int r = 0;

	while (r == 0 && !is_ended && next_frame(&c, &f)) {
		if (f.stream != STREAM || f.type > FRAME_HEADERS)
			continue;
		r = f.type == FRAME_DATA ? add_data(&f, out) : 0;
		is_ended = f.flags & FLAG_END_STREAM;
	}
	if (r < 0 || !is_ended || !out->len)
		return r < 0 ? r : is_ended ? 0 : -EBADMSG;
	data = cursor_of(out->data, out->len);
	is_compressed = cursor_u8(&data);
	message_bytes = big_endian(&data, 4);
	if (data.bad || is_compressed || message_bytes != cursor_left(&data))
		return -EBADMSG;
	memmove(out->data, out->data + PREFIX_BYTES, message_bytes);
	out->len = message_bytes;
	return 1;
}
