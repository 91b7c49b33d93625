/* SPDX-License-Identifier: Apache-2.0 */
/* Names of methods, by what the runtime has for each: a MethodDesc, in a chunk of those of one type. */
#ifndef LANG_DOTNET_CLR_METHOD_H
#define LANG_DOTNET_CLR_METHOD_H

#include "base/types.h"

struct buf;
struct clr_modules;
struct clr_layout;
struct memory;

/* Where its definition is. */
struct clr_method {
	u64 module_va;		/* 0: it is not known, or in no file */
	u32 row;
};

/* 0, -ENODATA if it has no name, or the memory's error. */
int clr_method_name(const struct clr_layout *layout, struct memory *memory, struct clr_modules *modules, u64 method_va,
		    struct buf *text, struct clr_method *ret_method);

#endif
