// SPDX-License-Identifier: Apache-2.0
#include "kinds/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "kinds/probe/probe.skel.h"

#define SHOWN_MAX 60	/* of a word that is quoted */
#define SHOWN(s) (int)((s).len < SHOWN_MAX ? (s).len : SHOWN_MAX), (s).at

static const char *const type_texts[] = {
#define X(ID, text) [PROBE_##ID] = text,
	PROBE_TYPES(X)
#undef X
};

#define TYPE_COUNT (sizeof(type_texts) / sizeof(*type_texts))

const char *probe_type_text(enum probe_type type)
{
	return type_texts[type];
}

static const void *object(size_t *ret_bytes)
{
	return probe_bpf__elf_bytes(ret_bytes);
}

static bool copy(struct str from, char *to, size_t bytes)
{
	if (from.len >= bytes || (from.len && memchr(from.at, '\0', from.len)))
		return false;
	memcpy(to, from.at ? from.at : "", from.len);
	to[from.len] = '\0';
	return true;
}

static bool take_number(struct str text, s64 *ret_number)
{
	char digits[24], *end;
	bool is_negative = text.len && text.at[0] == '-';

	if (!copy(text, digits, sizeof(digits)) || !text.len || digits[is_negative] < '0' || digits[is_negative] > '9')
		return false;
	errno = 0;
	*ret_number = is_negative ? strtoll(digits, &end, 0) : (s64)strtoull(digits, &end, 0);
	return !*end && !errno;
}

/* ---- An event ---- */

static bool find_type(struct str word, enum probe_type *ret_type)
{
	for (u32 i = 0; i < TYPE_COUNT; i++)
		if (str_is(word, type_texts[i])) {
			*ret_type = i;
			return true;
		}
	return false;
}

bool probe_is_meant(struct str text)
{
	struct str first;
	enum probe_type type;

	if (text.len && memchr(text.at, '{', text.len))
		return true;
	/* "faults:16" is a kind, "sched:sched_switch" a tracepoint as perf writes it. */
	if (!str_cut(&text, ':', &first) || !text.len)
		return false;
	return find_type(first, &type) || text.at[0] < '0' || text.at[0] > '9';
}

bool probe_is_of_user(const struct probe_point *point)
{
	return *point->symbol &&
	       (point->type == PROBE_UPROBE || point->type == PROBE_URETPROBE || point->type == PROBE_USDT);
}

static int refuse(struct buf *why, struct str text, const char *problem)
{
	buf_addf(why, "\"%.*s\": %s", SHOWN(text), problem);
	return -EINVAL;
}

/* FUNCTION[+OFFSET] */
static bool take_symbol(struct str text, struct probe_point *point)
{
	const char *plus = text.len ? memrchr(text.at, '+', text.len) : NULL;
	s64 offset = 0;

	/* "operator+" is a name. */
	if (plus && take_number((struct str){ plus + 1, (u32)(text.at + text.len - plus - 1) }, &offset) && offset >= 0)
		text.len = (u32)(plus - text.at);
	point->offset = (u64)offset;
	return text.len && copy(text, point->symbol, sizeof(point->symbol));
}

/* The last colon that is not one of two: C++ has those in names. */
static const char *last_colon(struct str text)
{
	for (u32 i = text.len; i > 0; i--) {
		if (text.at[i - 1] != ':')
			continue;
		if (i > 1 && text.at[i - 2] == ':')
			i--;
		else
			return text.at + i - 1;
	}
	return NULL;
}

/* FILE:FUNCTION. A file may have colons. */
static int take_file(struct str rest, struct probe_point *point, struct buf *why, struct str all)
{
	const char *colon = last_colon(rest);
	u32 len = colon ? (u32)(colon - rest.at) : 0;

	if (!len || !copy((struct str){ rest.at, len }, point->target, sizeof(point->target)) ||
	    !take_symbol((struct str){ colon + 1, rest.len - len - 1 }, point))
		return refuse(why, all, "write uprobe:FILE:FUNCTION, uprobe:FILE:FUNCTION+OFFSET or "
					"uretprobe:FILE:FUNCTION");
	if (point->type == PROBE_URETPROBE && point->offset)
		return refuse(why, all, "a function returns from one place only: leave out the offset");
	return 0;
}

