// SPDX-License-Identifier: Apache-2.0
#include "extensions/metric_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_write.h"

/* A line's labels end at the brace before its value; values in quotes may hold braces. */
static const char *value_of(const char *line, size_t len)
{
	const char *space = memrchr(line, ' ', len);

	return space && *line != '#' ? space + 1 : NULL;
}

/* Whether key="value" stands there, after { or a comma. Quotes in values are escaped, so nothing in them looks so. */
static bool has_label(const char *labels, size_t len, const char *key, const char *value)
{
	size_t key_len = strlen(key), value_len = strlen(value);

	for (const char *at = labels; (at = memmem(at, len - (size_t)(at - labels), key, key_len)); at++) {
		const char *quote = at + key_len + 1, *end = labels + len;

		if ((at == labels || (at[-1] != '{' && at[-1] != ',')) || end - at < (long)(key_len + value_len + 3))
			continue;
		if (at[key_len] == '=' && *quote == '"' && !memcmp(quote + 1, value, value_len) &&
		    quote[1 + value_len] == '"')
			return true;
	}
	return false;
}

bool metric_text_sum(const char *text, const char *name, const char *key, const char *value, double *ret_sum)
{
	size_t name_len = strlen(name);
	double sum = 0;
	bool any = false;

	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		const char *number = value_of(line, len);

		if (number && len > name_len && !memcmp(line, name, name_len) &&
		    (line[name_len] == ' ' || line[name_len] == '{') &&
		    (!key || has_label(line + name_len, (size_t)(number - line) - name_len, key, value))) {
			sum += strtod(number, NULL);
			any = true;
		}
		line += len + (line[len] == '\n');
	}
	if (any)
		*ret_sum = sum;
	return any;
}

void metric_text_json(const char *text, struct buf *out)
{
	bool comma = false;

	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		const char *number = value_of(line, len);

		if (number) {
			double value = strtod(number, NULL);

			buf_addf(out, "%s", comma ? ",\n" : "\n");
			json_put_string(out, line, (size_t)(number - line) - 1);
			buf_addf(out, ": ");
			json_put_double(out, value);
			comma = true;
		}
		line += len + (line[len] == '\n');
	}
}
