// SPDX-License-Identifier: Apache-2.0
/* As otlp_encode.c: a function for each message of otlp_schema.h. Zero is the default and is left out. */
#include <string.h>

#include "base/json_write.h"
#include "profile/profile.h"
#include "wire/otlp/otlp_json.h"
#include "wire/otlp/otlp_schema.h"

/* text: a comma, the key in quotes, a colon. */
static inline void put_key(struct json_write *j, const char *text, size_t len)
{
	struct buf *b = j->b;

	if (b->cap - b->len >= len || buf_reserve(b, len) == 0) {
		memcpy(b->data + b->len, text + !j->comma, len);
		b->len += len - !j->comma;
	}
	j->comma = false;
}
#define KEY(json) put_key(j, ",\"" #json "\":", sizeof(",\"" #json "\":") - 1)

#define PUT_NUMBER(json, member, of, more) if (row->member) { KEY(json); \
	_Generic(row->member, u32: json_write_u32, u64: json_write_u64, s64: json_write_s64)(j, row->member); }
#define PUT_NUMBER32(json, member, of, more) PUT_NUMBER(json, member, of, more)
#define PUT_INDEX(json, member, of, more) PUT_NUMBER(json, member, of, more)
#define PUT_FIXED(json, member, of, more) PUT_NUMBER(json, member, of, more)
#define PUT_INDICES(json, member, of, more) if (row->member.count) { KEY(json); \
	json_write_u32_list(j, row->member.at, row->member.count); }
#define PUT_ITSELF(json, member, of, more) if (row->count) { KEY(json); json_write_u32_list(j, row->at, row->count); }
#define PUT_REFERENCE(json, member, of, more)		/* written out in full, as everybody understands it */
#define PUT_EACH(json, count, put) { KEY(json); json_write_open(j, '['); \
	for (u32 i = 0; i < count; i++) { put } json_write_close(j, ']'); }
#define PUT_VALUES(json, member, of, more) if (row->more && otlp_has_values(row)) \
	PUT_EACH(json, row->more, json_write_s64(j, row->member[i]);)
#define PUT_TIMES(json, member, of, more) if (row->more && otlp_has_times(row)) \
	PUT_EACH(json, row->more, json_write_u64(j, row->member[i]);)
#define PUT_TEXT(json, member, of, more) if (row->member.len) { KEY(json); \
	json_write_string(j, row->member.at, row->member.len); }
#define PUT_KEY(json, member, of, more) PUT_TEXT(json, member, of, more)
#define PUT_BYTES(json, member, of, more) if (row->member.len) { KEY(json); \
	json_write_base64(j, row->member.at, row->member.len); }
#define PUT_HEX(json, member, of) { KEY(json); json_write_hex(j, row->member, of); }
#define PUT_ID(json, member, of, more) if (!otlp_is_no_link(row)) PUT_HEX(json, member, of)
#define PUT_OPTIONAL_ID(json, member, of, more) if (row->has_##member) PUT_HEX(json, member, of)
#define PUT_OBJECT(row, of) json_write_open(j, '{'); put_##of(j, row); json_write_close(j, '}');
#define PUT_ANY(json, member, of, more) KEY(json); PUT_OBJECT(&row->member, of)
#define PUT_SOME(json, member, of, more) if (row->member.kind != ANY_NONE) { PUT_ANY(json, member, of, more) }
#define PUT_TYPE(json, member, of, more) if (row->member.type || row->member.unit) { PUT_ANY(json, member, of, more) }
#define PUT_PART(json, member, of, more) KEY(json); PUT_OBJECT(row, of)
#define PUT_LIST(json, member, of, more) PUT_EACH(json, row->more, PUT_OBJECT(&row->member[i], of))
#define PUT_SHORT_LIST(json, member, of, more) if (row->more) PUT_LIST(json, member, of, more)
#define PUT_ROW(json, member, of, more) PUT_EACH(json, row->member.count, PUT_OBJECT(&row->member.at[i], of))
#define PUT_TEXT_ROW(json, member, of, more) \
	PUT_EACH(json, row->member.count, json_write_string(j, row->member.at[i].at, row->member.at[i].len);)

#define PUT(numbers, kind, name, json, member, of, more) PUT_##kind(json, member, of, more)
#define DECLARE(message, type) static void put_##message(struct json_write *j, const struct type *row);
#define DEFINE(message, type) \
	static void put_##message(struct json_write *j, const struct type *row) { OTLP_##message(PUT) }

/* ---- Values: one member, that of its kind, also if it is zero ---------------- */

#define VALUE_TEXT(json, member, of) KEY(json); json_write_string(j, row->member.at, row->member.len);
#define VALUE_BYTES(json, member, of) KEY(json); json_write_base64(j, row->member.at, row->member.len);
#define VALUE_BOOL(json, member, of) KEY(json); json_write_bool(j, row->member);
#define VALUE_NUMBER(json, member, of) KEY(json); json_write_s64(j, row->member);
#define VALUE_DOUBLE(json, member, of) KEY(json); json_write_double(j, row->member);
#define VALUE_ONE(json, member, of) KEY(json); PUT_OBJECT(row, of)
#define VALUE_REFERENCE(json, member, of)
#define VALUE(numbers, field, name, json, member, of, more) \
	if (row->kind == more) { VALUE_##field(json, member, of) }

OTLP_MESSAGES(DECLARE)
DECLARE(ANY, any)

static void put_ANY(struct json_write *j, const struct any *row)
{
	OTLP_ANY(VALUE)
}

OTLP_MESSAGES(DEFINE)
DEFINE(REQUEST, profile)

int otlp_json_encode(const struct profile *profile, struct buf *out)
{
	struct json_write j = { .b = out };

	json_write_open(&j, '{');
	put_REQUEST(&j, profile);
	json_write_close(&j, '}');
	buf_add(out, "\n", 1);
	return buf_err(out);
}
