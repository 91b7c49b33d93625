// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MIN ((size_t)4096)
#define BLOCK_MAX ((size_t)1 << 20)

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	char at[] __attribute__((aligned(16)));
};

void arena_init(struct arena *arena, size_t max)
{
	*arena = (struct arena){ .max = max };
	budget_charge_init(&arena->charge);
}

void arena_done(struct arena *arena)
{
	struct arena_block *next;

	for (struct arena_block *b = arena->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	(void)budget_charge_to(&arena->charge, 0);
	arena_init(arena, arena->max);
}

/* Blocks double up to BLOCK_MAX, so that small arenas stay small. */
static struct arena_block *arena_grow(struct arena *arena, size_t bytes)
{
	size_t size = arena->held < BLOCK_MIN ? BLOCK_MIN : arena->held;
	struct arena_block *b;
	int r;

	if (size > BLOCK_MAX)
		size = BLOCK_MAX;
	if (size < bytes)
		size = bytes;
	r = budget_charge_to(&arena->charge, arena->held + size);
	b = r == 0 ? malloc(sizeof(*b) + size) : NULL;
	if (!b) {
		arena->err = r < 0 ? r : -ENOMEM;
		return NULL;
	}
	*b = (struct arena_block){ .next = arena->blocks, .size = size };
	arena->blocks = b;
	arena->held += size;
	return b;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	struct arena_block *b = arena->blocks;
	void *at;

	if (arena->err)
		return NULL;
	if (bytes > arena->max - arena->used) {
		arena->err = -E2BIG;
		return NULL;
	}
	bytes = (bytes + 7) & ~(size_t)7;
	if (!b || bytes > b->size - b->used)
		b = arena_grow(arena, bytes);
	if (!b)
		return NULL;
	at = b->at + b->used;
	b->used += bytes;
	arena->used += bytes < arena->max - arena->used ? bytes : arena->max - arena->used;
	return at;
}

void *arena_zalloc(struct arena *arena, size_t bytes)
{
	void *at = arena_alloc(arena, bytes);

	return at ? memset(at, 0, bytes) : NULL;
}

void *arena_copy(struct arena *arena, const void *at, size_t bytes)
{
	void *copy = arena_alloc(arena, bytes);

	return copy && bytes ? memcpy(copy, at, bytes) : copy;
}

char *arena_strndup(struct arena *arena, const char *at, size_t len)
{
	char *copy = arena_alloc(arena, len + 1);

	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, at, len);
	copy[len] = '\0';
	return copy;
}

int arena_err(const struct arena *arena)
{
	return arena->err;
}
