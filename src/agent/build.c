// SPDX-License-Identifier: Apache-2.0
#include "agent/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/locations.h"
#include "base/interner.h"
#include "kinds/kind.h"
#include "proc/environment.h"
#include "profile/profile.h"
#include "symbol/symbolizer.h"
#include "trace/window.h"

#define STACK_MAX (KERNEL_FRAMES_MAX + USER_FRAMES_MAX + 1)
#define LABELS_MAX 32		/* of a sample */
#define SCHEMA_URL "https://opentelemetry.io/schemas/1.37.0"

static const char *const end_names[] = {
#define X(ID, name, text) [END_##ID] = name,
	STACK_ENDS(X)
#undef X
};

/* What stands at the root of a stack that is not whole, lest its last frame look like one. */
static const char *const end_marks[END_COUNT] = {
	[END_COMPAT] = "[32-bit]",
	[END_TRUNCATED] = "[truncated]",
	[END_SLICE_SHORT] = "[truncated]",
	[END_NO_REGISTERS] = "[incomplete]",
	[END_UNREADABLE] = "[incomplete]",
	[END_NO_MAPPING] = "[incomplete]",
	[END_NO_RULE] = "[incomplete]",
	[END_NO_REGISTER] = "[incomplete]",
	[END_NO_PROGRESS] = "[incomplete]",
	[END_GONE] = "[incomplete]",
	[END_RUNTIME] = "[incomplete]",
};

struct build {
	const struct window *window;
	const struct build_options *options;
	struct profile *profile;
	struct locations *locations;
	u32 *stacks;			/* by index in the window: index in the profile */
	u32 *kinds;			/* by process: bit n, it has samples of kind n */
	struct profile_set **sets;	/* by process: one for each of its kinds, in their order */
	u32 *first_time;		/* of each sample, in times; one more at the end */
	u64 *times;			/* grouped by sample */
	s64 *values;			/* of those times; NULL: each is 1 */
	u32 end_attributes[END_COUNT];
};

