// SPDX-License-Identifier: Apache-2.0
#include "tracer/ingest.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exe/background_reader.h"
#include "kinds/waits.h"
#include "proc/binary.h"
#include "proc/maps.h"
#include "test.h"
#include "trace/window.h"
#include "tracer/tables.h"

#define PID 0x7fff0001u		/* nobody's: /proc says nothing of it */
#define SECOND 1000000000ull
#define T0 (100 * SECOND)

struct machine {
	struct tables *tables;
	struct sideband *sideband;
	struct background_reader *reader;
	struct ingest *ingest;
	struct window *window;		/* what came out */
	struct maps *maps;		/* this process's, whose program the others run */
	char path[PATH_MAX];
};

static void machine_init(struct machine *m)
{
	FILE *file = fopen("/proc/self/maps", "re");
	struct ingest_options options = { .langs = ~0u, .user_va_mask = ~0ull, .kinds = 1, .lanes_max = 4 };
	ssize_t len = readlink("/proc/self/exe", m->path, sizeof(m->path) - 1);

	OK(len > 0);
	m->path[len] = '\0';
	m->window = NULL;
	m->maps = maps_new();
	EQ(maps_read(m->maps, file), 0);
	fclose(file);
	EQ(tables_new(NULL, 8u << 20, &m->tables), 0);
	EQ(sideband_new(&m->sideband), 0);
	EQ(background_reader_new(&m->reader), 0);
	options.tables = m->tables;
	options.sideband = m->sideband;
	options.reader = m->reader;
	EQ(ingest_new(&options, T0, &m->ingest), 0);
}

static void machine_done(struct machine *m)
{
	window_free(m->window);
	background_reader_free(m->reader);
	ingest_free(m->ingest);
	sideband_free(m->sideband);
	tables_free(m->tables);
	maps_free(m->maps);
}

static u64 counter(const struct machine *m, enum tracer_counter which)
{
	u64 values[TRACER_COUNTER_COUNT];

	ingest_counters(m->ingest, values);
	return values[which];
}

/* What is to be done up to that time. */
static void settle(struct machine *m, u64 until_ns)
{
	while (ingest_settle(m->ingest, until_ns))
		;
}

/* ... once all files that were asked for are read. */
static void settle_files(struct machine *m, u64 until_ns)
{
	struct pollfd done = { .fd = background_reader_fd(m->reader), .events = POLLIN };

	settle(m, until_ns);
	while (ingest_waits_for_files(m->ingest)) {
		EQ(poll(&done, 1, 10000), 1);
		settle(m, until_ns);
	}
}

static const struct window *take(struct machine *m)
{
	window_free(m->window);
	m->window = ingest_take_window(m->ingest, T0);
	return m->window;
}

static void signal_readers(struct machine *m, int signal)
{
	int pids[BACKGROUND_READERS_MAX];

	background_reader_pids(m->reader, pids);
	for (u32 i = 0; i < BACKGROUND_READERS_MAX; i++)
		if (pids[i])
			EQ(kill(pids[i], signal), 0);
}

static struct trace_record header(u64 time_ns, u64 exec_id)
{
	return (struct trace_record){ .time_ns = time_ns, .id = { 1, exec_id }, .pid = PID, .tid = PID, .syscall = -1,
				      .end = END_COMPLETE, .comm = "thread" };
}

/* A sample with one frame. */
static void sample(struct machine *m, u32 pid, u64 time_ns, u64 start_ns, u64 exec_id)
{
	struct { struct trace_record record; u64 frame; } s = { header(time_ns, exec_id),
								(u64)FRAME_VA << FRAME_KIND_SHIFT | 0x1000 };

	s.record.id.start_ns = start_ns;
	s.record.pid = s.record.tid = pid;
	s.record.user_count = 1;
	ingest_record(m->ingest, &s, sizeof(s));
}

/* A slice whose leaf is in this program. */
static void slice(struct machine *m, u32 pid, u64 time_ns, u64 exec_id, u32 stack_bytes)
{
	size_t bytes = sizeof(struct trace_record) + sizeof(struct slice_regs) + stack_bytes;
	struct trace_record *record = calloc(1, bytes);
	struct slice_regs *regs = (void *)(record + 1);

	*record = header(time_ns, exec_id);
	record->pid = record->tid = pid;
	record->end = END_SLICE;
	record->slice_state = SLICE_IS_LEAF;
	record->slice_bytes = stack_bytes;
	regs->pc = (u64)(uintptr_t)slice;
	regs->reg[REG_SP] = 0x7000000000;
	ingest_record(m->ingest, record, bytes);
	free(record);
}

