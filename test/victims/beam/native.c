/* SPDX-License-Identifier: Apache-2.0 */
/* Native functions of Erlang: one that works, and one that spoils what the runtime tells debuggers of its code. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <erl_nif.h>

__attribute__((noinline)) unsigned native_spin(unsigned n)
{
	volatile unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = sum * 7 + i;
	return sum & 1023;
}

static ERL_NIF_TERM native(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	unsigned n;

	if (!enif_get_uint(env, argv[0], &n))
		return enif_make_badarg(env);
	return enif_make_uint(env, native_spin(n));
}

struct entry {
	struct entry *next, *previous;
	unsigned long text, bytes;
};

/* Nobody but debuggers reads it, as long as no module is loaded or unloaded. Each time another part is wrong. */
static ERL_NIF_TERM spoil(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	static struct { unsigned version, action; struct entry *changed, *first; } *list;
	static struct { struct entry *at, was; } entries[1000];
	static unsigned count;
	unsigned seed;

	if (!list) {
		list = dlsym(RTLD_DEFAULT, "__jit_debug_descriptor");
		for (struct entry *e = list ? list->first : NULL; e && count < 1000; e = e->next) {
			entries[count].at = e;
			entries[count++].was = *e;
		}
	}
	if (!enif_get_uint(env, argv[0], &seed) || !list)
		return enif_make_badarg(env);
	for (unsigned i = 0; i < count; i++) {
		struct entry *e = entries[i].at, was = entries[i].was;
		unsigned random = seed = seed * 1103515245 + 12345;

		if (was.bytes > 64 && random >> 16 & 1)
			*(unsigned long *)(was.text + (random >> 17) % (was.bytes - 8)) = seed * 2654435761ul;
		*e = was;
		if ((random >> 20) % 8 == 0)
			e->bytes = random >> 24 & 1 ? ~0ul : random;
		if ((random >> 20) % 16 == 1)
			e->text += random;
		if ((random >> 20) % 64 == 2)
			e->next = random >> 26 & 1 ? list->first : (void *)(unsigned long)random;
	}
	return enif_make_uint(env, count);
}

static ErlNifFunc functions[] = { { "native", 1, native, 0 }, { "spoil", 1, spoil, 0 } };

ERL_NIF_INIT(victim, functions, NULL, NULL, NULL, NULL)
