// SPDX-License-Identifier: Apache-2.0
#include "net/hosts.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/io.h"

#define FILE_BYTES_MAX (64u << 10)

bool hosts_name(const char *header, char ret_name[HOSTS_NAME_MAX])
{
	bool is_bracketed = *header == '[';
	size_t len;

	header += is_bracketed;
	len = strcspn(header, is_bracketed ? "]" : ":");
	if (len >= HOSTS_NAME_MAX)
		return false;
	memcpy(ret_name, header, len);
	ret_name[len] = '\0';
	return true;
}

static bool is_address(const char *name)
{
	unsigned char scratch[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, scratch) == 1 || inet_pton(AF_INET6, name, scratch) == 1;
}

bool hosts_is_own(const char *name, const char *machine)
{
	return is_address(name) || !strcasecmp(name, "localhost") || (*machine && !strcasecmp(name, machine));
}

/* Of a line: the words after the address, up to a comment. */
static bool line_has(char *line, const char *name)
{
	char *rest = line, *word;

	line[strcspn(line, "#")] = '\0';
	(void)strtok_r(rest, " \t\r", &rest);
	while ((word = strtok_r(NULL, " \t\r", &rest)))
		if (!strcasecmp(word, name))
			return true;
	return false;
}

bool hosts_file_has(const char *path, const char *name)
{
	char text[FILE_BYTES_MAX], *line, *rest = text;

	if (!*name || io_read_text(path, text, sizeof(text)) < 0)
		return false;
	while ((line = strsep(&rest, "\n")))
		if (line_has(line, name))
			return true;
	return false;
}
