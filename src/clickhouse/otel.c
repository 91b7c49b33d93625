// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/otel.h"

#include <errno.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hex.h"
#include "clickhouse/columns.h"
#include "profile/any.h"

/* Of a block; the last row may go past it. Rows have their stacks with them. */
#define ROWS_MAX 16384u
#define BYTES_MAX (16u << 20)
#define FRAMES_UNCHECKED 4096	/* that a row may get before it is looked whether there is room for more */

/* ---- Stacks -------------------------------------------------------------------------------- */

static void hash_text(XXH64_state_t *hash, struct str text)
{
	(void)XXH64_update(hash, text.len ? text.at : "", text.len);
	(void)XXH64_update(hash, "", 1);
}

static void add_frame(const struct profile *p, const struct profile_location *location, const struct profile_line *line,
		      XXH64_state_t *hash, struct columns *columns)
{
	const struct profile_function *function = &p->functions.at[line ? line->function : 0];
	struct str name = p->strings.at[function->name], file = p->strings.at[function->filename];

	columns_number(columns, OTEL_ADDRESSES, location->address);
	columns_text(columns, OTEL_FUNCTIONS, name);
	columns_text(columns, OTEL_FILES, file);
	columns_number(columns, OTEL_LINES, line ? (u64)line->line : 0);
	columns_text(columns, OTEL_MAPPINGS, p->strings.at[p->mappings.at[location->mapping].filename]);
	hash_text(hash, name);
	hash_text(hash, file);
}

/* A stack of many times the same long location ends where its columns are full. */
static void add_stack(const struct profile *p, u32 stack, struct columns *columns)
{
	struct indices locations = p->stacks.at[stack];
	XXH64_state_t hash;
	u64 unchecked = 0;

	(void)XXH64_reset(&hash, 0);
	for (u32 i = 0; i < locations.count; i++) {
		const struct profile_location *location = &p->locations.at[locations.at[i]];

		if (!location->line_count)
			add_frame(p, location, NULL, &hash, columns);
		for (u32 n = 0; n < location->line_count; n++)
			add_frame(p, location, &location->lines[n], &hash, columns);
		unchecked += location->line_count + 1;
		if (unchecked < FRAMES_UNCHECKED)
			continue;
		if (columns_err(columns) < 0)
			return;
		unchecked = 0;
	}
	for (u32 column = OTEL_ADDRESSES; column <= OTEL_MAPPINGS; column++)
		columns_end(columns, column);
	columns_number(columns, OTEL_STACK_HASH, XXH64_digest(&hash));
}

/* ---- The rest of a row ----------------------------------------------------------------------- */

static void add_id(u32 column, const u8 *id, u32 bytes, struct columns *columns)
{
	char text[32];
	bool is_set = false;

	for (u32 i = 0; i < bytes; i++)
		is_set |= id[i] != 0;
	hex_write(id, bytes, text);
	columns_text(columns, column, (struct str){ text, is_set ? 2 * bytes : 0 });
}

static void add_resource(const struct profile_resource *resource, struct columns *columns)
{
	columns_text(columns, OTEL_SERVICE,
		     any_text(keyvalue_find(resource->attributes, resource->attribute_count, "service.name")));
	for (u32 i = 0; i < resource->attribute_count; i++)
		columns_pair(columns, OTEL_RESOURCE_ATTRIBUTES, resource->attributes[i].key,
			     &resource->attributes[i].value);
	columns_end(columns, OTEL_RESOURCE_ATTRIBUTES);
}

static void add_attributes(const struct profile *p, u32 column, struct indices attributes, struct columns *columns)
{
	for (u32 i = 0; i < attributes.count; i++) {
		const struct profile_attribute *attribute = &p->attributes.at[attributes.at[i]];

		columns_pair(columns, column, p->strings.at[attribute->key], &attribute->value);
	}
	columns_end(columns, column);
}

static void add_set(const struct profile *p, const struct profile_set *set, struct columns *columns)
{
	columns_number(columns, OTEL_TIMESTAMP, set->time_unix_ns);
	add_id(OTEL_PROFILE_ID, set->profile_id, sizeof(set->profile_id), columns);
	columns_text(columns, OTEL_SAMPLE_TYPE, p->strings.at[set->sample_type.type]);
	columns_text(columns, OTEL_SAMPLE_UNIT, p->strings.at[set->sample_type.unit]);
	columns_number(columns, OTEL_DURATION, set->duration_ns);
	columns_number(columns, OTEL_PERIOD, (u64)set->period);
	columns_text(columns, OTEL_PERIOD_TYPE, p->strings.at[set->period_type.type]);
	columns_text(columns, OTEL_PERIOD_UNIT, p->strings.at[set->period_type.unit]);
	add_attributes(p, OTEL_PROFILE_ATTRIBUTES, set->attributes, columns);
}

static void add_sample(const struct profile *p, const struct profile_sample *sample, struct columns *columns)
{
	const struct profile_link *link = &p->links.at[sample->link];

	add_attributes(p, OTEL_SAMPLE_ATTRIBUTES, sample->attributes, columns);
	add_stack(p, sample->stack, columns);
	for (u32 i = 0; i < sample->value_count; i++)
		columns_number(columns, OTEL_VALUES, (u64)sample->values[i]);
	columns_end(columns, OTEL_VALUES);
	for (u32 i = 0; i < sample->time_count; i++)
		columns_number(columns, OTEL_TIMES, sample->times_unix_ns[i]);
	columns_end(columns, OTEL_TIMES);
	add_id(OTEL_TRACE, link->trace_id, sizeof(link->trace_id), columns);
	add_id(OTEL_SPAN, link->span_id, sizeof(link->span_id), columns);
}

static bool is_full(const struct columns *columns)
{
	return columns_rows(columns) >= ROWS_MAX || columns_bytes(columns) >= BYTES_MAX || columns_err(columns) < 0;
}

int otel_rows_next(struct otel_rows *rows, struct columns *columns)
{
	struct walk_sample at;

	for (; !is_full(columns) && walk_sample(&rows->walk, rows->profile, &at); rows->walk.sample++) {
		add_resource(at.resource, columns);
		columns_text(columns, OTEL_SCOPE_NAME, at.scope->name);
		columns_text(columns, OTEL_SCOPE_VERSION, at.scope->version);
		add_set(rows->profile, at.set, columns);
		add_sample(rows->profile, at.sample, columns);
		columns_end_row(columns);
	}
	return columns_err(columns) < 0 ? columns_err(columns) : (int)columns_rows(columns);
}
