// SPDX-License-Identifier: Apache-2.0
/* A V8 that has written into its own objects: each 12 bytes are an offset in its memory and a word to put there. */
#include <stdint.h>

#include "lang/named.h"
#include "lang/v8/baseline.h"
#include "test/forge_damage.h"
#include "test/forge_v8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct lang_ops v8_ops;

/* The same bytes as lengths, bytecodes and table of baseline code. */
static void find_bytecode(const uint8_t *data, size_t size)
{
	struct baseline_sizes sizes;
	size_t third = size / 3;

	baseline_sizes_set(&sizes, data, third - third % BASELINE_SCALES);
	(void)baseline_bytecode(&sizes, data + third, third, data + 2 * third, third, UINT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lang_process process = { .pid = (u32)getpid() };
	struct lang_file file = { .lang = LANG_V8, .facts[V8_FACT_SIZES] = V8_MISSING };
	struct lang_place place = { .path = "" };
	struct v8 v8 = forge_v8();
	const u64 frames[][2] = {
		{ v8.leaf, (u64)V8_INTERPRETED << V8_KIND_SHIFT | 2ull << V8_COOKIE_SHIFT | 58 },
		{ v8.run, (u64)V8_COMPILED << V8_KIND_SHIFT | 1ull << V8_COOKIE_SHIFT | (V8_CODE_VA + 0x40) },
		{ (u64)FRAME_VA << FRAME_KIND_SHIFT | (V8_CODE_VA + 0x20), 0 },
	};
	struct runtime_slot slot;
	struct named names;
	void *state;

	for (u32 i = 0; i < V8_NUMBER_COUNT; i++)
		file.facts[i] = v8_fact(i);
	OK(v8_ops.attach(&process, &file, &place, &slot, &state) == 0);
	find_bytecode(data, size);
	forge_damage(data, size, V8_VA, V8_BYTES, v8_put);
	named_init(&names);
	for (u32 i = 0; i < sizeof(frames) / sizeof(*frames); i++)
		(void)named_find(&names, &v8_ops, state, &process, frames[i], 0);
	named_done(&names);
	v8_ops.detach(state);
	return 0;
}
