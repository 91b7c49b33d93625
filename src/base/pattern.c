// SPDX-License-Identifier: Apache-2.0
#include "base/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/buf.h"

struct pattern {
	pcre2_code *code;
	pcre2_match_context *limits;
	uint32_t groups;
	char *names[PATTERN_GROUPS_MAX];	/* NULL: none */
};

/* ---- Group names ------------------------------------------------------------ */

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/*
 * Where the name of a group opened at text[i] begins and ends; false if no named group opens there.
 * Both (?P<name> and (?<name> are written; (?<= and (?<! are no names.
 */
static bool group_name_at(const char *text, size_t len, size_t i, size_t *ret_from, size_t *ret_to)
{
	const char *end;
	size_t from;

	if (i + 3 >= len || text[i] != '(' || text[i + 1] != '?')
		return false;
	from = text[i + 2] == 'P' ? i + 3 : i + 2;
	if (text[from] != '<' || from + 1 >= len || text[from + 1] == '=' || text[from + 1] == '!')
		return false;
	from++;
	end = memchr(text + from, '>', len - from);
	if (!end)
		return false;
	*ret_from = from;
	*ret_to = (size_t)(end - text);
	return true;
}

/*
 * PCRE2 takes only word characters, and 32 of them, in names, attribute keys have dots: named groups
 * are compiled as plain ones, their names kept here. Groups count by their opening parentheses, those that
 * do not capture left out.
 */
static int pattern_take_names(struct pattern *p, const char *text, size_t len, struct buf *plain)
{
	bool in_class = false;
	uint32_t group = 0;

	for (size_t i = 0; i < len; i++) {
		size_t from, to;

		if (text[i] == '\\' && i + 1 < len) {
			buf_add(plain, text + i++, 2);
			continue;
		}
		if (in_class ? text[i] == ']' : text[i] == '[') {
			bool opens = !in_class;

			buf_add(plain, text + i, 1);
			in_class = opens;
			/* "[]a]" and "[^]a]": a bracket that comes first is a member. */
			if (opens && i + 1 < len && text[i + 1] == '^')
				buf_add(plain, text + ++i, 1);
			if (opens && i + 1 < len && text[i + 1] == ']')
				buf_add(plain, text + ++i, 1);
			continue;
		}
		if (in_class || text[i] != '(') {
			buf_add(plain, text + i, 1);
			continue;
		}
		buf_add(plain, "(", 1);
		if (i + 1 < len && (text[i + 1] == '?' || text[i + 1] == '*') &&
		    !group_name_at(text, len, i, &from, &to))
			continue;
		if (++group >= PATTERN_GROUPS_MAX)
			return -E2BIG;
		if (!group_name_at(text, len, i, &from, &to))
			continue;
		p->names[group] = strndup(text + from, to - from);
		if (!p->names[group])
			return -ENOMEM;
		i = to;
	}
	return buf_err(plain);
}

/* ---- Making and freeing ------------------------------------------------------ */

static int pattern_compile(struct pattern *p, const char *text, size_t len, struct buf *why)
{
	PCRE2_SIZE offset;
	PCRE2_UCHAR message[128];
	int error;

	p->code = pcre2_compile((PCRE2_SPTR)text, len,
				PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
				&error, &offset, NULL);
	if (!p->code) {
		if (error == PCRE2_ERROR_HEAP_FAILED)
			return -ENOMEM;
		if (pcre2_get_error_message(error, message, sizeof(message)) < 0)
			message[0] = 0;
		buf_addf(why, "the regular expression is wrong at character %zu: %s", (size_t)offset + 1, message);
		return -EINVAL;
	}
	(void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);	/* without it matching is slower, not wrong */
	return 0;
}

static int pattern_set_limits(struct pattern *p)
{
	p->limits = pcre2_match_context_create(NULL);
	if (!p->limits)
		return -ENOMEM;
	pcre2_set_match_limit(p->limits, PATTERN_STEPS_MAX);
	pcre2_set_heap_limit(p->limits, 1024);		/* KiB */
	return 0;
}

int pattern_new(const char *text, size_t len, struct pattern **ret_pattern, struct buf *why)
{
	_cleanup_(pattern_freep) struct pattern *p = calloc(1, sizeof(*p));
	_cleanup_(buf_done) struct buf plain = { 0 };
	uint32_t count = 0;
	int r;

	buf_init(&plain, PATTERN_BYTES_MAX + 1);
	if (!p)
		return -ENOMEM;
	if (len > PATTERN_BYTES_MAX) {
		buf_addf(why, "the regular expression is longer than %d bytes", PATTERN_BYTES_MAX);
		return -EINVAL;
	}
	r = pattern_take_names(p, text, len, &plain);
	if (r == -E2BIG) {
		buf_addf(why, "the regular expression has more than %d groups", PATTERN_GROUPS_MAX - 1);
		return -EINVAL;
	}
	if (r < 0)
		return r;
	r = pattern_compile(p, plain.data ? plain.data : "", plain.len, why);
	if (r < 0)
		return r;
	r = pattern_set_limits(p);
	if (r < 0)
		return r;
	pcre2_pattern_info(p->code, PCRE2_INFO_CAPTURECOUNT, &count);
	if (count >= PATTERN_GROUPS_MAX) {
		buf_addf(why, "the regular expression has more than %d groups", PATTERN_GROUPS_MAX - 1);
		return -EINVAL;
	}
	p->groups = count + 1;
	*ret_pattern = TAKE(p);
	return 0;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < PATTERN_GROUPS_MAX; i++)
		free(p->names[i]);
	pcre2_match_context_free(p->limits);
	pcre2_code_free(p->code);
	free(p);
}

