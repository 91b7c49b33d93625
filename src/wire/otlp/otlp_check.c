// SPDX-License-Identifier: Apache-2.0
/*
 * One walk over the bytes, steered by tables of what each field of each
 * message holds. Fields come in any order, and rows refer to tables that may
 * come later: so the walk keeps the highest index into each table, and compares
 * with the number of rows when it is over. Only for a request that fails is there a
 * second walk, which knows how many rows there are, stops at the culprit and tells its place.
 *
 * As strict as otlp_decode(), neither more nor less: otlp_check_fuzz.c compares them.
 */
#include "wire/otlp/otlp_check.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "profile/any.h"
#include "wire/otlp/otlp_numbering.h"
#include "wire/pb.h"


/* What a field holds. */
enum field_kind {
	OTHER,		/* not looked at */
	NUMBER,		/* varint */
	NUMBER32,	/* varint of 32 bits */
	FIXED,		/* fixed64 */
	INDEX,		/* varint, a row of table */
	INDICES,	/* the same, many, packed or not */
	PACKED,		/* INDICES that must be packed: see wire/otlp/otlp_numbering.h */
	VALUES,		/* varints, packed, in field 2 also one by one */
	TIMES,		/* fixed64s, packed or not */
	TEXT,		/* UTF-8 */
	BYTES,
	ID,		/* of size bytes, or none */
	REFERENCE,	/* varint, a string: what old receivers do not understand */
	MESSAGE,
	ONE,		/* MESSAGE that is not repeated: others would merge two of them */
	ROW,		/* MESSAGE that is a row of table */
	TEXT_ROW,	/* TEXT that is a row of table */
};

enum table { MAPPINGS, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS, TABLES };

static const char *const table_names[TABLES] = { "mapping_table", "location_table", "function_table", "link_table",
						 "string_table", "attribute_table", "stack_table" };

enum message_id {
	REQUEST, RESOURCE_PROFILES, RESOURCE, SCOPE_PROFILES, SCOPE, PROFILE, TYPE, SAMPLE,
	DICTIONARY, MAPPING, LOCATION, LINE, FUNCTION, LINK, ATTRIBUTE, STACK,
	KEYVALUE, ANY, ARRAY, KEYVALUES, MESSAGES
};

#define RULES 13

struct rule {
	u8 kind;
	u8 table;		/* of INDEX, INDICES, PACKED, ROW; of ID its size */
	u8 message;		/* of MESSAGE, ONE, ROW */
	const char *name;
};

/* By field number. */
struct message {
	struct rule rules[RULES];
};

