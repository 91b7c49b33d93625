// SPDX-License-Identifier: Apache-2.0
#include "proc/apm_storage.h"

#include <errno.h>

#include "proc/process_context.h"

u64 apm_storage_at(const struct process_context_reader *reader, u64 variable_va)
{
	u64 va = 0;

	return reader->read(reader->arg, variable_va, &va, sizeof(va)) < 0 ? 0 : va;
}

/* The text at *va, which is then behind it. */
static int read_text(const struct process_context_reader *reader, u64 *va, char ret_text[APM_TEXT_BYTES + 1])
{
	u32 bytes, taken;
	int r = reader->read(reader->arg, *va, &bytes, sizeof(bytes));

	if (r < 0)
		return r;
	if (bytes > APM_TEXT_MAX)
		return -EBADMSG;
	taken = bytes < APM_TEXT_BYTES ? bytes : APM_TEXT_BYTES;
	if (taken)
		r = reader->read(reader->arg, *va + sizeof(bytes), ret_text, taken);
	if (r < 0)
		return r;
	ret_text[taken] = '\0';
	*va += sizeof(bytes) + bytes;
	return 0;
}

int apm_storage_read(const struct process_context_reader *reader, u64 va, struct apm_storage *ret_storage)
{
	struct apm_storage storage;
	u16 version;
	int r = reader->read(reader->arg, va, &version, sizeof(version));

	if (r == 0 && !version)
		return -EBADMSG;
	va += sizeof(version);
	if (r == 0)
		r = read_text(reader, &va, storage.service);
	if (r == 0)
		r = read_text(reader, &va, storage.environment);
	if (r < 0)
		return r;
	*ret_storage = storage;
	return 0;
}
