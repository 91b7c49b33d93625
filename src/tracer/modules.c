// SPDX-License-Identifier: Apache-2.0
#include "tracer/modules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/array.h"
#include "base/lock.h"
#include "exe/background_reader.h"
#include "exe/lang_file.h"
#include "exe/rows.h"
#include "exe/rows_cache.h"
#include "exe/rows_file.h"
#include "exe/rows_part.h"
#include "lang/lang.h"
#include "proc/binaries.h"
#include "proc/binary.h"
#include "proc/maps.h"

#define CACHE_BYTES_MAX (256ull << 20)
#define ASIDE_BYTES_MAX (64ull << 20)	/* rows of files without a build id, or that the cache did not take */

#define PARTS_MAX 256	/* of files that are looked through, or wait for it */

enum module_state { MODULE_NEW, MODULE_LOADING, MODULE_LOADED };

/* By the binary's id. */
struct module {
	enum module_state state;
	struct row_pages_range rows;
	u32 aside_bytes;		/* of rows that are not in the cache */
	struct lang_file *file;		/* or NULL */
};

struct modules {
	struct tables *tables;
	struct background_reader *reader;
	struct binaries *binaries;
	pthread_mutex_t cache_lock;
	struct rows_cache *cache;	/* with the lock; or NULL */
	struct module *at;
	u32 cap;
	u64 aside_bytes;		/* of rows that are not in the cache */
	u32 part_count;			/* that are under way */
	struct tls_wanted variables;	/* never changes */
	u64 now_ns;
	struct modules_stats stats;
};

struct load_job {
	struct read_job job;
	struct modules *modules;
	struct binary *binary;		/* a reference */
	struct lang_file *file;
	struct rows_file *rows;
	u32 aside_bytes;		/* of them, if they are not in the cache */
	bool is_cached;
};

struct part_job {
	struct read_job job;
	struct modules *modules;
	struct binary *binary;		/* a reference */
	struct rows_part part;
	struct rows_file *rows;
};

/* Without it all is as before, only slower to start. */
static void modules_open_cache(struct modules *m, const char *path)
{
	char *rows = NULL;

	if (!path)
		return;
	(void)mkdir(path, 0700);
	if (asprintf(&rows, "%s/rows", path) < 0)
		return;
	(void)rows_cache_open(rows, CACHE_BYTES_MAX, lang_known(), &m->cache);
	free(rows);
}

int modules_new(struct tables *tables, struct background_reader *reader, struct peek *peek, const char *cache_path,
		const struct tls_wanted *variables, struct modules **ret_modules)
{
	_cleanup_(modules_freep) struct modules *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->tables = tables;
	m->reader = reader;
	if (variables)
		m->variables = *variables;
	pthread_mutex_init(&m->cache_lock, NULL);
	r = binaries_new(reader, peek, &m->binaries);
	if (r < 0)
		return r;
	modules_open_cache(m, cache_path);
	*ret_modules = TAKE(m);
	return 0;
}

void modules_free(struct modules *m)
{
	if (!m)
		return;
	for (u32 i = 0; i < m->cap; i++)
		free(m->at[i].file);
	binaries_free(m->binaries);
	rows_cache_free(m->cache);
	pthread_mutex_destroy(&m->cache_lock);
	free(m->at);
	free(m);
}

/* Rows are kept by build id, or contents where there is none; and, since a file can claim any, by which file it is. */
static size_t cache_id(const struct binary *binary, u8 ret_id[ROWS_CACHE_ID_MAX])
{
	const struct exe_info *info = &binary->info;

	memset(ret_id, 0, ROWS_CACHE_ID_MAX);
	if (info->build_id_bytes)
		memcpy(ret_id, info->build_id, info->build_id_bytes);
	else
		memcpy(ret_id, info->htlhash, sizeof(info->htlhash));
	memcpy(ret_id + BUILD_ID_MAX, &binary->file, sizeof(binary->file));
	memcpy(ret_id + BUILD_ID_MAX + sizeof(binary->file), info->htlhash,
	       ROWS_CACHE_ID_MAX - BUILD_ID_MAX - sizeof(binary->file));
	return binary->file ? ROWS_CACHE_ID_MAX : 0;
}

/* Rows that were just compiled, where they can be read again. */
static int keep_rows(struct load_job *load, const struct rows *rows, const u8 *id, size_t id_bytes)
{
	struct modules *m = load->modules;

	LOCKED(&m->cache_lock);
	if (id_bytes && rows_cache_put(m->cache, id, id_bytes, rows) == 0 &&	/* else counted there */
	    rows_cache_get(m->cache, id, id_bytes, &load->rows) == 0)
		return 0;
	load->aside_bytes = rows->bytes;
	return rows_cache_aside(m->cache, rows, &load->rows);
}

