// SPDX-License-Identifier: Apache-2.0
/*
 * Text goes into the profile as it is read: each kind of object has a table of
 * its members. Lists are gathered aside, since their length shows at their
 * end, and copied into the profile. Members come in any order; of all
 * there is to refer to, only strings are needed at once, and are read ahead if
 * something refers to them before their table came.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/hex.h"
#include "base/json_read.h"
#include "base/log.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "wire/format.h"
#include "wire/otlp/otlp_file.h"
#include "wire/otlp/otlp_json.h"

/* A list that is being gathered; lists of values nest, so that each begins where the outer one has got to. */
struct gathered {
	void *at;
	u32 count, cap;
};

struct decoder {
	struct json_read j;
	struct profile *p;
	u32 *indices, index_cap;
	struct gathered numbers, lines, values, keyvalues;
	const void *text;		/* all of it */
	size_t bytes;
	int depth;			/* of values in values */
	bool strings_read;
};

static void decoder_done(struct decoder *d)
{
	struct gathered *const lists[] = { &d->numbers, &d->lines, &d->values, &d->keyvalues };

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		free(lists[i]->at);
	free(d->indices);
	json_read_done(&d->j);
}

/* Room for another entry, NULL once there is none. */
static inline void *gather(struct decoder *d, struct gathered *list, size_t entry_bytes)
{
	if (list->count == list->cap) {
		int r = list->count < PROFILE_TABLE_MAX ?
			array_reserve(&list->at, &list->cap, list->count + 1, entry_bytes) : -E2BIG;

		if (r < 0) {
			json_read_fail(&d->j, r);
			return NULL;
		}
	}
	return (char *)list->at + list->count++ * entry_bytes;
}

/* What was gathered from that entry on, copied into the profile; NULL if it is nothing. */
static const void *keep(struct decoder *d, struct gathered *list, u32 begin, size_t entry_bytes, u32 *ret_count)
{
	u32 count = list->count - begin;
	const void *at = count ? profile_copy(d->p, (char *)list->at + begin * entry_bytes, count * entry_bytes) : NULL;

	list->count = begin;
	*ret_count = at ? count : 0;
	return at;
}

/* ---- Members ---------------------------------------------------------------- */

enum member_kind {
	MEMBER_U32, MEMBER_U64, MEMBER_S64, MEMBER_STRING, MEMBER_INDICES, MEMBER_ANY, MEMBER_TYPE, MEMBER_CALL,
};

struct member {
	struct str key;
	enum member_kind kind;
	u32 offset;
	void (*read)(struct decoder *d, void *row);
};

/* One that goes straight into a field, whose type says how it is read; and one that a function reads. */
#define MEMBER(name, owner, field)                                                              \
	{ { name, sizeof(name) - 1 },                                                           \
	  _Generic(((struct owner *)0)->field, u32: MEMBER_U32, u64: MEMBER_U64, s64: MEMBER_S64, \
		   struct str: MEMBER_STRING, struct indices: MEMBER_INDICES, struct any: MEMBER_ANY, \
		   struct profile_type: MEMBER_TYPE),                                           \
	  offsetof(struct owner, field), NULL }
#define MEMBER_READ(name, function) { { name, sizeof(name) - 1 }, MEMBER_CALL, 0, function }

#define READ_OBJECT(d, members, row) read_object(d, members, sizeof(members) / sizeof(*(members)), row)

static void read_member(struct decoder *d, const struct member *member, void *row);

/* Writers keep to an order: the search begins behind the last one found. */
static const struct member *find_member(const struct member *members, u32 count, struct str key, u32 *next)
{
	for (u32 tried = 0; tried < count; tried++) {
		const struct member *m = &members[*next];

		*next = *next + 1 < count ? *next + 1 : 0;
		if (m->key.len == key.len && !memcmp(m->key.at, key.at, key.len))
			return m;
	}
	return NULL;
}

