/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What methods are called: their class, and the names of those written in C,
 * which Ruby knows by number. The table of these names is in no table of
 * symbols: it is looked for among the library's variables, once, by what it
 * must hold. The same goes for the numbers of the hidden variables that classes
 * before 3.2 have their names in: Object's own tell.
 */
#ifndef LANG_RUBY_NAMES_H
#define LANG_RUBY_NAMES_H

#include "base/types.h"
#include "lang/lang.h"
#include "lang/memory.h"
#include "lang/ruby/ruby_layout.h"

struct ruby_names {
	const struct ruby_layout *layout;
	u64 object_va;			/* rb_cObject */
	u64 data_va, data_bytes;	/* the library's variables */
	u64 symbols_va;			/* the variable that holds the names; 0: not found yet */
	u32 searches;			/* for it, so far */
	u64 path_key, attached_key;	/* of hidden variables; 0: not known yet */
};

/* The name with that number: 0, or -ENOENT. */
int ruby_names_symbol(struct ruby_names *names, struct memory *memory, u64 id, char ret_text[LANG_TEXT_MAX + 1]);

/* A class with what stands between it and a method's name: "Foo#", "Foo." or, if it has no name, "". */
void ruby_names_class(struct ruby_names *names, struct memory *memory, u64 class_va,
		      char ret_text[LANG_TEXT_MAX + 1]);

#endif