static int load_rows(struct load_job *load, struct reader *reader)
{
	struct modules *m = load->modules;
	_cleanup_(freep) struct rows *rows = NULL;
	u8 id[ROWS_CACHE_ID_MAX];
	size_t id_bytes = cache_id(load->binary, id);
	int r = -ENOENT;

	if (id_bytes) {
		LOCKED(&m->cache_lock);
		r = rows_cache_get(m->cache, id, id_bytes, &load->rows);
	}
	load->is_cached = r == 0;
	if (r == 0)
		return 0;
	r = reader_rows(reader, load->binary->fd, -1, &rows);
	return r < 0 ? r : keep_rows(load, rows, id, id_bytes);
}

/* In another thread: of the modules only the cache is touched, else what never changes. */
static int load(struct read_job *job, struct reader *reader)
{
	struct load_job *l = (struct load_job *)job;

	rows_file_free(TAKE(l->rows));	/* of a run that was ended for others' sake */
	l->aside_bytes = 0;
	if (!l->file)
		(void)reader_lang(reader, l->binary->fd, &l->modules->variables, &l->file);	/* most hold none */
	return load_rows(l, reader);
}

/* Parts are kept beside the rows of their file. */
static size_t part_cache_id(const struct part_job *job, u8 ret_id[ROWS_CACHE_ID_MAX])
{
	size_t bytes = cache_id(job->binary, ret_id);
	XXH128_hash_t hash = XXH3_128bits_withSeed(ret_id, ROWS_CACHE_ID_MAX, job->part.ea[0]);

	memcpy(ret_id, &hash, sizeof(hash));
	return bytes ? sizeof(hash) : 0;
}

/* As load(). What call frame information says is read again as quickly as from the cache. */
static int read_part(struct read_job *job, struct reader *reader)
{
	struct part_job *s = (struct part_job *)job;
	struct modules *m = s->modules;
	struct rows *rows = NULL;
	u8 id[ROWS_CACHE_ID_MAX];
	size_t id_bytes = s->part.is_unread ? 0 : part_cache_id(s, id);
	int r;

	if (id_bytes) {
		LOCKED(&m->cache_lock);
		if (rows_cache_get(m->cache, id, id_bytes, &s->rows) == 0)
			return 0;
	}
	r = reader_rows_part(reader, s->binary->fd, &s->part, &rows);
	if (r < 0)
		return r;
	if (id_bytes) {
		LOCKED(&m->cache_lock);
		(void)rows_cache_put(m->cache, id, id_bytes, rows);	/* counted there */
	}
	s->rows = rows_file_of(rows);
	return s->rows ? 0 : -ENOMEM;
}

static void part_read(struct read_job *job, int r)
{
	struct part_job *s = (struct part_job *)job;
	struct modules *m = s->modules;

	m->part_count--;
	tables_put_part(m->tables, &m->at[s->binary->id].rows, s->part.ea[0] >> PAGE_ROWS_SHIFT,
			r < 0 ? NULL : s->rows);
	rows_file_free(s->rows);
	binary_unref(s->binary);
	free(s);
}

static void post_part(struct modules *m, struct binary *binary, const struct rows_part *part)
{
	struct part_job *s = calloc(1, sizeof(*s));

	if (!s) {
		tables_put_part(m->tables, &m->at[binary->id].rows, part->ea[0] >> PAGE_ROWS_SHIFT, NULL);
		return;
	}
	*s = (struct part_job){ .job = { .run = read_part, .done = part_read, .owner = read_job_owner(binary->fd) },
				.modules = m, .binary = binary_ref(binary), .part = *part };
	m->part_count++;
	(void)background_reader_post(m->reader, &s->job);	/* done at once if there is no room */
}

bool modules_want_part(struct modules *m, u32 id, u64 ea)
{
	struct binary *binary = binaries_get(m->binaries, id);
	struct rows_part part;
	enum row_part wanted;

	if (!binary || id >= m->cap)
		return false;
	if (m->part_count == PARTS_MAX) {
		m->stats.parts_refused++;
		return false;
	}
	wanted = tables_want_part(m->tables, &m->at[id].rows, ea, &part);
	if (wanted == ROW_PART_WANTED)
		post_part(m, binary, &part);
	return wanted != ROW_PART_NONE;
}

/* The last frame has no rule, or is where a wrong one of the last but one led to. */
bool modules_sweep_at(struct modules *m, const u64 *user, u32 user_count, u8 end)
{
	bool is_under_way = false;

	if (end != END_NO_RULE && end != END_NO_MAPPING && end != END_NO_ROOT && end != END_NO_PROGRESS &&
	    end != END_UNREADABLE && end != END_SLICE_SHORT)
		return false;
	for (u32 i = user_count > 2 ? user_count - 2 : 0; i < user_count; i++)
		if (user[i] >> FRAME_KIND_SHIFT == FRAME_EXE)
			is_under_way |= modules_want_part(m, user[i] >> FRAME_BINARY_SHIFT & FRAME_BINARY_MASK,
							  user[i] & FRAME_EA_MASK);
	return is_under_way;
}

