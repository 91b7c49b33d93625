#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what wick promises about speed and memory, next to other profilers on the same load, and prints a table.

Needs root. It says whether a target is met and never fails because of one. bench/README.md has the definitions.

    WICK=build/wick  ROUNDS=3  WARM=20  WINDOW=60  QUICK=1 (one round of 3 + 10 s)
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import measure
import profiles
from table import Table

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../test/peers"))

import otel_agent  # noqa: E402

WICK = os.path.abspath(os.environ.get("WICK", os.path.join(HERE, "..", "build", "wick")))
QUICK = os.environ.get("QUICK") == "1"
ROUNDS = int(os.environ.get("ROUNDS", 1 if QUICK else 3))
WARM = float(os.environ.get("WARM", 3 if QUICK else 20))
WINDOW = float(os.environ.get("WINDOW", 10 if QUICK else 60))
HZ = 97
IDLE_HZ = 20
STARTS = 5
MIB = 1 << 20


class Load:
    """The mixed load: two C programs without frame pointers, CPython and Node."""

    def __init__(self, work, count=None):
        self.sorter = os.path.join(work, "sorter")
        subprocess.run(["cc", "-O2", "-fomit-frame-pointer", "-o", self.sorter, HERE + "/loads/sorter.c"], check=True)
        self.commands = [[self.sorter], [self.sorter], ["/usr/bin/python3", HERE + "/loads/text.py"],
                         ["node", HERE + "/loads/objects.js"]][:count]
        self.running = []

    def __enter__(self):
        self.running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in self.commands]
        return self

    def __exit__(self, *_):
        for process in self.running:
            process.kill()
            process.wait()


def progress(text):
    print("# " + text, file=sys.stderr, flush=True)


def wick_record(output, *options):
    return [WICK, "record", "-F", str(HZ), "-o", output, *options]


def steady_wick(work, result):
    """One run of wick under load: what the window cost, and what it gave."""
    output = os.path.join(work, "wick.json")
    run = measure.run(wick_record(output, "-d", str(WARM + WINDOW + 1)), WARM, WINDOW)
    profile = profiles.Otlp(output)
    samples = profile.samples_between(run.start_unix_ns, run.end_unix_ns)
    if run.status or not samples:
        progress("wick record failed with status %d: %s" % (run.status, run.stderr.strip()[-300:]))
        return
    result.add("bpf_us", run.bpf_ns / samples / 1e3)
    result.add("cpu_us", run.cpu_ns / samples / 1e3)
    result.add("rss_mib", run.rss_bytes / MIB)
    result.add("maps_mib", run.map_bytes / MIB)
    whole = re.search(r"([\d.]+) % of user stacks are whole", run.stderr)
    result.add("whole_percent", float(whole.group(1)) if whole else None)
    ticks = re.search(r"(\d+)\s+ticks\s", run.stderr)
    result.add("lost_percent", 100 * max(0, 1 - profile.sample_count / int(ticks.group(1))) if ticks else None)
    named, covered = profile.native_names()
    result.add("named_percent", 100 * named / covered if covered else None)
    result.add("output_mib", os.path.getsize(output) / MIB)
    result.add("load_percent", 100 * profile.share_of(("sorter", "python3", "node")))


def steady_perf(work, result):
    output = os.path.join(work, "perf.data")
    run = measure.run(["perf", "record", "-F", str(HZ), "-a", "--call-graph", "dwarf", "-k", "CLOCK_MONOTONIC",
                       "-o", output], WARM, WINDOW, stop=True)
    samples = profiles.perf_samples_between(output, run.start_mono_ns, run.end_mono_ns)
    if not samples:
        progress("perf took no samples: " + run.stderr.strip()[-300:])
        return
    result.add("cpu_us", run.cpu_ns / samples / 1e3)
    result.add("rss_mib", run.rss_bytes / MIB)
    result.add("output_mib", os.path.getsize(output) / MIB)


def steady_bpftrace(work, result):
    # Cleared at the end: finding names for all of it takes minutes, and the window is over.
    program = "profile:hz:%d { @[ustack, kstack, pid, comm] = count(); } END { clear(@); }" % HZ
    run = measure.run(["bpftrace", "-o", os.path.join(work, "bpftrace.txt"), "-e", program], WARM, WINDOW, stop=True)
    if not run.window_entries:
        progress("bpftrace took no samples: " + run.stderr.strip()[-300:])
        return
    result.add("bpf_us", run.bpf_ns / run.window_entries / 1e3)
    result.add("cpu_us", run.cpu_ns / run.window_entries / 1e3)
    result.add("rss_mib", run.rss_bytes / MIB)
    result.add("maps_mib", run.map_bytes / MIB)


