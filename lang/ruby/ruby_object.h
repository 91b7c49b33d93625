/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of another process's Ruby, as far as names need them: texts, arrays,
 * tables, and the lines of instruction sequences. What is read is hostile: a
 * walk through it is bounded, and an object that is not of its type is none.
 */
#ifndef LANG_RUBY_OBJECT_H
#define LANG_RUBY_OBJECT_H

#include <stdbool.h>
#include <string.h>

#include "base/types.h"
#include "lang/lang.h"
#include "lang/memory.h"
#include "lang/ruby/ruby_layout.h"

/* Types of objects, in the low bits of their flags (value_type.h). */
#define RUBY_TYPE_BITS 0x1f
enum ruby_type { RUBY_CLASS = 2, RUBY_MODULE = 3, RUBY_STRING = 5, RUBY_ARRAY = 7 };

/* Its flags; 0 if it is no object. */
u64 ruby_flags(struct memory *memory, u64 va);
bool ruby_is(struct memory *memory, u64 va, enum ruby_type type);

/* A String, cut at LANG_TEXT_MAX. 0, -EBADMSG if it is none, or as memory_err(). */
int ruby_text(struct memory *memory, const struct ruby_layout *layout, u64 va, char ret_text[LANG_TEXT_MAX + 1]);

/* An element of an Array; 0 if there is none. */
u64 ruby_element(struct memory *memory, u64 array_va, u64 index);

/* An entry of a table (st.h): by key, or the key of the one that is(arg, value) says yes to. 0 if there is none. */
u64 ruby_table_value(struct memory *memory, u64 table_va, u64 key);
u64 ruby_table_key(struct memory *memory, u64 table_va, bool (*is)(void *arg, u64 value), void *arg);

/* The body of an instruction sequence, as far as names and lines need it. */
#define RUBY_BODY_BYTES 192

static inline u64 ruby_body_word(const u8 body[RUBY_BODY_BYTES], u64 offset)
{
	u64 word;

	memcpy(&word, body + offset, sizeof(word));
	return word;
}

/* The line of an instruction in there; that of its beginning if it does not tell. */
u32 ruby_line(struct memory *memory, const struct ruby_layout *layout, const u8 body[RUBY_BODY_BYTES],
	      u32 instruction);

#endif
