/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of another process's CPython, as far as names need them: texts and bytes. */
#ifndef LANG_PYTHON_TEXT_H
#define LANG_PYTHON_TEXT_H

#include <stddef.h>

#include "base/types.h"
#include "lang/lang.h"
#include "lang/python/python_layout.h"

/* A str as UTF-8, cut at LANG_TEXT_MAX. -EBADMSG if it cannot be one; or as lang_read(). */
int python_text_read(const struct lang_process *process, const struct python_layout *layout, u64 va,
		     char ret_text[LANG_TEXT_MAX + 1]);

/* The contents of a bytes object, as much as there is room for; *ret_bytes is how many. As above. */
int python_bytes_read(const struct lang_process *process, const struct python_layout *layout, u64 va, u8 *to,
		      size_t max_bytes, size_t *ret_bytes);

#endif
