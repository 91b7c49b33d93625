// SPDX-License-Identifier: Apache-2.0
#include "tracer/generated.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "forge_jit.h"
#include "lang/jit/jit.h"
#include "exe/lang_file.h"
#include "lang/lang.h"
#include "proc/binary.h"
#include "proc/maps.h"
#include "proc/processes.h"
#include "test.h"
#include "tracer/modules.h"
#include "tracer/runtimes.h"
#include "tracer/source_maps.h"
#include "tracer/tables.h"

#define LATER_NS 10000000000ull
#define LIBRARY_VA 0x10000

/* This process, which has a library that tells of code, and the code. */
struct machine {
	struct tables *tables;
	struct modules *modules;
	struct source_maps *source_maps;
	struct runtimes *runtimes;
	struct process process;
	struct binary library;
	struct object object, other;
	struct entry entry, newer;
	struct descriptor list;
	u64 code_va, code_end_va;	/* the mapping */
};

static void machine_init(struct machine *m)
{
	struct lang_file *file = calloc(1, sizeof(*file));
	u64 va = (u64)(uintptr_t)x86_code;

	*m = (struct machine){
		.process = { .pid = (u32)getpid(), .maps = maps_new() },
		.library = { .refs = 100, .id = 7, .fd = -1, .root_fd = -1, .path = (char *)"/lib",
			     .info = { .segment_count = 1, .segment = { { 0, LIBRARY_VA, 0x1000 } } } },
		.entry = { .file = &m->object, .bytes = sizeof(m->object) },
		.newer = { .next = &m->entry, .file = &m->other, .bytes = sizeof(m->other) },
		.list = { 1, 1, &m->entry, &m->entry },
		.code_va = va & ~0xfffull, .code_end_va = (va & ~0xfffull) + 0x2000,
	};
	object_init(&m->object, va, sizeof(x86_code));
	object_init(&m->other, va, 16);		/* in place of the first */
	maps_add(m->process.maps, &(struct mapping){ .start_va = LIBRARY_VA, .end_va = LIBRARY_VA + 0x1000,
						     .kind = MAPPING_FILE, .path = (char *)"/lib", .looked_for = true,
						     .binary = &m->library });
	maps_add(m->process.maps, &(struct mapping){ .start_va = m->code_va, .end_va = m->code_end_va,
						     .kind = MAPPING_ANON, .path = (char *)"" });
	EQ(tables_new(NULL, sizeof(struct rows_chunk), &m->tables), 0);
	EQ(modules_new(m->tables, NULL, NULL, NULL, NULL, &m->modules), 0);
	file->lang = LANG_JIT;
	file->facts[JIT_FACT_DESCRIPTOR_EA] = (u64)(uintptr_t)&m->list;
	EQ(modules_set_file(m->modules, m->library.id, file), 0);
	m->source_maps = source_maps_new(NULL);
	EQ(runtimes_new(&(struct runtimes_options){ .tables = m->tables, .langs = RUNTIMES_ALL, .modules = m->modules,
						    .source_maps = m->source_maps }, &m->runtimes), 0);
	(void)runtimes_attach(m->runtimes, &m->process, 0);
	OK(runtimes_has_rows(&m->process));
}

static void machine_done(struct machine *m)
{
	generated_drop(m->tables, m->process.maps, LATER_NS);
	tables_collect(m->tables, 2 * LATER_NS);
	EQ(tables_stats(m->tables).rows.used_bytes, 0);
	runtimes_forget(m->runtimes, &m->process);
	runtimes_free(m->runtimes);
	source_maps_free(m->source_maps);
	modules_free(m->modules);
	tables_free(m->tables);
	maps_free(m->process.maps);
}

/* Installs the code as a mapping of that length: the entry's page_base. r: what became of the mappings. */
static u32 install(struct machine *m, u64 end_va, int r, u32 left_out)
{
	const struct mapping mapping = { .start_va = m->code_va, .end_va = end_va, .kind = MAPPING_ANON };
	struct map_entry entry = { .page_base = MAP_NO_ROWS };
	struct generated generated;

	runtimes_take_rows(&m->process);
	EQ(generated_begin(&generated, m->tables, &m->process, m->process.maps), 0);
	generated_entry(&generated, &mapping, &entry);
	EQ(entry.bias, entry.page_base == MAP_NO_ROWS ? 0 : m->code_va & ~0xffffull);
	EQ(generated_end(&generated, r, 0), left_out);
	return entry.page_base;
}

TEST(generated_code_has_rows_while_it_is_installed)
{
	struct machine m;
	u64 bytes;
	u32 base;

	machine_init(&m);
	base = install(&m, m.code_end_va, 0, 0);
	OK(base != MAP_NO_ROWS);
	OK(!runtimes_has_rows(&m.process));
	EQ(m.process.maps->rows_count, 1);
	bytes = tables_stats(m.tables).rows.used_bytes;
	OK(bytes);
	/* The same again, also where it comes to nothing, are those that are there. */
	EQ(install(&m, m.code_end_va, 0, 0), base);
	EQ(install(&m, m.code_end_va, -ENOSPC, 0), base);
	tables_collect(m.tables, LATER_NS);
	EQ(tables_stats(m.tables).rows.used_bytes, bytes);
	machine_done(&m);
}

TEST(generated_code_that_has_changed_gets_other_rows)
{
	struct machine m;
	u32 base;

	machine_init(&m);
	base = install(&m, m.code_end_va, 0, 0);
	m.list.first = m.list.changed = &m.newer;
	for (u32 i = 0; i < 30000 && !runtimes_has_rows(&m.process); i++)
		usleep(1000);
	/* What was put into the tables in vain is dropped, and the old ones are kept. */
	OK(install(&m, m.code_end_va, -ENOSPC, 0) != base);
	EQ(m.process.maps->rows_count, 1);
	tables_collect(m.tables, LATER_NS);
	EQ(tables_page(m.tables, m.process.maps->rows[0].first)->count > 0, true);
	OK(install(&m, m.code_end_va, 0, 0) != base);
	EQ(m.process.maps->rows_count, 1);
	machine_done(&m);
}

TEST(generated_code_in_mappings_that_are_too_large_is_counted_once)
{
	struct machine m;
	u64 end_va;

	machine_init(&m);
	end_va = m.code_va + GENERATED_MAPPING_BYTES_MAX + 0x1000;
	EQ(install(&m, end_va, -ENOSPC, 0), MAP_NO_ROWS);
	EQ(install(&m, end_va, 0, 1), MAP_NO_ROWS);
	EQ(install(&m, end_va, 0, 0), MAP_NO_ROWS);
	EQ(m.process.maps->rows_count, 0);
	OK(install(&m, end_va - 0x1000, 0, 0) != MAP_NO_ROWS);
	machine_done(&m);
}
