#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`wick report --locks`: a program whose threads themselves measure how long they wait for which lock, and of which it is known
who holds what: a convoy, one holder, a condition that is no lock, locks that are taken in order and so no deadlock; then one
of two threads and one of three."""
import json
import os
import subprocess
import sys
import tempfile

import common

HELD_NS = 40e6      # each time, by hog()
SECONDS = 3

SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define MS 1000000L

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER, cold = PTHREAD_MUTEX_INITIALIZER, cond_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ring[5] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				   PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_have_one;
static int turn, over, hog_has;
static long end_ns;

struct job {
	const char *name;
	void (*run)(struct job *job);
	int number;
	long waited, longest;
	pthread_t thread;
	pid_t tid;
};

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void pause_ns(long ns) { nanosleep(&(struct timespec){ 0, ns }, NULL); }

static void timed_lock(struct job *job, pthread_mutex_t *lock)
{
	long from = now(), took;

	pthread_mutex_lock(lock);
	took = now() - from;
	job->waited += took;
	if (took > job->longest)
		job->longest = took;
}

NOINLINE void convoy(struct job *job) { timed_lock(job, &hot); pause_ns(5 * MS); pthread_mutex_unlock(&hot); asm volatile(""); }
NOINLINE void let_go(void) { pthread_mutex_unlock(&cold); asm volatile(""); }
NOINLINE void hog(struct job *job)
{
	pthread_mutex_lock(&cold);
	__atomic_store_n(&hog_has, 1, __ATOMIC_SEQ_CST);
	pause_ns(40 * MS);
	__atomic_store_n(&hog_has, 0, __ATOMIC_SEQ_CST);
	let_go();
	pause_ns(2 * MS);
}
NOINLINE void suffer(struct job *job)
{
	/* Only while the other has it: who waits for whom is always the same. */
	while (!__atomic_load_n(&hog_has, __ATOMIC_SEQ_CST) && now() < end_ns)
		;
	timed_lock(job, &cold);
	pthread_mutex_unlock(&cold);
}
NOINLINE void in_order(struct job *job)
{
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	pause_ns(2 * MS);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
	if (!job->number)
		return;
	pthread_mutex_lock(&inner);
	pause_ns(2 * MS);
	pthread_mutex_unlock(&inner);
}
NOINLINE void consume(struct job *job)
{
	pthread_mutex_lock(&cond_lock);
	while (!turn && !over)
		pthread_cond_wait(&cond, &cond_lock);
	turn = 0;
	pthread_mutex_unlock(&cond_lock);
}
NOINLINE void produce(struct job *job)
{
	pause_ns(6 * MS);
	pthread_mutex_lock(&cond_lock);
	turn = 1;
	over = now() >= end_ns;
	pthread_mutex_unlock(&cond_lock);
	pthread_cond_broadcast(&cond);
}

/* Those with the numbers 0 and 1 wait for each other; 2, 3 and 4 in a ring. */
NOINLINE void take_second(int number) { pthread_mutex_lock(&ring[number]); asm volatile(""); }
NOINLINE void take_both(struct job *job)
{
	pthread_mutex_lock(&ring[job->number]);
	pthread_barrier_wait(&all_have_one);
	take_second(job->number < 2 ? 1 - job->number : job->number == 4 ? 2 : job->number + 1);
}

static void *work(void *arg)
{
	struct job *job = arg;

	prctl(PR_SET_NAME, job->name);
	job->tid = (pid_t)syscall(SYS_gettid);
	while (now() < end_ns)
		job->run(job);
	return NULL;
}

static void run(struct job *jobs, int count, int is_stuck)
{
	for (int i = 0; i < count; i++)
		pthread_create(&jobs[i].thread, NULL, work, &jobs[i]);
	for (int i = 0; i < count && !is_stuck; i++)
		pthread_join(jobs[i].thread, NULL);
	if (is_stuck)
		pthread_barrier_wait(&all_have_one);
	for (int i = 0; i < count; i++)
		printf("thread %s %d %ld %ld\n", jobs[i].name, jobs[i].tid, jobs[i].waited, jobs[i].longest);
	fflush(stdout);
	if (is_stuck)
		pause();
}

int main(int argc, char **argv)
{
	struct job busy[] = { { "convoy-0", convoy }, { "convoy-1", convoy }, { "convoy-2", convoy }, { "convoy-3", convoy },
			      { "hog", hog }, { "sufferer", suffer }, { "order-0", in_order }, { "order-1", in_order, 1 },
			      { "consumer", consume }, { "producer", produce } };
	struct job stuck[] = { { "stuck-0", take_both, 0 }, { "stuck-1", take_both, 1 }, { "ring-2", take_both, 2 },
			       { "ring-3", take_both, 3 }, { "ring-4", take_both, 4 } };

	pthread_barrier_init(&all_have_one, NULL, 6);
	end_ns = now() + atol(argv[1]) * 1000 * MS;
	printf("lock hot %p\nlock cold %p\nlock cond_lock %p\nlock cond %p\n", (void *)&hot, (void *)&cold, (void *)&cond_lock,
	       (void *)&cond);
	for (int i = 0; i < 5; i++)
		printf("lock ring-%d %p\n", i, (void *)&ring[i]);
	if (!strcmp(argv[2], "stuck"))
		run(stuck, 5, 1);
	else
		run(busy, 10, 0);
	return 0;
}
"""


