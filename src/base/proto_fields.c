// SPDX-License-Identifier: Apache-2.0
#include "base/proto_fields.h"

bool proto_next(struct cursor *c, u32 *ret_number, struct cursor *ret_field)
{
	while (cursor_left(c) && !c->bad) {
		u64 tag = cursor_uleb(c), len;

		switch (tag & 7) {
		case 0:
			(void)cursor_uleb(c);
			break;
		case 1:
			(void)cursor_skip(c, 8);
			break;
		case 5:
			(void)cursor_skip(c, 4);
			break;
		case 2:
			len = cursor_uleb(c);
			*ret_field = cursor_of(c->at, len <= cursor_left(c) ? len : 0);
			*ret_number = (u32)(tag >> 3);
			return cursor_skip(c, len) && !c->bad;
		default:
			c->bad = true;
		}
	}
	return false;
}
