// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "proc/process_context.h"
#include "proc/service_name.h"

static const char secret[] = "MY_SECRET=";

/* An environment and a context of the same bytes: what comes out is text, and nothing of what is not asked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_place place = { .runtime = "" };
	struct service_name service;
	char *text = malloc(size + 1);
	struct buf out;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	(void)process_context_find(text);
	service_name_find(&(struct service_facts){ data, size, text, size, &place, "", { "/x", text, size, "/" } },
		     &service);
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