void pattern_scratch_done(struct pattern_scratch *scratch)
{
	pcre2_match_data_free(scratch->data);
	scratch->data = NULL;
}

uint32_t pattern_groups(const struct pattern *p)
{
	return p->groups;
}

const char *pattern_group_name(const struct pattern *p, uint32_t group)
{
	return group < p->groups && p->names[group] ? p->names[group] : "";
}

/* ---- Matching ----------------------------------------------------------------- */

int pattern_match(const struct pattern *p, struct pattern_scratch *scratch, const char *at, size_t len, size_t start,
		  struct pattern_span *spans)
{
	const PCRE2_SIZE *found;
	int r;

	if (!scratch->data)
		scratch->data = pcre2_match_data_create(PATTERN_GROUPS_MAX, NULL);
	if (!scratch->data)
		return -ENOMEM;
	r = pcre2_match(p->code, (PCRE2_SPTR)(len ? at : ""), len, start, 0, scratch->data, p->limits);
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	if (r < 0)
		return r == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -E2BIG;
	found = pcre2_get_ovector_pointer(scratch->data);
	for (uint32_t i = 0; spans && i < p->groups; i++) {
		bool is_set = i < (uint32_t)r && found[2 * i] != PCRE2_UNSET;

		spans[i].from = is_set ? found[2 * i] : PATTERN_UNSET;
		spans[i].to = is_set ? found[2 * i + 1] : PATTERN_UNSET;
	}
	return 1;
}

/* ---- Replacing ---------------------------------------------------------------- */

static uint32_t group_by_name(const struct pattern *p, const char *name, size_t len)
{
	uint32_t number = 0;
	size_t digits = 0;

	while (digits < len && digits < 4 && isdigit((unsigned char)name[digits]))
		number = number * 10 + (uint32_t)(name[digits++] - '0');
	if (len && digits == len)
		return number;
	for (uint32_t i = 1; i < p->groups; i++)
		if (p->names[i] && strlen(p->names[i]) == len && !memcmp(p->names[i], name, len))
			return i;
	return UINT32_MAX;
}

/* The reference that a dollar sign begins: how many bytes it takes, 0 if it is none. */
static size_t reference_at(const char *text, size_t len, const char **ret_name, size_t *ret_len)
{
	bool braced = len > 1 && text[1] == '{';
	size_t from = braced ? 2 : 1, to = from;

	while (to < len && (braced ? text[to] != '}' : is_name_char(text[to])))
		to++;
	if (to == from || (braced && to == len))
		return 0;
	*ret_name = text + from;
	*ret_len = to - from;
	return to + braced;
}

static void pattern_expand(const struct pattern *p, const char *at, const struct pattern_span *spans, const char *text,
		    size_t len, struct buf *out)
{
	for (size_t i = 0; i < len;) {
		const char *dollar = memchr(text + i, '$', len - i), *name;
		size_t plain = dollar ? (size_t)(dollar - text) : len, taken, name_len;
		uint32_t group;

		buf_add(out, text + i, plain - i);
		i = plain;
		if (i >= len)
			return;
		if (i + 1 < len && text[i + 1] == '$') {
			buf_add(out, "$", 1);
			i += 2;
			continue;
		}
		taken = reference_at(text + i, len - i, &name, &name_len);
		if (!taken) {
			buf_add(out, "$", 1);
			i++;
			continue;
		}
		group = group_by_name(p, name, name_len);
		if (group < p->groups && spans[group].from != PATTERN_UNSET)
			buf_add(out, at + spans[group].from, spans[group].to - spans[group].from);
		i += taken;
	}
}

static int pattern_put(const struct pattern *p, const char *at, const struct pattern_span *spans,
		       const char *replacement,
		       size_t replacement_len, const struct pattern_edit *edit, struct buf *out)
{
	_cleanup_(buf_done) struct buf piece = { 0 };

	if (!edit) {
		pattern_expand(p, at, spans, replacement, replacement_len, out);
		return 0;
	}
	buf_init(&piece, out->max);
	pattern_expand(p, at, spans, replacement, replacement_len, &piece);
	return buf_err(&piece) < 0 ? buf_err(&piece) : edit->edit(edit->arg, piece.data, piece.len, out);
}

static size_t utf8_step(const char *at, size_t len, size_t i)
{
	size_t step = 1;

	while (i + step < len && ((unsigned char)at[i + step] & 0xc0) == 0x80 && step < 4)
		step++;
	return step;
}

int pattern_replace(const struct pattern *p, struct pattern_scratch *scratch, const char *at, size_t len,
		    const char *replacement, size_t replacement_len, const struct pattern_edit *edit, struct buf *out)
{
	struct pattern_span spans[PATTERN_GROUPS_MAX];
	size_t done = 0, start = 0;
	int replaced = 0, r;

	while (start <= len) {
		r = pattern_match(p, scratch, at, len, start, spans);
		if (r < 0)
			return r;
		if (r == 0)
			break;
		buf_add(out, at + done, spans[0].from - done);
		/* As Go: an empty match right behind the match before is none. */
		if (spans[0].to > spans[0].from || spans[0].from > done || !replaced)
			r = pattern_put(p, at, spans, replacement, replacement_len, edit, out);
		if (r < 0)
			return r;
		done = spans[0].to;
		start = done;
		if (spans[0].to == spans[0].from)
			start += start < len ? utf8_step(at, len, start) : 1;
		replaced = 1;
	}
	buf_add(out, at + done, len - done);
	r = buf_err(out);
	return r < 0 ? r : replaced;
}
