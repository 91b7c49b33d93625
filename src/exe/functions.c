// SPDX-License-Identifier: Apache-2.0
#include "exe/functions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void functions_done(struct functions *functions)
{
	free(functions->at);
	*functions = (struct functions){ 0 };
}

static void append(struct functions *functions, const struct function *function)
{
	u32 cap = functions->cap ? functions->cap * 2 : 256;
	struct function *grown;

	if (functions->count == FUNCTIONS_MAX) {
		functions->dropped_count++;
		return;
	}
	if (functions->count == functions->cap) {
		grown = reallocarray(functions->at, cap, sizeof(*grown));
		if (!grown) {
			functions->err = -ENOMEM;
			return;
		}
		functions->at = grown;
		functions->cap = cap;
	}
	functions->at[functions->count++] = *function;
}

void functions_add(struct functions *functions, u64 start_ea, u64 end_ea, enum function_source source, u64 ref)
{
	if (start_ea == end_ea)
		return;
	if (start_ea > end_ea || end_ea - start_ea > UINT32_MAX || end_ea >= FUNCTIONS_EA_LIMIT || ref > UINT32_MAX) {
		functions->dropped_count++;
		return;
	}
	append(functions, &(struct function){ .start_ea = start_ea, .source = source, .bytes = end_ea - start_ea,
					      .ref = ref });
}

/* By start, then longest first. */
static int compare(const void *a_arg, const void *b_arg)
{
	const struct function *a = a_arg, *b = b_arg;

	if (a->start_ea != b->start_ea)
		return a->start_ea < b->start_ea ? -1 : 1;
	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

static bool is_sorted(const struct functions *functions)
{
	for (u32 i = 1; i < functions->count; i++)
		if (compare(&functions->at[i - 1], &functions->at[i]) > 0)
			return false;
	return true;
}

void functions_settle(struct functions *functions)
{
	struct function *at = functions->at;
	u32 kept = 0;

	if (!is_sorted(functions))
		qsort(at, functions->count, sizeof(*at), compare);
	for (u32 i = 0; i < functions->count; i++) {
		struct function *last = kept ? &at[kept - 1] : NULL;

		if (last && last->start_ea == at[i].start_ea)
			continue;
		if (last && function_end(last) > at[i].start_ea)
			last->bytes = at[i].start_ea - last->start_ea;
		at[kept++] = at[i];
	}
	functions->count = kept;
}

/* Adds the parts of a function that lie in gaps of a settled list, from its index i on. */
static void add_gaps(struct functions *merged, const struct functions *functions, u32 i, const struct function *other)
{
	u64 start = other->start_ea, end = function_end(other);

	for (; start < end; i++) {
		bool last = i >= functions->count || functions->at[i].start_ea >= end;
		struct function part = *other;

		part.start_ea = start;
		if (!last && functions->at[i].start_ea <= start) {
			start = function_end(&functions->at[i]) > start ? function_end(&functions->at[i]) : start;
			continue;
		}
		part.bytes = (last ? end : functions->at[i].start_ea) - start;
		append(merged, &part);
		if (last)
			return;
		start = function_end(&functions->at[i]);
	}
}

void functions_fill(struct functions *functions, struct functions *others)
{
	struct functions parts = { 0 };
	u32 i = 0;

	for (u32 o = 0; o < others->count; o++) {
		while (i < functions->count && function_end(&functions->at[i]) <= others->at[o].start_ea)
			i++;
		add_gaps(&parts, functions, i, &others->at[o]);
	}
	functions->dropped_count += others->dropped_count + parts.dropped_count;
	functions->err = functions->err ? functions->err : others->err ? others->err : parts.err;
	for (u32 p = 0; p < parts.count; p++)
		append(functions, &parts.at[p]);
	if (parts.count)
		functions_settle(functions);
	functions_done(&parts);
	functions_done(others);
}

void functions_overlay(struct functions *functions, struct functions *others)
{
	struct functions under = *functions;

	if (!others->count)
		return;
	functions_settle(others);
	*functions = *others;
	*others = (struct functions){ 0 };
	functions_fill(functions, &under);
}

u32 functions_from(const struct functions *functions, u64 ea)
{
	u32 lo = 0, hi = functions->count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (function_end(&functions->at[mid]) <= ea)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct function *functions_find(const struct functions *functions, u64 ea)
{
	u32 i = functions_from(functions, ea);

	return i < functions->count && functions->at[i].start_ea <= ea ? &functions->at[i] : NULL;
}
