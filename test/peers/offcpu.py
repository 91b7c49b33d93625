#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Beside bpftrace, which looks at every switch: the same run of a program whose threads wait in eleven functions, each by other
means and for another while. Both have the same ten at the top, in the same order, and the same times.

bpftrace follows frame pointers, which libc has not: a stack of its lacks the function that calls libc. So each wait has two."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import common  # noqa: E402

NAME = "waits-peer"     # of the program, and so of its threads: as long as the kernel keeps

SOURCE = r"""
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000L
/* The inner one is what frame pointers miss. */
#define WAIT(name, ...) __attribute__((noinline)) static void inner_##name(void) { __VA_ARGS__; asm volatile(""); } \
	__attribute__((noinline)) void name(void) { inner_##name(); asm volatile(""); }

static int fed[2], silent[2], quiet[2];
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void nap(long ns) { nanosleep(&(struct timespec){ 0, ns }, NULL); }
static void select_ns(long ns) { struct timespec t = { 0, ns }; syscall(SYS_pselect6, 0, NULL, NULL, NULL, &t, NULL); }
static void clock_ns(long ns) { struct timespec t = { 0, ns }; syscall(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, &t, NULL); }
static void socket_ms(void) { char c; if (syscall(SYS_recvfrom, quiet[0], &c, 1, 0, NULL, NULL) == 1) abort(); }
static void room_ns(long ns) { struct timespec t = { 0, ns }; syscall(SYS_ppoll, NULL, 0, &t, NULL, 0); }
static void epoll_ms(int ms) { struct epoll_event e; static int fd = -1; if (fd < 0) fd = epoll_create1(0); epoll_wait(fd, &e, 1, ms); }
static void futex_ns(long ns) { static int word; struct timespec t = { 0, ns }; syscall(SYS_futex, &word, 0, 0, &t, NULL, 0); }
static void signal_ns(long ns) { sigset_t s; struct timespec t = { 0, ns }; sigemptyset(&s); sigaddset(&s, SIGUSR1); sigtimedwait(&s, NULL, &t); }

WAIT(by_pipe, char c; if (read(fed[0], &c, 1) != 1) abort())
WAIT(by_sleep, nap(5 * MS))
WAIT(by_lock, pthread_mutex_lock(&held); pthread_mutex_unlock(&held); nap(MS / 5))
WAIT(by_poll, struct pollfd p = { .fd = silent[0] }; p.events = POLLIN; poll(&p, 1, 7))
WAIT(by_clock, clock_ns(6 * MS))
WAIT(by_socket, socket_ms())
WAIT(by_select, select_ns(5 * MS))
WAIT(by_nothing, room_ns(11 * MS))
WAIT(by_epoll, epoll_ms(9))
WAIT(by_futex, futex_ns(3 * MS))
WAIT(by_signal, signal_ns(8 * MS))
static void feed(void) { nap(4 * MS); if (write(fed[1], "x", 1) != 1) abort(); }
static void hold(void) { pthread_mutex_lock(&held); nap(6 * MS); pthread_mutex_unlock(&held); nap(MS / 10); }

struct job { void (*run)(void); long ms; };

static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000 * MS + t.tv_nsec; }
static void *work(void *arg) { struct job *job = arg; for (long end = now() + job->ms * MS; now() < end;) job->run(); return NULL; }

int main(void)
{
	/* Whoever feeds or holds goes on for longer than who depends on it. */
	struct job jobs[] = { { feed, 6300 }, { hold, 5000 }, { by_pipe, 6200 }, { by_sleep, 5700 }, { by_poll, 5200 }, { by_lock, 4700 },
			      { by_clock, 4200 }, { by_socket, 3700 }, { by_select, 3200 }, { by_epoll, 2800 }, { by_futex, 2400 },
			      { by_signal, 2000 }, { by_nothing, 1600 } };
	struct timeval limit = { 0, 10000 };
	pthread_t threads[13];

	if (pipe(fed) || pipe(silent) || socketpair(AF_UNIX, SOCK_STREAM, 0, quiet) ||
	    setsockopt(quiet[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		return 1;
	for (int i = 0; i < 13; i++)
		pthread_create(&threads[i], NULL, work, &jobs[i]);
	for (int i = 0; i < 13; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""

SCRIPT = """
tracepoint:sched:sched_switch {
  if (args->prev_state != 0 && comm == "%s") { @since[args->prev_pid] = nsecs; @at[args->prev_pid] = ustack(perf); }
  if (@since[args->next_pid]) {
    @ns[@at[args->next_pid]] = sum(nsecs - @since[args->next_pid]);
    delete(@since[args->next_pid]);
  }
}
""" % NAME


def functions_of(program):
    """(address, bytes, name) of the functions that wait."""
    table = subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in table.splitlines()]
    return [(int(r[0], 16), int(r[1], 16), r[3]) for r in rows if len(r) == 4 and re.match(r"by_", r[3])]


def by_bpftrace(text, functions):
    found = collections.Counter()
    for line in text.splitlines():
        data = json.loads(line)["data"] if line.startswith('{"type": "map"') else {}
        for stack, ns in data.get("@ns", {}).items():
            addresses = [int(a, 16) for a in re.findall(r"\n\t([0-9a-f]+) ", stack)]
            for start, size, name in functions:
                if any(start <= a < start + size for a in addresses):
                    found[name] += ns
    return found


def by_wick(profile, functions):
    found = collections.Counter()
    names = {name for _, _, name in functions}
    for sample in profile.samples:
        for name in names.intersection(sample.user):
            found[name] += sample.count
    return found


def run_both(program):
    """What both say of one run: wick's profile, bpftrace's text."""
    with subprocess.Popen(["bpftrace", "-f", "json", "-e", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as peer:
        try:
            while "attached_probes" not in peer.stdout.readline() and peer.poll() is None:
                time.sleep(0.1)
            recording = common.Recording(["-e", "off_cpu"], [program], rate=99).wait()
        finally:
            peer.send_signal(signal.SIGINT)
        return recording, peer.communicate(timeout=60)[0]


def main():
    tap = common.Tap()
    if not common.privileged_or_skip(tap, "offcpu"):
        tap.end()
    if not shutil.which("bpftrace"):
        tap.skip("offcpu", "needs bpftrace")
        tap.end()
    with tempfile.TemporaryDirectory(prefix="wick-offcpu-") as folder:
        program = os.path.join(folder, NAME)
        subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-no-pie", "-D_GNU_SOURCE", "-pthread", "-x", "c", "-", "-o", program],
                       input=SOURCE, text=True, check=True)
        recording, text = run_both(program)
        functions = functions_of(program)
        tap.check("wick record -e off_cpu", recording.status == 0, recording.said() if recording.status else "")
        ours, theirs = by_wick(recording.profile(), functions), by_bpftrace(text, functions)
    for name, ns in theirs.most_common():
        tap.note(f"{name}: wick {ours[name] / 1e6:.0f} ms, bpftrace {ns / 1e6:.0f} ms")
    tap.check("bpftrace sees all eleven", len(theirs) == 11, str(sorted(theirs)))
    ten = [name for name, _ in theirs.most_common(10)]
    tap.check("wick has the same ten at the top, in the same order", [name for name, _ in ours.most_common(10)] == ten, str(ours.most_common(10)))
    wrong = [n for n in ten if abs(ours[n] - theirs[n]) > 0.03 * theirs[n] + 30e6]
    tap.check("each within 3 %", not wrong, str(wrong))
    tap.end()


if __name__ == "__main__":
    main()
