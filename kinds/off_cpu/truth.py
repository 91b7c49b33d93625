# SPDX-License-Identifier: Apache-2.0
"""Waits whose length the program itself measures, in functions of known names, for known reasons: on a thread each, then on
200 threads. Of each thread all time is compared, too: with the clock, and with what the kernel has counted of it (schedstat)."""
import collections

SECONDS = 3

SOURCE = r"""
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define MS 1000000L
#define PAGES 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int to[2], from[2], fault_fd = -1, file_fd = -1;
static char *slow;
static volatile int over, turn;
static long end_ns;

static long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void pause_ns(long ns)
{
	nanosleep(&(struct timespec){ ns / (1000 * MS), ns % (1000 * MS) }, NULL);
}

NOINLINE void nap(void) { pause_ns(5 * MS); asm volatile(""); }
NOINLINE void doze(void) { pause_ns(end_ns - now(CLOCK_MONOTONIC)); asm volatile(""); }
NOINLINE void hold_lock(void) { pthread_mutex_lock(&lock); pause_ns(3 * MS); pthread_mutex_unlock(&lock); sched_yield(); }
NOINLINE void want_lock(void) { pause_ns(MS); pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
NOINLINE void read_pipe(void) { char c; if (read(to[0], &c, 1) + write(from[1], &c, 1) != 2) abort(); }
NOINLINE void await_answer(void) { struct pollfd p = { from[0], POLLIN, 0 }; char c; poll(&p, 1, -1); if (read(from[0], &c, 1) != 1) abort(); }
NOINLINE void ask_pipe(void) { pause_ns(4 * MS); if (write(to[1], "x", 1) != 1) abort(); await_answer(); asm volatile(""); }
NOINLINE void await_turn(void)
{
	pthread_mutex_lock(&mutex);
	while (!turn && !over)
		pthread_cond_wait(&cond, &mutex);
	turn = 0;
	pthread_mutex_unlock(&mutex);
}
NOINLINE void give_turn(void)
{
	pause_ns(6 * MS);
	pthread_mutex_lock(&mutex);
	turn = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}
NOINLINE void starve(void) { while (!over) ; }
NOINLINE void touch_slow(void) { static int at; if (at < PAGES) slow[4096L * at++] = 1; else pause_ns(MS); }
NOINLINE void sync_file(void)
{
	if (pwrite(file_fd, "x", 1, 0) != 1 || fsync(file_fd))
		abort();
}

static void serve_fault(void)
{
	struct pollfd p = { fault_fd, POLLIN, 0 };
	struct uffd_msg message;
	struct uffdio_zeropage zero = { .range.len = 4096 };

	if (poll(&p, 1, 100) != 1 || read(fault_fd, &message, sizeof(message)) != sizeof(message))
		return;
	pause_ns(3 * MS);
	zero.range.start = message.arg.pagefault.address & ~4095ul;
	ioctl(fault_fd, UFFDIO_ZEROPAGE, &zero);
}

static int make_slow(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	fault_fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	slow = mmap(NULL, PAGES * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (unsigned long)slow;
	reg.range.len = PAGES * 4096L;
	return fault_fd >= 0 && !ioctl(fault_fd, UFFDIO_API, &api) && !ioctl(fault_fd, UFFDIO_REGISTER, &reg);
}

struct job {
	const char *name;
	void (*run)(void);
	int is_pinned;
	long began;
	pthread_t thread;
	char text[256];
};

static void *work(void *arg)
{
	struct job *job = arg;
	long ran, off = 0, run_ns = 0, queue_ns = 0;
	char path[64];
	cpu_set_t one;
	FILE *stat;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (job->is_pinned)
		pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
	while (now(CLOCK_MONOTONIC) < end_ns) {
		long from_ns = now(CLOCK_MONOTONIC);

		ran = now(CLOCK_THREAD_CPUTIME_ID);
		job->run();
		off -= now(CLOCK_THREAD_CPUTIME_ID) - ran;
		off += now(CLOCK_MONOTONIC) - from_ns;
	}
	over = 1;
	pthread_cond_broadcast(&cond);
	snprintf(path, sizeof(path), "/proc/thread-self/schedstat");
	stat = fopen(path, "r");
	if (!stat || fscanf(stat, "%ld %ld", &run_ns, &queue_ns) != 2)
		abort();
	fclose(stat);
	snprintf(job->text, sizeof(job->text), "%s %ld %ld %ld %ld %ld\n", job->name, (long)syscall(SYS_gettid), off,
		 now(CLOCK_MONOTONIC) - job->began, run_ns, queue_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	struct job jobs[256] = {
		{ "nap", nap }, { "doze", doze }, { "hold_lock", hold_lock }, { "want_lock", want_lock }, { "read_pipe", read_pipe },
		{ "ask_pipe", ask_pipe }, { "await_turn", await_turn }, { "give_turn", give_turn }, { "starve", starve, 1 },
		{ "starve", starve, 1 }, { "sync_file", sync_file },
	};
	int count = 11, many = atoi(argv[2]);

	file_fd = open(argv[3], O_CREAT | O_WRONLY, 0600);
	if (many)
		for (count = 0; count < many; count++)
			jobs[count] = count % 2 ? (struct job){ "doze", doze } : (struct job){ "nap", nap };
	else if (make_slow()) {
		jobs[count++] = (struct job){ "touch_slow", touch_slow };
		jobs[count++] = (struct job){ "serve_fault", serve_fault };
	}
	pipe(to);
	pipe(from);
	end_ns = now(CLOCK_MONOTONIC) + atol(argv[1]) * 1000 * MS;
	for (int i = 0; i < count; i++) {
		jobs[i].began = now(CLOCK_MONOTONIC);
		pthread_create(&jobs[i].thread, NULL, work, &jobs[i]);
	}
	for (int i = 0; i < count; i++)
		if (strcmp(jobs[i].name, "read_pipe"))
			pthread_join(jobs[i].thread, NULL);
	close(to[1]);
	for (int i = 0; i < count; i++)
		fputs(jobs[i].text, stdout);
	return 0;
}
"""

