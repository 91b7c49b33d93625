/* SPDX-License-Identifier: Apache-2.0 */
/* Generated code: which piece an address lies in, and the functions that were inlined there. */
#ifndef LANG_V8_CODE_H
#define LANG_V8_CODE_H

#include "base/types.h"

struct heap;
struct lang_names;

/* Names an address in code of that function (0: not known), innermost first. 0 or -errno. */
int code_name(struct heap *heap, u64 shared, u64 va, struct lang_names *names);

#endif
