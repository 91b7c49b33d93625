// SPDX-License-Identifier: Apache-2.0
#include "lang/ruby/ruby_names.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "lang/ruby/ruby_object.h"

#define SEARCHES_MAX 16
#define DATA_MAX (4u << 20)	/* some 100 KB, mostly */
#define OPERATORS_END 1024	/* numbers below are those of operators; others have four bits more (symbol.h) */
#define UNIT 512		/* names in each of the arrays; each takes two elements */
#define PLUS '+'		/* the number of that operator */
#define LAST_MIN 256		/* Ruby begins with more */
#define LAST_MAX (1u << 26)

/* struct RClass: of a class, and of what it has behind its first words from 3.2 on. */
#define CLASS_CLASS 8
#define CLASS_OUTSIDE 24	/* -3.1: where the rest is, and in there: */
#define OUTSIDE_VARIABLES 8
#define CLASS_VARIABLES 32
#define CLASS_ATTACHED 128
#define CLASS_PATH 152

static int name_in(struct ruby_names *names, struct memory *memory, u64 arrays_va, u64 number,
		   char ret_text[LANG_TEXT_MAX + 1])
{
	u64 array = ruby_element(memory, arrays_va, number / UNIT);

	return ruby_text(memory, names->layout, ruby_element(memory, array, number % UNIT * 2), ret_text);
}

static bool is_address(u64 word)
{
	return word > 4096 && word % 8 == 0 && word >> 47 == 0;
}

/* rb_symbols_t: the last number, a table, the names, a hash. */
static bool is_symbols(struct ruby_names *names, struct memory *memory, const u64 words[4])
{
	char text[LANG_TEXT_MAX + 1];

	if (words[0] < LAST_MIN || words[0] > LAST_MAX || !is_address(words[1]) || !is_address(words[2]) ||
	    !is_address(words[3]))
		return false;
	memory->err = 0;
	return !name_in(names, memory, words[2], PLUS, text) && !strcmp(text, "+");
}

static void find_symbols(struct ruby_names *names, struct memory *memory)
{
	u64 words[MEMORY_PAGE / 8 + 3], bytes = names->data_bytes < DATA_MAX ? names->data_bytes : DATA_MAX;

	for (u64 done = 0; done < bytes && !names->symbols_va; done += MEMORY_PAGE) {
		u64 left = bytes - done, count = (left < sizeof(words) ? left : sizeof(words)) / 8;

		if (lang_read(memory->process, names->data_va + done, words, count * 8) < 0)
			continue;
		for (u64 i = 0; i + 4 <= count && !names->symbols_va; i++)
			if (is_symbols(names, memory, &words[i]))
				names->symbols_va = names->data_va + done + (i + 2) * 8;
	}
	memory->err = 0;
}

int ruby_names_symbol(struct ruby_names *names, struct memory *memory, u64 id, char ret_text[LANG_TEXT_MAX + 1])
{
	if (!names->symbols_va && names->searches < SEARCHES_MAX) {
		names->searches++;
		find_symbols(names, memory);
	}
	if (!names->symbols_va || name_in(names, memory, memory_u64(memory, names->symbols_va),
					  id < OPERATORS_END ? id : id >> 4, ret_text) < 0)
		return -ENOENT;
	return 0;
}

static u64 table_of(struct memory *memory, u64 class_va)
{
	return memory_u64(memory, memory_u64(memory, class_va + CLASS_OUTSIDE) + OUTSIDE_VARIABLES);
}

struct object_search {
	struct ruby_names *names;
	struct memory *memory;
	u64 object;
};

static bool is_its_name(void *arg, u64 value)
{
	struct object_search *search = arg;
	char text[LANG_TEXT_MAX + 1];

	return ruby_is(search->memory, value, RUBY_STRING) &&
	       !ruby_text(search->memory, search->names->layout, value, text) && !strcmp(text, "Object");
}

static bool is_object(void *arg, u64 value)
{
	return value == ((const struct object_search *)arg)->object;
}

/* Object is called "Object", and is what its own singleton class is of. */
static void find_keys(struct ruby_names *names, struct memory *memory)
{
	struct object_search search = { names, memory, memory_u64(memory, names->object_va) };
	u64 singleton = memory_u64(memory, search.object + CLASS_CLASS);

	names->path_key = ruby_table_key(memory, table_of(memory, search.object), is_its_name, &search);
	names->attached_key = ruby_table_key(memory, table_of(memory, singleton), is_object, &search);
}

static u64 path_of(struct ruby_names *names, struct memory *memory, u64 class_va)
{
	switch (names->layout->class_kind) {
	case RUBY_CLASS_TABLE:
		return ruby_table_value(memory, table_of(memory, class_va), names->path_key);
	case RUBY_CLASS_ARRAY:
		return memory_u64(memory, memory_u64(memory, class_va + CLASS_VARIABLES));
	default:
		return memory_u64(memory, class_va + CLASS_PATH);
	}
}

static u64 attached_to(struct ruby_names *names, struct memory *memory, u64 class_va)
{
	switch (names->layout->class_kind) {
	case RUBY_CLASS_TABLE:
		return ruby_table_value(memory, table_of(memory, class_va), names->attached_key);
	case RUBY_CLASS_ARRAY:
		return memory_u64(memory, memory_u64(memory, class_va + CLASS_VARIABLES));
	default:
		return memory_u64(memory, class_va + CLASS_ATTACHED);
	}
}

static bool is_class(struct memory *memory, u64 va)
{
	return ruby_is(memory, va, RUBY_CLASS) || ruby_is(memory, va, RUBY_MODULE);
}

void ruby_names_class(struct ruby_names *names, struct memory *memory, u64 class_va, char ret_text[LANG_TEXT_MAX + 1])
{
	char sign = '#';
	size_t len;

	ret_text[0] = 0;
	if (names->layout->class_kind == RUBY_CLASS_TABLE && !names->path_key)
		find_keys(names, memory);
	if (is_class(memory, class_va) && ruby_flags(memory, class_va) & names->layout->singleton_flag &&
	    ruby_is(memory, class_va, RUBY_CLASS)) {
		class_va = attached_to(names, memory, class_va);
		sign = '.';
	}
	/* One without a name may have another variable there, or a text made of its address. */
	if (!is_class(memory, class_va) ||
	    ruby_text(memory, names->layout, path_of(names, memory, class_va), ret_text) < 0 ||
	    !(isupper((unsigned char)ret_text[0]) || ret_text[0] & 0x80)) {
		ret_text[0] = 0;
		return;
	}
	len = strlen(ret_text);
	if (len < LANG_TEXT_MAX) {
		ret_text[len] = sign;
		ret_text[len + 1] = 0;
	}
}
