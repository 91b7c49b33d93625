// SPDX-License-Identifier: Apache-2.0
#include "exe/cfi.h"

#include <errno.h>
#include <string.h>

#include <dwarf.h>

/* A .debug_frame may be compressed; what it grows to is bounded. */
#define DEBUG_FRAME_MAX (32u << 20)
#define DYNAMIC_MAX 1024

/* Longer CIEs are refused: they are read again for each FDE when a crafted file defeats the cache. */
#define CIE_BYTES_MAX 1024

/* Of .eh_frame_hdr, as all linkers write it. */
#define INDEX_HEADER_BYTES 12
#define INDEX_ENTRY_BYTES 8

/* Where entries begin: the bytes after the length, and how wide its offsets are. */
struct entry {
	struct cursor c;	/* from the id on */
	u64 id_offset;		/* of the id in the section */
	u64 next_offset;
	u8 offset_bytes;	/* 4, or 8 in the 64-bit format */
};

static const struct cfi_machine machines[] = {
	{ .elf_machine = EM_X86_64, .sp = 7, .fp = 6, .bx = 3, .ra = 16, .reg_count = 17 },
	{ .elf_machine = EM_AARCH64, .sp = 31, .fp = 29, .bx = NO_REGISTER, .ra = 30, .reg_count = 32 },
};

static const struct cfi_machine *find_machine(const struct exe *exe)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (exe->elf_class == ELFCLASS64 && exe->machine == machines[i].elf_machine)
			return &machines[i];
	return NULL;
}

/* What DW_EH_PE_datarel is relative to: the global offset table. */
static u64 find_data_base(const struct exe *exe)
{
	struct exe_phdr phdr;
	Elf64_Dyn dyn;

	for (u32 i = 0; exe_phdr(exe, i, &phdr); i++) {
		if (phdr.type != PT_DYNAMIC)
			continue;
		for (u64 n = 0; n < DYNAMIC_MAX; n++) {
			const u8 *at = exe_bytes_at(exe, phdr.ea + n * sizeof(dyn), sizeof(dyn));

			if (!at)
				break;
			memcpy(&dyn, at, sizeof(dyn));
			if (dyn.d_tag == DT_PLTGOT)
				return dyn.d_un.d_ptr;
		}
		break;
	}
	return 0;
}

/* An encoded address, with what it is relative to; place_ea is where it stands. */
static u64 read_address(const struct cfi *cfi, struct cursor *c, u8 encoding, u64 place_ea)
{
	u64 value = cfi_encoded(c, encoding);
	const u8 *at;

	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		value += place_ea;
		break;
	case DW_EH_PE_datarel:
		value += cfi->data_base_ea;
		c->bad |= !cfi->data_base_ea;
		break;
	default:	/* textrel, funcrel and aligned are not used for code addresses */
		c->bad = true;
	}
	if (!(encoding & DW_EH_PE_indirect))
		return value;
	at = exe_bytes_at(cfi->exe, value, sizeof(value));
	if (at)
		memcpy(&value, at, sizeof(value));
	else
		c->bad = true;
	return value;
}

static u64 place_of(const struct cfi *cfi, const struct cursor *c)
{
	return cfi->ea + (u64)(c->at - cfi->data.at);
}

/* Skips words of 0: they end the section for unwinders that walk it, but linkers leave some in its middle. */
static u64 skip_zeros(const struct cfi *cfi, u64 offset)
{
	u32 word;

	while (!cfi->ends_at_zero && offset <= cfi->data.bytes && cfi->data.bytes - offset >= sizeof(word)) {
		memcpy(&word, cfi->data.at + offset, sizeof(word));
		if (word)
			break;
		offset += sizeof(word);
	}
	return offset;
}

