// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Time that threads wait, rather than run.
 *
 * What a wait costs is two time stamps, one when the thread leaves its CPU, one when it comes back. By then its length
 * is known, and decides by chance whether its stack is worth a walk. That cannot be done at once: at the switch the
 * memory is still that of the thread that leaves. So the program asks for an interrupt, which comes as soon as the
 * switch is done, in the thread that came back, and walks there (`sample`).
 *
 * Chance: a thread's waiting time is cut into strata; in each lies a point, at random. A wait that covers points
 * is a sample that weighs as much as their strata (weigh.h). So long waits are never missed, short ones not favoured,
 * and each stack gets its share. How long strata are each CPU decides by how many samples it takes.
 *
 * Who ended a wait is known when it does so (`woken`): then the part of the wait up to there is weighed. If that makes
 * it a sample, the one that wakes is walked by such an interrupt, too, and both records have the same number.
 *
 * How long a thread ran and waited in all the kernel knows by itself: `account` and `exited` tell that of each thread,
 * and user space lets samples share it (src/trace/totals.h). So nothing is wrong where some are missing.
 *
 * Of chosen processes each time that a thread ran or waited can be told, too: lanes.h.
 */
#include "sample.h"
#include "lanes.h"
#include "weigh.h"

#define TURN_NS 100000000ull	/* a CPU looks at its pace ten times a second: whoever comes first has not all */
#define TURNS 10
#define SWITCH_NS 200		/* what a switch costs, about: to look at the clock again would be half of it */
#define LONG_NS 50000000ull	/* waits that are rare, until many threads wake at once: they have room for that */
#define LONG_BURST 40		/* times as many of them in one turn */
#define GROWTH_MAX 4		/* of a stratum in one turn */

#if defined(__TARGET_ARCH_arm64)
#define CALL_FUTEX 98
#define REG_FIRST_ARGUMENT 0
#else
#define CALL_FUTEX 202
#define REG_FIRST_ARGUMENT 5	/* rdi */
#endif

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_notes);
} storage SEC(".maps");

/* Where tasks have no storage: by number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct thread_notes);
} threads SEC(".maps");

/* The wait that is to be walked when the interrupt comes. */
struct wanted {
	u64 value, after, since_ns;
	u64 length_ns, cpu_wait_ns;
	u64 wake;
	u32 wait;
	u32 kernel_bytes;
	u64 kernel[KERNEL_FRAMES_MAX];
};

/* Who wakes, and is to be walked then. */
struct waking {
	u64 wake;
	u64 kernel_bytes;
	u64 kernel[KERNEL_FRAMES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct waking);
} wakings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct wanted);
} wanted SEC(".maps");

/* Rings that nothing is sent through: to discard from one makes an interrupt. One a CPU, else two would make one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, RINGS_MAX);
	__type(key, u32);
	__array(values, struct ring_map);
} kicks SEC(".maps");

/* What `account` and `exited` put together: one reader, and CPUs that do not come into each other's way. */
struct report {
	struct trace_record trace;
	struct thread_totals totals;
	struct kernel_regs regs;
	struct slice_regs slice;
	u64 kernel[KERNEL_FRAMES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct report);
} reports SEC(".maps");

/* What a CPU keeps. */
struct turn {
	u64 since_ns;		/* when this turn began */
	u64 switch_count, points;	/* in it; points of strata, each a walk if there is room */
	u64 stratum_ns;
	u32 walks, walks_max;	/* of waits, in it */
	u32 lanes;		/* records of lanes, in it */
	u32 is_shed;		/* too many switches: time stamps only */
	u32 wanted_tid;		/* whose wait is to be walked; 0: none */
	u32 waker_tid;		/* who is, as the one that ended a wait; 0: none */
};
_Static_assert(sizeof(struct turn) <= sizeof(((struct cpu_state *)0)->own), "fits what a kind may keep");

static __always_inline u64 measure(struct unwind *u, struct cpu_state *state, void *ctx)
{
	return u->trace.value;
}

static __always_inline int hook_in_user_mode(void *ctx)
{
	return 0;
}

static __always_inline void hook_registers(void *ctx, struct kernel_regs *regs)
{
}

