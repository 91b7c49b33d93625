// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfread_system.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"

#define KERNEL_PID 0xffffffffu
#define IDLE_NAME "swapper"
#define MISC_BIT_13 (1u << 13)		/* MMAP: data; COMM: exec; FORK: not a copy */
#define MISC_BIT_14 (1u << 14)		/* MMAP2: has a build id */
#define NAME_MAX_BYTES 65536

int perfread_system_init(struct perfread_system *s)
{
	*s = (struct perfread_system){ 0 };
	arena_init(&s->arena, PERFREAD_TEXT_BYTES_MAX);
	interner_init(&s->texts, &s->arena, PERFREAD_TABLE_MAX);
	interner_init(&s->files, &s->arena, PERFREAD_TABLE_MAX);
	interner_init(&s->regions, &s->arena, PERFREAD_TABLE_MAX);
	interner_init(&s->pids, &s->arena, PERFREAD_TABLE_MAX);
	interner_init(&s->tids, &s->arena, PERFREAD_TABLE_MAX);
	interner_init(&s->build_ids, &s->arena, PERFREAD_TABLE_MAX);
	s->program_count = 1;
	s->kernel = perfread_ranges_new();
	return s->kernel ? array_reserve(&s->programs, &s->program_cap, 1, sizeof(*s->programs)) : -ENOMEM;
}

void perfread_system_done(struct perfread_system *s)
{
	for (u32 i = 0; i < s->process_cap; i++)
		perfread_ranges_unref(s->processes[i].maps, &s->budget);
	perfread_ranges_unref(s->kernel, &s->budget);
	interner_done(&s->texts);
	interner_done(&s->files);
	interner_done(&s->regions);
	interner_done(&s->pids);
	interner_done(&s->tids);
	interner_done(&s->build_ids);
	arena_done(&s->arena);
	free(s->processes);
	free(s->thread_names);
	free(s->ids);
	free(s->programs);
}

/* ---- Tables ---------------------------------------------------------------- */

static int full(const struct interner *interner)
{
	return interner->count >= interner->max_count ? -E2BIG : -ENOMEM;
}

/* The number of a text, with its NUL, 1 or more; 0: empty. */
static int add_text(struct perfread_system *s, const char *at, size_t max, u32 *ret_text)
{
	size_t len = strnlen(at, max < NAME_MAX_BYTES ? max : NAME_MAX_BYTES);
	char copy[NAME_MAX_BYTES + 1];
	u32 number;

	*ret_text = 0;
	if (!len)
		return 0;
	memcpy(copy, at, len);
	copy[len] = 0;
	number = interner_add(&s->texts, copy, len + 1, NULL);
	if (number == INTERNER_NONE)
		return full(&s->texts);
	*ret_text = number + 1;
	return 0;
}

const char *perfread_system_text(const struct perfread_system *s, u32 text)
{
	return text ? interner_get(&s->texts, text - 1)->at : "";
}

const struct perfread_object *perfread_system_file(const struct perfread_system *s, u32 file)
{
	return interner_get(&s->files, file - 1)->at;
}

const struct perfread_region *perfread_system_region(const struct perfread_system *s, u32 region)
{
	return interner_get(&s->regions, region - 1)->at;
}

static int add_region(struct perfread_system *s, const struct perfread_object *file, u64 offset, u64 bytes,
		      u32 *ret_region)
{
	struct perfread_region region = { .offset = offset, .bytes = bytes };
	u32 number = interner_add(&s->files, file, sizeof(*file), NULL);

	if (number == INTERNER_NONE)
		return full(&s->files);
	region.file = number + 1;
	number = interner_add(&s->regions, &region, sizeof(region), NULL);
	if (number == INTERNER_NONE)
		return full(&s->regions);
	*ret_region = number + 1;
	return 0;
}

struct perfread_process *perfread_system_process(struct perfread_system *s, u32 pid)
{
	u32 number = interner_add(&s->pids, &pid, sizeof(pid), NULL);
	struct perfread_process *p;

	if (number == INTERNER_NONE ||
	    array_reserve(&s->processes, &s->process_cap, number + 1, sizeof(*s->processes)) < 0)
		return NULL;
	p = &s->processes[number];
	if (!p->maps)
		p->maps = perfread_ranges_new();
	return p->maps ? p : NULL;
}

