// SPDX-License-Identifier: Apache-2.0
#include "store/series.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "proc/host.h"
#include "store/sqlite.h"
#include "test.h"

#define HOUR_NS (3600 * SECOND_NS)
#define START_NS (500000 * HOUR_NS)	/* a whole hour, in 2027 */
#define WINDOW (5 * SECOND_NS)

static char directory[64];

static void remove_directory(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (directory[0] && system(command) != 0)
		fprintf(stderr, "%s is left\n", directory);
}

static struct store *open_store(u64 bytes_max)
{
	struct store *store = NULL;
	struct buf why, notice;

	if (!directory[0]) {
		snprintf(directory, sizeof(directory), "/tmp/wick-series-XXXXXX");
		OK(mkdtemp(directory));
		OK(atexit(remove_directory) == 0);
	}
	buf_init(&why, 512);
	buf_init(&notice, 512);
	EQ(store_open(&(struct store_options){ directory, bytes_max, 1000 * HOUR_NS, .host = "here" }, &store, &why,
		      &notice), 0);
	EQ(notice.len, 0);
	buf_done(&why);
	buf_done(&notice);
	return store;
}

/* Busy with as many thousandths of a CPU as windows have passed in their minute. */
static struct series_row row_at(u64 start_ns)
{
	struct series_row row = { .start_ns = start_ns, .end_ns = start_ns + WINDOW };
	u64 n = start_ns / WINDOW % 12;

	row.numbers[SERIES_CPUS] = 4;
	row.numbers[SERIES_BUSY] = row.numbers[SERIES_BUSY_PEAK] = n;
	row.numbers[SERIES_MEMORY_TOTAL] = 1 << 30;
	row.top[SERIES_BY_CPU].count = 1;
	row.top[SERIES_BY_CPU].at[0] = (struct series_process){ .pid = 12, .amount = n + 1, .name = "prog" };
	return row;
}

static void add_rows(struct store *store, u64 from_ns, u64 to_ns)
{
	for (u64 t = from_ns; t < to_ns; t += WINDOW) {
		struct series_row row = row_at(t);

		EQ(series_add(store, &row), 0);
	}
}

static u64 sum_of(struct store *store, u64 from_ns, u64 to_ns, u32 rows_max, u32 *ret_rows)
{
	struct series_rows rows;
	u64 sum = 0;

	EQ(series_read(store, "", from_ns, to_ns, rows_max, &rows), 0);
	EQ(rows.broken, 0);
	for (u32 i = 0; i < rows.count; i++) {
		OK(i == 0 || rows.at[i].start_ns >= rows.at[i - 1].end_ns);
		sum += rows.at[i].end_ns - rows.at[i].start_ns;
	}
	*ret_rows = rows.count;
	series_rows_done(&rows);
	return sum;
}

TEST(series_row_is_what_happened_between_two_samples)
{
	struct host_sample before = { .monotonic_ns = SECOND_NS, .cpu_count = 2 }, now = before;
	struct series_row row;

	before.cpu_ns[HOST_CPU_USER] = 7 * SECOND_NS;
	now.monotonic_ns += 5 * SECOND_NS;
	now.cpu_ns[HOST_CPU_USER] = 11 * SECOND_NS;
	now.cpu_ns[HOST_CPU_SYSTEM] = SECOND_NS;
	now.cpu_ns[HOST_CPU_IDLE] = 4 * SECOND_NS;
	now.cpu_ns[HOST_CPU_IOWAIT] = SECOND_NS;
	now.memory_total_bytes = 1000;
	now.memory_available_bytes = 300;
	now.load[0] = 1.25;
	now.by_cpu_count = 1;
	now.by_cpu[0] = (struct host_process){ .pid = 9, .cpus = 0.75, .name = "a b" };
	series_row_measure(&before, &now, START_NS, &row);
	EQ(row.end_ns - row.start_ns, 5 * SECOND_NS);
	EQ(row.numbers[SERIES_BUSY], 1000);
	EQ(row.numbers[SERIES_IOWAIT], 200);
	EQ(row.numbers[SERIES_MEMORY_USED], 700);
	EQ(row.numbers[SERIES_LOAD], 1250);
	EQ(row.top[SERIES_BY_CPU].count, 1);
	EQ(row.top[SERIES_BY_CPU].at[0].amount, 750);
	/* A CPU that went away takes its time with it. */
	now.cpu_ns[HOST_CPU_USER] = 0;
	series_row_measure(&before, &now, START_NS, &row);
	EQ(row.numbers[SERIES_BUSY], 200);
}

