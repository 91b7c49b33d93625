/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up LuaJIT: functions in our own memory, read as those of another process. There is a caller, whose
 * instructions call a global, a field, a local variable, one that was captured, and one without a name; a function that
 * it calls; and a trace that goes through that call.
 */
#ifndef TEST_FORGE_LUAJIT_H
#define TEST_FORGE_LUAJIT_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/lang.h"
#include "lang/luajit/luajit.h"
#include "lang/luajit/luajit_file.h"
#include "test.h"

#define LUAJIT_VA 0x250000000000ull
#define LUAJIT_BYTES 0x4000u
#define LUAJIT_CODES 300	/* instructions of the caller */

/* Where the caller calls what. */
enum luajit_call_at { LUAJIT_AT_GLOBAL = 2, LUAJIT_AT_FIELD = 4, LUAJIT_AT_LOCAL = 6, LUAJIT_AT_UPVALUE = 8,
		      LUAJIT_AT_NAMELESS = 10, LUAJIT_AT_ITERATOR = 11, LUAJIT_AT_OPERATOR = 12 };

struct forge_luajit {
	u64 free_va;
	u64 caller, callee, chunk, trace;
};

static inline void luajit_put(u64 va, u64 word, size_t bytes)
{
	asm("" : "+r"(va));	/* a compiler that knows the number takes it for no object's */
	memcpy((void *)(uintptr_t)va, &word, bytes);
}

static inline u64 luajit_take(struct forge_luajit *l, u64 bytes)
{
	u64 va = l->free_va;

	l->free_va += (bytes + 7) & ~7ull;
	OK(l->free_va <= LUAJIT_VA + LUAJIT_BYTES);
	return va;
}

static inline u64 luajit_text(struct forge_luajit *l, const char *text, size_t bytes)
{
	u64 va = luajit_take(l, bytes);

	memcpy((void *)(uintptr_t)va, text, bytes);
	return va;
}

static inline u64 luajit_string(struct forge_luajit *l, const char *text)
{
	u64 va = luajit_take(l, 24);

	luajit_put(va + LUAJIT_OBJECT_TYPE, LUAJIT_TYPE_STRING, 1);
	(void)luajit_text(l, text, strlen(text) + 1);
	return va;
}

static inline u64 luajit_code(u64 proto, u32 index)
{
	return proto + LUAJIT_PROTO_BYTES + 4ull * index;
}

/* Each instruction but the first is on the next line; `wide` is how many bytes a line has. */
static inline u64 luajit_proto(struct forge_luajit *l, const char *source, u32 first_line, u32 count, u32 wide)
{
	u64 va = luajit_take(l, LUAJIT_PROTO_BYTES + 4ull * count), lines = luajit_take(l, (u64)wide * count);

	luajit_put(va + LUAJIT_OBJECT_TYPE, LUAJIT_TYPE_PROTO, 1);
	luajit_put(va + LUAJIT_PROTO_COUNT, count, 4);
	luajit_put(va + 64, luajit_string(l, source), 8);
	luajit_put(va + 72, first_line, 4);
	luajit_put(va + 76, wide == 1 ? 255 : wide == 2 ? 65535 : 65536, 4);
	luajit_put(va + 80, lines, 8);
	luajit_put(luajit_code(va, 0), 89, 4);
	for (u32 i = 1; i < count; i++) {
		luajit_put(lines + (u64)wide * (i - 1), i, wide);
		luajit_put(luajit_code(va, i), 88, 4);	/* JMP */
	}
	return va;
}

/* Constants that are objects lie before their address, the first next to it. */
static inline void luajit_values(struct forge_luajit *l, u64 proto)
{
	static const char locals[] = "visit\0\1\100(\0", hidden[] = "\4\4\24", upvalues[] = "first\0captured";
	u64 constants = luajit_take(l, 16) + 16, va;

	luajit_put(constants - 8, luajit_string(l, "print"), 8);
	luajit_put(constants - 16, luajit_string(l, "close"), 8);
	luajit_put(proto + 32, constants, 8);
	luajit_put(proto + 48, 2, 4);
	luajit_put(proto + 60, 2, 1);
	luajit_put(proto + 88, luajit_text(l, upvalues, sizeof(upvalues)), 8);
	/* "visit" from 1 on for 64 instructions, then what a loop hides, from 5 on for 20. */
	va = luajit_take(l, 16);
	memcpy((void *)(uintptr_t)va, locals, 8);
	memcpy((void *)(uintptr_t)(va + 8), hidden, sizeof(hidden));
	luajit_put(proto + 96, va, 8);
}

