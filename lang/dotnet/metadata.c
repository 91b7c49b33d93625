// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/metadata.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/types.h"
#include "lang/dotnet/readable.h"
#include "lang/memory.h"

#define VERSION_BYTES_MAX 255
#define STREAMS_MAX 16
#define ROWS_MAX (1u << 24)
#define SEARCH_BYTES_MAX (32u << 20)	/* from a name back to where the metadata begins */
#define NESTED_MAX 8

enum { TYPE = 0x02, METHOD = 0x06, NESTED = 0x29 };

/* Columns: bytes of their own, heaps, tables, and what may be one of several tables (II.24.2.6). */
enum {
	C2 = 0x40, C4, STRING, GUID, BLOB,
	TYPE_DEF_OR_REF, HAS_CONSTANT, HAS_ATTRIBUTE, HAS_MARSHAL, HAS_SECURITY, MEMBER_PARENT, HAS_SEMANTICS,
	METHOD_OR_MEMBER, FORWARDED, IMPLEMENTATION, ATTRIBUTE_TYPE, SCOPE, TYPE_OR_METHOD,
};

static const struct { u8 bits, tables[24]; } coded[] = {
	[TYPE_DEF_OR_REF - TYPE_DEF_OR_REF] = { 2, { 0x02, 0x01, 0x1b } },
	[HAS_CONSTANT - TYPE_DEF_OR_REF] = { 2, { 0x04, 0x08, 0x17 } },
	[HAS_ATTRIBUTE - TYPE_DEF_OR_REF] = { 5, { 0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14,
						   0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c,
						   0x2b } },
	[HAS_MARSHAL - TYPE_DEF_OR_REF] = { 1, { 0x04, 0x08 } },
	[HAS_SECURITY - TYPE_DEF_OR_REF] = { 2, { 0x02, 0x06, 0x20 } },
	[MEMBER_PARENT - TYPE_DEF_OR_REF] = { 3, { 0x02, 0x01, 0x1a, 0x06, 0x1b } },
	[HAS_SEMANTICS - TYPE_DEF_OR_REF] = { 1, { 0x14, 0x17 } },
	[METHOD_OR_MEMBER - TYPE_DEF_OR_REF] = { 1, { 0x06, 0x0a } },
	[FORWARDED - TYPE_DEF_OR_REF] = { 1, { 0x04, 0x06 } },
	[IMPLEMENTATION - TYPE_DEF_OR_REF] = { 2, { 0x26, 0x23, 0x27 } },
	[ATTRIBUTE_TYPE - TYPE_DEF_OR_REF] = { 3, { 0x06, 0x0a } },
	[SCOPE - TYPE_DEF_OR_REF] = { 2, { 0x00, 0x1a, 0x23, 0x01 } },
	[TYPE_OR_METHOD - TYPE_DEF_OR_REF] = { 1, { 0x02, 0x06 } },
};

