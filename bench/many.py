#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sampling costs where many CPUs are busy: all but two of them, with C, Python, PyTorch on the CPU, and all of these, by wick and by the
OTel eBPF profiler in turns. Prints a table with ratios and whether the targets are met. Needs root.

    WICK=build/wick  SORTER=path (built if not given)  TORCH=python3 that has torch  OTEL_PROFILER=path (else as bench.py)  ROUNDS=2  WARM=5  WINDOW=12
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("WARM", "5")
os.environ.setdefault("WINDOW", "12")
os.environ.setdefault("ROUNDS", "2")
import bench  # noqa: E402
import measure  # noqa: E402
import otel_agent  # noqa: E402

SETTLE = 20     # seconds until programs have loaded what they need
BUSY = max(1, (os.cpu_count() or 1) - 2)
BPF_RATIO, AGENT_US, RSS_MIB, WHOLE_PERCENT = 0.45, 10, 50, 99
TORCH = os.environ.get("TORCH", "python3")
TRAIN = """
import torch
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64))
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
while True:
    opt.zero_grad()
    net(torch.randn(64, 256)).square().mean().backward()
    opt.step()
"""


def loads(work):
    """{name: commands}"""
    sorter = os.environ.get("SORTER") or bench.Load(work).sorter
    kinds = {"C": [sorter], "Python": ["python3", bench.HERE + "/loads/text.py"]}
    if subprocess.run([TORCH, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
        kinds["PyTorch"] = [TORCH, "-c", TRAIN]
    found = {name: [command] * BUSY for name, command in kinds.items()}
    found["mixed"] = [list(kinds.values())[i % len(kinds)] for i in range(BUSY)]
    return found


@contextlib.contextmanager
def busy(commands):
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    try:
        time.sleep(SETTLE)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def shown(result, name):
    if result.median(name) is None:
        return "–"
    low, high = result.range(name)
    return "%.1f" % low if low == high else "%.1f–%.1f" % (low, high)


def told(value, holds):
    return "" if value is None else " met" if holds(value) else " NOT MET"


def row(name, wick, otel):
    bpf, other = wick.median("bpf_us"), otel.median("bpf_us")
    ratio = bpf / other if bpf and other else None
    return "| %s | %s / %s | %s%s | %s / %s%s | %s / %s%s | %s%s |" % (
        name, shown(wick, "bpf_us"), shown(otel, "bpf_us"), "%.2f" % ratio if ratio else "–", told(ratio, lambda r: r <= BPF_RATIO),
        shown(wick, "cpu_us"), shown(otel, "cpu_us"), told(wick.median("cpu_us"), lambda us: us <= AGENT_US),
        shown(wick, "rss_mib"), shown(otel, "rss_mib"), told(wick.median("rss_mib"), lambda mib: mib <= RSS_MIB),
        shown(wick, "whole_percent"), told(wick.median("whole_percent"), lambda percent: percent >= WHOLE_PERCENT))


def main():
    if os.geteuid():
        sys.exit("many.py: needs root (BPF statistics, profiles of all processes)")
    given = os.environ.get("OTEL_PROFILER")
    otel, reason = ([given], "") if given else otel_agent.get()
    if not otel:
        bench.progress("without the OTel profiler: " + reason)
    print("%d CPUs, %d of them busy, %d Hz, %d rounds of %g s after %g s; wick / OTel eBPF profiler\n" %
          (os.cpu_count(), BUSY, bench.HZ, bench.ROUNDS, bench.WINDOW, bench.WARM))
    print("| load | BPF µs a sample | ratio (≤ %.2f) | agent µs a sample (≤ %d) | peak RSS MiB (≤ %d) | whole %% (≥ %d) |\n|---|---|---|---|---|---|" %
          (BPF_RATIO, AGENT_US, RSS_MIB, WHOLE_PERCENT))
    with tempfile.TemporaryDirectory(prefix="wick-bench-") as work, measure.bpf_stats():
        for name, commands in loads(work).items():
            wick_result, otel_result = measure.Result(), measure.Result()
            with busy(commands):
                for number in range(bench.ROUNDS):
                    bench.progress("%s, round %d of %d" % (name, number + 1, bench.ROUNDS))
                    bench.steady_wick(work, wick_result)
                    if otel:
                        bench.steady_otel(otel, otel_result)
            print(row(name, wick_result, otel_result), flush=True)


if __name__ == "__main__":
    main()
