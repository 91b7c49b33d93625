// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#include "keep.h"

#include "lang/list.h"
#include "lang/php/php.h"

/* Without opcache the functions of a request are freed when it ends: their names are copied. */
__noinline int keep_names(u64 function, u64 cookie, u64 name, u64 class, u64 file)
{
	struct kept_key key = { .lang = LANG_PHP, .id = { cookie, function } };
	struct kept_objects *copy = keep_begin(&key);

	if (!copy)
		return 0;
	keep_piece(&copy->piece[0], name);
	keep_piece(&copy->piece[1], class ? keep_word(class + PHP_CLASS_NAME) : 0);
	keep_piece(&copy->piece[2], file);
	keep_end(&key, copy);
	return 0;
}

static __always_inline void php_keep(u64 function, u64 cookie, const u64 words[PHP_FUNCTION_WORDS], u64 file)
{
	(void)keep_names(function, cookie, words[1], words[2], file);
}

#include "php_step.h"

WALKER(LANG_PHP)
