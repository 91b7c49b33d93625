// SPDX-License-Identifier: Apache-2.0
#include "store/ingest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "kinds/waits.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "store/block.h"
#include "store/dict.h"
#include "store/keep_labels.h"
#include "store/sqlite.h"

#define FUTURE_NS 300000000000ull	/* clocks of hosts differ by seconds, not by more than this */
#define UNKNOWN UINT32_MAX

struct ingest {
	const struct profile *profile;
	const struct store_ingest_options *options;
	struct dict *dict;
	struct names *names;
	struct block_rows *rows;
	struct keep_labels labels;
	struct ingest_result result;
	u32 *nodes;		/* by stack; UNKNOWN until it is needed */
	u32 *strings;		/* by string of the profile */
	u32 *exes;		/* by mapping */
	u32 *locations;		/* by location: where its frames begin in frames */
	u32 *frames;		/* of locations, outermost first */
	u32 frame_count, frame_cap;
	u32 *path, path_cap;	/* of the stack that is looked at */
};

static void ingest_done(struct ingest *in)
{
	free(in->nodes);
	free(in->strings);
	free(in->exes);
	free(in->locations);
	free(in->frames);
	free(in->path);
	keep_labels_done(&in->labels);
}

/* An array of UNKNOWNs. */
static u32 *unknowns(u32 count)
{
	u32 *at = reallocarray(NULL, (size_t)count + 1, sizeof(*at));

	if (at)
		memset(at, 0xff, ((size_t)count + 1) * sizeof(*at));
	return at;
}

static u32 string_of(struct ingest *in, u32 number)
{
	if (in->strings[number] == UNKNOWN) {
		struct str s = in->profile->strings.at[number];

		in->strings[number] = dict_add_string(in->dict, s.at, s.len);
	}
	return in->strings[number];
}

static u32 add_text(struct ingest *in, const struct any *value)
{
	struct str s = any_text(value);
	char number[24];

	if (value && value->kind == ANY_INT) {
		int len = snprintf(number, sizeof(number), "%lld", value->integer);

		return dict_add_string(in->dict, number, (size_t)len);
	}
	return s.len ? dict_add_string(in->dict, s.at, s.len) : 0;
}

/* ---- Stacks ---------------------------------------------------------------------- */

/* Agents that name a program by the last part of its path tell the whole one with its process. */
static void note_path(struct ingest *in, const struct dict_exe *exe)
{
	struct str path = dict_string(in->dict, exe->path), whole;
	u32 resource = 0;

	if (!exe->build_id || !path.len)
		return;
	if (path.at[0] != '/' && profile_executable_path(in->profile, path, &resource, &whole))
		path = whole;
	names_note_path(in->names, dict_string(in->dict, exe->build_id), path);
}

static u32 exe_of(struct ingest *in, u32 mapping)
{
	static const char *const ids[] = { "process.executable.build_id.gnu", "process.executable.build_id.go",
					   "process.executable.build_id.htlhash" };
	const struct profile_mapping *m = &in->profile->mappings.at[mapping];
	struct dict_exe exe = { 0 };

	if (in->exes[mapping] != UNKNOWN)
		return in->exes[mapping];
	exe.path = string_of(in, m->filename);
	for (u32 i = 0; i < sizeof(ids) / sizeof(ids[0]) && !exe.build_id; i++)
		exe.build_id = add_text(in, profile_attribute_find(in->profile, m->attributes, ids[i]));
	note_path(in, &exe);
	in->exes[mapping] = dict_add_exe(in->dict, &exe);
	return in->exes[mapping];
}

/*
 * What has no name, or only one that an agent made of its place, is kept by where its function starts if that is known,
 * else by its address: its name may come later.
 */
static void use_place(struct ingest *in, struct dict_frame *frame, u64 address)
{
	const struct dict_exe *exe = dict_exe(in->dict, frame->exe);

	frame->name = frame->file = frame->line = 0;
	frame->address = address;
	if (exe->build_id)
		frame->address = names_want(in->names, dict_string(in->dict, exe->build_id),
					    dict_string(in->dict, exe->path), address);
}

/* Frames are functions by name and file: senders do not say where those start. */
static u32 add_frame(struct ingest *in, const struct profile_location *location, const struct profile_line *line,
		     bool is_inline)
{
	struct dict_frame frame = {
		.exe = exe_of(in, location->mapping),
		.type = add_text(in, profile_attribute_find(in->profile, location->attributes, "profile.frame.type")),
		.is_inline = is_inline,
	};
	u64 address;

	if (line) {
		const struct profile_function *f = &in->profile->functions.at[line->function];

		frame.name = string_of(in, f->name ? f->name : f->system_name);
		frame.file = string_of(in, f->filename);
		frame.line = f->start_line > 0 && f->start_line < UINT32_MAX ? (u32)f->start_line : 0;
	}
	if (!frame.name)
		frame.address = location->address;
	if (!is_inline && store_frame_place(in->dict, &frame, &address))
		use_place(in, &frame, address);
	return dict_add_frame(in->dict, &frame);
}

