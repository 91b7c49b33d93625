/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where Ruby keeps what: offsets in its structures, by version, from its
 * sources (vm_core.h, iseq.h, method.h, internal/class.h, rstring.h) and
 * compared with live processes of each. They are the same on all machines of
 * 64 bits, and in all releases of a version that we know.
 */
#ifndef LANG_RUBY_LAYOUT_H
#define LANG_RUBY_LAYOUT_H

#include <stdbool.h>

#include "base/types.h"

#define RUBY_VERSION(major, minor) ((major) << 8 | (minor))
#define RUBY_OLDEST RUBY_VERSION(2, 7)
#define RUBY_NEWEST RUBY_VERSION(3, 4)

/* Where a class has its name, and a singleton class its object. */
enum ruby_class {
	RUBY_CLASS_TABLE,	/* -3.1: in a table of hidden variables */
	RUBY_CLASS_ARRAY,	/* 3.2: the first of an array of variables */
	RUBY_CLASS_FIELDS,	/* 3.3-: fields */
};

struct ruby_layout {
	u64 frame_bytes;	/* of a control frame */
	u64 insns_info;		/* in the body of an instruction sequence: entries, then two words on their number */
	u64 insn_bytes;		/* of an entry, which begins with the line */
	u64 class_kind;		/* enum ruby_class */
	u64 singleton_flag;	/* of a class */
	bool line_is_object;	/* the first line of an instruction sequence is an Integer */
	bool embeds_length;	/* a short string has its length before its bytes, not in its flags */
};

/* NULL if it is none that we know. */
const struct ruby_layout *ruby_layout_of(u32 version);

#endif
