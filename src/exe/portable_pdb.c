// SPDX-License-Identifier: Apache-2.0
#include "exe/portable_pdb.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "exe/source_map_builder.h"

#define SIGNATURE 0x424a5342u		/* BSJB */
#define VERSION_BYTES_MAX 255
#define STREAMS_MAX 16
#define PATH_BYTES_MAX 4096		/* of a document; longer ones are cut */
#define PARTS_MAX 256			/* ... of its path */
#define SOURCE_LINE_MAX 0x20000000u
#define NOT_READ UINT32_MAX

#define TABLE_DOCUMENTS 0x30
#define TABLE_METHODS 0x31
#define HEAP_GUIDS_LARGE 2
#define HEAP_BLOBS_LARGE 4

/* PE files */
#define PE_SIGNATURE 0x4550u
#define PE_32 0x10b
#define PE_64 0x20b
#define PE_SECTIONS_MAX 96
#define DEBUG_DIRECTORY 6
#define DEBUG_ENTRIES_MAX 64
#define DEBUG_EMBEDDED 17
#define EMBEDDED_MAGIC 0x4244504du	/* MPDB */

struct bytes {
	const u8 *at;
	size_t count;
};

struct pdb {
	struct bytes blobs;
	struct cursor documents, methods;	/* the rows of both */
	u32 document_count, method_count;
	u32 document_bytes, blob_index_bytes, document_index_bytes;	/* of a row, and in rows */
	u32 *document_text;	/* where each one's path is, or NOT_READ */
	size_t points_left;	/* bytes that will be read: methods may share them */
	struct source_map_builder builder;
};

static void pdb_done(struct pdb *pdb)
{
	free(pdb->document_text);
	source_map_builder_done(&pdb->builder);
}

/* A piece of a file, or nothing. */
static struct bytes part(struct bytes file, u64 offset, u64 count)
{
	if (offset > file.count || count > file.count - offset)
		return (struct bytes){ 0 };
	return (struct bytes){ file.at + offset, (size_t)count };
}

static struct cursor cursor_at(struct bytes file, u64 offset)
{
	struct cursor c = cursor_of(file.at, file.count);

	(void)cursor_skip(&c, offset);
	return c;
}

/* ECMA-335, II.23.2: a number of one, two or four bytes; how many bits it has. */
static u32 read_bits(struct cursor *c, u32 *ret_bits)
{
	u32 first = cursor_u8(c);

	if (!(first & 0x80)) {
		*ret_bits = 7;
		return first;
	}
	if (!(first & 0x40)) {
		*ret_bits = 14;
		return (first & 0x3f) << 8 | cursor_u8(c);
	}
	*ret_bits = 29;
	first = (first & 0x1f) << 8 | cursor_u8(c);
	first = first << 8 | cursor_u8(c);
	return first << 8 | cursor_u8(c);
}

static u32 read_unsigned(struct cursor *c)
{
	u32 bits;

	return read_bits(c, &bits);
}

/* The sign is in the lowest bit. */
static s32 read_signed(struct cursor *c)
{
	u32 bits, value = read_bits(c, &bits);

	return (s32)(value >> 1) - (value & 1 ? 1 << (bits - 1) : 0);
}

static struct bytes find_blob(const struct pdb *pdb, u32 index)
{
	struct cursor c = cursor_at(pdb->blobs, index);
	u32 bytes = read_unsigned(&c);
	const u8 *at = cursor_skip(&c, bytes);

	return at && !c.bad ? (struct bytes){ at, bytes } : (struct bytes){ 0 };
}

/* The path of a document: parts of it in blobs, and what stands between them. */
static void read_path(const struct pdb *pdb, u32 document, char path[PATH_BYTES_MAX])
{
	struct cursor row = pdb->documents, name;
	struct bytes blob;
	size_t len = 0;
	char between;

	(void)cursor_skip(&row, (u64)(document - 1) * pdb->document_bytes);
	blob = find_blob(pdb, (u32)cursor_uint(&row, pdb->blob_index_bytes));
	name = cursor_of(blob.at, blob.count);
	between = (char)cursor_u8(&name);
	for (u32 i = 0; i < PARTS_MAX && cursor_left(&name) && !row.bad; i++) {
		struct bytes text = find_blob(pdb, read_unsigned(&name));

		if (i && between && len + 1 < PATH_BYTES_MAX)
			path[len++] = between;
		if (text.count > PATH_BYTES_MAX - 1 - len)
			text.count = PATH_BYTES_MAX - 1 - len;
		if (text.count)
			memcpy(path + len, text.at, text.count);
		len += text.count;
	}
	path[len] = '\0';
}

