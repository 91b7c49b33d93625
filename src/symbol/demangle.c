// SPDX-License-Identifier: Apache-2.0
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <libiberty/demangle.h>

struct output {
	char *at;
	size_t len;
	bool cut;
	jmp_buf full;
};

/*
 * libiberty cannot be told to stop, and substitutions that double the text each time make it run for years. Its
 * printers keep all they have on the stack, so leaving by a jump is safe. The exception: a punycode identifier of
 * Rust holds a small block while it prints. So of names that may have one only a few are left that way, ever.
 */
#define PUNYCODE_JUMPS_MAX 64
static atomic_uint punycode_jumps;

static void append(const char *text, size_t len, void *opaque)
{
	struct output *output = opaque;

	if (!len)
		return;
	if (len >= DEMANGLE_MAX - output->len)
		longjmp(output->full, 1);
	memcpy(output->at + output->len, text, len);
	output->len += len;
}

/* In v0 names such an identifier is 'u', its length, and the text; other names may look so too. */
static bool may_hold_punycode(const char *name)
{
	for (; *name; name++) {
		if (*name == 'u' && name[1] >= '0' && name[1] <= '9')
			return true;
	}
	return false;
}

static bool is_mangled(const char *name)
{
	return (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R')) || !strncmp(name, "__Z", 3) ||
	       !strncmp(name, "_GLOBAL_", 8);
}

/* False if it is no mangled name, or if the text was cut off. */
static bool print_demangled(const char *name, struct output *output)
{
	/* The limit would refuse all names of more than half its length; DEMANGLE_NAME_MAX limits those. */
	int options = strlen(name) * 2 > DEMANGLE_RECURSION_LIMIT ? DMGL_NO_RECURSE_LIMIT : DMGL_NO_OPTS;

	if (setjmp(output->full)) {
		output->cut = true;
		return false;
	}
	if (rust_demangle_callback(name, DMGL_NO_OPTS, append, output))
		return true;
	output->len = 0;
	return cplus_demangle_v3_callback(name, options, append, output);
}

size_t demangle(const char *name, char *at)
{
	struct output output = { .at = at };
	bool punycode;

	if (!is_mangled(name) || strnlen(name, DEMANGLE_NAME_MAX + 1) > DEMANGLE_NAME_MAX)
		return 0;
	punycode = name[1] == 'R' && may_hold_punycode(name);
	if (punycode && atomic_load(&punycode_jumps) >= PUNYCODE_JUMPS_MAX)
		return 0;
	if (!print_demangled(name, &output)) {
		if (punycode && output.cut)
			atomic_fetch_add(&punycode_jumps, 1);
		return 0;
	}
	at[output.len] = '\0';
	return output.len;
}