/* A trace that has called the callee from the caller's LUAJIT_AT_LOCAL: half of its 64 bytes of code are there. */
static inline u64 luajit_trace(struct forge_luajit *l)
{
	u64 va = luajit_take(l, 112), snapshots = luajit_take(l, 24), map = luajit_take(l, 32);
	u64 constants = luajit_take(l, 32);

	luajit_put(va + LUAJIT_OBJECT_TYPE, LUAJIT_TYPE_TRACE, 1);
	luajit_put(va + 10, 2, 2);
	luajit_put(va + 32, constants - 8ull * 0x7000, 8);
	luajit_put(va + 44, 8, 4);
	luajit_put(va + 48, snapshots, 8);
	luajit_put(va + 56, map, 8);
	luajit_put(va + 72, luajit_code(l->caller, 1), 8);
	luajit_put(va + 84, 64, 4);
	luajit_put(va + 88, 0x10000, 8);
	luajit_put(map, luajit_code(l->caller, 5) << 8, 8);
	/* The link of the frame whose base is at slot 5 of the first: 3 for the call's operand and 2. */
	luajit_put(map + 8, 6u << 24 | 0x010000 | 0x7000, 4);
	luajit_put(map + 12, luajit_code(l->callee, 2) << 8 | 5, 8);
	luajit_put(snapshots + 12, 2, 4);
	luajit_put(snapshots + 12 + 6, 32, 2);
	luajit_put(snapshots + 12 + 10, 1, 1);
	luajit_put(constants + 8, luajit_code(l->caller, LUAJIT_AT_LOCAL) + 4, 8);
	return va;
}

static inline struct forge_luajit forge_luajit(void)
{
	static const u32 codes[] = {
		89, 54 | 3 << 8 | 0u << 16, 66 | 3 << 8,		/* a global */
		57 | 3 << 8 | 1u << 16, 66 | 3 << 8,			/* a field */
		18 | 3 << 8 | 0u << 16, 66 | 3 << 8,			/* MOV of a local variable */
		45 | 3 << 8 | 1u << 16, 66 | 3 << 8,			/* an upvalue */
		66 | 3 << 8, 66 | 3 << 8,				/* what another call has returned */
		69 | 4 << 8, 57 | 3 << 8,
	};
	struct forge_luajit l = { .free_va = LUAJIT_VA + 0x100 };
	void *at = mmap((void *)(uintptr_t)LUAJIT_VA, LUAJIT_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	OK(at != MAP_FAILED);
	l.caller = luajit_proto(&l, "@/a/main.lua", 10, LUAJIT_CODES, 2);
	l.callee = luajit_proto(&l, "@/a/other.lua", 50, 4, 1);
	l.chunk = luajit_proto(&l, "return 1", 0, 4, 4);
	luajit_values(&l, l.caller);
	memcpy((void *)(uintptr_t)luajit_code(l.caller, 0), codes, sizeof(codes));
	l.trace = luajit_trace(&l);
	return l;
}

/* The words of a frame, as the kernel half pushes them; without a function it is one in C. */
static inline void luajit_frame_of(u64 pc_va, u64 caller_va, u64 ret_frame[2])
{
	ret_frame[0] = (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (u64)LANG_LUAJIT << FRAME_LANG_SHIFT |
		       (pc_va ? pc_va >> 2 : LUAJIT_NATIVE | 21);
	ret_frame[1] = caller_va;
}

static inline void luajit_trace_frame_of(u64 trace, u32 place, u64 caller_va, u64 ret_frame[2])
{
	ret_frame[0] = (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (u64)LANG_LUAJIT << FRAME_LANG_SHIFT | LUAJIT_TRACE |
		       caller_va >> 2;
	ret_frame[1] = trace >> 3 << LUAJIT_PLACE_BITS | place;
}

#endif