static void tell(struct machine *m, struct sideband_event event)
{
	event.tid = event.tid ? event.tid : event.pid;
	sideband_add(m->sideband, &event);
}

static void tell_exec(struct machine *m, u32 pid, u64 time_ns, const char *comm)
{
	struct sideband_event event = { .kind = EVENT_EXEC, .time_ns = time_ns, .pid = pid };

	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	tell(m, event);
}

/* It maps this program, under a name. */
static void tell_mmap(struct machine *m, u32 pid, u64 time_ns)
{
	const struct mapping *own = maps_find(m->maps, (u64)(uintptr_t)slice);
	struct sideband_event event = { .kind = EVENT_MMAP, .time_ns = time_ns, .pid = pid, .mapping = *own };

	event.mapping.path = strdup(m->path);
	event.mapping.binary = NULL;
	event.mapping.looked_for = false;
	tell(m, event);
}

TEST(ingest_lets_samples_of_unknown_processes_wait_for_their_time)
{
	struct machine m;

	machine_init(&m);
	sample(&m, PID, T0 + 10, 1, 1);
	OK(ingest_waits(m.ingest));
	settle(&m, T0 + 9);
	EQ(ingest_sample_count(m.ingest), 0);
	settle(&m, T0 + 10);
	EQ(ingest_sample_count(m.ingest), 1);
	OK(!ingest_waits(m.ingest));
	/* It is known by now. */
	sample(&m, PID, T0 + 20, 1, 1);
	EQ(ingest_sample_count(m.ingest), 2);
	machine_done(&m);
}

TEST(ingest_puts_samples_and_events_into_the_order_of_time)
{
	const struct window *w;
	struct machine m;

	machine_init(&m);
	sample(&m, PID, T0 + 30, 1, 2);
	tell_exec(&m, PID, T0 + 20, "second");
	sample(&m, PID, T0 + 10, 1, 1);
	tell_exec(&m, PID, T0 + 5, "first");
	settle(&m, T0 + 40);
	w = take(&m);
	EQ(w->process_count, 2);
	STREQ(w->processes[0].comm, "first");
	STREQ(w->processes[1].comm, "second");
	machine_done(&m);
}

TEST(ingest_keeps_late_samples_of_a_program_that_is_no_more)
{
	const struct window *w;
	struct machine m;

	machine_init(&m);
	tell_exec(&m, PID, T0 + 5, "second");
	sample(&m, PID, T0 + 10, 1, 2);
	settle(&m, T0 + 10);
	sample(&m, PID, T0 + 4, 1, 1);
	slice(&m, PID, T0 + 4, 1, 64);
	settle(&m, T0 + 20);
	EQ(ingest_sample_count(m.ingest), 3);
	EQ(ingest_ends(m.ingest)[END_GONE], 1);
	w = take(&m);
	STREQ(w->processes[0].comm, "second");
	STREQ(w->processes[1].comm, "thread");
	machine_done(&m);
}

TEST(ingest_tells_processes_with_one_pid_apart)
{
	const struct window *w;
	struct machine m;

	machine_init(&m);
	tell_exec(&m, PID, T0 + 5, "first");
	sample(&m, PID, T0 + 10, 1, 1);
	tell(&m, (struct sideband_event){ .kind = EVENT_EXIT, .time_ns = T0 + 20, .pid = PID });
	sample(&m, PID, T0 + 30, T0 + 25, 0);
	settle(&m, T0 + 40);
	w = take(&m);
	EQ(w->process_count, 2);
	STREQ(w->processes[0].comm, "first");
	STREQ(w->processes[1].comm, "thread");
	machine_done(&m);
}

