// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"
#include "wire/jsontext.h"
#include "wire/otlp/otlp_json.h"

/* ---- Fields; zero is the default and is left out --------------------------- */

static void put_u32(struct jsontext *j, const char *key, u32 value)
{
	if (!value)
		return;
	jsontext_key(j, key);
	jsontext_u32(j, value);
}

static void put_u64(struct jsontext *j, const char *key, u64 value)
{
	if (!value)
		return;
	jsontext_key(j, key);
	jsontext_u64(j, value);
}

static void put_s64(struct jsontext *j, const char *key, s64 value)
{
	if (!value)
		return;
	jsontext_key(j, key);
	jsontext_s64(j, value);
}

static void put_str(struct jsontext *j, const char *key, struct str s)
{
	if (!s.len)
		return;
	jsontext_key(j, key);
	jsontext_string(j, s.at, s.len);
}

static void put_indices(struct jsontext *j, const char *key, struct indices list)
{
	if (!list.count)
		return;
	jsontext_key(j, key);
	jsontext_u32_list(j, list.at, list.count);
}

static void open_list(struct jsontext *j, const char *key)
{
	jsontext_key(j, key);
	jsontext_open(j, '[');
}

static void open_object(struct jsontext *j, const char *key)
{
	jsontext_key(j, key);
	jsontext_open(j, '{');
}

/* ---- Values ---------------------------------------------------------------- */

static void put_keyvalues(struct jsontext *j, const char *key, const struct keyvalue *at, u32 count);

static void put_any(struct jsontext *j, const struct any *value);

static void put_array(struct jsontext *j, const struct any *value)
{
	open_object(j, "arrayValue");
	open_list(j, "values");
	for (u32 i = 0; i < value->count; i++)
		put_any(j, &value->array[i]);
	jsontext_close(j, ']');
	jsontext_close(j, '}');
}

static void put_any(struct jsontext *j, const struct any *value)
{
	jsontext_open(j, '{');
	switch (value->kind) {
	case ANY_NONE:
		break;
	case ANY_STRING:
		jsontext_key(j, "stringValue");
		jsontext_string(j, value->string.at, value->string.len);
		break;
	case ANY_BOOL:
		jsontext_key(j, "boolValue");
		jsontext_bool(j, value->boolean);
		break;
	case ANY_INT:
		jsontext_key(j, "intValue");
		jsontext_s64(j, value->integer);
		break;
	case ANY_DOUBLE:
		jsontext_key(j, "doubleValue");
		jsontext_double(j, value->real);
		break;
	case ANY_ARRAY:
		put_array(j, value);
		break;
	case ANY_MAP:
		open_object(j, "kvlistValue");
		put_keyvalues(j, "values", value->map, value->count);
		jsontext_close(j, '}');
		break;
	case ANY_BYTES:
		jsontext_key(j, "bytesValue");
		jsontext_base64(j, value->string.at, value->string.len);
		break;
	}
	jsontext_close(j, '}');
}

static void put_keyvalues(struct jsontext *j, const char *key, const struct keyvalue *at, u32 count)
{
	if (!count)
		return;
	open_list(j, key);
	for (u32 i = 0; i < count; i++) {
		jsontext_open(j, '{');
		put_str(j, "key", at[i].key);
		jsontext_key(j, "value");
		put_any(j, &at[i].value);
		jsontext_close(j, '}');
	}
	jsontext_close(j, ']');
}

/* ---- The dictionary -------------------------------------------------------- */

static void put_mappings(struct jsontext *j, const struct profile *p)
{
	open_list(j, "mappingTable");
	for (u32 i = 0; i < p->mappings.count; i++) {
		const struct profile_mapping *m = &p->mappings.at[i];

		jsontext_open(j, '{');
		put_u64(j, "memoryStart", m->start_va);
		put_u64(j, "memoryLimit", m->limit_va);
		put_u64(j, "fileOffset", m->file_offset);
		put_u32(j, "filenameStrindex", m->filename);
		put_indices(j, "attributeIndices", m->attributes);
		jsontext_close(j, '}');
	}
	jsontext_close(j, ']');
}