/* Looked up once: a location stands in many stacks. */
static int add_frames(struct ingest *in, u32 number)
{
	const struct profile_location *location = &in->profile->locations.at[number];
	u32 count = location->line_count ? location->line_count : 1;

	if (count > UINT32_MAX - in->frame_count ||
	    array_reserve(&in->frames, &in->frame_cap, in->frame_count + count, sizeof(*in->frames)) < 0)
		return -ENOMEM;
	in->locations[number] = in->frame_count;
	if (!location->line_count)
		in->frames[in->frame_count++] = add_frame(in, location, NULL, false);
	for (u32 i = location->line_count; i-- > 0;)
		in->frames[in->frame_count++] =
			add_frame(in, location, &location->lines[i], i + 1 < location->line_count);
	return 0;
}

/* The path from the outermost frame to the leaf. */
static int add_path(struct ingest *in, struct indices locations, u32 *ret_node)
{
	u32 count = 0;

	for (u32 i = locations.count; i-- > 0;) {
		u32 number = locations.at[i], lines = in->profile->locations.at[number].line_count;
		int r = in->locations[number] == UNKNOWN ? add_frames(in, number) : 0;

		lines = lines ? lines : 1;
		if (r == 0 && lines > UINT32_MAX - count)
			r = -E2BIG;
		if (r == 0)
			r = array_reserve(&in->path, &in->path_cap, count + lines, sizeof(*in->path));
		if (r < 0)
			return r;
		memcpy(in->path + count, in->frames + in->locations[number], lines * sizeof(*in->path));
		count += lines;
	}
	*ret_node = dict_add_path(in->dict, in->path, count);
	return 0;
}

static int node_of(struct ingest *in, u32 stack, u32 *ret_node)
{
	int r = in->nodes[stack] == UNKNOWN ? add_path(in, in->profile->stacks.at[stack], &in->nodes[stack]) : 0;

	*ret_node = in->nodes[stack];
	return r;
}

/* ---- Rows -------------------------------------------------------------------------- */

/* Hosts whose clock is off by years would make blocks that no range finds, and no retention drops. */
static u64 checked_time(struct ingest *in, u64 time_ns)
{
	const struct store_ingest_options *o = in->options;

	if (time_ns <= o->now_ns + FUTURE_NS && time_ns + o->age_max_ns >= o->now_ns)
		return time_ns;
	in->result.times_wrong++;
	return o->now_ns;
}

static int add_row(struct ingest *in, const struct block_row *row, u64 time_ns)
{
	struct block_row copy = *row;

	copy.time_ns = checked_time(in, time_ns);
	if (!in->result.start_ns || copy.time_ns < in->result.start_ns)
		in->result.start_ns = copy.time_ns;
	if (copy.time_ns > in->result.end_ns)
		in->result.end_ns = copy.time_ns;
	return block_rows_add(in->rows, &copy);
}

static u32 small_number(const struct any *value)
{
	return value && value->kind == ANY_INT && value->integer >= 0 && value->integer < UINT32_MAX ?
		       (u32)value->integer :
		       UINT32_MAX;
}

static int describe_row(struct ingest *in, const struct profile_sample *sample, struct block_row *row)
{
	const struct profile *p = in->profile;
	struct block_thread thread = { 0 };
	struct indices locations = p->stacks.at[sample->stack];
	u32 tid = small_number(profile_attribute_find(p, sample->attributes, "thread.id"));
	u32 cpu = small_number(profile_attribute_find(p, sample->attributes, "cpu.logical_number")), labels = 0;
	int r = 0;

	thread.tid = tid == UINT32_MAX ? 0 : tid;
	thread.name = add_text(in, profile_attribute_find(p, sample->attributes, "thread.name"));
	row->cpu = cpu < UINT16_MAX ? (u16)(cpu + 1) : BLOCK_NO_CPU;
	if (thread.tid || thread.name)
		r = block_rows_thread(in->rows, thread, &row->thread);
	if (r == 0 && sample->link) {
		struct block_link link;

		memcpy(link.trace_id, p->links.at[sample->link].trace_id, sizeof(link.trace_id));
		memcpy(link.span_id, p->links.at[sample->link].span_id, sizeof(link.span_id));
		r = block_rows_link(in->rows, &link, &row->link);
	}
	if (locations.count) {
		const struct profile_location *leaf = &p->locations.at[locations.at[0]];
		s64 line = leaf->line_count ? leaf->lines[0].line : 0;

		row->address = leaf->address;
		row->line = line > 0 && line < UINT32_MAX ? (u32)line : 0;
	}
	if (r == 0)
		r = keep_labels_of(&in->labels, sample->attributes, &labels);
	row->labels = (u16)labels;
	return r;
}

