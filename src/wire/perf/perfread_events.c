// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfread_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ATTR_BYTES_MAX 136
#define UPDATE_NAME 2
#define BRANCH_ENTRY_BYTES 24
#define EVENT_BYTES_MAX ((size_t)256 << 20)

/* Not in the headers of older kernels. */
#define READ_LOST (1u << 4)
#define BRANCH_HW_INDEX (1u << 17)
#define BRANCH_COUNTERS (1u << 19)

void perfread_events_init(struct perfread_events *e)
{
	*e = (struct perfread_events){ 0 };
	arena_init(&e->arena, EVENT_BYTES_MAX);
	interner_init(&e->ids, &e->arena, PERFREAD_IDS_MAX);
}

void perfread_events_done(struct perfread_events *e)
{
	interner_done(&e->ids);
	arena_done(&e->arena);
	free(e->event_of_id);
	free(e->at);
}

/* ---- What events there are ------------------------------------------------- */

/* Fields that a shorter attr lacks are 0, those that a longer one has are not for us. */
static struct perfread_event read_attr(struct cursor from)
{
	u8 bytes[ATTR_BYTES_MAX] = { 0 };
	struct perfread_event event = { 0 };
	struct cursor c = cursor_of(bytes, sizeof(bytes));
	size_t left = cursor_left(&from);
	u64 flags;

	memcpy(bytes, from.at, left < sizeof(bytes) ? left : sizeof(bytes));
	event.type = (u32)cursor_uint(&c, 4);
	cursor_skip(&c, 4);
	event.config = cursor_uint(&c, 8);
	event.period = cursor_uint(&c, 8);
	event.sample_type = cursor_uint(&c, 8);
	event.read_format = cursor_uint(&c, 8);
	flags = cursor_uint(&c, 8);
	event.is_freq = flags >> 10 & 1;
	event.has_trailers = flags >> 18 & 1;
	event.has_clock = flags >> 25 & 1;
	cursor_skip(&c, 4 + 4 + 8 + 8);
	event.branch_type = cursor_uint(&c, 8);
	event.regs_user = cursor_uint(&c, 8);
	cursor_skip(&c, 4);
	event.clock = (int)cursor_int(&c, 4);
	return event;
}

int perfread_events_add(struct perfread_events *e, struct cursor attr, struct cursor ids)
{
	int r;

	if (e->count == PERFREAD_EVENTS_MAX || cursor_left(&ids) / 8 > PERFREAD_IDS_MAX - e->listed)
		return -E2BIG;
	r = array_reserve(&e->at, &e->cap, e->count + 1, sizeof(*e->at));
	if (r < 0)
		return r;
	e->listed += (u32)(cursor_left(&ids) / 8);
	while (cursor_left(&ids) >= 8) {
		u64 id = cursor_uint(&ids, 8);
		u32 number = interner_add(&e->ids, &id, sizeof(id), NULL);

		if (number == INTERNER_NONE)
			return e->ids.count == PERFREAD_IDS_MAX ? -E2BIG : -ENOMEM;
		r = array_reserve(&e->event_of_id, &e->id_cap, number + 1, sizeof(*e->event_of_id));
		if (r < 0)
			return r;
		e->event_of_id[number] = e->count;
	}
	e->at[e->count++] = read_attr(attr);
	return 0;
}

/* The number of an event, or count. */
static u32 event_of(const struct perfread_events *e, u64 id)
{
	u32 number = interner_find(&e->ids, &id, sizeof(id));

	return number == INTERNER_NONE ? e->count : e->event_of_id[number];
}

static int set_name(struct perfread_events *e, u32 event, const char *name, size_t max)
{
	size_t len = strnlen(name, max < PERFREAD_EVENT_NAME ? max : PERFREAD_EVENT_NAME - 1);

	if (!len || event >= e->count)
		return 0;
	e->at[event].name = arena_strndup(&e->arena, name, len);
	return e->at[event].name ? 0 : arena_err(&e->arena);
}

int perfread_events_describe(struct perfread_events *e, struct cursor c)
{
	u32 count = (u32)cursor_uint(&c, 4), attr_bytes = (u32)cursor_uint(&c, 4);

	for (u32 i = 0; i < count && !c.bad; i++) {
		u32 ids, len;
		const u8 *name;
		int r;

		cursor_skip(&c, attr_bytes);
		ids = (u32)cursor_uint(&c, 4);
		len = (u32)cursor_uint(&c, 4);
		name = cursor_skip(&c, len);
		if (c.bad)
			break;
		/* By id where there is one, else they stand in the order of the attrs. */
		if (ids && cursor_left(&c) >= 8)
			r = set_name(e, event_of(e, cursor_uint(&c, 8)), (const char *)name, len);
		else
			r = set_name(e, i, (const char *)name, len);
		if (r < 0)
			return r;
		cursor_skip(&c, ids ? (ids - 1) * 8ull : 0);
	}
	return 0;
}

