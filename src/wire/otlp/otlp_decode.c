// SPDX-License-Identifier: Apache-2.0
/*
 * Each message is skimmed once to count its repeated fields, then read into
 * memory of exactly that size. Strings are read first, then the other tables,
 * then resources, since fields may come in any order and refer to each other.
 */
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "profile/any.h"
#include "profile/profile.h"
#include "wire/otlp/otlp.h"
#include "wire/otlp/otlp_numbering.h"
#include "wire/pb.h"

enum dictionary_field {
	DICTIONARY_MAPPING = 1,
	DICTIONARY_LOCATION,
	DICTIONARY_FUNCTION,
	DICTIONARY_LINK,
	DICTIONARY_STRING,
	DICTIONARY_ATTRIBUTE,
	DICTIONARY_STACK,
	DICTIONARY_FIELDS,
};

struct decoder {
	struct profile *profile;
	enum otlp_numbering numbering;
	bool first_seen[DICTIONARY_FIELDS];	/* row 0 of the table was read */
};

static void fail(struct pb *r, int err)
{
	pb_inherit(r, &(struct pb){ .err = err });
}

static void *alloc(struct decoder *d, struct pb *r, size_t count, size_t entry_bytes)
{
	void *at = count ? profile_alloc(d->profile, count * entry_bytes) : NULL;

	if (count && !at)
		fail(r, profile_err(d->profile));
	return at;
}

/* pb_next(), inlined for what nearly all fields are: a tag of one byte, a number or length of one byte. */
static inline bool next(struct pb *r, struct pb_field *ret_field)
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

/* ---- Repeated numbers ------------------------------------------------------ */

/* How many numbers a field holds, packed or not. */
static inline u32 numbers_in(const struct pb_field *f)
{
	return f->wire == PB_LEN ? (u32)pb_count(&f->body) : 1;
}

static u32 count_numbers(struct pb message, u32 number)
{
	struct pb_field f;
	u32 count = 0;

	while (next(&message, &f))
		if (f.number == number)
			count += numbers_in(&f);
	return count;
}

/* Appends a field's numbers; list->at has room for all that count_numbers() found. */
static void read_indices(struct pb *r, const struct pb_field *f, u32 *at, u32 *count)
{
	struct pb list;

	if (f->wire == PB_VARINT) {
		at[(*count)++] = pb_u32(r, f);
		return;
	}
	list = pb_body(r, f);
	/* at is NULL where none was counted: an empty list, or one whose only number does not end. */
	*count += pb_unpack(&list, UINT32_MAX, true, at ? at + *count : NULL);
	pb_inherit(r, &list);
}

/* In field 4 a lone number is a link of 1.9, see otlp_numbering.h. */
static void read_values(struct pb *r, const struct pb_field *f, s64 *at, u32 *count)
{
	struct pb list;

	if (f->number == 2 && f->wire == PB_VARINT) {
		at[(*count)++] = (s64)f->value;
		return;
	}
	list = pb_body(r, f);
	while (list.at < list.end) {
		s64 value = (s64)pb_varint(&list);

		if (!list.err)
			at[(*count)++] = value;
	}
	pb_inherit(r, &list);
}

static void read_times(struct pb *r, const struct pb_field *f, u64 *at, u32 *count)
{
	struct pb list;

	if (f->wire == PB_FIXED64) {
		at[(*count)++] = f->value;
		return;
	}
	list = pb_body(r, f);
	if (pb_left(&list) % sizeof(*at))
		fail(r, -EBADMSG);
	for (; pb_left(&list) >= sizeof(*at); list.at += sizeof(*at)) {
		memcpy(&at[*count], list.at, sizeof(*at));
		at[*count] = le64toh(at[*count]);
		(*count)++;
	}
}

/* All numbers of one repeated field of a message. */
static struct indices read_index_field(struct decoder *d, struct pb *r, struct pb message, u32 number)
{
	u32 count = 0, *at = alloc(d, r, count_numbers(message, number), sizeof(*at));
	struct pb_field f;

	while (!r->err && next(&message, &f))
		if (f.number == number)
			read_indices(&message, &f, at, &count);
	pb_inherit(r, &message);
	return (struct indices){ at, count };
}