const struct perfread_ranges *perfread_system_maps(const struct perfread_system *s, u32 pid)
{
	u32 number = interner_find(&s->pids, &pid, sizeof(pid));

	return number != INTERNER_NONE && number < s->process_cap ? s->processes[number].maps : NULL;
}

u32 perfread_system_program(struct perfread_system *s, u32 pid)
{
	struct perfread_process *p = perfread_system_process(s, pid);

	if (!p || p->program)
		return p ? p->program : 0;
	if (s->program_count == PERFREAD_TABLE_MAX ||
	    array_reserve(&s->programs, &s->program_cap, s->program_count + 1, sizeof(*s->programs)) < 0)
		return 0;
	if (!pid && !p->name && add_text(s, IDLE_NAME, sizeof(IDLE_NAME), &p->name) < 0)
		return 0;
	s->programs[s->program_count] = (struct perfread_program){ pid, p->name };
	p->program = s->program_count++;
	return p->program;
}

/* ---- Threads --------------------------------------------------------------- */

struct thread_key {
	u32 pid, tid;
};

static int name_thread(struct perfread_system *s, struct thread_key key, u32 name)
{
	u32 number = interner_add(&s->tids, &key, sizeof(key), NULL);
	struct perfread_process *p;
	int r;

	if (number == INTERNER_NONE)
		return full(&s->tids);
	r = array_reserve(&s->thread_names, &s->thread_cap, number + 1, sizeof(*s->thread_names));
	if (r < 0)
		return r;
	s->thread_names[number] = name;
	if (key.pid != key.tid)
		return 0;
	p = perfread_system_process(s, key.pid);
	if (!p)
		return full(&s->pids);
	p->name = name;
	return 0;
}

u32 perfread_system_thread(const struct perfread_system *s, u32 pid, u32 tid)
{
	struct thread_key key = { pid, tid };
	u32 number = interner_find(&s->tids, &key, sizeof(key)), process;

	if (number != INTERNER_NONE)
		return s->thread_names[number];
	process = interner_find(&s->pids, &pid, sizeof(pid));
	return process != INTERNER_NONE && process < s->process_cap ? s->processes[process].name : 0;
}

/* Another program, with maps of its own. Takes them over. */
static void start_program(struct perfread_system *s, struct perfread_process *p, struct perfread_ranges *maps)
{
	perfread_ranges_unref(p->maps, &s->budget);
	p->maps = maps;
	p->program = 0;
}

static int read_comm(struct perfread_system *s, const struct perfread_record *record)
{
	struct cursor c = record->body;
	u32 pid = (u32)cursor_uint(&c, 4), tid = (u32)cursor_uint(&c, 4), name;
	int r = c.bad ? 0 : add_text(s, (const char *)c.at, cursor_left(&c), &name);
	struct perfread_process *p;
	struct perfread_ranges *maps;

	if (c.bad || r < 0)
		return r;
	if (record->misc & MISC_BIT_13) {
		p = perfread_system_process(s, pid);
		maps = p ? perfread_ranges_new() : NULL;
		if (!maps)
			return full(&s->pids);
		start_program(s, p, maps);
	}
	return name_thread(s, (struct thread_key){ pid, tid }, name);
}

static int read_fork(struct perfread_system *s, const struct perfread_record *record)
{
	struct cursor c = record->body;
	u32 pid = (u32)cursor_uint(&c, 4), parent_pid = (u32)cursor_uint(&c, 4);
	u32 tid = (u32)cursor_uint(&c, 4), parent_tid = (u32)cursor_uint(&c, 4);
	u32 name = perfread_system_thread(s, parent_pid, parent_tid);
	struct perfread_process *child, *parent;
	struct perfread_ranges *maps;

	if (c.bad)
		return 0;
	if (pid != parent_pid) {
		/* Making the second may move the first. */
		if (!perfread_system_process(s, parent_pid))
			return full(&s->pids);
		child = perfread_system_process(s, pid);
		parent = perfread_system_process(s, parent_pid);
		if (!child || !parent)
			return full(&s->pids);
		maps = record->misc & MISC_BIT_13 ? perfread_ranges_new() : perfread_ranges_ref(parent->maps);
		if (!maps)
			return -ENOMEM;
		start_program(s, child, maps);
	}
	return name ? name_thread(s, (struct thread_key){ pid, tid }, name) : 0;
}