static __always_inline long hook_kernel_stack(struct unwind *u, void *ctx)
{
	u32 zero = 0;
	struct wanted *w = bpf_map_lookup_elem(&wanted, &zero);
	struct waking *by = bpf_map_lookup_elem(&wakings, &zero);

	if (!w || !by)
		return -1;
	if (u->trace.flags >> TRACE_WAIT_SHIFT == WAIT_WAKES)
		return bpf_probe_read_kernel(u->words, sizeof(by->kernel), by->kernel) ? -1 : (long)by->kernel_bytes;
	return bpf_probe_read_kernel(u->words, sizeof(w->kernel), w->kernel) ? -1 : w->kernel_bytes;
}

static __always_inline struct thread_notes *thread_find(struct task_struct *task)
{
	u32 tid;

	if (switches.has_task_storage)
		return bpf_task_storage_get(&storage, task, 0, 0);
	tid = (u32)task->pid;
	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline u64 cpu_wait_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

static __always_inline u32 walk_grant(struct turn *turn, u64 length_ns)
{
	u32 max = turn->walks_max * (length_ns < LONG_NS ? 1 : LONG_BURST);

	if (turn->walks >= max)
		return ROOM_NONE;
	turn->walks++;
	return ROOM_GRANTED;
}

/* As many samples as are wanted, or a little less. */
static __always_inline void turn_begin(struct turn *turn, u64 now)
{
	u32 zero = 0;
	const struct pace *pace_now = bpf_map_lookup_elem(&pace, &zero);
	u64 max = turn->walks_max, ns = turn->stratum_ns;

	if (turn->points > max)
		ns = ns * (turn->points < GROWTH_MAX * max ? turn->points : GROWTH_MAX * max) / (max | 1);
	else if (turn->points < max / 2)
		ns -= ns / 4;
	turn->stratum_ns = !turn->since_ns ? STRATUM_FIRST_NS : ns < STRATUM_MIN_NS ? STRATUM_MIN_NS :
			   ns > STRATUM_MAX_NS ? STRATUM_MAX_NS : ns;
	count_by(COUNTER_RUN_NS, turn->switch_count * SWITCH_NS);
	turn->walks_max = switches.wait_walks_max / (TURNS * (pace_now && pace_now->every ? pace_now->every : 1)) | 1;
	turn->is_shed = turn->switch_count > switches.wait_switches_max / TURNS;
	turn->since_ns = now;
	turn->walks = 0;
	turn->points = 0;
	turn->lanes = 0;
	turn->switch_count = 0;
}

static __always_inline struct turn *turn_of_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = bpf_map_lookup_elem(&cpus, &cpu);

	return state ? (struct turn *)state->own : 0;
}

static __always_inline u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return (u32)((struct task_struct___old *)task)->state;
}

/* What a task that leaves its CPU goes for. A preempted one can run, whatever it was about to wait for. */
static __always_inline u32 wait_of(struct task_struct *task, int preempted)
{
	u32 state = state_of(task);

	if (preempted || !state)
		return WAIT_CPU;
	if (state & 0x0c)	/* __TASK_STOPPED, __TASK_TRACED */
		return WAIT_STOP;
	if (!(state & 0x02))	/* TASK_UNINTERRUPTIBLE */
		return WAIT_SLEEP;
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) ? WAIT_DISK : WAIT_BLOCK;
}

/* Out of line: what it needs of registers is not for switches that make no sample. 1 if the interrupt will come. */
static __noinline int kick(u32 cpu)
{
	u32 which = cpu % switches.kick_count;
	void *ring = bpf_map_lookup_elem(&kicks, &which);
	void *record = ring ? bpf_ringbuf_reserve(ring, 8, 0) : 0;

	if (!record)
		return 0;
	bpf_ringbuf_discard(record, BPF_RB_FORCE_WAKEUP);
	return 1;
}

/*
 * This wait is to be a sample: its kernel stack is taken now, while nothing lies on top of it. value: what it weighs;
 * after: ... the part for which it only lacked a CPU, if that is known.
 */
static __always_inline void want(struct turn *turn, struct task_struct *task, const struct thread_notes *t,
				 u64 length_ns, u64 value, u64 after)
{
	u32 zero = 0;
	struct wanted *w = bpf_map_lookup_elem(&wanted, &zero);
	long bytes;

	if (!w)
		return;
	bytes = bpf_get_task_stack(task, w->kernel, sizeof(w->kernel), 0);
	w->kernel_bytes = bytes > 0 ? (u32)bytes : 0;
	w->value = value;
	w->after = after;
	w->since_ns = t->since_ns;
	w->length_ns = length_ns;
	w->cpu_wait_ns = t->cpu_wait_ns;
	w->wait = t->wait;
	w->wake = t->wake;
	if (kick(bpf_get_smp_processor_id()))
		turn->wanted_tid = (u32)task->pid;
	else
		count(COUNTER_WAITS_MISSED);
}

