// SPDX-License-Identifier: Apache-2.0
#include "lang/go/layout.h"

#include <stddef.h>

#include "lang/go/go.h"

/* Of runtime/runtime2.go, the same on x86-64 and arm64, as DWARF of 1.19.8 and the last release of each other tells. */
static const struct go_layout layouts[] = {
	{ 19, GO_MAP, 192, 360, GO_G_SCHED + 48 },
	{ 21, GO_MAP, 192, 344, GO_G_SCHED + 48 },
	{ 23, GO_MAP, 192, 352, GO_G_SCHED + 48 },
	{ 24, GO_SLICE, 192, 352, GO_G_SCHED + 48 },
	{ 25, GO_SLICE, 184, 344, GO_G_SCHED + 40 },
	{ 26, GO_SLICE, 184, 352, GO_G_SCHED + 40 },
};

const struct go_layout *go_layout_known(u32 minor)
{
	for (size_t i = sizeof(layouts) / sizeof(layouts[0]); i-- > 0;)
		if (minor >= layouts[i].minor)
			return &layouts[i];
	return NULL;
}
