// SPDX-License-Identifier: Apache-2.0
#include "cmd/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"

#define HELP_COLUMN 28

/* --help is in every table without being written there. */
static const struct option_entry help_entry = {
	.name = "help", .letter = 'h', .type = OPTION_SWITCH, .help = "print this and exit",
};

struct parse {
	const struct options *options;
	int argc, next;
	char **argv;
	void *values;
	bool help;
	char *error;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct parse *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->error, OPTIONS_ERROR_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool has_range(const struct option_entry *e)
{
	return e->min != 0 || e->max != 0;
}

static int refuse_value(struct parse *p, const struct option_entry *e, const char *text, const char *kind)
{
	if (has_range(e))
		return refuse(p, "--%s %s: not %s from %.15g to %.15g", e->name, text, kind, e->min, e->max);
	return refuse(p, "--%s %s: not %s", e->name, text, kind);
}

static int set_integer(struct parse *p, const struct option_entry *e, const char *text, s64 *value)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || *end || (has_range(e) && (n < e->min || n > e->max)))
		return refuse_value(p, e, text, "a whole number");
	*value = n;
	return 0;
}

static int set_real(struct parse *p, const struct option_entry *e, const char *text, double *value)
{
	char *end;
	double n;

	errno = 0;
	n = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(n) || (has_range(e) && (n < e->min || n > e->max)))
		return refuse_value(p, e, text, "a number");
	*value = n;
	return 0;
}

static int set_choice(struct parse *p, const struct option_entry *e, const char *text, int *value)
{
	char list[OPTIONS_ERROR_MAX / 2] = "";
	struct nearest n;

	nearest_init(&n, text);
	for (int i = 0; e->choices[i]; i++) {
		size_t used = strlen(list);

		if (!strcmp(e->choices[i], text)) {
			*value = i;
			return 0;
		}
		nearest_try(&n, e->choices[i]);
		snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", e->choices[i]);
	}
	if (n.best)
		return refuse(p, "--%s %s: did you mean %s? (one of %s)", e->name, text, n.best, list);
	return refuse(p, "--%s %s: not one of %s", e->name, text, list);
}

static int add_numbers(struct parse *p, const struct option_entry *e, const char *text, struct option_numbers *value)
{
	const char *at = text;

	for (;;) {
		char *end;
		unsigned long long n;

		errno = 0;
		n = strtoull(at, &end, 10);
		if (errno || !isdigit((unsigned char)*at) || (*end && *end != ',') || n < e->min || n > e->max)
			return refuse_value(p, e, text, "a list of numbers");
		if (value->count == OPTION_NUMBERS_MAX)
			return refuse(p, "--%s: more than %d numbers", e->name, OPTION_NUMBERS_MAX);
		value->at[value->count++] = (u32)n;
		if (!*end)
			return 0;
		at = end + 1;
	}
}

static int add_text(struct parse *p, const struct option_entry *e, const char *text, struct option_texts *value)
{
	if (value->count == OPTION_TEXTS_MAX)
		return refuse(p, "--%s: given more than %d times", e->name, OPTION_TEXTS_MAX);
	value->at[value->count++] = text;
	return 0;
}

static bool in_group(const struct options *options, const struct option_entry *e)
{
	for (u32 i = 0; i < options->group.count; i++) {
		if (e == &options->group.entries[i])
			return true;
	}
	return false;
}

/* The first after NULL; NULL after the last. */
static const struct option_entry *next_entry(const struct options *options, const struct option_entry *e)
{
	if (e && in_group(options, e))
		return e + 1 < options->group.entries + options->group.count ? e + 1 : NULL;
	e = e ? e + 1 : options->entries;
	if (e->name)
		return e;
	return options->group.count ? options->group.entries : NULL;
}

static void *value_of(const struct parse *p, const struct option_entry *e)
{
	return (char *)p->values + e->offset + (in_group(p->options, e) ? p->options->group.offset : 0);
}

static int set_value(struct parse *p, const struct option_entry *e, const char *text)
{
	void *value = value_of(p, e);

	switch (e->type) {
	case OPTION_SWITCH:
		*(bool *)value = !strcmp(text, "on");
		return 0;
	case OPTION_INTEGER:
		return set_integer(p, e, text, value);
	case OPTION_REAL:
		return set_real(p, e, text, value);
	case OPTION_TEXT:
		*(const char **)value = text;
		return 0;
	case OPTION_CHOICE:
		return set_choice(p, e, text, value);
	case OPTION_NUMBERS:
		return add_numbers(p, e, text, value);
	case OPTION_TEXTS:
		return add_text(p, e, text, value);
	}
	return -EINVAL;
}

