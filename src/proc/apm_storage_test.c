// SPDX-License-Identifier: Apache-2.0
#include "proc/apm_storage.h"

#include <errno.h>

#include "proc/process_context.h"
#include "test.h"

struct memory {
	const char *at;
	size_t bytes;
};

static int read_memory(void *arg, u64 va, void *to, size_t bytes)
{
	const struct memory *m = arg;

	if (va > m->bytes || bytes > m->bytes - va)
		return -EFAULT;
	memcpy(to, m->at + va, bytes);
	return 0;
}

static int storage(const char *text, size_t bytes, struct apm_storage *ret_storage)
{
	struct memory m = { text, bytes };

	return apm_storage_read(&(struct process_context_reader){ read_memory, &m }, 0, ret_storage);
}
#define STORAGE(text) storage(text, sizeof(text) - 1, &found)

TEST(apm_storage_has_the_service_and_its_environment)
{
	struct apm_storage found;

	EQ(STORAGE("\1\0\4\0\0\0shop\7\0\0\0testing\11\0\0\0/tmp/sock"), 0);
	STREQ(found.service, "shop");
	STREQ(found.environment, "testing");
	/* A later version has more behind it; no socket is needed. */
	EQ(STORAGE("\2\0\1\0\0\0x\0\0\0\0"), 0);
	STREQ(found.service, "x");
	STREQ(found.environment, "");
}

TEST(apm_storage_that_is_long_is_cut_and_one_that_cannot_be_is_refused)
{
	char text[2 + 4 + 300 + 4 + 1] = { 1, 0, 0x2c, 1 };
	struct apm_storage found = { "kept", "kept" };

	EQ(STORAGE("\0\0\4\0\0\0shop\0\0\0\0"), -EBADMSG);
	EQ(STORAGE("\1\0\1\20\0\0shop"), -EBADMSG);
	EQ(STORAGE("\1\0\xff\xff\xff\xff"), -EBADMSG);
	EQ(STORAGE("\1\0\5\0\0\0shop"), -EFAULT);
	EQ(STORAGE("\1\0\4\0\0\0shop\1\0\0"), -EFAULT);
	EQ(STORAGE("\1"), -EFAULT);
	STREQ(found.service, "kept");
	memset(text + 6, 'a', 300);
	text[306] = 1;
	text[310] = 'e';
	EQ(storage(text, sizeof(text), &found), 0);
	EQ(strlen(found.service), APM_TEXT_BYTES);
	STREQ(found.environment, "e");
}

TEST(apm_storage_is_nowhere_until_its_variable_says_where)
{
	struct memory m = { "\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0", 16 };
	const struct process_context_reader reader = { read_memory, &m };

	EQ(apm_storage_at(&reader, 0), 0);
	EQ(apm_storage_at(&reader, 8), 0x10);
	EQ(apm_storage_at(&reader, 12), 0);
}
