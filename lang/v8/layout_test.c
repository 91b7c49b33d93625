// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/layout.h"

#include <errno.h>

#include "forge_v8.h"

/* Node 20's numbers, as if another version had published them, but for those that it does not. */
static void facts_of(u64 facts[LANG_FACTS_MAX], u64 major, u64 minor, const u8 *missing, size_t count)
{
	for (u32 i = 0; i < V8_NUMBER_COUNT; i++)
		facts[i] = v8_fact(i);
	facts[V8_VERSION_MAJOR] = major;
	facts[V8_VERSION_MINOR] = minor;
	for (size_t i = 0; i < count; i++)
		facts[missing[i]] = V8_MISSING;
}

TEST(v8_layout_of_node_16)
{
	static const u8 missing[] = { V8_FP_BYTECODE_ARRAY, V8_FP_BYTECODE_OFFSET, V8_SCRIPT_SOURCE, V8_BYTECODE_DATA,
				      V8_CODE_DEOPT, V8_CODE_KIND_MASK, V8_CODE_KIND_SHIFT, V8_CODE_KIND_BASELINE,
				      V8_DEOPT_LITERALS, V8_DEOPT_SHARED, V8_DEOPT_POSITIONS, V8_STREAM_START,
				      V8_TYPE_STREAM };
	u64 facts[LANG_FACTS_MAX];
	struct v8_slot slot;
	struct layout l;

	facts_of(facts, 9, 4, missing, sizeof(missing));
	EQ(layout_read(facts, &l), -ENOTSUP);	/* it publishes where the instructions are, and how many */
	facts[V8_CODE_INSIDE] = 96;
	facts[V8_CODE_BYTES] = 40;
	EQ(layout_read(facts, &l), 0);
	EQ(l.at[V8_BYTECODE_DATA], 54);
	EQ(l.at[V8_CODE_KIND_BASELINE], 11);
	EQ(l.at[V8_CODE_BYTES], 40);
	EQ(l.at[V8_CODE_START], V8_MISSING);
	layout_slot(&l, &slot);
	EQ(slot.bytecode_array, 4);
	EQ(slot.bytecode_offset, 3);
}

TEST(v8_layout_of_node_24)
{
	static const u8 missing[] = { V8_SHARED_DATA, V8_CODE_DEOPT, V8_CODE_POSITIONS, V8_DEOPT_SHARED };
	u64 facts[LANG_FACTS_MAX];
	struct layout l;

	facts_of(facts, 13, 6, missing, sizeof(missing));
	EQ(layout_read(facts, &l), 0);
	EQ(l.at[V8_DEOPT_WRAPPED], 6);		/* as Node 23 has it, which does not publish it */
	facts[V8_DEOPT_WRAPPED] = 7;
	EQ(layout_read(facts, &l), 0);
	EQ(l.at[V8_DEOPT_WRAPPED], 7);
	EQ(l.at[V8_CODE_DEOPT], 8);
	EQ(l.at[V8_CODE_POSITIONS], 16);
	EQ(l.at[V8_BYTECODE_POSITIONS], 24);
	EQ(l.at[V8_DEOPT_SHARED], V8_MISSING);
}

TEST(v8_layout_believes_what_is_published)
{
	u64 facts[LANG_FACTS_MAX];
	struct layout l;

	facts_of(facts, 11, 3, NULL, 0);
	facts[V8_CODE_START] = 72;
	EQ(layout_read(facts, &l), 0);
	EQ(l.at[V8_CODE_START], 72);
	EQ(l.at[V8_CODE_BYTES], 56);
	facts[V8_CODE_DEOPT] = 1 << 20;
	EQ(layout_read(facts, &l), -ENOTSUP);
}

TEST(v8_layout_of_an_unknown_version_is_the_nearest)
{
	static const u8 missing[] = { V8_SHARED_DATA, V8_CODE_DEOPT, V8_DEOPT_SHARED };
	u64 facts[LANG_FACTS_MAX];
	struct layout l;

	facts_of(facts, 99, 0, missing, sizeof(missing));
	facts[V8_DEOPT_WRAPPED] = 7;
	EQ(layout_read(facts, &l), 1);
	EQ(l.at[V8_CODE_DEOPT], 8);
	EQ(l.position_flags, 2);
	facts[V8_MAP_TYPE] = V8_MISSING;
	EQ(layout_read(facts, &l), -ENOTSUP);
	facts_of(facts, 11, 8, NULL, 0);
	EQ(layout_read(facts, &l), 1);
	EQ(l.position_flags, 0);
	EQ(l.at[V8_CODE_START], 32);
	EQ(l.at[V8_CODE_FLAGS], 40);
	EQ(l.at[V8_CODE_BYTES], 44);
	facts_of(facts, 11, 7, NULL, 0);
	EQ(layout_read(facts, &l), 1);
	EQ(l.at[V8_CODE_START], 40);
	facts_of(facts, 9, 3, NULL, 0);
	EQ(layout_read(facts, &l), -ENOTSUP);
	facts_of(facts, V8_MISSING, V8_MISSING, NULL, 0);
	EQ(layout_read(facts, &l), -ENOTSUP);
}