static void put_lines(struct jsontext *j, const struct profile_location *l)
{
	if (!l->line_count)
		return;
	open_list(j, "lines");
	for (u32 i = 0; i < l->line_count; i++) {
		jsontext_open(j, '{');
		put_u32(j, "functionIndex", l->lines[i].function);
		put_s64(j, "line", l->lines[i].line);
		put_s64(j, "column", l->lines[i].column);
		jsontext_close(j, '}');
	}
	jsontext_close(j, ']');
}

static void put_locations(struct jsontext *j, const struct profile *p)
{
	open_list(j, "locationTable");
	for (u32 i = 0; i < p->locations.count; i++) {
		const struct profile_location *l = &p->locations.at[i];

		jsontext_open(j, '{');
		put_u32(j, "mappingIndex", l->mapping);
		put_u64(j, "address", l->address);
		put_lines(j, l);
		put_indices(j, "attributeIndices", l->attributes);
		jsontext_close(j, '}');
	}
	jsontext_close(j, ']');
}

static void put_functions(struct jsontext *j, const struct profile *p)
{
	open_list(j, "functionTable");
	for (u32 i = 0; i < p->functions.count; i++) {
		const struct profile_function *f = &p->functions.at[i];

		jsontext_open(j, '{');
		put_u32(j, "nameStrindex", f->name);
		put_u32(j, "systemNameStrindex", f->system_name);
		put_u32(j, "filenameStrindex", f->filename);
		put_s64(j, "startLine", f->start_line);
		jsontext_close(j, '}');
	}
	jsontext_close(j, ']');
}

static void put_links(struct jsontext *j, const struct profile *p)
{
	open_list(j, "linkTable");
	for (u32 i = 0; i < p->links.count; i++) {
		jsontext_open(j, '{');
		jsontext_key(j, "traceId");
		jsontext_hex(j, p->links.at[i].trace_id, sizeof(p->links.at[i].trace_id));
		jsontext_key(j, "spanId");
		jsontext_hex(j, p->links.at[i].span_id, sizeof(p->links.at[i].span_id));
		jsontext_close(j, '}');
	}
	jsontext_close(j, ']');
}

static void put_attributes(struct jsontext *j, const struct profile *p)
{
	open_list(j, "attributeTable");
	for (u32 i = 0; i < p->attributes.count; i++) {
		const struct profile_attribute *a = &p->attributes.at[i];

		jsontext_open(j, '{');
		put_u32(j, "keyStrindex", a->key);
		if (a->value.kind != ANY_NONE) {
			jsontext_key(j, "value");
			put_any(j, &a->value);
		}
		put_u32(j, "unitStrindex", a->unit);
		jsontext_close(j, '}');
	}
	jsontext_close(j, ']');
}

static void put_dictionary(struct jsontext *j, const struct profile *p)
{
	open_object(j, "dictionary");
	put_mappings(j, p);
	put_locations(j, p);
	put_functions(j, p);
	put_links(j, p);
	open_list(j, "stringTable");
	for (u32 i = 0; i < p->strings.count; i++)
		jsontext_string(j, p->strings.at[i].at, p->strings.at[i].len);
	jsontext_close(j, ']');
	put_attributes(j, p);
	open_list(j, "stackTable");
	for (u32 i = 0; i < p->stacks.count; i++) {
		jsontext_open(j, '{');
		put_indices(j, "locationIndices", p->stacks.at[i]);
		jsontext_close(j, '}');
	}
	jsontext_close(j, ']');
	jsontext_close(j, '}');
}

/* ---- Resources, scopes, profiles, samples ---------------------------------- */

