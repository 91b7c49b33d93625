// SPDX-License-Identifier: Apache-2.0
#include "cmd/perf_unwind.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "cmd/perf_names.h"
#include "exe/reader.h"
#include "exe/rows.h"
#include "exe/rows_file.h"
#include "naming/binary_finder.h"
#include "proc/binary.h"
#include "tracer/both_ends.h"
#include "tracer/slice.h"
#include "tracer/tables.h"
#include "unwind.h"
#include "wire/perf/perfread_events.h"
#include "wire/perf/perfread_system.h"

#define ROWS_BYTES_MAX (CHUNKS_MAX * (u32)sizeof(struct rows_chunk))
#define RECORD_BYTES_MAX (128u << 10)
#define USER_VA_MASK ((1ull << 48) - 1)
#define AT_ONCE_NS 1000000000000ull	/* nobody else reads the tables: what is dropped need not wait */

static const char *const roots[] = { "/" };

struct perf_unwind {
	struct reader *reader;
	struct binary_finder *finder;
	struct finder_options finder_options;
	struct tables *tables;
	struct unwind_file {
		bool tried;
		struct binary *binary;		/* the finder's, or NULL */
		struct row_pages_range rows;
	} *files;				/* by number in the system */
	u32 file_cap;
	const struct perfread_ranges *ranges;	/* what the maps were made of, and when */
	u64 change, dropped_ns;
	u32 map_first, map_count;
	u32 maps_left;				/* that may still be made ready */
	const struct perfread_about *about;	/* of the sample at hand */
	struct map_entry maps[PROC_MAPS_MAX];
	struct unwind unwind;
	u64 ordered[BOTH_ENDS_WORDS_MAX];
	struct buf record;
};

/* ---- Making and freeing ---------------------------------------------------- */

struct perf_unwind *perf_unwind_new(struct reader *reader)
{
	_cleanup_(perf_unwind_freep) struct perf_unwind *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->reader = reader;
	u->maps_left = PERF_UNWIND_MAPS_MAX;
	u->finder_options = (struct finder_options){ .roots = { 1, roots }, .debuginfod_urls = "" };
	buf_init(&u->record, RECORD_BYTES_MAX);
	if (binary_finder_new(&u->finder_options, reader, &u->finder) < 0 ||
	    tables_new(NULL, ROWS_BYTES_MAX, &u->tables) < 0)
		return NULL;
	return TAKE(u);
}

void perf_unwind_free(struct perf_unwind *u)
{
	if (!u)
		return;
	binary_finder_free(u->finder);
	tables_free(u->tables);
	buf_done(&u->record);
	free(u->files);
	free(u);
}

/* ---- Files ----------------------------------------------------------------- */

static void load_rows(struct perf_unwind *u, struct unwind_file *file)
{
	const struct exe_info *info = &file->binary->info;
	struct rows *rows = NULL;
	struct rows_file *source;
	u64 start = ~0ull, end = 0;

	if (reader_rows(u->reader, file->binary->fd, -1, &rows) < 0)
		return;
	source = rows_file_of(rows);
	if (!source)
		return;
	for (u32 i = 0; i < info->segment_count; i++) {
		start = info->segment[i].ea < start ? info->segment[i].ea : start;
		if (info->segment[i].ea + info->segment[i].bytes > end)
			end = info->segment[i].ea + info->segment[i].bytes;
	}
	/* Past its limits it is walked by frame pointers, as what has no rows. */
	(void)tables_add_rows(u->tables, source, start, end, &file->rows);
}

static struct unwind_file *load_file(struct perf_unwind *u, const struct perfread_system *system, u32 number)
{
	const struct perfread_object *object = perfread_system_file(system, number);
	const char *path = perfread_system_text(system, object->path);
	struct finder_want want = { .name = { path, (u32)strlen(path) },
				    .trusts_path = perf_names_may_be_here(u->about) };
	struct unwind_file *file;

	if (array_reserve(&u->files, &u->file_cap, number + 1, sizeof(*u->files)) < 0)
		return NULL;
	file = &u->files[number];
	if (file->tried)
		return file;
	file->tried = true;
	want.build_id_bytes = perfread_system_build_id(system, object, want.build_id);
	file->binary = binary_finder_get(u->finder, &want);
	if (file->binary)
		load_rows(u, file);
	return file;
}

/* ---- Mappings -------------------------------------------------------------- */

/* The segment that a mapping of the file shows, or NULL. */
static const struct exe_segment *segment_of(const struct binary *binary, const struct perfread_region *region)
{
	for (u32 i = 0; i < binary->info.segment_count; i++) {
		const struct exe_segment *s = &binary->info.segment[i];

		if (s->file_offset < region->offset + region->bytes && region->offset < s->file_offset + s->bytes)
			return s;
	}
	return NULL;
}

