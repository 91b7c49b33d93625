// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "profile/any.h"
#include "profile/profile.h"
#include "wire/format.h"
#include "wire/jsonread.h"
#include "wire/otlp_json.h"

#define FIELDS(fields) fields, sizeof(fields) / sizeof(*(fields))

struct decoder {
	struct profile *p;
	int err;
};

static void fail(struct decoder *d, int err)
{
	if (!d->err)
		d->err = err;
}

/* The object itself, or NULL and an error for what is none. */
static const json_t *object(struct decoder *d, const json_t *value)
{
	if (!value || json_is_object(value))
		return value;
	fail(d, -EBADMSG);
	return NULL;
}

static void *alloc(struct decoder *d, size_t count, size_t entry_bytes)
{
	void *at = count ? profile_alloc(d->p, count * entry_bytes) : NULL;

	if (count && !at)
		fail(d, profile_err(d->p));
	return at;
}

static struct str read_string(struct decoder *d, const json_t *value)
{
	struct str s = jsonread_str(value, &d->err), copy = profile_copy_str(d->p, s.at, s.len);

	if (profile_err(d->p))
		fail(d, profile_err(d->p));
	return copy;
}

static struct indices read_indices(struct decoder *d, const json_t *owner, const char *key)
{
	const json_t *list = jsonread_member(owner, key);
	size_t count = jsonread_count(list, &d->err);
	u32 *at = alloc(d, count, sizeof(*at));

	for (size_t i = 0; at && i < count; i++)
		at[i] = jsonread_u32(json_array_get(list, i), &d->err);
	return (struct indices){ at, at ? (u32)count : 0 };
}

/* A list under its present name, or under that of 1.8. */
static const json_t *list_of(const json_t *owner, const char *key, const char *old_key)
{
	const json_t *list = jsonread_member(owner, key);

	return list ? list : jsonread_member(owner, old_key);
}

/* ---- Values ---------------------------------------------------------------- */

static struct any read_any(struct decoder *d, const json_t *value, int depth);

static struct str read_reference(struct decoder *d, const json_t *value)
{
	u32 number = jsonread_u32(value, &d->err);

	if (number < d->p->strings.count)
		return d->p->strings.at[number];
	fail(d, -EBADMSG);
	return (struct str){ 0 };
}

static const struct keyvalue *read_keyvalues(struct decoder *d, const json_t *list, int depth, u32 *ret_count)
{
	size_t count = jsonread_count(list, &d->err);
	struct keyvalue *at = alloc(d, count, sizeof(*at));

	for (size_t i = 0; at && i < count; i++) {
		const json_t *kv = object(d, json_array_get(list, i));
		const json_t *reference = jsonread_member(kv, "keyStrindex");

		at[i].key = read_string(d, jsonread_member(kv, "key"));
		if (!at[i].key.len && reference)
			at[i].key = read_reference(d, reference);
		at[i].value = read_any(d, jsonread_member(kv, "value"), depth);
	}
	*ret_count = at ? (u32)count : 0;
	return at;
}

static const struct any *read_array(struct decoder *d, const json_t *list, int depth, u32 *ret_count)
{
	size_t count = jsonread_count(list, &d->err);
	struct any *at = alloc(d, count, sizeof(*at));

	for (size_t i = 0; at && i < count; i++)
		at[i] = read_any(d, json_array_get(list, i), depth);
	*ret_count = at ? (u32)count : 0;
	return at;
}

static struct any read_list(struct decoder *d, enum any_kind kind, const json_t *value, int depth)
{
	struct any any = { .kind = kind };
	const json_t *list = jsonread_member(object(d, value), "values");

	if (kind == ANY_ARRAY)
		any.array = read_array(d, list, depth + 1, &any.count);
	else
		any.map = read_keyvalues(d, list, depth + 1, &any.count);
	return any;
}

static bool read_bool(struct decoder *d, const json_t *value)
{
	if (!json_is_boolean(value))
		fail(d, -EBADMSG);
	return json_is_true(value);
}

static struct any read_any(struct decoder *d, const json_t *value, int depth)
{
	const json_t *v;

