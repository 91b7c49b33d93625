// SPDX-License-Identifier: Apache-2.0
#include "tracer/ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/interner.h"
#include "kinds/kind.h"
#include "proc/maps.h"
#include "proc/peek.h"
#include "proc/processes.h"
#include "trace/window.h"
#include "tracer/installer.h"
#include "tracer/runtimes.h"
#include "tracer/slice.h"
#include "tracer/source_maps.h"
#include "tracer/tables.h"
#include "unwind.h"

#define PENDING_BYTES_MAX (16u << 20)
#define CHANGED_MAX 4096
#define REINSTALL_NS 100000000ull	/* a process that maps code all the time is brought up to date this often */
#define LEARNING_NS 2000000000ull
#define RESCAN_NS 1000000000ull
#define COLLECT_NS 500000000ull

/* A record that waits, copied. */
struct pending {
	u64 time_ns;
	struct trace_record *record;
};

struct ingest {
	struct ingest_options options;
	struct installer *installer;
	struct processes *processes;
	struct window *window;
	struct pending *pending;
	u32 pending_count, pending_cap;
	size_t pending_bytes;
	u32 changed[CHANGED_MAX];	/* pids whose installed mappings are out of date */
	u32 changed_count;
	u64 now_ns, collected_ns;
	u64 sample_count;
	u64 ends[END_COUNT];
	u64 learned_ns;			/* when a frame of a runtime was last new */
	u64 learned_count;		/* how many were, by then */
	u64 malformed, pending_full, window_lost, young, nameless;
	struct unwind unwind;		/* scratch for slices */
	u64 named[USER_FRAMES_MAX];	/* scratch for a stack whose frames all have one word */
	u64 live_stacks;
};

static void on_maps_gone(void *arg, struct maps *maps)
{
	struct ingest *in = arg;

	installer_remove(in->installer, maps, in->now_ns);
}

static void on_process_gone(void *arg, struct process *process)
{
	struct ingest *in = arg;

	tables_unpublish(in->options.tables, process->pid, &process->id);
	runtimes_forget(installer_runtimes(in->installer), process);
}

int ingest_new(const struct ingest_options *options, u64 now_ns, struct ingest **ret_ingest)
{
	_cleanup_(ingest_freep) struct ingest *in = calloc(1, sizeof(*in));
	struct processes_ops ops = { .arg = in, .peek = options->peek, .command_lines = options->command_lines,
				     .environment = options->environment, .maps_gone = on_maps_gone,
				     .process_gone = on_process_gone };
	int r;

	if (!in)
		return -ENOMEM;
	in->options = *options;
	in->now_ns = now_ns;
	in->window = window_new(now_ns);
	if (!in->window)
		return -ENOMEM;
	r = installer_new(&(struct installer_options){ .tables = options->tables,
						       .reader = options->reader,
						       .peek = options->peek,
						       .cache_path = options->cache_path,
						       .langs = options->langs,
						       .lang_wishes = options->lang_wishes,
						       .load_lang = options->load_lang,
						       .recall = options->recall,
						       .breathe = options->drain,
						       .arg = options->arg },
			  &in->installer);
	if (r < 0)
		return r;
	r = processes_new(&ops, &in->processes);
	if (r < 0)
		return r;
	*ret_ingest = TAKE(in);
	return 0;
}

void ingest_free(struct ingest *in)
{
	if (!in)
		return;
	for (u32 i = 0; i < in->pending_count; i++)
		free(in->pending[i].record);
	free(in->pending);
	processes_free(in->processes);
	installer_free(in->installer);
	window_free(in->window);
	free(in);
}

/* True if the record has the length that it says. */
static bool record_is_whole(const struct trace_record *record, size_t bytes)
{
	size_t need = sizeof(*record);

	if (bytes < need)
		return false;
	need += ((size_t)record->kernel_count + record->user_count) * 8 + record->slice_bytes;
	if (record->end == END_SLICE)
		need += sizeof(struct slice_regs);
	return bytes == need && record->end < END_COUNT && record->kind < KIND_MAX && kind_list[record->kind] &&
	       record->kernel_count <= KERNEL_FRAMES_MAX && record->user_count <= USER_WORDS_MAX &&
	       memchr(record->comm, '\0', sizeof(record->comm));
}

/* A frame of a runtime whose process or program is not known any more. */
static const struct window_frame *nameless_frame(void)
{
	static const struct window_line line = { "[frame without a name]", "", 0 };
	static const struct window_frame frame = { .type = "unknown", .line_count = 1, .lines = &line };

	return &frame;
}

