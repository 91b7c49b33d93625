// SPDX-License-Identifier: Apache-2.0
/*
 * The file's tables are lists of columns. Its functions are our frames, its
 * frames the lines of our locations, its stacks a trie of those.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/frames.h"
#include "base/cleanup.h"
#include "base/interner.h"
#include "base/json_write.h"
#include "lang/frame_type.h"
#include "profile/any.h"
#include "wire/events.h"
#include "wire/format.h"
#include "wire/lanes.h"
#include "wire/sample_types.h"
#include "wire/views/firefox.h"

#define VERSION 60
#define SCRATCH_BYTES_MAX ((size_t)4 << 30)
#define NO_STACK UINT32_MAX

/* A stack of the file: the one it goes on from, plus 1, and a frame. */
struct link {
	u32 above, frame;
};

struct encoder {
	const struct profile *p;
	struct json_write j;
	struct frames frames;
	struct event_list events;
	struct lanes lanes;
	u32 lane_names[REASON_OTHER + 1];	/* in strings */
	u64 start_unix_ns;
	struct arena arena;
	struct interner strings, sources, modules, links;
	u32 *stacks;		/* the number of a whole stack in the file, or NO_STACK */
	struct str *build_ids;	/* of modules */
	int err;
};

static int encoder_init(struct encoder *e, const struct profile *profile, const char *type, struct buf *out)
{
	int r;

	*e = (struct encoder){ .p = profile, .j = { .b = out } };
	arena_init(&e->arena, SCRATCH_BYTES_MAX);
	interner_init(&e->strings, &e->arena, PROFILE_TABLE_MAX);
	interner_init(&e->sources, &e->arena, PROFILE_TABLE_MAX);
	interner_init(&e->modules, &e->arena, PROFILE_TABLE_MAX);
	interner_init(&e->links, &e->arena, PROFILE_TABLE_MAX);
	r = events_init(&e->events, profile, type);
	if (r == 0)
		r = lanes_init(&e->lanes, profile);
	e->start_unix_ns = lanes_begin_ns(&e->lanes, &e->events);
	return r < 0 ? r : frames_init(&e->frames, profile, NULL);
}

static void encoder_done(struct encoder *e)
{
	events_done(&e->events);
	lanes_done(&e->lanes);
	frames_done(&e->frames);
	interner_done(&e->strings);
	interner_done(&e->sources);
	interner_done(&e->modules);
	interner_done(&e->links);
	arena_done(&e->arena);
	free(e->stacks);
	free(e->build_ids);
}

/* The number of a text; whatever once memory ran out, which is then remembered. */
static u32 number_of(struct encoder *e, struct interner *interner, struct str text)
{
	u32 number = interner_add(interner, text.at, text.len, NULL);

	if (number == INTERNER_NONE)
		e->err = -ENOMEM;
	return number;
}

static struct str text_of(const struct interner *interner, u32 number)
{
	return (struct str){ interner_get(interner, number)->at, interner_get(interner, number)->len };
}

/* ---- Pieces of JSON ------------------------------------------------------------------ */

static void put_null(struct json_write *j)
{
	json_write_raw(j, "null", 4);
}

static void put_nulls(struct json_write *j, const char *key, u32 count)
{
	json_write_key(j, key);
	json_write_open(j, '[');
	for (u32 i = 0; i < count; i++)
		put_null(j);
	json_write_close(j, ']');
}

static void put_numbers(struct json_write *j, const char *key, s64 value, u32 count)
{
	json_write_key(j, key);
	json_write_open(j, '[');
	for (u32 i = 0; i < count; i++)
		json_write_integer(j, value);
	json_write_close(j, ']');
}

static void put_falses(struct json_write *j, const char *key, u32 count)
{
	json_write_key(j, key);
	json_write_open(j, '[');
	for (u32 i = 0; i < count; i++)
		json_write_bool(j, false);
	json_write_close(j, ']');
}

static void put_number(struct json_write *j, const char *key, s64 value)
{
	json_write_key(j, key);
	json_write_integer(j, value);
}

static void put_text(struct json_write *j, const char *key, const char *text)
{
	json_write_key(j, key);
	json_write_text(j, text);
}