/* Its number stands for the binary: frames tell where they lie by it. */
static struct map_entry entry_of(struct perf_unwind *u, const struct perfread_system *system,
				 const struct perfread_range *range, u32 number)
{
	const struct perfread_region *region = perfread_system_region(system, range->region);
	struct map_entry entry = { .start_va = range->start_va, .end_va = range->end_va, .page_base = MAP_NO_ROWS };
	const struct exe_segment *segment;
	struct unwind_file *file;

	if (perfread_system_file(system, region->file)->kind != PERFREAD_FILE)
		return entry;
	file = load_file(u, system, region->file);
	segment = file && file->binary ? segment_of(file->binary, region) : NULL;
	if (!segment)
		return entry;
	entry.bias = segment->file_offset - segment->ea - range->bias;
	entry.page_base = tables_page_base(&file->rows);
	entry.binary = (number + 1) & FRAME_BINARY_MASK;
	return entry;
}

static bool use_maps(struct perf_unwind *u, const struct perfread_system *system, u32 pid)
{
	const struct perfread_ranges *ranges = perfread_system_maps(system, pid);

	if (!ranges || !ranges->count || ranges->count > PROC_MAPS_MAX)
		return false;
	if (u->map_count && u->ranges == ranges && u->change == ranges->change)
		return true;
	if (ranges->count > u->maps_left)
		return false;
	u->maps_left -= ranges->count;
	for (u32 i = 0; i < ranges->count; i++)
		u->maps[i] = entry_of(u, system, &ranges->at[i], i);
	tables_drop_maps(u->tables, u->map_first, u->map_count, u->dropped_ns);
	u->dropped_ns += AT_ONCE_NS;
	tables_collect(u->tables, u->dropped_ns);
	u->map_count = 0;
	if (tables_add_maps(u->tables, 0, u->maps, ranges->count, &u->map_first) < 0)
		return false;
	u->map_count = ranges->count;
	u->ranges = ranges;
	u->change = ranges->change;
	return true;
}

/* ---- Stacks ---------------------------------------------------------------- */

#ifdef __aarch64__
/* The numbers are the same. */
static const u8 perf_numbers[REG_COUNT] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};
#define PERF_PC 32
#else
/* By DWARF number: rax rdx rcx rbx rsi rdi rbp rsp, r8 to r15, rip. */
static const u8 perf_numbers[REG_COUNT] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8 };
#define PERF_PC 8
#endif

static bool read_registers(const struct perfread_sample *sample, struct slice_regs *ret_regs)
{
	*ret_regs = (struct slice_regs){ 0 };
	for (u32 i = 0; i < REG_COUNT; i++)
		(void)perfread_sample_register(sample, perf_numbers[i], &ret_regs->reg[i]);	/* or it is not known */
	return sample->regs_abi == PERF_SAMPLE_REGS_ABI_64 && ret_regs->reg[REG_SP] &&
	       perfread_sample_register(sample, PERF_PC, &ret_regs->pc);
}

/* Of a stack that is deeper than we keep, the leaf's part: there is no address for what is left out. */
static u32 frames_of(struct perf_unwind *u, u64 ret_va[PERFREAD_UNWOUND_MAX])
{
	const u64 *words;
	u32 word_count = both_ends(&u->unwind.trace, u->unwind.words, u->ordered, &words), count = 0;

	for (u32 i = 0; i < word_count && count < PERFREAD_UNWOUND_MAX; i++) {
		u64 word = words[i];
		u32 map = (u32)(word >> FRAME_BINARY_SHIFT & FRAME_BINARY_MASK) - 1;

		if (word >> FRAME_KIND_SHIFT == FRAME_GAP)
			break;
		if (word >> FRAME_KIND_SHIFT == FRAME_EXE && map < u->map_count)
			ret_va[count++] = (word & FRAME_EA_MASK) + u->maps[map].bias;
		else if (word >> FRAME_KIND_SHIFT == FRAME_VA)
			ret_va[count++] = word & FRAME_VA_MASK;
	}
	return count;
}

u32 perf_unwind_stack(void *arg, const struct perfread_about *about, const struct perfread_system *system,
		      const struct perfread_sample *sample, u64 ret_va[PERFREAD_UNWOUND_MAX])
{
	struct perf_unwind *u = arg;
	struct trace_record record = { .pid = sample->pid, .slice_state = SLICE_IS_LEAF,
				       .slice_bytes = (u32)cursor_left(&sample->stack) };
	struct slice_process process = { .user_va_mask = USER_VA_MASK };
	struct slice_regs regs;
	u32 count;

	u->about = about;
	if (!read_registers(sample, &regs) || !use_maps(u, system, sample->pid))
		return 0;
	process.map_first = u->map_first;
	process.map_count = u->map_count;
	u->record.len = 0;
	buf_add(&u->record, &record, sizeof(record));
	buf_add(&u->record, &regs, sizeof(regs));
	buf_add(&u->record, sample->stack.at, record.slice_bytes);
	if (buf_err(&u->record))
		return 0;
	(void)slice_unwind(&u->unwind, u->tables, (const struct trace_record *)(const void *)u->record.data, &process);
	count = frames_of(u, ret_va);
	return count > 1 || u->unwind.trace.end == END_COMPLETE ? count : 0;
}