/* FILE:[PROVIDER:]NAME: what stands before the names is the file, which has a slash or is the name of a library. */
static int take_usdt(struct str rest, struct probe_point *point, struct buf *why, struct str all)
{
	const char *colon = rest.len ? memrchr(rest.at, ':', rest.len) : NULL;
	u32 len = colon ? (u32)(colon - rest.at) : 0;
	const char *before = len ? memrchr(rest.at, ':', len) : NULL;
	bool has_provider = before && !memchr(before, '/', (size_t)(colon - before));
	struct str name, provider = { 0 };

	if (!len)
		return refuse(why, all, "write usdt:FILE:PROVIDER:NAME");
	name = (struct str){ colon + 1, rest.len - len - 1 };
	if (has_provider) {
		provider = (struct str){ before + 1, (u32)(colon - before - 1) };
		len = (u32)(before - rest.at);
	}
	if (!len || !name.len || !copy((struct str){ rest.at, len }, point->target, sizeof(point->target)) ||
	    !copy(provider, point->provider, sizeof(point->provider)) || !copy(name, point->symbol, PROBE_NAME_BYTES))
		return refuse(why, all, "write usdt:FILE:PROVIDER:NAME");
	return 0;
}

static bool is_word(struct str s)
{
	for (u32 i = 0; i < s.len; i++)
		if (!(s.at[i] >= 'a' && s.at[i] <= 'z') && !(s.at[i] >= 'A' && s.at[i] <= 'Z') &&
		    !(s.at[i] >= '0' && s.at[i] <= '9') && s.at[i] != '_' && s.at[i] != '-')
			return false;
	return s.len;
}

static int take_tracepoint(struct str rest, struct probe_point *point, struct buf *why, struct str all)
{
	struct str system;

	if (!str_cut(&rest, ':', &system) || !is_word(system) || !is_word(rest) ||
	    !copy(system, point->target, PROBE_NAME_BYTES) || !copy(rest, point->symbol, sizeof(point->symbol)))
		return refuse(why, all, "write tracepoint:SYSTEM:NAME; `wick probes` lists them");
	return 0;
}

int probe_parse_point(struct str text, struct probe_point *ret_point, struct buf *why)
{
	struct probe_point point = { 0 };
	struct str rest = text, first;
	int r = 0;

	if (!str_cut(&rest, ':', &first) || !find_type(first, &point.type)) {
		point.type = PROBE_TRACEPOINT;	/* as perf writes it */
		rest = text;
	}
	if (point.type == PROBE_TRACEPOINT)
		r = take_tracepoint(rest, &point, why, text);
	else if (point.type == PROBE_USDT)
		r = take_usdt(rest, &point, why, text);
	else if (point.type == PROBE_UPROBE || point.type == PROBE_URETPROBE)
		r = take_file(rest, &point, why, text);
	else if (!take_symbol(rest, &point))
		r = refuse(why, text, "write kprobe:FUNCTION or kretprobe:FUNCTION, of the kernel");
	if (r == 0)
		*ret_point = point;
	return r;
}

/* ---- What is taken there ---- */

static bool take_argument(struct str word, struct probe_operand *operand)
{
	s64 number;

	if (!str_starts(word, "arg") || !take_number((struct str){ word.at + 3, word.len - 3 }, &number) ||
	    number < 0 || number > 11)
		return false;
	operand->word = PROBE_WORD_ARGUMENT;
	operand->number = (u32)number;
	return true;
}

static bool take_operand(struct str text, struct probe_operand *ret_operand)
{
	struct probe_operand operand = { 0 };

	if (str_starts(text, "end.")) {
		operand.of_end = true;
		text = (struct str){ text.at + 4, text.len - 4 };
	}
	if (str_starts(text, "*")) {
		operand.is_pointer = true;
		text = (struct str){ text.at + 1, text.len - 1 };
	}
	if (str_is(text, "retval")) {
		operand.word = PROBE_WORD_RESULT;
	} else if (str_starts(text, "args.")) {
		operand.word = PROBE_WORD_FIELD;
		text = (struct str){ text.at + 5, text.len - 5 };
		if (!is_word(text) || !copy(text, operand.field, sizeof(operand.field)))
			return false;
	} else if (!take_argument(text, &operand)) {
		return false;
	}
	*ret_operand = operand;
	return true;
}

/* WORD, ==, NUMBER and the like. */
static int take_test(struct str text, struct probe_point *point, struct buf *why)
{
	static const struct {
		const char *text;
		enum probe_test test;
	} tests[] = { { "==", PROBE_EQUAL }, { "!=", PROBE_OTHER }, { "<", PROBE_LESS }, { ">", PROBE_MORE },
		      { "&", PROBE_HAS_BITS } };

	for (u32 i = 0; text.len && i < sizeof(tests) / sizeof(*tests); i++) {
		u32 len = (u32)strlen(tests[i].text);
		const char *at = memmem(text.at, text.len, tests[i].text, len);
		struct str left, right;

		if (!at)
			continue;
		left = (struct str){ text.at, (u32)(at - text.at) };
		right = (struct str){ at + len, text.len - left.len - len };
		if (!take_operand(left, &point->tested) || point->tested.of_end || !take_number(right, &point->against))
			break;
		point->test = tests[i].test;
		return 0;
	}
	return refuse(why, text, "write a test as arg1>100, args.state==2, retval<0, arg2&4; tests are == != < > &");
}

