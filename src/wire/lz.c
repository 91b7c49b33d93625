// SPDX-License-Identifier: Apache-2.0
#include "wire/lz.h"

#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/types.h"

#define SNAPPY_MAGIC "\xff\x06\x00\x00sNaPpY"
#define SNAPPY_MAGIC_BYTES 10
#define SNAPPY_CHUNK_MAX 65536		/* plain bytes of one */
#define LZ4_MAGIC 0x184d2204u
#define LZ4_SKIPPABLE 0x184d2a50u	/* to ...5f */
#define LZ4_MATCH_MIN 4

struct source {
	const u8 *at, *end;
};

static size_t left(const struct source *in)
{
	return (size_t)(in->end - in->at);
}

/* Of nothing there may be no address. */
static struct source source_of(const void *at, size_t bytes)
{
	return (struct source){ at, bytes ? (const u8 *)at + bytes : at };
}

/* A number of so many bytes, little end first. */
static int take(struct source *in, u32 bytes, u32 *ret_number)
{
	u32 number = 0;

	if (left(in) < bytes)
		return -EBADMSG;
	for (u32 i = 0; i < bytes; i++)
		number |= (u32)*in->at++ << 8 * i;
	*ret_number = number;
	return 0;
}

static int take_part(struct source *in, size_t bytes, struct source *ret_part)
{
	if (left(in) < bytes)
		return -EBADMSG;
	*ret_part = (struct source){ in->at, in->at + bytes };
	in->at += bytes;
	return 0;
}

static int literal(struct source *in, size_t bytes, struct buf *out)
{
	if (left(in) < bytes)
		return -EBADMSG;
	buf_add(out, in->at, bytes);
	in->at += bytes;
	return buf_err(out);
}

/* Copies from so far back, not before begin; what is copied may reach into what it makes. */
static int copy(struct buf *out, size_t begin, size_t back, size_t bytes)
{
	char *to;

	if (!back || back > out->len - begin)
		return -EBADMSG;
	if (buf_reserve(out, bytes) < 0)
		return buf_err(out);
	to = out->data + out->len;
	if (back >= bytes)
		memcpy(to, to - back, bytes);
	else
		for (size_t i = 0; i < bytes; i++)
			to[i] = to[(ptrdiff_t)i - (ptrdiff_t)back];
	out->len += bytes;
	return 0;
}

/* What was made since then; not NULL where nothing was. */
static const char *made(const struct buf *out, size_t begin)
{
	return out->data ? out->data + begin : "";
}

/* ---- snappy --------------------------------------------------------------------------------------- */

static int snappy_length(struct source *in, u32 *ret_length)
{
	u64 length = 0;
	u32 byte = 0x80;

	for (u32 shift = 0; shift < 35 && byte & 0x80; shift += 7) {
		if (take(in, 1, &byte) < 0)
			return -EBADMSG;
		length |= (u64)(byte & 0x7f) << shift;
	}
	if (byte & 0x80 || length > UINT32_MAX)
		return -EBADMSG;
	*ret_length = (u32)length;
	return 0;
}

/*
 *	llllll00 [length - 1: 1 to 4 bytes, where l is 60 to 63]	l + 1 bytes follow
 *	ooolll01 o							l + 4 bytes from so far back
 *	llllll10 oo, llllll11 oooo					l + 1 bytes
 */
static int snappy_element(struct source *in, size_t begin, struct buf *out)
{
	u32 tag, more, number;
	int r = take(in, 1, &tag);

	if (r < 0)
		return r;
	number = tag >> 2;
	if ((tag & 3) == 0) {
		if (number >= 60 && take(in, number - 59, &number) < 0)
			return -EBADMSG;
		return literal(in, (size_t)number + 1, out);
	}
	r = take(in, (tag & 3) == 3 ? 4 : tag & 3, &more);
	if (r < 0)
		return r;
	if ((tag & 3) == 1)
		return copy(out, begin, (tag >> 5) << 8 | more, (number & 7) + 4);
	return copy(out, begin, more, (size_t)number + 1);
}

static int snappy_block(struct source in, struct buf *out)
{
	size_t begin = out->len;
	u32 length;
	int r = snappy_length(&in, &length);

	if (r == 0 && length > out->max - out->len)
		r = -E2BIG;
	while (r == 0 && left(&in) && out->len - begin <= length)
		r = snappy_element(&in, begin, out);
	return r < 0 ? r : left(&in) || out->len - begin != length ? -EBADMSG : 0;
}

