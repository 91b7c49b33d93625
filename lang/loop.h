/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of an interpreter's loop in a file, to be marked (exe/lang_file.h).
 * It may be in two pieces: gcc moves what is unlikely to a .cold part, which
 * has an FDE of its own, where jumps lead out of the function. That part may
 * be nearly all of it (Debian's Python 3.14).
 *
 * Runs in the reader process.
 */
#ifndef LANG_LOOP_H
#define LANG_LOOP_H

#include <stdbool.h>

#include "base/types.h"

struct exe;
struct lang_file;

/* A function by its FDE. */
struct loop_function {
	u64 start_ea, end_ea;
};

/* The function that an address lies in; false if no FDE says so. */
bool loop_function_at(const struct exe *exe, u64 ea, struct loop_function *ret_function);

/* Marks a function, and its .cold part if it has one. -ENODATA if its code is not in the file. */
int loop_mark(const struct exe *exe, u64 start_ea, u64 bytes, struct lang_file *file);

#endif
