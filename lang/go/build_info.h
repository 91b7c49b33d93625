/* SPDX-License-Identifier: Apache-2.0 */
/* The version of Go that a file was built with, of Go 1.18 and later (debug/buildinfo). */
#ifndef LANG_GO_BUILD_INFO_H
#define LANG_GO_BUILD_INFO_H

#include "base/types.h"

struct exe;

/* 27 for go1.27.3; 0 if the file does not tell. */
u32 go_build_minor(const struct exe *exe);

#endif
