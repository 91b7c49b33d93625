// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Events that a user has chosen: a tracepoint, a function, a USDT marker. One object for each of them, with what it is
 * in constants (setup.h); its programs become programs of the type that their place takes when they are loaded.
 *
 * All of them are counted, and become samples with their own value, while there are no more in a second than stacks
 * may be walked. Past that, values are laid end to end and cut into strata, with a point at random in each: an event
 * that covers a point is the sample, and has all that came since the last one. So no value is lost, and each stack has
 * the share that it is due. Strata double within a second as often as it takes: a million events a second cost a
 * look at the clock each.
 *
 * Of a pair, the first event is the sample, without a value. It is noted under its key until the second comes, which
 * sends the value after it (src/trace/pairs.h).
 */
#include "kinds/probe/setup.h"
#include "sample.h"

#define TURN_NS 1000000000ull
#define EVENT_NS 300	/* what an event costs, about, without its walk */
#define CONTEXT_MASK 2047	/* no context is larger; the verifier wants to know that */
#define WEIGHT_MAX (1ull << 20)	/* of the start of a pair */

const volatile struct probe_setup setup SEC(PROBE_SECTION) = { .walks_max = 1000 };

_Static_assert(sizeof(struct probe_turn) <= sizeof(((struct cpu_state *)0)->own), "fits what a kind may keep");

/* A start whose end has not come yet. */
struct begun {
	u64 time_ns;		/* of its record */
	u64 since_ns;		/* from when on time is measured: the walk is not part of it */
	u64 weight;
	u32 cpu;
	u32 pad;
};

/* The oldest make room. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64[PROBE_KEYS_MAX]);
	__type(value, struct begun);
} pairs SEC(".maps");

static __always_inline int hook_in_user_mode(void *ctx)
{
	return setup.start.hook == PROBE_HOOK_USER || setup.start.hook == PROBE_HOOK_RETURN;
}

static __always_inline void hook_registers(void *ctx, struct kernel_regs *regs)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);

	(void)bpf_probe_read_kernel(regs, sizeof(*regs), ctx);
	if (u && setup.start.hook == PROBE_HOOK_RETURN)
		u->is_return = 1;
}

static __always_inline long hook_kernel_stack(struct unwind *u, void *ctx)
{
	return bpf_get_stack(ctx, u->words, KERNEL_FRAMES_MAX * 8, 0);
}

static __always_inline u64 measure(struct unwind *u, struct cpu_state *state, void *ctx)
{
	return u->trace.value;
}

/* 0, or less if it cannot be read. */
static __always_inline int take(const volatile struct probe_read *from, void *ctx, u64 *to)
{
	u64 value = 0, base = 0, bytes = from->bytes, shift;

	asm volatile("" : "+r"(bytes));	/* one number, of which the verifier knows the largest */
	if (bytes > sizeof(value))
		return -1;
	shift = 64 - 8 * bytes;
	if (from->from == PROBE_FROM_NUMBER) {
		*to = (u64)from->offset;
		return 0;
	}
	if (from->from == PROBE_FROM_THREAD) {
		*to = bpf_get_current_pid_tgid();
		return 0;
	}
	if (from->from == PROBE_FROM_CONTEXT) {
		if (bpf_probe_read_kernel(&value, bytes, (const char *)ctx + (from->offset & CONTEXT_MASK)))
			return -1;
	} else if (bpf_probe_read_kernel(&base, sizeof(base), (const char *)ctx + (from->base & CONTEXT_MASK)) ||
		   bpf_probe_read_user(&value, bytes, (const void *)(base + (u64)from->offset))) {
		return -1;
	}
	if (shift && shift < 64)
		value = from->is_signed ? (u64)((s64)(value << shift) >> shift) : value << shift >> shift;
	*to = value;
	return 0;
}

static __always_inline int passes(const volatile struct probe_side *side, void *ctx)
{
	s64 against = side->against;
	u64 value;

	if (side->test == PROBE_ANY)
		return 1;
	if (take(&side->tested, ctx, &value))
		return 0;
	switch (side->test) {
	case PROBE_EQUAL:
		return (s64)value == against;
	case PROBE_OTHER:
		return (s64)value != against;
	case PROBE_LESS:
		return (s64)value < against;
	case PROBE_MORE:
		return (s64)value > against;
	default:
		return (value & (u64)against) != 0;
	}
}

