#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our codecs beside google/pprof's and the OpenTelemetry Collector's on the same data; prints the table of docs/bench.md.

Speed is bytes by CPU time, memory what a process had at most while it worked beyond what it had before. Each number is the
median of three processes, which take turns.
"""
import os
import statistics
import subprocess
import sys
import tempfile

STACKS = int(os.environ.get("STACKS", "50000"))
ROUNDS = 3
SPEED_TARGET, MEMORY_TARGET = 3, 1 / 3
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("WICK_BUILD", os.path.join(ROOT, "build"))
CODEC = os.path.join(BUILD, "bench/formats/codec")
CACHE = os.environ.get("WICK_TEST_CACHE", os.path.expanduser("~/.cache/wick-test"))
# format, name of its file, and whose codec it is measured against
FORMATS = [("otlp", "x.otlp", "Collector 0.159"), ("json", "x.json", "Collector 0.159"), ("pprof", "x.pb", "google/pprof"),
           ("folded", "x.folded", None)]


def build_peer():
    peer = os.path.join(CACHE, "bench-formats-peer")
    environment = dict(os.environ, CGO_ENABLED="0", GOFLAGS="-mod=mod -buildvcs=false")
    subprocess.run(["go", "build", "-o", peer, "."], cwd=os.path.join(ROOT, "bench/formats/peer"), env=environment, check=True)
    return peer


def make_data(folder):
    source = os.path.join(folder, "x.otlp")
    subprocess.run([CODEC, "make", source, str(STACKS)], check=True)
    for name, file, _ in FORMATS[1:]:
        subprocess.run([os.path.join(BUILD, "wick"), "convert", source, os.path.join(folder, file), "--format", name], check=True)
    # Compression is another matter: codecs are measured without.
    packed = os.path.join(folder, "x.pb")
    subprocess.run(["sh", "-c", 'gzip -dc "$1" >"$1.plain" && mv "$1.plain" "$1"', "sh", packed], check=True)


class Result:
    def __init__(self):
        self.speeds, self.peaks = [], []

    def add(self, command):
        ns, size, peak = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
        self.speeds.append(size / ns * 1000)
        self.peaks.append(peak / 1024)

    def speed(self):
        return statistics.median(self.speeds)

    def peak(self):
        return statistics.median(self.peaks)


def met(holds):
    return "met" if holds else "NOT MET"


def row(what, name, ours, other, peer):
    if not peer:
        return f"| {name} {what} | {ours.speed():.0f} MB/s | | | | {ours.peak():.1f} MiB | | | |"
    speed, memory = ours.speed() / other.speed(), ours.peak() / max(other.peak(), 0.01)
    return (f"| {name} {what} | {ours.speed():.0f} MB/s | {other.speed():.0f} MB/s ({peer}) | {speed:.1f}x | {met(speed >= SPEED_TARGET)}"
            f" | {ours.peak():.1f} MiB | {other.peak():.1f} MiB | {memory:.2f}x | {met(memory <= MEMORY_TARGET)} |")


def main():
    peer = build_peer()
    with tempfile.TemporaryDirectory() as folder:
        make_data(folder)
        sizes = ", ".join(f"{name} {os.path.getsize(os.path.join(folder, file)) / 1e6:.1f} MB" for name, file, _ in FORMATS)
        print(f"{STACKS} distinct stacks: {sizes}\n")
        print("| | wick | other | speed, target 3x | | wick, peak | other, peak | memory, target 1/3 | |")
        print("|---|---|---|---|---|---|---|---|---|")
        for name, file, whose in FORMATS:
            for what in ("decode", "encode"):
                ours, other = Result(), Result()
                for _ in range(ROUNDS):
                    ours.add([CODEC, what, name, os.path.join(folder, file)])
                    if whose:
                        other.add([peer, what, name, os.path.join(folder, file)])
                print(row(what, name, ours, other, whose), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