/* ---- Values ---------------------------------------------------------------- */

static struct any read_any(struct decoder *d, struct pb *r, struct pb message, int depth);

static struct str read_string(struct decoder *d, struct pb *r, const struct pb_field *f)
{
	struct pb body = pb_body(r, f);
	struct str s = profile_copy_str(d->profile, (const char *)body.at, pb_left(&body));

	if (profile_err(d->profile))
		fail(r, profile_err(d->profile));
	return s;
}

static struct str read_reference(struct decoder *d, struct pb *r, const struct pb_field *f)
{
	u32 number = pb_u32(r, f);

	if (number < d->profile->strings.count)
		return d->profile->strings.at[number];
	fail(r, -EBADMSG);
	return (struct str){ 0 };
}

static struct keyvalue read_keyvalue(struct decoder *d, struct pb *r, struct pb message, int depth)
{
	struct keyvalue kv = { 0 };
	struct pb_field f;
	struct str key;

	while (next(&message, &f)) {
		switch (f.number) {
		case 1:
			if (f.wire != PB_LEN || pb_left(&f.body))
				kv.key = read_string(d, &message, &f);
			break;
		case 2:
			kv.value = read_any(d, &message, pb_body(&message, &f), depth);
			break;
		case 3:
			key = read_reference(d, &message, &f);
			if (!kv.key.len)
				kv.key = key;
			break;
		}
	}
	pb_inherit(r, &message);
	return kv;
}

static size_t count_fields(struct pb message, u32 number)
{
	struct pb_field f;
	size_t count = 0;

	while (next(&message, &f))
		count += f.number == number;
	return count;
}

/* The KeyValues in field number of a message. */
static const struct keyvalue *read_keyvalues(struct decoder *d, struct pb *r, struct pb message, u32 number, int depth,
					     u32 *ret_count)
{
	struct keyvalue *at = alloc(d, r, count_fields(message, number), sizeof(*at));
	struct pb_field f;
	u32 count = 0;

	while (!r->err && pb_next(&message, &f))
		if (f.number == number)
			at[count++] = read_keyvalue(d, &message, pb_body(&message, &f), depth);
	pb_inherit(r, &message);
	*ret_count = count;
	return at;
}

static const struct any *read_array(struct decoder *d, struct pb *r, struct pb message, int depth, u32 *ret_count)
{
	struct any *at = alloc(d, r, count_fields(message, 1), sizeof(*at));
	struct pb_field f;
	u32 count = 0;

	while (!r->err && pb_next(&message, &f))
		if (f.number == 1)
			at[count++] = read_any(d, &message, pb_body(&message, &f), depth);
	pb_inherit(r, &message);
	*ret_count = count;
	return at;
}

static void read_any_field(struct decoder *d, struct pb *r, const struct pb_field *f, int depth, struct any *value)
{
	switch (f->number) {
	case 1:
		*value = (struct any){ .kind = ANY_STRING, .string = read_string(d, r, f) };
		break;
	case 2:
		*value = (struct any){ .kind = ANY_BOOL, .boolean = pb_u64(r, f) != 0 };
		break;
	case 3:
		*value = (struct any){ .kind = ANY_INT, .integer = (s64)pb_u64(r, f) };
		break;
	case 4:
		*value = (struct any){ .kind = ANY_DOUBLE };
		if (pb_is(r, f, PB_FIXED64))
			memcpy(&value->real, &f->value, sizeof(value->real));
		break;
	case 5:
		*value = (struct any){ .kind = ANY_ARRAY };
		value->array = read_array(d, r, pb_body(r, f), depth + 1, &value->count);
		break;
	case 6:
		*value = (struct any){ .kind = ANY_MAP };
		value->map = read_keyvalues(d, r, pb_body(r, f), 1, depth + 1, &value->count);
		break;
	case 7:
		*value = (struct any){ .kind = ANY_BYTES, .string = read_string(d, r, f) };
		break;
	case 8:
		*value = (struct any){ .kind = ANY_STRING, .string = read_reference(d, r, f) };
		break;
	}
}

static struct any read_any(struct decoder *d, struct pb *r, struct pb message, int depth)
{
	struct any value = { 0 };
	struct pb_field f;

