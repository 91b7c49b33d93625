/* SPDX-License-Identifier: Apache-2.0 */
/* The half of Go that looks at files. */
#ifndef LANG_GO_GO_FILE_H
#define LANG_GO_GO_FILE_H

#include "exe/lang_file.h"

extern const struct lang_file_ops go_file_ops;

/* What a file tells of its runtime. */
struct go_facts {
	u64 minor;		/* of its version, 1.minor */
	u64 is_newer;		/* ... which is newer than those we know */
	u64 tls;		/* where g is, from the thread pointer on */
	u64 tls_ea;		/* a word that holds that, once the file is loaded; 0: it is tls */
	u64 curg, labels, kind, sched_bp;	/* as in struct go_slot */
	u64 mcall_start_ea, mcall_end_ea;
};

#endif