/* ---- Mappings -------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* What perf takes for memory that a runtime has generated code in. */
static bool is_generated(const char *name)
{
	static const char *const starts[] = { "//anon", "/dev/zero", "/anon_hugepage", "[stack", "/SYSV", "[heap]",
					      "[anon", "/memfd:" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (starts_with(name, starts[i]))
			return true;
	return false;
}

/* "[kernel.kallsyms]_text", "/lib/modules/.../ext4.ko.xz" and "[ext4]" become "[kernel.kallsyms]" and "[ext4]". */
static void kernel_name(const char *from, char *ret_name, size_t bytes)
{
	const char *slash = strrchr(from, '/'), *close = strchr(from, ']'), *base = slash ? slash + 1 : from;
	size_t len = strcspn(base, ".");

	if (from[0] == '[' && close)
		snprintf(ret_name, bytes, "%.*s", (int)(close + 1 - from), from);
	else
		snprintf(ret_name, bytes, "[%.*s]", (int)(len < 200 ? len : 200), base);
	for (char *c = ret_name; slash && *c; c++)
		if (*c == '-')
			*c = '_';
}

struct mapping {
	u32 pid;
	u64 start_va, bytes, offset;
	struct perfread_object file;
};

static int put_mapping(struct perfread_system *s, struct mapping *m, const char *name, size_t max)
{
	struct perfread_range map = { .start_va = m->start_va, .end_va = m->start_va + m->bytes };
	char text[NAME_MAX_BYTES + 1], made[256];
	struct perfread_process *p = NULL;
	size_t len = strnlen(name, max < NAME_MAX_BYTES ? max : NAME_MAX_BYTES);
	int r;

	memcpy(text, name, len);
	text[len] = 0;
	if (map.end_va < map.start_va)
		map.end_va = ~0ull;
	if (m->pid == KERNEL_PID) {
		kernel_name(text, made, sizeof(made));
		m->file.kind = PERFREAD_KERNEL;
		m->offset = m->start_va;
	} else if (is_generated(text)) {
		snprintf(made, sizeof(made), "/tmp/perf-%u.map", m->pid);
		m->file.kind = PERFREAD_JIT;
		m->offset = m->bytes = 0;
	} else {
		map.bias = m->offset - m->start_va;
	}
	r = m->file.kind == PERFREAD_FILE ? add_text(s, text, len, &m->file.path) :
					    add_text(s, made, sizeof(made), &m->file.path);
	if (r == 0)
		r = add_region(s, &m->file, m->offset, m->bytes, &map.region);
	if (r < 0)
		return r;
	if (m->pid == KERNEL_PID)
		return perfread_ranges_put(&s->kernel, &s->budget, &map);
	p = perfread_system_process(s, m->pid);
	return p ? perfread_ranges_put(&p->maps, &s->budget, &map) : full(&s->pids);
}

static void read_mapping(struct cursor *c, struct mapping *m)
{
	m->pid = (u32)cursor_uint(c, 4);
	cursor_skip(c, 4);
	m->start_va = cursor_uint(c, 8);
	m->bytes = cursor_uint(c, 8);
	m->offset = cursor_uint(c, 8);
}

static int read_mmap(struct perfread_system *s, const struct perfread_record *record)
{
	struct cursor c = record->body;
	struct mapping m = { 0 };

	read_mapping(&c, &m);
	if (c.bad || record->misc & MISC_BIT_13)
		return 0;
	return put_mapping(s, &m, (const char *)c.at, cursor_left(&c));
}

static int read_mmap2(struct perfread_system *s, const struct perfread_record *record)
{
	struct cursor c = record->body;
	struct mapping m = { 0 };
	u32 protection;

	read_mapping(&c, &m);
	if (record->misc & MISC_BIT_14) {
		u32 bytes = (u32)cursor_uint(&c, 4) & 0xff;
		const u8 *id = cursor_skip(&c, PERFDATA_BUILD_ID_MAX);

		m.file.id_bytes = bytes < PERFDATA_BUILD_ID_MAX ? bytes : PERFDATA_BUILD_ID_MAX;
		if (id)
			memcpy(m.file.id, id, m.file.id_bytes);
	} else {
		cursor_skip(&c, 4 + 4 + 8 + 8);
	}
	protection = (u32)cursor_uint(&c, 4);
	cursor_skip(&c, 4);
	/* perf says nothing of the kernel's. */
	if (c.bad || (m.pid != KERNEL_PID && !(protection & PROT_EXEC)))
		return 0;
	return put_mapping(s, &m, (const char *)c.at, cursor_left(&c));
}

/* One that is gone keeps its name until something else is put there: what is no longer there is not sampled. */
static int read_ksymbol(struct perfread_system *s, const struct perfread_record *record)
{
	struct cursor c = record->body;
	struct perfread_range map = { .start_va = cursor_uint(&c, 8) };
	struct perfread_object file = { 0 };
	u64 bytes = cursor_uint(&c, 4);
	u32 type, flags;
	int r;

	type = (u32)cursor_uint(&c, 2);
	file.kind = type == PERF_RECORD_KSYMBOL_TYPE_BPF ? PERFREAD_SYMBOL :
		    type == PERF_RECORD_KSYMBOL_TYPE_OOL ? PERFREAD_KERNEL_NAME : PERFREAD_NAME;
	flags = (u32)cursor_uint(&c, 2);
	if (c.bad || flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
		return 0;
	map.end_va = map.start_va + (bytes ? bytes : 1);
	r = add_text(s, (const char *)c.at, cursor_left(&c), &file.path);
	if (r == 0 && file.path)
		r = add_region(s, &file, map.start_va, bytes, &map.region);
	return r == 0 && file.path ? perfread_ranges_put(&s->kernel, &s->budget, &map) : r;
}

int perfread_system_record(struct perfread_system *s, const struct perfread_record *record)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
		return read_mmap(s, record);
	case PERF_RECORD_MMAP2:
		return read_mmap2(s, record);
	case PERF_RECORD_COMM:
		return read_comm(s, record);
	case PERF_RECORD_FORK:
		return read_fork(s, record);
	case PERF_RECORD_KSYMBOL:
		return read_ksymbol(s, record);
	}
	return 0;
}

