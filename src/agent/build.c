// SPDX-License-Identifier: Apache-2.0
#include "agent/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "agent/locations.h"
#include "agent/waker.h"
#include "base/arena.h"
#include "base/interner.h"
#include "kinds/kind.h"
#include "kinds/waits.h"
#include "lang/lang.h"
#include "proc/container_about.h"
#include "proc/environment.h"
#include "profile/profile.h"
#include "symbol/symbolizer.h"
#include "trace/request.h"
#include "trace/thread_label.h"
#include "trace/window.h"

#define STACK_MAX (KERNEL_FRAMES_MAX + WINDOW_FRAMES_MAX + 1)
/* Of a sample: 32 labels, those of requests and of its thread's variables, and our own. */
#define ATTRIBUTES_MAX (42 + REQUEST_LABELS_MAX + THREAD_LABELS_MAX)
#define RESOURCE_ATTRIBUTES_MAX (24 + ENVIRONMENT_NAMES_MAX + CONTAINER_LABELS_MAX)
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
	[END_NO_ROOT] = "[incomplete]",
	[END_GONE] = "[incomplete]",
	[END_RUNTIME] = "[incomplete]",
	[END_NOT_TAKEN] = "[not sampled]",
	[END_SPARED] = "[not sampled]",
};

/* A set in the making. A sample that waited for its process's files is older than the window that it came into. */
struct build_set {
	struct profile_set *set;
	u64 first_ns, end_ns;		/* of the window and of all its samples */
	bool is_weighed;		/* a sample has a value other than 1: then all state theirs */
};

/*
 * What a sample of the profile is known by; samples of the window that differ only in what is not shown, such as
 * addresses of generated code, become one. It is the key of an interner: only the attributes that there are.
 */
struct build_identity {
	u32 set, stack, link;
	u32 attributes[ATTRIBUTES_MAX];
};

struct build {
	const struct window *window;
	const struct build_options *options;
	struct profile *profile;
	struct symbolizer *symbolizer;
	struct locations *locations;
	u32 *stacks;			/* by index in the window: index in the profile */
	u32 *kinds;			/* by process: bit n, it has samples of that slot_of() */
	u32 *first_set;			/* by process: in sets; one for each of its kinds, in their order */
	struct build_set *sets;
	struct arena arena;
	struct interner identities;
	u32 *identity;			/* by sample of the window: its number */
	u32 *first_time;		/* of each identity, in times; one more at the end */
	u32 *longest_us;		/* of each identity: the longest wait at a lock; NULL: there are none */
	u64 *times;			/* grouped by identity */
	s64 *values;			/* of those times; NULL: each is 1 */
};