static __always_inline void leaves(struct task_struct *task, int preempted, u64 now)
{
	struct thread_notes *t = task->flags & PF_KTHREAD ? 0 : thread_find(task);

	if (!t)
		return;
	if (switches.lanes_max)
		lane_leave(t, now);
	t->out_ns = now;
	t->since_ns = now;
	t->weighed_ns = now;
	t->wake = 0;
	t->walk = ROOM_OPEN;
	t->cpu_wait_ns = cpu_wait_of(task);
	t->wait = wait_of(task, preempted);
}

static __always_inline void returns(struct turn *turn, struct task_struct *task, u64 now)
{
	struct thread_notes *t = task->flags & PF_KTHREAD ? 0 : thread_find(task);
	u64 length_ns, weight, value, woken_ns, after = ~0ull;

	if (t && switches.lanes_max)
		lane_return(task, t, now, ++turn->lanes <= switches.lanes_max / TURNS);
	if (!t || !t->out_ns)
		return;
	length_ns = now - t->out_ns;
	woken_ns = t->weighed_ns != t->out_ns ? t->weighed_ns : 0;
	value = t->owed_ns;
	weight = wait_weight(t, now, turn->stratum_ns);
	t->out_ns = 0;
	if ((s64)length_ns < 0 || !(weight | t->owed_ns) || length_ns < switches.wait_min_ns || turn->is_shed)
		return;
	turn->points += weight > 0;
	t->owed_ns += weight;
	if (t->walk == ROOM_OPEN) {
		t->walk = walk_grant(turn, length_ns);
		if (t->walk == ROOM_NONE && weight)
			count(COUNTER_WAITS_SHED);
	}
	if (t->walk != ROOM_GRANTED)
		return;
	/*
	 * Points before it was woken weigh for the wait, of which it is known who ended it. All of them weigh for what
	 * came after, by its part: it is short mostly, and by its own points alone would have none of its own.
	 */
	if (woken_ns)
		after = part_of(t->owed_ns, now - woken_ns, length_ns);
	want(turn, task, t, length_ns, woken_ns ? value + after : t->owed_ns, after);
	t->owed_ns = 0;
}

/*
 * Does a device or a timer wake, whatever thread it has interrupted? Interrupts have a stack of their own, where the
 * arguments of this tracepoint are then. So has work that was put off to after one, but also what a system call makes
 * of it, such as to send to a neighbour: that one is looked at, and user space knows by the functions.
 */
static __always_inline int in_interrupt(void *ctx, struct task_struct *task)
{
	struct kernel_regs *regs;
	u32 one = 1;
	struct report *r = bpf_map_lookup_elem(&reports, &one);
	u64 at = 0, base = (u64)BPF_CORE_READ(task, stack);

	/* A copy of the pointer, with which the verifier lets us compute. */
	if (!r || bpf_probe_read_kernel(&at, sizeof(at), &ctx))
		return 1;
	if (at - base < thread_bytes)
		return 0;
	regs = &r->regs;
	return registers_of_current(task, regs) || !registers_in_syscall(regs);
}

/* The current thread, which wakes, is to be walked. Several that it wakes before the interrupt have one number. */
static __always_inline void want_waker(struct turn *turn, void *ctx, struct thread_notes *t, u64 now)
{
	u32 zero = 0, tid = (u32)bpf_get_current_pid_tgid(), cpu = bpf_get_smp_processor_id();
	struct waking *by = bpf_map_lookup_elem(&wakings, &zero);
	long bytes;

	if (!by)
		return;
	if (!tid || in_interrupt(ctx, (void *)bpf_get_current_task())) {
		t->wake = WAKE_INTERRUPT;
		return;
	}
	if (turn->waker_tid == tid) {
		t->wake = by->wake;
		return;
	}
	bytes = bpf_get_stack(ctx, by->kernel, sizeof(by->kernel), 0);
	by->kernel_bytes = bytes > 0 ? (u64)bytes : 0;
	by->wake = now << 10 | (cpu & 1023);
	if (kick(cpu)) {
		turn->waker_tid = tid;
		t->wake = by->wake;
	} else {
		count(COUNTER_WAKERS_MISSED);
	}
}

