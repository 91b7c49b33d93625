// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/readable.h"

#include <string.h>

#include "base/buf.h"

void readable_add_namespace(struct buf *text, const char *name)
{
	if (name[0])
		buf_addf(text, "%s.", name);
}

void readable_add_type(struct buf *text, const char *name)
{
	const char *end = name[0] == '<' ? strchr(name, '>') : NULL;

	if (!strncmp(name, "<>c", 3))
		return;			/* holds what lambdas share */
	if (end && end > name + 1 && end[1] == 'd')
		buf_addf(text, "%.*s+", (int)(end - name - 1), name + 1);
	else
		buf_addf(text, "%s.", name);
}

void readable_add_method(struct buf *text, const char *name)
{
	const char *end = name[0] == '<' ? strchr(name, '>') : NULL, *bar;

	if (!end || end == name + 1) {
		buf_addf(text, "%s", name);
		return;
	}
	bar = strchr(end, '|');
	if (!strncmp(end, ">b__", 4))
		buf_addf(text, "%.*s+lambda%s", (int)(end - name - 1), name + 1, end + 4);
	else if (!strncmp(end, ">g__", 4) && bar)
		buf_addf(text, "%.*s+%.*s", (int)(end - name - 1), name + 1, (int)(bar - end - 4), end + 4);
	else
		buf_addf(text, "%s", name);
}