static void read_object(struct decoder *d, const struct member *members, u32 count, void *row)
{
	struct str key;
	u32 next = 0;

	json_read_object(&d->j);
	while (json_read_member(&d->j, &key)) {
		const struct member *member = find_member(members, count, key, &next);

		if (member)
			read_member(d, member, row);
		else
			json_read_skip(&d->j);
	}
}

static struct str read_string(struct decoder *d)
{
	struct str s = json_read_string(&d->j);

	return profile_copy_str(d->p, s.at, s.len);
}

static struct indices read_indices(struct decoder *d)
{
	u32 count = json_read_u32_list(&d->j, &d->indices, &d->index_cap);

	return profile_copy_indices(d->p, d->indices, count);
}

static struct str read_base64(struct decoder *d)
{
	struct str text = json_read_string(&d->j);
	char *out = profile_alloc(d->p, BASE64_BYTES_MAX((size_t)text.len));
	size_t bytes;

	if (!out)
		return (struct str){ 0 };
	if (base64_decode(text.at, text.len, out, &bytes) < 0) {
		json_read_fail(&d->j, -EBADMSG);
		return (struct str){ 0 };
	}
	return (struct str){ out, (u32)bytes };
}

/* An id of exactly len bytes in hexadecimal, or none at all. */
static void read_hex(struct decoder *d, u8 *id, size_t len)
{
	struct str text = json_read_string(&d->j);

	if (text.len && text.len != 2 * len)
		json_read_fail(&d->j, -EBADMSG);
	for (size_t i = 0; text.len == 2 * len && i < len; i++) {
		int high = hex_digit(text.at[2 * i]), low = hex_digit(text.at[2 * i + 1]);

		if (high < 0 || low < 0) {
			json_read_fail(&d->j, -EBADMSG);
			return;
		}
		id[i] = (u8)(high << 4 | low);
	}
}

/* ---- Values ----------------------------------------------------------------- */

static struct any read_any(struct decoder *d);

static void read_strings_ahead(struct decoder *d);

static struct str read_reference(struct decoder *d)
{
	u32 number = json_read_u32(&d->j);

	if (!d->strings_read)
		read_strings_ahead(d);
	if (number < d->p->strings.count)
		return d->p->strings.at[number];
	json_read_fail(&d->j, -EBADMSG);
	return (struct str){ 0 };
}

static void read_key(struct decoder *d, void *row)
{
	struct str key = read_string(d);

	if (key.len)
		((struct keyvalue *)row)->key = key;
}

static void read_key_reference(struct decoder *d, void *row)
{
	struct keyvalue *kv = row;
	struct str key = read_reference(d);

	if (!kv->key.len)
		kv->key = key;
}

static const struct keyvalue *read_keyvalues(struct decoder *d, u32 *ret_count)
{
	static const struct member members[] = {
		MEMBER_READ("key", read_key),
		MEMBER("value", keyvalue, value),
		MEMBER_READ("keyStrindex", read_key_reference),
	};
	u32 begin = d->keyvalues.count;

	for (json_read_list(&d->j); json_read_item(&d->j);) {
		struct keyvalue kv = { 0 }, *at;

		READ_OBJECT(d, members, &kv);
		at = gather(d, &d->keyvalues, sizeof(*at));
		if (at)
			*at = kv;
	}
	return keep(d, &d->keyvalues, begin, sizeof(struct keyvalue), ret_count);
}

static void read_array_values(struct decoder *d, void *row)
{
	struct any *array = row;
	u32 begin = d->values.count;

	for (json_read_list(&d->j); json_read_item(&d->j);) {
		struct any value = read_any(d), *at = gather(d, &d->values, sizeof(*at));

		if (at)
			*at = value;
	}
	array->array = keep(d, &d->values, begin, sizeof(struct any), &array->count);
}

static void read_map_values(struct decoder *d, void *row)
{
	struct any *map = row;

	map->map = read_keyvalues(d, &map->count);
}

