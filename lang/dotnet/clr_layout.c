// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/clr_layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json_read.h"

#define OFFSET_MAX 4096

static const struct { const char *type, *field; u16 value; } fields[CLR_FIELD_COUNT] = {
#define X(ID, type, field, value) [CLR_##ID] = { type, field, value },
	CLR_FIELDS(X)
#undef X
};

/* src/coreclr/vm/codeman.h, method.hpp, methodtable.h, ceeload.h of release/6.0 and release/7.0 */
static void set_list(struct clr_layout *l, u32 major)
{
	l->section_next = 0x18;
	l->section_ranges = 0;
	l->at[CLR_SECTION_FLAGS] = 0x28;
	l->at[CLR_SECTION_HEAP] = l->at[CLR_SECTION_MODULE] = 0x30;
	l->at[CLR_MODULE_PATH] = major == 6 ? 0x10 : 0x108;
	l->token_bits = major == 6 ? 14 : 13;
	l->roots_are_relative = major == 6;
}

int clr_layout_of(u32 major, bool is_arm64, struct clr_layout *ret_layout)
{
	struct clr_layout l = { .section_ranges = 0x30, .alignment = 8, .token_bits = 12,
				.tokens_are_short = major < 9 };

	if (major < CLR_OLDEST)
		return -EOPNOTSUPP;
	for (u32 i = 0; i < CLR_FIELD_COUNT; i++)
		l.at[i] = fields[i].value;
	if (is_arm64)
		l.at[CLR_MODULE_PATH] += 8;
	l.path_is_text = major >= 9;
	l.debug = (struct clr_debug_format){
		.kind = major < 10 ? CLR_DEBUG_NIBBLES : major == 10 ? CLR_DEBUG_PACKED : CLR_DEBUG_FAT,
		.has_flags = major < 11 && (major > 6 || !is_arm64),
		.replacement_bytes = major < 10 ? 32 : 40,
	};
	if (major < 8)
		set_list(&l, major);
	if (major >= 9)
		l.at[CLR_DYNAMIC_NAME] = 32;
	if (major >= 10) {
		l.at[CLR_MODULE_PATH] = 200;
		l.has_far_starts = true;
	}
	*ret_layout = l;
	return major > CLR_NEWEST;
}

/* An offset as the contract says it: a number, or a list of one and a type. */
static u64 read_offset(struct json_read *j)
{
	u64 value = 0;

	if (json_read_peek(j) != '[')
		return json_read_u64(j);
	json_read_list(j);
	if (json_read_item(j))
		value = json_read_u64(j);
	while (json_read_item(j))
		json_read_skip(j);
	return value;
}

static void read_type(struct json_read *j, struct str type, struct clr_layout *l)
{
	char name[64];
	struct str key;

	snprintf(name, sizeof(name), "%.*s", (int)type.len, type.at);
	json_read_object(j);
	while (json_read_member(j, &key)) {
		u32 found = CLR_FIELD_COUNT;
		u64 value;

		for (u32 i = 0; i < CLR_FIELD_COUNT; i++)
			if (str_is(str_of(name), fields[i].type) && str_is(key, fields[i].field))
				found = i;
		value = read_offset(j);
		if (found == CLR_FIELD_COUNT)
			continue;
		if (value > OFFSET_MAX)
			json_read_fail(j, -EBADMSG);
		else
			l->at[found] = (u16)value;
	}
}

static void read_number(struct json_read *j, u64 max, u64 *value)
{
	struct str s = json_read_string(j);
	char text[32];
	u64 number;

	snprintf(text, sizeof(text), "%.*s", (int)(s.len < sizeof(text) ? s.len : 0), s.at);
	number = strtoull(text, NULL, 0);
	if (!number || number > max)
		json_read_fail(j, -EBADMSG);
	else
		*value = number;
}

/* Values of globals stand in quotes, in hexadecimal, with a type up to 10; those in lists are indices of pointers. */
static void read_global(struct json_read *j, u64 max, u64 *value)
{
	if (json_read_peek(j) == '"') {
		read_number(j, max, value);
		return;
	}
	json_read_list(j);
	if (json_read_item(j) && json_read_peek(j) == '"')
		read_number(j, max, value);
	while (json_read_item(j))
		json_read_skip(j);
}

static void read_globals(struct json_read *j, struct clr_layout *l)
{
	u64 bits = l->token_bits, alignment = l->alignment;
	struct str key;

	json_read_object(j);
	while (json_read_member(j, &key)) {
		if (str_is(key, "MethodDescTokenRemainderBitCount"))
			read_global(j, 15, &bits);
		else if (str_is(key, "MethodDescAlignment"))
			read_global(j, 64, &alignment);
		else
			json_read_skip(j);
	}
	l->token_bits = (u8)bits;
	l->alignment = (u16)alignment;
}

static void read_contracts(struct json_read *j, struct clr_layout *l)
{
	struct str key;

	json_read_object(j);
	while (json_read_member(j, &key)) {
		/* A number up to 10. Since then a name, of what is as it was last. */
		if (str_is(key, "ExecutionManager") && json_read_peek(j) != '"')
			l->has_far_starts = json_read_u64(j) >= 2;
		else
			json_read_skip(j);
	}
}

int clr_layout_read(struct clr_layout *layout, const char *text, size_t bytes)
{
	struct clr_layout l = *layout;
	struct json_read j;
	struct str key;
	int r;

	json_read_init(&j, text, bytes);
	json_read_object(&j);
	while (json_read_member(&j, &key)) {
		if (str_is(key, "types")) {
			json_read_object(&j);
			while (json_read_member(&j, &key))
				read_type(&j, key, &l);
		} else if (str_is(key, "globals")) {
			read_globals(&j, &l);
		} else if (str_is(key, "contracts")) {
			read_contracts(&j, &l);
		} else {
			json_read_skip(&j);
		}
	}
	r = json_read_end(&j);
	json_read_done(&j);
	if (r < 0)
		return r;
	*layout = l;
	return 0;
}
