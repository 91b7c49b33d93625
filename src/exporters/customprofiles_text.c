// SPDX-License-Identifier: Apache-2.0
#include "exporters/customprofiles_text.h"

#include <string.h>

#include "exporters/textout.h"
#include "profile/any.h"
#include "profile/profile.h"

static const char resource_begin[] = "--------------- New Resource Profile --------------\n";
static const char resource_skipped[] = "              SKIPPED (no container.id)\n";
static const char resource_end[] = "-------------- End Resource Profile ---------------\n\n";
static const char profile_begin[] = "------------------- New Profile -------------------\n";
static const char profile_attributes_end[] = "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n";
static const char profile_end[] = "------------------- End Profile -------------------\n";
static const char sample_begin[] = "------------------- New Sample --------------------\n";
static const char sample_attributes_end[] = "---------------------------------------------------\n";
static const char sample_end[] = "------------------- End Sample --------------------\n";

struct text {
	const struct profile *profile;
	const struct customprofiles_text_options *options;
	struct textout *out;
};

static void put(struct text *t, const char *line)
{
	textout_add(t->out, line, strlen(line));
}

static void put_string(struct text *t, u32 string)
{
	textout_name(t->out, t->profile->strings.at[string]);
}

static void put_keyvalue(struct text *t, struct str key, const struct any *value)
{
	put(t, "  ");
	textout_name(t->out, key);
	put(t, ": ");
	textout_any(t->out, value);
	textout_addf(t->out, " (%s)\n", textout_type(value));
}

static void put_attributes(struct text *t, struct indices attributes)
{
	for (u32 i = 0; i < attributes.count; i++) {
		const struct profile_attribute *a = &t->profile->attributes.at[attributes.at[i]];

		put_keyvalue(t, t->profile->strings.at[a->key], &a->value);
	}
}

static bool listed(const struct config_texts *texts, struct str name)
{
	for (u32 i = 0; i < texts->count; i++)
		if (str_equal((struct str){ texts->at[i], (u32)strlen(texts->at[i]) }, name))
			return true;
	return !texts->count;
}

static void put_unnamed(struct text *t, struct str type, const struct profile_location *location)
{
	put(t, "Instrumentation: ");
	textout_name(t->out, type);
	textout_addf(t->out, ": Function: 0x%02llx, File: ", location->address);
	if (location->mapping)
		put_string(t, t->profile->mappings.at[location->mapping].filename);
	else
		put(t, "<unknown>");
	put(t, "\n");
}

static void put_line(struct text *t, struct str type, const struct profile_line *line)
{
	const struct profile_function *function = &t->profile->functions.at[line->function];

	put(t, "Instrumentation: ");
	textout_name(t->out, type);
	put(t, ", Function: ");
	put_string(t, function->name);
	if (t->options->function_file) {
		put(t, ", File: ");
		put_string(t, function->filename);
		textout_addf(t->out, ", Line: %lld, Column: %lld", line->line, line->column);
	}
	put(t, "\n");
}

static void put_frame(struct text *t, const struct profile_location *location)
{
	const struct any *value = profile_attribute_find(t->profile, location->attributes, "profile.frame.type");
	struct str type = value && value->kind == ANY_STRING ? value->string : STR("unknown");

	if (!listed(&t->options->frame_types, type))
		return;
	if (!location->line_count)
		put_unnamed(t, type, location);
	for (u32 i = 0; i < location->line_count; i++)
		put_line(t, type, &location->lines[i]);
}

static void put_sample(struct text *t, const struct profile_sample *sample)
{
	struct indices stack = t->profile->stacks.at[sample->stack];

	put(t, sample_begin);
	if (t->options->sample_attributes) {
		put_attributes(t, sample->attributes);
		put(t, sample_attributes_end);
	}
	if (t->options->stack_frames)
		for (u32 i = 0; i < stack.count; i++)
			put_frame(t, &t->profile->locations.at[stack.at[i]]);
	put(t, sample_end);
}

static void put_set(struct text *t, const struct profile_set *set)
{
	if (!listed(&t->options->sample_types, t->profile->strings.at[set->sample_type.type]))
		return;
	put(t, profile_begin);
	put(t, "  ProfileID: ");
	textout_hex(t->out, set->profile_id, sizeof(set->profile_id));
	textout_addf(t->out, "\n  Dropped attributes count: %u\n  SampleType: ", set->dropped_attributes_count);
	put_string(t, set->sample_type.type);
	put(t, "\n");
	if (t->options->profile_attributes && set->attributes.count) {
		put_attributes(t, set->attributes);
		put(t, profile_attributes_end);
	}
	for (u32 i = 0; i < set->sample_count; i++)
		put_sample(t, &set->samples[i]);
	put(t, profile_end);
}

static bool has_container_id(const struct profile_resource *resource)
{
	const struct any *id = keyvalue_find(resource->attributes, resource->attribute_count, "container.id");

	return id && id->kind != ANY_NONE && (id->kind != ANY_STRING || id->string.len);
}

static void put_resource(struct text *t, const struct profile_resource *resource)
{
	put(t, resource_begin);
	if (t->options->ignore_profiles_without_container_id && !has_container_id(resource)) {
		put(t, resource_skipped);
		put(t, resource_end);
		return;
	}
	if (t->options->resource_attributes)
		for (u32 i = 0; i < resource->attribute_count; i++)
			put_keyvalue(t, resource->attributes[i].key, &resource->attributes[i].value);
	for (u32 i = 0; i < resource->scope_count; i++)
		for (u32 j = 0; j < resource->scopes[i].set_count; j++)
			put_set(t, &resource->scopes[i].sets[j]);
	put(t, resource_end);
}

void customprofiles_text(const struct profile *profile, const struct customprofiles_text_options *options,
			 struct textout *out)
{
	struct text t = { profile, options, out };

	for (u32 i = 0; i < profile->resources.count; i++)
		put_resource(&t, &profile->resources.at[i]);
}
