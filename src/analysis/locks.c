// SPDX-License-Identifier: Apache-2.0
#include "analysis/locks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "profile/any.h"

#define LOCKS_MAX (1u << 20)
#define STUCK_NS 500000000	/* whoever waits for less may be about to get it */
#define AT_ONE_TIME_NS 1000000000ull	/* all threads are looked at within that */
#define WOKEN_BY "[woken by "

void locks_free(struct locks *l)
{
	if (!l)
		return;
	interner_done(&l->row_keys);
	interner_done(&l->part_keys);
	interner_done(&l->waiter_keys);
	interner_done(&l->edge_keys);
	interner_done(&l->thread_keys);
	arena_done(&l->arena);
	free(l->rows);
	free(l->parts);
	free(l->edges);
	free(l->thread_names);
	free(l);
}

/* ---- Stacks ---- */

/* Where the stack of who waits begins: after the mark behind that of who ended it. */
static u32 waiter_begin(const struct profile *p, struct indices stack)
{
	for (u32 i = 0; i < stack.count; i++) {
		const struct profile_location *location = &p->locations.at[stack.at[i]];
		struct str name = { 0 };

		if (location->line_count)
			name = p->strings.at[p->functions.at[location->lines[0].function].name];
		if (name.len > sizeof(WOKEN_BY) - 1 && !memcmp(name.at, WOKEN_BY, sizeof(WOKEN_BY) - 1))
			return i + 1;
	}
	return 0;
}

static bool is_kernel(const struct profile *p, const struct profile_location *location)
{
	const struct any *type = profile_attribute_find(p, location->attributes, "profile.frame.type");

	return type && str_is(any_text(type), "kernel");
}

struct place {
	enum lock_kind kind;
	struct str function;		/* the first that is the program's own */
};

/* False when the place is known. */
static bool place_add(const struct profile *p, u32 index, struct place *place)
{
	const struct profile_location *location = &p->locations.at[index];

	if (is_kernel(p, location))
		return true;
	for (u32 i = 0; i < location->line_count; i++) {
		struct str name = p->strings.at[p->functions.at[location->lines[i].function].name];

		if (place->kind == LOCK_UNKNOWN)
			place->kind = lock_kind_of(name);
		if (!name.len || lock_is_machinery(name))
			continue;
		place->function = name;
		return false;
	}
	return true;
}

static struct place waiter_place(const struct profile *p, struct indices stack)
{
	struct place place = { 0 };

	for (u32 i = waiter_begin(p, stack); i < stack.count && place_add(p, stack.at[i], &place); i++)
		;
	return place;
}

/* The other way round: where its stack begins lies next to the mark. */
static struct place waker_place(const struct profile *p, struct indices stack)
{
	struct place place = { 0 };

	for (u32 i = waiter_begin(p, stack); i > 1 && place_add(p, stack.at[i - 2], &place); i--)
		;
	return place;
}

void locks_frames(const struct locks *l, u32 index, void (*visit)(void *arg, struct str function), void *arg)
{
	const struct profile *p = l->profile;
	struct indices stack = p->stacks.at[index];

	for (u32 i = waiter_begin(p, stack); i < stack.count; i++) {
		const struct profile_location *location = &p->locations.at[stack.at[i]];

		for (u32 k = 0; k < location->line_count && !is_kernel(p, location); k++)
			visit(arg, p->strings.at[p->functions.at[location->lines[k].function].name]);
	}
}

/* ---- Samples ---- */

struct waits {
	struct str process;
	s64 pid;
	const struct profile_sample *sample;
};

static const struct any *attribute_of(const struct locks *l, const struct waits *w, const char *key)
{
	return profile_attribute_find(l->profile, w->sample->attributes, key);
}

static s64 number_of(const struct any *value)
{
	return value && value->kind == ANY_INT ? value->integer : -1;
}

static struct lock_row *find_row(struct locks *l, const struct waits *w, struct str address, enum lock_kind kind)
{
	struct { s64 pid; char address[32]; } key = { .pid = w->pid };
	bool is_new;
	u32 index;

	memcpy(key.address, address.at, address.len < sizeof(key.address) ? address.len : sizeof(key.address));
	index = interner_add(&l->row_keys, &key, sizeof(key), &is_new);
	if (index == INTERNER_NONE || array_reserve(&l->rows, &l->row_cap, index + 1, sizeof(*l->rows)) < 0)
		return NULL;
	if (is_new) {
		l->rows[index] = (struct lock_row){ .pid = w->pid, .process = w->process, .address = address,
						    .kind = kind };
		l->row_count = index + 1;
	}
	return &l->rows[index];
}

static int add_part(struct locks *l, const struct lock_part *part)
{
	struct { u32 lock, is_holder; s64 tid; const char *function; } key = { part->lock, part->is_holder, part->tid,
									       part->function.at };
	bool is_new;
	u32 index = interner_add(&l->part_keys, &key, sizeof(key), &is_new);

	if (index == INTERNER_NONE || array_reserve(&l->parts, &l->part_cap, index + 1, sizeof(*l->parts)) < 0)
		return -ENOMEM;
	if (is_new) {
		l->parts[index] = *part;
		l->parts[index].waited = 0;
		l->part_count = index + 1;
	}
	l->parts[index].waited = saturating_add(l->parts[index].waited, part->waited);
	return 0;
}

