#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wick inside a PID namespace, as in a container beside others: it sees the processes of that namespace and those below,
whole and named, and says what it leaves out. Under a /proc of another namespace it refuses."""
import os
import re
import subprocess
import tempfile

import common

LEAST = 100         # samples: it runs for 2 s, at 200 a second if nobody else wants the CPU
OWN_PROC = ["unshare", "-p", "-f", "--kill-child", "--mount-proc"]
NO_PROC = ["unshare", "-p", "-f", "--kill-child"]
WHOLE = 99.0
BUSY = os.path.join(common.BUILD, "victims", "namespaced")
SOURCE = """
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
static volatile uint64_t sum;
__attribute__((noinline)) static void spin_here(double seconds)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		for (int i = 0; i < 100000; i++)
			sum += (uint64_t)i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - from.tv_sec) + 1e-9 * (double)(now.tv_nsec - from.tv_nsec) < seconds);
	sum++;
}
int main(int argc, char **argv)
{
	spin_here(argc > 1 ? atof(argv[1]) : 2);
	return 0;
}
"""


def counter(text, name):
    found = re.search(rf"^ *(\d+)  {name} ", text, re.M)
    return int(found[1]) if found else 0


def run(tap, name, around, arguments, command, timeout=60):
    """(what it said, its profile) of `wick record` under the command `around`."""
    folder = tempfile.TemporaryDirectory(prefix="wick-test-")
    out = os.path.join(folder.name, "out.otlp")
    line = [*around, common.WICK, "record", "-F", "199", "-o", out, *arguments]
    result = subprocess.run(line + (["--", *command] if command else []), capture_output=True, text=True, timeout=timeout,
                            check=False)
    if not tap.check(f"{name}: recorded", result.returncode == 0):
        tap.note(result.stderr[-2000:])
        return result.stderr, None
    return result.stderr, common.Profile(out)


def spinning(profile):
    """(samples of the victim, those of them that are whole and named)."""
    mine = [s for s in profile.samples if "spin_here" in s.user]
    good = [s for s in mine if s.user[0] in common.ROOTS and s.user[-2:] in (("main", "spin_here"),) or
            (s.user[0] in common.ROOTS and "main" in s.user)]
    return sum(s.count for s in mine), sum(s.count for s in good)


def check_victim(tap, name, profile, least):
    if profile is None:
        return
    count, good = spinning(profile)
    tap.check(f"{name}: the program is seen, whole and named", count >= least and 100 * good >= WHOLE * count,
              f"{good} of {count} samples")


def in_a_namespace(tap):
    _, profile = run(tap, "a command", OWN_PROC, [], [BUSY, "2"])
    check_victim(tap, "a command", profile, LEAST)
    # In a namespace below: its processes have other numbers there, and are seen by those of ours.
    _, profile = run(tap, "a namespace below", OWN_PROC, [], ["unshare", "-p", "-f", "--mount-proc", BUSY, "2"])
    check_victim(tap, "a namespace below", profile, LEAST)
    script = "def inner():\n  for i in range(80000000): pass\ndef outer():\n  inner()\nouter()\n"
    _, profile = run(tap, "an interpreter", OWN_PROC, [], ["python3", "-c", script])
    if profile:
        seen = sum(s.count for s in profile.samples)
        inner = sum(s.count for s in profile.samples if s.user and s.user[0] in common.ROOTS and
                    "outer" in s.user and "inner" in s.user)
        tap.check("an interpreter: its functions are seen", inner >= 0.5 * seen > 0, f"{inner} of {seen} samples")
    shell = f'{BUSY} 5 & exec "$@" -p $!'
    _, profile = run(tap, "-p", [*OWN_PROC, "sh", "-c", shell, "-"], ["-d", "2"], [])
    check_victim(tap, "-p", profile, LEAST)


def beside_others(tap):
    """The whole of the namespace, while others outside are busy: those are left out, and counted."""
    with subprocess.Popen([BUSY, "20"]) as outside:
        try:
            shell = f'{BUSY} 6 & exec "$@"'
            said, profile = run(tap, "all of it", [*OWN_PROC, "sh", "-c", shell, "-"], ["-d", "3"], [])
        finally:
            outside.kill()
    if profile is None:
        return
    check_victim(tap, "all of it", profile, LEAST)
    tap.check("all of it: what is outside is left out and counted", counter(said, "outside_pid_namespace") >= 200,
              f"{counter(said, 'outside_pid_namespace')} ticks")
    tap.check("all of it: it says that it sees a part only", "PID namespace" in said)


def under_a_foreign_proc(tap):
    result = subprocess.run([*NO_PROC, common.WICK, "record", "-d", "1", "-o", "/tmp/never.otlp"], capture_output=True, text=True,
                            timeout=60, check=False)
    tap.check("a /proc of another namespace: refused, with what to do",
              result.returncode != 0 and "/proc" in result.stderr and "PID namespace" in result.stderr, result.stderr[-300:])
    result = subprocess.run([*OWN_PROC, common.WICK, "doctor"], capture_output=True, text=True, timeout=120, check=False)
    tap.check("wick doctor tells of the namespace", "PID namespace" in result.stdout + result.stderr)


def main():
    tap = common.Tap()
    os.makedirs(os.path.dirname(BUSY), exist_ok=True)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-x", "c", "-", "-o", BUSY], input=SOURCE, text=True, check=True)
    in_a_namespace(tap)
    beside_others(tap)
    under_a_foreign_proc(tap)
    tap.end()


if __name__ == "__main__":
    main()
