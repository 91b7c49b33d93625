// SPDX-License-Identifier: Apache-2.0
#include "naming/frame_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "exe/lines.h"
#include "naming/binary_finder.h"
#include "ottl/value.h"
#include "proc/binary.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "symbol/symbolizer.h"

struct frame_names {
	struct profile *profile;
	struct binary_finder *finder;
	struct symbolizer *symbolizer;
	struct binary **binaries;	/* by mapping; NULL: nowhere, or not asked for yet */
	bool *asked;
	const struct frame_names_options *options;
	struct frame_names_stats *stats;
};

/* An id in hexadecimal: how many bytes, 0 if it is not one. */
static u32 id_of(const struct any *value, u8 *id, u32 max)
{
	if (!value || value->kind != ANY_STRING || !value->string.len || value->string.len > 2 * max ||
	    !hex_decode(value->string, (char *)id))
		return 0;
	return value->string.len / 2;
}

static struct binary *binary_of(struct frame_names *n, u32 mapping)
{
	const struct profile_mapping *m = &n->profile->mappings.at[mapping];
	struct finder_want want = { .name = n->profile->strings.at[m->filename], .profile = n->profile,
				    .trusts_path = n->options->trusts_paths };

	if (n->asked[mapping])
		return n->binaries[mapping];
	n->asked[mapping] = true;
	want.build_id_bytes = id_of(profile_attribute_find(n->profile, m->attributes,
							   "process.executable.build_id.gnu"),
				    want.build_id, sizeof(want.build_id));
	want.has_htlhash = id_of(profile_attribute_find(n->profile, m->attributes,
							"process.executable.build_id.htlhash"),
				 want.htlhash, sizeof(want.htlhash)) == sizeof(want.htlhash);
	n->binaries[mapping] = binary_finder_get(n->finder, &want);
	return n->binaries[mapping];
}

/* Kernel frames have their names where they were taken or nowhere; those of interpreters have no address in a file. */
static bool lacks_name(const struct profile *profile, const struct profile_location *l)
{
	const struct any *type;

	if (l->line_count || !l->mapping || !l->address)
		return false;
	type = profile_attribute_find(profile, l->attributes, "profile.frame.type");
	return !type || (type->kind == ANY_STRING && str_equal(type->string, STR("native")));
}

/* The address in the file: by its offset, if the mapping tells that, else it is the location's own. */
static u64 ea_of(const struct profile *profile, const struct profile_location *l, const struct binary *binary)
{
	const struct profile_mapping *m = &profile->mappings.at[l->mapping];
	u64 offset = l->address - m->start_va + m->file_offset;

	for (u32 i = 0; m->limit_va && i < binary->info.segment_count; i++) {
		const struct exe_segment *s = &binary->info.segment[i];

		if (offset - s->file_offset < s->bytes)
			return s->ea + (offset - s->file_offset);
	}
	return l->address;
}

/* Notes all addresses that are to be named. */
static void want_names(struct frame_names *n, u32 first, u32 limit)
{
	u32 wanted = 0;

	for (u32 i = first; i < limit; i++) {
		const struct profile_location *l = &n->profile->locations.at[i];
		struct binary *binary;

		if (!lacks_name(n->profile, l))
			continue;
		if (wanted == n->options->max) {
			n->stats->left++;
			continue;
		}
		wanted++;
		binary = binary_of(n, l->mapping);
		if (binary)
			symbolizer_want(n->symbolizer, binary, ea_of(n->profile, l, binary));
	}
}

static u32 function_of(struct profile *profile, const struct symbol_line *line)
{
	struct profile_function function = {
		.name = profile_add_cstring(profile, line->function),
		.system_name = profile_add_cstring(profile, line->system_name ? line->system_name : ""),
		.filename = profile_add_cstring(profile, line->file ? line->file : ""),
		.start_line = line->start_line,
	};

	return profile_add_function(profile, &function);
}

bool frame_names_set(struct profile *profile, u32 location, const struct symbol_name *name)
{
	struct profile_line lines[LINES_DEPTH_MAX];
	u32 count = name->line_count < LINES_DEPTH_MAX ? name->line_count : LINES_DEPTH_MAX;

	if (name->source == SYMBOL_NONE || name->source == SYMBOL_FDE)
		return false;
	for (u32 i = 0; i < count; i++)
		lines[i] = (struct profile_line){ .function = function_of(profile, &name->lines[i]),
						  .line = name->lines[i].line, .column = name->lines[i].column };
	if (!profile_err(profile))
		profile_set_lines(profile, location, lines, count);
	return true;
}

static void set_names(struct frame_names *n, u32 first, u32 limit)
{
	u32 wanted = 0;

	for (u32 i = first; i < limit && wanted < n->options->max && !profile_err(n->profile); i++) {
		const struct profile_location *l = &n->profile->locations.at[i];
		const struct symbol_name *name = NULL;
		const struct binary *binary;

		if (!lacks_name(n->profile, l))
			continue;
		wanted++;
		binary = n->binaries[l->mapping];
		if (binary)
			name = symbolizer_find(n->symbolizer, binary, ea_of(n->profile, l, binary));
		if (name && frame_names_set(n->profile, i, name))
			n->stats->named++;
		else
			n->stats->unnamed++;
	}
}

int frame_names_add(struct profile *profile, struct binary_finder *finder, struct symbolizer *symbolizer,
		    const struct frame_names_options *options, struct frame_names_stats *stats)
{
	_cleanup_(freep) struct binary **binaries = calloc(profile->mappings.count, sizeof(*binaries));
	_cleanup_(freep) bool *asked = calloc(profile->mappings.count, sizeof(*asked));
	struct frame_names n = { profile, finder, symbolizer, binaries, asked, options, stats };
	u32 first = options->first ? options->first : 1, limit = profile->locations.count;
	int r;

	if (options->limit && options->limit < limit)
		limit = options->limit;

	if (!binaries || !asked)
		return -ENOMEM;
	binary_finder_begin(finder);
	want_names(&n, first, limit);
	r = symbolizer_run(symbolizer);
	if (r < 0)
		return r;
	set_names(&n, first, limit);
	return profile_err(profile);
}
