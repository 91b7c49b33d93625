// SPDX-License-Identifier: Apache-2.0
#include "profile/summary.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "base/saturate.h"
#include "profile/any.h"
#include "profile/owner.h"
#include "profile/rowtable.h"

/* More distinct (owner, stack) pairs than the largest profile has stacks; 24 bytes each. */
#define CELLS_MAX (64u << 20)

struct summary_private {
	struct rowtable frames, groups;
	u32 *frame_at;			/* the frames of all locations, one after the other */
	u32 *frame_start;		/* where those of a location start; one more than there are locations */
	struct summary_cell *cells;
	u32 cell_count, cell_cap;
	struct hash_index index;		/* of cells */
};

void summary_free(struct summary *summary)
{
	struct summary_private *p = summary ? summary->private : NULL;

	if (p) {
		rowtable_done(&p->frames);
		rowtable_done(&p->groups);
		free(p->frame_at);
		free(p->frame_start);
		free(p->cells);
		hash_index_done(&p->index);
		free(p);
	}
	if (summary)
		free(summary->rows);
	free(summary);
}

static struct summary *summary_alloc(void)
{
	_cleanup_(summary_freep) struct summary *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->private = calloc(1, sizeof(*s->private));
	if (!s->private)
		return NULL;
	rowtable_init(&s->private->frames);
	rowtable_init(&s->private->groups);
	return TAKE(s);
}

/* A count of ticks of a clock is the time between them. */
static struct unit_scale set_scale(const struct profile *profile, const struct profile_set *set)
{
	return unit_scale_values(profile->strings.at[set->sample_type.unit],
				 profile->strings.at[set->period_type.unit], set->period);
}

/* ---- Which sets ---- */

/* Calls visit for every set of a profile until it returns non-zero. */
static int each_set(const struct profile *profile,
		    int (*visit)(void *context, const struct profile_resource *resource,
				 const struct profile_scope *scope, const struct profile_set *set),
		    void *context)
{
	for (u32 i = 0; i < profile->resources.count; i++) {
		const struct profile_resource *resource = &profile->resources.at[i];

		for (u32 j = 0; j < resource->scope_count; j++) {
			const struct profile_scope *scope = &resource->scopes[j];

			for (u32 k = 0; k < scope->set_count; k++) {
				int r = visit(context, resource, scope, &scope->sets[k]);

				if (r)
					return r;
			}
		}
	}
	return 0;
}

struct choice {
	const struct profile *profile;
	struct str type;
	bool found;
};

/* pprof's default sample type if a set has it, else the first (OTLP's rule). */
static int choose_default(void *context, const struct profile_resource *resource, const struct profile_scope *scope,
			  const struct profile_set *set)
{
	struct choice *c = context;
	struct str type = c->profile->strings.at[set->sample_type.type];
	const struct any *preferred =
		keyvalue_find(scope->attributes, scope->attribute_count, "pprof.scope.default_sample_type");
	bool is_preferred = preferred && preferred->kind == ANY_STRING && str_equal(preferred->string, type);

	if (!c->found || is_preferred)
		c->type = type;
	c->found = true;
	return is_preferred;
}

static int choose_named(void *context, const struct profile_resource *resource, const struct profile_scope *scope,
			const struct profile_set *set)
{
	struct choice *c = context;

	c->found = str_equal(c->profile->strings.at[set->sample_type.type], c->type);
	return c->found;
}

/* 0 with the type, -ENOENT if no set has the one wanted. */
static int choose_type(const struct profile *profile, const char *wanted, struct str *ret_type)
{
	struct choice c = { .profile = profile };

	if (wanted) {
		c.type = (struct str){ wanted, (u32)strlen(wanted) };
		(void)each_set(profile, choose_named, &c);
	} else {
		(void)each_set(profile, choose_default, &c);
	}
	if (wanted && !c.found)
		return -ENOENT;
	*ret_type = c.type;
	return 0;
}

/* ---- Cells ---- */

static u32 cell_hash(u32 group, u32 stack)
{
	u64 key = (u64)group << 32 | stack;

	key *= 0x9e3779b97f4a7c15ull;
	return (u32)(key >> 32);
}

