// SPDX-License-Identifier: Apache-2.0
#include "proc/maps.h"

#include <errno.h>

#include "abi.h"
#include "test.h"

static void add(struct maps *maps, u64 start, u64 end, const char *path)
{
	EQ(maps_add(maps, &(struct mapping){ .start_va = start, .end_va = end, .path = (char *)path }), 0);
}

TEST(maps_keeps_spaces_and_newline_escapes_in_paths)
{
	char line[] = "7f00-7f10 r-xp 00026000 08:01 1835                       /opt/a b/\\012x (deleted)\n";
	struct mapping m;

	EQ(maps_parse_line(line, &m), 1);
	STREQ(m.path, "/opt/a b/\\012x (deleted)");
	EQ(m.start_va, 0x7f00);
	EQ(m.end_va, 0x7f10);
	EQ(m.file_offset, 0x26000);
	EQ(m.inode, 1835);
	EQ(m.dev_major, 8);
	EQ(m.kind, MAPPING_FILE);
}

TEST(maps_tells_kinds_apart)
{
	char data[] = "7f00-7f10 rw-p 00000000 00:00 0 \n", anon[] = "7f00-7f10 rwxp 00000000 00:00 0 \n";
	char vdso[] = "7f00-7f10 r-xp 00000000 00:00 0                          [vdso]\n", bad[] = "what?\n";
	struct mapping m;

	EQ(maps_parse_line(data, &m), 0);
	EQ(maps_parse_line(anon, &m), 1);
	EQ(m.kind, MAPPING_ANON);
	STREQ(m.path, "");
	EQ(maps_parse_line(vdso, &m), 1);
	EQ(m.kind, MAPPING_VDSO);
	EQ(maps_parse_line(bad, &m), -EBADMSG);
}

TEST(maps_finds_what_an_address_lies_in)
{
	struct maps *maps = maps_new();

	add(maps, 0x3000, 0x4000, "c");
	add(maps, 0x1000, 0x2000, "a");
	add(maps, 0x2000, 0x3000, "b");
	EQ(maps->count, 3);
	STREQ(maps_find(maps, 0x1fff)->path, "a");
	STREQ(maps_find(maps, 0x2000)->path, "b");
	OK(!maps_find(maps, 0x4000));
	OK(!maps_find(maps, 0xfff));
	maps_free(maps);
}

TEST(maps_cuts_what_a_new_mapping_covers)
{
	struct maps *maps = maps_new();

	add(maps, 0x1000, 0x9000, "old");
	add(maps, 0x3000, 0x4000, "new");
	EQ(maps->count, 3);
	EQ(maps->at[0].end_va, 0x3000);
	EQ(maps->at[2].start_va, 0x4000);
	EQ(maps->at[2].file_offset, 0x3000);
	add(maps, 0x2000, 0x8000, "newer");
	EQ(maps->count, 3);
	STREQ(maps_find(maps, 0x3000)->path, "newer");
	EQ(maps->at[2].file_offset, 0x7000);
	maps_free(maps);
}

TEST(maps_are_bounded)
{
	struct maps *maps = maps_new();

	for (u64 i = 0; i < PROC_MAPS_MAX; i++)
		add(maps, i * 0x2000, i * 0x2000 + 0x1000, "x");
	EQ(maps_add(maps, &(struct mapping){ .start_va = 1ull << 40, .end_va = 1ull << 41, .path = "y" }), -E2BIG);
	EQ(maps->dropped_count, 1);
	maps_free(maps);
}

static void build(void)
{
	struct maps *maps = maps_new(), *copy;

	if (!maps)
		return;
	(void)maps_add(maps, &(struct mapping){ .start_va = 0x1000, .end_va = 0x9000, .path = "a" });
	(void)maps_add(maps, &(struct mapping){ .start_va = 0x3000, .end_va = 0x4000, .path = "b" });
	copy = maps_copy(maps);
	maps_free(copy);
	maps_free(maps);
}

TEST(maps_past_the_limit_join_generated_code)
{
	struct maps *maps = maps_new();
	struct mapping anon = { .kind = MAPPING_ANON, .path = (char *)"" };

	add(maps, 0x1000, 0x2000, "/program");
	add(maps, 0x7f0000000000, 0x7f0000100000, "/library");
	for (u64 i = 60000; i > 0; i--) {
		anon.start_va = (i << 16) + 0x10000000;
		anon.end_va = anon.start_va + 0x1000;
		EQ(maps_add(maps, &anon), 0);
		OK(maps->count <= PROC_MAPS_MAX);
	}
	add(maps, 0x7e0000000000, 0x7e0000100000, "/late");
	EQ(maps->dropped_count, 0);
	STREQ(maps_find(maps, 0x1800)->path, "/program");
	STREQ(maps_find(maps, 0x7f0000080000)->path, "/library");
	STREQ(maps_find(maps, 0x7e0000080000)->path, "/late");
	for (u64 i = 1; i <= 60000; i++)
		OK(maps_find(maps, (i << 16) + 0x10000800));
	OK(!maps_find(maps, 0x5000));
	maps_free(maps);
}

TEST(maps_survives_want_of_memory)
{
	long asked;

	test_alloc_fail(-1);
	build();
	asked = test_alloc_reset();
	for (long i = 0; i < asked; i++) {
		test_alloc_fail(i);
		build();
		test_alloc_reset();
	}
}
