// SPDX-License-Identifier: Apache-2.0
#include "lang/perl/perl_names.h"

#include <errno.h>
#include <string.h>

#include "lang/perl/perl.h"

/* struct sv: its body, how often it is referred to, flags, what its type says */
#define SV_FLAGS 12
#define SV_MORE 16

/* struct xpvgv, gp, xpvcv, xpvhv, xpvhv_aux (gv.h, cv.h, hv.h): the same in all versions. */
#define GLOB_STASH 40
#define GLOB_EFFECTIVE 56	/* in what aliases share: the glob that was the first */
#define CODE_STASH 32
#define STASH_LAST 24		/* the last bucket of its array */
#define STASH_BODY_BYTES 32
#define STASH_NAME_COUNT 28	/* behind the name: not 0 if that is an array of names */
#define BUCKETS_MAX (1u << 24)

/* struct hek: a hash, its length, the text, NUL, flags */
#define NAME_LENGTH 4
#define NAME_TEXT 8
#define NAME_UTF8 1		/* else it is Latin-1 */

static u32 type_of(struct memory *memory, u64 va)
{
	return va && va % 8 == 0 ? memory_u32(memory, va + SV_FLAGS) & PERL_SV_TYPE_MASK : 0;
}

/* Puts Latin-1 behind a text, as far as there is room. */
static void append_latin(const char *from, size_t bytes, char text[LANG_TEXT_MAX + 1])
{
	size_t len = strlen(text);

	for (size_t i = 0; i < bytes && len + 2 <= LANG_TEXT_MAX; i++) {
		u8 c = (u8)from[i];

		if (c >= 0x80)
			text[len++] = (char)(0xc0 | c >> 6);
		text[len++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
	}
	text[len] = 0;
}

/* Puts a name behind a text, cut at LANG_TEXT_MAX. */
static void append_name(struct memory *memory, u64 name_va, char text[LANG_TEXT_MAX + 1])
{
	size_t len = strlen(text), left = LANG_TEXT_MAX - len;
	u32 bytes = name_va ? memory_u32(memory, name_va + NAME_LENGTH) : 0;
	bool is_utf8 = bytes > left || memory_u8(memory, name_va + NAME_TEXT + bytes + 1) & NAME_UTF8;
	char name[LANG_TEXT_MAX];

	if (bytes > left)
		bytes = (u32)left;
	memory_read(memory, name_va + NAME_TEXT, name, bytes);
	if (memory_err(memory) || !name_va)
		return;
	bytes = (u32)strnlen(name, bytes);
	if (!is_utf8) {
		append_latin(name, bytes, text);
		return;
	}
	memcpy(text + len, name, bytes);
	text[len + bytes] = 0;
}

/* What a package is called; 0 if it is none. */
static u64 stash_name(const struct perl_layout *layout, struct memory *memory, u64 stash_va)
{
	u64 body, aux, name, last;

	if (type_of(memory, stash_va) != PERL_SV_STASH)
		return 0;
	body = memory_u64(memory, stash_va);
	last = memory_u64(memory, body + STASH_LAST);
	if (!layout->name_in_body && last > BUCKETS_MAX)
		return 0;
	aux = layout->name_in_body ? body + STASH_BODY_BYTES :
				     memory_u64(memory, stash_va + SV_MORE) + (last + 1) * sizeof(u64);
	name = memory_u64(memory, aux);
	return memory_u32(memory, aux + STASH_NAME_COUNT) ? memory_u64(memory, name) : name;
}

static int join(const struct perl_layout *layout, struct memory *memory, u64 stash_va, u64 name_va,
		char ret_text[LANG_TEXT_MAX + 1])
{
	u64 package = stash_name(layout, memory, stash_va);

	memory->err = 0;	/* one that is gone: the name alone */
	ret_text[0] = 0;
	append_name(memory, package, ret_text);
	memory->err = 0;
	if (ret_text[0] && strlen(ret_text) + 2 <= LANG_TEXT_MAX)
		memcpy(ret_text + strlen(ret_text), "::", 3);
	append_name(memory, name_va, ret_text);
	return memory_err(memory);
}

int perl_names_glob(const struct perl_layout *layout, struct memory *memory, u64 glob_va,
		    char ret_text[LANG_TEXT_MAX + 1])
{
	u64 effective, body;

	if (type_of(memory, glob_va) != PERL_SV_GLOB)
		return memory_err(memory) ?: -ESTALE;
	effective = memory_u64(memory, memory_u64(memory, glob_va + SV_MORE) + GLOB_EFFECTIVE);
	if (type_of(memory, effective) == PERL_SV_GLOB)
		glob_va = effective;
	memory->err = 0;
	body = memory_u64(memory, glob_va);
	return join(layout, memory, memory_u64(memory, body + GLOB_STASH), memory_u64(memory, body + PERL_GLOB_NAME),
		    ret_text);
}

int perl_names_code(const struct perl_layout *layout, struct memory *memory, u64 code_va,
		    char ret_text[LANG_TEXT_MAX + 1])
{
	u64 body;

	if (type_of(memory, code_va) != PERL_SV_CODE)
		return memory_err(memory) ?: -ESTALE;
	body = memory_u64(memory, code_va);
	if (!(memory_u64(memory, body + PERL_CODE_FLAGS) >> 32 & PERL_CODE_NAMED))
		return memory_err(memory) ?: -ESTALE;
	return join(layout, memory, memory_u64(memory, body + CODE_STASH), memory_u64(memory, body + PERL_CODE_NAME),
		    ret_text);
}

int perl_names_file(struct memory *memory, u64 glob_va, char ret_text[LANG_TEXT_MAX + 1])
{
	size_t length;

	if (type_of(memory, glob_va) != PERL_SV_GLOB)
		return memory_err(memory) ?: -ESTALE;
	ret_text[0] = 0;
	append_name(memory, memory_u64(memory, memory_u64(memory, glob_va) + PERL_GLOB_NAME), ret_text);
	length = strlen(ret_text);
	if (length < 2 || memcmp(ret_text, "_<", 2))
		return memory_err(memory) ?: -ESTALE;
	memmove(ret_text, ret_text + 2, length - 1);
	return 0;
}

bool perl_names_kept(const u8 *bytes, size_t count, char *ret_text)
{
	u32 length;

	memcpy(&length, bytes + NAME_LENGTH, sizeof(length));
	if (length < 2 || memcmp(bytes + NAME_TEXT, "_<", 2))
		return false;
	if (length > count - NAME_TEXT)
		length = (u32)(count - NAME_TEXT);
	memcpy(ret_text, bytes + NAME_TEXT + 2, length - 2);
	ret_text[length - 2] = 0;
	return true;
}
