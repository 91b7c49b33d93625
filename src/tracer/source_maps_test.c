// SPDX-License-Identifier: Apache-2.0
#include "tracer/source_maps.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "exe/background_reader.h"
#include "exe/source_map.h"
#include "lang/lang.h"
#include "test.h"

#define MAP "{\"sources\":[\"a.ts\"],\"mappings\":\"AAAA\"}"

static void write_file(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "we");
	OK(file && fputs(text, file) >= 0 && fclose(file) == 0 && chmod(path, mode) == 0);
}

/* Asks for a map, and once more when it is parsed, however long that takes. */
static int find_parsed(struct source_maps *maps, struct background_reader *reader, const struct lang_process *process,
		       struct lang_script script, const struct source_map **ret_map)
{
	struct pollfd done = { .fd = background_reader_fd(reader), .events = POLLIN };
	u64 before = source_maps_stats(maps).read + source_maps_stats(maps).failed;

	(void)source_maps_find(maps, process, &script, ret_map);
	while (source_maps_stats(maps).read + source_maps_stats(maps).failed == before) {
		EQ(poll(&done, 1, 10000), 1);
		background_reader_poll(reader, monotonic_ns());
	}
	script.url = NULL;
	return source_maps_find(maps, process, &script, ret_map);
}

TEST(source_maps_are_files_beside_scripts)
{
	_cleanup_(source_maps_freep) struct source_maps *maps = NULL;
	_cleanup_(background_reader_freep) struct background_reader *reader = NULL;
	struct lang_process process = { .pid = (u32)getpid(), .serial = 1 };
	char dir[] = "/tmp/wick-source-maps-XXXXXX", script[128], fifo[128];
	const struct source_map *map = NULL, *again = NULL;

	OK(mkdtemp(dir));
	EQ(background_reader_new(&reader), 0);
	maps = source_maps_new(reader);
	OK(maps);
	write_file(dir, "a.js", "", 0644);
	write_file(dir, "a.js.map", MAP, 0600);
	write_file(dir, "bad.map", "root:x", 0644);
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	EQ(mkfifo(fifo, 0666), 0);
	(void)snprintf(script, sizeof(script), "%s/a.js", dir);
	EQ(source_maps_find(maps, &process, &(struct lang_script){ 1, script, NULL }, &map), -ENOENT);
	EQ(find_parsed(maps, reader, &process, (struct lang_script){ 1, script, "a.js.map" }, &map), 0);
	STREQ(source_map_text(map, map->places[0].source), "a.ts");
	EQ(source_maps_find(maps, &process, &(struct lang_script){ 1, script, NULL }, &again), 0);
	OK(again == map);
	/* Another thread's script has the same number. */
	EQ(source_maps_find(maps, &process, &(struct lang_script){ 1, "/b.js", NULL }, &again), -ENOENT);
	/* Another process runs the same. */
	process.serial = 2;
	EQ(source_maps_find(maps, &process, &(struct lang_script){ 1, script, "x/../a.js.map" }, &again), -ENODATA);
	EQ(source_maps_find(maps, &process, &(struct lang_script){ 2, script, "a.js.map" }, &again), 0);
	OK(again == map);
	EQ(find_parsed(maps, reader, &process, (struct lang_script){ 3, script, "bad.map" }, &again), -ENODATA);
	EQ(source_maps_find(maps, &process, &(struct lang_script){ 4, script, "fifo" }, &again), -ENODATA);
	EQ(source_maps_find(maps, &process, &(struct lang_script){ 5, script, "http://x/a.map" }, &again), -ENODATA);
	EQ(source_maps_find(maps, &process, &(struct lang_script){ 6, "[eval]", "a.js.map" }, &again), -ENODATA);
	EQ(source_maps_find(maps, &process, &(struct lang_script){ 6, "[eval]", NULL }, &again), -ENODATA);
	EQ(source_maps_stats(maps).read, 2);
	EQ(source_maps_stats(maps).failed, 5);
	for (u32 i = 0; i < 4; i++) {
		static const char *const names[] = { "a.js", "a.js.map", "bad.map", "fifo" };

		(void)snprintf(fifo, sizeof(fifo), "%s/%s", dir, names[i]);
		EQ(unlink(fifo), 0);
	}
	EQ(rmdir(dir), 0);
}

TEST(source_maps_may_be_pdbs_of_assemblies)
{
	_cleanup_(source_maps_freep) struct source_maps *maps = NULL;
	_cleanup_(background_reader_freep) struct background_reader *reader = NULL;
	struct lang_process process = { .pid = (u32)getpid(), .serial = 1 };
	char dir[4000], beside[4096], packed[4096];
	const struct source_map *map = NULL;

	OK(getcwd(dir, sizeof(dir)));
	EQ(background_reader_new(&reader), 0);
	maps = source_maps_new(reader);
	OK(maps);
	(void)snprintf(beside, sizeof(beside), "%s/test/corpus/portable_pdb/Small.dll", dir);
	(void)snprintf(packed, sizeof(packed), "%s/test/corpus/portable_pdb/embedded.dll", dir);
	EQ(find_parsed(maps, reader, &process, (struct lang_script){ 0, packed, "compiler.pdb" }, &map), 0);
	OK(source_map_find(map, 1, 0));
	EQ(map->id[0], 0x33);
	process.serial = 2;
	EQ(find_parsed(maps, reader, &process, (struct lang_script){ 0, packed, "embedded.dll" }, &map), 0);
	OK(source_map_find(map, 1, 0));
	/* An assembly that is no more. */
	EQ(source_maps_find(maps, &process, &(struct lang_script){ 0, beside, "compiler.pdb" }, &map), -ENODATA);
}
