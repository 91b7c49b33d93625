// SPDX-License-Identifier: Apache-2.0
#include "lang/go/pclntab.h"

#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "lang/go/module.h"

#define HEADER_BYTES 72
#define MAGIC_118 0xfffffff0u
#define MAGIC_120 0xfffffff1u

/* struct _func (runtime/runtime2.go) has 40 bytes up to 1.19, then 44 with the start line; arrays of offsets follow. */
#define FUNC_OLD_BYTES 40
#define FUNC_BYTES 44
#define ARRAY_MAX 64		/* entries of either array; there are five kinds of PCDATA and eight of FUNCDATA */
#define PCDATA_INLINE_INDEX 2
#define FUNCDATA_INLINE_TREE 3

/* struct inlinedCall (runtime/symtabinl.go; up to 1.19 runtime/symtab.go) */
#define INLINED_BYTES 16
#define INLINED_OLD_BYTES 20
#define INLINED_MAX (1u << 16)

/* Sections that hold it; the second one where the linker made it relocatable. */
static const char *const section_names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };

static u32 load32(const u8 *at)
{
	u32 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static u64 load64(const u8 *at)
{
	u64 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The part of the table from an offset on. */
static bool slice(const struct go_bytes *whole, u64 offset, struct go_bytes *ret)
{
	if (offset < HEADER_BYTES || offset >= whole->bytes)
		return false;
	*ret = (struct go_bytes){ whole->at + offset, whole->bytes - offset };
	return true;
}

static bool is_header(const struct exe *exe, const u8 *at)
{
	u32 magic = load32(at);

	return (magic == MAGIC_118 || magic == MAGIC_120) && !at[4] && !at[5] &&
	       at[6] == (exe->machine == EM_AARCH64 ? 4 : 1) && at[7] == 8;
}

/* Reads the header; what follows it in the file is all that there is. */
static bool read_header(struct pclntab *table, const struct go_bytes *whole)
{
	u64 count;

	if (whole->bytes < HEADER_BYTES || !is_header(table->exe, whole->at))
		return false;
	count = load64(whole->at + 8);
	table->is_old = load32(whole->at) == MAGIC_118;
	table->quantum = whole->at[6];
	if (!slice(whole, load64(whole->at + 32), &table->names) ||
	    !slice(whole, load64(whole->at + 40), &table->units) ||
	    !slice(whole, load64(whole->at + 48), &table->files) ||
	    !slice(whole, load64(whole->at + 56), &table->pctab) ||
	    !slice(whole, load64(whole->at + 64), &table->functions))
		return false;
	/* ftab: two words for each, and one that ends the last */
	if (!count || count > PCLNTAB_FUNCTIONS_MAX || table->functions.bytes < count * 8 + 4)
		return false;
	table->function_count = count;
	return true;
}

static bool open_section(struct pclntab *table)
{
	struct exe_section section;
	struct exe_data data;

	for (size_t i = 0; i < sizeof(section_names) / sizeof(section_names[0]); i++) {
		if (!exe_section_named(table->exe, section_names[i], &section) || section.flags & SHF_COMPRESSED ||
		    exe_section_data(table->exe, &section, 0, &data) < 0)
			continue;
		table->ea = section.ea;
		if (read_header(table, &(struct go_bytes){ data.at, data.bytes }))
			return true;
	}
	return false;
}

/* Where sections tell, other files need not be searched. */
static bool may_be_go(const struct exe *exe)
{
	struct exe_section section;

	return !exe->section_count || exe_section_named(exe, ".go.buildinfo", &section) ||
	       exe_section_named(exe, ".note.go.buildid", &section);
}

/*
 * Without section headers, or where ld put it among other data to relocate, it is looked for in all that is mapped;
 * it is aligned to 32 bytes.
 */
static bool search(struct pclntab *table)
{
	for (u32 i = 0; i < table->exe->load_count; i++) {
		const struct exe_phdr *load = &table->exe->load[i];
		const u8 *at = load->flags & PF_X ? NULL : exe_bytes(table->exe, load->fo, load->file_bytes);
		u64 bytes = load->file_bytes;

		for (u64 off = -load->ea & 31; at && off < bytes && bytes - off >= HEADER_BYTES; off += 32) {
			if (!is_header(table->exe, at + off))
				continue;
			table->ea = load->ea + off;
			if (read_header(table, &(struct go_bytes){ at + off, bytes - off }))
				return true;
		}
	}
	return false;
}

static u32 function_offset(const struct pclntab *table, u32 index)
{
	return load32(table->functions.at + (size_t)index * 8);
}

/* Functions ascend, so that they can be searched; they lie in code. */
static bool check_text(struct pclntab *table)
{
	u64 end = function_offset(table, table->function_count);

	table->end_ea = table->text_ea + end;
	return end && table->end_ea > table->text_ea && exe_executable(table->exe, table->text_ea) &&
	       exe_executable(table->exe, table->end_ea - 1);
}

/*
 * True if inline trees read from there make sense: in a few functions that have one. The first of all names may be that
 * of what was inlined; but zeroes that are no tree look so, too.
 */
static bool check_gofunc(struct pclntab *table, u64 gofunc_ea)
{
	struct go_function function;
	struct go_inlined inlined;
	u32 seen = 0, first = 0;

	table->gofunc_ea = gofunc_ea;
	for (u32 i = 0; i < table->function_count && seen < 16; i++) {
		if (!pclntab_function(table, i, &function) || function.inline_tree == PCLNTAB_NONE ||
		    !function.inline_index)
			continue;
		seen++;
		if (!pclntab_inlined(table, &function, 0, &inlined) || inlined.name >= table->names.bytes ||
		    (inlined.name && table->names.at[inlined.name - 1]))
			return false;
		first += !inlined.name;
	}
	return seen > 2 * first;
}

int pclntab_open(const struct exe *exe, struct pclntab *ret_table)
{
	struct pclntab table = { .exe = exe };
	struct go_module module;

	if (exe->elf_class != ELFCLASS64 || (exe->machine != EM_X86_64 && exe->machine != EM_AARCH64))
		return -ENODATA;
	if (!open_section(&table) && (!may_be_go(exe) || !search(&table)))
		return -ENODATA;
	if (!go_module_find(exe, table.ea, &module))
		return -ENODATA;
	table.text_ea = module.text_ea;
	if (!check_text(&table))
		return -ENODATA;
	/* Which of its fields it is differs by version; it is the one that leads to trees. */
	for (u32 i = 0; i < module.candidate_count; i++)
		if (check_gofunc(&table, module.candidate[i]))
			break;
		else
			table.gofunc_ea = 0;
	*ret_table = table;
	return 0;
}

/* Reads the two arrays behind a function. */
static void read_arrays(const struct pclntab *table, const struct go_bytes *rest, u32 pcdata_count, u32 funcdata_count,
			struct go_function *function)
{
	size_t index = PCDATA_INLINE_INDEX * 4, tree = (pcdata_count + FUNCDATA_INLINE_TREE) * (size_t)4;

	if (pcdata_count > ARRAY_MAX || funcdata_count > ARRAY_MAX)
		return;
	if (pcdata_count > PCDATA_INLINE_INDEX && rest->bytes >= index + 4)
		function->inline_index = load32(rest->at + index);
	if (funcdata_count > FUNCDATA_INLINE_TREE && rest->bytes >= tree + 4)
		function->inline_tree = load32(rest->at + tree);
}

bool pclntab_function(const struct pclntab *table, u32 index, struct go_function *ret_function)
{
	u32 bytes = table->is_old ? FUNC_OLD_BYTES : FUNC_BYTES, start, end, at;
	const struct go_bytes *functions = &table->functions;
	const u8 *func;

	if (index >= table->function_count)
		return false;
	start = function_offset(table, index);
	end = function_offset(table, index + 1);
	at = load32(functions->at + (size_t)index * 8 + 4);
	if (end <= start || end > table->end_ea - table->text_ea || at > functions->bytes ||
	    functions->bytes - at < bytes)
		return false;
	func = functions->at + at;
	*ret_function = (struct go_function){
		.start_ea = table->text_ea + start, .end_ea = table->text_ea + end, .name = load32(func + 4),
		.pcsp = load32(func + 16), .pcfile = load32(func + 20), .pcln = load32(func + 24),
		.unit = load32(func + 32), .start_line = table->is_old ? 0 : load32(func + 36),
		.inline_tree = PCLNTAB_NONE, .flags = func[bytes - 3],
	};
	read_arrays(table, &(struct go_bytes){ func + bytes, functions->bytes - at - bytes }, load32(func + 28),
		    func[bytes - 1], ret_function);
	return true;
}

u32 pclntab_find(const struct pclntab *table, u64 ea)
{
	u32 low = 0, high = table->function_count, offset;

	if (ea < table->text_ea || ea >= table->end_ea)
		return PCLNTAB_NONE;
	offset = ea - table->text_ea;
	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (function_offset(table, middle) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : PCLNTAB_NONE;
}

static const char *text_at(const struct go_bytes *texts, u64 offset, u32 *ret_max)
{
	if (offset >= texts->bytes) {
		*ret_max = 0;
		return "";
	}
	*ret_max = texts->bytes - offset < UINT32_MAX ? texts->bytes - offset : UINT32_MAX;
	return (const char *)texts->at + offset;
}

const char *pclntab_name(const struct pclntab *table, u32 offset, u32 *ret_max)
{
	return text_at(&table->names, offset, ret_max);
}

bool pclntab_is_named(const struct pclntab *table, const struct go_function *function, const char *wanted)
{
	size_t bytes = strlen(wanted) + 1;
	const char *name;
	u32 max;

	name = pclntab_name(table, function->name, &max);
	return max >= bytes && !memcmp(name, wanted, bytes);
}

const char *pclntab_file(const struct pclntab *table, const struct go_function *function, s32 number, u32 *ret_max)
{
	u64 at = ((u64)function->unit + (u32)number) * 4;

	if (number < 0 || at + 4 > table->units.bytes)
		return text_at(&table->files, UINT64_MAX, ret_max);
	return text_at(&table->files, load32(table->units.at + at), ret_max);
}

void go_values_init(struct go_values *values, const struct pclntab *table, const struct go_function *function,
		    u32 offset)
{
	*values = (struct go_values){
		.quantum = table->quantum, .limit_ea = function->end_ea, .start_ea = function->start_ea,
		.end_ea = function->start_ea, .value = -1, .is_first = true,
	};
	if (offset && offset < table->pctab.bytes)
		values->left = (struct go_bytes){ table->pctab.at + offset, table->pctab.bytes - offset };
}

static bool next_varint(struct go_bytes *left, u32 *ret_value)
{
	u32 value = 0;

	for (u32 shift = 0; shift < 35 && left->bytes; shift += 7) {
		u8 byte = *left->at++;

		left->bytes--;
		if (shift < 32)
			value |= (u32)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*ret_value = value;
		return true;
	}
	return false;
}

/* Pairs: by how much the value changes (its sign in the lowest bit; 0 ends the table), and for how far. */
bool go_values_next(struct go_values *values)
{
	u32 change, step;

	if (values->end_ea >= values->limit_ea || !next_varint(&values->left, &change) ||
	    (!change && !values->is_first) || !next_varint(&values->left, &step) || !step)
		return false;
	values->is_first = false;
	values->value = (s32)((u32)values->value + (change & 1 ? ~(change >> 1) : change >> 1));
	values->start_ea = values->end_ea;
	values->end_ea += (u64)step * values->quantum;
	if (values->end_ea > values->limit_ea)
		values->end_ea = values->limit_ea;
	return true;
}

s32 pclntab_value(const struct pclntab *table, const struct go_function *function, u32 offset, u64 ea)
{
	struct go_values values;

	go_values_init(&values, table, function, offset);
	while (go_values_next(&values))
		if (ea < values.end_ea)
			return values.value;
	return -1;
}

bool pclntab_inlined(const struct pclntab *table, const struct go_function *function, s32 index,
		     struct go_inlined *ret_inlined)
{
	u64 bytes = table->is_old ? INLINED_OLD_BYTES : INLINED_BYTES;
	const u8 *at;
	u32 call;

	if (index < 0 || (u32)index >= INLINED_MAX || !table->gofunc_ea || function->inline_tree == PCLNTAB_NONE)
		return false;
	at = exe_bytes_at(table->exe, table->gofunc_ea + function->inline_tree + (u32)index * bytes, bytes);
	if (!at)
		return false;
	call = load32(at + (table->is_old ? 16 : 8));
	if (call >= function->end_ea - function->start_ea)
		return false;
	*ret_inlined = (struct go_inlined){
		.name = load32(at + (table->is_old ? 12 : 4)), .start_line = table->is_old ? 0 : load32(at + 12),
		.call_ea = function->start_ea + call,
	};
	return true;
}
