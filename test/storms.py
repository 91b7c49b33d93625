#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The budget of CPU time in one storm after the other, each by its name: storms.py fork exec file jit otlp page sleep. Prints TAP.

Plain settings: 20 samples a second, a store, the page, senders held to their share. The first span after the start does not count, as promised;
then the storm, and what wick uses is noted twice a second for two spans: no span of that time, wherever it begins, is past the budget and a
fifth. Spans are of 30 s; `--minute` takes minutes, and is what the promise is about. Those who send are 100 clients of another user, who come
again at once whatever they are told; root sends little beside them, and is taken within a second. Who asks at the page is served, not slowed
down: of what that costs the service half of the budget counts, and the rest is told."""
import contextlib
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "attacks"))
sys.path.insert(0, HERE)
from attack import PAYLOAD, TAP, Healthy, Wick, become_stranger, free_port, get, post  # noqa: E402
from governor_cost import Cost, below  # noqa: E402
import common  # noqa: E402

SPAN = 60 if "--minute" in sys.argv else 30
SPANS = 2
SEND = "--send"
QUIET = 5       # seconds between what one sends who sends little, as profilers do
STORM = os.path.join(common.VICTIMS, "storm")
BUDGET = max(1.0, (os.cpu_count() or 1) / 16)       # percent of one CPU
LARGE = 5 << 30


def config(folder, port, page):
    return {"receivers": {"profiling": {"governor": {"average_over": f"{SPAN}s", "senders": True}},
                          "otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{page}"}},
            "service": {"extensions": ["page"],
                        "pipelines": {"profiles": {"receivers": ["profiling", "otlp"], "exporters": ["store"]}}}}


# ---- Storms ----------------------------------------------------------------------------------------

@contextlib.contextmanager
def running(*command):
    """A program and all that it starts, until it is over."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def many(count, work):
    """So many at once, again and again."""
    done = threading.Event()

    def run():
        while not done.wait(0.01):
            work()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join(30)


def make_large(path):
    """A program whose symbol table is 5 GB: zeroes, which take no room on the disk but have to be read like others."""
    shutil.copy(STORM, path)
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        at, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
        headers = data[at:at + size * count]
        start = (len(data) + 4095) & ~4095
        for i in range(count):
            if struct.unpack_from("<I", headers, i * size + 4)[0] == 2:      # SHT_SYMTAB
                struct.pack_into("<QQ", headers, i * size + 24, start, LARGE // 24 * 24)
        struct.pack_into("<Q", data, 40, start + LARGE)
        file.seek(0)
        file.write(data)
        file.seek(start + LARGE)
        file.write(headers)


def large_file(folder, *_):
    path = os.path.join(folder, "large")
    make_large(path)
    return running(path, "work", "600", "1")


def send_for_ever(port):
    """The 100 clients, as a process of their own."""
    become_stranger()
    with many(100, lambda: post(port, PAYLOAD)):
        time.sleep(3600)


@contextlib.contextmanager
def senders(port):
    with running(sys.executable, os.path.abspath(__file__), SEND, str(port)), Healthy(port, pause=QUIET, tries=1) as quiet:
        yield
    TAP.check("100 clients who send: a quiet one beside them is taken", quiet.sent > SPANS * SPAN / QUIET / 2 and not quiet.lost,
              f"{quiet.sent} taken, answered otherwise: {quiet.lost[:5]}")
    TAP.check("100 clients who send: within a second", quiet.longest < 1, f"{quiet.longest:.2f} s at most")


PAGE = ("flame?from=now-5m", "top?from=now-1h", "chart?from=now-15m", "status")
STORMS = {
    "fork": ("1,500 processes a second", lambda folder, *_: running(STORM, "fork", "1500", "600")),
    "exec": ("1,000 new executables a second", lambda folder, *_: running(STORM, "exec", "1000", "600", folder)),
    "file": ("a program of 5 GB", large_file),
    "jit": ("5,000 pieces of new code a second", lambda folder, *_: running(STORM, "jit", "5000", "600")),
    "sleep": ("10,000 processes that sleep", lambda folder, *_: running(STORM, "sleep", "10000")),
    "otlp": ("100 clients who send", lambda folder, port, page: senders(port)),
    "page": ("50 people at the page", lambda folder, port, page: many(50, lambda: [get(page, "/api/v1/" + each) for each in PAGE])),
}
SERVED = ("page",)


# ---- What it costs ---------------------------------------------------------------------------------

class Halves(Cost):
    """With the service apart."""

    def __init__(self, wick):
        super().__init__(wick)
        self.service = []

    def note(self):
        noted = super().note()
        of_service = {str(pid) for pid in below(self.wick.process.pid) if self.name(pid) == "wick: service"}
        used = sum(used for (pid, _), used in self.seen.items() if str(pid) in of_service)
        self.service.append((time.monotonic(), used))
        return noted

    @staticmethod
    def name(pid):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
                return file.read().strip()
        except OSError:
            return ""

    def worst(self):
        """Of all spans: the most that sampling used, with the service's part that counts; all, in that span; the service's."""
        found = []
        for i, (at, used) in enumerate(self.history):
            first = next((j for j in range(i, -1, -1) if self.history[j][0] <= at - SPAN), None)
            if first is None:
                continue
            took = at - self.history[first][0]
            everything = 100 * (used - self.history[first][1]) / took
            service = 100 * (self.service[i][1] - self.service[first][1]) / took
            found.append((everything - service + min(service, BUDGET / 2), everything, service))
        return max(found)


def try_one(name):
    text, storm = STORMS[name]
    port, page = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder, Wick(config(folder, port, page), (port, page)) as wick:
        time.sleep(SPAN + 2)
        cost = Halves(wick)
        with storm(folder, port, page):
            cost.over(SPANS * SPAN)
            step = wick.metric("wick_profiler_governor_step")
        counted, everything, service = cost.worst()
        detail = (f"{counted:.2f} % of a CPU in the worst {SPAN} s, {everything:.2f} % with all of the service; then step {step:.0f}; "
                  f"{cost.busiest}")
        TAP.check(f"{text}: sampling stays within the budget and a fifth", counted <= BUDGET * 1.2, detail)
        if name in SERVED:
            TAP.note(f"{text}: the service used {service:.2f} % of a CPU for them")
        else:
            TAP.check(f"{text}: so does all of wick", everything <= BUDGET * 1.2, detail)
        if name == "otlp":
            TAP.check(f"{text}: the service stays within its half and a fifth", service <= BUDGET / 2 * 1.2,
                      f"{service:.2f} % of a CPU in that time")
            told = wick.metric("wick_senders_turned_away_total")
            TAP.check(f"{text}: those who are told to come later are counted, and the log says so",
                      told > 0 and "told to come later" in wick.said(), f"{told:.0f}")
        TAP.check(f"{text}: it runs on", wick.alive() and "it is started again" not in wick.said())


def main():
    if SEND in sys.argv:
        send_for_ever(int(sys.argv[-1]))
    names = [name for name in sys.argv[1:] if not name.startswith("-")] or list(STORMS)
    if not common.privileged_or_skip(TAP, "storms"):
        TAP.end()
    for name in names:
        try_one(name)
    TAP.end()


main()
