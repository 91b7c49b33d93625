/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that dies together: blocks are carved off, never freed alone.
 *
 *  - Never holds more than the max given at init; past it, or out of memory,
 *    arena_alloc() returns NULL and the error sticks.
 *  - What it asks of malloc is charged to whom the thread worked for at init (base/budget.h).
 *  - Blocks are aligned to 8 and not zeroed by arena_alloc().
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/budget.h"

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used, max;	/* bytes handed out; allowed */
	size_t held;		/* bytes asked of malloc */
	struct budget_charge charge;
	int err;
};

void arena_init(struct arena *arena, size_t max);
void arena_done(struct arena *arena);

void *arena_alloc(struct arena *arena, size_t bytes);
void *arena_zalloc(struct arena *arena, size_t bytes);
void *arena_copy(struct arena *arena, const void *at, size_t bytes);
char *arena_strndup(struct arena *arena, const char *at, size_t len);

/* 0, -E2BIG past the limit or what the budget can ever give, or -ENOMEM. */
int arena_err(const struct arena *arena);

#endif
