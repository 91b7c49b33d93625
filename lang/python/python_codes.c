// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python_codes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct key {
	u64 va, cookie;
};

void python_codes_init(struct python_codes *c)
{
	*c = (struct python_codes){ 0 };
	arena_init(&c->arena, PYTHON_CODES_BYTES_MAX);
	interner_init(&c->keys, &c->arena, PYTHON_CODES_BYTES_MAX / sizeof(struct key));
	interner_init(&c->texts, &c->arena, PYTHON_CODES_BYTES_MAX / 8);
}

void python_codes_done(struct python_codes *c)
{
	interner_done(&c->keys);
	interner_done(&c->texts);
	arena_done(&c->arena);
	free(c->at);
}

const struct python_known_code *python_codes_find(const struct python_codes *c, u64 va, u64 cookie)
{
	struct key key = { va, cookie };
	u32 number = interner_find(&c->keys, &key, sizeof(key));

	return number != INTERNER_NONE && c->at[number].function ? &c->at[number] : NULL;
}

static const char *add_text(struct python_codes *c, const char *text)
{
	u32 number = interner_add(&c->texts, text, strlen(text) + 1, NULL);

	return number == INTERNER_NONE ? NULL : interner_get(&c->texts, number)->at;
}

static void add(struct python_codes *c, const struct key *key, const struct python_known_code *code)
{
	struct python_known_code copy = *code;
	u32 number;

	if (array_reserve(&c->at, &c->cap, c->keys.count + 1, sizeof(*c->at)) < 0)
		return;
	number = interner_add(&c->keys, key, sizeof(*key), NULL);
	if (number == INTERNER_NONE)
		return;
	copy.file = add_text(c, code->file);
	copy.lines = arena_copy(&c->arena, code->lines, code->lines_bytes);
	copy.function = copy.file && copy.lines ? add_text(c, code->function) : NULL;
	c->at[number] = copy;
}

void python_codes_add(struct python_codes *c, u64 va, u64 cookie, const struct python_known_code *code)
{
	if (code->lines_bytes > PYTHON_CODE_LINES_MAX)
		return;
	add(c, &(struct key){ va, cookie }, code);
	if (!arena_err(&c->arena))
		return;
	python_codes_done(c);
	python_codes_init(c);
}
