/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of a goroutine, made up in FORGE_LABELS_BYTES of memory that a process would have at some address. */
#ifndef FORGE_LABELS_H
#define FORGE_LABELS_H

#include <string.h>

#include "lang/go/go.h"

#define FORGE_LABELS_BYTES 4096
#define FORGE_LABELS_HMAP 64
#define FORGE_LABELS_PAIRS 128
#define FORGE_LABELS_TEXTS 2048
#define FORGE_LABELS_BUCKET 272

static inline void forge_labels_word(u8 *at, u32 offset, u64 word)
{
	memcpy(at + offset, &word, sizeof(word));
}

/* Where the string of a pair lies: text 0 is the key, 1 the value. */
static inline u32 forge_labels_string(u64 kind, u32 pair, u32 text)
{
	u32 bucket = pair / 8 * FORGE_LABELS_BUCKET;

	return kind == GO_SLICE ? FORGE_LABELS_PAIRS + pair * 32 + text * 16 :
				  FORGE_LABELS_PAIRS + bucket + 8 + text * 128 + pair % 8 * 16;
}

/* texts: key, value, key, value ... A map has all its pairs in one bucket, and in those that it overflows to. */
static inline void forge_labels(u8 *at, u64 va, u64 kind, const char *const *texts, u32 count)
{
	u32 text_at = FORGE_LABELS_TEXTS;

	memset(at, 0, FORGE_LABELS_BYTES);
	forge_labels_word(at, 0, va + (kind == GO_MAP ? FORGE_LABELS_HMAP : FORGE_LABELS_PAIRS));
	forge_labels_word(at, 8, count);
	forge_labels_word(at, FORGE_LABELS_HMAP, count);
	forge_labels_word(at, FORGE_LABELS_HMAP + 8, 0x1234567800000004);	/* a seed, and flags */
	forge_labels_word(at, FORGE_LABELS_HMAP + 16, va + FORGE_LABELS_PAIRS);
	for (u32 i = 0; i < 2 * count; i++) {
		u32 bytes = (u32)strlen(texts[i]), string = forge_labels_string(kind, i / 2, i % 2);
		u32 bucket = FORGE_LABELS_PAIRS + i / 16 * FORGE_LABELS_BUCKET;

		forge_labels_word(at, string, va + text_at);
		forge_labels_word(at, string + 8, bytes);
		memcpy(at + text_at, texts[i], bytes);
		text_at += bytes;
		if (kind != GO_MAP)
			continue;
		at[bucket + i / 2 % 8] = 0x80;
		if (i / 16)
			forge_labels_word(at, bucket - 8, va + bucket);
	}
}

#endif
