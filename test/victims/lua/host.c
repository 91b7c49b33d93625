// SPDX-License-Identifier: Apache-2.0
/*
 * A program in C that has Lua inside, of a library: host LIBRARY VICTIM SCENARIO. It needs no headers, so that it is
 * the same program for every version. What it runs may call spoil(), which writes nonsense over the state that it is
 * called in, and over the innermost call, for a while: nothing but others look at these meanwhile.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STATE_BYTES 184
#define CALL_BYTES 40
#define GLOBALS_51 (-10002)	/* LUA_GLOBALSINDEX */

static void *library;
static uint64_t seed = 1;

/* A function by one of its names: 5.1 has some of them by another. */
static void *find(const char *name, const char *name_51)
{
	void *found = dlsym(library, name);

	if (!found && name_51)
		found = dlsym(library, name_51);
	if (!found) {
		fprintf(stderr, "no %s\n", name);
		exit(1);
	}
	return found;
}

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void spoil_some(uint64_t *at, size_t bytes, const uint64_t *good)
{
	for (int i = 0; i < 3; i++) {
		uint64_t words[] = { 0, 1, ~0ull, next_random() << 20, good[next_random() % (bytes / 8)],
				     (uint64_t)(uintptr_t)at + next_random() % 256, 0x4141414141414141ull };

		at[next_random() % (bytes / 8)] = words[next_random() % (sizeof(words) / sizeof(words[0]))];
	}
}

static int spoil(void *state)
{
	int is_51 = !dlsym(library, "lua_callk");
	uint64_t *words = state, *call = (uint64_t *)(uintptr_t)words[is_51 ? 5 : 4];
	uint64_t good[STATE_BYTES / 8], good_call[CALL_BYTES / 8], end = now_ns() + 20000000;

	memcpy(good, words, sizeof(good));
	memcpy(good_call, call, sizeof(good_call));
	while (now_ns() < end) {
		uint64_t until = now_ns() + 100000;

		spoil_some(words + 1, sizeof(good) - 8, good);
		spoil_some(call, sizeof(good_call), good);
		while (now_ns() < until)
			;
		memcpy(words, good, sizeof(good));
		memcpy(call, good_call, sizeof(good_call));
	}
	return 0;
}

static void set_global(void *state, const char *name)
{
	void (*set)(void *, const char *) = dlsym(library, "lua_setglobal");

	if (set)
		set(state, name);
	else
		((void (*)(void *, int, const char *))find("lua_setfield", NULL))(state, GLOBALS_51, name);
}

int main(int argc, char **argv)
{
	int (*load)(void *, const char *, const char *), (*call)(void *, int, int, int, intptr_t, void *);
	void *state;

	library = argc > 3 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	if (!library)
		return 1;
	load = find("luaL_loadfilex", "luaL_loadfile");
	call = find("lua_pcallk", "lua_pcall");
	state = ((void *(*)(void))find("luaL_newstate", NULL))();
	((void (*)(void *))find("luaL_openlibs", NULL))(state);
	((void (*)(void *, int (*)(void *), int))find("lua_pushcclosure", NULL))(state, spoil, 0);
	set_global(state, "spoil");
	((void (*)(void *, int, int))find("lua_createtable", NULL))(state, 1, 0);
	((void (*)(void *, const char *))find("lua_pushstring", NULL))(state, argv[3]);
	((void (*)(void *, int, int64_t))find("lua_rawseti", NULL))(state, -2, 1);
	set_global(state, "arg");
	return load(state, argv[2], NULL) || call(state, 0, 0, 0, 0, NULL);
}
