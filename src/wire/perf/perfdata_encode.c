// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfdata_encode.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/saturate.h"
#include "base/str.h"
#include "base/utf8.h"
#include "kinds/kind.h"
#include "profile/any.h"
#include "analysis/frames.h"
#include "analysis/owner.h"
#include "base/interner.h"
#include "wire/format.h"
#include "wire/perf/perfdata.h"
#include "wire/perf/perfdata_features.h"
#include "wire/perf/perfdata_maps.h"
#include "wire/sample_types.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are in memory");
_Static_assert(sizeof(struct perf_event_attr) >= PERFDATA_ATTR_BYTES, "the kernel's headers are older than 6.1");

/* Symbols have 16 addresses each, far from any text of a kernel. */
#define SYMBOLS_START 0xffffe00000000000ull
#define SYMBOL_BYTES 16u
#define NAME_BYTES_MAX 4096u
#define COMM_BYTES_MAX 255u
#define PROCESS_NAME UINT32_MAX
#define PAIRS_BYTES_MAX ((size_t)1 << 30)
#define MAPPED_READ_EXECUTE 5	/* PROT_READ | PROT_EXEC */
#define MAPPED_PRIVATE 2	/* MAP_PRIVATE */

/* What a SAMPLE has besides its chain, and the markers and frame that end one that is cut. */
#define SAMPLE_BYTES 64u
#define CHAIN_MAX ((PERFDATA_RECORD_MAX - SAMPLE_BYTES) / 8)
#define CHAIN_RESERVE 2u

/* What is gathered before it is written to a file. Past it comes at most one record and its names. */
#define FLUSH_BYTES ((size_t)1 << 20)
#define FILE_BUFFER_MAX ((size_t)1 << 30)

struct thread {
	u32 pid, tid;
	bool is_told;		/* its name is in the file */
	bool is_renamed;	/* another row has the same numbers: the name is told anew each time */
	bool is_alone;		/* its process's first thread has no samples, that would tell the process's name */
};

/* The stack of a sample, leaf first, with a marker wherever it changes between kernel and user. */
struct chain {
	u64 at[CHAIN_MAX];
	u32 count;
	u64 ip, context;	/* ip: of the leaf */
	u16 misc;		/* where the leaf is */
	bool is_cut;
};

struct encoder {
	const struct profile *p;
	const struct perfdata_options *options;
	struct buf *out;
	int fd;					/* where out goes when there is enough of it, or -1 */
	u64 flushed;				/* bytes that went there */
	struct perfdata_stats stats;
	struct sample_types types;
	struct perfdata_described events[SAMPLE_TYPES_MAX];
	u32 units[SAMPLE_TYPES_MAX];		/* strings */
	struct frames frames;
	struct perfdata_maps maps;
	struct frame_set rows, process_rows;	/* threads; processes */
	struct owner_finder *owners, *processes;
	struct thread *threads;			/* by row */
	u32 *symbols;				/* by frame: the number of its symbol in the file, from 1 on */
	u32 symbol_count;
	struct arena arena;
	struct interner pairs;			/* process and mapping, or PROCESS_NAME, that are in the file */
	u64 first_ns, last_ns, sample_type;
	u32 cpu_count, truncated, unknown;
	struct chain chain;
};

static void encoder_free(struct encoder *e)
{
	if (!e)
		return;
	sample_types_done(&e->types);
	frames_done(&e->frames);
	perfdata_maps_done(&e->maps);
	frame_set_done(&e->rows);
	frame_set_done(&e->process_rows);
	owner_finder_free(e->owners);
	owner_finder_free(e->processes);
	interner_done(&e->pairs);
	arena_done(&e->arena);
	free(e->threads);
	free(e->symbols);
	free(e);
}
DEFINE_CLEANUP(struct encoder *, encoder_free)

/* ---- Records --------------------------------------------------------------------------- */

static size_t begin_record(struct encoder *e, u32 type, u16 misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };
	size_t start = e->out->len;

	buf_add(e->out, &header, sizeof(header));
	return start;
}

static void end_record(struct encoder *e, size_t start)
{
	u16 bytes = (u16)(e->out->len - start);

	if (!buf_err(e->out))
		memcpy(e->out->data + start + offsetof(struct perf_event_header, size), &bytes, sizeof(bytes));
}

