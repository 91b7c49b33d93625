#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs a program that wick samples waits: loads run with and without it, in turns, and ratios are printed.

Needs root, and perf for `perf bench sched pipe`, which does nothing but switch between two threads: the most that there can
be. The other loads wait as servers do; pgbench needs PostgreSQL 15, and is left out without. The median of ROUNDS pairs counts; in a
pair one follows the other, and who is first changes. What counts is the load's CPU time: what others do to the machine is in elapsed
time. What wick takes itself is printed beside it: it has just started, and reads the files of all that runs.

    ROUNDS=7  KINDS="cpu off_cpu wall cpu,wall"  LOADS="pipe ask make pgbench"
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


def make():
    """The same of a build: 24 small files, two at a time."""
    before = os.times()
    with tempfile.TemporaryDirectory(prefix="wick-waits-") as folder:
        source = os.path.join(HERE, "loads", "sorter.c")
        with open(os.path.join(folder, "Makefile"), "w", encoding="utf-8") as file:
            file.write(".PHONY: all\nall: $(patsubst %,%.o,$(shell seq 24))\n%.o:\n\tgcc -O2 -g -c -o $@ " + source + "\n")
        subprocess.run(["make", "-s", "-j2", "-C", folder], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


class Postgres:
    """A server of its own; pgbench asks it, four at a time."""
    BIN = "/usr/lib/postgresql/15/bin/"
    TRANSACTIONS = 8000

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="wick-waits-pg-")
        shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", self.folder + "/data", "--no-sync")
        self.server = subprocess.Popen(self.command("postgres", "-D", self.folder + "/data", "-k", self.folder, "-c", "listen_addresses="),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        while not os.path.exists(self.folder + "/.s.PGSQL.5432") and self.server.poll() is None:
            time.sleep(0.1)
        time.sleep(1)
        self.run("pgbench", "-h", self.folder, "-i", "-q", "postgres")

    def command(self, program, *arguments):
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", self.BIN + program, *arguments]

    def run(self, program, *arguments):
        subprocess.run(self.command(program, *arguments), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    def seconds(self):
        """Of the server, with those of its processes that have ended."""
        with open(f"/proc/{self.server.pid}/stat", encoding="utf-8") as file:
            return sum(int(word) for word in file.read().rpartition(")")[2].split()[11:15]) / os.sysconf("SC_CLK_TCK")

    def load(self):
        before, mine = self.seconds(), os.times()
        self.run("pgbench", "-h", self.folder, "-n", "-S", "-c", "4", "-j", "2", "-t", str(self.TRANSACTIONS), "postgres")
        time.sleep(0.3)     # the server waits for the processes that served
        after = os.times()
        return self.seconds() - before + after.children_user + after.children_system - mine.children_user - mine.children_system

    def close(self):
        self.server.terminate()
        self.server.wait()
        shutil.rmtree(self.folder)


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
        self.before = self.used()
        return self

    def used(self):
        """Seconds of CPU of wick and of its reader."""
        clock, seconds = os.sysconf("SC_CLK_TCK"), 0
        children = subprocess.run(["pgrep", "-P", str(self.wick.pid)], capture_output=True, text=True, check=False).stdout.split()
        for pid in [str(self.wick.pid), *children]:
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    seconds += sum(int(word) for word in file.read().rpartition(")")[2].split()[11:13]) / clock
            except OSError:
                pass    # it has ended
        return seconds

    def cost(self):
        return self.used() - self.before if self.kinds else 0

    def __exit__(self, *unused):
        if not self.kinds:
            return
        self.wick.terminate()
        self.wick.communicate()
        self.folder.cleanup()


def compare(name, load, kinds, promise):
    ratios, base, own = [], [], []
    load()
    for number in range(ROUNDS):
        took = {}
        for kind in ("", kinds) if number % 2 else (kinds, ""):
            with Sampling(kind) as sampling:
                took[kind] = load()
                cost = sampling.cost()
            if kind:
                own.append(cost)
        ratios.append(took[kinds] / took[""])
        base.append(took[""])
    slower = (statistics.median(ratios) - 1) * 100
    said = f"{name:22} -e {kinds:8} {slower:6.1f} %  (from {(min(ratios) - 1) * 100:.1f} to {(max(ratios) - 1) * 100:.1f}; wick itself {statistics.median(own):.1f} of {statistics.median(base):.1f} s)"
    if name == "sched pipe":
        said += f"  {statistics.median(base) * (statistics.median(ratios) - 1) / PIPE_LOOPS / 2 * 1e9:.0f} ns a switch"
    print(f"{said}  promised: {promise} %, {'holds' if slower <= promise else 'DOES NOT HOLD'}", flush=True)


def main():
    if os.geteuid() != 0 or not shutil.which("perf"):
        sys.exit("waits.py: needs root, and perf")
    postgres = Postgres() if os.path.exists(Postgres.BIN + "pgbench") else None
    loads = {"pipe": ("sched pipe", pipe, 12), "ask": ("questions on loopback", server, 1), "make": ("make -j2", make, 1)}
    if postgres:
        loads["pgbench"] = ("pgbench", postgres.load, 1)
    try:
        for kinds in os.environ.get("KINDS", "cpu off_cpu wall cpu,wall").split():
            for load in os.environ.get("LOADS", " ".join(loads)).split():
                name, run, promise = loads[load]
                compare(name, run, kinds, promise)
    finally:
        if postgres:
            postgres.close()


if __name__ == "__main__":
    main()
