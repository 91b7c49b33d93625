/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * THE table of languages: X(number, ID, folder). A language is its folder here, with a struct lang_ops called
 * <folder>_ops and a struct lang_file_ops called <folder>_file_ops, and one line in this table. Numbers stay as they
 * are: rows on disk hold them.
 */
#ifndef LANG_LIST_H
#define LANG_LIST_H

#define LANGS(X)                \
	X(1, PYTHON, python)    \
	X(2, GO, go)            \
	X(3, V8, v8)            \
	X(4, HOTSPOT, hotspot)  \
	X(5, JIT, jit)          \
	X(6, RUBY, ruby)        \
	X(7, PERL, perl)        \
	X(8, PHP, php)          \
	X(9, DOTNET, dotnet)    \
	X(10, BEAM, beam)       \
	X(11, LUA, lua)         \
	X(12, LUAJIT, luajit)

enum lang {
	LANG_NONE,
#define X(number, ID, folder) LANG_##ID = number,
	LANGS(X)
#undef X
	LANG_MAX = 16,		/* numbers are below; no more than the bits of struct unwind's langs_off */
};

#endif
