// SPDX-License-Identifier: Apache-2.0
/*
 * A function for each message of otlp_schema.h, made by the preprocessor: put_MAPPING() writes a struct
 * profile_mapping, and so on. Messages are short and there are many: what they consist of is inlined.
 */
#include <endian.h>
#include <string.h>

#include "profile/profile.h"
#include "wire/otlp/otlp.h"
#include "wire/otlp/otlp_schema.h"
#include "wire/pb.h"

/* Where the next bytes go; NULL without room. */
static inline u8 *room(struct buf *b, size_t bytes)
{
	if (b->cap - b->len < bytes && buf_reserve(b, bytes) < 0)
		return NULL;
	return b->err ? NULL : (u8 *)b->data + b->len;
}

static inline void set_end(struct buf *b, const u8 *end)
{
	b->len = (size_t)(end - (u8 *)b->data);
}

/* All field numbers are below 16: a tag is a byte. */
#define TAG(number, wire) ((u8)((number) << 3 | (wire)))

static inline void put_number(struct buf *b, u32 number, u64 value)
{
	u8 *at = room(b, 1 + PB_VARINT_BYTES_MAX);

	if (!at)
		return;
	*at++ = TAG(number, PB_VARINT);
	for (; value >= 0x80; value >>= 7)
		*at++ = (u8)value | 0x80;
	*at++ = (u8)value;
	set_end(b, at);
}

/* Leaves a byte for the length, which is enough for most; pb_end() makes room for more. */
static inline size_t begin(struct buf *b, u32 number)
{
	u8 *at = room(b, 2);

	if (at) {
		at[0] = TAG(number, PB_LEN);
		set_end(b, at + 2);
	}
	return b->len;
}

static inline void end(struct buf *b, size_t mark)
{
	size_t len = b->len - mark;

	if (len < 0x80 && !b->err)
		b->data[mark - 1] = (char)len;
	else
		pb_end(b, mark);
}

/* ---- Kinds of fields; proto3 leaves zeros out ------------------------------- */

#define PUT_NUMBER(number, member, of, more) if (row->member) put_number(b, number, (u64)row->member);
#define PUT_NUMBER32(number, member, of, more) PUT_NUMBER(number, member, of, more)
#define PUT_INDEX(number, member, of, more) PUT_NUMBER(number, member, of, more)
#define PUT_FIXED(number, member, of, more) pb_put_fixed64_nonzero(b, number, row->member);
#define PUT_INDICES(number, member, of, more) pb_put_packed_u32(b, number, row->member.at, row->member.count);
#define PUT_ITSELF(number, member, of, more) pb_put_packed_u32(b, number, row->at, row->count);
#define PUT_REFERENCE(number, member, of, more)		/* written out in full, as everybody understands it */
#define PUT_VALUES(number, member, of, more) \
	if (otlp_has_values(row)) pb_put_packed_s64(b, number, row->member, row->more);
#define PUT_TIMES(number, member, of, more) \
	if (otlp_has_times(row)) pb_put_packed_fixed64(b, number, row->member, row->more);
#define PUT_TEXT(number, member, of, more) pb_put_string_nonempty(b, number, row->member.at, row->member.len);
#define PUT_KEY(number, member, of, more) PUT_TEXT(number, member, of, more)
#define PUT_BYTES(number, member, of, more) \
	if (row->member.len) pb_put_bytes(b, number, row->member.at, row->member.len);
#define PUT_ID(number, member, of, more) if (!otlp_is_no_link(row)) pb_put_bytes(b, number, row->member, of);
#define PUT_OPTIONAL_ID(number, member, of, more) if (row->has_##member) pb_put_bytes(b, number, row->member, of);
#define PUT_MESSAGE(number, row, of) { size_t mark = begin(b, number); put_##of(b, row); end(b, mark); }
#define PUT_ANY(number, member, of, more) PUT_MESSAGE(number, &row->member, of)
#define PUT_SOME(number, member, of, more) if (row->member.kind != ANY_NONE) PUT_MESSAGE(number, &row->member, of)
#define PUT_TYPE(number, member, of, more) \
	if (row->member.type || row->member.unit) PUT_MESSAGE(number, &row->member, of)
#define PUT_PART(number, member, of, more) PUT_MESSAGE(number, row, of)
#define PUT_LIST(number, member, of, more) for (u32 i = 0; i < row->more; i++) PUT_MESSAGE(number, &row->member[i], of)
#define PUT_SHORT_LIST(number, member, of, more) PUT_LIST(number, member, of, more)
#define PUT_ROW(number, member, of, more) \
	for (u32 i = 0; i < row->member.count; i++) PUT_MESSAGE(number, &row->member.at[i], of)
#define PUT_TEXT_ROW(number, member, of, more) for (u32 i = 0; i < row->member.count; i++) \
	pb_put_string(b, number, row->member.at[i].at, row->member.at[i].len);

#define PUT(numbers, kind, name, json, member, of, more) PUT_##kind(OTLP_NUMBER(1_10, numbers), member, of, more)
#define DECLARE(message, type) static void put_##message(struct buf *b, const struct type *row);
#define DEFINE(message, type) static void put_##message(struct buf *b, const struct type *row) { OTLP_##message(PUT) }

/* ---- Values: one field, that of its kind, also if it is zero ----------------- */

static inline void put_double(struct buf *b, u32 number, double real)
{
	u64 bits;

	memcpy(&bits, &real, sizeof(bits));
	pb_put_fixed64(b, number, bits);
}

#define VALUE_TEXT(number, member, of) pb_put_string(b, number, row->member.at, row->member.len);
#define VALUE_BYTES(number, member, of) pb_put_bytes(b, number, row->member.at, row->member.len);
#define VALUE_BOOL(number, member, of) put_number(b, number, row->member);
#define VALUE_NUMBER(number, member, of) put_number(b, number, (u64)row->member);
#define VALUE_DOUBLE(number, member, of) put_double(b, number, row->member);
#define VALUE_ONE(number, member, of) PUT_MESSAGE(number, row, of)
#define VALUE_REFERENCE(number, member, of)
#define VALUE(numbers, field, name, json, member, of, more) \
	if (row->kind == more) { VALUE_##field(OTLP_NUMBER(1_10, numbers), member, of) }

OTLP_MESSAGES(DECLARE)
DECLARE(ANY, any)

static void put_ANY(struct buf *b, const struct any *row)
{
	OTLP_ANY(VALUE)
}

OTLP_MESSAGES(DEFINE)
DEFINE(REQUEST, profile)

int otlp_encode(const struct profile *profile, struct buf *out)
{
	put_REQUEST(out, profile);
	return buf_err(out);
}
