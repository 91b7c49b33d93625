// SPDX-License-Identifier: Apache-2.0
/*
 * A PHP that has written into its own structures: the first byte chooses the version of a made-up one, and each 12
 * bytes after it are an offset in its memory and a word to put there.
 */
#include <stdint.h>

#include "lang/named.h"
#include "test/forge_damage.h"
#include "test/forge_php.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct lang_ops php_ops;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u32 versions[] = { PHP_VERSION(7, 4), PHP_VERSION(8, 1), PHP_VERSION(8, 2), PHP_VERSION(8, 5) };
	struct lang_process process = { .pid = (u32)getpid() };
	struct lang_place place = { .path = "" };
	static struct lang_file file;
	struct runtime_slot slot;
	struct php_facts facts;
	struct forge_php p;
	struct named names;
	u64 frames[4][2];
	void *state;

	if (!size)
		return 0;
	p = forge_php(versions[data[0] % 4]);
	facts = php_facts_of(versions[data[0] % 4]);
	memcpy(file.facts, &facts, sizeof(facts));
	if (php_ops.attach(&process, &file, &place, &slot, &state) < 0)
		return 0;
	php_frame_of(&p, PHP_FUNCTION, p.method, data[0], frames[0]);
	php_frame_of(&p, PHP_FUNCTION, p.function, data[0], frames[1]);
	php_frame_of(&p, PHP_INTERNAL, p.internal, data[0], frames[2]);
	php_frame_of(&p, PHP_MAIN, p.script, data[0], frames[3]);
	forge_damage(data + 1, size - 1, PHP_VA, PHP_BYTES, php_put);
	named_init(&names);
	for (u32 i = 0; i < 4; i++)
		(void)named_find(&names, &php_ops, state, &process, frames[i], 0);
	named_done(&names);
	php_ops.detach(state);
	return 0;
}