TEST(series_rows_join_by_time)
{
	struct series_row rows[2] = { row_at(START_NS), row_at(START_NS + WINDOW) }, joined;

	rows[0].numbers[SERIES_BUSY] = 1000;
	rows[1].numbers[SERIES_BUSY] = rows[1].numbers[SERIES_BUSY_PEAK] = 4000;
	rows[1].end_ns += WINDOW;
	rows[0].top[SERIES_BY_MEMORY].count = 1;
	rows[0].top[SERIES_BY_MEMORY].at[0] = (struct series_process){ 12, 500, "prog" };
	rows[1].top[SERIES_BY_CPU].count = 2;
	rows[1].top[SERIES_BY_CPU].at[0] = (struct series_process){ 13, 900, "late" };
	rows[1].top[SERIES_BY_CPU].at[1] = (struct series_process){ 12, 4, "prog" };
	EQ(series_row_join(rows, 2, &joined), 0);
	EQ(joined.numbers[SERIES_BUSY], 3000);
	EQ(joined.numbers[SERIES_BUSY_PEAK], 4000);
	EQ(joined.numbers[SERIES_CPUS], 4);
	EQ(joined.top[SERIES_BY_CPU].count, 2);
	STREQ(joined.top[SERIES_BY_CPU].at[0].name, "late");
	EQ(joined.top[SERIES_BY_CPU].at[0].amount, 600);
	EQ(joined.top[SERIES_BY_CPU].at[1].amount, 3);
	EQ(joined.top[SERIES_BY_MEMORY].at[0].amount, 500);
}

TEST(series_row_comes_back_from_disk)
{
	struct series_row row = row_at(START_NS), again = { .start_ns = row.start_ns, .end_ns = row.end_ns };
	struct buf packed;

	row.top[SERIES_BY_MEMORY].count = SERIES_TOP;
	for (u32 i = 0; i < SERIES_TOP; i++) {
		row.top[SERIES_BY_MEMORY].at[i] = (struct series_process){ .pid = UINT32_MAX, .amount = UINT64_MAX };
		memset(row.top[SERIES_BY_MEMORY].at[i].name, 0xff, SERIES_NAME_BYTES - 1);
	}
	row.top[SERIES_BY_CPU] = row.top[SERIES_BY_MEMORY];
	for (u32 i = 0; i < SERIES_NUMBER_COUNT; i++)
		row.numbers[i] = UINT64_MAX;
	buf_init(&packed, SERIES_ROW_BYTES);
	series_row_pack(&row, &packed);
	EQ(buf_err(&packed), 0);
	EQ(series_row_unpack(packed.data, packed.len, &again), 0);
	EQ(memcmp(&row, &again, sizeof(row)), 0);
	for (size_t i = 0; i < packed.len; i++)
		EQ(series_row_unpack(packed.data, i, &again), -EBADMSG);
	buf_done(&packed);
}