/* II.22; a number is that of a table. Ended by 0xff. */
#define END 0xff
static const u8 columns[METADATA_TABLES][10] = {
	[0x00] = { C2, STRING, GUID, GUID, GUID, END },
	[0x01] = { SCOPE, STRING, STRING, END },
	[0x02] = { C4, STRING, STRING, TYPE_DEF_OR_REF, 0x04, 0x06, END },
	[0x03] = { 0x04, END },
	[0x04] = { C2, STRING, BLOB, END },
	[0x05] = { 0x06, END },
	[0x06] = { C4, C2, C2, STRING, BLOB, 0x08, END },
	[0x07] = { 0x08, END },
	[0x08] = { C2, C2, STRING, END },
	[0x09] = { 0x02, TYPE_DEF_OR_REF, END },
	[0x0a] = { MEMBER_PARENT, STRING, BLOB, END },
	[0x0b] = { C2, HAS_CONSTANT, BLOB, END },
	[0x0c] = { HAS_ATTRIBUTE, ATTRIBUTE_TYPE, BLOB, END },
	[0x0d] = { HAS_MARSHAL, BLOB, END },
	[0x0e] = { C2, HAS_SECURITY, BLOB, END },
	[0x0f] = { C2, C4, 0x02, END },
	[0x10] = { C4, 0x04, END },
	[0x11] = { BLOB, END },
	[0x12] = { 0x02, 0x14, END },
	[0x13] = { 0x14, END },
	[0x14] = { C2, STRING, TYPE_DEF_OR_REF, END },
	[0x15] = { 0x02, 0x17, END },
	[0x16] = { 0x17, END },
	[0x17] = { C2, STRING, BLOB, END },
	[0x18] = { C2, 0x06, HAS_SEMANTICS, END },
	[0x19] = { 0x02, METHOD_OR_MEMBER, METHOD_OR_MEMBER, END },
	[0x1a] = { STRING, END },
	[0x1b] = { BLOB, END },
	[0x1c] = { C2, FORWARDED, STRING, 0x1a, END },
	[0x1d] = { C4, 0x04, END },
	[0x1e] = { C4, C4, END },
	[0x1f] = { C4, END },
	[0x20] = { C4, C2, C2, C2, C2, C4, BLOB, STRING, STRING, END },
	[0x21] = { C4, END },
	[0x22] = { C4, C4, C4, END },
	[0x23] = { C2, C2, C2, C2, C4, BLOB, STRING, STRING, BLOB, END },
	[0x24] = { C4, 0x23, END },
	[0x25] = { C4, C4, C4, 0x23, END },
	[0x26] = { C4, STRING, BLOB, END },
	[0x27] = { C4, C4, STRING, STRING, IMPLEMENTATION, END },
	[0x28] = { C4, C4, STRING, IMPLEMENTATION, END },
	[0x29] = { 0x02, 0x02, END },
	[0x2a] = { C2, C2, TYPE_OR_METHOD, STRING, END },
	[0x2b] = { METHOD_OR_MEMBER, BLOB, END },
	[0x2c] = { 0x2a, TYPE_DEF_OR_REF, END },
};

static u32 column_bytes(const struct metadata *md, u8 column)
{
	u32 most = 0, bits = 0;

	switch (column) {
	case C2:
		return 2;
	case C4:
		return 4;
	case STRING:
	case GUID:
	case BLOB:
		return md->heap_bits >> (column - STRING) & 1 ? 4 : 2;
	default:
		break;
	}
	if (column < C2)
		return md->rows[column] > 0xffff ? 4 : 2;
	bits = coded[column - TYPE_DEF_OR_REF].bits;
	for (u32 i = 0; i < 1u << bits && i < 24; i++) {
		u32 rows = md->rows[coded[column - TYPE_DEF_OR_REF].tables[i]];

		/* Past the last one the list has zeroes: a table of one row. */
		most = rows > most ? rows : most;
	}
	return most >= 1u << (16 - bits) ? 4 : 2;
}

static int place_tables(struct metadata *md, u64 at)
{
	for (u32 table = 0; table < METADATA_TABLES; table++) {
		for (u32 i = 0; columns[table][i] != END; i++)
			md->row_bytes[table] += column_bytes(md, columns[table][i]);
		if (md->rows[table] > ROWS_MAX)
			return -EBADMSG;
		md->table_va[table] = at;
		at += (u64)md->rows[table] * md->row_bytes[table];
	}
	return 0;
}

/* The stream #~: which tables there are, and how many rows each has. */
static int open_tables(struct memory *m, u64 va, struct metadata *md)
{
	u64 valid = memory_u64(m, va + 8), at = va + 24;

	md->heap_bits = memory_u8(m, va + 6);
	/* #GUID's bit is the second, and #Blob's the third, as the columns are. */
	for (u32 table = 0; table < 64; table++) {
		if (!(valid >> table & 1))
			continue;
		md->rows[table] = memory_u32(m, at);
		at += 4;
	}
	if (md->heap_bits & 0x40)	/* a word more */
		at += 4;
	return memory_err(m) ? memory_err(m) : place_tables(md, at);
}

int metadata_open(struct memory *m, u64 root_va, struct metadata *ret_metadata)
{
	struct metadata md = { .root_va = root_va };
	u32 version_bytes = memory_u32(m, root_va + 12), count;
	u64 at = root_va + 16 + version_bytes, tables_va = 0;

	if (memory_err(m))
		return memory_err(m);
	if (memory_u32(m, root_va) != METADATA_SIGNATURE || version_bytes > VERSION_BYTES_MAX)
		return -EBADMSG;
	count = memory_u16(m, at + 2);
	at += 4;
	for (u32 i = 0; i < count && i < STREAMS_MAX && !memory_err(m); i++) {
		u32 offset = memory_u32(m, at), bytes = memory_u32(m, at + 4);
		char name[33];

		memory_text(m, at + 8, name, sizeof(name));
		if (!strcmp(name, "#~") || !strcmp(name, "#-")) {
			tables_va = root_va + offset;
		} else if (!strcmp(name, "#Strings")) {
			md.strings_va = root_va + offset;
			md.strings_bytes = bytes;
		}
		at += 8 + ((strlen(name) + 4) & ~3ull);
	}
	if (memory_err(m))
		return memory_err(m);
	if (!tables_va || !md.strings_va || open_tables(m, tables_va, &md) < 0)
		return memory_err(m) ? memory_err(m) : -EBADMSG;
	*ret_metadata = md;
	return 0;
}

