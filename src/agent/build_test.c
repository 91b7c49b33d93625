// SPDX-License-Identifier: Apache-2.0
#include "agent/build.h"

#include "kinds/kind.h"
#include "lang/lang.h"
#include "profile/profile.h"
#include "symbol/symbolizer.h"
#include "test.h"
#include "trace/window.h"

static const struct build_options options = { .frequency_hz = 20 };

/* A window of one sample of kernel code, of which nothing is known. */
static struct window *one_sample_of(u8 kind, u64 value, u64 start_ns, u64 time_ns, u64 end_ns, u8 end)
{
	static const char description[] = "container.id=c\0process.environment_variable.LANG=de\0"
					  "process.environment_variable.EMPTY=";
	static const u64 kernel[] = { 0xffffffff81000000 };
	struct window *w = window_new(start_ns);
	struct window_process process = { .pid = 42, .comm = "x", .exe_path = "/bin/x", .command_line = "",
					  .description = description, .description_bytes = sizeof(description) };
	struct trace_record trace = { .time_ns = time_ns, .value = value, .pid = 42, .tid = 43,
				      .kernel_count = 1, .kind = kind, .comm = "x" };

	window_add(w, window_process(w, 1, &process), &trace, kernel, NULL, 0, end, NULL, NULL);
	w->end_ns = end_ns;
	return w;
}

static struct window *one_sample(u64 start_ns, u64 time_ns, u64 end_ns, u8 end)
{
	return one_sample_of(KIND_CPU, 1, start_ns, time_ns, end_ns, end);
}

static struct profile *build(struct window *w, const struct build_options *how)
{
	struct symbolizer *symbolizer;
	struct profile *profile;

	EQ(symbolizer_new(&(struct symbolizer_options){ 0 }, NULL, &symbolizer), 0);
	EQ(build_profile(w, symbolizer, how, &profile), 0);
	symbolizer_free(symbolizer);
	EQ(profile_check(profile), 0);
	return profile;
}

TEST(build_links_samples_to_the_request_that_their_thread_told)
{
	static const char keys[] = "root\0http.route";
	struct { struct request_record record; u8 attributes[12]; } words = {
		{ { 0xab, [15] = 1 }, { 0xcd }, 1, 0, 10 }, { 1, 2, '/', 'a', 0, 4, '1', '2', '3', '4' } };
	struct trace_record trace = { .value = 1, .kernel_count = 5, .request_words = 5, .comm = "x" };
	struct window *w = window_new(0);
	struct window_process process = { .pid = 42, .comm = "x", .exe_path = "", .command_line = "",
					  .request_keys = keys, .request_keys_bytes = sizeof(keys) };
	const struct profile_sample *sample;
	struct profile *p;
	u32 found = 0;

	window_add(w, window_process(w, 1, &process), &trace, (const u64 *)&words, NULL, 0, END_COMPLETE, NULL, NULL);
	p = build(w, &options);
	sample = &p->resources.at[0].scopes[0].sets[0].samples[0];
	EQ(p->links.at[sample->link].trace_id[0], 0xab);
	EQ(p->links.at[sample->link].span_id[0], 0xcd);
	for (u32 i = 0; i < sample->attributes.count; i++) {
		const struct profile_attribute *a = &p->attributes.at[sample->attributes.at[i]];

		found += str_is(p->strings.at[a->key], "http.route") && str_is(a->value.string, "/a");
		found += str_is(p->strings.at[a->key], "root") && str_is(a->value.string, "1234");
	}
	EQ(found, 2);
	profile_free(p);
	window_free(w);
}

static bool has_attribute(const struct profile *p, const struct profile_sample *sample, const char *key,
			  const char *value)
{
	for (u32 i = 0; i < sample->attributes.count; i++) {
		const struct profile_attribute *a = &p->attributes.at[sample->attributes.at[i]];

		if (str_is(p->strings.at[a->key], key) && str_is(a->value.string, value))
			return true;
	}
	return false;
}

