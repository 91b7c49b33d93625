#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wick and each peer that is installed, on the same loads in one run: profilers (bench.py), then relays of OTLP (collector/collector.py).
Writes docs/benchmarks.md with machine, versions, method and tables, and docs/benchmarks.json with every single value. Needs root; it
never fails because of a number. bench/README.md has the definitions; QUICK=1 and the other settings are those of the two."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "collector"))
import bench  # noqa: E402
import collector  # noqa: E402
import otel_agent  # noqa: E402

DOCS = os.path.join(HERE, "..", "docs")
ABSENT = "not installed"


def version(command):
    """The first line of what it says of itself that has a number with a dot."""
    if not command or not shutil.which(command[0]):
        return ABSENT
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [line.strip() for line in (said.stdout + said.stderr).splitlines() if re.search(r"\d\.\d", line)]
    return found[0] if found else "of unknown version"


def versions():
    otel, reason = otel_agent.get()
    otelcol = collector.process.otelcol() if os.environ.get("OTELCOL") != "0" else None
    pinned = re.search(r"otel-profiler-([\d.]+)", otel[0]) if otel else None
    return {"wick": version([bench.WICK, "--version"]),
            "OTel eBPF profiler": pinned.group(1) if pinned else version([otel[0], "-version"]) if otel else f"{ABSENT}: {reason}",
            "perf": version(["perf", "--version"]), "bpftrace": version(["bpftrace", "--version"]),
            "OpenTelemetry Collector": version([otelcol, "--version"]) if otelcol else ABSENT,
            "parca-agent": version(["parca-agent", "--version"]), "Pyroscope": version(["pyroscope", "--version"])}


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"^(?:model name|CPU part)\s*:\s*(.*)$", file.read(), re.M)
    with open("/proc/meminfo", encoding="ascii") as file:
        kib = int(re.search(r"^MemTotal:\s*(\d+)", file.read(), re.M).group(1))
    return {"CPU": model.group(1) if model else os.uname().machine, "CPUs": os.cpu_count(), "memory": f"{kib / (1 << 20):.1f} GiB",
            "kernel": os.uname().release, "load average before": round(os.getloadavg()[0], 2), "day": time.strftime("%Y-%m-%d")}


def write(facts, programs, profilers, relays, raw):
    lines = ["# Benchmarks", "",
             "Written by `make bench-peers`" + (" with `QUICK=1`: one short round, for orientation" if bench.QUICK else "") +
             "; every single value is in [benchmarks.json](benchmarks.json). bench/README.md defines rows and loads;",
             "profilers take turns on the same load, and so do relays. docs/bench.md has what was measured at other times.", "",
             "| machine | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items()), "",
             "| program | version |", "|---|---|", *(f"| {name} | {value} |" for name, value in programs.items()), "",
             "## Profilers", "", profilers, "", "## Relays of OTLP profiles", "", relays]
    with open(os.path.join(DOCS, "benchmarks.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n")
    with open(os.path.join(DOCS, "benchmarks.json"), "w", encoding="utf-8") as file:
        json.dump({"machine": facts, "versions": programs, **raw}, file, indent=1, ensure_ascii=False)
        file.write("\n")


def main():
    facts, programs = machine(), versions()
    profilers, of_profilers = bench.measured()
    relays, of_relays = collector.measured()
    write(facts, programs, profilers, relays, {"profilers": of_profilers, "relays": of_relays})
    print(profilers, relays, sep="\n\n")


if __name__ == "__main__":
    main()
