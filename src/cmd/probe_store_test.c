// SPDX-License-Identifier: Apache-2.0
#include "cmd/probe_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cmd/findings.h"
#include "store/db.h"
#include "test.h"

#define NOW_NS (1800000000 * SECOND_NS)

static char directory[64], path[80];

static void remove_directory(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command) != 0)
		fprintf(stderr, "%s is left\n", directory);
}

static void make_directory(void)
{
	snprintf(directory, sizeof(directory), "/tmp/wick-probe-XXXXXX");
	OK(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/wick.db", directory);
	OK(atexit(remove_directory) == 0);
}

static const char *probe(enum finding_status status)
{
	static struct findings findings;

	findings = (struct findings){ 0 };
	probe_store(directory, NOW_NS, &findings);
	EQ(findings.count, 1);
	EQ(findings.at[0].status, status);
	return findings.at[0].text;
}

TEST(probe_store_tells_how_far_back_a_store_in_use_reaches)
{
	static const u64 ages[] = { 90 * SECOND_NS, 3 * 3600 * SECOND_NS, 50 * 3600 * SECOND_NS };
	_cleanup_(db_closep) struct db *db = NULL;
	struct buf why;
	s64 epoch;

	make_directory();
	buf_init(&why, 512);
	EQ(db_open(path, false, &db, &why), 0);
	EQ(db_add_epoch(db, NOW_NS, &epoch), 0);
	for (u32 level = 0; level < 3; level++)
		EQ(db_add_block(db, &(struct db_block){ .level = level, .epoch = epoch, .data = "x", .data_bytes = 1,
							.start_ns = NOW_NS - ages[level], .end_ns = NOW_NS }), 0);
	/* Somebody writes while it is asked. */
	EQ(db_begin(db), 0);
	OK(strstr(probe(FINDING_OK), "reaches back: blocks 90 seconds, 1 m 3.0 hours, 10 m 2.1 days, 1 h nothing yet"));
	EQ(db_commit(db), 0);
	buf_done(&why);
}

TEST(probe_store_says_that_there_is_none)
{
	make_directory();
	OK(strstr(probe(FINDING_OK), "none in "));
	EQ(access(path, F_OK), -1);
}

TEST(probe_store_says_that_it_is_broken)
{
	int fd;

	make_directory();
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	for (u32 i = 0; i < 300; i++)
		EQ(write(fd, "this is no database, is it?", 27), 27);
	close(fd);
	OK(strstr(probe(FINDING_WARN), "cannot be used"));
}
