// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"

/* Writes a value as it was read. */
static void copy(struct json_read *j, struct json_write *out)
{
	char first = json_read_peek(j);
	struct str text;

	if (first == '{' || first == '[') {
		json_write_open(out, first);
		if (first == '{')
			json_read_object(j);
		else
			json_read_list(j);
		while (first == '{' ? json_read_any_member(j, &text) : json_read_item(j)) {
			if (first == '{') {
				json_write_string(out, text.at, text.len);
				buf_add(out->b, ":", 1);
				out->comma = false;
			}
			copy(j, out);
		}
		json_write_close(out, first == '{' ? '}' : ']');
	} else if (first == '"') {
		text = json_read_string(j);
		json_write_string(out, text.at, text.len);
	} else if (first == 't' || first == 'f') {
		json_write_bool(out, json_read_bool(j));
	} else if (first == 'n') {
		json_read_skip(j);
		json_write_raw(out, "null", 4);
	} else {
		text = json_read_number(j);
		json_write_raw(out, text.at, text.len);
	}
}

static int copy_all(const void *data, size_t size, struct buf *out)
{
	struct json_read j;
	int r;

	buf_init(out, 8 * size + 64);
	json_read_init(&j, data, size);
	copy(&j, &(struct json_write){ .b = out });
	r = json_read_end(&j);
	json_read_done(&j);
	return r;
}

/* What is read is what is skipped; written and read again, it is the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once, twice;
	struct json_read j;
	int r = copy_all(data, size, &once);

	json_read_init(&j, data, size);
	json_read_skip(&j);
	if (json_read_end(&j) != r)
		abort();
	json_read_done(&j);
	if (r == 0) {
		if (copy_all(once.data, once.len, &twice) || once.len != twice.len ||
		    memcmp(once.data, twice.data, once.len))
			abort();
		buf_done(&twice);
	}
	buf_done(&once);
	return 0;
}
