// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* What a version does not publish, looked up in live processes; it holds until a later version has another value. */
struct gap {
	u16 major, minor;
	u8 number;
	s16 value;		/* GONE: not any more */
};

#define GONE INT16_MIN

static const struct gap gaps[] = {
	/* Node 16 */
	{ 9, 4, V8_FP_BYTECODE_ARRAY, -32 },
	{ 9, 4, V8_FP_BYTECODE_OFFSET, -40 },
	{ 9, 4, V8_SCRIPT_SOURCE, 8 },
	{ 9, 4, V8_SCRIPT_MAP_URL, 112 },
	{ 9, 4, V8_BYTECODE_DATA, 54 },
	{ 9, 4, V8_BYTECODE_POSITIONS, 32 },
	{ 9, 4, V8_BASELINE_DATA, 16 },
	{ 9, 4, V8_CODE_DEOPT, 16 },
	{ 9, 4, V8_CODE_POSITIONS, 24 },
	{ 9, 4, V8_CODE_FLAGS, 48 },
	{ 9, 4, V8_CODE_KIND_MASK, 15 },
	{ 9, 4, V8_CODE_KIND_SHIFT, 0 },
	{ 9, 4, V8_CODE_KIND_BASELINE, 11 },
	{ 9, 4, V8_DEOPT_LITERALS, 2 },
	{ 9, 4, V8_DEOPT_SHARED, 6 },
	{ 9, 4, V8_DEOPT_POSITIONS, 7 },
	/* Node 20 */
	{ 11, 3, V8_SCRIPT_MAP_URL, 120 },
	{ 11, 3, V8_CODE_START, 40 },
	{ 11, 3, V8_CODE_BYTES, 56 },
	/* Node 21, by its own code: PerfBasicLogger::LogRecordedBuffer() reads them */
	{ 11, 8, V8_CODE_START, 32 },
	{ 11, 8, V8_CODE_FLAGS, 40 },
	{ 11, 8, V8_CODE_BYTES, 44 },
	/* Node 22, the first three as it publishes them */
	{ 12, 4, V8_CODE_START, 40 },
	{ 12, 4, V8_CODE_FLAGS, 48 },
	{ 12, 4, V8_CODE_BYTES, 52 },
	{ 12, 4, V8_SHARED_DATA, 8 },
	{ 12, 4, V8_CODE_DEOPT, 8 },
	{ 12, 4, V8_CODE_POSITIONS, 16 },
	{ 12, 4, V8_BYTECODE_POSITIONS, 24 },
	/* Node 23 */
	{ 12, 9, V8_DEOPT_SHARED, GONE },
	{ 12, 9, V8_DEOPT_WRAPPED, 6 },
};

/* Those that were run. Another one is read as the nearest before it: each object that is read must be of its type. */
static const u16 known[][2] = { { 9, 4 }, { 10, 2 }, { 11, 3 }, { 12, 4 }, { 13, 6 }, { 14, 1 }, { 14, 6 } };

/* What must be there: the frames cannot be walked, or not named, without. */
static const u8 needed[] = {
	V8_FP_CONTEXT, V8_FP_FUNCTION, V8_FP_BYTECODE_ARRAY, V8_FP_BYTECODE_OFFSET, V8_MAP_TYPE, V8_FUNCTION_SHARED,
	V8_SHARED_DATA, V8_SHARED_NAME, V8_SHARED_SCRIPT, V8_SHARED_FLAGS, V8_SCRIPT_SOURCE, V8_SCRIPT_NAME,
	V8_SCRIPT_LINE_ENDS, V8_SCOPE_LOCALS, V8_SCOPE_VARS, V8_BYTECODE_DATA, V8_BYTECODE_POSITIONS,
	V8_STRING_LENGTH, V8_ONE_BYTE_CHARS, V8_TWO_BYTE_CHARS, V8_CONS_FIRST, V8_CONS_SECOND, V8_SLICED_PARENT,
	V8_SLICED_OFFSET, V8_THIN_ACTUAL, V8_EXTERNAL_RESOURCE, V8_FIRST_NONSTRING, V8_STRING_REPRESENTATION,
	V8_STRING_ENCODING, V8_ONE_BYTE_TAG, V8_CONS_TAG, V8_SLICED_TAG, V8_THIN_TAG, V8_EXTERNAL_TAG,
	V8_TYPE_FUNCTION, V8_TYPE_SHARED, V8_TYPE_SCRIPT, V8_TYPE_SCOPE, V8_TYPE_BYTECODE, V8_TYPE_BYTES,
	V8_TYPE_ARRAY, V8_TYPE_WEAK_ARRAY, V8_TYPE_CODE, V8_CODE_DEOPT, V8_CODE_POSITIONS, V8_CODE_FLAGS,
	V8_CODE_BYTES, V8_CODE_KIND_MASK, V8_CODE_KIND_SHIFT, V8_CODE_KIND_BASELINE, V8_DEOPT_LITERALS,
	V8_DEOPT_POSITIONS,
};