/* The value that a side has, 0 where that cannot be: one hostile argument must not drown all others. */
static __always_inline u64 value_of(const volatile struct probe_read *from, void *ctx)
{
	u64 value;

	if (take(from, ctx, &value)) {
		count(COUNTER_VALUES_UNREADABLE);
		return 0;
	}
	if (value > PROBE_VALUE_MAX) {
		count(COUNTER_VALUES_OUT_OF_RANGE);
		return 0;
	}
	return value;
}

/* Of USDT, places may have it in different registers. */
static __always_inline u64 value_of_start(void *ctx)
{
	if (setup.end.hook || !setup.start.value.from)
		return 1;
	if (setup.place_count) {
		u64 place = bpf_get_attach_cookie(ctx);

		return place < PROBE_PLACES_MAX ? value_of(&setup.place_value[place], ctx) : 0;
	}
	return value_of(&setup.start.value, ctx);
}

static __always_inline void keys_of(const volatile struct probe_side *side, void *ctx, u64 key[PROBE_KEYS_MAX])
{
	key[0] = 0;
	key[1] = 0;
	if (side->key[0].from && take(&side->key[0], ctx, &key[0]))
		count(COUNTER_VALUES_UNREADABLE);
	if (side->key[1].from && take(&side->key[1], ctx, &key[1]))
		count(COUNTER_VALUES_UNREADABLE);
}

/* ---- Which events become samples ---- */

static __always_inline u64 random_below(u64 limit)
{
	return (limit >> 32 ? limit >> 32 : 1) * (u64)bpf_get_prandom_u32() % limit;
}

static __always_inline void set_stratum(struct probe_turn *turn, u64 stratum)
{
	turn->stratum = stratum < PROBE_VALUE_MAX ? stratum : PROBE_VALUE_MAX;
	turn->walks = 0;
	if (turn->stratum) {
		turn->point = random_below(turn->stratum);
		turn->left = turn->point;
	}
}

static __always_inline u64 walks_in_turn(void)
{
	u32 zero = 0;
	const struct pace *now = bpf_map_lookup_elem(&pace, &zero);

	return setup.walks_max / (now && now->every ? now->every : 1) | 1;
}

/* As fine as there is room for: by what the last turn had. */
static __always_inline void turn_begin(struct probe_turn *turn, u64 now_ns, u64 walks_max)
{
	u64 stratum = turn->stratum;

	if (turn->events <= walks_max || now_ns - turn->since_ns > 2 * TURN_NS)
		stratum = 0;
	else if (turn->walks < walks_max / 2)
		stratum /= 2;
	count_by(COUNTER_RUN_NS, turn->events * EVENT_NS);
	turn->since_ns = now_ns;
	turn->events = 0;
	turn->sum = 0;
	set_stratum(turn, stratum);
}

/* Does an event of that value cover a point? */
static __always_inline int covers(struct probe_turn *turn, u64 value)
{
	u64 stratum = turn->stratum, point;

	if (!stratum)
		return 1;
	if (value <= turn->left) {
		turn->left -= value;
		return 0;
	}
	/* Where it ends, from the start of the stratum that its point was in. The next point lies behind that. */
	value += turn->point - turn->left;
	point = random_below(stratum);
	turn->left = value < stratum || point <= value % stratum ? stratum - value % stratum + point :
		     point - value % stratum;
	turn->point = point;
	return 1;
}

/* What a sample of this event weighs; 0: it is none. */
static __always_inline int turn_take(struct probe_turn *turn, u64 value)
{
	u64 now_ns = bpf_ktime_get_ns(), walks_max = walks_in_turn();

	if (now_ns - turn->since_ns > TURN_NS)
		turn_begin(turn, now_ns, walks_max);
	turn->events++;
	turn->sum += value;
	turn->owed += value;
	if (!covers(turn, value)) {
		count(COUNTER_SPARED);
		return 0;
	}
	if (++turn->walks > walks_max)
		set_stratum(turn, turn->stratum ? 2 * turn->stratum : 2 * turn->sum / turn->events + 2);
	return 1;
}

/* ---- The programs ---- */

static __always_inline void note_start(struct unwind *u, void *ctx)
{
	struct begun begun = { .time_ns = u->trace.time_ns, .since_ns = u->trace.time_ns, .weight = u->trace.value,
			       .cpu = u->trace.cpu };
	u64 key[PROBE_KEYS_MAX];

	keys_of(&setup.start, ctx, key);
	u->trace.cpu_wait = PAIR_BEGUN;
	if (bpf_map_update_elem(&pairs, key, &begun, BPF_ANY))
		count(COUNTER_PAIRS_FULL);
}

