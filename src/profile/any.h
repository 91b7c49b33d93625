/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values and attribute lists, compared by content. Reals are equal if their
 * bits are. Values are at most ANY_DEPTH_MAX deep: readers see to that.
 */
#ifndef PROFILE_ANY_H
#define PROFILE_ANY_H

#include "profile/profile.h"

struct buf;

#define ANY_DEPTH_MAX 32

/* Of a string; empty if there is no value, or one of another kind. */
struct str any_text(const struct any *value);

bool any_equal(const struct any *a, const struct any *b);
bool keyvalues_equal(const struct keyvalue *a, u32 a_count, const struct keyvalue *b, u32 b_count);

u64 any_hash(const struct any *value, u64 seed);
u64 keyvalues_hash(const struct keyvalue *at, u32 count, u64 seed);

/* As plain JSON: bytes as base64. */
void any_put_json(struct buf *b, const struct any *value);

#endif