static void ingest_changed(struct ingest *in, u32 pid)
{
	struct process *p = processes_find(in->processes, pid);

	if (!p || !p->installed_ns || !p->is_identified)
		return;
	for (u32 i = in->changed_count; i > 0; i--)
		if (in->changed[i - 1] == pid)
			return;
	/* One that does not fit is brought up to date by its next slice. */
	if (in->changed_count < CHANGED_MAX)
		in->changed[in->changed_count++] = pid;
}

/* The word of a frame of a runtime, named by its language; 0 if it stands for labels that cannot be had any more. */
static u64 ingest_name(struct ingest *in, struct process *p, const u64 frame[2])
{
	struct runtimes *runtimes = installer_runtimes(in->installer);
	const struct window_frame *named = NULL;

	/* A child whose program is still its parent's. */
	if (p && !p->runtimes && p->maps && p->maps->slot && !p->exited_ns)
		runtimes_attach(runtimes, p, in->now_ns);
	if (p)
		named = runtimes_name(runtimes, p, frame);
	/* Code was made since the tables were written, and it is known by now how it is unwound. */
	if (p && frame[0] >> FRAME_KIND_SHIFT == FRAME_VA && runtimes_has_rows(p)) {
		p->maps_changed = true;
		ingest_changed(in, p->pid);
	}
	if (!named && frame[0] >> FRAME_KIND_SHIFT == FRAME_VA)
		return frame[0];
	in->nameless += !named;
	if (frame[0] & FRAME_LABELS && (!named || !named->label_count))
		return 0;
	return window_name_frame(in->window, named ? named : nameless_frame());
}

/* Puts frames that have one word each, and a name if one is to be had only now, into in->named; how many. */
static u32 ingest_name_frames(struct ingest *in, struct process *p, const u64 *user, u32 user_count)
{
	u32 count = 0;

	for (u32 i = 0; i < user_count && count < USER_FRAMES_MAX; i++) {
		u64 kind = user[i] >> FRAME_KIND_SHIFT, frame[2] = { user[i], 0 };
		bool is_labels = kind == FRAME_RUNTIME && user[i] & FRAME_LABELS;

		if (kind == FRAME_RUNTIME) {
			frame[1] = i + 1 < user_count ? user[i + 1] : 0;
			i++;
		}
		if (kind == FRAME_RUNTIME || (kind == FRAME_VA && p && p->runtimes))
			frame[0] = ingest_name(in, p, frame);
		if (frame[0] || !is_labels)
			in->named[count++] = frame[0];
	}
	return count;
}

static void ingest_fold(struct ingest *in, struct process *p, const struct trace_record *record,
			const u64 *user, u32 user_count, u8 end)
{
	const u64 *kernel = (const void *)(record + 1);
	struct window_process about = { .pid = record->pid, .comm = record->comm, .exe_path = "", .container_id = "",
					 .command_line = "" };
	u64 serial = p ? p->serial : ~(record->id.start_ns ^ (u64)record->pid << 40 ^ record->id.exec_id << 20);
	u64 before_ns;
	u32 index;

	if (p) {
		about.comm = p->comm[0] ? p->comm : record->comm;
		about.exe_path = p->exe_path ? p->exe_path : "";
		about.container_id = p->container_id;
		about.command_line = p->command_line ? p->command_line : "";
		about.environment = p->environment.text;
		about.environment_bytes = p->environment.bytes;
	}
	index = window_process(in->window, serial, &about);
	/* Samples that waited together are named by the same pages, each read when it was first needed. */
	before_ns = peek_since(in->options.peek, record->time_ns);
	user_count = ingest_name_frames(in, p, user, user_count);
	(void)peek_since(in->options.peek, before_ns);
	window_add(in->window, index, record, kernel, in->named, user_count, end, installer_binary, in->installer);
	in->ends[end]++;
	in->sample_count++;
}

/* How much of a slice is kept: when many samples wait, rather short ones than none. */
static u32 ingest_slice_bytes(const struct ingest *in, const struct trace_record *record)
{
	u32 max = record->slice_bytes;

	if (in->pending_bytes > PENDING_BYTES_MAX / 4 && max > SLICE_STEP_BYTES)
		max = SLICE_STEP_BYTES;
	return in->pending_bytes > PENDING_BYTES_MAX / 2 ? 0 : max;
}

