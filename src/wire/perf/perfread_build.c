// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfread_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hex.h"
#include "kinds/kind.h"
#include "profile/profile.h"
#include "wire/perf/perfread_gather.h"

#define SCHEMA_URL "https://opentelemetry.io/schemas/1.37.0"

struct build {
	const struct perfread_gather *gather;
	const struct perfread_events *events;
	struct profile *profile;
	s64 offset_ns;
	u32 *mappings, *locations, *stacks;	/* by number of region, frame, stack; 0: not made yet */
	u32 *first_tick;			/* by sample, one more at the end: in times and periods */
	u64 *times;				/* grouped by sample */
	s64 *periods;
	u32 native, kernel;			/* attributes: frame types */
	u32 *scratch;				/* locations of a stack */
	u32 scratch_cap;
	struct profile_scope **scopes;		/* by program */
	struct interner set_keys;		/* program and event */
	struct arena arena;
	u32 *sets;				/* by number of the key: index in the scope */
	u32 set_cap;
	u32 cpu_event;				/* whose periods are CPU time; past the last: none */
};

static void build_done(struct build *b)
{
	interner_done(&b->set_keys);
	arena_done(&b->arena);
	free(b->mappings);
	free(b->locations);
	free(b->stacks);
	free(b->first_tick);
	free(b->times);
	free(b->periods);
	free(b->scratch);
	free(b->scopes);
	free(b->sets);
	profile_free(b->profile);
}

/* The first of those that count CPU time; any others go by their names. */
static u32 find_cpu(const struct perfread_gather *g, const struct perfread_events *events)
{
	u32 first = 0;

	while (first < events->count && first < g->event_cap &&
	       (!perfread_event_is_time(&events->at[first]) || !g->events[first].count))
		first++;
	return first;
}

static int build_init(struct build *b)
{
	const struct perfread_gather *g = b->gather;

	arena_init(&b->arena, (size_t)1 << 30);
	interner_init(&b->set_keys, &b->arena, PERFREAD_TABLE_MAX);
	b->profile = profile_new();
	b->mappings = calloc(g->system->regions.count + 1, sizeof(*b->mappings));
	b->locations = calloc(g->frames.count + 1, sizeof(*b->locations));
	b->stacks = calloc(g->stacks.count + 1, sizeof(*b->stacks));
	b->scopes = calloc(g->system->program_count, sizeof(*b->scopes));
	if (!b->profile || !b->mappings || !b->locations || !b->stacks || !b->scopes)
		return -ENOMEM;
	b->cpu_event = find_cpu(g, b->events);
	b->native = profile_add_attribute_string(b->profile, "profile.frame.type", "native");
	b->kernel = profile_add_attribute_string(b->profile, "profile.frame.type", "kernel");
	return profile_err(b->profile);
}

/* ---- Frames ---------------------------------------------------------------- */

static u32 build_mapping(struct build *b, u32 number)
{
	const struct perfread_system *system = b->gather->system;
	const struct perfread_region *region = perfread_system_region(system, number);
	const struct perfread_object *file = perfread_system_file(system, region->file);
	struct profile_mapping mapping = { .start_va = region->offset, .limit_va = region->offset + region->bytes };
	char hex[2 * PERFDATA_BUILD_ID_MAX + 1] = "";
	u8 id[PERFDATA_BUILD_ID_MAX];
	u32 id_bytes, attribute;

	if (file->kind == PERFREAD_SYMBOL)
		mapping = (struct profile_mapping){ .filename = profile_add_cstring(b->profile, "[bpf]") };
	else
		mapping.filename = profile_add_cstring(b->profile, perfread_system_text(system, file->path));
	if (file->kind == PERFREAD_FILE)
		mapping.file_offset = region->offset;
	id_bytes = file->kind == PERFREAD_SYMBOL ? 0 : perfread_system_build_id(system, file, id);
	if (id_bytes) {
		hex_write(id, id_bytes, hex);
		attribute = profile_add_attribute_string(b->profile, "process.executable.build_id.gnu", hex);
		mapping.attributes = (struct indices){ &attribute, 1 };
	}
	return profile_add_mapping(b->profile, &mapping);
}

static u32 region_kind(const struct perfread_system *system, u32 region)
{
	return perfread_system_file(system, perfread_system_region(system, region)->file)->kind;
}

/* The name that the file itself has for what is there. */
static const char *symbol_of(const struct perfread_system *system, u32 region)
{
	const struct perfread_object *file =
		region ? perfread_system_file(system, perfread_system_region(system, region)->file) : NULL;

	if (!file || file->kind < PERFREAD_SYMBOL)
		return NULL;
	return perfread_system_text(system, file->path);
}