/* Of what is complete. A failure sticks to the buffer. */
static void flush(struct encoder *e)
{
	if (e->fd >= 0 && !buf_err(e->out))
		e->out->err = io_write_all(e->fd, e->out->data, e->out->len);
	if (e->fd < 0 || buf_err(e->out))
		return;
	e->flushed += e->out->len;
	e->out->len = 0;
}

/* A text of at most max bytes with its NUL, filled up to a multiple of 8. True if it was cut. */
static bool put_name(struct buf *out, struct str text, u32 max)
{
	static const char zeros[8];
	size_t start = out->len;
	u32 len = 0, n;

	while (len < text.len && (n = (u32)utf8_next(text.at + len, text.len - len), len + (n ? n : 1) <= max)) {
		/* One line each in what perf prints. */
		bool is_plain = n > 1 || (unsigned char)text.at[len] >= ' ';

		buf_add(out, n && is_plain ? text.at + len : "?", n && is_plain ? n : 1);
		len += n ? n : 1;
	}
	buf_add(out, zeros, 8 - (out->len - start) % 8);
	return len < text.len;
}

/* What follows every record that is no sample: whose it is, when, and of which event. */
static void put_trailer(struct encoder *e, const struct thread *thread, u64 time_ns)
{
	struct { u32 pid, tid; u64 time_ns; } head = { thread ? thread->pid : 0, thread ? thread->tid : 0, time_ns };
	u64 cpu = 0, id = e->events[0].id;

	buf_add(e->out, &head, sizeof(head));
	if (e->sample_type & PERF_SAMPLE_CPU)
		buf_add(e->out, &cpu, sizeof(cpu));
	buf_add(e->out, &id, sizeof(id));
}

static void put_comm(struct encoder *e, const struct thread *thread, u32 tid, struct str name, u64 time_ns)
{
	size_t start = begin_record(e, PERF_RECORD_COMM, 0);

	buf_add(e->out, &(u32[]){ thread->pid, tid }, 8);
	(void)put_name(e->out, name, COMM_BYTES_MAX);
	put_trailer(e, thread, time_ns);
	end_record(e, start);
}

static void put_thread(struct encoder *e, u32 row, u64 time_ns)
{
	struct thread *thread = &e->threads[row];

	if (thread->is_told && !thread->is_renamed)
		return;
	thread->is_told = true;
	put_comm(e, thread, thread->tid, frame_set_at(&e->rows, row)->name, thread->is_renamed ? time_ns : 0);
}

static int put_process(struct encoder *e, const struct thread *thread, const struct profile_sample *sample)
{
	u32 row = thread->is_alone && !thread->is_told ? owner_finder_frame(e->processes, sample) : FRAMES_NONE;
	bool is_new;

	if (!thread->is_alone || thread->is_told)
		return 0;
	if (row == FRAMES_NONE ||
	    interner_add(&e->pairs, &(u32[]){ thread->pid, PROCESS_NAME }, 8, &is_new) == INTERNER_NONE)
		return -ENOMEM;
	if (is_new)
		put_comm(e, thread, thread->pid, frame_set_at(&e->process_rows, row)->name, 0);
	return 0;
}

/* The address that stands for a frame. */
static u64 symbol_address(const struct encoder *e, u32 frame)
{
	return SYMBOLS_START + (u64)(e->symbols[frame] - 1) * SYMBOL_BYTES;
}

static void put_symbol(struct encoder *e, u32 frame)
{
	bool is_kernel = frame_is_kernel(&e->frames.at[frame]);
	struct { u64 address; u32 bytes; u16 type, flags; } body = {
		0, SYMBOL_BYTES, is_kernel ? PERF_RECORD_KSYMBOL_TYPE_OOL : PERF_RECORD_KSYMBOL_TYPE_UNKNOWN, 0
	};
	size_t start;

	if (e->symbols[frame])
		return;
	e->symbols[frame] = ++e->symbol_count;
	body.address = symbol_address(e, frame);
	start = begin_record(e, PERF_RECORD_KSYMBOL, PERF_RECORD_MISC_KERNEL);
	buf_add(e->out, &body, sizeof(body));
	e->stats.names_cut += put_name(e->out, e->frames.at[frame].name, NAME_BYTES_MAX);
	put_trailer(e, NULL, 0);
	end_record(e, start);
}

