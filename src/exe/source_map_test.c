// SPDX-License-Identifier: Apache-2.0
#include "exe/source_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "test.h"

static int build(const char *text, struct source_map **map)
{
	int r = source_map_build(text, strlen(text), map);

	if (r == 0)
		EQ(source_map_check(*map, (*map)->bytes), 0);
	return r;
}

static void check(const struct source_map *map, u32 line, u32 column, const char *source, u32 source_line,
		  const char *name)
{
	const struct source_map_place *found = source_map_find(map, line, column);

	OK(found);
	STREQ(source_map_text(map, found->source), source);
	EQ(found->source_line, source_line);
	STREQ(source_map_text(map, found->name), name);
}

/* AAAAA: 0, 0, 0, 0, 0; IACEC: 4, 0, 1, 2, 1; D: -1; SCDA: 9, 1, -1, 0. */
#define PLAIN "\"version\":3,\"sources\":[\"a.ts\",\"b.ts\"],\"names\":[\"first\",\"second\"]," \
	      "\"sourcesContent\":[\"{\\\"[\",null],\"mappings\":\"AAAAA,IACEC,C;;SCDA\""

TEST(source_map_tells_lines_and_names)
{
	_cleanup_(freep) struct source_map *map = NULL;

	EQ(build("{" PLAIN "}", &map), 0);
	check(map, 0, 0, "a.ts", 0, "first");
	check(map, 0, 3, "a.ts", 0, "first");
	check(map, 0, 4, "a.ts", 1, "second");
	OK(!source_map_find(map, 0, 5));	/* comes from nowhere */
	OK(!source_map_find(map, 1, 0));
	OK(!source_map_find(map, 2, 8));
	check(map, 2, 9, "b.ts", 0, "");
	check(map, 2, 900, "b.ts", 0, "");
	OK(!source_map_find(map, 3, 0));
}

TEST(source_map_has_a_root_and_escapes)
{
	_cleanup_(freep) struct source_map *map = NULL;

	EQ(build(")]}'\n {\"mappings\" : \"AAAA,CCAAA\" , \"sources\" : [ \"\\u00fc\\\"\\/x\" , \"y\" ] , \"names\" :"
		 " [ \"\\ud83d\\n\" ] , \"sourceRoot\" : \"src\" }", &map), 0);
	check(map, 0, 0, "src/\xc3\xbc\"/x", 0, "");
	check(map, 0, 1, "src/y", 0, "\xef\xbf\xbd\n");
}

TEST(source_map_texts_end_at_a_nul_and_may_be_empty)
{
	_cleanup_(freep) struct source_map *map = NULL;

	EQ(build("{\"mappings\":\"AAAAA;ACAAA;AAAAC\",\"sources\":[\"a\\u0000b\",\"\\u0000c\"],"
		 "\"names\":[\"\\u0000d\",7]}", &map), 0);
	check(map, 0, 0, "a", 0, "");
	OK(!source_map_find(map, 1, 0));
	EQ(map->text_bytes, 3);		/* "", "a" */
}

TEST(source_map_has_sections)
{
	_cleanup_(freep) struct source_map *map = NULL;

	EQ(build("{\"version\":3,\"sections\":[{\"offset\":{\"line\":0,\"column\":0},\"map\":{" PLAIN "}},"
		 "{\"map\":{\"sources\":[\"c.ts\"],\"names\":[],\"mappings\":\"AAEA;CAAA\"},"
		 "\"offset\":{\"line\":2,\"column\":20}}]}", &map), 0);
	check(map, 0, 4, "a.ts", 1, "second");
	check(map, 2, 19, "b.ts", 0, "");
	check(map, 2, 20, "c.ts", 2, "");
	check(map, 3, 1, "c.ts", 2, "");
	OK(!source_map_find(map, 3, 0));
}

TEST(source_map_may_be_out_of_order_or_inline)
{
	_cleanup_(freep) struct source_map *map = NULL, *data = NULL;

	EQ(build("{\"sources\":[\"a\"],\"mappings\":\"UAAA,DACA,FACA\"}", &map), 0);	/* columns 10, 9, 7 */
	check(map, 0, 8, "a", 2, "");
	check(map, 0, 9, "a", 1, "");
	check(map, 0, 10, "a", 0, "");
	EQ(build("data:application/json;base64,eyJzb3VyY2VzIjpbImEiXSwibWFwcGluZ3MiOiJBQUFBIn0=", &data), 0);
	check(data, 0, 0, "a", 0, "");
}

TEST(source_map_that_is_none)
{
	static const char *const bad[] = {
		"", "{", "[]", "{}", "root:x:0:0:root:/root:/bin/sh\n", "{\"mappings\":7}", "{\"mappings\":\"A!\"}",
		"{\"mappings\":\"AAAAAAA\",\"sources\":[\"a\"]}", "{\"mappings\":\"ggggggggggg\",\"sources\":[\"a\"]}",
		"data:,{}", "data:application/json;base64,@", "{\"mappings\":\"AAAA", "{\"mappings\":\"\\",
		"{\"mappings\"", ")]}",
		"{\"sections\":[{\"map\":{\"sections\":[]}}]}",
	};
	char deep[200];
	struct source_map *map;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		OK(build(bad[i], &map) < 0);
	memset(deep, '[', sizeof(deep));
	EQ(source_map_build(deep, sizeof(deep), &map), -EBADMSG);
}

TEST(source_map_block_is_checked)
{
	_cleanup_(freep) struct source_map *map = NULL;

	EQ(build("{" PLAIN "}", &map), 0);
	EQ(source_map_check(map, map->bytes - 1), -EBADMSG);
	map->places[0].name = map->text_bytes;
	EQ(source_map_check(map, map->bytes), -EBADMSG);
	map->places[0].name = 0;
	map->places[0].line = 7;
	EQ(source_map_check(map, map->bytes), -EBADMSG);
	map->places[0].line = 0;
	map->place_count++;
	EQ(source_map_check(map, map->bytes), -EBADMSG);
}

TEST(source_map_survives_lack_of_memory)
{
	struct source_map *map;
	int r = -ENOMEM;

	for (long i = 0; r == -ENOMEM; i++) {
		test_alloc_fail(i);
		r = source_map_build("{" PLAIN "}", strlen("{" PLAIN "}"), &map);
		test_alloc_reset();
	}
	EQ(r, 0);
	free(map);
}
