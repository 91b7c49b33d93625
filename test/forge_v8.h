/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made-up objects of V8 for tests, as Node 20 lays them out: in this process's own memory, at a fixed address so that
 * an image is the same each time.
 *
 *	function run() { leaf(); }	its optimised code has leaf() inlined
 *	function leaf() {}		interpreted, too
 */
#ifndef FORGE_V8_H
#define FORGE_V8_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/lang.h"
#include "lang/v8/v8.h"
#include "lang/v8/v8_file.h"
#include "test.h"

#define V8_VA    0x210000000000ull
#define V8_BYTES (1u << 18)
#define V8_CODE_VA (V8_VA + 0x20000)	/* of the optimised instructions */
#define V8_TEXT_BYTES 0x200
#define V8_SOURCE "// \xe9\nfunction run() {\n\tleaf();\n}\nfunction leaf() {\n\tx++;\n}\n"
#define V8_RUN_AT 5
#define V8_CALL_AT 23
#define V8_LEAF_AT 33
#define V8_INCREMENT_AT 52

#define V8_NONE INT32_MIN		/* Node 20 does not publish it */

static const s32 v8_numbers[V8_NUMBER_COUNT] = {
	[V8_TAGGED_SIZE] = 8, [V8_FP_CONTEXT] = -8, [V8_FP_FUNCTION] = -16, [V8_FP_BYTECODE_ARRAY] = -32,
	[V8_FP_BYTECODE_OFFSET] = -40, [V8_ARRAY_REGISTER] = 12, [V8_OFFSET_REGISTER] = 9, [V8_MAP_TYPE] = 12,
	[V8_FUNCTION_SHARED] = 24, [V8_SHARED_DATA] = 8, [V8_SHARED_NAME] = 16, [V8_SHARED_SCRIPT] = 32,
	[V8_SHARED_FLAGS] = 48, [V8_SCRIPT_SOURCE] = 8, [V8_SCRIPT_NAME] = 16, [V8_SCRIPT_LINE_ENDS] = 56,
	[V8_SCOPE_LOCALS] = 2, [V8_SCOPE_VARS] = 3, [V8_BYTECODE_DATA] = 54, [V8_CODE_DEOPT] = 16,
	[V8_CODE_POSITIONS] = 24, [V8_STREAM_START] = 16, [V8_CODE_KIND_MASK] = 15, [V8_CODE_KIND_SHIFT] = 0,
	[V8_CODE_KIND_BASELINE] = 11, [V8_DEOPT_LITERALS] = 2, [V8_DEOPT_SHARED] = 6, [V8_DEOPT_POSITIONS] = 7,
	[V8_STRING_LENGTH] = 12, [V8_ONE_BYTE_CHARS] = 16, [V8_TWO_BYTE_CHARS] = 16, [V8_CONS_FIRST] = 16,
	[V8_CONS_SECOND] = 24, [V8_SLICED_PARENT] = 16, [V8_SLICED_OFFSET] = 24, [V8_THIN_ACTUAL] = 16,
	[V8_EXTERNAL_RESOURCE] = 16, [V8_FIRST_NONSTRING] = 128, [V8_STRING_REPRESENTATION] = 7,
	[V8_STRING_ENCODING] = 8, [V8_ONE_BYTE_TAG] = 8, [V8_CONS_TAG] = 1, [V8_SLICED_TAG] = 3, [V8_THIN_TAG] = 5,
	[V8_EXTERNAL_TAG] = 2, [V8_TYPE_FUNCTION] = 2066, [V8_TYPE_SHARED] = 262, [V8_TYPE_SCRIPT] = 167,
	[V8_TYPE_SCOPE] = 261, [V8_TYPE_BYTECODE] = 191, [V8_TYPE_BYTES] = 190, [V8_TYPE_ARRAY] = 175,
	[V8_TYPE_WEAK_ARRAY] = 240, [V8_TYPE_CODE] = 245, [V8_TYPE_STREAM] = 252, [V8_FRAME_WASM] = 4,
	[V8_FRAME_REGEXP] = 27, [V8_VERSION_MAJOR] = 11, [V8_VERSION_MINOR] = 3,
	[V8_SCRIPT_MAP_URL] = V8_NONE,
	[V8_CODE_INSIDE] = V8_NONE, [V8_CODE_START] = V8_NONE, [V8_CODE_FLAGS] = V8_NONE, [V8_CODE_BYTES] = V8_NONE,
	[V8_BYTECODE_POSITIONS] = V8_NONE, [V8_BASELINE_DATA] = V8_NONE, [V8_DEOPT_WRAPPED] = V8_NONE,
	[V8_TYPE_TRUSTED_BYTES] = V8_NONE, [V8_TYPE_TRUSTED_ARRAY] = V8_NONE, [V8_TYPE_PROTECTED_ARRAY] = V8_NONE,
	[V8_TYPE_TRUSTED_WEAK_ARRAY] = V8_NONE, [V8_TYPE_BASELINE_DATA] = V8_NONE,
};