static void read_array(struct decoder *d, void *row)
{
	static const struct member members[] = { MEMBER_READ("values", read_array_values) };

	*(struct any *)row = (struct any){ .kind = ANY_ARRAY };
	READ_OBJECT(d, members, row);
}

static void read_map(struct decoder *d, void *row)
{
	static const struct member members[] = { MEMBER_READ("values", read_map_values) };

	*(struct any *)row = (struct any){ .kind = ANY_MAP };
	READ_OBJECT(d, members, row);
}

static void read_string_value(struct decoder *d, void *row)
{
	*(struct any *)row = (struct any){ .kind = ANY_STRING, .string = read_string(d) };
}

static void read_string_reference(struct decoder *d, void *row)
{
	*(struct any *)row = (struct any){ .kind = ANY_STRING, .string = read_reference(d) };
}

static void read_int_value(struct decoder *d, void *row)
{
	*(struct any *)row = (struct any){ .kind = ANY_INT, .integer = json_read_s64(&d->j) };
}

static void read_bool_value(struct decoder *d, void *row)
{
	*(struct any *)row = (struct any){ .kind = ANY_BOOL, .boolean = json_read_bool(&d->j) };
}

static void read_double_value(struct decoder *d, void *row)
{
	*(struct any *)row = (struct any){ .kind = ANY_DOUBLE, .real = json_read_double(&d->j) };
}

static void read_bytes_value(struct decoder *d, void *row)
{
	*(struct any *)row = (struct any){ .kind = ANY_BYTES, .string = read_base64(d) };
}

static struct any read_any(struct decoder *d)
{
	static const struct member members[] = {
		MEMBER_READ("stringValue", read_string_value),
		MEMBER_READ("intValue", read_int_value),
		MEMBER_READ("boolValue", read_bool_value),
		MEMBER_READ("doubleValue", read_double_value),
		MEMBER_READ("bytesValue", read_bytes_value),
		MEMBER_READ("arrayValue", read_array),
		MEMBER_READ("kvlistValue", read_map),
		MEMBER_READ("stringValueStrindex", read_string_reference),
	};
	struct any value = { 0 };

	if (d->depth >= ANY_DEPTH_MAX)
		json_read_fail(&d->j, -EBADMSG);
	d->depth++;
	READ_OBJECT(d, members, &value);
	d->depth--;
	return value;
}

static struct profile_type read_type(struct decoder *d)
{
	static const struct member members[] = {
		MEMBER("typeStrindex", profile_type, type),
		MEMBER("unitStrindex", profile_type, unit),
	};
	struct profile_type type = { 0 };

	READ_OBJECT(d, members, &type);
	return type;
}

static void read_member(struct decoder *d, const struct member *member, void *row)
{
	void *at = row ? (char *)row + member->offset : NULL;	/* those that only call have no row */

	switch (member->kind) {
	case MEMBER_U32:
		*(u32 *)at = json_read_u32(&d->j);
		break;
	case MEMBER_U64:
		*(u64 *)at = json_read_u64(&d->j);
		break;
	case MEMBER_S64:
		*(s64 *)at = json_read_s64(&d->j);
		break;
	case MEMBER_STRING:
		*(struct str *)at = read_string(d);
		break;
	case MEMBER_INDICES:
		*(struct indices *)at = read_indices(d);
		break;
	case MEMBER_ANY:
		*(struct any *)at = read_any(d);
		break;
	case MEMBER_TYPE:
		*(struct profile_type *)at = read_type(d);
		break;
	case MEMBER_CALL:
		member->read(d, row);
		break;
	}
}

/* ---- The dictionary --------------------------------------------------------- */

static const struct member mapping_members[] = {
	MEMBER("memoryStart", profile_mapping, start_va),
	MEMBER("memoryLimit", profile_mapping, limit_va),
	MEMBER("fileOffset", profile_mapping, file_offset),
	MEMBER("filenameStrindex", profile_mapping, filename),
	MEMBER("attributeIndices", profile_mapping, attributes),
};

