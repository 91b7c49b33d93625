// SPDX-License-Identifier: Apache-2.0
/* Frames that are not a constant away from the stack pointer: alloca, VLA, realigned (DRAP), very large. */
#include <string.h>

#include "victim.h"

#define TOUCH(at) __asm__ volatile("" :: "r"(at) : "memory")

NOINLINE uint64_t frame_alloca(uint64_t n)
{
	char *room = __builtin_alloca(100 + n % 1000);

	TOUCH(room);
	LEAVES(n);
	return (uint64_t)room[0];
}

NOINLINE uint64_t frame_vla(uint64_t n)
{
	char room[16 + n % 500];

	memset(room, 1, sizeof(room));
	TOUCH(room);
	LEAVES(n);
	return (uint64_t)room[0];
}

NOINLINE uint64_t frame_realigned(uint64_t n, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
				  uint64_t on_stack)
{
	_Alignas(64) char room[128];
	char *more = __builtin_alloca(32 + n % 100);

	memset(room, (int)a, sizeof(room));
	TOUCH(room);
	TOUCH(more);
	LEAVES(n);
	return (uint64_t)room[0] + b + c + d + e + f + on_stack;
}

NOINLINE uint64_t frame_aligned(uint64_t n)
{
	_Alignas(128) volatile char room[256];

	room[n % 256] = 1;
	LEAVES(n);
	return (uint64_t)room[n % 256];
}

NOINLINE uint64_t frame_large(uint64_t n)
{
	volatile char room[1 << 20];

	room[n % sizeof(room)] = 1;
	LEAVES(n);
	return (uint64_t)room[n % sizeof(room)];
}

NOINLINE uint64_t outer(uint64_t n)
{
	uint64_t r = frame_alloca(n) + frame_vla(n) + frame_realigned(n, 1, 2, 3, 4, 5, 6, 7) + frame_aligned(n) +
		     frame_large(n);

	NO_TAIL();
	return r;
}
