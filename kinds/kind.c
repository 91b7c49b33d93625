// SPDX-License-Identifier: Apache-2.0
#include "kinds/kind.h"

#include <stdbool.h>
#include <stddef.h>

#define X(number, ID, folder) extern const struct kind folder##_kind;
KINDS(X)
#undef X

const struct kind *const kind_list[KIND_MAX] = {
#define X(number, ID, folder) [number] = &folder##_kind,
	KINDS(X)
#undef X
};

/* What others send, and this program does not make: of Go's runtime, the JVM. A type that ends in * begins so. */
static const struct kind foreign[] = {
	{ .title = "memory allocated", .sample = { "alloc_space", "bytes" }, .pyroscope = "memory",
	  .datadog = "alloc-space" },
	{ .title = "objects allocated", .sample = { "alloc_objects", "count" }, .pyroscope = "memory",
	  .datadog = "alloc-samples" },
	{ .title = "memory in use", .sample = { "inuse_space", "bytes" }, .pyroscope = "memory",
	  .datadog = "inuse-space" },
	{ .title = "objects in use", .sample = { "inuse_objects", "count" }, .pyroscope = "memory",
	  .datadog = "inuse-objects" },
	{ .title = "waiting for locks", .sample = { "delay", "nanoseconds" }, .pyroscope = "mutex" },
	{ .title = "waits for locks", .sample = { "contentions", "count" }, .pyroscope = "mutex" },
	{ .title = "goroutines", .sample = { "goroutine", "count" }, .pyroscope = "goroutine" },
	{ .sample = { "alloc_*", "" }, .pyroscope = "memory" },
	{ .sample = { "inuse_*", "" }, .pyroscope = "memory" },
	{ .sample = { "cpu*", "" }, .pyroscope = "process_cpu" },
};

const struct kind *kind_named(struct str name)
{
	for (u32 i = 0; i < KIND_MAX; i++)
		if (kind_list[i] && str_is(name, kind_list[i]->name))
			return kind_list[i];
	return NULL;
}

static bool matches(struct str type, const char *known)
{
	u32 i = 0;

	for (; known && known[i] && known[i] != '*'; i++)
		if (i == type.len || (type.at[i] == '-' ? '_' : type.at[i]) != (known[i] == '-' ? '_' : known[i]))
			return false;
	return known && (i == type.len || known[i] == '*');
}

const struct kind *kind_of(struct str type, struct str period_type)
{
	for (u32 i = 0; i < KIND_MAX; i++) {
		const struct kind *k = kind_list[i];

		if (!k)
			continue;
		if (matches(type, k->period.type))
			return k;
		if (matches(type, k->sample.type) && (!period_type.len || matches(period_type, k->period.type)))
			return k;
	}
	for (u32 i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		if (matches(type, foreign[i].sample.type))
			return &foreign[i];
	return NULL;
}
