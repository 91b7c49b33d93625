// SPDX-License-Identifier: Apache-2.0
/* compiler.pdb and embedded.dll are what Roslyn 4.8 makes of a program of two methods, one with #line in it. */
#include "exe/portable_pdb.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "exe/source_map.h"
#include "test.h"

#define CORPUS "test/corpus/portable_pdb/"

static size_t load(const char *path, u8 **ret_bytes)
{
	FILE *file = fopen(path, "re");
	size_t bytes;

	OK(file);
	*ret_bytes = malloc(8192);
	OK(*ret_bytes);
	bytes = fread(*ret_bytes, 1, 8192, file);
	EQ(fclose(file), 0);
	return bytes;
}

static int build(const u8 *at, size_t bytes, struct source_map **map)
{
	int r = portable_pdb_build(at, bytes, map);

	if (r == 0)
		EQ(source_map_check(*map, (*map)->bytes), 0);
	return r;
}

static void check(const struct source_map *map, u32 method, u32 offset, const char *path, u32 line)
{
	const struct source_map_place *found = source_map_find(map, method, offset);

	OK(found);
	STREQ(source_map_text(map, found->source), path);
	EQ(found->source_line + 1, line);
}

static void check_small(const struct source_map *map)
{
	check(map, 1, 0, "/src/Small.cs", 7);
	check(map, 1, 3, "/src/Small.cs", 7);
	check(map, 2, 0, "/src/Small.cs", 12);
	check(map, 2, 7, "/src/Small.cs", 14);
	check(map, 2, 13, "/src/Small.cs", 14);
	check(map, 2, 14, "/src/Small.cs", 13);
	check(map, 2, 22, "/src/other/Else.cs", 300);
	check(map, 2, 34, "/src/other/Else.cs", 300);	/* hidden: what comes before */
	check(map, 2, 46, "/src/Small.cs", 20);
	check(map, 2, UINT32_MAX, "/src/Small.cs", 21);
	OK(!source_map_find(map, 0, 0));
	OK(!source_map_find(map, 3, 0));
}

TEST(portable_pdb_tells_lines_of_methods)
{
	static const u8 id[SOURCE_MAP_ID_BYTES] = { 0x33, 0x5d, 0xda, 0xab, 0x31, 0xe7, 0xe2, 0x4c, 0x85, 0xe7,
						    0x7c, 0x4d, 0xe2, 0x3c, 0xd9, 0x5d, 0xdf, 0xc6, 0x2a, 0x95 };
	_cleanup_(freep) struct source_map *map = NULL;
	_cleanup_(freep) u8 *file = NULL;
	size_t bytes = load(CORPUS "compiler.pdb", &file);

	OK(portable_pdb_may_be(file, bytes));
	EQ(build(file, bytes, &map), 0);
	check_small(map);
	EQ(memcmp(map->id, id, sizeof(id)), 0);
}

TEST(portable_pdb_may_be_packed_into_the_assembly)
{
	_cleanup_(freep) struct source_map *map = NULL;
	_cleanup_(freep) u8 *file = NULL;
	size_t bytes = load(CORPUS "embedded.dll", &file);

	OK(portable_pdb_may_be(file, bytes));
	EQ(build(file, bytes, &map), 0);
	check_small(map);
}

/* Cut anywhere, or with any byte changed, it is one that is good, or none. */
TEST(portable_pdb_survives_any_damage)
{
	static const char *const files[] = { CORPUS "compiler.pdb", CORPUS "embedded.dll" };

	for (u32 i = 0; i < 2; i++) {
		_cleanup_(freep) u8 *file = NULL;
		size_t bytes = load(files[i], &file);
		struct source_map *map;

		for (size_t k = 0; k < bytes; k++) {
			/* Of its own, so that whoever reads past it is seen to. */
			_cleanup_(freep) u8 *cut = malloc(k + 1);

			OK(cut);
			memcpy(cut, file, k);
			if (build(cut, k, &map) == 0)
				free(map);
			for (u32 bit = 0; bit < 8; bit += 7) {
				file[k] ^= (u8)(1 << bit);
				if (build(file, bytes, &map) == 0)
					free(map);
				file[k] ^= (u8)(1 << bit);
			}
		}
	}
}

