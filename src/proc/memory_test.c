// SPDX-License-Identifier: Apache-2.0
#include "proc/memory.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char root[] = "/tmp/memory_test.XXXXXX";

static void put(const char *path, const char *text)
{
	char whole[200], *slash;
	FILE *file;

	(void)snprintf(whole, sizeof(whole), "%s/%s", root, path);
	for (slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		(void)mkdir(whole, 0700);
	}
	file = fopen(whole, "w");
	OK(file);
	fputs(text, file);
	fclose(file);
}

TEST(memory_tells_what_this_process_has_taken)
{
	u64 before, after;
	char *block;

	EQ(memory_taken("", &before), 0);
	block = malloc(64 << 20);
	OK(block);
	memset(block, 1, 64 << 20);
	EQ(memory_taken("", &after), 0);
	OK(after >= before + (60 << 20));
	free(block);
	EQ(memory_taken("/nowhere", &after), -ENOENT);
}

TEST(memory_allowed_is_the_least_of_machine_and_groups)
{
	u64 bytes;

	EQ(memory_allowed("", &bytes), 0);
	OK(bytes > (64 << 20));
	OK(mkdtemp(root));
	EQ(memory_allowed(root, &bytes), -ENOENT);
	put("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 5 kB\n");
	EQ(memory_allowed(root, &bytes), 0);
	EQ(bytes, 1000 * 1024);
	put("proc/self/cgroup", "0::/a/b\n");
	put("sys/fs/cgroup/a/b/memory.max", "max\n");
	EQ(memory_allowed(root, &bytes), 0);
	EQ(bytes, 1000 * 1024);
	put("sys/fs/cgroup/a/memory.max", "500000\n");
	EQ(memory_allowed(root, &bytes), 0);
	EQ(bytes, 500000);
	put("sys/fs/cgroup/memory.max", "600000\n");
	EQ(memory_allowed(root, &bytes), 0);
	EQ(bytes, 500000);
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "400000\n");
	EQ(memory_allowed(root, &bytes), 0);
	EQ(bytes, 400000);
	put("proc/self/cgroup", "4:memory:/c/d\n0::/\n");
	put("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "300000\n");
	EQ(memory_allowed(root, &bytes), 0);
	EQ(bytes, 300000);
	put("sys/fs/cgroup/memory/c/d/memory.limit_in_bytes", "200000\n");
	EQ(memory_allowed(root, &bytes), 0);
	EQ(bytes, 200000);
	put("proc/meminfo", "nothing\n");
	EQ(memory_allowed(root, &bytes), -EBADMSG);
}
