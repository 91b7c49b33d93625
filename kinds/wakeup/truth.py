# SPDX-License-Identifier: Apache-2.0
"""Waits of which it is known who ends them: a holder's unlock, a writer's write, a signal of a condition, another process's
write, a timer. First a thread of each, then 100 pairs of which each has its own waker."""
import collections

SECONDS = 3

SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define MS 1000000L
#define PAIRS 100

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int thread_pipe[2], process_pipe[2], pair_pipe[PAIRS][2];
static int turn, taken;
static long end_ns;
static __thread int own;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void pause_ns(long ns) { nanosleep(&(struct timespec){ 0, ns }, NULL); }
static void eat(int fd) { char c; if (read(fd, &c, 1) < 0) abort(); }
static void feed(int fd) { if (write(fd, "x", 1) != 1) abort(); }

NOINLINE void nap(void) { pause_ns(5 * MS); asm volatile(""); }
NOINLINE void let_go(void) { pthread_mutex_unlock(&lock); asm volatile(""); }
NOINLINE void hold_lock(void)
{
	pthread_mutex_lock(&lock);
	__atomic_store_n(&taken, 1, __ATOMIC_SEQ_CST);
	pause_ns(6 * MS);
	let_go();
	/* Until the other has had it: who waits for whom is always the same. */
	while (__atomic_load_n(&taken, __ATOMIC_SEQ_CST) && now() < end_ns)
		pause_ns(MS / 4);
}
NOINLINE void want_lock(void)
{
	while (!__atomic_load_n(&taken, __ATOMIC_SEQ_CST) && now() < end_ns)
		pause_ns(MS / 4);
	pthread_mutex_lock(&lock);
	__atomic_store_n(&taken, 0, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&lock);
}
NOINLINE void read_pipe(void) { eat(thread_pipe[0]); asm volatile(""); }
NOINLINE void write_pipe(void) { pause_ns(4 * MS); feed(thread_pipe[1]); asm volatile(""); }
NOINLINE void read_other(void) { eat(process_pipe[0]); asm volatile(""); }
NOINLINE void write_other(void) { pause_ns(4 * MS); feed(process_pipe[1]); asm volatile(""); }
NOINLINE void await_turn(void)
{
	pthread_mutex_lock(&mutex);
	while (!turn)
		pthread_cond_wait(&cond, &mutex);
	turn = 0;
	pthread_mutex_unlock(&mutex);
}
NOINLINE void give_turn(void)
{
	pause_ns(6 * MS);
	pthread_mutex_lock(&mutex);
	turn = 1;
	pthread_mutex_unlock(&mutex);
	pthread_cond_signal(&cond);
	asm volatile("");
}
NOINLINE void read_own(void) { eat(pair_pipe[own][0]); asm volatile(""); }
NOINLINE void write_own(void) { pause_ns(20 * MS); feed(pair_pipe[own][1]); asm volatile(""); }

struct job {
	const char *name;
	void (*run)(void);
	int own, is_waker;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct job *job = arg;

	prctl(PR_SET_NAME, job->name);
	own = job->own;
	while (now() < end_ns)
		job->run();
	/* Who waits for this one is to end, too. */
	for (int i = 0; job->is_waker && i < 2; i++)
		job->run();
	return NULL;
}

static void run(struct job *jobs, int count)
{
	for (int i = 0; i < count; i++)
		pthread_create(&jobs[i].thread, NULL, work, &jobs[i]);
	for (int i = 0; i < count; i++)
		pthread_join(jobs[i].thread, NULL);
}

