// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/sent.h"

#include <string.h>

#define WAYS 8

/* Sets of keys, those used last first; 0 is none. */
struct sent {
	u64 forgotten;
	u32 mask;
	u64 keys[][WAYS];
};

struct sent *sent_new(u32 stacks)
{
	u32 sets = 1;
	struct sent *sent;

	while (sets < 1u << 24 && sets * WAYS < stacks)
		sets *= 2;
	sent = calloc(1, sizeof(*sent) + sets * sizeof(sent->keys[0]));
	if (sent)
		sent->mask = sets - 1;
	return sent;
}

void sent_free(struct sent *sent)
{
	free(sent);
}

u64 sent_key(u64 stack_hash, u32 day)
{
	u64 key = stack_hash ^ (day + 1) * 0x9e3779b97f4a7c15;

	return key ? key : 1;
}

static u64 *set_of(struct sent *sent, u64 key)
{
	return sent->keys[key >> 32 & sent->mask];
}

bool sent_has(struct sent *sent, u64 key)
{
	u64 *set = set_of(sent, key);

	for (u32 i = 0; i < WAYS; i++) {
		if (set[i] != key)
			continue;
		memmove(set + 1, set, i * sizeof(*set));
		set[0] = key;
		return true;
	}
	return false;
}

void sent_add(struct sent *sent, u64 key)
{
	u64 *set = set_of(sent, key);

	if (sent_has(sent, key))
		return;
	sent->forgotten += set[WAYS - 1] != 0;
	memmove(set + 1, set, (WAYS - 1) * sizeof(*set));
	set[0] = key;
}

void sent_clear(struct sent *sent)
{
	memset(sent->keys, 0, (sent->mask + 1) * sizeof(sent->keys[0]));
}

u64 sent_forgotten(const struct sent *sent)
{
	return sent->forgotten;
}
