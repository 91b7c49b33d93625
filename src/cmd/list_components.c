// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/components.h"
#include "config/describe.h"

#define ASIDE_MAX 128

enum format { FORMAT_TEXT, FORMAT_MARKDOWN };

struct components_values {
	bool options;
	int format;	/* enum format */
};

static const char *const formats[] = { "text", "markdown", NULL };

static const struct option_entry components_options[] = {
	{ "options", 0, OPTION_SWITCH, offsetof(struct components_values, options), NULL, NULL, 0, 0, NULL,
	  "print the options of all components, or of those named TYPE" },
	{ "format", 0, OPTION_CHOICE, offsetof(struct components_values, format), "FORMAT", "text", 0, 0, formats,
	  "... as" },
	{ 0 },
};

/* ---- Names ------------------------------------------------------------------------------- */

static void print_kind(enum component_kind kind)
{
	const struct component_ops *const *ops = components.of_kind[kind];
	const char *signal = kind == COMPONENT_EXTENSION ? "extension" :
			     kind == COMPONENT_CONNECTOR ? "profiles-to-profiles" : "profiles";

	printf("%s:%s\n", component_section_name(kind), *ops ? "" : " []");
	for (; *ops; ops++)
		printf("    - name: %s\n      description: \"%s\"\n      stability:\n        %s: Alpha\n", (*ops)->type,
		       (*ops)->help, signal);
}

/* In the Collector's form, which scripts read. */
static void print_names(void)
{
	puts("buildinfo:\n    command: wick\n    description: eBPF profiler and OTLP profiles collector\n"
	     "    version: " WICK_VERSION);
	for (int kind = 0; kind < COMPONENT_KINDS; kind++)
		print_kind((enum component_kind)kind);
	puts("providers:\n    - scheme: env\n    - scheme: file\n    - scheme: yaml");
}

/* ---- Options ------------------------------------------------------------------------------ */

/* Options that the Collector has, and nothing to set here: told after the others, those of one reason together. */
struct aside {
	enum config_type type;
	struct { char path[DESCRIBE_TEXT_MAX]; const char *why; } at[ASIDE_MAX];
	u32 count;
};

static bool is_aside(const struct config_field *field)
{
	return field->type == CONFIG_REFUSED || field->type == CONFIG_NEEDLESS;
}

static void put_aside(void *arg, const struct field_description *d)
{
	struct aside *aside = arg;

	if (d->field->type != aside->type || aside->count == ASIDE_MAX)
		return;
	snprintf(aside->at[aside->count].path, DESCRIBE_TEXT_MAX, "%s", d->path);
	aside->at[aside->count++].why = d->field->help;
}

static void print_aside(const struct component_ops *ops, enum config_type type, const char *heading)
{
	static struct aside aside;

	aside = (struct aside){ .type = type };
	config_describe(ops->fields, ops->defaults, put_aside, &aside);
	if (aside.count)
		printf("\n%s:\n\n", heading);
	for (u32 i = 0; i < aside.count; i++) {
		const char *why = aside.at[i].why;

		if (!why)
			continue;
		printf("- `%s`", aside.at[i].path);
		for (u32 k = i + 1; k < aside.count; k++) {
			if (!aside.at[k].why || strcmp(aside.at[k].why, why) != 0)
				continue;
			printf(", `%s`", aside.at[k].path);
			aside.at[k].why = NULL;
		}
		printf(": %s\n", why);
	}
}

static void print_text(void *arg, const struct field_description *d)
{
	printf("  %s: %s", d->path, d->type);
	if (!is_aside(d->field) && *d->standard)
		printf(!strcmp(d->standard, "required") ? " (%s)" : " (default %s)", d->standard);
	printf("\n      %s\n", d->field->help);
}

/* A bar would end the cell. */
static void print_cell(const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			putchar('\\');
		putchar(*text);
	}
}

