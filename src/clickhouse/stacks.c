// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/stacks.h"

#include <errno.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "clickhouse/columns.h"
#include "profile/any.h"

#define FRAMES_UNCHECKED 4096	/* that a row may get before it is looked whether there is room for more */

/* All that is said of a frame. */
struct frame {
	struct str function, file, mapping, build_id, type;
	u64 address;
	u32 line, start_line;
	u8 inline_depth;
};

int stacks_init(struct stacks *stacks, const struct profile *profile)
{
	*stacks = (struct stacks){
		.profile = profile,
		.location_hashes = calloc(profile->locations.count + 1ul, sizeof(u64)),
		.stack_hashes = calloc(profile->stacks.count + 1ul, sizeof(u64)),
	};
	if (stacks->location_hashes && stacks->stack_hashes)
		return 0;
	stacks_done(stacks);
	return -ENOMEM;
}

void stacks_done(struct stacks *stacks)
{
	free(stacks->location_hashes);
	free(stacks->stack_hashes);
	*stacks = (struct stacks){ 0 };
}

/* As text, whatever kind it is of, or "". */
static struct str build_id_of(const struct profile *profile, const struct profile_mapping *mapping)
{
	static const char *const keys[] = { "process.executable.build_id.gnu", "process.executable.build_id.go",
					    "process.executable.build_id.htlhash" };
	struct str id = { "", 0 };

	for (u32 i = 0; i < sizeof(keys) / sizeof(keys[0]) && !id.len; i++)
		id = any_text(profile_attribute_find(profile, mapping->attributes, keys[i]));
	return id;
}

static u32 small(s64 number)
{
	return number > 0 && number <= UINT32_MAX ? (u32)number : 0;
}

static void describe_line(const struct profile *p, const struct profile_location *location, u32 number,
			  struct frame *frame)
{
	const struct profile_line *line = &location->lines[number];
	const struct profile_function *function = &p->functions.at[line->function];
	u32 depth = location->line_count - 1 - number;

	frame->function = p->strings.at[function->name ? function->name : function->system_name];
	frame->file = p->strings.at[function->filename];
	frame->line = small(line->line);
	frame->start_line = small(function->start_line);
	frame->inline_depth = depth < UINT8_MAX ? (u8)depth : UINT8_MAX;
}

/* What all frames of a location have: looked for once, since a sender may make lines and attributes many. */
static struct frame describe_location(const struct profile *p, const struct profile_location *location)
{
	const struct profile_mapping *mapping = &p->mappings.at[location->mapping];

	return (struct frame){
		.mapping = p->strings.at[mapping->filename],
		.build_id = build_id_of(p, mapping),
		.type = any_text(profile_attribute_find(p, location->attributes, "profile.frame.type")),
	};
}

static struct frame describe(const struct profile *p, const struct profile_location *location, u32 number,
			     struct frame frame)
{
	if (number < location->line_count)
		describe_line(p, location, number, &frame);
	if (frame.mapping.len || frame.build_id.len || !frame.function.len)
		frame.address = location->address;
	return frame;
}

static u32 frames_of(const struct profile_location *location)
{
	return location->line_count ? location->line_count : 1;
}

/* ---- Hashes ------------------------------------------------------------------------------- */

static u64 hash_text(u64 hash, struct str text)
{
	return text.len ? XXH64(text.at, text.len, hash) : XXH64("", 0, hash);
}

static u64 hash_location(struct stacks *stacks, u32 number)
{
	const struct profile_location *location = &stacks->profile->locations.at[number];
	struct frame common;
	u64 hash = 0;

	if (stacks->location_hashes[number])
		return stacks->location_hashes[number];
	common = describe_location(stacks->profile, location);
	for (u32 i = 0; i < frames_of(location); i++) {
		struct frame f = describe(stacks->profile, location, i, common);
		u64 numbers[] = { f.address, f.line, f.start_line, f.inline_depth };

		hash = hash_text(hash_text(hash_text(hash, f.function), f.file), f.mapping);
		hash = hash_text(hash_text(hash, f.build_id), f.type);
		hash = XXH64(numbers, sizeof(numbers), hash);
	}
	stacks->location_hashes[number] = hash;
	return hash;
}

u64 stacks_hash(struct stacks *stacks, u32 stack)
{
	struct indices locations = stacks->profile->stacks.at[stack];
	u64 hash = locations.count;

	if (stacks->stack_hashes[stack])
		return stacks->stack_hashes[stack];
	for (u32 i = 0; i < locations.count; i++) {
		u64 of_location = hash_location(stacks, locations.at[i]);

		hash = XXH64(&of_location, sizeof(of_location), hash);
	}
	stacks->stack_hashes[stack] = hash;
	return hash;
}

struct str stacks_leaf_type(const struct stacks *stacks, u32 stack)
{
	const struct profile *p = stacks->profile;
	struct indices locations = p->stacks.at[stack];

	if (!locations.count)
		return (struct str){ "", 0 };
	return any_text(profile_attribute_find(p, p->locations.at[locations.at[0]].attributes, "profile.frame.type"));
}

/* ---- Rows --------------------------------------------------------------------------------- */

static void add_frame(const struct frame *f, struct columns *columns)
{
	columns_text(columns, STACKS_FUNCTIONS, f->function);
	columns_text(columns, STACKS_FILES, f->file);
	columns_number(columns, STACKS_LINES, f->line);
	columns_number(columns, STACKS_START_LINES, f->start_line);
	columns_number(columns, STACKS_ADDRESSES, f->address);
	columns_text(columns, STACKS_MAPPINGS, f->mapping);
	columns_text(columns, STACKS_BUILD_IDS, f->build_id);
	columns_text(columns, STACKS_FRAME_TYPES, f->type);
	columns_number(columns, STACKS_INLINE_DEPTHS, f->inline_depth);
}

/* How many there were. */
static u32 add_frames(const struct profile *p, const struct profile_location *location, struct columns *columns)
{
	struct frame common = describe_location(p, location);
	u32 count = frames_of(location);

	for (u32 i = 0; i < count; i++) {
		struct frame frame = describe(p, location, i, common);

		add_frame(&frame, columns);
	}
	return count;
}

/* A stack of many times the same long location ends where its columns are full. */
void stacks_add_row(struct stacks *stacks, u32 stack, u32 day, struct columns *columns)
{
	const struct profile *p = stacks->profile;
	struct indices locations = p->stacks.at[stack];
	u64 unchecked = 0;

	columns_number(columns, STACKS_DAY, day);
	columns_number(columns, STACKS_HASH, stacks_hash(stacks, stack));
	for (u32 i = 0; i < locations.count; i++) {
		unchecked += add_frames(p, &p->locations.at[locations.at[i]], columns);
		if (unchecked < FRAMES_UNCHECKED)
			continue;
		if (columns_err(columns) < 0)
			return;
		unchecked = 0;
	}
	for (u32 column = STACKS_FUNCTIONS; column < STACKS_COLUMN_COUNT; column++)
		columns_end(columns, column);
	columns_end_row(columns);
}
