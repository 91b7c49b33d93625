// SPDX-License-Identifier: Apache-2.0
#include "wire/pb.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

/* Tag and varint value, or tag and length. */
#define HEAD_BYTES_MAX (5 + PB_VARINT_BYTES_MAX)

#define HIGH_BITS_OF_4 0x80808080

static void pb_fail(struct pb *r)
{
	if (!r->err)
		r->err = -EBADMSG;
	r->at = r->end;
}

/* The bits up to a word's lowest set one. */
static inline u32 up_to_lowest(u32 word)
{
	return word ^ (word - 1);
}

/* A number of up to 4 bytes, which are those of the word that are not 0; or several numbers, of as many words. */
#define JOINED(word) JOINED_PAIRS(((word) & 0x7f007f) | ((word) & 0x7f007f00) >> 1)
#define JOINED_PAIRS(pairs) (((pairs) & 0x3fff) | ((pairs) >> 2 & 0xfffc000))

typedef u32 four __attribute__((vector_size(16)));

static u64 varint_by_bytes(struct pb *r)
{
	u64 value = 0;

	for (unsigned int shift = 0; shift < 70 && r->at < r->end; shift += 7) {
		u8 byte = *r->at++;

		/* The tenth byte holds one bit. */
		if (shift == 63 && byte > 1)
			break;
		value |= (u64)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	pb_fail(r);
	return 0;
}

/* Numbers of up to 4 bytes without a loop, if there are bytes to look at. */
static u64 pb_varint_long(struct pb *r)
{
	u32 word, ends;

	if (pb_left(r) < sizeof(word))
		return varint_by_bytes(r);
	memcpy(&word, r->at, sizeof(word));
	word = le32toh(word);
	ends = ~word & HIGH_BITS_OF_4;
	if (!ends)
		return varint_by_bytes(r);
	r->at += ((u32)__builtin_ctz(ends) + 1) / 8;
	return JOINED(word & up_to_lowest(ends));
}

static inline u64 varint(struct pb *r)
{
	if (r->at < r->end && *r->at < 0x80)
		return *r->at++;
	return pb_varint_long(r);
}

u64 pb_varint(struct pb *r)
{
	return varint(r);
}

static u64 pb_fixed(struct pb *r, size_t bytes)
{
	u64 value = 0;

	if (pb_left(r) < bytes) {
		pb_fail(r);
		return 0;
	}
	memcpy(&value, r->at, bytes);
	r->at += bytes;
	return le64toh(value);
}

static struct pb pb_take(struct pb *r)
{
	u64 len = varint(r);
	struct pb body;

	if (len > pb_left(r)) {
		pb_fail(r);
		len = 0;
	}
	body = pb_from(r->at, len);
	r->at += len;
	return body;
}

bool pb_next(struct pb *r, struct pb_field *ret_field)
{
	u64 tag;

	if (r->at >= r->end)
		return false;
	tag = varint(r);
	ret_field->number = (u32)(tag >> 3);
	ret_field->wire = tag & 7;
	if (tag >> 3 == 0 || tag >> 3 >= 1 << 29) {
		pb_fail(r);
		return false;
	}
	switch (ret_field->wire) {
	case PB_VARINT:
		ret_field->value = varint(r);
		break;
	case PB_FIXED64:
		ret_field->value = pb_fixed(r, 8);
		break;
	case PB_LEN:
		ret_field->body = pb_take(r);
		break;
	case PB_FIXED32:
		ret_field->value = pb_fixed(r, 4);
		break;
	default:
		pb_fail(r);
	}
	return !r->err;
}

bool pb_is(struct pb *r, const struct pb_field *field, enum pb_wire wire)
{
	if (field->wire == wire)
		return true;
	pb_fail(r);
	return false;
}

u64 pb_u64(struct pb *r, const struct pb_field *field)
{
	return pb_is(r, field, PB_VARINT) ? field->value : 0;
}

u32 pb_u32(struct pb *r, const struct pb_field *field)
{
	u64 value = pb_u64(r, field);

	if (value > UINT32_MAX) {
		pb_fail(r);
		return 0;
	}
	return (u32)value;
}

/* Each varint ends with the one byte that lacks the high bit: eight bytes at a time. */
size_t pb_count(const struct pb *list)
{
	const u8 *at = list->at;
	size_t count = 0;
	u64 word;

	for (; (size_t)(list->end - at) >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		/* The multiplication adds the eight bits up in the highest byte. */
		count += (~word >> 7 & 0x0101010101010101) * 0x0101010101010101 >> 56;
	}
	for (; at < list->end; at++)
		count += *at < 0x80;
	return count;
}

/* A bit for each of eight bytes that ends a number. */
static inline u64 ends_of_word(const u8 *at)
{
	u64 word;

	memcpy(&word, at, sizeof(word));
	/* The multiplication brings the eight bits together in the highest byte. */
	return (~le64toh(word) >> 7 & 0x0101010101010101) * 0x0102040810204080 >> 56;
}

/* Of up to 64 bytes; eight bytes before their end must be readable. */
static inline u64 ends_within(const u8 *at, size_t bytes)
{
	u64 ends = 0;
	size_t i = 0;

	for (; bytes - i >= sizeof(u64); i += sizeof(u64))
		ends |= ends_of_word(at + i) << i;
	if (i < bytes)
		ends |= ends_of_word(at + bytes - sizeof(u64)) >> (i + sizeof(u64) - bytes) << i;
	return ends;
}

/* Four at a time. */
static inline void join_all(u32 *at, u32 count)
{
	u32 i = 0;
	four now;

	for (; count - i >= 4; i += 4) {
		memcpy(&now, at + i, sizeof(now));
		now = JOINED(now);
		memcpy(at + i, &now, sizeof(now));
	}
	for (; i < count; i++)
		at[i] = JOINED(at[i]);
}

/*
 * The numbers that end within the next 64 bytes, up to the first that has more than 4 bytes; how many. Each is at the
 * end of a word of which bytes before the number are shifted out: three must be readable before the first one. No
 * step waits for the memory of the one before, and no branch depends on lengths, which cannot be foreseen.
 */
static inline u32 unpack_block(struct pb *list, u32 *at)
{
	u64 ends = ends_within(list->at, pb_left(list) < 64 ? pb_left(list) : 64);
	u64 longer = ends & ~(ends << 1 | ends << 2 | ends << 3 | ends << 4 | 0xf);
	u32 count = 0, last = 0, next, word;

	for (ends &= (longer & -longer) - 1; ends; ends &= ends - 1, last = next) {
		next = (u32)__builtin_ctzll(ends) + 1;
		memcpy(&word, list->at + next - sizeof(word), sizeof(word));
		at[count++] = le32toh(word) >> (8 * (last - next) & 31);
	}
	list->at += last;
	join_all(at, count);
	return count;
}

/* Likewise. */
static bool are_within(const u32 *at, u32 count, u32 least, u32 most)
{
	four lowest = { least, least, least, least }, highest = { most, most, most, most }, now, off = { 0 };
	u32 i = 0, beside = 0;

	for (; count - i >= 4; i += 4) {
		memcpy(&now, at + i, sizeof(now));
		off |= (four)(now < lowest) | (four)(now > highest);
	}
	for (; i < count; i++)
		beside |= (at[i] < least) | (at[i] > most);
	return !(off[0] | off[1] | off[2] | off[3] | beside);
}

/* Stacks are most of a profile. */
u32 pb_unpack(struct pb *list, u32 max, bool may_be_zero, u32 *at)
{
	const u8 *begin = list->at;
	u32 count = 0, step;

	while (list->at < list->end) {
		u64 value;

		step = list->at - begin >= 3 && list->end - begin >= 8 ? unpack_block(list, at + count) : 0;
		count += step;
		if (step)
			continue;
		/* A number that is not ended is not in pb_count(): there is no room for it. */
		value = varint(list);
		if (list->err || value > max) {
			pb_fail(list);
			return 0;
		}
		at[count++] = (u32)value;
	}
	if (!are_within(at, count, !may_be_zero, max))
		pb_fail(list);
	return list->err ? 0 : count;
}

struct pb pb_no_body(struct pb *r)
{
	pb_fail(r);
	return (struct pb){ 0 };
}

void pb_read_member(struct pb *r, const struct pb_field *field, const struct pb_member *members, size_t count,
		    void *row)
{
	const struct pb_member *member = &members[field->number < count ? field->number : 0];
	void *at = (char *)row + member->offset;

	if (member->bytes == sizeof(u64)) {
		u64 value = pb_u64(r, field);

		memcpy(at, &value, sizeof(value));
	} else if (member->bytes == sizeof(u32)) {
		u32 value = pb_u32(r, field);

		memcpy(at, &value, sizeof(value));
	}
}

void pb_read_members(struct pb *r, struct pb message, const struct pb_member *members, size_t count, void *row)
{
	struct pb_field f;

	while (pb_next(&message, &f))
		pb_read_member(&message, &f, members, count, row);
	pb_inherit(r, &message);
}

void pb_inherit(struct pb *r, const struct pb *nested)
{
	if (nested->err) {
		if (!r->err)
			r->err = nested->err;
		r->at = r->end;
	}
}

/* ---- Writing --------------------------------------------------------------- */

/* At most PB_VARINT_BYTES_MAX bytes; the end of them. */
static u8 *put_varint(u8 *at, u64 value)
{
	while (value >= 0x80) {
		*at++ = (u8)value | 0x80;
		value >>= 7;
	}
	*at++ = (u8)value;
	return at;
}

static u8 *buf_end(const struct buf *b)
{
	return (u8 *)b->data + b->len;
}

static void buf_set_end(struct buf *b, const u8 *end)
{
	b->len = (size_t)(end - (u8 *)b->data);
}

void pb_put_raw_varint(struct buf *b, u64 value)
{
	if (buf_reserve(b, PB_VARINT_BYTES_MAX) == 0)
		buf_set_end(b, put_varint(buf_end(b), value));
}

void pb_put_varint(struct buf *b, u32 number, u64 value)
{
	if (buf_reserve(b, HEAD_BYTES_MAX) == 0)
		buf_set_end(b, put_varint(put_varint(buf_end(b), number << 3 | PB_VARINT), value));
}

void pb_put_varint_nonzero(struct buf *b, u32 number, u64 value)
{
	if (value)
		pb_put_varint(b, number, value);
}

void pb_put_fixed64(struct buf *b, u32 number, u64 value)
{
	u8 *at;

	if (buf_reserve(b, HEAD_BYTES_MAX) < 0)
		return;
	at = put_varint(buf_end(b), number << 3 | PB_FIXED64);
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
	buf_set_end(b, at + sizeof(value));
}

void pb_put_fixed64_nonzero(struct buf *b, u32 number, u64 value)
{
	if (value)
		pb_put_fixed64(b, number, value);
}

static void pb_put_head(struct buf *b, u32 number, size_t len)
{
	if (buf_reserve(b, HEAD_BYTES_MAX) == 0)
		buf_set_end(b, put_varint(put_varint(buf_end(b), number << 3 | PB_LEN), len));
}

void pb_put_bytes(struct buf *b, u32 number, const void *at, size_t len)
{
	pb_put_head(b, number, len);
	if (len)
		buf_add(b, at, len);
}

void pb_put_string(struct buf *b, u32 number, const char *at, size_t len)
{
	size_t mark;

	if (utf8_valid(at, len)) {
		pb_put_bytes(b, number, at, len);
		return;
	}
	mark = pb_begin(b, number);
	while (len) {
		size_t step = utf8_next(at, len);

		if (step)
			buf_add(b, at, step);
		else
			buf_add(b, UTF8_REPLACEMENT, sizeof(UTF8_REPLACEMENT) - 1);
		step += !step;
		at += step;
		len -= step;
	}
	pb_end(b, mark);
}

void pb_put_string_nonempty(struct buf *b, u32 number, const char *at, size_t len)
{
	if (len)
		pb_put_string(b, number, at, len);
}

/*
 * The same without a branch that depends on the number, since the lengths of indices one after the other cannot be
 * foreseen. Writes 4 bytes, of which those that the number has count; it must have no more than 21 bits.
 */
static inline u8 *put_varint_21(u8 *at, u32 value)
{
	u32 two = value > 0x7f, three = value > 0x3fff;
	u32 word = (value & 0x7f) | (value & 0x3f80) << 1 | (value & 0x1fc000) << 2 | two << 7 | three << 15;

	word = htole32(word);
	memcpy(at, &word, sizeof(word));
	return at + 1 + two + three;
}

/* Four of them. */
static inline u8 *put_four_varints_21(u8 *at, const u32 *values)
{
	four value, two, three, word, bytes;

	memcpy(&value, values, sizeof(value));
	two = value > 0x7f;
	three = value > 0x3fff;
	word = (value & 0x7f) | (value & 0x3f80) << 1 | (value & 0x1fc000) << 2 | (two & 0x80) | (three & 0x8000);
	bytes = 1 - two - three;	/* what is true has all bits set: it is -1 */
#pragma GCC unroll 4
	for (u32 i = 0; i < 4; i++) {
		u32 one = htole32(word[i]);

		memcpy(at, &one, sizeof(one));
		at += bytes[i];
	}
	return at;
}

void pb_put_packed_u32(struct buf *b, u32 number, const u32 *at, size_t count)
{
	size_t mark, i = 0;
	u8 *end;

	if (!count)
		return;
	mark = pb_begin(b, number);
	if (buf_reserve(b, count * 5) == 0) {
		end = buf_end(b);
		for (; count - i >= 4 && !((at[i] | at[i + 1] | at[i + 2] | at[i + 3]) >> 21); i += 4)
			end = put_four_varints_21(end, at + i);
		for (; i < count; i++)
			end = at[i] >> 21 ? put_varint(end, at[i]) : put_varint_21(end, at[i]);
		buf_set_end(b, end);
	}
	pb_end(b, mark);
}

void pb_put_packed_s64(struct buf *b, u32 number, const s64 *at, size_t count)
{
	size_t mark;
	u8 *end;

	if (!count)
		return;
	mark = pb_begin(b, number);
	if (buf_reserve(b, count * PB_VARINT_BYTES_MAX) == 0) {
		end = buf_end(b);
		for (size_t i = 0; i < count; i++)
			end = put_varint(end, (u64)at[i]);
		buf_set_end(b, end);
	}
	pb_end(b, mark);
}

void pb_put_packed_fixed64(struct buf *b, u32 number, const u64 *at, size_t count)
{
	if (!count)
		return;
	pb_put_head(b, number, count * sizeof(*at));
	if (buf_reserve(b, count * sizeof(*at)) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		u64 value = htole64(at[i]);

		memcpy(b->data + b->len, &value, sizeof(value));
		b->len += sizeof(value);
	}
}

size_t pb_begin(struct buf *b, u32 number)
{
	pb_put_head(b, number, 0);
	return b->len;
}

/* One byte was left for the length, which is enough for most messages; longer ones move over. */
void pb_end(struct buf *b, size_t mark)
{
	u8 head[PB_VARINT_BYTES_MAX];
	size_t len, extra;

	if (b->err)
		return;
	len = b->len - mark;
	extra = (size_t)(put_varint(head, len) - head) - 1;
	if (extra) {
		if (buf_reserve(b, extra) < 0)
			return;
		memmove(b->data + mark + extra, b->data + mark, len);
		b->len += extra;
	}
	memcpy(b->data + mark - 1, head, extra + 1);
}
