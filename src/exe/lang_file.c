// SPDX-License-Identifier: Apache-2.0
#include "exe/lang_file.h"

#include <errno.h>
#include <string.h>

#include "exe/elf.h"

static int find_among(const struct exe *exe, bool is_general, struct lang_file *ret_file)
{
	for (u32 lang = 1; exe->langs && lang < LANG_NUMBERS_MAX; lang++) {
		const struct lang_file_ops *ops = exe->langs[lang];

		memset(ret_file, 0, sizeof(*ret_file));
		if (ops && ops->recognise && ops->is_general == is_general && ops->recognise(exe, ret_file) == 0) {
			ret_file->lang = lang;
			return 0;
		}
	}
	return -ENODATA;
}

int lang_file_find(const struct exe *exe, struct lang_file *ret_file)
{
	int r = find_among(exe, false, ret_file);

	if (r < 0)
		r = find_among(exe, true, ret_file);
	if (r < 0)
		memset(ret_file, 0, sizeof(*ret_file));
	tls_variable_find(exe, REQUEST_VARIABLE, &ret_file->request);
	return ret_file->request.access ? 0 : r;
}

int lang_file_check(const struct lang_file *file, size_t bytes)
{
	if (bytes != sizeof(*file) || (!file->lang && !file->request.access) || file->lang >= LANG_NUMBERS_MAX ||
	    file->request.access > TLS_MODULE || file->mark_count > LANG_MARKS_MAX)
		return -EBADMSG;
	for (u32 i = 0; i < file->mark_count; i++)
		if (file->marks[i].start_ea >= file->marks[i].end_ea)
			return -EBADMSG;
	return 0;
}
