// SPDX-License-Identifier: Apache-2.0
/* Options of every type, decoded from hostile YAML. */
#include "config/fields.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct options {
	bool flag, present;
	s64 number, span_ns;
	double real;
	const char *text, *secret;
	int choice;
	struct config_texts texts;
	struct config_pairs pairs;
	struct {
		bool flag;
	} section;
	struct config_sections sections;
	const struct config_node *node;
};

struct element {
	const char *key;
};

static const char *const choices[] = { "json", "proto", "", NULL };
static const char *const aliases[] = { "older", NULL };

static const struct config_field section_fields[] = {
	{ "flag", CONFIG_BOOL, 0, .help = "flag" },
	{ 0 },
};

static const struct config_field element_fields[] = {
	{ "key", CONFIG_TEXT, FIELD(struct element, key), .required = true, .help = "key" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "b", CONFIG_BOOL, FIELD(struct options, flag), .help = "flag" },
	{ "some_number", CONFIG_INTEGER, FIELD(struct options, number), .min = -5, .max = 5, .any_case = true,
	  .aliases = aliases, .help = "number" },
	{ "r", CONFIG_REAL, FIELD(struct options, real), .min = 0, .max = 1, .help = "real" },
	{ "d", CONFIG_DURATION, FIELD(struct options, span_ns), .max = 1e18, .help = "span" },
	{ "t", CONFIG_TEXT, FIELD(struct options, text), .required = true, .help = "text" },
	{ "s", CONFIG_SECRET, FIELD(struct options, secret), .help = "secret" },
	{ "c", CONFIG_CHOICE, FIELD(struct options, choice), .choices = choices, .help = "choice" },
	{ "l", CONFIG_TEXTS, FIELD(struct options, texts), .help = "list" },
	{ "p", CONFIG_PAIRS, FIELD(struct options, pairs), .secret = true, .help = "pairs" },
	{ "x", CONFIG_SECTION, FIELD(struct options, section), .fields = section_fields,
	  .present = FIELD_PRESENT(struct options, present), .help = "section" },
	{ "xs", CONFIG_SECTIONS, FIELD(struct options, sections), .fields = element_fields,
	  .element_bytes = sizeof(struct element), .help = "sections" },
	{ "n", CONFIG_NODE, FIELD(struct options, node), .help = "anything" },
	{ "no", CONFIG_REFUSED, .help = "refused" },
	{ "soon", CONFIG_NEEDLESS, .help = "later" },
	{ 0 },
};

static const char *no_variable(void *arg, const char *name)
{
	return NULL;
}

static int read_input(void *arg, const char *path, struct buf *ret_text)
{
	const char *text = arg;

	buf_add(ret_text, text, strlen(text));
	return 0;
}

/* Whatever was accepted can be read. */
static size_t touch(const struct options *o)
{
	const struct element *elements = o->sections.at;
	size_t sum = strlen(o->text ? o->text : "") + strlen(o->secret ? o->secret : "") + strlen(choices[o->choice]);

	for (u32 i = 0; i < o->texts.count; i++)
		sum += strlen(o->texts.at[i]);
	for (u32 i = 0; i < o->pairs.count; i++)
		sum += strlen(o->pairs.at[i].key) + strlen(o->pairs.at[i].value);
	for (u32 i = 0; i < o->sections.count; i++)
		sum += strlen(elements[i].key ? elements[i].key : "");
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *text = strndup((const char *)data, size);
	struct config_providers providers = { no_variable, read_input, text };
	const char *source = "input";
	struct config_request request = { .sources = &source, .source_count = 1, .providers = &providers };
	_cleanup_(config_freep) struct config *config = NULL;
	struct options options = { 0 };
	struct config_errors errors;

	config_errors_init(&errors);
	if (config_load(&request, &config, &errors) == 0) {
		int r = config_decode(&config->arena, config->root, fields, "x", &options, &errors);

		if (r == 0 && (!options.text || options.number < -5 || options.number > 5))
			__builtin_trap();
		if (touch(&options) == SIZE_MAX)
			__builtin_trap();
	}
	config_errors_done(&errors);
	return 0;
}
