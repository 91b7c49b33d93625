// SPDX-License-Identifier: Apache-2.0
#include "base/systemd.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

TEST(systemd_takes_paths_and_abstract_names_to_notify)
{
	struct sockaddr_un address;
	socklen_t bytes = 0;

	EQ(systemd_notify_address("/run/systemd/notify", &address, &bytes), 0);
	STREQ(address.sun_path, "/run/systemd/notify");
	EQ(bytes, offsetof(struct sockaddr_un, sun_path) + 20);
	EQ(systemd_notify_address("@abc", &address, &bytes), 0);
	EQ(address.sun_path[0], 0);
	EQ(memcmp(address.sun_path + 1, "abc", 3), 0);
	EQ(bytes, offsetof(struct sockaddr_un, sun_path) + 4);
}

TEST(systemd_refuses_what_is_no_address)
{
	static const char *const bad[] = { "x", "run/notify", "/", "@", "vsock:2:1234" };
	struct sockaddr_un address;
	socklen_t bytes = 77;
	char path[200];

	EQ(systemd_notify_address(NULL, &address, &bytes), -ENOENT);
	EQ(systemd_notify_address("", &address, &bytes), -ENOENT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EQ(systemd_notify_address(bad[i], &address, &bytes), -EINVAL);
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[sizeof(address.sun_path)] = '\0';
	EQ(systemd_notify_address(path, &address, &bytes), -EINVAL);
	EQ(bytes, 77);
	path[sizeof(address.sun_path) - 1] = '\0';
	EQ(systemd_notify_address(path, &address, &bytes), 0);
}

TEST(systemd_reads_the_watchdog_within_limits)
{
	static const struct { const char *usec, *pid; u64 ns; } cases[] = {
		{ "30000000", "42", 30000000000 }, { "30000000", NULL, 30000000000 },
		{ "30000000", "43", 0 }, { "30000000", "", 0 }, { "30000000", "42x", 0 },
		{ NULL, NULL, 0 }, { "", NULL, 0 }, { "0", NULL, 0 }, { "-1", NULL, 0 }, { " 5", NULL, 0 },
		{ "1e6", NULL, 0 }, { "1", NULL, SYSTEMD_WATCHDOG_MIN_NS },
		{ "9999999999999999999", NULL, SYSTEMD_WATCHDOG_MAX_NS },
		{ "18446744073709551615", NULL, 0 }, { "100000000000000000000000", NULL, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		EQ(systemd_watchdog_ns(cases[i].usec, cases[i].pid, 42), cases[i].ns);
}

TEST(systemd_counts_the_sockets_that_were_passed)
{
	struct systemd_sockets sockets;

	systemd_listen_fds("3", "42", "page::otlp grpc", 42, &sockets);
	EQ(sockets.count, 3);
	STREQ(sockets.names[0], "page");
	STREQ(sockets.names[1], "");
	STREQ(sockets.names[2], "");
	systemd_listen_fds("2", "42", "page:otlp:more", 42, &sockets);
	EQ(sockets.count, 2);
	STREQ(sockets.names[1], "otlp");
	systemd_listen_fds("20", "42", NULL, 42, &sockets);
	EQ(sockets.count, SYSTEMD_SOCKETS_MAX);
	EQ(sockets.left_out, 4);
}

TEST(systemd_takes_no_sockets_of_others)
{
	static const struct { const char *fds, *pid; } cases[] = {
		{ "1", NULL }, { "1", "41" }, { "1", "042x" }, { NULL, "42" }, { "", "42" }, { "-1", "42" },
		{ "4097", "42" }, { "99999999999999999999", "42" }, { "0x3", "42" },
	};
	struct systemd_sockets sockets;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		systemd_listen_fds(cases[i].fds, cases[i].pid, "a", 42, &sockets);
		EQ(sockets.count, 0);
		EQ(sockets.left_out, 0);
	}
}

TEST(systemd_knows_the_journal_by_device_and_inode)
{
	int fd = memfd_create("journal", MFD_CLOEXEC);
	struct stat st;
	char text[80];

	OK(fd >= 0 && fstat(fd, &st) == 0);
	snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	OK(systemd_is_journal(text, fd));
	OK(!systemd_is_journal(text, STDERR_FILENO));
	OK(!systemd_is_journal(NULL, fd));
	OK(!systemd_is_journal("", fd));
	OK(!systemd_is_journal(":", fd));
	OK(!systemd_is_journal("1", fd));
	text[strlen(text) + 1] = '\0';
	text[strlen(text)] = ' ';
	OK(!systemd_is_journal(text, fd));
	close(fd);
	OK(!systemd_is_journal("0:0", fd));
}