static void put_str(struct json_write *j, const char *key, struct str text)
{
	json_write_key(j, key);
	json_write_string(j, text.at, text.len);
}

/* Nanoseconds as milliseconds, exactly. */
static void put_milliseconds(struct json_write *j, u64 ns)
{
	char text[32];

	json_write_raw(j, text, (size_t)snprintf(text, sizeof(text), "%llu.%06llu", ns / 1000000, ns % 1000000));
}

static void open_table(struct json_write *j, const char *key, u32 rows)
{
	json_write_key(j, key);
	json_write_open(j, '{');
	put_number(j, "length", rows);
}

/* A column of numbers, one for each row. */
static void put_column(struct encoder *e, const char *key, u32 rows, void (*put)(struct encoder *e, u32 row))
{
	json_write_key(&e->j, key);
	json_write_open(&e->j, '[');
	for (u32 i = 0; i < rows; i++)
		put(e, i);
	json_write_close(&e->j, ']');
}

/* ---- Functions ----------------------------------------------------------------------- */

static void put_function_name(struct encoder *e, u32 i)
{
	json_write_u32(&e->j, number_of(e, &e->strings, e->frames.at[i].name));
}

static void put_function_resource(struct encoder *e, u32 i)
{
	struct str module = e->frames.at[i].exe;

	json_write_integer(&e->j, module.len ? (s64)number_of(e, &e->modules, module) : -1);
}

static void put_function_source(struct encoder *e, u32 i)
{
	if (e->frames.at[i].file.len)
		json_write_u32(&e->j, number_of(e, &e->sources, e->frames.at[i].file));
	else
		put_null(&e->j);
}

static void put_function_line(struct encoder *e, u32 i)
{
	if (e->frames.at[i].line > 0)
		json_write_integer(&e->j, e->frames.at[i].line);
	else
		put_null(&e->j);
}

static void put_functions(struct encoder *e)
{
	u32 count = e->frames.count;

	open_table(&e->j, "funcTable", count);
	put_column(e, "name", count, put_function_name);
	put_falses(&e->j, "isJS", count);
	put_falses(&e->j, "relevantForJS", count);
	put_column(e, "resource", count, put_function_resource);
	put_column(e, "source", count, put_function_source);
	put_column(e, "lineNumber", count, put_function_line);
	put_nulls(&e->j, "columnNumber", count);
	json_write_close(&e->j, '}');
}

/* ---- Frames: the lines of locations, one after the other ------------------------------ */

static void put_frame_function(struct encoder *e, u32 i)
{
	json_write_u32(&e->j, e->frames.numbers[i]);
}

static void put_frame_category(struct encoder *e, u32 i)
{
	json_write_u32(&e->j, frame_type_find(e->frames.at[e->frames.numbers[i]].type));
}

/* Columns that need the location: written location by location. */
static void put_frame_column(struct encoder *e, const char *key,
			     void (*put)(struct json_write *j, const struct profile_location *l, u32 line))
{
	json_write_key(&e->j, key);
	json_write_open(&e->j, '[');
	for (u32 i = 0; i < e->p->locations.count; i++)
		for (u32 k = 0; k < frames_of(&e->frames, i).count; k++)
			put(&e->j, &e->p->locations.at[i], k);
	json_write_close(&e->j, ']');
}

/* Relative to the library. Those of the kernel are more than the viewer's 31 bits. */
static void put_frame_address(struct json_write *j, const struct profile_location *l, u32 line)
{
	json_write_integer(j, l->address && l->address <= INT32_MAX ? (s64)l->address : -1);
}

static void put_frame_depth(struct json_write *j, const struct profile_location *l, u32 line)
{
	json_write_u32(j, l->line_count ? l->line_count - 1 - line : 0);
}

static void put_frame_line(struct json_write *j, const struct profile_location *l, u32 line)
{
	if (line < l->line_count && l->lines[line].line > 0)
		json_write_integer(j, l->lines[line].line);
	else
		put_null(j);
}

