# SPDX-License-Identifier: Apache-2.0
"""What a profiler costs, read from /proc and from the kernel's BPF statistics."""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

STATS = "/proc/sys/kernel/bpf_stats_enabled"
POLL_SECONDS = 0.25
BPFTOOL = shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin")


class Result:
    """Values by name; what could not be measured is left out."""

    def __init__(self):
        self.values = {}

    def add(self, name, value):
        if value is not None:
            self.values.setdefault(name, []).append(value)

    def median(self, name):
        return statistics.median(self.values[name]) if name in self.values else None

    def range(self, name):
        return (min(self.values[name]), max(self.values[name])) if name in self.values else None


class Run:
    """One profiler, seen over one window."""
    status = cpu_ns = bpf_ns = window_entries = rss_bytes = map_bytes = 0
    start_unix_ns = end_unix_ns = start_mono_ns = end_mono_ns = 0
    stderr = ""


@contextlib.contextmanager
def bpf_stats():
    """Lets the kernel count the time of BPF programs."""
    with open(STATS) as f:
        old = f.read()
    with open(STATS, "w") as f:
        f.write("1")
    try:
        yield
    finally:
        with open(STATS, "w") as f:
            f.write(old)


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:  # it has just gone
        return ""


def family(pid):
    """The process and its descendants."""
    children = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        fields = read(path).rpartition(")")[2].split()
        if fields:
            children.setdefault(int(fields[1]), []).append(int(path.split("/")[2]))
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    return found


def cpu_ns(pids):
    return sum(int((read(path) or "0").split()[0]) for pid in pids for path in glob.glob("/proc/%d/task/*/schedstat" % pid))


class CpuMeter:
    """What a family has used, those that have ended meanwhile included, up to when they were last looked at."""

    def __init__(self):
        self.seen = {}

    def look(self, pids):
        for pid in pids:
            self.seen[pid] = max(self.seen.get(pid, 0), cpu_ns([pid]))
        return sum(self.seen.values())


def bpf_objects(pids):
    """({program id: (run_time_ns, run_cnt)}, {map id: bytes}), each counted once however many descriptors it has."""
    programs, maps = {}, {}
    for pid in pids:
        for path in glob.glob("/proc/%d/fdinfo/*" % pid):
            info = dict(re.findall(r"^(\w+):\s*(\S+)", read(path), re.M))
            if "prog_jited" in info:
                programs[info["prog_id"]] = (int(info.get("run_time_ns", 0)), int(info.get("run_cnt", 0)))
            elif "map_id" in info:
                maps[info["map_id"]] = int(info["memlock"])
    return programs, maps


def bpftool(*arguments):
    if not BPFTOOL:
        return {}
    shown = subprocess.run([BPFTOOL, *arguments, "-j"], capture_output=True, text=True)
    try:
        return json.loads(shown.stdout)
    except ValueError:  # it has just gone
        return {}


def map_bytes(pids):
    """All maps: those with a descriptor, and those that only another map refers to."""
    maps = bpf_objects(pids)[1]
    for outer in list(maps):
        if bpftool("map", "show", "id", outer).get("type") not in ("array_of_maps", "hash_of_maps"):
            continue
        for entry in bpftool("map", "dump", "id", outer):
            inner = str(int.from_bytes(bytes(int(byte, 16) for byte in entry.get("value", [])), sys.byteorder))
            if inner not in maps:
                maps[inner] = bpftool("map", "show", "id", inner).get("bytes_memlock", 0)
    return sum(maps.values())


def rss_bytes(pids):
    """Peak resident memory. Pages of BPF maps that are mapped count as maps, not here."""
    total = 0
    for pid in pids:
        peak = re.search(r"^VmHWM:\s*(\d+)", read("/proc/%d/status" % pid), re.M)
        total += int(peak.group(1)) * 1024 if peak else 0
        in_map = False
        for line in read("/proc/%d/smaps" % pid).splitlines():
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                in_map = "bpf-map" in line
            elif in_map and line.startswith("Rss:"):
                total -= int(line.split()[1]) * 1024
    return total


def watch(process, seconds, run, meter):
    """Waits, and keeps the peaks, until the time is over or the process is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        pids = family(process.pid)
        run.rss_bytes = max(run.rss_bytes, rss_bytes(pids))
        meter.look(pids)
        time.sleep(max(0, min(POLL_SECONDS, end - time.monotonic())))


def snapshot(process, meter):
    pids = family(process.pid)
    programs, _ = bpf_objects(pids)
    return (meter.look(pids), sum(ns for ns, _ in programs.values()), max([0] + [count for _, count in programs.values()]),
            time.time_ns(), time.monotonic_ns())


def over(process, warm_seconds, window_seconds):
    """What a running profiler costs in a window."""
    result, meter = Run(), CpuMeter()
    watch(process, warm_seconds, result, meter)
    before = snapshot(process, meter)
    watch(process, window_seconds, result, meter)
    after = snapshot(process, meter)
    result.map_bytes = map_bytes(family(process.pid))
    result.cpu_ns, result.bpf_ns, result.window_entries = (b - a for a, b in zip(before[:3], after[:3]))
    result.start_unix_ns, result.start_mono_ns = before[3:]
    result.end_unix_ns, result.end_mono_ns = after[3:]
    return result


def run(command, warm_seconds, window_seconds, stop=False):
    """Runs a profiler; `stop` ends it by SIGINT after the window, else it ends by itself soon after."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    result = over(process, warm_seconds, window_seconds)
    if stop:
        process.send_signal(signal.SIGINT)
    else:
        watch(process, window_seconds, result, CpuMeter())
    result.stderr = process.communicate(timeout=300)[1]
    result.status = process.returncode
    return result


def seconds_of(command):
    begun = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - begun


def start(command):
    """(seconds from execve to the first sample, as wick -v tells; CPU seconds of the whole run)."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    stderr = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        return None, None
    found = re.search(r"first sample after ([\d.]+) ms", stderr)
    return float(found.group(1)) / 1e3 if found else None, usage.ru_utime + usage.ru_stime


def machine():
    return [int(field) for field in read("/proc/stat").split("\n")[0].split()[1:]]


def machine_change(before):
    """(busy share, stolen share) of all CPUs since `before`."""
    change = [b - a for a, b in zip(before, machine())]
    total = sum(change[:8]) or 1
    return 1 - (change[3] + change[4]) / total, change[7] / total
