// SPDX-License-Identifier: Apache-2.0
#include "exe/lang_file.h"

#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "exe/symtab.h"

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

/* Variables in which threads say for what they work. Has it one? */
static bool find_requests(const struct exe *exe, struct lang_file *file)
{
	static const char *const names[] = {
#define X(ID, variable) variable,
		REQUEST_LAYOUTS(X)
#undef X
	};
	struct symtab_wanted storage = { .name = APM_STORAGE, .type = STT_OBJECT };
	bool found = false;

	tls_variables_exported(exe, names, REQUEST_LAYOUT_COUNT, file->requests);
	for (u32 i = 0; i < REQUEST_LAYOUT_COUNT; i++)
		found |= file->requests[i].access != TLS_NONE;
	if (file->requests[REQUEST_APM].access &&
	    (symtab_find(exe, SHT_DYNSYM, &storage, 1) || symtab_find(exe, SHT_SYMTAB, &storage, 1)))
		file->apm_storage_ea = storage.ea;
	return found;
}

int lang_file_find(const struct exe *exe, const struct tls_wanted *wanted, struct lang_file *ret_file)
{
	int r = find_among(exe, false, ret_file), found = 0;

	if (r < 0)
		r = find_among(exe, true, ret_file);
	if (r < 0)
		memset(ret_file, 0, sizeof(*ret_file));
	if (wanted)
		found = tls_variables_find(exe, wanted, ret_file->labels);
	return find_requests(exe, ret_file) || found > 0 ? 0 : r;
}

/* Has it one of the variables? -EBADMSG if one is of no kind. */
static int check_variables(const struct lang_file *file)
{
	u64 all = 0;

	for (u32 i = 0; i < REQUEST_LAYOUT_COUNT; i++) {
		if (file->requests[i].access > TLS_MODULE)
			return -EBADMSG;
		all |= file->requests[i].access;
	}
	for (u32 i = 0; i < TLS_WANTED_MAX; i++) {
		if (file->labels[i].access > TLS_MODULE)
			return -EBADMSG;
		all |= file->labels[i].access;
	}
	return all != TLS_NONE;
}

int lang_file_check(const struct lang_file *file, size_t bytes)
{
	int found = bytes == sizeof(*file) ? check_variables(file) : -EBADMSG;

	if (found < 0 || (!file->lang && !found) || file->lang >= LANG_NUMBERS_MAX ||
	    file->mark_count > LANG_MARKS_MAX)
		return -EBADMSG;
	for (u32 i = 0; i < file->mark_count; i++)
		if (file->marks[i].start_ea >= file->marks[i].end_ea)
			return -EBADMSG;
	return 0;
}
