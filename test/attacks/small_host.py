#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wick with sampling, store and page in a memory cgroup of 64 MiB, and attacks of all kinds at once: bombs, ever new stacks, questions. Those
of its processes that sample and serve are not killed for want of memory, and no local sample is lost. Who reads files offers itself
to the kernel instead, and is started again. Who sends that is another user, in a process of its own (small_host.py PORT SECONDS):
a sender beside it is answered. Prints TAP."""
import os
import subprocess
import sys
import tempfile
import time

from attack import MIB, TAP, Healthy, Wick, at_once, become_stranger, free_port, get, packed, post
from forge import message

LIMIT, SECONDS = 64 * MIB, 25
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from governor_cost import below  # noqa: E402


class MemoryCgroup:
    """Version 1 or 2, below the one that this process is in where that may be, else at the top."""

    def __init__(self, limit):
        self.is_first = os.path.isdir("/sys/fs/cgroup/memory")
        self.folder = os.path.join("/sys/fs/cgroup/memory" if self.is_first else "/sys/fs/cgroup", f"wick-test-{os.getpid()}")
        os.mkdir(self.folder)
        try:
            self.write("memory.limit_in_bytes" if self.is_first else "memory.max", limit)
        except OSError:
            os.rmdir(self.folder)
            raise

    def write(self, name, value):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="ascii") as file:
            return file.read()

    def most(self):
        try:
            return int(self.read("memory.max_usage_in_bytes" if self.is_first else "memory.peak"))
        except OSError:
            return 0        # memory.peak is of 5.19

    def killed(self):
        lines = self.read("memory.oom_control" if self.is_first else "memory.events").splitlines()
        return int(dict(line.split() for line in lines).get("oom_kill", 0))

    def remove(self):
        for _ in range(50):
            try:
                os.rmdir(self.folder)
                return
            except OSError:
                time.sleep(0.1)


class Confined(Wick):
    """All processes of it are in the cgroup."""

    def __init__(self, cgroup, *arguments):
        super().__init__(*arguments)
        self.command = ["/bin/sh", "-c", f'echo $$ > {cgroup.folder}/cgroup.procs && exec "$@"', "sh", *self.command]


def config(port, page, folder):
    return {"receivers": {"profiling": {"reporter_interval": "1s"},
                          "otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{page}"}},
            "service": {"extensions": ["page"],
                        "pipelines": {"profiles": {"receivers": ["profiling", "otlp"], "exporters": ["store"]}}}}


def bomb():
    """9 million empty profiles in a few KiB."""
    inner = message(1, message(2, message(2, b"") * (16 * MIB // 2)))
    return packed(inner + message(2, b"".join(message(number, b"") for number in range(1, 8))))


def new_stacks(number):
    """A request with thousands of functions that nobody has seen before."""
    strings = b"".join(message(5, b"f-%d-%d" % (number, i)) for i in range(20000))
    return packed(message(1, message(2, message(2, b""))) + message(2, b"".join(message(n, b"") for n in range(1, 8)) + strings))


def send(port, ends):
    """What the other user does. Tells how many requests that were."""
    bombs, counted = bomb(), [0]

    def throw():
        while time.monotonic() < ends:
            post(port, bombs, {"content-encoding": "gzip"}, timeout=5)
            counted[0] += 1

    def fill():
        while time.monotonic() < ends:
            post(port, new_stacks(counted[0]), {"content-encoding": "gzip"}, timeout=5)
            counted[0] += 1
    at_once(6, lambda number: throw() if number < 4 else fill())
    print(counted[0])


def attack(port, page, seconds):
    """How many requests and questions there were."""
    ends, counted = time.monotonic() + seconds, [0]

    def ask():
        while time.monotonic() < ends:
            get(page, "/api/v1/flame?from=now-36500d&nodes=16384", timeout=5)
            get(page, "/api/v1/export?format=html&from=now-36500d", timeout=5)
            counted[0] += 1
    with subprocess.Popen([sys.executable, os.path.abspath(__file__), str(port), str(seconds)], stdout=subprocess.PIPE, text=True) as other:
        at_once(4, lambda _: ask())
        requests = int(other.communicate()[0])
    return requests, counted[0]


def check(cgroup, wick, before, count):
    name = "in 64 MiB, attacked"
    lost = {series: value for series, _, value in wick.metrics() if value and
            (series.startswith("wick_profiler_samples_lost") or series == "otelcol_exporter_enqueue_failed_profile_samples")}
    TAP.check(f"{name}: who samples, who serves and who watches over them run on", len(before) == 3 and
              set(before) <= set(below(wick.process.pid)) and min(count) > 0, "{} requests, {} questions".format(*count))
    TAP.note(f"{cgroup.killed()} readers of files were killed")
    TAP.check(f"{name}: no local sample is lost", not lost and "nobody takes what is sampled" not in wick.said() and
              "was not taken" not in wick.said(), str(lost))
    TAP.check(f"{name}: samples were taken", wick.metric("wick_profiler_samples_sent") > 0)
    TAP.note("memory of the budget: " + ", ".join(f"{dict(labels).get('account', name)} {value / MIB:.2f} MiB" for name, labels, value in
                                                  wick.metrics() if name in ("wick_memory_budget_bytes", "wick_memory_used_bytes")))
    TAP.note(f"at most {cgroup.most() / MIB:.1f} MiB in the cgroup, with BPF maps and the page cache")


def main():
    if os.geteuid() != 0:
        TAP.skip("a small host", "needs root")
        TAP.end()
    try:
        cgroup = MemoryCgroup(LIMIT)
    except OSError as error:
        TAP.skip("a small host", f"no memory cgroup can be made here: {error}")
        TAP.end()
    port, page = free_port(), free_port()
    try:
        with tempfile.TemporaryDirectory() as folder, Confined(cgroup, config(port, page, folder), (port, page)) as wick:
            time.sleep(5)
            before = [pid for pid in below(wick.process.pid) if "reader" not in open(f"/proc/{pid}/comm", encoding="ascii").read()]
            TAP.note(f"{cgroup.most() / MIB:.1f} MiB before")
            with Healthy(port) as healthy:
                count = attack(port, page, SECONDS)
            healthy.check("in 64 MiB, attacked")
            check(cgroup, wick, before, count)
    finally:
        cgroup.remove()
    TAP.end()


if len(sys.argv) == 3:
    become_stranger()
    send(int(sys.argv[1]), time.monotonic() + float(sys.argv[2]))
else:
    main()
