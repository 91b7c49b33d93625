// SPDX-License-Identifier: Apache-2.0
#include "trace/totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kinds/list.h"
#include "trace/window.h"

/* The kinds whose samples are parts of a thread's time. */
static const u8 kinds_of_time[] = { KIND_OFF_CPU, KIND_WALL, KIND_WAKEUP };
#define KINDS_OF_TIME (sizeof(kinds_of_time) / sizeof(*kinds_of_time))

/* What a thread's samples weigh. */
struct weights {
	double of[KINDS_OF_TIME][TOTAL_CLASSES];
};

/* Where a sample belongs: its thread, UINT32_MAX for none, and its place there. */
struct share {
	u32 thread;
	u8 kind, class;
};

static const u32 waits[TOTAL_CLASSES] = { WAIT_NOT, WAIT_CPU, WAIT_UNKNOWN };

void totals_init(struct totals *t)
{
	memset(t, 0, sizeof(*t));
	arena_init(&t->arena, SIZE_MAX / 2);
	interner_init(&t->keys, &t->arena, TOTALS_MAX);
}

void totals_done(struct totals *t)
{
	interner_done(&t->keys);
	arena_done(&t->arena);
	free(t->at);
}

static struct total *find_or_add(struct totals *t, const struct trace_record *record)
{
	u32 key[2] = { record->pid, record->tid };
	bool is_new;
	u32 index = interner_add(&t->keys, key, sizeof(key), &is_new);

	if (index == INTERNER_NONE || array_reserve(&t->at, &t->cap, index + 1, sizeof(*t->at)) < 0)
		return NULL;
	if (is_new) {
		t->at[index] = (struct total){ .about = *record };
		t->count = index + 1;
	}
	return &t->at[index];
}

void totals_add(struct totals *t, const struct trace_record *record)
{
	struct total *total = find_or_add(t, record);
	struct thread_totals told;
	u64 busy;

	if (!total) {
		t->lost++;
		return;
	}
	memcpy(&told, record + 1, sizeof(told));
	busy = told.run_ns + told.cpu_wait_ns;
	total->ns[TOTAL_RAN] += told.run_ns;
	total->ns[TOTAL_WAITED_CPU] += told.cpu_wait_ns;
	total->ns[TOTAL_WAITED] += told.all_ns > busy ? told.all_ns - busy : 0;
}

static struct share share_of(const struct totals *t, const struct window *w, const struct window_sample *sample)
{
	u32 key[2] = { w->processes[window_stack(w, sample->stack)->process].pid, sample->tid };
	struct share share = { .thread = UINT32_MAX };

	for (u8 i = 0; i < KINDS_OF_TIME; i++) {
		if (sample->kind != kinds_of_time[i])
			continue;
		share.thread = interner_find(&t->keys, key, sizeof(key));
		share.kind = i;
		share.class = sample->reason == REASON_NONE	 ? TOTAL_RAN :
			      sample->reason == REASON_RUN_QUEUE ? TOTAL_WAITED_CPU :
								   TOTAL_WAITED;
	}
	return share;
}

/* Adds up what they weigh, then gives each its part of the whole. */
static void scale(const struct totals *t, struct window *w, const struct share *shares, struct weights *weights)
{
	for (u32 i = 0; i < w->time_count; i++) {
		const struct share *s = &shares[w->times[i].sample];

		if (s->thread != UINT32_MAX)
			weights[s->thread].of[s->kind][s->class] += (double)w->times[i].value;
	}
	for (u32 i = 0; i < w->time_count; i++) {
		const struct share *s = &shares[w->times[i].sample];
		double value;

		if (s->thread == UINT32_MAX)
			continue;
		value = (double)w->times[i].value * (double)t->at[s->thread].ns[s->class] /
			weights[s->thread].of[s->kind][s->class];
		w->times[i].value = value < (double)WINDOW_VALUE_MAX ? (u64)(value + 0.5) : WINDOW_VALUE_MAX;
		w->is_weighed = true;
	}
}

/* Time without a sample: of one that runs only where all of its time is wanted. */
static void add_rest(const struct total *total, const struct weights *weights, const struct totals_ops *ops)
{
	for (u32 k = 0; k < KINDS_OF_TIME; k++)
		for (u32 class = kinds_of_time[k] == KIND_WALL ? TOTAL_RAN : TOTAL_WAITED_CPU; class < TOTAL_CLASSES;
		     class++) {
			struct trace_record rest = total->about;

			if (!(ops->kinds >> kinds_of_time[k] & 1) || weights->of[k][class] > 0 || !total->ns[class])
				continue;
			rest.kind = kinds_of_time[k];
			rest.value = total->ns[class];
			rest.flags = (u8)(waits[class] << TRACE_WAIT_SHIFT);
			rest.user_count = 0;
			ops->add(ops->arg, &rest);
		}
}

/* Keeps what samples that are still to come will share. */
static bool keep_late(struct total *total, const struct weights *weights, const struct totals_ops *ops)
{
	bool kept = false;

	if (!ops->is_late(ops->arg, total->about.pid))
		return false;
	for (u32 class = 0; class < TOTAL_CLASSES; class++) {
		for (u32 k = 0; k < KINDS_OF_TIME; k++)
			if (weights->of[k][class] > 0)
				total->ns[class] = 0;
		kept |= total->ns[class] > 0;
	}
	return kept;
}

static void totals_keep(struct totals *t, const struct total *kept, u32 count)
{
	u64 lost = t->lost;

	totals_done(t);
	totals_init(t);
	t->lost = lost;
	for (u32 i = 0; i < count; i++) {
		struct total *total = find_or_add(t, &kept[i].about);

		if (total)
			memcpy(total->ns, kept[i].ns, sizeof(total->ns));
	}
}

void totals_share(struct totals *t, struct window *w, const struct totals_ops *ops)
{
	struct share *shares = calloc(w->sample_keys.count + 1, sizeof(*shares));
	struct weights *weights = calloc(t->count + 1, sizeof(*weights));
	struct total *kept = calloc(t->count + 1, sizeof(*kept));
	u32 kept_count = 0, sample_count = w->sample_keys.count;

	/* For lack of memory samples have the values that they came with, which add up to nearly the same. */
	if (t->count && shares && weights && kept) {
		for (u32 i = 0; i < sample_count; i++)
			shares[i] = share_of(t, w, window_sample(w, i));
		scale(t, w, shares, weights);
		for (u32 i = 0; i < t->count; i++) {
			if (keep_late(&t->at[i], &weights[i], ops))
				kept[kept_count++] = t->at[i];
			else
				add_rest(&t->at[i], &weights[i], ops);
		}
	}
	totals_keep(t, kept, kept_count);
	free(shares);
	free(weights);
	free(kept);
}
