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
	struct clr_image_method *methods;	/* by function */
	u32 count;
};

/* -EBADMSG if there is no such image at that address. */
int clr_image_open(struct memory *memory, u64 base_va, struct clr_image **ret_image);
void clr_image_free(struct clr_image *image);
DEFINE_CLEANUP(struct clr_image *, clr_image_free)

/* The method whose code is at an address, by its row; 0 if it is not known. */
u32 clr_image_method_at(struct memory *memory, const struct clr_image *image, u64 va);

/* The functions that begin in [start_va, end_va). */
void clr_image_functions(struct memory *memory, const struct clr_image *image, u64 start_va, u64 end_va,
			 void (*function)(void *arg, u64 start_va, u64 end_va), void *arg);

#endif
