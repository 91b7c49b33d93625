#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One gateway and a thousand agents, which replay what real ones have sent: what each costs the gateway, and whether all arrives. wick next
to the OpenTelemetry Collector in the same run, and wick that keeps everything in its own store. It never fails because of a number.
bench/README.md has the definitions.

    WICK=build/wick  AGENTS=1000  EVERY=5  SECONDS=20  OTELCOL=0 (without it)
"""
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import collector  # noqa: E402
from collector import process  # noqa: E402

AGENTS = int(os.environ.get("AGENTS", 1000))
EVERY = int(os.environ.get("EVERY", 5))
SECONDS = int(os.environ.get("SECONDS", 20))


def keeping(folder):
    """A gateway that keeps and shows what it takes."""
    port = process.free_port()
    return {"receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"store": {"path": folder, "max_size_mib": 4096}}, "extensions": {"page": {"endpoint": f"127.0.0.1:{process.free_port()}"}},
            "service": {"extensions": ["page"],
                        "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}, port


def settled(relay):
    """Once it does nothing any more, a second long."""
    last, since = relay.cpu_seconds(), time.monotonic()
    while time.monotonic() < since + 1:
        time.sleep(0.1)
        if relay.cpu_seconds() - last > 0.05:
            last, since = relay.cpu_seconds(), time.monotonic()


def send(port):
    sent = subprocess.run([os.path.join(collector.BUILD, "send"), "grpc", str(port), f"{AGENTS}/{EVERY}", str(SECONDS), "none", *collector.FILES],
                          capture_output=True, text=True, check=False)
    if sent.returncode:
        raise RuntimeError(sent.stderr.strip())
    said = dict(line.rsplit(" ", 1) for line in sent.stdout.splitlines())
    return {name: int(count) for name, count in said.items()}


def samples_lost(relay):
    """Of a gateway that keeps what it takes: by its own count."""
    return int(relay.metric("otelcol_receiver_accepted_profile_samples") - relay.metric("otelcol_exporter_sent_profile_samples"))


def measure(relay, port, per_file, sink=None):
    """What the agents cost: CPU until all that they have sent is out of the gateway's hands."""
    with relay:
        time.sleep(1)
        idle, cpu = relay.memory("VmRSS") / 1e6, relay.cpu_seconds()
        before = sink.counts() if sink else None
        said = send(port)
        after = sink.settled(relay) if sink else settled(relay)
        samples = sum(said[path] * per_file[path] for path in collector.FILES)
        size = sum(said[path] * os.path.getsize(path) for path in collector.FILES)
        requests = sum(said[path] for path in collector.FILES)
        peak = relay.memory("VmHWM") / 1e6
        return {"cpu": (relay.cpu_seconds() - cpu) / SECONDS, "idle": idle, "peak": peak, "requests": requests, "mb": size / 1e6,
                "samples": samples, "refused": said["refused"], "lost": samples - (after[2] - before[2]) if sink else samples_lost(relay)}


def shown(found):
    if not found:
        return [""] * 6
    return [f"{found['requests'] / SECONDS:,.0f} requests, {found['mb'] / SECONDS:,.0f} MB, {found['samples'] / SECONDS:,.0f} samples a second",
            f"{found['cpu'] * 100:.0f} % of a CPU", f"{found['cpu'] * 1e6 / AGENTS:,.0f} µs a second",
            f"{found['idle']:.0f} → {found['peak']:.0f} MB", f"{(found['peak'] - found['idle']) * 1e3 / AGENTS:.0f} kB",
            f"{found['lost']:,} / {found['refused']:,}"]


def show(columns):
    names = ["what came", "CPU time", "    for each agent", "memory, idle → peak", "    for each agent", "samples lost / requests refused"]
    table = [["", *columns], *([name, *cells] for name, *cells in zip(names, *(shown(found) for found in columns.values())))]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    table.insert(1, ["-" * width for width in widths])
    print(f"{AGENTS:,} agents, each with a connection of its own, by gRPC, every {EVERY} s a tenth more or less, {SECONDS} s, {os.cpu_count()} CPUs, "
          f"load average {os.getloadavg()[0]:.1f}.\n")
    for row in table:
        print("| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |")


def attempt(title, columns, make):
    print(f"# {title}", file=sys.stderr, flush=True)
    try:
        columns[title] = make()
    except RuntimeError as error:
        columns[title] = None
        print(f"# {title}: {str(error)[-400:]}", file=sys.stderr, flush=True)


def main():
    per_file = {path: collector.samples_in(path) for path in collector.FILES}
    columns, sink = {}, collector.Sink()
    binary = process.otelcol() if os.environ.get("OTELCOL") != "0" else None

    def relayed(relay_of):
        config, port = collector.configuration("grpc", "none", "", relay_of is process.Wick, sink)
        return measure(relay_of(config, [port]), port, per_file, sink)

    attempt("wick, sends on", columns, lambda: relayed(process.Wick))
    if binary:
        attempt("otelcol 0.159, sends on", columns, lambda: relayed(lambda config, ports: process.Otelcol(binary, config, ports)))

    def kept():
        config, port = keeping("store")
        return measure(process.Wick(config, [port]), port, per_file)

    attempt("wick, keeps and shows", columns, kept)
    sink.close()
    show(columns)


if __name__ == "__main__":
    main()