	if (depth >= ANY_DEPTH_MAX)
		fail(&message, -EBADMSG);
	while (next(&message, &f))
		read_any_field(d, &message, &f, depth, &value);
	pb_inherit(r, &message);
	return value;
}

/* ---- The dictionary -------------------------------------------------------- */

/* The first row of each table must be its zero value, which the profile has already. */
static bool skip_first(struct decoder *d, struct pb *r, enum dictionary_field table, bool is_zero)
{
	if (d->first_seen[table])
		return false;
	d->first_seen[table] = true;
	if (!is_zero)
		fail(r, -EBADMSG);
	return true;
}

static void read_mapping(struct decoder *d, struct pb *r, struct pb m)
{
	static const struct pb_member members[] = {
		[1] = PB_MEMBER(profile_mapping, start_va),
		[2] = PB_MEMBER(profile_mapping, limit_va),
		[3] = PB_MEMBER(profile_mapping, file_offset),
		[4] = PB_MEMBER(profile_mapping, filename),
	};
	struct profile_mapping row = { .attributes = read_index_field(d, r, m, 5) };

	PB_READ_MEMBERS(r, m, members, &row);
	if (!skip_first(d, r, DICTIONARY_MAPPING, !row.start_va && !row.limit_va && !row.file_offset &&
			!row.filename && !row.attributes.count))
		profile_append_mapping(d->profile, &row);
}

static struct profile_line read_line(struct pb *r, struct pb m)
{
	static const struct pb_member members[] = {
		[1] = PB_MEMBER(profile_line, function),
		[2] = PB_MEMBER(profile_line, line),
		[3] = PB_MEMBER(profile_line, column),
	};
	struct profile_line line = { 0 };

	PB_READ_MEMBERS(r, m, members, &line);
	return line;
}

static void read_location(struct decoder *d, struct pb *r, struct pb m)
{
	static const struct pb_member members[] = {
		[1] = PB_MEMBER(profile_location, mapping),
		[2] = PB_MEMBER(profile_location, address),
	};
	struct profile_location row = { 0 };
	struct profile_line *lines;
	u32 line_count = 0, attribute_count = 0, *attributes;
	struct pb skim = m;
	struct pb_field f;

	while (next(&skim, &f)) {
		line_count += f.number == 3;
		attribute_count += f.number == 4 ? numbers_in(&f) : 0;
	}
	lines = alloc(d, &m, line_count, sizeof(*lines));
	attributes = alloc(d, &m, attribute_count, sizeof(*attributes));
	while (!m.err && next(&m, &f)) {
		if (f.number == 3)
			lines[row.line_count++] = read_line(&m, pb_body(&m, &f));
		else if (f.number == 4)
			read_indices(&m, &f, attributes, &row.attributes.count);
		else
			PB_READ_MEMBER(&m, &f, members, &row);
	}
	row.lines = lines;
	row.attributes.at = attributes;
	pb_inherit(r, &m);
	if (!skip_first(d, r, DICTIONARY_LOCATION, !row.mapping && !row.address && !row.line_count &&
			!row.attributes.count))
		profile_append_location(d->profile, &row);
}

static void read_function(struct decoder *d, struct pb *r, struct pb m)
{
	static const struct pb_member members[] = {
		[1] = PB_MEMBER(profile_function, name),
		[2] = PB_MEMBER(profile_function, system_name),
		[3] = PB_MEMBER(profile_function, filename),
		[4] = PB_MEMBER(profile_function, start_line),
	};
	struct profile_function row = { 0 };

	PB_READ_MEMBERS(r, m, members, &row);
	if (!skip_first(d, r, DICTIONARY_FUNCTION, !row.name && !row.system_name && !row.filename && !row.start_line))
		profile_append_function(d->profile, &row);
}

/* An id of exactly that length; an empty one is none. */
static void read_id(struct pb *r, const struct pb_field *f, u8 *id, size_t len)
{
	struct pb body = pb_body(r, f);

	if (pb_left(&body) == len)
		memcpy(id, body.at, len);
	else if (pb_left(&body))
		fail(r, -EBADMSG);
}

