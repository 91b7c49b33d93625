// SPDX-License-Identifier: Apache-2.0
#include "lang/ruby/ruby_layout.h"

#include <stddef.h>

#define OLD                                                                                             \
	.insns_info = 120, .class_kind = RUBY_CLASS_TABLE, .singleton_flag = 1 << 12, .line_is_object = true
#define NEW .insns_info = 112, .insn_bytes = 12, .embeds_length = true

static const struct { u32 version; struct ruby_layout layout; } known[] = {
	{ RUBY_VERSION(2, 7), { OLD, .frame_bytes = 56, .insn_bytes = 8 } },
	{ RUBY_VERSION(3, 0), { OLD, .frame_bytes = 56, .insn_bytes = 8 } },
	{ RUBY_VERSION(3, 1), { OLD, .frame_bytes = 64, .insn_bytes = 12 } },
	{ RUBY_VERSION(3, 2), { NEW, .frame_bytes = 64, .class_kind = RUBY_CLASS_ARRAY, .singleton_flag = 1 << 12 } },
	{ RUBY_VERSION(3, 3), { NEW, .frame_bytes = 56, .class_kind = RUBY_CLASS_FIELDS, .singleton_flag = 1 << 12 } },
	{ RUBY_VERSION(3, 4), { NEW, .frame_bytes = 56, .class_kind = RUBY_CLASS_FIELDS, .singleton_flag = 1 << 13 } },
};

const struct ruby_layout *ruby_layout_of(u32 version)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].version == version)
			return &known[i].layout;
	return NULL;
}