int main(int argc, char **argv)
{
	static struct job pairs[2 * PAIRS];
	struct job jobs[] = { { "sleeper", nap }, { "holder", hold_lock }, { "wanter", want_lock }, { "reader", read_pipe },
			      { "writer", write_pipe, 0, 1 }, { "other-reader", read_other }, { "awaiter", await_turn },
			      { "giver", give_turn, 0, 1 } };
	struct job other = { "other-writer", write_other, 0, 1 };
	pid_t child = 0;

	if (pipe(thread_pipe) || pipe(process_pipe))
		return 1;
	end_ns = now() + atol(argv[1]) * 1000 * MS;
	if (!atoi(argv[2])) {
		child = fork();
		if (!child)
			_exit(work(&other) != NULL);
		run(jobs, sizeof(jobs) / sizeof(*jobs));
		waitpid(child, NULL, 0);
	} else {
		for (int i = 0; i < 2 * PAIRS; i++) {
			char *name = malloc(16);

			if (!(i % 2) && pipe(pair_pipe[i / 2]))
				return 1;
			snprintf(name, 16, "%s-%d", i % 2 ? "write" : "read", i / 2);
			pairs[i] = (struct job){ name, i % 2 ? write_own : read_own, i / 2, i % 2 };
		}
		run(pairs, 2 * PAIRS);
	}
	printf("%d %d\n", getpid(), child);
	return 0;
}
"""

INTERRUPT = "[interrupt]"

# The thread that waits, the function that it waits in: who ends that, and in which function.
WAKERS = {
    ("sleeper", "nap"): (INTERRUPT, ""), ("wanter", "want_lock"): ("holder", "let_go"), ("reader", "read_pipe"): ("writer", "write_pipe"),
    ("other-reader", "read_other"): ("other-writer", "write_other"), ("awaiter", "await_turn"): ("giver", "give_turn"),
}
LOCKED = {"wanter": "pthread_mutex_lock"}   # what else it waits in are its own naps


def is_meant(name, sample, mark=None):
    user = sample.user[:mark]
    return LOCKED.get(name, "") in " ".join(user) and sample.attributes.get("wait.reason") not in ("run_queue", None) \
        and "[not sampled]" not in user


def by_attributes(found, kind):
    """By thread and function that waits: time by the waker's thread and process."""
    told = collections.defaultdict(collections.Counter)
    for sample in found.profile.samples:
        name = sample.attributes["thread.name"]
        if sample.type != kind or not is_meant(name, sample):
            continue
        for function in set(sample.user):
            told[name, function][sample.attributes.get("waker.thread.name"), sample.attributes.get("waker.process.pid")] += sample.count
    return told


def by_stacks(found):
    """By thread and function that waits: time by the mark between both stacks and the functions of the waker."""
    told = collections.defaultdict(collections.Counter)
    for sample in found.profile.samples:
        if sample.type != "wakeup":
            continue
        marks = [i for i, frame in enumerate(sample.user) if frame.startswith("[woken by ")]
        name = sample.attributes["thread.name"]
        if not is_meant(name, sample, marks[0] if marks else None):
            continue
        mark, waker = (sample.user[marks[0]], sample.user[marks[0] + 1:]) if marks else (None, ())
        for function in set(sample.user[:marks[0]] if marks else sample.user):
            told[name, function][mark, waker] += sample.count
    return told


def check_known(tap, found):
    parent, child = (int(word) for word in found.printed.split())
    told, stacks = by_attributes(found, "off_cpu"), by_stacks(found)
    for (name, function), (waker, where) in WAKERS.items():
        times = told[name, function]
        pid = child if waker == "other-writer" else None if waker == INTERRUPT else parent
        right, total = times[waker, pid], sum(times.values())
        wrong = total - right - times[None, None]
        said = f"{right / 1e6:.0f} of {total / 1e6:.0f} ms, {wrong / 1e6:.0f} ms by others {dict(times) if wrong else ''}"
        tap.check(f"{function}: its waker is {waker}, of the right process", total > 5e8 and right > 0.9 * total and wrong < 0.03 * total,
                  said)
        right = wrong = 0
        for (mark, frames), ns in stacks[name, function].items():
            is_right = mark == f"[woken by {'an interrupt' if waker == INTERRUPT else waker}]" and (where in frames if where else not frames)
            right += ns if is_right else 0
            wrong += ns if mark and not is_right else 0
        tap.check(f"{function}: the waker's stack is on top of it, from its wake-up down to {where or 'no user code'}",
                  right > 0.9 * total and wrong < 0.03 * total, f"{right / 1e6:.0f} of {total / 1e6:.0f} ms, {wrong / 1e6:.0f} ms wrong")
    sums = collections.Counter()
    for sample in found.profile.samples:
        sums[sample.type] += sample.count
    tap.check("time by waker adds up to the time waited", abs(sums["wakeup"] - sums["off_cpu"]) < 1e-3 * sums["off_cpu"], str(dict(sums)))


def check_pairs(tap, found):
    right = wrong = total = 0
    for (name, function), times in by_attributes(found, "off_cpu").items():
        if function != "read_own":
            continue
        for (waker, _), ns in times.items():
            total += ns
            right += ns if waker == name.replace("read", "write") else 0
            wrong += ns if waker and waker != name.replace("read", "write") else 0
    tap.check("200 threads: each reader is woken by its own writer", total > 100e9 and right > 0.8 * total and wrong < 0.01 * total,
              f"{right / 1e6:.0f} of {total / 1e6:.0f} ms, {wrong / 1e6:.0f} ms by others")


def check(tap, tools):
    victim = tools.compile_c("wakers", SOURCE, "-pthread")
    for many, judge in ((0, check_known), (1, check_pairs)):
        found = tools.record(tap, "off_cpu,wakeup", victim, str(SECONDS), str(many))
        if found:
            judge(tap, found)
            tap.check("-e wakeup: nothing is lost", found.lost() == 0)