static void build_done(struct build *b)
{
	locations_free(b->locations);
	interner_done(&b->identities);
	arena_done(&b->arena);
	free(b->stacks);
	free(b->kinds);
	free(b->first_set);
	free(b->sets);
	free(b->identity);
	free(b->first_time);
	free(b->longest_us);
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

/* KEY=value, one after another: an attribute of each; how many. They live as long as the window, and list, of one. */
static u32 build_description(const struct window_process *process, struct keyvalue *attributes, u32 max,
			     struct any *list)
{
	u32 count = 0;

	for (u32 at = 0; at < process->description_bytes && count < max;) {
		const char *entry = process->description + at, *equals = strchr(entry, '=');

		at += (u32)strlen(entry) + 1;
		if (*entry == '.')
			continue;	/* for ourselves */
		attributes[count] = string_attribute("", equals + 1);
		attributes[count].key = (struct str){ entry, (u32)(equals - entry) };
		if (str_is(attributes[count].key, "container.image.tags")) {
			*list = attributes[count].value;
			attributes[count].value = (struct any){ .kind = ANY_ARRAY, .count = 1, .array = list };
		}
		count++;
	}
	return count;
}

/* The set that a sample belongs to: of its kind, and of CPU time one for each clock, since a set has one period. */
static u32 slot_of(const struct window_sample *sample)
{
	return sample->clock ? KIND_MAX + sample->clock - 1 : sample->kind;
}
_Static_assert(KIND_MAX + WINDOW_CLOCKS_MAX <= 32, "a bit for each");

/* What lies between two samples, by the kind's number. */
static s64 period_of(const struct build_options *options, u32 kind)
{
	for (u32 i = 0; i < options->kinds.count; i++)
		if (options->kinds.at[i].number == kind && options->kinds.at[i].events_per_sample)
			return (s64)options->kinds.at[i].events_per_sample;
	return 1000000000 / options->frequency_hz;
}

static void build_sets(struct build *b, struct profile_scope *scope, u32 kinds, struct build_set *sets)
{
	for (u32 slot = 0; slot < KIND_MAX + b->window->clock_count; slot++) {
		struct profile_set *set = kinds >> slot & 1 ? profile_add_set(b->profile, scope) : NULL;
		u32 kind = slot < KIND_MAX ? slot : KIND_CPU;

		if (!set)
			continue;
		profile_set_describe(b->profile, set, kind_choices_find(&b->options->kinds, kind),
				     slot < KIND_MAX ? period_of(b->options, kind) :
						       1000000000 / b->window->clocks_hz[slot - KIND_MAX]);
		set->time_unix_ns = (u64)((s64)sets[scope->set_count - 1].first_ns + b->window->unix_offset_ns);
		set->duration_ns = sets[scope->set_count - 1].end_ns - sets[scope->set_count - 1].first_ns;
	}
	for (u32 i = 0; i < scope->set_count && !profile_err(b->profile); i++)
		sets[i].set = &scope->sets[i];
}

/* One resource and scope for each process, what the OpenTelemetry profiler does, with a set for each kind of sample. */
static void build_process(struct build *b, const struct window_process *process, u32 kinds, struct build_set *sets)
{
	struct keyvalue attributes[RESOURCE_ATTRIBUTES_MAX];
	const struct host_identity *host = &b->options->host;
	struct profile_resource *resource;
	struct profile_scope *scope;
	struct any list;
	u32 count = 0;

	attributes[count++] = (struct keyvalue){ STR("process.pid"), { .kind = ANY_INT, .integer = process->pid } };
	attributes[count++] = string_attribute("process.executable.name",
					       process->exe_path[0] ? base_name(process->exe_path) : process->comm);
	if (process->exe_path[0])
		attributes[count++] = string_attribute("process.executable.path", process->exe_path);
	if (process->command_line[0])
		attributes[count++] = string_attribute("process.command_line", process->command_line);
	if (host->name[0])
		attributes[count++] = string_attribute("host.name", host->name);
	if (host->id[0])
		attributes[count++] = string_attribute("host.id", host->id);
	if (is_self(b->options, (pid_t)process->pid))
		attributes[count++] = (struct keyvalue){ STR("wick.self"), { .kind = ANY_BOOL, .boolean = true } };
	count += build_description(process, attributes + count, RESOURCE_ATTRIBUTES_MAX - count, &list);
	resource = profile_add_resource(b->profile, attributes, count);
	if (!resource)
		return;
	resource->schema_url = profile_copy_str(b->profile, SCHEMA_URL, strlen(SCHEMA_URL));
	scope = profile_add_scope(b->profile, resource);
	if (!scope)
		return;
	scope->name = profile_copy_str(b->profile, "wick", 4);
	scope->version = profile_copy_str(b->profile, WICK_VERSION, strlen(WICK_VERSION));
	build_sets(b, scope, kinds, sets);
}

/* The locations of a stack, leaf first, with some of its kernel frames; how many. */
static u32 build_locations(struct build *b, const struct window_stack *stack, u32 kernel_first, u32 kernel_end,
			   bool has_user, u32 locations[STACK_MAX])
{
	u32 count = 0;

	for (u32 i = kernel_first; i < kernel_end; i++)
		locations[count++] = locations_kernel(b->locations, stack->words[i]);
	for (u32 i = 0; has_user && i < stack->user_count; i++) {
		u64 word = stack->words[stack->kernel_count + i];
		const struct window_frame *named = window_frame(b->window, word);

		if (!named || named->line_count)
			locations[count++] = locations_user(b->locations, word);
	}
	if (has_user && end_marks[stack->end] && !b->options->without_marks)
		locations[count++] = locations_mark(b->locations, end_marks[stack->end]);
	return count;
}

static u32 build_stack(struct build *b, const struct window_stack *stack)
{
	u32 locations[STACK_MAX];

	return profile_add_stack(b->profile, locations,
				 build_locations(b, stack, 0, stack->kernel_count, true, locations));
}

/*
 * On top of the stack that waited, the one that ended it, upside down: from where it woke to its first function. So
 * waits at one place are told apart by who ended them first, then by how it came to that.
 */
static u32 build_joined(struct build *b, const struct window_stack *stack, const struct waker *waker)
{
	u32 locations[2 * STACK_MAX + 1], count = 0;
	char mark[64];

	if (waker->stack)
		count = build_locations(b, waker->stack, waker->kernel_first, waker->kernel_end, !waker->is_interrupt,
					locations);
	for (u32 i = 0; i < count / 2; i++) {
		u32 other = locations[count - 1 - i];

		locations[count - 1 - i] = locations[i];
		locations[i] = other;
	}
	snprintf(mark, sizeof(mark), "[woken by %s]", waker->is_interrupt ? "an interrupt" : waker->name);
	locations[count++] = locations_mark(b->locations, mark);
	count += build_locations(b, stack, 0, stack->kernel_count, true, locations + count);
	return profile_add_stack(b->profile, locations, count);
}

static bool has_key(const struct profile *profile, const u32 *attributes, u32 count, u32 attribute)
{
	while (count && profile->attributes.at[attributes[count - 1]].key != profile->attributes.at[attribute].key)
		count--;
	return count;
}

/* Adds the labels that frames of the stack hold to attributes, the innermost of a key; how many there are then. */
static u32 build_labels(struct build *b, const struct window_stack *stack, u32 *attributes, u32 count, u32 max_count)
{
	for (u32 i = 0; i < stack->user_count; i++) {
		const struct window_frame *frame = window_frame(b->window, stack->words[stack->kernel_count + i]);

		for (u32 k = 0; frame && k < frame->label_count && count < max_count; k++) {
			const struct window_label *label = &frame->labels[k];
			u32 added = profile_add_attribute_string(b->profile, label->key, label->value);

			if (!has_key(b->profile, attributes, count, added))
				attributes[count++] = added;
		}
	}
	return count;
}

/* Ids in labels of frames: those of a goroutine. */
static void find_ids(const struct build *b, const struct window_stack *stack, struct request *request)
{
	size_t prefix = strlen(LANG_LABEL_PREFIX);

	for (u32 i = 0; i < stack->user_count; i++) {
		const struct window_frame *frame = window_frame(b->window, stack->words[stack->kernel_count + i]);

		for (u32 k = 0; frame && k < frame->label_count; k++)
			if (!strncmp(frame->labels[k].key, LANG_LABEL_PREFIX, prefix))
				(void)request_take_label(request, frame->labels[k].key + prefix,
							 frame->labels[k].value);
	}
}

static bool request_is_known(const struct request *request)
{
	return request->has_trace && request->has_span;
}

/* The request that a sample was for: as its thread said, by labels, or else by OBI. How many attributes then are. */
static u32 build_request(struct build *b, const struct window_sample *sample, const struct window_stack *stack,
			 struct build_identity *id, u32 count)
{
	const struct window_process *process = &b->window->processes[stack->process];
	const struct interner_entry *record = window_request(b->window, sample);
	struct request request = { 0 };
	struct profile_link link;

	if (!record || request_is_from_obi(record->at))
		find_ids(b, stack, &request);
	if (record && !request_is_known(&request))
		request_decode(record->at, record->len, process->request_keys, process->request_keys_bytes, &request);
	if (!request_is_known(&request))
		return count;
	memcpy(link.trace_id, request.trace_id, sizeof(link.trace_id));
	memcpy(link.span_id, request.span_id, sizeof(link.span_id));
	id->link = profile_add_link(b->profile, &link);
	for (u32 i = 0; i < request.label_count; i++)
		id->attributes[count++] = profile_add_attribute(b->profile, &(struct profile_attribute){
			.key = profile_add_string(b->profile, request.labels[i].key.at, request.labels[i].key.len),
			.value = { .kind = ANY_STRING, .string = request.labels[i].value } });
	return count;
}

/* What variables of its thread say; of two labels of one name the first that there is. How many there are then. */
static u32 build_thread_labels(struct build *b, const struct window_sample *sample, u32 *attributes, u32 count)
{
	const struct interner_entry *packed = window_thread_labels(b->window, sample);
	struct thread_label_value values[THREAD_LABELS_MAX];
	u32 value_count = packed ? thread_labels_unpack(packed->at, packed->len, values) : 0;

	for (u32 i = 0; i < value_count; i++) {
		const char *name = b->options->labels[values[i].number];
		u32 added = profile_add_attribute_string(b->profile, name, values[i].text);

		if (*name && !has_key(b->profile, attributes, count, added))
			attributes[count++] = added;
	}
	return count;
}

/* The number of a process's set of that slot. */
static u32 set_of(const struct build *b, u32 process, u32 slot)
{
	return b->first_set[process] + (u32)__builtin_popcount(b->kinds[process] & ((1u << slot) - 1));
}

/* Which sets there are, what time they are of, and whether their samples have values. */
static int plan_sets(struct build *b)
{
	const struct window *w = b->window;
	u32 count = 0;

	/* Not of all samples: some may have moved on to the next window (trace/pairs.h). */
	for (u32 i = 0; i < w->time_count; i++) {
		const struct window_sample *sample = window_sample(w, w->times[i].sample);

		b->kinds[window_stack(w, sample->stack)->process] |= 1u << slot_of(sample);
	}
	for (u32 i = 0; i < w->process_count; i++) {
		b->first_set[i] = count;
		count += (u32)__builtin_popcount(b->kinds[i]);
	}
	b->sets = calloc(count + 1, sizeof(*b->sets));
	if (!b->sets)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++)
		b->sets[i] = (struct build_set){ .first_ns = w->start_ns, .end_ns = w->end_ns };
	for (u32 i = 0; i < w->time_count; i++) {
		const struct window_sample *sample = window_sample(w, w->times[i].sample);
		struct build_set *set = &b->sets[set_of(b, window_stack(w, sample->stack)->process, slot_of(sample))];

		if (w->times[i].time_ns < set->first_ns)
			set->first_ns = w->times[i].time_ns;
		if (w->times[i].time_ns >= set->end_ns)
			set->end_ns = w->times[i].time_ns + 1;
		set->is_weighed |= w->times[i].value != 1;
	}
	return 0;
}

