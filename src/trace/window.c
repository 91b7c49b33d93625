// SPDX-License-Identifier: Apache-2.0
#include "trace/window.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kinds/list.h"
#include "kinds/waits.h"
#include "proc/binary.h"
#include "trace/thread_label.h"

_Static_assert(sizeof(struct window_stack) % 8 == 0, "words follow it without a gap");

static _Atomic u64 last_serial;

struct window *window_new(u64 start_ns)
{
	struct window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	arena_init(&w->arena, WINDOW_BYTES_MAX);
	interner_init(&w->process_keys, &w->arena, WINDOW_SAMPLES_MAX);
	interner_init(&w->stack_keys, &w->arena, WINDOW_SAMPLES_MAX);
	interner_init(&w->sample_keys, &w->arena, WINDOW_SAMPLES_MAX);
	interner_init(&w->texts, &w->arena, WINDOW_SAMPLES_MAX);
	interner_init(&w->request_keys, &w->arena, WINDOW_SAMPLES_MAX);
	interner_init(&w->label_keys, &w->arena, WINDOW_LABELS_MAX);
	interner_init(&w->waker_keys, &w->arena, WINDOW_SAMPLES_MAX);
	interner_init(&w->wake_keys, &w->arena, WINDOW_SAMPLES_MAX);
	w->serial = atomic_fetch_add(&last_serial, 1) + 1;
	w->start_ns = start_ns;
	return w;
}

void window_free(struct window *w)
{
	if (!w)
		return;
	for (u32 i = 0; i < w->binary_cap; i++)
		binary_unref(w->binaries[i]);
	interner_done(&w->process_keys);
	interner_done(&w->stack_keys);
	interner_done(&w->sample_keys);
	interner_done(&w->texts);
	interner_done(&w->request_keys);
	interner_done(&w->label_keys);
	interner_done(&w->waker_keys);
	interner_done(&w->wake_keys);
	arena_done(&w->arena);
	free(w->processes);
	free(w->frames);
	free(w->times);
	free(w->symbols);
	free(w->binaries);
	free(w->wakers);
	free(w->wakes);
	free(w);
}

/* It may be known better by now than when the window's first sample of it was taken. */
static void window_describe(struct window *w, struct window_process *to, const struct window_process *from)
{
	const char *copy = from->description_bytes ?
			   arena_copy(&w->arena, from->description, from->description_bytes) : NULL;

	to->description_number = from->description_number;
	if (from->description_bytes && !copy)
		return;
	to->description = copy;
	to->description_bytes = from->description_bytes;
}

static void window_describe_requests(struct window *w, struct window_process *to, const struct window_process *from)
{
	const char *copy = from->request_keys_bytes ?
			   arena_copy(&w->arena, from->request_keys, from->request_keys_bytes) : NULL;

	to->request_keys_number = from->request_keys_number;
	to->request_keys = copy;
	to->request_keys_bytes = copy ? from->request_keys_bytes : 0;
}

u32 window_process(struct window *w, u64 serial, const struct window_process *process)
{
	bool is_new;
	u32 index = interner_add(&w->process_keys, &serial, sizeof(serial), &is_new);

	if (index == INTERNER_NONE)
		return index;
	if (!is_new) {
		struct window_process *known = index < w->process_count ? &w->processes[index] : NULL;

		if (known && known->description_number != process->description_number)
			window_describe(w, known, process);
		if (known && known->request_keys_number != process->request_keys_number)
			window_describe_requests(w, known, process);
		return index;
	}
	if (array_reserve(&w->processes, &w->process_cap, index + 1, sizeof(*w->processes)) < 0)
		return INTERNER_NONE;
	w->processes[index] = (struct window_process){
		.pid = process->pid,
		.comm = arena_strndup(&w->arena, process->comm, strlen(process->comm)),
		.exe_path = arena_strndup(&w->arena, process->exe_path, strlen(process->exe_path)),
		.command_line = arena_strndup(&w->arena, process->command_line, strlen(process->command_line)),
	};
	window_describe(w, &w->processes[index], process);
	window_describe_requests(w, &w->processes[index], process);
	w->process_count = index + 1;
	return arena_err(&w->arena) ? INTERNER_NONE : index;
}

