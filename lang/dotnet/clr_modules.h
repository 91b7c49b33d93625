/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the modules and images of one process: looked for once, kept while there is room. */
#ifndef LANG_DOTNET_CLR_MODULES_H
#define LANG_DOTNET_CLR_MODULES_H

#include "base/types.h"

struct clr_file;
struct clr_image;
struct clr_layout;
struct memory;
struct metadata;

#define CLR_MODULES_MAX 512		/* of a process, of each kind; past that the oldest goes */

struct clr_modules_entry {
	u64 key;
	void *value;		/* NULL: there is none */
};

struct clr_modules_list {
	struct clr_modules_entry *at;
	u32 count, next;
};

struct clr_modules {
	struct clr_modules_list images;			/* by base address */
	struct clr_modules_list metadata, files;	/* by address of the Module */
	u64 dropped;				/* ... to make room, or not looked for: it would take too long */
	u64 rest_ns;				/* until then nothing is looked for */
};

void clr_modules_done(struct clr_modules *modules);

/* The image that begins there, or NULL. Borrowed until the next call. */
const struct clr_image *clr_modules_image(struct clr_modules *modules, struct memory *memory, u64 base_va);

/* The metadata of a Module, or NULL. Borrowed as above. */
const struct metadata *clr_modules_metadata(struct clr_modules *modules, struct memory *memory,
					       const struct clr_layout *layout, u64 module_va);

/*
 * The file that a Module was loaded from, if it has one with a PDB, or NULL. image_va is where its image is, 0 if that
 * is not known. Borrowed as above.
 */
const struct clr_file *clr_modules_file(struct clr_modules *modules, struct memory *memory,
					const struct clr_layout *layout, u64 module_va, u64 image_va);

/* The largest that was met so far: it is that of the basic types. NULL: there is none. */
const struct metadata *clr_modules_largest(const struct clr_modules *modules);

#endif
