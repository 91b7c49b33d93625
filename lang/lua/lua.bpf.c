// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#include "walk.h"

#include "lua_step.h"

WALKER(LANG_LUA)
