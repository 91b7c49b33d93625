/* SPDX-License-Identifier: Apache-2.0 */
/* What a file tells of the Lua in it: the facts of a struct lang_file. */
#ifndef LANG_LUA_FILE_H
#define LANG_LUA_FILE_H

#include "exe/lang_file.h"
#include "lang/lua/lua_layout.h"

struct lua_facts {
	u64 release;		/* LUA_RELEASE(); 0: it does not say */
	u64 has_loop;		/* luaV_execute() is marked */
};
_Static_assert(sizeof(struct lua_facts) <= LANG_FACTS_MAX * sizeof(u64), "fits the facts");

extern const struct lang_file_ops lua_file_ops;

#endif