/* Where a document's path is in the text: 0 if it has none. */
static int use_document(struct pdb *pdb, u32 document, u32 *ret_text)
{
	char path[PATH_BYTES_MAX];
	u32 text = 0;
	int r;

	*ret_text = 0;
	if (!document || document > pdb->document_count)
		return 0;
	if (pdb->document_text[document - 1] == NOT_READ) {
		read_path(pdb, document, path);
		r = path[0] ? source_map_builder_text(&pdb->builder, "", path, &text) : 0;
		if (r < 0)
			return r;
		pdb->document_text[document - 1] = text;
	}
	*ret_text = pdb->document_text[document - 1];
	return 0;
}

/* What the numbers of one record differ from. */
struct point {
	u32 offset, line, column;
	u32 text;		/* of its document */
	bool is_first, had_line;
};

/* Another document, or a place, which may come from no line. 0, or less. */
static int read_record(struct pdb *pdb, struct cursor *c, u32 method, struct point *at)
{
	u32 offset = read_unsigned(c), lines;
	s32 columns;

	if (!offset && !at->is_first)
		return use_document(pdb, read_unsigned(c), &at->text);
	at->offset += offset;
	at->is_first = false;
	lines = read_unsigned(c);
	columns = lines ? read_signed(c) : (s32)read_unsigned(c);
	if (!lines && !columns)
		return 0;
	at->line += at->had_line ? (u32)read_signed(c) : read_unsigned(c);
	(void)(at->had_line ? (u32)read_signed(c) : read_unsigned(c));
	at->had_line = true;
	if (c->bad || !at->line || at->line >= SOURCE_LINE_MAX || at->offset > INT32_MAX)
		return -EBADMSG;
	return source_map_builder_place(&pdb->builder, (struct source_map_place){
		.line = method, .column = at->offset, .source_line = at->line - 1, .source = at->text,
	});
}

/* The points of a method; those of one that is malformed end there. */
static int read_method(struct pdb *pdb, u32 method, u32 document, u32 blob)
{
	struct bytes points = find_blob(pdb, blob);
	struct cursor c = cursor_of(points.at, points.count);
	struct point at = { .is_first = true };
	int r;

	if (points.count > pdb->points_left)
		return -E2BIG;
	pdb->points_left -= points.count;
	if (!points.count)
		return 0;
	(void)read_unsigned(&c);		/* its variables */
	if (!document)
		document = read_unsigned(&c);
	r = use_document(pdb, document, &at.text);
	while (r == 0 && cursor_left(&c) && !c.bad)
		r = read_record(pdb, &c, method, &at);
	return r == -EBADMSG ? 0 : r;
}

static int read_methods(struct pdb *pdb)
{
	struct cursor c = pdb->methods;
	int r = 0;

	for (u32 i = 0; i < pdb->method_count && r == 0 && !c.bad; i++) {
		u32 document = (u32)cursor_uint(&c, pdb->document_index_bytes);
		u32 blob = (u32)cursor_uint(&c, pdb->blob_index_bytes);

		if (blob && !c.bad)
			r = read_method(pdb, i + 1, document, blob);
	}
	return r;
}

