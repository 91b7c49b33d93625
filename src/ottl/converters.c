// SPDX-License-Identifier: Apache-2.0
/* Converters that make texts and look into them: ottl_converters at the end is the list. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include <openssl/evp.h>

#include "ottl/expr.h"

/* ---- Text of anything ------------------------------------------------------------------------- */

static int text_of(struct ottl_run *run, const struct value *value, struct str *ret_text)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	if (value_type(value) == TYPE_STRING) {
		*ret_text = value->any.string;
		return 0;
	}
	run_text_init(&text);
	value_text(value, &text);
	return run_keep(run, &text, ret_text);
}

static int run_String(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct value value;
	struct str text;
	int r = argument(run, call, 0, &value);

	if (r < 0 || value_type(&value) == TYPE_NIL)
		return r;
	r = text_of(run, &value, &text);
	if (r >= 0)
		*ret_value = value_string(text);
	return r;
}

/* Lists and maps are left out: they could be long. Their place stays, as that of nil does. */
static int run_Concat(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct value list;
	struct str delimiter, joined;
	int r = argument(run, call, 0, &list);

	run_text_init(&text);
	if (r >= 0)
		r = argument_string(run, call, 1, &delimiter);
	if (r < 0)
		return r;
	if (value_type(&list) != TYPE_LIST)
		return run_fail(run, -EINVAL, "vals of Concat() is %s, not a list", value_type_name(&list));
	for (u32 i = 0; i < list.any.count; i++) {
		struct value member = { .any = list.any.array[i] };

		if (i)
			buf_add(&text, delimiter.at, delimiter.len);
		if (value_type(&member) == TYPE_NIL)
			buf_addf(&text, "<nil>");
		else if (!(value_type(&member) & (TYPE_LIST | TYPE_MAP)))
			value_text(&member, &text);
	}
	r = run_keep(run, &text, &joined);
	if (r >= 0)
		*ret_value = value_string(joined);
	return r;
}

/* ---- Looking into texts ------------------------------------------------------------------------- */

static int run_IsMatch(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct value value;
	struct str text;
	int r = argument(run, call, 0, &value);

	if (r >= 0)
		*ret_value = value_bool(false);
	if (r < 0 || value_type(&value) == TYPE_NIL)
		return r;
	r = text_of(run, &value, &text);
	if (r < 0)
		return r;
	r = pattern_match(call->pattern, &run->pattern, text.at, text.len, 0, NULL);
	if (r < 0)
		return run_fail(run, r, "IsMatch() gave up: the pattern takes too many steps on this text");
	*ret_value = value_bool(r);
	return 0;
}

static bool has_at(struct str text, u32 at, struct str part)
{
	return part.len <= text.len && at <= text.len - part.len &&
	       (!part.len || !memcmp(text.at + at, part.at, part.len));
}

static int two_strings(struct ottl_run *run, const struct call *call, struct str *ret_a, struct str *ret_b)
{
	int r = argument_string(run, call, 0, ret_a);

	return r < 0 ? r : argument_string(run, call, 1, ret_b);
}

static int run_HasPrefix(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct str text, part;
	int r = two_strings(run, call, &text, &part);

	if (r >= 0)
		*ret_value = value_bool(has_at(text, 0, part));
	return r;
}

static int run_HasSuffix(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct str text, part;
	int r = two_strings(run, call, &text, &part);

	if (r >= 0)
		*ret_value = value_bool(part.len <= text.len && has_at(text, text.len - part.len, part));
	return r;
}

static bool is_continuation(struct str text, s64 at)
{
	return at < text.len && ((unsigned char)text.at[at] & 0xc0) == 0x80;
}

static int run_Substring(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	const struct any *safe = argument_literal(call, 3);
	struct str text;
	s64 start, length, end;
	int r = argument_string(run, call, 0, &text);

	if (r >= 0)
		r = argument_int(run, call, 1, &start);
	if (r >= 0)
		r = argument_int(run, call, 2, &length);
	if (r < 0)
		return r;
	if (start < 0 || length < 0 || start > text.len || length > text.len - start)
		return run_fail(run, -ERANGE, "Substring() asks for %lld bytes from %lld of a text of %u",
				(long long)length, (long long)start, text.len);
	end = start + length;
	if (safe && safe->boolean) {
		while (start < end && is_continuation(text, start))
			start++;
		while (end > start && is_continuation(text, end))
			end--;
	}
	*ret_value = value_string((struct str){ text.at + start, (u32)(end - start) });
	return 0;
}

