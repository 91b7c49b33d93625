// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/positions.h"

#include <stdint.h>

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

/* Less than 0 is an expression, not a statement; later versions have bits for that. */
static u64 code_delta(u64 number, u32 flag_bits)
{
	s64 delta = signed_of(number);

	if (flag_bits)
		return number >> flag_bits;
	return (u64)(delta < 0 ? -(delta + 1) : delta);
}

u64 positions_find(const struct positions *p, u32 code_offset)
{
	const u8 *at = p->table, *end = p->table + p->bytes;
	u64 number, delta, position = 0, found = POSITION_NONE;
	s64 code = -1;		/* where a function is entered, before its first instruction */

	while (positions_number(&at, end, &number) && positions_number(&at, end, &delta)) {
		number = code_delta(number, p->flag_bits);
		if (number > UINT32_MAX || (code += (s64)number) > (s64)p->code_bytes)
			return POSITION_NONE;
		position += (u64)signed_of(delta);
		if (code <= (s64)code_offset)
			found = position;
	}
	return found;
}