static void read_link(struct decoder *d, struct pb *r, struct pb m)
{
	static const struct profile_link none;
	struct profile_link row = { 0 };
	struct pb_field f;

	while (pb_next(&m, &f)) {
		if (f.number == 1)
			read_id(&m, &f, row.trace_id, sizeof(row.trace_id));
		else if (f.number == 2)
			read_id(&m, &f, row.span_id, sizeof(row.span_id));
	}
	pb_inherit(r, &m);
	if (!skip_first(d, r, DICTIONARY_LINK, !memcmp(&row, &none, sizeof(row))))
		profile_append_link(d->profile, &row);
}

static void read_attribute(struct decoder *d, struct pb *r, struct pb m)
{
	static const struct pb_member members[] = {
		[1] = PB_MEMBER(profile_attribute, key),
		[3] = PB_MEMBER(profile_attribute, unit),
	};
	struct profile_attribute row = { 0 };
	struct pb_field f;

	while (next(&m, &f)) {
		if (f.number == 2)
			row.value = read_any(d, &m, pb_body(&m, &f), 0);
		else
			PB_READ_MEMBER(&m, &f, members, &row);
	}
	pb_inherit(r, &m);
	if (!skip_first(d, r, DICTIONARY_ATTRIBUTE, !row.key && !row.unit && row.value.kind == ANY_NONE))
		profile_append_attribute(d->profile, &row);
}

static void read_stack(struct decoder *d, struct pb *r, struct pb m)
{
	struct indices row = read_index_field(d, r, m, 1);

	if (!skip_first(d, r, DICTIONARY_STACK, !row.count))
		profile_append_stack(d->profile, row);
}

static void read_strings(struct decoder *d, struct pb *r, struct pb dictionary)
{
	struct pb_field f;

	while (next(&dictionary, &f)) {
		struct str s;

		if (f.number != DICTIONARY_STRING)
			continue;
		s = read_string(d, &dictionary, &f);
		if (!skip_first(d, &dictionary, DICTIONARY_STRING, !s.len))
			profile_append_string(d->profile, s);
	}
	pb_inherit(r, &dictionary);
}

static void read_tables(struct decoder *d, struct pb *r, struct pb m)
{
	static void (*const readers[DICTIONARY_FIELDS])(struct decoder *, struct pb *, struct pb) = {
		[DICTIONARY_MAPPING] = read_mapping,   [DICTIONARY_LOCATION] = read_location,
		[DICTIONARY_FUNCTION] = read_function, [DICTIONARY_LINK] = read_link,
		[DICTIONARY_ATTRIBUTE] = read_attribute, [DICTIONARY_STACK] = read_stack,
	};
	struct pb_field f;

	while (next(&m, &f))
		if (f.number < DICTIONARY_FIELDS && readers[f.number])
			readers[f.number](d, &m, pb_body(&m, &f));
	pb_inherit(r, &m);
}

/* ---- Samples --------------------------------------------------------------- */

enum sample_role { SAMPLE_OTHER, SAMPLE_STACK, SAMPLE_ATTRIBUTES, SAMPLE_LINK, SAMPLE_VALUES, SAMPLE_TIMES };
#define SAMPLE_FIELDS 6

static const u8 old_roles[SAMPLE_FIELDS] = { 0, SAMPLE_STACK, SAMPLE_VALUES, SAMPLE_ATTRIBUTES, SAMPLE_LINK,
					     SAMPLE_TIMES };
static const u8 new_roles[SAMPLE_FIELDS] = { 0, SAMPLE_STACK, SAMPLE_ATTRIBUTES, SAMPLE_LINK, SAMPLE_VALUES,
					     SAMPLE_TIMES };

