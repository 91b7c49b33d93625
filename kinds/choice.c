// SPDX-License-Identifier: Apache-2.0
#include "kinds/choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

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
		*ret_choice = (struct kind_choice){ .kind = kind, .events_per_sample = kind->events_per_sample };
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

static int add(struct kind_choices *choices, struct str word, struct buf *why)
{
	const char *colon = memchr(word.at, ':', word.len);
	struct str name = { word.at, colon ? (u32)(colon - word.at) : word.len };
	struct kind_choice choice;

	/* As the default of --event was called once. */
	if (!find(is_called(name, "auto") ? STR("cpu") : name, &choice))
		return refuse(name, "no such kind of sample", why);
	if (colon) {
		char *end;

		if (!choice.events_per_sample)
			return refuse(word, "it is sampled by the clock, so many times a second", why);
		choice.events_per_sample = strtoul(colon + 1, &end, 10);
		if (end != word.at + word.len || end == colon + 1 || colon[1] == '-' || !choice.events_per_sample ||
		    choice.events_per_sample > KIND_PERIOD_MAX)
			return refuse(word, "what follows the colon is not a number of events", why);
	}
	for (u32 i = 0; i < choices->count; i++)
		if (choices->at[i].kind == choice.kind)
			return refuse(word, "this kind is named twice", why);
	choices->at[choices->count++] = choice;
	return 0;
}

int kind_choices_add(struct kind_choices *choices, const char *list, struct buf *why)
{
	int r = 0;

	for (u32 len; r == 0; list += len) {
		list += strspn(list, ", ");
		len = (u32)strcspn(list, ", ");
		if (!len)
			break;
		r = add(choices, (struct str){ list, len }, why);
	}
	return r;
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