static int add_thread(struct locks *l, const struct waits *w)
{
	s64 key[2] = { w->pid, number_of(attribute_of(l, w, "thread.id")) };
	u32 index = interner_add(&l->thread_keys, key, sizeof(key), NULL);

	if (index == INTERNER_NONE ||
	    array_reserve(&l->thread_names, &l->thread_cap, index + 1, sizeof(*l->thread_names)) < 0)
		return -ENOMEM;
	l->thread_names[index] = any_text(attribute_of(l, w, "thread.name"));
	return 0;
}

static struct str thread_name(const struct locks *l, s64 pid, s64 tid)
{
	s64 key[2] = { pid, tid };
	u32 index = interner_find(&l->thread_keys, key, sizeof(key));

	return index == INTERNER_NONE ? (struct str){ 0 } : l->thread_names[index];
}

/* A thread that still waits, for what another has: the last that is seen of each counts. */
static int add_edge(struct locks *l, const struct waits *w, struct str address, s64 holder)
{
	s64 key[2] = { w->pid, number_of(attribute_of(l, w, "thread.id")) };
	u32 index, last = w->sample->time_count;

	for (u32 i = 0; i < w->sample->time_count; i++)
		if (profile_sample_value_at(w->sample, i) >= STUCK_NS &&
		    (last == w->sample->time_count || w->sample->times_unix_ns[i] > w->sample->times_unix_ns[last]))
			last = i;
	if (last == w->sample->time_count)
		return 0;
	index = interner_add(&l->edge_keys, key, sizeof(key), NULL);
	if (index == INTERNER_NONE || array_reserve(&l->edges, &l->edge_cap, index + 1, sizeof(*l->edges)) < 0)
		return -ENOMEM;
	if (index < l->edge_count && l->edges[index].time_unix_ns >= w->sample->times_unix_ns[last])
		return 0;
	l->edge_count = index < l->edge_count ? l->edge_count : index + 1;
	l->edges[index] = (struct lock_edge){ .pid = w->pid, .tid = key[1], .holder = holder, .process = w->process,
					      .thread = any_text(attribute_of(l, w, "thread.name")),
					      .address = address, .stack = w->sample->stack, .next = UINT32_MAX,
					      .time_unix_ns = w->sample->times_unix_ns[last] };
	return 0;
}

/* Who had it, and where it let go; or has it still. */
static int add_holder(struct locks *l, const struct waits *w, const struct lock_row *row, s64 waited)
{
	const struct any *waker = attribute_of(l, w, "waker.thread.name");
	struct lock_part part = { .lock = (u32)(row - l->rows), .is_holder = true, .waited = waited };

	part.tid = number_of(attribute_of(l, w, "lock.holder.thread.id"));
	if (part.tid < 0)
		return 0;
	if (waker) {
		part.thread = any_text(waker);
		part.function = waker_place(l->profile, l->profile->stacks.at[w->sample->stack]).function;
		return add_part(l, &part);
	}
	return add_part(l, &part) < 0 ? -ENOMEM : add_edge(l, w, row->address, part.tid);
}

static int add_wait(struct locks *l, const struct waits *w, struct str address)
{
	struct place place = waiter_place(l->profile, l->profile->stacks.at[w->sample->stack]);
	s64 waited = profile_sample_value(w->sample), tid = number_of(attribute_of(l, w, "thread.id"));
	struct { u32 lock, pad; s64 tid; } waiter = { .tid = tid };
	struct lock_part site = { .tid = -1, .function = place.function, .waited = waited };
	struct lock_row *row;
	s64 longest;
	bool is_new;

	if (!lock_is_held(place.kind)) {
		l->event_waited = saturating_add(l->event_waited, waited);
		return 0;
	}
	row = find_row(l, w, address, place.kind);
	if (!row)
		return -ENOMEM;
	site.lock = waiter.lock = (u32)(row - l->rows);
	row->waited = saturating_add(row->waited, waited);
	longest = number_of(attribute_of(l, w, "lock.longest_wait_us"));
	if (longest > 0 && longest < INT64_MAX / 1000 && longest * 1000 > row->longest)
		row->longest = longest * 1000;
	if (interner_add(&l->waiter_keys, &waiter, sizeof(waiter), &is_new) == INTERNER_NONE)
		return -ENOMEM;
	row->waiters += is_new;
	return add_part(l, &site) < 0 ? -ENOMEM : add_holder(l, w, row, waited);
}

static int add_set(struct locks *l, const struct profile_resource *resource, const struct profile_set *set)
{
	struct waits w = {
		.process = any_text(keyvalue_find(resource->attributes, resource->attribute_count,
						  "process.executable.name")),
		.pid = number_of(keyvalue_find(resource->attributes, resource->attribute_count, "process.pid")),
	};
	int r = 0;

	if (set->duration_ns > l->duration_ns)
		l->duration_ns = set->duration_ns;
	for (u32 i = 0; i < set->sample_count && r == 0; i++) {
		struct str address;

		w.sample = &set->samples[i];
		address = any_text(attribute_of(l, &w, "lock.address"));
		r = add_thread(l, &w);
		if (r == 0 && address.len)
			r = add_wait(l, &w, address);
	}
	return r;
}

