/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person would call a program: its executable's name, or, where that is
 * an interpreter, what it runs: the script, module, jar, class, gem or
 * application. A name that says nothing, as app.py, gives way to that of its
 * folder.
 *
 * Arguments are the process's own to write, and may hold secrets: what comes out is at most one of them, one that
 * says what is run, never one that follows it. No state.
 */
#ifndef PROC_PROGRAM_NAME_H
#define PROC_PROGRAM_NAME_H

#include <stddef.h>

#define PROGRAM_NAME_BYTES 127

struct program {
	const char *exe_path;	/* "" if unknown */
	const char *arguments;	/* each ended by NUL, as /proc/PID/cmdline has them; with a NUL behind the last byte */
	size_t arguments_bytes;
	const char *directory;	/* it works in; "" if unknown */
};

/* "" if nothing is known. */
void program_name(const struct program *program, char ret_name[PROGRAM_NAME_BYTES + 1]);

#endif