static const char *find_part(struct str text, u32 from, struct str part)
{
	return memmem(text.at + from, text.len - from, part.at, part.len);
}

/* Between characters, if the delimiter is empty. */
static u32 split_end(struct str text, u32 from, struct str delimiter)
{
	const char *found;
	u32 end = from + 1;

	if (delimiter.len) {
		found = find_part(text, from, delimiter);
		return found ? (u32)(found - text.at) : text.len;
	}
	while (is_continuation(text, end))
		end++;
	return end;
}

static int run_Split(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct str text, delimiter;
	struct any *array;
	u32 count = 0, from = 0;
	int r = two_strings(run, call, &text, &delimiter);

	if (r < 0)
		return r;
	for (u32 at = 0; text.len && (at < text.len || (delimiter.len && at == text.len)); count++)
		at = split_end(text, at, delimiter) + (delimiter.len ? delimiter.len : 0);
	if (!text.len)
		count = delimiter.len ? 1 : 0;
	array = run_alloc(run, count * sizeof(*array));
	if (!array)
		return run_err(run);
	for (u32 i = 0; i < count; i++) {
		u32 end = text.len ? split_end(text, from, delimiter) : 0;

		array[i] = value_string((struct str){ text.at + from, end - from }).any;
		from = end + delimiter.len;
	}
	*ret_value = (struct value){ .any = { ANY_ARRAY, count, .array = array } };
	return 0;
}

static int run_ExtractPatterns(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct pattern_span spans[PATTERN_GROUPS_MAX];
	u32 groups = pattern_groups(call->pattern), count = 0;
	struct keyvalue *map;
	struct str text;
	int r = argument_string(run, call, 0, &text);

	if (r < 0)
		return r;
	map = run_alloc(run, groups * sizeof(*map));
	if (!map)
		return run_err(run);
	r = pattern_match(call->pattern, &run->pattern, text.at, text.len, 0, spans);
	if (r < 0)
		return run_fail(run, r, "ExtractPatterns() gave up: the pattern takes too many steps on this text");
	for (u32 i = 1; r > 0 && i < groups; i++) {
		const char *name = pattern_group_name(call->pattern, i);
		bool is_set = spans[i].from != PATTERN_UNSET;

		if (!*name)
			continue;
		map[count].key = (struct str){ name, (u32)strlen(name) };
		map[count++].value = value_string((struct str){ is_set ? text.at + spans[i].from : "",
								is_set ? (u32)(spans[i].to - spans[i].from) : 0 }).any;
	}
	*ret_value = (struct value){ .any = { ANY_MAP, count, .map = map } };
	return 0;
}

static const char *check_ExtractPatterns(const struct call *call)
{
	for (u32 i = 1; i < pattern_groups(call->pattern); i++)
		if (*pattern_group_name(call->pattern, i))
			return NULL;
	return "the pattern has no named group; write one as (?P<name>...)";
}

/* ---- Changing texts --------------------------------------------------------------------------------- */

static int change_case(struct ottl_run *run, const struct call *call, int (*change)(int), struct value *ret_value)
{
	struct str text;
	char *copy;
	int r = argument_string(run, call, 0, &text);

	if (r < 0)
		return r;
	copy = run_alloc(run, text.len);
	if (!copy)
		return run_err(run);
	for (u32 i = 0; i < text.len; i++)
		copy[i] = (unsigned char)text.at[i] < 0x80 ? (char)change((unsigned char)text.at[i]) : text.at[i];
	*ret_value = value_string((struct str){ copy, text.len });
	return 0;
}

static int run_ToLowerCase(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return change_case(run, call, tolower, ret_value);
}

static int run_ToUpperCase(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return change_case(run, call, toupper, ret_value);
}

/* Any of the characters given, as often as they come; a blank if none is given. */
static int run_Trim(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct str text, cut = STR(" ");
	int r = argument_string(run, call, 0, &text);

	if (r >= 0 && call->arguments[1])
		r = argument_string(run, call, 1, &cut);
	if (r < 0)
		return r;
	while (text.len && cut.len && memchr(cut.at, text.at[0], cut.len)) {
		text.at++;
		text.len--;
	}
	while (text.len && cut.len && memchr(cut.at, text.at[text.len - 1], cut.len))
		text.len--;
	*ret_value = value_string(text);
	return 0;
}

static int run_TrimPrefix(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct str text, part;
	int r = two_strings(run, call, &text, &part);

	if (r < 0)
		return r;
	if (has_at(text, 0, part))
		text = (struct str){ text.at + part.len, text.len - part.len };
	*ret_value = value_string(text);
	return 0;
}

