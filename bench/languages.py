#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sample of each language costs: BPF time and the agent's CPU time, of wick and of the OTel eBPF profiler.

Needs root. One program of the language is busy, the profilers take turns. bench/README.md has the definitions.

    WARM=8  WINDOW=15  QUICK=1 (4 + 6 s)
"""
import os
import re
import signal
import subprocess
import sys
import tempfile

import measure
import profiles

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../test/peers"))

import agents  # noqa: E402
import otel_agent  # noqa: E402
from common import ROOT, WICK, Tap  # noqa: E402

QUICK = os.environ.get("QUICK") == "1"
WARM = float(os.environ.get("WARM", 4 if QUICK else 8))
WINDOW = float(os.environ.get("WINDOW", 6 if QUICK else 15))
HZ = 197
TARGET = 0.5            # of the other's BPF time
DEEP = "python, 500 deep"
SYMBOLS = 20000         # functions of the program that has many
MANY = """
def spin():
    return sum(range(200))
functions = []
for i in range(%d):
    exec("def f%%d():\\n spin()\\n return %%d\\nfunctions.append(f%%d)" %% (i, i, i))
while True:
    for f in functions:
        for _ in range(40):
            f()
"""


class Cost:
    """Of one profiler with one program: microseconds a sample, and frames a sample, the kernel's included."""

    def __init__(self, run, seen):
        inside = [(p, sample, p.times_between(sample, run.start_unix_ns, run.end_unix_ns))
                  for p in seen for _, sample in p.samples()]
        self.samples = sum(count for _, _, count in inside)
        self.bpf_us = run.bpf_ns / self.samples / 1e3 if self.samples else None
        self.cpu_us = run.cpu_ns / self.samples / 1e3 if self.samples else None
        frames = sum(len(p.locations(sample)) * count for p, sample, count in inside)
        self.frames = frames / self.samples if self.samples else None


def cost_of_wick(folder, options=()):
    output = os.path.join(folder, "wick.json")
    run = measure.run([WICK, "record", "-F", str(HZ), "-o", output, "-d", str(WARM + WINDOW + 1), *options], WARM, WINDOW)
    return Cost(run, [profiles.Otlp(output)]), run


def cost_of_otel(command):
    with otel_agent.OtelAgent(command, HZ) as agent:
        run = measure.over(agent.process, WARM, WINDOW)
    return Cost(run, [profiles.Otlp(p.data) for p in agent.profiles()])


def with_program(command, what):
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return what()
    finally:
        program.kill()
        program.wait()


def text(value, form="%.1f"):
    return "" if value is None else form % value


def ratio(ours, theirs):
    return ours / theirs if ours and theirs else None


def row(name, ours, theirs):
    part = ratio(ours.bpf_us, theirs.bpf_us if theirs else None)
    met = "" if part is None else "met" if part <= TARGET else "NOT MET"
    return [name, text(ours.frames), text(ours.bpf_us), text(theirs and theirs.bpf_us), text(part, "%.2f"), met,
            text(ours.cpu_us), text(theirs and theirs.cpu_us), text(ratio(ours.cpu_us, theirs and theirs.cpu_us), "%.2f")]


def ns_per_frame(shallow, deep):
    """What one more interpreted frame takes."""
    if not shallow or not deep or not shallow.frames or not deep.frames or deep.frames - shallow.frames < 5:
        return None
    return (deep.bpf_us - shallow.bpf_us) / (deep.frames - shallow.frames) * 1e3


def per_symbol(folder):
    """The agent's CPU time for each frame that it had to name, less what a sample of known frames takes."""
    path = os.path.join(folder, "many.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(MANY % SYMBOLS)
    known, _ = with_program([sys.executable, ROOT + "/test/victims/python/victim.py", "split"],
                            lambda: cost_of_wick(folder, ["-v"]))
    many, run = with_program([sys.executable, path], lambda: cost_of_wick(folder, ["-v"]))
    named = re.search(r"(\d+)\s+language_frames_looked_up", run.stderr)
    if not named or not int(named[1]) or not known.samples or not many.samples:
        return None
    return (many.cpu_us - known.cpu_us) * many.samples / int(named[1])


def table(rows):
    head = ["", "frames", "BPF µs", "OTel's", "ratio", "≤ %g" % TARGET, "agent µs", "OTel's", "ratio"]
    rows = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def main():
    if os.geteuid():
        sys.exit("bench: needs root (BPF statistics, profiles of all processes)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    other, reason = otel_agent.get()
    if not other:
        print("# without the OTel profiler: " + reason, file=sys.stderr)
    costs = {}
    with tempfile.TemporaryDirectory(prefix="wick-bench-") as folder, measure.bpf_stats():
        commands = agents.load_commands(Tap(), folder)
        commands[DEEP] = [*commands["python"][:-1], "recursion"]
        for name, command in commands.items():
            print("# " + name, file=sys.stderr, flush=True)
            costs[name] = with_program(command, lambda: (cost_of_wick(folder)[0], cost_of_otel(other) if other else None))
        symbol_us = per_symbol(folder)
    print("%g s after %g s, %d Hz, %d CPUs, load average %.1f\n" % (WINDOW, WARM, HZ, os.cpu_count(), os.getloadavg()[0]))
    print(table([row(name, *cost) for name, cost in costs.items()]))
    ours, theirs = (ns_per_frame(costs["python"][i], costs[DEEP][i]) for i in (0, 1))
    print("\nBPF time of one more Python frame: %s ns, OTel's %s ns" % (text(ours), text(theirs)))
    print("agent's CPU time of a frame that needs a name: %s µs" % text(symbol_us))


if __name__ == "__main__":
    main()
