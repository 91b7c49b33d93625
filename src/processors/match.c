// SPDX-License-Identifier: Apache-2.0
#include "processors/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "ottl/value.h"
#include "processors/actions.h"
#include "profile/any.h"

#define MATCH_BYTES_MAX ((size_t)4 << 20)

enum match_type { MATCH_STRICT, MATCH_REGEXP };
static const char *const match_types[] = { "strict", "regexp", NULL };

struct attribute_options {
	const char *key;
	const struct config_node *value;
};

struct library_options {
	const char *name, *version;
};

/* What a text must be; a NULL pattern and no text is anything. */
struct expected {
	bool any;
	struct any value;
	struct pattern *pattern;
};

struct expected_attribute {
	struct str key;
	struct expected value;
};

struct expected_library {
	struct expected name, version;
};

struct match {
	struct arena arena;
	bool regexp;
	u32 service_count, resource_count, attribute_count, library_count;
	struct expected *services;
	struct expected_attribute *resources, *attributes;
	struct expected_library *libraries;
};

/* ---- Making ------------------------------------------------------------------------------- */

static int expect(struct match *m, const struct any *value, struct expected *expected, struct buf *why)
{
	expected->value = *value;
	if (!m->regexp)
		return 0;
	if (value->kind != ANY_STRING) {
		buf_addf(why, "with match_type regexp, values are strings");
		return -EINVAL;
	}
	return pattern_new(value->string.at, value->string.len, &expected->pattern, why);
}

static int expect_text(struct match *m, const char *text, struct expected *expected, struct buf *why)
{
	return expect(m, &(struct any){ ANY_STRING, 0, .string = { text, (u32)strlen(text) } }, expected, why);
}

static int expect_attributes(struct match *m, const struct config_sections *options, struct expected_attribute *at,
			     struct buf *why)
{
	const struct attribute_options *o = options->at;

	for (u32 i = 0; i < options->count; i++) {
		struct any value;
		int r;

		at[i].key = (struct str){ o[i].key, (u32)strlen(o[i].key) };
		at[i].value.any = !o[i].value || o[i].value->kind == NODE_NULL;
		if (at[i].value.any)
			continue;
		r = any_of_node(&m->arena, o[i].value, &value);
		if (r == 0)
			r = expect(m, &value, &at[i].value, why);
		if (r < 0)
			return r;
	}
	return 0;
}

static int expect_libraries(struct match *m, const struct config_sections *options, struct buf *why)
{
	const struct library_options *o = options->at;
	int r = 0;

	for (u32 i = 0; r == 0 && i < options->count; i++) {
		r = expect_text(m, o[i].name, &m->libraries[i].name, why);
		m->libraries[i].version.any = !o[i].version;
		if (r == 0 && o[i].version)
			r = expect_text(m, o[i].version, &m->libraries[i].version, why);
	}
	return r;
}

static int match_reserve(struct match *m, const struct match_options *o)
{
	m->service_count = o->services.count;
	m->resource_count = o->resources.count;
	m->attribute_count = o->attributes.count;
	m->library_count = o->libraries.count;
	m->services = arena_zalloc(&m->arena, (m->service_count + 1) * sizeof(*m->services));
	m->resources = arena_zalloc(&m->arena, (m->resource_count + 1) * sizeof(*m->resources));
	m->attributes = arena_zalloc(&m->arena, (m->attribute_count + 1) * sizeof(*m->attributes));
	m->libraries = arena_zalloc(&m->arena, (m->library_count + 1) * sizeof(*m->libraries));
	return arena_err(&m->arena);
}

int match_new(const struct match_options *o, struct match **ret_match, struct buf *why)
{
	_cleanup_(match_freep) struct match *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	arena_init(&m->arena, MATCH_BYTES_MAX);
	m->regexp = o->match_type == MATCH_REGEXP;
	if (o->match_type < 0) {
		buf_addf(why, "match_type is missing: strict or regexp");
		return -EINVAL;
	}
	if (!o->services.count && !o->resources.count && !o->attributes.count && !o->libraries.count) {
		buf_addf(why, "at least one of services, resources, attributes and libraries is needed");
		return -EINVAL;
	}
	r = match_reserve(m, o);
	for (u32 i = 0; r == 0 && i < m->service_count; i++)
		r = expect_text(m, o->services.at[i], &m->services[i], why);
	if (r == 0)
		r = expect_attributes(m, &o->resources, m->resources, why);
	if (r == 0)
		r = expect_attributes(m, &o->attributes, m->attributes, why);
	if (r == 0)
		r = expect_libraries(m, &o->libraries, why);
	if (r < 0)
		return r;
	*ret_match = TAKE(m);
	return 0;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	for (u32 i = 0; m->services && i < m->service_count; i++)
		pattern_free(m->services[i].pattern);
	for (u32 i = 0; m->resources && i < m->resource_count; i++)
		pattern_free(m->resources[i].value.pattern);
	for (u32 i = 0; m->attributes && i < m->attribute_count; i++)
		pattern_free(m->attributes[i].value.pattern);
	for (u32 i = 0; m->libraries && i < m->library_count; i++) {
		pattern_free(m->libraries[i].name.pattern);
		pattern_free(m->libraries[i].version.pattern);
	}
	arena_done(&m->arena);
	free(m);
}