TEST(portable_pdb_that_is_none)
{
	static const char *const bad[] = { "", "BSJ", "BSJB", "MZ", "MZ..", "{}",
					   "Microsoft C/C++ MSF 7.00\r\n\x1a" "DS" };
	struct source_map *map;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		OK(build((const u8 *)bad[i], strlen(bad[i]), &map) < 0);
	OK(!portable_pdb_may_be("{\"mappings\"", 11));
	OK(!portable_pdb_may_be("M", 1));
}

static void add(struct buf *b, u64 number, size_t bytes)
{
	buf_add(b, &number, bytes);
}

/* So many methods that all have the points of one blob. */
static void forge(struct buf *b, u32 methods, const u8 *points, u32 points_bytes)
{
	u32 tables = 24 + 8 + 8 + 4 * methods, blobs = 20 + points_bytes;

	add(b, 0x424a5342, 4);
	add(b, 0, 8);
	add(b, 4, 4);
	buf_add(b, "PDB\0\0\0\3\0", 8);
	add(b, 68, 4);
	add(b, 24, 4);
	buf_add(b, "#Pdb\0\0\0", 8);
	add(b, 92, 4);
	add(b, tables, 4);
	buf_add(b, "#~\0", 4);
	add(b, 92 + tables, 4);
	add(b, blobs, 4);
	buf_add(b, "#Blob\0\0", 8);
	buf_add(b, "0123456789abcdefghij\0\0\0", 24);
	add(b, 0, 8);
	add(b, 1ull << 0x30 | 1ull << 0x31, 8);
	add(b, 0, 8);
	add(b, 1, 4);
	add(b, methods, 4);
	add(b, 1, 8);
	for (u32 i = 0; i < methods; i++)
		add(b, 1 | 16u << 16, 4);
	buf_add(b, "\0\3/\5\11\3usr\5it.cs\0", 16);	/* a path of two parts */
	add(b, 0xc0 | points_bytes >> 24, 1);
	add(b, points_bytes >> 16, 1);
	add(b, points_bytes >> 8, 1);
	add(b, points_bytes, 1);
	buf_add(b, points, points_bytes);
	EQ(buf_err(b), 0);
}

TEST(portable_pdb_reads_numbers_of_any_length)
{
	/* 0x123 at line 4; 0x4123 at 1004; one byte on at line 1000. */
	static const u8 points[] = { 0, 0x81, 0x23, 0, 1, 4, 1, 0xc0, 0, 0x40, 0, 0, 1, 0x87, 0xd0, 0,
				     1, 0, 1, 0x79, 0 };
	_cleanup_(freep) struct source_map *map = NULL;
	struct buf b;

	buf_init(&b, 4096);
	forge(&b, 2, points, sizeof(points));
	EQ(build((u8 *)b.data, b.len, &map), 0);
	EQ(memcmp(map->id, "0123456789abcdefghij", SOURCE_MAP_ID_BYTES), 0);
	OK(!source_map_find(map, 1, 0x122));
	check(map, 1, 0x123, "usr/it.cs", 4);
	check(map, 2, 0x4123, "usr/it.cs", 1004);
	check(map, 2, 0x4124, "usr/it.cs", 1000);
	buf_done(&b);
}

/* A small file that would take forever. */
TEST(portable_pdb_reads_no_more_than_so_much)
{
	enum { POINTS = 1 << 20, METHODS = 100 };
	_cleanup_(freep) u8 *points = calloc(1, POINTS);
	struct source_map *map;
	struct buf b;

	OK(points);
	buf_init(&b, 2 * POINTS);
	forge(&b, METHODS, points, POINTS);
	EQ(build((u8 *)b.data, b.len, &map), -E2BIG);
	buf_done(&b);
}

TEST(portable_pdb_survives_lack_of_memory)
{
	_cleanup_(freep) u8 *file = NULL;
	size_t bytes = load(CORPUS "embedded.dll", &file);
	struct source_map *map;
	int r = -ENOMEM;

	for (long i = 0; r == -ENOMEM; i++) {
		test_alloc_fail(i);
		r = portable_pdb_build(file, bytes, &map);
		test_alloc_reset();
	}
	EQ(r, 0);
	free(map);
}
