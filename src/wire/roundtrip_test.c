// SPDX-License-Identifier: Apache-2.0
/*
 * Random profiles through every format that can be read back: what comes out
 * is what the loss table says is left (forget_test.h), no more and no less.
 */
#include <stdint.h>

#include "profile/dump_test.h"
#include "profile/nameless.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/forget_test.h"
#include "wire/format.h"
#include "wire/pprof/pprof.h"

#define BYTES_MAX ((size_t)256 << 20)
#define SEEDS 12
#define HUGE_NAME_BYTES 70000

/* ---- Profiles with everything that is odd ------------------------------------- */

struct wild {
	struct profile *p;
	u64 state;
};

static u32 roll(struct wild *w, u32 limit)
{
	w->state = w->state * 6364136223846793005 + 1442695040888963407;
	return (u32)(w->state >> 33) % limit;
}

static s64 wild_number(struct wild *w)
{
	static const s64 numbers[] = { 0, 1, -1, 7, -300, 1 << 20, INT64_MAX, INT64_MIN, -4000000000 };

	return numbers[roll(w, sizeof(numbers) / sizeof(*numbers))];
}

static struct str wild_text(struct wild *w)
{
	static const struct str texts[] = {
		STR(""), STR("plain"), STR("a;b\nc"), STR("caf\xc3\xa9"), STR("bad \xff\xc3 bytes"), STR("x_[k]"),
		STR("#hash"), STR("ends 5"), STR(" spaces "), STR("_[k]"), STR("nul\0inside"),
		STR("\"quoted\" \\ \x7f"), STR("\xf0\x9f\x98\x80"),
	};

	return texts[roll(w, sizeof(texts) / sizeof(*texts))];
}

static u32 wild_string(struct wild *w)
{
	struct str s = wild_text(w);
	u32 string;
	char *large;

	if (roll(w, 300))
		return profile_add_string(w->p, s.at, s.len);
	large = malloc(HUGE_NAME_BYTES);
	memset(large, 'a' + (int)roll(w, 26), HUGE_NAME_BYTES);
	string = profile_add_string(w->p, large, HUGE_NAME_BYTES);
	free(large);
	return string;
}

static struct any wild_any(struct wild *w, int depth)
{
	struct any v = { .kind = (int)roll(w, depth ? 8 : 5), .count = 0 }, array[2];
	struct keyvalue map[2];

	switch (v.kind) {
	case ANY_NONE:
		break;
	case ANY_STRING:
	case ANY_BYTES:
		v.string = wild_text(w);
		break;
	case ANY_BOOL:
		v.boolean = roll(w, 2);
		break;
	case ANY_INT:
		v.integer = wild_number(w);
		break;
	case ANY_DOUBLE:
		v.real = (double)wild_number(w) / 7;
		break;
	case ANY_ARRAY:
		for (v.count = 0; v.count < roll(w, 3); v.count++)
			array[v.count] = wild_any(w, depth - 1);
		v.array = array;
		break;
	case ANY_MAP:
		for (v.count = 0; v.count < roll(w, 3); v.count++)
			map[v.count] = (struct keyvalue){ wild_text(w), wild_any(w, depth - 1) };
		v.map = map;
		break;
	}
	return profile_copy_any(w->p, &v);
}

static u32 wild_attribute(struct wild *w, const char *key)
{
	struct profile_attribute a = { .key = profile_add_cstring(w->p, key), .value = wild_any(w, 2) };

	if (!roll(w, 3))
		a.unit = profile_add_cstring(w->p, roll(w, 2) ? "bytes" : "nano\xffseconds");
	return profile_add_attribute(w->p, &a);
}

/* Some of several keys, each at most once. */
static struct indices wild_attributes(struct wild *w, const char *const *keys)
{
	u32 list[8], count = 0;

	for (; *keys; keys++)
		if (roll(w, 2))
			list[count++] = wild_attribute(w, *keys);
	return profile_copy_indices(w->p, list, count);
}

static u32 wild_mapping(struct wild *w)
{
	static const char *const keys[] = { "other", "pprof.mapping.has_functions", NULL };
	static const char *const ids[] = { PPROF_BUILD_ID_GNU, PPROF_BUILD_ID_GO, PPROF_BUILD_ID_HTLHASH };
	static const char *const values[] = { "00ff", "a/b/c", "", "bad \xff" };
	struct indices more = wild_attributes(w, keys);
	u32 list[16], count = 0;

	for (int i = 0; i < 3; i++)
		if (roll(w, 2))
			list[count++] = profile_add_attribute_string(w->p, ids[i], values[roll(w, 4)]);
	for (u32 i = 0; i < more.count; i++)
		list[count++] = more.at[i];
	return profile_add_mapping(w->p, &(struct profile_mapping){
		.start_va = (u64)wild_number(w), .limit_va = (u64)wild_number(w), .file_offset = (u64)wild_number(w),
		.filename = roll(w, 3) ? wild_string(w) : profile_add_cstring(w->p, "[kernel.kallsyms]"),
		.attributes = profile_copy_indices(w->p, list, count) });
}