TEST(build_gives_samples_the_labels_that_variables_of_their_thread_hold)
{
	struct { struct thread_label first; char text[8]; struct thread_label second, third; u64 value; } words = {
		{ 0, THREAD_LABEL_STRING, 4, 0 }, "acme", { 1, THREAD_LABEL_STRING, 0, 0 },
		{ 2, THREAD_LABEL_S32, 8, 0 }, 0xffffffff };
	struct trace_record trace = { .value = 1, .kernel_count = 5, .label_words = 5, .comm = "x" };
	const struct build_options labelled = { .frequency_hz = 20, .labels = { "tenant", "tenant", "job" } };
	struct window_process process = { .pid = 42, .comm = "x", .exe_path = "", .command_line = "" };
	struct window *w = window_new(0);
	const struct profile_sample *sample;
	struct profile *p;

	window_add(w, window_process(w, 1, &process), &trace, (const u64 *)&words, NULL, 0, END_COMPLETE, NULL, NULL);
	p = build(w, &labelled);
	sample = &p->resources.at[0].scopes[0].sets[0].samples[0];
	OK(has_attribute(p, sample, "tenant", "acme"));
	OK(!has_attribute(p, sample, "tenant", ""));	/* of one name the first */
	OK(has_attribute(p, sample, "job", "-1"));
	profile_free(p);
	window_free(w);
}

TEST(build_links_samples_to_the_request_that_labels_tell)
{
	static const struct window_label labels[] = {
		{ LANG_LABEL_PREFIX "trace_id", "ab0000000000000000000000000000cd" },
		{ LANG_LABEL_PREFIX "span_id", "0000000000000012" }, { LANG_LABEL_PREFIX "user", "x" } };

	for (u32 count = 1; count <= 3; count++) {
		struct trace_record trace = { .value = 1, .comm = "x" };
		struct window *w = window_new(0);
		struct window_process process = { .pid = 42, .comm = "x", .exe_path = "", .command_line = "" };
		struct window_frame frame = { .type = "go", .labels = labels, .label_count = count };
		u64 word = window_name_frame(w, &frame);
		struct profile *p;
		u32 link;

		window_add(w, window_process(w, 1, &process), &trace, NULL, &word, 1, END_COMPLETE, NULL, NULL);
		p = build(w, &options);
		link = p->resources.at[0].scopes[0].sets[0].samples[0].link;
		EQ(link != 0, count > 1);	/* a link needs both ids */
		OK(!link || (p->links.at[link].trace_id[15] == 0xcd && p->links.at[link].span_id[7] == 0x12));
		profile_free(p);
		window_free(w);
	}
}

TEST(build_believes_labels_more_than_obi)
{
	static const struct window_label labels[] = {
		{ LANG_LABEL_PREFIX "trace_id", "ab0000000000000000000000000000cd" },
		{ LANG_LABEL_PREFIX "span_id", "0000000000000012" } };
	struct { struct request_record record; u32 pad; } words = { { { 1 }, { 2 }, 1, REQUEST_OBI, 0 }, 0 };

	for (u32 count = 0; count <= 2; count += 2) {
		struct trace_record trace = { .value = 1, .kernel_count = 4, .request_words = 4, .comm = "x" };
		struct window *w = window_new(0);
		struct window_process process = { .pid = 42, .comm = "x", .exe_path = "", .command_line = "" };
		u64 word = window_name_frame(w, &(struct window_frame){ .type = "go", .labels = labels,
									.label_count = count });
		struct profile *p;
		u32 link;

		window_add(w, window_process(w, 1, &process), &trace, (const u64 *)&words, &word, 1, END_COMPLETE,
			   NULL, NULL);
		p = build(w, &options);
		link = p->resources.at[0].scopes[0].sets[0].samples[0].link;
		EQ(p->links.at[link].trace_id[0], count ? 0xab : 1);
		EQ(p->links.at[link].span_id[0], count ? 0 : 2);
		profile_free(p);
		window_free(w);
	}
}

/* Each window has the time of day as it was at its end: a clock that was set moves later windows, none is torn. */
TEST(build_gives_each_window_the_time_of_day_of_its_own)
{
	static const s64 offsets[] = { 1000000, 5000000, -3000000 };

	for (u32 i = 0; i < 3; i++) {
		u64 start = 10000000 + i * 1000;
		struct window *w = one_sample(start, start + 300, start + 1000, END_COMPLETE);
		const struct profile_set *set;
		struct profile *p;

		w->unix_offset_ns = offsets[i];
		p = build(w, &options);
		set = &p->resources.at[0].scopes[0].sets[0];
		EQ(set->time_unix_ns, start + (u64)offsets[i]);
		EQ(set->duration_ns, 1000);
		EQ(set->samples[0].time_count, 1);
		EQ(set->samples[0].times_unix_ns[0], set->time_unix_ns + 300);
		profile_free(p);
		window_free(w);
	}
}

TEST(build_puts_variables_into_the_resource)
{
	struct window *w = one_sample(0, 1, 2, END_COMPLETE);
	struct profile *p = build(w, &options);
	const struct profile_resource *r = &p->resources.at[0];
	const struct any *lang = keyvalue_find(r->attributes, r->attribute_count, "process.environment_variable.LANG");
	const struct any *empty = keyvalue_find(r->attributes, r->attribute_count,
						"process.environment_variable.EMPTY");

	OK(lang && lang->string.len == 2 && !memcmp(lang->string.at, "de", 2));
	OK(empty && empty->kind == ANY_STRING && !empty->string.len);
	profile_free(p);
	window_free(w);
}

