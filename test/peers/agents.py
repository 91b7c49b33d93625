#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wick and the OTel eBPF profiler look at the same programs at the same time: whose stacks are whole, and whose are named?

A stack is whole if its outermost frame is where a program, a thread or a goroutine begins; by the file's own symbols, so
that addresses without a name count, too. It is named if every user frame has a name. Prints TAP and a table.
"""
import collections
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

import lang_go  # noqa: E402
import lang_hotspot  # noqa: E402
import lang_v8  # noqa: E402
import otel_agent  # noqa: E402
from common import ROOT, VICTIMS, Recording, Tap, privileged_or_skip  # noqa: E402

RATE_HZ = 197
LOAD_SECONDS = 20
SETTLE_SECONDS = 8          # the other needs some to start
YOUNG_COUNT = 16            # of each kind
YOUNG_PERCENT = 95          # of the samples that their CPU time stands for
NOISE = 5                   # points between two clocks that sample the same
YOUNG_PYTHON = """
import time
def work():
    while time.process_time() < 0.5:
        sum(range(500))
work()
"""
GO_ROOTS = ("runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.mcall", "_rt0_")


def chain_of_go(folder):
    path, reason = lang_go.build(folder, "go", "chain", ["-ldflags=-checklinkname=0"])
    if not path:
        raise OSError(reason)
    return [path, "600s"]


def load_commands(tap, folder):
    """{language: command that runs for ever}, of what can be had here."""
    commands = {"native": [os.path.join(VICTIMS, "v-calls"), "600"],
                "python": [sys.executable, os.path.join(ROOT, "test/victims/python/victim.py"), "split"]}
    node, reason = lang_v8.find_node(lang_v8.VERSION)
    if node:
        commands["node"] = [node, lang_v8.VICTIM, "split"]
    else:
        tap.skip("node", reason)
    for name, make in (("java", chain_of_java), ("go", chain_of_go)):
        try:
            commands[name] = make(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            tap.skip(name, str(error))
    return commands


def chain_of_java(_):
    java = lang_hotspot.install("jdk", lang_hotspot.VERSION)
    lang_hotspot.build()
    return [os.path.join(java, "bin", "java"), "-cp", lang_hotspot.FOLDER, "Victim", "chain", "600", "1",
            os.path.join(lang_hotspot.FOLDER, "libvictim.so")]


class Seen:
    """What a profiler has seen of some processes: samples in user code, whole, and named."""

    def __init__(self):
        self.count = self.whole = self.named = 0

    def share(self, part):
        return 100 * part / self.count if self.count else 0

    def text(self):
        return f"{self.count} samples, {self.share(self.whole):.2f} % whole, {self.share(self.named):.2f} % named"


def is_whole(profile, sample):
    name = sample.user[0].split("}")[-1] if sample.user else ""
    return name.startswith(GO_ROOTS) or profile.is_rooted(sample)


def is_named(profile, location):
    entry = profile.tables["locationTable"][location]
    lines = entry.get("lines", [])
    kind = profile.attributes(entry).get("profile.frame.type")
    names = [profile.frames(location)[1][0]] if lines else []
    return kind == "kernel" or (kind != "abort-marker" and bool(names) and all(n and "+0x" not in n for n in names))


def judge(profiles, pids, start_ns=0):
    """{pid: Seen}, of samples since then."""
    found = collections.defaultdict(Seen)
    for profile in profiles:
        for sample in profile.samples:
            if sample.pid not in pids or not sample.user:
                continue
            count = sum(t >= start_ns for t in sample.times_ns) if sample.times_ns else sample.count
            seen = found[sample.pid]
            seen.count += count
            seen.whole += count * is_whole(profile, sample)
            seen.named += count * (is_whole(profile, sample) and all(is_named(profile, i) for i in sample.locations))
    return found


def young_ones(command):
    """Processes of half a second of CPU each, two at a time: [(pid, CPU seconds)]."""
    begun, ended, running = 0, [], []
    while begun < YOUNG_COUNT or running:
        while begun < YOUNG_COUNT and len(running) < 2:
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
            begun += 1
        pid, _, usage = os.wait4(running[0].pid, 0)
        running.pop(0).returncode = 0
        ended.append((pid, usage.ru_utime + usage.ru_stime))
    return ended


def run(command, commands):
    """(wick's profiles, the other's, {language: pid}, processes that came and went, when all had settled)"""
    victims = {name: subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for name, argv in commands.items()}
    try:
        with otel_agent.OtelAgent(command, RATE_HZ) as other:
            recording = Recording(["-d", "600"], rate=RATE_HZ)
            time.sleep(SETTLE_SECONDS)
            settled_ns = time.time_ns()
            time.sleep(LOAD_SECONDS)
            young = {"native": young_ones([os.path.join(VICTIMS, "v-calls"), "0.5"]),
                     "python": young_ones([sys.executable, "-S", "-c", YOUNG_PYTHON])}
            time.sleep(1)
            recording.process.send_signal(2)
            recording.wait()
        return [recording.profile()], other.profiles(), {n: v.pid for n, v in victims.items()}, young, settled_ns
    finally:
        for victim in victims.values():
            victim.kill()
            victim.wait()


def compare(tap, ours, theirs, victims, settled_ns):
    pids = set(victims.values())
    mine, other = judge(ours, pids, settled_ns), judge(theirs, pids, settled_ns)
    for name, pid in victims.items():
        m, o = mine[pid], other[pid]
        tap.note(f"| {name} | {m.text()} | {o.text()} |")
        good = m.count and m.share(m.whole) >= o.share(o.whole) - 0.5 and m.share(m.named) >= o.share(o.named)
        tap.check(f"{name}: as many stacks whole and named as the other's", good)


def shown(profiles, pids, function):
    """In how many samples of these processes is the function?"""
    return sum(sample.count for profile in profiles for sample in profile.samples
               if sample.pid in pids and function in sample.user)


def compare_young(tap, ours, theirs, young):
    pids = {kind: {pid for pid, _ in found} for kind, found in young.items()}
    expected = {kind: sum(seconds for _, seconds in found) * RATE_HZ for kind, found in young.items()}
    seen = {"native": [sum(s.whole for s in judge(p, pids["native"]).values()) for p in (ours, theirs)],
            "python": [shown(p, pids["python"], "work") for p in (ours, theirs)]}
    for kind, what in (("native", "in whole stacks"), ("python", "in work(), of all with start and end")):
        mine, other = (100 * count / expected[kind] for count in seen[kind])
        tap.note(f"| {len(young[kind])} new {kind} processes | {mine:.1f} % of {expected[kind]:.0f} samples {what} | "
                 f"{other:.1f} % |")
        least = YOUNG_PERCENT if kind == "native" else 0    # a Python needs some time of its own to start
        tap.check(f"new {kind} processes: samples {what}", mine >= least and mine >= other - NOISE)


def main():
    tap = Tap()
    command, reason = otel_agent.get()
    if not privileged_or_skip(tap, "agents"):
        pass
    elif not command:
        tap.skip("agents", reason)
    else:
        folder = os.path.join(ROOT, "build", "test")
        os.makedirs(folder, exist_ok=True)
        ours, theirs, victims, young, settled_ns = run(command, load_commands(tap, folder))
        if tap.check("the OTel eBPF profiler sends profiles", bool(theirs)):
            compare(tap, ours, theirs, victims, settled_ns)
            compare_young(tap, ours, theirs, young)
    tap.end()


if __name__ == "__main__":
    main()
