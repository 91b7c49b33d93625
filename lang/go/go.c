// SPDX-License-Identifier: Apache-2.0
/*
 * Go: compiled code with tables of its own (lang/go/pclntab.h), which tell more than CFI and DWARF do. The rest of wick
 * unwinds and names it as any native code.
 */
#include "lang/go/go_file.h"
#include "lang/lang.h"

const struct lang_ops go_ops = {
	.file = &go_file_ops,
	.frame_type = "go",
	.tracer = "go",
};
