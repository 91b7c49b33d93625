/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chosen variables of a process's environment, as it was when its program
 * started: /proc/PID/environ. The text is the process's own to write: only
 * what was asked for is taken, and of that only so much.
 */
#ifndef PROC_ENVIRONMENT_H
#define PROC_ENVIRONMENT_H

#include <stddef.h>

#include "base/types.h"

#define ENVIRONMENT_NAMES_MAX 32
#define ENVIRONMENT_TEXT_MAX 65536	/* of /proc, what comes later is not seen */
#define ENVIRONMENT_VALUE_MAX 1024

struct environment_names {
	const char *const *at;
	u32 count;
};

struct buf;

/* Adds those that are wanted, the first of each name: "process.environment_variable.NAME=value", each ended by NUL. */
void environment_pick(const char *text, size_t bytes, const struct environment_names *names, struct buf *out);

#endif