TEST(series_are_rolled_up_without_gaps)
{
	_cleanup_(store_closep) struct store *store = open_store(0);
	u64 end_ns = START_NS + 2 * HOUR_NS + 777 * SECOND_NS / 5 / WINDOW * WINDOW;
	struct series_rows rows;
	u32 count;

	add_rows(store, START_NS, end_ns);
	EQ(sum_of(store, START_NS, end_ns, 100000, &count), end_ns - START_NS);
	EQ(count, (end_ns - START_NS) / WINDOW);
	/* Minutes, and the windows of the one that is not over. */
	EQ(sum_of(store, START_NS, end_ns, 200, &count), end_ns - START_NS);
	OK(count < 200);
	EQ(sum_of(store, START_NS, end_ns, 5, &count), end_ns - START_NS);
	OK(count < 30);
	EQ(series_read(store, "here", START_NS, START_NS + HOUR_NS, 100, &rows), 0);
	EQ(rows.at[0].numbers[SERIES_BUSY], 6);		/* 5.5, rounded */
	EQ(rows.at[0].numbers[SERIES_BUSY_PEAK], 11);
	EQ(rows.at[0].top[SERIES_BY_CPU].at[0].pid, 12);
	series_rows_done(&rows);
	EQ(series_read(store, "elsewhere", START_NS, end_ns, 100, &rows), 0);
	EQ(rows.count, 0);
	series_rows_done(&rows);
}

TEST(series_get_coarser_before_they_go)
{
	_cleanup_(store_closep) struct store *store = open_store(1 << 20);
	u64 end_ns = START_NS + 4 * HOUR_NS, covered_ns;
	u32 count;

	/* The least that a level keeps is 64 rows, and what comes in ten minutes. */
	add_rows(store, START_NS, end_ns);
	covered_ns = sum_of(store, START_NS, end_ns, 100000, &count);
	OK(count < 300);
	EQ(covered_ns, 4 * HOUR_NS);
	(void)sum_of(store, end_ns - 60 * SECOND_NS, end_ns, 100000, &count);
	EQ(count, 12);
}

TEST(series_forget_a_clock_that_was_wrong)
{
	_cleanup_(store_closep) struct store *store = open_store(0);
	u32 count;

	add_rows(store, START_NS + 5000 * HOUR_NS, START_NS + 5000 * HOUR_NS + 70 * SECOND_NS);
	add_rows(store, START_NS, START_NS + 190 * SECOND_NS);
	EQ(sum_of(store, START_NS, START_NS + 9000 * HOUR_NS, UINT32_MAX, &count), 190 * SECOND_NS);
	EQ(sum_of(store, START_NS, START_NS + HOUR_NS, 60, &count), 190 * SECOND_NS);
	EQ(count, 3 + 2);
}

TEST(series_refuse_rows_without_time)
{
	_cleanup_(store_closep) struct store *store = open_store(0);
	struct series_row row = row_at(START_NS);

	row.end_ns = row.start_ns;
	EQ(series_add(store, &row), -EINVAL);
}

TEST(series_of_a_killed_process_are_there)
{
	int ready[2], status;
	char byte;
	pid_t pid;
	u32 count;

	/* The directory is the parent's to remove. */
	store_close(open_store(0));
	EQ(pipe(ready), 0);
	pid = fork();
	OK(pid >= 0);
	if (pid == 0) {
		struct store *store = open_store(0);

		for (u64 t = START_NS;; t += WINDOW) {
			struct series_row row = row_at(t);

			if (series_add(store, &row) < 0 || write(ready[1], "x", 1) != 1)
				_exit(1);
		}
	}
	close(ready[1]);
	for (u32 i = 0; i < 200; i++)
		EQ(read(ready[0], &byte, 1), 1);
	EQ(kill(pid, SIGKILL), 0);
	EQ(waitpid(pid, &status, 0), pid);
	OK(WIFSIGNALED(status));
	close(ready[0]);
	{
		_cleanup_(store_closep) struct store *store = open_store(0);
		u64 covered_ns = sum_of(store, START_NS, START_NS + 1000 * HOUR_NS, UINT32_MAX, &count);

		/* All that it was told of are there, and no half row. */
		OK(count >= 200);
		EQ(covered_ns, count * WINDOW);
		add_rows(store, START_NS + count * WINDOW, START_NS + (count + 12) * WINDOW);
	}
}

