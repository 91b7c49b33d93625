// SPDX-License-Identifier: Apache-2.0
#include "net/passed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/address.h"
#include "test.h"

static int open_tcp(struct sockaddr_in *ret_address)
{
	socklen_t bytes = sizeof(*ret_address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	EQ(bind(fd, (void *)ret_address, sizeof(*ret_address)), 0);
	EQ(listen(fd, 1), 0);
	EQ(getsockname(fd, (void *)ret_address, &bytes), 0);
	return fd;
}

TEST(passed_sockets_are_found_by_their_address)
{
	struct passed passed = { 0 };
	struct sockaddr_in address, other;
	int fd, again;

	EQ(passed_add(&passed, open_tcp(&address), 32, "page"), 0);
	OK(passed.at[0].fd >= 32);
	STREQ(passed.at[0].name, "page");
	other = address;
	other.sin_port ^= 1;
	EQ(passed_take(&passed, &other, sizeof(other)), -ENOENT);
	other = address;
	other.sin_addr.s_addr = htonl(INADDR_ANY);
	EQ(passed_take(&passed, &other, sizeof(other)), -ENOENT);
	EQ(passed_take(NULL, &address, sizeof(address)), -ENOENT);
	OK(!passed.at[0].is_taken);
	fd = passed_take(&passed, &address, sizeof(address));
	again = passed_take(&passed, &address, sizeof(address));
	OK(fd >= 0 && again >= 0 && fd != again && passed.at[0].is_taken);
	OK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	OK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	close(again);
	passed_done(&passed);
}

TEST(passed_sockets_are_listened_on_instead_of_new_ones)
{
	struct passed passed = { 0 };
	struct sockaddr_in address;
	int fds[ADDRESS_SOCKETS_MAX], count;
	struct buf why;
	char endpoint[32];

	buf_init(&why, 1024);
	EQ(passed_add(&passed, open_tcp(&address), 32, ""), 0);
	snprintf(endpoint, sizeof(endpoint), "127.0.0.1:%u", ntohs(address.sin_port));
	EQ(address_listen(endpoint, false, NULL, fds, &why), -EADDRINUSE);
	EQ(address_listen(endpoint, false, &passed, fds, &why), 1);
	close(fds[0]);
	snprintf(endpoint, sizeof(endpoint), "localhost:%u", ntohs(address.sin_port));
	count = address_listen(endpoint, false, &passed, fds, &why);
	OK(count >= 1);
	for (int i = 0; i < count; i++)
		close(fds[i]);
	buf_done(&why);
	passed_done(&passed);
}

TEST(passed_paths_are_found_and_not_removed)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct passed passed = { 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fds[ADDRESS_SOCKETS_MAX];
	struct buf why;

	buf_init(&why, 1024);
	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/wick-passed-%d", (int)getpid());
	EQ(bind(fd, (void *)&address, sizeof(address)), 0);
	EQ(listen(fd, 1), 0);
	EQ(passed_add(&passed, fd, 32, ""), 0);
	OK(passed_has_path(&passed, address.sun_path));
	OK(!passed_has_path(&passed, "/tmp"));
	OK(!passed_has_path(NULL, "/tmp"));
	EQ(address_listen(address.sun_path, true, &passed, fds, &why), 1);
	close(fds[0]);
	EQ(unlink(address.sun_path), 0);
	buf_done(&why);
	passed_done(&passed);
}

TEST(passed_descriptors_that_do_not_listen_are_closed)
{
	struct passed passed = { 0 };
	int pair[2], idle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address;

	EQ(pipe2(pair, O_CLOEXEC), 0);
	EQ(passed_add(&passed, pair[0], 32, ""), -ENOTSOCK);
	EQ(fcntl(pair[0], F_GETFD), -1);
	EQ(passed_add(&passed, idle, 32, ""), -EPROTOTYPE);
	EQ(passed_add(&passed, udp, 32, ""), -EPROTOTYPE);
	EQ(passed.count, 0);
	for (u32 i = 0; i < SYSTEMD_SOCKETS_MAX; i++)
		EQ(passed_add(&passed, open_tcp(&address), 32, ""), 0);
	EQ(passed_add(&passed, open_tcp(&address), 32, ""), -EMFILE);
	close(pair[1]);
	passed_done(&passed);
}