static u32 wild_function(struct wild *w)
{
	if (!roll(w, 5))
		return 0;
	return profile_add_function(w->p, &(struct profile_function){
		.name = wild_string(w), .system_name = wild_string(w), .filename = wild_string(w),
		.start_line = wild_number(w) });
}

static u32 wild_location(struct wild *w)
{
	static const char *const keys[] = { "other", "profile.frame.type", PPROF_IS_FOLDED, NULL };
	struct profile_line lines[3] = { { 0 } };
	struct profile_location l = { .address = (u64)wild_number(w), .lines = lines, .line_count = roll(w, 4) };
	u32 kernel = profile_add_attribute_string(w->p, "profile.frame.type", "kernel");

	if (!roll(w, 6))
		return 0;
	l.mapping = roll(w, 3) ? wild_mapping(w) : 0;
	for (u32 i = 0; i < l.line_count; i++)
		lines[i] = (struct profile_line){ .function = wild_function(w), .line = wild_number(w),
						  .column = wild_number(w) };
	l.attributes = roll(w, 3) ? wild_attributes(w, keys) : (struct indices){ &kernel, 1 };
	return profile_add_location(w->p, &l);
}

static u32 wild_stack(struct wild *w)
{
	u32 stack[6], count = roll(w, 7);

	for (u32 i = 0; i < count; i++)
		stack[i] = wild_location(w);
	return profile_add_stack(w->p, stack, count);
}

/* Of all shapes the model has, also one value for many times, which may count them. */
static void wild_sample(struct wild *w, struct profile_sample *s)
{
	static const char *const keys[] = { "thread.name", "cpu.logical_number", "process.inner", "memory",
					    "process.context.label.x", NULL };
	u32 shape = roll(w, 4), count = 1 + roll(w, 4);
	s64 values[4] = { shape == 3 && roll(w, 2) ? (s64)count : wild_number(w) };
	u64 times[4];

	for (u32 i = 0; i < 4; i++) {
		values[i] = i ? wild_number(w) : values[0];
		times[i] = (u64)wild_number(w);
	}
	s->stack = wild_stack(w);
	s->attributes = wild_attributes(w, keys);
	s->link = roll(w, 3) ? 0 : profile_add_link(w->p, &(struct profile_link){ .trace_id = { 1 + roll(w, 3) },
										   .span_id = { roll(w, 2) } });
	s->value_count = shape == 0 ? 0 : shape == 1 ? count : 1;
	s->time_count = shape == 2 ? 0 : count;
	s->values = profile_copy(w->p, values, s->value_count * sizeof(*values));
	s->times_unix_ns = profile_copy(w->p, times, s->time_count * sizeof(*times));
}

static void wild_set(struct wild *w, struct profile_set *set)
{
	static const char *const keys[] = { PPROF_COMMENT, PPROF_DOC_URL, PPROF_DROP_FRAMES, PPROF_KEEP_FRAMES,
					    "other", NULL };
	static const char *const types[] = { "samples", "cpu", "alloc\xff", "" };
	static const char *const units[] = { "count", "nanoseconds" };

	set->sample_type = (struct profile_type){ profile_add_cstring(w->p, types[roll(w, 4)]),
						  profile_add_cstring(w->p, units[roll(w, 2)]) };
	if (roll(w, 2)) {
		set->period = wild_number(w);
		set->period_type = (struct profile_type){ profile_add_cstring(w->p, types[roll(w, 4)]),
							  profile_add_cstring(w->p, units[roll(w, 2)]) };
	}
	set->time_unix_ns = 1700000000000000000 + roll(w, 1000);
	set->duration_ns = roll(w, 1000);
	set->attributes = wild_attributes(w, keys);
	for (u32 i = roll(w, 12); i > 0; i--)
		wild_sample(w, profile_add_sample(w->p, set));
}

static void wild_resource(struct wild *w)
{
	static const char *const keys[] = { "process.executable.name", "process.pid", "host.name", "custom",
					    "k8s.pod" };
	struct profile_resource *resource;
	struct profile_scope *scope;
	struct keyvalue kv[5];
	u32 count = 0;

	for (int i = 0; i < 5; i++)
		if (roll(w, 2))
			kv[count++] = (struct keyvalue){ { keys[i], (u32)strlen(keys[i]) }, wild_any(w, 2) };
	resource = profile_add_resource(w->p, kv, count);
	scope = profile_add_scope(w->p, resource);
	kv[0] = (struct keyvalue){ STR(PPROF_DEFAULT_TYPE), wild_any(w, 1) };
	scope->attribute_count = roll(w, 2);
	scope->attributes = profile_copy_keyvalues(w->p, kv, scope->attribute_count);
	for (u32 i = 1 + roll(w, 3); i > 0; i--)
		wild_set(w, profile_add_set(w->p, scope));
}

/* The second of them starts from the plainer kind, which is large and uses what this one does not. */
static struct profile *wild_profile(unsigned int seed)
{
	struct wild w = { seed == 1 ? profile_random(seed, 0) : profile_new(), seed + 1 };

