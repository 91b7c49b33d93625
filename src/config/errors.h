/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a configuration, all of it at once, each with its place:
 *
 *	agent.yaml:12:7: exporters::otlp: unknown key endpiont; did you mean endpoint?
 *
 * Warnings are kept apart: they are shown, and nothing fails for them. At most CONFIG_ERRORS_MAX of
 * each are kept, the rest is counted.
 */
#ifndef CONFIG_ERRORS_H
#define CONFIG_ERRORS_H

#include "base/arena.h"
#include "config/node.h"

#define CONFIG_ERRORS_MAX 50

struct config_errors {
	struct arena arena;
	const char *errors[CONFIG_ERRORS_MAX], *warnings[CONFIG_ERRORS_MAX];
	u32 error_count, warning_count;	/* may exceed the maximum */
};

void config_errors_init(struct config_errors *errors);
void config_errors_done(struct config_errors *errors);

/* path: "exporters::otlp::tls", or "" */
void config_error(struct config_errors *errors, struct config_place place, const char *path, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void config_warning(struct config_errors *errors, struct config_place place, const char *path, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
