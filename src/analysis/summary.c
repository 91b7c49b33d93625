// SPDX-License-Identifier: Apache-2.0
#include "analysis/summary.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calltree.h"
#include "analysis/narrow.h"
#include "analysis/owner.h"
#include "analysis/sums.h"
#include "base/saturate.h"
#include "kinds/choice.h"
#include "profile/any.h"

/* More distinct (owner, stack) pairs than the largest profile has stacks; 24 bytes each. */
#define CELLS_MAX (64u << 20)

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	frames_done(&summary->frames);
	table_done(&summary->cells);
	calltree_free(summary->narrowed);
	free(summary->rows);
	free(summary);
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

#define RANK_FOREIGN UINT32_MAX

struct choice {
	const struct profile *profile;
	struct str type;
	u32 rank;
	bool found;
};

/* The place of a type among those that wick makes: kinds as they are listed, samples before what they sum up to. */
static u32 rank_of(const struct profile *profile, const struct profile_set *set)
{
	struct str type = profile->strings.at[set->sample_type.type];
	const struct kind *kind = kind_of(type, profile->strings.at[set->period_type.type]);

	return kind && kind->name ? 2 * kind_number(kind) + !str_is(type, kind->sample.type) : RANK_FOREIGN;
}

/* pprof's default sample type if a set has it. */
static int choose_default(void *context, const struct profile_resource *resource, const struct profile_scope *scope,
			  const struct profile_set *set)
{
	struct choice *c = context;
	struct str type = c->profile->strings.at[set->sample_type.type];
	const struct any *preferred =
		keyvalue_find(scope->attributes, scope->attribute_count, "pprof.scope.default_sample_type");
	u32 rank = rank_of(c->profile, set);
	bool is_preferred = preferred && preferred->kind == ANY_STRING && str_equal(preferred->string, type);

	/* Of types that others make, the first (OTLP's rule). */
	if (!c->found || is_preferred || (rank < c->rank && c->rank != RANK_FOREIGN)) {
		c->type = type;
		c->rank = rank;
	}
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

static u64 cell_hash(const void *row, u64 seed)
{
	const struct summary_cell *cell = row;

	return hash_mix(seed, (u64)cell->owner << 32 | cell->stack);
}

static bool cell_equal(const void *a, const void *b)
{
	const struct summary_cell *x = a, *y = b;

	return x->owner == y->owner && x->stack == y->stack;
}

static const struct table_type cell_type = { sizeof(struct summary_cell), cell_hash, cell_equal, NULL };

static int cell_add(struct summary *s, u32 owner, u32 stack, s64 value)
{
	s64 number = table_add(&s->cells, &(struct summary_cell){ owner, stack, 0 });
	struct summary_cell *cell;

	if (number < 0)
		return (int)number;
	cell = (struct summary_cell *)s->cells.rows + number;
	cell->value = saturating_add(cell->value, value);
	return 0;
}

static bool has_owners(const struct summary_options *options)
{
	return options->by == SUMMARY_PROCESS || options->by == SUMMARY_THREAD;
}

struct fold {
	const struct profile *profile;
	struct summary *summary;
	struct owner_finder *owners;	/* NULL: nobody asks */
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
	s64 value = profile_sample_value(sample);

	if (sample->time_count)
		return sample->time_count;
	if (!value && sample->value_count)
		return 0;	/* pprof's samples have a value of each type, some of them none */
	return counts && value > 0 ? (u64)value : 1;
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
	if (f->owners)
		owner_finder_resource(f->owners, resource);
	for (u32 i = 0; i < set->sample_count; i++) {
		const struct profile_sample *sample = &set->samples[i];
		s64 value = saturating_multiply(profile_sample_value(sample), scale.factor);
		u32 owner = f->owners ? owner_finder_frame(f->owners, sample) : FRAMES_NONE;
		int r = f->owners && owner == FRAMES_NONE ? -ENOMEM : cell_add(s, owner, sample->stack, value);

		if (r < 0)
			return r;
		s->total = saturating_add(s->total, value);
		s->sample_count += event_count(sample, counts);
	}
	return 0;
}

static int fold_samples(struct summary *s, const struct profile *profile, const struct summary_options *options)
{
	_cleanup_(owner_finder_freep) struct owner_finder *owners = NULL;
	struct fold f = { .profile = profile, .summary = s };

	if (has_owners(options)) {
		f.owners = owners = owner_finder_new(profile, options->by, &s->frames.set);
		if (!owners)
			return -ENOMEM;
	}
	return each_set(profile, fold_set, &f);
}

/* ---- Adding up ---- */

/* Adds a stack to the totals of its rows. seen[row] is the last cell that counted the row: recursion counts once. */
static void add_totals(const struct summary *s, struct indices stack, s64 value, u32 cell_number, u32 *seen)
{
	const struct frames *f = &s->frames;

	for (u32 i = 0; i < stack.count; i++) {
		for (u32 k = f->starts[stack.at[i]]; k < f->starts[stack.at[i] + 1]; k++) {
			struct summary_row *row = &s->rows[f->numbers[k]];

			if (seen[f->numbers[k]] == cell_number)
				continue;
			seen[f->numbers[k]] = cell_number;
			row->total = saturating_add(row->total, value);
		}
	}
}

static const struct frame no_stack = { .name = STR("[no stack]") };

/* A stack without frames is a row too, the last one: nothing is lost in silence. */
static int add_up_frames(struct summary *s, const struct profile *profile)
{
	const struct summary_cell *cells = s->cells.rows;
	u32 last = s->row_count++;
	_cleanup_(freep) u32 *seen = calloc((size_t)last + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	s->rows[last].frame = &no_stack;
	for (u32 i = 0; i < s->cells.count; i++) {
		struct indices stack = profile->stacks.at[cells[i].stack];
		struct summary_row *row =
			&s->rows[stack.count ? s->frames.numbers[s->frames.starts[stack.at[0]]] : last];

		row->self = saturating_add(row->self, cells[i].value);
		if (!stack.count)
			row->total = row->self;
		add_totals(s, stack, cells[i].value, i + 1, seen);
	}
	return 0;
}

static void add_up_owners(struct summary *s)
{
	const struct summary_cell *cells = s->cells.rows;

	for (u32 i = 0; i < s->cells.count; i++) {
		struct summary_row *row = &s->rows[cells[i].owner];

		row->self = row->total = saturating_add(row->self, cells[i].value);
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct summary_row *a = left, *b = right;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return frame_compare(a->frame, b->frame);
}

/* Only those that have something. */
static void sort_rows(struct summary *s)
{
	u32 count = 0;

	for (u32 i = 0; i < s->row_count; i++)
		if (s->rows[i].self || s->rows[i].total)
			s->rows[count++] = s->rows[i];
	s->row_count = count;
	qsort(s->rows, count, sizeof(*s->rows), compare_rows);
}

static int add_up(struct summary *s, const struct profile *profile, const struct summary_options *options)
{
	int r = 0;

	s->row_count = s->frames.set.table.count;
	s->rows = calloc((size_t)s->row_count + 1, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	for (u32 i = 0; i < s->row_count; i++)
		s->rows[i].frame = frame_set_at(&s->frames.set, i);
	if (has_owners(options))
		add_up_owners(s);
	else
		r = add_up_frames(s, profile);
	sort_rows(s);
	return r;
}

int summary_new(const struct profile *profile, const struct summary_options *options, struct summary **ret_summary)
{
	_cleanup_(summary_freep) struct summary *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	table_init(&s->cells, &cell_type, NULL, profile_seed(profile), CELLS_MAX);
	r = choose_type(profile, options->type, &s->type);
	if (r < 0)
		return r;
	r = frames_init(&s->frames, profile, options);
	if (r == 0)
		r = fold_samples(s, profile, options);
	s->frames.options = NULL;
	if (r == 0 && !options->only_stacks)
		r = add_up(s, profile, options);
	if (r < 0)
		return r;
	*ret_summary = TAKE(s);
	return 0;
}

/* ---- Narrowing ---- */

/* What tells rows apart is not what functions were chosen by. */
static bool shape_function(struct frame *frame)
{
	frame->is_inline = false;
	if (!frame_is_label(frame))
		frame->type = (struct str){ 0 };
	return true;
}

/* Inlined functions are in the file of the one that they are compiled into. */
static bool shape_executable(struct frame *frame)
{
	bool stays = !frame->is_inline;

	*frame = (struct frame){ .name = frame->exe.len ? frame->exe : STR("[unknown]") };
	return stays;
}

static struct frame row_key(const struct frame *frame)
{
	return *frame;
}

/* By process or thread the rows are these, and have all that is below them. */
static int rows_of_tree(struct summary *s, const struct calltree *tree)
{
	const struct calltree_node *root = calltree_nodes(tree);
	bool by_owner = tree->child[0] && frame_is_label(calltree_frame_of(tree, tree->child[0]));
	_cleanup_(sums_done) struct sums sums;
	int r = sums_init(&sums, tree, 0, row_key);

	if (r < 0)
		return r;
	free(s->rows);
	s->row_count = 0;
	s->rows = calloc((size_t)sums.count + 1, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	s->rows[s->row_count++] = (struct summary_row){ &no_stack, root[0].self, root[0].self };
	for (u32 i = 1; i < sums.count; i++) {
		const struct frame *frame = &calltree_frames(tree)[sums.at[i].frame];

		if (by_owner == frame_is_label(frame))
			s->rows[s->row_count++] = (struct summary_row){
				frame, by_owner ? sums.at[i].total : sums.at[i].self, sums.at[i].total
			};
	}
	sort_rows(s);
	s->total = root[0].total;
	return 0;
}

int summary_narrow(struct summary *summary, enum summary_by by, struct narrow *narrow, u32 nodes_max, struct buf *why)
{
	_cleanup_(calltree_freep) struct calltree *tree = NULL;
	int r = frames_tree(&summary->frames, summary, nodes_max, &tree);

	if (r == 0 && tree->cut_count)
		r = -E2BIG;
	narrow->shape = by == SUMMARY_EXECUTABLE ? shape_executable : shape_function;
	if (r == 0)
		r = narrow_calltree(narrow, &tree, why);
	if (r == 0)
		r = calltree_link(tree, CALLTREE_BY_TOTAL);
	if (r == 0)
		r = rows_of_tree(summary, tree);
	if (r == 0)
		summary->narrowed = TAKE(tree);
	return r;
}