static void read_sample(struct decoder *d, struct pb *r, struct pb m, struct profile_sample *sample)
{
	const u8 *roles = d->numbering == OTLP_1_10 ? new_roles : old_roles;
	u32 attributes_field = d->numbering == OTLP_1_10 ? 2 : 3, values_field = d->numbering == OTLP_1_10 ? 4 : 2;
	u32 attribute_count = 0, value_count = 0;
	size_t time_count = 0;
	struct pb skim = m;
	struct pb_field f;
	u32 *attributes;
	s64 *values;
	u64 *times;

	while (next(&skim, &f)) {
		attribute_count += f.number == attributes_field ? numbers_in(&f) : 0;
		value_count += f.number == values_field ? numbers_in(&f) : 0;
		/* How many times there are cannot be told from bytes as that of varints can. */
		if (f.number == 5)
			time_count += f.wire == PB_LEN ? pb_left(&f.body) / sizeof(u64) : 1;
	}
	attributes = alloc(d, &m, attribute_count, sizeof(*attributes));
	values = alloc(d, &m, value_count, sizeof(*values));
	times = alloc(d, &m, time_count, sizeof(*times));
	*sample = (struct profile_sample){ .attributes.at = attributes, .values = values, .times_unix_ns = times };
	while (next(&m, &f)) {
		switch (f.number < SAMPLE_FIELDS ? roles[f.number] : SAMPLE_OTHER) {
		case SAMPLE_STACK:
			sample->stack = pb_u32(&m, &f);
			break;
		case SAMPLE_ATTRIBUTES:
			/* In field 3 a lone number is a link of 1.10, see otlp_numbering.h. */
			if (f.number == 2 || pb_is(&m, &f, PB_LEN))
				read_indices(&m, &f, attributes, &sample->attributes.count);
			break;
		case SAMPLE_LINK:
			sample->link = pb_u32(&m, &f);
			break;
		case SAMPLE_VALUES:
			read_values(&m, &f, values, &sample->value_count);
			break;
		case SAMPLE_TIMES:
			read_times(&m, &f, times, &sample->time_count);
			break;
		}
	}
	pb_inherit(r, &m);
}

/* ---- Resources, scopes, profiles ------------------------------------------- */

static struct profile_type read_type(struct pb *r, struct pb m)
{
	static const struct pb_member members[] = {
		[1] = PB_MEMBER(profile_type, type),
		[2] = PB_MEMBER(profile_type, unit),
	};
	struct profile_type type = { 0 };

	PB_READ_MEMBERS(r, m, members, &type);
	return type;
}

static void read_profile_id(struct pb *r, const struct pb_field *f, struct profile_set *set)
{
	static const u8 none[sizeof(set->profile_id)];

	read_id(r, f, set->profile_id, sizeof(set->profile_id));
	set->has_profile_id = memcmp(set->profile_id, none, sizeof(none)) != 0;
}

/* number: as 1.9 and later have it. */
static void read_profile_field(struct decoder *d, struct pb *r, const struct pb_field *f, u32 number,
			       struct profile_set *set)
{
	struct profile_sample *sample;

	switch (number) {
	case 1:
		set->sample_type = read_type(r, pb_body(r, f));
		break;
	case 2:
		sample = profile_add_sample(d->profile, set);
		if (sample)
			read_sample(d, r, pb_body(r, f), sample);
		else
			fail(r, profile_err(d->profile));
		break;
	case 3:
		set->time_unix_ns = pb_is(r, f, PB_FIXED64) ? f->value : 0;
		break;
	case 4:
		set->duration_ns = pb_u64(r, f);
		break;
	case 5:
		set->period_type = read_type(r, pb_body(r, f));
		break;
	case 6:
		set->period = (s64)pb_u64(r, f);
		break;
	case 7:
		read_profile_id(r, f, set);
		break;
	case 8:
		set->dropped_attributes_count = pb_u32(r, f);
		break;
	case 9:
		set->original_format = read_string(d, r, f);
		break;
	case 10:
		set->original_payload = read_string(d, r, f);
		break;
	}
}

static void read_profile(struct decoder *d, struct pb *r, struct pb m, struct profile_set *set)
{
	/* 1.8 has one field more before profile_id: comments, which are not kept. */
	u32 shift = d->numbering == OTLP_1_8;
	u32 attributes_field = 11 + shift, count = 0, *attributes;
	struct pb_field f;
	struct pb skim = m;

	while (next(&skim, &f))
		if (f.number == attributes_field)
			count += f.wire == PB_LEN ? pb_count(&f.body) : 1;
	attributes = alloc(d, &m, count, sizeof(*attributes));
	set->attributes.at = attributes;
	while (next(&m, &f)) {
		if (f.number == attributes_field)
			read_indices(&m, &f, attributes, &set->attributes.count);
		else if (!shift || f.number < 7)
			read_profile_field(d, &m, &f, f.number, set);
		else if (f.number > 7)
			read_profile_field(d, &m, &f, f.number - shift, set);
	}
	pb_inherit(r, &m);
}