/* The stream #~: of its tables those of documents and methods come first, where no others are before them. */
static int open_tables(struct pdb *pdb, struct bytes stream)
{
	struct cursor c = cursor_at(stream, 6);
	u32 heaps = cursor_u8(&c), guid_index_bytes = heaps & HEAP_GUIDS_LARGE ? 4 : 2;
	u64 tables;

	(void)cursor_u8(&c);
	tables = cursor_uint(&c, 8);
	(void)cursor_uint(&c, 8);		/* which are sorted */
	if (tables & ((1ull << TABLE_DOCUMENTS) - 1))
		return -EBADMSG;
	for (u32 i = TABLE_DOCUMENTS; i < 64; i++) {
		u32 rows = tables >> i & 1 ? (u32)cursor_uint(&c, 4) : 0;

		if (i == TABLE_DOCUMENTS)
			pdb->document_count = rows;
		else if (i == TABLE_METHODS)
			pdb->method_count = rows;
	}
	pdb->blob_index_bytes = heaps & HEAP_BLOBS_LARGE ? 4 : 2;
	pdb->document_index_bytes = pdb->document_count > 0xffff ? 4 : 2;
	pdb->document_bytes = 2 * pdb->blob_index_bytes + 2 * guid_index_bytes;
	pdb->documents = c;
	if (!cursor_skip(&c, (u64)pdb->document_count * pdb->document_bytes))
		return -EBADMSG;
	pdb->methods = c;
	return cursor_skip(&c, (u64)pdb->method_count * (pdb->document_index_bytes + pdb->blob_index_bytes)) ?
	       0 : -EBADMSG;
}

static int open_streams(struct pdb *pdb, struct bytes file)
{
	struct cursor c = cursor_of(file.at, file.count);
	struct bytes id = { 0 }, tables = { 0 };
	u32 version_bytes, count;

	if (cursor_uint(&c, 4) != SIGNATURE)
		return -EBADMSG;
	(void)cursor_uint(&c, 8);
	version_bytes = (u32)cursor_uint(&c, 4);
	if (version_bytes > VERSION_BYTES_MAX || !cursor_skip(&c, version_bytes))
		return -EBADMSG;
	(void)cursor_uint(&c, 2);
	count = (u32)cursor_uint(&c, 2);
	for (u32 i = 0; i < count && i < STREAMS_MAX && !c.bad; i++) {
		u32 offset = (u32)cursor_uint(&c, 4), bytes = (u32)cursor_uint(&c, 4);
		const char *name = cursor_string(&c);
		struct bytes stream = part(file, offset, bytes);

		(void)cursor_skip(&c, 3 - strlen(name) % 4);
		if (!strcmp(name, "#Pdb"))
			id = stream;
		else if (!strcmp(name, "#~"))
			tables = stream;
		else if (!strcmp(name, "#Blob"))
			pdb->blobs = stream;
	}
	if (id.count < SOURCE_MAP_ID_BYTES || !tables.count || !pdb->blobs.count)
		return -EBADMSG;
	memcpy(pdb->builder.id, id.at, SOURCE_MAP_ID_BYTES);
	return open_tables(pdb, tables);
}

static int build(struct bytes file, struct source_map **ret_map)
{
	_cleanup_(pdb_done) struct pdb pdb = { 0 };
	int r = open_streams(&pdb, file);

	if (r < 0)
		return r;
	pdb.document_text = malloc((pdb.document_count + 1ul) * sizeof(*pdb.document_text));
	if (!pdb.document_text)
		return -ENOMEM;
	memset(pdb.document_text, 0xff, pdb.document_count * sizeof(*pdb.document_text));
	pdb.points_left = SOURCE_MAP_FILE_MAX;
	r = read_methods(&pdb);
	return r < 0 ? r : source_map_builder_finish(&pdb.builder, ret_map);
}

/* Where in a PE file what is at an address of its image is. */
static struct bytes find_in_image(struct bytes file, u64 sections, u32 count, u32 rva, u32 bytes)
{
	struct cursor c = cursor_at(file, sections);

	for (u32 i = 0; i < count && i < PE_SECTIONS_MAX && !c.bad; i++) {
		u32 start, size, offset;

		(void)cursor_skip(&c, 12);
		start = (u32)cursor_uint(&c, 4);
		size = (u32)cursor_uint(&c, 4);
		offset = (u32)cursor_uint(&c, 4);
		(void)cursor_skip(&c, 16);
		if (rva >= start && rva - start < size && bytes <= size - (rva - start))
			return part(file, (u64)offset + (rva - start), bytes);
	}
	return (struct bytes){ 0 };
}

