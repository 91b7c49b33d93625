// SPDX-License-Identifier: Apache-2.0
#include "symbol/name_cache.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MAX (1u << 22)
#define CHAIN_MAX 64u		/* lines of a name; longer chains lose their inner ones */

struct name_key {
	u64 ea;
	u32 binary;
	u32 pad;
};

static void generation_init(struct name_generation *g, size_t max_bytes)
{
	*g = (struct name_generation){ 0 };
	arena_init(&g->arena, max_bytes);
	interner_init(&g->strings, &g->arena, COUNT_MAX);
	interner_init(&g->chains, &g->arena, COUNT_MAX);
	interner_init(&g->names, &g->arena, COUNT_MAX);
	interner_init(&g->keys, &g->arena, COUNT_MAX);
}

static void generation_done(struct name_generation *g)
{
	interner_done(&g->strings);
	interner_done(&g->chains);
	interner_done(&g->names);
	interner_done(&g->keys);
	arena_done(&g->arena);
	free(g->of_key);
}

static size_t interner_bytes(const struct interner *interner)
{
	return interner->cap * sizeof(*interner->entries) + interner->slot_count * sizeof(*interner->slots);
}

static size_t generation_bytes(const struct name_generation *g)
{
	return g->arena.held + interner_bytes(&g->strings) + interner_bytes(&g->chains) + interner_bytes(&g->names) +
	       interner_bytes(&g->keys) + g->of_key_cap * sizeof(*g->of_key);
}

void name_cache_init(struct name_cache *cache, size_t max_bytes)
{
	*cache = (struct name_cache){ .max_bytes = max_bytes };
	generation_init(&cache->young, max_bytes / 2);
	generation_init(&cache->old, max_bytes / 2);
}

void name_cache_done(struct name_cache *cache)
{
	generation_done(&cache->young);
	generation_done(&cache->old);
}

size_t name_cache_bytes(const struct name_cache *cache)
{
	return generation_bytes(&cache->young) + generation_bytes(&cache->old);
}

bool name_cache_is_tight(const struct name_cache *cache)
{
	return generation_bytes(&cache->young) > cache->max_bytes / 8 * 3;
}

void name_cache_turn(struct name_cache *cache)
{
	if (generation_bytes(&cache->young) < cache->max_bytes / 4)
		return;
	cache->evictions += cache->old.keys.count;
	generation_done(&cache->old);
	cache->old = cache->young;
	/* The arena has moved with its generation. */
	cache->old.strings.arena = cache->old.chains.arena = &cache->old.arena;
	cache->old.names.arena = cache->old.keys.arena = &cache->old.arena;
	generation_init(&cache->young, cache->max_bytes / 2);
}

static const struct symbol_name *generation_find(const struct name_generation *g, u32 binary, u64 ea)
{
	struct name_key key = { .ea = ea, .binary = binary };
	u32 number = interner_find(&g->keys, &key, sizeof(key));

	return number != INTERNER_NONE ? g->of_key[number] : NULL;
}

const struct symbol_name *name_cache_find(const struct name_cache *cache, u32 binary, u64 ea)
{
	const struct symbol_name *name = generation_find(&cache->young, binary, ea);

	return name ? name : generation_find(&cache->old, binary, ea);
}

const struct symbol_name *name_cache_keep(struct name_cache *cache, u32 binary, u64 ea)
{
	const struct symbol_name *name = generation_find(&cache->young, binary, ea);

	if (name)
		return name;
	name = generation_find(&cache->old, binary, ea);
	if (name)
		(void)name_cache_put(cache, binary, ea, name);
	return name;
}

static const void *intern(struct interner *interner, const void *at, size_t len)
{
	u32 number = interner_add(interner, at, len, NULL);

	return number != INTERNER_NONE ? interner_get(interner, number)->at : NULL;
}

static const char *intern_string(struct name_generation *g, const char *text)
{
	return text ? intern(&g->strings, text, strlen(text) + 1) : NULL;
}

const char *name_cache_text(struct name_cache *cache, const char *text)
{
	return intern_string(&cache->young, text);
}

static const struct symbol_line *intern_lines(struct name_generation *g, const struct symbol_line *from, u32 count)
{
	struct symbol_line lines[CHAIN_MAX];

	for (u32 i = 0; i < count; i++) {
		lines[i] = (struct symbol_line){
			.function = intern_string(g, from[i].function),
			.system_name = intern_string(g, from[i].system_name),
			.file = intern_string(g, from[i].file),
			.line = from[i].line,
			.column = from[i].column,
			.start_line = from[i].start_line,
		};
		if (!lines[i].function || !lines[i].system_name || !lines[i].file)
			return NULL;
	}
	return intern(&g->chains, lines, count * sizeof(*lines));
}

static const struct symbol_name *intern_name(struct name_generation *g, const struct symbol_name *from)
{
	u32 skipped = from->line_count > CHAIN_MAX ? from->line_count - CHAIN_MAX : 0;
	struct symbol_name name;

	/* All of its bytes are compared, padding included. */
	memset(&name, 0, sizeof(name));
	name.source = from->source;
	name.lacks_lines = from->lacks_lines;
	name.lang = from->lang;
	name.function_ea = from->function_ea;
	name.line_count = from->line_count - skipped;
	name.lines = intern_lines(g, from->lines + skipped, name.line_count);
	name.module = intern_string(g, from->module);
	return name.lines && name.module ? intern(&g->names, &name, sizeof(name)) : NULL;
}

/* Where the name of a key is kept, or NULL. */
static const struct symbol_name **key_slot(struct name_generation *g, u32 binary, u64 ea)
{
	struct name_key key = { .ea = ea, .binary = binary };
	u32 number, cap = g->of_key_cap ? g->of_key_cap * 2 : 64;
	const struct symbol_name **of_key;
	bool is_new;

	if (g->keys.count == g->of_key_cap) {
		of_key = reallocarray(g->of_key, cap, sizeof(*of_key));
		if (!of_key)
			return NULL;
		g->of_key = of_key;
		g->of_key_cap = cap;
	}
	number = interner_add(&g->keys, &key, sizeof(key), &is_new);
	if (number == INTERNER_NONE)
		return NULL;
	if (is_new)
		g->of_key[number] = NULL;
	return &g->of_key[number];
}

bool name_cache_put(struct name_cache *cache, u32 binary, u64 ea, const struct symbol_name *name)
{
	struct name_generation *g = &cache->young;
	const struct symbol_name *copy = NULL, **slot = NULL;

	if (generation_bytes(g) < cache->max_bytes / 2)
		copy = intern_name(g, name);
	if (copy)
		slot = key_slot(g, binary, ea);
	if (!slot) {
		cache->dropped++;
		return false;
	}
	*slot = copy;
	return true;
}

static void generation_forget(struct name_generation *g, u32 binary, u64 from_ea, u64 bytes)
{
	for (u32 i = 0; i < g->keys.count; i++) {
		const struct name_key *key = interner_get(&g->keys, i)->at;

		if (key->binary == binary && key->ea - from_ea < bytes)
			g->of_key[i] = NULL;
	}
}

void name_cache_forget(struct name_cache *cache, u32 binary, u64 from_ea, u64 bytes)
{
	generation_forget(&cache->young, binary, from_ea, bytes);
	generation_forget(&cache->old, binary, from_ea, bytes);
}