/* Why the thread waited; where the system call does not tell, the kernel's functions do. */
static enum wait_reason build_reason(const struct build *b, const struct window_sample *sample,
				     const struct window_stack *stack)
{
	enum wait_reason reason = sample->reason;

	for (u32 i = 0; i < stack->kernel_count && reason == sample->reason; i++) {
		const struct symbol_name *name = symbolizer_find_kernel(b->symbolizer, stack->words[i]);

		if (name && name->line_count)
			reason = wait_reason_by(reason, name->lines[name->line_count - 1].function);
	}
	return reason;
}

/* Who lets another go on in futex() of the same process had the lock, if it is one. */
static u32 holder_of(const struct build *b, const struct window_sample *from)
{
	const struct window_waker *by = window_waker(b->window, from);

	if (from->holder || !by || by->stack == INTERNER_NONE || by->syscall != SYS_futex)
		return from->holder;
	if (window_stack(b->window, by->stack)->process != window_stack(b->window, from->stack)->process)
		return 0;
	return by->tid;
}

/* What it waits at, and who has it, or had until then. */
static u32 build_lock(struct build *b, const struct window_sample *from, struct build_identity *id, u32 count)
{
	u32 holder = holder_of(b, from);
	char address[32];

	if (!from->lock_va)
		return count;
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)from->lock_va);
	id->attributes[count++] = profile_add_attribute_string(b->profile, "lock.address", address);
	if (holder)
		id->attributes[count++] = profile_add_attribute_int(b->profile, "lock.holder.thread.id", holder);
	return count;
}