static void ingest_wait(struct ingest *in, const struct trace_record *record, size_t bytes)
{
	u32 slice_bytes = ingest_slice_bytes(in, record);
	struct trace_record *copy = NULL;

	bytes -= record->slice_bytes - slice_bytes;
	if (in->pending_bytes + bytes <= PENDING_BYTES_MAX &&
	    array_reserve(&in->pending, &in->pending_cap, in->pending_count + 1, sizeof(*in->pending)) == 0)
		copy = malloc(bytes);
	if (!copy) {
		in->pending_full++;
		return;
	}
	memcpy(copy, record, bytes);
	copy->slice_bytes = slice_bytes;
	in->pending_bytes += bytes;
	in->pending[in->pending_count++] = (struct pending){ record->time_ns, copy };
}

static bool is_process(const struct process *p, const struct proc_id *id)
{
	return p && p->is_identified && p->id.start_ns == id->start_ns && p->id.exec_id == id->exec_id;
}

/* Both times are of CLOCK_MONOTONIC; task_struct.start_time is so since v5.5 (cf25e24db61c). */
static bool is_young(const struct ingest *in, const struct trace_record *record)
{
	return record->time_ns < record->id.start_ns + in->options.process_age_min_ns;
}

void ingest_record(struct ingest *in, const void *data, size_t bytes)
{
	const struct trace_record *record = data;
	struct process *p;

	if (!record_is_whole(record, bytes)) {
		in->malformed++;
		return;
	}
	if (is_young(in, record)) {
		in->young++;
		return;
	}
	p = processes_find(in->processes, record->pid);
	if (record->end == END_SLICE || !is_process(p, &record->id)) {
		ingest_wait(in, record, bytes);
		return;
	}
	ingest_fold(in, p, record, (const u64 *)(record + 1) + record->kernel_count, record->user_count, record->end);
}

/*
 * Reads a process's mappings from /proc. If it has called exec since the sample, what is there now is another
 * program's: then nothing is known of the one that was sampled.
 */
static void ingest_scan(struct ingest *in, struct process *p, u32 tid)
{
	struct maps *maps;

	p->scanned_ns = in->now_ns;
	if (processes_scan(in->processes, p, tid) < 0)
		return;
	sideband_read(in->options.sideband);
	if (!sideband_exec_waits(in->options.sideband, p->pid))
		return;
	maps = process_own_maps(in->processes, p);
	if (maps)
		maps_clear_all(maps);
	p->is_gone = true;
}

/*
 * The tables of mappings that others share stay as they are: the kernel half
 * gave them to children at their fork, and looks there until each is told otherwise.
 */
static void ingest_install(struct ingest *in, struct process *p)
{
	if (p->maps_changed && p->maps->installed_count && !process_own_maps(in->processes, p))
		return;
	(void)installer_install(in->installer, p, in->now_ns);	/* counted there */
	if (runtimes_waits(p))
		ingest_changed(in, p->pid);
}

static void ingest_unwind(struct ingest *in, struct process *p, const struct trace_record *record)
{
	struct slice_process process;

	if (p->maps_changed || !p->is_published || !p->maps->installed_count)
		ingest_install(in, p);
	process = (struct slice_process){ .map_first = p->maps->installed_first, .map_count = p->maps->installed_count,
					  .slot = p->maps->slot, .user_va_mask = in->options.user_va_mask,
					  .may_read = !p->is_gone && !p->exited_ns,
					  .peek = in->options.peek, .serial = p->serial };
	in->live_stacks += slice_unwind(&in->unwind, in->options.tables, record, &process);
}

static void ingest_slice(struct ingest *in, struct process *p, const struct trace_record *record)
{
	u8 end;

	if (!p->maps_known && !p->is_gone)
		ingest_scan(in, p, record->tid);
	ingest_unwind(in, p, record);
	/* Code that no event told of: an event was lost, or it was mapped in an unusual way. */
	if (in->unwind.trace.end == END_NO_MAPPING && !p->is_gone && in->now_ns - p->scanned_ns > RESCAN_NS) {
		ingest_scan(in, p, record->tid);
		ingest_unwind(in, p, record);
	}
	end = in->unwind.trace.end;
	if (end == END_NO_MAPPING && p->is_gone)
		end = END_GONE;
	ingest_fold(in, p, record, in->unwind.words, in->unwind.trace.user_count, end);
}

