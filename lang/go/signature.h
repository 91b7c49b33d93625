/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Labels in a process's memory, and their signature (go.h): the same code in the kernel and in user space. Needs before
 * it
 *
 *	go_reader						a type: whose memory
 *	int go_read(go_reader from, void *to, u32 bytes, u64 va)	0, or less than 0
 *	LOOP_NO_UNROLL						a pragma, or nothing
 */
#ifndef LANG_GO_SIGNATURE_H
#define LANG_GO_SIGNATURE_H

#include "go.h"

#define GO_BUCKET_PAIRS 8
#define GO_BUCKET_KEYS 8	/* in a bucket of a map, behind a byte for each */
#define GO_BUCKET_VALUES (GO_BUCKET_KEYS + GO_BUCKET_PAIRS * 16)

/* A string. */
struct go_string {
	u64 va;
	u64 bytes;
};

/* Room to read into, in the kernel part of a map. */
struct go_room {
	struct go_string key, value;
	volatile u64 bytes;
	u64 text[GO_TEXT_BYTES / 8];
};

struct go_set {
	u64 pairs_va;		/* of the first pair, or bucket */
	u64 count;
	u64 seed;		/* of a map: the logarithm of its buckets, and a random number of its own */
};

static inline u64 go_mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static inline int go_find_set(go_reader from, u64 kind, u64 labels_va, struct go_set *ret_set)
{
	u64 words[3];

	if (kind == GO_MAP && go_read(from, &labels_va, sizeof(labels_va), labels_va))
		return -1;
	if (go_read(from, words, sizeof(words), labels_va))
		return -1;
	ret_set->pairs_va = kind == GO_MAP ? words[2] : words[0];
	ret_set->count = kind == GO_MAP ? words[0] : words[1];
	/* Behind a byte of flags, which readers change. */
	ret_set->seed = kind == GO_MAP ? words[1] >> 8 : 0;
	return 0;
}

/* A pair by its number; of a map, in the bucket at that address. */
static inline int go_read_pair(go_reader from, u64 kind, u64 pairs_va, u64 number, struct go_room *room)
{
	u64 va = pairs_va + number * 2 * sizeof(struct go_string);

	if (kind == GO_SLICE)
		return go_read(from, &room->key, 2 * sizeof(struct go_string), va);
	va = pairs_va + number * sizeof(struct go_string);
	return go_read(from, &room->key, sizeof(struct go_string), va + GO_BUCKET_KEYS) ||
	       go_read(from, &room->value, sizeof(struct go_string), va + GO_BUCKET_VALUES);
}

/* Adds a text to a signature: 0; 1: only its beginning; less than 0: it cannot be read. */
static inline int go_sign_text(go_reader from, const struct go_string *string, struct go_room *room, u64 *hash)
{
	u64 bytes = string->bytes;
	int is_cut = bytes > GO_TEXT_BYTES;

	*hash = go_mix(*hash, bytes);
	if (is_cut)
		bytes = GO_TEXT_BYTES;
	__builtin_memset(room->text, 0, sizeof(room->text));
	/* Looked at where it is used: the verifier of v5.10 forgets what it knew of a number that was on the stack. */
	room->bytes = bytes;
	bytes = room->bytes & (2 * GO_TEXT_BYTES - 1);
	if (bytes > GO_TEXT_BYTES)
		return -1;
	if (bytes && go_read(from, room->text, (u32)bytes, string->va))
		return -1;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < GO_TEXT_BYTES / 8; i++)
		*hash = go_mix(*hash, room->text[i]);
	return is_cut;
}

/* The signature of labels; 0 if there are none that can be read. how: GO_BY_TEXT, GO_WITH_TEXT, as far as that goes. */
static inline u64 go_sign(go_reader from, u64 kind, u64 labels_va, u64 how, struct go_room *room)
{
	u64 texts = 0, words;
	struct go_set set;

	if (go_find_set(from, kind, labels_va, &set) || !set.count)
		return 0;
	words = go_mix(go_mix(go_mix(set.seed, set.pairs_va), set.count), labels_va);
	if (set.count > GO_SIGNED)
		how &= GO_WITH_TEXT;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < GO_SIGNED; i++) {
		if (i >= set.count)
			break;
		if (go_read_pair(from, kind, set.pairs_va, i, room))
			return 0;
		words = go_mix(go_mix(words, room->key.va), room->key.bytes);
		words = go_mix(go_mix(words, room->value.va), room->value.bytes);
		if (how) {
			int key = go_sign_text(from, &room->key, room, &texts);
			int value = go_sign_text(from, &room->value, room, &texts);

			how &= key < 0 || value < 0 ? 0 : key || value ? GO_WITH_TEXT : how;
		}
	}
	words = how ? go_mix(words, texts) : words;
	return how | ((how & GO_BY_TEXT ? texts : words) & (GO_WITH_TEXT - 1));
}

#endif