static void put_numbers(struct jsontext *j, const struct profile_sample *s)
{
	/* As in the protobuf form: one value for many times has no place in OTLP. */
	bool odd = s->value_count && s->time_count && s->value_count != s->time_count;
	bool counts = odd && s->values[0] == s->time_count;

	if (s->value_count && !counts) {
		open_list(j, "values");
		for (u32 i = 0; i < s->value_count; i++)
			jsontext_s64(j, s->values[i]);
		jsontext_close(j, ']');
	}
	if (s->time_count && (!odd || counts)) {
		open_list(j, "timestampsUnixNano");
		for (u32 i = 0; i < s->time_count; i++)
			jsontext_u64(j, s->times_unix_ns[i]);
		jsontext_close(j, ']');
	}
}

static void put_samples(struct jsontext *j, const struct profile_set *set)
{
	open_list(j, "samples");
	for (u32 i = 0; i < set->sample_count; i++) {
		const struct profile_sample *s = &set->samples[i];

		jsontext_open(j, '{');
		put_u32(j, "stackIndex", s->stack);
		put_indices(j, "attributeIndices", s->attributes);
		put_u32(j, "linkIndex", s->link);
		put_numbers(j, s);
		jsontext_close(j, '}');
	}
	jsontext_close(j, ']');
}

static void put_type(struct jsontext *j, const char *key, struct profile_type type)
{
	if (!type.type && !type.unit)
		return;
	open_object(j, key);
	put_u32(j, "typeStrindex", type.type);
	put_u32(j, "unitStrindex", type.unit);
	jsontext_close(j, '}');
}

static void put_set(struct jsontext *j, const struct profile_set *set)
{
	jsontext_open(j, '{');
	put_type(j, "sampleType", set->sample_type);
	put_samples(j, set);
	put_u64(j, "timeUnixNano", set->time_unix_ns);
	put_u64(j, "durationNano", set->duration_ns);
	put_type(j, "periodType", set->period_type);
	put_s64(j, "period", set->period);
	if (set->has_profile_id) {
		jsontext_key(j, "profileId");
		jsontext_hex(j, set->profile_id, sizeof(set->profile_id));
	}
	put_u32(j, "droppedAttributesCount", set->dropped_attributes_count);
	put_str(j, "originalPayloadFormat", set->original_format);
	if (set->original_payload.len) {
		jsontext_key(j, "originalPayload");
		jsontext_base64(j, set->original_payload.at, set->original_payload.len);
	}
	put_indices(j, "attributeIndices", set->attributes);
	jsontext_close(j, '}');
}

static void put_scope(struct jsontext *j, const struct profile_scope *scope)
{
	jsontext_open(j, '{');
	open_object(j, "scope");
	put_str(j, "name", scope->name);
	put_str(j, "version", scope->version);
	put_keyvalues(j, "attributes", scope->attributes, scope->attribute_count);
	put_u32(j, "droppedAttributesCount", scope->dropped_attributes_count);
	jsontext_close(j, '}');
	open_list(j, "profiles");
	for (u32 i = 0; i < scope->set_count; i++)
		put_set(j, &scope->sets[i]);
	jsontext_close(j, ']');
	put_str(j, "schemaUrl", scope->schema_url);
	jsontext_close(j, '}');
}

static void put_resource(struct jsontext *j, const struct profile_resource *resource)
{
	jsontext_open(j, '{');
	open_object(j, "resource");
	put_keyvalues(j, "attributes", resource->attributes, resource->attribute_count);
	put_u32(j, "droppedAttributesCount", resource->dropped_attributes_count);
	jsontext_close(j, '}');
	open_list(j, "scopeProfiles");
	for (u32 i = 0; i < resource->scope_count; i++)
		put_scope(j, &resource->scopes[i]);
	jsontext_close(j, ']');
	put_str(j, "schemaUrl", resource->schema_url);
	jsontext_close(j, '}');
}

int otlp_json_encode(const struct profile *profile, struct buf *out)
{
	struct jsontext j = { .b = out };

	jsontext_open(&j, '{');
	open_list(&j, "resourceProfiles");
	for (u32 i = 0; i < profile->resources.count; i++)
		put_resource(&j, &profile->resources.at[i]);
	jsontext_close(&j, ']');
	put_dictionary(&j, profile);
	jsontext_close(&j, '}');
	buf_add(out, "\n", 1);
	return buf_err(out);
}
