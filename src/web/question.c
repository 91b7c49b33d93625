// SPDX-License-Identifier: Apache-2.0
#include "web/question.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/narrow.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hex.h"

#define RANGE_DEFAULT_NS (900 * SECOND_NS)
#define LABEL_PREFIX "label."

/* In place, up to the end of the string; false for what is not %XX or hides a NUL. */
static bool decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		char c = *from == '+' ? ' ' : *from;

		if (*from == '%') {
			int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);

			if (low < 0 || !(high | low))
				return false;
			c = (char)(high << 4 | low);
			from += 2;
		}
		*to++ = c;
	}
	*to = '\0';
	return true;
}

static int split(struct question *q, struct buf *why)
{
	char *rest = q->text, *pair;

	while ((pair = strsep(&rest, "&"))) {
		char *value = strchr(pair, '=');

		if (!*pair)
			continue;
		if (q->count == QUESTION_PAIRS_MAX) {
			buf_addf(why, "more than %d parameters", QUESTION_PAIRS_MAX);
			return -EINVAL;
		}
		if (value)
			*value++ = '\0';
		if (!decode(pair) || (value && !decode(value))) {
			buf_addf(why, "the query has a %% that is not followed by two hexadecimal digits");
			return -EINVAL;
		}
		q->pairs[q->count].key = pair;
		q->pairs[q->count++].value = value ? value : pair + strlen(pair);
	}
	return 0;
}

const char *question_text(const struct question *q, const char *key, const char *otherwise)
{
	for (u32 i = 0; i < q->count; i++)
		if (!strcmp(q->pairs[i].key, key))
			return q->pairs[i].value;
	return otherwise;
}

int question_number(const struct question *q, const char *key, u32 min, u32 max, u32 *number, struct buf *why)
{
	const char *text = question_text(q, key, NULL);
	unsigned long value;
	char *end;

	if (!text || !*text)
		return 0;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*text) || value < min || value > max) {
		buf_addf(why, "%s is to be a number from %u to %u", key, min, max);
		return -EINVAL;
	}
	*number = (u32)value;
	return 0;
}

/* label.KEY is the number of KEY among the question's; -EINVAL and a sentence. */
static int find_key(struct question *q, const char *key, enum store_label *ret_label, struct buf *why)
{
	u32 i = 0;

	while (i < q->keys.count && strcmp(q->keys.at[i], key))
		i++;
	if (!*key || i == STORE_KEYS_MAX) {
		buf_addf(why, "a label of samples is " LABEL_PREFIX "KEY, of at most %d keys", STORE_KEYS_MAX);
		return -EINVAL;
	}
	q->keys.at[i] = key;
	q->keys.count += i == q->keys.count;
	*ret_label = STORE_KEY + i;
	return 0;
}

/* STORE_LABEL_COUNT: there is none of that name. */
static int find_label(struct question *q, const char *name, enum store_label *ret_label, struct buf *why)
{
	if (!strncmp(name, LABEL_PREFIX, strlen(LABEL_PREFIX)))
		return find_key(q, name + strlen(LABEL_PREFIX), ret_label, why);
	*ret_label = store_label_find(name);
	return 0;
}

int question_label(struct question *q, const char *key, enum store_label *ret_label, struct buf *why)
{
	const char *text = question_text(q, key, "");
	enum store_label label;
	int r = find_label(q, text, &label, why);

	if (r == 0 && label == STORE_LABEL_COUNT && *text) {
		buf_addf(why, "%s: there is no label of that name; labels are", key);
		for (u32 i = 0; i < STORE_LABEL_COUNT; i++)
			buf_addf(why, " %s", store_label_name(i));
		buf_addf(why, " " LABEL_PREFIX "KEY");
		r = -EINVAL;
	}
	if (r == 0)
		*ret_label = label;
	return r;
}

const char *question_label_name(const struct question *q, const char *key, enum store_label label)
{
	return label < STORE_LABEL_COUNT ? store_label_name(label) : question_text(q, key, "");
}

