// SPDX-License-Identifier: Apache-2.0
/*
 * A Lua that has written into its own structures: the first byte chooses the version of a made-up one, and each 12
 * bytes after it are an offset in its memory and a word to put there.
 */
#include <stdint.h>

#include "lang/named.h"
#include "test/forge_damage.h"
#include "test/forge_lua.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct lang_ops lua_ops;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u32 releases[] = { LUA_RELEASE(1, 5), LUA_RELEASE(2, 4), LUA_RELEASE(3, 6), LUA_RELEASE(4, 4) };
	struct lang_process process = { .pid = (u32)getpid() };
	struct lang_place place = { .path = "" };
	static struct lang_file file;
	struct runtime_slot slot;
	struct lua_facts facts = { .has_loop = 1 };
	struct forge_lua l;
	struct named names;
	void *state;

	if (!size)
		return 0;
	facts.release = releases[data[0] % 4];
	l = forge_lua((u32)facts.release);
	memcpy(file.facts, &facts, sizeof(facts));
	if (lua_ops.attach(&process, &file, &place, &slot, &state) < 0)
		return 0;
	forge_damage(data + 1, size - 1, LUA_VA, LUA_BYTES, lua_put);
	named_init(&names);
	for (u32 pc = 0; pc < 12; pc++) {
		u64 frame[2];

		lua_frame_of(pc & 1 ? l.callee : l.caller, pc * 23, l.caller, pc, frame);
		(void)named_find(&names, &lua_ops, state, &process, frame, 0);
	}
	named_done(&names);
	lua_ops.detach(state);
	return 0;
}