/* ---- Asking ------------------------------------------------------------------------------------ */

static bool is_expected(const struct expected *expected, struct pattern_scratch *scratch, const struct any *value)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, (size_t)1 << 20);
	if (expected->any)
		return true;
	if (!expected->pattern)
		return any_equal(&expected->value, value);
	if (value->kind == ANY_STRING)
		return pattern_match(expected->pattern, scratch, value->string.at, value->string.len, 0, NULL) > 0;
	value_text(&(struct value){ .any = *value }, &text);
	return !buf_err(&text) && pattern_match(expected->pattern, scratch, text.data, text.len, 0, NULL) > 0;
}

static bool is_expected_text(const struct expected *expected, struct pattern_scratch *scratch, struct str text)
{
	return is_expected(expected, scratch, &(struct any){ ANY_STRING, 0, .string = text });
}

static bool is_service(const struct match *m, struct pattern_scratch *scratch, const struct profile_resource *resource)
{
	const struct any *name = keyvalue_find(resource->attributes, resource->attribute_count, "service.name");

	for (u32 i = 0; name && i < m->service_count; i++)
		if (is_expected(&m->services[i], scratch, name))
			return true;
	return !m->service_count;
}

static bool is_library(const struct match *m, struct pattern_scratch *scratch, const struct profile_scope *scope)
{
	for (u32 i = 0; i < m->library_count; i++)
		if (is_expected_text(&m->libraries[i].name, scratch, scope->name) &&
		    is_expected_text(&m->libraries[i].version, scratch, scope->version))
			return true;
	return !m->library_count;
}

static bool has_all(const struct expected_attribute *at, u32 count, struct pattern_scratch *scratch,
		    const struct attrs *attrs)
{
	for (u32 i = 0; i < count; i++) {
		const struct any *value = attrs_find(attrs, at[i].key);

		if (!value || !is_expected(&at[i].value, scratch, value))
			return false;
	}
	return true;
}

bool match_scope(const struct match *m, struct pattern_scratch *scratch, const struct profile_resource *resource,
		 const struct profile_scope *scope)
{
	struct profile_resource copy = *resource;
	struct attrs attrs = attrs_of_resource(NULL, &copy);

	return is_service(m, scratch, resource) && is_library(m, scratch, scope) &&
	       has_all(m->resources, m->resource_count, scratch, &attrs);
}

bool match_attributes(const struct match *m, struct pattern_scratch *scratch, const struct attrs *attrs)
{
	return has_all(m->attributes, m->attribute_count, scratch, attrs);
}

/* ---- Options ------------------------------------------------------------------------------------- */

static const struct attribute_options attribute_defaults = { .key = "" };
static const struct config_field attribute_fields[] = {
	{ "key", CONFIG_TEXT, FIELD(struct attribute_options, key), .required = true, .help = "the attribute" },
	{ "value", CONFIG_NODE, FIELD(struct attribute_options, value), .help = "its value; any, if it is left out" },
	{ 0 },
};

static const struct library_options library_defaults = { .name = "" };
static const struct config_field library_fields[] = {
	{ "name", CONFIG_TEXT, FIELD(struct library_options, name), .required = true, .help = "the name of the scope" },
	{ "version", CONFIG_TEXT, FIELD(struct library_options, version),
	  .help = "its version; any, if it is left out" },
	{ 0 },
};

#define OTHER_SIGNAL .help = "profiles have none; remove it"

const struct config_field match_fields[] = {
	{ "match_type", CONFIG_CHOICE, FIELD(struct match_options, match_type), .choices = match_types,
	  .help = "strict: values are equal; regexp: regular expressions match them" },
	{ "services", CONFIG_TEXTS, FIELD(struct match_options, services),
	  .help = "values of the resource's service.name, of which one must match" },
	{ "resources", CONFIG_SECTIONS, FIELD(struct match_options, resources), .fields = attribute_fields,
	  .element_bytes = sizeof(struct attribute_options), .element_defaults = &attribute_defaults,
	  .help = "attributes of the resource, which all must match" },
	{ "libraries", CONFIG_SECTIONS, FIELD(struct match_options, libraries), .fields = library_fields,
	  .element_bytes = sizeof(struct library_options), .element_defaults = &library_defaults,
	  .help = "scopes, of which one must match" },
	{ "attributes", CONFIG_SECTIONS, FIELD(struct match_options, attributes), .fields = attribute_fields,
	  .element_bytes = sizeof(struct attribute_options), .element_defaults = &attribute_defaults,
	  .help = "attributes of the profile or sample, which all must match" },
	{ "regexp", CONFIG_NEEDLESS, .help = "patterns are not cached: they are compiled once" },
	{ "span_names", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "span_kinds", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "log_bodies", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "log_severity_texts", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "log_severity_number", CONFIG_REFUSED, OTHER_SIGNAL },
	{ "metric_names", CONFIG_REFUSED, OTHER_SIGNAL },
	{ 0 },
};