/* A text, kept once; "" if the window is full. */
static const char *window_text(struct window *w, const char *text)
{
	u32 index = interner_add(&w->texts, text, strlen(text) + 1, NULL);

	return index == INTERNER_NONE ? "" : interner_get(&w->texts, index)->at;
}

static const struct window_line *window_lines(struct window *w, const struct window_frame *frame)
{
	struct window_line *lines = arena_copy(&w->arena, frame->lines, frame->line_count * sizeof(*lines));

	for (u32 i = 0; lines && i < frame->line_count; i++) {
		lines[i].function = window_text(w, lines[i].function);
		lines[i].file = window_text(w, lines[i].file);
	}
	return lines;
}

static const struct window_label *window_labels(struct window *w, const struct window_frame *frame)
{
	struct window_label *labels = arena_copy(&w->arena, frame->labels, frame->label_count * sizeof(*labels));

	for (u32 i = 0; labels && i < frame->label_count; i++) {
		labels[i].key = window_text(w, labels[i].key);
		labels[i].value = window_text(w, labels[i].value);
	}
	return labels;
}

static bool window_copy_frame(struct window *w, struct window_frame *frame)
{
	struct window_frame *copy;

	if (w->frame_count >= WINDOW_SAMPLES_MAX ||
	    array_reserve(&w->frames, &w->frame_cap, w->frame_count + 1, sizeof(*w->frames)) < 0)
		return false;
	copy = &w->frames[w->frame_count];
	*copy = *frame;
	copy->lines = frame->line_count ? window_lines(w, frame) : NULL;
	copy->labels = frame->label_count ? window_labels(w, frame) : NULL;
	copy->line_count = copy->lines ? frame->line_count : 0;
	copy->label_count = copy->labels ? frame->label_count : 0;
	frame->window = w->serial;
	frame->number = w->frame_count++;
	return true;
}

u64 window_name_frame(struct window *w, struct window_frame *frame)
{
	if (frame->window != w->serial && !window_copy_frame(w, frame))
		return 0;
	return (u64)FRAME_NAMED << FRAME_KIND_SHIFT | frame->number;
}

const struct window_frame *window_frame(const struct window *w, u64 word)
{
	u64 index = word & FRAME_LOW_MASK;

	return word >> FRAME_KIND_SHIFT == FRAME_NAMED && index < w->frame_count ? &w->frames[index] : NULL;
}

/* Binaries sit in an open-addressed table by id. */
static struct binary **window_binary_slot(struct binary **table, u32 cap, u32 id)
{
	u32 i = id & (cap - 1);

	while (table[i] && table[i]->id != id)
		i = (i + 1) & (cap - 1);
	return &table[i];
}

struct binary *window_binary(const struct window *w, u32 id)
{
	return w->binary_cap ? *window_binary_slot(w->binaries, w->binary_cap, id) : NULL;
}

static bool window_reserve_binary(struct window *w)
{
	u32 cap = w->binary_cap ? w->binary_cap * 2 : 64;
	struct binary **table;

	if (w->binary_count * 2 < w->binary_cap)
		return true;
	table = calloc(cap, sizeof(*table));
	if (!table)
		return false;
	for (u32 i = 0; i < w->binary_cap; i++)
		if (w->binaries[i])
			*window_binary_slot(table, cap, w->binaries[i]->id) = w->binaries[i];
	free(w->binaries);
	w->binaries = table;
	w->binary_cap = cap;
	return true;
}

static void window_take_binaries(struct window *w, const u64 *frames, u32 count,
				 struct binary *(*binary)(void *arg, u32 id), void *arg)
{
	for (u32 i = 0; i < count; i++) {
		u32 id = (u32)(frames[i] >> FRAME_BINARY_SHIFT & FRAME_BINARY_MASK);
		struct binary *b;

		if (frames[i] >> FRAME_KIND_SHIFT != FRAME_EXE || window_binary(w, id))
			continue;
		b = binary(arg, id);
		if (!b || !window_reserve_binary(w))
			continue;
		*window_binary_slot(w->binaries, w->binary_cap, id) = binary_ref(b);
		w->binary_count++;
	}
}