static void put_frame_table(struct encoder *e)
{
	u32 count = e->frames.starts[e->p->locations.count];

	open_table(&e->j, "frameTable", count);
	put_frame_column(e, "address", put_frame_address);
	put_frame_column(e, "inlineDepth", put_frame_depth);
	put_column(e, "category", count, put_frame_category);
	put_numbers(&e->j, "subcategory", 0, count);
	put_column(e, "func", count, put_frame_function);
	put_nulls(&e->j, "nativeSymbol", count);
	put_nulls(&e->j, "innerWindowID", count);
	put_frame_column(e, "line", put_frame_line);
	put_nulls(&e->j, "column", count);
	json_write_close(&e->j, '}');
}

/* ---- Stacks -------------------------------------------------------------------------- */

/* From the root on; NO_STACK for one without frames. */
static u32 add_stack(struct encoder *e, struct indices locations)
{
	u32 stack = NO_STACK;

	for (u32 i = locations.count; i-- > 0;) {
		u32 first = e->frames.starts[locations.at[i]], end = e->frames.starts[locations.at[i] + 1];

		for (u32 frame = end; frame-- > first;) {
			struct link link = { stack + 1, frame };

			stack = interner_add(&e->links, &link, sizeof(link), NULL);
			if (stack == INTERNER_NONE)
				return NO_STACK;
		}
	}
	return stack;
}

static int add_stacks(struct encoder *e)
{
	e->stacks = calloc((size_t)e->p->stacks.count + 1, sizeof(*e->stacks));
	if (!e->stacks)
		return -ENOMEM;
	for (u32 i = 0; i < e->p->stacks.count; i++) {
		e->stacks[i] = add_stack(e, e->p->stacks.at[i]);
		if (arena_err(&e->arena))
			return arena_err(&e->arena);
	}
	return 0;
}

static void put_stack_frame(struct encoder *e, u32 i)
{
	json_write_u32(&e->j, ((const struct link *)interner_get(&e->links, i)->at)->frame);
}

static void put_stack_prefix(struct encoder *e, u32 i)
{
	const struct link *link = interner_get(&e->links, i)->at;

	if (link->above)
		json_write_u32(&e->j, link->above - 1);
	else
		put_null(&e->j);
}

static void put_stack_table(struct encoder *e)
{
	open_table(&e->j, "stackTable", e->links.count);
	put_column(e, "frame", e->links.count, put_stack_frame);
	put_column(e, "prefix", e->links.count, put_stack_prefix);
	json_write_close(&e->j, '}');
}

/* ---- Other tables, filled on the way -------------------------------------------------- */

static void put_source_name(struct encoder *e, u32 i)
{
	json_write_u32(&e->j, number_of(e, &e->strings, text_of(&e->sources, i)));
}

static void put_row_number(struct encoder *e, u32 i)
{
	json_write_u32(&e->j, i);
}

static void put_module_name(struct encoder *e, u32 i)
{
	json_write_u32(&e->j, number_of(e, &e->strings, str_base_name(text_of(&e->modules, i))));
}

static void put_string(struct encoder *e, u32 i)
{
	struct str text = text_of(&e->strings, i);

	json_write_string(&e->j, text.at, text.len);
}

static void put_shared(struct encoder *e)
{
	struct json_write *j = &e->j;

	json_write_key(j, "shared");
	json_write_open(j, '{');
	put_stack_table(e);
	put_frame_table(e);
	put_functions(e);
	open_table(j, "resourceTable", e->modules.count);
	put_column(e, "lib", e->modules.count, put_row_number);
	put_column(e, "name", e->modules.count, put_module_name);
	put_nulls(j, "host", e->modules.count);
	put_numbers(j, "type", 1, e->modules.count);
	json_write_close(j, '}');
	open_table(j, "nativeSymbols", 0);
	for (int i = 0; i < 4; i++)
		put_nulls(j, ((const char *[]){ "libIndex", "address", "name", "functionSize" })[i], 0);
	json_write_close(j, '}');
	open_table(j, "sources", e->sources.count);
	put_nulls(j, "uuid", e->sources.count);
	put_column(e, "filename", e->sources.count, put_source_name);
	json_write_close(j, '}');
	put_column(e, "stringArray", e->strings.count, put_string);
	json_write_close(j, '}');
}

