// SPDX-License-Identifier: Apache-2.0
#include "lang/luajit/luajit_trace.h"

#include <stdbool.h>

#include "lang/luajit/luajit.h"
#include "lang/memory.h"

/* struct GCtrace */
#define TRACE_SNAPSHOT_COUNT 10	/* u16 */
#define TRACE_CONSTANTS 32	/* by number, as instructions of the trace */
#define TRACE_MAP_COUNT 44
#define TRACE_SNAPSHOTS 48
#define TRACE_MAP 56
#define TRACE_START 72		/* the instruction of Lua that it begins with */
#define TRACE_MACHINE_BYTES 84

/* struct SnapShot: u32 where in the map, u16, u16 how far in the code, u8, u8, u8 how many entries */
#define SNAPSHOT_BYTES 12
#define SNAPSHOT_PLACE 6
#define SNAPSHOT_ENTRIES 10

/* An entry: slot, flags, number of a constant. The first two slots are the function and the link of the first frame. */
#define ENTRY_FRAME 0x010000u
#define ENTRY_CONT 0x020000u
#define CONSTANT_FIRST 0x8000u	/* what is below is one */
#define FRAME_SLOTS 2

/* The snapshot that holds for a place in a trace. */
struct snapshot {
	u64 map, constants;
	u32 entries;
	u64 pc;
	s32 base;		/* slots from the first frame's base to that of the innermost */
};

static bool find_snapshot(struct memory *m, u64 trace, u32 place, struct snapshot *ret_snapshot)
{
	u64 snapshots = memory_u64(m, trace + TRACE_SNAPSHOTS), at, last;
	u32 lo = 0, hi = memory_u16(m, trace + TRACE_SNAPSHOT_COUNT), first;

	if (place >= memory_u32(m, trace + TRACE_MACHINE_BYTES) || !hi)
		return false;
	while (lo < hi && !memory_err(m)) {
		u32 mid = (lo + hi) / 2;

		if (place < memory_u16(m, snapshots + (u64)SNAPSHOT_BYTES * mid + SNAPSHOT_PLACE))
			hi = mid;
		else
			lo = mid + 1;
	}
	if (!lo)
		return false;
	at = snapshots + (u64)SNAPSHOT_BYTES * (lo - 1);
	first = memory_u32(m, at);
	ret_snapshot->entries = memory_u8(m, at + SNAPSHOT_ENTRIES);
	if (first > memory_u32(m, trace + TRACE_MAP_COUNT))
		return false;
	ret_snapshot->map = memory_u64(m, trace + TRACE_MAP) + 4ull * first;
	ret_snapshot->constants = memory_u64(m, trace + TRACE_CONSTANTS);
	last = memory_u64(m, ret_snapshot->map + 4ull * ret_snapshot->entries);
	ret_snapshot->pc = last >> 8;
	ret_snapshot->base = (s32)(last & 0xff);
	return !memory_err(m);
}

/* The constant that a slot of links would get, or 0. */
static u64 link_at(struct memory *m, const struct snapshot *s, s32 slot)
{
	for (u32 i = 0; i < s->entries && !memory_err(m); i++) {
		u32 entry = memory_u32(m, s->map + 4ull * i), number = entry & 0xffff;

		if ((s32)(entry >> 24) == slot && entry & (ENTRY_FRAME | ENTRY_CONT) && number < CONSTANT_FIRST)
			return memory_u64(m, s->constants + 8ull * number + 8);
	}
	return 0;
}

/* Goes from a frame to its caller's: false if that cannot be said, or it is the first. */
static bool go_to_caller(struct memory *m, const struct snapshot *s, s32 *base, u64 *ret_pc)
{
	u64 link = link_at(m, s, *base + FRAME_SLOTS - 1);
	s32 slots = (s32)(link >> 3 & 0xff);

	*ret_pc = 0;
	if (!link)
		return false;
	if (!(link & 3)) {
		*ret_pc = link - 4;
		slots = (s32)(memory_u32(m, link - 4) >> 8 & 0xff) + FRAME_SLOTS;
	} else if ((link & 7) == 2) {
		link = link_at(m, s, *base + FRAME_SLOTS - 3);
		*ret_pc = link ? link - 4 : 0;
	} else if ((link & 7) == 3) {
		*base -= slots;		/* of a function with any number of arguments: it has two */
		return slots > 0 && *base > 0 && go_to_caller(m, s, base, ret_pc);
	}
	*base -= slots;
	return slots > 0 && *base >= 0;
}

u32 luajit_trace_functions(struct memory *m, u64 trace, u32 place,
			   struct luajit_inlined ret_functions[LUAJIT_INLINE_MAX])
{
	struct snapshot s;
	u32 count = 0;
	s32 base;

	if (memory_u8(m, trace + LUAJIT_OBJECT_TYPE) != LUAJIT_TYPE_TRACE)
		return 0;
	if (find_snapshot(m, trace, place, &s)) {
		ret_functions[0] = (struct luajit_inlined){ .pc = s.pc };
		for (base = s.base; base > 0 && count + 1 < LUAJIT_INLINE_MAX; count++) {
			u64 pc;

			if (!go_to_caller(m, &s, &base, &pc))
				break;
			ret_functions[count].caller_pc = pc;
			ret_functions[count + 1] = (struct luajit_inlined){ .pc = pc };
		}
		if (base == 0 && !memory_err(m))
			return count + 1;
	}
	m->err = 0;
	ret_functions[0] = (struct luajit_inlined){ .pc = memory_u64(m, trace + TRACE_START) };
	return memory_err(m) ? 0 : 1;
}
