/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module data of a Go program or library (runtime/symtab.go: moduledata):
 * the variable from which the runtime finds everything else. It has no name
 * in a stripped file, but its first word points to the pclntab: in the file
 * itself or, where the file can be loaded anywhere, by a relocation.
 */
#ifndef LANG_GO_MODULE_H
#define LANG_GO_MODULE_H

#include <stdbool.h>

#include "base/types.h"

struct exe;

#define GO_MODULE_CANDIDATES 16

struct go_module {
	u64 ea;
	u64 text_ea;
	/* What may be its field gofunc: its place differs by version, the fields before it do not. */
	u32 candidate_count;
	u64 candidate[GO_MODULE_CANDIDATES];
};

/* False if there is none for the table at that address. */
bool go_module_find(const struct exe *exe, u64 pclntab_ea, struct go_module *ret_module);

#endif
