// SPDX-License-Identifier: Apache-2.0
/* Converters that make texts and look into them: ottl_converters at the end is the list. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/hex.h"
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

static int run_String(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	struct str text;
	int r = 0;

	if (value_type(in) != TYPE_NIL)
		r = text_of(run, in, &text);
	if (r >= 0 && value_type(in) != TYPE_NIL)
		*ret_value = value_string(text);
	return r;
}

/* Lists and maps are left out: they could be long. Their place stays, as that of nil does. */
static int run_Concat(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct str delimiter = in[1].any.string, joined;
	int r;

	run_text_init(&text);
	for (u32 i = 0; i < in->any.count; i++) {
		struct value member = { .any = in->any.array[i] };

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

static int run_IsMatch(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	struct str text;
	int r = 0;

	if (value_type(in) != TYPE_NIL) {
		r = text_of(run, in, &text);
		if (r < 0)
			return r;
		r = pattern_match(call->pattern, &run->pattern, text.at, text.len, 0, NULL);
		if (r < 0)
			return run_fail(run, r, "IsMatch() gave up: the pattern takes too many steps on this text");
	}
	*ret_value = value_bool(r);
	return 0;
}

enum side { AT_THE_START, AT_THE_END };

static bool has_part(struct str text, struct str part, enum side side)
{
	return part.len <= text.len &&
	       (!part.len || !memcmp(text.at + (side == AT_THE_END ? text.len - part.len : 0), part.at, part.len));
}

static int run_has_part(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	*ret_value = value_bool(has_part(in[0].any.string, in[1].any.string, call->ops->detail));
	return 0;
}

static bool is_continuation(struct str text, s64 at)
{
	return at < text.len && ((unsigned char)text.at[at] & 0xc0) == 0x80;
}

static int run_Substring(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	struct str text = in[0].any.string;
	s64 start = in[1].any.integer, length = in[2].any.integer, end;

	if (start < 0 || length < 0 || start > text.len || length > text.len - start)
		return run_fail(run, -ERANGE, "Substring() asks for %lld bytes from %lld of a text of %u",
				(long long)length, (long long)start, text.len);
	end = start + length;
	if (in[3].any.boolean) {
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

static int run_Split(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	struct str text = in[0].any.string, delimiter = in[1].any.string;
	struct any *array;
	u32 count = 0, from = 0;

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

static int run_ExtractPatterns(struct ottl_run *run, const struct call *call, const struct value *in,
			       struct value *ret_value)
{
	struct pattern_span spans[PATTERN_GROUPS_MAX];
	u32 groups = pattern_groups(call->pattern), count = 0;
	struct str text = in[0].any.string;
	struct keyvalue *map = run_alloc(run, groups * sizeof(*map));
	int r;

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

static int run_change_case(struct ottl_run *run, const struct call *call, const struct value *in,
			   struct value *ret_value)
{
	int (*change)(int) = call->ops->detail ? toupper : tolower;
	struct str text = in[0].any.string;
	char *copy = run_alloc(run, text.len);

	if (!copy)
		return run_err(run);
	for (u32 i = 0; i < text.len; i++)
		copy[i] = (unsigned char)text.at[i] < 0x80 ? (char)change((unsigned char)text.at[i]) : text.at[i];
	*ret_value = value_string((struct str){ copy, text.len });
	return 0;
}

/* Any of the characters given, as often as they come; a blank if none is given. */
static int run_Trim(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	struct str text = in[0].any.string, cut = call->arguments[1] ? in[1].any.string : STR(" ");

	while (text.len && cut.len && memchr(cut.at, text.at[0], cut.len)) {
		text.at++;
		text.len--;
	}
	while (text.len && cut.len && memchr(cut.at, text.at[text.len - 1], cut.len))
		text.len--;
	*ret_value = value_string(text);
	return 0;
}

static int run_trim_part(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	struct str text = in[0].any.string, part = in[1].any.string;

	if (has_part(text, part, call->ops->detail))
		text = (struct str){ text.at + (call->ops->detail == AT_THE_START ? part.len : 0),
				     text.len - part.len };
	*ret_value = value_string(text);
	return 0;
}

/* OpenSSL knows them by the same names. */
static int run_digest(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	const EVP_MD *kind = EVP_get_digestbyname(call->ops->name);
	struct str text = in[0].any.string;
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned int len;
	char *digits;

	if (!kind || !EVP_Digest(text.len ? text.at : "", text.len, bytes, &len, kind, NULL))
		return run_fail(run, -EOPNOTSUPP, "%s() is not available here", call->ops->name);
	digits = run_alloc(run, 2 * len);
	if (!digits)
		return run_err(run);
	hex_write(bytes, len, digits);
	*ret_value = value_string((struct str){ digits, 2 * len });
	return 0;
}

/* ---- The list ------------------------------------------------------------------------------------------ */

#define STRING(name) { name, TYPE_STRING, PARAMETER_VALUE, false }

const struct function_ops ottl_converters[] = {
	{ "Concat", TYPE_STRING, { { "vals", TYPE_LIST, PARAMETER_VALUE, false }, STRING("delimiter") }, run_Concat,
	  .help = "the texts of all members, with the delimiter between" },
	{ "ExtractPatterns", TYPE_MAP, { STRING("target"), { "pattern", TYPE_STRING, PARAMETER_PATTERN, false } },
	  run_ExtractPatterns, check_ExtractPatterns, .help = "what the named groups matched" },
	{ "HasPrefix", TYPE_BOOL, { STRING("target"), STRING("prefix") }, run_has_part,
	  .help = "begins with it", .detail = AT_THE_START },
	{ "HasSuffix", TYPE_BOOL, { STRING("target"), STRING("suffix") }, run_has_part,
	  .help = "ends with it", .detail = AT_THE_END },
	{ "IsMatch", TYPE_BOOL, { { "target", TYPE_VALUE, PARAMETER_VALUE, false },
	  { "pattern", TYPE_STRING, PARAMETER_PATTERN, false } }, run_IsMatch, .help = "the pattern is found in it" },
	{ "MD5", TYPE_STRING, { STRING("value") }, run_digest, .help = "in hexadecimal" },
	{ "SHA1", TYPE_STRING, { STRING("value") }, run_digest, .help = "in hexadecimal" },
	{ "SHA256", TYPE_STRING, { STRING("value") }, run_digest, .help = "in hexadecimal" },
	{ "SHA512", TYPE_STRING, { STRING("value") }, run_digest, .help = "in hexadecimal" },
	{ "Split", TYPE_LIST, { STRING("target"), STRING("delimiter") }, run_Split,
	  .help = "the parts between delimiters" },
	{ "String", TYPE_STRING | TYPE_NIL, { { "target", TYPE_VALUE, PARAMETER_VALUE, false } }, run_String,
	  .help = "as text" },
	{ "Substring", TYPE_STRING, { STRING("target"), { "start", TYPE_INT, PARAMETER_VALUE, false },
	  { "length", TYPE_INT, PARAMETER_VALUE, false }, { "utf8_safe", TYPE_BOOL, PARAMETER_LITERAL, true } },
	  run_Substring, .help = "so many bytes of it" },
	{ "ToLowerCase", TYPE_STRING, { STRING("target") }, run_change_case, .help = "ASCII letters in lower case" },
	{ "ToUpperCase", TYPE_STRING, { STRING("target") }, run_change_case,
	  .help = "ASCII letters in upper case", .detail = true },
	{ "Trim", TYPE_STRING, { STRING("target"), { "replacement", TYPE_STRING, PARAMETER_VALUE, true } }, run_Trim,
	  .help = "without these characters on both ends" },
	{ "TrimPrefix", TYPE_STRING, { STRING("target"), STRING("prefix") }, run_trim_part,
	  .help = "without it in front", .detail = AT_THE_START },
	{ "TrimSuffix", TYPE_STRING, { STRING("target"), STRING("suffix") }, run_trim_part,
	  .help = "without it at the end", .detail = AT_THE_END },
	{ 0 },
};
