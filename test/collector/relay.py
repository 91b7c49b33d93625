#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests of the OpenTelemetry eBPF profiler, and one with every field there is, through `wick --config`: otlp in, otlp
out, by gRPC and HTTP, protobuf and JSON, with each compression. Every sample, stack, attribute, link and timestamp must be
equal, as opentelemetry-proto decodes both sides."""
import collections
import json
import os

import harness
import backend
import canonical
import forged

TAP = harness.TAP
REQUESTS = {name: harness.payload(name) for name in harness.payload_names()}
REQUESTS["everything"] = forged.everything()

EXPORTERS = {
    "grpc": lambda b: ("otlp", {"endpoint": f"127.0.0.1:{b.grpc_port}", "tls": {"insecure": True}}),
    "http": lambda b: ("otlphttp", {"endpoint": f"http://127.0.0.1:{b.http_port}"}),
    "json": lambda b: ("otlphttp/json", {"endpoint": f"http://127.0.0.1:{b.http_port}", "encoding": "json"}),
}


def configuration(behind, out, compression="none", processors=None, exporter=None):
    """(configuration, grpc port, http port): otlp to one exporter."""
    ports = harness.free_port(), harness.free_port()
    name, options = EXPORTERS[out](behind)
    options.update({"compression": compression, **(exporter or {})})
    config = {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{ports[0]}"},
                                             "http": {"endpoint": f"127.0.0.1:{ports[1]}"}}}},
        "processors": processors or {},
        "exporters": {name: options},
        "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "processors": list(processors or {}),
                                               "exporters": [name]}}},
    }
    return config, *ports


def client(into, ports, compression):
    if into == "grpc":
        return harness.GrpcClient(ports[0], compression)
    kind = "application/json" if into == "json" else "application/x-protobuf"
    return harness.HttpClient(ports[1], compression, kind)


def send(into, ports, compression, requests):
    """The statuses of all of them, in order."""
    sender = client(into, ports, compression)
    raw = [canonical.to_json(canonical.parse(r)).encode() if into == "json" else r for r in requests]
    found = [sender.send(r) for r in raw]
    sender.close()
    return found


def arrived(behind, total, seconds=20):
    """Waits until so many samples are there; all requests, parsed."""
    harness.wait_for(lambda: sum(map(canonical.count, behind.data())) >= total, seconds, 0.2)
    return behind.data()


def multiset(of, requests, **keywords):
    return sum((of(data, **keywords) for data in requests), collections.Counter())


def passes(name, into, out, compressions):
    """All requests through one process; without processors each arrives as one request."""
    with backend.Backend() as behind:
        config, *ports = configuration(behind, out, compressions[1])
        with harness.Wick(config, ports) as wick:
            sent = [canonical.parse(raw) for raw in REQUESTS.values()]
            statuses = send(into, ports, compressions[0], REQUESTS.values())
            TAP.check(f"{name}: accepted", all(s in ("OK", 200) for s in statuses), str(set(map(str, statuses))))
            found = arrived(behind, sum(map(canonical.count, sent)))
            for what, of in (("samples", canonical.samples), ("profiles", canonical.profiles)):
                wrong = canonical.difference(multiset(of, sent), multiset(of, found))
                TAP.check(f"{name}: {what} are equal", not wrong, wrong)
            TAP.check(f"{name}: compressed as told", encodings(behind, out, compressions[1]))
            TAP.check(f"{name}: counted", counted(wick, sum(map(canonical.count, sent))))
            TAP.check(f"{name}: ends well", *ended(wick))


def ended(wick):
    """Whether SIGTERM ends it well, and what it said if not."""
    good = wick.stop() == 0
    return good, "" if good else wick.said()[-500:]


def encodings(behind, out, compression):
    """grpcio hides the encoding of a message, so only HTTP can tell."""
    wanted = "" if compression == "none" else compression
    return out == "grpc" or all(request.encoding == wanted for request in behind.requests)


def counted(wick, total):
    return harness.wait_for(lambda: wick.metric("otelcol_receiver_accepted_profile_samples") == total
                            and wick.metric("otelcol_exporter_sent_profile_samples") == total, 5)


def ways():
    yield "gRPC to gRPC", "grpc", "grpc", ("none", "none")
    yield "gRPC to gRPC, gzip", "grpc", "grpc", ("gzip", "gzip")
    yield "gRPC to HTTP", "grpc", "http", ("none", "none")
    yield "HTTP to HTTP", "http", "http", ("none", "none")
    yield "HTTP to HTTP, gzip", "http", "http", ("gzip", "gzip")
    yield "HTTP to HTTP, zstd", "http", "http", ("zstd", "zstd")
    yield "HTTP to gRPC, zstd", "http", "grpc", ("zstd", "none")
    yield "JSON to gRPC", "json", "grpc", ("none", "none")
    yield "JSON to JSON, gzip", "json", "json", ("gzip", "gzip")
    yield "gRPC to JSON", "grpc", "json", ("gzip", "none")


def older_numbering(version):
    """What senders of an older protocol send arrives in the current numbering. Without values or links a request does not tell
    its age, so only what has them is tried."""
    with backend.Backend() as behind:
        config, *ports = configuration(behind, "grpc")
        with harness.Wick(config, ports):
            sent = canonical.parse(REQUESTS["everything"])
            statuses = send("http", ports, "none", [forged.older(sent, version)])
            found = arrived(behind, canonical.count(sent))
            wrong = canonical.difference(canonical.samples(sent), multiset(canonical.samples, found))
            TAP.check(f"numbering of {version}: samples are equal", not wrong, f"{statuses} {wrong}" if wrong else "")


# ---- With processors ---------------------------------------------------------------

def through(name, processors, expected, exporter=None, fewer=False):
    """All requests, from both protocols, through processors: what arrives is what expected() makes of what was sent."""
    with backend.Backend() as behind:
        config, *ports = configuration(behind, "grpc", "none", processors, exporter)
        with harness.Wick(config, ports) as wick:
            sent = [canonical.parse(raw) for raw in REQUESTS.values()]
            statuses = send("grpc", ports, "none", REQUESTS.values()) + send("http", ports, "gzip", REQUESTS.values())
            TAP.check(f"{name}: accepted", all(s in ("OK", 200) for s in statuses), str(set(map(str, statuses))))
            wanted = multiset(canonical.samples, [expected(data) for data in sent + sent])
            found = arrived(behind, sum(wanted.values()))
            wrong = canonical.difference(wanted, multiset(canonical.samples, found))
            TAP.check(f"{name}: samples are as they should be", not wrong, wrong)
            if fewer:
                TAP.check(f"{name}: requests became fewer", len(found) < len(statuses), f"{len(statuses)} to {len(found)}")
            TAP.check(f"{name}: ends well", *ended(wick))


def unchanged(data):
    return data


def with_resource(data):
    """What the resource processor below does; keys may be references."""
    strings = data.dictionary.string_table
    for owner in data.resource_profiles:
        pairs = owner.resource.attributes
        for i in reversed(range(len(pairs))):
            if (pairs[i].key or strings[pairs[i].key_strindex]) in ("process.executable.name", "added"):
                del pairs[i]
        pairs.append(forged.key_value("added", string_value="by test"))
    return data


def without_filtered(data):
    """What the filter processor below does."""
    types, spelling = data.dictionary.string_table, canonical.Spelling(data)
    for owner in data.resource_profiles:
        named = any(("process.executable.name", "('string_value', 'compile')") == pair
                    for pair in spelling.pairs(owner.resource.attributes))
        for scoped in owner.scope_profiles:
            for i in reversed(range(len(scoped.profiles))):
                if named or types[scoped.profiles[i].sample_type.type_strindex] == "type1":
                    del scoped.profiles[i]
    return data


RESOURCE = {"attributes": [{"key": "added", "value": "by test", "action": "upsert"},
                           {"key": "process.executable.name", "action": "delete"}]}
FILTER = {"profile_conditions": ['resource.attributes["process.executable.name"] == "compile"',
                                 'profile.sample_type.type == "type1"']}
BATCH = {"send_batch_size": 2000, "timeout": "1s"}


PROCESSED = {
    "batch": ({"batch": BATCH}, unchanged, None, True),
    "batch, split": ({"batch": {"send_batch_size": 300, "send_batch_max_size": 300, "timeout": "500ms"}}, unchanged),
    "sending_queue.batch": ({}, unchanged, {"sending_queue": {"batch": {"flush_timeout": "1s", "min_size": 2000,
                                                                        "sizer": "items"}}}, True),
    "resource": ({"resource": RESOURCE}, with_resource),
    "filter": ({"filter": FILTER}, without_filtered),
    "memory_limiter, filter, resource, batch": (
        {"memory_limiter": {"check_interval": "1s", "limit_mib": 500}, "filter": FILTER, "resource": RESOURCE,
         "batch": BATCH}, lambda data: with_resource(without_filtered(data))),
}


# ---- Files ---------------------------------------------------------------------------

def read_file(path, proto):
    with open(path, "rb") as file:
        raw = file.read()
    if not proto:
        return [canonical.parse_json(line) for line in raw.splitlines()]
    found = []
    while raw:
        length = int.from_bytes(raw[:4], "big")
        found.append(canonical.parse(raw[4:4 + length]))
        raw = raw[4 + length:]
    return found


def through_file(form):
    """The file exporter's output: as opentelemetry-proto reads it, and by way of otlp_json_file into a second process."""
    with backend.Backend() as behind:
        config, *ports = configuration(behind, "grpc")
        with harness.Wick(config, ports) as wick:
            path = os.path.join(wick.folder, "out")
            wick.stop()
            config["exporters"]["file"] = {"path": path, "format": form, "flush_interval": "100ms"}
            config["service"]["pipelines"]["profiles"]["exporters"] = ["file"]
            wick.write(config)
            wick.start()
            sent = [canonical.parse(raw) for raw in REQUESTS.values()]
            send("grpc", ports, "none", REQUESTS.values())
            TAP.check(f"file, {form}: ends well", *ended(wick))
            wrong = canonical.difference(multiset(canonical.samples, sent),
                                         multiset(canonical.samples, read_file(path, form == "proto")))
            TAP.check(f"file, {form}: opentelemetry-proto reads the same samples", not wrong, wrong)
            if form == "json":
                from_file(path, sent)


def from_file(path, sent, name="otlp_json_file"):
    with backend.Backend() as behind:
        config, *_ = configuration(behind, "http")
        config["receivers"] = {"otlp_json_file": {"include": [path], "start_at": "beginning"}}
        config["service"]["pipelines"]["profiles"]["receivers"] = ["otlp_json_file"]
        with harness.Wick(config):
            found = arrived(behind, sum(map(canonical.count, sent)))
            wrong = canonical.difference(multiset(canonical.samples, sent), multiset(canonical.samples, found))
            TAP.check(f"{name}: the same samples come out of the file", not wrong, wrong)


def guarded(name, run, *arguments):
    """A process that does not start is one failure, and the rest is tried all the same."""
    try:
        run(*arguments)
    except (RuntimeError, OSError, json.JSONDecodeError) as error:
        TAP.check(name, False, str(error))


def main():
    for way in ways():
        guarded(way[0], passes, *way)
    for version in ("1.8", "1.9"):
        guarded(f"numbering of {version}", older_numbering, version)
    for name, how in PROCESSED.items():
        guarded(name, through, name, *how)
    for form in ("json", "proto"):
        guarded(f"file, {form}", through_file, form)
    TAP.end()


if __name__ == "__main__":
    main()
