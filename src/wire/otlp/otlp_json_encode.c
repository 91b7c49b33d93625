// SPDX-License-Identifier: Apache-2.0
#include "base/json_write.h"
#include "profile/profile.h"
#include "wire/otlp/otlp_json.h"

/* ---- Fields; zero is the default and is left out --------------------------- */

static void put_u32(struct json_write *j, const char *key, u32 value)
{
	if (!value)
		return;
	json_write_key(j, key);
	json_write_u32(j, value);
}

static void put_u64(struct json_write *j, const char *key, u64 value)
{
	if (!value)
		return;
	json_write_key(j, key);
	json_write_u64(j, value);
}

static void put_s64(struct json_write *j, const char *key, s64 value)
{
	if (!value)
		return;
	json_write_key(j, key);
	json_write_s64(j, value);
}

static void put_str(struct json_write *j, const char *key, struct str s)
{
	if (!s.len)
		return;
	json_write_key(j, key);
	json_write_string(j, s.at, s.len);
}

static void put_indices(struct json_write *j, const char *key, struct indices list)
{
	if (!list.count)
		return;
	json_write_key(j, key);
	json_write_u32_list(j, list.at, list.count);
}

static void open_list(struct json_write *j, const char *key)
{
	json_write_key(j, key);
	json_write_open(j, '[');
}

static void open_object(struct json_write *j, const char *key)
{
	json_write_key(j, key);
	json_write_open(j, '{');
}

/* ---- Values ---------------------------------------------------------------- */

static void put_keyvalues(struct json_write *j, const char *key, const struct keyvalue *at, u32 count);

static void put_any(struct json_write *j, const struct any *value);

static void put_array(struct json_write *j, const struct any *value)
{
	open_object(j, "arrayValue");
	open_list(j, "values");
	for (u32 i = 0; i < value->count; i++)
		put_any(j, &value->array[i]);
	json_write_close(j, ']');
	json_write_close(j, '}');
}

static void put_any(struct json_write *j, const struct any *value)
{
	json_write_open(j, '{');
	switch (value->kind) {
	case ANY_NONE:
		break;
	case ANY_STRING:
		json_write_key(j, "stringValue");
		json_write_string(j, value->string.at, value->string.len);
		break;
	case ANY_BOOL:
		json_write_key(j, "boolValue");
		json_write_bool(j, value->boolean);
		break;
	case ANY_INT:
		json_write_key(j, "intValue");
		json_write_s64(j, value->integer);
		break;
	case ANY_DOUBLE:
		json_write_key(j, "doubleValue");
		json_write_double(j, value->real);
		break;
	case ANY_ARRAY:
		put_array(j, value);
		break;
	case ANY_MAP:
		open_object(j, "kvlistValue");
		put_keyvalues(j, "values", value->map, value->count);
		json_write_close(j, '}');
		break;
	case ANY_BYTES:
		json_write_key(j, "bytesValue");
		json_write_base64(j, value->string.at, value->string.len);
		break;
	}
	json_write_close(j, '}');
}

