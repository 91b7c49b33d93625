// SPDX-License-Identifier: Apache-2.0
#include "pipeline/storage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "test.h"

#define OWNER "exporter/otlp/a b"
#define OWNER_DIRECTORY "exporter_2fotlp_2fa_20b"

struct place {
	char directory[64], inner[128];
};

static void place_init(struct place *place)
{
	snprintf(place->directory, sizeof(place->directory), "/tmp/wick-storage-XXXXXX");
	OK(mkdtemp(place->directory));
	snprintf(place->inner, sizeof(place->inner), "%s/" OWNER_DIRECTORY, place->directory);
}

static u32 count_files(const struct place *place, bool removes)
{
	DIR *dir = opendir(place->inner);
	struct dirent *entry;
	char path[512];
	u32 count = 0;

	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		count += !!strcmp(entry->d_name, "lock");
		snprintf(path, sizeof(path), "%s/%s", place->inner, entry->d_name);
		if (removes)
			EQ(unlink(path), 0);
	}
	if (dir)
		closedir(dir);
	return count;
}

static void place_done(struct place *place)
{
	(void)count_files(place, true);
	(void)rmdir(place->inner);
	EQ(rmdir(place->directory), 0);
}

static struct storage *open_with(const struct place *place, struct storage_options options)
{
	struct storage *storage = NULL;
	struct buf why;

	buf_init(&why, 512);
	if (storage_open(place->directory, OWNER, &options, &storage, &why) < 0)
		FAIL("%s", why.data);
	buf_done(&why);
	return storage;
}

static struct storage *open_again(const struct place *place)
{
	return open_with(place, (struct storage_options){ 0 });
}

TEST(storage_gives_back_what_was_put)
{
	struct storage *storage;
	u64 ids[3], samples = 0;
	struct place place;
	struct buf b;

	place_init(&place);
	storage = open_with(&place, (struct storage_options){ .sync = true });
	EQ(storage_put(storage, "one", 3, 11, &ids[0]), 0);
	EQ(storage_put(storage, "", 0, 12, &ids[1]), 0);
	EQ(storage_put(storage, "three", 5, 13, &ids[2]), 0);
	OK(ids[0] < ids[1] && ids[1] < ids[2]);
	buf_init(&b, 64);
	EQ(storage_get(storage, ids[2], &b, &samples), 0);
	EQ(samples, 13);
	EQ(b.len, 5);
	OK(!memcmp(b.data, "three", 5));
	EQ(storage_get(storage, ids[1], &b, &samples), 0);
	EQ(b.len, 5);
	storage_remove(storage, ids[0], 3);
	EQ(storage_get(storage, ids[0], &b, &samples), -ENOENT);
	EQ(count_files(&place, false), 2);
	storage_close(storage);
	buf_done(&b);
	place_done(&place);
}

TEST(storage_tells_what_was_left_behind_by_age)
{
	const struct storage_record *records;
	struct storage *storage;
	struct place place;
	u64 id;

	place_init(&place);
	storage = open_again(&place);
	for (u32 i = 1; i <= 20; i++)
		EQ(storage_put(storage, "0123456789", i % 10, i, &id), 0);
	storage_close(storage);
	storage = open_again(&place);
	EQ(storage_left_behind(storage, &records), 20);
	for (u32 i = 0; i < 20; i++) {
		EQ(records[i].id, i + 1);
		EQ(records[i].samples, i + 1);
		EQ(records[i].bytes, (i + 1) % 10);
	}
	EQ(storage_put(storage, "x", 1, 1, &id), 0);
	EQ(id, 21);
	EQ(storage_damaged_count(storage), 0);
	storage_close(storage);
	place_done(&place);
}

TEST(storage_is_one_owners_at_a_time)
{
	struct storage *storage, *other = NULL;
	struct place place;
	struct buf why;

	place_init(&place);
	buf_init(&why, 512);
	storage = open_again(&place);
	EQ(storage_open(place.directory, OWNER, &(struct storage_options){ 0 }, &other, &why), -EBUSY);
	OK(strstr(why.data, "another process keeps the queue of"));
	storage_close(storage);
	storage_close(open_again(&place));
	buf_done(&why);
	place_done(&place);
}

TEST(storage_keeps_to_its_limit)
{
	struct storage *storage;
	struct place place;
	u64 id, first;

	place_init(&place);
	storage = open_with(&place, (struct storage_options){ .bytes_max = 2 * (STORAGE_HEADER_BYTES + 10) });
	EQ(storage_put(storage, "0123456789", 10, 1, &first), 0);
	EQ(storage_put(storage, "0123456789", 10, 1, &id), 0);
	EQ(storage_put(storage, "", 0, 1, &id), -EDQUOT);
	storage_remove(storage, first, 10);
	EQ(storage_put(storage, "0123456789", 10, 1, &id), 0);
	storage_close(storage);
	EQ(count_files(&place, false), 2);
	place_done(&place);
}

