// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/command.h"
#include "cmd/components.h"
#include "cmd/config_options.h"
#include "config/print.h"
#include "pipeline/service.h"

#define OUTPUT_BYTES_MAX ((size_t)256 << 20)

#define TYPE_LEN_MAX 63	/* of a component */

enum mode { MODE_REDACTED, MODE_UNREDACTED };

struct print_values {
	struct config_options config;
	int format;	/* enum print_format */
	int mode;	/* enum mode */
	bool validate;
};

static const char *const formats[] = { "yaml", "json", NULL };
static const char *const modes[] = { "redacted", "unredacted", NULL };

static const struct option_entry print_options[] = {
	CONFIG_OPTIONS(struct print_values, config),
	{ "format", 0, OPTION_CHOICE, offsetof(struct print_values, format), "FORMAT", "yaml", 0, 0, formats,
	  "how to write it" },
	{ "mode", 0, OPTION_CHOICE, offsetof(struct print_values, mode), "MODE", "redacted", 0, 0, modes,
	  "whether secrets are left out" },
	{ "validate", 0, OPTION_SWITCH, offsetof(struct print_values, validate), NULL, "on", 0, 0, NULL,
	  "check it first" },
	{ 0 },
};

static const struct config_field *fields_of(void *arg, const char *section, const char *id)
{
	char type[TYPE_LEN_MAX + 1];

	for (int kind = 0; kind < COMPONENT_KINDS; kind++) {
		const struct component_ops *ops;

		if (strcmp(component_section_name(kind), section) != 0)
			continue;
		snprintf(type, sizeof(type), "%.*s", (int)strcspn(id, "/"), id);
		ops = component_find(&components, kind, type);
		return ops ? ops->fields : NULL;
	}
	return NULL;
}

static int print(const struct config *config, const struct print_values *v)
{
	const struct print_options options = {
		.format = (enum print_format)v->format,
		.unredacted = v->mode == MODE_UNREDACTED,
		.fields = fields_of,
	};
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, OUTPUT_BYTES_MAX);
	config_print(config->root, &options, &out);
	if (buf_err(&out))
		return command_fail(&command_print_config, "cannot print it: %s", strerror(-buf_err(&out)));
	fwrite(out.data, 1, out.len, stdout);
	return 0;
}

static int run(const void *values, int count, char **operands)
{
	const struct print_values *v = values;
	_cleanup_(config_freep) struct config *config = NULL;
	struct config_errors errors;
	int r, status;

	config_errors_init(&errors);
	r = config_options_read(&v->config, &config, &errors);
	if (r == 0 && v->validate)
		r = service_check(&components, config, &errors);
	status = config_options_report(&command_print_config, &errors, r);
	config_errors_done(&errors);
	/* A secret under a misspelt key is not known to be one; what flags say holds none. */
	if (config && (status == 0 || !v->config.configs.count))
		status |= print(config, v);
	return status;
}

const struct command command_print_config = {
	.name = "print-config",
	.older_name = "print-initial-config",
	.help = "print a configuration as it is once all of it is put together",
	.operands = "",
	.about = "Files and flags merged, variables expanded, in a form that can be used as a configuration again.\n",
	.examples = "  wick print-config --config=base.yaml --config=site.yaml\n"
		    "  wick print-config --enable-profiling-otlp --profiling-otlp-endpoint=collector:4317\n",
	.options = CONFIG_OPTIONS_TABLE(struct print_values, config, print_options),
	.values_bytes = sizeof(struct print_values),
	.run = run,
};
