// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#include "keep.h"

#include "lang/list.h"
#include "python.h"

/*
 * A module's code is run once, and freed: within milliseconds, while a program imports what it needs. So what names a
 * code object is copied when it is first met. A function of its own, which the verifier looks at once, however often it
 * is called.
 */
__noinline int keep_code(u64 code, u64 cookie, u64 file_va)
{
	struct kept_key key = { .lang = LANG_PYTHON, .id = { cookie, code } };
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);
	const struct python_slot *slot;
	struct kept_objects *copy;

	if (!u)
		return 0;
	slot = (const void *)u->slot;
	copy = keep_begin(&key);
	if (!copy)
		return 0;
	keep_piece(&copy->piece[0], code);
	keep_piece(&copy->piece[1], keep_word(code + slot->code_qualname));
	keep_piece(&copy->piece[2], file_va);
	keep_piece(&copy->piece[3], keep_word(code + slot->code_lines));
	keep_end(&key, copy);
	return 0;
}

static __always_inline void python_keep(u64 code, u64 cookie, u64 file_va)
{
	(void)keep_code(code, cookie, file_va);
}

#include "python_step.h"

WALKER(LANG_PYTHON)
