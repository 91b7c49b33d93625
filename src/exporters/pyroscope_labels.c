// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_labels.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "profile/any.h"

#define NAME_BYTES_MAX 1024
#define RANKS 5			/* 0: kept first */
#define CONTAINER_ID_SHORT 12

/* ---- What matters ------------------------------------------------------------------------- */

/* Which of them differ between processes of one program. */
static bool is_of_process(struct str key)
{
	static const char *const names[] = { "process.pid", "process.parent_pid", "process.creation.time",
					     "process.command", "process.command_args", "process.command_line" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (str_is(key, names[i]))
			return true;
	}
	return false;
}

/* What nobody knows was given by hand: it matters more than what a detector found. */
static int rank_of(struct str key)
{
	static const struct { const char *prefix; int rank; } ranks[] = {
		{ "service.", 0 }, { "process.executable.name", 1 }, { "host.name", 1 }, { "deployment.", 1 },
		{ "k8s.pod.label", 4 }, { "k8s.pod.annotation", 4 }, { "k8s.namespace.label", 4 },
		{ "k8s.namespace.annotation", 4 }, { "k8s.node.label", 4 }, { "k8s.node.annotation", 4 },
		{ "k8s.", 1 }, { "container.name", 1 }, { "container.", 3 }, { "host.", 3 }, { "cloud.", 3 },
		{ "os.", 3 }, { "process.", 4 }, { "telemetry.", 4 },
	};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
		if (str_starts(key, ranks[i].prefix))
			return ranks[i].rank;
	}
	return 2;
}

/* ---- Names and values --------------------------------------------------------------------- */

/* The value as Pyroscope reads it: a text, a number, or a list of one of them; NULL else. */
static const struct any *plain_value(const struct any *value)
{
	if (value->kind == ANY_ARRAY && value->count == 1)
		value = &value->array[0];
	return (value->kind == ANY_STRING && value->string.len) || value->kind == ANY_INT ? value : NULL;
}

static struct str cut_text(struct str text)
{
	u32 end = text.len;

	if (text.len <= PYROSCOPE_VALUE_BYTES_MAX)
		return text;
	/* Not in the middle of a character. */
	for (end = PYROSCOPE_VALUE_BYTES_MAX; end && ((u8)text.at[end] & 0xc0) == 0x80;)
		end--;
	return (struct str){ text.at, end };
}

static bool fits_name(char c, u32 i)
{
	return isalpha((unsigned char)c) || c == '_' || (i && (isdigit((unsigned char)c) || c == '.'));
}

static struct str clean_name(struct str key, struct arena *arena)
{
	bool is_clean = true;
	char *copy;

	for (u32 i = 0; i < key.len && is_clean; i++)
		is_clean = fits_name(key.at[i], i);
	if (is_clean)
		return key;
	copy = arena_copy(arena, key.at, key.len);
	for (u32 i = 0; copy && i < key.len; i++)
		copy[i] = fits_name(copy[i], i) ? copy[i] : '_';
	return copy ? (struct str){ copy, key.len } : (struct str){ 0 };
}

/* Are they one name to Pyroscope, which makes dots underscores? */
static bool same_name(struct str a, struct str b)
{
	if (a.len != b.len)
		return false;
	assert(!a.len || (a.at && b.at));
	for (u32 i = 0; i < a.len; i++) {
		if ((a.at[i] == '.' ? '_' : a.at[i]) != (b.at[i] == '.' ? '_' : b.at[i]))
			return false;
	}
	return true;
}

static bool is_taken(const struct pyroscope_labels *labels, struct str name)
{
	for (u32 i = 0; i < labels->count; i++) {
		if (same_name(labels->at[i].key, name))
			return true;
	}
	return false;
}

static void add(struct pyroscope_labels *labels, struct str key, const struct any *value, struct arena *arena)
{
	/* What is too long is not copied: many resources may share it. */
	bool fits = labels->count < PYROSCOPE_LABELS_MAX && key.len <= NAME_BYTES_MAX;
	struct str name = fits ? clean_name(key, arena) : (struct str){ 0 };
	struct any plain = *value;

	if (!name.len || str_starts(name, "__") || is_taken(labels, name)) {
		labels->dropped++;
		return;
	}
	if (plain.kind == ANY_STRING)
		plain.string = cut_text(plain.string);
	labels->at[labels->count++] = (struct keyvalue){ name, plain };
}

/* ---- The service -------------------------------------------------------------------------- */

static struct str text_of(const struct profile_resource *resource, const char *key)
{
	return any_text(keyvalue_find(resource->attributes, resource->attribute_count, key));
}

static struct str container_of(const struct profile_resource *resource)
{
	static const char *const keys[] = {
		"k8s.deployment.name", "k8s.statefulset.name", "k8s.daemonset.name", "k8s.cronjob.name", "k8s.job.name",
		"k8s.container.name", "container.name", "k8s.pod.name",
	};
	struct str id = text_of(resource, "container.id");

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct str name = text_of(resource, keys[i]);

		if (name.len)
			return name;
	}
	return id.len > CONTAINER_ID_SHORT ? (struct str){ id.at, CONTAINER_ID_SHORT } : id;
}

static struct str service_of(const struct profile_resource *resource, enum pyroscope_service service,
			     struct arena *arena)
{
	struct str name = text_of(resource, "service.name"), container = container_of(resource);
	struct str program = cut_text(text_of(resource, "process.executable.name"));
	static const char unknown[] = "unknown_service";
	char *text;

	if (name.len)
		return name;
	if (service == PYROSCOPE_SERVICE_CONTAINER && container.len)
		return container;
	if (service != PYROSCOPE_SERVICE_UNKNOWN && program.len)
		return program;
	if (!program.len)
		return STR("unknown_service");
	text = arena_alloc(arena, sizeof(unknown) + program.len);
	if (!text)
		return STR("unknown_service");
	memcpy(text, unknown, sizeof(unknown) - 1);
	text[sizeof(unknown) - 1] = ':';
	memcpy(text + sizeof(unknown), program.at, program.len);
	return (struct str){ text, (u32)sizeof(unknown) + program.len };
}

void pyroscope_labels_of(const struct profile_resource *resource, enum pyroscope_service service, bool per_process,
			 struct arena *arena, struct pyroscope_labels *ret_labels)
{
	struct any name = { .kind = ANY_STRING, .string = service_of(resource, service, arena) };

	ret_labels->count = ret_labels->dropped = 0;
	add(ret_labels, STR("service.name"), &name, arena);
	for (int rank = 0; rank < RANKS; rank++) {
		for (u32 i = 0; i < resource->attribute_count; i++) {
			const struct keyvalue *from = &resource->attributes[i];
			const struct any *value = plain_value(&from->value);

			if (rank_of(from->key) != rank || str_is(from->key, "service.name") ||
			    (!per_process && is_of_process(from->key)))
				continue;
			if (value)
				add(ret_labels, from->key, value, arena);
			else
				ret_labels->dropped++;
		}
	}
}
