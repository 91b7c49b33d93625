// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/tuples.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define TYPES_BYTES_MAX 4096
#define COLUMNS_MAX 256

void tuples_init(struct tuples *tuples, size_t bytes_max)
{
	*tuples = (struct tuples){ 0 };
	buf_init(&tuples->body, bytes_max);
}

void tuples_done(struct tuples *tuples)
{
	buf_done(&tuples->body);
}

/* LowCardinality(String) is sent like String. */
static void add_type(struct buf *out, struct str type)
{
	static const char low[] = "LowCardinality(";
	const size_t skip = sizeof(low) - 1;
	u32 depth = 0, left_out[32], count = 0;

	for (u32 i = 0; i < type.len; i++) {
		if (type.len - i > skip && !memcmp(type.at + i, low, skip) && count < 32) {
			left_out[count++] = ++depth;
			i += (u32)skip - 1;
			continue;
		}
		depth += type.at[i] == '(';
		if (type.at[i] == ')' && depth && depth-- && count && left_out[count - 1] == depth + 1) {
			count--;
			continue;
		}
		buf_add(out, type.at + i, 1);
	}
}

int tuples_begin(struct tuples *tuples, const char *types)
{
	_cleanup_(buf_done) struct buf got;
	u64 count;

	buf_init(&got, TYPES_BYTES_MAX);
	tuples->at = cursor_of(tuples->body.data, tuples->body.len);
	/* The answer to a statement without rows may be empty. */
	if (!tuples->body.len)
		return *types ? -EBADMSG : 0;
	count = cursor_uleb(&tuples->at);
	if (count > COLUMNS_MAX)
		return -EBADMSG;
	for (u64 i = 0; i < count; i++)
		(void)tuples_text(tuples);
	for (u64 i = 0; i < count; i++) {
		if (i)
			buf_addf(&got, ", ");
		add_type(&got, tuples_text(tuples));
	}
	buf_add(&got, "", 1);
	if (tuples->at.bad || buf_err(&got) == -E2BIG)
		return -EBADMSG;
	return buf_err(&got) ? buf_err(&got) : strcmp(got.data, types) ? -EBADMSG : 0;
}

bool tuples_next(struct tuples *tuples)
{
	return !tuples->at.bad && cursor_left(&tuples->at) > 0;
}

int tuples_err(const struct tuples *tuples)
{
	return tuples->at.bad ? -EBADMSG : 0;
}

u64 tuples_uint(struct tuples *tuples, u32 bytes)
{
	return cursor_uint(&tuples->at, bytes);
}

s64 tuples_int(struct tuples *tuples, u32 bytes)
{
	return cursor_int(&tuples->at, bytes);
}

double tuples_real(struct tuples *tuples)
{
	u64 bits = cursor_uint(&tuples->at, 8);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

struct str tuples_text(struct tuples *tuples)
{
	u64 bytes = cursor_uleb(&tuples->at);
	const u8 *at = bytes <= UINT32_MAX ? cursor_skip(&tuples->at, bytes) : NULL;

	if (!at)
		tuples->at.bad = true;
	return at ? (struct str){ (const char *)at, (u32)bytes } : (struct str){ "", 0 };
}

u64 tuples_count(struct tuples *tuples)
{
	u64 count = cursor_uleb(&tuples->at);

	if (count <= cursor_left(&tuples->at))
		return count;
	tuples->at.bad = true;
	return 0;
}