/* One word, or two that are joined: WORD+WORD. */
static int take_key(struct str text, struct probe_point *point, struct buf *why)
{
	struct str rest = text, word;
	u32 count = 0;

	memset(point->key, 0, sizeof(point->key));
	while (str_cut(&rest, '+', &word)) {
		if (count == PROBE_KEYS_MAX)
			return refuse(why, text, "a key is made of two words at most");
		if (str_is(word, "tid"))
			point->key[count].word = PROBE_WORD_THREAD;
		else if (!take_operand(word, &point->key[count]) || point->key[count].of_end)
			return refuse(why, text, "write a key as tid, arg0, args.sector or args.dev+args.sector");
		count++;
	}
	return count ? 0 : refuse(why, text, "it is empty");
}

static int take_value(struct str text, struct probe *probe, struct buf *why)
{
	if (str_is(text, "count"))
		probe->value.word = PROBE_WORD_COUNT;
	else if (str_is(text, "time"))
		probe->value.word = PROBE_WORD_TIME;
	else if (!take_operand(text, &probe->value))
		return refuse(why, text, "a value is count, time, arg0 to arg11, retval, args.FIELD, *arg0, or one of "
					 "these of the other side: end.retval");
	return 0;
}

static int take_end(struct str text, struct probe *probe, struct buf *why)
{
	struct probe_point *end = &probe->end;
	int r = 0;

	probe->has_end = true;
	if (!str_is(text, "return"))
		r = probe_parse_point(text, end, why);
	else if (probe->start.type == PROBE_UPROBE || probe->start.type == PROBE_KPROBE)
		*end = probe->start;
	else
		return refuse(why, text, "only uprobe and kprobe are of functions, which return");
	if (r == 0 && str_is(text, "return")) {
		end->type = probe->start.type == PROBE_UPROBE ? PROBE_URETPROBE : PROBE_KRETPROBE;
		end->offset = 0;
	}
	return r;
}

static bool is_printable(struct str s)
{
	for (u32 i = 0; i < s.len; i++)
		if (s.at[i] < 0x21 || s.at[i] > 0x7e || strchr("\"\\,{}", s.at[i]))
			return false;
	return s.len;
}

static int take_option(struct str key, struct str value, struct probe *probe, struct buf *why)
{
	s64 rate;

	if (str_is(key, "name"))
		return is_printable(value) && copy(value, probe->name, sizeof(probe->name)) ? 0 :
		       refuse(why, value, "a name has up to 63 letters, digits, and no blanks, commas or quotes");
	if (str_is(key, "unit"))
		return is_printable(value) && copy(value, probe->unit, sizeof(probe->unit)) ? 0 :
		       refuse(why, value, "a unit is a word as bytes, nanoseconds, count");
	if (str_is(key, "value"))
		return take_value(value, probe, why);
	if (str_is(key, "until"))
		return take_end(value, probe, why);
	if (str_is(key, "key"))
		return take_key(value, &probe->start, why);
	if (str_is(key, "until_key"))
		return take_key(value, &probe->end, why);
	if (str_is(key, "if"))
		return take_test(value, &probe->start, why);
	if (str_is(key, "until_if"))
		return take_test(value, &probe->end, why);
	if (!str_is(key, "rate"))
		return refuse(why, key, "no such option; there are name, unit, value, until, key, until_key, if, "
					"until_if, rate");
	if (!take_number(value, &rate) || rate < 1 || rate > PROBE_RATE_MAX)
		return refuse(why, value, "rate is a number of stacks a second on each CPU, 1 to 1000000");
	probe->rate = (u32)rate;
	return 0;
}

/* until comes first, whose parts others set. */
static int take_options(struct str options, struct probe *probe, struct buf *why)
{
	int r = 0;

	for (u32 pass = 0; pass < 2; pass++) {
		struct str rest = options, option, key;

		while (r == 0 && str_cut(&rest, ',', &option)) {
			struct str all = option;

			if (!str_cut(&option, '=', &key) || !option.len)
				return refuse(why, all, "write options as {name=NAME,value=arg1}");
			if (str_is(str_trim(key), "until") == (pass == 0))
				r = take_option(str_trim(key), str_trim(option), probe, why);
		}
	}
	return r;
}

/* ---- What goes with what ---- */

static bool is_return(enum probe_type type)
{
	return type == PROBE_URETPROBE || type == PROBE_KRETPROBE;
}