static u32 build_location(struct build *b, const struct perfread_frame *frame)
{
	const char *symbol = symbol_of(b->gather->system, frame->region);
	struct profile_location location = { .address = frame->address };
	struct profile_line line = { 0 };
	u32 type = frame->space == PERFREAD_KERNEL_SPACE ? b->kernel : b->native;
	u32 kind = frame->region ? region_kind(b->gather->system, frame->region) : PERFREAD_NAME;
	bool is_place = kind <= PERFREAD_SYMBOL;

	if (is_place) {
		if (!b->mappings[frame->region])
			b->mappings[frame->region] = build_mapping(b, frame->region);
		location.mapping = b->mappings[frame->region];
	}
	if (symbol) {
		line.function = profile_add_function(b->profile, &(struct profile_function){
			.name = profile_add_cstring(b->profile, symbol) });
		location.lines = &line;
		location.line_count = 1;
	}
	/* Where a name alone stands means nothing. */
	if (symbol && !is_place)
		location.address = 0;
	if (!symbol || kind != PERFREAD_NAME)
		location.attributes = (struct indices){ &type, 1 };
	return profile_add_location(b->profile, &location);
}

static u32 build_stack(struct build *b, u32 number)
{
	const struct interner_entry *stack = interner_get(&b->gather->stacks, number);
	const u32 *frames = stack->at;
	u32 count = stack->len / sizeof(*frames);

	if (array_reserve(&b->scratch, &b->scratch_cap, count + 1, sizeof(*b->scratch)) < 0)
		return 0;
	for (u32 i = 0; i < count; i++) {
		u32 frame = frames[i];

		if (!b->locations[frame])
			b->locations[frame] = build_location(b, interner_get(&b->gather->frames, frame)->at);
		b->scratch[i] = b->locations[frame];
	}
	return count ? profile_add_stack(b->profile, b->scratch, count) : 0;
}

/* ---- Processes and events -------------------------------------------------- */

static struct keyvalue text_attribute(const char *key, const char *value)
{
	return (struct keyvalue){ .key = { key, (u32)strlen(key) },
				  .value = { .kind = ANY_STRING, .string = { value, (u32)strlen(value) } } };
}

/* OpenTelemetry's names. */
static const char *arch_name(const char *arch)
{
	return !strcmp(arch, "x86_64") ? "amd64" : !strcmp(arch, "aarch64") ? "arm64" : arch;
}

static int build_program(struct build *b, u32 number)
{
	const struct perfread_program *program = &b->gather->system->programs[number];
	const struct perfread_about *about = b->gather->about;
	struct profile_resource *resource;
	struct keyvalue attributes[4];
	u32 count = 0;

	attributes[count++] = (struct keyvalue){ STR("process.pid"),
						 { .kind = ANY_INT, .integer = (s32)program->pid } };
	if (program->name)
		attributes[count++] = text_attribute("process.executable.name",
						     perfread_system_text(b->gather->system, program->name));
	if (*about->host)
		attributes[count++] = text_attribute("host.name", about->host);
	if (*about->arch)
		attributes[count++] = text_attribute("host.arch", arch_name(about->arch));
	resource = profile_add_resource(b->profile, attributes, count);
	if (!resource)
		return profile_err(b->profile);
	resource->schema_url = profile_copy_str(b->profile, SCHEMA_URL, strlen(SCHEMA_URL));
	return profile_add_scope(b->profile, resource) ? 0 : profile_err(b->profile);
}

/* All resources first: adding one moves the others. */
static int build_programs(struct build *b)
{
	int r = 0;

	for (u32 i = 1; i < b->gather->system->program_count && r == 0; i++)
		r = build_program(b, i);
	for (u32 i = 1; i < b->gather->system->program_count && r == 0; i++) {
		b->scopes[i] = &b->profile->resources.at[i - 1].scopes[0];
		b->scopes[i]->name = profile_copy_str(b->profile, "perf", 4);
	}
	return r;
}

/* Do values of the event count periods, or are they the periods? */
static bool counts_periods(const struct build *b, u32 event)
{
	return event == b->cpu_event && !b->gather->events[event].varies;
}

static struct profile_type add_type(struct build *b, const char *type, const char *unit)
{
	return (struct profile_type){ profile_add_cstring(b->profile, type), profile_add_cstring(b->profile, unit) };
}

static void build_types(struct build *b, struct profile_set *set, u32 number)
{
	const struct perfread_event *event = &b->events->at[number];
	const struct perfread_event_sum *sum = &b->gather->events[number];
	const struct kind *cpu = kind_list[KIND_CPU];
	char name[PERFREAD_EVENT_NAME], *unit;

	perfread_event_name(event, name);
	if (number == b->cpu_event) {
		profile_set_describe(b->profile, set, cpu, sum->varies ? 0 : sum->period);
		if (sum->varies)
			set->sample_type = set->period_type;
		return;
	}
	/* wick writes what perf has no event for as output of a BPF program, with its unit in the name. */
	unit = perfread_event_is_output(event) ? strrchr(name, ':') : NULL;
	if (unit)
		*unit++ = '\0';
	set->sample_type = add_type(b, name, unit ? unit : perfread_event_is_time(event) ? "nanoseconds" : "count");
	if (!sum->differs && !perfread_event_is_output(event)) {
		set->period_type = set->sample_type;
		set->period = sum->period;
	}
}

