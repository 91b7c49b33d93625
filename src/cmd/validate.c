// SPDX-License-Identifier: Apache-2.0
#include "cmd/command.h"
#include "cmd/config_options.h"

struct validate_values {
	struct config_options config;
};

static const struct option_entry validate_options[] = {
	CONFIG_OPTIONS(struct validate_values, config),
	{ 0 },
};

static int run(const void *values, int count, char **operands)
{
	const struct validate_values *v = values;
	_cleanup_(config_freep) struct config *config = NULL;
	struct config_errors errors;
	int r, status;

	config_errors_init(&errors);
	r = config_options_load(&v->config, &config, &errors);
	status = config_options_report(&command_validate, &errors, r);
	config_errors_done(&errors);
	return status;
}

const struct command command_validate = {
	.name = "validate",
	.help = "say what is wrong with a configuration",
	.operands = "",
	.about = "Checks all that can be checked without starting anything. Prints nothing and exits with 0 if it is\n"
		 "good.\n",
	.examples = "  wick validate --config=agent.yaml\n",
	.options = CONFIG_OPTIONS_TABLE(struct validate_values, config, validate_options),
	.values_bytes = sizeof(struct validate_values),
	.run = run,
};