/* Who ended its wait: attributes, and in samples of that kind its stack, too. How many there are then. */
static u32 build_waker(struct build *b, const struct window_sample *from, struct build_identity *id, u32 count)
{
	const struct window_waker *by = window_waker(b->window, from);
	struct waker waker;

	if (!by)
		return count;
	waker_read(b->window, b->symbolizer, by, &waker);
	id->attributes[count++] = profile_add_attribute_string(b->profile, "waker.thread.name", waker.name);
	if (!waker.is_interrupt) {
		id->attributes[count++] = profile_add_attribute_int(b->profile, "waker.thread.id", by->tid);
		id->attributes[count++] = profile_add_attribute_int(b->profile, "waker.process.pid",
								    b->window->processes[waker.stack->process].pid);
	}
	if (from->kind == KIND_WAKEUP)
		id->stack = build_joined(b, window_stack(b->window, from->stack), &waker);
	return count;
}

/* A stack that is not whole says why. */
static int build_identity(struct build *b, u32 index)
{
	const struct window_sample *from = window_sample(b->window, index);
	const struct window_stack *stack = window_stack(b->window, from->stack);
	struct build_identity id = { .set = set_of(b, stack->process, slot_of(from)) };
	u32 count = 0;

	if (!b->stacks[from->stack])
		b->stacks[from->stack] = build_stack(b, stack);
	id.stack = b->stacks[from->stack];
	id.attributes[count++] = profile_add_attribute_int(b->profile, "thread.id", from->tid);
	id.attributes[count++] = profile_add_attribute_string(b->profile, "thread.name", from->comm);
	id.attributes[count++] = profile_add_attribute_int(b->profile, "cpu.logical_number", from->cpu);
	if (stack->end != END_COMPLETE)
		id.attributes[count++] = profile_add_attribute_string(b->profile, "wick.stack.end",
								      end_names[stack->end]);
	if (from->reason)
		id.attributes[count++] = profile_add_attribute_string(b->profile, "wait.reason",
								      wait_reason_text(build_reason(b, from, stack)));
	count = build_lock(b, from, &id, count);
	count = build_waker(b, from, &id, count);
	count = build_request(b, from, stack, &id, count);
	count = build_thread_labels(b, from, id.attributes, count);
	count = build_labels(b, stack, id.attributes, count, ATTRIBUTES_MAX);
	b->identity[index] = interner_add(&b->identities, &id,
					  offsetof(struct build_identity, attributes) + count * sizeof(u32), NULL);
	return b->identity[index] == INTERNER_NONE ? -ENOMEM : 0;
}

