/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options by which commands are told their configuration, and what they
 * do with it: load, check, say what is wrong.
 */
#ifndef CMD_CONFIG_OPTIONS_H
#define CMD_CONFIG_OPTIONS_H

#include "cmd/agent_flags.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "config/config.h"

struct config_options {
	struct option_texts configs, sets;
	struct option_texts feature_gates;
	struct agent_flags agent;
	struct builtin_options builtin;
};

/* Entries of a command's table. */
#define CONFIG_OPTIONS(type, member) \
	{ "config", 0, OPTION_TEXTS, offsetof(type, member.configs), "FILE", NULL, 0, 0, NULL, \
	  "configuration, a directory of them, file:PATH, env:NAME, yaml:TEXT; later ones add to earlier ones" }, \
	{ "set", 0, OPTION_TEXTS, offsetof(type, member.sets), "KEY=VALUE", NULL, 0, 0, NULL, \
	  "set one value, as in exporters.debug.verbosity=detailed" }, \
	{ "feature-gates", 0, OPTION_TEXTS, offsetof(type, member.feature_gates), "GATES", NULL, 0, 0, NULL, \
	  "as the Collector has them; profiles need none here" }, \
	BUILTIN_OPTIONS(type, member.builtin)

/* All of the command's struct options: its table, and the agents' flags. */
#define CONFIG_OPTIONS_TABLE(type, member, table) \
	{ .entries = table, .group = AGENT_FLAGS_GROUP(type, member.agent), .single_dash = true }

/* Loads it: what all sources, flags and --set say, merged and expanded. -EINVAL with errors; -ENOMEM. */
int config_options_read(const struct config_options *options, struct config **ret_config,
			struct config_errors *errors);

/* Loads it and checks it against all components; may be called again. -EINVAL with errors; -ENOMEM. */
int config_options_load(const struct config_options *options, struct config **ret_config,
			struct config_errors *errors);

/* Prints warnings and, for r < 0, errors, as a command does. Returns the exit status. */
int config_options_report(const struct command *command, const struct config_errors *errors, int r);

#endif