class Told:
    """What the program says of itself."""

    def __init__(self, text):
        words = [line.split() for line in text.splitlines()]
        self.address = {w[1]: w[2] for w in words if w[0] == "lock"}
        self.thread = {w[1]: [int(x) for x in w[2:]] for w in words if w[0] == "thread"}

    def waited(self, prefix):
        return sum(t[1] for name, t in self.thread.items() if name.startswith(prefix))

    def longest(self, prefix):
        return max(t[2] for name, t in self.thread.items() if name.startswith(prefix))


def near(got, want, part, slack=20e6):
    return abs(got - want) <= part * want + slack


def report(tap, folder, program, mode, kind="wakeup"):
    """What the program said, and the report as JSON and as text; None if something failed."""
    path = os.path.join(folder, mode + ".otlp")
    record = [common.WICK, "record", "-e", kind, "-o", path]
    if mode == "stuck":
        # It hangs already when somebody comes to look.
        with subprocess.Popen([program, "3600", mode], stdout=subprocess.PIPE, text=True) as stuck:
            said = "".join(stuck.stdout.readline() for _ in range(14))
            run = subprocess.run([*record, "-p", str(stuck.pid), "-d", "3"], capture_output=True, text=True, timeout=120, check=False)
            stuck.kill()
    else:
        run = subprocess.run([*record, "--", program, str(SECONDS), mode], capture_output=True, text=True, timeout=120, check=False)
        said = run.stdout
    if not tap.check(f"wick record -e {kind} of the {mode} program", run.returncode == 0, run.stderr[-300:] if run.returncode else ""):
        return None
    answers = []
    for more in (["--json"], []):
        shown = subprocess.run([common.WICK, "report", "--locks", *more, path], capture_output=True, text=True, timeout=60, check=False)
        if not tap.check(f"wick report --locks {' '.join(more)}", shown.returncode == 0, shown.stderr[-300:]):
            return None
        answers.append(shown.stdout)
    tap.note(answers[1])
    return Told(said), json.loads(answers[0]), answers[1]


def check_convoy(tap, told, found):
    lock = found.get(told.address["hot"])
    if not tap.check("the convoy's lock is there, as a mutex", lock and lock["kind"] == "mutex", str(lock)):
        return
    want = told.waited("convoy")
    tap.check("time waited for it is what its threads measured, within 10 %", near(lock["waited"], want, 0.1),
              f"{lock['waited'] / 1e6:.0f} of {want / 1e6:.0f} ms")
    tap.check("4 threads waited for it", lock["waiters"] == 4, str(lock["waiters"]))
    tap.check("some three at a time", near(lock["waited"] / SECONDS / 1e9, 3, 0.3, 0) and near(lock["queue"], 3, 0.3, 0), str(lock["queue"]))
    tap.check("each of them held it", {h["thread"] for h in lock["holders"]} == {f"convoy-{i}" for i in range(4)}, str(lock["holders"]))
    tap.check("they wait in one place, and it is let go in the same", lock["sites"][0]["function"] == "timed_lock" and
              {h["function"] for h in lock["holders"]} == {"convoy"}, str(lock["sites"]))