static int cell_add(struct summary_private *p, u32 group, u32 stack, s64 value)
{
	u32 hash = cell_hash(group, stack);
	int r = array_grow(&p->cells, &p->cell_cap, p->cell_count, CELLS_MAX, sizeof(*p->cells));
	u64 *slot;

	if (r == 0)
		r = hash_index_reserve(&p->index, p->cell_count + 1);
	if (r < 0)
		return r;
	slot = hash_index_first(&p->index, hash);
	for (; *slot; slot = hash_index_next(&p->index, hash, slot)) {
		struct summary_cell *cell = &p->cells[hash_index_number(*slot)];

		if (cell->stack == stack && cell->group == group) {
			cell->value = saturating_add(cell->value, value);
			return 0;
		}
	}
	p->cells[p->cell_count] = (struct summary_cell){ group, stack, value };
	hash_index_put(slot, hash, p->cell_count++);
	return 0;
}

struct fold {
	const struct profile *profile;
	const struct summary_options *options;
	struct summary *summary;
	struct owner_finder *owners;
	bool any;
};

static void fold_period(struct summary *s, const struct profile_set *set, struct unit_scale period)
{
	u64 end = s->time_unix_ns + s->duration_ns, set_end = set->time_unix_ns + set->duration_ns;

	if (!s->time_unix_ns || (set->time_unix_ns && set->time_unix_ns < s->time_unix_ns))
		s->time_unix_ns = set->time_unix_ns;
	if (set_end > end)
		end = set_end;
	s->duration_ns = end > s->time_unix_ns ? end - s->time_unix_ns : 0;
	if (!s->period && set->period > 0)
		s->period = saturating_multiply(set->period, period.factor);
}

static u64 event_count(const struct profile_sample *sample, bool counts)
{
	s64 value = counts ? profile_sample_value(sample) : 0;

	if (sample->time_count)
		return sample->time_count;
	return value > 0 ? (u64)value : 1;
}

static int fold_set(void *context, const struct profile_resource *resource, const struct profile_scope *scope,
		    const struct profile_set *set)
{
	struct fold *f = context;
	struct summary *s = f->summary;
	struct str type = f->profile->strings.at[set->sample_type.type];
	struct str unit = f->profile->strings.at[set->sample_type.unit];
	struct unit_scale scale = set_scale(f->profile, set);
	bool counts = unit_scale(unit).unit == UNIT_COUNT;

	if (!str_equal(type, s->type) || (f->any && scale.unit != s->unit)) {
		/* pprof files hold the time beside the count of its ticks: that is nothing else. */
		s->other_type_count += set->sample_type.type != set->period_type.type;
		return 0;
	}
	f->any = true;
	s->unit = scale.unit;
	fold_period(s, set, unit_scale(f->profile->strings.at[set->period_type.unit]));
	owner_finder_resource(f->owners, resource);
	for (u32 i = 0; i < set->sample_count; i++) {
		const struct profile_sample *sample = &set->samples[i];
		s64 value = saturating_multiply(profile_sample_value(sample), scale.factor);
		u32 group = owner_finder_row(f->owners, sample);
		int r;

		if (group == ROWTABLE_NONE)
			return -ENOMEM;
		r = cell_add(s->private, group, sample->stack, value);
		if (r < 0)
			return r;
		s->total = saturating_add(s->total, value);
		s->sample_count += event_count(sample, counts);
	}
	return 0;
}

/* ---- Adding up ---- */

