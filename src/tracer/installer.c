// SPDX-License-Identifier: Apache-2.0
#include "tracer/installer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "exe/lang_file.h"
#include "exe/reader.h"
#include "exe/rows.h"
#include "exe/rows_cache.h"
#include "lang/lang.h"
#include "proc/binaries.h"
#include "proc/binary.h"
#include "proc/maps.h"
#include "proc/processes.h"
#include "tracer/generated.h"
#include "tracer/runtimes.h"
#include "tracer/source_maps.h"
#include "tracer/tables.h"

#define CACHE_BYTES_MAX (256ull << 20)

/* What we know of a binary's rows, by its id. */
struct module {
	bool tried;
	struct tables_rows rows;
	struct lang_file *file;		/* the runtime it holds, or NULL */
};

struct installer {
	struct installer_options options;
	struct binaries *binaries;
	struct runtimes *runtimes;
	struct source_maps *source_maps;
	struct rows_cache *cache;	/* or NULL */
	struct module *modules;
	u32 module_cap;
	u64 now_ns;
	struct installer_stats stats;
};

/* Without it all is as before, only slower to start. */
static void installer_open_cache(struct installer *in, const char *path)
{
	char *rows = NULL;

	if (!path)
		return;
	(void)mkdir(path, 0700);
	if (asprintf(&rows, "%s/rows", path) < 0)
		return;
	(void)rows_cache_open(rows, CACHE_BYTES_MAX, lang_known(), &in->cache);
	free(rows);
}

static int installer_load_lang(void *installer, u32 lang, const struct lang_ops *ops)
{
	struct installer *in = installer;

	return in->options.load_lang(in->options.arg, lang, ops);
}

static int installer_recall(void *installer, const struct kept_key *key, struct kept_objects *ret_kept)
{
	struct installer *in = installer;

	return in->options.recall(in->options.arg, key, ret_kept);
}

static int installer_source_map(void *installer, const struct lang_process *process, const struct lang_script *script,
				const struct source_map **ret_map)
{
	struct installer *in = installer;

	return source_maps_find(in->source_maps, process, script, ret_map);
}

static const struct lang_file *installer_file(void *installer, u32 id)
{
	struct installer *in = installer;

	return id < in->module_cap ? in->modules[id].file : NULL;
}

int installer_new(const struct installer_options *options, struct installer **ret_installer)
{
	_cleanup_(installer_freep) struct installer *in = calloc(1, sizeof(*in));
	int r;

	if (!in)
		return -ENOMEM;
	in->options = *options;
	in->source_maps = source_maps_new(options->reader);
	if (!in->source_maps)
		return -ENOMEM;
	r = binaries_new(options->reader, options->peek, &in->binaries);
	if (r == 0)
		r = runtimes_new(&(struct runtimes_options){ .tables = options->tables,
							     .peek = options->peek,
							     .langs = options->langs,
							     .wishes = options->lang_wishes,
							     .file = installer_file,
							     .load = installer_load_lang,
							     .recall = installer_recall,
							     .source_map = installer_source_map,
							     .arg = in },
				 &in->runtimes);
	if (r < 0)
		return r;
	installer_open_cache(in, options->cache_path);
	*ret_installer = TAKE(in);
	return 0;
}

void installer_free(struct installer *in)
{
	if (!in)
		return;
	for (u32 i = 0; i < in->module_cap; i++)
		free(in->modules[i].file);
	binaries_free(in->binaries);
	runtimes_free(in->runtimes);
	source_maps_free(in->source_maps);
	rows_cache_free(in->cache);
	free(in->modules);
	free(in);
}

struct binary *installer_binary(void *installer, u32 id)
{
	return binaries_get(((struct installer *)installer)->binaries, id);
}

static struct module *installer_module(struct installer *in, u32 id)
{
	if (array_reserve(&in->modules, &in->module_cap, id + 1, sizeof(*in->modules)) < 0)
		return NULL;
	return &in->modules[id];
}

/* Rows are kept by build id and, since a file can claim any, its hash. */
static size_t cache_id(const struct exe_info *info, u8 ret_id[ROWS_CACHE_ID_MAX])
{
	memset(ret_id, 0, ROWS_CACHE_ID_MAX);
	memcpy(ret_id, info->build_id, info->build_id_bytes);
	memcpy(ret_id + BUILD_ID_MAX, info->htlhash, ROWS_CACHE_ID_MAX - BUILD_ID_MAX);
	return info->build_id_bytes ? ROWS_CACHE_ID_MAX : 0;
}