SEC("tp_btf/sched_waking")
int BPF_PROG(woken, struct task_struct *task)
{
	struct thread_notes *t = task->flags & PF_KTHREAD ? 0 : thread_find(task);
	struct turn *turn;
	u64 now, weight, length_ns;

	if (!t || !t->out_ns || t->wait == WAIT_CPU)
		return 0;
	turn = turn_of_cpu();
	now = bpf_ktime_get_ns();
	if (switches.lanes_max && !t->woken_ns)
		t->woken_ns = now;
	length_ns = now - t->out_ns;
	if (!turn || turn->is_shed || !turn->stratum_ns || now < t->out_ns || length_ns < switches.wait_min_ns)
		return 0;
	weight = wait_weight(t, now, turn->stratum_ns);
	t->owed_ns += weight;
	turn->points += weight > 0;
	if (!t->owed_ns)
		return 0;
	t->walk = walk_grant(turn, length_ns);
	if (t->walk == ROOM_GRANTED)
		want_waker(turn, ctx, t, now);
	else if (weight)
		count(COUNTER_WAITS_SHED);
	return 0;
}

static __always_inline void forget_wanted(struct turn *turn)
{
	if (turn->wanted_tid)
		count(COUNTER_WAITS_MISSED);
	if (turn->waker_tid)
		count(COUNTER_WAKERS_MISSED);
	turn->wanted_tid = 0;
	turn->waker_tid = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, u64 preempted, struct task_struct *prev, struct task_struct *next)
{
	struct turn *turn = turn_of_cpu();
	u64 now = bpf_ktime_get_ns();

	if (!turn)
		return 0;
	if (now - turn->since_ns > TURN_NS)
		turn_begin(turn, now);
	if (turn->wanted_tid | turn->waker_tid)
		forget_wanted(turn);
	/* Twice as many as there are time stamps for: none, until the turn is over. */
	if (++turn->switch_count > 2ull * switches.wait_switches_max / TURNS) {
		count(COUNTER_SWITCHES_SHED);
		if (switches.lanes_max)
			lanes_shed(turn->since_ns + TURN_NS);
		return 0;
	}
	leaves(prev, (u8)preempted, now);
	returns(turn, next, now);
	return 0;
}

/* For a part of its wait it was on its way, and lacked a CPU only. */
static __always_inline u32 cpu_wait_part(const struct wanted *w)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 part = 0, length = w->length_ns;

	if (w->wait != WAIT_CPU && w->after != ~0ull) {
		part = w->after;
		length = w->value;
	} else if (bpf_core_field_exists(task->sched_info.run_delay))
		part = BPF_CORE_READ(task, sched_info.run_delay) - w->cpu_wait_ns;
	if (w->wait == WAIT_CPU || part >= length)
		return ~0u;
	if (length >= 1ull << 32) {
		length >>= 20;
		part >>= 20;
	}
	return length ? (u32)((part << 32) / length) : 0;
}

#if defined(__TARGET_ARCH_arm64)
#define INTERRUPT "raw_tp/ipi_entry"
#else
#define INTERRUPT "raw_tp/irq_work_entry"
#endif

/* What is to be said of the current thread: 0 if nothing. */
static __always_inline u32 wanted_of(struct turn *turn, const struct wanted *w, u32 tid)
{
	if (tid && turn->wanted_tid == tid) {
		turn->wanted_tid = 0;
		count(COUNTER_TICKS);
		return w->wait;
	}
	if (!tid || turn->waker_tid != tid)
		return 0;
	turn->waker_tid = 0;
	return WAIT_WAKES;
}

static __always_inline void describe(struct trace_record *trace, const struct wanted *w, u32 wait)
{
	u32 zero = 0;
	const struct waking *by = bpf_map_lookup_elem(&wakings, &zero);

	trace->flags = (u8)(wait << TRACE_WAIT_SHIFT);
	if (wait == WAIT_WAKES) {
		trace->wake = by ? by->wake : 0;
		trace->cpu_wait = 0;
		return;
	}
	trace->value = w->value;
	trace->wake = w->wake;
	trace->cpu_wait = cpu_wait_part(w);
}

/* The lock, or what else it is, that a thread waits at: what futex() was called with. */
static __always_inline void lock_of(struct trace_record *trace, const struct slice_regs *regs, u64 since_ns)
{
	u64 us = (trace->time_ns - since_ns) / 1000;

	if (!(trace->flags & TRACE_SYSCALL) || trace->syscall != CALL_FUTEX)
		return;
	trace->lock_va = regs->reg[REG_FIRST_ARGUMENT];
	trace->wait_us = us < ~0u ? (u32)us : ~0u;
}