/* The entry at an offset. False at the end of the section or of what makes sense. */
static bool read_entry(const struct cfi *cfi, u64 offset, struct entry *ret)
{
	struct cursor c = cursor_of(cfi->data.at, cfi->data.bytes);
	u64 length;

	cursor_skip(&c, offset);
	length = cursor_uint(&c, 4);
	ret->offset_bytes = 4;
	if (length == 0xffffffff) {
		length = cursor_uint(&c, 8);
		ret->offset_bytes = 8;
	}
	if (c.bad || !length || length > cursor_left(&c))
		return false;
	ret->c = cursor_of(c.at, length);
	ret->id_offset = c.at - cfi->data.at;
	ret->next_offset = ret->id_offset + length;
	return true;
}

static bool is_cie_id(const struct cfi *cfi, const struct entry *e, u64 id)
{
	return cfi->is_eh ? id == 0 : id == (e->offset_bytes == 8 ? UINT64_MAX : UINT32_MAX);
}

/* The letters of an augmentation that begins with 'z'. */
static void read_augmentation(struct cfi_cie *cie, struct cursor *c, const char *letters)
{
	u64 bytes = cursor_uleb(c);
	const u8 *at = cursor_skip(c, bytes);
	struct cursor data = at ? cursor_of(at, bytes) : cursor_of(c->end, 0);

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->machine.address_encoding = cursor_u8(&data);
			break;
		case 'P': {	/* the personality routine */
			u8 encoding = cursor_u8(&data);

			if ((encoding & 0x70) != DW_EH_PE_aligned)
				(void)cfi_encoded(&data, encoding);
			else
				data.bad = true;
			break;
		}
		case 'L':	/* how FDEs encode language specific data */
			(void)cursor_u8(&data);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B':	/* return addresses are signed by the B key */
		case 'G':	/* tagged stack memory */
			break;
		default:
			data.bad = true;
		}
	}
	cie->has_data = true;
	c->bad |= data.bad;
}

/* Fills a slot of the cache; a malformed CIE is kept too, marked bad. */
static void read_cie(struct cfi *cfi, u64 offset, struct cfi_cie *cie)
{
	const char *augmentation;
	struct entry e;
	struct cursor *c = &e.c;
	u64 ra;
	u8 version;

	*cie = (struct cfi_cie){ .offset = offset, .used = true, .bad = true, .machine = *find_machine(cfi->exe) };
	if (!read_entry(cfi, offset, &e) || cursor_left(c) > CIE_BYTES_MAX ||
	    !is_cie_id(cfi, &e, cursor_uint(c, e.offset_bytes)))
		return;
	version = cursor_u8(c);
	augmentation = cursor_string(c);
	if (version != 1 && version != 3 && version != 4)
		return;
	if (!strcmp(augmentation, "eh"))	/* gcc 2: a pointer follows */
		cursor_skip(c, 8);
	else if (augmentation[0] && augmentation[0] != 'z')
		return;
	if (version == 4 && (cursor_u8(c) != 8 /* address bytes */ || cursor_u8(c) != 0 /* segment selector bytes */))
		return;
	cie->machine.code_align = cursor_uleb(c);
	cie->machine.data_align = cursor_sleb(c);
	ra = version == 1 ? cursor_u8(c) : cursor_uleb(c);
	if (augmentation[0] == 'z')
		read_augmentation(cie, c, augmentation + 1);
	cie->machine.place_ea = cfi->ea - (u64)(uintptr_t)cfi->data.at;
	/* A function may return to where another register points; on x86-64 the number stands for a place in memory. */
	if (ra >= cie->machine.reg_count || (ra != cie->machine.ra && cie->machine.elf_machine == EM_X86_64))
		return;
	cie->machine.ra = ra;
	cie->bad = c->bad || !cfi_run_cie(&cie->machine, *c, &cie->initial);
}

static const struct cfi_cie *get_cie(struct cfi *cfi, u64 offset)
{
	struct cfi_cie *cie = &cfi->cie[(offset >> 3) % CFI_CIES_CACHED];

	if (!cie->used || cie->offset != offset)
		read_cie(cfi, offset, cie);
	return cie;
}

