/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of jansson's objects as protobuf's JSON mapping understands them: a
 * missing or null one is the default, numbers may stand in quotes. The first
 * misfit sticks in *err as -EBADMSG; results are then defaults.
 */
#ifndef WIRE_JSONREAD_H
#define WIRE_JSONREAD_H

#include <jansson.h>
#include <stdbool.h>

#include "abi.h"
#include "profile/profile.h"

/* The member of an object, or NULL if it is missing or null. */
const json_t *jsonread_member(const json_t *object, const char *key);

s64 jsonread_s64(const json_t *value, int *err);
u64 jsonread_u64(const json_t *value, int *err);
u32 jsonread_u32(const json_t *value, int *err);
double jsonread_double(const json_t *value, int *err);

/* Borrowed from the value. */
struct str jsonread_str(const json_t *value, int *err);

/* Exactly len bytes in hexadecimal, or none at all: false then. */
bool jsonread_hex(const json_t *value, u8 *id, size_t len, int *err);

/* Base64 of either alphabet, with or without padding; copied into the profile. */
struct str jsonread_base64(const json_t *value, struct profile *profile, int *err);

/* The members of a list; a value that is not one is a misfit. */
size_t jsonread_count(const json_t *list, int *err);

/* Whole numbers that go straight into members of a struct. */
struct jsonread_field {
	const char *key;
	u16 offset;
	u16 bytes;	/* 4: u32; 8: u64 or s64 */
	bool is_signed;
};
#define JSONREAD_FIELD(key, type, member) \
	{ key, offsetof(struct type, member), sizeof(((struct type *)0)->member), false }
#define JSONREAD_FIELD_SIGNED(key, type, member) \
	{ key, offsetof(struct type, member), sizeof(((struct type *)0)->member), true }
void jsonread_fields(const json_t *object, const struct jsonread_field *fields, size_t count, void *row, int *err);

#endif