/* ---- Build ids ------------------------------------------------------------- */

static int read_build_id(struct perfread_system *s, struct cursor c, u16 misc)
{
	struct perfdata_build_id row = { .pid = (s32)cursor_uint(&c, 4) };
	const u8 *id = cursor_skip(&c, PERFDATA_BUILD_ID_MAX);
	u32 size = (u32)cursor_uint(&c, 4) & 0xff, number;
	size_t len;
	int r;

	if (c.bad)
		return 0;
	memcpy(row.id, id, PERFDATA_BUILD_ID_MAX);
	row.id_bytes = PERFDATA_BUILD_ID_MAX;
	if (misc & PERFDATA_MISC_BUILD_ID_SIZE && size < PERFDATA_BUILD_ID_MAX)
		row.id_bytes = (u8)size;
	len = strnlen((const char *)c.at, cursor_left(&c));
	number = interner_add(&s->build_ids, c.at, len, NULL);
	if (number == INTERNER_NONE)
		return full(&s->build_ids);
	r = array_reserve(&s->ids, &s->id_cap, number + 1, sizeof(*s->ids));
	if (r == 0)
		s->ids[number] = row;
	return r;
}

int perfread_system_build_ids(struct perfread_system *s, struct cursor c)
{
	int r = 0;

	while (r == 0 && cursor_left(&c) >= 8) {
		u16 misc, bytes;
		const u8 *body;

		cursor_skip(&c, 4);
		misc = (u16)cursor_uint(&c, 2);
		bytes = (u16)cursor_uint(&c, 2);
		body = bytes >= 8 ? cursor_skip(&c, bytes - 8) : NULL;
		if (!body)
			break;
		r = read_build_id(s, cursor_of(body, bytes - 8), misc);
	}
	return r;
}

u32 perfread_system_build_id(const struct perfread_system *s, const struct perfread_object *file,
			     u8 ret_id[PERFDATA_BUILD_ID_MAX])
{
	const char *path = perfread_system_text(s, file->path);
	u32 number;

	if (file->id_bytes) {
		memcpy(ret_id, file->id, PERFDATA_BUILD_ID_MAX);
		return file->id_bytes;
	}
	number = interner_find(&s->build_ids, path, strlen(path));
	if (number == INTERNER_NONE)
		return 0;
	memcpy(ret_id, s->ids[number].id, PERFDATA_BUILD_ID_MAX);
	return s->ids[number].id_bytes;
}
