// SPDX-License-Identifier: Apache-2.0
#include "lang/ruby/ruby_copy.h"

#include "lang/copied.h"

static inline u64 walk_thread_pointer(void)
{
	return 0;
}

static inline void ruby_keep(u64 iseq, u64 cookie, u64 body)
{
}

#include "lang/ruby/ruby_step.h"

int ruby_copy_step(struct unwind *u, lang_read_copy *read)
{
	reader = read;
	return u->map.lang ? runtime_step(u, NULL) : STEP_NATIVE;
}