static void print_markdown(void *arg, const struct field_description *d)
{
	bool code = *d->standard && strcmp(d->standard, "required") != 0;

	if (is_aside(d->field))
		return;
	printf("| `%s` | ", d->path);
	print_cell(d->type);
	printf(code ? " | `%s` | " : " | %s | ", d->standard);
	print_cell(d->field->help);
	for (const char *const *alias = d->field->aliases; alias && *alias; alias++)
		printf(alias == d->field->aliases ? "; older name `%s`" : ", `%s`", *alias);
	puts(" |");
}

static void print_aliases(const struct component_ops *ops, const char *quote)
{
	for (const char *const *alias = ops->aliases; alias && *alias; alias++)
		printf("%s%s%s%s", alias == ops->aliases ? "; also " : ", ", quote, *alias, quote);
}

static void print_component(const struct component_ops *ops, enum format format)
{
	bool markdown = format == FORMAT_MARKDOWN, any = ops->fields && ops->fields->name;

	printf(markdown ? "### `%s`\n\n%c" : "%s: %c", ops->type, toupper((unsigned char)ops->help[0]));
	fputs(ops->help + 1, stdout);
	print_aliases(ops, markdown ? "`" : "");
	fputs(any ? "." : ". It has no options.", stdout);
	puts(any && ops->fields->any_case ? " Older spellings of its options are read too, as SamplesPerSecond." : "");
	if (any && markdown)
		puts("\n| option | value | default | |\n|---|---|---|---|");
	if (any)
		config_describe(ops->fields, ops->defaults, markdown ? print_markdown : print_text, NULL);
	if (any && markdown) {
		print_aside(ops, CONFIG_NEEDLESS, "Accepted without effect, since there is nothing to set");
		print_aside(ops, CONFIG_REFUSED, "Refused, with what to do instead");
	}
	putchar('\n');
}

static bool is_called(const struct component_ops *ops, const char *type)
{
	for (const char *const *alias = ops->aliases; alias && *alias; alias++) {
		if (!strcmp(*alias, type))
			return true;
	}
	return !strcmp(ops->type, type);
}

/* Those of that type, or all. The number of them. */
static int print_all_options(const char *type, enum format format)
{
	int count = 0;

	for (int kind = 0; kind < COMPONENT_KINDS; kind++) {
		bool heading = false;

		for (const struct component_ops *const *ops = components.of_kind[kind]; *ops; ops++) {
			if (type && !is_called(*ops, type))
				continue;
			if (!heading) {
				const char *section = component_section_name((enum component_kind)kind);

				printf(format == FORMAT_MARKDOWN ? "## %s\n\n" : "%s\n\n", section);
				heading = true;
			}
			print_component(*ops, format);
			count++;
		}
	}
	return count;
}

static int unknown_type(const char *type)
{
	const char *best = NULL;

	for (int kind = 0; kind < COMPONENT_KINDS && !best; kind++)
		best = component_nearest(&components, (enum component_kind)kind, type);
	if (best)
		return command_fail(&command_list_components, "there is no component %s; did you mean %s?", type, best);
	return command_fail(&command_list_components, "there is no component %s; wick components lists them", type);
}

static int run(const void *values, int count, char **operands)
{
	const struct components_values *v = values;

	if (!v->options && count)
		return command_fail(&command_list_components, "a TYPE goes with --options");
	if (!v->options)
		print_names();
	else if (!print_all_options(count ? operands[0] : NULL, (enum format)v->format) && count)
		return unknown_type(operands[0]);
	return 0;
}

const struct command command_list_components = {
	.name = "components",
	.help = "list what a configuration can be made of",
	.operands = "[TYPE]",
	.operands_max = 1,
	.about = "Without --options it prints YAML, as the Collector's command of that name does.\n",
	.examples = "  wick components\n"
		    "  wick components --options otlp_grpc\n",
	.options = { .entries = components_options },
	.values_bytes = sizeof(struct components_values),
	.run = run,
};
