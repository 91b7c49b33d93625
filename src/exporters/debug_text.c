// SPDX-License-Identifier: Apache-2.0
#include "exporters/debug_text.h"

#include <string.h>
#include <time.h>

#include "exporters/textout.h"
#include "profile/profile.h"

static void put(struct textout *out, const char *text)
{
	textout_add(out, text, strlen(text));
}

/* Nothing at all for one that is all zeros: it is not set. */
static void put_id(struct textout *out, const u8 *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i]) {
			textout_hex(out, at, len);
			return;
		}
	}
}

/* ---- normal ------------------------------------------------------------------ */

static void put_pair(struct textout *out, struct str key, const struct any *value)
{
	put(out, " ");
	textout_name(out, key);
	put(out, "=");
	textout_any(out, value);
}

static void put_pairs(struct textout *out, const struct keyvalue *at, u32 count)
{
	for (u32 i = 0; i < count; i++)
		put_pair(out, at[i].key, &at[i].value);
}

static void put_schema(struct textout *out, struct str schema_url)
{
	if (!schema_url.len)
		return;
	put(out, " [");
	textout_name(out, schema_url);
	put(out, "]");
}

static void put_scope_heading(struct textout *out, const struct profile_scope *scope)
{
	if (scope->name.len || scope->version.len)
		put(out, " ");
	textout_name(out, scope->name);
	if (scope->version.len) {
		put(out, "@");
		textout_name(out, scope->version);
	}
	put_schema(out, scope->schema_url);
	put_pairs(out, scope->attributes, scope->attribute_count);
	put(out, "\n");
}

static void put_set_line(const struct profile *profile, const struct profile_set *set, struct textout *out)
{
	put_id(out, set->profile_id, sizeof(set->profile_id));
	textout_addf(out, " samples=%u", set->sample_count);
	for (u32 i = 0; i < set->attributes.count; i++) {
		const struct profile_attribute *a = &profile->attributes.at[set->attributes.at[i]];

		put_pair(out, profile->strings.at[a->key], &a->value);
	}
	put(out, "\n");
}

void debug_text_normal(const struct profile *profile, struct textout *out)
{
	for (u32 i = 0; i < profile->resources.count; i++) {
		const struct profile_resource *resource = &profile->resources.at[i];

		textout_addf(out, "ResourceProfiles #%u", i);
		put_schema(out, resource->schema_url);
		put_pairs(out, resource->attributes, resource->attribute_count);
		put(out, "\n");
		for (u32 j = 0; j < resource->scope_count; j++) {
			textout_addf(out, "ScopeProfiles #%u", j);
			put_scope_heading(out, &resource->scopes[j]);
			for (u32 k = 0; k < resource->scopes[j].set_count; k++)
				put_set_line(profile, &resource->scopes[j].sets[k], out);
		}
	}
}

/* ---- detailed ---------------------------------------------------------------- */

static void put_typed(struct textout *out, const char *before, struct str key, const struct any *value)
{
	put(out, before);
	textout_name(out, key);
	textout_addf(out, ": %s(", textout_type(value));
	textout_any(out, value);
	put(out, ")\n");
}

static void put_attribute_list(struct textout *out, const char *heading, const struct keyvalue *at, u32 count)
{
	if (count)
		textout_addf(out, "%s:\n", heading);
	for (u32 i = 0; i < count; i++)
		put_typed(out, "     -> ", at[i].key, &at[i].value);
}

static void put_indices(struct textout *out, struct indices indices)
{
	put(out, "    Attributes: [");
	for (u32 i = 0; i < indices.count; i++)
		textout_addf(out, "%s%u", i ? " " : "", indices.at[i]);
	put(out, "]\n");
}

static void put_mappings(const struct profile *profile, struct textout *out)
{
	for (u32 i = 0; i < profile->mappings.count; i++) {
		const struct profile_mapping *m = &profile->mappings.at[i];

		textout_addf(out, "Mapping #%u\n    Memory start: %llu\n    Memory limit: %llu\n", i, m->start_va,
			     m->limit_va);
		textout_addf(out, "    File offset: %llu\n    File name: %u\n", m->file_offset, m->filename);
		put_indices(out, m->attributes);
	}
}

static void put_locations(const struct profile *profile, struct textout *out)
{
	for (u32 i = 0; i < profile->locations.count; i++) {
		const struct profile_location *l = &profile->locations.at[i];

		textout_addf(out, "Location #%u\n    Mapping index: %u\n    Address: %llu\n", i, l->mapping,
			     l->address);
		for (u32 j = 0; j < l->line_count; j++)
			textout_addf(out, "    Line #%u\n        Function index: %u\n        Line: %lld\n"
				     "        Column: %lld\n", j, l->lines[j].function, l->lines[j].line,
				     l->lines[j].column);
		put_indices(out, l->attributes);
	}
}