static int installer_rows(struct installer *in, struct binary *binary, struct rows **ret_rows)
{
	u8 id[ROWS_CACHE_ID_MAX];
	size_t id_bytes = cache_id(&binary->info, id);
	int r = -ENOENT;

	if (id_bytes)
		r = rows_cache_get(in->cache, id, id_bytes, ret_rows);
	if (r == 0) {
		in->stats.rows_cached++;
		return 0;
	}
	r = reader_rows(in->options.reader, binary->fd, -1, ret_rows);
	if (r == 0 && id_bytes)
		(void)rows_cache_put(in->cache, id, id_bytes, *ret_rows);	/* counted there */
	in->stats.rows_none += r == -ENODATA;
	in->stats.rows_failed += r < 0 && r != -ENODATA;
	return r;
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

/* The rows of a binary, put into the tables the first time it is needed. */
static const struct tables_rows *installer_load(struct installer *in, struct binary *binary)
{
	struct module *module = installer_module(in, binary->id);
	struct rows *rows = NULL;
	u64 start_ea, end_ea;

	if (!module || module->tried)
		return module ? &module->rows : NULL;
	module->tried = true;
	in->options.breathe(in->options.arg);
	if (binary->fd < 0)
		return &module->rows;
	(void)reader_lang(in->options.reader, binary->fd, &module->file);	/* most hold none */
	if (installer_rows(in, binary, &rows) < 0)
		return &module->rows;
	in->stats.rows_cut += rows->dropped_count;
	binary_text(binary, &start_ea, &end_ea);
	(void)tables_add_rows(in->options.tables, rows, start_ea, end_ea, &module->rows);	/* counted there */
	free(rows);
	return &module->rows;
}

/* The entry of a mapping that is not, or not in a known way, a file: its addresses stand for themselves. */
static struct map_entry plain_entry(const struct mapping *m)
{
	return (struct map_entry){ .start_va = m->start_va, .end_va = m->end_va, .page_base = MAP_NO_ROWS };
}

static struct map_entry installer_entry(struct installer *in, struct generated *generated, const struct mapping *m)
{
	struct map_entry entry = plain_entry(m);
	const struct tables_rows *rows;

	if (mapping_is_generated(m)) {
		entry.lang = runtimes_owner(generated->process, m->start_va, m->end_va) & 0xff;
		if (!entry.lang)
			generated_entry(generated, m, &entry);
		return entry;
	}
	if (!m->binary || !binary_place(m->binary, m, &entry.bias, &entry.start_va, &entry.end_va))
		return plain_entry(m);
	entry.binary = m->binary->id & FRAME_BINARY_MASK;
	rows = installer_load(in, m->binary);
	if (rows)
		entry.page_base = tables_page_base(rows);
	return entry;
}

/* Opens and reads the files behind mappings that are new. */
static void installer_find_binaries(struct installer *in, u32 pid, struct maps *maps)
{
	for (u32 i = 0; i < maps->count; i++) {
		struct mapping *m = &maps->at[i];

		if (m->kind == MAPPING_ANON || m->looked_for)
			continue;
		m->binary = binaries_resolve(in->binaries, pid, m);
		m->looked_for = true;
		if (m->binary)
			(void)installer_load(in, m->binary);
	}
}

static int installer_put(struct installer *in, const struct process *process, struct maps *maps, u64 now_ns)
{
	_cleanup_(freep) struct map_entry *entries = reallocarray(NULL, maps->count + 1, sizeof(*entries));
	struct generated generated;
	u32 first;
	int r = entries ? generated_begin(&generated, in->options.tables, process, maps) : -ENOMEM;

	if (r < 0)
		return r;
	for (u32 i = 0; i < maps->count; i++)
		entries[i] = installer_entry(in, &generated, &maps->at[i]);
	r = tables_add_maps(in->options.tables, entries, maps->count, &first);
	in->stats.rows_left_out += generated_end(&generated, r, now_ns);
	if (r < 0)
		return r;
	tables_drop_maps(in->options.tables, maps->installed_first, maps->installed_count, now_ns);
	maps->installed_first = first;
	maps->installed_count = maps->count;
	return 0;
}

void installer_remove(struct installer *in, struct maps *maps, u64 now_ns)
{
	tables_drop_maps(in->options.tables, maps->installed_first, maps->installed_count, now_ns);
	runtimes_drop_slots(in->runtimes, maps, now_ns);
	generated_drop(in->options.tables, maps, now_ns);
	maps->installed_count = 0;
}

static int installer_publish(struct installer *in, struct process *process, u64 now_ns)
{
	struct maps *maps = process->maps;
	struct proc_entry entry = { .id = process->id };
	int r = 0;

	if (maps->count && (process->maps_changed || !maps->installed_count)) {
		/* Before: what is told of meanwhile, and what was too much for one time, is for the next. */
		runtimes_take_rows(process);
		r = installer_put(in, process, maps, now_ns);
	}
	process->maps_changed = false;
	process->installed_ns = now_ns;
	if (r < 0)
		return r;
	process->is_published = true;
	entry.map_first = maps->installed_first;
	entry.map_count = maps->installed_count;
	entry.slot = maps->slot;
	entry.start_lang = runtimes_start(process);
	return tables_publish(in->options.tables, process->pid, &entry);
}

/* Taking up a runtime can take long, most of all the first of its language: native frames do not wait for it. */
int installer_install(struct installer *in, struct process *process, u64 now_ns)
{
	int r;

	installer_find_binaries(in, process->pid, process->maps);
	r = installer_publish(in, process, now_ns);
	if (r < 0 || !(runtimes_attach(in->runtimes, process, now_ns) || runtimes_has_rows(process)))
		return r;
	/* What the runtime owns is marked, too, unless others look at the same tables. */
	process->maps_changed = process->maps->refs == 1;
	return installer_publish(in, process, now_ns);
}

static void installer_forget(void *arg, struct binary *binary)
{
	struct installer *in = arg;
	struct module *module = installer_module(in, binary->id);

	if (!module)
		return;
	tables_drop_rows(in->options.tables, &module->rows, in->now_ns);
	module->rows = (struct tables_rows){ 0 };
	free(TAKE(module->file));
}

void installer_sweep(struct installer *in, u64 now_ns)
{
	in->now_ns = now_ns;
	binaries_sweep(in->binaries, installer_forget, in);
}

struct runtimes *installer_runtimes(const struct installer *in)
{
	return in->runtimes;
}

struct source_maps_stats installer_source_maps(const struct installer *in)
{
	return source_maps_stats(in->source_maps);
}

struct installer_stats installer_stats(const struct installer *in)
{
	struct binaries_stats b = binaries_stats(in->binaries);
	struct installer_stats stats = in->stats;

	stats.files = b.opened;
	stats.unreadable = b.unreadable;
	stats.not_elf = b.not_elf;
	stats.full = b.full;
	return stats;
}
