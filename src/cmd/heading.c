// SPDX-License-Identifier: Apache-2.0
#include "cmd/heading.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cmd/terminal.h"
#include "cmd/text.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "analysis/summary.h"

/* The attribute of samples whose user stack is not whole. */
#define STACK_END_KEY "wick.stack.end"

/* A line of the header: a label and a text that may be foreign. */
static void head_line(const struct terminal *terminal, const char *label, struct str text, struct buf *out)
{
	buf_addf(out, "%s%-10s%s", terminal_style(terminal, STYLE_DIM), label, terminal_style(terminal, STYLE_NONE));
	(void)text_add(out, text, terminal->width ? terminal->width - 10 : TEXT_UNLIMITED);
	buf_addf(out, "\n");
}

static struct str str(const char *text)
{
	return (struct str){ text, (u32)strlen(text) };
}

static void head_time(const struct terminal *terminal, const struct summary *s, struct buf *out)
{
	time_t seconds = (time_t)(s->time_unix_ns / 1000000000);
	char when[64] = "", length[TEXT_VALUE_MAX], text[128];
	struct tm tm;

	if (!s->time_unix_ns || !gmtime_r(&seconds, &tm))
		return;
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	snprintf(text, sizeof(text), "%s, %s long", when,
		 text_value(length, s->duration_ns > INT64_MAX ? INT64_MAX : (s64)s->duration_ns, UNIT_NANOSECONDS));
	head_line(terminal, "recorded", str(text), out);
}

static void head_samples(const struct terminal *terminal, const struct summary *s, struct buf *out)
{
	char total[TEXT_VALUE_MAX], period[TEXT_VALUE_MAX];
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 4096);
	buf_addf(&text, "%llu of ", (unsigned long long)s->sample_count);
	buf_add(&text, s->type.at, s->type.len < 256 ? s->type.len : 256);
	if (!s->type.len)
		buf_addf(&text, "an unnamed type");
	if (s->period && s->unit == UNIT_NANOSECONDS)
		buf_addf(&text, ", one every %s", text_value(period, s->period, UNIT_NANOSECONDS));
	buf_addf(&text, ", %s in all", text_value(total, s->total, s->unit));
	if (buf_err(&text) == 0)
		head_line(terminal, "samples", (struct str){ text.data, (u32)text.len }, out);
	else
		out->err = buf_err(&text);	/* a line that is missing must not look like success */
}

/* The machine, from the first resource that names it. */
static void head_machine(const struct terminal *terminal, const struct profile *profile, struct buf *out)
{
	static const char *const keys[] = { "host.name", "host.arch", "os.type", "os.version" };
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 4096);
	for (u32 i = 0; i < profile->resources.count && !text.len; i++) {
		const struct profile_resource *r = &profile->resources.at[i];

		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			const struct any *value = keyvalue_find(r->attributes, r->attribute_count, keys[k]);

			if (!value || value->kind != ANY_STRING || !value->string.len)
				continue;
			buf_addf(&text, "%s", text.len ? ", " : "");
			buf_add(&text, value->string.at, value->string.len);
		}
	}
	if (text.len && buf_err(&text) == 0)
		head_line(terminal, "machine", (struct str){ text.data, (u32)text.len }, out);
	else if (buf_err(&text) < 0)
		out->err = buf_err(&text);
}

/* ---- How whole the stacks are, where wick recorded them ---- */

struct stack_ends {
	const struct profile *profile;
	u64 *by_attribute; /* events of samples with that attribute */
	u64 all;
};

static void count_ends(struct stack_ends *ends, const struct profile_set *set)
{
	for (u32 i = 0; i < set->sample_count; i++) {
		const struct profile_sample *sample = &set->samples[i];
		u64 events = sample->time_count ? sample->time_count : 1;

		if (!sample->time_count && profile_sample_value(sample) > 0)
			events = (u64)profile_sample_value(sample);
		ends->all += events;
		for (u32 j = 0; j < sample->attributes.count; j++)
			ends->by_attribute[sample->attributes.at[j]] += events;
	}
}

static bool is_cut(struct str name)
{
	static const struct {
		const char *name, *text;
	} known[] = {
#define X(id, end_name, end_text) { end_name, end_text },
		STACK_ENDS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (str_equal(name, str(known[i].name)))
			return !strncmp(known[i].text, "cut:", strlen("cut:"));
	}
	return false;
}

/* "97.9 % whole; 275 stack_no_rule, 3 in_exit" */
static void add_ends(const struct stack_ends *ends, struct buf *text)
{
	u64 whole = ends->all, cut = 0;
	_cleanup_(buf_done) struct buf list;

	buf_init(&list, 4096);
	for (u32 i = 1; i < ends->profile->attributes.count; i++) {
		const struct profile_attribute *a = &ends->profile->attributes.at[i];
		bool is_end =
			a->value.kind == ANY_STRING && str_equal(ends->profile->strings.at[a->key], STR(STACK_END_KEY));

		if (!is_end || !ends->by_attribute[i])
			continue;
		whole -= ends->by_attribute[i] < whole ? ends->by_attribute[i] : whole;
		cut += is_cut(a->value.string) ? ends->by_attribute[i] : 0;
		buf_addf(&list, "%s %llu ", list.len ? "," : ";", (unsigned long long)ends->by_attribute[i]);
		buf_add(&list, a->value.string.at, a->value.string.len);
	}
	if (list.len && buf_err(&list) == 0 && whole + cut) {
		buf_addf(text, "%.1f %% whole", 100.0 * (double)whole / (double)(whole + cut));
		buf_add(text, list.data, list.len);
	}
}

static void head_stacks(const struct terminal *terminal, const struct profile *profile, const struct summary *s,
			struct buf *out)
{
	_cleanup_(freep) u64 *counts = calloc((size_t)profile->attributes.count + 1, sizeof(*counts));
	struct stack_ends ends = { .profile = profile, .by_attribute = counts };
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 8192);
	if (!counts)
		return;
	for (u32 i = 0; i < profile->resources.count; i++) {
		const struct profile_resource *r = &profile->resources.at[i];

		for (u32 j = 0; j < r->scope_count; j++)
			for (u32 k = 0; k < r->scopes[j].set_count; k++)
				if (str_equal(profile->strings.at[r->scopes[j].sets[k].sample_type.type], s->type))
					count_ends(&ends, &r->scopes[j].sets[k]);
	}
	add_ends(&ends, &text);
	if (text.len && buf_err(&text) == 0)
		head_line(terminal, "stacks", (struct str){ text.data, (u32)text.len }, out);
}

void heading_add(const struct terminal *terminal, const char *path, const struct profile *profile,
		 const struct summary *s, struct buf *out)
{
	char text[64];

	head_line(terminal, "file", str(path), out);
	head_machine(terminal, profile, out);
	head_time(terminal, s, out);
	head_samples(terminal, s, out);
	head_stacks(terminal, profile, s, out);
	if (s->other_type_count) {
		snprintf(text, sizeof(text), "other sample types are in the file too; see --type");
		head_line(terminal, "note", str(text), out);
	}
	buf_addf(out, "\n");
}
