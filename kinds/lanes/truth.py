# SPDX-License-Identifier: Apache-2.0
"""Threads that write down what they do, and when: sleeps, runs, waits for a pipe and for another thread. Their lanes, as the
Firefox Profiler gets them, are compared with that; then there are more switches than lanes tell of, and those are counted."""
import collections
import json
import re

import common

TRIES = 3
ROUNDS = 6
SLACK_NS = 1e6      # the clock of the day, as wick knows it, and where a stamp is taken beside a switch
MS = 1e6

SOURCE = r"""
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000L
#define STAMPS_MAX 64

static int to[2], from[2], rounds;
static sem_t sem;

struct job {
	const char *name;
	void (*run)(struct job *job);
	pthread_t thread;
	int tid, count;
	long switches;
	struct {
		const char *what;
		long from, to;
	} stamps[STAMPS_MAX];
};

static long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void pause_ms(long ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * MS }, NULL); }
static void nap(void) { pause_ms(100); }
static void eat(void) { char c; if (read(to[0], &c, 1) != 1) abort(); }
static void feed(void) { pause_ms(60); if (write(to[1], "x", 1) != 1) abort(); }
static void await(void) { sem_wait(&sem); }
static void give(void) { pause_ms(60); sem_post(&sem); }
static void spin(void)
{
	long end = now(CLOCK_THREAD_CPUTIME_ID) + 50 * MS;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void stamp(struct job *job, const char *what, void (*run)(void))
{
	long from_ns = now(CLOCK_REALTIME);

	run();
	if (job->count == STAMPS_MAX)
		abort();
	job->stamps[job->count].what = what;
	job->stamps[job->count].from = from_ns;
	job->stamps[job->count++].to = now(CLOCK_REALTIME);
}

static void sleeper(struct job *job) { stamp(job, "sleep", nap); stamp(job, "run", spin); }
static void reader(struct job *job) { stamp(job, "pipe", eat); }
static void writer(struct job *job) { feed(); }
static void waiter(struct job *job) { stamp(job, "futex", await); }
static void giver(struct job *job) { give(); }
static void ping(struct job *job) { char c = 0; if (write(to[1], &c, 1) + read(from[0], &c, 1) != 2) abort(); }
static void pong(struct job *job) { char c; if (read(to[0], &c, 1) + write(from[1], &c, 1) != 2) abort(); }

static void *work(void *arg)
{
	struct job *job = arg;
	struct rusage usage;
	cpu_set_t one;

	job->tid = (int)syscall(SYS_gettid);
	prctl(PR_SET_NAME, job->name);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (job->run == ping || job->run == pong)
		pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
	for (int i = 0; i < rounds; i++)
		job->run(job);
	getrusage(RUSAGE_THREAD, &usage);
	job->switches = usage.ru_nvcsw + usage.ru_nivcsw;
	return NULL;
}

int main(int argc, char **argv)
{
	static struct job known[] = { { "sleeper", sleeper }, { "reader", reader }, { "writer", writer }, { "waiter", waiter },
				      { "giver", giver } };
	static struct job storm[] = { { "ping", ping }, { "pong", pong } };
	struct job *jobs = strcmp(argv[1], "storm") ? known : storm;
	int count = jobs == known ? 5 : 2;

	rounds = atoi(argv[2]);
	if (pipe(to) || pipe(from) || sem_init(&sem, 0, 0))
		return 1;
	for (int i = 0; i < count; i++)
		pthread_create(&jobs[i].thread, NULL, work, &jobs[i]);
	for (int i = 0; i < count; i++)
		pthread_join(jobs[i].thread, NULL);
	for (int i = 0; i < count; i++) {
		printf("thread %d %s %ld\n", jobs[i].tid, jobs[i].name, jobs[i].switches);
		for (int k = 0; k < jobs[i].count; k++)
			printf("did %d %s %ld %ld\n", jobs[i].tid, jobs[i].stamps[k].what, jobs[i].stamps[k].from, jobs[i].stamps[k].to);
	}
	return 0;
}
"""

Part = collections.namedtuple("Part", "what start end")


