// SPDX-License-Identifier: Apache-2.0
#include "net/address.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

/* The address of the first socket; why not, if there is none. */
static const char *listen_on(const char *endpoint, bool unix_socket, int *ret_count)
{
	static char text[300];
	struct sockaddr_storage address = { 0 };
	socklen_t bytes = sizeof(address);
	int fds[ADDRESS_SOCKETS_MAX];
	struct buf why;

	buf_init(&why, 1000);
	*ret_count = address_listen(endpoint, unix_socket, NULL, fds, &why);
	if (*ret_count < 0) {
		snprintf(text, sizeof(text), "%s", why.data);
	} else {
		EQ(getsockname(fds[0], (void *)&address, &bytes), 0);
		address_text(&address, bytes, text, sizeof(text));
	}
	for (int i = 0; i < *ret_count; i++)
		close(fds[i]);
	buf_done(&why);
	return text;
}

TEST(address_takes_what_people_write)
{
	int count;

	OK(!strncmp(listen_on("127.0.0.1:0", false, &count), "127.0.0.1:", 10));
	EQ(count, 1);
	OK(!strncmp(listen_on("localhost:0", false, &count), "127.0.0.1:", 10));
	OK(count >= 1);
	OK(!strncmp(listen_on("0.0.0.0:0", false, &count), "0.0.0.0:", 8));
	OK(strstr(listen_on(":0", false, &count), ":"));
	EQ(count, 1);
}

TEST(address_says_what_is_wrong)
{
	static const char *const bad[] = { "", "localhost", "localhost:", "localhost:x", "localhost:99999", "::1:80",
					   "80", "localhost:-1", "localhost:+1" };
	int count;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *why = listen_on(bad[i], false, &count);

		EQ(count, -EINVAL);
		OK(strstr(why, "is no endpoint; write host:port, such as localhost:4317 or [::1]:4317"));
	}
	STREQ(listen_on("", true, &count), "the path of a unix socket has 1 to 107 characters: ");
	STREQ(listen_on("/no/such/folder/x", true, &count),
	      "cannot listen on /no/such/folder/x: No such file or directory");
}

/* Another process's port is in test/server.sh. */
TEST(address_tells_that_we_have_a_port_ourselves)
{
	char endpoint[64], want[300];
	struct sockaddr_storage address = { 0 };
	socklen_t bytes = sizeof(address);
	int fds[ADDRESS_SOCKETS_MAX], count;
	struct buf why;

	buf_init(&why, 1000);
	EQ(address_listen("127.0.0.1:0", false, NULL, fds, &why), 1);
	EQ(getsockname(fds[0], (void *)&address, &bytes), 0);
	address_text(&address, bytes, endpoint, sizeof(endpoint));
	snprintf(want, sizeof(want), "cannot listen on %s: the address is in use by another endpoint of this "
		 "configuration; choose another port, or write both endpoints alike to share it", endpoint);
	STREQ(listen_on(endpoint, false, &count), want);
	EQ(count, -EADDRINUSE);
	close(fds[0]);
	buf_done(&why);
}

TEST(address_shows_mapped_ipv4_as_ipv4)
{
	struct sockaddr_storage address = { 0 };
	struct sockaddr_in6 *in6 = (void *)&address;
	char text[100];

	*in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(80) };
	memcpy(&in6->sin6_addr, "\0\0\0\0\0\0\0\0\0\0\377\377\1\2\3\4", 16);
	address_text(&address, sizeof(*in6), text, sizeof(text));
	STREQ(text, "1.2.3.4:80");
	in6->sin6_addr = in6addr_loopback;
	address_text(&address, sizeof(*in6), text, sizeof(text));
	STREQ(text, "[::1]:80");
}
