// SPDX-License-Identifier: Apache-2.0
#include "cmd/files.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cmd/command.h"
#include "profile/profile.h"
#include "wire/format.h"

/* More than this does not fit into the memory of a desktop once decoded. */
#define FILES_BYTES_MAX ((size_t)2 << 30)

static const char *format_names(bool to_read, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; formats[i] && used < bytes; i++)
		if (!to_read || formats[i]->decode)
			used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", formats[i]->name);
	return text;
}

const struct format_ops *files_format(const struct command *command, const char *option, const char *name)
{
	const struct format_ops *format = format_by_name(name);
	char names[256];
	struct nearest n;

	if (format)
		return format;
	nearest_init(&n, name);
	for (int i = 0; formats[i]; i++)
		nearest_try(&n, formats[i]->name);
	if (n.best)
		(void)command_fail(command, "--%s %s: did you mean %s? (one of %s)", option, name, n.best,
				   format_names(false, names, sizeof(names)));
	else
		(void)command_fail(command, "--%s %s: not one of %s", option, name,
				   format_names(false, names, sizeof(names)));
	return NULL;
}

int files_read(const struct command *command, const char *path, const char *from, struct profile **ret_profile)
{
	const struct format_ops *format = from ? files_format(command, "from", from) : NULL;
	char names[256];
	int r;

	if (from && !format)
		return 1;
	r = format_read_file(path, format, FILES_BYTES_MAX, ret_profile);
	if (r >= 0)
		return 0;
	if (r == -EBADMSG)
		return command_fail(command, "%s is not a profile in %s%s", path,
				    format ? "format " : "any format that wick reads: ",
				    format ? format->name : format_names(true, names, sizeof(names)));
	if (r == -EOPNOTSUPP)
		return command_fail(command, "%s: wick writes this format, but reads only %s", path,
				    format_names(true, names, sizeof(names)));
	if (r == -E2BIG)
		return command_fail(command, "%s is larger than %zu MiB once unpacked", path, FILES_BYTES_MAX >> 20);
	return command_fail(command, "%s: %s", path, strerror(-r));
}

int files_write(const struct command *command, const char *path, const struct format_ops *format,
		const struct profile *profile)
{
	int r = format_write_file(path, format, profile);

	if (r == -ENODATA)
		return command_fail(command, "%s: format %s needs CPU time and lines, also those that functions start "
				    "at, and this profile lacks them; record programs with debug information",
				    path, format->name);
	return r < 0 ? command_fail(command, "%s: %s", path, strerror(-r)) : 0;
}

/* 0, or -errno of what writing the file would fail with. */
static int check_writable(const char *path)
{
	char copy[PATH_MAX];
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : access(path, W_OK) < 0 ? -errno : 0;
	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	/* It is written aside and renamed: what counts is its folder. */
	return access(dirname(copy), W_OK | X_OK) < 0 ? -errno : 0;
}

const struct format_ops *files_output(const struct command *command, const char *path, const char *name,
				      const char *standard)
{
	bool is_stdout = !strcmp(path, "-");
	const struct format_ops *format = name ? files_format(command, "format", name) : NULL;
	int r;

	if (name && !format)
		return NULL;
	if (!name)
		format = !is_stdout ? format_by_path(path) : standard ? format_by_name(standard) : NULL;
	if (!format) {
		(void)command_fail(command, "the name %s does not tell a format; choose one with --format", path);
		return NULL;
	}
	if (is_stdout && isatty(STDOUT_FILENO) && format->is_binary) {
		(void)command_fail(command, "%s is not for terminals; use -o FILE or a pipe", format->name);
		return NULL;
	}
	r = is_stdout ? 0 : check_writable(path);
	if (r < 0) {
		(void)command_fail(command, "cannot write %s: %s", path, strerror(-r));
		return NULL;
	}
	return format;
}