static void build_done(struct build *b)
{
	locations_free(b->locations);
	free(b->stacks);
	free(b->kinds);
	free(b->sets);
	free(b->first_time);
	free(b->times);
	free(b->values);
	profile_free(b->profile);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct keyvalue string_attribute(const char *key, const char *value)
{
	return (struct keyvalue){
		.key = { key, (u32)strlen(key) },
		.value = { .kind = ANY_STRING, .string = { value, (u32)strlen(value) } },
	};
}

static bool is_self(const struct build_options *options, pid_t pid)
{
	for (u32 i = 0; i < SELF_PIDS_MAX; i++)
		if (pid == options->self_pids[i])
			return true;
	return false;
}

/* NAME=value, one after another: an attribute of each; how many. */
static u32 build_environment(struct build *b, const struct window_process *process, struct keyvalue *attributes)
{
	u32 count = 0;

	for (u32 at = 0; at < process->environment_bytes && count < ENVIRONMENT_NAMES_MAX; count++) {
		const char *entry = process->environment + at, *equals = strchr(entry, '=');
		char key[256];
		int len = snprintf(key, sizeof(key), "process.environment_variable.%.*s", (int)(equals - entry), entry);

		attributes[count] = string_attribute("", equals + 1);
		attributes[count].key = profile_copy_str(b->profile, key, (size_t)len < sizeof(key) ? (size_t)len : 0);
		at += (u32)strlen(entry) + 1;
	}
	return count;
}

/* What lies between two samples, by the kind's number. */
static s64 period_of(const struct build_options *options, u32 kind)
{
	for (u32 i = 0; i < options->kinds.count; i++)
		if (options->kinds.at[i].kind == kind_list[kind] && options->kinds.at[i].events_per_sample)
			return (s64)options->kinds.at[i].events_per_sample;
	return 1000000000 / options->frequency_hz;
}

static struct profile_set *build_sets(struct build *b, struct profile_scope *scope, u32 kinds)
{
	const struct window *w = b->window;

	for (u32 kind = 0; kind < KIND_MAX; kind++) {
		struct profile_set *set = kinds >> kind & 1 ? profile_add_set(b->profile, scope) : NULL;

		if (!set)
			continue;
		profile_set_describe(b->profile, set, kind_list[kind], period_of(b->options, kind));
		set->time_unix_ns = (u64)((s64)w->start_ns + w->unix_offset_ns);
		set->duration_ns = w->end_ns - w->start_ns;
	}
	return profile_err(b->profile) ? NULL : scope->sets;
}

/* One resource and scope for each process, what the OpenTelemetry profiler does, with a set for each kind of sample. */
static struct profile_set *build_process(struct build *b, const struct window_process *process, u32 kinds)
{
	struct keyvalue attributes[8 + ENVIRONMENT_NAMES_MAX];
	struct profile_resource *resource;
	struct profile_scope *scope;
	u32 count = 0;

	attributes[count++] = (struct keyvalue){ STR("process.pid"), { .kind = ANY_INT, .integer = process->pid } };
	attributes[count++] = string_attribute("process.executable.name",
					       process->exe_path[0] ? base_name(process->exe_path) : process->comm);
	if (process->exe_path[0])
		attributes[count++] = string_attribute("process.executable.path", process->exe_path);
	if (process->container_id[0])
		attributes[count++] = string_attribute("container.id", process->container_id);
	if (process->command_line[0])
		attributes[count++] = string_attribute("process.command_line", process->command_line);
	if (is_self(b->options, (pid_t)process->pid))
		attributes[count++] = (struct keyvalue){ STR("wick.self"), { .kind = ANY_BOOL, .boolean = true } };
	count += build_environment(b, process, attributes + count);
	resource = profile_add_resource(b->profile, attributes, count);
	if (!resource)
		return NULL;
	resource->schema_url = profile_copy_str(b->profile, SCHEMA_URL, strlen(SCHEMA_URL));
	scope = profile_add_scope(b->profile, resource);
	if (!scope)
		return NULL;
	scope->name = profile_copy_str(b->profile, "wick", 4);
	scope->version = profile_copy_str(b->profile, WICK_VERSION, strlen(WICK_VERSION));
	return build_sets(b, scope, kinds);
}

static u32 build_stack(struct build *b, const struct window_stack *stack)
{
	u32 locations[STACK_MAX], count = 0;

	for (u32 i = 0; i < stack->kernel_count; i++)
		locations[count++] = locations_kernel(b->locations, stack->words[i]);
	for (u32 i = 0; i < stack->user_count; i++) {
		u64 word = stack->words[stack->kernel_count + i];
		const struct window_frame *named = window_frame(b->window, word);

		if (!named || named->line_count)
			locations[count++] = locations_user(b->locations, word);
	}
	if (end_marks[stack->end] && !b->options->without_marks)
		locations[count++] = locations_mark(b->locations, end_marks[stack->end]);
	return profile_add_stack(b->profile, locations, count);
}

/* Counts, then places: the times of each sample end up side by side, in order. */
static int build_times(struct build *b)
{
	const struct window *w = b->window;
	u32 samples = w->sample_keys.count;

	b->first_time = calloc(samples + 2, sizeof(*b->first_time));
	b->times = calloc(w->time_count + 1, sizeof(*b->times));
	if (w->is_weighed)
		b->values = calloc(w->time_count + 1, sizeof(*b->values));
	if (!b->first_time || !b->times || (w->is_weighed && !b->values))
		return -ENOMEM;
	for (u32 i = 0; i < w->time_count; i++)
		b->first_time[w->times[i].sample + 2]++;
	for (u32 i = 2; i < samples + 2; i++)
		b->first_time[i] += b->first_time[i - 1];
	for (u32 i = 0; i < w->time_count; i++) {
		u32 to = b->first_time[w->times[i].sample + 1]++;

		b->times[to] = (u64)((s64)w->times[i].time_ns + w->unix_offset_ns);
		if (b->values)
			b->values[to] = (s64)w->times[i].value;
	}
	return 0;
}

/* The labels that frames of the stack hold, up to max_count attributes; how many. */
static u32 build_labels(struct build *b, const struct window_stack *stack, u32 *ret_attributes, u32 max_count)
{
	u32 count = 0;

	for (u32 i = 0; i < stack->user_count; i++) {
		const struct window_frame *frame = window_frame(b->window, stack->words[stack->kernel_count + i]);

		for (u32 k = 0; frame && k < frame->label_count && count < max_count; k++)
			ret_attributes[count++] = profile_add_attribute_string(b->profile, frame->labels[k].key,
									       frame->labels[k].value);
	}
	return count;
}

static bool all_are_1(const s64 *values, u32 count)
{
	while (count && values[count - 1] == 1)
		count--;
	return !count;
}

static void build_sample(struct build *b, u32 index)
{
	const struct window_sample *from = window_sample(b->window, index);
	const struct window_stack *stack = window_stack(b->window, from->stack);
	u32 first = b->first_time[index], count = b->first_time[index + 1] - first;
	u32 attributes[4 + LABELS_MAX], attribute_count = 0;
	u32 before = b->kinds[stack->process] & ((1u << from->kind) - 1);
	struct profile_set *sets = b->sets[stack->process];
	struct profile_sample *to = sets ? profile_add_sample(b->profile, sets + __builtin_popcount(before)) : NULL;

	if (!to)
		return;
	attributes[attribute_count++] = profile_add_attribute_int(b->profile, "thread.id", from->tid);
	attributes[attribute_count++] = profile_add_attribute_string(b->profile, "thread.name", from->comm);
	attributes[attribute_count++] = profile_add_attribute_int(b->profile, "cpu.logical_number", from->cpu);
	if (stack->end != END_COMPLETE)
		attributes[attribute_count++] = b->end_attributes[stack->end];
	attribute_count += build_labels(b, stack, attributes + attribute_count, LABELS_MAX);
	to->stack = b->stacks[from->stack];
	to->attributes = profile_copy_indices(b->profile, attributes, attribute_count);
	to->time_count = count;
	to->times_unix_ns = profile_copy(b->profile, b->times + first, count * sizeof(*b->times));
	if (b->values && !all_are_1(b->values + first, count)) {
		to->value_count = count;
		to->values = profile_copy(b->profile, b->values + first, count * sizeof(*b->values));
	}
}

/* A stack that is not whole says why. */
static void build_end_attributes(struct build *b)
{
	for (u32 end = 0; end < END_COUNT; end++)
		if (b->window->ends[end] && end != END_COMPLETE)
			b->end_attributes[end] =
				profile_add_attribute_string(b->profile, "wick.stack.end", end_names[end]);
}

static void build_want(const struct window *w, struct symbolizer *symbolizer)
{
	for (u32 i = 0; i < w->symbol_count; i++)
		symbolizer_kernel_symbol(symbolizer, w->symbols[i].va, w->symbols[i].bytes, w->symbols[i].name,
					 w->symbols[i].registered);
	for (u32 i = 0; i < w->stack_keys.count; i++) {
		const struct window_stack *stack = window_stack(w, i);

		for (u32 k = 0; k < stack->kernel_count; k++)
			symbolizer_want_kernel(symbolizer, stack->words[k]);
		for (u32 k = 0; k < stack->user_count; k++) {
			u64 frame = stack->words[stack->kernel_count + k];
			struct binary *binary = NULL;

			if (frame >> FRAME_KIND_SHIFT == FRAME_EXE)
				binary = window_binary(w, (u32)(frame >> FRAME_BINARY_SHIFT & FRAME_BINARY_MASK));
			if (binary)
				symbolizer_want(symbolizer, binary, frame & FRAME_EA_MASK);
		}
	}
}

static int build_all(struct build *b)
{
	const struct window *w = b->window;

	b->stacks = calloc(w->stack_keys.count + 1, sizeof(*b->stacks));
	b->kinds = calloc(w->process_count + 1, sizeof(*b->kinds));
	b->sets = calloc(w->process_count + 1, sizeof(*b->sets));
	if (!b->stacks || !b->kinds || !b->sets || build_times(b) < 0)
		return -ENOMEM;
	for (u32 i = 0; i < w->sample_keys.count; i++)
		b->kinds[window_stack(w, window_sample(w, i)->stack)->process] |= 1u << window_sample(w, i)->kind;
	build_end_attributes(b);
	for (u32 i = 0; i < w->stack_keys.count; i++)
		b->stacks[i] = build_stack(b, window_stack(w, i));
	for (u32 i = 0; i < w->process_count; i++)
		b->sets[i] = build_process(b, &w->processes[i], b->kinds[i]);
	for (u32 i = 0; i < w->sample_keys.count; i++)
		build_sample(b, i);
	return profile_err(b->profile);
}

int build_profile(const struct window *window, struct symbolizer *symbolizer, const struct build_options *options,
		  struct profile **ret_profile)
{
	_cleanup_(build_done) struct build b = { .window = window, .options = options, .profile = profile_new() };
	int r;

	if (!b.profile)
		return -ENOMEM;
	build_want(window, symbolizer);
	r = symbolizer_run(symbolizer);
	if (r < 0)
		return r;
	b.locations = locations_new(b.profile, window, symbolizer);
	if (!b.locations)
		return -ENOMEM;
	r = build_all(&b);
	if (r < 0)
		return r;
	*ret_profile = TAKE(b.profile);
	return 0;
}
