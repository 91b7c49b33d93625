// SPDX-License-Identifier: Apache-2.0
/*
 * A CoreCLR that has written into its own structures: the first byte chooses the version of a made-up one, the second
 * how much of the rest is for its image; each 12 bytes are an offset in its memory and a word to put there.
 */
#include <stdint.h>
#include <stdlib.h>

#include "exe/source_map.h"
#include "lang/named.h"
#include "test/forge_damage.h"
#include "test/forge_dotnet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct lang_ops dotnet_ops;

/* Whatever is asked for, it is of the right module. */
static int on_source_map(void *arg, const struct lang_process *process, const struct lang_script *script,
			 const struct source_map **ret_map)
{
	static struct { struct source_map map; struct source_map_place place; char text[8]; } block;

	block.map = (struct source_map){ .bytes = sizeof(block), .place_count = 1, .text_bytes = sizeof(block.text),
					 .id = CLR_PDB_ID };
	block.map.places[0] = (struct source_map_place){ .line = 1, .source = 1 };
	if (!strchr(script->path, '/') || !*script->url || strchr(script->url, '/'))
		__builtin_trap();
	*ret_map = &block.map;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u64 places[] = { CLR_METHOD_VA, CLR_METHOD_VA + 0x2e0, CLR_IMAGE_VA + 0x3000,
				      CLR_IMAGE_VA + 0x3280, CLR_STUBS_VA + 1 };
	struct lang_process process = { .pid = (u32)getpid(), .source_map = on_source_map };
	struct lang_place place = { .bias = CLR_VA, .path = "" };
	static struct lang_file file;
	struct dotnet_facts facts;
	struct runtime_slot slot;
	struct forge_dotnet d;
	struct named names;
	struct rows *rows;
	size_t first;
	void *state;

	if (size < 2)
		return 0;
	d = forge_dotnet(6 + data[0] % 5);
	facts = dotnet_facts_of(6 + data[0] % 5);
	memcpy(file.facts, &facts, sizeof(facts));
	if (dotnet_ops.attach(&process, &file, &place, &slot, &state) < 0)
		return 0;
	first = (size - 2) * data[1] / 255;
	forge_damage(data + 2, first, CLR_VA + 0x1000, d.free_va - CLR_VA - 0x1000, clr_put);
	forge_damage(data + 2 + first, size - 2 - first, CLR_IMAGE_VA, 0x2200, clr_put);
	named_init(&names);
	for (u32 i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		u64 frame[2] = { dotnet_frame_of(places[i]), 0 };

		(void)named_find(&names, &dotnet_ops, state, &process, frame, 0);
	}
	if (dotnet_ops.rows(state, &process, CLR_VA, CLR_VA + CLR_BYTES, CLR_VA, &rows) == 0)
		free(rows);
	named_done(&names);
	dotnet_ops.detach(state);
	return 0;
}
