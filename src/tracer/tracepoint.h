/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints as tracefs describes them: their names, and where their fields are. Any thread. */
#ifndef TRACER_TRACEPOINT_H
#define TRACER_TRACEPOINT_H

#include <stdbool.h>

#include "base/types.h"

struct buf;

#define TRACEPOINT_FORMAT_MAX 65536

struct tracepoint_field {
	u32 offset, bytes;
	bool is_signed;
	bool is_number;		/* of 1, 2, 4 or 8 bytes; else it is a text or an array */
	char name[64];
};

/* The next field of a format, from *at on; false at its end. What is malformed is left out. */
bool tracepoint_next_field(const char **at, struct tracepoint_field *ret_field);

/* Where tracefs is, or NULL. Who gives up rights asks before: where it is not mounted, it takes them to reach it. */
const char *tracepoint_folder(void);

/* The format of a tracepoint, NUL-ended, the caller's to free. -ENOENT: there is none; or -errno. */
int tracepoint_format(const char *system, const char *name, char **ret_format);

/* The number that perf events know it by, of its format; or -EBADMSG. */
int tracepoint_id(const char *format, u64 *ret_id);

/* Calls use(arg, "SYSTEM:NAME") for each; 0, or -errno. */
int tracepoint_list(void (*use)(void *arg, const char *name), void *arg);

/* A sentence on why a tracepoint cannot be had, by what tracepoint_format() returned; with a name that is near. */
void tracepoint_tell(const char *system, const char *name, int error, struct buf *why);

#endif
