#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does every tick count? Samples × period against what the kernel charged to the load's own cgroup.

Three loads of 20 s each: two steady programs; `make -j2` of a C project with hundreds of small files, thousands of
short processes; and programs that live for 0.2 s. Where the hypervisor took more than 1 % of the time the run is
repeated, then called inconclusive. Of the build's samples in user mode or in a system call other than execve and
exit, 95 % must reach the root of their stack; the other classes are counted by name.
"""
import collections
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from common import VICTIMS, Recording, Tap, cpu_times, privileged_or_skip, steal_share

SECONDS = 20
TOLERANCE = 0.02
STEAL_LIMIT = 0.01
TRIES = 3
ROOTED_SHARE = 0.95
SHORT_PROCESSES = 160
LOST_PER_PROCESS = 0.05     # the promise, which bench/ measures
LOST_LIMIT = LOST_PER_PROCESS + 2 * (LOST_PER_PROCESS / SHORT_PROCESSES)**0.5   # ... and what chance adds to so few
FILES = 300

EXEC = re.compile(r"execve|begin_new_exec|load_elf_binary")
EXIT = re.compile(r"do_exit|do_group_exit|exit_mmap|exit_group|__x64_sys_exit")
NEW = re.compile(r"ret_from_fork|schedule_tail")


class Cgroup:
    """A group of its own for the load: cpuacct where version 1 is mounted, else version 2."""

    def __init__(self):
        version1 = [m.split()[1] for m in open("/proc/mounts", encoding="utf-8")
                            if re.search(r" cgroup \S*\bcpuacct\b", m)]
        version2 = [m.split()[1] for m in open("/proc/mounts", encoding="utf-8") if m.split()[2] == "cgroup2"]
        if not version1 and not version2:
            raise OSError("no cgroup file system with CPU accounting is mounted")
        self.version = 1 if version1 else 2
        self.path = os.path.join((version1 or version2)[0], f"wick-test-{os.getpid()}")
        os.mkdir(self.path)

    def usage_ns(self):
        if self.version == 1:
            with open(os.path.join(self.path, "cpuacct.usage"), encoding="ascii") as file:
                return int(file.read())
        with open(os.path.join(self.path, "cpu.stat"), encoding="ascii") as file:
            return 1000 * int(re.search(r"usage_usec (\d+)", file.read())[1])

    def wrap(self, script):
        """A command that runs the script in this group."""
        return ["sh", "-c", f"echo $$ >{shlex.quote(self.path)}/cgroup.procs; {script}"]

    def remove(self):
        os.rmdir(self.path)


def record_in_cgroup(script):
    """(profile or None, recording, CPU time charged in ns, share of stolen time)."""
    group = Cgroup()
    try:
        before = cpu_times()
        recording = Recording([], group.wrap(script), timeout=6 * SECONDS + 60).wait()
        used, steal = group.usage_ns(), steal_share(before, cpu_times())
    finally:
        group.remove()
    try:
        return recording.profile(), recording, used, steal
    except (OSError, ValueError, KeyError) as error:
        return None, recording, used, steal


def run_load(tap, name, script):
    """Repeats while time is stolen. The last profile and its CPU time; None if that stayed so or recording failed."""
    for attempt in range(TRIES):
        profile, recording, used, steal = record_in_cgroup(script)
        tap.note(f"{name}: {used / 1e9:.2f} s of CPU time, steal {100 * steal:.2f} %")
        if not profile or recording.status:
            tap.check(f"accounting {name}", False, "recording failed")
            tap.note(recording.said())
            return None
        if steal <= STEAL_LIMIT:
            return profile, used
        tap.note(f"more than {100 * STEAL_LIMIT:.0f} % stolen, try {attempt + 1} of {TRIES}")
    tap.skip(f"accounting {name}", f"inconclusive: the hypervisor took {100 * steal:.1f} % of the time")
    return None


def sampled_ns(profile):
    period = max(profile.periods_ns, default=0)
    return sum(s.count for s in profile.samples) * period, period


def exit_ns(profile, period):
    """A process that ends leaves its group on the way: how much of that is charged nobody can tell."""
    return sum(s.count for s in profile.samples if EXIT.search(";".join(s.kernel))) * period


def check_total(tap, name, profile, used):
    sampled, period = sampled_ns(profile)
    error = sampled / used - 1 if used else 1
    if error > 0 and used:
        error = max(0, error - exit_ns(profile, period) / used)
    tap.check(f"accounting {name}", abs(error) <= TOLERANCE,
              f"{sampled / 1e9:.2f} s sampled (period {period} ns), {used / 1e9:.2f} s charged: {100 * error:+.2f} % "
              "without what was in exit")


def write_project(folder):
    """A C project: small files with a few functions each, as a build of any C program has."""
    for number in range(FILES):
        functions = "".join(
            f"static int f{i}_{number}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += i * {i + number}; return s; }}\n"
            f"int g{i}_{number}(int x) {{ char b[64]; snprintf(b, sizeof b, \"%d\", f{i}_{number}(x)); return (int)strlen(b); }}\n"
            for i in range(8))
        with open(os.path.join(folder, f"file{number}.c"), "w", encoding="ascii") as file:
            file.write("#include <stdio.h>\n#include <string.h>\n" + functions)
    with open(os.path.join(folder, "Makefile"), "w", encoding="ascii") as file:
        file.write("OBJS := $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJS)\n%.o: %.c\n\t@cc -O1 -c $< -o $@\n"
                   "clean:\n\t@rm -f $(OBJS)\n")


def classify(tap, name, profile):
    """How many samples have which kind of stack; and those that have none to judge, by what they show."""
    classes, rootless = collections.Counter(), collections.Counter()
    for sample in profile.samples:
        kernel = ";".join(sample.kernel)
        if EXEC.search(kernel):
            kind = "in execve"
        elif EXIT.search(kernel):
            kind = "in exit"
        elif NEW.search(kernel) and not sample.user:
            kind = "before the first user instruction"
        elif profile.is_rooted(sample):
            kind = "rooted"
        else:
            kind = "not rooted"
            rootless[(sample.executable, ";".join(sample.user[:3]), ";".join(sample.kernel[:4]))] += sample.count
        classes[kind] += sample.count
    for kind, count in classes.most_common():
        tap.note(f"{name}: {count} samples {kind}")
    return classes, rootless


def show_rootless(tap, rootless):
    for (name, user, kernel), count in rootless.most_common(12):
        tap.note(f"  {count:5} {name}: {user or '(no user frames)'} | kernel: {kernel}")


def check_roots(tap, profile):
    classes, rootless = classify(tap, "build", profile)
    judged = classes["rooted"] + classes["not rooted"]
    share = classes["rooted"] / judged if judged else 0
    if not tap.check("accounting build stacks reach their root", share >= ROOTED_SHARE, f"{100 * share:.2f} % of {judged}"):
        show_rootless(tap, rootless)


def steady(tap):
    victim = shlex.quote(os.path.join(VICTIMS, "v-gcc-O2"))
    loaded = run_load(tap, "steady", f"{victim} {SECONDS} & {victim} {SECONDS} & wait")
    if loaded:
        check_total(tap, "steady", *loaded)


def build(tap):
    folder = tempfile.mkdtemp(prefix="wick-build-")
    try:
        write_project(folder)
        script = (f"cd {shlex.quote(folder)}; end=$(($(date +%s) + {SECONDS})); "
                  "while [ $(date +%s) -lt $end ]; do make -s clean; make -s -j2; done")
        loaded = run_load(tap, "build", script)
    finally:
        shutil.rmtree(folder)
    if loaded:
        check_total(tap, "build", *loaded)
        check_roots(tap, loaded[0])


def short(tap):
    launch, victim = (shlex.quote(os.path.join(VICTIMS, f)) for f in ("launch", "v-spawned"))
    lane = f"{launch} spawn {SHORT_PROCESSES // 2} {victim} 0.2 >/dev/null &"
    loaded = run_load(tap, "short", f"{lane} {lane} wait")
    if loaded:
        check_total(tap, "short", *loaded)
        # Totals differ by half a period for each process, either way: too coarse for this.
        classes, rootless = classify(tap, "short", loaded[0])
        lost = classes["not rooted"] / SHORT_PROCESSES
        if not tap.check("accounting samples without their stack, for each new process", lost <= LOST_LIMIT, f"{lost:.3f}"):
            show_rootless(tap, rootless)


def main():
    tap = Tap()
    if privileged_or_skip(tap, "accounting"):
        loads = {"steady": steady, "build": build, "short": short}
        for name in sys.argv[1:] or loads:
            loads[name](tap)
    tap.end()


if __name__ == "__main__":
    main()
