/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up process that has written into its own structures: what a fuzzer makes of one. */
#ifndef TEST_FORGE_DAMAGE_H
#define TEST_FORGE_DAMAGE_H

#include <stdint.h>
#include <string.h>

#include "base/types.h"

/* Each 12 bytes of data are an offset in [start_va, start_va + bytes) and a word that put() writes there. */
static inline void forge_damage(const uint8_t *data, size_t size, u64 start_va, u64 bytes,
				void (*put)(u64 va, u64 word, size_t word_bytes))
{
	u32 offset;
	u64 word;

	for (; size >= sizeof(offset) + sizeof(word); size -= 12, data += 12) {
		memcpy(&offset, data, sizeof(offset));
		memcpy(&word, data + 4, sizeof(word));
		put(start_va + offset % (bytes - sizeof(word)), word, sizeof(word));
	}
}

/* The bytes of such data, each time others. */
static inline void forge_random(u64 *random, u8 *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		*random = *random * 6364136223846793005ull + 1442695040888963407ull;
		data[i] = (u8)(*random >> 56);
	}
}

#endif