int perfread_events_update(struct perfread_events *e, struct cursor c)
{
	u64 what = cursor_uint(&c, 8), id = cursor_uint(&c, 8);

	if (c.bad || what != UPDATE_NAME)
		return 0;
	return set_name(e, event_of(e, id), (const char *)c.at, cursor_left(&c));
}

bool perfread_event_is_time(const struct perfread_event *event)
{
	return event->type == PERF_TYPE_SOFTWARE &&
	       (event->config == PERF_COUNT_SW_CPU_CLOCK || event->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool perfread_event_is_output(const struct perfread_event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_BPF_OUTPUT;
}

void perfread_event_name(const struct perfread_event *event, char ret_name[PERFREAD_EVENT_NAME])
{
	static const char *const hardware[] = { "cycles", "instructions", "cache-references", "cache-misses",
						"branches", "branch-misses", "bus-cycles", "stalled-cycles-frontend",
						"stalled-cycles-backend", "ref-cycles" };
	static const char *const software[] = { "cpu-clock", "task-clock", "page-faults", "context-switches",
						"cpu-migrations", "minor-faults", "major-faults", "alignment-faults",
						"emulation-faults", "dummy", "bpf-output", "cgroup-switches" };
	const char *known = NULL;

	if (event->type == PERF_TYPE_HARDWARE && event->config < sizeof(hardware) / sizeof(*hardware))
		known = hardware[event->config];
	else if (event->type == PERF_TYPE_SOFTWARE && event->config < sizeof(software) / sizeof(*software))
		known = software[event->config];
	if (event->name || known)
		snprintf(ret_name, PERFREAD_EVENT_NAME, "%s", event->name ? event->name : known);
	else if (event->type == PERF_TYPE_TRACEPOINT)
		snprintf(ret_name, PERFREAD_EVENT_NAME, "tracepoint-%llu", (unsigned long long)event->config);
	else
		snprintf(ret_name, PERFREAD_EVENT_NAME, "event-%u-0x%llx", event->type,
			 (unsigned long long)event->config);
}

/* ---- Samples --------------------------------------------------------------- */

/* Where the id of the event stands in a sample, counted in words from the start; -1: nowhere. */
static int id_word(u64 type)
{
	static const u64 before[] = { PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR };
	int word = 0;

	if (type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
		word += (type & before[i]) != 0;
	return word;
}

static u32 event_of_sample(const struct perfread_events *e, struct cursor body)
{
	int word = e->count ? id_word(e->at[0].sample_type) : -1;
	u32 event;

	if (word < 0)
		return 0;
	cursor_skip(&body, (u64)word * 8);
	event = event_of(e, cursor_uint(&body, 8));
	/* Old files have one event and do not list its ids. */
	return event == e->count && e->count == 1 ? 0 : event;
}

static void skip_counters(struct cursor *c, u64 format)
{
	u64 times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	u64 each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_LOST);
	u64 count = format & PERF_FORMAT_GROUP ? cursor_uint(c, 8) : 1;

	if (count > cursor_left(c))
		c->bad = true;
	else
		cursor_skip(c, (times + count * each) * 8);
}

/* So many words; none if they are not all there. */
static struct cursor take_words(struct cursor *c, u64 count)
{
	const u8 *at = count <= cursor_left(c) / 8 ? cursor_skip(c, count * 8) : NULL;

	if (!at)
		c->bad = true;
	return at ? cursor_of(at, count * 8) : cursor_of(c->at, 0);
}

static void skip_branches(struct cursor *c, u64 branch_type)
{
	u64 count = cursor_uint(c, 8);

	if (branch_type & BRANCH_HW_INDEX)
		cursor_skip(c, 8);
	if (count > cursor_left(c))
		c->bad = true;
	else
		cursor_skip(c, count * (BRANCH_ENTRY_BYTES + (branch_type & BRANCH_COUNTERS ? 8 : 0)));
}

static void read_stack(struct cursor *c, struct perfread_sample *s)
{
	u64 bytes = cursor_uint(c, 8), used;
	const u8 *at = cursor_skip(c, bytes);

	if (!bytes || !at)
		return;
	used = cursor_uint(c, 8);
	s->stack = cursor_of(at, used < bytes ? used : bytes);
}

/* The fields of one number each, which come first. */
static void read_numbers(struct cursor *c, const struct perfread_event *event, struct perfread_sample *s)
{
	u64 type = event->sample_type, period;

	if (type & PERF_SAMPLE_IDENTIFIER)
		cursor_skip(c, 8);
	if (type & PERF_SAMPLE_IP)
		s->ip = cursor_uint(c, 8);
	if (type & PERF_SAMPLE_TID) {
		s->pid = (u32)cursor_uint(c, 4);
		s->tid = (u32)cursor_uint(c, 4);
		s->has_tid = true;
	}
	if (type & PERF_SAMPLE_TIME) {
		s->time_ns = cursor_uint(c, 8);
		s->has_time = true;
	}
	cursor_skip(c, 8ull * (!!(type & PERF_SAMPLE_ADDR) + !!(type & PERF_SAMPLE_ID) +
			       !!(type & PERF_SAMPLE_STREAM_ID)));
	if (type & PERF_SAMPLE_CPU) {
		s->cpu = (u32)cursor_uint(c, 4);
		cursor_skip(c, 4);
		s->has_cpu = true;
	}
	s->fixed_period = event->is_freq || event->period > INT64_MAX ? 0 : (s64)event->period;
	period = event->is_freq || !event->period ? 1 : event->period;
	if (type & PERF_SAMPLE_PERIOD)
		period = cursor_uint(c, 8);
	s->period = period < INT64_MAX ? (s64)period : INT64_MAX;
}

bool perfread_sample_read(const struct perfread_events *e, struct cursor c, struct perfread_sample *ret_sample)
{
	struct perfread_sample s = { .event = event_of_sample(e, c) };
	const struct perfread_event *event;
	u64 type;

	if (s.event >= e->count)
		return false;
	event = &e->at[s.event];
	type = event->sample_type;
	read_numbers(&c, event, &s);
	if (type & PERF_SAMPLE_READ)
		skip_counters(&c, event->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s.chain = take_words(&c, cursor_uint(&c, 8));
		s.has_chain = true;
	}
	if (type & PERF_SAMPLE_RAW)
		cursor_skip(&c, cursor_uint(&c, 4));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&c, event->branch_type);
	if (type & PERF_SAMPLE_REGS_USER) {
		s.regs_abi = cursor_uint(&c, 8);
		s.regs_mask = event->regs_user;
		if (s.regs_abi)
			s.regs = take_words(&c, (u64)__builtin_popcountll(event->regs_user));
	}
	if (type & PERF_SAMPLE_STACK_USER)
		read_stack(&c, &s);
	if (c.bad)
		return false;
	*ret_sample = s;
	return true;
}

bool perfread_sample_register(const struct perfread_sample *sample, u32 number, u64 *ret_value)
{
	struct cursor c = sample->regs;
	u64 before;

	if (number > 63 || !(sample->regs_mask >> number & 1) || !cursor_left(&c))
		return false;
	before = sample->regs_mask & ((1ull << number) - 1);
	cursor_skip(&c, 8ull * (u64)__builtin_popcountll(before));
	*ret_value = cursor_uint(&c, 8);
	return !c.bad;
}

/* ---- Trailers -------------------------------------------------------------- */

struct perfread_trailer perfread_trailer_take(const struct perfread_events *e, struct cursor *body)
{
	static const u64 fields[] = { PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID,
				      PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER };
	struct perfread_trailer trailer = { 0 };
	const struct perfread_event *event = e->at;
	size_t bytes = 0;
	struct cursor c;

	if (!e->count || !event->has_trailers)
		return trailer;
	if (event->sample_type & PERF_SAMPLE_IDENTIFIER && cursor_left(body) >= 8) {
		struct cursor last = cursor_of(body->end - 8, 8);
		u32 number = event_of(e, cursor_uint(&last, 8));

		event = number < e->count ? &e->at[number] : event;
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		bytes += event->sample_type & fields[i] ? 8 : 0;
	if (bytes > cursor_left(body))
		return trailer;
	body->end -= bytes;
	c = cursor_of(body->end, bytes);
	if (event->sample_type & PERF_SAMPLE_TID)
		cursor_skip(&c, 8);
	if (event->sample_type & PERF_SAMPLE_TIME)
		trailer.time_ns = cursor_uint(&c, 8);
	return trailer;
}
