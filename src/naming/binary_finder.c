// SPDX-License-Identifier: Apache-2.0
#include "naming/binary_finder.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/interner.h"
#include "exe/reader.h"
#include "proc/binary.h"
#include "proc/root_file.h"
#include "proc/vdso.h"
#include "profile/any.h"
#include "symbol/debugfile.h"
#include "symbol/debuginfod.h"

#define INDEX_BYTES_MAX ((size_t)16 << 20)
#define INDEX_DEPTH_MAX 6
#define MAPS_LINES_MAX 4096
#define VDSO_NAME "[vdso]"

/* What a file is known by; padded with zeroes, so that it can be compared as bytes. */
struct key {
	u8 build_id[20], htlhash[16];
	u32 build_id_bytes, has_htlhash;
};

struct entry {
	struct binary *binary;	/* or NULL: nowhere, until retry_ns */
	u64 retry_ns;
	bool tried_path;	/* who asked knew a path from the root */
};

struct named_file {
	struct named_file *next;
	char path[];
};

struct binary_finder {
	const struct finder_options *options;
	struct reader *reader;
	struct debuginfod *debuginfod;		/* or NULL */
	int host_fd;				/* "/" */
	u32 last_id;

	struct arena arena;
	struct interner keys;
	struct entry entries[FINDER_MAX];	/* by number of the key */

	bool has_index;
	struct arena index_arena;
	struct interner names;			/* last parts of paths */
	struct named_file *files[FINDER_FILES_MAX];	/* by number of the name: all files of that name */
	u32 file_count;

	struct finder_stats stats;
};

/* ---- Making and freeing ------------------------------------------------------------------- */

int binary_finder_new(const struct finder_options *options, struct reader *reader, struct binary_finder **ret_finder)
{
	_cleanup_(binary_finder_freep) struct binary_finder *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->options = options;
	f->reader = reader;
	arena_init(&f->arena, (size_t)1 << 20);
	interner_init(&f->keys, &f->arena, FINDER_MAX);
	arena_init(&f->index_arena, INDEX_BYTES_MAX);
	interner_init(&f->names, &f->index_arena, FINDER_FILES_MAX);
	f->host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*options->debuginfod_urls) {
		r = debuginfod_new(options->debuginfod_urls, options->cache_path, &f->debuginfod);
		if (r < 0)
			return r;
	}
	*ret_finder = TAKE(f);
	return 0;
}

static void forget_all(struct binary_finder *f)
{
	for (u32 i = 0; i < f->keys.count; i++)
		binary_unref(f->entries[i].binary);
	f->stats.forgotten += f->keys.count;
	memset(f->entries, 0, sizeof(f->entries));
	interner_done(&f->keys);
	arena_done(&f->arena);
	interner_init(&f->keys, &f->arena, FINDER_MAX);
}

void binary_finder_free(struct binary_finder *f)
{
	if (!f)
		return;
	forget_all(f);
	interner_done(&f->keys);
	arena_done(&f->arena);
	interner_done(&f->names);
	arena_done(&f->index_arena);
	debuginfod_free(f->debuginfod);
	closep(&f->host_fd);
	free(f);
}

struct finder_stats binary_finder_stats(const struct binary_finder *f)
{
	return f->stats;
}

/* ---- Is it the one? ------------------------------------------------------------------------- */

static bool has_id(const struct finder_want *want)
{
	return want->build_id_bytes || want->has_htlhash;
}

static bool is_wanted(const struct finder_want *want, const struct exe_info *info)
{
	if (want->build_id_bytes)
		return info->build_id_bytes == want->build_id_bytes &&
		       !memcmp(info->build_id, want->build_id, want->build_id_bytes);
	if (want->has_htlhash)
		return !memcmp(info->htlhash, want->htlhash, sizeof(want->htlhash));
	return want->trusts_path;
}