TEST(series_rows_without_memory)
{
	struct series_row rows[2] = { row_at(START_NS), row_at(START_NS + WINDOW) }, joined;
	int r = -ENOMEM;

	for (long n = 0; r == -ENOMEM; n++) {
		test_alloc_fail(n);
		r = series_row_join(rows, 2, &joined);
		(void)test_alloc_reset();
		OK(n < 100);
	}
	EQ(r, 0);
}

/* ---- Other hosts -------------------------------------------------------------------------- */

static int add_other(struct store *store, const char *host, u64 start_ns, u64 now_ns)
{
	struct series_row row = row_at(start_ns);

	return series_add_other(store, &(struct series_other){ .host = host, .parts = 1, .now_ns = now_ns }, &row);
}

static u32 count_of(struct store *store, const char *host)
{
	struct series_rows rows;
	u32 count;

	EQ(series_read(store, host, 0, START_NS + 9000 * HOUR_NS, UINT32_MAX, &rows), 0);
	count = rows.count;
	series_rows_done(&rows);
	return count;
}

TEST(series_of_other_hosts_have_rows_of_their_own)
{
	_cleanup_(store_closep) struct store *store = open_store(0);
	u32 count;

	for (u64 t = START_NS; t < START_NS + 700 * SECOND_NS; t += WINDOW) {
		EQ(add_other(store, "there", t, t), 0);
		EQ(add_other(store, "beyond", t + WINDOW / 2, t), 0);
	}
	EQ(count_of(store, ""), 0);
	EQ(count_of(store, "there"), 140);
	add_rows(store, START_NS, START_NS + 60 * SECOND_NS);
	EQ(sum_of(store, START_NS, START_NS + HOUR_NS, 1000, &count), 60 * SECOND_NS);
	EQ(count_of(store, "beyond"), 140);
}

TEST(series_of_other_hosts_are_news_to_pages)
{
	_cleanup_(store_closep) struct store *store = open_store(0);
	u64 before = store_generation(store);

	EQ(add_other(store, "there", START_NS, START_NS), 0);
	OK(store_generation(store) > before);
}

TEST(series_of_another_host_do_not_touch_those_of_the_first)
{
	_cleanup_(store_closep) struct store *store = open_store(0);

	/* Not even by rows of long ago, or so many that all hosts are looked through. */
	for (u64 t = START_NS; t < START_NS + 600 * SECOND_NS; t += WINDOW)
		EQ(add_other(store, "there", t, t), 0);
	for (u32 i = 0; i < 1100; i++)
		EQ(add_other(store, "old", START_NS - 24 * HOUR_NS + i * WINDOW, START_NS + 600 * SECOND_NS), 0);
	EQ(count_of(store, "there"), 120);
}

TEST(series_of_other_hosts_keep_their_part)
{
	_cleanup_(store_closep) struct store *store = open_store(64 << 20);
	struct series_other other = { .host = "there", .parts = 20 };

	/* 64 MiB / 8 / 1280 / 4 levels / 20 are 81 rows; and those of the ten minutes that are not over. */
	for (u64 t = START_NS; t < START_NS + 2 * HOUR_NS; t += WINDOW) {
		struct series_row row = row_at(t);

		other.now_ns = t;
		EQ(series_add_other(store, &other, &row), 0);
	}
	OK(count_of(store, "there") < 81 + 121 + 120);
	/* Rows whose time stands still are trimmed when the caller says so. */
	for (u32 i = 0; i < 1000; i++) {
		struct series_row row = row_at(START_NS + 2 * HOUR_NS);

		row.start_ns -= i + 1;
		other.is_time_to_trim = i % 100 == 0;
		EQ(series_add_other(store, &other, &row), 0);
	}
	OK(count_of(store, "there") < 81 + 100 + 240);
}

