#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs a program that wick samples waits: loads run with and without it, in turns, and ratios are printed.

Needs root, and perf for `perf bench sched pipe`, which does nothing but switch between two threads: the most that there can
be. The other loads wait as servers do. The median of ROUNDS pairs counts; each pair runs one after the other.

    ROUNDS=7  KINDS="off_cpu"
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../test"))

from common import WICK  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", 7))
PIPE_LOOPS = 200000


def pipe():
    """Seconds of CPU for so many round trips on one CPU. Not elapsed time: others use the machine, too."""
    command = ["taskset", "-c", "0", "perf", "bench", "-f", "simple", "sched", "pipe", "-l", str(PIPE_LOOPS)]
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def server():
    """The same of a server that answers 4 clients over loopback, 40,000 questions each."""
    script = os.path.join(HERE, "loads", "ask.py")
    before = os.times()
    subprocess.run([sys.executable, script, "4", "40000"], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


class Sampling:
    def __init__(self, kinds):
        self.kinds = kinds

    def __enter__(self):
        if not self.kinds:
            return self
        self.folder = tempfile.TemporaryDirectory(prefix="wick-waits-")
        self.wick = subprocess.Popen([WICK, "record", "-e", self.kinds, "-o", self.folder.name + "/out.otlp"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(1.5)
        return self

    def __exit__(self, *unused):
        if not self.kinds:
            return
        self.wick.terminate()
        self.wick.communicate()
        self.folder.cleanup()


def compare(name, load, kinds, promise):
    ratios, base = [], []
    load()
    for _ in range(ROUNDS):
        without = load()
        with Sampling(kinds):
            ratios.append(load() / without)
        base.append(without)
    slower = (statistics.median(ratios) - 1) * 100
    said = f"{name:22} -e {kinds:8} {slower:6.1f} %  (from {(min(ratios) - 1) * 100:.1f} to {(max(ratios) - 1) * 100:.1f})"
    if name == "sched pipe":
        said += f"  {statistics.median(base) * (statistics.median(ratios) - 1) / PIPE_LOOPS / 2 * 1e9:.0f} ns a switch"
    print(f"{said}  promised: {promise} %, {'holds' if slower <= promise else 'DOES NOT HOLD'}", flush=True)


def main():
    if os.geteuid() != 0 or not shutil.which("perf"):
        sys.exit("waits.py: needs root, and perf")
    for kinds in os.environ.get("KINDS", "cpu off_cpu wall").split():
        compare("sched pipe", pipe, kinds, 12)
        compare("questions on loopback", server, kinds, 1)


if __name__ == "__main__":
    main()
