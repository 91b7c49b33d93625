#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that ran before wick did, the whole system at once, and very large programs.

The first two are judged like the victims of ground_truth.py, with the same thresholds. Of a large program nothing is
known but that a whole stack ends where a program or a thread starts, as its file tells: 99.5 % must, and 95 % where
the program is so short-lived (a compiler) that its first samples come before its million unwind rows are in place.
"""
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from common import VICTIMS, Recording, Tap, privileged_or_skip, victim_reports
from ground_truth import CHAIN_SHARE, SAMPLES, STARTING_OR_ENDING, judge
from truth_table import rows

RUNNING = ("v-gcc-O3", "v-inline", "v-signal", "v-static-pie")
CPU_SECONDS = 5.4
SHORT_LIVED_SHARE = 0.99     # a new process, whose libraries' rows are put in place meanwhile
SLOWEST = 12            # a machine with other work gives a victim this much less than a CPU


def start(name):
    return subprocess.Popen([os.path.join(VICTIMS, name), str(CPU_SECONDS)], stdout=subprocess.PIPE, text=True)


def record_running(tap, what, names, arguments):
    """Starts the victims, then wick, and stops wick when they are done."""
    table = {row.name: row for row in rows()}
    victims = {name: start(name) for name in names}
    time.sleep(0.3)
    recording = Recording(arguments([str(v.pid) for v in victims.values()]), timeout=60 * SLOWEST)
    texts = {name: victim.communicate()[0] for name, victim in victims.items()}
    recording.process.send_signal(signal.SIGINT)
    recording.wait()
    try:
        profile = recording.profile()
    except (OSError, ValueError, KeyError) as error:
        tap.check(f"running {what}", False, f"no readable profile: {error}")
        tap.note(recording.said())
        return None
    tap.check(f"running {what} ends well", recording.status == 0, f"status {recording.status}")
    for name in names:
        # What ran before wick was ready is not there to be sampled.
        judge(tap, table[name], profile, victim_reports(texts[name]), texts[name], SAMPLES * 0.8)
    return profile


def attached(tap):
    profile = record_running(tap, "attached", RUNNING[:2], lambda pids: ["-p", ",".join(pids)])
    if profile:
        others = {s.executable for s in profile.samples} - set(RUNNING[:2])
        tap.check("running attached: nothing else is sampled", not others, " ".join(sorted(others)))


def whole_system(tap):
    profile = record_running(tap, "whole system", RUNNING[2:], lambda pids: [])
    if profile:
        own = [s for s in profile.samples if s.executable == "wick"]
        tap.check("running whole system: wick sees itself", bool(own), f"{sum(s.count for s in own)} samples")


def check_rooted(tap, name, profile, wanted, keep):
    judged = [s for s in profile.samples if keep(s) and not any(STARTING_OR_ENDING.search(f) for f in s.kernel)]
    total = sum(s.count for s in judged)
    good = sum(s.count for s in judged if profile.is_rooted(s))
    share = good / total if total else 0
    if not tap.check(f"running {name}", total >= 1000 and share >= wanted,
                     f"{100 * share:.2f} % of {total} stacks whole"):
        for sample in sorted((s for s in judged if not profile.is_rooted(s)), key=lambda s: -s.count)[:8]:
            tap.note(f"  {sample.count:5} {sample.text[:200]} | kernel: {';'.join(sample.kernel)[-120:]}")


def compiler(tap, folder):
    source = os.path.join(folder, "much.cc")
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <regex>\n#include <map>\nstd::map<std::string, std::regex> m;\n"
                   "int main(int c, char **v) { m[v[0]] = std::regex(v[0]); return c; }\n")
    command = ["clang++", "-O3", "-c", "-o", source + ".o", source]
    Recording([], command).wait()       # its rows are in the cache from now on
    recording = Recording([], ["sh", "-c", f"{shlex.join(command)}; {shlex.join(command)} -g"]).wait()
    check_rooted(tap, "clang", recording.profile(), SHORT_LIVED_SHARE, lambda s: s.executable.startswith("clang"))


def java(tap, folder):
    if not shutil.which("java") or not shutil.which("javac"):
        tap.skip("running libjvm.so", "no Java here")
        return
    source = os.path.join(folder, "Much.java")
    with open(source, "w", encoding="ascii") as file:
        file.write(
    "public class Much { public static void main(String[] a) { long n = 0; "
    "for (int i = 0; i < 20000; i++) n += String.format(\"%d%s\", i % 97, \"x\".repeat(i % 5)).hashCode(); "
    "System.out.println(n); } }\n")
    subprocess.run(["javac", "-d", folder, source], check=True)
    recording = Recording([], ["java", "-Xcomp", "-cp", folder, "Much"]).wait()
    # Threads that run nothing but libjvm.so's own code.
    check_rooted(tap, "libjvm.so", recording.profile(), CHAIN_SHARE,
                 lambda s: str(s.attributes.get("thread.name", "")).startswith(("C1 ", "C2 ", "GC ", "G1 ")))


def main():
    tap = Tap()
    if privileged_or_skip(tap, "running"):
        attached(tap)
        whole_system(tap)
        with tempfile.TemporaryDirectory(prefix="wick-running-") as folder:
            compiler(tap, folder)
            java(tap, folder)
    tap.end()


if __name__ == "__main__":
    sys.exit(main())
