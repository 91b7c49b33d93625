// SPDX-License-Identifier: Apache-2.0
/* A LuaJIT that has written into its own structures: each 12 bytes are an offset in its memory and a word for there. */
#include <stdint.h>

#include "lang/named.h"
#include "test/forge_damage.h"
#include "test/forge_luajit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct lang_ops luajit_ops;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lang_process process = { .pid = (u32)getpid() };
	struct forge_luajit l = forge_luajit();
	struct lang_place place = { .path = "" };
	struct luajit_facts facts = { .has_loop = 1 };
	static struct lang_file file;
	struct runtime_slot slot;
	struct named names;
	void *state;
	u64 frame[2];

	memcpy(file.facts, &facts, sizeof(facts));
	if (luajit_ops.attach(&process, &file, &place, &slot, &state) < 0)
		return 0;
	forge_damage(data, size, LUAJIT_VA, LUAJIT_BYTES, luajit_put);
	named_init(&names);
	for (u32 pc = 0; pc < 13; pc++) {
		luajit_frame_of(luajit_code(pc & 1 ? l.callee : l.caller, pc * 23), luajit_code(l.caller, pc), frame);
		(void)named_find(&names, &luajit_ops, state, &process, frame, 0);
		luajit_trace_frame_of(l.trace, pc * 5, luajit_code(l.caller, pc), frame);
		(void)named_find(&names, &luajit_ops, state, &process, frame, 0);
	}
	named_done(&names);
	luajit_ops.detach(state);
	return 0;
}
