// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/copy.h"

#include "unwind.h"

#include "lang/copied.h"
#include "lang/hotspot/step.h"

int hotspot_copy_step(struct unwind *u, lang_read_copy *read)
{
	/* What lies in the heap has changed since. */
	((struct hotspot_slot *)u->slot)->chunks.oop = HOTSPOT_OOP_UNKNOWN;
	reader = read;
	return hotspot_step(u);
}
