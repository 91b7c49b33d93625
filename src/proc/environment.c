// SPDX-License-Identifier: Apache-2.0
#include "proc/environment.h"

#include <string.h>

#include "base/buf.h"

/* The value of a variable, of len bytes; NULL if the text has none. */
static const char *find_value(const char *text, size_t bytes, const char *name, size_t *ret_len)
{
	size_t name_len = strlen(name);

	for (const char *at = text, *end = text + bytes; at < end;) {
		size_t len = strnlen(at, (size_t)(end - at));

		if (len > name_len && at[name_len] == '=' && !memcmp(at, name, name_len)) {
			*ret_len = len - name_len - 1;
			return at + name_len + 1;
		}
		at += len + 1;
	}
	return NULL;
}

void environment_pick(const char *text, size_t bytes, const struct environment_names *names, struct buf *out)
{
	for (u32 i = 0; i < names->count && i < ENVIRONMENT_NAMES_MAX; i++) {
		size_t len;
		const char *value = find_value(text, bytes, names->at[i], &len);

		if (!value)
			continue;
		buf_addf(out, "process.environment_variable.%s=", names->at[i]);
		if (len)
			buf_add(out, value, len < ENVIRONMENT_VALUE_MAX ? len : ENVIRONMENT_VALUE_MAX);
		buf_add(out, "", 1);
	}
}
