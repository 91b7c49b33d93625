// SPDX-License-Identifier: Apache-2.0
#include "lang/lang.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#define X(number, ID, folder) extern const struct lang_ops folder##_ops;
LANGS(X)
#undef X

const struct lang_ops *const lang_list[LANG_MAX] = {
#define X(number, ID, folder) [number] = &folder##_ops,
	LANGS(X)
#undef X
};

/* Asks by way of the other list, whose entries may lack this half. */
int lang_file_find(const struct exe *exe, struct lang_file *ret_file)
{
	for (u32 lang = 1; lang < LANG_MAX; lang++) {
		const struct lang_file_ops *ops = lang_list[lang] ? lang_list[lang]->file : NULL;

		memset(ret_file, 0, sizeof(*ret_file));
		if (ops && ops->recognise(exe, ret_file) == 0) {
			ret_file->lang = lang;
			return 0;
		}
	}
	return -ENODATA;
}

int lang_read(const struct lang_process *process, u64 va, void *to, size_t bytes)
{
	struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)va, bytes };
	ssize_t got = process_vm_readv((pid_t)process->pid, &here, 1, &there, 1, 0);

	if (got == (ssize_t)bytes)
		return 0;
	return got < 0 && errno == ESRCH ? -ESRCH : -EFAULT;
}

u64 lang_read_word(const struct lang_process *process, u64 va)
{
	u64 word;

	return lang_read(process, va, &word, sizeof(word)) == 0 ? word : 0;
}
