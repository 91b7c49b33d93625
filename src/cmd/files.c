// SPDX-License-Identifier: Apache-2.0
#include "cmd/files.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "cmd/command.h"
#include "cmd/perf_file.h"
#include "profile/profile.h"
#include "wire/format.h"

/* More than this does not fit into the memory of a desktop once decoded. */
#define FILES_BYTES_MAX ((size_t)2 << 30)
#define NOTES_BYTES_MAX 65536

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

/* When the last bytes were written to it, 0 if nobody knows. */
static u64 written_ns(const char *path)
{
	struct stat st;

	if (!strcmp(path, "-") || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return (u64)st.st_mtim.tv_sec * 1000000000 + (u64)st.st_mtim.tv_nsec;
}

/* perf.data, with names; tells what is missing. */
static int read_perf(const struct command *command, const char *path, const struct buf *plain,
		     struct profile **ret_profile)
{
	_cleanup_(buf_done) struct buf notes;
	int r;

	buf_init(&notes, NOTES_BYTES_MAX);
	r = perf_file_read(plain, written_ns(path), &notes, ret_profile);
	for (char *line = notes.data, *end; r == 0 && line && *line; line = end + 1) {
		end = strchr(line, '\n');
		(void)command_fail(command, "%s: %.*s", path, (int)(end - line), line);
	}
	return r;
}

static int read_any(const struct command *command, const char *path, const struct format_ops **format,
		    struct profile **ret_profile)
{
	_cleanup_(buf_done) struct buf plain = { 0 };
	int r = format_load_file(path, format, FILES_BYTES_MAX, &plain);

	if (r < 0)
		return r;
	if (!strcmp((*format)->name, "perfdata"))
		return read_perf(command, path, &plain, ret_profile);
	return (*format)->decode(plain.data, plain.len, ret_profile);
}

int files_read(const struct command *command, const char *path, const char *from, struct profile **ret_profile)
{
	const struct format_ops *wished = from ? files_format(command, "from", from) : NULL, *format = wished;
	char names[256];
	int r;

	if (from && !format)
		return 1;
	r = read_any(command, path, &format, ret_profile);
	if (r >= 0)
		return 0;
	if (r == -EPROTONOSUPPORT)
		return command_fail(command, "%s is perf.data of a machine with the other order of bytes, or of a perf "
				    "before Linux 3.0; read it there with perf script", path);
	if (r == -EBADMSG)
		return command_fail(command, "%s is not a profile in %s%s", path,
				    wished ? "format " : "any format that wick reads: ",
				    wished ? wished->name : format_names(true, names, sizeof(names)));
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
