// SPDX-License-Identifier: Apache-2.0
/*
 * A BEAM that has written into its own structures: the first byte tells how much of the rest is written before it is
 * taken up; each 12 bytes are an offset in its memory and a word to put there.
 */
#include <stdint.h>

#include "lang/named.h"
#include "test/forge_beam.h"
#include "test/forge_damage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct lang_ops beam_ops;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u64 places[] = { BEAM_MODULE_VA, BEAM_MODULE_VA + 0x110, BEAM_GLOBAL_VA + 0x110,
				      BEAM_MODULE_VA + 0x300 };
	struct lang_process process = { .pid = (u32)getpid() };
	struct lang_place place = { .bias = BEAM_VA, .path = "" };
	struct beam_facts facts = beam_facts_of(27);
	static struct lang_file file;
	struct runtime_slot slot;
	struct forge_beam b;
	struct named names;
	size_t first;
	void *state;

	if (!size)
		return 0;
	b = forge_beam();
	memcpy(file.facts, &facts, sizeof(facts));
	first = (size - 1) * data[0] / 255;
	forge_damage(data + 1, first, BEAM_VA, BEAM_BYTES, beam_put);
	if (beam_ops.attach(&process, &file, &place, &slot, &state) < 0)
		return 0;
	forge_damage(data + 1 + first, size - 1 - first, BEAM_ENTRIES_VA, b.text_va - BEAM_ENTRIES_VA, beam_put);
	named_init(&names);
	for (u32 i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		u64 frame[2] = { beam_frame_of(places[i]), 0 };

		(void)named_find(&names, &beam_ops, state, &process, frame, beam_ops.generation(state, &process));
	}
	named_done(&names);
	beam_ops.detach(state);
	return 0;
}