/* The entries of a PE file's debug directory. */
static struct bytes find_debug(struct bytes file)
{
	struct cursor c = cursor_at(file, 0x3c);
	u64 pe = cursor_uint(&c, 4), optional = pe + 24;
	u32 sections, optional_bytes, magic, rva, bytes;

	c = cursor_at(file, pe);
	if (cursor_uint(&c, 4) != PE_SIGNATURE)
		return (struct bytes){ 0 };
	(void)cursor_uint(&c, 2);
	sections = (u32)cursor_uint(&c, 2);
	(void)cursor_skip(&c, 12);
	optional_bytes = (u32)cursor_uint(&c, 2);
	c = cursor_at(file, optional);
	magic = (u32)cursor_uint(&c, 2);
	if (magic != PE_32 && magic != PE_64)
		return (struct bytes){ 0 };
	c = cursor_at(file, optional + (magic == PE_64 ? 112 : 96) + 8 * DEBUG_DIRECTORY);
	rva = (u32)cursor_uint(&c, 4);
	bytes = (u32)cursor_uint(&c, 4);
	return c.bad ? (struct bytes){ 0 } :
		       find_in_image(file, optional + optional_bytes, sections, rva, bytes);
}

/* The PDB that is packed into a PE file, or nothing. */
static struct bytes find_embedded(struct bytes file)
{
	struct bytes debug = find_debug(file);
	struct cursor c = cursor_of(debug.at, debug.count);

	for (u32 i = 0; i < DEBUG_ENTRIES_MAX && cursor_left(&c) >= 28; i++) {
		u32 type, bytes, offset;

		(void)cursor_skip(&c, 12);
		type = (u32)cursor_uint(&c, 4);
		bytes = (u32)cursor_uint(&c, 4);
		(void)cursor_uint(&c, 4);
		offset = (u32)cursor_uint(&c, 4);
		if (type == DEBUG_EMBEDDED)
			return part(file, offset, bytes);
	}
	return (struct bytes){ 0 };
}

/* All of it, or -EBADMSG. */
static int inflate_all(struct bytes packed, u8 *to, size_t bytes)
{
	z_stream z = { .next_in = (u8 *)packed.at, .avail_in = (u32)packed.count, .next_out = to,
		       .avail_out = (u32)bytes };
	int r;

	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return -ENOMEM;
	r = inflate(&z, Z_FINISH);
	(void)inflateEnd(&z);
	return r == Z_STREAM_END && !z.avail_out ? 0 : -EBADMSG;
}

static int build_embedded(struct bytes file, struct source_map **ret_map)
{
	struct bytes packed = find_embedded(file);
	struct cursor c = cursor_of(packed.at, packed.count);
	_cleanup_(freep) u8 *plain = NULL;
	u32 magic, bytes;
	int r;

	if (!packed.count)
		return -ENODATA;
	magic = (u32)cursor_uint(&c, 4);
	bytes = (u32)cursor_uint(&c, 4);
	if (c.bad || magic != EMBEDDED_MAGIC || !bytes)
		return -EBADMSG;
	if (bytes > SOURCE_MAP_FILE_MAX)
		return -E2BIG;
	plain = malloc(bytes);
	if (!plain)
		return -ENOMEM;
	r = inflate_all((struct bytes){ c.at, cursor_left(&c) }, plain, bytes);
	return r < 0 ? r : build((struct bytes){ plain, bytes }, ret_map);
}

bool portable_pdb_may_be(const void *at, size_t bytes)
{
	return bytes >= 4 && (!memcmp(at, "BSJB", 4) || !memcmp(at, "MZ", 2));
}

int portable_pdb_build(const void *at, size_t bytes, struct source_map **ret_map)
{
	struct bytes file = { at, bytes };

	if (bytes > SOURCE_MAP_FILE_MAX)
		return -E2BIG;
	if (!portable_pdb_may_be(at, bytes))
		return -EBADMSG;
	return *file.at == 'M' ? build_embedded(file, ret_map) : build(file, ret_map);
}