TEST(ingest_counts_what_is_no_record)
{
	struct trace_record record = header(T0, 1);
	struct machine m;

	machine_init(&m);
	ingest_record(m.ingest, &record, sizeof(record) - 1);
	record.user_count = 1;
	ingest_record(m.ingest, &record, sizeof(record));
	record.user_count = 0;
	record.end = END_COUNT;
	ingest_record(m.ingest, &record, sizeof(record));
	settle(&m, T0 + SECOND);
	EQ(counter(&m, TRACER_RECORDS_MALFORMED), 3);
	EQ(ingest_sample_count(m.ingest), 0);
	machine_done(&m);
}

struct lane_record {
	struct trace_record record;
	struct lane_times times;
	u64 kernel[2];
};

/* What it did up to then, one after the other; the kernel's functions are behind it. */
static struct lane_record lane(u64 time_ns, u64 ran_ns, u64 waited_ns, u64 queued_ns)
{
	struct lane_record lane = { header(time_ns, 1), { ran_ns, waited_ns, queued_ns }, { ~1ull, ~2ull } };

	lane.record.kind = KIND_LANES;
	lane.record.user_count = 5;
	lane.record.flags = WAIT_SLEEP << TRACE_WAIT_SHIFT | TRACE_SYSCALL;
	lane.record.syscall = SYS_clock_nanosleep;
	return lane;
}

TEST(a_lane_is_what_a_thread_did_from_when_to_when)
{
	struct lane_record told = lane(T0 + 100, 10, 20, 5);
	const struct window_stack *stack;
	const struct window *w;
	struct machine m;

	machine_init(&m);
	ingest_record(m.ingest, &told, sizeof(told));
	settle(&m, T0 + SECOND);
	w = take(&m);
	EQ(w->time_count, 3);
	EQ(w->times[0].time_ns, T0 + 65);
	EQ(w->times[0].value, 10);
	EQ(window_sample(w, w->times[0].sample)->reason, REASON_NONE);
	EQ(w->times[1].time_ns, T0 + 75);
	EQ(w->times[1].value, 20);
	EQ(window_sample(w, w->times[1].sample)->reason, REASON_SLEEP);
	stack = window_stack(w, window_sample(w, w->times[1].sample)->stack);
	EQ(stack->kernel_count, 2);
	EQ(stack->words[1], ~2ull);
	EQ(w->times[2].time_ns, T0 + 95);
	EQ(window_sample(w, w->times[2].sample)->reason, REASON_RUN_QUEUE);
	EQ(window_sample(w, w->times[2].sample)->kind, KIND_LANES);
	EQ(ingest_sample_count(m.ingest), 0);
	machine_done(&m);
}

TEST(lanes_that_make_no_sense_are_counted)
{
	struct lane_record bad[4] = { lane(T0, T0, 1, 0), lane(T0, 0, 0, ~0ull), lane(T0, 1, 1, 1), lane(T0, 1, 1, 1) };
	struct machine m;

	machine_init(&m);
	bad[2].record.user_count = 2;
	bad[3].record.end = END_TRUNCATED;
	for (u32 i = 0; i < 4; i++)
		ingest_record(m.ingest, &bad[i],
			      sizeof(bad[i].record) + bad[i].record.user_count * sizeof(u64));
	settle(&m, T0 + SECOND);
	EQ(counter(&m, TRACER_RECORDS_MALFORMED), 4);
	EQ(take(&m)->time_count, 0);
	machine_done(&m);
}

/* machine_init() lets four parts of lanes in. */
TEST(more_lanes_than_are_kept_are_counted)
{
	struct lane_record told = lane(T0 + 100, 10, 20, 5);
	struct machine m;

	machine_init(&m);
	for (u32 i = 0; i < 4; i++, told.record.time_ns += 100)
		ingest_record(m.ingest, &told, sizeof(told));
	settle(&m, T0 + SECOND);
	EQ(take(&m)->time_count, 3);
	EQ(counter(&m, TRACER_LANES_FULL), 3);
	machine_done(&m);
}

TEST(ingest_believes_no_mappings_after_events_were_lost)
{
	struct machine m;

	machine_init(&m);
	tell_exec(&m, PID, T0 + 5, "first");
	tell_mmap(&m, PID, T0 + 6);
	slice(&m, PID, T0 + 10, 1, 64);
	settle_files(&m, T0 + 10);
	EQ(counter(&m, TRACER_PROC_SCANS), 0);
	tell(&m, (struct sideband_event){ .kind = EVENT_LOST, .time_ns = T0 + 20, .lost = 1 });
	slice(&m, PID, T0 + 30, 1, 64);
	settle_files(&m, T0 + 40);
	EQ(counter(&m, TRACER_PROC_SCANS), 1);
	EQ(ingest_sample_count(m.ingest), 2);
	machine_done(&m);
}