/* An FDE whose id has been read. False if it or its CIE is malformed. */
static bool read_fde(struct cfi *cfi, struct entry *e, u64 id, struct cfi_fde *ret_fde)
{
	struct cursor *c = &e->c;
	u64 start, bytes;

	/* .eh_frame counts back from the id itself. */
	if (cfi->is_eh && id > e->id_offset)
		return false;
	ret_fde->cie = get_cie(cfi, cfi->is_eh ? e->id_offset - id : id);
	if (ret_fde->cie->bad)
		return false;
	start = read_address(cfi, c, ret_fde->cie->machine.address_encoding, place_of(cfi, c));
	bytes = cfi_encoded(c, ret_fde->cie->machine.address_encoding);
	if (ret_fde->cie->has_data)
		cursor_skip(c, cursor_uleb(c));
	ret_fde->start_ea = start;
	ret_fde->end_ea = start + bytes;
	ret_fde->program = *c;
	return !c->bad && ret_fde->end_ea >= start;
}

int cfi_next(struct cfi *cfi, u64 *offset, struct cfi_fde *ret_fde, u64 *ret_fde_offset, u32 *ret_bad_count)
{
	struct entry e;

	for (;;) {
		u64 id;

		*offset = skip_zeros(cfi, *offset);
		if (!read_entry(cfi, *offset, &e))
			return 0;
		id = cursor_uint(&e.c, e.offset_bytes);
		*ret_fde_offset = *offset;
		*offset = e.next_offset;
		if (e.c.bad || is_cie_id(cfi, &e, id))
			continue;
		if (read_fde(cfi, &e, id, ret_fde))
			return 1;
		++*ret_bad_count;
	}
}

bool cfi_read(struct cfi *cfi, u64 offset, struct cfi_fde *ret_fde)
{
	struct entry e;
	u64 id;

	if (!read_entry(cfi, offset, &e))
		return false;
	id = cursor_uint(&e.c, e.offset_bytes);
	return !e.c.bad && read_fde(cfi, &e, id, ret_fde);
}

/* Where PT_GNU_EH_FRAME says that .eh_frame begins; it then ends where its segment does. */
static int find_by_header(struct cfi *cfi, const struct exe_phdr *phdr)
{
	const u8 *at = exe_bytes(cfi->exe, phdr->fo, phdr->file_bytes);
	struct cursor c;

	/* version, encodings of the pointer to .eh_frame and of a table that we do not need, the pointer */
	if (!at || phdr->file_bytes < 4 || at[0] != 1)
		return -ENODATA;
	c = cursor_of(at + 4, phdr->file_bytes - 4);
	cfi->data_base_ea = phdr->ea;
	cfi->ends_at_zero = true;
	cfi->ea = read_address(cfi, &c, at[1], phdr->ea + 4);
	for (u32 i = 0; !c.bad && i < cfi->exe->load_count; i++) {
		const struct exe_phdr *load = &cfi->exe->load[i];
		u64 bytes;

		if (cfi->ea < load->ea || cfi->ea - load->ea >= load->file_bytes)
			continue;
		bytes = load->file_bytes - (cfi->ea - load->ea);
		cfi->data = (struct exe_data){ exe_bytes_at(cfi->exe, cfi->ea, bytes), bytes, NULL };
		return cfi->data.at ? 0 : -ENODATA;
	}
	return -ENODATA;
}

int cfi_open_eh(struct cfi *cfi, const struct exe *exe)
{
	struct exe_section section;
	struct exe_phdr phdr;
	int r = -ENODATA;

	*cfi = (struct cfi){ .exe = exe, .is_eh = true };
	if (!find_machine(exe))
		return -ENODATA;
	if (exe_section_named(exe, ".eh_frame", &section) && !(section.flags & SHF_COMPRESSED)) {
		r = exe_section_data(exe, &section, 0, &cfi->data);
		cfi->ea = section.ea;
	}
	for (u32 i = 0; r < 0 && exe_phdr(exe, i, &phdr); i++)
		if (phdr.type == PT_GNU_EH_FRAME) {
			r = find_by_header(cfi, &phdr);
			break;
		}
	cfi->data_base_ea = find_data_base(exe);
	return r;
}

