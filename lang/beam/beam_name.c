// SPDX-License-Identifier: Apache-2.0
#include "lang/beam/beam_name.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

/* What is called before the function itself, with room for a breakpoint. */
static const char prologue[] = "-CodeInfoPrologue";
static const char fragment[] = "global::";
static const char elixir[] = "Elixir.";

/* The length of an atom as Erlang writes it, with its quotes if it has some. */
static size_t atom_len(const char *at)
{
	size_t len = 1;

	if (*at != '\'')
		return strcspn(at, ":");
	while (at[len] && at[len] != '\'')
		len += at[len] == '\\' && at[len + 1] ? 2 : 1;
	return at[len] ? len + 1 : len;
}

void beam_name(struct buf *to, const char *name)
{
	size_t len = strlen(name), module = atom_len(name);
	bool is_quoted = name[0] == '\'' && module > 2;
	const char *bare = name + is_quoted;

	if (len >= sizeof(prologue) && !strcmp(name + len - (sizeof(prologue) - 1), prologue))
		len -= sizeof(prologue) - 1;
	if (!strncmp(name, fragment, sizeof(fragment) - 1)) {
		buf_addf(to, "(%s)", name + sizeof(fragment) - 1);
	} else if (!strncmp(name + module, "::", 2)) {
		buf_addf(to, "(%s)", name);
	} else if (module < len && name[module] == ':' && !strncmp(bare, elixir, sizeof(elixir) - 1)) {
		size_t skip = sizeof(elixir) - 1 + is_quoted;

		buf_addf(to, "%.*s.%.*s", (int)(module - skip - is_quoted), name + skip, (int)(len - module - 1),
			 name + module + 1);
	} else {
		buf_addf(to, "%.*s", (int)len, name);
	}
}
