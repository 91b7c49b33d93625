/* SPDX-License-Identifier: Apache-2.0 */
/* Everything the tracer counts, with a name and a text, so that nothing vanishes unseen. */
#ifndef TRACER_COUNTERS_H
#define TRACER_COUNTERS_H

#include <stdbool.h>

#include "abi.h"
#include "kinds/list.h"

#define UNREAD_MAX 16	/* runtimes of languages that are met, and not read */

enum counter_kind {
	COUNT_NEUTRAL,	/* how much was done */
	COUNT_SHORT,	/* stacks that are not whole */
	COUNT_LOSS,	/* samples or facts that are missing */
};

struct counter_value {
	const char *name;
	const char *text;
	const char *of;		/* the kind of sample, or the runtime, that it is about; NULL: the first kind, or all */
	const char *label;	/* what `of` is, "kind" or "runtime"; NULL without it */
	enum counter_kind kind;
	u64 value;
};

/* What user space counts; the kernel's are in abi.h. */
#define TRACER_COUNTERS(X)                                                                                             \
	X(RECORDS_MALFORMED, "records_malformed", LOSS, "records of the kernel half that could not be read")           \
	X(WINDOW_FULL, "samples_lost_window_full", LOSS, "samples lost: more distinct stacks than a window may hold")  \
	X(WAKERS_UNKNOWN, "wakers_unknown", NEUTRAL, "waits that ended, of which no record tells by whom") \
	X(PENDING_FULL, "samples_lost_pending_full", LOSS, "samples lost: too many of unknown processes at once")      \
	X(TOTALS_FULL, "threads_lost_table_full", LOSS, "times of threads left out: more than 65536 in a window") \
	X(ASLEEP_LEFT_OUT, "sleepers_left_out", SHORT, "stacks of waiting threads not read: more than 4096 at once") \
	X(LANES_FULL, "lanes_lost_full", LOSS, "times of threads left out of lanes: more than are kept") \
	X(PAIRS_OPEN, "pairs_open", NEUTRAL, "starts of pairs whose end has not come") \
	X(PAIRS_LOST, "pairs_lost", LOSS, "... that were given up: more than 16384 at once") \
	X(STACKS_EARLY, "stacks_unwound_early", SHORT, "stacks unwound before all rows for them were there")           \
	X(STACKS_SHORTENED, "stacks_shortened", NEUTRAL, "stacks deeper than 1024 frames: both ends are kept")         \
	X(STACKS_LIVE, "stacks_read_live", NEUTRAL, "stacks whose outer part was read from the process afterwards")    \
	X(YOUNG, "samples_of_young_processes", NEUTRAL, "samples left out: their process was too young")               \
	X(UNWANTED, "samples_of_unwanted_processes", NEUTRAL, "samples left out by rules before the kernel half knew") \
	X(CONTAINERS, "containers_asked_for", NEUTRAL, "containers that engines were asked for")                      \
	X(CONTAINERS_FOUND, "containers_found", NEUTRAL, "... that one of them knew")                                  \
	X(ENGINES_FAILED, "engines_failed", SHORT, "times that an engine of containers did not answer, or not well") \
	X(SIDEBAND_EVENTS, "process_events", NEUTRAL, "exec, mmap, fork, exit events read")                            \
	X(SIDEBAND_LOST, "process_events_lost", LOSS, "process events lost: mappings are read from /proc again")       \
	X(SIDEBAND_MALFORMED, "process_events_malformed", LOSS, "process events that could not be read")               \
	X(SIDEBAND_LATE, "process_events_late", LOSS, "process events that came out of order")                         \
	X(THROTTLED, "ticks_throttled", LOSS, "times the kernel paused sampling because it took too long")             \
	X(PROCESSES, "processes_known", NEUTRAL, "processes known now")                                                \
	X(PROCESSES_FULL, "processes_lost_table_full", LOSS, "processes that did not fit the table")                   \
	X(PROC_SCANS, "proc_scans", NEUTRAL, "processes whose mappings were read from /proc")                          \
	X(PROC_SCAN_FAILURES, "proc_scan_failures", LOSS, "processes that ended before /proc could be read")           \
	X(MAPPINGS_DROPPED, "mappings_dropped", LOSS, "executable mappings past 4096 of one process")                  \
	X(FILES, "files_opened", NEUTRAL, "executables and libraries opened")                                          \
	X(FILES_UNREADABLE, "files_unreadable", LOSS, "mapped files that could not be opened")                         \
	X(FILES_NOT_ELF, "files_not_elf", LOSS, "mapped files that are not ELF")                                       \
	X(FILES_FULL, "files_lost_table_full", LOSS, "mapped files past the limit")                                    \
	X(ROWS_BYTES, "rows_bytes", NEUTRAL, "BPF memory taken for unwind rows")                                       \
	X(ROWS_USED, "rows_used_bytes", NEUTRAL, "... of it, in use")                                                  \
	X(ROWS_INSTALLED, "rows_pages_installed", NEUTRAL, "times that rows of 64 KiB of code were put there")  \
	X(ROWS_EVICTED, "rows_pages_evicted", NEUTRAL, "... that they made room for others")                           \
	X(ROWS_BORROWED, "rows_pages_borrowed", NEUTRAL, "... that they found no room, and served one stack")  \
	X(ROWS_UNREADABLE, "rows_pages_unreadable", LOSS, "... that they could not be read from the cache on disk")    \
	X(ROWS_FULL, "rows_lost_table_full", LOSS, "files whose code did not fit the table of pages")                  \
	X(ROWS_NONE, "rows_missing", SHORT, "files without unwind information")                                        \
	X(ROWS_FAILED, "rows_failed", LOSS, "files whose unwind information could not be read")                        \
	X(ROWS_CUT, "rows_dropped", LOSS, "unwind rows left out: malformed, or past a limit")                          \
	X(ROWS_CACHED, "rows_from_cache", NEUTRAL, "files whose rows came from the cache on disk")                     \
	X(ROWS_READ, "rows_pages_read", NEUTRAL, "pages of large files whose rows were read when stacks came by")      \
	X(SWEEP_PARTS, "sweep_parts", NEUTRAL, "pages of code without unwind information that were looked through")    \
	X(SWEEP_PARTS_FAILED, "sweep_parts_failed", SHORT, "... of both, that were not: nothing found, too many") \
	X(ROWS_LEFT_OUT, "generated_code_rows_left_out", LOSS, "mappings of generated code too large for unwind rows") \
	X(RULES_FULL, "rules_lost_table_full", LOSS, "unwind rules that did not fit their table")                      \
	X(MAPS_FULL, "maps_lost_table_full", LOSS, "processes whose mappings did not fit the kernel's table")          \
	X(MAPS_SHARES, "mapping_tables_over_share", LOSS, "... their user has more than his share of the table")       \
	X(MAPS_RESTED, "maps_taken_back", NEUTRAL, "processes without samples whose mappings made room")           \
	X(PROCS_FULL, "processes_lost_kernel_table_full", LOSS, "processes that did not fit the kernel's table")       \
	X(RUNTIMES, "runtimes_attached", NEUTRAL, "runtimes of languages found in processes")                          \
	X(RUNTIMES_NEWER, "runtimes_newer", NEUTRAL, "... of versions that are not known, read as the nearest known")  \
	X(RUNTIMES_REFUSED, "runtimes_refused", SHORT, "runtimes of languages that could not be taken up")             \
	X(RUNTIMES_FULL, "runtimes_lost_table_full", LOSS, "runtimes of languages that did not fit the table")         \
	X(PROGRAMS_FAILED, "language_programs_failed", LOSS, "languages whose program the kernel did not take")        \
	X(FRAMES_ASKED, "language_frames_looked_up", NEUTRAL, "frames of languages that were looked up by name")       \
	X(FRAMES_UNNAMED, "language_frames_unnamed", SHORT, "frames of languages that could not be named")             \
	X(CODE_DROPPED, "generated_code_dropped", LOSS, "pieces of generated code past a limit, or malformed")         \
	X(SOURCE_MAPS, "source_maps_read", NEUTRAL, "source maps of scripts, and .NET's PDBs, that were read")        \
	X(SOURCE_MAPS_FAILED, "source_maps_failed", NEUTRAL, "... that are not there, may not be read or are none")    \
	X(SOURCE_MAPS_EVICTED, "source_maps_evicted", NEUTRAL, "times all source maps were forgotten: no room")        \
	X(NAMES_EVICTED, "language_names_evicted", NEUTRAL, "times the frame names of a process were forgotten")       \
	X(REQUESTS_FOUND, "processes_with_requests", NEUTRAL, "processes whose threads tell their request") \
	X(REQUESTS_REFUSED, "processes_with_requests_refused", SHORT, "... that say it in a way not understood") \
	X(OBI_MAPS, "obi_maps", NEUTRAL, "maps of OBI that were found: it tells the requests of threads") \
	X(OBI_MAPS_REFUSED, "obi_maps_refused", SHORT, "... that are not as they should be, and were left alone") \
	X(LABELS_FOUND, "processes_with_thread_labels", NEUTRAL, "processes with variables that are wanted as labels") \
	X(LABELS_REFUSED, "processes_with_thread_labels_refused", SHORT, "... too small, or in no known place") \
	X(LABELS_LOST, "thread_labels_past_limit", LOSS, "samples with labels [other]: more than 1024 sets of values") \
	X(PEEKS, "looks_at_processes", NEUTRAL, "times that memory or files of processes were looked at")              \
	X(PEEKS_LATE, "processes_unresponsive", LOSS, "processes and mounts left alone: a look took too long")         \
	X(PEEKS_REFUSED, "looks_refused", SHORT, "looks at such processes and mounts that were left out")              \
	X(READER_RESTARTS, "reader_restarts", LOSS, "files set aside because reading them ended the reader process")   \
	X(READER_TIMEOUTS, "reader_timeouts", LOSS, "files set aside because reading them took too long")              \
	X(READER_REFUSED, "reader_refused", LOSS, "files not read: no regular file, or too large")                     \
	X(COST, "cpu_used_ppm", NEUTRAL, "millionths of a CPU that profiling has used in the last minute, with BPF")   \
	X(COST_MAX, "cpu_max_ppm", NEUTRAL, "... that it may use; 0: no limit")                                        \
	X(GOVERNOR_STEP, "governor_step", NEUTRAL, "what is left out to stay within max_cpu: 0 nothing, to 9")

enum tracer_counter {
#define X(ID, name, kind, text) TRACER_##ID,
	TRACER_COUNTERS(X)
#undef X
	TRACER_COUNTER_COUNT
};

/* What the agent adds (agent/meter.h). */
#define METER_ROWS 24
#define METER_VALUES (METER_ROWS * (2 + 3))

#define COUNTER_VALUES_MAX \
	(END_COUNT + TRACER_COUNTER_COUNT + KIND_MAX * COUNTER_COUNT + UNREAD_MAX + METER_VALUES)

/* Is a stack with such an end not whole? */
bool counters_is_cut(u8 end);

/* Puts the three lists together. All arrays are indexed by their enums. Returns how many. */
u32 counters_list(const u64 *ends, const u64 *kernel, const u64 *tracer, struct counter_value *ret_values);

#define COUNTER_UNREAD "samples_of_unread_runtimes"

/* Samples of processes with a runtime that is met, and not read. */
struct unread {
	const char *title;
	u64 samples;
};

u32 counters_list_unread(const struct unread *unread, u32 count, struct counter_value *ret_values);

/* Those of the kernel half for one more kind of sample. Returns how many. */
u32 counters_list_kind(const char *kind, const u64 *kernel, struct counter_value *ret_values);

#endif