static inline u64 v8_fact(u32 number)
{
	return v8_numbers[number] == V8_NONE ? V8_MISSING : (u64)(s64)v8_numbers[number];
}

/* Instance types of strings. */
enum { V8_STRING_ONE = 8, V8_STRING_TWO = 0, V8_STRING_CONS = 9, V8_STRING_EXTERNAL = 10, V8_STRING_SLICED = 11,
       V8_STRING_THIN = 13, V8_ODDBALL = 131 };

struct v8 {
	u64 free_va;
	u64 maps[3000];			/* by instance type; 0: not made yet */
	u64 script, source;
	u64 run, leaf;			/* SharedFunctionInfos, tagged as all objects here */
	u64 leaf_bytecode, leaf_scope;
	u64 undefined;
};

static inline void v8_put(u64 va, u64 value, size_t bytes)
{
	volatile u64 at = va;	/* gcc takes constant addresses for those of nothing */

	memcpy((void *)(uintptr_t)at, &value, bytes);
}

static inline void v8_set(u64 object, u64 offset, u64 value)
{
	v8_put(object - 1 + offset, value, 8);
}

static inline u64 v8_small(s64 value)
{
	return (u64)value << 32;
}

static inline u64 v8_take(struct v8 *v, size_t bytes)
{
	u64 va = v->free_va;

	v->free_va += (bytes + 15) & ~15ull;
	OK(v->free_va < V8_CODE_VA - 16);
	return va + 1;
}

static inline u64 v8_object(struct v8 *v, u32 type, size_t bytes)
{
	u64 object;

	if (!v->maps[type]) {
		v->maps[type] = v8_take(v, 16);
		v8_put(v->maps[type] - 1 + 12, type, 2);
	}
	object = v8_take(v, bytes);
	v8_set(object, 0, v->maps[type]);
	return object;
}

static inline u64 v8_string(struct v8 *v, const char *text)
{
	u64 string = v8_object(v, V8_STRING_ONE, 16 + strlen(text));

	v8_put(string - 1 + 12, strlen(text), 4);
	memcpy((void *)(uintptr_t)(string - 1 + 16), text, strlen(text));
	return string;
}

static inline u64 v8_array(struct v8 *v, u32 type, const u64 *words, u32 count)
{
	u64 array = v8_object(v, type, 16 + 8 * (size_t)count);

	v8_set(array, 8, v8_small(count));
	for (u32 i = 0; i < count; i++)
		v8_set(array, 16 + 8 * (u64)i, words[i]);
	return array;
}

static inline u64 v8_bytes(struct v8 *v, u32 type, const void *bytes, u32 count, u32 header)
{
	u64 array = v8_object(v, type, header + count);

	v8_set(array, 8, v8_small(count));
	memcpy((void *)(uintptr_t)(array - 1 + header), bytes, count);
	return array;
}

