// SPDX-License-Identifier: Apache-2.0
#include "tracer/ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "exe/background_reader.h"
#include "proc/maps.h"
#include "proc/peek.h"
#include "proc/processes.h"
#include "proc/thread_labels.h"
#include "trace/totals.h"
#include "trace/window.h"
#include "tracer/both_ends.h"
#include "tracer/fold.h"
#include "tracer/installer.h"
#include "tracer/left_out.h"
#include "tracer/lock_owner.h"
#include "tracer/modules.h"
#include "tracer/part_counters.h"
#include "tracer/record.h"
#include "tracer/requests.h"
#include "tracer/runtimes.h"
#include "tracer/slice.h"
#include "tracer/source_maps.h"
#include "tracer/tables.h"
#include "tracer/waiting.h"
#include "unwind.h"

#define FILES_WAIT_NS 2000000000ull	/* for a process's files; then it gets what tables there are */
#define FILES_WAIT_LAST_NS 10000000000ull
#define CHANGED_MAX 4096
#define REINSTALL_NS 100000000ull	/* a process that maps code all the time is brought up to date this often */
#define REINSTALL_LOOK_NS 10000000ull	/* ... is looked at: its files may be read slowly, and it has many mappings */
#define LEARNING_NS 2000000000ull
#define RESCAN_NS 1000000000ull
#define COLLECT_NS 100000000ull
#define REST_NS 1000000000ull

struct ingest {
	struct ingest_options options;
	struct modules *modules;
	struct source_maps *source_maps;
	struct runtimes *runtimes;
	struct requests requests;
	struct installer installer;
	struct processes *processes;
	struct window *window;
	struct totals totals;
	struct fold_options fold;
	struct waiting waiting;
	u64 files_done;			/* files read, as of the last look at who waits for some */
	bool runtime_came;		/* ... a runtime that was starting can be read since */
	bool files_changed;		/* something that somebody may wait for has come */
	bool is_last;			/* nothing is sampled any more */
	u32 changed[CHANGED_MAX];	/* pids whose installed mappings are out of date */
	u32 changed_count, every;	/* see ingest_set_pace() */
	u64 now_ns, collected_ns, rested_ns, reinstalled_ns;
	u64 sample_count;
	u64 ends[END_COUNT];
	u64 learned_ns;			/* when a frame of a runtime was last new */
	u64 learned_count;		/* how many were, by then */
	struct left_out left_out;
	u64 malformed, window_lost, wakers_unknown, labels_lost, nameless, early, live_stacks, shortened;
	struct unwind unwind;		/* scratch for slices */
	u64 ordered[BOTH_ENDS_WORDS_MAX];	/* scratch for a deep stack */
	u64 named[WINDOW_FRAMES_MAX];	/* scratch for a stack whose frames all have one word */
};

static void on_maps_gone(void *arg, struct maps *maps)
{
	struct ingest *in = arg;

	installer_remove(&in->installer, maps, in->now_ns);
}

static void on_process_gone(void *arg, struct process *process)
{
	struct ingest *in = arg;

	tables_unpublish(in->options.tables, process->kernel_pid, &process->id);
	runtimes_forget(in->runtimes, process);
	requests_forget(&in->requests, process, in->now_ns);
}

static int ingest_new_parts(struct ingest *in, const struct ingest_options *options)
{
	struct runtimes_options runtimes = { .tables = options->tables, .peek = options->peek, .langs = options->langs,
					     .wishes = options->lang_wishes, .loader = options->loader };
	int r = modules_new(options->tables, options->reader, options->peek, options->cache_path,
			    options->labels ? &options->labels->variables : NULL, &in->modules);

	if (r < 0)
		return r;
	in->source_maps = source_maps_new(options->reader);
	if (!in->source_maps)
		return -ENOMEM;
	runtimes.modules = in->modules;
	runtimes.source_maps = in->source_maps;
	r = runtimes_new(&runtimes, &in->runtimes);
	in->requests = (struct requests){ .tables = options->tables, .modules = in->modules, .peek = options->peek,
					  .labels = options->labels, .is_off = options->without_requests };
	in->installer = (struct installer){ .tables = options->tables, .modules = in->modules,
					    .runtimes = in->runtimes, .requests = &in->requests };
	return r;
}

