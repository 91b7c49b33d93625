// SPDX-License-Identifier: Apache-2.0
#include "analysis/line_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/reshape.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/saturate.h"
#include "profile/profile.h"

#define ROWS_MAX (1u << 20)

static u64 line_hash(const void *row, u64 seed)
{
	const struct line_sum *sum = row;

	return hash_mix(hash_mix(seed, sum->file), sum->line);
}

static bool line_equal(const void *a, const void *b)
{
	const struct line_sum *x = a, *y = b;

	return x->file == y->file && x->line == y->line;
}

static const struct table_type line_type = { sizeof(struct line_sum), line_hash, line_equal, NULL };

/* ---- Values of stacks -------------------------------------------------------------------- */

static void note_unit(struct line_sums *sums, const struct profile *p, const struct profile_set *set, bool is_first)
{
	struct str unit = p->strings.at[set->sample_type.unit];
	s64 period_ns = profile_set_period_ns(p, set);

	sums->unit = is_first || str_equal(unit, sums->unit) ? unit : STR("");
	sums->period_ns = is_first || period_ns == sums->period_ns ? period_ns : 0;
}

static void add_set(struct line_sums *sums, const struct profile_set *set, s64 *values)
{
	for (u32 i = 0; i < set->sample_count; i++) {
		s64 value = profile_sample_value(&set->samples[i]), *at = &values[set->samples[i].stack];

		*at = saturating_add(*at, value);
		sums->all = saturating_add(sums->all, value);
	}
}

static void add_sets(struct line_sums *sums, const struct profile *p, s64 *values)
{
	bool is_first = true;

	for (u32 i = 0; i < p->resources.count; i++)
		for (u32 k = 0; k < p->resources.at[i].scope_count; k++) {
			const struct profile_scope *scope = &p->resources.at[i].scopes[k];

			for (u32 n = 0; n < scope->set_count; n++, is_first = false) {
				note_unit(sums, p, &scope->sets[n], is_first);
				add_set(sums, &scope->sets[n], values);
			}
		}
}

/* ---- Where the function is ---------------------------------------------------------------- */

static bool is_wanted(const struct profile *p, const struct profile_location *location, const struct profile_line *line,
		      const struct reshape_function *wanted)
{
	const struct profile_function *f = &p->functions.at[line->function];
	struct str exe = p->strings.at[p->mappings.at[location->mapping].filename];

	return str_is(p->strings.at[f->name ? f->name : f->system_name], wanted->name) &&
	       (!wanted->home || str_is(exe.len ? exe : p->strings.at[f->filename], wanted->home));
}

/* Of each location the innermost line that is the function's, + 1; 0: none is. */
static void find_places(const struct profile *p, const struct reshape_function *wanted, u32 *places)
{
	for (u32 i = 0; i < p->locations.count; i++) {
		const struct profile_location *location = &p->locations.at[i];

		for (u32 k = 0; k < location->line_count && !places[i]; k++)
			if (is_wanted(p, location, &location->lines[k], wanted))
				places[i] = k + 1;
	}
}

static u32 checked(s64 line)
{
	return line > 0 && line <= LINE_NUMBER_MAX ? (u32)line : 0;
}

static int add_stack(struct line_sums *sums, const struct profile *p, struct indices stack, const u32 *places,
		     s64 value)
{
	u32 depth = 0;

	while (depth < stack.count && !places[stack.at[depth]])
		depth++;
	if (depth < stack.count) {
		u32 place = places[stack.at[depth]] - 1;
		const struct profile_line *line = &p->locations.at[stack.at[depth]].lines[place];
		const struct profile_function *f = &p->functions.at[line->function];
		struct line_sum key = { f->filename, checked(line->line), checked(f->start_line), 0, 0 };
		s64 number = table_add(&sums->rows, &key);
		struct line_sum *row;

		if (number < 0)
			return (int)number;
		row = (struct line_sum *)sums->rows.rows + number;
		row->total = saturating_add(row->total, value);
		row->self = saturating_add(row->self, depth || place ? 0 : value);
	}
	return 0;
}

int line_sums_init(struct line_sums *sums, const struct profile *p, const struct reshape_function *function)
{
	_cleanup_(freep) s64 *values = array_calloc((size_t)p->stacks.count + 1, sizeof(*values));
	_cleanup_(freep) u32 *places = array_calloc((size_t)p->locations.count + 1, sizeof(*places));
	int r = 0;

	*sums = (struct line_sums){ .unit = STR("") };
	table_init(&sums->rows, &line_type, NULL, profile_seed(p), ROWS_MAX);
	if (!values || !places)
		return -ENOMEM;
	add_sets(sums, p, values);
	if (*function->name)
		find_places(p, function, places);
	for (u32 i = 0; i < p->stacks.count && r == 0; i++)
		r = values[i] ? add_stack(sums, p, p->stacks.at[i], places, values[i]) : 0;
	return r;
}

void line_sums_done(struct line_sums *sums)
{
	table_done(&sums->rows);
}
