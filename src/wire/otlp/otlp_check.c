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

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "profile/any.h"
#include "wire/otlp/otlp_older.h"
#include "wire/otlp/otlp_schema.h"
#include "wire/pb.h"


/* What a field holds: kinds of otlp_schema.h, those that are checked alike as one. */
enum field_kind {
	OTHER,		/* not looked at */
	NUMBER, NUMBER32, FIXED, INDEX, INDICES, VALUES, TIMES, TEXT, BYTES, ID, REFERENCE,
	MESSAGE,
	ONE,		/* MESSAGE that is not repeated: others would merge two of them */
	ROW, TEXT_ROW,

	BOOL = NUMBER, DOUBLE = FIXED, ITSELF = INDICES, KEY = TEXT, OPTIONAL_ID = ID, LIST = MESSAGE,
	SHORT_LIST = MESSAGE, TYPE = ONE, ANY = ONE, SOME = ONE, PART = ONE,
};

enum table {
#define TABLE(name, row) name,
	OTLP_TABLES(TABLE)
	TABLES
};

static const char *const table_names[TABLES] = {
#define TABLE_NAME(name, row) #row "_table",
	OTLP_TABLES(TABLE_NAME)
};

enum message_id {
#define MESSAGE_ID(message, type) MESSAGE_##message,
	OTLP_MESSAGES(MESSAGE_ID) MESSAGE_ANY, MESSAGE_REQUEST, MESSAGES
};

#define RULES 12

struct rule {
	u8 kind;
	u8 of;			/* the table of an index or a row, the bytes of an id, the message in a message */
	u8 table;		/* of ROW */
	const char *name;
};

/* By field number. */
struct message {
	struct rule rules[RULES];
};

enum {
	OF_ = 0, OF_8 = 8, OF_16 = 16,
#define OF_TABLE(name, row) OF_##name = name,
	OTLP_TABLES(OF_TABLE)
#define OF_MESSAGE(message, type) OF_##message = MESSAGE_##message,
	OTLP_MESSAGES(OF_MESSAGE) OF_ANY = MESSAGE_ANY,
};