static int build_identities(struct build *b)
{
	u32 count = b->window->sample_keys.count;
	int r = 0;

	b->stacks = calloc(b->window->stack_keys.count + 1, sizeof(*b->stacks));
	b->identity = calloc(count + 1, sizeof(*b->identity));
	if (!b->stacks || !b->identity)
		return -ENOMEM;
	for (u32 i = 0; i < count && r == 0; i++)
		r = build_identity(b, i);
	return r;
}

/* Counts, then places: the times of each identity end up side by side, in order. */
static int build_times(struct build *b)
{
	const struct window *w = b->window;
	u32 identities = b->identities.count;

	b->first_time = calloc(identities + 2, sizeof(*b->first_time));
	b->times = calloc(w->time_count + 1, sizeof(*b->times));
	if (w->is_weighed)
		b->values = calloc(w->time_count + 1, sizeof(*b->values));
	if (!b->first_time || !b->times || (w->is_weighed && !b->values))
		return -ENOMEM;
	for (u32 i = 0; i < w->time_count; i++)
		b->first_time[b->identity[w->times[i].sample] + 2]++;
	for (u32 i = 2; i < identities + 2; i++)
		b->first_time[i] += b->first_time[i - 1];
	for (u32 i = 0; i < w->time_count; i++) {
		u32 to = b->first_time[b->identity[w->times[i].sample] + 1]++;

		b->times[to] = (u64)((s64)w->times[i].time_ns + w->unix_offset_ns);
		if (b->values)
			b->values[to] = (s64)w->times[i].value;
	}
	return 0;
}