static inline u64 v8_function(struct v8 *v, const char *name, s32 start, u32 id, u64 data)
{
	u64 words[] = { v8_small(0x4171c2), v8_small(0), v8_small(1), v8_string(v, "local"), v8_small(0),
			v8_string(v, name), v8_small(-1), v->undefined, v8_small(start), v8_small(start + 20) };
	u64 scope = v8_object(v, 261, 8 + sizeof(words)), shared = v8_object(v, 262, 64);

	for (u32 i = 0; i < sizeof(words) / 8; i++)
		v8_set(scope, 8 + 8 * (u64)i, words[i]);
	v->leaf_scope = scope;
	v8_set(shared, 8, data);
	v8_set(shared, 16, scope);
	v8_set(shared, 32, v->script);
	v8_set(shared, 48, (u64)id << 32);
	return shared;
}

/* Numbers of a table of positions, with their sign in the lowest bit, in groups of seven bits. */
static inline u32 v8_number(u8 *to, s64 value)
{
	u64 number = (u64)value << 1 ^ (u64)(value >> 63);
	u32 n = 0;

	for (; number > 0x7f; number >>= 7)
		to[n++] = (u8)(number | 0x80);
	to[n++] = (u8)number;
	return n;
}

static inline u64 v8_position(s32 offset, s32 inlining)
{
	return (u64)(offset + 1) << 1 | (u64)(inlining + 1) << 31;
}

static inline void v8_optimise(struct v8 *v)
{
	u64 outer = v8_position(V8_CALL_AT, -1), inner = v8_position(V8_INCREMENT_AT, 0);
	u64 inlined[2] = { outer, 0 }, literals[1] = { v->leaf | 2 }, deopt[8] = { 0 };
	u64 code = v8_object(v, 245, 96), stream = V8_CODE_VA - 16 + 1;
	u8 table[64];
	u32 n = v8_number(table, 0x11);		/* 0x10: they start at -1 */

	n += v8_number(table + n, (s64)outer);
	n += v8_number(table + n, -0x31);		/* an expression, 0x30 on */
	n += v8_number(table + n, (s64)(inner - outer));
	deopt[2] = v8_array(v, 240, literals, 1);
	deopt[6] = v->run;
	deopt[7] = v8_bytes(v, 190, inlined, sizeof(inlined), 16);
	v8_set(code, 16, v8_array(v, 175, deopt, 8));
	v8_set(code, 24, v8_bytes(v, 190, table, n, 16));
	v8_set(code, 32, stream);
	v8_set(code, 40, V8_CODE_VA);
	v8_set(code, 48, 0x13d);
	v8_set(code, 56, V8_TEXT_BYTES);
	v->maps[252] = v8_object(v, 255, 16);
	v8_put(v->maps[252] - 1 + 12, 252, 2);
	v8_set(stream, 0, v->maps[252]);
	v8_set(stream, 8, code);
}

static inline struct v8 forge_v8(void)
{
	void *at = mmap((void *)(uintptr_t)V8_VA, V8_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	struct v8 v = { .free_va = V8_VA + 0x1000 };
	u8 positions[16];
	u32 n = v8_number(positions, 5);		/* 4 */

#ifdef __SANITIZE_THREAD__
	if (at == MAP_FAILED)
		SKIP("ThreadSanitizer has the addresses where objects are made up");
#endif
	OK(at != MAP_FAILED);
	n += v8_number(positions + n, (s64)v8_position(V8_INCREMENT_AT, -1));
	v.undefined = v8_object(&v, V8_ODDBALL, 32);
	v.script = v8_object(&v, 167, 136);
	v.source = v8_string(&v, V8_SOURCE);
	v8_set(v.script, 8, v.source);
	v8_set(v.script, 16, v8_string(&v, "/app/main.js"));
	v8_set(v.script, 56, v.undefined);
	v8_set(v.script, 64, v8_small(3));
	v8_set(v.script, 120, v.undefined);
	v.leaf_bytecode = v8_bytes(&v, 191, "0123456789", 10, 54);
	v8_set(v.leaf_bytecode, 32, v8_bytes(&v, 190, positions, n, 16));
	v.run = v8_function(&v, "run", V8_RUN_AT, 1, v.undefined);
	v.leaf = v8_function(&v, "leaf", V8_LEAF_AT, 2, v.leaf_bytecode);
	v8_optimise(&v);
	return v;
}

#endif