static int add_sample(struct ingest *in, u32 series, const struct profile_set *set, const struct profile_sample *sample)
{
	struct block_row row = { .series = series };
	int r = node_of(in, sample->stack, &row.node);

	if (r == 0)
		r = describe_row(in, sample, &row);
	if (r < 0)
		return r;
	if (!sample->time_count || (sample->value_count && sample->value_count != sample->time_count)) {
		row.value = profile_sample_value(sample);
		return add_row(in, &row, sample->time_count ? sample->times_unix_ns[0] : set->time_unix_ns);
	}
	for (u32 i = 0; i < sample->time_count && r == 0; i++) {
		row.value = sample->value_count ? sample->values[i] : 1;
		r = add_row(in, &row, sample->times_unix_ns[i]);
	}
	return r;
}

/* It is not this machine's own, whoever sent it: a fleet that does not say would become one wrong host. */
static struct str host_of(const struct profile_resource *resource)
{
	struct str host = any_text(keyvalue_find(resource->attributes, resource->attribute_count, "host.name"));

	return host.len ? host : STR(PROFILE_HOST_UNKNOWN);
}

static u32 add_series(struct ingest *in, const struct profile_resource *resource, const struct profile_set *set,
		      enum wait_reason reason)
{
	const struct profile *p = in->profile;
	struct dict_series series = { 0 };
	struct str host = host_of(resource), wait = str_of(wait_reason_text(reason));

	for (u32 i = 0; i < STORE_SERIES_LABEL_COUNT; i++) {
		const char *attribute = store_label_attribute(i);

		if (*attribute)
			series.label[i] = add_text(in, keyvalue_find(resource->attributes, resource->attribute_count,
								     attribute));
	}
	series.label[STORE_HOST] = dict_add_string(in->dict, host.at, host.len);
	series.label[STORE_TYPE] = string_of(in, set->sample_type.type);
	series.label[STORE_UNIT] = string_of(in, set->sample_type.unit);
	if (profile_set_period_ns(p, set))
		series.label[STORE_PERIOD] =
			add_text(in, &(struct any){ .kind = ANY_INT, .integer = profile_set_period_ns(p, set) });
	if (reason != REASON_NONE)
		series.label[STORE_WAIT] = dict_add_string(in->dict, wait.at, wait.len);
	return dict_add_series(in->dict, &series);
}

/* Whoever sends may call reasons what he likes: those that nobody knows are "other", so that there are few series. */
static int add_set(struct ingest *in, const struct profile_resource *resource, const struct profile_set *set)
{
	u32 series[REASON_COUNT];
	int r = 0;

	memset(series, 0xff, sizeof(series));
	for (u32 i = 0; i < set->sample_count && r == 0; i++) {
		const struct profile_sample *sample = &set->samples[i];
		enum wait_reason reason = wait_reason_named(any_text(
			profile_attribute_find(in->profile, sample->attributes, "wait.reason")));

		if (series[reason] == UNKNOWN)
			series[reason] = add_series(in, resource, set, reason);
		r = add_sample(in, series[reason], set, sample);
	}
	return r;
}

static int add_resource(struct ingest *in, const struct profile_resource *resource)
{
	int r = 0;

	for (u32 s = 0; s < resource->scope_count; s++) {
		for (u32 i = 0; i < resource->scopes[s].set_count && r == 0; i++)
			r = add_set(in, resource, &resource->scopes[s].sets[i]);
	}
	return r;
}

u32 ingest_hosts(const struct profile *profile, struct str *ret_hosts)
{
	u32 count = 0;

	for (u32 i = 0; i < profile->resources.count; i++) {
		struct str host = host_of(&profile->resources.at[i]);
		u32 n = count;

		while (n > 0 && !str_equal(ret_hosts[n - 1], host))
			n--;
		if (n == 0 && count < INGEST_HOSTS_MAX)
			ret_hosts[count++] = host;
	}
	return count;
}

int ingest_rows(const struct profile *profile, struct str host, const struct store_ingest_options *options,
		struct dict *dict, struct names *names, struct block_rows *rows, struct ingest_result *ret_result)
{
	_cleanup_(ingest_done) struct ingest in = {
		.profile = profile,
		.options = options,
		.dict = dict,
		.names = names,
		.rows = rows,
		.nodes = unknowns(profile->stacks.count),
		.strings = unknowns(profile->strings.count),
		.exes = unknowns(profile->mappings.count),
		.locations = unknowns(profile->locations.count),
	};
	int r = 0;

	if (!in.nodes || !in.strings || !in.exes || !in.locations)
		return -ENOMEM;
	r = keep_labels_init(&in.labels, profile, options->labels, &rows->labels);
	for (u32 i = 0; i < profile->resources.count && r == 0; i++)
		if (str_equal(host_of(&profile->resources.at[i]), host))
			keep_labels_expect(&in.labels, &profile->resources.at[i]);
	for (u32 i = 0; i < profile->resources.count && r == 0; i++) {
		if (!str_equal(host_of(&profile->resources.at[i]), host))
			continue;
		keep_labels_begin(&in.labels);
		r = add_resource(&in, &profile->resources.at[i]);
	}
	in.result.labels_past_limit = in.labels.lost;
	if (r == 0)
		r = dict->err;
	if (r == 0)
		*ret_result = in.result;
	return r;
}