static void put_functions(const struct profile *profile, struct textout *out)
{
	for (u32 i = 0; i < profile->functions.count; i++) {
		const struct profile_function *f = &profile->functions.at[i];

		textout_addf(out, "Function #%u\n    Name: %u\n    System name: %u\n    Filename: %u\n"
			     "    Start line: %lld\n", i, f->name, f->system_name, f->filename, f->start_line);
	}
}

static void put_attribute_table(const struct profile *profile, struct textout *out)
{
	put(out, "Attribute table:\n");
	for (u32 i = 0; i < profile->attributes.count; i++) {
		const struct profile_attribute *a = &profile->attributes.at[i];

		textout_addf(out, "     -> Key: Int(%u)\n     -> Value: Str(", a->key);
		textout_any(out, &a->value);
		textout_addf(out, ")\n     -> unit: Int(%u)\n", a->unit);
	}
}

static void put_link_table(const struct profile *profile, struct textout *out)
{
	put(out, "Link table:\n");
	for (u32 i = 0; i < profile->links.count; i++) {
		put(out, "     -> Trace ID: Str(");
		put_id(out, profile->links.at[i].trace_id, sizeof(profile->links.at[i].trace_id));
		put(out, ")\n     -> Span ID: Str(");
		put_id(out, profile->links.at[i].span_id, sizeof(profile->links.at[i].span_id));
		put(out, ")\n");
	}
}

static void put_string_table(const struct profile *profile, struct textout *out)
{
	put(out, "String table:\n");
	for (u32 i = 0; i < profile->strings.count; i++) {
		put(out, "    ");
		textout_name(out, profile->strings.at[i]);
		put(out, "\n");
	}
}

/* As Go prints a time: the fraction without the zeros at its end. */
static void put_time(struct textout *out, u64 unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	unsigned fraction = (unsigned)(unix_ns % 1000000000);
	int digits = 9;
	char text[40];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	put(out, text);
	while (fraction && fraction % 10 == 0) {
		fraction /= 10;
		digits--;
	}
	if (fraction)
		textout_addf(out, ".%0*u", digits, fraction);
	put(out, " +0000 UTC");
}

static void put_sample(const struct profile *profile, const struct profile_sample *sample, u32 i,
		       struct textout *out)
{
	textout_addf(out, "    Sample #%u\n        Values: [", i);
	for (u32 j = 0; j < sample->value_count; j++)
		textout_addf(out, "%s%lld", j ? " " : "", sample->values[j]);
	put(out, "]\n");
	if (sample->attributes.count)
		put(out, "        Attributes:\n");
	for (u32 j = 0; j < sample->attributes.count; j++) {
		const struct profile_attribute *a = &profile->attributes.at[sample->attributes.at[j]];

		put_typed(out, "             -> ", profile->strings.at[a->key], &a->value);
	}
}

static void put_set(const struct profile *profile, const struct profile_set *set, u32 i, struct textout *out)
{
	textout_addf(out, "Profile #%u\n    Profile ID     : ", i);
	put_id(out, set->profile_id, sizeof(set->profile_id));
	put(out, "\n    Start time     : ");
	put_time(out, set->time_unix_ns);
	textout_addf(out, "\n    DurationNano   : %llu\n    Dropped attributes count: %u\n", set->duration_ns,
		     set->dropped_attributes_count);
	for (u32 j = 0; j < set->sample_count; j++)
		put_sample(profile, &set->samples[j], j, out);
}

static void put_scope(const struct profile *profile, const struct profile_scope *scope, u32 i, struct textout *out)
{
	textout_addf(out, "ScopeProfiles #%u\nScopeProfiles SchemaURL: ", i);
	textout_name(out, scope->schema_url);
	put(out, "\nInstrumentationScope ");
	textout_name(out, scope->name);
	put(out, " ");
	textout_name(out, scope->version);
	put(out, "\n");
	put_attribute_list(out, "InstrumentationScope attributes", scope->attributes, scope->attribute_count);
	for (u32 j = 0; j < scope->set_count; j++)
		put_set(profile, &scope->sets[j], j, out);
}

void debug_text_detailed(const struct profile *profile, struct textout *out)
{
	put_mappings(profile, out);
	put_locations(profile, out);
	put_functions(profile, out);
	put_attribute_table(profile, out);
	put_link_table(profile, out);
	put_string_table(profile, out);
	for (u32 i = 0; i < profile->resources.count; i++) {
		const struct profile_resource *resource = &profile->resources.at[i];

		textout_addf(out, "ResourceProfiles #%u\nResource SchemaURL: ", i);
		textout_name(out, resource->schema_url);
		put(out, "\n");
		put_attribute_list(out, "Resource attributes", resource->attributes, resource->attribute_count);
		for (u32 j = 0; j < resource->scope_count; j++)
			put_scope(profile, &resource->scopes[j], j, out);
	}
}
