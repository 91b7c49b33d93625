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
	*ret_count = address_listen(endpoint, unix_socket, fds, &why);
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

TEST(address_tells_who_has_a_port)
{
	char endpoint[64], want[200], name[64];
	struct sockaddr_storage address = { 0 };
	socklen_t bytes = sizeof(address);
	int fds[ADDRESS_SOCKETS_MAX], count;
	struct buf why;

	buf_init(&why, 1000);
	EQ(address_listen("127.0.0.1:0", false, fds, &why), 1);
	EQ(getsockname(fds[0], (void *)&address, &bytes), 0);
	address_text(&address, bytes, endpoint, sizeof(endpoint));
	snprintf(name, sizeof(name), "%s", program_invocation_short_name);
	snprintf(want, sizeof(want), "cannot listen on %s: the address is in use: process %d (%.15s) has it; "
		 "stop it, or choose another port", endpoint, getpid(), name);
	STREQ(listen_on(endpoint, false, &count), want);
	EQ(count, -EADDRINUSE);
	close(fds[0]);
	buf_done(&why);
}