/* The walk is over, and what is measured begins; unless it has ended elsewhere by now. */
static __always_inline void start_now(void *ctx)
{
	u64 key[PROBE_KEYS_MAX];
	struct begun *begun;

	if (!setup.end.hook)
		return;
	keys_of(&setup.start, ctx, key);
	begun = bpf_map_lookup_elem(&pairs, key);
	if (begun)
		begun->since_ns = bpf_ktime_get_ns();
}

/* The turn of this CPU, if the event is to become a sample. */
static __always_inline struct probe_turn *turn_of_event(void *ctx)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = bpf_map_lookup_elem(&cpus, &cpu);
	struct probe_turn *turn;

	if (!state)
		return 0;
	turn = (struct probe_turn *)state->own;
	return turn_take(turn, value_of_start(ctx)) ? turn : 0;
}

static __always_inline struct unwind *probe_take(void *ctx, struct task_struct *task, u64 pid_tgid)
{
	struct probe_turn *turn = turn_of_event(ctx);
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);
	const struct pace *pace_now = bpf_map_lookup_elem(&pace, &zero);
	u64 weight;

	if (!u || !turn)
		return 0;
	/* A thread may have been preempted in its walk: the next sample has this event's value, too. */
	if (u->busy) {
		count(setup.end.hook ? COUNTER_NO_SCRATCH : COUNTER_SPARED);
		return 0;
	}
	u->busy = 1;
	weight = turn->owed;
	turn->owed = 0;
	if (switches.pid_namespace && sample_number(u, task))
		return 0;
	u->weight = 1;
	u->frames_max = pace_now ? pace_now->frames_max : 0;
	begin(u, ctx, pid_tgid);
	u->trace.value = weight;
	u->trace.cpu_wait = 0;
	return u;
}

SEC("perf_event")
int sample(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct proc_id id;
	struct unwind *u;

	if (!passes(&setup.start, ctx))
		return 0;
	if (!(u32)pid_tgid) {
		count(COUNTER_IDLE);
		return 0;
	}
	count(COUNTER_TICKS);
	id = process_current();
	if (!process_is_wanted(task, pid_tgid >> 32, &id)) {
		count(COUNTER_FILTERED);
		return 0;
	}
	u = probe_take(ctx, task, pid_tgid);
	if (!u)
		return 0;
	u->trace.id = id;
	if (setup.end.hook)
		note_start(u, ctx);
	if (sample_begin(u, ctx, task))
		walk(u, ctx);
	sample_end(u, ctx, task);
	start_now(ctx);
	return 0;
}

/* The end of a walk that a language's program took over. */
SEC("perf_event")
int finish(void *ctx)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);

	if (u && u->busy)
		sample_end(u, ctx, (void *)bpf_get_current_task());
	start_now(ctx);
	return 0;
}

static __always_inline u64 value_of_pair(void *ctx, const struct begun *begun, u64 now_ns)
{
	u64 weight = begun->weight < WEIGHT_MAX ? begun->weight : WEIGHT_MAX;

	if (setup.end.value.from == PROBE_FROM_TIME)
		return (now_ns - begun->since_ns) * weight;
	if (setup.end.value.from)
		return value_of(&setup.end.value, ctx) * weight;
	return weight;
}

/* The second side of a pair, in whatever thread. */
SEC("perf_event")
int ended(void *ctx)
{
	struct trace_record record = { .kind = (u8)switches.kind, .end = END_NOT_TAKEN, .syscall = -1,
				       .cpu_wait = PAIR_ENDED };
	u64 key[PROBE_KEYS_MAX], now_ns = bpf_ktime_get_ns();
	struct begun *begun;
	void *ring;
	u32 which;

	if (!passes(&setup.end, ctx))
		return 0;
	keys_of(&setup.end, ctx, key);
	begun = bpf_map_lookup_elem(&pairs, key);
	if (!begun) {
		count(COUNTER_ENDS_ALONE);
		return 0;
	}
	record.time_ns = begun->time_ns;
	record.cpu = (u16)begun->cpu;
	record.value = value_of_pair(ctx, begun, now_ns);
	(void)bpf_map_delete_elem(&pairs, key);
	which = begun->cpu % switches.ring_count;
	ring = bpf_map_lookup_elem(&rings, &which);
	if (!ring || bpf_ringbuf_output(ring, &record, sizeof(record), BPF_RB_NO_WAKEUP))
		count(COUNTER_RING_FULL);
	return 0;
}
