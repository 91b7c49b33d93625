// SPDX-License-Identifier: Apache-2.0
/*
 * A Ruby that has written into its own structures: the first byte chooses the version of a made-up one, and each 12
 * bytes after it are an offset in its memory and a word to put there.
 */
#include <stdint.h>

#include "lang/named.h"
#include "test/forge_damage.h"
#include "test/forge_ruby.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct lang_ops ruby_ops;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u32 versions[] = {
		RUBY_VERSION(2, 7), RUBY_VERSION(3, 0), RUBY_VERSION(3, 1), RUBY_VERSION(3, 2), RUBY_VERSION(3, 3),
		RUBY_VERSION(3, 4),
	};
	struct lang_process process = { .pid = (u32)getpid() };
	struct lang_place place = { .path = "" };
	static struct lang_file file;
	struct runtime_slot slot;
	struct ruby_facts facts;
	struct forge_ruby r;
	struct named names;
	void *state;
	u32 version;

	if (!size)
		return 0;
	version = versions[data[0] % (sizeof(versions) / sizeof(versions[0]))];
	r = forge_ruby(version);
	facts = ruby_facts_of(version);
	memcpy(file.facts, &facts, sizeof(facts));
	if (ruby_ops.attach(&process, &file, &place, &slot, &state) < 0)
		return 0;
	u64 frames[][2] = { { r.bar, r.block }, { r.each, 0 }, { r.own, 0 }, { r.bar, r.eval }, { r.made, r.define } };

	for (u32 i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		ruby_frame_of(frames[i][0], frames[i][1], data[0], frames[i]);
	forge_damage(data + 1, size - 1, RUBY_VA, RUBY_BYTES, ruby_put);
	named_init(&names);
	for (u32 i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		(void)named_find(&names, &ruby_ops, state, &process, frames[i], 0);
	named_done(&names);
	ruby_ops.detach(state);
	return 0;
}
