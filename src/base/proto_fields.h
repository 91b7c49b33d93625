/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers, for the few who read some fields of a small foreign message: those with a length (texts and
 * messages), one after the other. wire/pb.h is for the rest. No state.
 */
#ifndef BASE_PROTO_FIELDS_H
#define BASE_PROTO_FIELDS_H

#include <stdbool.h>

#include "base/cursor.h"
#include "base/str.h"
#include "base/types.h"

/* The next field that has a length; others are passed over. False at the end, and where it is no message: c->bad. */
bool proto_next(struct cursor *c, u32 *ret_number, struct cursor *ret_field);

static inline struct str proto_text(const struct cursor *c)
{
	return (struct str){ (const char *)c->at, (u32)cursor_left(c) };
}

#endif
