// SPDX-License-Identifier: Apache-2.0
#include "symbol/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <seccomp.h>
#include <zlib.h>

#include "proc/root_file.h"
#include "test.h"

/* A root directory with a program in it: this one, which has symbols and a build id. */
struct tree {
	char dir[40];
	int root_fd, exe_fd;
	struct reader *reader;
	struct exe_info info;
};

static void make_dirs(const struct tree *t, const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s%s", t->dir, path);
	for (char *slash = strchr(full + strlen(t->dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		OK(mkdir(full, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
}

/* Copies this program, which is followed by some more bytes, to a place in the tree. */
static void put_copy(const struct tree *t, const char *path, const char *more)
{
	char full[512], part[65536];
	int from = open("/proc/self/exe", O_RDONLY), to;
	ssize_t n;

	make_dirs(t, path);
	snprintf(full, sizeof(full), "%s%s", t->dir, path);
	to = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	OK(from >= 0 && to >= 0);
	while ((n = read(from, part, sizeof(part))) > 0)
		EQ(write(to, part, n), n);
	EQ(write(to, more, strlen(more)), strlen(more));
	close(from);
	close(to);
}

static void tree_init(struct tree *t)
{
	snprintf(t->dir, sizeof(t->dir), "/tmp/wick-debugfile-XXXXXX");
	OK(mkdtemp(t->dir));
	t->root_fd = open(t->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	t->exe_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	EQ(reader_start(0, &t->reader), 0);
	EQ(reader_identify(t->reader, t->exe_fd, &t->info), 0);
	if (!t->info.build_id_bytes) {
		t->info.build_id_bytes = 0;
		SKIP("this program was linked without a build id");
	}
}

static void tree_done(struct tree *t)
{
	pid_t pid;

	reader_free(t->reader);
	close(t->root_fd);
	close(t->exe_fd);
	pid = fork();
	if (pid == 0)
		execlp("rm", "rm", "-rf", t->dir, NULL);
	waitpid(pid, NULL, 0);
}

static void build_id_path(const struct exe_info *info, char *path, size_t size)
{
	int len = snprintf(path, size, "/usr/lib/debug/.build-id/%02x/", info->build_id[0]);

	for (u8 i = 1; i < info->build_id_bytes; i++)
		len += snprintf(path + len, size - len, "%02x", info->build_id[i]);
	snprintf(path + len, size - len, ".debug");
}

/* Where the debug file was found, or "-". */
static const char *find(const struct tree *t, const struct exe_info *info, const char *path)
{
	static struct debugfile file;
	struct debugfile_want want = { info, path, t->exe_fd };
	int roots[] = { -1, t->root_fd };

	if (debugfile_find(t->reader, &want, roots, 2, &file) < 0)
		return "-";
	close(file.fd);
	return file.path;
}

TEST(debugfile_is_found_by_build_id)
{
	char path[256];
	struct tree t;

	tree_init(&t);
	STREQ(find(&t, &t.info, "/bin/x"), "-");
	build_id_path(&t.info, path, sizeof(path));
	put_copy(&t, path, "");
	STREQ(find(&t, &t.info, "/bin/x"), path);
	tree_done(&t);
}

TEST(debugfile_with_another_build_id_is_refused)
{
	struct exe_info other;
	char path[256];
	struct tree t;

	tree_init(&t);
	other = t.info;
	other.build_id[3] ^= 1;
	build_id_path(&other, path, sizeof(path));
	put_copy(&t, path, "");
	STREQ(find(&t, &other, "/bin/x"), "-");
	tree_done(&t);
}

TEST(debugfile_is_found_by_debuglink_in_three_places)
{
	static const char *const places[] = { "/usr/lib/debug/opt/app/app.debug", "/opt/app/.debug/app.debug",
					      "/opt/app/app.debug" };
	struct tree t;

	tree_init(&t);
	snprintf(t.info.debuglink, sizeof(t.info.debuglink), "app.debug");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		put_copy(&t, places[i], "");
		STREQ(find(&t, &t.info, "/opt/app/app"), places[i]);
	}
	snprintf(t.info.debuglink, sizeof(t.info.debuglink), "../app/app.debug");
	STREQ(find(&t, &t.info, "/opt/app/app"), "-");
	tree_done(&t);
}

static u32 crc_of(const char *dir, const char *path)
{
	char full[512];
	u8 part[65536];
	u32 crc = 0;
	size_t n;
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", dir, path);
	file = fopen(full, "r");
	OK(file);
	while ((n = fread(part, 1, sizeof(part), file)))
		crc = crc32(crc, part, n);
	fclose(file);
	return crc;
}

TEST(debugfile_without_build_id_needs_the_right_checksum)
{
	struct tree t;

	tree_init(&t);
	snprintf(t.info.debuglink, sizeof(t.info.debuglink), "app.debug");
	t.info.build_id_bytes = 0;
	put_copy(&t, "/opt/app.debug", "");
	t.info.debuglink_crc = crc_of(t.dir, "/opt/app.debug");
	STREQ(find(&t, &t.info, "/opt/app"), "/opt/app.debug");
	put_copy(&t, "/opt/app.debug", "x");
	STREQ(find(&t, &t.info, "/opt/app"), "-");
	tree_done(&t);
}

TEST(debugfile_alt_is_found_by_id_or_by_path)
{
	struct exe_info info = { 0 };
	char path[256];
	struct tree t;
	int fd;

	tree_init(&t);
	memcpy(info.altlink_id, t.info.build_id, t.info.build_id_bytes);
	info.altlink_id_bytes = t.info.build_id_bytes;
	snprintf(info.altlink, sizeof(info.altlink), "../../.dwz/common.debug");
	EQ(debugfile_find_alt(t.reader, &info, "/usr/lib/debug/a/b/x.debug", &t.root_fd, 1), -ENOENT);
	put_copy(&t, "/usr/lib/debug/.dwz/common.debug", "");
	make_dirs(&t, "/usr/lib/debug/a/b/x.debug");
	fd = debugfile_find_alt(t.reader, &info, "/usr/lib/debug/a/b/x.debug", &t.root_fd, 1);
	OK(fd >= 0);
	close(fd);
	snprintf(info.altlink, sizeof(info.altlink), "/nowhere");
	build_id_path(&t.info, path, sizeof(path));
	put_copy(&t, path, "");
	fd = debugfile_find_alt(t.reader, &info, "/usr/lib/debug/a/b/x.debug", &t.root_fd, 1);
	OK(fd >= 0);
	close(fd);
	tree_done(&t);
}

TEST(debugfile_never_leaves_its_root)
{
	char full[128];
	struct tree t;
	int fd;

	tree_init(&t);
	put_copy(&t, "/inside/file", "");
	snprintf(full, sizeof(full), "%s/inside/out", t.dir);
	EQ(symlink("/proc/version", full), 0);
	snprintf(full, sizeof(full), "%s/inside/up", t.dir);
	EQ(symlink("../../../../../../etc/passwd", full), 0);
	snprintf(full, sizeof(full), "%s/inside/good", t.dir);
	EQ(symlink("/inside/file", full), 0);
	snprintf(full, sizeof(full), "%s/inside/fifo", t.dir);
	EQ(mkfifo(full, 0644), 0);

	EQ(root_file_open(t.root_fd, "/inside/out"), -ENOENT);
	EQ(root_file_open(t.root_fd, "/inside/up"), -ENOENT);
	EQ(root_file_open(t.root_fd, "/../../../etc/passwd"), -ENOENT);
	EQ(root_file_open(t.root_fd, "/inside/fifo"), -ENOENT);
	EQ(root_file_open(t.root_fd, "/inside"), -ENOENT);
	EQ(root_file_open(t.root_fd, "/absent"), -ENOENT);
	EQ(root_file_open_nofollow(t.root_fd, "/inside/good"), -ENOENT);
	fd = root_file_open(t.root_fd, "/inside/good");
	OK(fd >= 0);
	close(fd);
	fd = root_file_open_nofollow(t.root_fd, "/inside/file");
	OK(fd >= 0);
	close(fd);
	tree_done(&t);
}

/* Some containers' filters do not know openat2(). */
static void forbid_openat2(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	OK(filter);
	EQ(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0), 0);
	EQ(seccomp_load(filter), 0);
	seccomp_release(filter);
}

TEST(debugfile_follows_no_links_without_openat2)
{
	char full[128];
	struct tree t;
	int fd;

	tree_init(&t);
	put_copy(&t, "/inside/file", "");
	snprintf(full, sizeof(full), "%s/inside/link", t.dir);
	EQ(symlink("file", full), 0);
	snprintf(full, sizeof(full), "%s/dir", t.dir);
	EQ(symlink("inside", full), 0);
	fd = root_file_open(t.root_fd, "/dir/link");
	OK(fd >= 0);
	close(fd);

	forbid_openat2();
	fd = root_file_open(t.root_fd, "/inside//file");
	OK(fd >= 0);
	close(fd);
	EQ(root_file_open(t.root_fd, "/inside/link"), -ENOENT);
	EQ(root_file_open(t.root_fd, "/dir/file"), -ENOTDIR);
	EQ(root_file_open(t.root_fd, "/inside/../inside/file"), -ENOENT);
	EQ(root_file_open(t.root_fd, "/inside/"), -ENOENT);
	EQ(root_file_open(t.root_fd, ""), -ENOENT);
	tree_done(&t);
}
