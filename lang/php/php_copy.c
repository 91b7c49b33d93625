// SPDX-License-Identifier: Apache-2.0
#include "lang/php/php_copy.h"

#include "lang/copied.h"

static inline void php_keep(u64 function, u64 cookie, const u64 *words, u64 file)
{
}

#include "lang/php/php_step.h"

int php_copy_step(struct unwind *u, lang_read_copy *read)
{
	struct php_state *st = (void *)u->state;
	int r;

	reader = read;
	if (!u->map.lang)
		return STEP_NATIVE;
	r = php_generated(u, (void *)u->slot, st) ? STEP_NATIVE : php_leave(u, (void *)u->slot, st);
	return r;
}