static int each_set(struct locks *l, int (*visit)(struct locks *l, const struct profile_resource *resource,
						  const struct profile_set *set))
{
	int r = 0;

	for (u32 i = 0; i < l->profile->resources.count; i++) {
		const struct profile_resource *resource = &l->profile->resources.at[i];

		for (u32 j = 0; j < resource->scope_count; j++)
			for (u32 k = 0; k < resource->scopes[j].set_count && r == 0; k++)
				r = visit(l, resource, &resource->scopes[j].sets[k]);
	}
	return r;
}

static u32 rank_of(struct str type)
{
	return str_is(type, "wakeup") ? 3 : str_is(type, "off_cpu") ? 2 : str_is(type, "wall") ? 1 : 0;
}

static int choose(struct locks *l, const struct profile_resource *resource, const struct profile_set *set)
{
	struct str type = l->profile->strings.at[set->sample_type.type];

	if (rank_of(type) > rank_of(l->type))
		l->type = type;
	return 0;
}

static int add_chosen(struct locks *l, const struct profile_resource *resource, const struct profile_set *set)
{
	return str_equal(l->profile->strings.at[set->sample_type.type], l->type) ? add_set(l, resource, set) : 0;
}

/* ---- Rings ---- */

static u32 next_edge(const struct locks *l, const struct lock_edge *edge)
{
	s64 key[2] = { edge->pid, edge->holder };
	u32 next = interner_find(&l->edge_keys, key, sizeof(key));
	u64 a = edge->time_unix_ns, b = next < l->edge_count ? l->edges[next].time_unix_ns : 0;

	if (next >= l->edge_count || edge->holder == edge->tid || (a > b ? a - b : b - a) > AT_ONE_TIME_NS)
		return UINT32_MAX;
	return next;
}

/* Each thread waits for one at most: whoever is met again is in a ring. */
static void find_rings(struct locks *l, u32 *seen)
{
	for (u32 i = 0; i < l->edge_count; i++)
		l->edges[i].next = next_edge(l, &l->edges[i]);
	for (u32 i = 0; i < l->edge_count; i++) {
		u32 at = i;

		while (at != UINT32_MAX && !seen[at]) {
			seen[at] = i + 1;
			at = l->edges[at].next;
		}
		if (at == UINT32_MAX || seen[at] != i + 1 || l->edges[at].ring)
			continue;
		l->ring_count++;
		for (u32 k = at; !l->edges[k].ring; k = l->edges[k].next)
			l->edges[k].ring = l->ring_count;
	}
}

/* ---- Order ---- */

static int compare_parts(const void *a, const void *b)
{
	const struct lock_part *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	if (x->is_holder != y->is_holder)
		return x->is_holder ? 1 : -1;
	return x->waited > y->waited ? -1 : x->waited < y->waited;
}

static int compare_rows(const void *a, const void *b)
{
	const struct lock_row *x = a, *y = b;

	return x->waited > y->waited ? -1 : x->waited < y->waited;
}

static void put_in_order(struct locks *l)
{
	if (l->part_count)
		qsort(l->parts, l->part_count, sizeof(*l->parts), compare_parts);
	for (u32 i = 0; i < l->part_count; i++) {
		struct lock_part *part = &l->parts[i];
		struct lock_row *row = &l->rows[part->lock];

		if (!row->site_count && !row->holder_count)
			row->first_part = i;
		if (part->is_holder)
			row->holder_count++;
		else
			row->site_count++;
		if (part->is_holder && !part->thread.len)
			part->thread = thread_name(l, row->pid, part->tid);
	}
	if (l->row_count)
		qsort(l->rows, l->row_count, sizeof(*l->rows), compare_rows);
}

int locks_new(const struct profile *profile, struct locks **ret_locks)
{
	_cleanup_(locks_freep) struct locks *l = calloc(1, sizeof(*l));
	u32 *seen;
	int r;

	if (!l)
		return -ENOMEM;
	l->profile = profile;
	arena_init(&l->arena, SIZE_MAX / 2);
	interner_init(&l->row_keys, &l->arena, LOCKS_MAX);
	interner_init(&l->part_keys, &l->arena, 4 * LOCKS_MAX);
	interner_init(&l->waiter_keys, &l->arena, 4 * LOCKS_MAX);
	interner_init(&l->edge_keys, &l->arena, LOCKS_MAX);
	interner_init(&l->thread_keys, &l->arena, 4 * LOCKS_MAX);
	(void)each_set(l, choose);
	r = l->type.len ? each_set(l, add_chosen) : 0;
	if (r < 0)
		return r;
	seen = calloc(l->edge_count + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	find_rings(l, seen);
	free(seen);
	put_in_order(l);
	*ret_locks = TAKE(l);
	return 0;
}
