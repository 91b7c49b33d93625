/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options by which commands are told their configuration, and what they
 * do with it: load, check, say what is wrong.
 */
#ifndef CMD_CONFIG_OPTIONS_H
#define CMD_CONFIG_OPTIONS_H

#include "cmd/options.h"
#include "config/config.h"

struct config_options {
	struct option_texts configs, sets;
	const char *feature_gates;
};

/* Entries of a command's table. */
#define CONFIG_OPTIONS(type, member) \
	{ "config", 0, OPTION_TEXTS, offsetof(type, member.configs), "FILE", NULL, 0, 0, NULL, \
	  "configuration, also file:PATH, env:NAME, yaml:TEXT; later ones add to earlier ones" }, \
	{ "set", 0, OPTION_TEXTS, offsetof(type, member.sets), "KEY=VALUE", NULL, 0, 0, NULL, \
	  "set one value, as in exporters.debug.verbosity=detailed" }, \
	{ "feature-gates", 0, OPTION_TEXT, offsetof(type, member.feature_gates), "GATES", NULL, 0, 0, NULL, \
	  "accepted for the Collector's sake; wick has none" }

/* Loads it and checks it against all components; may be called again. -EINVAL with errors; -ENOMEM. */
int config_options_load(const struct config_options *options, struct config **ret_config,
			struct config_errors *errors);

#endif
