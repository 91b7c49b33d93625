// SPDX-License-Identifier: Apache-2.0
#include "web/sequence.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/calltree.h"
#include "analysis/frames.h"
#include "analysis/owner.h"
#include "base/array.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_write.h"
#include "base/saturate.h"
#include "kinds/unit.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "profile/table.h"
#include "web/flame_json.h"

#define NODES_MAX (1u << 20)
#define THREADS_MAX (1u << 20)
#define MICROSECOND_NS 1000

/* A sample at one of its times. */
struct moment {
	u64 time_ns, length_ns;
	u32 thread, stack;
};

/* Two hosts may have threads of the same numbers: whose resource it is tells them apart. */
struct thread {
	u32 resource, process, name;	/* frames of the owners */
};

struct sequence {
	const struct profile *profile;
	const struct sequence_options *options;
	struct moment *moments, *shown;
	u32 count, cap, shown_count;
	u64 untimed;
	u64 from_ns, to_ns;		/* what is shown */
	struct frame_set owners;
	struct table threads;		/* of struct thread */
	u32 *thread_samples, *thread_numbers;	/* in what is shown; the number in the answer */
	struct calltree *tree;
	u32 *places;			/* by node: where the answer has it */
};

static u64 thread_hash(const void *row, u64 seed)
{
	const struct thread *t = row;

	return hash_mix(hash_mix(seed, t->resource), (u64)t->process << 32 | t->name);
}

static bool thread_equal(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return x->resource == y->resource && x->process == y->process && x->name == y->name;
}

static const struct table_type thread_type = { sizeof(struct thread), thread_hash, thread_equal, NULL };

static void sequence_init(struct sequence *s)
{
	frame_set_init(&s->owners, profile_seed(s->profile));
	table_init(&s->threads, &thread_type, NULL, profile_seed(s->profile), THREADS_MAX);
}

static void sequence_done(struct sequence *s)
{
	frame_set_done(&s->owners);
	table_done(&s->threads);
	calltree_free(s->tree);
	free(s->moments);
	free(s->thread_samples);
	free(s->thread_numbers);
	free(s->places);
}

/* ---- Gathering ---------------------------------------------------------------------------- */

struct owners {
	struct owner_finder *process, *thread;
	u32 resource;
};

static void owners_done(struct owners *o)
{
	owner_finder_free(o->process);
	owner_finder_free(o->thread);
}

static s64 add_thread(struct sequence *s, const struct owners *o, const struct profile_sample *sample)
{
	struct thread thread = { o->resource, owner_finder_frame(o->process, sample),
				 owner_finder_frame(o->thread, sample) };

	return thread.process == FRAMES_NONE || thread.name == FRAMES_NONE ? -ENOMEM : table_add(&s->threads, &thread);
}

/* How long it stands for: values that are time say so, else it is the period of sampling; 0 if nobody knows. */
static u64 length_of(const struct profile *p, const struct profile_set *set, s64 value)
{
	struct unit_scale scale = unit_scale_values(p->strings.at[set->sample_type.unit],
						    p->strings.at[set->period_type.unit], set->period);

	return scale.unit == UNIT_NANOSECONDS && value > 0 ? (u64)saturating_multiply(value, scale.factor) : 0;
}

static int add_sample(struct sequence *s, const struct owners *o, const struct profile_set *set,
		      const struct profile_sample *sample)
{
	s64 thread = sample->time_count ? add_thread(s, o, sample) : 0;

	s->untimed += sample->time_count ? 0 : sample->value_count;
	if (thread < 0)
		return (int)thread;
	for (u32 i = 0; i < sample->time_count; i++) {
		u64 time_ns = sample->times_unix_ns[i];
		int r;

		if (time_ns < s->options->from_ns || time_ns >= s->options->to_ns)
			continue;
		r = array_grow(&s->moments, &s->cap, s->count, SEQUENCE_READ_MAX, sizeof(*s->moments));
		if (r < 0)
			return r;
		s->moments[s->count++] = (struct moment){
			time_ns, length_of(s->profile, set, profile_sample_value_at(sample, i)), (u32)thread,
			sample->stack,
		};
	}
	return budget_check() < 0 ? -ECANCELED : 0;
}

static int add_set(struct sequence *s, const struct owners *o, const struct profile_set *set)
{
	int r = 0;

	for (u32 i = 0; i < set->sample_count && r == 0; i++)
		r = add_sample(s, o, set, &set->samples[i]);
	return r;
}

