// SPDX-License-Identifier: Apache-2.0
#include "lang/memory.h"

#include <string.h>

#include "lang/lang.h"

void memory_begin(struct memory *m, const struct lang_process *process)
{
	m->process = process;
	m->err = 0;
	memset(m->va, 0, sizeof(m->va));
}

int memory_err(const struct memory *m)
{
	return m->err;
}

/* The page that an address lies in, or NULL. */
static const u8 *find_page(struct memory *m, u64 va)
{
	u64 start = va & ~(u64)(MEMORY_PAGE - 1);
	u32 i = (u32)(start / MEMORY_PAGE % MEMORY_PAGES);

	if (m->err < 0)
		return NULL;
	if (!start || m->va[i] != start) {
		m->va[i] = 0;
		m->err = lang_read(m->process, start, m->page[i], MEMORY_PAGE);
		if (m->err < 0)
			return NULL;
		m->va[i] = start;
	}
	return m->page[i];
}

void memory_read(struct memory *m, u64 va, void *to, size_t bytes)
{
	u8 *at = to;

	while (bytes) {
		const u8 *page = find_page(m, va);
		size_t off = va % MEMORY_PAGE, n = MEMORY_PAGE - off < bytes ? MEMORY_PAGE - off : bytes;

		if (page)
			memcpy(at, page + off, n);
		else
			memset(at, 0, n);
		va += n;
		at += n;
		bytes -= n;
	}
}

u64 memory_u64(struct memory *m, u64 va)
{
	u64 value;

	memory_read(m, va, &value, sizeof(value));
	return value;
}

u32 memory_u32(struct memory *m, u64 va)
{
	u32 value;

	memory_read(m, va, &value, sizeof(value));
	return value;
}

u16 memory_u16(struct memory *m, u64 va)
{
	u16 value;

	memory_read(m, va, &value, sizeof(value));
	return value;
}

u8 memory_u8(struct memory *m, u64 va)
{
	u8 value;

	memory_read(m, va, &value, sizeof(value));
	return value;
}

void memory_text(struct memory *m, u64 va, char *to, size_t to_bytes)
{
	size_t len = 0;

	while (len + 1 < to_bytes) {
		const u8 *page = find_page(m, va + len);
		size_t off = (va + len) % MEMORY_PAGE, n = MEMORY_PAGE - off;

		if (!page) {
			len = 0;
			break;
		}
		if (n > to_bytes - 1 - len)
			n = to_bytes - 1 - len;
		n = strnlen((const char *)page + off, n);
		memcpy(to + len, page + off, n);
		len += n;
		if (off + n < MEMORY_PAGE)
			break;
	}
	to[len] = '\0';
}
