// SPDX-License-Identifier: Apache-2.0
#include "net/hosts.h"

#include <stdio.h>
#include <unistd.h>

#include "test.h"

TEST(hosts_of_this_machine_are_its_addresses_and_its_names)
{
	static const struct { const char *header; bool own; } cases[] = {
		{ "localhost:4318", true }, { "LOCALHOST", true }, { "127.0.0.1", true }, { "[::1]:80", true },
		{ "192.0.2.7:1", true }, { "web1:4318", true }, { "web1.evil.example", false },
		{ "evil.example:4318", false }, { "localhost.evil.example", false }, { "", false },
		{ "127.0.0.1.evil.example", false },
	};
	char name[HOSTS_NAME_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		OK(hosts_name(cases[i].header, name));
		EQ(hosts_is_own(name, "web1"), cases[i].own);
	}
	OK(hosts_name("", name));
	OK(!hosts_is_own(name, ""));
}

TEST(hosts_file_names_this_machine)
{
	static const char text[] = "127.0.0.1 localhost\n127.0.1.1\tweb1.corp.example web1 # old.example\n"
				   "#1.2.3.4 x.example";
	char path[] = "/tmp/wick-hosts-XXXXXX";
	int fd = mkstemp(path);

	EQ(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	OK(hosts_file_has(path, "web1.corp.example"));
	OK(hosts_file_has(path, "WEB1"));
	OK(!hosts_file_has(path, "127.0.1.1"));
	OK(!hosts_file_has(path, "old.example"));
	OK(!hosts_file_has(path, "x.example"));
	OK(!hosts_file_has(path, ""));
	unlink(path);
	OK(!hosts_file_has(path, "web1"));
}
