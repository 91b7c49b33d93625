// SPDX-License-Identifier: Apache-2.0
#include "cmd/config_options.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/components.h"
#include "cmd/feature_gates.h"
#include "pipeline/service.h"

#define FLAGS_BYTES_MAX 65536
#define FLAGS_NAME "command line"
#define BUILTIN_NAME "built-in"

static const struct config_place nowhere = { .file = "" };

/* The variables of the stand-alone agent count only where nothing else says what to do. */
static int write_flags(const struct config_options *options, struct buf *yaml, struct config_errors *errors)
{
	struct agent_flags flags = options->agent;
	char error[OPTIONS_ERROR_MAX];
	int r;

	if (!options->configs.count)
		agent_flags_read_environment(&flags);
	if (!agent_flags_given(&flags))
		return 0;
	r = agent_flags_write(&flags, yaml, error);
	if (r == -EINVAL)
		config_error(errors, nowhere, "", "%s", error);
	return r;
}

/* Without any configuration there is one that is built in. */
static int write_builtin(const struct config_options *options, bool has_other, struct buf *yaml,
			 struct config_errors *errors)
{
	char error[OPTIONS_ERROR_MAX];
	int r = 0;

	if (has_other && builtin_given(&options->builtin)) {
		config_error(errors, nowhere, "",
			     "--listen, --store.path, --store.retention, --store.clickhouse and --page.files "
			     "are for the built-in configuration; with another, use --set");
		return -EINVAL;
	}
	if (!has_other)
		r = builtin_write(&options->builtin, yaml, error);
	if (r == -EINVAL)
		config_error(errors, nowhere, "", "%s", error);
	return r;
}

int config_options_read(const struct config_options *options, struct config **ret_config, struct config_errors *errors)
{
	_cleanup_(buf_done) struct buf yaml;
	struct feature_gates gates = { 0 };
	struct config_text flags;
	struct config_request request = {
		.sources = options->configs.at,
		.source_count = options->configs.count,
		.sets = options->sets.at,
		.set_count = options->sets.count,
	};
	bool is_builtin;
	int r = 0;

	buf_init(&yaml, FLAGS_BYTES_MAX);
	for (u32 i = 0; r == 0 && i < options->feature_gates.count; i++)
		r = feature_gates_read(options->feature_gates.at[i], &gates, errors);
	if (r == 0)
		r = write_flags(options, &yaml, errors);
	is_builtin = !request.source_count && !yaml.len;
	if (r == 0)
		r = write_builtin(options, !is_builtin, &yaml, errors);
	if (r < 0)
		return r;
	flags = (struct config_text){ is_builtin ? BUILTIN_NAME : FLAGS_NAME, yaml.data };
	if (yaml.len)
		request.text = &flags;
	request.append_lists = gates.append_lists;
	return config_load(&request, ret_config, errors);
}

int config_options_load(const struct config_options *options, struct config **ret_config, struct config_errors *errors)
{
	_cleanup_(config_freep) struct config *config = NULL;
	int r;

	r = config_options_read(options, &config, errors);
	if (r == 0)
		r = service_check(&components, config, errors);
	if (r == 0)
		*ret_config = TAKE(config);
	return r;
}

int config_options_report(const struct command *command, const struct config_errors *errors, int r)
{
	for (u32 i = 0; i < errors->warning_count && i < CONFIG_ERRORS_MAX; i++)
		fprintf(stderr, "wick %s: warning: %s\n", command->name, errors->warnings[i]);
	if (r == 0)
		return 0;
	for (u32 i = 0; i < errors->error_count && i < CONFIG_ERRORS_MAX; i++)
		(void)command_fail(command, "%s", errors->errors[i]);
	if (errors->error_count > CONFIG_ERRORS_MAX)
		(void)command_fail(command, "and %u more", errors->error_count - CONFIG_ERRORS_MAX);
	if (!errors->error_count)
		(void)command_fail(command, "cannot load the configuration: %s", strerror(-r));
	return 1;
}