static int find_build_ids(struct encoder *e)
{
	const struct profile *p = e->p;

	e->build_ids = calloc((size_t)e->modules.count + 1, sizeof(*e->build_ids));
	if (!e->build_ids)
		return -ENOMEM;
	for (u32 i = 1; i < p->mappings.count; i++) {
		struct str path = p->strings.at[p->mappings.at[i].filename];
		u32 module = interner_find(&e->modules, path.at, path.len);

		if (module != INTERNER_NONE && !e->build_ids[module].len)
			e->build_ids[module] = any_text(profile_attribute_find(p, p->mappings.at[i].attributes,
									       "process.executable.build_id.gnu"));
	}
	return 0;
}

static void put_library(struct encoder *e, u32 i)
{
	struct str path = text_of(&e->modules, i), name = str_base_name(path);
	struct json_write *j = &e->j;

	json_write_open(j, '{');
	put_text(j, "arch", "");
	put_str(j, "name", name);
	put_str(j, "path", path);
	put_str(j, "debugName", name);
	put_str(j, "debugPath", path);
	put_text(j, "breakpadId", "");
	put_str(j, "codeId", e->build_ids[i]);
	json_write_close(j, '}');
}

/* ---- Samples -------------------------------------------------------------------------- */

enum weight { WEIGHT_SAMPLES, WEIGHT_TIME, WEIGHT_BYTES };

static enum weight weight_of(struct str unit)
{
	if (str_equal(unit, STR("nanoseconds")) || str_equal(unit, STR("ns")))
		return WEIGHT_TIME;
	return str_equal(unit, STR("bytes")) || str_equal(unit, STR("By")) ? WEIGHT_BYTES : WEIGHT_SAMPLES;
}

static void put_weight(struct json_write *j, enum weight weight, s64 value)
{
	if (weight == WEIGHT_TIME && value > 0)
		put_milliseconds(j, (u64)value);
	else
		json_write_integer(j, weight == WEIGHT_TIME ? value / 1000000 : value);
}

static void put_samples(struct encoder *e, const struct events_thread *thread)
{
	static const char *const weights[] = { "samples", "tracing-ms", "bytes" };
	enum weight weight = weight_of(e->events.unit);
	const struct event *events = e->events.at + thread->first;
	struct json_write *j = &e->j;

	open_table(j, "samples", thread->count);
	put_text(j, "weightType", weights[weight]);
	json_write_key(j, "stack");
	json_write_open(j, '[');
	for (u32 i = 0; i < thread->count; i++) {
		u32 stack = e->stacks[events[i].stack];

		if (stack == NO_STACK)
			put_null(j);
		else
			json_write_u32(j, stack);
	}
	json_write_close(j, ']');
	json_write_key(j, "time");
	json_write_open(j, '[');
	for (u32 i = 0; i < thread->count; i++)
		put_milliseconds(j, events[i].time_ns + e->events.start_unix_ns - e->start_unix_ns);
	json_write_close(j, ']');
	json_write_key(j, "weight");
	json_write_open(j, '[');
	for (u32 i = 0; i < thread->count; i++)
		put_weight(j, weight, events[i].value);
	json_write_close(j, ']');
	json_write_close(j, '}');
}

/* ---- Lanes: markers, each from when to when its thread did what it is called ------------- */

#define LANE_TYPE "ThreadLane"
#define PHASE_INTERVAL 1

static void name_lanes(struct encoder *e)
{
	for (u32 i = REASON_NONE; e->lanes.count && i <= REASON_OTHER; i++) {
		const char *name = lane_part_name(&(struct lane_part){ .reason = i });

		e->lane_names[i] = number_of(e, &e->strings, (struct str){ name, (u32)strlen(name) });
	}
}

static const char *lane_colour(u32 reason)
{
	switch (reason) {
	case REASON_NONE:
		return "green";
	case REASON_RUN_QUEUE:
	case REASON_THROTTLED:
		return "orange";
	case REASON_FUTEX:
	case REASON_KERNEL_LOCK:
		return "red";
	case REASON_DISK:
	case REASON_PAGE_FAULT:
		return "purple";
	case REASON_NETWORK:
	case REASON_PIPE:
	case REASON_POLL:
		return "blue";
	default:
		return "grey";
	}
}