	if (depth >= ANY_DEPTH_MAX)
		fail(d, -EBADMSG);
	if (d->err || !object(d, value))
		return (struct any){ 0 };
	if ((v = jsonread_member(value, "stringValue")))
		return (struct any){ .kind = ANY_STRING, .string = read_string(d, v) };
	if ((v = jsonread_member(value, "stringValueStrindex")))
		return (struct any){ .kind = ANY_STRING, .string = read_reference(d, v) };
	if ((v = jsonread_member(value, "intValue")))
		return (struct any){ .kind = ANY_INT, .integer = jsonread_s64(v, &d->err) };
	if ((v = jsonread_member(value, "boolValue")))
		return (struct any){ .kind = ANY_BOOL, .boolean = read_bool(d, v) };
	if ((v = jsonread_member(value, "doubleValue")))
		return (struct any){ .kind = ANY_DOUBLE, .real = jsonread_double(v, &d->err) };
	if ((v = jsonread_member(value, "bytesValue")))
		return (struct any){ .kind = ANY_BYTES, .string = jsonread_base64(v, d->p, &d->err) };
	if ((v = jsonread_member(value, "arrayValue")))
		return read_list(d, ANY_ARRAY, v, depth);
	if ((v = jsonread_member(value, "kvlistValue")))
		return read_list(d, ANY_MAP, v, depth);
	return (struct any){ 0 };
}

/* ---- The dictionary -------------------------------------------------------- */

/*
 * The readers of rows return whether the row is other than the zero value,
 * which the first must be; the profile has that one already.
 */
static bool read_mapping(struct decoder *d, const json_t *from, bool first)
{
	static const struct jsonread_field fields[] = {
		JSONREAD_FIELD("memoryStart", profile_mapping, start_va),
		JSONREAD_FIELD("memoryLimit", profile_mapping, limit_va),
		JSONREAD_FIELD("fileOffset", profile_mapping, file_offset),
		JSONREAD_FIELD("filenameStrindex", profile_mapping, filename),
	};
	struct profile_mapping row = { .attributes = read_indices(d, from, "attributeIndices") };

	jsonread_fields(from, FIELDS(fields), &row, &d->err);
	if (!first)
		profile_append_mapping(d->p, &row);
	return row.start_va || row.limit_va || row.file_offset || row.filename || row.attributes.count;
}

static struct profile_line read_line(struct decoder *d, const json_t *from)
{
	static const struct jsonread_field fields[] = {
		JSONREAD_FIELD("functionIndex", profile_line, function),
		JSONREAD_FIELD_SIGNED("line", profile_line, line),
		JSONREAD_FIELD_SIGNED("column", profile_line, column),
	};
	struct profile_line line = { 0 };

	jsonread_fields(object(d, from), FIELDS(fields), &line, &d->err);
	return line;
}

static bool read_location(struct decoder *d, const json_t *from, bool first)
{
	static const struct jsonread_field fields[] = {
		JSONREAD_FIELD("mappingIndex", profile_location, mapping),
		JSONREAD_FIELD("address", profile_location, address),
	};
	struct profile_location row = { .attributes = read_indices(d, from, "attributeIndices") };
	const json_t *list = list_of(from, "lines", "line");
	size_t count = jsonread_count(list, &d->err);
	struct profile_line *lines = alloc(d, count, sizeof(*lines));

	for (size_t i = 0; lines && i < count; i++)
		lines[i] = read_line(d, json_array_get(list, i));
	row.lines = lines;
	row.line_count = lines ? (u32)count : 0;
	jsonread_fields(from, FIELDS(fields), &row, &d->err);
	if (!first)
		profile_append_location(d->p, &row);
	return row.mapping || row.address || row.line_count || row.attributes.count;
}

static bool read_function(struct decoder *d, const json_t *from, bool first)
{
	static const struct jsonread_field fields[] = {
		JSONREAD_FIELD("nameStrindex", profile_function, name),
		JSONREAD_FIELD("systemNameStrindex", profile_function, system_name),
		JSONREAD_FIELD("filenameStrindex", profile_function, filename),
		JSONREAD_FIELD_SIGNED("startLine", profile_function, start_line),
	};
	struct profile_function row = { 0 };

	jsonread_fields(from, FIELDS(fields), &row, &d->err);
	if (!first)
		profile_append_function(d->p, &row);
	return row.name || row.system_name || row.filename || row.start_line;
}

static bool read_link(struct decoder *d, const json_t *from, bool first)
{
	static const struct profile_link none;
	struct profile_link row = { 0 };

	jsonread_hex(jsonread_member(from, "traceId"), row.trace_id, sizeof(row.trace_id), &d->err);
	jsonread_hex(jsonread_member(from, "spanId"), row.span_id, sizeof(row.span_id), &d->err);
	if (!first)
		profile_append_link(d->p, &row);
	return memcmp(&row, &none, sizeof(row)) != 0;
}

