// SPDX-License-Identifier: Apache-2.0
#include "cmd/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/nearest.h"
#include "profile/profile.h"
#include "wire/format.h"

/* More than this does not fit into the memory of a desktop once decoded. */
#define INPUT_BYTES_MAX ((size_t)2 << 30)

static const char *format_names(char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; formats[i] && used < bytes; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? ", " : "", formats[i]->name);
	return text;
}

const struct format_ops *input_format(const struct command *command, const char *option, const char *name)
{
	const struct format_ops *format = format_by_name(name);
	char names[128];
	struct nearest n;

	if (format)
		return format;
	nearest_init(&n, name);
	for (int i = 0; formats[i]; i++)
		nearest_try(&n, formats[i]->name);
	if (n.best)
		(void)command_fail(command, "--%s %s: did you mean %s? (one of %s)", option, name, n.best,
				   format_names(names, sizeof(names)));
	else
		(void)command_fail(command, "--%s %s: not one of %s", option, name, format_names(names, sizeof(names)));
	return NULL;
}

int input_read(const struct command *command, const char *path, const char *from, struct profile **ret_profile)
{
	const struct format_ops *format = from ? input_format(command, "from", from) : NULL;
	char names[128];
	int r;

	if (from && !format)
		return 1;
	r = format_read_file(path, format, INPUT_BYTES_MAX, ret_profile);
	if (r >= 0)
		return 0;
	if (r == -EBADMSG)
		return command_fail(command, "%s is not a profile in %s%s", path,
				    format ? "format " : "any format that wick reads: ",
				    format ? format->name : format_names(names, sizeof(names)));
	if (r == -E2BIG)
		return command_fail(command, "%s is larger than %zu MiB once unpacked", path, INPUT_BYTES_MAX >> 20);
	return command_fail(command, "%s: %s", path, strerror(-r));
}
