// SPDX-License-Identifier: Apache-2.0
#include "trace/pairs.h"

#include <stdlib.h>

#include "trace/window.h"

void pairs_done(struct pairs *pairs)
{
	free(pairs->at);
	*pairs = (struct pairs){ 0 };
}

static struct pair *set_of(struct pairs *pairs, const struct trace_record *record)
{
	u64 hash = (record->time_ns ^ (u64)record->cpu << 48 ^ (u64)record->kind << 40) * 0x9e3779b97f4a7c15ull;

	if (!pairs->at)
		pairs->at = calloc(PAIRS_SETS * PAIRS_WAYS, sizeof(*pairs->at));
	return pairs->at ? &pairs->at[(hash >> 40) % PAIRS_SETS * PAIRS_WAYS] : NULL;
}

static struct pair *find(struct pair *set, const struct trace_record *record)
{
	for (u32 i = 0; i < PAIRS_WAYS; i++)
		if (set[i].time_ns == record->time_ns && set[i].cpu == record->cpu && set[i].kind == record->kind)
			return &set[i];
	return NULL;
}

static void add(struct pairs *pairs, struct pair *set, const struct pair *pair)
{
	struct pair *oldest = set;

	for (u32 i = 1; i < PAIRS_WAYS; i++)
		if (set[i].time_ns < oldest->time_ns)
			oldest = &set[i];
	pairs->evicted += oldest->time_ns != 0;
	pairs->open += oldest->time_ns == 0;
	*oldest = *pair;
}

static void set_value(struct window *window, u32 time, u64 value)
{
	window->times[time].value = value < WINDOW_VALUE_MAX ? value : WINDOW_VALUE_MAX;
}

static void forget(struct pairs *pairs, struct pair *pair)
{
	pair->time_ns = 0;
	pairs->open--;
}

void pairs_begin(struct pairs *pairs, const struct trace_record *record, struct window *window)
{
	struct pair *set = set_of(pairs, record), *ended = set ? find(set, record) : NULL;
	u32 time = window->time_count - 1;

	window->is_weighed = true;
	set_value(window, time, ended ? ended->value : 0);
	if (ended)
		forget(pairs, ended);
	else if (set)
		add(pairs, set, &(struct pair){ record->time_ns, 0, time, record->cpu, record->kind, false });
}

void pairs_end(struct pairs *pairs, const struct trace_record *record, struct window *window)
{
	struct pair *set = set_of(pairs, record), *begun = set ? find(set, record) : NULL;

	if (begun && !begun->has_ended) {
		set_value(window, begun->time, record->value);
		forget(pairs, begun);
	} else if (set && !begun) {
		add(pairs, set, &(struct pair){ record->time_ns, record->value, 0, record->cpu, record->kind, true });
	}
}

void pairs_move(struct pairs *pairs, struct window *full, struct window *next)
{
	for (u32 i = 0; pairs->open && i < PAIRS_SETS * PAIRS_WAYS; i++) {
		struct pair *pair = &pairs->at[i];

		if (!pair->time_ns || pair->has_ended)
			continue;
		if (window_move(full, pair->time, next)) {
			pair->time = next->time_count - 1;
		} else {
			pairs->evicted++;
			forget(pairs, pair);
		}
	}
	window_moved(full);
}
