// SPDX-License-Identifier: Apache-2.0
#include "proc/host_identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static void put(const char *root, const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	file = fopen(full, "w");
	OK(file);
	fputs(text, file);
	fclose(file);
}

static void make(const char *root, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	EQ(mkdir(full, 0700), 0);
}

TEST(host_identity_takes_the_machine_id)
{
	char root[] = "/tmp/wick-identity-XXXXXX", name[256] = "", command[128];
	struct host_identity id;

	OK(mkdtemp(root));
	EQ(gethostname(name, sizeof(name) - 1), 0);
	host_identity_read(root, &id);
	STREQ(id.name, name);
	STREQ(id.id, "");
	make(root, "etc");
	make(root, "var");
	make(root, "var/lib");
	make(root, "var/lib/dbus");
	put(root, "var/lib/dbus/machine-id", "0123\n");
	put(root, "etc/machine-id", "uninitialized\n");
	host_identity_read(root, &id);
	STREQ(id.id, "0123");
	put(root, "etc/machine-id", "89ab\n");
	host_identity_read(root, &id);
	STREQ(id.id, "89ab");
	snprintf(command, sizeof(command), "rm -r %s", root);
	EQ(system(command), 0);
}
