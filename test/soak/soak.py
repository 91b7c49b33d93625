#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does anything grow? wick with all that it can do at once, for a long time, under a load that comes and goes: processes, executables, generated
code, senders with ever new names, people at the page, reloads. Prints TAP. `make soak`, `test/soak/soak.py --minutes 240`.

Of each of its processes resident memory, file descriptors, threads and the memory of BPF maps are noted every few seconds, and what the
service says that questions and senders are charged with; in the
first third caches fill. A line is laid through the rest by least squares: it fails where the line rises by more than noise (its slope is
more than four times its error), by more than is worth a word, and to more than there was in the first third. The notes are in build/test-logs/soak.csv."""
import argparse
import http.server
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "attacks"))
from attack import PAYLOAD, TAP, Wick, free_port, get, packed, post  # noqa: E402
from forge import message  # noqa: E402
from governor_cost import below  # noqa: E402
import common  # noqa: E402

MIB = 1 << 20
STORM = os.path.join(common.VICTIMS, "storm")
# What is noted: what a rise over the whole time is worth a word, as a part of what there is and at least.
KINDS = {"resident bytes": (0.10, 3 * MIB), "file descriptors": (0.10, 16), "threads": (0.10, 6), "map bytes": (0.10, MIB),
         "charged bytes": (0.10, MIB // 2)}


class Sink(http.server.BaseHTTPRequestHandler):
    """A backend that takes everything."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def config(folder, port, page, sink):
    return {"receivers": {"profiling": {"reporter_interval": "2s"}, "otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"store": {"path": os.path.join(folder, "store"), "max_size_mib": 64},
                          "otlphttp": {"endpoint": f"http://127.0.0.1:{sink}"},
                          "file": {"path": os.path.join(folder, "out.json"), "rotation": {"max_megabytes": 4, "max_backups": 1}}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{page}"}},
            "service": {"extensions": ["page"],
                        "pipelines": {"profiles": {"receivers": ["profiling", "otlp"], "exporters": ["store", "otlphttp", "file"]}}}}


# ---- The load ------------------------------------------------------------------------------------

class Load:
    """Everything until it is over."""

    def __init__(self, wick, folder, port, page):
        self.wick, self.folder, self.port, self.page = wick, folder, port, page
        self.done, self.number, self.answered = threading.Event(), 0, 0
        self.threads = [threading.Thread(target=work, daemon=True)
                        for work in (self.storms, self.senders, self.strangers, self.people, self.people, self.reloads)]

    def storms(self):
        kinds = (["fork", "50", "7"], ["exec", "20", "7", self.folder], ["jit", "100", "7"], ["work", "5", "2"])
        while not self.done.is_set():
            running = [subprocess.Popen(["nice", STORM, *kind], stdout=subprocess.DEVNULL) for kind in kinds]
            for process in running:
                process.wait()
            self.done.wait(3)

    def senders(self):
        while not self.done.wait(0.5):
            self.answered += post(self.port, PAYLOAD) == 200

    def strangers(self):
        """Names that nobody has seen before, for ever."""
        while not self.done.wait(1):
            self.number += 1
            names = b"".join(message(5, b"name-%d-%d" % (self.number, i)) for i in range(500))
            post(self.port, packed(message(1, message(2, message(2, b""))) + message(2, b"".join(message(n, b"") for n in range(1, 8)) + names)),
                 {"content-encoding": "gzip"})

    def people(self):
        while not self.done.wait(1):
            for question in ("flame?from=now-5m", "top?from=now-1h", "chart?from=now-15m", "status", "values?label=process"):
                get(self.page, "/api/v1/" + question)

    def reloads(self):
        while not self.done.wait(20):
            self.wick.signal(signal.SIGHUP)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for thread in self.threads:
            thread.join(30)


# ---- What is noted --------------------------------------------------------------------------------

def note_one(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        status = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
    fds, maps = os.listdir(f"/proc/{pid}/fdinfo"), {}
    for fd in fds:
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii", errors="replace") as file:
                told = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        except OSError:
            continue
        if "map_id" in told:
            maps[told["map_id"]] = int(told.get("memlock", 0))
    return {"resident bytes": int(status["RssAnon"].split()[0]) * 1024, "file descriptors": len(fds), "threads": int(status["Threads"]),
            "map bytes": sum(maps.values())}


def note(wick):
    """By name of process: those of one name are added up."""
    found = {}
    for pid in below(wick.process.pid):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
                name = file.read().strip()
            values = note_one(pid)
        except (OSError, KeyError, ValueError):
            continue
        for kind, value in values.items():
            found[name, kind] = found.get((name, kind), 0) + value
    found["wick: service", "charged bytes"] = sum(wick.metric("wick_memory_used_bytes", account=each) for each in ("questions", "otlp"))
    return found


def line(times, values):
    """The slope, and its error."""
    count, mean_t, mean_v = len(times), sum(times) / len(times), sum(values) / len(values)
    spread = sum((t - mean_t) ** 2 for t in times)
    slope = sum((t - mean_t) * (v - mean_v) for t, v in zip(times, values)) / spread
    rest = sum((v - mean_v - slope * (t - mean_t)) ** 2 for t, v in zip(times, values))
    return slope, math.sqrt(rest / (count - 2) / spread)


def grows(times, values, part, least):
    """(does it, by how much over this time). What was held in the first third may be held again: load comes and goes."""
    third = len(values) // 3
    slope, error = line(times[third:], values[third:])
    rise = slope * (times[-1] - times[third])
    last = statistics.median(values[-third:])
    return rise > max(least, part * last) and slope > 4 * error and last > max(values[:third]), rise


def judge(notes):
    for name, kind in sorted({key for _, values in notes for key in values}):
        times = [at for at, values in notes if (name, kind) in values]
        values = [values[name, kind] for _, values in notes if (name, kind) in values]
        if len(times) < 15:
            continue
        bad, rise = grows(times, values, *KINDS[kind])
        TAP.check(f"{name}: {kind} do not grow", not bad, f"{min(values)} to {max(values)}, last {values[-1]}; the line rises by {rise:.0f}")


def write(notes, path):
    keys = sorted({key for _, values in notes for key in values})
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("seconds," + ",".join(f"{name} {kind}" for name, kind in keys) + "\n")
        for at, values in notes:
            file.write(f"{at:.1f}," + ",".join(str(values.get(key, "")) for key in keys) + "\n")


def check_judge():
    """It sees what grows, and not what goes up and down."""
    times = list(range(100))
    TAP.check("the judge sees a leak", grows(times, [50 * MIB + t * MIB // 4 + (t * 7919 % 13) * MIB // 8 for t in times], *KINDS["resident bytes"])[0])
    TAP.check("the judge lets noise pass", not grows(times, [50 * MIB + (t * 7919 % 13) * MIB for t in times], *KINDS["resident bytes"])[0])
    TAP.check("the judge lets a load that comes again pass",
              not grows(times, [100 * MIB if t < 20 or t > 70 else 60 * MIB for t in times], *KINDS["resident bytes"])[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--every", type=float, default=3, help="seconds between notes")
    options = parser.parse_args()
    check_judge()
    if not common.privileged_or_skip(TAP, "soak"):
        TAP.end()
    port, page, sink = free_port(), free_port(), free_port()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", sink), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    notes, began = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Wick(config(folder, port, page, sink), (port, page)) as wick:
        with Load(wick, folder, port, page) as load:
            while time.monotonic() - began < options.minutes * 60 and wick.alive():
                time.sleep(options.every)
                notes.append((time.monotonic() - began, note(wick)))
        TAP.check("it runs to the end, and has answered", wick.alive() and load.answered > 0, f"{load.answered} requests, {len(notes)} notes")
        TAP.check("no process had to be started again", "it is started again" not in wick.said())
        TAP.check("no local sample is lost", wick.metric("wick_profiler_samples_lost_ring_full") == 0)
        write(notes, os.path.join(common.BUILD, "test-logs/soak.csv"))
    judge(notes)
    TAP.end()


if __name__ == "__main__":
    main()