static int build_longest(struct build *b)
{
	const struct window *w = b->window;

	if (!w->wake_count)
		return 0;
	b->longest_us = calloc(b->identities.count + 1, sizeof(*b->longest_us));
	for (u32 i = 0; b->longest_us && i < w->wake_count; i++) {
		u32 *longest = &b->longest_us[b->identity[w->times[w->wakes[i].time].sample]];

		*longest = w->wakes[i].wait_us > *longest ? w->wakes[i].wait_us : *longest;
	}
	return b->longest_us ? 0 : -ENOMEM;
}

/* Those that make it what it is, and what is only said of it. */
static struct indices build_attributes(struct build *b, u32 number)
{
	const struct interner_entry *entry = interner_get(&b->identities, number);
	const struct build_identity *id = entry->at;
	u32 count = (u32)((entry->len - offsetof(struct build_identity, attributes)) / sizeof(u32));
	u32 all[ATTRIBUTES_MAX + 1];

	memcpy(all, id->attributes, count * sizeof(*all));
	if (b->longest_us && b->longest_us[number])
		all[count++] = profile_add_attribute_int(b->profile, "lock.longest_wait_us", b->longest_us[number]);
	return profile_copy_indices(b->profile, all, count);
}

static void build_sample(struct build *b, u32 number)
{
	const struct build_identity *id = interner_get(&b->identities, number)->at;
	const struct build_set *set = &b->sets[id->set];
	u32 first = b->first_time[number], count = b->first_time[number + 1] - first;
	struct profile_sample *to = set->set && count ? profile_add_sample(b->profile, set->set) : NULL;

	if (!to)
		return;
	to->stack = id->stack;
	to->link = id->link;
	to->attributes = build_attributes(b, number);
	to->time_count = count;
	to->times_unix_ns = profile_copy(b->profile, b->times + first, count * sizeof(*b->times));
	if (set->is_weighed) {
		to->value_count = count;
		to->values = profile_copy(b->profile, b->values + first, count * sizeof(*b->values));
	}
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
	int r;

	b->kinds = calloc(w->process_count + 1, sizeof(*b->kinds));
	b->first_set = calloc(w->process_count + 1, sizeof(*b->first_set));
	r = b->kinds && b->first_set ? plan_sets(b) : -ENOMEM;
	for (u32 i = 0; i < w->process_count && r == 0; i++)
		if (b->kinds[i])
			build_process(b, &w->processes[i], b->kinds[i], &b->sets[b->first_set[i]]);
	if (r == 0)
		r = build_identities(b);
	if (r == 0)
		r = build_times(b);
	if (r == 0)
		r = build_longest(b);
	for (u32 i = 0; i < b->identities.count && r == 0; i++)
		build_sample(b, i);
	return r < 0 ? r : profile_err(b->profile);
}

int build_profile(const struct window *window, struct symbolizer *symbolizer, const struct build_options *options,
		  struct profile **ret_profile)
{
	_cleanup_(build_done) struct build b = { .window = window, .options = options, .profile = profile_new(),
						   .symbolizer = symbolizer };
	int r;

	if (!b.profile)
		return -ENOMEM;
	arena_init(&b.arena, SIZE_MAX / 2);
	interner_init(&b.identities, &b.arena, WINDOW_SAMPLES_MAX);
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