#define OFFSET_MAX 4096		/* of a field; and no type or index is larger */

/* Functions of several kinds have types of their own behind the common one; none is a bound function's by far. */
#define FUNCTION_TYPES 16

static bool is_known(u64 major, u64 minor)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i][0] == major && known[i][1] == minor)
			return true;
	return false;
}

static bool is_since(const u64 facts[LANG_FACTS_MAX], u64 major, u64 minor)
{
	return facts[V8_VERSION_MAJOR] > major ||
	       (facts[V8_VERSION_MAJOR] == major && facts[V8_VERSION_MINOR] >= minor);
}

static void fill_gaps(struct layout *l, const u64 facts[LANG_FACTS_MAX])
{
	for (size_t i = 0; i < sizeof(gaps) / sizeof(*gaps); i++) {
		const struct gap *g = &gaps[i];

		if (facts[g->number] == V8_MISSING && is_since(facts, g->major, g->minor))
			l->at[g->number] = g->value == GONE ? V8_MISSING : (u64)(s64)g->value;
	}
}

static int is_frame_word(u64 offset)
{
	s64 off = (s64)offset;

	return off < 0 && off >= -8 * V8_BELOW && off % 8 == 0;
}

static bool has(const struct layout *l, enum v8_number number)
{
	return l->at[number] <= OFFSET_MAX;
}

static int check(const struct layout *l)
{
	for (size_t i = 0; i < sizeof(needed); i++) {
		if (needed[i] > V8_FP_BYTECODE_OFFSET && !has(l, needed[i]))
			return -ENOTSUP;
	}
	if (l->at[V8_TAGGED_SIZE] != sizeof(u64))
		return -ENOTSUP;
	/* Instructions lie in the Code, or it says where, in an InstructionStream. */
	if (!has(l, V8_CODE_INSIDE) && (!has(l, V8_STREAM_START) || !has(l, V8_TYPE_STREAM) || !has(l, V8_CODE_START)))
		return -ENOTSUP;
	if (!has(l, V8_DEOPT_SHARED) && !has(l, V8_DEOPT_WRAPPED))
		return -ENOTSUP;
	for (u32 i = V8_FP_CONTEXT; i <= V8_FP_BYTECODE_OFFSET; i++)
		if (!is_frame_word(l->at[i]))
			return -ENOTSUP;
	return 0;
}

int layout_read(const u64 facts[LANG_FACTS_MAX], struct layout *ret_layout)
{
	u64 major = facts[V8_VERSION_MAJOR], minor = facts[V8_VERSION_MINOR];
	int r;

	if (major == V8_MISSING || minor == V8_MISSING || !is_since(facts, known[0][0], known[0][1]))
		return -ENOTSUP;
	memcpy(ret_layout->at, facts, sizeof(ret_layout->at));
	fill_gaps(ret_layout, facts);
	ret_layout->position_flags = is_since(facts, 14, 1) ? 2 : 0;
	r = check(ret_layout);
	return r < 0 ? r : !is_known(major, minor);
}

static u8 frame_word(const struct layout *l, enum v8_number number)
{
	return (u8)(V8_BELOW + (s64)l->at[number] / 8);
}

/* Numbers of x86-64's registers above 7 are DWARF's, too, and all of arm64's; others are not asked for. */
static u8 high_register(u64 number)
{
	return number >= 8 && number < (REG_RA == 30 ? REG_FP : 16) ? (u8)number : 0;
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
