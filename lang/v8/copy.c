// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/copy.h"

#include "unwind.h"

#if REG_RA == 16

#include "lang/copied.h"
#include "lang/v8/step.h"

int v8_copy_step(struct unwind *u, lang_read_copy *read)
{
	reader = read;
	return v8_step(u);
}

#else

int v8_copy_step(struct unwind *u, lang_read_copy *read)
{
	return STEP_NATIVE;
}

#endif
