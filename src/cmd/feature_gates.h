/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --feature-gates=a,+b,-c as the Collector takes it. wick has no gates of its
 * own: profiles are always on. A gate that changes how a configuration is read
 * is obeyed, others are known by name and said to have no effect.
 */
#ifndef CMD_FEATURE_GATES_H
#define CMD_FEATURE_GATES_H

#include <stdbool.h>

#include "config/errors.h"

struct feature_gates {
	bool append_lists;	/* confmap.enableMergeAppendOption */
};

/* -EINVAL with errors for gates that nobody has. */
int feature_gates_read(const char *list, struct feature_gates *gates, struct config_errors *errors);

/* A line for each gate, or for that one. -ENOENT: there is none of that name. */
int feature_gates_print(const char *name);

#endif
