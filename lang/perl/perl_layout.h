/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where Perl keeps what: offsets in its structures, by version, from the
 * headers that each installs (intrpvar.h, cop.h, hv.h). They are the same on
 * all machines of 64 bits, and in all releases of a version.
 */
#ifndef LANG_PERL_LAYOUT_H
#define LANG_PERL_LAYOUT_H

#include <stdbool.h>

#include "base/types.h"

#define PERL_VERSION(major, minor) ((major) << 8 | (minor))

/* In bytes. */
struct perl_layout {
	u64 op, cop, info;	/* of struct interpreter, where there are threads */
	u64 context_bytes;
	u64 sub_code, eval_name, eval_env;	/* in a context */
	u64 info_type;
	bool name_in_body;	/* what a stash is called is behind its body, not behind its array */
};

/* NULL if it is none that we know. */
const struct perl_layout *perl_layout_of(u32 version);

#endif