static bool read_attribute(struct decoder *d, const json_t *from, bool first)
{
	static const struct jsonread_field fields[] = {
		JSONREAD_FIELD("keyStrindex", profile_attribute, key),
		JSONREAD_FIELD("unitStrindex", profile_attribute, unit),
	};
	struct profile_attribute row = { .value = read_any(d, jsonread_member(from, "value"), 0) };

	jsonread_fields(from, FIELDS(fields), &row, &d->err);
	if (!first)
		profile_append_attribute(d->p, &row);
	return row.key || row.unit || row.value.kind != ANY_NONE;
}

static bool read_stack(struct decoder *d, const json_t *from, bool first)
{
	struct indices row = read_indices(d, from, "locationIndices");

	if (!first)
		profile_append_stack(d->p, row);
	return row.count;
}

static void read_table(struct decoder *d, const json_t *dictionary, const char *key,
		       bool (*read)(struct decoder *d, const json_t *row, bool first))
{
	const json_t *list = jsonread_member(dictionary, key);
	size_t count = jsonread_count(list, &d->err);

	for (size_t i = 0; i < count && !d->err; i++) {
		bool set = read(d, object(d, json_array_get(list, i)), i == 0);

		if (i == 0 && set)
			fail(d, -EBADMSG);
		if (profile_err(d->p))
			fail(d, profile_err(d->p));
	}
}

static void read_dictionary(struct decoder *d, const json_t *dictionary)
{
	const json_t *strings = jsonread_member(dictionary, "stringTable");
	size_t count = jsonread_count(strings, &d->err);

	for (size_t i = 0; i < count && !d->err; i++) {
		struct str s = read_string(d, json_array_get(strings, i));

		if (i)
			profile_append_string(d->p, s);
		else if (s.len)
			fail(d, -EBADMSG);
	}
	read_table(d, dictionary, "attributeTable", read_attribute);
	read_table(d, dictionary, "mappingTable", read_mapping);
	read_table(d, dictionary, "functionTable", read_function);
	read_table(d, dictionary, "locationTable", read_location);
	read_table(d, dictionary, "linkTable", read_link);
	read_table(d, dictionary, "stackTable", read_stack);
}

/* ---- Resources, scopes, profiles, samples ---------------------------------- */

static void read_sample(struct decoder *d, const json_t *from, struct profile_sample *sample)
{
	static const struct jsonread_field fields[] = {
		JSONREAD_FIELD("stackIndex", profile_sample, stack),
		JSONREAD_FIELD("linkIndex", profile_sample, link),
	};
	const json_t *values = jsonread_member(from, "values"), *times = jsonread_member(from, "timestampsUnixNano");
	size_t value_count = jsonread_count(values, &d->err), time_count = jsonread_count(times, &d->err);
	s64 *value_at = alloc(d, value_count, sizeof(*value_at));
	u64 *time_at = alloc(d, time_count, sizeof(*time_at));

	jsonread_fields(from, FIELDS(fields), sample, &d->err);
	sample->attributes = read_indices(d, from, "attributeIndices");
	for (size_t i = 0; value_at && i < value_count; i++)
		value_at[i] = jsonread_s64(json_array_get(values, i), &d->err);
	for (size_t i = 0; time_at && i < time_count; i++)
		time_at[i] = jsonread_u64(json_array_get(times, i), &d->err);
	sample->values = value_at;
	sample->value_count = value_at ? (u32)value_count : 0;
	sample->times_unix_ns = time_at;
	sample->time_count = time_at ? (u32)time_count : 0;
}

static struct profile_type read_type(struct decoder *d, const json_t *from)
{
	static const struct jsonread_field fields[] = {
		JSONREAD_FIELD("typeStrindex", profile_type, type),
		JSONREAD_FIELD("unitStrindex", profile_type, unit),
	};
	struct profile_type type = { 0 };

	jsonread_fields(object(d, from), FIELDS(fields), &type, &d->err);
	return type;
}

