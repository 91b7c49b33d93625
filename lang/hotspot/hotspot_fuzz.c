// SPDX-License-Identifier: Apache-2.0
/*
 * A JVM that has written into its own structures: the first byte chooses the version of a made-up one, and each 12
 * bytes after it are an offset in its memory and a word to put there.
 */
#include <stdint.h>

#include "lang/hotspot/hotspot.h"
#include "lang/named.h"
#include "test/forge_damage.h"
#include "test/forge_jvm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct lang_ops hotspot_ops;

static void resolve_all(const struct jvm *jvm, const struct lang_process *process, void *state)
{
	const u64 id = (u64)JVM_COMPILE_ID << HOTSPOT_ID_SHIFT;
	const u64 frames[][2] = {
		{ jvm->leaf, jvm->leaf_bytecode + 5 },
		{ JVM_NMETHOD, (u64)HOTSPOT_COMPILED << HOTSPOT_KIND_SHIFT | id | (JVM_NMETHOD_CODE + 0x40) },
		{ JVM_STUB, (u64)HOTSPOT_COMPILED << HOTSPOT_KIND_SHIFT | (JVM_STUB_CODE + 0x10) },
		{ (u64)FRAME_VA << FRAME_KIND_SHIFT | (JVM_NMETHOD_CODE + 0x80), 0 },
	};
	struct named names;

	named_init(&names);
	for (u32 i = 0; i < sizeof(frames) / sizeof(*frames); i++)
		(void)named_find(&names, &hotspot_ops, state, process, frames[i], 0);
	named_done(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u32 versions[] = { 8, 11, 17, 21, 23, 25 };
	struct lang_process process = { .pid = (u32)getpid() };
	struct lang_file file = { .lang = LANG_HOTSPOT };
	struct lang_place place = { .path = "" };
	struct runtime_slot slot;
	struct jvm jvm;
	void *state;

	if (!size)
		return 0;
	process.wishes = data[0] & 0x40 ? LANG_WISH(java_signatures) : 0;
	jvm = forge_jvm(versions[data[0] % (sizeof(versions) / sizeof(*versions))]);
	for (u32 i = 0; i < VM_SYMBOL_COUNT; i++)
		file.facts[i] = jvm.symbol_va[i];
	/* Half of them are damaged only after the JVM was taken up. */
	if (data[0] & 0x80)
		forge_damage(data + 1, size - 1, JVM_VA, JVM_BYTES, jvm_put);
	if (hotspot_ops.attach(&process, &file, &place, &slot, &state) < 0)
		return 0;
	if (!(data[0] & 0x80))
		forge_damage(data + 1, size - 1, JVM_VA, JVM_BYTES, jvm_put);
	resolve_all(&jvm, &process, state);
	hotspot_ops.detach(state);
	return 0;
}