def steady_otel(command, result):
    with otel_agent.OtelAgent(command, HZ) as agent:
        run = measure.over(agent.process, WARM, WINDOW)
    samples = sum(profiles.Otlp(p.data).samples_between(run.start_unix_ns, run.end_unix_ns) for p in agent.profiles())
    if not samples:
        progress("the OTel profiler took no samples: " + agent.said()[-300:])
        return
    result.add("bpf_us", run.bpf_ns / samples / 1e3)
    result.add("cpu_us", run.cpu_ns / samples / 1e3)
    result.add("rss_mib", run.rss_bytes / MIB)
    result.add("maps_mib", run.map_bytes / MIB)


def starts(work, result, name):
    """From execve to the first sample that wick read."""
    loading = measure.seconds_of([WICK, "--version"])  # wick's own clock starts in main()
    for _ in range(STARTS):
        seconds, cpu_seconds = measure.start(wick_record(os.path.join(work, "start.json"), "-v", "-d", "1"))
        result.add("start_%s_s" % name, seconds and seconds + loading)
        result.add("start_%s_cpu_s" % name, cpu_seconds)


def cold_start(work, result):
    """What start-up costs when no rows are cached on disk."""
    hidden = ["unshare", "-m", "sh", "-c", "mount -t tmpfs cache /var/cache && exec \"$@\"", "sh"]
    result.add("start_cold_cpu_s", measure.start(hidden + wick_record(os.path.join(work, "start.json"), "-d", "1"))[1])


def idle(work, result):
    command = [WICK, "record", "-F", str(IDLE_HZ), "-o", os.path.join(work, "idle.json"), "-d", str(WARM + WINDOW + 1)]
    run = measure.run(command, WARM, WINDOW)
    result.add("idle_percent", None if run.status else run.cpu_ns / (WINDOW * 1e9) * 100)


def new_processes(work, load, result):
    """Processes of 0.2 s, one after the other on each CPU: how many of their samples lack their stack?"""
    output = os.path.join(work, "short.json")
    seconds = 10 if QUICK else 30
    recorder = subprocess.Popen(wick_record(output, "-d", str(seconds + 2)), stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
    time.sleep(1)
    end = time.monotonic() + seconds
    slots = [None] * os.cpu_count()
    count = 0
    while time.monotonic() < end:
        for i, process in enumerate(slots):
            if process is None or process.poll() is not None:
                slots[i] = subprocess.Popen([load.sorter, "0.2"])
                count += 1
        time.sleep(0.005)
    for process in slots:
        process.wait()
    recorder.wait()
    whole, short = profiles.Otlp(output).stacks_of("sorter", root="_start")
    progress("%d new processes: %d stacks whole, %d not" % (count, whole, short))
    result.add("new_lost", short / count if whole else None)


def binary_mib(work):
    stripped = os.path.join(work, "wick.stripped")
    subprocess.run(["strip", "-o", stripped, WICK], check=True)
    return os.path.getsize(stripped) / MIB


def measured():
    """The table, and what is in it by profiler."""
    if os.geteuid():
        sys.exit("bench: needs root (BPF statistics, profiles of all processes)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the load ends with us
    results = {name: measure.Result() for name in ("wick", "otel", "perf", "bpftrace")}
    tools = [("wick", steady_wick)]
    tools += [(name, run) for name, run in (("perf", steady_perf), ("bpftrace", steady_bpftrace)) if shutil.which(name)]
    otel, reason = otel_agent.get()
    if otel:
        tools.append(("otel", lambda _, result: steady_otel(otel, result)))
    else:
        progress("without the OTel profiler: " + reason)
    wick = results["wick"]
    with tempfile.TemporaryDirectory(prefix="wick-bench-") as work, measure.bpf_stats():
        load = Load(work)
        wick.add("binary_mib", binary_mib(work))
        progress("starts, machine quiet")
        with Load(work, count=1):  # where nothing at all runs, there is no first sample
            starts(work, wick, "quiet")
        cold_start(work, wick)
        progress("idle, %d Hz" % IDLE_HZ)
        idle(work, wick)
        progress("new processes")
        new_processes(work, load, wick)
        before = measure.machine()
        with load:
            progress("starts, machine busy")
            starts(work, wick, "busy")
            for number in range(ROUNDS):
                for name, run in tools:
                    progress("round %d of %d: %s" % (number + 1, ROUNDS, name))
                    run(work, results[name])
        return Table(results, ROUNDS, WARM, WINDOW, measure.machine_change(before)).text(), {n: r.values for n, r in results.items()}


if __name__ == "__main__":
    print(measured()[0])