static void read_lines(struct decoder *d, void *row)
{
	static const struct member members[] = {
		MEMBER("functionIndex", profile_line, function),
		MEMBER("line", profile_line, line),
		MEMBER("column", profile_line, column),
	};
	struct profile_location *location = row;
	struct profile_line *line;

	for (json_read_list(&d->j); json_read_item(&d->j) && (line = gather(d, &d->lines, sizeof(*line)));) {
		*line = (struct profile_line){ 0 };
		READ_OBJECT(d, members, line);
	}
	location->lines = keep(d, &d->lines, 0, sizeof(*line), &location->line_count);
}

/* "line" and "sample" are the names of 1.8. */
static const struct member location_members[] = {
	MEMBER("mappingIndex", profile_location, mapping),
	MEMBER("address", profile_location, address),
	MEMBER_READ("lines", read_lines),
	MEMBER("attributeIndices", profile_location, attributes),
	MEMBER_READ("line", read_lines),
};

static const struct member function_members[] = {
	MEMBER("nameStrindex", profile_function, name),
	MEMBER("systemNameStrindex", profile_function, system_name),
	MEMBER("filenameStrindex", profile_function, filename),
	MEMBER("startLine", profile_function, start_line),
};

static void read_trace_id(struct decoder *d, void *row)
{
	read_hex(d, ((struct profile_link *)row)->trace_id, sizeof(((struct profile_link *)row)->trace_id));
}

static void read_span_id(struct decoder *d, void *row)
{
	read_hex(d, ((struct profile_link *)row)->span_id, sizeof(((struct profile_link *)row)->span_id));
}

static const struct member link_members[] = {
	MEMBER_READ("traceId", read_trace_id),
	MEMBER_READ("spanId", read_span_id),
};

static const struct member attribute_members[] = {
	MEMBER("keyStrindex", profile_attribute, key),
	MEMBER("value", profile_attribute, value),
	MEMBER("unitStrindex", profile_attribute, unit),
};

static const struct member stack_members[] = { { STR("locationIndices"), MEMBER_INDICES, 0, NULL } };

static bool all_zero(const void *row, size_t bytes)
{
	static const char zero[128];

	return !memcmp(row, zero, bytes);
}

/*
 * The first row must be the zero value, which the profile has already. Of a
 * table that comes twice the first counts.
 */