static const struct message messages[MESSAGES] = {
	[REQUEST] = { {
		[1] = { MESSAGE, 0, RESOURCE_PROFILES, "resource_profiles" },
		[2] = { MESSAGE, 0, DICTIONARY, "dictionary" } } },
	[RESOURCE_PROFILES] = { {
		[1] = { ONE, 0, RESOURCE, "resource" },
		[2] = { MESSAGE, 0, SCOPE_PROFILES, "scope_profiles" },
		[3] = { TEXT, 0, 0, "schema_url" } } },
	[RESOURCE] = { {
		[1] = { MESSAGE, 0, KEYVALUE, "attributes" },
		[2] = { NUMBER32, 0, 0, "dropped_attributes_count" } } },
	[SCOPE_PROFILES] = { {
		[1] = { ONE, 0, SCOPE, "scope" },
		[2] = { MESSAGE, 0, PROFILE, "profiles" },
		[3] = { TEXT, 0, 0, "schema_url" } } },
	[SCOPE] = { {
		[1] = { TEXT, 0, 0, "name" },
		[2] = { TEXT, 0, 0, "version" },
		[3] = { MESSAGE, 0, KEYVALUE, "attributes" },
		[4] = { NUMBER32, 0, 0, "dropped_attributes_count" } } },
	[PROFILE] = { {
		[1] = { ONE, 0, TYPE, "sample_type" },
		[2] = { MESSAGE, 0, SAMPLE, "samples" },
		[3] = { FIXED, 0, 0, "time_unix_nano" },
		[4] = { NUMBER, 0, 0, "duration_nano" },
		[5] = { ONE, 0, TYPE, "period_type" },
		[6] = { NUMBER, 0, 0, "period" },
		[7] = { ID, 16, 0, "profile_id" },
		[8] = { NUMBER32, 0, 0, "dropped_attributes_count" },
		[9] = { TEXT, 0, 0, "original_payload_format" },
		[10] = { BYTES, 0, 0, "original_payload" },
		[11] = { INDICES, ATTRIBUTES, 0, "attribute_indices" } } },
	[TYPE] = { {
		[1] = { INDEX, STRINGS, 0, "type_strindex" },
		[2] = { INDEX, STRINGS, 0, "unit_strindex" } } },
	[SAMPLE] = { {
		[1] = { INDEX, STACKS, 0, "stack_index" },
		[2] = { INDICES, ATTRIBUTES, 0, "attribute_indices" },
		[3] = { INDEX, LINKS, 0, "link_index" },
		[4] = { VALUES, 0, 0, "values" },
		[5] = { TIMES, 0, 0, "timestamps_unix_nano" } } },
	[DICTIONARY] = { {
		[1] = { ROW, MAPPINGS, MAPPING, "mapping_table" },
		[2] = { ROW, LOCATIONS, LOCATION, "location_table" },
		[3] = { ROW, FUNCTIONS, FUNCTION, "function_table" },
		[4] = { ROW, LINKS, LINK, "link_table" },
		[5] = { TEXT_ROW, STRINGS, 0, "string_table" },
		[6] = { ROW, ATTRIBUTES, ATTRIBUTE, "attribute_table" },
		[7] = { ROW, STACKS, STACK, "stack_table" } } },
	[MAPPING] = { {
		[1] = { NUMBER, 0, 0, "memory_start" },
		[2] = { NUMBER, 0, 0, "memory_limit" },
		[3] = { NUMBER, 0, 0, "file_offset" },
		[4] = { INDEX, STRINGS, 0, "filename_strindex" },
		[5] = { INDICES, ATTRIBUTES, 0, "attribute_indices" } } },
	[LOCATION] = { {
		[1] = { INDEX, MAPPINGS, 0, "mapping_index" },
		[2] = { NUMBER, 0, 0, "address" },
		[3] = { MESSAGE, 0, LINE, "lines" },
		[4] = { INDICES, ATTRIBUTES, 0, "attribute_indices" } } },
	[LINE] = { {
		[1] = { INDEX, FUNCTIONS, 0, "function_index" },
		[2] = { NUMBER, 0, 0, "line" },
		[3] = { NUMBER, 0, 0, "column" } } },
	[FUNCTION] = { {
		[1] = { INDEX, STRINGS, 0, "name_strindex" },
		[2] = { INDEX, STRINGS, 0, "system_name_strindex" },
		[3] = { INDEX, STRINGS, 0, "filename_strindex" },
		[4] = { NUMBER, 0, 0, "start_line" } } },
	[LINK] = { {
		[1] = { ID, 16, 0, "trace_id" },
		[2] = { ID, 8, 0, "span_id" } } },
	[ATTRIBUTE] = { {
		[1] = { INDEX, STRINGS, 0, "key_strindex" },
		[2] = { ONE, 0, ANY, "value" },
		[3] = { INDEX, STRINGS, 0, "unit_strindex" } } },
	[STACK] = { {
		[1] = { INDICES, LOCATIONS, 0, "location_indices" } } },
	[KEYVALUE] = { {
		[1] = { TEXT, 0, 0, "key" },
		[2] = { ONE, 0, ANY, "value" },
		[3] = { REFERENCE, STRINGS, 0, "key_strindex" } } },
	[ANY] = { {
		[1] = { TEXT, 0, 0, "string_value" },
		[2] = { NUMBER, 0, 0, "bool_value" },
		[3] = { NUMBER, 0, 0, "int_value" },
		[4] = { FIXED, 0, 0, "double_value" },
		[5] = { ONE, 0, ARRAY, "array_value" },
		[6] = { ONE, 0, KEYVALUES, "kvlist_value" },
		[7] = { BYTES, 0, 0, "bytes_value" },
		[8] = { REFERENCE, STRINGS, 0, "string_value_strindex" } } },
	[ARRAY] = { {
		[1] = { MESSAGE, 0, ANY, "values" } } },
	[KEYVALUES] = { {
		[1] = { MESSAGE, 0, KEYVALUE, "values" } } },
};