static int name_locations(struct summary_private *p, const struct profile *profile,
			  const struct summary_options *options)
{
	u64 total = 0;
	int r;

	p->frame_start = calloc((size_t)profile->locations.count + 1, sizeof(*p->frame_start));
	if (!p->frame_start)
		return -ENOMEM;
	for (u32 i = 0; i < profile->locations.count; i++) {
		p->frame_start[i] = (u32)total;
		total += rowtable_location_rows(profile, i, options);
		if (total > UINT32_MAX / 2)
			return -E2BIG;
	}
	p->frame_start[profile->locations.count] = (u32)total;
	p->frame_at = calloc(total ? total : 1, sizeof(*p->frame_at));
	if (!p->frame_at)
		return -ENOMEM;
	for (u32 i = 0; i < profile->locations.count; i++) {
		r = rowtable_add_location(&p->frames, profile, i, options, p->frame_at + p->frame_start[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A stack without frames is a row too: nothing is lost in silence. */
static u32 no_stack_row(struct summary_private *p)
{
	struct summary_row row = { .name = STR("[no stack]"), .pid = -1, .tid = -1 };

	return rowtable_add(&p->frames, &row);
}

/* Adds a stack to the totals of its rows. seen[row] is the last cell that counted the row: recursion counts once. */
static void add_totals(struct summary_private *p, struct indices stack, s64 value, u32 cell_number, u32 *seen)
{
	for (u32 i = 0; i < stack.count; i++) {
		for (u32 k = p->frame_start[stack.at[i]]; k < p->frame_start[stack.at[i] + 1]; k++) {
			struct summary_row *row = &p->frames.rows[p->frame_at[k]];

			if (seen[p->frame_at[k]] == cell_number)
				continue;
			seen[p->frame_at[k]] = cell_number;
			row->total = saturating_add(row->total, value);
		}
	}
}

static int add_up_frames(struct summary *s, const struct profile *profile)
{
	struct summary_private *p = s->private;
	u32 empty = no_stack_row(p);
	_cleanup_(freep) u32 *seen = calloc((size_t)p->frames.count + 1, sizeof(*seen));

	if (!seen || empty == ROWTABLE_NONE)
		return -ENOMEM;
	for (u32 i = 0; i < p->cell_count; i++) {
		struct indices stack = profile->stacks.at[p->cells[i].stack];
		u32 leaf = stack.count ? p->frame_at[p->frame_start[stack.at[0]]] : empty;
		struct summary_row *row = &p->frames.rows[leaf];

		row->self = saturating_add(row->self, p->cells[i].value);
		if (!stack.count)
			row->total = saturating_add(row->total, p->cells[i].value);
		add_totals(p, stack, p->cells[i].value, i + 1, seen);
	}
	return 0;
}

static void add_up_groups(struct summary *s)
{
	struct summary_private *p = s->private;

	for (u32 i = 0; i < p->cell_count; i++) {
		struct summary_row *row = &p->groups.rows[p->cells[i].group];

		row->self = saturating_add(row->self, p->cells[i].value);
		row->total = row->self;
	}
}

static int fold_samples(struct summary *s, const struct profile *profile, const struct summary_options *options)
{
	_cleanup_(owner_finder_freep) struct owner_finder *owners =
		owner_finder_new(profile, options->by, &s->private->groups);
	struct fold f = { .profile = profile, .options = options, .summary = s, .owners = owners };

	return owners ? each_set(profile, fold_set, &f) : -ENOMEM;
}

int summary_new(const struct profile *profile, const struct summary_options *options, struct summary **ret_summary)
{
	bool grouped = options->by == SUMMARY_PROCESS || options->by == SUMMARY_THREAD;
	_cleanup_(summary_freep) struct summary *s = summary_alloc();
	int r;

	if (!s)
		return -ENOMEM;
	r = choose_type(profile, options->type, &s->type);
	if (r < 0)
		return r;
	r = fold_samples(s, profile, options);
	if (r < 0)
		return r;
	r = name_locations(s->private, profile, options);
	if (r < 0)
		return r;
	r = add_up_frames(s, profile);
	if (r < 0)
		return r;
	if (grouped)
		add_up_groups(s);
	r = rowtable_sorted(grouped ? &s->private->groups : &s->private->frames, &s->rows, &s->row_count);
	if (r < 0)
		return r;
	*ret_summary = TAKE(s);
	return 0;
}

const struct summary_cell *summary_cells(const struct summary *summary, u32 *ret_count)
{
	*ret_count = summary->private->cell_count;
	return summary->private->cells;
}

struct indices summary_frames(const struct summary *summary, u32 location)
{
	const struct summary_private *p = summary->private;
	u32 start = p->frame_start[location];

	return (struct indices){ p->frame_at + start, p->frame_start[location + 1] - start };
}

const struct summary_row *summary_frame_rows(const struct summary *summary, u32 *ret_count)
{
	*ret_count = summary->private->frames.count;
	return summary->private->frames.rows;
}

const struct summary_row *summary_group_rows(const struct summary *summary, u32 *ret_count)
{
	*ret_count = summary->private->groups.count;
	return summary->private->groups.rows;
}