static int gather(struct sequence *s)
{
	_cleanup_(owners_done) struct owners o = { owner_finder_new(s->profile, SUMMARY_PROCESS, &s->owners),
						   owner_finder_new(s->profile, SUMMARY_THREAD, &s->owners), 0 };
	int r = o.process && o.thread ? 0 : -ENOMEM;

	for (; o.resource < s->profile->resources.count && r == 0; o.resource++) {
		const struct profile_resource *resource = &s->profile->resources.at[o.resource];

		owner_finder_resource(o.process, resource);
		owner_finder_resource(o.thread, resource);
		for (u32 i = 0; i < resource->scope_count; i++)
			for (u32 k = 0; k < resource->scopes[i].set_count && r == 0; k++)
				r = add_set(s, &o, &resource->scopes[i].sets[k]);
	}
	return r;
}

/* ---- What is shown of it ------------------------------------------------------------------ */

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->thread != y->thread ? (x->thread < y->thread ? -1 : 1) : 0;
}

/* The end of the range, up to the last sample: of one that ends now the last seconds have not come yet. */
static void choose(struct sequence *s)
{
	const struct sequence_options *o = s->options;
	u32 first = 0;

	s->from_ns = o->from_ns;
	s->to_ns = o->to_ns;
	if (!s->count)
		return;
	qsort(s->moments, s->count, sizeof(*s->moments), compare_moments);
	if (o->to_ns - o->from_ns > o->length_max_ns) {
		s->to_ns = s->moments[s->count - 1].time_ns;
		s->from_ns = s->to_ns - o->from_ns > o->length_max_ns ? s->to_ns - o->length_max_ns : o->from_ns;
	}
	while (first < s->count && s->moments[first].time_ns < s->from_ns)
		first++;
	s->shown = s->moments + first;
	s->count -= first;
	s->shown_count = s->count < o->samples_max ? s->count : o->samples_max;
	s->shown += s->count - s->shown_count;
	if (s->shown_count < s->count)
		s->from_ns = s->shown[0].time_ns;
}

/* Beyond NODES_MAX a sample is in the last node of its path that there is. */
static int add_stack(struct sequence *s, struct frames *frames, u32 stack, u32 *ret_node)
{
	struct indices path;
	u32 node = 0;
	int r = frames_path(frames, FRAMES_NONE, stack, &path);

	for (u32 i = 0; i < path.count && r == 0; i++) {
		s64 frame = calltree_frame(s->tree, frame_set_at(&frames->set, path.at[i]));
		s64 below = frame < 0 ? frame : calltree_node(s->tree, node, (u32)frame);

		if (below == -E2BIG)
			break;
		if (below < 0)
			return (int)below;
		node = (u32)below;
	}
	*ret_node = node;
	return r;
}

/* Samples' stacks become nodes. Each counts as one, whatever its value, so that each node has something. */
static int plant(struct sequence *s, struct frames *frames)
{
	_cleanup_(freep) u32 *nodes = array_calloc((size_t)s->profile->stacks.count + 1, sizeof(*nodes));
	int r = nodes ? 0 : -ENOMEM;

	for (u32 i = 0; i < s->shown_count && r == 0; i++) {
		struct moment *moment = &s->shown[i];
		u32 *node = &nodes[moment->stack];

		if (!*node)
			r = add_stack(s, frames, moment->stack, node);
		moment->stack = *node;
		if (r == 0)
			calltree_count(s->tree, *node, 1);
	}
	return r;
}

static int make_tree(struct sequence *s)
{
	struct frames frames;
	int r = frames_init(&frames, s->profile, NULL);

	s->tree = calltree_new_max(NODES_MAX);
	if (r == 0)
		r = s->tree ? plant(s, &frames) : -ENOMEM;
	frames_done(&frames);
	if (r < 0)
		return r;
	s->tree->unit = STR("count");
	s->tree->from_ns = s->from_ns;
	s->tree->to_ns = s->to_ns;
	calltree_sum(s->tree);
	return calltree_link(s->tree, CALLTREE_AS_ADDED);
}