/* Code lies between these ELF addresses. */
static void binary_text(const struct binary *binary, u64 *ret_start_ea, u64 *ret_end_ea)
{
	u64 start = ~0ull, end = 0;

	for (u32 i = 0; i < binary->info.segment_count; i++) {
		const struct exe_segment *s = &binary->info.segment[i];

		start = s->ea < start ? s->ea : start;
		end = s->ea + s->bytes > end ? s->ea + s->bytes : end;
	}
	*ret_start_ea = start;
	*ret_end_ea = end;
}

int modules_set_file(struct modules *m, u32 id, struct lang_file *file)
{
	if (array_reserve(&m->at, &m->cap, id + 1, sizeof(*m->at)) < 0) {
		free(file);
		return -ENOMEM;
	}
	m->at[id].file = file;
	return 0;
}

static void modules_add_rows(struct modules *m, struct module *module, struct load_job *l)
{
	u64 start_ea, end_ea;

	m->stats.rows_cut += rows_file_head(l->rows)->dropped_count;
	if (m->aside_bytes + l->aside_bytes > ASIDE_BYTES_MAX) {
		m->stats.rows_full++;
		rows_file_free(l->rows);
		return;
	}
	binary_text(l->binary, &start_ea, &end_ea);
	if (tables_add_rows(m->tables, l->rows, start_ea, end_ea, &module->rows) < 0)	/* counted there */
		return;
	module->aside_bytes = l->aside_bytes;
	m->aside_bytes += l->aside_bytes;
}

static void loaded(struct read_job *job, int r)
{
	struct load_job *l = (struct load_job *)job;
	struct modules *m = l->modules;
	struct module *module = &m->at[l->binary->id];

	module->state = MODULE_LOADED;
	(void)modules_set_file(m, l->binary->id, l->file);	/* it has a place */
	m->stats.rows_cached += l->is_cached;
	m->stats.rows_none += r == -ENODATA;
	m->stats.rows_failed += r < 0 && r != -ENODATA;
	if (r == 0)
		modules_add_rows(m, module, l);
	binary_unref(l->binary);
	free(l);
}

/* Has the rows of a binary loaded the first time it is needed; true once they are there, or none are to be had. */
static bool modules_load(struct modules *m, struct binary *binary)
{
	struct load_job *l;

	if (array_reserve(&m->at, &m->cap, binary->id + 1, sizeof(*m->at)) < 0)
		return true;
	if (m->at[binary->id].state != MODULE_NEW || binary->fd < 0)
		return m->at[binary->id].state != MODULE_LOADING;
	l = calloc(1, sizeof(*l));
	if (!l)
		return true;
	*l = (struct load_job){ .job = { .run = load, .done = loaded, .owner = read_job_owner(binary->fd) },
				.modules = m, .binary = binary_ref(binary) };
	m->at[binary->id].state = MODULE_LOADING;
	(void)background_reader_post(m->reader, &l->job);
	return m->at[binary->id].state != MODULE_LOADING;
}

bool modules_find(struct modules *m, u32 pid, struct maps *maps)
{
	bool is_complete = true;

	for (u32 i = 0; i < maps->count; i++) {
		struct mapping *mapping = &maps->at[i];

		if (mapping->kind == MAPPING_ANON)
			continue;
		if (!mapping->looked_for)
			mapping->looked_for = binaries_resolve(m->binaries, pid, mapping, &mapping->binary) == 0;
		is_complete &= mapping->looked_for && (!mapping->binary || modules_load(m, mapping->binary));
	}
	return is_complete;
}

const struct row_pages_range *modules_rows(const struct modules *m, const struct binary *binary)
{
	return binary->id < m->cap ? &m->at[binary->id].rows : NULL;
}

const struct lang_file *modules_file(const struct modules *m, const struct binary *binary)
{
	return binary->id < m->cap ? m->at[binary->id].file : NULL;
}

struct binary *modules_binary(void *modules, u32 id)
{
	return binaries_get(((struct modules *)modules)->binaries, id);
}

static void modules_forget(void *arg, struct binary *binary)
{
	struct modules *m = arg;
	struct module *module = binary->id < m->cap ? &m->at[binary->id] : NULL;

	if (!module)
		return;
	tables_drop_rows(m->tables, &module->rows, m->now_ns);
	module->rows = (struct row_pages_range){ 0 };
	m->aside_bytes -= module->aside_bytes;
	module->aside_bytes = 0;
	free(TAKE(module->file));
}

void modules_sweep(struct modules *m, u64 now_ns)
{
	m->now_ns = now_ns;
	binaries_sweep(m->binaries, modules_forget, m);
}

struct modules_stats modules_stats(const struct modules *m)
{
	struct binaries_stats b = binaries_stats(m->binaries);
	struct modules_stats stats = m->stats;

	stats.files = b.opened;
	stats.unreadable = b.unreadable;
	stats.not_elf = b.not_elf;
	stats.full = b.full;
	return stats;
}