static const char *operand_problem(const struct probe_operand *operand, const struct probe_point *point)
{
	if (operand->word == PROBE_WORD_FIELD && point->type != PROBE_TRACEPOINT)
		return "args.FIELD is of tracepoints; functions and USDT have arg0, arg1";
	if (operand->word == PROBE_WORD_ARGUMENT && point->type == PROBE_TRACEPOINT)
		return "a tracepoint has fields: write args.FIELD; `wick probes SYSTEM:NAME` lists them";
	if (operand->word == PROBE_WORD_ARGUMENT && is_return(point->type))
		return "arguments are gone when a function returns: take them at its start, or retval";
	if (operand->word == PROBE_WORD_RESULT && !is_return(point->type))
		return "retval is of uretprobe and kretprobe, or of until=return";
	if (operand->is_pointer && (point->type == PROBE_KPROBE || is_return(point->type)))
		return "*arg0 reads a program's memory: it is of uprobe, USDT and tracepoints";
	return NULL;
}

static const char *point_problem(const struct probe_point *point, bool is_pair)
{
	const char *problem = operand_problem(&point->tested, point);

	for (u32 i = 0; !problem && i < PROBE_KEYS_MAX; i++)
		problem = operand_problem(&point->key[i], point);
	return !problem && !is_pair && point->key[0].word ? "a key joins two events: write until=EVENT, too" : problem;
}

static const char *find_problem(const struct probe *probe)
{
	const struct probe_operand *value = &probe->value;
	const char *problem = point_problem(&probe->start, probe->has_end);

	if (!problem && probe->has_end)
		problem = point_problem(&probe->end, true);
	if (!problem && !probe->has_end && (probe->end.tested.word || probe->end.key[0].word))
		problem = "until_if and until_key need until=EVENT";
	if (!problem && !probe->has_end && (value->word == PROBE_WORD_TIME || value->of_end))
		problem = "there is no other event: write until=EVENT, or until=return";
	if (!problem)
		problem = operand_problem(value, value->of_end ? &probe->end : &probe->start);
	if (!problem && kind_of(str_of(probe->name), STR("")))
		problem = "samples of another kind are called like this: give it another one by name=NAME";
	return problem;
}

/* What was not said. */
static void fill_in(struct probe *probe)
{
	char text[PROBE_NAME_BYTES + PROBE_SYMBOL_BYTES];
	bool is_time;

	if (!probe->value.word)
		probe->value.word = probe->has_end ? PROBE_WORD_TIME : PROBE_WORD_COUNT;
	if (probe->value.word == PROBE_WORD_RESULT && probe->has_end && !is_return(probe->start.type))
		probe->value.of_end = true;
	if (!probe->start.key[0].word)
		probe->start.key[0].word = probe->has_end ? PROBE_WORD_THREAD : PROBE_WORD_NONE;
	if (probe->has_end && !probe->end.key[0].word)
		memcpy(probe->end.key, probe->start.key, sizeof(probe->end.key));
	is_time = probe->value.word == PROBE_WORD_TIME;
	if (!*probe->unit)
		snprintf(probe->unit, sizeof(probe->unit), "%s", is_time ? "nanoseconds" : "count");
	if (!*probe->name) {
		snprintf(text, sizeof(text), "%s%s%s", probe->start.provider, *probe->start.provider ? ":" : "",
			 probe->start.symbol);
		memcpy(probe->name, text, sizeof(probe->name) - 1);
	}
	for (char *c = probe->name; *c; c++)
		if (!is_printable((struct str){ c, 1 }))
			*c = '_';
	probe->events[0] = (struct kind_event){ probe->name, KIND_EVENT_HOOKS, 0 };
	probe->kind = (struct kind){ .name = probe->name, .title = probe->name, .sample = { probe->name, probe->unit },
				     .events = probe->events, .object = object };
}

int probe_parse(struct str text, struct probe **ret_probe, struct buf *why)
{
	_cleanup_(probe_freep) struct probe *probe = calloc(1, sizeof(*probe));
	const char *brace = text.len ? memchr(text.at, '{', text.len) : NULL, *problem;
	struct str event = { text.at, brace ? (u32)(brace - text.at) : text.len };
	int r;

	if (!probe)
		return -ENOMEM;
	probe->rate = PROBE_RATE_DEFAULT;
	r = probe_parse_point(event, &probe->start, why);
	if (r == 0 && brace && text.at[text.len - 1] != '}')
		r = refuse(why, text, "what follows { ends with }");
	if (r == 0 && brace)
		r = take_options((struct str){ brace + 1, text.len - event.len - 2 }, probe, why);
	if (r < 0)
		return r;
	fill_in(probe);
	problem = find_problem(probe);
	if (problem)
		return refuse(why, text, problem);
	*ret_probe = TAKE(probe);
	return 0;
}

void probe_free(struct probe *probe)
{
	free(probe);
}