	for (u32 i = 1 + roll(&w, 4); i > 0; i--)
		wild_resource(&w);
	EQ(profile_err(w.p), 0);
	EQ(profile_check(w.p), 0);
	return w.p;
}

/* ---- Through a format and back ------------------------------------------------ */

static char *totals_of(const struct profile *p)
{
	return profile_totals(&p, 1);
}

static const struct {
	const char *name;
	struct profile *(*forget)(const struct profile *profile);
	char *(*text)(const struct profile *p);		/* what must be equal: all, or sums for each kind of sample */
} trips[] = {
	{ "otlp", forget_otlp, profile_dump },
	{ "json", forget_otlp, profile_dump },
	{ "pprof", forget_pprof, totals_of },
	{ "folded", forget_folded, totals_of },
};
#define TRIPS (sizeof(trips) / sizeof(*trips))

static struct profile *through(const struct format_ops *format, const struct profile *p)
{
	struct profile *back = NULL;
	struct buf b;

	buf_init(&b, BYTES_MAX);
	EQ(format->encode(p, &b), 0);
	EQ(format->decode(b.data, b.len, &back), 0);
	buf_done(&b);
	return back;
}

/* The place where they differ first: whole texts are too long to be looked at. */
static void same_text(const char *format, unsigned int seed, const char *got, const char *want)
{
	size_t at = 0, start;

	while (got[at] && got[at] == want[at])
		at++;
	if (got[at] == want[at])
		return;
	start = at > 200 ? at - 200 : 0;
	FAIL("%s, seed %u: differs at %zu\n--- got\n%.400s\n--- want\n%.400s", format, seed, at, got + start,
	     want + start);
}

static void round_trip(size_t trip, unsigned int seed)
{
	_cleanup_(profile_freep) struct profile *p = wild_profile(seed), *left = trips[trip].forget(p),
					        *back = through(format_by_name(trips[trip].name), p);
	char *want = trips[trip].text(left), *got = trips[trip].text(back);

	same_text(trips[trip].name, seed, got, want);
	free(want);
	free(got);
}

TEST(roundtrip_loses_what_the_loss_table_says_and_nothing_else)
{
	for (size_t trip = 0; trip < TRIPS; trip++)
		for (unsigned int seed = 0; seed < SEEDS; seed++)
			round_trip(trip, seed);
}

/*
 * What is lost is lost at once. Two trips, since pprof has one period for all sets, which gives ticks that had none the
 * time they stand for.
 */
TEST(roundtrip_changes_nothing_once_it_has_lost_what_it_does)
{
	for (size_t trip = 0; trip < TRIPS; trip++) {
		for (unsigned int seed = 0; seed < SEEDS; seed++) {
			const struct format_ops *format = format_by_name(trips[trip].name);
			_cleanup_(profile_freep) struct profile *p = wild_profile(seed), *once = through(format, p),
								*twice = through(format, once),
								*thrice = through(format, twice);
			char *want = trips[trip].text(twice), *got = trips[trip].text(thrice);

			same_text(trips[trip].name, seed, got, want);
			free(want);
			free(got);
		}
	}
}

/* ---- perf.data ----------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Folded stacks, sorted. */
static char *folded_text(const struct profile *p)
{
	char *lines[4096], *text, *rest;
	struct buf folded, sorted;
	u32 count = 0;

	buf_init(&folded, BYTES_MAX);
	buf_init(&sorted, BYTES_MAX);
	EQ(format_by_name("folded")->encode(p, &folded), 0);
	buf_addf(&folded, "%s", "");
	text = rest = folded.data;
	while ((lines[count] = strsep(&rest, "\n")))
		OK(++count < 4096);
	qsort(lines, count, sizeof(*lines), compare_lines);
	for (u32 i = 0; i < count; i++)
		buf_addf(&sorted, "%s\n", lines[i]);
	free(text);
	EQ(buf_err(&sorted), 0);
	return sorted.data;
}

/* Frames have names: addresses without one are kept only where there is a file, see perfread_test.c. */
TEST(roundtrip_through_perf_data_keeps_processes_stacks_and_weights)
{
	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		_cleanup_(profile_freep) struct profile *p = profile_random(seed, 1), *left = NULL, *back = NULL;
		char *want, *got;

		EQ(nameless_name_all(p), 0);
		left = forget_perfdata(p);
		back = through(format_by_name("perfdata"), p);
		want = folded_text(left);
		got = folded_text(back);
		same_text("perfdata", seed, got, want);
		free(want);
		free(got);
	}
}

/* A format that is read must be in one of the tests above. */
TEST(roundtrip_covers_every_format_that_is_read)
{
	for (const struct format_ops *const *format = formats; *format; format++) {
		bool covered = !(*format)->decode || !strcmp((*format)->name, "perfdata");

		for (size_t trip = 0; trip < TRIPS; trip++)
			covered |= !strcmp(trips[trip].name, (*format)->name);
		if (!covered)
			FAIL("%s is read, but no test says what it forgets", (*format)->name);
	}
}