/* Of whatever interrupt: the first in the thread that came back, or woke another, will do. */
SEC(INTERRUPT)
int sample(void *ctx)
{
	struct turn *turn = turn_of_cpu();
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 zero = 0, wait;
	struct wanted *w = bpf_map_lookup_elem(&wanted, &zero);
	const struct pace *pace_now;
	struct unwind *u;
	int is_walked;

	if (!w || !turn)
		return 0;
	wait = wanted_of(turn, w, (u32)pid_tgid);
	if (!wait)
		return 0;
	u = scratch_take();
	if (!u || (switches.pid_namespace && sample_number(u, task)))
		return 0;
	u->trace.id = process_current();
	u->weight = 1;
	pace_now = bpf_map_lookup_elem(&pace, &zero);
	u->frames_max = pace_now ? pace_now->frames_max : 0;
	begin(u, ctx, pid_tgid);
	describe(&u->trace, w, wait);
	is_walked = sample_begin(u, ctx, task);
	if (wait != WAIT_WAKES)
		lock_of(&u->trace, &u->regs, w->since_ns);
	if (is_walked)
		walk(u, ctx);
	sample_end(u, ctx, task);
	return 0;
}

/* The end of a walk that a language's program took over. */
SEC(INTERRUPT)
int finish(void *ctx)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);

	if (u && u->busy)
		sample_end(u, ctx, (void *)bpf_get_current_task());
	return 0;
}

/* Begins to look at a thread, of which all is known since `since_ns`, and had run and waited so long by then. */
static __always_inline struct thread_notes *thread_begin(struct task_struct *task, u64 since_ns, u64 run_ns,
							 u64 cpu_wait_ns)
{
	struct thread_notes first = { .told_ns = since_ns, .told_run_ns = run_ns, .told_cpu_wait_ns = cpu_wait_ns,
				.since_ns = since_ns, .lane_ns = since_ns, .wait = WAIT_SLEEP };
	struct thread_notes *t;
	u32 tid = (u32)task->pid;

	stratum_begin(&first, STRATUM_FIRST_NS, 0);
	if (switches.has_task_storage) {
		t = bpf_task_storage_get(&storage, task, &first, BPF_LOCAL_STORAGE_GET_F_CREATE);
	} else {
		(void)bpf_map_update_elem(&threads, &tid, &first, BPF_ANY);
		t = bpf_map_lookup_elem(&threads, &tid);
	}
	if (!t)
		count(COUNTER_THREADS_FULL);
	return t;
}

/* A new thread: it waits for its first CPU. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(started, struct task_struct *task)
{
	struct proc_id id = process_id(task);
	u64 now = bpf_ktime_get_ns();
	struct thread_notes *t;

	if (task->flags & PF_KTHREAD || !process_is_wanted(task, (u32)task->tgid, &id))
		return 0;
	t = thread_begin(task, now, task->se.sum_exec_runtime, cpu_wait_of(task));
	if (t) {
		t->weighed_ns = now;
		t->out_ns = now;
		t->wait = WAIT_CPU;
	}
	return 0;
}

static __always_inline void report_totals(struct report *r, struct task_struct *task, const struct thread_notes *t,
					  u64 now)
{
	r->trace.flags = TRACE_TOTALS;
	r->trace.user_count = sizeof(r->totals) / 8;
	r->totals.run_ns = task->se.sum_exec_runtime - t->told_run_ns;
	r->totals.cpu_wait_ns = cpu_wait_of(task) - t->told_cpu_wait_ns;
	r->totals.all_ns = now - t->told_ns;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	struct thread_notes *t = thread_find(task);
	u32 number = 1, which = bpf_get_smp_processor_id() % switches.ring_count, tid = (u32)task->pid;
	struct report *r = bpf_map_lookup_elem(&reports, &number);
	void *ring = bpf_map_lookup_elem(&rings, &which);
	struct proc_id id = process_id(task);
	u64 now = bpf_ktime_get_ns();

	if (!t || !r || !ring)
		return 0;
	if (switches.lanes_max)
		lane_end(task, t, now);
	if (!report_begin(&r->trace, task, &id, now)) {
		report_totals(r, task, t, now);
		if (bpf_ringbuf_output(ring, r, sizeof(r->trace) + sizeof(r->totals), BPF_RB_NO_WAKEUP))
			count(COUNTER_RING_FULL);
	}
	if (switches.has_task_storage)
		bpf_task_storage_delete(&storage, task);
	else
		bpf_map_delete_elem(&threads, &tid);
	return 0;
}

/* The stack of a thread that waits: its kernel part, and the registers from which user space can read on. */
static __always_inline int report_stack(struct report *r, struct seq_file *seq, struct task_struct *task,
					const struct thread_notes *t, u64 weight)
{
	u32 wait = t->wait;
	long bytes = bpf_get_task_stack(task, r->kernel, sizeof(r->kernel), 0);

	if (registers_of_task(task, &r->regs))
		return 0;
	if (registers_are_32bit(&r->regs))
		return 0;
	r->trace.flags = (u8)(wait << TRACE_WAIT_SHIFT);
	r->trace.cpu_wait = wait == WAIT_CPU ? ~0u : 0;
	r->trace.user_count = 0;
	r->trace.end = END_SLICE;
	r->trace.slice_state = SLICE_IS_LEAF | SLICE_IS_ASLEEP;
	r->trace.value = weight;
	if (registers_in_syscall(&r->regs)) {
		r->trace.flags |= TRACE_SYSCALL;
		r->trace.syscall = registers_syscall(&r->regs);
		r->trace.slice_state |= SLICE_IS_RETURN;
	}
	registers_to_dwarf(&r->regs, &r->slice);
	lock_of(&r->trace, &r->slice, t->since_ns);
	bytes = bytes < 0 ? 0 : bytes;
	if (bytes > (long)sizeof(r->kernel))
		return 0;
	r->trace.kernel_count = (u16)((u64)bytes >> 3);
	if (bpf_seq_write(seq, &r->trace, sizeof(r->trace)))
		return -1;
	if (bytes && bpf_seq_write(seq, r->kernel, (u32)bytes & 1023))
		return -1;
	return bpf_seq_write(seq, &r->slice, sizeof(r->slice)) ? -1 : 0;
}

