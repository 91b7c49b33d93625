/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a file that a profile names here, the same one, and does it tell its own symbols? Only then does perf name its
 * addresses, and annotate its code.
 *
 * Paths come from anywhere and files are foreign: only regular ones are looked at, nothing is mapped (a file that
 * shrinks meanwhile would be SIGBUS), and what is read is bounded.
 */
#ifndef WIRE_PERFDATA_LOCAL_H
#define WIRE_PERFDATA_LOCAL_H

#include <stdbool.h>

#include "base/types.h"

#define PERFDATA_LOCAL_SYMBOLS_MAX (1u << 22)

struct perfdata_function {
	u64 fo, bytes;
};

struct perfdata_local {
	bool has_symbols;			/* .symtab */
	struct perfdata_function *functions;	/* in order; read when first asked for */
	u32 function_count;
	bool is_read;
};

/* False: there is no such file here, or not the one with this build id. */
bool perfdata_local_find(const char *path, const u8 *build_id, u32 build_id_bytes, struct perfdata_local *ret_local);
void perfdata_local_done(struct perfdata_local *local);

/* Where in the file the function around a place in it begins, which is not 0; 0 if the file does not tell. */
u64 perfdata_local_function(struct perfdata_local *local, const char *path, u64 fo);

#endif