static u32 window_add_stack(struct window *w, u32 process, const struct trace_record *trace, const u64 *kernel,
			    const u64 *user, u32 user_count, u8 end, bool *ret_new)
{
	u64 key[sizeof(struct window_stack) / 8 + KERNEL_FRAMES_MAX + WINDOW_FRAMES_MAX];
	struct window_stack *head = (void *)key;
	size_t kernel_count = (size_t)trace->kernel_count - trace->request_words - trace->label_words;

	*head = (struct window_stack){
		.process = process,
		.kernel_count = (u16)kernel_count,
		.user_count = (u16)user_count,
		.end = end,
	};
	if (kernel_count)
		memcpy(head->words, kernel, kernel_count * sizeof(*kernel));
	if (user_count)
		memcpy(head->words + kernel_count, user, user_count * sizeof(*user));
	return interner_add(&w->stack_keys, key, sizeof(*head) + (kernel_count + user_count) * sizeof(u64), ret_new);
}

static bool window_add_time(struct window *w, u32 sample, const struct trace_record *trace)
{
	if (w->time_count >= WINDOW_SAMPLES_MAX ||
	    array_reserve(&w->times, &w->time_cap, w->time_count + 1, sizeof(*w->times)) < 0)
		return false;
	w->times[w->time_count++] = (struct window_time){
		.sample = sample,
		.value = trace->value < WINDOW_VALUE_MAX ? trace->value : WINDOW_VALUE_MAX,
		.time_ns = trace->time_ns,
	};
	return true;
}

/* The number of what its thread has said of its request, + 1; 0 if it has not, or there is no room. */
static u32 window_add_request(struct window *w, const struct trace_record *trace, const u64 *kernel)
{
	size_t room = trace->request_words * sizeof(u64);
	struct request_record head;
	const void *at;

	if (!kernel || room < sizeof(head))
		return 0;
	at = kernel + trace->kernel_count - trace->label_words - trace->request_words;
	memcpy(&head, at, sizeof(head));
	if (sizeof(head) + head.attribute_bytes > room)
		return 0;
	/* INTERNER_NONE + 1 is 0. */
	return interner_add(&w->request_keys, at, sizeof(head) + head.attribute_bytes, NULL) + 1;
}

/*
 * The number of what its thread's variables say, + 1; 0 if that is nothing. A program may change them with each sample:
 * past its limit they are one set, that says so.
 */
static u16 window_add_labels(struct window *w, u32 process, const struct trace_record *trace, const u64 *kernel)
{
	u8 packed[THREAD_LABELS_PACKED_MAX];
	u32 *mine, number;
	size_t bytes;

	if (!kernel || !trace->label_words || process >= w->process_count)
		return 0;
	mine = &w->processes[process].label_count;
	bytes = thread_labels_pack(kernel + trace->kernel_count - trace->label_words, trace->label_words, packed);
	if (!bytes)
		return 0;
	number = interner_find(&w->label_keys, packed, bytes);
	if (number == INTERNER_NONE && *mine < WINDOW_PROCESS_LABELS_MAX) {
		number = interner_add(&w->label_keys, packed, bytes, NULL);
		*mine += number != INTERNER_NONE;
	}
	if (number == INTERNER_NONE) {
		w->labels_lost++;
		bytes = thread_labels_blur(packed, bytes);
		number = interner_add(&w->label_keys, packed, bytes, NULL);
	}
	return (u16)(number + 1);	/* INTERNER_NONE + 1 is 0 */
}

/* Of the time that was added last. */
static void window_add_wake(struct window *w, const struct trace_record *trace)
{
	if (array_reserve(&w->wakes, &w->wake_cap, w->wake_count + 1, sizeof(*w->wakes)) < 0) {
		w->wakers_unknown += trace->wake != 0;
		return;
	}
	w->wakes[w->wake_count++] = (struct window_wake){ trace->wake, w->time_count - 1, trace->wait_us };
}

