/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What expressions evaluate to: OTLP's values, and times and durations, which
 * are whole nanoseconds with a role. Immutable; what they point to is the
 * profile's, the program's, or the run's scratch arena.
 */
#ifndef OTTL_VALUE_H
#define OTTL_VALUE_H

#include "base/arena.h"
#include "base/buf.h"
#include "profile/profile.h"

/* SAMPLES: the samples of a profile, which can only be counted. */
enum value_role { VALUE_PLAIN, VALUE_TIME, VALUE_DURATION, VALUE_SAMPLES };

struct value {
	struct any any;
	enum value_role role;
};

/* Sets of types, for checks before anything runs. */
#define TYPE(kind) (1u << (kind))
#define TYPE_NIL TYPE(ANY_NONE)
#define TYPE_STRING TYPE(ANY_STRING)
#define TYPE_BOOL TYPE(ANY_BOOL)
#define TYPE_INT TYPE(ANY_INT)
#define TYPE_DOUBLE TYPE(ANY_DOUBLE)
#define TYPE_LIST TYPE(ANY_ARRAY)
#define TYPE_MAP TYPE(ANY_MAP)
#define TYPE_BYTES TYPE(ANY_BYTES)
#define TYPE_ANY 0xffu			/* all that an attribute can hold */
#define TYPE_TIME 0x100u
#define TYPE_DURATION 0x200u
#define TYPE_SAMPLES 0x400u
#define TYPE_VALUE (TYPE_ANY | TYPE_TIME | TYPE_DURATION)

u32 value_type(const struct value *value);

/* "a string", of a value; "a string or a map", of a set of types. */
const char *value_type_name(const struct value *value);
void types_name(u32 types, struct buf *out);

enum compare_op { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GE, COMPARE_GT };

/*
 * Numbers compare as numbers, nil equals nil; values of different types are not equal, and neither is less.
 * Maps compare by keys in any order; maps and lists are equal or not, and nothing else.
 */
bool value_compare(const struct value *a, const struct value *b, enum compare_op op);

/* As text: strings as they are, bytes in hexadecimal, maps and lists as JSON, times as RFC 3339; nil is "". */
void value_text(const struct value *value, struct buf *out);

/* Whether lists and maps are nested deeper than that. */
bool any_is_deeper(const struct any *value, u32 depth);

/* Copies that live in an arena, or that arena's error. */
struct any any_copy(struct arena *arena, const struct any *value);
struct str str_copy(struct arena *arena, const char *at, size_t len);

/* Two digits a byte; false if there are others. */
bool hex_decode(struct str digits, char *bytes);

static inline struct value value_string(struct str s)
{
	return (struct value){ .any = { .kind = ANY_STRING, .string = s } };
}

static inline struct value value_int(s64 n)
{
	return (struct value){ .any = { .kind = ANY_INT, .integer = n } };
}

static inline struct value value_bool(bool b)
{
	return (struct value){ .any = { .kind = ANY_BOOL, .boolean = b } };
}

static inline struct value value_double(double d)
{
	return (struct value){ .any = { .kind = ANY_DOUBLE, .real = d } };
}

#endif
