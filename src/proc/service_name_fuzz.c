// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "proc/apm_storage.h"
#include "proc/process_context.h"
#include "proc/service_name.h"

static const char secret[] = "MY_SECRET=";

struct memory {
	const uint8_t *at;
	size_t bytes;
};

static int read_memory(void *arg, u64 va, void *to, size_t bytes)
{
	const struct memory *memory = arg;

	if (va > memory->bytes || bytes > memory->bytes - va)
		return -EFAULT;
	memcpy(to, memory->at + va, bytes);
	return 0;
}

/* An environment, a context and an agent's words of the same bytes: out comes text, and nothing unasked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_place place = { .runtime = "" };
	struct memory memory = { data, size };
	struct apm_storage apm;
	int r = apm_storage_read(&(struct process_context_reader){ read_memory, &memory }, 0, &apm);
	struct service_name service;
	char *text = malloc(size + 1);
	struct buf out;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	(void)process_context_find(text);
	service_name_find(&(struct service_facts){ data, size, r < 0 ? NULL : &apm, text, size, &place, "",
						   { "/x", text, size, "/" } }, &service);
	buf_init(&out, 8192);
	service_name_write(&service, &out);
	if (buf_err(&out) < 0)
		abort();
	for (size_t at = 0; at < out.len; at += strlen(out.data + at) + 1)
		if (!strchr(out.data + at, '=') || !utf8_valid(out.data + at, strlen(out.data + at)) ||
		    !strncmp(out.data + at, secret, sizeof(secret) - 1))
			abort();
	buf_done(&out);
	free(text);
	return 0;
}