/* What 1.8 and 1.9 number otherwise. */
static const struct message old_sample = { {
	[1] = { INDEX, STACKS, 0, "stack_index" },
	[2] = { VALUES, 0, 0, "values" },
	[3] = { PACKED, ATTRIBUTES, 0, "attribute_indices" },
	[4] = { INDEX, LINKS, 0, "link_index" },
	[5] = { TIMES, 0, 0, "timestamps_unix_nano" } } };

static const struct message profile_1_8 = { {
	[1] = { ONE, 0, TYPE, "sample_type" },
	[2] = { MESSAGE, 0, SAMPLE, "sample" },
	[3] = { FIXED, 0, 0, "time_unix_nano" },
	[4] = { NUMBER, 0, 0, "duration_nano" },
	[5] = { ONE, 0, TYPE, "period_type" },
	[6] = { NUMBER, 0, 0, "period" },
	[8] = { ID, 16, 0, "profile_id" },
	[9] = { NUMBER32, 0, 0, "dropped_attributes_count" },
	[10] = { TEXT, 0, 0, "original_payload_format" },
	[11] = { BYTES, 0, 0, "original_payload" },
	[12] = { INDICES, ATTRIBUTES, 0, "attribute_indices" } } };

/* How deep messages nest, with the values of ANY_DEPTH_MAX, each in a KEYVALUE in KEYVALUES. */
#define PATH_STEPS_MAX (8 + 3 * (ANY_DEPTH_MAX + 1))

struct step {
	const struct rule *rule;
	u32 number;		/* which of its kind in the message */
};

/* Nothing but a field that is broken; numbers go to RULES only. */
#define BROKEN (1u << 31)

struct bytes {
	const u8 *at, *end;
};

struct field {
	u32 number, wire;
	u64 value;		/* of VARINT */
	struct bytes body;	/* of LEN */
};

struct check {
	const u8 *end;			/* of the request */
	const struct message *of[MESSAGES];
	u32 highest[TABLES];
	u32 limit[TABLES];		/* highest that is allowed; UINT32_MAX while rows are not counted */
	u64 rows[TABLES];
	u64 samples;
	size_t values, times;		/* of the sample */
	int depth;			/* of ANY */
	bool exact;			/* rows were counted: limit says how many */
	bool again;			/* to be encoded again */

	/* After a failure: what, and where, innermost first. */
	char what[128];
	struct step path[PATH_STEPS_MAX];
	u32 path_len;
};

static inline u32 set_bit(u32 bits, u32 number, bool on)
{
	return (bits & ~(1u << number)) | (u32)on << number;
}

/* ---- Failure --------------------------------------------------------------- */

static void __attribute__((noinline, cold, format(printf, 2, 3))) check_fail(struct check *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(c->what, sizeof(c->what), format, args);
	va_end(args);
}

/* Adds the field that ends at `at`, on the way out. */
static bool __attribute__((noinline, cold)) check_leave(struct check *c, const struct rule *rule, u32 number,
							struct bytes message, const u8 *at)
{
	struct pb r = { message.at, message.end, 0 };
	struct step *step = &c->path[c->path_len];
	struct pb_field f;

	if (c->path_len == PATH_STEPS_MAX)
		return false;
	c->path_len++;
	*step = (struct step){ rule, 0 };
	while (pb_next(&r, &f) && r.at < at)
		step->number += f.number == number;
	return false;
}

static bool __attribute__((noinline, cold)) check_out_of_range(struct check *c, const struct rule *rule, u64 index)
{
	check_fail(c, "%llu is outside %s, which has %llu rows", (unsigned long long)index, table_names[rule->table],
		   c->limit[rule->table] + 1ull);
	return false;
}

static bool __attribute__((noinline, cold)) check_wrong_type(struct check *c)
{
	check_fail(c, "broken, or not of the type it should be");
	return false;
}

/* ---- Reading --------------------------------------------------------------- */

#define CONTINUED 0x8080808080808080ull	/* the bit of each byte that tells that the number goes on */