#define RULE(numbers, kind, name, json, member, of, more) [OTLP_NUMBER(1_10, numbers)] = { kind, OF_##of, 0, #name },
/* All is repeated in a request, also the dictionary: rows of a second one follow those of the first. */
#define REQUEST_RULE(numbers, kind, name, json, member, of, more) \
	[OTLP_NUMBER(1_10, numbers)] = { MESSAGE, OF_##of, 0, #name },
#define ROW_RULE(numbers, kind, name, json, member, of, more) \
	[OTLP_NUMBER(1_10, numbers)] = { kind, OF_##of, more, #name },
#define RULES_OF(message, type) [MESSAGE_##message] = { { OTLP_##message(RULE) } },

/* What each takes when it is decoded, without what it points to. */
#define STRUCT_BYTES(message, type) [MESSAGE_##message] = sizeof(struct type),
static const u16 struct_bytes[MESSAGES] = { OTLP_MESSAGES(STRUCT_BYTES) STRUCT_BYTES(ANY, any) };

static const struct message rules_of[] = { OTLP_MESSAGES(RULES_OF) RULES_OF(ANY, any) };
static const struct message request_rules = { { OTLP_REQUEST(REQUEST_RULE) } };
static const struct message dictionary_rules = { { OTLP_DICTIONARY(ROW_RULE) } };

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
	u32 highest[TABLES];
	u32 limit[TABLES];		/* highest that is allowed; UINT32_MAX while rows are not counted */
	u64 rows[TABLES];
	u64 samples;
	u64 decoded;			/* bytes that messages take as structs */
	u32 groups;			/* resources, scopes, profiles */
	size_t values, times;		/* of the sample */
	int depth;			/* of ANY */
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
	check_fail(c, "%llu is outside %s, which has %llu rows", (unsigned long long)index, table_names[rule->of],
		   c->limit[rule->of] + 1ull);
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
	if (index > c->limit[rule->of])
		return check_out_of_range(c, rule, index);
	if (index > c->highest[rule->of])
		c->highest[rule->of] = (u32)index;
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
	u64 highest = c->highest[rule->of], value;
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

/* A lone number is a link of 1.9: see otlp_older.h. */
static bool check_values(struct check *c, u32 wire, struct bytes body)
{
	struct pb list = { body.at, body.end, 0 };

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

	if (len && len != rule->of)
		return check_wrong_type(c);
	assert(!len || body.at);	/* ids are longer than what stands for another type */
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
	r = check_message(c, MESSAGE_SAMPLE, message);
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
	r = check_message(c, MESSAGE_ANY, message);
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
	c->decoded += struct_bytes[rule->of];
	if (rule->of == MESSAGE_SAMPLE)
		return check_sample(c, body);
	if (rule->of == MESSAGE_ANY)
		return check_any(c, body);
	if ((rule->of == MESSAGE_PROFILE || rule->of == MESSAGE_SCOPE_PROFILES ||
	     rule->of == MESSAGE_RESOURCE_PROFILES) && ++c->groups > OTLP_GROUPS_MAX) {
		check_fail(c, "more than %u resources, scopes and profiles", OTLP_GROUPS_MAX);
		return BROKEN;
	}
	return check_message(c, rule->of, body);
}

/* The first row of each table must be its zero value. */
static inline bool check_row(struct check *c, const struct rule *rule, u32 wire, struct bytes body)
{
	u32 nonzero;

	c->decoded += rule->kind == TEXT_ROW ? sizeof(struct str) : 0;
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
	if (wire != PB_VARINT)
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
		return check_indices(c, rule, number, wire, value, body, nonzero);
	case FIXED:
		return wire == PB_FIXED64 || check_wrong_type(c);
	case BYTES:
		return wire == PB_LEN || check_wrong_type(c);
	case TEXT:
		return check_text(c, wire, body);
	case VALUES:
		return check_values(c, wire, body);
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

static u32 check_message(struct check *c, enum message_id id, struct bytes message)
{
	const struct rule *rules = id == MESSAGE_REQUEST ? request_rules.rules :
				   id == MESSAGE_DICTIONARY ? dictionary_rules.rules : rules_of[id].rules;
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
		if (!check_field(c, rule, f.number, f.wire, f.value, f.body, &nonzero)) {
			check_leave(c, rule, f.number, message, at);
			return BROKEN;
		}
	}
	return id == MESSAGE_ANY ? seen : nonzero;
}

/* ---- The request ----------------------------------------------------------- */

static void check_init(struct check *c, const u8 *end)
{
	memset(c, 0, sizeof(*c));
	c->end = end;
	memset(c->limit, 0xff, sizeof(c->limit));
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
static bool check_exactly(struct check *c, struct pb request)
{
	u64 rows[TABLES] = { 0 };

	count_rows(request, rows);
	check_init(c, request.end);
	for (u32 i = 0; i < TABLES; i++)
		c->limit[i] = (u32)(rows[i] ? rows[i] - 1 : 0);
	return check_message(c, MESSAGE_REQUEST, (struct bytes){ request.at, request.end }) != BROKEN;
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

/* What could not be taken at a first glance: an older version, something odd, or broken. */
static int check_again(struct pb request, u64 *ret_samples, struct buf *why)
{
	_cleanup_(buf_done) struct buf rewritten;
	struct check newest, older;
	struct otlp_info info;
	int r;

	if (check_exactly(&newest, request)) {
		*ret_samples = newest.samples;
		return 1;
	}
	if (newest.groups > OTLP_GROUPS_MAX) {
		check_explain(&newest, why);
		return -E2BIG;
	}
	buf_init(&rewritten, OTLP_OLDER_BYTES_MAX);
	r = otlp_older_rewrite(request, &rewritten, &info, why);
	if (r < 0) {
		if (!why->len)
			check_explain(&newest, why);
		return r;
	}
	if (check_exactly(&older, pb_from(rewritten.data, rewritten.len))) {
		*ret_samples = older.samples;
		return 1;
	}
	if (!info.guessed)
		buf_addf(why, "read as OTLP profiles %s: ", otlp_version_text(info.numbering));
	check_explain(info.guessed ? &newest : &older, why);
	return -EBADMSG;
}

int otlp_check(const void *at, size_t bytes, size_t decoded_max, u64 *ret_samples, struct buf *why)
{
	struct pb request = pb_from(at, bytes);
	struct check c;

	if (bytes > INT32_MAX) {
		buf_addf(why, "%zu bytes are too many for one request", bytes);
		return -E2BIG;
	}
	check_init(&c, request.end);
	if (check_message(&c, MESSAGE_REQUEST, (struct bytes){ request.at, request.end }) == BROKEN ||
	    !check_tables(&c))
		return check_again(request, ret_samples, why);
	if (c.decoded > decoded_max) {
		buf_addf(why, "decoded it would take %llu bytes of memory, which is more than it may",
			 (unsigned long long)c.decoded);
		return -E2BIG;
	}
	*ret_samples = c.samples;
	return c.again;
}
