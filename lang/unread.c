// SPDX-License-Identifier: Apache-2.0
#include "lang/unread.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Files that begin with that, and then neither go on with a letter nor, after a digit, with another. */
static const struct { const char *begins, *title; } known[] = {
	{ "mono", "Mono" }, { "mono-sgen", "Mono" }, { "libmonosgen", "Mono" },
	{ "pypy", "PyPy" }, { "libpypy", "PyPy" },
	{ "python2", "Python 2" }, { "libpython2", "Python 2" },
	{ "python3.5", "Python 3.5" }, { "libpython3.5", "Python 3.5" }, { "libpython3.5m", "Python 3.5" },
	{ "python3.6", "Python 3.6" }, { "python3.6m", "Python 3.6" }, { "libpython3.6m", "Python 3.6" },
	{ "python3.7", "Python 3.7" }, { "python3.7m", "Python 3.7" }, { "libpython3.7m", "Python 3.7" },
	{ "bun", "Bun" }, { "libjavascriptcoregtk", "JavaScriptCore" }, { "libmozjs", "SpiderMonkey" },
	{ "libR", "R" }, { "julia", "Julia" }, { "libjulia", "Julia" }, { "libjulia-internal", "Julia" },
	{ "libtcl", "Tcl" }, { "guile", "Guile" }, { "libguile", "Guile" }, { "sbcl", "SBCL" },
	{ "swipl", "Prolog" }, { "libswipl", "Prolog" }, { "liboctinterp", "Octave" }, { "racket", "Racket" },
};

static int begins_with(const char *name, const char *word)
{
	size_t at = 0;

	/* Asked for each mapping of each process, most of which differ at once. */
	while (word[at] && name[at] == word[at])
		at++;
	return !word[at] && !isalpha((unsigned char)name[at]) &&
	       !(isdigit((unsigned char)word[at - 1]) && isdigit((unsigned char)name[at]));
}

const char *unread_runtime(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (begins_with(name, known[i].begins))
			return known[i].title;
	return NULL;
}
