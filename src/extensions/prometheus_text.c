// SPDX-License-Identifier: Apache-2.0
#include "extensions/prometheus_text.h"

#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"

/* Names that do not say their unit. */
static const struct { const char *name, *unit; } units[] = {
	{ "otelcol_process_uptime", "_seconds" },
	{ "otelcol_process_memory_rss", "_bytes" },
	{ "system_cpu_time", "_seconds" },
	{ "system_memory_usage", "_bytes" },
	{ "system_memory_limit", "_bytes" },
	{ "process_memory_usage", "_bytes" },
};

/* The word that begins there: a name ends at a blank or a brace. */
static struct str word_at(struct str line, u32 from)
{
	u32 end = from;

	while (end < line.len && line.at[end] != ' ' && line.at[end] != '{')
		end++;
	return (struct str){ line.at + from, end - from };
}

static void add_name(struct str name, bool is_counter, const struct prometheus_naming *naming, struct buf *out)
{
	buf_add(out, name.at, name.len);
	for (size_t i = 0; naming->units && i < sizeof(units) / sizeof(units[0]); i++)
		if (str_is(name, units[i].name))
			buf_addf(out, "%s", units[i].unit);
	if (is_counter && naming->type_suffix && !str_ends(name, "_total"))
		buf_addf(out, "_total");
}

/* name{a="b"} 1, or name 1 */
static void add_sample(struct str line, bool is_counter, const struct prometheus_naming *naming, struct buf *out)
{
	struct str name = word_at(line, 0);
	size_t rest = name.len;
	bool has_labels = rest < line.len && line.at[rest] == '{';

	add_name(name, is_counter, naming, out);
	if (*naming->labels)
		buf_addf(out, "{%s%s", naming->labels, has_labels ? "," : "}");
	rest += has_labels && *naming->labels;
	buf_add(out, line.at + rest, line.len - rest);
}

/* # HELP name text, # TYPE name kind; the length of what stands before the name is in `before`. */
static void add_comment(struct str line, u32 before, bool is_counter, const struct prometheus_naming *naming,
			struct buf *out)
{
	struct str name = word_at(line, before);

	buf_add(out, line.at, before);
	add_name(name, is_counter, naming, out);
	buf_add(out, name.at + name.len, line.len - before - name.len);
}

void prometheus_rename(const char *text, size_t len, const struct prometheus_naming *naming, struct buf *out)
{
	struct str rest = { text, (u32)len }, line;
	bool is_counter = false;

	while (str_cut(&rest, '\n', &line)) {
		struct str next = line, after = rest;

		/* The kind stands in the line after the help. */
		if (str_starts(line, "# HELP "))
			(void)str_cut(&after, '\n', &next);
		if (str_starts(next, "# TYPE "))
			is_counter = str_ends(next, " counter");
		if (str_starts(line, "# "))
			add_comment(line, 7 < line.len ? 7 : line.len, is_counter, naming, out);
		else if (line.len)
			add_sample(line, is_counter, naming, out);
		buf_add(out, "\n", 1);
	}
}

static bool is_name_character(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

void prometheus_label(struct buf *out, const char *key, const char *value)
{
	size_t left = strlen(value);

	if (out->len)
		buf_add(out, ",", 1);
	for (const char *c = key; *c; c++)
		buf_add(out, is_name_character(*c, c == key) ? c : "_", 1);
	buf_add(out, "=\"", 2);
	while (left) {
		size_t step = utf8_next(value, left);

		if (*value == '\n')
			buf_add(out, "\\n", 2);
		else if (*value == '"' || *value == '\\')
			buf_addf(out, "\\%c", *value);
		else if (step)
			buf_add(out, value, step);
		else
			buf_addf(out, UTF8_REPLACEMENT);
		value += step ? step : 1;
		left -= step ? step : 1;
	}
	buf_add(out, "\"", 1);
}
