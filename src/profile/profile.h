/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one model of a profile: OTLP's ProfilesData in memory. All formats
 * convert from and to it.
 *
 *	profile
 *	  dictionary tables: strings, mappings, locations, functions, links, attributes, stacks
 *	  resources[] (a process, a host)
 *	    scopes[] (who measured)
 *	      sets[] (one sample type each: OTLP's message Profile)
 *	        samples[]
 *
 * Invariants: index 0 of every table is the zero value and means "not set";
 * tables hold no duplicates if they were filled by profile_add_*(); every
 * index is in range (profile_check()). Stacks and lines are leaf first.
 *
 * A profile owns an arena: everything reachable from it lives there and dies
 * with it; adders copy what they are given. One thread owns a profile.
 * Adders return an index, or 0 once memory or a limit (PROFILE_TABLE_MAX) ran
 * out: the error sticks, profile_err() tells.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/types.h"

struct kind;

#define PROFILE_TABLE_MAX (64u << 20)

struct indices {
	const u32 *at;
	u32 count;
};

enum any_kind { ANY_NONE, ANY_STRING, ANY_BOOL, ANY_INT, ANY_DOUBLE, ANY_ARRAY, ANY_MAP, ANY_BYTES };

/* OTLP's AnyValue. */
struct any {
	enum any_kind kind;
	u32 count;			/* of ARRAY and MAP */
	union {
		struct str string;	/* STRING, BYTES */
		bool boolean;
		s64 integer;
		double real;
		const struct any *array;
		const struct keyvalue *map;
	};
};

struct keyvalue {
	struct str key;
	struct any value;
};

struct profile_type {
	u32 type, unit;			/* strings */
};

struct profile_mapping {
	u64 start_va, limit_va, file_offset;
	u32 filename;			/* string */
	struct indices attributes;
};

struct profile_line {
	u32 function;
	u32 pad;
	s64 line, column;
};

struct profile_location {
	u32 mapping;
	u32 line_count;
	u64 address;
	const struct profile_line *lines;	/* innermost callee first */
	struct indices attributes;
};

struct profile_function {
	u32 name, system_name, filename;	/* strings */
	u32 pad;
	s64 start_line;
};

/* What a resource without host.name is filed under. */
#define PROFILE_HOST_UNKNOWN "unknown"

struct profile_link {
	u8 trace_id[16], span_id[8];
};

struct profile_attribute {
	u32 key, unit;			/* strings */
	struct any value;
};

struct profile_sample {
	u32 stack, link;
	struct indices attributes;
	u32 value_count, time_count;	/* equal, or one of them 0, or value_count 1 */
	const s64 *values;
	const u64 *times_unix_ns;
};

/* One sample type: OTLP's message Profile. */
struct profile_set {
	struct profile_type sample_type, period_type;
	s64 period;
	u64 time_unix_ns, duration_ns;
	u8 profile_id[16];
	bool has_profile_id;
	u32 dropped_attributes_count;
	struct str original_format, original_payload;
	struct indices attributes;
	struct profile_sample *samples;
	u32 sample_count, sample_cap;
};

struct profile_scope {
	struct str name, version, schema_url;
	const struct keyvalue *attributes;
	u32 attribute_count, dropped_attributes_count;
	struct profile_set *sets;
	u32 set_count, set_cap;
};

struct profile_resource {
	struct str schema_url;
	const struct keyvalue *attributes;
	u32 attribute_count, dropped_attributes_count;
	struct profile_scope *scopes;
	u32 scope_count, scope_cap;
};

/* The tables, to read: profile->strings.at[i] and so on. To write: the adders below. */
struct profile {
	struct { const struct str *at; u32 count; } strings;
	struct { const struct profile_mapping *at; u32 count; } mappings;
	struct { const struct profile_location *at; u32 count; } locations;
	struct { const struct profile_function *at; u32 count; } functions;
	struct { const struct profile_link *at; u32 count; } links;
	struct { const struct profile_attribute *at; u32 count; } attributes;
	struct { const struct indices *at; u32 count; } stacks;		/* of locations, leaf first */
	struct { struct profile_resource *at; u32 count; } resources;
	struct profile_private *private;
};

struct profile *profile_new(void);
void profile_free(struct profile *profile);
DEFINE_CLEANUP(struct profile *, profile_free)

/* 0, -ENOMEM, or -E2BIG: the first failure of any adder. */
int profile_err(const struct profile *profile);
size_t profile_bytes(const struct profile *profile);

/* For hashes over what is in it: hostile senders must not know the seed, or they could make everything collide. */
u64 profile_seed(const struct profile *profile);

/* 0 if every index is in range and every table starts with its zero value, else -EBADMSG. */
int profile_check(const struct profile *profile);

/* Adders: equal values get equal indices. */
u32 profile_add_string(struct profile *profile, const char *at, size_t len);
u32 profile_add_cstring(struct profile *profile, const char *text);
u32 profile_add_mapping(struct profile *profile, const struct profile_mapping *mapping);
u32 profile_add_location(struct profile *profile, const struct profile_location *location);
u32 profile_add_function(struct profile *profile, const struct profile_function *function);
u32 profile_add_link(struct profile *profile, const struct profile_link *link);
u32 profile_add_attribute(struct profile *profile, const struct profile_attribute *attribute);
u32 profile_add_stack(struct profile *profile, const u32 *locations, u32 count);

/*
 * For readers of files that number their rows: append without looking for
 * equals. What a row points to must be in the arena already.
 */
u32 profile_append_string(struct profile *profile, struct str string);
u32 profile_append_mapping(struct profile *profile, const struct profile_mapping *mapping);
u32 profile_append_location(struct profile *profile, const struct profile_location *location);
u32 profile_append_function(struct profile *profile, const struct profile_function *function);
u32 profile_append_link(struct profile *profile, const struct profile_link *link);
u32 profile_append_attribute(struct profile *profile, const struct profile_attribute *attribute);
u32 profile_append_stack(struct profile *profile, struct indices locations);

/* How many rows a table will have in all, where that is known before: it need not grow. */
void profile_expect_strings(struct profile *profile, u32 count);
void profile_expect_mappings(struct profile *profile, u32 count);
void profile_expect_locations(struct profile *profile, u32 count);
void profile_expect_functions(struct profile *profile, u32 count);
void profile_expect_links(struct profile *profile, u32 count);
void profile_expect_attributes(struct profile *profile, u32 count);
void profile_expect_stacks(struct profile *profile, u32 count);

/* Gives a location other lines, innermost first; they are copied. Its number stays. */
void profile_set_lines(struct profile *profile, u32 location, const struct profile_line *lines, u32 count);

/* Shorthands for the common attributes. */
u32 profile_add_attribute_string(struct profile *profile, const char *key, const char *value);
u32 profile_add_attribute_int(struct profile *profile, const char *key, s64 value);

/* Memory of the arena, NULL once it ran out. */
void *profile_alloc(struct profile *profile, size_t bytes);

/* Copies into the arena, NULL once memory ran out. */
const void *profile_copy(struct profile *profile, const void *at, size_t bytes);
struct str profile_copy_str(struct profile *profile, const char *at, size_t len);
struct indices profile_copy_indices(struct profile *profile, const u32 *at, u32 count);
struct any profile_copy_any(struct profile *profile, const struct any *value);
const struct keyvalue *profile_copy_keyvalues(struct profile *profile, const struct keyvalue *at, u32 count);

/*
 * Append a zeroed entry and return it, NULL once memory ran out, and of what is NULL for that reason. The pointer
 * is good until the next entry of the same array is added.
 */
struct profile_resource *profile_add_resource(struct profile *profile, const struct keyvalue *attributes, u32 count);
struct profile_scope *profile_add_scope(struct profile *profile, struct profile_resource *resource);
struct profile_set *profile_add_set(struct profile *profile, struct profile_scope *scope);
/* States what a set's samples are: its types, and a period if the kind has one. */
void profile_set_describe(struct profile *profile, struct profile_set *set, const struct kind *kind, s64 period);
/* The time between two samples; 0: not known, or no time. */
s64 profile_set_period_ns(const struct profile *profile, const struct profile_set *set);
struct profile_sample *profile_add_sample(struct profile *profile, struct profile_set *set);

/* What a sample weighs: the sum of its values, or the number of its times where it has none. */
s64 profile_sample_value(const struct profile_sample *sample);

/* How many samples there are. */
u64 profile_resource_samples(const struct profile_resource *resource);
u64 profile_samples(const struct profile *profile);

/* What it weighs at one of its times. One value may stand for many: if it is their number each has one, else the first
 * has all. */
s64 profile_sample_value_at(const struct profile_sample *sample, u32 time);

/* The value of a resource attribute, or NULL. */
const struct any *keyvalue_find(const struct keyvalue *at, u32 count, const char *key);

/*
 * A program's path with the same last part as name, as the profile's resources tell ("process.executable.path"): of
 * resource *next or a later one; *next is where to go on.
 */
bool profile_executable_path(const struct profile *profile, struct str name, u32 *next, struct str *ret_path);

/* The value of an attribute of a sample, mapping or location, or NULL. */
const struct any *profile_attribute_find(const struct profile *profile, struct indices attributes, const char *key);

#endif
