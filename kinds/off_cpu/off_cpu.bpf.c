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
 * is a sample that weighs as much as their strata. So long waits are never missed, short ones not favoured, and each
 * stack gets its share. How long strata are each CPU decides by how many samples it takes.
 *
 * How long a thread ran and waited in all the kernel knows by itself: `account` and `exited` tell that of each thread,
 * and user space lets samples share it (src/trace/totals.h). So nothing is wrong where some are missing.
 */
#include "sample.h"

#define STRATUM_MIN_NS 1000000ull
#define STRATUM_MAX_NS (1ull << 32)
#define STRATUM_FIRST_NS 10000000ull
#define TURN_NS 100000000ull	/* a CPU looks at its pace ten times a second: whoever comes first has not all */
#define TURNS 10
#define SWITCH_NS 200		/* what a switch costs, about: to look at the clock again would be half of it */
#define LONG_NS 50000000ull	/* waits that are rare, until many threads wake at once: they have room for that */
#define LONG_BURST 40		/* times as many of them in one turn */
#define GROWTH_MAX 4		/* of a stratum in one turn */

/* What is noted of a thread. */
struct thread {
	u64 out_ns;		/* when it left its CPU; 0: it runs, or that is not known */
	u64 at_ns;		/* how far it has come in its stratum */
	u64 next_ns;		/* where something is to be done: at the point, or at the stratum's end */
	u64 point_ns, stratum_ns;
	u64 owed_ns;		/* what waits weighed whose stacks were not walked: the next one's weighs that more */
	u64 cpu_wait_ns;	/* the kernel's, when it left */
	u64 told_ns;		/* when its totals were last told, and what the kernel's were */
	u64 told_run_ns, told_cpu_wait_ns;
	u32 wait;		/* enum wait */
	u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} storage SEC(".maps");

/* Where tasks have no storage: by number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* The wait that is to be walked when the interrupt comes. */
struct wanted {
	u64 value;
	u64 length_ns, cpu_wait_ns;
	u32 wait;
	u32 kernel_bytes;
	u64 kernel[KERNEL_FRAMES_MAX];
};

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
	u64 walks, points, switch_count;	/* in it; points of strata, each a walk if there is room */
	u64 stratum_ns;
	u64 is_shed;		/* too many switches: time stamps only */
	u64 wanted_tid;		/* whose wait is to be walked; 0: none */
	u64 walks_max;		/* in a turn */
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

	if (!w || bpf_probe_read_kernel(u->words, sizeof(w->kernel), w->kernel))
		return -1;
	return w->kernel_bytes;
}

