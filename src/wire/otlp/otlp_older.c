// SPDX-License-Identifier: Apache-2.0
/*
 * What is around profiles is the same in all versions and copied as it is. Of 1.8 and 1.9 fields get other numbers. Of
 * what is older, tables go row by row into a profile that has nothing else, which then is the dictionary.
 */
#include "wire/otlp/otlp_older.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/profile.h"
#include "wire/otlp/otlp_schema.h"

#define TYPES_MAX 64u			/* of the values of one profile */
#define STACK_ENTRIES_MAX (16u << 20)	/* stacks are parts of one list, and may overlap */

/* Such as SAMPLE_values: the numbers of 1.10. */
#define NAME(message, name, numbers) message##_##name = OTLP_NUMBER(1_10, numbers),
#define REQUEST(numbers, kind, name, json, member, of, more) NAME(REQUEST, name, numbers)
#define RESOURCES(numbers, kind, name, json, member, of, more) NAME(RESOURCES, name, numbers)
#define SCOPES(numbers, kind, name, json, member, of, more) NAME(SCOPES, name, numbers)
#define DICTIONARY(numbers, kind, name, json, member, of, more) NAME(DICTIONARY, name, numbers)
#define PROFILE(numbers, kind, name, json, member, of, more) NAME(PROFILE, name, numbers)
#define TYPE(numbers, kind, name, json, member, of, more) NAME(TYPE, name, numbers)
#define SAMPLE(numbers, kind, name, json, member, of, more) NAME(SAMPLE, name, numbers)
#define KEYVALUE(numbers, kind, name, json, member, of, more) NAME(KEYVALUE, name, numbers)
enum {
	OTLP_REQUEST(REQUEST) OTLP_RESOURCE_PROFILES(RESOURCES) OTLP_SCOPE_PROFILES(SCOPES) OTLP_DICTIONARY(DICTIONARY)
	OTLP_PROFILE(PROFILE) OTLP_TYPE(TYPE) OTLP_SAMPLE(SAMPLE) OTLP_KEYVALUE(KEYVALUE)
};

enum table {
#define TABLE(name, row) name,
	OTLP_TABLES(TABLE)
	TABLES
};

/* The number of 1.10 by that of the version; those that are not in it stand behind NUMBERS. */
#define NUMBERS 32
#define NOW(version, numbers) [OTLP_NUMBER(version, numbers) ? OTLP_NUMBER(version, numbers) \
	: NUMBERS + OTLP_NUMBER(1_10, numbers)] = OTLP_NUMBER(1_10, numbers),