/*
 * Each thread's totals, and the stack of one that waits just now: so far, its wait counts. Nothing is done twice if
 * what is told does not fit the buffer, and the kernel asks again.
 */
static __always_inline int account_thread(struct report *r, struct seq_file *seq, struct task_struct *task,
					  const struct proc_id *id, struct thread_notes *t)
{
	struct turn *turn = turn_of_cpu();
	u64 now = bpf_ktime_get_ns(), out_ns = t->out_ns, weight = 0;
	struct thread_notes next = *t;

	if (!turn || report_begin(&r->trace, task, id, now))
		return 0;
	report_totals(r, task, t, now);
	if (bpf_seq_write(seq, &r->trace, sizeof(r->trace) + sizeof(r->totals)))
		return 0;
	if (out_ns && t->weighed_ns < now)
		weight = weigh(&next, now - t->weighed_ns, turn->stratum_ns ? turn->stratum_ns : STRATUM_FIRST_NS);
	if (weight && report_stack(r, seq, task, t, weight))
		return 0;
	if (switches.lanes_max && account_lane(seq, task, t, now))
		return 0;
	t->told_ns = now;
	t->told_run_ns += r->totals.run_ns;
	t->told_cpu_wait_ns += r->totals.cpu_wait_ns;
	if (!out_ns || t->out_ns != out_ns)
		return 0;
	t->out_ns = now;
	t->weighed_ns = now;
	t->at_ns = next.at_ns;
	t->next_ns = next.next_ns;
	t->point_ns = next.point_ns;
	t->stratum_ns = next.stratum_ns;
	return 0;
}

/* Without that field there is one CPU, on which it is we who run; a guess of others. */
static __always_inline int is_on_cpu(struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) ? task->on_cpu != 0 : !state_of(task);
}

SEC("iter/task")
int account(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 zero = 0;
	struct report *r = bpf_map_lookup_elem(&reports, &zero);
	struct proc_id id;
	struct thread_notes *t;

	if (!task || !r || task->flags & (PF_KTHREAD | PF_EXITING))
		return 0;
	id = process_id(task);
	if (!process_is_wanted(task, (u32)task->tgid, &id))
		return 0;
	t = thread_find(task);
	if (t)
		return account_thread(r, ctx->meta->seq, task, &id, t);
	t = thread_begin(task, bpf_ktime_get_ns(), task->se.sum_exec_runtime, cpu_wait_of(task));
	if (t && !is_on_cpu(task)) {
		t->wait = wait_of(task, 0);
		t->weighed_ns = t->told_ns;
		t->out_ns = t->told_ns;
	}
	return 0;
}
