/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that a module was loaded from, and which PDB was made with it, by the debug directory of its image in memory
 * (System.Reflection.PortableExecutable looks for that as this does: beside the assembly, or in it).
 */
#ifndef LANG_DOTNET_CLR_FILE_H
#define LANG_DOTNET_CLR_FILE_H

#include "base/types.h"
#include "exe/source_map.h"

struct clr_layout;
struct memory;

#define CLR_FILE_NAME_MAX 256
#define CLR_FILE_PATH_MAX 1024

struct clr_file {
	char pdb[CLR_FILE_NAME_MAX];	/* its name, in the directory of the assembly; may be that itself */
	u8 id[SOURCE_MAP_ID_BYTES];
	char path[];			/* of the assembly, as the process names it */
};

/*
 * Of a module, whose image is there, or, if image_va is 0, where the runtime says, or before its metadata. 0; -ENODATA
 * if it has no file or no PDB; the memory's error. The caller's to free().
 */
int clr_file_open(struct memory *memory, const struct clr_layout *layout, u64 module_va, u64 image_va,
		  u64 metadata_va, struct clr_file **ret_file);

#endif