def check_holder(tap, told, found):
    lock = found.get(told.address["cold"])
    if not tap.check("the lock with one holder is there", bool(lock)):
        return
    want = told.waited("sufferer")
    tap.check("time waited for it is right, within 5 %", near(lock["waited"], want, 0.05), f"{lock['waited'] / 1e6:.0f} of {want / 1e6:.0f} ms")
    holders = {(h["thread"], h["tid"], h["function"]): h["waited"] for h in lock["holders"]}
    hog = holders.get(("hog", told.thread["hog"][0], "let_go"), 0)
    tap.check("the holder is the hog, which lets go in let_go", hog > 0.95 * lock["waited"], str(holders))
    # One that is woken and finds it taken again has waited twice, by the kernel, and once by its own clock.
    tap.check("the longest wait is right, within 20 %", 0.8 * HELD_NS <= lock["longest"] <= 1.2 * told.longest("sufferer") + 5e6,
              f"{lock['longest'] / 1e6:.0f} of {told.longest('sufferer') / 1e6:.0f} ms")


def check_busy(tap, folder, program):
    answer = report(tap, folder, program, "busy")
    if not answer:
        return
    told, data, text = answer
    found = {lock["address"]: lock for lock in data["locks"]}
    check_convoy(tap, told, found)
    check_holder(tap, told, found)
    tap.check("a condition is no lock", not any(lock["kind"] == "condition" for lock in data["locks"]) and data["events"]["waited"] > 2e9,
              str(data["events"]))
    tap.check("locks that are taken in order are no deadlock", data["deadlocks"] == [] and "eadlock" not in text, str(data["deadlocks"]))


def check_stuck(tap, folder, program, kind):
    answer = report(tap, folder, program, "stuck", kind)
    if not answer:
        return
    told, data, text = answer
    rings = sorted((sorted(t["thread"] for t in dead["threads"]) for dead in data["deadlocks"]), key=len)
    tap.check(f"-e {kind}: both deadlocks are found, and who is in them", rings == [["stuck-0", "stuck-1"], ["ring-2", "ring-3", "ring-4"]], str(rings))
    for dead in data["deadlocks"]:
        for thread in dead["threads"]:
            number = int(thread["thread"][-1])
            next_one = 1 - number if number < 2 else 2 if number == 4 else number + 1
            good = (thread["address"] == told.address[f"ring-{next_one}"] and thread["holder"] in told.thread[f"{'stuck' if number < 2 else 'ring'}-{next_one}"]
                    and "take_second" in thread["stack"] and "take_both" in thread["stack"])
            tap.check(f"-e {kind}: {thread['thread']} waits for the lock that the next one holds, and its stack tells where", good, str(thread)[:400])
    tap.check("it is said in words, with the stacks", "wait for each other" in text and "take_second" in text and "stuck-0" in text)


def main():
    tap = common.Tap()
    if common.privileged_or_skip(tap, "locks"):
        with tempfile.TemporaryDirectory(prefix="wick-locks-") as folder:
            program = os.path.join(folder, "locks")
            subprocess.run(["gcc", "-O1", "-g", "-D_GNU_SOURCE", "-pthread", "-x", "c", "-", "-o", program], input=SOURCE, text=True, check=True)
            check_busy(tap, folder, program)
            check_stuck(tap, folder, program, "wakeup")
            check_stuck(tap, folder, program, "off_cpu")
    tap.end()


if __name__ == "__main__":
    sys.exit(main())
