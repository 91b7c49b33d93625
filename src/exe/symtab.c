// SPDX-License-Identifier: Apache-2.0
#include "exe/symtab.h"

#include <string.h>

#include "exe/elf.h"

#define FORGET_EVERY 8192	/* symbols: a table may be larger than what the reader is to hold */

bool symtab_open(const struct exe *exe, u32 type, struct exe_data *ret_symbols, struct exe_data *ret_strings)
{
	struct exe_section table, strings;

	if (exe->elf_class != ELFCLASS64 || !exe_section_typed(exe, type, &table) ||
	    !exe_section(exe, table.link, &strings))
		return false;
	/* Nobody compresses these. */
	if ((table.flags | strings.flags) & SHF_COMPRESSED)
		return false;
	return exe_section_data(exe, &table, 0, ret_symbols) == 0 &&
	       exe_section_data(exe, &strings, 0, ret_strings) == 0;
}

/* True if the string at that offset is that name. */
static bool is_named(const struct exe_data *strings, u32 offset, const char *name)
{
	size_t len = strlen(name) + 1;

	return offset < strings->bytes && strings->bytes - offset >= len && !memcmp(strings->at + offset, name, len);
}

static bool offer(const struct exe_data *strings, const Elf64_Sym *sym, struct symtab_wanted *wanted, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		if (wanted[i].found || (wanted[i].type && ELF64_ST_TYPE(sym->st_info) != wanted[i].type) ||
		    !is_named(strings, sym->st_name, wanted[i].name))
			continue;
		wanted[i].ea = sym->st_value;
		wanted[i].bytes = sym->st_size;
		wanted[i].found = true;
		return true;
	}
	return false;
}

/* DT_GNU_HASH: a header of four words, so many words of 64 bits of a filter, one of 32 for each bucket and symbol. */
struct gnu_hash {
	struct exe_data data;
	u32 bucket_count, first_symbol, buckets_at, chains_at;
};

static u32 hash_word(const struct gnu_hash *h, u64 index)
{
	u32 word = 0;

	if (index < h->data.bytes / sizeof(word))
		memcpy(&word, h->data.at + index * sizeof(word), sizeof(word));
	return word;
}

static bool gnu_hash_open(const struct exe *exe, struct gnu_hash *ret_hash)
{
	struct gnu_hash h = { 0 };
	struct exe_section section;

	if (!exe_section_typed(exe, SHT_GNU_HASH, &section) || section.flags & SHF_COMPRESSED ||
	    exe_section_data(exe, &section, 0, &h.data) < 0)
		return false;
	h.bucket_count = hash_word(&h, 0);
	h.first_symbol = hash_word(&h, 1);
	if (!h.bucket_count || hash_word(&h, 2) > h.data.bytes / 8 || h.bucket_count > h.data.bytes / 4)
		return false;
	h.buckets_at = 4 + 2 * hash_word(&h, 2);
	h.chains_at = h.buckets_at + h.bucket_count;
	*ret_hash = h;
	return true;
}

/* Looks a name up as the dynamic linker does: a few pages are read, not all names. */
static bool find_hashed(const struct gnu_hash *h, const struct exe_data *symbols, const struct exe_data *strings,
			struct symtab_wanted *wanted)
{
	u32 hash = 5381, word = 0;
	Elf64_Sym sym;

	for (const char *c = wanted->name; *c; c++)
		hash = hash * 33 + (u8)*c;
	for (u64 i = hash_word(h, h->buckets_at + hash % h->bucket_count);
	     i >= h->first_symbol && i && i < symbols->bytes / sizeof(sym) && !(word & 1); i++) {
		word = hash_word(h, h->chains_at + i - h->first_symbol);
		if ((word | 1) != (hash | 1))
			continue;
		memcpy(&sym, symbols->at + i * sizeof(sym), sizeof(sym));
		if (sym.st_shndx != SHN_UNDEF && offer(strings, &sym, wanted, 1))
			return true;
	}
	return false;
}

u32 symtab_find(const struct exe *exe, u32 type, struct symtab_wanted *wanted, u32 count)
{
	struct exe_data symbols, strings;
	struct gnu_hash hash;
	u32 found = 0, read = 0;
	Elf64_Sym sym;

	for (u32 i = 0; i < count; i++)
		found += wanted[i].found;
	if (!symtab_open(exe, type, &symbols, &strings))
		return found;
	if (type == SHT_DYNSYM && gnu_hash_open(exe, &hash)) {
		for (u32 i = 0; i < count; i++)
			found += !wanted[i].found && find_hashed(&hash, &symbols, &strings, &wanted[i]);
		return found;
	}
	for (size_t at = 0; symbols.bytes - at >= sizeof(sym) && found < count; at += sizeof(sym)) {
		memcpy(&sym, symbols.at + at, sizeof(sym));
		if (sym.st_shndx != SHN_UNDEF && sym.st_name)
			found += offer(&strings, &sym, wanted, count);
		if (++read % FORGET_EVERY == 0)
			exe_forget(exe);
	}
	return found;
}