static void read_set(struct decoder *d, const json_t *from, struct profile_set *set)
{
	static const struct jsonread_field fields[] = {
		JSONREAD_FIELD("timeUnixNano", profile_set, time_unix_ns),
		JSONREAD_FIELD("durationNano", profile_set, duration_ns),
		JSONREAD_FIELD_SIGNED("period", profile_set, period),
		JSONREAD_FIELD("droppedAttributesCount", profile_set, dropped_attributes_count),
	};
	static const u8 none[sizeof(set->profile_id)];
	const json_t *samples = list_of(from, "samples", "sample");
	size_t count = jsonread_count(samples, &d->err);

	jsonread_fields(from, FIELDS(fields), set, &d->err);
	set->sample_type = read_type(d, jsonread_member(from, "sampleType"));
	set->period_type = read_type(d, jsonread_member(from, "periodType"));
	set->has_profile_id = jsonread_hex(jsonread_member(from, "profileId"), set->profile_id,
					   sizeof(set->profile_id), &d->err) &&
			      memcmp(set->profile_id, none, sizeof(none));
	set->original_format = read_string(d, jsonread_member(from, "originalPayloadFormat"));
	if (jsonread_member(from, "originalPayload"))
		set->original_payload = jsonread_base64(jsonread_member(from, "originalPayload"), d->p, &d->err);
	set->attributes = read_indices(d, from, "attributeIndices");
	for (size_t i = 0; i < count && !d->err; i++) {
		struct profile_sample *sample = profile_add_sample(d->p, set);

		if (sample)
			read_sample(d, object(d, json_array_get(samples, i)), sample);
		else
			fail(d, profile_err(d->p));
	}
}

static void read_scope(struct decoder *d, const json_t *from, struct profile_scope *scope)
{
	const json_t *inner = object(d, jsonread_member(from, "scope")), *sets = jsonread_member(from, "profiles");
	size_t count = jsonread_count(sets, &d->err);

	scope->schema_url = read_string(d, jsonread_member(from, "schemaUrl"));
	scope->name = read_string(d, jsonread_member(inner, "name"));
	scope->version = read_string(d, jsonread_member(inner, "version"));
	scope->attributes = read_keyvalues(d, jsonread_member(inner, "attributes"), 0, &scope->attribute_count);
	scope->dropped_attributes_count = jsonread_u32(jsonread_member(inner, "droppedAttributesCount"), &d->err);
	for (size_t i = 0; i < count && !d->err; i++) {
		struct profile_set *set = profile_add_set(d->p, scope);

		if (set)
			read_set(d, object(d, json_array_get(sets, i)), set);
		else
			fail(d, profile_err(d->p));
	}
}

static void read_resource(struct decoder *d, const json_t *from)
{
	const json_t *inner = object(d, jsonread_member(from, "resource"));
	const json_t *scopes = jsonread_member(from, "scopeProfiles");
	struct profile_resource *resource = profile_add_resource(d->p, NULL, 0);
	size_t count = jsonread_count(scopes, &d->err);

	if (!resource) {
		fail(d, profile_err(d->p));
		return;
	}
	resource->schema_url = read_string(d, jsonread_member(from, "schemaUrl"));
	resource->attributes = read_keyvalues(d, jsonread_member(inner, "attributes"), 0, &resource->attribute_count);
	resource->dropped_attributes_count = jsonread_u32(jsonread_member(inner, "droppedAttributesCount"), &d->err);
	for (size_t i = 0; i < count && !d->err; i++) {
		struct profile_scope *scope = profile_add_scope(d->p, resource);

		if (scope)
			read_scope(d, object(d, json_array_get(scopes, i)), scope);
		else
			fail(d, profile_err(d->p));
	}
}

static int read_request(struct decoder *d, const json_t *request)
{
	const json_t *resources = jsonread_member(object(d, request), "resourceProfiles");
	size_t count = jsonread_count(resources, &d->err);

	read_dictionary(d, object(d, jsonread_member(request, "dictionary")));
	for (size_t i = 0; i < count && !d->err; i++)
		read_resource(d, object(d, json_array_get(resources, i)));
	if (d->err)
		return d->err;
	return profile_err(d->p) ? profile_err(d->p) : profile_check(d->p);
}

int otlp_json_decode(const void *at, size_t bytes, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	_cleanup_(json_decrefp) json_t *request = NULL;
	struct decoder d = { .p = profile };
	json_error_t error;
	int r;

	if (!profile)
		return -ENOMEM;
	request = json_loadb(at, bytes, JSON_ALLOW_NUL, &error);
	if (!request)
		return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
	r = read_request(&d, request);
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
	.decode = otlp_json_decode,
	.encode = otlp_json_encode,
};