/* CRC-32C, as snappy's frames have it: turned, and with a number added. */
static u32 snappy_checksum(const char *at, size_t bytes)
{
	static const u32 nibble[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	u32 crc = ~0u;

	for (size_t i = 0; i < bytes; i++) {
		crc ^= (u8)at[i];
		crc = crc >> 4 ^ nibble[crc & 15];
		crc = crc >> 4 ^ nibble[crc & 15];
	}
	crc = ~crc;
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/*
 *	 0      1             4
 *	+------+-------------+------------------------------+
 *	| type | length      | 0, 1: checksum, packed/plain |
 *	+------+-------------+------------------------------+
 */
static int snappy_chunk(u32 type, struct source chunk, struct buf *out)
{
	size_t begin = out->len;
	u32 checksum;
	int r;

	if (type == 0xff)
		return left(&chunk) == 6 && !memcmp(chunk.at, SNAPPY_MAGIC + 4, 6) ? 0 : -EBADMSG;
	if (type > 1)
		return type >= 0x80 ? 0 : -EBADMSG;	/* to be skipped; not known, and not to be skipped */
	r = take(&chunk, 4, &checksum);
	if (r == 0)
		r = type == 0 ? snappy_block(chunk, out) : literal(&chunk, left(&chunk), out);
	if (r < 0)
		return r;
	return out->len - begin <= SNAPPY_CHUNK_MAX && snappy_checksum(made(out, begin), out->len - begin) == checksum ?
	       0 :
	       -EBADMSG;
}

bool lz_is_snappy_framed(const void *at, size_t bytes)
{
	return bytes >= SNAPPY_MAGIC_BYTES && !memcmp(at, SNAPPY_MAGIC, SNAPPY_MAGIC_BYTES);
}

int lz_unpack_snappy(const void *at, size_t bytes, struct buf *out)
{
	struct source in = source_of(at, bytes), chunk;
	int r = 0;

	if (!lz_is_snappy_framed(at, bytes))
		return snappy_block(in, out);
	while (r == 0 && left(&in)) {
		u32 head;

		r = take(&in, 4, &head);
		if (r == 0)
			r = take_part(&in, head >> 8, &chunk);
		if (r == 0)
			r = snappy_chunk(head & 0xff, chunk, out);
	}
	return r;
}

/* ---- LZ4 ------------------------------------------------------------------------------------------ */

/* 15 goes on in the bytes that follow, until one is not 255. */
static int lz4_length(struct source *in, u32 nibble, size_t *ret_length)
{
	size_t length = nibble;
	u32 byte = nibble == 15 ? 255 : 0;

	while (byte == 255) {
		if (take(in, 1, &byte) < 0)
			return -EBADMSG;
		length += byte;
	}
	*ret_length = length;
	return 0;
}

/* llllmmmm [more of l] l bytes, oo, [more of m]: m + 4 bytes from so far back. The last has no copy. */
static int lz4_block(struct source in, size_t begin, struct buf *out)
{
	int r = left(&in) ? 0 : -EBADMSG;

	while (r == 0) {
		u32 token, back;
		size_t length;

		r = take(&in, 1, &token);
		if (r == 0)
			r = lz4_length(&in, token >> 4, &length);
		if (r == 0)
			r = literal(&in, length, out);
		if (r < 0 || !left(&in))
			return r;
		r = take(&in, 2, &back);
		if (r == 0)
			r = lz4_length(&in, token & 15, &length);
		if (r == 0)
			r = copy(out, begin, back, length + LZ4_MATCH_MIN);
	}
	return r;
}

struct lz4_frame {
	bool blocks_stand_alone, has_block_checksum, has_checksum, has_size;
	u32 block_max;
};

static int lz4_header(struct source *in, struct lz4_frame *ret_frame)
{
	const u8 *begin = in->at;
	u32 flags, block, byte;
	struct source size;

	if (take(in, 1, &flags) < 0 || take(in, 1, &block) < 0 || flags >> 6 != 1 || flags & 3 || (block >> 4 & 7) < 4)
		return -EBADMSG;	/* another version; a dictionary that we have not */
	*ret_frame = (struct lz4_frame){ flags & 0x20, flags & 0x10, flags & 4, flags & 8,
					 1u << (2 * (block >> 4 & 7) + 8) };
	if (ret_frame->has_size && take_part(in, 8, &size) < 0)
		return -EBADMSG;
	flags = (u32)(in->at - begin);
	return take(in, 1, &byte) == 0 && byte == (XXH32(begin, flags, 0) >> 8 & 0xff) ? 0 : -EBADMSG;
}

/* 1 after the last one. */
static int lz4_frame_block(struct source *in, const struct lz4_frame *frame, size_t begin, struct buf *out)
{
	size_t before = out->len;
	struct source block;
	u32 size, checksum;
	int r = take(in, 4, &size);

	if (r < 0 || !size)
		return r < 0 ? r : 1;
	r = take_part(in, size & 0x7fffffff, &block);
	if (r == 0 && frame->has_block_checksum)
		r = take(in, 4, &checksum) == 0 && checksum == XXH32(block.at, left(&block), 0) ? 0 : -EBADMSG;
	if (r == 0)
		r = size >> 31 ? literal(&block, left(&block), out) :
				 lz4_block(block, frame->blocks_stand_alone ? before : begin, out);
	return r < 0 ? r : out->len - before <= frame->block_max ? 0 : -EBADMSG;
}

static int lz4_frame(struct source *in, struct buf *out)
{
	size_t begin = out->len;
	struct lz4_frame frame;
	u32 checksum;
	int r = lz4_header(in, &frame);

	while (r == 0)
		r = lz4_frame_block(in, &frame, begin, out);
	if (r < 0 || !frame.has_checksum)
		return r < 0 ? r : 0;
	return take(in, 4, &checksum) == 0 && checksum == XXH32(made(out, begin), out->len - begin, 0) ? 0 : -EBADMSG;
}

int lz_unpack_lz4(const void *at, size_t bytes, struct buf *out)
{
	struct source in = source_of(at, bytes), skipped;
	int r = bytes ? 0 : -EBADMSG;

	while (r == 0 && left(&in)) {
		u32 magic = 0, size;

		r = take(&in, 4, &magic);
		if (magic == LZ4_MAGIC)
			r = lz4_frame(&in, out);
		else if ((magic & ~15u) == LZ4_SKIPPABLE && take(&in, 4, &size) == 0)
			r = take_part(&in, size, &skipped);
		else
			r = -EBADMSG;
	}
	return r;
}
