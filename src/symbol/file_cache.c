// SPDX-License-Identifier: Apache-2.0
#include "symbol/file_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LIST_MAX (2 * FILE_CACHE_FILES_MAX)
#define PART_SECONDS 3600	/* a file that is still being written after this was left behind */

struct cached {
	char name[FILE_CACHE_NAME_MAX];
	u64 bytes;
	time_t used;
};

/* Reads what the directory holds, and removes what nobody finishes. */
static u32 list_directory(int dir_fd, struct cached *list, u32 max)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct stat st;
	u32 count = 0;

	if (!dir) {
		closep(&fd);
		return 0;
	}
	while (count < max && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (len >= sizeof(list->name) || fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (strstr(entry->d_name, ".part-") && time(NULL) - st.st_mtime > PART_SECONDS)
			(void)unlinkat(dir_fd, entry->d_name, 0);
		list[count] = (struct cached){ .bytes = (u64)st.st_size, .used = st.st_mtime };
		memcpy(list[count++].name, entry->d_name, len + 1);
	}
	closedir(dir);
	return count;
}

static int by_use(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;

	return (x->used > y->used) - (x->used < y->used);
}

/* There must be room to list all of it next time, too. */
u32 file_cache_prune(int dir_fd, u64 bytes_max)
{
	_cleanup_(freep) struct cached *list = calloc(LIST_MAX, sizeof(*list));
	u32 count, removed = 0;
	u64 bytes = 0;

	if (!list)
		return 0;
	count = list_directory(dir_fd, list, LIST_MAX);
	qsort(list, count, sizeof(*list), by_use);
	for (u32 i = 0; i < count; i++)
		bytes += list[i].bytes;
	for (u32 i = 0; i < count && (bytes > bytes_max || count - i > FILE_CACHE_FILES_MAX); i++) {
		removed += unlinkat(dir_fd, list[i].name, 0) == 0;
		bytes -= list[i].bytes;
	}
	return removed;
}