static __always_inline struct thread *thread_find(struct task_struct *task)
{
	u32 tid;

	if (switches.has_task_storage)
		return bpf_task_storage_get(&storage, task, 0, 0);
	tid = (u32)task->pid;
	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline u64 random_below(u64 limit)
{
	return bpf_get_prandom_u32() * (limit & (STRATUM_MAX_NS * 2 - 1)) >> 32;
}

static __always_inline u64 cpu_wait_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

static __always_inline void stratum_begin(struct thread *t, u64 stratum_ns, u64 at_ns)
{
	t->stratum_ns = stratum_ns;
	t->point_ns = random_below(stratum_ns);
	t->at_ns = at_ns;
	t->next_ns = t->point_ns >= at_ns ? t->point_ns : stratum_ns;
}

/* What a wait weighs: the strata whose points it covers. */
static __always_inline u64 weigh(struct thread *t, u64 length_ns, u64 stratum_ns)
{
	u64 from = t->at_ns, to = from + length_ns, weight = 0, rest;

	if (to < t->next_ns) {
		t->at_ns = to;
		return 0;
	}
	if (t->point_ns >= from && t->point_ns < to)
		weight = t->stratum_ns;
	if (to < t->stratum_ns) {
		t->at_ns = to;
		t->next_ns = t->point_ns >= to ? t->point_ns : t->stratum_ns;
		return weight;
	}
	rest = to - t->stratum_ns;
	weight += rest - rest % stratum_ns;
	stratum_begin(t, stratum_ns, rest % stratum_ns);
	return t->point_ns < t->at_ns ? weight + stratum_ns : weight;
}

/* The same where each wait has the same chance. */
static __always_inline u64 weigh_by_chance(u64 length_ns)
{
	u64 chance = switches.wait_chance;

	if (bpf_get_prandom_u32() > chance)
		return 0;
	return length_ns < 1ull << 40 ? (length_ns << 20) / ((chance >> 12) + 1) : length_ns;
}

static __always_inline u64 wait_weight(struct thread *t, u64 length_ns, u64 stratum_ns)
{
	return switches.wait_chance ? weigh_by_chance(length_ns) : weigh(t, length_ns, stratum_ns);
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

/* This wait is to be a sample: its kernel stack is taken now, while nothing lies on top of it. */
static __always_inline void want(struct turn *turn, struct task_struct *task, const struct thread *t, u64 length_ns,
				 u64 weight)
{
	u32 zero = 0;
	struct wanted *w = bpf_map_lookup_elem(&wanted, &zero);
	long bytes;

	if (!w)
		return;
	turn->walks++;
	bytes = bpf_get_task_stack(task, w->kernel, sizeof(w->kernel), 0);
	w->kernel_bytes = bytes > 0 ? (u32)bytes : 0;
	w->value = weight;
	w->length_ns = length_ns;
	w->cpu_wait_ns = t->cpu_wait_ns;
	w->wait = t->wait;
	if (kick(bpf_get_smp_processor_id()))
		turn->wanted_tid = (u32)task->pid;
	else
		count(COUNTER_WAITS_MISSED);
}

static __always_inline void leaves(struct task_struct *task, int preempted, u64 now)
{
	struct thread *t = task->flags & PF_KTHREAD ? 0 : thread_find(task);

	if (!t)
		return;
	t->out_ns = now;
	t->cpu_wait_ns = cpu_wait_of(task);
	t->wait = wait_of(task, preempted);
}

static __always_inline void returns(struct turn *turn, struct task_struct *task, u64 now)
{
	struct thread *t = task->flags & PF_KTHREAD ? 0 : thread_find(task);
	u64 length_ns, weight, walks_max;

	if (!t || !t->out_ns)
		return;
	length_ns = now - t->out_ns;
	t->out_ns = 0;
	if ((s64)length_ns < 0)
		return;
	weight = wait_weight(t, length_ns, turn->stratum_ns);
	if (!(weight | t->owed_ns) || length_ns < switches.wait_min_ns || turn->is_shed)
		return;
	walks_max = turn->walks_max * (length_ns < LONG_NS ? 1 : LONG_BURST);
	turn->points += weight > 0;
	t->owed_ns += weight;
	if (turn->walks < walks_max) {
		want(turn, task, t, length_ns, t->owed_ns);
		t->owed_ns = 0;
	} else if (weight) {
		count(COUNTER_WAITS_SHED);
	}
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
	if (turn->wanted_tid) {
		turn->wanted_tid = 0;
		count(COUNTER_WAITS_MISSED);
	}
	/* Twice as many as there are time stamps for: none, until the turn is over. */
	if (++turn->switch_count > 2ull * switches.wait_switches_max / TURNS) {
		count(COUNTER_SWITCHES_SHED);
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

	if (bpf_core_field_exists(task->sched_info.run_delay))
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

/* Of whatever interrupt: the first in the thread that came back will do. */
SEC(INTERRUPT)
int sample(void *ctx)
{
	struct turn *turn = turn_of_cpu();
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 zero = 0;
	struct wanted *w = bpf_map_lookup_elem(&wanted, &zero);
	const struct pace *pace_now;
	struct unwind *u;

	if (!w || !turn || turn->wanted_tid != (u32)pid_tgid || !(u32)pid_tgid)
		return 0;
	turn->wanted_tid = 0;
	count(COUNTER_TICKS);
	u = scratch_take();
	if (!u || (switches.pid_namespace && sample_number(u, task)))
		return 0;
	u->trace.id = process_current();
	u->weight = 1;
	pace_now = bpf_map_lookup_elem(&pace, &zero);
	u->frames_max = pace_now ? pace_now->frames_max : 0;
	begin(u, ctx, pid_tgid);
	u->trace.value = w->value;
	u->trace.flags = (u8)(w->wait << TRACE_WAIT_SHIFT);
	u->trace.cpu_wait = cpu_wait_part(w);
	if (sample_begin(u, ctx, task))
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
static __always_inline struct thread *thread_begin(struct task_struct *task, u64 since_ns, u64 run_ns, u64 cpu_wait_ns)
{
	struct thread first = { .told_ns = since_ns, .told_run_ns = run_ns, .told_cpu_wait_ns = cpu_wait_ns,
				.wait = WAIT_SLEEP };
	struct thread *t;
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
	struct thread *t;

	if (task->flags & PF_KTHREAD || !process_is_wanted(task, (u32)task->tgid, &id))
		return 0;
	t = thread_begin(task, now, task->se.sum_exec_runtime, cpu_wait_of(task));
	if (t) {
		t->out_ns = now;
		t->wait = WAIT_CPU;
	}
	return 0;
}

/* 1 if it is not to be told of: a process outside of the namespace. */
static __always_inline int report_begin(struct report *r, struct task_struct *task, const struct proc_id *id, u64 now)
{
	__builtin_memset(&r->trace, 0, sizeof(r->trace));
	r->trace.time_ns = now;
	r->trace.id = *id;
	r->trace.kernel_pid = (u32)task->tgid;
	r->trace.pid = switches.pid_namespace ? process_number(BPF_CORE_READ(task, group_leader)) : (u32)task->tgid;
	r->trace.tid = switches.pid_namespace ? process_number(task) : (u32)task->pid;
	r->trace.syscall = -1;
	r->trace.kind = (u8)switches.kind;
	r->trace.end = END_NOT_TAKEN;
	bpf_probe_read_kernel_str(r->trace.comm, sizeof(r->trace.comm), task->comm);
	return !r->trace.pid || !r->trace.tid;
}

static __always_inline void report_totals(struct report *r, struct task_struct *task, const struct thread *t, u64 now)
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
	struct thread *t = thread_find(task);
	u32 number = 1, which = bpf_get_smp_processor_id() % switches.ring_count, tid = (u32)task->pid;
	struct report *r = bpf_map_lookup_elem(&reports, &number);
	void *ring = bpf_map_lookup_elem(&rings, &which);
	struct proc_id id = process_id(task);
	u64 now = bpf_ktime_get_ns();

	if (!t || !r || !ring)
		return 0;
	if (!report_begin(r, task, &id, now)) {
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
static __always_inline int report_stack(struct report *r, struct seq_file *seq, struct task_struct *task, u32 wait,
					u64 weight)
{
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
					  const struct proc_id *id, struct thread *t)
{
	struct turn *turn = turn_of_cpu();
	u64 now = bpf_ktime_get_ns(), out_ns = t->out_ns, weight = 0;
	struct thread next = *t;

	if (!turn || report_begin(r, task, id, now))
		return 0;
	report_totals(r, task, t, now);
	if (bpf_seq_write(seq, &r->trace, sizeof(r->trace) + sizeof(r->totals)))
		return 0;
	if (out_ns && out_ns < now)
		weight = weigh(&next, now - out_ns, turn->stratum_ns ? turn->stratum_ns : STRATUM_FIRST_NS);
	if (weight && report_stack(r, seq, task, t->wait, weight))
		return 0;
	t->told_ns = now;
	t->told_run_ns += r->totals.run_ns;
	t->told_cpu_wait_ns += r->totals.cpu_wait_ns;
	if (!out_ns || t->out_ns != out_ns)
		return 0;
	t->out_ns = now;
	t->at_ns = next.at_ns;
	t->next_ns = next.next_ns;
	t->point_ns = next.point_ns;
	t->stratum_ns = next.stratum_ns;
	return 0;
}

SEC("iter/task")
int account(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 zero = 0;
	struct report *r = bpf_map_lookup_elem(&reports, &zero);
	struct proc_id id;
	struct thread *t;

	if (!task || !r || task->flags & (PF_KTHREAD | PF_EXITING))
		return 0;
	id = process_id(task);
	if (!process_is_wanted(task, (u32)task->tgid, &id))
		return 0;
	t = thread_find(task);
	if (t)
		return account_thread(r, ctx->meta->seq, task, &id, t);
	t = thread_begin(task, bpf_ktime_get_ns(), task->se.sum_exec_runtime, cpu_wait_of(task));
	if (t && state_of(task))
		t->out_ns = t->told_ns;
	return 0;
}
