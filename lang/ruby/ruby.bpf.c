// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#include "keep.h"

#include "lang/list.h"

/* What eval() runs is freed by the next collection of garbage: the body of its instruction sequence is copied. */
__noinline int keep_body(u64 iseq, u64 cookie, u64 body)
{
	struct kept_key key = { .lang = LANG_RUBY, .id = { cookie, iseq } };
	struct kept_objects *copy = keep_begin(&key);

	if (!copy)
		return 0;
	keep_piece(&copy->piece[0], body);
	keep_end(&key, copy);
	return 0;
}

static __always_inline void ruby_keep(u64 iseq, u64 cookie, u64 body)
{
	(void)keep_body(iseq, cookie, body);
}

#include "ruby_step.h"

WALKER(LANG_RUBY)