static void put_lane_data(struct encoder *e, const struct lane_part *part)
{
	struct json_write *j = &e->j;
	u32 stack = e->stacks[part->stack];

	json_write_open(j, '{');
	put_text(j, "type", LANE_TYPE);
	put_text(j, "color", lane_colour(part->reason));
	if (part->reason != REASON_NONE && stack != NO_STACK) {
		json_write_key(j, "cause");
		json_write_open(j, '{');
		put_number(j, "stack", stack);
		json_write_close(j, '}');
	}
	json_write_close(j, '}');
}

static void put_lane_name(struct encoder *e, const struct lane_part *part)
{
	json_write_u32(&e->j, e->lane_names[part->reason]);
}

static void put_lane_start(struct encoder *e, const struct lane_part *part)
{
	put_milliseconds(&e->j, part->start_ns - e->start_unix_ns);
}

static void put_lane_end(struct encoder *e, const struct lane_part *part)
{
	put_milliseconds(&e->j, part->end_ns - e->start_unix_ns);
}

/* lane: NULL if the thread has none. */
static void put_markers(struct encoder *e, const struct lane *lane)
{
	static const struct {
		const char *key;
		void (*put)(struct encoder *e, const struct lane_part *part);
	} columns[] = { { "data", put_lane_data }, { "name", put_lane_name }, { "startTime", put_lane_start },
			{ "endTime", put_lane_end } };
	u32 count = lane ? lane->count : 0;
	struct json_write *j = &e->j;

	open_table(j, "markers", count);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		json_write_key(j, columns[i].key);
		json_write_open(j, '[');
		for (u32 k = 0; k < count; k++)
			columns[i].put(e, &e->lanes.parts[lane->first + k]);
		json_write_close(j, ']');
	}
	put_numbers(j, "phase", PHASE_INTERVAL, count);
	put_numbers(j, "category", 0, count);
	json_write_close(j, '}');
}

/* Stack-based: all of a thread's are in one row. */
static void put_marker_schema(struct encoder *e)
{
	static const char *const places[] = { "marker-chart", "marker-table", "timeline-overview" };
	struct json_write *j = &e->j;

	json_write_key(j, "markerSchema");
	json_write_open(j, '[');
	if (e->lanes.count) {
		json_write_open(j, '{');
		put_text(j, "name", LANE_TYPE);
		put_text(j, "chartLabel", "{marker.name}");
		put_text(j, "tooltipLabel", "{marker.name}");
		put_text(j, "tableLabel", "{marker.name}");
		json_write_key(j, "display");
		json_write_open(j, '[');
		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
			json_write_text(j, places[i]);
		json_write_close(j, ']');
		put_text(j, "colorField", "color");
		json_write_key(j, "isStackBased");
		json_write_bool(j, true);
		json_write_key(j, "fields");
		json_write_open(j, '[');
		json_write_open(j, '{');
		put_text(j, "key", "color");
		put_text(j, "format", "string");
		json_write_key(j, "hidden");
		json_write_bool(j, true);
		json_write_close(j, '}');
		json_write_close(j, ']');
		json_write_close(j, '}');
	}
	json_write_close(j, ']');
}

/* ---- Threads -------------------------------------------------------------------------- */

/* Ids must differ: threads that have none are told apart by their number. */
static void put_thread(struct encoder *e, const struct events_thread *thread, const struct lane *lane, u32 i)
{
	struct json_write *j = &e->j;
	char id[32];

	json_write_open(j, '{');
	put_text(j, "processType", "default");
	put_str(j, "processName", thread->process);
	put_number(j, "processStartupTime", 0);
	json_write_key(j, "processShutdownTime");
	put_null(j);
	put_number(j, "registerTime", 0);
	json_write_key(j, "unregisterTime");
	put_null(j);
	put_nulls(j, "pausedRanges", 0);
	put_str(j, "name", thread->name);
	json_write_key(j, "isMainThread");
	json_write_bool(j, thread->tid < 0 || thread->tid == thread->pid);
	snprintf(id, sizeof(id), thread->pid < 0 ? "process %lld" : "%lld", thread->pid < 0 ? i : thread->pid);
	put_text(j, "pid", id);
	snprintf(id, sizeof(id), thread->tid < 0 ? "thread %lld" : "%lld", thread->tid < 0 ? i : thread->tid);
	put_text(j, "tid", id);
	if (lane) {
		json_write_key(j, "showMarkersInTimeline");
		json_write_bool(j, true);
	}
	put_samples(e, thread);
	put_markers(e, lane);
	json_write_close(j, '}');
}