static void read_scope(struct decoder *d, struct pb *r, struct pb m, struct profile_scope *scope)
{
	struct pb_field f;

	scope->attributes = read_keyvalues(d, r, m, 3, 0, &scope->attribute_count);
	while (pb_next(&m, &f)) {
		switch (f.number) {
		case 1:
			scope->name = read_string(d, &m, &f);
			break;
		case 2:
			scope->version = read_string(d, &m, &f);
			break;
		case 4:
			scope->dropped_attributes_count = pb_u32(&m, &f);
			break;
		}
	}
	pb_inherit(r, &m);
}

static void read_scope_profiles(struct decoder *d, struct pb *r, struct pb m, struct profile_scope *scope)
{
	struct profile_set *set;
	struct pb_field f;

	while (pb_next(&m, &f)) {
		switch (f.number) {
		case 1:
			read_scope(d, &m, pb_body(&m, &f), scope);
			break;
		case 2:
			set = profile_add_set(d->profile, scope);
			if (set)
				read_profile(d, &m, pb_body(&m, &f), set);
			else
				fail(&m, profile_err(d->profile));
			break;
		case 3:
			scope->schema_url = read_string(d, &m, &f);
			break;
		}
	}
	pb_inherit(r, &m);
}

static void read_resource(struct decoder *d, struct pb *r, struct pb m, struct profile_resource *resource)
{
	struct pb_field f;

	resource->attributes = read_keyvalues(d, r, m, 1, 0, &resource->attribute_count);
	while (pb_next(&m, &f))
		if (f.number == 2)
			resource->dropped_attributes_count = pb_u32(&m, &f);
	pb_inherit(r, &m);
}

static void read_resource_profiles(struct decoder *d, struct pb *r, struct pb m)
{
	struct profile_resource *resource = profile_add_resource(d->profile, NULL, 0);
	struct profile_scope *scope;
	struct pb_field f;

	if (!resource)
		fail(&m, profile_err(d->profile));
	while (pb_next(&m, &f)) {
		switch (f.number) {
		case 1:
			read_resource(d, &m, pb_body(&m, &f), resource);
			break;
		case 2:
			scope = profile_add_scope(d->profile, resource);
			if (scope)
				read_scope_profiles(d, &m, pb_body(&m, &f), scope);
			else
				fail(&m, profile_err(d->profile));
			break;
		case 3:
			resource->schema_url = read_string(d, &m, &f);
			break;
		}
	}
	pb_inherit(r, &m);
}

/* ---- The request ----------------------------------------------------------- */

static int read_request(struct decoder *d, struct pb request)
{
	struct pb r = request;
	struct pb_field f;

	while (pb_next(&r, &f))
		if (f.number == 2)
			read_strings(d, &r, pb_body(&r, &f));
	for (r.at = r.err ? r.end : request.at; pb_next(&r, &f);)
		if (f.number == 2)
			read_tables(d, &r, pb_body(&r, &f));
	for (r.at = r.err ? r.end : request.at; pb_next(&r, &f);)
		if (f.number == 1)
			read_resource_profiles(d, &r, pb_body(&r, &f));
	if (r.err)
		return r.err;
	return profile_err(d->profile) ? profile_err(d->profile) : profile_check(d->profile);
}

static int decode_as(struct pb request, enum otlp_numbering numbering, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	struct decoder d = { .profile = profile, .numbering = numbering };
	int r;

	if (!profile)
		return -ENOMEM;
	r = read_request(&d, request);
	if (r < 0)
		return r;
	*ret_profile = TAKE(profile);
	return 0;
}

int otlp_decode(const void *at, size_t bytes, struct otlp_info *ret_info, struct profile **ret_profile)
{
	struct pb request = pb_from(at, bytes);
	struct otlp_info info = { .numbering = OTLP_1_10 };
	int r = bytes > INT32_MAX ? -E2BIG : decode_as(request, OTLP_1_10, ret_profile);

	if (r == -EBADMSG && otlp_older_numbering(request, &info))
		r = decode_as(request, info.numbering, ret_profile);
	if (r == 0 && ret_info)
		*ret_info = info;
	return r;
}