static int run_TrimSuffix(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	struct str text, part;
	int r = two_strings(run, call, &text, &part);

	if (r < 0)
		return r;
	if (part.len <= text.len && has_at(text, text.len - part.len, part))
		text.len -= part.len;
	*ret_value = value_string(text);
	return 0;
}

static int digest(struct ottl_run *run, const struct call *call, const EVP_MD *kind, struct value *ret_value)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned int len;
	struct str in, out;
	int r = argument_string(run, call, 0, &in);

	if (r < 0)
		return r;
	if (!EVP_Digest(in.len ? in.at : "", in.len, bytes, &len, kind, NULL))
		return run_fail(run, -EOPNOTSUPP, "%s() is not available here", call->ops->name);
	run_text_init(&text);
	for (unsigned int i = 0; i < len; i++)
		buf_addf(&text, "%02x", bytes[i]);
	r = run_keep(run, &text, &out);
	if (r >= 0)
		*ret_value = value_string(out);
	return r;
}

static int run_SHA256(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return digest(run, call, EVP_sha256(), ret_value);
}

static int run_SHA512(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return digest(run, call, EVP_sha512(), ret_value);
}

static int run_SHA1(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return digest(run, call, EVP_sha1(), ret_value);
}

static int run_MD5(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return digest(run, call, EVP_md5(), ret_value);
}

/* ---- The list ------------------------------------------------------------------------------------------ */

#define STRING(name) { name, TYPE_STRING, PARAMETER_VALUE, false }

const struct function_ops ottl_converters[] = {
	{ "Concat", TYPE_STRING, { { "vals", TYPE_LIST, PARAMETER_VALUE, false }, STRING("delimiter") }, run_Concat,
	  NULL,
	  "the texts of all members, with the delimiter between" },
	{ "ExtractPatterns", TYPE_MAP, { STRING("target"), { "pattern", TYPE_STRING, PARAMETER_PATTERN, false } },
	  run_ExtractPatterns, check_ExtractPatterns, "what the named groups matched" },
	{ "HasPrefix", TYPE_BOOL, { STRING("target"), STRING("prefix") }, run_HasPrefix, NULL, "begins with it" },
	{ "HasSuffix", TYPE_BOOL, { STRING("target"), STRING("suffix") }, run_HasSuffix, NULL, "ends with it" },
	{ "IsMatch", TYPE_BOOL, { { "target", TYPE_VALUE, PARAMETER_VALUE, false },
	  { "pattern", TYPE_STRING, PARAMETER_PATTERN, false } }, run_IsMatch, NULL, "the pattern is found in it" },
	{ "MD5", TYPE_STRING, { STRING("value") }, run_MD5, NULL, "in hexadecimal" },
	{ "SHA1", TYPE_STRING, { STRING("value") }, run_SHA1, NULL, "in hexadecimal" },
	{ "SHA256", TYPE_STRING, { STRING("value") }, run_SHA256, NULL, "in hexadecimal" },
	{ "SHA512", TYPE_STRING, { STRING("value") }, run_SHA512, NULL, "in hexadecimal" },
	{ "Split", TYPE_LIST, { STRING("target"), STRING("delimiter") }, run_Split, NULL,
	  "the parts between delimiters" },
	{ "String", TYPE_STRING | TYPE_NIL, { { "target", TYPE_VALUE, PARAMETER_VALUE, false } }, run_String, NULL,
	  "as text" },
	{ "Substring", TYPE_STRING, { STRING("target"), { "start", TYPE_INT, PARAMETER_VALUE, false },
	  { "length", TYPE_INT, PARAMETER_VALUE, false }, { "utf8_safe", TYPE_BOOL, PARAMETER_LITERAL, true } },
	  run_Substring, NULL, "so many bytes of it" },
	{ "ToLowerCase", TYPE_STRING, { STRING("target") }, run_ToLowerCase, NULL, "ASCII letters in lower case" },
	{ "ToUpperCase", TYPE_STRING, { STRING("target") }, run_ToUpperCase, NULL, "ASCII letters in upper case" },
	{ "Trim", TYPE_STRING, { STRING("target"), { "replacement", TYPE_STRING, PARAMETER_VALUE, true } }, run_Trim,
	  NULL,
	  "without these characters on both ends" },
	{ "TrimPrefix", TYPE_STRING, { STRING("target"), STRING("prefix") }, run_TrimPrefix, NULL,
	  "without it in front" },
	{ "TrimSuffix", TYPE_STRING, { STRING("target"), STRING("suffix") }, run_TrimSuffix, NULL,
	  "without it at the end" },
	{ 0 },
};