/* Those with samples, then those that have lanes only. */
static void put_threads(struct encoder *e)
{
	u32 count = e->events.thread_count;

	json_write_key(&e->j, "threads");
	json_write_open(&e->j, '[');
	for (u32 i = 0; i < count; i++)
		put_thread(e, &e->events.threads[i], lanes_take(&e->lanes, &e->events.threads[i]), i);
	for (u32 i = 0; i < e->lanes.count; i++) {
		const struct lane *lane = &e->lanes.at[i];
		struct events_thread thread = { .name = lane->name, .process = lane->process, .pid = lane->pid,
						.tid = lane->tid };

		if (!lane->is_taken)
			put_thread(e, &thread, lane, count + i);
	}
	json_write_close(&e->j, ']');
}

/* ---- The file -------------------------------------------------------------------------- */

static void put_category(struct encoder *e, u32 i)
{
	json_write_open(&e->j, '{');
	put_text(&e->j, "name", frame_type_at(i)->title);
	put_text(&e->j, "color", frame_type_at(i)->firefox);
	json_write_key(&e->j, "subcategories");
	json_write_open(&e->j, '[');
	json_write_text(&e->j, "Other");
	json_write_close(&e->j, ']');
	json_write_close(&e->j, '}');
}

static void put_meta(struct encoder *e)
{
	struct json_write *j = &e->j;

	json_write_key(j, "meta");
	json_write_open(j, '{');
	json_write_key(j, "interval");
	put_milliseconds(j, e->events.period_ns ? e->events.period_ns : 1000000);
	json_write_key(j, "startTime");
	put_milliseconds(j, e->start_unix_ns);
	put_number(j, "processType", 0);
	put_text(j, "product", "wick");
	put_text(j, "importedFrom", "wick " WICK_VERSION);
	put_number(j, "stackwalk", 1);
	put_number(j, "version", 31);
	put_number(j, "preprocessedProfileVersion", VERSION);
	json_write_key(j, "symbolicated");
	json_write_bool(j, true);
	json_write_key(j, "usesOnlyOneStackType");
	json_write_bool(j, true);
	json_write_key(j, "sourceCodeIsNotOnSearchfox");
	json_write_bool(j, true);
	json_write_key(j, "categories");
	json_write_open(j, '[');
	for (u32 i = 0; frame_type_at(i); i++)
		put_category(e, i);
	json_write_close(j, ']');
	put_marker_schema(e);
	json_write_close(j, '}');
}

static int encode(struct encoder *e)
{
	int r = add_stacks(e);

	if (r < 0)
		return r;
	name_lanes(e);
	json_write_open(&e->j, '{');
	put_meta(e);
	put_shared(e);
	r = find_build_ids(e);
	if (r < 0)
		return r;
	put_column(e, "libs", e->modules.count, put_library);
	put_threads(e);
	json_write_close(&e->j, '}');
	return e->err ? e->err : buf_err(e->j.b);
}

int firefox_encode(const struct profile *profile, struct buf *out)
{
	_cleanup_(sample_types_done) struct sample_types types;
	struct encoder e;
	int r = sample_types_init(&types, profile);

	if (r < 0)
		return r;
	r = encoder_init(&e, profile, lanes_other_type(&types), out);
	if (r == 0)
		r = encode(&e);
	encoder_done(&e);
	return r;
}

const struct format_ops format_firefox = {
	.name = "firefox",
	.help = "the Firefox Profiler's JSON, for profiler.firefox.com",
	.content_type = "application/json",
	.suffixes = (const char *const[]){ ".firefox.json", NULL },
	.encode = firefox_encode,
};