static void put_keyvalues(struct json_write *j, const char *key, const struct keyvalue *at, u32 count)
{
	if (!count)
		return;
	open_list(j, key);
	for (u32 i = 0; i < count; i++) {
		json_write_open(j, '{');
		put_str(j, "key", at[i].key);
		json_write_key(j, "value");
		put_any(j, &at[i].value);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
}

/* ---- The dictionary -------------------------------------------------------- */

static void put_mappings(struct json_write *j, const struct profile *p)
{
	open_list(j, "mappingTable");
	for (u32 i = 0; i < p->mappings.count; i++) {
		const struct profile_mapping *m = &p->mappings.at[i];

		json_write_open(j, '{');
		put_u64(j, "memoryStart", m->start_va);
		put_u64(j, "memoryLimit", m->limit_va);
		put_u64(j, "fileOffset", m->file_offset);
		put_u32(j, "filenameStrindex", m->filename);
		put_indices(j, "attributeIndices", m->attributes);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
}

static void put_lines(struct json_write *j, const struct profile_location *l)
{
	if (!l->line_count)
		return;
	open_list(j, "lines");
	for (u32 i = 0; i < l->line_count; i++) {
		json_write_open(j, '{');
		put_u32(j, "functionIndex", l->lines[i].function);
		put_s64(j, "line", l->lines[i].line);
		put_s64(j, "column", l->lines[i].column);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
}

static void put_locations(struct json_write *j, const struct profile *p)
{
	open_list(j, "locationTable");
	for (u32 i = 0; i < p->locations.count; i++) {
		const struct profile_location *l = &p->locations.at[i];

		json_write_open(j, '{');
		put_u32(j, "mappingIndex", l->mapping);
		put_u64(j, "address", l->address);
		put_lines(j, l);
		put_indices(j, "attributeIndices", l->attributes);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
}

static void put_functions(struct json_write *j, const struct profile *p)
{
	open_list(j, "functionTable");
	for (u32 i = 0; i < p->functions.count; i++) {
		const struct profile_function *f = &p->functions.at[i];

		json_write_open(j, '{');
		put_u32(j, "nameStrindex", f->name);
		put_u32(j, "systemNameStrindex", f->system_name);
		put_u32(j, "filenameStrindex", f->filename);
		put_s64(j, "startLine", f->start_line);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
}

static void put_links(struct json_write *j, const struct profile *p)
{
	open_list(j, "linkTable");
	for (u32 i = 0; i < p->links.count; i++) {
		json_write_open(j, '{');
		json_write_key(j, "traceId");
		json_write_hex(j, p->links.at[i].trace_id, sizeof(p->links.at[i].trace_id));
		json_write_key(j, "spanId");
		json_write_hex(j, p->links.at[i].span_id, sizeof(p->links.at[i].span_id));
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
}

static void put_attributes(struct json_write *j, const struct profile *p)
{
	open_list(j, "attributeTable");
	for (u32 i = 0; i < p->attributes.count; i++) {
		const struct profile_attribute *a = &p->attributes.at[i];

		json_write_open(j, '{');
		put_u32(j, "keyStrindex", a->key);
		if (a->value.kind != ANY_NONE) {
			json_write_key(j, "value");
			put_any(j, &a->value);
		}
		put_u32(j, "unitStrindex", a->unit);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
}

static void put_dictionary(struct json_write *j, const struct profile *p)
{
	open_object(j, "dictionary");
	put_mappings(j, p);
	put_locations(j, p);
	put_functions(j, p);
	put_links(j, p);
	open_list(j, "stringTable");
	for (u32 i = 0; i < p->strings.count; i++)
		json_write_string(j, p->strings.at[i].at, p->strings.at[i].len);
	json_write_close(j, ']');
	put_attributes(j, p);
	open_list(j, "stackTable");
	for (u32 i = 0; i < p->stacks.count; i++) {
		json_write_open(j, '{');
		put_indices(j, "locationIndices", p->stacks.at[i]);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
	json_write_close(j, '}');
}

/* ---- Resources, scopes, profiles, samples ---------------------------------- */

static void put_numbers(struct json_write *j, const struct profile_sample *s)
{
	/* As in the protobuf form: one value for many times has no place in OTLP. */
	bool odd = s->value_count && s->time_count && s->value_count != s->time_count;
	bool counts = odd && s->values[0] == s->time_count;

	if (s->value_count && !counts) {
		open_list(j, "values");
		for (u32 i = 0; i < s->value_count; i++)
			json_write_s64(j, s->values[i]);
		json_write_close(j, ']');
	}
	if (s->time_count && (!odd || counts)) {
		open_list(j, "timestampsUnixNano");
		for (u32 i = 0; i < s->time_count; i++)
			json_write_u64(j, s->times_unix_ns[i]);
		json_write_close(j, ']');
	}
}

static void put_samples(struct json_write *j, const struct profile_set *set)
{
	open_list(j, "samples");
	for (u32 i = 0; i < set->sample_count; i++) {
		const struct profile_sample *s = &set->samples[i];

		json_write_open(j, '{');
		put_u32(j, "stackIndex", s->stack);
		put_indices(j, "attributeIndices", s->attributes);
		put_u32(j, "linkIndex", s->link);
		put_numbers(j, s);
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
}

static void put_type(struct json_write *j, const char *key, struct profile_type type)
{
	if (!type.type && !type.unit)
		return;
	open_object(j, key);
	put_u32(j, "typeStrindex", type.type);
	put_u32(j, "unitStrindex", type.unit);
	json_write_close(j, '}');
}

static void put_set(struct json_write *j, const struct profile_set *set)
{
	json_write_open(j, '{');
	put_type(j, "sampleType", set->sample_type);
	put_samples(j, set);
	put_u64(j, "timeUnixNano", set->time_unix_ns);
	put_u64(j, "durationNano", set->duration_ns);
	put_type(j, "periodType", set->period_type);
	put_s64(j, "period", set->period);
	if (set->has_profile_id) {
		json_write_key(j, "profileId");
		json_write_hex(j, set->profile_id, sizeof(set->profile_id));
	}
	put_u32(j, "droppedAttributesCount", set->dropped_attributes_count);
	put_str(j, "originalPayloadFormat", set->original_format);
	if (set->original_payload.len) {
		json_write_key(j, "originalPayload");
		json_write_base64(j, set->original_payload.at, set->original_payload.len);
	}
	put_indices(j, "attributeIndices", set->attributes);
	json_write_close(j, '}');
}

static void put_scope(struct json_write *j, const struct profile_scope *scope)
{
	json_write_open(j, '{');
	open_object(j, "scope");
	put_str(j, "name", scope->name);
	put_str(j, "version", scope->version);
	put_keyvalues(j, "attributes", scope->attributes, scope->attribute_count);
	put_u32(j, "droppedAttributesCount", scope->dropped_attributes_count);
	json_write_close(j, '}');
	open_list(j, "profiles");
	for (u32 i = 0; i < scope->set_count; i++)
		put_set(j, &scope->sets[i]);
	json_write_close(j, ']');
	put_str(j, "schemaUrl", scope->schema_url);
	json_write_close(j, '}');
}

static void put_resource(struct json_write *j, const struct profile_resource *resource)
{
	json_write_open(j, '{');
	open_object(j, "resource");
	put_keyvalues(j, "attributes", resource->attributes, resource->attribute_count);
	put_u32(j, "droppedAttributesCount", resource->dropped_attributes_count);
	json_write_close(j, '}');
	open_list(j, "scopeProfiles");
	for (u32 i = 0; i < resource->scope_count; i++)
		put_scope(j, &resource->scopes[i]);
	json_write_close(j, ']');
	put_str(j, "schemaUrl", resource->schema_url);
	json_write_close(j, '}');
}

int otlp_json_encode(const struct profile *profile, struct buf *out)
{
	struct json_write j = { .b = out };

	json_write_open(&j, '{');
	open_list(&j, "resourceProfiles");
	for (u32 i = 0; i < profile->resources.count; i++)
		put_resource(&j, &profile->resources.at[i]);
	json_write_close(&j, ']');
	put_dictionary(&j, profile);
	json_write_close(&j, '}');
	buf_add(out, "\n", 1);
	return buf_err(out);
}
