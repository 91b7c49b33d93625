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


def pushed(path):
    """(resource, {name: (kind, unit, [(attributes, value, start, time)])}) of the last request that its file has."""
    with open(path, encoding="utf-8") as file:
        resource = json.loads(file.read().splitlines()[-1])["resourceMetrics"][0]
    attributes = {a["key"]: a["value"]["stringValue"] for a in resource["resource"]["attributes"]}
    metrics = {}
    for metric in resource["scopeMetrics"][0]["metrics"]:
        kind = "sum" if "sum" in metric else "gauge"
        points = [({a["key"]: a["value"].get("stringValue", "") for a in point.get("attributes", [])}, point["asDouble"],
                   int(point.get("startTimeUnixNano", 0)), int(point["timeUnixNano"])) for point in metric[kind]["dataPoints"]]
        metrics[metric["name"]] = (kind, metric.get("unit", ""), points, metric[kind].get("isMonotonic"), metric[kind].get("aggregationTemporality"))
    return attributes, metrics


def check_pushed(name, path, scraped):
    """All that is scraped is sent, under OpenTelemetry's names where it is about the machine."""
    attributes, metrics = pushed(path)
    TAP.check(f"{name}: the resource says whose they are", attributes.get("service.name") == "wick" and
              attributes.get("host.name") == os.uname().nodename and attributes.get("team") == "a \"b\"", str(attributes))
    known = {found.replace(".", "_"): found for found in metrics}
    missing = {series for series, _, _ in scraped} - set(known) - {"target_info"}
    TAP.check(f"{name}: nothing that is scraped is missing", not missing, str(sorted(missing)[:5]))
    kind, unit, points, monotonic, temporality = metrics["system.cpu.time"]
    states = {p[0].get("state") for p in points}
    TAP.check(f"{name}: CPU time is a sum since boot, by state", (kind, unit, monotonic, temporality) == ("sum", "s", True, 2) and
              {"user", "idle"} <= states and all(0 < p[2] < p[3] for p in points), str(metrics["system.cpu.time"])[:300])
    kind, unit, points, *_ = metrics["system.memory.limit"]
    wanted = [value for series, _, value in scraped if series == "system_memory_limit"]
    TAP.check(f"{name}: memory is a gauge, in bytes", (kind, unit, [p[1] for p in points]) == ("gauge", "By", wanted), str(points))


def our_metrics(binary):
    """What wick tells of itself and the machine, pushed into it by both protocols."""
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder:
        path = os.path.join(folder, "metrics.json")
        grpc, http = harness.free_port(), harness.free_port()
        its = {"receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{grpc}"}, "http": {"endpoint": f"127.0.0.1:{http}"}}}},
               "exporters": {"file": {"path": path, "flush_interval": "100ms"}},
               "service": {"pipelines": {"metrics": {"receivers": ["otlp"], "exporters": ["file"]}}}}
        ways = {"http/protobuf": (f"http://127.0.0.1:{http}", "none"), "grpc": (f"http://127.0.0.1:{grpc}", "gzip")}
        for protocol, (endpoint, compression) in ways.items():
            if os.path.exists(path):
                os.remove(path)
            otlp = {"protocol": protocol, "endpoint": endpoint, "compression": compression, "headers": [{"name": "x-who", "value": "me"}]}
            ours = {"receivers": {"nop": {}}, "exporters": {"nop": {}},
                    "service": {"pipelines": {"profiles": {"receivers": ["nop"], "exporters": ["nop"]}}}}
            wick = harness.Wick(ours)
            ours["service"]["telemetry"]["resource"] = {"team": 'a "b"'}
            ours["service"]["telemetry"]["metrics"]["readers"].append({"periodic": {"interval": 300, "exporter": {"otlp": otlp}}})
            wick.write(ours)
            with wick:
                TAP.check(f"metrics, {protocol}: away, it is told", harness.wait_for(lambda: wick.metric("wick_metrics_push_failures") > 0, 20))
                with harness.Otelcol(binary, its, (grpc, http)) as collector:
                    TAP.check(f"metrics, {protocol}: back, it is sent", harness.wait_for(lambda: wick.metric("wick_metrics_pushes") > 1, 20),
                              wick.said()[-600:])
                    scraped = wick.metrics()
                    wick.stop()
                    collector.stop()
                check_pushed(f"metrics, {protocol}", path, scraped)


def main():
    binary = harness.otelcol()
    if binary:
        for between, compression, ours_first in ways():
            name = f"{'ours into its' if ours_first else 'its into ours'}, {between}, {compression}"
            relay.guarded(name, one_way, binary, name, between, compression, ours_first)
        with_tls(binary)
        relay.guarded("its file", its_file, binary)
        relay.guarded("its files, reported", its_files_reported, binary)
        relay.guarded("metrics", our_metrics, binary)
    TAP.end()


if __name__ == "__main__":
    main()