/* ---- Times ---------------------------------------------------------------------------- */

static u64 unit_ns(char unit)
{
	switch (unit) {
	case 's':
		return SECOND_NS;
	case 'm':
		return 60 * SECOND_NS;
	case 'h':
		return 3600 * SECOND_NS;
	case 'd':
		return 86400 * SECOND_NS;
	default:
		return 0;
	}
}

/* "now", "now-90s" */
static bool parse_relative(const char *text, u64 now_ns, u64 *ret_ns)
{
	unsigned long long amount;
	char *end;

	if (!*text) {
		*ret_ns = now_ns;
		return true;
	}
	if (*text != '-' || !isdigit((unsigned char)text[1]))
		return false;
	errno = 0;
	amount = strtoull(text + 1, &end, 10);
	if (errno || !unit_ns(*end) || end[1] || amount > now_ns / unit_ns(*end))
		return false;
	*ret_ns = now_ns - amount * unit_ns(*end);
	return true;
}

/* Seconds with up to nine digits behind the point, exactly. */
static bool parse_seconds(const char *text, u64 *ret_ns)
{
	u64 seconds = 0, part = 0, place = SECOND_NS / 10;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		seconds = seconds * 10 + (u64)(*text - '0');
		if (seconds > UINT32_MAX * 4ull)
			return false;
	}
	if (*text == '.')
		for (text++; isdigit((unsigned char)*text); text++, place /= 10)
			part += (u64)(*text - '0') * place;
	*ret_ns = seconds * SECOND_NS + part;
	return !*text;
}

int question_time(const struct question *q, const char *key, u64 now_ns, u64 *time_ns, struct buf *why)
{
	const char *text = question_text(q, key, "");

	if (!*text ||
	    (!strncmp(text, "now", 3) ? parse_relative(text + 3, now_ns, time_ns) : parse_seconds(text, time_ns)))
		return 0;
	buf_addf(why, "%s is to be seconds since 1970, or now, now-15m, now-2h, now-1d", key);
	return -EINVAL;
}

static int parse_range(const struct question *q, const char *from_key, const char *to_key, u64 now_ns,
		       struct store_selection *selection, struct buf *why)
{
	int r;

	selection->to_ns = now_ns;
	r = question_time(q, to_key, now_ns, &selection->to_ns, why);
	if (r < 0)
		return r;
	selection->from_ns = selection->to_ns > RANGE_DEFAULT_NS ? selection->to_ns - RANGE_DEFAULT_NS : 0;
	r = question_time(q, from_key, now_ns, &selection->from_ns, why);
	if (r == 0 && selection->from_ns >= selection->to_ns) {
		buf_addf(why, "%s is to be before %s", from_key, to_key);
		r = -EINVAL;
	}
	return r;
}

/* ---- Filters --------------------------------------------------------------------------- */

static int add_filter(struct store_selection *selection, enum store_label label, enum store_match match, char *value,
		      struct buf *why)
{
	if (selection->filter_count == STORE_FILTERS_MAX) {
		buf_addf(why, "more than %d filters", STORE_FILTERS_MAX);
		return -EINVAL;
	}
	/* Ids are kept as digits in lower case. */
	for (char *c = value; *c && (label == STORE_TRACE || label == STORE_SPAN); c++)
		*c = (char)tolower((unsigned char)*c);
	selection->filters[selection->filter_count++] = (struct store_filter){ label, match, value };
	return 0;
}

/* LABEL=VALUE, LABEL!=VALUE, LABEL~PART: cut in place. */
static int parse_where(struct question *q, struct store_selection *selection, char *text, struct buf *why)
{
	size_t len = strcspn(text, "=!~");
	enum store_match match = text[len] == '~' ? STORE_CONTAINS : text[len] == '!' ? STORE_NOT_EQUAL : STORE_EQUAL;
	char *value = text + len + (text[len] == '!' ? 2 : 1);
	enum store_label label;
	int r;

	if (!text[len] || (text[len] == '!' && text[len + 1] != '=')) {
		buf_addf(why, "where is to be LABEL=VALUE, LABEL!=VALUE or LABEL~PART");
		return -EINVAL;
	}
	text[len] = '\0';
	r = find_label(q, text, &label, why);
	if (r == 0 && label == STORE_LABEL_COUNT) {
		buf_addf(why, "where: there is no such label");
		r = -EINVAL;
	}
	return r < 0 ? r : add_filter(selection, label, match, value, why);
}