TEST(build_marks_stacks_that_are_not_whole_if_asked)
{
	struct build_options without = { .frequency_hz = 20, .without_marks = true };
	struct window *w = one_sample(0, 1, 2, END_NO_RULE);
	struct profile *marked = build(w, &options), *plain = build(w, &without);

	EQ(marked->stacks.at[1].count, 2);
	EQ(plain->stacks.at[1].count, 1);
	profile_free(marked);
	profile_free(plain);
	window_free(w);
}

TEST(build_states_values_unless_each_is_1)
{
	struct window *one = one_sample(0, 1, 2, END_COMPLETE);
	struct window *more = one_sample_of(KIND_CPU, 5, 0, 1, 2, END_COMPLETE);
	struct profile *ones = build(one, &options), *fives = build(more, &options);
	const struct profile_sample *sample = ones->resources.at[0].scopes[0].sets[0].samples;

	EQ(sample->value_count, 0);
	EQ(profile_sample_value(sample), 1);
	sample = fives->resources.at[0].scopes[0].sets[0].samples;
	EQ(sample->value_count, 1);
	EQ(sample->time_count, 1);
	EQ(profile_sample_value(sample), 5);
	profile_free(ones);
	profile_free(fives);
	window_free(one);
	window_free(more);
}

/* For each kind that there is beside cpu. */
TEST(build_makes_a_set_for_each_kind_of_a_process)
{
	for (u8 kind = 0; kind < KIND_MAX; kind++) {
		struct kind_choice choice = { .kind = kind_list[kind], .number = kind, .events_per_sample = 16 };
		struct build_options how = { .frequency_hz = 20, .kinds = { 1, { choice } } };
		struct window *w = one_sample_of(kind, 16, 0, 1, 2, END_COMPLETE);
		struct trace_record trace = { .value = 1, .comm = "x" };
		const struct profile_scope *scope;
		struct profile *p;

		if (kind == KIND_CPU || !kind_list[kind]) {
			window_free(w);
			continue;
		}
		window_add(w, 0, &trace, NULL, NULL, 0, END_COMPLETE, NULL, NULL);
		p = build(w, &how);
		scope = p->resources.at[0].scopes;
		EQ(scope->set_count, 2);
		EQ(scope->sets[0].period, 50000000);
		EQ(scope->sets[0].sample_count, 1);
		EQ(profile_sample_value(scope->sets[0].samples), 1);
		EQ(scope->sets[1].period, kind_list[kind]->period.type ? 16 : 0);
		EQ(profile_sample_value(scope->sets[1].samples), 16);
		profile_free(p);
		window_free(w);
	}
}

/* A sample that waited for its process's files comes into a later window. */
TEST(build_stretches_a_set_over_samples_that_came_late)
{
	struct window *w = one_sample(1000, 400, 2000, END_COMPLETE);
	struct trace_record trace = { .value = 1, .time_ns = 2000, .comm = "x" };
	const struct profile_set *set;
	struct profile *p;

	window_add(w, 0, &trace, NULL, NULL, 0, END_COMPLETE, NULL, NULL);
	p = build(w, &options);
	set = p->resources.at[0].scopes[0].sets;
	EQ(set->time_unix_ns, 400);
	EQ(set->duration_ns, 1601);
	profile_free(p);
	window_free(w);
}

/* All samples of a set state values, or none does; equal ones are one sample. */
TEST(build_gives_the_samples_of_a_set_one_shape)
{
	struct window *w = one_sample_of(KIND_CPU, 5, 0, 1, 2, END_COMPLETE);
	struct trace_record trace = { .value = 1, .tid = 7, .comm = "x" };
	const struct profile_set *set;
	struct profile *p;

	window_add(w, 0, &trace, NULL, NULL, 0, END_COMPLETE, NULL, NULL);
	p = build(w, &options);
	set = p->resources.at[0].scopes[0].sets;
	EQ(set->sample_count, 2);
	EQ(set->samples[0].value_count, 1);
	EQ(set->samples[1].value_count, 1);
	profile_free(p);
	window_free(w);
}

