// SPDX-License-Identifier: Apache-2.0
/*
 * A Perl that has written into its own structures: the first byte chooses the version of a made-up one, and whether it
 * has threads; each 12 bytes after it are an offset in its memory and a word to put there.
 */
#include <stdint.h>

#include "lang/named.h"
#include "test/forge_damage.h"
#include "test/forge_perl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct lang_ops perl_ops;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u32 versions[] = {
		PERL_VERSION(5, 30), PERL_VERSION(5, 34), PERL_VERSION(5, 36), PERL_VERSION(5, 42),
	};
	struct lang_process process = { .pid = (u32)getpid() };
	struct lang_place place = { .path = "" };
	static struct lang_file file;
	struct runtime_slot slot;
	struct perl_facts facts;
	struct forge_perl p;
	struct named names;
	u64 frames[5][2];
	void *state;

	if (!size)
		return 0;
	p = forge_perl(versions[data[0] % 4]);
	facts = perl_facts_of(versions[data[0] % 4]);
	if (data[0] & 4)
		facts.key_ea = 0;
	memcpy(file.facts, &facts, sizeof(facts));
	if (perl_ops.attach(&process, &file, &place, &slot, &state) < 0)
		return 0;
	perl_frame_of(PERL_SUB_GLOB, p.alias, p.file, data[0], frames[0]);
	perl_frame_of(PERL_SUB_GLOB, p.latin, p.file_glob, data[0], frames[1]);
	perl_frame_of(PERL_SUB_CODE, p.own, p.file_glob, data[0], frames[2]);
	perl_frame_of(PERL_REQUIRE, p.required, p.file, data[0], frames[3]);
	perl_frame_of(PERL_SUB_GLOB, p.bar, p.bar, data[0], frames[4]);
	forge_damage(data + 1, size - 1, PERL_VA, PERL_BYTES, perl_put);
	named_init(&names);
	for (u32 i = 0; i < 5; i++)
		(void)named_find(&names, &perl_ops, state, &process, frames[i], 0);
	named_done(&names);
	perl_ops.detach(state);
	return 0;
}