/* A record whose turn has come: all events before it are applied. */
static void ingest_pending(struct ingest *in, const struct trace_record *record)
{
	struct process *p = processes_find(in->processes, record->pid);

	/* A late sample of a program that is no more: what it brings itself must do. */
	if (p && processes_is_newer(p, record))
		p = NULL;
	else
		p = processes_identify(in->processes, record->pid, &record->id);
	if (!p) {
		ingest_fold(in, NULL, record, NULL, 0, record->end == END_SLICE ? END_GONE : record->end);
		return;
	}
	if (record->end != END_KERNEL_THREAD)
		processes_describe(in->processes, p, record->tid);
	if (record->end == END_SLICE) {
		ingest_slice(in, p, record);
		return;
	}
	ingest_fold(in, p, record, (const u64 *)(record + 1) + record->kernel_count, record->user_count, record->end);
}

static void on_event(void *arg, const struct sideband_event *event)
{
	struct ingest *in = arg;

	switch (event->kind) {
	case EVENT_MMAP:
		processes_mmap(in->processes, event->pid, &event->mapping);
		ingest_changed(in, event->pid);
		break;
	case EVENT_EXEC:
		processes_exec(in->processes, event->pid, event->comm, event->time_ns);
		break;
	case EVENT_COMM:
		if (event->pid == event->tid)
			processes_comm(in->processes, event->pid, event->comm);
		break;
	case EVENT_FORK:
		if (event->pid != event->parent_pid)
			processes_fork(in->processes, event->parent_pid, event->pid, event->time_ns);
		break;
	case EVENT_EXIT:
		if (event->pid == event->tid)
			processes_exit(in->processes, event->pid, event->time_ns);
		break;
	case EVENT_KSYMBOL:
		window_add_symbol(in->window, &(struct window_symbol){ event->symbol.va, event->symbol.bytes,
								       event->symbol.registered, event->symbol.name });
		break;
	case EVENT_LOST:
		processes_distrust(in->processes);
		break;
	case EVENT_THROTTLE:
		break;
	}
}

static void ingest_reinstall(struct ingest *in)
{
	u32 kept = 0;

	for (u32 i = 0; i < in->changed_count; i++) {
		struct process *p = processes_find(in->processes, in->changed[i]);

		if (!p || !(p->maps_changed || runtimes_waits(p)) || !p->is_identified)
			continue;
		/* What a runtime that has started up by now owns is to be marked in the tables. */
		p->maps_changed |= runtimes_should_retry(p, in->now_ns);
		if (p->maps_changed && in->now_ns - p->installed_ns >= REINSTALL_NS) {
			ingest_install(in, p);
			/* It stays on the list only for a runtime that is to be tried once more. */
			if (!runtimes_waits(p))
				continue;
		}
		in->changed[kept++] = in->changed[i];
	}
	in->changed_count = kept;
}

