/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel half's step, in user space, for copied stacks. */
#ifndef LANG_V8_COPY_H
#define LANG_V8_COPY_H

#include "lang/lang.h"

int v8_copy_step(struct unwind *u, lang_read_copy *read);

#endif