TEST(ingest_gives_a_forked_child_what_its_parent_has)
{
	const struct window *w;
	struct machine m;

	machine_init(&m);
	tell_exec(&m, PID, T0 + 5, "parent");
	tell_mmap(&m, PID, T0 + 6);
	tell(&m, (struct sideband_event){ .kind = EVENT_FORK, .time_ns = T0 + 7, .pid = PID + 1, .parent_pid = PID });
	slice(&m, PID + 1, T0 + 10, 1, 64);
	settle_files(&m, T0 + 10);
	w = take(&m);
	EQ(w->process_count, 1);
	STREQ(w->processes[0].comm, "parent");
	STREQ(w->processes[0].exe_path, m.path);
	EQ(window_stack(w, 0)->words[0] >> FRAME_KIND_SHIFT, FRAME_EXE);
	EQ(counter(&m, TRACER_PROC_SCANS), 0);
	machine_done(&m);
}

TEST(ingest_unwinds_a_slice_once_the_files_of_its_process_are_read)
{
	const struct binary *binary;
	const struct window *w;
	struct machine m;
	u64 word;

	machine_init(&m);
	signal_readers(&m, SIGSTOP);
	tell_exec(&m, PID, T0 + 5, "slow");
	tell_mmap(&m, PID, T0 + 6);
	slice(&m, PID, T0 + 10, 1, 64);
	sample(&m, PID + 1, T0 + 11, 1, 1);
	settle(&m, T0 + 20);
	/* Others do not wait, and nobody has to look often. */
	EQ(ingest_sample_count(m.ingest), 1);
	OK(ingest_waits_for_files(m.ingest));
	OK(!ingest_waits(m.ingest));
	signal_readers(&m, SIGCONT);
	settle_files(&m, T0 + 30);
	EQ(ingest_sample_count(m.ingest), 2);
	EQ(counter(&m, TRACER_STACKS_EARLY), 0);
	w = take(&m);
	word = window_stack(w, 1)->words[0];
	EQ(word >> FRAME_KIND_SHIFT, FRAME_EXE);
	binary = window_binary(w, word >> FRAME_BINARY_SHIFT & FRAME_BINARY_MASK);
	STREQ(binary->path, m.path);
	OK(binary->fd >= 0);
	OK(counter(&m, TRACER_ROWS_USED) > 0);
	machine_done(&m);
}

TEST(ingest_takes_tables_of_idle_processes_back_when_others_need_the_room)
{
	static struct map_entry many[PROC_MAPS_MAX];
	struct machine m;
	u32 first;

	machine_init(&m);
	tell_exec(&m, PID, T0 + 5, "idle");
	tell_mmap(&m, PID, T0 + 6);
	slice(&m, PID, T0 + 10, 1, 64);
	settle_files(&m, T0 + 30);
	EQ(ingest_sample_count(m.ingest), 1);
	settle(&m, T0 + 20 * SECOND);
	EQ(counter(&m, TRACER_MAPS_RESTED), 0);	/* there is room */
	for (u64 user = 1; user < MAPTAB_MAX / PROC_MAPS_MAX; user++)
		EQ(tables_add_maps(m.tables, user, many, PROC_MAPS_MAX, &first), 0);
	settle(&m, T0 + 22 * SECOND);
	EQ(counter(&m, TRACER_MAPS_RESTED), 1);
	settle(&m, T0 + 24 * SECOND);
	EQ(counter(&m, TRACER_MAPS_RESTED), 1);
	/* It comes back with its next sample. */
	(void)take(&m);
	slice(&m, PID, T0 + 25 * SECOND, 1, 64);
	settle_files(&m, T0 + 26 * SECOND);
	EQ(ingest_sample_count(m.ingest), 2);
	EQ(window_stack(take(&m), 0)->words[0] >> FRAME_KIND_SHIFT, FRAME_EXE);
	machine_done(&m);
}

