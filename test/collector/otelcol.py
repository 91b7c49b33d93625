#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The OpenTelemetry Collector on both sides: its exporters into our receivers, ours into its, its files into ours. Every
sample, stack, attribute, link and timestamp must come out as it went in."""
import contextlib
import json
import os
import subprocess
import tempfile

import harness
import backend
import canonical
import clients
import relay

TAP = harness.TAP


def check_through(name, first, second, behind, ports, into):
    """All requests into the first of two; what the backend behind the second got."""
    sent = [canonical.parse(raw) for raw in relay.REQUESTS.values()]
    statuses = relay.send(into, ports, "none", relay.REQUESTS.values())
    found = relay.arrived(behind, sum(map(canonical.count, sent)))
    wrong = canonical.difference(relay.multiset(canonical.samples, sent), relay.multiset(canonical.samples, found))
    if not TAP.check(f"{name}: samples are equal", not wrong and all(s in ("OK", 200) for s in statuses), wrong):
        TAP.note(f"{set(map(str, statuses))}\n{first.said()[-600:]}\n{second.said()[-600:]}")


class Next:
    """The ports of the one that is next, as relay.configuration() wants them."""

    def __init__(self, ports):
        self.grpc_port, self.http_port = ports


def add_tls(folder, receiving, sending):
    """Certificates on both sides of the hop between two configurations."""
    def files(name, authority):
        return {"cert_file": os.path.join(folder, f"{name}.pem"), "key_file": os.path.join(folder, f"{name}.key"),
                authority: os.path.join(folder, "ca.pem")}

    for protocol in receiving["receivers"]["otlp"]["protocols"].values():
        protocol["tls"] = files("server", "client_ca_file")
    for exporter in sending["exporters"].values():
        exporter["tls"] = files("client", "ca_file")
        exporter["endpoint"] = exporter["endpoint"].replace("http://", "https://").replace("127.0.0.1", "localhost")


@contextlib.contextmanager
def chain(binary, ours_first, between, compression, folder=None):
    """client -> first -> second -> backend, one of the two being the Collector; with TLS if there are certificates."""
    with backend.Backend() as behind, contextlib.ExitStack() as stack:
        def run(config, ports, ours):
            return stack.enter_context(harness.Wick(config, ports) if ours else harness.Otelcol(binary, config, ports))

        receiving, *inner = relay.configuration(behind, "grpc")
        sending, *ports = relay.configuration(Next(inner), between, compression)
        if folder:
            add_tls(folder, receiving, sending)
        second = run(receiving, inner, not ours_first)
        yield run(sending, ports, ours_first), second, behind, ports


def ways():
    for between, compression in (("grpc", "none"), ("grpc", "gzip"), ("grpc", "zstd"), ("http", "none"), ("http", "gzip"),
                                 ("http", "zstd"), ("json", "gzip")):
        for ours_first in (False, True):
            yield between, compression, ours_first


def one_way(binary, name, between, compression, ours_first, folder=None):
    with chain(binary, ours_first, between, compression, folder) as (first, second, behind, ports):
        check_through(name, first, second, behind, ports, "http" if between == "grpc" else "grpc")


def with_tls(binary):
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder:
        clients.make_certificates(folder)
        for between in ("grpc", "http"):
            for ours_first in (False, True):
                name = f"{'ours into its' if ours_first else 'its into ours'}, {between}, mTLS"
                relay.guarded(name, one_way, binary, name, between, "gzip", ours_first, folder)


def its_files_reported(binary):
    """What its file exporter writes in each of its ways, read by wick report: the same sum as of the requests."""
    ways = {"json": {}, "proto": {"format": "proto"}, "json.zst": {"compression": "zstd"},
            "proto.zst": {"format": "proto", "compression": "zstd"}}
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder, backend.Backend() as behind:
        config, *ports = relay.configuration(behind, "grpc")
        config["exporters"] = {f"file/{name}": {"path": os.path.join(folder, name), "flush_interval": "100ms", **options}
                               for name, options in ways.items()}
        config["service"]["pipelines"]["profiles"]["exporters"] = list(config["exporters"])
        raw = relay.REQUESTS["ebpf-profiler-c"]
        with harness.Otelcol(binary, config, ports) as collector:
            relay.send("http", ports, "none", [raw, raw])
            collector.stop()
        with open(os.path.join(folder, "one.otlp"), "wb") as file:
            file.write(raw)
        want = 2 * reported(os.path.join(folder, "one.otlp"))
        for name in ways:
            got = reported(os.path.join(folder, name))
            TAP.check(f"wick report of its file: {name}", got == want and want, f"{got}, sent {want}")


def reported(path):
    done = subprocess.run([harness.WICK, "report", "--json", path], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["total"] if done.returncode == 0 else done.stderr


def its_file(binary):
    """What its file exporter writes, read by otlp_json_file. It has references to the string table."""
    name = "its file into otlp_json_file"
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder, backend.Backend() as behind:
        path = os.path.join(folder, "out.json")
        config, *ports = relay.configuration(behind, "grpc")
        config["exporters"] = {"file": {"path": path, "flush_interval": "100ms"}}
        config["service"]["pipelines"]["profiles"]["exporters"] = ["file"]
        sent = [canonical.parse(raw) for raw in relay.REQUESTS.values()]
        with harness.Otelcol(binary, config, ports) as collector:
            relay.send("grpc", ports, "none", relay.REQUESTS.values())
            collector.stop()
        relay.from_file(path, sent, name)


def main():
    binary = harness.otelcol()
    if binary:
        for between, compression, ours_first in ways():
            name = f"{'ours into its' if ours_first else 'its into ours'}, {between}, {compression}"
            relay.guarded(name, one_way, binary, name, between, compression, ours_first)
        with_tls(binary)
        relay.guarded("its file", its_file, binary)
        relay.guarded("its files, reported", its_files_reported, binary)
    TAP.end()


if __name__ == "__main__":
    main()