/* The number of the clock that a sample was taken by; false if there are too many of them. */
static bool window_clock(struct window *w, const struct trace_record *trace, u16 *ret_clock)
{
	u32 clock = 0;

	if (trace->kind != KIND_CPU || !trace->clock_hz) {
		*ret_clock = 0;
		return true;
	}
	while (clock < w->clock_count && w->clocks_hz[clock] != trace->clock_hz)
		clock++;
	if (clock == WINDOW_CLOCKS_MAX)
		return false;
	w->clocks_hz[clock] = trace->clock_hz;
	w->clock_count += clock == w->clock_count;
	*ret_clock = (u16)(clock + 1);
	return true;
}

u64 window_period_ns(const struct window *w, const struct window_sample *sample, u64 usual_ns)
{
	return sample->clock ? 1000000000ull / w->clocks_hz[sample->clock - 1] : usual_ns;
}

void window_add(struct window *w, u32 process, const struct trace_record *trace, const u64 *kernel, const u64 *user,
		u32 user_count, u8 end, struct binary *(*binary)(void *arg, u32 id), void *arg)
{
	struct window_sample sample = { .tid = trace->tid, .cpu = trace->cpu, .kind = trace->kind,
					.lock_va = trace->lock_va, .holder = trace->holder,
					.reason = (u16)wait_reason(trace->flags >> TRACE_WAIT_SHIFT,
								   trace->syscall) };
	bool is_new = false;
	u32 index = INTERNER_NONE;

	sample.stack = INTERNER_NONE;
	if (process != INTERNER_NONE && window_clock(w, trace, &sample.clock))
		sample.stack = window_add_stack(w, process, trace, kernel, user, user_count, end, &is_new);
	if (sample.stack != INTERNER_NONE) {
		memcpy(sample.comm, trace->comm, sizeof(sample.comm));
		sample.request = window_add_request(w, trace, kernel);
		sample.labels = window_add_labels(w, process, trace, kernel);
		index = interner_add(&w->sample_keys, &sample, sizeof(sample), NULL);
	}
	if (is_new)
		window_take_binaries(w, user, user_count, binary, arg);
	if (index == INTERNER_NONE || !window_add_time(w, index, trace)) {
		w->lost++;
		return;
	}
	w->ends[end]++;
	w->is_weighed |= trace->value != 1;
	if (trace->wake || trace->wait_us)
		window_add_wake(w, trace);
}

/* A wake becomes known. Past the limits it stays unknown. */
static void window_know_wake(struct window *w, u64 wake, const struct window_waker *waker)
{
	u32 number = interner_add(&w->waker_keys, waker, sizeof(*waker), NULL), index = INTERNER_NONE;

	if (number != INTERNER_NONE)
		index = interner_add(&w->wake_keys, &wake, sizeof(wake), NULL);
	if (index != INTERNER_NONE && array_reserve(&w->wakers, &w->waker_cap, index + 1, sizeof(*w->wakers)) == 0)
		w->wakers[index] = number;
}

void window_add_waker(struct window *w, u32 process, const struct trace_record *trace, const u64 *kernel,
		      const u64 *user, u32 user_count, u8 end, struct binary *(*binary)(void *arg, u32 id), void *arg)
{
	struct window_waker waker = { .stack = INTERNER_NONE, .tid = trace->tid,
				      .syscall = trace->flags & TRACE_SYSCALL ? trace->syscall : -1 };
	bool is_new = false;

	memcpy(waker.comm, trace->comm, sizeof(waker.comm));
	if (process != INTERNER_NONE)
		waker.stack = window_add_stack(w, process, trace, kernel, user, user_count, end, &is_new);
	if (is_new)
		window_take_binaries(w, user, user_count, binary, arg);
	if (waker.stack != INTERNER_NONE)
		window_know_wake(w, trace->wake, &waker);
}