/* Of its header: a version, the encodings of a pointer, of a count and of the table; then these. */
static int read_index(const struct cfi *cfi, const struct exe_phdr *phdr, struct cfi_index *ret_index)
{
	const u8 *at = exe_bytes(cfi->exe, phdr->fo, phdr->file_bytes);
	struct cfi_index index = { .ea = phdr->ea };

	if (!at || phdr->file_bytes < INDEX_HEADER_BYTES || at[0] != 1 ||
	    at[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) || at[2] != DW_EH_PE_udata4 ||
	    at[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return -ENODATA;
	memcpy(&index.count, at + 8, sizeof(index.count));
	index.at = at + INDEX_HEADER_BYTES;
	if (!index.count || index.count > (phdr->file_bytes - INDEX_HEADER_BYTES) / INDEX_ENTRY_BYTES)
		return -ENODATA;
	*ret_index = index;
	return 0;
}

int cfi_open_index(const struct cfi *cfi, struct cfi_index *ret_index)
{
	struct exe_phdr phdr;

	for (u32 i = 0; exe_phdr(cfi->exe, i, &phdr); i++)
		if (phdr.type == PT_GNU_EH_FRAME)
			return read_index(cfi, &phdr, ret_index);
	return -ENODATA;
}

/* A word of an entry: where the function starts, or where its FDE is. */
static u64 index_ea(const struct cfi_index *index, u32 i, u32 word)
{
	s32 away;

	memcpy(&away, index->at + (u64)i * INDEX_ENTRY_BYTES + word * sizeof(away), sizeof(away));
	return index->ea + (u64)(s64)away;
}

u64 cfi_index_start(const struct cfi_index *index, u32 i)
{
	return index_ea(index, i, 0);
}

u32 cfi_index_find(const struct cfi_index *index, u64 ea)
{
	u32 lo = 0, hi = index->count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (cfi_index_start(index, mid) <= ea)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

bool cfi_index_read(struct cfi *cfi, const struct cfi_index *index, u32 i, struct cfi_fde *ret_fde, u64 *ret_offset)
{
	*ret_offset = index_ea(index, i, 1) - cfi->ea;
	return *ret_offset < cfi->data.bytes && cfi_read(cfi, *ret_offset, ret_fde) &&
	       ret_fde->start_ea == cfi_index_start(index, i);
}

int cfi_open_debug(struct cfi *cfi, const struct exe *exe)
{
	struct exe_section section;

	*cfi = (struct cfi){ .exe = exe };
	if (!find_machine(exe) || !exe_section_named(exe, ".debug_frame", &section))
		return -ENODATA;
	return exe_section_data(exe, &section, DEBUG_FRAME_MAX, &cfi->data);
}

void cfi_done(struct cfi *cfi)
{
	exe_data_done(&cfi->data);
}

int cfi_each_function(const struct exe *exe, void (*fn)(void *arg, u64 start_ea, u64 end_ea), void *arg)
{
	_cleanup_(cfi_done) struct cfi cfi;
	u64 offset = 0, fde_offset;
	u32 bad_count = 0;
	struct cfi_fde fde;
	int count = 0, r;

	r = cfi_open_eh(&cfi, exe);
	if (r < 0)
		r = cfi_open_debug(&cfi, exe);
	if (r < 0)
		return r;
	for (; cfi_next(&cfi, &offset, &fde, &fde_offset, &bad_count) > 0 && count < INT32_MAX; count++)
		fn(arg, fde.start_ea, fde.end_ea);
	return count;
}