# What each function waits for, beside a CPU.
REASONS = {
    "nap": {"sleep"}, "doze": {"sleep"}, "hold_lock": {"sleep", "futex"}, "want_lock": {"futex", "sleep"}, "read_pipe": {"pipe"},
    "ask_pipe": {"sleep", "poll"}, "await_turn": {"futex"}, "give_turn": {"sleep", "futex"}, "starve": set(),
    "touch_slow": {"page_fault"}, "serve_fault": {"poll", "sleep"}, "sync_file": {"disk"},
}
SLACK_NS = 25e6     # a run that is not over at the end of a window counts in the next


class Thread:
    def __init__(self, line):
        self.name, self.tid, self.off, self.life, self.run, self.queue = [int(w) if w.isdigit() else w for w in line.split()]


def near(got, want, part):
    return abs(got - want) <= part * want + SLACK_NS


def sums(found, kind):
    """By thread: all its time; what lies below its function; by reason; and what no sample tells of."""
    total, below, why, unknown = (collections.Counter() for _ in range(4))
    for sample in found.profile.samples:
        if sample.type != kind:
            continue
        tid, reason = sample.attributes["thread.id"], sample.attributes.get("wait.reason", "")
        total[tid] += sample.count
        why[tid, reason] += sample.count
        if "[not sampled]" in sample.user:
            unknown[tid] += sample.count
        for caller, callee in zip(sample.user, sample.user[1:]):
            if caller == "work":
                below[tid, callee] += sample.count
    return total, below, why, unknown