/* Takes over fd; NULL if it is another file. */
static struct binary *take_file(struct binary_finder *f, const struct finder_want *want, int fd, const char *path)
{
	_cleanup_(closep) int file = fd;
	struct exe_info info;
	struct binary *binary;

	if (fd < 0 || reader_identify(f->reader, fd, &info) < 0 || !is_wanted(want, &info))
		return NULL;
	binary = f->last_id + 1 < BINARIES_MAX ? binary_new(file, -1, path, &info) : NULL;
	if (!binary)
		return NULL;
	binary->id = ++f->last_id;
	file = -1;
	return binary;
}

static struct binary *try_path(struct binary_finder *f, const struct finder_want *want, int root_fd, const char *path)
{
	return take_file(f, want, root_file_open(root_fd, path), path);
}

/* ---- By the path that the profile has --------------------------------------------------------- */

static struct binary *try_roots(struct binary_finder *f, const struct finder_want *want, struct str path)
{
	char text[1024];

	if (!path.len || path.at[0] != '/' || path.len >= sizeof(text) || memchr(path.at, 0, path.len))
		return NULL;
	memcpy(text, path.at, path.len);
	text[path.len] = 0;
	for (u32 i = 0; i < f->options->roots.count; i++) {
		_cleanup_(closep) int root = open(f->options->roots.at[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct binary *found = root >= 0 ? try_path(f, want, root, text) : NULL;

		if (found)
			return found;
	}
	return NULL;
}

static struct binary *try_profile_paths(struct binary_finder *f, const struct finder_want *want)
{
	struct binary *found = try_roots(f, want, want->name);
	u32 tries = 0, resource = 0;
	struct str path;

	while (!found && want->profile && tries++ < FINDER_PIDS_MAX &&
	       profile_executable_path(want->profile, want->name, &resource, &path))
		found = try_roots(f, want, path);
	return found;
}

/* ---- In the files that run here ----------------------------------------------------------------- */

/* The path of a mapping of a process whose last part is the name; "" if there is none. */
static void mapped_path(long long pid, struct str name, char out[1024])
{
	char maps[64], line[2048];
	FILE *file;

	out[0] = 0;
	(void)snprintf(maps, sizeof(maps), "/proc/%lld/maps", pid);
	file = fopen(maps, "re");
	for (u32 i = 0; file && !*out && i < MAPS_LINES_MAX && fgets(line, sizeof(line), file); i++) {
		char *path = strchr(line, '/');
		size_t len = path ? strcspn(path, "\n") : 0;

		if (!len || len >= 1024 || !str_equal(str_base_name((struct str){ path, (u32)len }), name))
			continue;
		memcpy(out, path, len);
		out[len] = 0;
	}
	if (file)
		fclose(file);
}

static struct binary *try_process(struct binary_finder *f, const struct finder_want *want, long long pid,
				  struct str name)
{
	_cleanup_(closep) int root_fd = -1;
	char path[1024];

	mapped_path(pid, name, path);
	if (!*path)
		return NULL;
	root_fd = root_file_root_of((u32)pid);
	return root_fd < 0 ? NULL : try_path(f, want, root_fd, path);
}

static struct binary *try_processes(struct binary_finder *f, const struct finder_want *want)
{
	struct str name = str_base_name(want->name);
	struct binary *found = NULL;
	u32 tries = 0;

	if (!f->options->processes || !want->profile || !name.len)
		return NULL;
	for (u32 i = 0; !found && i < want->profile->resources.count && tries < FINDER_PIDS_MAX; i++) {
		const struct profile_resource *r = &want->profile->resources.at[i];
		const struct any *pid = keyvalue_find(r->attributes, r->attribute_count, "process.pid");

		if (!pid || pid->kind != ANY_INT || pid->integer <= 0)
			continue;
		tries++;
		found = try_process(f, want, pid->integer, name);
	}
	return found;
}

/* ---- In the listed directories --------------------------------------------------------------------- */

static void index_file(struct binary_finder *f, const char *path, const char *name)
{
	size_t len = strlen(path) + 1;
	struct named_file *file = arena_alloc(&f->index_arena, sizeof(*file) + len);
	u32 number = file ? interner_add(&f->names, name, strlen(name), NULL) : INTERNER_NONE;

	if (number == INTERNER_NONE)
		return;
	memcpy(file->path, path, len);
	file->next = f->files[number];
	f->files[number] = file;
	f->file_count++;
}

static void index_directory(struct binary_finder *f, const char *path, u32 depth)
{
	DIR *dir = depth <= INDEX_DEPTH_MAX ? opendir(path) : NULL;
	struct dirent *entry;

	while (dir && f->file_count < FINDER_FILES_MAX && (entry = readdir(dir))) {
		char child[1024];

		if (entry->d_name[0] == '.' ||
		    snprintf(child, sizeof(child), "%s/%s", path, entry->d_name) >= (int)sizeof(child))
			continue;
		if (entry->d_type == DT_DIR)
			index_directory(f, child, depth + 1);
		else if (entry->d_type == DT_REG || entry->d_type == DT_LNK)
			index_file(f, child, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

static struct binary *try_directories(struct binary_finder *f, const struct finder_want *want)
{
	struct str name = str_base_name(want->name);
	struct binary *found = NULL;
	u32 number, tries = 0;

	if (!f->has_index) {
		for (u32 i = 0; i < f->options->directories.count; i++)
			index_directory(f, f->options->directories.at[i], 0);
		f->has_index = true;
	}
	number = name.len ? interner_find(&f->names, name.at, name.len) : INTERNER_NONE;
	if (number == INTERNER_NONE)
		return NULL;
	for (struct named_file *at = f->files[number]; at && !found && tries++ < FINDER_NAMES_MAX; at = at->next)
		found = try_path(f, want, f->host_fd, at->path);
	return found;
}

/* ---- By build id: debug files, and debuginfod -------------------------------------------------------- */

static struct binary *try_debug_directories(struct binary_finder *f, const struct finder_want *want, const char *hex)
{
	static const char *const suffixes[] = { "", ".debug", "/elf" };	/* the last one is perf's way */
	char path[1024];

	for (u32 i = 0; want->build_id_bytes > 1 && i < 3 * f->options->debug_directories.count; i++) {
		struct binary *found;

		(void)snprintf(path, sizeof(path), "%s/%.2s/%s%s", f->options->debug_directories.at[i / 3], hex,
			       hex + 2, suffixes[i % 3]);
		found = try_path(f, want, f->host_fd, path);
		if (found)
			return found;
	}
	return NULL;
}

static struct binary *try_ids(struct binary_finder *f, const struct finder_want *want)
{
	char hex[2 * BUILD_ID_MAX + 1] = "", path[4200];
	struct binary *found;

	hex_write(want->build_id_bytes ? want->build_id : want->htlhash,
		  want->build_id_bytes ? want->build_id_bytes : sizeof(want->htlhash), hex);
	found = try_debug_directories(f, want, hex);
	if (found || !f->options->files_by_id)
		return found;
	(void)snprintf(path, sizeof(path), "%s/%s", f->options->files_by_id, hex);
	return try_path(f, want, f->host_fd, path);
}

static struct binary *try_debuginfod(struct binary_finder *f, const struct finder_want *want, bool *ret_later)
{
	struct str name = str_base_name(want->name);
	char path[256];
	int fd;

	*ret_later = false;
	if (!f->debuginfod || !want->build_id_bytes)
		return NULL;
	fd = debuginfod_get(f->debuginfod, want->build_id, want->build_id_bytes);
	*ret_later = fd == -EAGAIN;
	(void)snprintf(path, sizeof(path), "%.*s", name.len < 255 ? (int)name.len : 255, name.len ? name.at : "");
	return take_file(f, want, fd, path);
}

/* ---- Asking -------------------------------------------------------------------------------------------- */

/*
 * A debug file has no code, and its headers do not say where that lies in the program's file: the program does, else
 * it is where linkers put it in libraries, at an offset that is its address.
 */
static struct binary *lay_out(struct binary *debug, const struct binary *program)
{
	if (program) {
		debug->info.segment_count = program->info.segment_count;
		memcpy(debug->info.segment, program->info.segment, sizeof(debug->info.segment));
		return debug;
	}
	for (u32 i = 0; debug && debug->info.type == ET_DYN && i < debug->info.segment_count; i++)
		debug->info.segment[i].file_offset = debug->info.segment[i].ea;
	return debug;
}

/*
 * The debug file instead, if there is none, or if it was stripped: the symbolizer looks for debug files only where
 * they usually are, not in the directories of the configuration.
 */
static struct binary *with_symbols(struct binary_finder *f, const struct finder_want *want, struct binary *found)
{
	struct binary *debug;

	if (found && f->options->keeps_programs)
		return found;
	if (found && (found->info.has_symtab || found->info.has_debug_info || found->info.has_lang_tables))
		return found;
	debug = try_ids(f, want);
	if (!debug)
		return found;
	lay_out(debug, found);
	binary_unref(found);
	return debug;
}

static struct binary *find_by_id(struct binary_finder *f, const struct finder_want *want, bool *ret_later)
{
	struct binary *found = try_processes(f, want);

	if (!found)
		found = try_profile_paths(f, want);
	if (!found)
		found = try_directories(f, want);
	found = with_symbols(f, want, found);
	return found ? found : lay_out(try_debuginfod(f, want, ret_later), NULL);
}

static bool is_path(const struct finder_want *want)
{
	return want->name.len && want->name.at[0] == '/';
}

static void find(struct binary_finder *f, const struct finder_want *want, struct entry *entry)
{
	bool later = false;
	struct binary *found;

	if (str_equal(want->name, STR(VDSO_NAME)))
		found = take_file(f, want, vdso_open(), VDSO_NAME);
	else
		found = has_id(want) ? find_by_id(f, want, &later) : try_roots(f, want, want->name);
	entry->binary = found;
	entry->tried_path = is_path(want);
	entry->retry_ns = monotonic_ns() + (later ? FINDER_RETRY_NS : FINDER_MISS_NS);
	f->stats.found += found != NULL;
	f->stats.missed += !found;
}

void binary_finder_begin(struct binary_finder *f)
{
	if (f->debuginfod)
		debuginfod_begin(f->debuginfod);
	if (f->keys.count == FINDER_MAX)
		forget_all(f);
}

/* By its id, else by its path if that is to be trusted; INTERNER_NONE: there is nothing to find it by. */
static u32 number_of(struct binary_finder *f, const struct finder_want *want, bool *ret_new)
{
	struct key key = { .build_id_bytes = want->build_id_bytes };

	memcpy(key.build_id, want->build_id, want->build_id_bytes);
	if (!want->build_id_bytes && want->has_htlhash) {
		key.has_htlhash = 1;
		memcpy(key.htlhash, want->htlhash, sizeof(key.htlhash));
	}
	if (has_id(want))
		return interner_add(&f->keys, &key, sizeof(key), ret_new);
	if (!want->trusts_path || !want->name.len)
		return INTERNER_NONE;
	return interner_add(&f->keys, want->name.at, want->name.len, ret_new);
}

struct binary *binary_finder_get(struct binary_finder *f, const struct finder_want *want)
{
	struct entry *entry;
	bool is_new;
	u32 number = number_of(f, want, &is_new);

	if (number == INTERNER_NONE)
		return NULL;
	entry = &f->entries[number];
	if (is_new || (!entry->binary && (monotonic_ns() >= entry->retry_ns || (is_path(want) && !entry->tried_path))))
		find(f, want, entry);
	return entry->binary;
}
