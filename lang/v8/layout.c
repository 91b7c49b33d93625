// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/layout.h"

#include <errno.h>
#include <string.h>

/* The version that a row is for, and those behind it up to the next row. */
struct release {
	u16 major, minor;
	u16 code_start, code_flags, code_bytes;
	u16 bytecode_positions;
};

/* Looked up in live processes of these versions: Node 20. */
static const struct release releases[] = {
	{ 11, 3, 40, 48, 56, 32 },
	{ 11, 4, 0, 0, 0, 0 },		/* not known */
};

/* What must be there: the frames cannot be walked, or not named, without. */
static const u8 needed[] = {
	V8_FP_CONTEXT, V8_FP_FUNCTION, V8_FP_BYTECODE_ARRAY, V8_FP_BYTECODE_OFFSET, V8_MAP_TYPE, V8_FUNCTION_SHARED,
	V8_SHARED_DATA, V8_SHARED_NAME, V8_SHARED_SCRIPT, V8_SHARED_FLAGS, V8_SCRIPT_SOURCE, V8_SCRIPT_NAME,
	V8_SCRIPT_LINE_ENDS, V8_SCOPE_LOCALS, V8_SCOPE_VARS, V8_BYTECODE_DATA, V8_STRING_LENGTH, V8_ONE_BYTE_CHARS,
	V8_TWO_BYTE_CHARS, V8_CONS_FIRST, V8_CONS_SECOND, V8_SLICED_PARENT, V8_SLICED_OFFSET, V8_THIN_ACTUAL,
	V8_EXTERNAL_RESOURCE, V8_FIRST_NONSTRING, V8_STRING_REPRESENTATION, V8_STRING_ENCODING, V8_ONE_BYTE_TAG,
	V8_CONS_TAG, V8_SLICED_TAG, V8_THIN_TAG, V8_EXTERNAL_TAG, V8_TYPE_FUNCTION, V8_TYPE_SHARED, V8_TYPE_SCRIPT,
	V8_TYPE_SCOPE, V8_TYPE_BYTECODE, V8_TYPE_BYTES, V8_TYPE_ARRAY, V8_TYPE_WEAK_ARRAY, V8_TYPE_CODE, V8_TYPE_STREAM,
	V8_STREAM_START, V8_CODE_DEOPT, V8_CODE_POSITIONS, V8_CODE_KIND_MASK, V8_CODE_KIND_SHIFT, V8_CODE_KIND_BASELINE,
	V8_DEOPT_LITERALS, V8_DEOPT_SHARED, V8_DEOPT_POSITIONS, V8_VERSION_MAJOR, V8_VERSION_MINOR,
};

#define OFFSET_MAX 4096		/* of a field; and no type or index is larger */

/* Functions of several kinds have types of their own behind the common one; none is a bound function's by far. */
#define FUNCTION_TYPES 16

static const struct release *find_release(u64 major, u64 minor)
{
	const struct release *found = NULL;

	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++)
		if (releases[i].major < major || (releases[i].major == major && releases[i].minor <= minor))
			found = &releases[i];
	return found && found->code_start ? found : NULL;
}

static int is_frame_word(u64 offset)
{
	s64 off = (s64)offset;

	return off < 0 && off >= -8 * V8_BELOW && off % 8 == 0;
}

static int check(const struct layout *l)
{
	for (size_t i = 0; i < sizeof(needed); i++) {
		u64 value = l->at[needed[i]];

		if (value == V8_MISSING)
			return -ENOTSUP;
		if (needed[i] > V8_FP_BYTECODE_OFFSET && value > OFFSET_MAX)
			return -ENOTSUP;
	}
	if (l->at[V8_TAGGED_SIZE] != sizeof(u64))
		return -ENOTSUP;
	for (u32 i = V8_FP_CONTEXT; i <= V8_FP_BYTECODE_OFFSET; i++)
		if (!is_frame_word(l->at[i]))
			return -ENOTSUP;
	return 0;
}

int layout_read(const u64 facts[LANG_FACTS_MAX], struct layout *ret_layout)
{
	const struct release *release = find_release(facts[V8_VERSION_MAJOR], facts[V8_VERSION_MINOR]);

	if (!release)
		return -ENOTSUP;
	memcpy(ret_layout->at, facts, sizeof(ret_layout->at));
	ret_layout->code_start = release->code_start;
	ret_layout->code_flags = release->code_flags;
	ret_layout->code_bytes = release->code_bytes;
	ret_layout->bytecode_positions = release->bytecode_positions;
	return check(ret_layout);
}

static u8 frame_word(const struct layout *l, enum v8_number number)
{
	return (u8)(V8_BELOW + (s64)l->at[number] / 8);
}

/* Numbers of registers above 7 are DWARF's, too; others are not asked for. */
static u8 high_register(u64 number)
{
	return number >= 8 && number < 16 ? (u8)number : 0;
}

void layout_slot(const struct layout *l, struct v8_slot *ret_slot)
{
	*ret_slot = (struct v8_slot){
		.context = frame_word(l, V8_FP_CONTEXT),
		.function = frame_word(l, V8_FP_FUNCTION),
		.bytecode_array = frame_word(l, V8_FP_BYTECODE_ARRAY),
		.bytecode_offset = frame_word(l, V8_FP_BYTECODE_OFFSET),
		.array_register = high_register(l->at[V8_ARRAY_REGISTER]),
		.offset_register = high_register(l->at[V8_OFFSET_REGISTER]),
		.map_type = (u16)l->at[V8_MAP_TYPE],
		.shared = (u16)l->at[V8_FUNCTION_SHARED],
		.function_data = (u16)l->at[V8_SHARED_DATA],
		.literal_id = (u16)(l->at[V8_SHARED_FLAGS] + sizeof(u32)),
		.first_function = (u16)l->at[V8_TYPE_FUNCTION],
		.last_function = (u16)(l->at[V8_TYPE_FUNCTION] + FUNCTION_TYPES),
		.bytecode_type = (u16)l->at[V8_TYPE_BYTECODE],
	};
}