/* A disk that is full: the limit of a file's size gives the same error of write(), without a disk to fill. */
TEST(storage_leaves_nothing_behind_when_the_disk_is_full)
{
	static const char payload[4096];
	struct storage *storage;
	struct place place;
	u64 id;

	place_init(&place);
	storage = open_again(&place);
	signal(SIGXFSZ, SIG_IGN);
	EQ(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1000, RLIM_INFINITY }), 0);
	EQ(storage_put(storage, payload, sizeof(payload), 1, &id), -EFBIG);
	EQ(count_files(&place, false), 0);
	EQ(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }), 0);
	EQ(storage_put(storage, payload, sizeof(payload), 1, &id), 0);
	storage_close(storage);
	place_done(&place);
}

static void write_file(const struct place *place, const char *name, const void *at, size_t bytes)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", place->inner, name);
	file = fopen(path, "w");
	OK(file);
	EQ(fwrite(at, 1, bytes, file), bytes);
	EQ(fclose(file), 0);
}

static size_t read_record(const struct place *place, char *out, size_t room)
{
	char path[256];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%016x.rec", place->inner, 1);
	file = fopen(path, "r");
	OK(file);
	n = fread(out, 1, room, file);
	fclose(file);
	return n;
}

/* What a reader finds after a record was cut or changed at one place: it is gone, or refused, never wrong. */
static void expect_damaged(const struct place *place, const char *record, size_t bytes)
{
	const struct storage_record *records;
	struct storage *storage;
	u64 samples;
	struct buf b;

	write_file(place, "0000000000000001.rec", record, bytes);
	storage = open_again(place);
	buf_init(&b, 1024);
	if (storage_left_behind(storage, &records)) {
		EQ(storage_get(storage, 1, &b, &samples), -EBADMSG);
		EQ(b.len, 0);
		storage_remove(storage, 1, records[0].bytes);
	} else {
		EQ(storage_damaged_count(storage), 1);
	}
	EQ(count_files(place, false), 0);
	storage_close(storage);
	buf_done(&b);
}

TEST(storage_refuses_a_record_cut_or_changed_anywhere)
{
	struct storage *storage;
	char record[256];
	struct place place;
	size_t bytes;
	u64 id;

	place_init(&place);
	storage = open_again(&place);
	EQ(storage_put(storage, "some payload", 12, 3, &id), 0);
	storage_close(storage);
	bytes = read_record(&place, record, sizeof(record));
	EQ(bytes, STORAGE_HEADER_BYTES + 12);
	for (size_t i = 0; i < bytes; i++)
		expect_damaged(&place, record, i);
	for (size_t i = 0; i < bytes; i++) {
		record[i] ^= 0x10;
		expect_damaged(&place, record, bytes);
		record[i] ^= 0x10;
	}
	expect_damaged(&place, record, bytes + 1);
	place_done(&place);
}

TEST(storage_removes_what_is_no_record)
{
	const struct storage_record *records;
	struct storage *storage;
	char path[256];
	struct place place;

	place_init(&place);
	storage_close(open_again(&place));
	write_file(&place, "new-123-4", "half", 4);	/* of a process that was killed: nothing was promised */
	write_file(&place, "0000000000000000.rec", "", 0);
	write_file(&place, "ffffffffffffffff.rec", "", 0);
	write_file(&place, "something", "else", 4);
	snprintf(path, sizeof(path), "%s/0000000000000002.rec", place.inner);
	EQ(symlink("/etc/passwd", path), 0);
	storage = open_again(&place);
	EQ(storage_left_behind(storage, &records), 0);
	EQ(storage_damaged_count(storage), 4);
	EQ(count_files(&place, false), 0);
	storage_close(storage);
	place_done(&place);
}

/* A process that is killed while it writes: each record that it was told to be safe is there, and whole. */
TEST(storage_survives_kill_9)
{
	const struct storage_record *records;
	struct storage *storage;
	int pipes[2], status;
	struct place place;
	u64 last = 0, got, samples;
	struct buf b;
	pid_t pid;
	u32 count;

	place_init(&place);
	EQ(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		storage = open_again(&place);
		for (u64 id;;) {
			if (storage_put(storage, "0123456789", 10, 1, &id) < 0 || write(pipes[1], &id, sizeof(id)) < 0)
				_exit(1);
		}
	}
	close(pipes[1]);
	while (last < 200 && read(pipes[0], &got, sizeof(got)) == sizeof(got))
		last = got;
	EQ(kill(pid, SIGKILL), 0);
	EQ(waitpid(pid, &status, 0), pid);
	while (read(pipes[0], &got, sizeof(got)) == sizeof(got))
		last = got;
	storage = open_again(&place);
	count = storage_left_behind(storage, &records);
	OK(count >= last && count <= last + 1);
	EQ(storage_damaged_count(storage), 0);
	buf_init(&b, 1 << 20);
	for (u32 i = 0; i < count; i++)
		EQ(storage_get(storage, records[i].id, &b, &samples), 0);
	EQ(b.len, count * 10);
	buf_done(&b);
	storage_close(storage);
	place_done(&place);
}
