/* SPDX-License-Identifier: Apache-2.0 */
/* Generated code in a copied stack: the walk goes through it. Frames of PHP are not on the stack, and do not show. */
#ifndef LANG_PHP_COPY_H
#define LANG_PHP_COPY_H

#include "lang/lang.h"

int php_copy_step(struct unwind *u, lang_read_copy *read);

#endif