/* Whole pages, as the kernel maps. */
static int put_map(struct encoder *e, const struct thread *thread, u32 mapping)
{
	const struct profile_mapping *m = &e->p->mappings.at[mapping];
	const struct perfdata_map *map = &e->maps.at[mapping];
	u64 skew = map->start % PERFDATA_PAGE_BYTES, bytes = m->limit_va - m->start_va + skew;
	struct { u64 start, bytes, offset; u8 id_bytes, pad[3], id[PERFDATA_BUILD_ID_MAX]; u32 prot, flags; } body = {
		.start = map->start - skew,
		.bytes = (bytes + PERFDATA_PAGE_BYTES - 1) / PERFDATA_PAGE_BYTES * PERFDATA_PAGE_BYTES,
		.offset = m->file_offset - skew,
		.id_bytes = map->build_id_bytes, .prot = MAPPED_READ_EXECUTE, .flags = MAPPED_PRIVATE,
	};
	bool is_new;
	size_t start;

	if (interner_add(&e->pairs, &(u32[]){ thread->pid, mapping }, 8, &is_new) == INTERNER_NONE)
		return -ENOMEM;
	if (!is_new)
		return 0;
	memcpy(body.id, map->build_id, map->build_id_bytes);
	start = begin_record(e, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
	buf_add(e->out, &(u32[]){ thread->pid, thread->pid }, 8);
	buf_add(e->out, &body, sizeof(body));
	(void)put_name(e->out, e->p->strings.at[m->filename], UINT32_MAX);
	put_trailer(e, thread, 0);
	end_record(e, start);
	return 0;
}

/* ---- Stacks ----------------------------------------------------------------------------- */

static void push(struct chain *chain, u64 context, u64 address)
{
	if (!chain->count) {
		chain->ip = address;
		chain->misc = context == (u64)PERF_CONTEXT_USER ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
	}
	if (!chain->count || context != chain->context)
		chain->at[chain->count++] = context;
	chain->context = context;
	chain->at[chain->count++] = address;
}

static void push_symbol(struct encoder *e, u32 frame)
{
	put_symbol(e, frame);
	push(&e->chain, (u64)PERF_CONTEXT_KERNEL, symbol_address(e, frame));
}

/* Room for one more, and for what ends a chain without room. */
static bool has_room(struct encoder *e)
{
	if (e->chain.count + 2 + CHAIN_RESERVE <= CHAIN_MAX)
		return true;
	if (!e->chain.is_cut)
		push_symbol(e, e->truncated);
	e->chain.is_cut = true;
	return false;
}

static void push_symbols(struct encoder *e, const u32 *frames, u32 count)
{
	for (u32 i = 0; i < count && has_room(e); i++)
		push_symbol(e, frames[i]);
}

static int push_location(struct encoder *e, const struct thread *thread, u32 location)
{
	struct indices lines = frames_of(&e->frames, location);
	bool is_leaf = !e->chain.count;
	struct perfdata_place place;

	if (frame_is_kernel(&e->frames.at[lines.at[0]]) || !perfdata_maps_place(&e->maps, location, &place)) {
		push_symbols(e, lines.at, lines.count);
		return 0;
	}
	push_symbols(e, lines.at, lines.count - 1);
	if (has_room(e))
		push(&e->chain, (u64)PERF_CONTEXT_USER, place.caller);
	/* What perf counts, and annotates, is the code that ran, in whatever function of the source it began. */
	if (is_leaf) {
		e->chain.ip = place.address;
		e->chain.misc = PERF_RECORD_MISC_USER;
	}
	return put_map(e, thread, e->p->locations.at[location].mapping);
}

static int make_chain(struct encoder *e, const struct thread *thread, u32 stack)
{
	struct indices locations = e->p->stacks.at[stack];
	int r = 0;

	e->chain.count = 0;
	e->chain.is_cut = false;
	for (u32 i = 0; i < locations.count && r == 0 && !e->chain.is_cut; i++)
		r = push_location(e, thread, locations.at[i]);
	if (!e->chain.count)
		push_symbol(e, e->unknown);
	return r;
}

/* ---- Samples ---------------------------------------------------------------------------- */

struct weighed {
	u64 time_ns;
	s64 weight;
	u32 cpu;
};

static void put_sample(struct encoder *e, const struct perfdata_described *event, const struct thread *thread,
		       const struct weighed *w)
{
	struct { u64 id, ip; u32 pid, tid; u64 time_ns; } head = { event->id, e->chain.ip, thread->pid, thread->tid,
								   w->time_ns };
	u64 cpu = w->cpu, nr = e->chain.count;
	size_t start = begin_record(e, PERF_RECORD_SAMPLE, e->chain.misc);

	buf_add(e->out, &head, sizeof(head));
	if (e->sample_type & PERF_SAMPLE_CPU)
		buf_add(e->out, &cpu, sizeof(cpu));
	buf_add(e->out, &w->weight, sizeof(w->weight));
	buf_add(e->out, &nr, sizeof(nr));
	buf_add(e->out, e->chain.at, e->chain.count * sizeof(e->chain.at[0]));
	end_record(e, start);
	e->stats.samples++;
	e->stats.stacks_cut += e->chain.is_cut;
}

/* -1: on no CPU that is known, as perf has it. */
static u32 cpu_of(const struct encoder *e, const struct profile_sample *sample)
{
	const struct any *cpu = profile_attribute_find(e->p, sample->attributes, "cpu.logical_number");

	return cpu && cpu->kind == ANY_INT && cpu->integer >= 0 && cpu->integer < UINT16_MAX ? (u32)cpu->integer : ~0u;
}

static bool is_ticks(const struct encoder *e, const struct profile_set *set)
{
	return set->period > 0 && str_equal(e->p->strings.at[set->sample_type.unit], STR("count")) &&
	       str_equal(e->p->strings.at[set->period_type.unit], STR("nanoseconds"));
}

static s64 weight_at(const struct profile_sample *sample, u32 time, s64 period)
{
	return saturating_multiply(sample->time_count ? profile_sample_value_at(sample, time)
						      : profile_sample_value(sample), period);
}

/* How many samples it becomes. Those that weigh nothing or less are none, but one value may stand for many times. */
static u32 count_samples(const struct profile_sample *sample, u32 *ret_weightless)
{
	u32 times = sample->time_count ? sample->time_count : 1, count = 0;

	for (u32 i = 0; i < times; i++)
		count += weight_at(sample, i, 1) > 0;
	*ret_weightless = !count || sample->value_count > 1 ? times - count : 0;
	return count;
}

static int put_samples(struct encoder *e, const struct profile_set *set, const struct perfdata_described *event,
		       const struct profile_sample *sample)
{
	u32 row, times = sample->time_count ? sample->time_count : 1, weightless;
	u32 count = count_samples(sample, &weightless);
	s64 period = is_ticks(e, set) ? set->period : 1;
	struct weighed w = { .cpu = cpu_of(e, sample) };
	int r;

	e->stats.weightless += weightless;
	if (!count)
		return 0;
	row = owner_finder_frame(e->owners, sample);
	r = row == FRAMES_NONE ? -ENOMEM : make_chain(e, &e->threads[row], sample->stack);
	if (r == 0)
		r = put_process(e, &e->threads[row], sample);
	if (r < 0)
		return r;
	for (u32 i = 0; i < times; i++) {
		w.time_ns = sample->time_count ? sample->times_unix_ns[i] : set->time_unix_ns;
		w.weight = weight_at(sample, i, period);
		if (w.weight <= 0)
			continue;
		put_thread(e, row, w.time_ns);
		put_sample(e, event, &e->threads[row], &w);
		if (e->out->len > FLUSH_BYTES)
			flush(e);
	}
	return buf_err(e->out);
}

/* ---- Events ----------------------------------------------------------------------------- */

/* samples; off_cpu:nanoseconds */
static void name_event(const struct encoder *e, const struct profile_set *set, struct perfdata_described *event)
{
	struct str type = e->p->strings.at[set->sample_type.type], unit = e->p->strings.at[set->sample_type.unit];
	bool is_count = !unit.len || str_equal(unit, STR("count"));
	int room = (int)sizeof(event->name) / 2 - 1;

	(void)snprintf(event->name, sizeof(event->name), "%.*s%s%.*s", (int)type.len < room ? (int)type.len : room,
		       type.len ? type.at : "", is_count ? "" : ":",
		       is_count ? 0 : (int)unit.len < room ? (int)unit.len : room, unit.len ? unit.at : "");
	for (char *c = event->name; *c; c++)
		*c = (unsigned char)*c <= ' ' ? '_' : *c;
}

/* The kind that perf has an event for, which must add up to the same; or NULL. */
static const struct kind *event_kind(const struct encoder *e, const struct profile_set *set)
{
	const struct str *at = e->p->strings.at;
	const struct kind *kind = kind_of(at[set->sample_type.type], at[set->period_type.type]);
	struct str unit, period_unit;

	if (!kind || !kind->perf_type)
		return NULL;
	unit = str_of(kind->sample.unit);
	period_unit = str_of(kind->period.unit);
	return unit_scale_values(unit, period_unit, 1).unit ==
	       unit_scale_values(at[set->sample_type.unit], at[set->period_type.unit], set->period).unit ? kind : NULL;
}

static void describe(const struct encoder *e, const struct profile_set *set, u32 number,
		     struct perfdata_described *event)
{
	const struct kind *kind = event_kind(e, set);
	struct perf_event_attr attr = {
		.type = kind ? kind->perf_type : PERF_TYPE_SOFTWARE,
		.size = PERFDATA_ATTR_BYTES,
		.config = kind ? kind->perf_config : PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period = is_ticks(e, set) ? (u64)set->period : 1,
		.sample_type = e->sample_type,
		/* No address is the kernel's own; perf need not say that it lacks its tables. */
		.exclude_kernel = 1, .exclude_guest = 1,
		.mmap = 1, .mmap2 = 1, .build_id = 1, .comm = 1, .ksymbol = 1, .sample_id_all = 1, .use_clockid = 1,
		.clockid = CLOCK_REALTIME,
	};

	event->id = number + 1;
	memcpy(event->attr, &attr, PERFDATA_ATTR_BYTES);
	name_event(e, set, event);
}

/* The event that a set's samples are of, or NULL: another type says the same, or the unit is another one. */
static struct perfdata_described *event_of(struct encoder *e, const struct profile_set *set)
{
	struct str type = e->p->strings.at[set->sample_type.type];

	for (u32 i = 0; i < e->types.count; i++) {
		if (!str_is(type, e->types.at[i]))
			continue;
		if (!e->events[i].id) {
			describe(e, set, i, &e->events[i]);
			e->units[i] = set->sample_type.unit;
		}
		return str_equal(e->p->strings.at[e->units[i]], e->p->strings.at[set->sample_type.unit]) ? &e->events[i]
													   : NULL;
	}
	return NULL;
}

/* ---- Over all samples --------------------------------------------------------------------- */

static void note_time(struct encoder *e, u64 time_ns)
{
	if (time_ns && (!e->first_ns || time_ns < e->first_ns))
		e->first_ns = time_ns;
	if (time_ns > e->last_ns)
		e->last_ns = time_ns;
}

/* What has to be known before the first record. */
static int note_set(struct encoder *e, const struct profile_set *set)
{
	for (u32 i = 0; i < set->sample_count; i++) {
		const struct profile_sample *sample = &set->samples[i];
		u32 cpu = cpu_of(e, sample), weightless;

		if (!count_samples(sample, &weightless))
			continue;
		if (cpu != ~0u && cpu >= e->cpu_count)
			e->cpu_count = cpu + 1;
		if (!sample->time_count)
			note_time(e, set->time_unix_ns);
		for (u32 k = 0; k < sample->time_count; k++)
			note_time(e, sample->times_unix_ns[k]);
		if (owner_finder_frame(e->owners, sample) == FRAMES_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int describe_set(struct encoder *e, const struct profile_set *set)
{
	(void)event_of(e, set);
	return 0;
}

static int put_set(struct encoder *e, const struct profile_set *set)
{
	const struct perfdata_described *event = event_of(e, set);
	int r = 0;

	for (u32 i = 0; i < set->sample_count && event && r == 0; i++)
		r = put_samples(e, set, event, &set->samples[i]);
	return r;
}

static int each_set(struct encoder *e, int (*visit)(struct encoder *e, const struct profile_set *set))
{
	int r = 0;

	for (u32 i = 0; i < e->p->resources.count; i++) {
		const struct profile_resource *resource = &e->p->resources.at[i];

		owner_finder_resource(e->owners, resource);
		owner_finder_resource(e->processes, resource);
		for (u32 s = 0; s < resource->scope_count; s++)
			for (u32 k = 0; k < resource->scopes[s].set_count && r == 0; k++)
				r = visit(e, &resource->scopes[s].sets[k]);
	}
	return r;
}

/* Numbers for those that have none, and who changes its name. */
static int number_threads(struct encoder *e)
{
	_cleanup_(freep) u32 *first = calloc((size_t)e->rows.table.count + 1, sizeof(*first));
	struct interner numbers;

	e->threads = calloc((size_t)e->rows.table.count + 1, sizeof(*e->threads));
	if (!e->threads || !first)
		return -ENOMEM;
	interner_init(&numbers, &e->arena, PROFILE_TABLE_MAX);
	for (u32 i = 0; i < e->rows.table.count; i++) {
		const struct frame *row = frame_set_at(&e->rows, i);
		struct thread *thread = &e->threads[i];
		bool has_pid = row->pid >= 0 && row->pid < PERFDATA_NOBODY;
		bool has_tid = row->tid >= 0 && row->tid < PERFDATA_NOBODY, is_new;
		u32 number;

		thread->pid = has_pid ? (u32)row->pid
				      : has_tid ? (u32)row->tid : PERFDATA_NOBODY + i % PERFDATA_NOBODIES;
		thread->tid = has_tid ? (u32)row->tid : thread->pid;
		number = interner_add(&numbers, &(u32[]){ thread->pid, thread->tid }, 8, &is_new);
		if (number != INTERNER_NONE && is_new)
			first[number] = i;
		else if (number != INTERNER_NONE)
			thread->is_renamed = e->threads[first[number]].is_renamed = true;
	}
	for (u32 i = 0; i < e->rows.table.count; i++) {
		struct thread *thread = &e->threads[i];

		thread->is_alone = interner_find(&numbers, &(u32[]){ thread->pid, thread->pid }, 8) == INTERNER_NONE;
	}
	interner_done(&numbers);
	return arena_err(&e->arena);
}

/* ---- The file ---------------------------------------------------------------------------- */

static void put_events(struct encoder *e, const struct perfdata_section *ids)
{
	for (u32 i = 0; i < e->types.count; i++) {
		struct perfdata_section id = { ids->offset + i * sizeof(u64), sizeof(u64) };

		buf_add(e->out, e->events[i].attr, PERFDATA_ATTR_BYTES);
		buf_add(e->out, &id, sizeof(id));
	}
	for (u32 i = 0; i < e->types.count; i++)
		buf_add(e->out, &e->events[i].id, sizeof(u64));
}

static void put_features(struct encoder *e, struct perfdata_header *header)
{
	struct perfdata_facts facts = {
		.profile = e->p, .host = e->options->host, .maps = &e->maps, .events = e->events,
		.event_count = e->types.count, .first_ns = e->first_ns, .last_ns = e->last_ns,
		.cpu_count = e->cpu_count, .before = e->flushed,
	};

	perfdata_features_put(&facts, e->out, header->features);
}

static int put_header(struct encoder *e, const struct perfdata_header *header)
{
	flush(e);
	e->stats.bytes = e->flushed + e->out->len;
	if (buf_err(e->out))
		return buf_err(e->out);
	if (e->fd < 0)
		memcpy(e->out->data, header, sizeof(*header));
	else if (pwrite(e->fd, header, sizeof(*header), 0) != sizeof(*header))
		return -EIO;
	return 0;
}

/* The header comes first and is known last. */
static int put_file(struct encoder *e)
{
	size_t entry = PERFDATA_ATTR_BYTES + sizeof(struct perfdata_section);
	struct perfdata_header header = {
		.magic = PERFDATA_MAGIC, .bytes = sizeof(header), .attr_bytes = entry,
		.attrs = { sizeof(header), e->types.count * entry },
	};
	struct perfdata_section ids = { sizeof(header) + header.attrs.bytes, e->types.count * sizeof(u64) };
	int r;

	buf_add(e->out, &header, sizeof(header));
	put_events(e, &ids);
	header.data.offset = e->out->len;
	r = each_set(e, put_set);
	if (r < 0)
		return r;
	end_record(e, begin_record(e, PERFDATA_RECORD_FINISHED_ROUND, 0));
	header.data.bytes = e->flushed + e->out->len - header.data.offset;
	put_features(e, &header);
	return put_header(e, &header);
}

static int prepare(struct encoder *e)
{
	int r = sample_types_init(&e->types, e->p);

	if (r == 0)
		r = frames_init(&e->frames, e->p, NULL);
	if (r < 0)
		return r;
	e->owners = owner_finder_new(e->p, SUMMARY_THREAD, &e->rows);
	e->processes = owner_finder_new(e->p, SUMMARY_PROCESS, &e->process_rows);
	e->truncated = frames_process(&e->frames, STR("[truncated]"));
	e->unknown = frames_process(&e->frames, STR("[unknown]"));
	e->symbols = calloc((size_t)e->frames.count + 1, sizeof(*e->symbols));
	if (!e->owners || !e->processes || !e->symbols || e->truncated == FRAMES_NONE || e->unknown == FRAMES_NONE)
		return -ENOMEM;
	r = perfdata_maps_init(&e->maps, e->p, e->options->embed_names);
	if (r == 0)
		r = each_set(e, note_set);
	if (r == 0)
		r = number_threads(e);
	e->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | (e->cpu_count ? PERF_SAMPLE_CPU : 0);
	return r < 0 ? r : each_set(e, describe_set);
}

static int write_to(const struct profile *profile, const struct perfdata_options *options, struct buf *out, int fd,
		    struct perfdata_stats *ret_stats)
{
	static const struct perfdata_options none;
	_cleanup_(encoder_freep) struct encoder *e = calloc(1, sizeof(*e));
	int r;

	assert(!out->len);
	if (!e)
		return -ENOMEM;
	e->p = profile;
	e->out = out;
	e->fd = fd;
	e->options = options ? options : &none;
	arena_init(&e->arena, PAIRS_BYTES_MAX);
	interner_init(&e->pairs, &e->arena, PROFILE_TABLE_MAX);
	frame_set_init(&e->rows, profile_seed(profile));
	frame_set_init(&e->process_rows, profile_seed(profile));
	r = prepare(e);
	if (r == 0)
		r = put_file(e);
	if (r == 0 && ret_stats)
		*ret_stats = e->stats;
	return r;
}

int perfdata_write(const struct profile *profile, const struct perfdata_options *options, struct buf *out,
		   struct perfdata_stats *ret_stats)
{
	return write_to(profile, options, out, -1, ret_stats);
}

int perfdata_write_file(const struct profile *profile, const struct perfdata_options *options, int fd,
			struct perfdata_stats *ret_stats)
{
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, FILE_BUFFER_MAX);
	return write_to(profile, options, &out, fd, ret_stats);
}

/* ---- In advance ------------------------------------------------------------------------------ */

static u64 estimate_set(const struct profile *p, const struct profile_set *set, u64 *times)
{
	u64 bytes = 0;

	for (u32 i = 0; i < set->sample_count; i++) {
		struct indices locations = p->stacks.at[set->samples[i].stack];
		u64 count = set->samples[i].time_count ? set->samples[i].time_count : 1, entries = 2;

		for (u32 k = 0; k < locations.count; k++) {
			u32 lines = p->locations.at[locations.at[k]].line_count;

			entries += lines ? lines : 1;
		}
		bytes += count * (SAMPLE_BYTES + 8 * (entries < CHAIN_MAX ? entries : CHAIN_MAX));
		*times += count;
	}
	return bytes;
}

u64 perfdata_estimate(const struct profile *profile, u64 *ret_times)
{
	u64 bytes = 0;

	*ret_times = 0;
	for (u32 i = 0; i < profile->resources.count; i++)
		for (u32 s = 0; s < profile->resources.at[i].scope_count; s++)
			for (u32 k = 0; k < profile->resources.at[i].scopes[s].set_count; k++)
				bytes += estimate_set(profile, &profile->resources.at[i].scopes[s].sets[k], ret_times);
	return bytes;
}

int perfdata_encode(const struct profile *profile, struct buf *out)
{
	return perfdata_write(profile, NULL, out, NULL);
}
