// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#include "keep.h"

#include "lang/list.h"

/* What eval() runs is freed by the next collection of garbage: the body of its instruction sequence is copied. */
__noinline int keep_body(u64 iseq, u64 cookie, u64 body)
{
	struct kept_key key = { .lang = LANG_RUBY, .id = { cookie, iseq } };
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);
	struct kept_objects *copy;

	if (!u)
		return 0;
	key.pid = u->trace.pid;
	copy = keep_begin(&key);
	if (!copy)
		return 0;
	keep_piece(&copy->piece[0], body);
	for (u32 i = 1; i < KEPT_PIECES; i++)
		copy->piece[i].va = 0;
	keep_end(&key, copy);
	return 0;
}

static __always_inline void ruby_keep(u64 iseq, u64 cookie, u64 body)
{
	(void)keep_body(iseq, cookie, body);
}

#include "ruby_step.h"

WALKER(LANG_RUBY)