#define TABLE_READER(name, row_type, append, pass)                      \
	static void read_##name##s(struct decoder *d, void *unused)     \
	{                                                               \
		bool first = true;                                      \
		row_type row;                                           \
									\
		if (d->p->name##s.count > 1) {                          \
			json_read_skip(&d->j);                          \
			return;                                         \
		}                                                       \
		for (json_read_list(&d->j); json_read_item(&d->j);) {   \
			memset(&row, 0, sizeof(row));                   \
			READ_OBJECT(d, name##_members, &row);           \
			if (!first)                                     \
				append(d->p, pass row);                 \
			else if (!all_zero(&row, sizeof(row)))          \
				json_read_fail(&d->j, -EBADMSG);        \
			first = false;                                  \
		}                                                       \
	}
TABLE_READER(mapping, struct profile_mapping, profile_append_mapping, &)
TABLE_READER(location, struct profile_location, profile_append_location, &)
TABLE_READER(function, struct profile_function, profile_append_function, &)
TABLE_READER(link, struct profile_link, profile_append_link, &)
TABLE_READER(attribute, struct profile_attribute, profile_append_attribute, &)
TABLE_READER(stack, struct indices, profile_append_stack, )

static void read_strings(struct decoder *d, void *unused)
{
	bool first = true;

	if (d->strings_read) {
		json_read_skip(&d->j);
		return;
	}
	d->strings_read = true;
	for (json_read_list(&d->j); json_read_item(&d->j); first = false) {
		struct str s = read_string(d);

		if (!first)
			profile_append_string(d->p, s);
		else if (s.len)
			json_read_fail(&d->j, -EBADMSG);
	}
}

static void read_dictionary(struct decoder *d, void *unused)
{
	static const struct member members[] = {
		MEMBER_READ("mappingTable", read_mappings),
		MEMBER_READ("locationTable", read_locations),
		MEMBER_READ("functionTable", read_functions),
		MEMBER_READ("linkTable", read_links),
		MEMBER_READ("stringTable", read_strings),
		MEMBER_READ("attributeTable", read_attributes),
		MEMBER_READ("stackTable", read_stacks),
	};

	READ_OBJECT(d, members, NULL);
}

static void read_dictionary_strings(struct decoder *d, void *unused)
{
	static const struct member members[] = { MEMBER_READ("stringTable", read_strings) };

	READ_OBJECT(d, members, NULL);
}

/* Reads over the whole text for its strings alone. */
static void read_strings_ahead(struct decoder *d)
{
	static const struct member members[] = { MEMBER_READ("dictionary", read_dictionary_strings) };
	struct json_read here = d->j;

	json_read_init(&d->j, d->text, d->bytes);
	READ_OBJECT(d, members, NULL);
	if (d->j.err)
		json_read_fail(&here, d->j.err);
	json_read_done(&d->j);
	d->j = here;
	d->strings_read = true;
}

/* ---- Resources, scopes, profiles, samples ----------------------------------- */

static void read_values(struct decoder *d, void *row)
{
	struct profile_sample *sample = row;
	s64 *at;

	for (json_read_list(&d->j); json_read_item(&d->j) && (at = gather(d, &d->numbers, sizeof(*at)));)
		*at = json_read_s64(&d->j);
	sample->values = keep(d, &d->numbers, 0, sizeof(*at), &sample->value_count);
}

static void read_times(struct decoder *d, void *row)
{
	struct profile_sample *sample = row;
	u64 *at;

	for (json_read_list(&d->j); json_read_item(&d->j) && (at = gather(d, &d->numbers, sizeof(*at)));)
		*at = json_read_u64(&d->j);
	sample->times_unix_ns = keep(d, &d->numbers, 0, sizeof(*at), &sample->time_count);
}

static void read_samples(struct decoder *d, void *row)
{
	static const struct member members[] = {
		MEMBER("stackIndex", profile_sample, stack),
		MEMBER("attributeIndices", profile_sample, attributes),
		MEMBER("linkIndex", profile_sample, link),
		MEMBER_READ("values", read_values),
		MEMBER_READ("timestampsUnixNano", read_times),
	};
	struct profile_sample *sample;

	for (json_read_list(&d->j); json_read_item(&d->j) && (sample = profile_add_sample(d->p, row));)
		READ_OBJECT(d, members, sample);
}

static void read_profile_id(struct decoder *d, void *row)
{
	struct profile_set *set = row;

	read_hex(d, set->profile_id, sizeof(set->profile_id));
	set->has_profile_id = !all_zero(set->profile_id, sizeof(set->profile_id));
}

static void read_payload(struct decoder *d, void *row)
{
	((struct profile_set *)row)->original_payload = read_base64(d);
}

static void read_sets(struct decoder *d, void *row)
{
	static const struct member members[] = {
		MEMBER("sampleType", profile_set, sample_type),
		MEMBER_READ("samples", read_samples),
		MEMBER("timeUnixNano", profile_set, time_unix_ns),
		MEMBER("durationNano", profile_set, duration_ns),
		MEMBER("periodType", profile_set, period_type),
		MEMBER("period", profile_set, period),
		MEMBER_READ("profileId", read_profile_id),
		MEMBER("droppedAttributesCount", profile_set, dropped_attributes_count),
		MEMBER("originalPayloadFormat", profile_set, original_format),
		MEMBER_READ("originalPayload", read_payload),
		MEMBER("attributeIndices", profile_set, attributes),
		MEMBER_READ("sample", read_samples),
	};
	struct profile_set *set;

	for (json_read_list(&d->j); json_read_item(&d->j) && (set = profile_add_set(d->p, row));)
		READ_OBJECT(d, members, set);
}

static void read_scope_attributes(struct decoder *d, void *row)
{
	struct profile_scope *scope = row;

	scope->attributes = read_keyvalues(d, &scope->attribute_count);
}

static void read_scope(struct decoder *d, void *row)
{
	static const struct member members[] = {
		MEMBER("name", profile_scope, name),
		MEMBER("version", profile_scope, version),
		MEMBER_READ("attributes", read_scope_attributes),
		MEMBER("droppedAttributesCount", profile_scope, dropped_attributes_count),
	};

	READ_OBJECT(d, members, row);
}

static void read_scopes(struct decoder *d, void *row)
{
	static const struct member members[] = {
		MEMBER_READ("scope", read_scope),
		MEMBER_READ("profiles", read_sets),
		MEMBER("schemaUrl", profile_scope, schema_url),
	};
	struct profile_scope *scope;

	for (json_read_list(&d->j); json_read_item(&d->j) && (scope = profile_add_scope(d->p, row));)
		READ_OBJECT(d, members, scope);
}

static void read_resource_attributes(struct decoder *d, void *row)
{
	struct profile_resource *resource = row;

	resource->attributes = read_keyvalues(d, &resource->attribute_count);
}

static void read_resource(struct decoder *d, void *row)
{
	static const struct member members[] = {
		MEMBER_READ("attributes", read_resource_attributes),
		MEMBER("droppedAttributesCount", profile_resource, dropped_attributes_count),
	};

	READ_OBJECT(d, members, row);
}

static void read_resources(struct decoder *d, void *unused)
{
	static const struct member members[] = {
		MEMBER_READ("resource", read_resource),
		MEMBER_READ("scopeProfiles", read_scopes),
		MEMBER("schemaUrl", profile_resource, schema_url),
	};
	struct profile_resource *resource;

	for (json_read_list(&d->j); json_read_item(&d->j) && (resource = profile_add_resource(d->p, NULL, 0));)
		READ_OBJECT(d, members, resource);
}

static int read_request(struct decoder *d)
{
	static const struct member members[] = {
		MEMBER_READ("resourceProfiles", read_resources),
		MEMBER_READ("dictionary", read_dictionary),
	};
	int r;

	READ_OBJECT(d, members, NULL);
	/* Out of memory, a list ends early and what follows does not fit: memory is why. */
	r = profile_err(d->p) ? profile_err(d->p) : json_read_end(&d->j);
	if (r == -EBADMSG)
		log_debug("json", "not OTLP profiles from byte %zu on", json_read_offset(&d->j));
	return r < 0 ? r : profile_check(d->p);
}

int otlp_json_decode(const void *at, size_t bytes, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	_cleanup_(decoder_done) struct decoder d = { .p = profile, .text = at, .bytes = bytes };
	int r;

	json_read_init(&d.j, at, bytes);
	if (!profile)
		return -ENOMEM;
	r = read_request(&d);
	if (r < 0)
		return r;
	*ret_profile = TAKE(profile);
	return 0;
}

static bool otlp_json_sniff(const void *at, size_t bytes)
{
	size_t spaces = 0;

	while (spaces < bytes && strchr(" \t\r\n", ((const char *)at)[spaces]) && ((const char *)at)[spaces])
		spaces++;
	return spaces < bytes && ((const char *)at)[spaces] == '{';
}

const struct format_ops format_json = {
	.name = "json",
	.help = "OpenTelemetry profiles, JSON",
	.content_type = "application/json",
	.suffixes = (const char *const[]){ ".json", NULL },
	.sniff = otlp_json_sniff,
	.decode = otlp_file_decode_json,
	.encode = otlp_json_encode,
};
