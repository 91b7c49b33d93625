// SPDX-License-Identifier: Apache-2.0
#include "ottl/replace.h"

#include <string.h>

const char *replace_check_format(const struct any *format)
{
	const char *percent = format && format->string.len ? memchr(format->string.at, '%', format->string.len) : NULL;
	u32 rest;

	if (!format)
		return NULL;
	rest = percent ? (u32)(format->string.at + format->string.len - percent) : 0;
	if (rest < 2 || percent[1] != 's' || memchr(percent + 1, '%', rest - 1))
		return "the format needs one %s, and has no other percent sign";
	return NULL;
}

/* As in the reference, the format counts only with a function. */
static int put_in(const struct replace *replace, struct ottl_run *run, struct str text, struct buf *out)
{
	const struct any *format = replace->format;
	u32 before;
	int r;

	if (!replace->call->function) {
		buf_add(out, text.at, text.len);
		return 0;
	}
	r = function_apply(run, replace->call->function, text, &text);
	if (r < 0)
		return r;
	before = format ? (u32)((const char *)memchr(format->string.at, '%', format->string.len) - format->string.at) :
		0;
	if (format)
		buf_add(out, format->string.at, before);
	buf_add(out, text.at, text.len);
	if (format)
		buf_add(out, format->string.at + before + 2, format->string.len - before - 2);
	return 0;
}

struct edit {
	const struct replace *replace;
	struct ottl_run *run;
};

static int edit_match(void *arg, const char *at, size_t len, struct buf *out)
{
	struct edit *edit = arg;

	return put_in(edit->replace, edit->run, (struct str){ at, (u32)len }, out);
}

int replace_pattern_in(const struct replace *replace, struct ottl_run *run, struct str text, struct str *ret_text)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct edit edit = { replace, run };
	struct pattern_edit each = { edit_match, &edit };
	int r = pattern_match(replace->call->pattern, &run->pattern, text.at, text.len, 0, NULL), kept;

	if (r == 0)
		return 0;
	run_text_init(&out);
	if (r > 0)
		r = pattern_replace(replace->call->pattern, &run->pattern, text.at, text.len, replace->replacement.at,
				    replace->replacement.len, replace->call->function ? &each : NULL, &out);
	if (r < 0)
		return run_fail(run, r, "%s() gave up: the pattern takes too many steps, or the text gets too long",
				replace->call->ops->name);
	kept = run_keep(run, &out, ret_text);
	return kept < 0 ? kept : 1;
}

int replace_whole(const struct replace *replace, struct ottl_run *run, struct str text, struct str *ret_text)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	int r = pattern_match(replace->call->pattern, &run->pattern, text.at, text.len, 0, NULL);

	if (r < 0)
		return run_fail(run, r, "%s() gave up: the pattern takes too many steps", replace->call->ops->name);
	if (r == 0)
		return 0;
	run_text_init(&out);
	r = put_in(replace, run, replace->replacement, &out);
	if (r >= 0)
		r = run_keep(run, &out, ret_text);
	return r < 0 ? r : 1;
}