static int set_defaults(struct parse *p)
{
	for (const struct option_entry *e = NULL; (e = next_entry(p->options, e));) {
		int r = e->standard ? set_value(p, e, e->standard) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int set_switch(struct parse *p, const struct option_entry *e, bool on)
{
	if (e == &help_entry)
		p->help = true;
	else
		*(bool *)value_of(p, e) = on;
	return 0;
}

/* The value of an option whose argument may stand in the next word. */
static int take_value(struct parse *p, const struct option_entry *e, const char *attached)
{
	if (attached)
		return set_value(p, e, attached);
	if (p->next == p->argc)
		return refuse(p, "--%s needs %s", e->name, e->argument);
	return set_value(p, e, p->argv[p->next++]);
}

static const struct option_entry *find_long(const struct options *options, const char *name, size_t len)
{
	for (const struct option_entry *e = NULL; (e = next_entry(options, e));) {
		if (strlen(e->name) == len && !strncmp(e->name, name, len))
			return e;
	}
	return len == strlen(help_entry.name) && !strncmp(name, help_entry.name, len) ? &help_entry : NULL;
}

static const struct option_entry *find_short(const struct options *options, char letter)
{
	for (const struct option_entry *e = NULL; (e = next_entry(options, e));) {
		if (e->letter == letter)
			return e;
	}
	return letter == help_entry.letter ? &help_entry : NULL;
}

static int refuse_unknown(struct parse *p, const char *name, size_t len)
{
	char word[64];
	struct nearest n;

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	nearest_init(&n, word);
	for (const struct option_entry *e = NULL; (e = next_entry(p->options, e));)
		nearest_try(&n, e->name);
	nearest_try(&n, help_entry.name);
	if (n.best)
		return refuse(p, "there is no option --%s; did you mean --%s?", word, n.best);
	return refuse(p, "there is no option --%s", word);
}

static bool parse_truth(const char *text, bool *on)
{
	static const char *const yes[] = { "true", "t", "1" }, *const no[] = { "false", "f", "0" };

	for (int i = 0; i < 3; i++) {
		if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
			*on = !strcasecmp(text, yes[i]) ? *on : !*on;
			return true;
		}
	}
	return false;
}

static int parse_long(struct parse *p, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	const struct option_entry *e = find_long(p->options, text, len);
	bool on = true;

	if (!e && len > 3 && !strncmp(text, "no-", 3)) {
		e = find_long(p->options, text + 3, len - 3);
		if (e && (e->type != OPTION_SWITCH || e == &help_entry))
			e = NULL;
		on = false;
	}
	if (!e)
		return refuse_unknown(p, text, len);
	if (e->type != OPTION_SWITCH)
		return take_value(p, e, equals ? equals + 1 : NULL);
	if (equals && !parse_truth(equals + 1, &on))
		return refuse(p, "--%s%s: not true or false", e->name, equals);
	return set_switch(p, e, on);
}

/* Letters of switches may be joined; the first that takes a value takes the rest of the word. */
static int parse_letters(struct parse *p, const char *word)
{
	for (const char *text = word; *text; text++) {
		const struct option_entry *e = find_short(p->options, *text);
		int r;

		if (!e && p->options->single_dash && text == word && text[1] && text[1] != '=')
			return refuse_unknown(p, text, strcspn(text, "="));
		if (!e)
			return refuse(p, "there is no option -%c", isprint((unsigned char)*text) ? *text : '?');
		if (e->type != OPTION_SWITCH) {
			text += p->options->single_dash && text[1] == '=' ? 2 : 1;
			return take_value(p, e, *text ? text : NULL);
		}
		r = set_switch(p, e, true);
		if (r < 0)
			return r;
	}
	return 0;
}

/* -name and -name=VALUE, where the name is more than a letter. */
static bool is_long_name(const struct parse *p, const char *text)
{
	size_t len = strcspn(text, "=");

	return p->options->single_dash && len > 1 && find_long(p->options, text, len);
}

static int parse_words(struct parse *p, int *ret_operands)
{
	int operands = 0;

	while (p->next < p->argc) {
		char *word = p->argv[p->next++];
		int r = 0;

		if (!strcmp(word, "--"))
			break;
		if (word[0] == '-' && word[1] == '-')
			r = parse_long(p, word + 2);
		else if (word[0] == '-' && is_long_name(p, word + 1))
			r = parse_long(p, word + 1);
		else if (word[0] == '-' && word[1])
			r = parse_letters(p, word + 1);
		else
			p->argv[operands++] = word;
		if (r < 0)
			return r;
		if (operands && p->options->stop_at_operand)
			break;
	}
	while (p->next < p->argc)
		p->argv[operands++] = p->argv[p->next++];
	*ret_operands = operands;
	return 0;
}

int options_parse(const struct options *options, int argc, char **argv, void *values, int *ret_operands,
		  char error[OPTIONS_ERROR_MAX])
{
	struct parse p = { .options = options, .argc = argc, .argv = argv, .values = values, .error = error };
	int operands, r;

	r = set_defaults(&p);
	assert(r == 0);
	r = parse_words(&p, &operands);
	if (r < 0)
		return r;
	if (p.help)
		return OPTIONS_HELP;
	*ret_operands = operands;
	return OPTIONS_OK;
}

static void print_entry(const struct option_entry *e, FILE *out)
{
	char names[80];
	bool negated = e->type == OPTION_SWITCH && e->standard && !strcmp(e->standard, "on");
	int len = snprintf(names, sizeof(names), "  %c%c%s --%s%s%s%s", e->letter ? '-' : ' ',
			   e->letter ? e->letter : ' ', e->letter ? "," : " ", negated ? "[no-]" : "", e->name,
			   e->argument ? " " : "", e->argument ? e->argument : "");

	if (len >= HELP_COLUMN)
		fprintf(out, "%s\n%*s", names, HELP_COLUMN, "");
	else
		fprintf(out, "%-*s", HELP_COLUMN, names);
	fputs(e->help, out);
	if (has_range(e) && e->type != OPTION_NUMBERS)
		fprintf(out, ", %.15g to %.15g", e->min, e->max);
	for (int i = 0; e->type == OPTION_CHOICE && e->choices[i]; i++)
		fprintf(out, "%s%s", i ? ", " : ": ", e->choices[i]);
	if (e->standard)
		fprintf(out, " (default %s)", e->standard);
	fputc('\n', out);
}

void options_print(const struct options *options, FILE *out)
{
	for (const struct option_entry *e = options->entries; e->name; e++)
		print_entry(e, out);
	print_entry(&help_entry, out);
	if (options->group.count)
		fprintf(out, "\n%s\n", options->group.heading);
	for (u32 i = 0; i < options->group.count; i++)
		print_entry(&options->group.entries[i], out);
}