/* Where flame_json() writes each node, all being there. */
static int number_nodes(struct sequence *s)
{
	u32 node = 0, place = 0;

	s->places = array_calloc((size_t)s->tree->nodes.count + 1, sizeof(*s->places));
	if (!s->places)
		return -ENOMEM;
	do {
		s->places[node] = place++;
		node = calltree_next(s->tree, 0, node, true);
	} while (node);
	return 0;
}

/* ---- Writing ------------------------------------------------------------------------------ */

static void put_number(struct json_write *j, const char *key, double value)
{
	json_write_key(j, key);
	json_write_double(j, value);
}

static void put_str(struct json_write *j, const char *key, struct str text)
{
	json_write_key(j, key);
	json_write_string(j, text.len ? text.at : "", text.len);
}

static void put_thread(const struct sequence *s, struct json_write *j, u32 number)
{
	const struct thread *thread = (const struct thread *)s->threads.rows + number;
	const struct profile_resource *resource = &s->profile->resources.at[thread->resource];
	const struct frame *process = frame_set_at(&s->owners, thread->process),
			   *name = frame_set_at(&s->owners, thread->name);

	json_write_open(j, '{');
	put_str(j, "host", any_text(keyvalue_find(resource->attributes, resource->attribute_count, "host.name")));
	put_str(j, "process", process->name);
	put_number(j, "pid", (double)process->pid);
	put_str(j, "thread", name->name);
	put_number(j, "tid", (double)name->tid);
	put_number(j, "samples", s->thread_samples[number]);
	json_write_close(j, '}');
}

/* Those without samples in what is shown are left out. */
static int put_threads(struct sequence *s, struct json_write *j)
{
	u32 shown = 0;

	s->thread_samples = array_calloc((size_t)s->threads.count + 1, sizeof(*s->thread_samples));
	s->thread_numbers = array_calloc((size_t)s->threads.count + 1, sizeof(*s->thread_numbers));
	if (!s->thread_samples || !s->thread_numbers)
		return -ENOMEM;
	for (u32 i = 0; i < s->shown_count; i++)
		s->thread_samples[s->shown[i].thread]++;
	json_write_key(j, "threads");
	json_write_open(j, '[');
	for (u32 i = 0; i < s->threads.count; i++) {
		if (!s->thread_samples[i])
			continue;
		put_thread(s, j, i);
		s->thread_numbers[i] = shown++;
	}
	json_write_close(j, ']');
	return 0;
}

static u32 microseconds(u64 ns)
{
	return ns / MICROSECOND_NS > UINT32_MAX ? UINT32_MAX : (u32)(ns / MICROSECOND_NS);
}

static void put_samples(const struct sequence *s, struct json_write *j)
{
#define COLUMN(key, value)							\
	json_write_key(j, key);							\
	json_write_open(j, '[');						\
	for (u32 i = 0; i < s->shown_count; i++) {				\
		const struct moment *m = &s->shown[i];				\
										\
		json_write_u32(j, value);					\
	}									\
	json_write_close(j, ']')
	COLUMN("thread", s->thread_numbers[m->thread]);
	COLUMN("end", microseconds(m->time_ns - s->from_ns));
	COLUMN("length", microseconds(m->length_ns));
	COLUMN("node", s->places[m->stack]);
#undef COLUMN
}

static int put_all(struct sequence *s, struct buf *out)
{
	struct json_write j = { .b = out };
	int r;

	json_write_open(&j, '{');
	put_number(&j, "from", (double)s->from_ns / 1e9);
	put_number(&j, "to", (double)s->to_ns / 1e9);
	put_number(&j, "samples", s->count);
	put_number(&j, "left_out", s->count - s->shown_count);
	put_number(&j, "untimed", (double)s->untimed);
	r = put_threads(s, &j);
	if (r < 0)
		return r;
	put_samples(s, &j);
	json_write_key(&j, "tree");
	r = flame_json(s->tree, 0, s->tree->nodes.count, out);
	json_write_close(&j, '}');
	return r < 0 ? r : buf_err(out);
}

int sequence_json(const struct profile *profile, const struct sequence_options *options, struct buf *out)
{
	_cleanup_(sequence_done) struct sequence s = { .profile = profile, .options = options };
	int r;

	sequence_init(&s);
	r = gather(&s);
	if (r < 0)
		return r;
	choose(&s);
	r = make_tree(&s);
	if (r == 0)
		r = number_nodes(&s);
	return r < 0 ? r : put_all(&s, out);
}
