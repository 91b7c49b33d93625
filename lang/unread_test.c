// SPDX-License-Identifier: Apache-2.0
#include "lang/unread.h"

#include <stddef.h>

#include "test.h"

TEST(runtimes_that_are_not_read_are_known_by_their_files)
{
	static const struct { const char *path, *title; } cases[] = {
		{ "/usr/bin/julia", "Julia" }, { "/usr/bin/mono-sgen", "Mono" },
		{ "/usr/lib/x86_64-linux-gnu/libjulia.so.1.5", "Julia" }, { "/usr/bin/python2.7", "Python 2" },
		{ "/usr/bin/python3.7", "Python 3.7" }, { "bun", "Bun" }, { "/usr/lib/R/lib/libR.so", "R" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *title = unread_runtime(cases[i].path);

		OK(title);
		STREQ(title, cases[i].title);
	}
}

TEST(files_that_only_sound_like_a_runtime_are_none)
{
	static const char *const paths[] = {
		"/usr/bin/lua5.4", "/usr/lib/x86_64-linux-gnu/liblua5.4.so.0", "/usr/bin/luajit",
		"/usr/lib/x86_64-linux-gnu/libluajit-5.1.so.2",
		"/usr/bin/python3.11", "/usr/bin/ruby3.1", "/usr/lib/erlang/erts-13.1.5/bin/beam.smp",
		"/opt/rubymine/bin/fsnotifier", "/usr/bin/bundle", "",
		"/", "/usr/lib/libReadline.so", "/usr/bin/perlin", "/usr/bin/luakit", "/ruby/bin/true",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		OK(!unread_runtime(paths[i]));
}