int ingest_new(const struct ingest_options *options, u64 now_ns, struct ingest **ret_ingest)
{
	_cleanup_(ingest_freep) struct ingest *in = calloc(1, sizeof(*in));
	struct processes_ops ops = { .arg = in, .peek = options->peek, .command_lines = options->command_lines,
				     .description = { options->environment, NULL, NULL, options->containers },
				     .maps_gone = on_maps_gone, .process_gone = on_process_gone };
	int r;

	if (!in)
		return -ENOMEM;
	in->options = *options;
	in->left_out = (struct left_out){ .tables = options->tables, .age_min_ns = options->process_age_min_ns };
	in->now_ns = now_ns;
	in->every = 1;
	totals_init(&in->totals);
	waiting_init(&in->waiting, options->waiting_max_bytes);
	in->window = window_new(now_ns);
	if (!in->window)
		return -ENOMEM;
	r = ingest_new_parts(in, options);
	if (r < 0)
		return r;
	in->fold = (struct fold_options){ .kinds = options->kinds, .period_ns = options->period_ns,
					  .modules = in->modules, .lanes_left = options->lanes_max };
	r = processes_new(&ops, &in->processes);
	if (r < 0)
		return r;
	*ret_ingest = TAKE(in);
	return 0;
}

void ingest_choose(struct ingest *in, const struct process_choice *choice)
{
	left_out_choose(&in->left_out, in->processes, choice);
}

void ingest_boost(struct ingest *in, const struct boost_list *boosts)
{
	left_out_boost(&in->left_out, in->processes, boosts);
}

void ingest_clocks(struct ingest *in, bool has_clocks)
{
	left_out_clocks(&in->left_out, has_clocks);
}

void ingest_free(struct ingest *in)
{
	if (!in)
		return;
	waiting_done(&in->waiting, in->processes);
	processes_free(in->processes);
	runtimes_free(in->runtimes);
	source_maps_free(in->source_maps);
	modules_free(in->modules);
	window_free(in->window);
	totals_done(&in->totals);
	pairs_done(&in->fold.pairs);
	free(in);
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
	struct window_frame *named = NULL;

	/* A child whose program is still its parent's. */
	if (p && !p->runtimes && p->maps && p->maps->slot && !p->exited_ns)
		runtimes_attach(in->runtimes, p, in->now_ns);
	if (p)
		named = runtimes_name(in->runtimes, p, frame);
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
	return window_name_frame(in->window, named ? named : fold_nameless());
}