def read_lanes(path):
    """By thread: the parts of its lane, as docs-developer/processed-profile-format.md of the Firefox Profiler has them."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    lanes, names, origin = {}, data["shared"]["stringArray"], data["meta"]["startTime"] * MS
    shown = {schema["name"] for schema in data["meta"]["markerSchema"] if "marker-chart" in schema["display"]}
    for thread in data["threads"]:
        markers = thread["markers"]
        assert all(len(column) == markers["length"] for key, column in markers.items() if key != "length")
        assert all(payload["type"] in shown for payload in markers["data"]) and set(markers["phase"]) <= {1}
        lane = lanes.setdefault(int(thread["tid"]), [])
        lane += [Part(names[n], origin + s * MS, origin + e * MS)
                 for n, s, e in zip(markers["name"], markers["startTime"], markers["endTime"])]
    for lane in lanes.values():
        lane.sort(key=lambda part: part.start)
    return lanes


def record(tap, victim, *arguments):
    """Its lanes, what the victim printed, what wick left out of them, and switches that it did not look at; None if it failed."""
    recording = common.Recording(["-e", "wall,lanes"], [victim, *arguments], name="lanes.firefox.json").wait()
    if not tap.check(f"wick record -e wall,lanes -o lanes.firefox.json -- {arguments[0]}", recording.status == 0):
        tap.note(recording.said())
        return None
    text = recording.stderr.decode(errors="replace")
    lost, shed = (sum(int(n) for n in re.findall(rf"^ *(\d+)  (?:\w+\.)?{name}", text, re.MULTILINE)) for name in ("lanes_lost", "switches_shed"))
    return read_lanes(recording.path), [line.split() for line in recording.stdout.decode().splitlines()], lost, shed


def within(lane, start, end):
    """By what it did: nanoseconds between the two."""
    sums = collections.Counter()
    for part in lane:
        length = min(part.end, end) - max(part.start, start)
        if length > 0:
            sums[part.what] += length
    return sums


def check_stamp(lane, what, start, end):
    """What is wrong with this stretch of a lane; "": nothing. However long the thread lacked a CPU, that is told apart."""
    sums, whole = within(lane, start, end), end - start
    waited = sum(sums.values()) - sums["running"] - sums["run_queue"] - sums["throttled"]
    if abs(sum(sums.values()) - whole) > 0.02 * whole:
        return f"{what}: {sum(sums.values()) / MS:.1f} of {whole / MS:.1f} ms are in the lane"
    if what == "run" and not 0.98 * 50 * MS <= sums["running"] <= whole + SLACK_NS:
        return f"it ran for 50 ms, not {sums['running'] / MS:.1f}: {dict(sums)}"
    if what == "run" and waited > SLACK_NS:
        return f"it waited while it ran: {dict(sums)}"
    if what == "sleep" and not 100 * MS - SLACK_NS <= sums["sleep"] <= whole + SLACK_NS:
        return f"it slept for 100 ms, not {sums['sleep'] / MS:.1f}: {dict(sums)}"
    if what != "run" and waited - sums[what] > SLACK_NS:
        return f"{what}: it waited for something else: {dict(sums)}"
    return ""


def known(tap, victim):
    """On a busy machine a switch is missed now and then, and counted: then what is there of the others is not exact, and it is tried again."""
    for _ in range(TRIES):
        found = record(tap, victim, "known", str(ROUNDS))
        if not found:
            return
        lanes, printed, lost, _ = found
        if not lost:
            break
    stamps = [(int(w[1]), w[2], int(w[3]), int(w[4])) for w in printed if w[0] == "did"]
    tap.check("threads have told what they did", len(stamps) == 4 * ROUNDS, f"{len(stamps)} stamps")
    wrong = [problem for tid, what, start, end in stamps if (problem := check_stamp(lanes.get(tid, []), what, start, end))]
    tap.check("each time that a thread slept, ran or waited is in its lane, as long and for the reason that it was", not wrong,
              "; ".join(wrong[:4]))
    tids = {what: tid for tid, what, _, _ in stamps}
    slept = [part for part in lanes.get(tids["sleep"], []) if part.what == "sleep"]
    tap.check(f"{ROUNDS} sleeps are {ROUNDS} parts of the lane, each in one piece", len(slept) == ROUNDS, f"{len(slept)}")
    for what in ("sleep", "pipe", "futex"):
        lane = lanes.get(tids[what], [])
        gaps = [b.start - a.end for a, b in zip(lane, lane[1:])]
        tap.check(f"{what}: parts of the lane follow each other", lane and all(abs(gap) < SLACK_NS for gap in gaps), str([g for g in gaps if g][:9]))
        mine = [stamp for stamp in stamps if stamp[0] == tids[what]]
        whole = mine[-1][3] - mine[0][2]
        got = sum(within(lane, mine[0][2], mine[-1][3]).values())
        tap.check(f"{what}: all of them are the thread's time, within 2 %", abs(got - whole) <= 0.02 * whole, f"{got} of {whole}")
    tap.check("nothing is left out of lanes", lost == 0, str(lost))


def storm(tap, victim):
    """More switches than lanes tell of: what they leave out is counted, and what they tell is no more than there was."""
    found = record(tap, victim, "storm", "100000")
    if not found:
        return
    lanes, printed, lost, shed = found
    threads = [(int(w[1]), int(w[3])) for w in printed if w[0] == "thread"]
    switches = sum(count for _, count in threads)
    rounds = sum(1 for tid, _ in threads for part in lanes.get(tid, []) if part.what == "running")
    tap.note(f"{switches} switches: {rounds} times that a thread ran, {lost} left out, {shed} switches not looked at, of all threads")
    tap.check("each time that a thread ran is in its lane, or counted as left out",
              rounds + lost + shed >= 0.98 * switches and rounds + lost <= 1.02 * switches + 50, f"{rounds} + {lost} + {shed} of {switches}")
    overlaps = [(a, b) for tid, _ in threads for a, b in zip(lanes.get(tid, []), lanes.get(tid, [])[1:]) if b.start < a.end - 1e3]
    tap.check("no thread does two things at once", not overlaps, str(overlaps[:2]))


def check(tap, tools):
    victim = tools.compile_c("lanes", SOURCE, "-pthread")
    known(tap, victim)
    storm(tap, victim)
