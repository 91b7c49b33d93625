// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#include "keep.h"

#include "lang/list.h"
#include "lang/perl/perl.h"

/* A text that eval runs, and what require reads, is freed when it is done: its names are copied. */
__noinline int keep_names(u64 low, u64 second, u64 has_threads)
{
	struct kept_key key = { .lang = LANG_PERL, .id = { low, second } };
	u64 file = (second >> PERL_LINE_BITS & PERL_ADDRESS_MASK) << 3;
	struct kept_objects *copy = keep_begin(&key);

	if (!copy)
		return 0;
	if (!has_threads)
		file = keep_word(keep_word(file) + PERL_GLOB_NAME);
	keep_piece(&copy->piece[0], file);
	if ((low & PERL_KIND_MASK) == PERL_REQUIRE)
		keep_piece(&copy->piece[1], keep_word((low >> PERL_KIND_BITS << 3) + PERL_SV_TEXT));
	keep_end(&key, copy);
	return 0;
}

static __always_inline void perl_keep(const struct perl_slot *slot, u64 low, u64 second)
{
	(void)keep_names(low, second, slot->has_threads);
}

static __always_inline int perl_next(struct unwind *u);

#include "perl_step.h"

/* Global functions of v5.10 take no pointers: the state is looked up again. */
__noinline int next_context(u32 unused)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);

	asm volatile("" : : "r"(unused));	/* callers would pass what they have not set */
	return u ? perl_one(u, (void *)u->slot, (void *)u->state) : STEP_END;
}

static __always_inline int perl_next(struct unwind *u)
{
	return next_context(0);
}

WALKER(LANG_PERL)
