// SPDX-License-Identifier: Apache-2.0
#include "kinds/choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "kinds/perf_event.h"
#include "kinds/probe.h"

u32 kind_number(const struct kind *kind)
{
	u32 number = 0;

	while (number < KIND_MAX && kind_list[number] != kind)
		number++;
	return number;
}

static bool is_called(struct str word, const char *name)
{
	return name && str_equal(word, (struct str){ name, (u32)strlen(name) });
}

static bool find(struct str word, struct kind_choice *ret_choice)
{
	for (u32 i = 0; i < KIND_MAX; i++) {
		const struct kind *kind = kind_list[i];

		if (!kind || !kind->events)
			continue;
		*ret_choice = (struct kind_choice){ .kind = kind, .number = i,
						    .events_per_sample = kind->events_per_sample };
		if (is_called(word, kind->name))
			return true;
		for (ret_choice->event = kind->events; ret_choice->event->name; ret_choice->event++)
			if (is_called(word, ret_choice->event->name))
				return true;
	}
	return false;
}

static int refuse(struct str word, const char *problem, struct buf *why)
{
	buf_addf(why, "\"%.*s\": %s; there are", (int)(word.len < 40 ? word.len : 40), word.at, problem);
	for (u32 i = 0, count = 0; i < KIND_MAX; i++)
		if (kind_list[i] && kind_list[i]->events)
			buf_addf(why, "%s %s", count++ ? "," : "", kind_list[i]->name);
	return -EINVAL;
}

static int take_period(struct str word, struct kind_choice *choice, const char *digits, struct buf *why)
{
	char *end;

	if (!choice->events_per_sample)
		return refuse(word, "it is sampled by the clock, so many times a second", why);
	choice->events_per_sample = strtoul(digits, &end, 10);
	if (end != word.at + word.len || end == digits || *digits == '-' || !choice->events_per_sample ||
	    choice->events_per_sample > KIND_PERIOD_MAX)
		return refuse(word, "what follows the colon is not a number of events", why);
	return 0;
}

/* The kind that a probe is gets the next number of those. */
static int add_probe(struct kind_choices *choices, struct kind_choice *choice, struct buf *why)
{
	u32 number = KIND_PROBES;

	for (u32 i = 0; i < choices->count; i++) {
		number += choices->at[i].probe != NULL;
		if (!strcmp(choices->at[i].kind->name, choice->kind->name)) {
			buf_addf(why, "\"%s\": two probes are called like this: give one another name by {name=NAME}",
				 choice->kind->name);
			return -EINVAL;
		}
	}
	if (number == KIND_MAX) {
		buf_addf(why, "more than %d probes at once", KIND_MAX - KIND_PROBES);
		return -EINVAL;
	}
	choice->number = number;
	choices->at[choices->count++] = *choice;
	return 0;
}

static int add_known(struct kind_choices *choices, struct str word, struct kind_choice *choice, const char *colon,
		     struct buf *why)
{
	int r = colon ? take_period(word, choice, colon + 1, why) : 0;

	if (r < 0)
		return r;
	for (u32 i = 0; i < choices->count; i++)
		if (choices->at[i].kind == choice->kind)
			return refuse(word, "this kind is named twice", why);
	choices->at[choices->count++] = *choice;
	return 0;
}

int kind_choices_add_word(struct kind_choices *choices, struct str word, struct buf *why)
{
	const char *colon = memchr(word.at, ':', word.len);
	struct str name = { word.at, colon ? (u32)(colon - word.at) : word.len };
	struct kind_choice choice;
	int r = -ENOENT;

	/* As the default of --event was called once. */
	if (find(is_called(name, "auto") ? STR("cpu") : name, &choice))
		return add_known(choices, word, &choice, colon, why);
	choice = (struct kind_choice){ 0 };
	if (probe_is_meant(word))
		r = probe_parse(word, &choice.probe, why);
	else
		r = perf_event_probe(name, PERF_EVENT_DEVICES, &choice.probe, why);
	if (r == -ENOENT)
		return refuse(name, "no such kind of sample, nor event of perf (`wick probes` lists those)", why);
	if (r < 0)
		return r;
	choice.kind = &choice.probe->kind;
	choice.events_per_sample = choice.kind->events_per_sample;
	if (colon && choice.events_per_sample)
		r = take_period(word, &choice, colon + 1, why);
	if (r == 0)
		r = add_probe(choices, &choice, why);
	if (r < 0)
		probe_free(choice.probe);
	return r;
}

/* Up to the next comma or blank that is not in braces. */
static u32 word_len(const char *list)
{
	u32 len = 0, depth = 0;

	for (; list[len] && (depth || !strchr(", ", list[len])); len++)
		depth += (list[len] == '{') - (list[len] == '}' && depth);
	return len;
}

int kind_choices_add(struct kind_choices *choices, const char *list, struct buf *why)
{
	int r = 0;

	for (u32 len; r == 0; list += len) {
		list += strspn(list, ", ");
		len = word_len(list);
		if (!len)
			break;
		r = kind_choices_add_word(choices, (struct str){ list, len }, why);
	}
	return r;
}

void kind_choices_done(struct kind_choices *choices)
{
	for (u32 i = 0; i < choices->count; i++)
		probe_free(choices->at[i].probe);
	choices->count = 0;
}

static bool have_probes(const struct kind_choices *choices, bool (*is_such)(const struct probe_point *point))
{
	for (u32 i = 0; i < choices->count; i++) {
		const struct probe *probe = choices->at[i].probe;

		if (probe && (is_such(&probe->start) || (probe->has_end && is_such(&probe->end))))
			return true;
	}
	return false;
}

bool kind_choices_have_user_probes(const struct kind_choices *choices)
{
	return have_probes(choices, probe_is_of_user);
}

static bool is_tracepoint(const struct probe_point *point)
{
	return point->type == PROBE_TRACEPOINT;
}

bool kind_choices_have_tracepoints(const struct kind_choices *choices)
{
	return have_probes(choices, is_tracepoint);
}

const struct kind *kind_choices_find(const struct kind_choices *choices, u32 number)
{
	for (u32 i = 0; i < choices->count; i++)
		if (choices->at[i].number == number)
			return choices->at[i].kind;
	return number < KIND_MAX ? kind_list[number] : NULL;
}

static void add_once(struct kind_choices *choices, const struct kind_choice *choice)
{
	for (u32 i = 0; i < choices->count; i++)
		if (choices->at[i].kind == choice->kind)
			return;
	choices->at[choices->count++] = *choice;
}

void kind_choices_sampled(const struct kind_choices *choices, struct kind_choices *ret_sampled)
{
	*ret_sampled = (struct kind_choices){ 0 };
	for (u32 i = 0; i < choices->count; i++)
		if (!choices->at[i].kind->parts)
			add_once(ret_sampled, &choices->at[i]);
	for (u32 i = 0; i < choices->count; i++) {
		struct kind_choices parts = { 0 };

		if (choices->at[i].kind->parts)
			(void)kind_choices_add(&parts, choices->at[i].kind->parts, NULL);	/* they are known */
		for (u32 k = 0; k < parts.count; k++)
			add_once(ret_sampled, &parts.at[k]);
	}
}
