/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are named on the command line: which format they are in, and a
 * sentence when they cannot be read or written.
 */
#ifndef CMD_FILES_H
#define CMD_FILES_H

struct command;
struct format_ops;
struct profile;

/* The format of a name given by an option; NULL, and a message, if there is none. */
const struct format_ops *files_format(const struct command *command, const char *option, const char *name);

/* Reads a profile in any format, or in the one named by from. 0, or 1 (the exit status) with a message. */
int files_read(const struct command *command, const char *path, const char *from, struct profile **ret_profile);

/* Writes a profile. 0, or 1 with a message. */
int files_write(const struct command *command, const char *path, const struct format_ops *format,
		const struct profile *profile);

/*
 * The format to write: the one named by --format, else what the file's name
 * tells, else (for standard output) the one named by standard, if any. NULL,
 * and a message, if there is none or the file could not be written later.
 */
const struct format_ops *files_output(const struct command *command, const char *path, const char *name,
				      const char *standard);

#endif
