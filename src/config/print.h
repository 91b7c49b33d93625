/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree as YAML or JSON that loads as the same tree again. Secrets are left
 * out: what a component's table calls one, and what its key gives away
 * (password, token, ...) where there is no table.
 */
#ifndef CONFIG_PRINT_H
#define CONFIG_PRINT_H

#include "config/fields.h"

struct buf;

#define CONFIG_REDACTED "[REDACTED]"

enum print_format { PRINT_YAML, PRINT_JSON };

struct print_options {
	enum print_format format;
	bool unredacted;
	/* The table of a component: section "exporters", id "otlp/x". NULL: unknown. */
	const struct config_field *(*fields)(void *arg, const char *section, const char *id);
	void *arg;
};

void config_print(const struct config_node *root, const struct print_options *options, struct buf *out);

#endif
