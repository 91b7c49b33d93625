/* SPDX-License-Identifier: Apache-2.0 */
/* Where the runtime's structures have what we read: a table by version. */
#ifndef LANG_GO_LAYOUT_H
#define LANG_GO_LAYOUT_H

#include "base/types.h"

struct go_layout {
	u32 minor;	/* the first version that has it: 1.minor */
	u32 kind;	/* enum go_labels */
	u32 curg;	/* in struct m */
	u32 labels;	/* in struct g */
	u32 sched_bp;
};

#define GO_MINOR_LAST 27	/* later ones are read as this one */

/* NULL if the version is older than those we know. */
const struct go_layout *go_layout_known(u32 minor);

#endif
