#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what wick promises as a relay of OTLP profiles, next to the OpenTelemetry Collector in the same run, and prints a
table. It never fails because of a number. bench/README.md has the definitions.

    WICK=build/wick  ROUNDS=3  SECONDS=5  CLIENTS=4  QUICK=1 (one round of 3 s)  OTELCOL=0 (without it)
"""
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../test/collector"))
import process  # noqa: E402
import otlp  # noqa: E402

QUICK = os.environ.get("QUICK") == "1"
ROUNDS = int(os.environ.get("ROUNDS", 1 if QUICK else 3))
SECONDS = int(os.environ.get("SECONDS", 3 if QUICK else 5))
DRAIN_SECONDS = 60
CLIENTS = int(os.environ.get("CLIENTS", 4))
BUILD = os.path.join(os.environ.get("WICK_BUILD", os.path.join(process.ROOT, "build")), "bench/collector")
# Of 124 KB on average.
FILES = [os.path.join(process.PAYLOADS, f"ebpf-profiler-{load}.bin") for load in ("c", "go", "node", "python")]
RESOURCE = {"attributes": [{"key": "deployment.environment.name", "value": "bench", "action": "upsert"}]}
FILTER = {"profile_conditions": ['resource.attributes["process.executable.name"] == "of nobody"']}

# name, protocol, compression, processors ("": none; else resource and filter, and who batches), at least so many samples
# per CPU second, at least so many times otelcol, at most so many MB
SCENARIOS = [
    ("HTTP, no compression", "http", "none", "", 1_700_000, None, 90),
    ("gRPC, no compression", "grpc", "none", "", 1_700_000, None, 90),
    ("HTTP, batch + resource + filter", "http", "none", "batch", None, 4, None),
    ("gRPC, batch + resource + filter", "grpc", "none", "batch", None, 4, None),
    ("HTTP, the same, otelcol without batch", "http", "none", "ours", None, None, None),
    ("gRPC, the same, otelcol without batch", "grpc", "none", "ours", None, None, None),
    ("HTTP, resource + filter", "http", "none", "neither", None, None, None),
    ("gRPC, resource + filter", "grpc", "none", "neither", None, None, None),
    ("HTTP, gzip in and out", "http", "gzip", "", None, 1.5, None),
    ("gRPC, gzip in and out", "grpc", "gzip", "", None, 1.5, None),
]


def samples_in(path):
    """What the profiler took: one for each timestamp."""
    return sum(len(sample.get("timestampsUnixNano", [])) for owner in otlp.read(path)["resourceProfiles"]
               for scope in owner["scopeProfiles"] for profile in scope["profiles"] for sample in profile.get("samples", []))


class Sink:
    def __init__(self):
        self.port = process.free_port()
        self.run = subprocess.Popen([os.path.join(BUILD, "sink"), str(self.port)], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True)
        process.wait_for(lambda: process.listens(self.port), 5)

    def counts(self):
        """Requests, bytes, samples since its start."""
        self.run.stdin.write("\n")
        self.run.stdin.flush()
        return [int(word) for word in self.run.stdout.readline().split()]

    def settled(self, relay):
        """The counts once nothing arrives any more, and the relay does nothing: a second long."""
        last, since = None, time.monotonic()
        ends = since + DRAIN_SECONDS
        while time.monotonic() < min(since + 1, ends):
            time.sleep(0.1)
            found = self.counts(), round(relay.cpu_seconds(), 1)
            if found != last:
                last, since = found, time.monotonic()
        return last[0]

    def close(self):
        self.run.stdin.close()
        self.run.wait()


def configuration(protocol, compression, processed, ours, sink):
    port = process.free_port()
    exporter = {"compression": compression}
    if protocol == "grpc":
        exporter.update({"endpoint": f"127.0.0.1:{sink.port}", "tls": {"insecure": True}})
    else:
        exporter["endpoint"] = f"http://127.0.0.1:{sink.port}"
    name = "otlp_grpc" if protocol == "grpc" else "otlp_http"
    processors = {"resource": RESOURCE, "filter": FILTER} if processed else {}
    if processed in ("batch", "ours") and ours:
        processors["batch"] = {"send_batch_size": 8192, "timeout": "200ms"}
    elif processed == "batch":  # the other's batch processor takes no profiles
        exporter["sending_queue"] = {"batch": {"min_size": 8192, "flush_timeout": "200ms", "sizer": "items"}}
    return {"receivers": {"otlp": {"protocols": {protocol: {"endpoint": f"127.0.0.1:{port}"}}}}, "processors": processors,
            "exporters": {name: exporter},
            "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "processors": list(processors),
                                                   "exporters": [name]}}}}, port


def measure(scenario, sink, relay_of, per_file):
    """One run of one relay: samples and bytes per CPU second, peak memory, what was lost."""
    _, protocol, compression, processed, *_ = scenario
    config, port = configuration(protocol, compression, processed, relay_of is process.Wick, sink)
    relay = process.Wick(config, [port]) if relay_of is process.Wick else relay_of(config, [port])
    with relay:
        before = sink.counts()
        cpu = relay.cpu_seconds()
        sent = subprocess.run([os.path.join(BUILD, "send"), protocol, str(port), str(CLIENTS), str(SECONDS), compression, *FILES],
                              capture_output=True, text=True, check=False)
        if sent.returncode:
            raise RuntimeError(sent.stderr.strip())
        after = sink.settled(relay)
        cpu = relay.cpu_seconds() - cpu
        accepted = dict(line.rsplit(" ", 1) for line in sent.stdout.splitlines())
        samples = sum(int(accepted[path]) * per_file[path] for path in FILES)
        size = sum(int(accepted[path]) * os.path.getsize(path) for path in FILES)
        arrived = after[2] - before[2] if compression == "none" else samples
        if not processed and compression != "none":
            requests = sum(int(accepted[path]) for path in FILES)
            arrived = samples * (after[0] - before[0]) / max(1, requests)
        return {"rate": samples / cpu, "bytes": size / cpu / 1e6, "peak": relay.memory("VmHWM") / 1e6, "lost": samples - arrived,
                "refused": int(accepted["refused"]), "wall": samples / SECONDS}


def median(runs, key):
    return statistics.median(run[key] for run in runs) if runs else None


def verdict(value, target, at_least=True):
    if target is None:
        return ""
    if value is None:
        return "not measured"
    return "met" if (value >= target if at_least else value <= target) else "NOT MET"


def rows_of(scenario, ours, theirs):
    """Rows of the table: what, wick, target, met, otelcol."""
    name, _, _, _, rate, times, peak = scenario
    mine, other = median(ours, "rate"), median(theirs, "rate")
    ratio = mine / other if mine and other else None
    shown = f"{mine:,.0f} ({median(ours, 'bytes'):,.0f} MB)" if mine else "failed"
    yield [f"{name}: samples per CPU s", shown, f"≥ {rate:,}" if rate else "", verdict(mine, rate),
           f"{other:,.0f} ({median(theirs, 'bytes'):,.0f} MB)" if other else ""]
    yield ["    times otelcol", f"{ratio:.1f} ×" if ratio else "", f"≥ {times:g} ×" if times else "", verdict(ratio, times), ""]
    yield ["    peak RSS (VmHWM)", f"{median(ours, 'peak'):,.0f} MB" if mine else "", f"≤ {peak} MB" if peak else "",
           verdict(median(ours, "peak"), peak, False), f"{median(theirs, 'peak'):,.0f} MB" if other else ""]
    yield ["    samples lost / requests refused", counts(ours), "0", verdict(max((r["lost"] for r in ours), default=None), 0, False),
           counts(theirs)]


def counts(runs):
    return f"{sum(r['lost'] for r in runs):,.0f} / {sum(r['refused'] for r in runs):,}" if runs else ""


def table(rows):
    rows = [["", "wick", "target", "", "otelcol 0.159"], *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    rows.insert(1, ["-" * width for width in widths])
    heading = (f"{CLIENTS} clients, requests of {sum(map(os.path.getsize, FILES)) / len(FILES) / 1000:.0f} KB, {ROUNDS} rounds of "
               f"{SECONDS} s, {os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f}. Medians.\n\n")
    return heading + "\n".join("| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |" for row in rows)


def measured(wanted=()):
    """The table, and the runs by scenario and relay. wanted: scenarios with one of these words; none: all."""
    binary = process.otelcol() if os.environ.get("OTELCOL") != "0" else None
    scenarios = [s for s in SCENARIOS if not wanted or any(word in s[0] for word in wanted)]
    relays = {"wick": process.Wick, "otelcol": lambda config, ports: process.Otelcol(binary, config, ports)}
    per_file = {path: samples_in(path) for path in FILES}
    found = {(scenario[0], name): [] for scenario in scenarios for name in relays}
    sink = Sink()
    for number in range(ROUNDS):
        for scenario in scenarios:
            for name in relays if binary else ["wick"]:
                print(f"# round {number + 1} of {ROUNDS}: {scenario[0]}, {name}", file=sys.stderr, flush=True)
                try:
                    found[scenario[0], name].append(measure(scenario, sink, relays[name], per_file))
                except RuntimeError as error:
                    print(f"# {name}: {str(error)[-400:]}", file=sys.stderr, flush=True)
    sink.close()
    return (table([row for s in scenarios for row in rows_of(s, found[s[0], "wick"], found[s[0], "otelcol"])]),
            {f"{scenario}; {name}": runs for (scenario, name), runs in found.items()})


if __name__ == "__main__":
    print(measured(sys.argv[1:])[0])