/* Links in other tools call them so. */
static int label_of_key(struct question *q, const char *key, enum store_label *ret_label, struct buf *why)
{
	if (!strcmp(key, "trace_id"))
		key = store_label_name(STORE_TRACE);
	else if (!strcmp(key, "span_id"))
		key = store_label_name(STORE_SPAN);
	return find_label(q, key, ret_label, why);
}

static int parse_filter(struct question *q, const char *key, char *value, struct buf *why)
{
	bool is_base = !strcmp(key, "base_where");
	enum store_label label;
	int r;

	q->has_base_filters |= is_base;
	if (is_base)
		return *value ? parse_where(q, &q->base, value, why) : 0;
	if (!strcmp(key, "where"))
		return parse_where(q, &q->selection, value, why);
	r = label_of_key(q, key, &label, why);
	if (r < 0 || label == STORE_LABEL_COUNT)
		return r;
	return add_filter(&q->selection, label, STORE_EQUAL, value, why);
}

static int parse_filters(struct question *q, struct buf *why)
{
	int r = 0;

	for (u32 i = 0; i < q->count && r == 0; i++)
		r = parse_filter(q, q->pairs[i].key, (char *)q->pairs[i].value, why);
	return r;
}

int question_parse(const char *query, u64 now_ns, struct question *ret_question, struct buf *why)
{
	struct question *q = ret_question;
	int r;

	memset(&q->selection, 0, sizeof(q->selection));
	memset(&q->base, 0, sizeof(q->base));
	q->has_base_filters = false;
	q->count = q->keys.count = 0;
	q->selection.keys = q->base.keys = &q->keys;
	if (strlen(query) >= sizeof(q->text)) {
		buf_addf(why, "the query is longer than %d bytes", QUESTION_BYTES_MAX);
		return -EINVAL;
	}
	memcpy(q->text, query, strlen(query) + 1);
	r = split(q, why);
	if (r == 0)
		r = parse_range(q, "from", "to", now_ns, &q->selection, why);
	return r < 0 ? r : parse_filters(q, why);
}

/* Other filters; but what is compared is of one type. */
static int use_base_filters(const struct question *q, struct store_selection *selection, struct buf *why)
{
	int r = 0;

	*selection = q->base;
	for (u32 i = 0; i < q->selection.filter_count && r == 0; i++) {
		const struct store_filter *filter = &q->selection.filters[i];

		if (filter->label == STORE_TYPE)
			r = add_filter(selection, filter->label, filter->match, (char *)filter->value, why);
	}
	return r;
}

int question_base(const struct question *q, u64 now_ns, struct store_selection *ret_selection, struct buf *why)
{
	*ret_selection = q->selection;
	if (q->has_base_filters) {
		int r = use_base_filters(q, ret_selection, why);

		if (r < 0)
			return r;
	}
	return parse_range(q, "base_from", "base_to", now_ns, ret_selection, why);
}

int question_narrow(const struct question *question, struct narrow *ret_narrow, struct buf *why)
{
	int r = 0;

	*ret_narrow = (struct narrow){ .collapse = !strcmp(question_text(question, "collapse", ""), "1") };
	for (u32 i = 0; i < question->count; i++)
		for (u32 rule = 0; rule < NARROW_RULE_COUNT && r == 0; rule++)
			if (!strcmp(question->pairs[i].key, narrow_rule_names[rule]))
				r = narrow_add(ret_narrow, rule, question->pairs[i].value, why);
	return r;
}
