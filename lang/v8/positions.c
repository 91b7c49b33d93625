// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/positions.h"

bool positions_number(const u8 **at, const u8 *end, u64 *ret_number)
{
	u64 number = 0;

	for (u32 shift = 0; *at < end && shift < 64; shift += 7) {
		u8 byte = *(*at)++;

		number |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

/* With its sign in the lowest bit. */
static s64 signed_of(u64 number)
{
	return (s64)(number >> 1) ^ -(s64)(number & 1);
}

u64 positions_find(const u8 *table, size_t bytes, u32 code_offset)
{
	const u8 *at = table, *end = table + bytes;
	u64 code_delta, position_delta, position = 0, found = POSITION_NONE;
	s64 code = -1, delta;		/* where a function is entered, before its first instruction */

	while (positions_number(&at, end, &code_delta) && positions_number(&at, end, &position_delta)) {
		delta = signed_of(code_delta);
		/* Less than 0 is an expression, not a statement. */
		code += delta < 0 ? -(delta + 1) : delta;
		if (code < -1 || code > code_offset)
			break;
		position += (u64)signed_of(position_delta);
		found = position;
	}
	return found;
}
