// SPDX-License-Identifier: Apache-2.0
#include "proc/environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "proc/peek.h"

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

int environment_pick(const char *text, size_t bytes, const struct environment_names *names,
		     struct environment *ret_environment)
{
	struct buf out;
	int r;

	buf_init(&out, ENVIRONMENT_TEXT_MAX * 2);
	for (u32 i = 0; i < names->count && i < ENVIRONMENT_NAMES_MAX; i++) {
		size_t len;
		const char *value = find_value(text, bytes, names->at[i], &len);

		if (!value)
			continue;
		buf_addf(&out, "%s=", names->at[i]);
		if (len)
			buf_add(&out, value, len < ENVIRONMENT_VALUE_MAX ? len : ENVIRONMENT_VALUE_MAX);
		buf_add(&out, "", 1);
	}
	r = buf_err(&out);
	if (r < 0) {
		buf_done(&out);
		return r;
	}
	*ret_environment = (struct environment){ out.len ? out.data : NULL, (u32)out.len };
	if (!out.len)
		buf_done(&out);
	return 0;
}

int environment_read(struct peek *peek, u64 place, u32 tid, const struct environment_names *names,
		     struct environment *ret_environment)
{
	_cleanup_(freep) char *text = NULL;
	int bytes = peek_text(peek, place, tid, "environ", ENVIRONMENT_TEXT_MAX, &text);

	if (bytes == -ENOMEM)
		return bytes;
	return environment_pick(text ? text : "", bytes > 0 ? (size_t)bytes : 0, names, ret_environment);
}