#define NOW_1_3(numbers, kind, name, json, member, of, more) NOW(1_3, numbers)
#define NOW_1_5(numbers, kind, name, json, member, of, more) NOW(1_5, numbers)
#define NOW_1_7(numbers, kind, name, json, member, of, more) NOW(1_7, numbers)
#define NOW_1_8(numbers, kind, name, json, member, of, more) NOW(1_8, numbers)
#define NOW_1_9(numbers, kind, name, json, member, of, more) NOW(1_9, numbers)
#define VERSIONS(message) { \
	[OTLP_1_3] = { OTLP_##message(NOW_1_3) }, [OTLP_1_5] = { OTLP_##message(NOW_1_5) }, \
	[OTLP_1_6] = { OTLP_##message(NOW_1_7) }, [OTLP_1_7] = { OTLP_##message(NOW_1_7) }, \
	[OTLP_1_8] = { OTLP_##message(NOW_1_8) }, [OTLP_1_9] = { OTLP_##message(NOW_1_9) } }
typedef const u8 numbers_now[OTLP_1_10][2 * NUMBERS];
static numbers_now profile_now = VERSIONS(PROFILE), sample_now = VERSIONS(SAMPLE),
		   dictionary_now = VERSIONS(DICTIONARY), mapping_now = VERSIONS(MAPPING),
		   location_now = VERSIONS(LOCATION), function_now = VERSIONS(FUNCTION),
		   line_now = VERSIONS(LINE), link_now = VERSIONS(LINK);

/* What 1.10 has not. */
static const struct {
	const char *text;
	u8 sample_locations, sample_start, sample_length;	/* of a stack: a list, or a part of the profile's */
	u8 location_indices, attribute_units, attributes;	/* of a profile, or of the tables */
} versions[] = {
	[OTLP_1_3] = { "1.3 (Collector 0.110 to 0.114)", 1, 7, 8, 15, 17, 0 },
	[OTLP_1_5] = { "1.4 or 1.5 (Collector 0.115 to 0.127)", 0, 1, 2, 5, 8, 18 },
	[OTLP_1_6] = { "1.6", 0, 1, 2, 3, 7, 0 },
	[OTLP_1_7] = { "1.7 (Collector 0.128 to 0.135)", 0, 1, 2, 3, 7, 0 },
	[OTLP_1_8] = { "1.8 (Collector 0.136 to 0.139)", 0, 0, 0, 0, 0, 0 },
	[OTLP_1_9] = { "1.9 (Collector 0.140 to 0.147)", 0, 0, 0, 0, 0, 0 },
	[OTLP_1_10] = { "1.10", 0, 0, 0, 0, 0, 0 },
};

const char *otlp_version_text(enum otlp_numbering numbering)
{
	return versions[numbering].text;
}

/* ---- Which version ------------------------------------------------------------- */

struct evidence {
	bool v1_3, v1_5, v1_7, v1_8, v1_9, v1_10;	/* v1_7: or older; v1_9: or 1.8 */
	bool tables;					/* of 1.6 */
};

static void look_at_sample(struct evidence *e, struct pb m)
{
	struct pb_field f;

	while (pb_next(&m, &f)) {
		e->v1_9 |= (f.number == 3 && f.wire == PB_LEN) || (f.number == 4 && f.wire == PB_VARINT);
		e->v1_10 |= (f.number == 4 && f.wire == PB_LEN) || (f.number == 3 && f.wire == PB_VARINT);
	}
}

static void look_at_profile(struct evidence *e, struct pb m)
{
	struct pb_field f;

	while (pb_next(&m, &f)) {
		bool len = f.wire == PB_LEN, varint = f.wire == PB_VARINT;

		if (f.number == PROFILE_samples && len)
			look_at_sample(e, f.body);
		e->v1_3 |= f.number == 2 && f.wire == PB_FIXED64;
		e->v1_7 |= (f.number == 3 && len) || (f.number == 5 && varint) || (f.number == 6 && len) ||
			   (f.number >= 13 && f.number <= 22);
		e->v1_5 |= ((f.number == 4 || f.number == 5) && len) || (f.number >= 15 && f.number <= 22);
		e->v1_8 |= (f.number == 8 && len) || (f.number == 9 && varint);
	}
}

/* Follows field 2 down: resource_profiles, scope_profiles, profiles. */
static void look_below(struct evidence *e, struct pb m, u32 number, int levels)
{
	struct pb_field f;

	while (pb_next(&m, &f)) {
		e->tables |= levels == 2 && f.number > REQUEST_dictionary && f.number <= 8;
		if (f.number != number || f.wire != PB_LEN)
			continue;
		if (levels)
			look_below(e, f.body, 2, levels - 1);
		else
			look_at_profile(e, f.body);
	}
}

/* The version to try for a request that is not of 1.10; false if there is none, or two. */
static bool find_version(struct pb request, struct otlp_info *ret_info, struct buf *why)
{
	struct evidence e = { 0 };

	look_below(&e, request, 1, 2);
	*ret_info = (struct otlp_info){ .guessed = !e.v1_3 && !e.v1_7 && !e.v1_8 && !e.v1_9 };
	if (e.v1_3)
		ret_info->numbering = OTLP_1_3;
	else if (e.v1_7)
		ret_info->numbering = e.v1_5 ? OTLP_1_5 : e.tables ? OTLP_1_6 : OTLP_1_7;
	else
		ret_info->numbering = e.v1_8 ? OTLP_1_8 : OTLP_1_9;
	if (why && ret_info->numbering >= OTLP_1_8 && e.v1_10 && !ret_info->guessed)
		buf_addf(why, "samples are numbered as in OTLP 1.9 and as in 1.10 in one request");
	return e.v1_3 || e.v1_7 || !e.v1_10;
}

/* ---- What is older than 1.8 ------------------------------------------------------ */

struct list {
	u64 *at;
	u32 count, cap;
};

struct older {
	enum otlp_numbering version;
	struct profile *dictionary;
	struct list rows[TABLES];	/* where rows are in the dictionary */
	struct list units;		/* string of a key << 32 | string of its unit */
	struct list stacks;		/* location_indices of the profile */
	struct list values, times, attributes, stack, types;
	u64 stack_entries;
	struct profile_line *lines;	/* of a location */
	u32 *scratch;
	u32 line_cap, scratch_cap;
	struct buf *out;
	const char *wrong;		/* what cannot be read */
	int err;
};

static void older_done(struct older *o)
{
	struct list *const lists[] = { &o->units, &o->stacks, &o->values, &o->times, &o->attributes, &o->stack,
				       &o->types };

	for (u32 i = 0; i < TABLES; i++)
		free(o->rows[i].at);
	for (u32 i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		free(lists[i]->at);
	free(o->lines);
	free(o->scratch);
	profile_free(o->dictionary);
}

static void refuse(struct older *o, int err, const char *wrong)
{
	if (o->err)
		return;
	o->err = err;
	o->wrong = wrong;
}

static void list_add(struct older *o, struct list *list, u64 value)
{
	if (list->count == PROFILE_TABLE_MAX || array_reserve(&list->at, &list->cap, list->count + 1, sizeof(u64)) < 0)
		refuse(o, -ENOMEM, "memory is short");
	else
		list->at[list->count++] = value;
}

/* Numbers of a repeated field, packed or not. */
static void list_read(struct older *o, struct list *list, const struct pb_field *f)
{
	struct pb body = f->body;

	if (f->wire == PB_VARINT)
		list_add(o, list, f->value);
	else if (f->wire != PB_LEN)
		refuse(o, -EBADMSG, "a list of numbers is broken");
	while (f->wire == PB_LEN && body.at < body.end && !o->err) {
		u64 value = pb_varint(&body);

		if (body.err)
			refuse(o, -EBADMSG, "a list of numbers is broken");
		else
			list_add(o, list, value);
	}
}

static u32 row_at(struct older *o, enum table table, u64 row)
{
	static const char *const outside[] = {
#define OUTSIDE(name, row) "an index is outside " #row "_table",
		OTLP_TABLES(OUTSIDE)
	};

	if (row < o->rows[table].count)
		return (u32)o->rows[table].at[row];
	/* A table that is not there has its first row all the same. */
	if (row)
		refuse(o, -EBADMSG, outside[table]);
	return 0;
}

static u32 row_of(struct older *o, enum table table, const struct pb_field *f)
{
	if (f->wire != PB_VARINT)
		refuse(o, -EBADMSG, "an index is not a number");
	return row_at(o, table, f->wire == PB_VARINT ? f->value : 0);
}

static u8 now(const struct older *o, numbers_now *message, const struct pb_field *f)
{
	return f->number < NUMBERS ? (*message)[o->version][f->number] : 0;
}

/* The attributes that a row listed; borrowed until the next. */
static struct indices attributes_listed(struct older *o)
{
	if (array_reserve(&o->scratch, &o->scratch_cap, o->attributes.count, sizeof(*o->scratch)) < 0)
		refuse(o, -ENOMEM, "memory is short");
	for (u32 i = 0; !o->err && i < o->attributes.count; i++)
		o->scratch[i] = row_at(o, ATTRIBUTES, o->attributes.at[i]);
	return (struct indices){ o->scratch, o->err ? 0 : o->attributes.count };
}

static void read_id(struct pb *m, const struct pb_field *f, u8 *id, size_t bytes)
{
	struct pb body = pb_body(m, f);

	if (pb_left(&body) == bytes)
		memcpy(id, body.at, bytes);
	else if (pb_left(&body))
		(void)pb_no_body(m);
}

#define ROW_NUMBER(member, of) row.member = (__typeof__(row.member))pb_u64(&m, &f);
#define ROW_INDEX(member, of) row.member = row_of(o, of, &f);
#define ROW_INDICES(member, of) list_read(o, &o->attributes, &f);
#define ROW_ID(member, of) read_id(&m, &f, row.member, of);
#define ROW_SHORT_LIST(member, of) read_lines(o, pb_body(&m, &f), &row.line_count);
#define ROW(numbers, kind, name, json, member, of, more) case OTLP_NUMBER(1_10, numbers): ROW_##kind(member, of) break;
/* Reads a row into one that has what is not said. */
#define READ_ROW(message, columns) do { \
	struct pb_field f; \
	while (pb_next(&m, &f)) \
		switch (now(o, &columns, &f)) { OTLP_##message(ROW) } \
	if (m.err) \
		refuse(o, m.err, "a row of a table is broken"); \
	} while (0)

static u32 add_mapping(struct older *o, struct pb m)
{
	struct profile_mapping row = { 0 };

	o->attributes.count = 0;
	READ_ROW(MAPPING, mapping_now);
	row.attributes = attributes_listed(o);
	return profile_add_mapping(o->dictionary, &row);
}

static u32 add_function(struct older *o, struct pb m)
{
	struct profile_function row = { 0 };

	READ_ROW(FUNCTION, function_now);
	return profile_add_function(o->dictionary, &row);
}

static u32 add_link(struct older *o, struct pb m)
{
	struct profile_link row = { 0 };

	READ_ROW(LINK, link_now);
	return profile_add_link(o->dictionary, &row);
}

/* A function that is not named is that of row 0. */
static void read_lines(struct older *o, struct pb m, u32 *count)
{
	struct profile_line row = { .function = row_at(o, FUNCTIONS, 0) };

	READ_ROW(LINE, line_now);
	if (array_reserve(&o->lines, &o->line_cap, *count + 1, sizeof(row)) < 0)
		refuse(o, -ENOMEM, "memory is short");
	else
		o->lines[(*count)++] = row;
}

/* Since 1.4 a mapping that is not named is none. */
static u32 add_location(struct older *o, struct pb m)
{
	struct profile_location row = { .mapping = o->version == OTLP_1_3 ? row_at(o, MAPPINGS, 0) : 0 };

	o->attributes.count = 0;
	READ_ROW(LOCATION, location_now);
	row.attributes = attributes_listed(o);
	row.lines = o->lines;
	return profile_add_location(o->dictionary, &row);
}

static u32 unit_of(const struct older *o, u32 key)
{
	for (u32 i = 0; i < o->units.count; i++)
		if (o->units.at[i] >> 32 == key)
			return (u32)o->units.at[i];
	return 0;
}

/* A KeyValue: its key is text. */
static u32 add_attribute(struct older *o, struct pb m)
{
	struct profile_attribute row = { 0 };
	struct pb_field f;
	int r = 0;

	while (r == 0 && pb_next(&m, &f)) {
		struct pb body = f.number <= KEYVALUE_value ? pb_body(&m, &f) : m;

		if (f.number == KEYVALUE_key)
			row.key = profile_add_string(o->dictionary, (const char *)body.at, pb_left(&body));
		else if (f.number == KEYVALUE_value)
			r = otlp_decode_value(o->dictionary, body, &row.value);
	}
	if (r < 0 || m.err)
		refuse(o, r < 0 ? r : m.err, "an attribute is broken");
	row.unit = unit_of(o, row.key);
	return profile_add_attribute(o->dictionary, &row);
}

static u32 add_string(struct older *o, struct pb m)
{
	return profile_add_string(o->dictionary, (const char *)m.at, pb_left(&m));
}

static void add_unit(struct older *o, struct pb m)
{
	u32 key = 0, unit = 0;
	struct pb_field f;

	while (pb_next(&m, &f)) {
		if (f.number == 1)
			key = row_of(o, STRINGS, &f);
		else if (f.number == 2)
			unit = row_of(o, STRINGS, &f);
	}
	if (o->units.count < 1024)
		list_add(o, &o->units, (u64)key << 32 | unit);
}

/* All rows of the tables in a message, what others refer to first. shift: of 1.6, where they are in the request. */
static void add_tables(struct older *o, struct pb message, u32 shift)
{
	static const struct {
		u8 number, table;
		u32 (*add)(struct older *o, struct pb row);
	} order[] = {
		{ DICTIONARY_string_table, STRINGS, add_string },
		{ 0, 0, NULL },
		{ DICTIONARY_attribute_table, ATTRIBUTES, add_attribute },
		{ DICTIONARY_function_table, FUNCTIONS, add_function },
		{ DICTIONARY_mapping_table, MAPPINGS, add_mapping },
		{ DICTIONARY_location_table, LOCATIONS, add_location },
		{ DICTIONARY_link_table, LINKS, add_link },
	};
	struct pb_field f;

	for (u32 i = 0; i < sizeof(order) / sizeof(*order); i++) {
		for (struct pb m = message; !o->err && pb_next(&m, &f);) {
			f.number -= f.number > shift ? shift : f.number;
			if (f.number >= NUMBERS || f.wire != PB_LEN)
				continue;
			if (!order[i].add && f.number == versions[o->version].attribute_units)
				add_unit(o, f.body);
			else if (order[i].add && now(o, &dictionary_now, &f) == order[i].number)
				list_add(o, &o->rows[order[i].table], order[i].add(o, f.body));
		}
		if (profile_err(o->dictionary))
			refuse(o, profile_err(o->dictionary), "memory is short");
	}
}

/* ---- Samples, profiles ------------------------------------------------------------ */

static void put_stack(struct older *o, u64 start, u64 length)
{
	_cleanup_(freep) u32 *stack = NULL;
	const struct list *from = o->stack.count ? &o->stack : &o->stacks;

	if (o->stack.count) {
		start = 0;
		length = o->stack.count;
	}
	if (start > from->count || length > from->count - start) {
		refuse(o, -EBADMSG, "a stack is outside location_indices");
		return;
	}
	o->stack_entries += length;
	if (o->stack_entries > STACK_ENTRIES_MAX) {
		refuse(o, -E2BIG, "its stacks are too many");
		return;
	}
	stack = calloc(length + 1, sizeof(*stack));
	if (!stack) {
		refuse(o, -ENOMEM, "memory is short");
		return;
	}
	for (u64 i = 0; i < length; i++)
		stack[i] = row_at(o, LOCATIONS, from->at[start + i]);
	pb_put_varint_nonzero(o->out, SAMPLE_stack_index, profile_add_stack(o->dictionary, stack, (u32)length));
}

/*
 * One value for each type of the profile, at many times. The eBPF profiler of these versions says 1 of many times: each
 * of them counts. With more types than one a value stands for all times.
 */
static void put_values(struct older *o, u32 type)
{
	u32 values = o->values.count, times = o->times.count, types = o->types.count > 1 ? o->types.count : 1;
	bool pairs = types == 1 && values == times;
	bool times_alone = types == 1 && (!values || (times > 1 && values == 1 &&
			   (o->values.at[0] == 1 || o->values.at[0] == times)));

	if (!pairs && !times_alone && values != types) {
		refuse(o, -EBADMSG, "a sample has not one value for each sample_type");
		return;
	}
	if (!times_alone)
		pb_put_packed_s64(o->out, SAMPLE_values, (s64 *)o->values.at + (pairs ? 0 : type), pairs ? values : 1);
	if (times_alone || pairs || times == 1)
		pb_put_packed_fixed64(o->out, SAMPLE_timestamps_unix_nano, o->times.at, times);
}

static void put_sample(struct older *o, struct pb m, u32 type)
{
	size_t mark = pb_begin(o->out, PROFILE_samples);
	u64 start = 0, length = 0;
	u32 link = 0;
	struct pb_field f;

	o->values.count = o->times.count = o->attributes.count = o->stack.count = 0;
	while (pb_next(&m, &f)) {
		u8 number = now(o, &sample_now, &f);

		if (f.number == versions[o->version].sample_start)
			start = pb_u64(&m, &f);
		else if (f.number == versions[o->version].sample_length)
			length = pb_u64(&m, &f);
		else if (f.number == versions[o->version].sample_locations)
			list_read(o, &o->stack, &f);
		else if (number == SAMPLE_link_index)
			link = row_of(o, LINKS, &f);
		else if (number)
			list_read(o, number == SAMPLE_values ? &o->values : number == SAMPLE_attribute_indices ?
				  &o->attributes : &o->times, &f);
	}
	if (m.err)
		refuse(o, m.err, "a sample is broken");
	put_stack(o, start, length);
	for (u32 i = 0; i < o->attributes.count; i++)
		pb_put_varint(o->out, SAMPLE_attribute_indices, row_at(o, ATTRIBUTES, o->attributes.at[i]));
	pb_put_varint_nonzero(o->out, SAMPLE_link_index, link);
	put_values(o, type);
	pb_end(o->out, mark);
}

static void put_type(struct older *o, u32 number, struct pb m)
{
	size_t mark = pb_begin(o->out, number);
	struct pb_field f;

	while (pb_next(&m, &f))
		if (f.number == TYPE_type_strindex || f.number == TYPE_unit_strindex)
			pb_put_varint_nonzero(o->out, f.number, row_of(o, STRINGS, &f));
	pb_end(o->out, mark);
}

/* Fields that mean the same under another number, but for their indices and the type of the time. */
static void put_profile_field(struct older *o, struct pb *m, const struct pb_field *f, u32 number, u32 type)
{
	switch (number) {
	case PROFILE_samples:
		put_sample(o, pb_body(m, f), type);
		break;
	case PROFILE_time_unix_nano:
		pb_put_fixed64_nonzero(o->out, number, pb_u64(m, f));
		break;
	case PROFILE_period_type:
		put_type(o, number, pb_body(m, f));
		break;
	case PROFILE_attribute_indices:
		o->attributes.count = 0;
		list_read(o, &o->attributes, f);
		for (u32 i = 0; i < o->attributes.count; i++)
			pb_put_varint(o->out, number, row_at(o, ATTRIBUTES, o->attributes.at[i]));
		break;
	default:
		if (f->wire == PB_VARINT)
			pb_put_varint_nonzero(o->out, number, f->value);
		else if (number != PROFILE_sample_type)
			pb_put_bytes(o->out, number, f->body.at, f->wire == PB_LEN ? pb_left(&f->body) : 0);
	}
}

/* The profile with one of its types. head: fields of 1.3 that are around it. */
static void put_profile_of_type(struct older *o, struct pb m, struct pb head, u32 type)
{
	static const u8 head_now[] = { 0, PROFILE_profile_id, 0, 0, 0, PROFILE_dropped_attributes_count,
				       PROFILE_original_payload_format, PROFILE_original_payload };
	size_t mark = pb_begin(o->out, SCOPES_profiles);
	struct pb_field f;
	u32 seen = 0;

	while (!o->err && pb_next(&m, &f)) {
		u32 number = now(o, &profile_now, &f);

		if (number == PROFILE_sample_type && seen++ == type)
			put_type(o, number, pb_body(&m, &f));
		else if (number)
			put_profile_field(o, &m, &f, number, type);
		else if (f.number == versions[o->version].attributes && f.wire == PB_LEN)
			pb_put_varint(o->out, PROFILE_attribute_indices, add_attribute(o, f.body));
	}
	while (!o->err && pb_next(&head, &f)) {
		if (f.number < sizeof(head_now) && head_now[f.number])
			put_profile_field(o, &head, &f, head_now[f.number], type);
		else if (f.number == 4 && f.wire == PB_LEN)
			pb_put_varint(o->out, PROFILE_attribute_indices, add_attribute(o, f.body));
	}
	if (m.err || head.err)
		refuse(o, -EBADMSG, "a profile is broken");
	pb_end(o->out, mark);
}

static void put_older_profile(struct older *o, struct pb m)
{
	struct pb head = { 0 }, skim;
	struct pb_field f;

	if (o->version == OTLP_1_3) {
		for (head = skim = m; pb_next(&skim, &f);)
			if (f.number == 8 && f.wire == PB_LEN)
				m = f.body;
		if (m.at == head.at)
			return;
	}
	if (o->version <= OTLP_1_5) {
		for (u32 i = 0; i < TABLES; i++)
			o->rows[i].count = 0;
		o->units.count = 0;
		add_tables(o, m, 0);
	}
	o->stacks.count = o->types.count = 0;
	for (skim = m; pb_next(&skim, &f);) {
		if (f.number == versions[o->version].location_indices)
			list_read(o, &o->stacks, &f);
		else if (f.number == PROFILE_sample_type)
			list_add(o, &o->types, 0);
	}
	if (o->types.count > TYPES_MAX)
		refuse(o, -E2BIG, "its types of values are too many");
	for (u32 type = 0; !o->err && type < (o->types.count ? o->types.count : 1); type++)
		put_profile_of_type(o, m, head, type);
}

/* ---- 1.8 and 1.9 ------------------------------------------------------------------ */

/* A field as it was, under another number; values are packed, as 1.10 must have them. */
static void put_renumbered(struct older *o, struct pb *m, const struct pb_field *f, u32 number, bool packed)
{
	u64 value = f->value;

	if (packed && f->wire == PB_VARINT)
		pb_put_packed_s64(o->out, number, (s64 *)&value, 1);
	else if (f->wire == PB_VARINT)
		pb_put_varint(o->out, number, value);
	else if (f->wire == PB_FIXED64)
		pb_put_fixed64(o->out, number, value);
	else if (f->wire == PB_LEN)
		pb_put_bytes(o->out, number, f->body.at, pb_left(&f->body));
	else
		pb_is(m, f, PB_LEN);
}

static void put_renumbered_sample(struct older *o, struct pb m)
{
	size_t mark = pb_begin(o->out, PROFILE_samples);
	struct pb_field f;

	while (pb_next(&m, &f)) {
		u32 number = now(o, &sample_now, &f);

		if (number)
			put_renumbered(o, &m, &f, number, number == SAMPLE_values);
	}
	pb_end(o->out, mark);
	if (m.err)
		refuse(o, m.err, "a sample is broken");
}

static void put_renumbered_profile(struct older *o, struct pb m)
{
	size_t mark = pb_begin(o->out, SCOPES_profiles);
	struct pb_field f;

	while (pb_next(&m, &f)) {
		u32 number = now(o, &profile_now, &f);

		if (number == PROFILE_samples && f.wire == PB_LEN)
			put_renumbered_sample(o, f.body);
		else if (number)
			put_renumbered(o, &m, &f, number, false);
	}
	pb_end(o->out, mark);
	if (m.err)
		refuse(o, m.err, "a profile is broken");
}

/* ---- The request ------------------------------------------------------------------ */

/* What is around profiles, as it is; levels: how many are below. */
static void put_around(struct older *o, struct pb m, u32 number, int levels)
{
	struct pb_field f;
	const u8 *from;

	for (from = m.at; !o->err && pb_next(&m, &f); from = m.at) {
		size_t mark;

		if (f.number != number || f.wire != PB_LEN) {
			if (levels < 2 || (o->version > OTLP_1_7 && f.number == REQUEST_dictionary))
				buf_add(o->out, from, (size_t)(m.at - from));
		} else if (levels) {
			mark = pb_begin(o->out, number);
			put_around(o, f.body, levels == 2 ? RESOURCES_scope_profiles : SCOPES_profiles, levels - 1);
			pb_end(o->out, mark);
		} else if (o->version > OTLP_1_7) {
			put_renumbered_profile(o, f.body);
		} else {
			put_older_profile(o, f.body);
		}
	}
	if (m.err)
		refuse(o, m.err, "it is not protobuf");
}

static void rewrite(struct older *o, struct pb request)
{
	struct pb_field f;

	if (o->version == OTLP_1_6)
		add_tables(o, request, 1);
	for (struct pb m = request; o->version == OTLP_1_7 && pb_next(&m, &f);)
		if (f.number == REQUEST_dictionary && f.wire == PB_LEN)
			add_tables(o, f.body, 0);
	put_around(o, request, REQUEST_resource_profiles, 2);
	if (o->version <= OTLP_1_7)
		(void)otlp_encode(o->dictionary, o->out);
	if (profile_err(o->dictionary) < 0)
		refuse(o, profile_err(o->dictionary), "memory is short");
	if (buf_err(o->out) < 0)
		refuse(o, buf_err(o->out), "memory is short");
}

int otlp_older_rewrite(struct pb request, struct buf *out, struct otlp_info *ret_info, struct buf *why)
{
	_cleanup_(older_done) struct older o = { .out = out, .dictionary = profile_new() };
	struct otlp_info info;

	if (!o.dictionary)
		return -ENOMEM;
	if (!find_version(request, &info, why))
		return -EBADMSG;
	o.version = info.numbering;
	rewrite(&o, request);
	if (o.err && why && info.numbering <= OTLP_1_7)
		buf_addf(why, "this looks like OTLP profiles %s, but %s: upgrade the sender to OTLP profiles 1.8 or "
			 "later (Collector 0.136)", otlp_version_text(info.numbering), o.wrong);
	if (o.err == 0)
		*ret_info = info;
	return o.err;
}
