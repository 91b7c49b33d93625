// SPDX-License-Identifier: Apache-2.0
#include "exe/lang_file.h"

#include <errno.h>

int lang_file_check(const struct lang_file *file, size_t bytes)
{
	if (bytes != sizeof(*file) || !file->lang || file->lang >= LANG_NUMBERS_MAX ||
	    file->mark_count > LANG_MARKS_MAX)
		return -EBADMSG;
	for (u32 i = 0; i < file->mark_count; i++)
		if (file->marks[i].start_ea >= file->marks[i].end_ea)
			return -EBADMSG;
	return 0;
}
