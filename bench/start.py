#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How soon the one file of `make dist` samples, what that time is made of, and how much memory it has when there is little to do.

Needs root. The time is from just before execve() to the earliest time stamp in the file that it wrote, by this program's clock.

    WICK=build/dist/wick  STARTS=9  HZ=97
"""
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "test"))

import common  # noqa: E402

WICK = os.path.abspath(os.environ.get("WICK", os.path.join(HERE, "..", "build", "dist", "wick")))
STARTS = int(os.environ.get("STARTS", 9))
HZ = os.environ.get("HZ", "97")
START_MAX_MS = 300
IDLE_MAX_MIB = 20
IDLE_SECONDS = 20
AGENT = "{receivers: {profiling: {}}, exporters: {nop: {}}, service: {telemetry: {metrics: {level: none}}, pipelines: {profiles: {receivers: [profiling], exporters: [nop]}}}}"


def recording(output, *options):
    return [WICK, "record", "-q", "-F", HZ, "-d", "0.6", "-o", output, *options]


def first_sample_ns(path):
    return min(t for sample in common.Profile(path).samples for t in sample.times_ns)


def start_ms(work):
    output = os.path.join(work, "start.otlp")
    begun_ns = time.time_ns()
    subprocess.run(recording(output), check=True)
    return (first_sample_ns(output) - begun_ns) / 1e6


class Call:
    def __init__(self, at, name, text, seconds):
        self.at, self.name, self.text, self.seconds = at, name, text, seconds


def calls_of(trace):
    """The system calls that strace has written, those that were interrupted by others put together again."""
    begun, calls = {}, []
    for line in trace.splitlines():
        pid, at, rest = line.split(" ", 2)
        if rest.endswith("<unfinished ...>"):
            begun[pid] = (float(at), rest[:-len("<unfinished ...>")])
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", rest)
        if resumed and pid in begun:
            at, rest = begun[pid][0], begun.pop(pid)[1] + resumed[1]
        found = re.match(r"(\w+)\((.*)\)\s+= .*<([\d.]+)>$", rest)
        if found:
            calls.append(Call(float(at), found[1], found[2], float(found[3])))
    return calls


def parts(work):
    """One start under strace, which makes it slower: [(milliseconds, of what)], and the programs that were loaded."""
    output, trace = os.path.join(work, "parts.otlp"), os.path.join(work, "trace")
    subprocess.run(["strace", "-f", "--seccomp-bpf", "-qq", "-ttt", "-T", "-s", "64", "-e", "trace=execve,bpf,perf_event_open",
                    "-e", "signal=none", "-o", trace, *recording(output)], check=True, stderr=subprocess.DEVNULL)
    calls = calls_of(re.sub(r"^(\d+) +", r"\1 ", measure.read(trace), flags=re.M))
    first = first_sample_ns(output) / 1e9
    calls = [call for call in calls if call.at < first]
    bpf = [call for call in calls if call.name == "bpf"]
    opened = [call for call in calls if call.name == "perf_event_open"]
    in_kernel = collections.Counter()
    for call in bpf:
        in_kernel[call.text.split(",")[0]] += call.seconds * 1e3
    loads = in_kernel.pop("BPF_PROG_LOAD")
    begun, ended = bpf[0].at, opened[-1].at
    told = [((begun - calls[0].at) * 1e3, "until the first bpf(): loading, relocation, options, the reader's process"),
            (loads, "the kernel checks and compiles programs"), (sum(in_kernel.values()), "other calls of bpf(): maps, BTF, what the kernel has")]
    told.append(((ended - begun) * 1e3 - sum(ms for ms, _ in told[1:]), "wick and libbpf between these: unpacking, the kernel's BTF, relocations"))
    told.append(((first - ended) * 1e3, "from the last perf_event_open() to the first sample"))
    programs = [(re.search(r'prog_name="(\w*)"', call.text)[1], int(re.search(r"insn_cnt=(\d+)", call.text)[1]), call.seconds * 1e3)
                for call in bpf if call.text.startswith("BPF_PROG_LOAD")]
    return told, programs


def own_bytes(pid):
    """Its share of the pages that it has, without those of BPF maps."""
    total, in_map = 0, False
    for line in measure.read(f"/proc/{pid}/smaps").splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            in_map = "bpf-map" in line
        elif line.startswith("Pss:") and not in_map:
            total += int(line.split()[1]) * 1024
    return total


def idle_mib():
    """Of an agent that has nobody to send to, with all its processes: pages that several have count once, BPF maps apart."""
    agent = subprocess.Popen([WICK, "--config=yaml:" + AGENT], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(IDLE_SECONDS)
    if agent.poll() is not None:
        sys.exit(f"start: the agent has ended with {agent.returncode}")
    pids = measure.family(agent.pid)
    found = sum(own_bytes(pid) for pid in pids)
    agent.terminate()
    agent.wait(30)
    return found / (1 << 20), len(pids)


def tell_starts(work):
    times = sorted(start_ms(work) for _ in range(STARTS))
    median = statistics.median(times)
    print(f"start to first sample: {median:.0f} ms ({times[0]:.0f}-{times[-1]:.0f}) of {STARTS}, at most {START_MAX_MS}: "
          f"{'met' if median <= START_MAX_MS else 'NOT MET'}")


def tell_parts(work):
    told, programs = parts(work)
    print(f"of these, under strace, {sum(ms for ms, _ in told):.0f} ms:")
    for ms, what in told:
        print(f"  {ms:6.1f} ms  {what}")
    for name, count, ms in sorted(programs, key=lambda program: -program[2]):
        if ms >= 1:
            print(f"  {ms:6.1f} ms  of that for {name}, {count} instructions")


def main():
    if os.geteuid():
        sys.exit("start: needs root (BPF programs)")
    print(f"{WICK}, {os.path.getsize(WICK)} bytes; {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {HZ} Hz")
    busy = [subprocess.Popen(["nice", "-n", "19", "sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
    try:
        with tempfile.TemporaryDirectory(prefix="wick-start-") as work:
            tell_starts(work)
            tell_parts(work)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    mib, count = idle_mib()
    print(f"memory after {IDLE_SECONDS} s: {mib:.1f} MiB of {count} processes, at most {IDLE_MAX_MIB}: {'met' if mib <= IDLE_MAX_MIB else 'NOT MET'}")


if __name__ == "__main__":
    main()
