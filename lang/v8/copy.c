// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/copy.h"

#include "unwind.h"

#include "lang/copied.h"
#include "lang/v8/step.h"

int v8_copy_step(struct unwind *u, lang_read_copy *read)
{
	reader = read;
	return v8_step(u);
}
