// SPDX-License-Identifier: Apache-2.0
#include "base/program_pages.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Segments that could be written are left alone, read-only by now or not: nobody would relocate them again. */
static int forget_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = (info->dlpi_addr + segment->p_vaddr) & ~(page - 1);
		uintptr_t end = (info->dlpi_addr + segment->p_vaddr + segment->p_memsz + page - 1) & ~(page - 1);

		if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
			(void)madvise((void *)start, end - start, MADV_DONTNEED);	/* the vDSO stays */
	}
	return 0;
}

void program_pages_forget(void)
{
	(void)dl_iterate_phdr(forget_object, NULL);
}