/* Is the name one of this metadata's, if that is one? */
static int try_root(struct memory *m, u64 root_va, u64 string_va, struct metadata *ret_metadata)
{
	struct metadata md;
	int r = metadata_open(m, root_va, &md);

	if (r < 0)
		return r;
	if (string_va - md.strings_va >= md.strings_bytes)
		return -EBADMSG;
	*ret_metadata = md;
	return 0;
}

int metadata_find(struct memory *m, u64 string_va, struct metadata *ret_metadata)
{
	u64 page_va = string_va & ~(u64)(MEMORY_PAGE - 1);

	if (!string_va)
		return -ENOENT;
	for (u64 back = 0; back <= SEARCH_BYTES_MAX && back <= page_va; back += MEMORY_PAGE) {
		u32 words[MEMORY_PAGE / 4];

		memory_read(m, page_va - back, words, sizeof(words));
		if (memory_err(m))
			return -ENOENT;
		for (u32 i = MEMORY_PAGE / 4; i-- > 0;)
			if (words[i] == METADATA_SIGNATURE &&
			    !try_root(m, page_va - back + 4 * i, string_va, ret_metadata))
				return 0;
	}
	return -ENOENT;
}

/* A column of a row, from 1 on, by the offset of those before it; 0 if there is none. */
static u32 read_column(struct memory *m, const struct metadata *md, u32 table, u32 row, u32 column)
{
	u32 offset = 0, bytes;
	u64 va;

	if (!row || row > md->rows[table])
		return 0;
	for (u32 i = 0; i < column; i++)
		offset += column_bytes(md, columns[table][i]);
	bytes = column_bytes(md, columns[table][column]);
	va = md->table_va[table] + (u64)(row - 1) * md->row_bytes[table] + offset;
	return bytes == 4 ? memory_u32(m, va) : memory_u16(m, va);
}

static void read_string(struct memory *m, const struct metadata *md, u32 index, char *to, size_t to_bytes)
{
	to[0] = '\0';
	if (index < md->strings_bytes)
		memory_text(m, md->strings_va + index, to, to_bytes);
}

/* The last row of a table whose column is not larger, in ascending order; 0 if there is none. */
static u32 find_row(struct memory *m, const struct metadata *md, u32 table, u32 column, u32 value)
{
	u32 lo = 0, hi = md->rows[table];

	while (lo < hi && !memory_err(m)) {
		u32 mid = lo + (hi - lo) / 2;

		if (read_column(m, md, table, mid + 1, column) <= value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

u32 metadata_type_of(struct memory *m, const struct metadata *md, u32 method)
{
	return method && method <= md->rows[METHOD] ? find_row(m, md, TYPE, 5, method) : 0;
}

/* The type that a type is defined in, or 0. */
static u32 enclosing(struct memory *m, const struct metadata *md, u32 type)
{
	u32 row = find_row(m, md, NESTED, 0, type);

	return row && read_column(m, md, NESTED, row, 0) == type ? read_column(m, md, NESTED, row, 1) : 0;
}

void metadata_method_name(struct memory *m, const struct metadata *md, u32 method, struct buf *text)
{
	u32 types[NESTED_MAX], count = 0, type = metadata_type_of(m, md, method);
	char part[METADATA_NAME_MAX];

	if (!type)
		return;
	for (; type && count < NESTED_MAX; type = enclosing(m, md, type))
		types[count++] = type;
	read_string(m, md, read_column(m, md, TYPE, types[count - 1], 2), part, sizeof(part));
	readable_add_namespace(text, part);
	while (count--) {
		read_string(m, md, read_column(m, md, TYPE, types[count], 1), part, sizeof(part));
		readable_add_type(text, part);
	}
	read_string(m, md, read_column(m, md, METHOD, method, 3), part, sizeof(part));
	readable_add_method(text, part);
}
