#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What rules about processes cost (make bench-filters, as root): BUSY=300 busy processes of which one is wanted; then rules that change
while wick samples. It says whether a promise holds and never fails because of a number.

    WICK=build/wick  BUSY=300  HZ=997  WARM=15  WINDOW=10"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "test"))
os.environ.setdefault("WICK_BUILD", os.path.join(HERE, "..", "build"))
import common  # noqa: E402  pylint: disable=wrong-import-position

BUSY = int(os.environ.get("BUSY", 300))
HZ = int(os.environ.get("HZ", 997))
WARM = float(os.environ.get("WARM", 15))
WINDOW = float(os.environ.get("WINDOW", 10))
EVERY = 3  # seconds, for who is slow
LOOP = "while :; do :; done"
CONFIG = """
receivers:
  profiling:
    samples_per_second: %d
    reporter_interval: 200ms
    governor: {enabled: false}
    include: %s
exporters:
  file: {path: "%s/out.json", flush_interval: 50ms, append: true}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [profiling], exporters: [file]}
"""


def row(text, value, promise, holds):
    print(f"{text:62} {value:22} promised: {promise:22} {'holds' if holds else 'DOES NOT HOLD'}", flush=True)


class Collector:
    def __init__(self, folder, include):
        self.folder = folder
        self.write(include)
        self.process = subprocess.Popen([common.WICK, "--config", f"{folder}/config.yaml"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def write(self, include):
        with open(f"{self.folder}/config.new", "w", encoding="utf-8") as file:
            file.write(CONFIG % (HZ, include, self.folder))
        os.replace(f"{self.folder}/config.new", f"{self.folder}/config.yaml")

    def reload(self, include):
        self.write(include)
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)

    def samples(self):
        with open(f"{self.folder}/out.json", encoding="utf-8") as file:
            return [sample for line in file.read().split("\n")[:-1] for sample in common.Profile(json.loads(line)).samples]


def start(service, command, **options):
    return subprocess.Popen(command, env={**os.environ, "OTEL_SERVICE_NAME": service}, **options)


def entries(pid):
    """(time, runs) of the program that runs at each tick."""
    programs = measure.bpf_objects(measure.family(pid))[0]
    return programs and max(programs.values(), key=lambda program: program[1]) or (0, 0)


def cost():
    others = [start(f"other{i}", ["sh", "-c", LOOP]) for i in range(BUSY - 1)]
    wanted = start("wanted", ["sh", "-c", LOOP])
    with tempfile.TemporaryDirectory(prefix="wick-filters-") as folder, measure.bpf_stats():
        collector = Collector(folder, "[{service: wanted}]")
        try:
            time.sleep(WARM)
            before = entries(collector.process.pid)
            time.sleep(WINDOW)
            after = entries(collector.process.pid)
        finally:
            collector.stop()
            for process in [*others, wanted]:
                process.kill()
                process.wait()
        runs = after[1] - before[1]
        taken = sum(sample.count for sample in collector.samples() if sample.resource.get("service.name") == "wanted")
        each = (after[0] - before[0]) / max(runs, 1)
        row(f"BPF time of a tick, 1 of {BUSY} busy processes wanted", f"{each / 1000:.3f} µs, {runs} ticks", "≤ 0.5 µs", runs > 100 and each <= 500)
        row("... and that one is sampled", f"{taken} samples", "> 0", taken > 0)


def change():
    """Rules change every few seconds while a process that all of them want uses 12 s of CPU time, and another is wanted by every second rule."""
    rules = ("[{service: kept}]", "[{service: kept}, {service: other}]")
    seconds = 12
    changes = []
    with tempfile.TemporaryDirectory(prefix="wick-filters-") as folder:
        collector = Collector(folder, rules[0])
        other = start("other", ["sh", "-c", LOOP])
        try:
            time.sleep(3)
            kept = start("kept", [sys.executable, "-c", f"import time\nwhile time.process_time() < {seconds}: pass"])
            while kept.poll() is None:
                time.sleep(EVERY)
                changes.append((time.time_ns(), len(changes) % 2 == 0))
                collector.reload(rules[len(changes) % 2])
            time.sleep(1)
        finally:
            other.kill()
            other.wait()
            collector.stop()
        samples = collector.samples()
    total = sum(sample.count for sample in samples if sample.pid == kept.pid) / HZ
    times = sorted(t for sample in samples if sample.resource.get("service.name") == "other" for t in sample.times_ns)
    late = []
    for (at, begins), (end, _) in zip(changes, changes[1:]):
        between = [t for t in times if at <= t < end]
        # Wanted from its first sample on, or no more after its last one.
        late.append(((between[0] if begins else between[-1]) - at) / 1e9 if between else 99 if begins else 0)
    row("a rule that is changed holds after, at most", f"{max(late, default=99):.2f} s of {len(late)}", "≤ 1 s", max(late, default=99) <= 1)
    row(f"time of a process wanted all along, {len(changes)} changes", f"{total:.2f} s of {seconds} s", "within 2 %", abs(total / seconds - 1) <= 0.02)


def main():
    if os.geteuid() != 0:
        sys.exit("filters.py: needs root")
    cost()
    change()


if __name__ == "__main__":
    main()