/* The set of a program and an event; moves when the program gets another. */
static struct profile_set *build_set(struct build *b, const struct perfread_sample_key *key)
{
	const struct perfread_gather *g = b->gather;
	struct profile_scope *scope = b->scopes[key->program];
	u32 set_key[2] = { key->program, key->event };
	bool is_new;
	u32 number = interner_add(&b->set_keys, set_key, sizeof(set_key), &is_new);
	struct profile_set *set;

	if (number == INTERNER_NONE || array_reserve(&b->sets, &b->set_cap, number + 1, sizeof(*b->sets)) < 0)
		return NULL;
	if (!is_new)
		return &scope->sets[b->sets[number]];
	set = profile_add_set(b->profile, scope);
	if (!set)
		return NULL;
	b->sets[number] = scope->set_count - 1;
	build_types(b, set, key->event);
	if (g->first_ns) {
		set->time_unix_ns = g->first_ns + (u64)b->offset_ns;
		set->duration_ns = g->last_ns - g->first_ns + 1;	/* the last one is within */
	}
	return set;
}

/* ---- Samples --------------------------------------------------------------- */

/* Counts, then places: the times of each sample end up side by side, in order. */
static int build_ticks(struct build *b)
{
	const struct perfread_gather *g = b->gather;

	b->first_tick = calloc((size_t)g->samples.count + 2, sizeof(*b->first_tick));
	b->times = calloc((size_t)g->tick_count + 1, sizeof(*b->times));
	b->periods = calloc((size_t)g->tick_count + 1, sizeof(*b->periods));
	if (!b->first_tick || !b->times || !b->periods)
		return -ENOMEM;
	for (u32 i = 0; i < g->tick_count; i++)
		b->first_tick[g->ticks[i].sample + 2]++;
	for (u32 i = 2; i < g->samples.count + 2; i++)
		b->first_tick[i] += b->first_tick[i - 1];
	for (u32 i = 0; i < g->tick_count; i++) {
		u32 at = b->first_tick[g->ticks[i].sample + 1]++;

		b->times[at] = g->ticks[i].time_ns + (u64)b->offset_ns;
		b->periods[at] = g->ticks[i].period;
	}
	return 0;
}

static struct indices build_attributes(struct build *b, const struct perfread_sample_key *key)
{
	u32 attributes[3], count = 0;

	if (key->tid != PERFREAD_NO_NUMBER)
		attributes[count++] = profile_add_attribute_int(b->profile, "thread.id", key->tid);
	if (key->name)
		attributes[count++] = profile_add_attribute_string(b->profile, "thread.name",
								   perfread_system_text(b->gather->system, key->name));
	if (key->cpu != PERFREAD_NO_NUMBER)
		attributes[count++] = profile_add_attribute_int(b->profile, "cpu.logical_number", key->cpu);
	return profile_copy_indices(b->profile, attributes, count);
}

static int build_sample(struct build *b, u32 number)
{
	const struct perfread_gather *g = b->gather;
	const struct perfread_sample_key *key = interner_get(&g->samples, number)->at;
	struct profile_set *set = build_set(b, key);
	struct profile_sample *sample = set ? profile_add_sample(b->profile, set) : NULL;
	const struct perfread_event_sum *sum = &g->events[key->event];
	bool counts = counts_periods(b, key->event);
	s64 divisor = counts ? sum->period : 1, value;

	if (!sample)
		return profile_err(b->profile) ? profile_err(b->profile) : -ENOMEM;
	if (!b->stacks[key->stack])
		b->stacks[key->stack] = build_stack(b, key->stack);
	sample->stack = b->stacks[key->stack];
	sample->attributes = build_attributes(b, key);
	if (g->lacks_times) {
		value = g->sums[number].periods / divisor;
		sample->value_count = 1;
		sample->values = profile_copy(b->profile, &value, sizeof(value));
		return profile_err(b->profile);
	}
	sample->time_count = b->first_tick[number + 1] - b->first_tick[number];
	sample->times_unix_ns = profile_copy(b->profile, b->times + b->first_tick[number],
					     sample->time_count * sizeof(*b->times));
	for (u32 i = b->first_tick[number]; i < b->first_tick[number + 1]; i++)
		b->periods[i] /= divisor;
	if (!counts || sum->differs) {
		sample->value_count = sample->time_count;
		sample->values = profile_copy(b->profile, b->periods + b->first_tick[number],
					      sample->value_count * sizeof(*b->periods));
	}
	return profile_err(b->profile);
}

int perfread_build(const struct perfread_gather *gather, const struct perfread_events *events, s64 offset_ns,
		   struct profile **ret_profile)
{
	_cleanup_(build_done) struct build b = { .gather = gather, .events = events, .offset_ns = offset_ns };
	int r = build_init(&b);

	if (r == 0)
		r = build_programs(&b);
	if (r == 0)
		r = build_ticks(&b);
	for (u32 i = 0; i < gather->samples.count && r == 0; i++)
		r = build_sample(&b, i);
	if (r < 0)
		return r;
	*ret_profile = TAKE(b.profile);
	return 0;
}