static int compare_pending(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void ingest_release(struct ingest *in, struct trace_record *r)
{
	in->pending_bytes -= sizeof(*r) + ((size_t)r->kernel_count + r->user_count) * 8 + r->slice_bytes +
			     (r->end == END_SLICE ? sizeof(struct slice_regs) : 0);
	free(r);
}

/* The samples that wait, in order, each after the events before it. More may come to wait meanwhile. */
static void ingest_settle_pending(struct ingest *in, u64 until_ns)
{
	u32 done = 0;

	if (in->pending_count)
		qsort(in->pending, in->pending_count, sizeof(*in->pending), compare_pending);
	while (done < in->pending_count && in->pending[done].time_ns <= until_ns) {
		struct pending next = in->pending[done++];

		sideband_dispatch(in->options.sideband, next.time_ns, on_event, in);
		ingest_pending(in, next.record);
		ingest_release(in, next.record);
	}
	in->pending_count -= done;
	if (done)
		memmove(in->pending, in->pending + done, in->pending_count * sizeof(*in->pending));
}

void ingest_settle(struct ingest *in, u64 until_ns)
{
	u64 asked = runtimes_stats(installer_runtimes(in->installer)).asked;

	in->now_ns = until_ns;
	if (asked != in->learned_count)
		in->learned_ns = until_ns;
	in->learned_count = asked;
	ingest_settle_pending(in, until_ns);
	sideband_dispatch(in->options.sideband, until_ns, on_event, in);
	ingest_reinstall(in);
	processes_sweep(in->processes, until_ns);
	if (until_ns - in->collected_ns > COLLECT_NS) {
		in->collected_ns = until_ns;
		tables_collect(in->options.tables, until_ns);
	}
}

bool ingest_learns(const struct ingest *in, u64 now_ns)
{
	return in->learned_ns && now_ns - in->learned_ns < LEARNING_NS;
}

bool ingest_waits(const struct ingest *in)
{
	return in->pending_count > 0;
}

void ingest_sweep(struct ingest *in, u64 now_ns)
{
	installer_sweep(in->installer, now_ns);
}

struct window *ingest_take_window(struct ingest *in, u64 now_ns)
{
	struct window *next = window_new(now_ns), *full = in->window;

	if (!next)
		return NULL;
	full->end_ns = now_ns;
	in->window_lost += full->lost;
	in->window = next;
	return full;
}

u64 ingest_sample_count(const struct ingest *in)
{
	return in->sample_count;
}

const u64 *ingest_ends(const struct ingest *in)
{
	return in->ends;
}

void ingest_counters(const struct ingest *in, u64 ret_values[TRACER_COUNTER_COUNT])
{
	struct sideband_stats s = sideband_stats(in->options.sideband);
	struct processes_stats p = processes_stats(in->processes);
	struct installer_stats i = installer_stats(in->installer);
	struct tables_stats t = tables_stats(in->options.tables);
	struct runtimes_stats rt = runtimes_stats(installer_runtimes(in->installer));
	struct source_maps_stats maps = installer_source_maps(in->installer);

	memset(ret_values, 0, TRACER_COUNTER_COUNT * sizeof(*ret_values));
	ret_values[TRACER_RECORDS_MALFORMED] = in->malformed;
	ret_values[TRACER_WINDOW_FULL] = in->window_lost + in->window->lost;
	ret_values[TRACER_PENDING_FULL] = in->pending_full;
	ret_values[TRACER_STACKS_LIVE] = in->live_stacks;
	ret_values[TRACER_YOUNG] = in->young;
	ret_values[TRACER_SIDEBAND_EVENTS] = s.events;
	ret_values[TRACER_SIDEBAND_LOST] = s.lost;
	ret_values[TRACER_SIDEBAND_MALFORMED] = s.malformed;
	ret_values[TRACER_SIDEBAND_LATE] = s.late;
	ret_values[TRACER_THROTTLED] = s.throttled;
	ret_values[TRACER_PROCESSES] = p.known;
	ret_values[TRACER_PROCESSES_FULL] = p.full;
	ret_values[TRACER_PROC_SCANS] = p.scans;
	ret_values[TRACER_PROC_SCAN_FAILURES] = p.scan_failures;
	ret_values[TRACER_MAPPINGS_DROPPED] = p.maps_dropped;
	ret_values[TRACER_FILES] = i.files;
	ret_values[TRACER_FILES_UNREADABLE] = i.unreadable;
	ret_values[TRACER_FILES_NOT_ELF] = i.not_elf;
	ret_values[TRACER_FILES_FULL] = i.full;
	ret_values[TRACER_ROWS_BYTES] = t.rows_bytes;
	ret_values[TRACER_ROWS_FULL] = t.rows_full;
	ret_values[TRACER_ROWS_NONE] = i.rows_none;
	ret_values[TRACER_ROWS_FAILED] = i.rows_failed;
	ret_values[TRACER_ROWS_CUT] = i.rows_cut;
	ret_values[TRACER_ROWS_CACHED] = i.rows_cached;
	ret_values[TRACER_ROWS_LEFT_OUT] = i.rows_left_out;
	ret_values[TRACER_RULES_FULL] = t.rules_full;
	ret_values[TRACER_MAPS_FULL] = t.maps_full;
	ret_values[TRACER_PROCS_FULL] = t.procs_full;
	ret_values[TRACER_RUNTIMES] = rt.attached;
	ret_values[TRACER_RUNTIMES_NEWER] = rt.newer;
	ret_values[TRACER_RUNTIMES_REFUSED] = rt.refused;
	ret_values[TRACER_RUNTIMES_FULL] = t.slots_full;
	ret_values[TRACER_PROGRAMS_FAILED] = rt.programs_failed;
	ret_values[TRACER_FRAMES_ASKED] = rt.asked;
	ret_values[TRACER_FRAMES_UNNAMED] = rt.unnamed + in->nameless;
	ret_values[TRACER_CODE_DROPPED] = rt.dropped;
	ret_values[TRACER_NAMES_EVICTED] = rt.evictions;
	ret_values[TRACER_SOURCE_MAPS] = maps.read;
	ret_values[TRACER_SOURCE_MAPS_FAILED] = maps.failed;
	ret_values[TRACER_SOURCE_MAPS_EVICTED] = maps.evictions;
}