def check_waits(tap, found, threads, many):
    total, below, why, unknown = sums(found, "off_cpu")
    wrong = collections.defaultdict(list)
    for thread in threads:
        tid = thread.tid
        # Where it was when others took its CPU is known by samples, of which a busy machine has few.
        slack = 0.03 * thread.off + SLACK_NS + 0.05 * why[tid, "run_queue"]
        said = f"{thread.name}: {below[tid, thread.name] / 1e6:.0f} of {thread.off / 1e6:.0f} ms"
        if abs(below[tid, thread.name] + unknown[tid] - thread.off) > slack and not many:
            wrong["time"].append(said)
        if unknown[tid] > slack and not many:
            wrong["stack"].append(f"{said}, {unknown[tid] / 1e6:.0f} ms without a stack")
        if not near(why[tid, "run_queue"], thread.queue, 0.02):
            wrong["queue"].append(f"{thread.name}: {why[tid, 'run_queue'] / 1e6:.0f} of {thread.queue / 1e6:.0f} ms")
        other = {reason for (of, reason), ns in why.items() if of == tid and ns > unknown[tid] + slack}
        if not other - {"run_queue"} <= REASONS[thread.name] and not many:
            wrong["reason"].append(f"{thread.name}: {sorted(other)}")
        if not near(total[tid], thread.life - thread.run, 0.02):
            wrong["sum"].append(f"{thread.name}: {total[tid] / 1e6:.0f} of {(thread.life - thread.run) / 1e6:.0f} ms")
        if not many:
            tap.note(said + "; " + ", ".join(f"{reason} {ns / 1e6:.0f}" for (of, reason), ns in sorted(why.items()) if of == tid))
    # A thread of many has few samples: what it did beside its function is known by chance. All together have enough.
    for name in {thread.name for thread in threads} if many else ():
        want = sum(thread.off for thread in threads if thread.name == name)
        got = sum(below[thread.tid, name] + unknown[thread.tid] for thread in threads if thread.name == name)
        tap.note(f"{name}: {got / 1e6:.0f} of {want / 1e6:.0f} ms in all threads")
        if not near(got, want, 0.03):
            wrong["time"].append(f"{name}: {got / 1e6:.0f} of {want / 1e6:.0f} ms")
        tids = {thread.tid for thread in threads if thread.name == name}
        odd = sum(ns for (tid, reason), ns in why.items() if tid in tids and reason not in REASONS[name] | {"run_queue"})
        if odd - sum(unknown[tid] for tid in tids) > 0.03 * want:
            wrong["reason"].append(f"{name}: {odd / 1e6:.0f} ms for other reasons")
    if sum(unknown.values()) > 0.05 * sum(total.values()):
        wrong["stack"].append(f"{sum(unknown.values()) / 1e6:.0f} of {sum(total.values()) / 1e6:.0f} ms without a stack")
    for what, text in (("time", "what each wait took is within 3 %"), ("stack", "it has the stack that waits"),
                       ("reason", "and the reason"), ("queue", "waits for a CPU are what schedstat says, within 2 %"),
                       ("sum", "all that a thread did not run is there, within 2 %")):
        tap.check(f"{len(threads)} threads, -e off_cpu: {text}", not wrong[what], "; ".join(wrong[what][:8]))


def check_wall(tap, found, threads):
    total, _, why, _ = sums(found, "wall")
    wrong = [f"{t.name}: {total[t.tid] / 1e6:.0f} of {t.life / 1e6:.0f} ms" for t in threads if not near(total[t.tid], t.life, 0.02)]
    tap.check(f"{len(threads)} threads, -e wall: running, runnable and waiting are all of the time, within 2 %", not wrong,
              "; ".join(wrong[:8]))
    wrong = [f"{t.name}: {why[t.tid, ''] / 1e6:.0f} of {t.run / 1e6:.0f} ms" for t in threads if not near(why[t.tid, ""], t.run, 0.02)]
    tap.check(f"{len(threads)} threads, -e wall: they ran as long as schedstat says, within 2 %", not wrong, "; ".join(wrong[:8]))


def check(tap, tools):
    victim = tools.compile_c("waits", SOURCE, "-pthread")
    for kinds, many in (("off_cpu", 0), ("off_cpu", 200), ("wall", 0), ("wall", 200)):
        found = tools.record(tap, kinds, victim, str(SECONDS), str(many), victim + ".file")
        if not found:
            continue
        threads = [Thread(line) for line in found.printed.splitlines() if line.strip()]
        tap.check(f"{many or 'known'} threads have told what they did", len(threads) >= (many or 10))
        if kinds == "off_cpu":
            check_waits(tap, found, threads, many)
        else:
            check_wall(tap, found, threads)
        tap.check(f"-e {kinds}: nothing is lost", found.lost() == 0)
