/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is at an address of CoreCLR's code: its execution manager knows all ranges ("sections") that hold such code. In
 * those of the compiler a map of nibbles tells where each method begins, and the word before that what it is; others
 * are images of files that were compiled before, or stubs of one kind.
 */
#ifndef LANG_DOTNET_CLR_CODE_H
#define LANG_DOTNET_CLR_CODE_H

#include "base/types.h"

struct clr_layout;
struct memory;

enum clr_code_kind {
	CLR_CODE_NONE,		/* nothing that is known of: stubs of older versions, helpers of the runtime */
	CLR_CODE_METHOD,		/* compiled: object is its MethodDesc */
	CLR_CODE_IMAGE,		/* object is where the image is */
	CLR_CODE_STUB,		/* object is the kind of stub */
};

struct clr_code_place {
	enum clr_code_kind kind;
	u64 object;
	u64 start_va;		/* of a method's code */
	u64 debug_va;		/* what the compiler has written down of it; 0: nothing */
	u64 module_va;		/* of an image */
};

/* A range of code. */
struct clr_code_section {
	u64 start_va, end_va;
	u64 va;			/* where it is described; 0: there is none */
};

/* The section that an address lies in; sections_va is where the execution manager has its list or map. */
struct clr_code_section clr_code_section_find(const struct clr_layout *layout, struct memory *memory, u64 sections_va,
					      u64 va);

/* Is it one that methods are compiled into? */
int clr_code_section_has_methods(const struct clr_layout *layout, struct memory *memory,
				 const struct clr_code_section *section);

struct clr_code_place clr_code_find(const struct clr_layout *layout, struct memory *memory, u64 sections_va, u64 va);

/* A function, or a part of one that handles exceptions. */
typedef void clr_code_function(void *arg, u64 start_va, u64 end_va);

/* The functions of methods in [start_va, end_va) of a section that they are compiled into. */
void clr_code_functions(const struct clr_layout *layout, struct memory *memory, const struct clr_code_section *section,
			u64 start_va, u64 end_va, clr_code_function *function, void *arg);

/* What stubs of a kind are called. */
const char *clr_code_stub_name(u64 kind);

#endif
