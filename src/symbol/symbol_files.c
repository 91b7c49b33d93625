// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbol_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "proc/binary.h"
#include "symbol/debugfile.h"
#include "symbol/debuginfod.h"

int symbol_files_init(struct symbol_files_set *set, struct reader *reader, struct debuginfod *debuginfod)
{
	*set = (struct symbol_files_set){ .reader = reader, .debuginfod = debuginfod };
	set->host_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return set->host_root_fd < 0 ? -errno : 0;
}

static void files_done(struct symbol_files *files)
{
	closep(&files->debug_fd);
	closep(&files->alt_fd);
	known_functions_done(&files->known);
	binary_unref(files->binary);
}

void symbol_files_done(struct symbol_files_set *set)
{
	for (u32 i = 0; i < set->count; i++)
		files_done(&set->list[i]);
	free(set->list);
	closep(&set->host_root_fd);
}

static void use_debug_file(struct symbol_files_set *set, struct symbol_files *files, const struct debugfile *file)
{
	int roots[] = { files->binary->root_fd, set->host_root_fd };

	files->debug_fd = file->fd;
	files->has_lines |= file->info.has_debug_info;
	files->alt_fd = debugfile_find_alt(set->reader, &file->info, file->path, roots, 2);
	if (files->alt_fd == -ENOENT && set->debuginfod && file->info.altlink_id_bytes)
		files->alt_fd = debuginfod_get(set->debuginfod, file->info.altlink_id, file->info.altlink_id_bytes);
	if (files->alt_fd < 0)
		files->alt_fd = -1;
}

/* Asks debuginfod for the debug file. What it sent is looked at like any other file: its id must be the right one. */
static void ask_debuginfod(struct symbol_files_set *set, struct symbol_files *files)
{
	const struct exe_info *info = &files->binary->info;
	struct debugfile file = { .root_fd = -1 };

	file.fd = debuginfod_get(set->debuginfod, info->build_id, info->build_id_bytes);
	files->is_waiting = file.fd == -EAGAIN;
	if (file.fd < 0)
		return;
	if (reader_identify(set->reader, file.fd, &file.info) == 0 &&
	    file.info.build_id_bytes == info->build_id_bytes &&
	    !memcmp(file.info.build_id, info->build_id, info->build_id_bytes)) {
		use_debug_file(set, files, &file);
		files->is_fresh = true;
	} else {
		close(file.fd);
	}
}

static void find_files(struct symbol_files_set *set, struct symbol_files *files)
{
	const struct binary *binary = files->binary;
	struct debugfile_want want = { &binary->info, binary->path ? binary->path : "", binary->fd };
	int roots[] = { binary->root_fd, set->host_root_fd };
	struct debugfile file;

	files->has_lines = binary->info.has_debug_info || binary->info.has_lang_tables;
	if (binary->info.has_debug_info && binary->info.has_symtab) {
		int alt = debugfile_find_alt(set->reader, &binary->info, want.path, roots, 2);

		files->alt_fd = alt >= 0 ? alt : -1;
		return;
	}
	if (debugfile_find(set->reader, &want, roots, 2, &file) == 0)
		use_debug_file(set, files, &file);
	else if (set->debuginfod && binary->info.build_id_bytes)
		ask_debuginfod(set, files);
	files->is_fresh = false;
}

/* Room for one more: the end of the list, or the place of the least recently used. */
static struct symbol_files *make_room(struct symbol_files_set *set)
{
	struct symbol_files *oldest;

	if (!set->list)
		set->list = calloc(SYMBOL_FILES_MAX, sizeof(*set->list));
	if (!set->list)
		return NULL;
	if (set->count < SYMBOL_FILES_MAX)
		return &set->list[set->count++];
	oldest = &set->list[0];
	for (u32 i = 1; i < set->count; i++) {
		if (set->list[i].used_ns < oldest->used_ns)
			oldest = &set->list[i];
	}
	files_done(oldest);
	return oldest;
}

struct symbol_files *symbol_files_get(struct symbol_files_set *set, struct binary *binary, u64 now_ns)
{
	struct symbol_files *files;

	for (u32 i = 0; i < set->count; i++) {
		if (set->list[i].binary == binary) {
			set->list[i].used_ns = now_ns;
			return &set->list[i];
		}
	}
	files = make_room(set);
	if (!files)
		return NULL;
	*files = (struct symbol_files){ .binary = binary_ref(binary), .debug_fd = -1, .alt_fd = -1, .used_ns = now_ns };
	if (binary->fd >= 0)
		find_files(set, files);
	return files;
}

void symbol_files_drop_debug(struct symbol_files *files)
{
	closep(&files->debug_fd);
	closep(&files->alt_fd);
	files->debug_fd = files->alt_fd = -1;
	files->has_lines = files->binary->info.has_debug_info || files->binary->info.has_lang_tables;
}

void symbol_files_retry(struct symbol_files_set *set)
{
	for (u32 i = 0; i < set->count; i++) {
		if (set->list[i].is_waiting)
			ask_debuginfod(set, &set->list[i]);
	}
}

void symbol_files_close_idle(struct symbol_files_set *set, u64 now_ns)
{
	for (u32 i = set->count; i-- > 0;) {
		if (now_ns - set->list[i].used_ns < SYMBOL_FILES_IDLE_NS)
			continue;
		files_done(&set->list[i]);
		set->list[i] = set->list[--set->count];
	}
}
