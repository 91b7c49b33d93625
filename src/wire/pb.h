/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers, as much as profiles need: fields one after another.
 *
 *	field  = tag, value		tag = number << 3 | wire type
 *	varint = 7 bits a byte, low first, 0x80 on all but the last
 *
 * The reader borrows its bytes. Its first error sticks: pb_next() is false
 * from then on and err says why, once, at the end. Groups are refused.
 *
 * The writer appends to a struct buf, whose error sticks likewise. Lengths of
 * nested messages are patched in when the message ends.
 */
#ifndef WIRE_PB_H
#define WIRE_PB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/types.h"

#define PB_VARINT_BYTES_MAX 10


enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_LEN = 2, PB_FIXED32 = 5 };

struct pb {
	const u8 *at, *end;
	int err;
};

struct pb_field {
	u32 number;
	u32 wire;		/* enum pb_wire */
	u64 value;		/* VARINT, FIXED64, FIXED32 */
	struct pb body;		/* LEN: its bytes */
};

static inline struct pb pb_from(const void *at, size_t bytes)
{
	return (struct pb){ at, bytes ? (const u8 *)at + bytes : at, 0 };
}

static inline size_t pb_left(const struct pb *r)
{
	return (size_t)(r->end - r->at);
}

/* The next field; false at the end and after an error. */
bool pb_next(struct pb *r, struct pb_field *ret_field);

/* The same, inlined for what nearly all fields are: a tag of one byte, a number or length of one byte. */
static inline bool pb_step(struct pb *r, struct pb_field *ret_field)
{
	const u8 *at = r->at;

	if (r->end - at < 2 || at[0] >= 0x80 || at[0] < 1 << 3 || at[1] >= 0x80)
		return pb_next(r, ret_field);
	ret_field->number = at[0] >> 3;
	ret_field->wire = at[0] & 7;
	if (ret_field->wire == PB_VARINT) {
		ret_field->value = at[1];
		r->at = at + 2;
		return true;
	}
	if (ret_field->wire != PB_LEN || at[1] > r->end - at - 2)
		return pb_next(r, ret_field);
	ret_field->body = (struct pb){ at + 2, at + 2 + at[1], 0 };
	r->at = ret_field->body.end;
	return true;
}

/* One varint of a packed list; 0 after an error. */
u64 pb_varint(struct pb *r);

/* Does the field have this wire type? If not, the reader gets -EBADMSG. */
bool pb_is(struct pb *r, const struct pb_field *field, enum pb_wire wire);

/* The value of a field that must be a varint; 0 and -EBADMSG else. */
u64 pb_u64(struct pb *r, const struct pb_field *field);

/* The same for int32 and uint32 fields that may not be negative, such as indices. */
u32 pb_u32(struct pb *r, const struct pb_field *field);

/* How many varints a packed list holds. */
size_t pb_count(const struct pb *list);

/*
 * All varints of a packed list, which must be 1 to max, or 0 too if may_be_zero;
 * at has room for pb_count() of them. How many; 0 and -EBADMSG in list after an error.
 */
u32 pb_unpack(struct pb *list, u32 max, bool may_be_zero, u32 *at);

/* A field as the reader of what is in it, empty and -EBADMSG if it is not LEN. */
struct pb pb_no_body(struct pb *r);
static inline struct pb pb_body(struct pb *r, const struct pb_field *field)
{
	return field->wire == PB_LEN ? field->body : pb_no_body(r);
}

/*
 * Scalars of a message that go straight into members of a struct: a table,
 * indexed by field number, of where and how wide. Other fields are left alone.
 */
struct pb_member {
	u16 offset;
	u16 bytes;		/* 4 or 8; 0: not such a field */
};
#define PB_MEMBER(type, member) { offsetof(struct type, member), sizeof(((struct type *)0)->member) }

#define PB_READ_MEMBER(r, field, members, row) \
	pb_read_member(r, field, members, sizeof(members) / sizeof(*(members)), row)
#define PB_READ_MEMBERS(r, message, members, row) \
	pb_read_members(r, message, members, sizeof(members) / sizeof(*(members)), row)

void pb_read_member(struct pb *r, const struct pb_field *field, const struct pb_member *members, size_t count,
		    void *row);

/* A whole message of nothing else; errors go to r. */
void pb_read_members(struct pb *r, struct pb message, const struct pb_member *members, size_t count, void *row);

/* Takes over an error found in a nested message. */
void pb_inherit(struct pb *r, const struct pb *nested);

/* ---- Writing; _nonzero: nothing is written for zero, which is proto3's default value. ---- */

void pb_put_raw_varint(struct buf *b, u64 value);
void pb_put_varint(struct buf *b, u32 number, u64 value);
void pb_put_varint_nonzero(struct buf *b, u32 number, u64 value);
void pb_put_fixed64_nonzero(struct buf *b, u32 number, u64 value);
void pb_put_fixed64(struct buf *b, u32 number, u64 value);
void pb_put_bytes(struct buf *b, u32 number, const void *at, size_t len);

/* Bytes as text: what is not UTF-8 becomes U+FFFD, since readers refuse a message with such a string. */
void pb_put_string(struct buf *b, u32 number, const char *at, size_t len);
void pb_put_string_nonempty(struct buf *b, u32 number, const char *at, size_t len);

/* Packed lists; nothing is written for an empty one. */
void pb_put_packed_u32(struct buf *b, u32 number, const u32 *at, size_t count);
void pb_put_packed_s64(struct buf *b, u32 number, const s64 *at, size_t count);
void pb_put_packed_fixed64(struct buf *b, u32 number, const u64 *at, size_t count);

/* A nested message is what is written between pb_begin() and pb_end() of the mark. */
size_t pb_begin(struct buf *b, u32 number);
void pb_end(struct buf *b, size_t mark);

#endif