TEST(ingest_waits_for_files_only_so_long)
{
	struct machine m;

	machine_init(&m);
	signal_readers(&m, SIGSTOP);
	tell_exec(&m, PID, T0 + 5, "slow");
	tell_mmap(&m, PID, T0 + 6);
	slice(&m, PID, T0 + 10, 1, 64);
	settle(&m, T0 + SECOND);
	OK(ingest_waits_for_files(m.ingest));
	settle(&m, T0 + 4 * SECOND);
	OK(!ingest_waits_for_files(m.ingest));
	EQ(ingest_sample_count(m.ingest), 1);
	EQ(counter(&m, TRACER_STACKS_EARLY), 1);
	/* What comes next does not wait at all. */
	slice(&m, PID, T0 + 5 * SECOND, 1, 64);
	settle(&m, T0 + 5 * SECOND);
	EQ(ingest_sample_count(m.ingest), 2);
	machine_done(&m);
}

TEST(ingest_puts_a_slice_that_waited_to_the_program_that_it_was_taken_of)
{
	const struct window *w;
	struct machine m;

	machine_init(&m);
	signal_readers(&m, SIGSTOP);
	tell_exec(&m, PID, T0 + 5, "first");
	tell_mmap(&m, PID, T0 + 6);
	slice(&m, PID, T0 + 10, 1, 64);
	tell_exec(&m, PID, T0 + 15, "second");
	sample(&m, PID, T0 + 20, 1, 2);
	settle(&m, T0 + 20);
	EQ(ingest_sample_count(m.ingest), 1);
	signal_readers(&m, SIGCONT);
	settle_files(&m, T0 + 30);
	w = take(&m);
	EQ(w->process_count, 2);
	STREQ(w->processes[0].comm, "second");
	STREQ(w->processes[1].comm, "first");
	STREQ(w->processes[1].exe_path, m.path);
	EQ(window_stack(w, 1)->words[0] >> FRAME_KIND_SHIFT, FRAME_EXE);
	machine_done(&m);
}

#define MANY 400	/* slices, more than may wait of one process, fewer than of all */

TEST(ingest_lets_only_so_much_wait)
{
	u64 cut, sent = 0;
	struct machine m;

	machine_init(&m);
	signal_readers(&m, SIGSTOP);
	tell_exec(&m, PID, T0 + 5, "slow");
	tell_mmap(&m, PID, T0 + 6);
	/* First for files: of one process, not all that may. */
	for (; sent < MANY; sent++)
		slice(&m, PID, T0 + 10 + sent, 1, SLICE_BYTES_MAX);
	settle(&m, T0 + SECOND);
	cut = counter(&m, TRACER_STACKS_EARLY);
	OK(cut > 0 && cut < sent);
	EQ(ingest_sample_count(m.ingest), cut);
	EQ(counter(&m, TRACER_PENDING_FULL), 0);
	/* Then for their time: what does not fit is counted. */
	for (; sent < MANY + 100000; sent++)
		slice(&m, PID, T0 + 2 * SECOND, 1, SLICE_BYTES_MAX);
	OK(counter(&m, TRACER_PENDING_FULL) > 0);
	settle(&m, T0 + 10 * SECOND);
	EQ(ingest_sample_count(m.ingest) + counter(&m, TRACER_PENDING_FULL), sent);
	machine_done(&m);
}

#define WIDE_BYTES (2 * SLICE_BYTES_MAX)

static inline __attribute__((always_inline)) void own_registers(struct slice_regs *ret_regs)
{
	*ret_regs = (struct slice_regs){ 0 };
#ifdef __aarch64__
	asm volatile("mov %0, sp\n\tmov %1, x29\n\tadr %2, ."
		     : "=r"(ret_regs->reg[REG_SP]), "=r"(ret_regs->reg[REG_FP]), "=r"(ret_regs->pc));
#else
	asm volatile("mov %%rsp, %0\n\tmov %%rbp, %1\n\tmov %%rbx, %2\n\tlea 0(%%rip), %3"
		     : "=r"(ret_regs->reg[REG_SP]), "=r"(ret_regs->reg[REG_FP]), "=r"(ret_regs->reg[REG_BX]),
		       "=r"(ret_regs->pc));
#endif
}