TEST(build_makes_nothing_that_no_sample_refers_to)
{
	struct window *w = one_sample(0, 1, 2, END_COMPLETE);
	struct window_process idle = { .pid = 2, .comm = "y", .exe_path = "", .command_line = "" };
	struct profile *p;

	window_process(w, 2, &idle);
	p = build(w, &options);
	EQ(p->resources.count, 1);
	for (u32 i = 1; i < p->attributes.count; i++)
		OK(p->attributes.at[i].value.kind != ANY_STRING ||
		   (!str_is(p->attributes.at[i].value.string, "native") &&
		    !str_is(p->attributes.at[i].value.string, "abort-marker")));
	profile_free(p);
	window_free(w);
}

/* A wait of kernel code that something has ended, and a thread of another process, or an interrupt, that did. */
static struct profile *one_wakeup(u64 wake)
{
	struct window *w = window_new(0);
	struct window_process waits = { .pid = 42, .comm = "x", .exe_path = "", .command_line = "" };
	struct window_process wakes = { .pid = 50, .comm = "y", .exe_path = "", .command_line = "" };
	struct trace_record wait = { .value = 7, .tid = 43, .kind = KIND_WAKEUP, .comm = "x", .wake = wake,
				     .flags = WAIT_SLEEP << TRACE_WAIT_SHIFT };
	struct trace_record by = { .tid = 51, .wake = 99, .comm = "y", .flags = WAIT_WAKES << TRACE_WAIT_SHIFT };
	static const struct window_line lines[] = { { "leaf", "", 0 }, { "root", "", 0 }, { "waits", "", 0 } };
	u64 words[3];
	struct profile *p;

	for (u32 i = 0; i < 3; i++)
		words[i] = window_name_frame(w, &(struct window_frame){ .type = "go", .lines = &lines[i],
									.line_count = 1 });
	window_add_waker(w, window_process(w, 2, &wakes), &by, NULL, words, 2, END_COMPLETE, NULL, NULL);
	window_add(w, window_process(w, 1, &waits), &wait, NULL, words + 2, 1, END_COMPLETE, NULL, NULL);
	window_join_wakers(w);
	p = build(w, &options);
	window_free(w);
	return p;
}

static struct str frame_of(const struct profile *p, const struct profile_sample *sample, u32 index)
{
	const struct profile_location *location = &p->locations.at[p->stacks.at[sample->stack].at[index]];

	return p->strings.at[p->functions.at[location->lines[0].function].name];
}

TEST(build_puts_who_ended_a_wait_on_top_of_it_upside_down)
{
	struct profile *p = one_wakeup(99);
	const struct profile_sample *sample = &p->resources.at[0].scopes[0].sets[0].samples[0];
	static const char *const frames[] = { "root", "leaf", "[woken by y]", "waits" };

	EQ(p->resources.count, 1);
	EQ(p->resources.at[0].scopes[0].sets[0].sample_count, 1);
	EQ(p->stacks.at[sample->stack].count, 4);
	for (u32 i = 0; i < 4; i++)
		OK(str_is(frame_of(p, sample, i), frames[i]));
	OK(has_attribute(p, sample, "waker.thread.name", "y"));
	profile_free(p);
}

TEST(build_says_so_where_an_interrupt_has_ended_a_wait)
{
	struct profile *p = one_wakeup(WAKE_INTERRUPT);
	const struct profile_sample *sample = &p->resources.at[0].scopes[0].sets[0].samples[0];

	EQ(p->stacks.at[sample->stack].count, 2);
	OK(str_is(frame_of(p, sample, 0), "[woken by an interrupt]"));
	OK(has_attribute(p, sample, "waker.thread.name", "[interrupt]"));
	profile_free(p);
}

/* 10 ticks of a clock of 200 Hz are as long as 1 of 20 Hz. */
TEST(build_has_a_set_with_its_own_period_for_each_clock)
{
	struct window *w = one_sample(0, 1, 100, END_COMPLETE);
	struct trace_record trace = { .value = 1, .pid = 42, .tid = 43, .clock_hz = 200, .comm = "x" };
	const struct profile_scope *scope;
	struct profile *p;
	s64 total = 0;

	for (u32 i = 0; i < 10; i++)
		window_add(w, 0, &trace, NULL, NULL, 0, END_COMPLETE, NULL, NULL);
	p = build(w, &options);
	EQ(p->resources.count, 1);
	scope = &p->resources.at[0].scopes[0];
	EQ(scope->set_count, 2);
	EQ(scope->sets[0].period, 50000000);
	EQ(scope->sets[1].period, 5000000);
	EQ(scope->sets[0].sample_type.type, scope->sets[1].sample_type.type);
	for (u32 i = 0; i < 2; i++)
		total += profile_sample_value(&scope->sets[i].samples[0]) * scope->sets[i].period;
	EQ(total, 100000000);
	profile_free(p);
	window_free(w);
}
