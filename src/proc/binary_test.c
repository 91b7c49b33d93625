// SPDX-License-Identifier: Apache-2.0
#include "proc/binary.h"

#include <fcntl.h>

#include "test.h"

static struct binary *make_binary(const char *path)
{
	struct binary *binary = calloc(1, sizeof(*binary));

	OK(binary);
	binary->refs = 1;
	binary->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	binary->root_fd = -1;
	binary->path = strdup(path);
	return binary;
}

TEST(binary_is_closed_with_its_last_reference)
{
	struct binary *binary = make_binary("/usr/bin/true");
	int fd = binary->fd;

	EQ(binary_ref(binary) == binary, 1);
	binary_unref(binary);
	OK(fcntl(fd, F_GETFD) >= 0);
	binary_unref(binary);
	OK(fcntl(fd, F_GETFD) < 0);
	binary_unref(NULL);
}

TEST(binary_name_is_the_last_part_of_its_path)
{
	static const char *const table[][2] = {
		{ "/usr/lib/libc.so.6", "libc.so.6" }, { "[vdso]", "[vdso]" }, { "/a b/c (deleted)", "c (deleted)" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		_cleanup_(binary_unrefp) struct binary *binary = make_binary(table[i][0]);

		STREQ(binary_name(binary), table[i][1]);
	}
}
