// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_answer.h"

#include <ctype.h>
#include <string.h>

#define MARK "push series with index "
#define MARK_BYTES (sizeof(MARK) - 1)

static const char *find(const char *at, const char *end, const char *what)
{
	return memmem(at, (size_t)(end - at), what, strlen(what));
}

/* A number below the limit, or the limit. */
static u32 number(const char *at, const char *end, u32 limit)
{
	u32 value = 0;

	if (at == end || !isdigit((unsigned char)*at))
		return limit;
	for (; at < end && isdigit((unsigned char)*at) && value < limit; at++)
		value = value * 10 + (u32)(*at - '0');
	return value < limit ? value : limit;
}

static bool has(const u8 *bits, u32 i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static void note(struct pyroscope_answer *answer, u32 i, bool is_limited)
{
	u8 *bits = is_limited ? answer->limited : answer->refused;

	if (has(answer->refused, i) || has(answer->limited, i))
		return;
	bits[i / 8] |= (u8)(1 << i % 8);
	answer->refused_count += !is_limited;
	answer->limited_count += is_limited;
}

/* Of the words about one series. */
static bool is_only_for_now(const char *at, const char *end, bool is_fault)
{
	return find(at, end, "rate limit") || find(at, end, "resource_exhausted") ||
	       (is_fault && !find(at, end, "invalid_argument"));
}

bool pyroscope_answer_parse(const char *text, size_t bytes, u32 series, bool is_fault,
			    struct pyroscope_answer *ret_answer)
{
	struct pyroscope_answer answer = { 0 };
	const char *end = text + bytes, *at = bytes ? find(text, end, MARK) : NULL;

	while (at) {
		const char *next = find(at + MARK_BYTES, end, MARK), *until = next ? next : end;
		u32 i = number(at + MARK_BYTES, until, series);

		if (i == series)
			return false;
		note(&answer, i, is_only_for_now(at, until, is_fault));
		at = next;
	}
	if (!answer.refused_count && !answer.limited_count)
		return false;
	*ret_answer = answer;
	return true;
}