static void window_join_waker(struct window *w, const struct window_wake *wake)
{
	struct window_sample sample = *window_sample(w, (u32)w->times[wake->time].sample);
	u32 known = interner_find(&w->wake_keys, &wake->wake, sizeof(wake->wake)), index = INTERNER_NONE;

	if (known < w->waker_cap) {
		sample.waker = w->wakers[known] + 1;
		index = interner_add(&w->sample_keys, &sample, sizeof(sample), NULL);
	}
	if (index == INTERNER_NONE)
		w->wakers_unknown++;
	else
		w->times[wake->time].sample = index;
}

void window_join_wakers(struct window *w)
{
	struct window_waker interrupt = { .stack = INTERNER_NONE, .syscall = -1, .comm = "[interrupt]" };

	if (w->wake_count)
		window_know_wake(w, WAKE_INTERRUPT, &interrupt);
	for (u32 i = 0; i < w->wake_count; i++)
		if (w->wakes[i].wake)
			window_join_waker(w, &w->wakes[i]);
}

static struct binary *binary_of(void *arg, u32 id)
{
	return window_binary(arg, id);
}

/* The frames of a stack as another window has them: those that were named have numbers of their own there. */
static void move_frames(const struct window *from, const struct window_stack *stack, struct window *to, u64 *ret_user)
{
	for (u32 i = 0; i < stack->user_count; i++) {
		const struct window_frame *named;

		ret_user[i] = stack->words[stack->kernel_count + i];
		named = window_frame(from, ret_user[i]);
		if (named)
			ret_user[i] = window_name_frame(to, &(struct window_frame){
				.type = named->type, .line_count = named->line_count, .label_count = named->label_count,
				.lines = named->lines, .labels = named->labels });
	}
}

bool window_move(struct window *from, u32 time, struct window *to)
{
	const struct window_sample *sample = window_sample(from, from->times[time].sample);
	const struct window_stack *stack = window_stack(from, sample->stack);
	const struct interner_entry *request = window_request(from, sample);
	const struct interner_entry *labels = window_thread_labels(from, sample);
	u64 user[WINDOW_FRAMES_MAX], leading[LEADING_WORDS_MAX] = { 0 }, serial;
	struct trace_record trace = { .time_ns = from->times[time].time_ns, .tid = sample->tid, .syscall = -1,
				      .cpu = (u16)sample->cpu, .kind = (u8)sample->kind,
				      .kernel_count = stack->kernel_count };
	u32 count = to->time_count;

	memcpy(trace.comm, sample->comm, sizeof(trace.comm));
	memcpy(&serial, interner_get(&from->process_keys, stack->process)->at, sizeof(serial));
	memcpy(leading, stack->words, stack->kernel_count * sizeof(u64));
	if (request && request->len <= REQUEST_WORDS_MAX * sizeof(u64)) {
		memcpy(leading + stack->kernel_count, request->at, request->len);
		trace.request_words = (u16)((request->len + 7) / 8);
		trace.kernel_count += trace.request_words;
	}
	if (labels) {
		trace.label_words = (u16)thread_labels_words(labels->at, labels->len, leading + trace.kernel_count);
		trace.kernel_count += trace.label_words;
	}
	move_frames(from, stack, to, user);
	window_add(to, window_process(to, serial, &from->processes[stack->process]), &trace, leading, user,
		   stack->user_count, stack->end, binary_of, from);
	from->times[time].time_ns = 0;
	from->ends[stack->end]--;
	return to->time_count > count;
}

void window_moved(struct window *from)
{
	u32 count = 0;

	for (u32 i = 0; i < from->time_count; i++)
		if (from->times[i].time_ns)
			from->times[count++] = from->times[i];
	from->time_count = count;
}

void window_add_symbol(struct window *w, const struct window_symbol *symbol)
{
	struct window_symbol copy = *symbol;

	copy.name = arena_strndup(&w->arena, symbol->name, strlen(symbol->name));
	/* Only a name is missing otherwise, which is in /proc/kallsyms too. */
	if (!copy.name || w->symbol_count >= WINDOW_SYMBOLS_MAX ||
	    array_reserve(&w->symbols, &w->symbol_cap, w->symbol_count + 1, sizeof(*w->symbols)) < 0)
		return;
	w->symbols[w->symbol_count++] = copy;
}
