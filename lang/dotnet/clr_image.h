/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of .NET code that was compiled before it runs ("ReadyToRun"), as it lies in memory: which method the code at
 * an address is of. Its tables go from methods to code; here they are turned round, once for each image of a process
 * (docs/design/coreclr/botr/readytorun-format.md of dotnet/runtime).
 */
#ifndef LANG_DOTNET_CLR_IMAGE_H
#define LANG_DOTNET_CLR_IMAGE_H

#include "base/cleanup.h"
#include "base/types.h"
#include "lang/dotnet/clr_debug.h"
#include "lang/dotnet/metadata.h"

struct memory;

#define CLR_IMAGE_METHODS_MAX (1u << 17)	/* of one image: 1 MiB; more go without names */

struct clr_image_method {
	u32 function;		/* the first of its functions; those of its handlers follow */
	u32 method;		/* its row in the table of methods */
};

struct clr_image {
	u64 base_va;
	struct metadata metadata;
	u64 functions_va;
	u32 function_count, function_bytes;
	u64 debug_va;		/* by function, what the compiler has written down of it */
	u32 debug_bytes;
	struct clr_debug_format debug;
	struct clr_image_method *methods;	/* by function */
	u32 count;
};

/* -EBADMSG if there is no such image at that address. */
int clr_image_open(struct memory *memory, u64 base_va, struct clr_image **ret_image);
void clr_image_free(struct clr_image *image);
DEFINE_CLEANUP(struct clr_image *, clr_image_free)

/* The method whose code is at an address, or NULL if it is not known; its row may be 0, then it is another module's. */
const struct clr_image_method *clr_image_method_at(struct memory *memory, const struct clr_image *image, u64 va);

/* The offset in a method's IL of its code at an address, as clr_debug_find() has it. */
int clr_image_il(struct memory *memory, const struct clr_image *image, const struct clr_image_method *method, u64 va,
		 u32 *ret_il);

/* The functions that begin in [start_va, end_va). */
void clr_image_functions(struct memory *memory, const struct clr_image *image, u64 start_va, u64 end_va,
			 void (*function)(void *arg, u64 start_va, u64 end_va), void *arg);

#endif
