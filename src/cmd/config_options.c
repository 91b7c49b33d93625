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

/* What is to be written: what is built in, what agents' flags say, or both. */
struct plan {
	struct agent_flags flags;
	bool has_flags, is_builtin;
};

/* The variables of the stand-alone agent count only where nothing else says what to do. */
static struct plan make_plan(const struct config_options *options)
{
	struct plan plan = { .flags = options->agent };

	if (!options->configs.count)
		agent_flags_read_environment(&plan.flags);
	plan.has_flags = agent_flags_given(&plan.flags);
	plan.is_builtin = !options->configs.count &&
			  (builtin_given(&options->builtin) || !agent_flags_send(&plan.flags));
	return plan;
}

static int write_plan(const struct config_options *options, const struct plan *plan, struct buf *builtin,
		      struct buf *flags, struct config_errors *errors)
{
	char error[OPTIONS_ERROR_MAX];
	int r = 0;

	if (options->configs.count && builtin_given(&options->builtin)) {
		config_error(errors, nowhere, "",
			     "--listen, --store.path, --store.retention, --store.clickhouse, --page.files and "
			     "--page.source are for the built-in configuration; with another, use --set");
		return -EINVAL;
	}
	if (plan->is_builtin)
		r = builtin_write(&options->builtin, builtin, error);
	if (r == 0 && plan->has_flags)
		r = agent_flags_write(&plan->flags, plan->is_builtin ? AGENT_FLAGS_BESIDE_PAGE :
				      options->configs.count ? AGENT_FLAGS_BESIDE_FILES : AGENT_FLAGS_ALONE, flags,
				      error);
	if (r == -EINVAL)
		config_error(errors, nowhere, "", "%s", error);
	return r;
}

int config_options_read(const struct config_options *options, struct config **ret_config, struct config_errors *errors)
{
	_cleanup_(buf_done) struct buf builtin, flags;
	struct feature_gates gates = { 0 };
	struct plan plan = make_plan(options);
	struct config_request request = {
		.sources = options->configs.at,
		.source_count = options->configs.count,
		.sets = options->sets.at,
		.set_count = options->sets.count,
	};
	struct config_text text;
	const char *beside;
	int r = 0;

	buf_init(&builtin, FLAGS_BYTES_MAX);
	buf_init(&flags, FLAGS_BYTES_MAX);
	for (u32 i = 0; r == 0 && i < options->feature_gates.count; i++)
		r = feature_gates_read(options->feature_gates.at[i], &gates, errors);
	if (plan.is_builtin)
		buf_addf(&flags, "yaml:");
	if (r == 0)
		r = write_plan(options, &plan, &builtin, &flags, errors);
	if (r < 0)
		return r;
	text = plan.is_builtin ? (struct config_text){ BUILTIN_NAME, builtin.data } :
				 (struct config_text){ FLAGS_NAME, flags.data };
	if (plan.is_builtin || plan.has_flags)
		request.text = &text;
	if (plan.is_builtin && plan.has_flags) {
		beside = flags.data;
		request.sources = &beside;
		request.source_count = 1;
	}
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
