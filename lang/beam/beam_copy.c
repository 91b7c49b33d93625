// SPDX-License-Identifier: Apache-2.0
#include "lang/beam/beam_copy.h"

#include "lang/copied.h"

static inline u64 walk_thread_pointer(void)
{
	return 0;
}

#include "lang/beam/beam_step.h"

int beam_copy_step(struct unwind *u, lang_read_copy *read)
{
	reader = read;
	return runtime_step(u, NULL);
}