/* The bits of a number of 1 to 8 bytes, without those that tell where it ends. */
static inline u64 number_of(u64 word)
{
	word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
	word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
	return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

/*
 * A number of up to 8 bytes, without a branch on its length, and where it ends. NULL if it is longer, or if the request
 * ends too soon to look at 8 bytes.
 */
static inline const u8 *short_number(const struct check *c, const u8 *at, u64 *ret_value)
{
	u64 word, stop;

	if (c->end - at < (ptrdiff_t)sizeof(word))
		return NULL;
	memcpy(&word, at, sizeof(word));
	word = le64toh(word);
	stop = ~word & CONTINUED;
	if (!stop)
		return NULL;
	/* All bits up to the lowest in stop. */
	*ret_value = number_of(word & (stop ^ (stop - 1)));
	return at + (__builtin_ctzll(stop) >> 3) + 1;
}

static const u8 *next_long(const u8 *at, const u8 *end, struct pb_field *ret_field)
{
	struct pb r = { at, end, 0 };

	return pb_next(&r, ret_field) ? r.at : NULL;
}

/*
 * What follows the field at `at`, which is before end; NULL if it is broken. Nearly all have a tag of one byte.
 * ret_field goes to no other function, so that it stays in registers.
 */
static inline const u8 *next(const struct check *c, const u8 *at, const u8 *end, struct field *ret_field)
{
	const u8 *after = at + 2;
	struct pb_field f;
	u32 tag = at[0];
	u64 value;

	if (end - at >= 2 && tag < 0x80 && tag >= 1 << 3) {
		value = at[1];
		if (value >= 0x80)
			after = short_number(c, at + 1, &value);
		ret_field->number = tag >> 3;
		ret_field->wire = tag & 7;
		if (after && after <= end && ret_field->wire == PB_VARINT) {
			ret_field->value = value;
			return after;
		}
		if (after && after <= end && ret_field->wire == PB_LEN && value <= (u64)(end - after)) {
			ret_field->body.at = after;
			ret_field->body.end = after + value;
			return after + value;
		}
	}
	f.body = (struct pb){ 0 };
	f.value = 0;
	after = next_long(at, end, &f);
	if (!after)
		return NULL;
	ret_field->number = f.number;
	ret_field->wire = f.wire;
	ret_field->value = f.value;
	ret_field->body.at = f.body.at;
	ret_field->body.end = f.body.end;
	return after;
}

/* ---- Fields ---------------------------------------------------------------- */

static inline bool check_index(struct check *c, const struct rule *rule, u64 index)
{
	if (index > c->limit[rule->table])
		return check_out_of_range(c, rule, index);
	if (index > c->highest[rule->table])
		c->highest[rule->table] = (u32)index;
	return true;
}

/*
 * Stacks are a good part of a request, and their indices have one or two bytes: the highest of 16 bytes at once. Each
 * byte that ends a number is taken with the one before it:
 *
 *	before	0xxxxxxx		0yyyyyyy	y
 *	before	1xxxxxxx		0yyyyyyy	y << 7 | x
 */
typedef u16 lanes __attribute__((vector_size(16)));
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower byte of a lane comes first");

static inline lanes numbers_ending(lanes byte, lanes before)
{
	lanes goes_on = -(before >> 7), ends = (byte >> 7) - 1;

	return ((byte & ~goes_on) | (byte << 7 & goes_on) | (before & 0x7f & goes_on)) & ends;
}

static inline lanes lanes_max(lanes a, lanes b)
{
	lanes greater = (lanes)(a > b);

	return (a & greater) | (b & ~greater);
}

/* The highest number that ends in 16 bytes; the one before them is looked at too. False if one has more than two. */
static inline bool highest_of_16(const u8 *at, lanes *highest)
{
	lanes bytes, before, longer;

	memcpy(&bytes, at, sizeof(bytes));
	memcpy(&before, at - 1, sizeof(before));
	longer = bytes & before & 0x8080;
	if (((u64 __attribute__((vector_size(16))))longer)[0] | ((u64 __attribute__((vector_size(16))))longer)[1])
		return false;
	*highest = lanes_max(*highest, numbers_ending(bytes & 0xff, before & 0xff));
	*highest = lanes_max(*highest, numbers_ending(bytes >> 8, before >> 8));
	return true;
}

/* The same of a whole list of at least 16; a list is preceded by its length, whose last byte does not go on. */
static bool highest_of_list(struct bytes list, u64 *highest)
{
	const u8 *last = list.end - sizeof(lanes);
	lanes found = { 0 };

	for (const u8 *at = list.at; at < last; at += sizeof(lanes))
		if (!highest_of_16(at, &found))
			return false;
	if (!highest_of_16(last, &found) || list.end[-1] >= 0x80)
		return false;
	for (u32 i = 0; i < sizeof(found) / sizeof(found[0]); i++)
		*highest = found[i] > *highest ? found[i] : *highest;
	return true;
}

static bool check_packed(struct check *c, const struct rule *rule, struct bytes list)
{
	u64 highest = c->highest[rule->table], value;
	struct pb rest = { list.at, list.end, 0 };
	const u8 *at;

	if (list.end - list.at >= (ptrdiff_t)sizeof(lanes) && highest_of_list(list, &highest))
		return check_index(c, rule, highest);
	while (rest.at < rest.end && (at = short_number(c, rest.at, &value))) {
		highest = value > highest ? value : highest;
		rest.at = at;
	}
	while (rest.at < rest.end) {
		value = pb_varint(&rest);
		highest = value > highest ? value : highest;
	}
	/* The last number may have gone on behind the list. */
	return rest.err || rest.at > rest.end ? check_wrong_type(c) : check_index(c, rule, highest);
}

static bool check_values(struct check *c, u32 number, u32 wire, struct bytes body)
{
	struct pb list = { body.at, body.end, 0 };

	if (wire == PB_VARINT && number == 2) {
		c->values++;
		return true;
	}
	if (wire != PB_LEN)
		return check_wrong_type(c);
	for (; list.at < list.end; c->values++)
		(void)pb_varint(&list);
	return !list.err || check_wrong_type(c);
}

static bool check_times(struct check *c, u32 wire, struct bytes body)
{
	size_t len = (size_t)(body.end - body.at);

	if (wire == PB_FIXED64) {
		c->times++;
		return true;
	}
	if (wire != PB_LEN || len % sizeof(u64))
		return check_wrong_type(c);
	c->times += len / sizeof(u64);
	return true;
}

/* An empty id leaves what an earlier one said. */
static bool check_id(struct check *c, const struct rule *rule, u32 number, u32 wire, struct bytes body, u32 *nonzero)
{
	static const u8 none[16];
	size_t len = wire == PB_LEN ? (size_t)(body.end - body.at) : 1;

	if (len && len != rule->table)
		return check_wrong_type(c);
	if (len)
		*nonzero = set_bit(*nonzero, number, memcmp(body.at, none, len) != 0);
	return true;
}

static inline bool check_text(struct check *c, u32 wire, struct bytes body)
{
	if (wire != PB_LEN)
		return check_wrong_type(c);
	if (!utf8_valid((const char *)body.at, (size_t)(body.end - body.at)))
		c->again = true;
	return true;
}

/* ---- Messages -------------------------------------------------------------- */

/* A bit for each field that has another value than its default, of ANY for each field; BROKEN. */
static u32 check_message(struct check *c, enum message_id id, struct bytes message);

static u32 check_sample(struct check *c, struct bytes message)
{
	u32 r;

	c->samples++;
	c->values = 0;
	c->times = 0;
	r = check_message(c, SAMPLE, message);
	if (r == BROKEN || c->values == c->times || !c->values || !c->times)
		return r;
	/* One value for many times is understood here, but not by others. */
	c->again = true;
	if (c->values == 1)
		return r;
	check_fail(c, "%zu values do not go with %zu timestamps", c->values, c->times);
	return BROKEN;
}

static u32 check_any(struct check *c, struct bytes message)
{
	u32 r;

	if (c->depth == ANY_DEPTH_MAX) {
		check_fail(c, "values are nested deeper than %d", ANY_DEPTH_MAX);
		return BROKEN;
	}
	c->depth++;
	r = check_message(c, ANY, message);
	c->depth--;
	/* One of its kinds: which, if there are two, is up to the reader. */
	if (r & (r - 1))
		c->again = true;
	return r;
}

static inline u32 check_nested(struct check *c, const struct rule *rule, u32 wire, struct bytes body)
{
	if (wire != PB_LEN) {
		check_wrong_type(c);
		return BROKEN;
	}
	if (rule->message == SAMPLE)
		return check_sample(c, body);
	if (rule->message == ANY)
		return check_any(c, body);
	return check_message(c, rule->message, body);
}

/* The first row of each table must be its zero value. */
static inline bool check_row(struct check *c, const struct rule *rule, u32 wire, struct bytes body)
{
	u32 nonzero;

	if (rule->kind == TEXT_ROW)
		nonzero = check_text(c, wire, body) ? body.at != body.end : BROKEN;
	else
		nonzero = check_nested(c, rule, wire, body);
	if (nonzero == BROKEN)
		return false;
	if (c->rows[rule->table]++ == 0 && nonzero) {
		check_fail(c, "the first row must be empty");
		return false;
	}
	return true;
}

/* A number of a message, or an index. */
static inline bool check_number(struct check *c, const struct rule *rule, u32 number, u32 wire, u64 value,
				u32 *nonzero)
{
	if (wire != PB_VARINT || (rule->kind == NUMBER32 && value > UINT32_MAX))
		return check_wrong_type(c);
	if (rule->kind == REFERENCE)
		c->again = true;
	*nonzero = set_bit(*nonzero, number, value != 0);
	return rule->kind <= NUMBER32 || check_index(c, rule, value);
}

static inline bool check_indices(struct check *c, const struct rule *rule, u32 number, u32 wire, u64 value,
				 struct bytes body, u32 *nonzero)
{
	*nonzero |= (u32)(wire != PB_LEN || body.at != body.end) << number;
	if (wire == PB_LEN)
		return check_packed(c, rule, body);
	if (wire != PB_VARINT || rule->kind == PACKED)
		return check_wrong_type(c);
	return check_index(c, rule, value);
}

/* Its parts, not the field: in registers, since messages are short and this is called for each of their fields. */
static inline bool check_field(struct check *c, const struct rule *rule, u32 number, u32 wire, u64 value,
			       struct bytes body, u32 *nonzero)
{
	u32 inner;

	switch (rule->kind) {
	case OTHER:
		return true;
	case NUMBER:
	case NUMBER32:
	case INDEX:
	case REFERENCE:
		return check_number(c, rule, number, wire, value, nonzero);
	case INDICES:
	case PACKED:
		return check_indices(c, rule, number, wire, value, body, nonzero);
	case FIXED:
		return wire == PB_FIXED64 || check_wrong_type(c);
	case BYTES:
		return wire == PB_LEN || check_wrong_type(c);
	case TEXT:
		return check_text(c, wire, body);
	case VALUES:
		return check_values(c, number, wire, body);
	case TIMES:
		return check_times(c, wire, body);
	case ID:
		return check_id(c, rule, number, wire, body, nonzero);
	case ROW:
	case TEXT_ROW:
		return check_row(c, rule, wire, body);
	case MESSAGE:
		*nonzero |= 1u << number;
		return check_nested(c, rule, wire, body) != BROKEN;
	case ONE:
		inner = check_nested(c, rule, wire, body);
		/* Of two values the last one counts, and it may be an empty one. */
		*nonzero = set_bit(*nonzero, number, inner != 0);
		return inner != BROKEN;
	}
	return true;
}

/* An index out of range does no harm if another one follows in the same message. */
static bool __attribute__((noinline, cold)) check_overridden(struct check *c, const struct rule *rule, u32 number,
							     u32 wire, u64 index, struct bytes rest)
{
	struct pb r = { rest.at, rest.end, 0 };
	struct pb_field f;

	if (!c->exact || rule->kind != INDEX || wire != PB_VARINT || index > UINT32_MAX)
		return false;
	while (pb_next(&r, &f))
		if (f.number == number)
			return c->again = true;
	return false;
}

static u32 check_message(struct check *c, enum message_id id, struct bytes message)
{
	const struct rule *rules = c->of[id]->rules;
	u32 nonzero = 0, seen = 0;
	struct field f = { 0 };

	for (const u8 *at = message.at; at < message.end;) {
		const struct rule *rule;

		at = next(c, at, message.end, &f);
		if (!at) {
			check_fail(c, "not protobuf");
			return BROKEN;
		}
		rule = &rules[f.number < RULES ? f.number : 0];
		/* Two of what there should be one of: others take both, the first, or the last. */
		if (rule->kind == ONE && seen >> f.number & 1)
			c->again = true;
		seen |= rule->kind != OTHER ? 1u << f.number : 0;
		if (!check_field(c, rule, f.number, f.wire, f.value, f.body, &nonzero) &&
		    !check_overridden(c, rule, f.number, f.wire, f.value, (struct bytes){ at, message.end })) {
			check_leave(c, rule, f.number, message, at);
			return BROKEN;
		}
	}
	return id == ANY ? seen : nonzero;
}

/* ---- The request ----------------------------------------------------------- */

static void check_init(struct check *c, enum otlp_numbering numbering, const u8 *end)
{
	memset(c, 0, sizeof(*c));
	c->end = end;
	memset(c->limit, 0xff, sizeof(c->limit));
	for (u32 i = 0; i < MESSAGES; i++)
		c->of[i] = &messages[i];
	if (numbering != OTLP_1_10)
		c->of[SAMPLE] = &old_sample;
	if (numbering == OTLP_1_8)
		c->of[PROFILE] = &profile_1_8;
}

/* A table that is not there has its first row all the same. */
static bool check_tables(struct check *c)
{
	bool ok = true;

	for (u32 i = 0; i < TABLES; i++) {
		ok &= c->highest[i] < (c->rows[i] ? c->rows[i] : 1);
		c->again |= !c->rows[i];
	}
	return ok;
}

static void count_rows(struct pb request, u64 rows[TABLES])
{
	struct pb_field f, row;

	while (pb_next(&request, &f))
		for (struct pb m = f.body; f.number == 2 && f.wire == PB_LEN && pb_next(&m, &row);)
			if (row.number <= TABLES)
				rows[row.number - 1]++;
}

/* The walk that knows how many rows there are, and where it fails. */
static bool check_exactly(struct check *c, enum otlp_numbering numbering, struct pb request)
{
	u64 rows[TABLES] = { 0 };

	count_rows(request, rows);
	check_init(c, numbering, request.end);
	c->exact = true;
	for (u32 i = 0; i < TABLES; i++)
		c->limit[i] = (u32)(rows[i] ? rows[i] - 1 : 0);
	return check_message(c, REQUEST, (struct bytes){ request.at, request.end }) != BROKEN;
}

static void check_explain(const struct check *c, struct buf *why)
{
	for (u32 i = c->path_len; i-- > 0;) {
		const struct step *step = &c->path[i];

		buf_addf(why, "%s", step->rule->name);
		if (step->rule->kind == MESSAGE || step->rule->kind >= ROW)
			buf_addf(why, "[%u]", step->number);
		buf_addf(why, i ? "." : ": ");
	}
	buf_addf(why, "%s", c->what);
}

/* What could not be taken at a first glance: an older numbering, something odd, or broken. */
static int check_again(struct pb request, u64 *ret_samples, struct buf *why)
{
	struct check newest, older;
	struct otlp_info info;

	if (check_exactly(&newest, OTLP_1_10, request)) {
		*ret_samples = newest.samples;
		return 1;
	}
	if (otlp_evidence_contradicts(otlp_evidence_find(request))) {
		buf_addf(why, "samples are numbered as in OTLP 1.9 and as in 1.10 in one request");
		return -EBADMSG;
	}
	if (!otlp_older_numbering(request, &info)) {
		check_explain(&newest, why);
		return -EBADMSG;
	}
	if (check_exactly(&older, info.numbering, request)) {
		*ret_samples = older.samples;
		return 1;
	}
	check_explain(info.guessed ? &newest : &older, why);
	return -EBADMSG;
}

int otlp_check(const void *at, size_t bytes, u64 *ret_samples, struct buf *why)
{
	struct pb request = pb_from(at, bytes);
	struct check c;

	if (bytes > INT32_MAX) {
		buf_addf(why, "%zu bytes are too many for one request", bytes);
		return -E2BIG;
	}
	check_init(&c, OTLP_1_10, request.end);
	if (check_message(&c, REQUEST, (struct bytes){ request.at, request.end }) == BROKEN || !check_tables(&c))
		return check_again(request, ret_samples, why);
	*ret_samples = c.samples;
	return c.again;
}