/* What the kernel half sends of this function's own stack: a slice, and what follows it if that is to be sent, too. */
static __attribute__((noinline)) void own_slice(struct machine *m, u64 time_ns, bool with_rest)
{
	static struct { struct trace_record record; struct slice_regs regs; u8 stack[SLICE_BYTES_MAX]; } s;
	static struct { struct trace_record record; u8 stack[SLICE_BYTES_MAX]; } rest;
	_cleanup_(closep) int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);	/* no sanitizer looks there */

	s.record = header(time_ns, 1);
	s.record.end = END_SLICE;
	s.record.slice_state = SLICE_IS_LEAF;
	s.record.slice_bytes = SLICE_BYTES_MAX;
	own_registers(&s.regs);
	EQ(pread(memory, s.stack, SLICE_BYTES_MAX, (off_t)s.regs.reg[REG_SP]), SLICE_BYTES_MAX);
	ingest_record(m->ingest, &s, sizeof(s));
	rest.record = header(time_ns, 1);
	rest.record.flags = TRACE_REST;
	for (u32 part = 1; with_rest && part <= SLICE_RESTS_MAX; part++) {
		ssize_t got = pread(memory, rest.stack, SLICE_BYTES_MAX,
				    (off_t)(s.regs.reg[REG_SP] + part * SLICE_BYTES_MAX));

		/* Others come in between. */
		sample(m, PID + part, time_ns, 1, 1);
		if (got <= 0)
			break;
		rest.record.slice_bytes = (u32)got;
		ingest_record(m->ingest, &rest, sizeof(rest.record) + (size_t)got);
	}
}

/* ... called by one whose frame is larger than a slice. */
static __attribute__((noinline)) void own_wide_slice(struct machine *m, u64 time_ns, bool with_rest)
{
	volatile u8 wide[WIDE_BYTES];

	wide[0] = 0;
	own_slice(m, time_ns, with_rest);
	wide[WIDE_BYTES - 1] = wide[0];
}

static u32 frames_of_own_slice(struct machine *m, u64 time_ns, bool with_rest)
{
	const struct window *w;

	own_wide_slice(m, time_ns, with_rest);
	settle_files(m, time_ns);
	w = take(m);
	for (u32 i = 0; i < w->time_count; i++) {
		const struct window_stack *stack = window_stack(w, window_sample(w, (u32)w->times[i].sample)->stack);

		if (w->processes[stack->process].pid == PID)
			return stack->user_count;
	}
	return 0;
}

TEST(ingest_goes_on_in_what_follows_a_slice)
{
	struct machine m;
	u32 without;

	machine_init(&m);
	tell_exec(&m, PID, T0 + 5, "wide");
	tell_mmap(&m, PID, T0 + 6);
	without = frames_of_own_slice(&m, T0 + 10, false);
	OK(without == 2 || without == 3);	/* arm64 keeps return addresses below what is wide */
	EQ(ingest_ends(m.ingest)[END_SLICE_SHORT], 1);
	OK(frames_of_own_slice(&m, T0 + 20, true) >= without + 2);
	EQ(ingest_ends(m.ingest)[END_SLICE_SHORT], 1);
	EQ(counter(&m, TRACER_RECORDS_MALFORMED), 0);
	machine_done(&m);
}

/* Some of its stacks wait and others could not: whoever learns first that files have come, it gets their tables. */
TEST(ingest_replaces_tables_that_were_made_without_files)
{
	const struct window *w;
	struct machine m;

	machine_init(&m);
	signal_readers(&m, SIGSTOP);
	tell_exec(&m, PID, T0 + 5, "slow");
	tell_mmap(&m, PID, T0 + 6);
	for (u64 i = 0; i < MANY; i++)
		slice(&m, PID, T0 + 10 + i, 1, SLICE_BYTES_MAX);
	settle(&m, T0 + SECOND);
	OK(counter(&m, TRACER_STACKS_EARLY) > 0);
	signal_readers(&m, SIGCONT);
	settle_files(&m, T0 + SECOND + 1);
	(void)take(&m);
	slice(&m, PID, T0 + 3 * SECOND, 1, 64);
	settle(&m, T0 + 4 * SECOND);
	w = take(&m);
	EQ(window_stack(w, 0)->words[0] >> FRAME_KIND_SHIFT, FRAME_EXE);
	machine_done(&m);
}
