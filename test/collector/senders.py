#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Foreign senders into the port of the page: requests that the OTel eBPF profiler made, over gRPC as it sends them, and the
OpenTelemetry Collector's exporters. What the page's API tells must be exactly what was in the requests."""
import collections
import json
import os
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

import harness
import canonical
import store_faults

TAP = harness.TAP
# All that the Collector can send.
COMPRESSIONS = {"grpc": ("none", "gzip", "snappy", "zstd"),
                "http": ("none", "gzip", "zlib", "deflate", "snappy", "x-snappy-framed", "zstd", "lz4")}
NAMES = [name for name in harness.payload_names() if name.startswith("ebpf-profiler")]


def configuration(port, directory):
    """One port for the page and for OTLP, as wick alone has it, but without watching this machine."""
    config = store_faults.configuration(port, directory)
    config["receivers"]["otlp"]["protocols"]["grpc"] = {"endpoint": f"127.0.0.1:{port}"}
    return config


class Page(harness.Wick):
    def __init__(self, directory):
        self.port = harness.free_port()
        super().__init__(configuration(self.port, directory), (self.port,))

    def start(self):
        super().start()
        harness.wait_for(lambda: harness.HttpClient(self.port).send(b"") == 200, harness.START_SECONDS)
        return self

    def ask(self, name, **query):
        now = time.time()
        query = {"from": now - 8 * 86400, "to": now + 600, **query}    # they were recorded at some time
        url = f"http://127.0.0.1:{self.port}/api/v1/{name}?" + urllib.parse.urlencode(query)
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)


def weight(sample):
    return sum(sample.values) if sample.values else len(sample.timestamps_unix_nano)


def expected(requests):
    """The total of all samples, and of each thread's name."""
    total, threads = 0, collections.Counter()
    for request in requests:
        tables = request.dictionary
        names = {index: attribute.value.string_value for index, attribute in enumerate(tables.attribute_table)
                 if tables.string_table[attribute.key_strindex] == "thread.name"}
        for resource in request.resource_profiles:
            for scope in resource.scope_profiles:
                for profile in scope.profiles:
                    for sample in profile.samples:
                        name = next((names[i] for i in sample.attribute_indices if i in names), "")
                        total += weight(sample)
                        threads[name] += weight(sample)
    return total, threads


def check(name, page, requests):
    total, threads = expected(requests)
    harness.wait_for(lambda: page.ask("top", rows=1)["total"] >= total, 30, 0.2)
    flame, found = page.ask("flame"), dict(map(tuple, page.ask("values", label="thread", max=100000)))
    good = flame["total"] == total and found == dict(threads)
    TAP.check(f"{name}: the page tells exactly of {total} samples in {len(threads)} threads", good,
              "" if good else f"{flame['total']}; {dict(collections.Counter(found) - threads)}")


def parsed(names):
    return [canonical.parse(harness.payload(name)) for name in names]


def replay(names):
    """As `ebpf-profiler -collection-agent=HOST:11000 -disable-tls` does."""
    with tempfile.TemporaryDirectory() as folder, Page(os.path.join(folder, "store")) as page:
        client = harness.GrpcClient(page.port)
        statuses = {client.send(harness.payload(name)) for name in names}
        TAP.check("the profiler's requests are taken over gRPC", statuses == {"OK"}, statuses)
        client.close()
        check("replay over gRPC", page, parsed(names))


class Agent:
    """`wick FLAGS` on a machine of that name."""

    def __init__(self, host, *flags):
        self.command = ["unshare", "--uts", "sh", "-c", f'hostname {host} && exec "$0" "$@"', harness.WICK, *flags,
                        "--set=service.telemetry.metrics.level=none"]     # two on one machine: there is one port for them

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.said = self.process.communicate(timeout=30)[1]


def values(page, label):
    return {value for value, _ in page.ask("values", label=label, max=1000)}


def fleet(name):
    """Agents with the short flags: each is a host of its own. A sender that does not say who it is, is nobody."""
    if os.geteuid():
        TAP.skip("agents of a fleet", "needs root to load BPF programs")
        return
    with tempfile.TemporaryDirectory() as folder, Page(os.path.join(folder, "store")) as page:
        to = f"127.0.0.1:{page.port}"
        with Agent("agent-a", f"-collection-agent={to}", "-disable-tls", "-reporter-interval=1s", "-samples-per-second=97") as one, \
             Agent("agent-b", "--enable-profiling-otlp", f"--profiling-otlp-endpoint={to}", "--profiling-otlp-insecure",
                   "--profiling-interval=1") as two:
            harness.wait_for(lambda: len(values(page, "host")) >= 2, 30, 0.5)
        if not TAP.check("agents with short flags say who they are", values(page, "host") == {"agent-a", "agent-b"},
                         values(page, "host")):
            TAP.note(one.said + two.said)
        client = harness.HttpClient(page.port)
        TAP.check("a sender that does not say its host is taken", client.send(harness.payload(name)) == 200)
        client.close()
        harness.wait_for(lambda: len(values(page, "host")) >= 3, 30, 0.5)
        TAP.check("... and filed under no host of ours", values(page, "host") == {"agent-a", "agent-b", "unknown"},
                  values(page, "host"))


def through_collector(binary, protocol, names, compression="gzip"):
    """client -> the Collector -> the page."""
    exporter = {"grpc": ("otlp_grpc", "127.0.0.1:{}"), "http": ("otlp_http", "http://127.0.0.1:{}")}[protocol]
    with tempfile.TemporaryDirectory() as folder, Page(os.path.join(folder, "store")) as page:
        port = harness.free_port()
        config = {"receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}"}}}},
                  "exporters": {exporter[0]: {"endpoint": exporter[1].format(page.port), "tls": {"insecure": True},
                                            "compression": compression}},
                  "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": [exporter[0]]}}}}
        with harness.Otelcol(binary, config, (port,)):
            client = harness.GrpcClient(port)
            statuses = {client.send(harness.payload(name)) for name in names}
            client.close()
            TAP.check(f"the Collector takes them to send on over {protocol}, {compression}", statuses == {"OK"}, statuses)
            check(f"the Collector over {protocol}, {compression}", page, parsed(names))


def main():
    replay(NAMES)
    fleet(NAMES[0])
    binary = harness.otelcol()
    if binary:
        for protocol, compressions in COMPRESSIONS.items():
            for compression in compressions:
                through_collector(binary, protocol, NAMES, compression)
    TAP.end()


if __name__ == "__main__":
    main()
