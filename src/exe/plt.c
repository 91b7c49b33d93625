// SPDX-License-Identifier: Apache-2.0
#include "exe/plt.h"

#include <errno.h>
#include <string.h>

#define ENTRY_BYTES 16
#define ENTRY_MAX 64
#define ARM64_HEADER_BYTES 32	/* of .plt; elsewhere headers are as long as entries */

static bool find_section(const struct exe *exe, u64 ea, struct exe_section *ret_section)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got", ".plt.bnd" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (exe_section_named(exe, names[i], ret_section) && ea >= ret_section->ea &&
		    ea - ret_section->ea < ret_section->bytes)
			return true;
	return false;
}

/* x86-64: jmp *offset(%rip) is ff 25 and the offset from its end; endbr64 or a prefix may stand before it. */
static bool slot_x86(const u8 *code, u32 bytes, u64 ea, u64 *ret_slot_ea)
{
	for (u32 i = 0; i + 6 <= bytes; i++) {
		s32 offset;

		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		memcpy(&offset, code + i + 2, sizeof(offset));
		*ret_slot_ea = ea + i + 6 + (s64)offset;
		return true;
	}
	return false;
}

/* arm64: adrp x16, page; ldr x17, [x16, #offset]. */
static bool slot_arm64(const u8 *code, u32 bytes, u64 ea, u64 *ret_slot_ea)
{
	for (u32 i = 0; i + 8 <= bytes; i += 4) {
		u32 adrp, ldr;
		s64 page;

		memcpy(&adrp, code + i, sizeof(adrp));
		memcpy(&ldr, code + i + 4, sizeof(ldr));
		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		/* 21 bits, signed, in units of 4096 */
		page = (s64)(s32)((adrp >> 5 & 0x7ffff) << 13 | (adrp >> 29 & 3) << 11) * 2;
		*ret_slot_ea = ((ea + i) & ~0xfffull) + page + (ldr >> 10 & 0xfff) * 8;
		return true;
	}
	return false;
}

/* The symbol whose address the dynamic linker puts into that slot. */
static bool find_relocation(const struct exe *exe, const char *name, u64 slot_ea, u32 *ret_symbol)
{
	struct exe_section section;
	struct exe_data data;
	Elf64_Rela rela;

	if (!exe_section_named(exe, name, &section) || section.flags & SHF_COMPRESSED ||
	    exe_section_data(exe, &section, 0, &data) < 0)
		return false;
	for (size_t at = 0; data.bytes - at >= sizeof(rela); at += sizeof(rela)) {
		memcpy(&rela, data.at + at, sizeof(rela));
		if (rela.r_offset != slot_ea || !ELF64_R_SYM(rela.r_info))
			continue;
		*ret_symbol = ELF64_R_SYM(rela.r_info);
		return true;
	}
	return false;
}

bool plt_find(const struct exe *exe, u64 ea, struct plt_entry *ret_entry)
{
	struct exe_section section;
	struct plt_entry entry;
	const u8 *code;
	u64 slot_ea, first_ea;
	bool found;

	if (!find_section(exe, ea, &section))
		return false;
	first_ea = section.ea + (exe->machine == EM_AARCH64 ? ARM64_HEADER_BYTES : 0);
	if (ea < first_ea)
		return false;
	entry.bytes = section.entry_bytes >= 8 && section.entry_bytes <= ENTRY_MAX ? section.entry_bytes : ENTRY_BYTES;
	entry.ea = ea - (ea - first_ea) % entry.bytes;
	code = exe_bytes_at(exe, entry.ea, entry.bytes);
	if (!code)
		return false;
	found = exe->machine == EM_AARCH64 ? slot_arm64(code, entry.bytes, entry.ea, &slot_ea) :
					     slot_x86(code, entry.bytes, entry.ea, &slot_ea);
	if (!found)
		return false;
	if (!find_relocation(exe, ".rela.plt", slot_ea, &entry.symbol) &&
	    !find_relocation(exe, ".rela.dyn", slot_ea, &entry.symbol))
		return false;
	*ret_entry = entry;
	return true;
}