TEST(series_of_too_many_hosts_are_refused_until_one_was_silent)
{
	_cleanup_(store_closep) struct store *store = open_store(4 << 20);
	char name[32];

	/* 4 MiB / 8 / 1280 / 4 / 64 rows: one host. */
	EQ(add_other(store, "a", START_NS, START_NS), 0);
	EQ(add_other(store, "b", START_NS, START_NS), -EDQUOT);
	EQ(add_other(store, "a", START_NS + WINDOW, START_NS + WINDOW), 0);
	EQ(add_other(store, "here", START_NS, START_NS), 0);
	EQ(add_other(store, "b", START_NS + 2 * HOUR_NS, START_NS + 2 * HOUR_NS), 0);
	EQ(count_of(store, "a"), 0);
	EQ(count_of(store, "b"), 1);
	EQ(count_of(store, "here"), 1);
	for (u32 i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "flood%u", i);
		EQ(add_other(store, name, START_NS + 2 * HOUR_NS, START_NS + 2 * HOUR_NS), -EDQUOT);
	}
	EQ(count_of(store, "b"), 1);
}

TEST(series_of_hosts_that_are_gone_go_in_time)
{
	_cleanup_(store_closep) struct store *store = open_store(0);
	u64 later_ns = START_NS + 1001 * HOUR_NS;

	EQ(add_other(store, "gone", START_NS, START_NS), 0);
	for (u32 i = 0; i < 1100; i++)
		EQ(add_other(store, "there", later_ns + i * WINDOW, later_ns + i * WINDOW), 0);
	EQ(count_of(store, "gone"), 0);
}

TEST(series_refuse_hosts_without_a_name_and_rows_that_are_too_long)
{
	_cleanup_(store_closep) struct store *store = open_store(0);
	struct series_row row = row_at(START_NS);
	char name[400];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	EQ(add_other(store, "", START_NS, START_NS), -EINVAL);
	EQ(add_other(store, name, START_NS, START_NS), -EINVAL);
	row.end_ns = row.start_ns + 61 * SECOND_NS;
	EQ(series_add_other(store, &(struct series_other){ .host = "a", .parts = 1 }, &row), -EINVAL);
}

/* ---- Layouts ----------------------------------------------------------------------------- */

/* What a wick of the first layout left behind. */
static void make_first_layout(void)
{
	char path[128];
	sqlite3 *file;

	snprintf(path, sizeof(path), "%s/wick.db", directory);
	EQ(sqlite3_open(path, &file), SQLITE_OK);
	EQ(sqlite3_exec(file, "DROP TABLE note; DROP TABLE series; DROP TABLE name; DROP TABLE exe; "
			"ALTER TABLE block DROP COLUMN details; PRAGMA user_version = 1", NULL, NULL, NULL),
	   SQLITE_OK);
	EQ(sqlite3_close(file), SQLITE_OK);
}

TEST(series_come_to_a_store_of_the_first_layout)
{
	struct store *store = open_store(0);
	struct db *db = NULL;
	char path[128];
	struct buf why;
	u32 count;
	s64 epoch;
	u64 first_ns;

	EQ(db_add_epoch(sqlite_store(store)->db, START_NS, &epoch), 0);
	EQ(db_add_block(sqlite_store(store)->db,
			&(struct db_block){ .level = 2, .epoch = epoch, .start_ns = START_NS, .end_ns = START_NS,
					    .data = "x", .data_bytes = 1 }), 0);
	store_close(store);
	make_first_layout();
	/* Who only reads leaves it as it is. */
	buf_init(&why, 512);
	snprintf(path, sizeof(path), "%s/wick.db", directory);
	EQ(db_open(path, true, &db, &why), 0);
	EQ(db_has_epoch(db, epoch), 1);
	db_close(db);
	buf_done(&why);

	store = open_store(0);
	EQ(db_has_epoch(sqlite_store(store)->db, epoch), 1);
	/* Blocks of that layout cannot be read: there are none now. */
	EQ(db_first(sqlite_store(store)->db, 2, &first_ns), 0);
	EQ(first_ns, UINT64_MAX);
	add_rows(store, START_NS, START_NS + 60 * SECOND_NS);
	EQ(sum_of(store, START_NS, START_NS + HOUR_NS, 1000, &count), 60 * SECOND_NS);
	store_close(store);
}
