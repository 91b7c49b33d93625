/* SPDX-License-Identifier: Apache-2.0 */
/* A table of options in words, for `wick components --options` and docs/config.md. */
#ifndef CONFIG_DESCRIBE_H
#define CONFIG_DESCRIBE_H

#include "config/fields.h"

#define DESCRIBE_TEXT_MAX 256

struct field_description {
	const char *path;	/* "tls::insecure"; "rules[]::key" in a list of maps */
	const char *type;	/* "duration, at least 0s" */
	const char *standard;	/* the default as one would write it; "" if there is none to speak of */
	const struct config_field *field;
};

typedef void describe_fn(void *arg, const struct field_description *description);

/* Each option, those of sections after the section itself, a table that is shared once. defaults may be NULL: zeros. */
void config_describe(const struct config_field *fields, const void *defaults, describe_fn *each, void *arg);

#endif