/* Puts frames that have one word each, and a name if one is to be had only now, into in->named; how many. */
static u32 ingest_name_frames(struct ingest *in, struct process *p, const u64 *user, u32 user_count)
{
	u32 count = 0;

	for (u32 i = 0; i < user_count && count < WINDOW_FRAMES_MAX; i++) {
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
	u32 index = fold_process(in->window, p, record);
	u64 before_ns;

	if (record->kind == KIND_LANES) {
		fold_lane(in->window, &in->fold, index, record);
		return;
	}
	if (p)
		p->sampled_ns = record->time_ns;
	/* Samples that waited together are named by the same pages, each read when it was first needed. */
	before_ns = peek_since(in->options.peek, record->time_ns);
	user_count = ingest_name_frames(in, p, user, user_count);
	(void)peek_since(in->options.peek, before_ns);
	fold_sample(in->window, &in->fold, index, record, in->named, user_count, end);
	if (p)
		runtimes_count(in->runtimes, p);
	if (p && requests_look(&in->requests, p, record->tid, record->time_ns))
		(void)installer_tell(&in->installer, p);	/* counted there */
	in->ends[end] += !record_is_waker(record);
	in->sample_count += !record_is_waker(record);
}

/* The same of a stack as it was walked. */
static void ingest_fold_walked(struct ingest *in, struct process *p, const struct trace_record *record,
			       const struct trace_record *walked, const u64 *words, u8 end)
{
	const u64 *user;
	u32 count = both_ends(walked, words, in->ordered, &user);

	in->shortened += user == in->ordered && walked->frames_lost;
	ingest_fold(in, p, record, user, count, end);
}

void ingest_record(struct ingest *in, const void *data, size_t bytes)
{
	const struct trace_record *record = data;
	struct process *p;

	if (!record_is_whole(record, bytes)) {
		in->malformed++;
		return;
	}
	if (fold_end(in->window, &in->fold, record) || left_out_young(&in->left_out, record))
		return;
	if (record->flags & TRACE_TOTALS) {
		totals_add(&in->totals, record);
		return;
	}
	if (record->flags & TRACE_REST) {
		waiting_add_rest(&in->waiting, record);
		return;
	}
	p = processes_find(in->processes, record->pid);
	if (record->end == END_SLICE || !process_is(p, &record->id)) {
		waiting_add(&in->waiting, record, bytes);
		return;
	}
	if (left_out_unwanted(&in->left_out, in->processes, p, record))
		return;
	(void)modules_sweep_at(in->modules, record_user(record), record->user_count, record->end);
	(void)runtimes_meet(p, record_user(record), record->user_count, record->end);	/* folding tells of it */
	ingest_fold_walked(in, p, record, record, record_user(record), record->end);
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
	bool was_starting;

	if (p->maps_changed && p->maps->installed_count && !process_own_maps(in->processes, p))
		return;
	was_starting = runtimes_are_starting(p);
	(void)installer_install(&in->installer, p, in->now_ns);	/* counted there */
	in->runtime_came |= was_starting && !runtimes_are_starting(p);
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

/*
 * Are the files behind a process's mappings known, with their rows, and have its runtimes started? Files that are not
 * are asked for.
 */
static bool ingest_has_files(struct ingest *in, struct process *p)
{
	bool has = modules_find(in->modules, p->is_removed ? 0 : p->pid, p->maps) && !runtimes_are_starting(p);

	if (has) {
		/* The tables that it got without them are to be replaced, whoever asks here. */
		p->maps_changed |= p->lacks_files_ns && p->is_published;
		p->lacks_files_ns = 0;
	} else if (!p->lacks_files_ns) {
		p->lacks_files_ns = in->now_ns;
	}
	return has;
}

static bool ingest_may_wait(const struct ingest *in, const struct process *p)
{
	return in->now_ns < p->lacks_files_ns + (in->is_last ? FILES_WAIT_LAST_NS : FILES_WAIT_NS);
}

/* True if a slice can be unwound; or has to be, as well as that goes. */
static bool ingest_is_ready(struct ingest *in, struct process *p, const struct pending *pending)
{
	if (p->is_published && !p->maps_changed && p->maps->installed_count && !p->lacks_files_ns &&
	    !runtimes_are_starting(p))
		return true;
	if (ingest_has_files(in, p))
		return true;
	if (ingest_may_wait(in, p) && waiting_has_room(&in->waiting, p, pending))
		return false;
	in->early++;
	return true;
}

/* True if the code that a slice was unwound to is just being looked through, and it can wait for that. */
static bool ingest_waits_for_part(struct ingest *in, struct process *p, struct pending *pending)
{
	const struct unwind *u = &in->unwind;
	bool lacks_rows = u->trace.end == END_NO_ROWS;

	pending->page = lacks_rows ? u->map.page_base + (u32)(u->ea >> PAGE_ROWS_SHIFT) : 0;
	return (lacks_rows ? modules_want_part(in->modules, u->map.binary, u->ea) :
			     modules_sweep_at(in->modules, u->words, u->trace.user_count, u->trace.end)) &&
	       in->now_ns < pending->time_ns + FILES_WAIT_NS && waiting_has_room(&in->waiting, p, pending);
}

/* Why the stack of a slice ends where it does, when nothing is waited for any more. */
static u8 ingest_end(struct ingest *in, const struct process *p)
{
	u8 end = in->unwind.trace.end;

	if (end == END_NO_MAPPING && p->is_gone)
		return END_GONE;
	in->early += end == END_NO_ROWS;
	return end == END_NO_ROWS ? END_NO_RULE : end;
}

/* False: it is to wait for files. */
static bool ingest_slice(struct ingest *in, struct process *p, struct pending *pending)
{
	const struct trace_record *record = pending->record;

	if (!p->maps_known && !p->is_gone)
		ingest_scan(in, p, record->tid);
	if (!ingest_is_ready(in, p, pending))
		return false;
	ingest_unwind(in, p, record);
	/* Code that no event told of: an event was lost, or it was mapped in an unusual way. */
	if (in->unwind.trace.end == END_NO_MAPPING && !p->is_gone &&
	    in->now_ns - p->scanned_ns > RESCAN_NS * in->every) {
		ingest_scan(in, p, record->tid);
		if (!ingest_is_ready(in, p, pending))
			return false;
		ingest_unwind(in, p, record);
	}
	if (runtimes_meet(p, in->unwind.words, in->unwind.trace.user_count, in->unwind.trace.end))
		ingest_unwind(in, p, record);
	if (p->lacks_files_ns)
		ingest_changed(in, p->pid);
	if (ingest_waits_for_part(in, p, pending))
		return false;
	pending->record->holder = lock_owner(in->options.peek, peek_process(p->serial), record);
	ingest_fold_walked(in, p, record, &in->unwind.trace, in->unwind.words, ingest_end(in, p));
	return true;
}

/* A record whose turn has come: all events before it are applied. False: it is to wait for files; p gets whose. */
static bool ingest_pending(struct ingest *in, struct pending *pending, struct process **ret_process)
{
	const struct trace_record *record = pending->record;
	struct process *p = pending->process ? pending->process : processes_find(in->processes, record->pid);

	/* A late sample of a program that is no more: what it brings itself must do. */
	if (!pending->process)
		p = p && processes_is_newer(p, record) ? NULL :
							 processes_identify(in->processes, record->pid, &record->id);
	*ret_process = p;
	if (p)
		p->kernel_pid = record->kernel_pid;
	if (!p) {
		ingest_fold(in, NULL, record, NULL, 0, record->end == END_SLICE ? END_GONE : record->end);
		return true;
	}
	if (left_out_unwanted(&in->left_out, in->processes, p, record))
		return true;
	if (record->end == END_SLICE)
		return ingest_slice(in, p, pending);
	ingest_fold_walked(in, p, record, record, record_user(record), record->end);
	return true;
}

static void on_event(void *arg, const struct sideband_event *event)
{
	struct ingest *in = arg;

	if (event->kind <= EVENT_EXIT && (s32)event->pid <= 0)
		return;		/* of a process outside our PID namespace */
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

/* True if a process whose mappings have changed, or whose files have come, can be given its tables now. */
static bool ingest_should_install(struct ingest *in, struct process *p)
{
	/* What a runtime that has started up by now owns is to be marked in the tables. */
	if (runtimes_should_retry(p, in->now_ns)) {
		p->maps_changed = true;
		return true;
	}
	if (p->lacks_files_ns && (in->files_changed || !ingest_may_wait(in, p)))
		(void)ingest_has_files(in, p);
	return p->maps_changed && in->now_ns - p->installed_ns >= REINSTALL_NS * in->every &&
	       (ingest_has_files(in, p) || !ingest_may_wait(in, p));
}

static bool ingest_has_more(const struct process *p)
{
	return p->maps_changed || p->lacks_files_ns || runtimes_waits(p);
}

static void ingest_reinstall(struct ingest *in)
{
	u32 kept = 0;

	in->reinstalled_ns = in->now_ns;
	for (u32 i = 0; i < in->changed_count; i++) {
		struct process *p = processes_find(in->processes, in->changed[i]);

		if (!p || !p->is_identified || !ingest_has_more(p))
			continue;
		if (ingest_should_install(in, p)) {
			ingest_install(in, p);
			/* It stays on the list only for what is still to come. */
			if (!runtimes_waits(p) && !p->lacks_files_ns)
				continue;
		}
		in->changed[kept++] = in->changed[i];
	}
	in->changed_count = kept;
}

static bool is_due(const struct ingest *in, const struct pending *pending, u64 until_ns)
{
	const struct process *p = pending->process;
	bool has_come = in->files_changed;

	if (!p)
		return pending->time_ns <= until_ns;
	if (has_come && pending->page)
		has_come = !tables_part_is_coming(in->options.tables, pending->page);
	return has_come || !(p->lacks_files_ns ? ingest_may_wait(in, p) :
						 in->now_ns < pending->time_ns + FILES_WAIT_NS);
}

/* The samples that wait, in order, each after the events before it. True if time is up. */
static bool ingest_settle_pending(struct ingest *in, u64 until_ns)
{
	struct waiting *w = &in->waiting;
	u64 end_ns = monotonic_ns() + INGEST_TURN_NS;
	u32 kept = 0, i = 0;
	bool is_late = false;

	waiting_sort(w);
	waiting_shorten(w);
	for (; i < w->count && !is_late; i++) {
		struct pending next = w->at[i];
		struct process *p = next.process;

		if (is_due(in, &next, until_ns)) {
			if (!next.process)
				sideband_dispatch(in->options.sideband, next.time_ns, on_event, in);
			if (ingest_pending(in, &next, &p)) {
				waiting_release(w, in->processes, &next);
				is_late = monotonic_ns() > end_ns;
				continue;
			}
			waiting_hold(w, &next, p);
		}
		w->at[kept++] = next;
	}
	waiting_keep(w, kept, i);
	return is_late;
}

/* Has anything been read since, that somebody may wait for? */
static void ingest_look_at_files(struct ingest *in)
{
	u64 done = background_reader_done_count(in->options.reader);

	in->files_changed |= done != in->files_done || in->runtime_came;
	in->files_done = done;
	in->runtime_came = false;
}

static void ingest_rest(void *arg, struct process *p)
{
	struct ingest *in = arg;

	installer_rest(&in->installer, p, in->now_ns);
}

static void ingest_collect(struct ingest *in)
{
	in->collected_ns = in->now_ns;
	processes_find_ended(in->processes, in->now_ns);
	tables_collect(in->options.tables, in->now_ns);
	if (in->now_ns - in->rested_ns < REST_NS || !tables_maps_are_scarce(in->options.tables))
		return;
	in->rested_ns = in->now_ns;
	processes_each(in->processes, ingest_rest, in);
}

bool ingest_settle(struct ingest *in, u64 until_ns)
{
	u64 asked = runtimes_stats(in->runtimes).asked;

	in->now_ns = until_ns;
	if (asked != in->learned_count)
		in->learned_ns = until_ns;
	in->learned_count = asked;
	background_reader_poll(in->options.reader, until_ns);
	ingest_look_at_files(in);
	if (ingest_settle_pending(in, until_ns))
		return true;
	sideband_dispatch(in->options.sideband, until_ns, on_event, in);
	if (in->files_changed || until_ns - in->reinstalled_ns >= REINSTALL_LOOK_NS * in->every)
		ingest_reinstall(in);
	in->files_changed = false;
	processes_sweep(in->processes, until_ns);
	if (until_ns - in->collected_ns > COLLECT_NS)
		ingest_collect(in);
	return false;
}

void ingest_set_pace(struct ingest *in, u32 every)
{
	in->every = every ? every : 1;
}

void ingest_stop(struct ingest *in)
{
	in->is_last = true;
}

bool ingest_waits_for_files(const struct ingest *in)
{
	return in->waiting.for_files > 0;
}

bool ingest_learns(const struct ingest *in, u64 now_ns)
{
	return in->learned_ns && now_ns - in->learned_ns < LEARNING_NS;
}

bool ingest_waits(const struct ingest *in)
{
	return in->waiting.count > in->waiting.for_files;
}

void ingest_sweep(struct ingest *in, u64 now_ns)
{
	modules_sweep(in->modules, now_ns);
}

static bool waits_for_files(void *arg, u32 pid)
{
	const struct ingest *in = arg;
	const struct process *p = processes_find(in->processes, pid);

	return p && p->waiting_bytes && !in->is_last;
}

/* Of a process that nothing is known of yet there is a name at least. */
static void add_rest(void *arg, const struct trace_record *record)
{
	struct ingest *in = arg;
	struct process *p = processes_find(in->processes, record->pid);

	window_add(in->window, fold_process(in->window, process_is(p, &record->id) ? p : NULL, record), record, NULL,
		   NULL, 0, END_NOT_TAKEN, modules_binary, in->modules);
	in->ends[END_NOT_TAKEN]++;
}

struct window *ingest_take_window(struct ingest *in, u64 now_ns)
{
	struct totals_ops ops = { in->fold.kinds, waits_for_files, add_rest, in };
	struct window *next = window_new(now_ns), *full = in->window;

	if (!next)
		return NULL;
	window_join_wakers(full);
	in->wakers_unknown += full->wakers_unknown;
	totals_share(&in->totals, full, &ops);
	pairs_move(&in->fold.pairs, full, next);
	full->end_ns = now_ns;
	in->window_lost += full->lost;
	in->labels_lost += full->labels_lost;
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

u32 ingest_unread(const struct ingest *in, const struct unread **ret_unread)
{
	return runtimes_unread(in->runtimes, ret_unread);
}

void ingest_counters(const struct ingest *in, u64 ret_values[TRACER_COUNTER_COUNT])
{
	struct sideband_stats s = sideband_stats(in->options.sideband);
	struct processes_stats p = processes_stats(in->processes);
	struct modules_stats m = modules_stats(in->modules);
	struct tables_stats t = tables_stats(in->options.tables);
	struct runtimes_stats rt = runtimes_stats(in->runtimes);
	struct source_maps_stats maps = source_maps_stats(in->source_maps);

	memset(ret_values, 0, TRACER_COUNTER_COUNT * sizeof(*ret_values));
	ret_values[TRACER_RECORDS_MALFORMED] = in->malformed;
	ret_values[TRACER_WAKERS_UNKNOWN] = in->wakers_unknown;
	ret_values[TRACER_WINDOW_FULL] = in->window_lost + in->window->lost;
	ret_values[TRACER_LABELS_LOST] = in->labels_lost + in->window->labels_lost;
	ret_values[TRACER_PENDING_FULL] = in->waiting.full;
	ret_values[TRACER_TOTALS_FULL] = in->totals.lost;
	part_counters_fold(&in->fold, ret_values);
	ret_values[TRACER_STACKS_EARLY] = in->early;
	ret_values[TRACER_STACKS_SHORTENED] = in->shortened;
	ret_values[TRACER_STACKS_LIVE] = in->live_stacks;
	ret_values[TRACER_YOUNG] = in->left_out.young;
	ret_values[TRACER_UNWANTED] = in->left_out.unwanted;
	part_counters_sideband(&s, ret_values);
	part_counters_processes(&p, &m, ret_values);
	ret_values[TRACER_ROWS_LEFT_OUT] = in->installer.rows_left_out;
	part_counters_tables(&t, &m, ret_values);
	ret_values[TRACER_MAPS_RESTED] = in->installer.rested;
	part_counters_runtimes(&rt, ret_values);
	part_counters_requests(&in->requests, ret_values);
	ret_values[TRACER_FRAMES_UNNAMED] += in->nameless;
	part_counters_source_maps(&maps, ret_values);
}
