#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exporter pyroscope against a Pyroscope in Python that refuses what the real one refuses (pyroscope_fake.py): totals,
functions and whole stacks are those of the source, whatever form it comes in, and whatever goes wrong on the way."""
import collections
import contextlib
import os
import random
import subprocess
import time

import harness
import backend
import forged
import relay
from pyroscope_fake import OldPyroscope, Pyroscope, Refused, invalid

TAP = harness.TAP
SENT = "otelcol_exporter_sent_profile_samples"
FAILED = "otelcol_exporter_send_failed_profile_samples"
DROPPED = "wick_pyroscope_dropped_samples"
PERIOD = 50_000_000
PROTOCOLS = ("otlp_http", "otlp_grpc", "push")


# ---- A source ------------------------------------------------------------------------------

class Host:
    """A request as a host profiler sends it: a resource for each process, threads and times in samples, frames without
    names; and what it says, kept beside it: by service the sum of each stack."""

    def __init__(self, seed, now=None):
        self.made, self.chance = forged.Forge(), random.Random(seed)
        self.now_ns = int((now or time.time()) * 1e9)
        self.stacks = collections.defaultdict(collections.Counter)
        self.samples = 0
        self.made.tables.mapping_table.add(filename_strindex=self.made.text("/usr/lib/libx.so"))
        self.functions = [self.made.function(f"work_{i}", f"work_{i}.c") for i in range(9)]

    def frame(self):
        """(location, its names, innermost first)."""
        pick = self.chance.randrange(10)
        if pick == 0:
            address = self.chance.randrange(0x1000, 0x1010)
            return self.made.location(address, mapping=1), (f"libx.so+{address:#x}",)
        functions = [self.chance.randrange(9) for _ in range(2 if pick == 1 else 1)]
        location = self.made.location(pick, [(self.functions[f], 10, 0) for f in functions])
        return location, tuple(f"work_{f}" for f in functions)

    def process(self, pid, program, samples, service=None, attributes=(), age=5.0, depth=5, reference=False):
        owner = self.made.data.resource_profiles.add()
        service = service or f"unknown_service:{program}"
        owner.resource.attributes.append(forged.key_value("process.pid", int_value=pid))
        if reference:
            owner.resource.attributes.add(key_strindex=self.made.text("process.executable.name")).value.string_value = program
        else:
            owner.resource.attributes.append(forged.key_value("process.executable.name", string_value=program))
        for key, value in attributes:
            owner.resource.attributes.append(forged.key_value(key, string_value=value))
        start = self.now_ns - int(age * 1e9)
        profile = owner.scope_profiles.add().profiles.add(time_unix_nano=start, duration_nano=5_000_000_000, period=PERIOD)
        profile.sample_type.CopyFrom(self.made.value_type("samples", "count"))
        profile.period_type.CopyFrom(self.made.value_type("cpu", "nanoseconds"))
        for i in range(samples):
            frames = [self.frame() for _ in range(self.chance.randrange(1, depth))]
            count = self.chance.randrange(1, 4)
            thread = self.made.attribute("thread.id", int_value=pid * 100 + i % 3)
            profile.samples.add(stack_index=self.made.stack([location for location, _ in frames]), attribute_indices=[thread],
                                timestamps_unix_nano=[start + self.chance.randrange(5_000_000_000) for _ in range(count)])
            self.stacks[service][tuple(name for _, names in frames for name in names)] += count * PERIOD
        self.samples += samples
        return self

    @property
    def raw(self):
        return self.made.data.SerializeToString()


def usual(seed=1):
    """Two processes of one program, another, and one that says what it is."""
    return (Host(seed).process(10, "app", 60).process(11, "app", 60).process(12, "other", 40, reference=True)
            .process(13, "java", 50, "shop", [("service.name", "shop"), ("k8s.pod.labels.app.kubernetes.io/name", "shop"),
                                              ("long", "x" * 5000), *((f"mine.{i}", f"{i}") for i in range(40))]))


def leaves(stacks):
    found = collections.Counter()
    for stack, value in stacks.items():
        found[stack[0]] += value
    return found


def check_contents(name, behind, host):
    """Totals, top functions, and whole stacks: three by name, then all."""
    wanted, found = sum(host.stacks.values(), collections.Counter()), behind.stacks()
    TAP.check(f"{name}: the total is the source's", sum(found.values()) == sum(wanted.values()),
              f"{sum(found.values())} of {sum(wanted.values())}")
    TAP.check(f"{name}: so are the top functions", leaves(found).most_common(5) == leaves(wanted).most_common(5))
    deep = sorted(wanted, key=lambda stack: (-len(stack), stack))[:3]
    TAP.check(f"{name}: so are three whole stacks", all(found[stack] == wanted[stack] for stack in deep))
    wrong = [service for service, stacks in host.stacks.items() if behind.stacks(service) != stacks]
    TAP.check(f"{name}: so are all, of each service", not wrong and behind.services() == set(host.stacks), str(wrong or ""))
    TAP.check(f"{name}: no frame is without a name", not behind.nameless)
    TAP.check(f"{name}: no two profiles have one series and time", not behind.doubles(), str(behind.doubles()[:1] or ""))
    TAP.check(f"{name}: nothing is broken", not behind.broken, str(behind.broken or ""))


# ---- wick between them ------------------------------------------------------------------------

@contextlib.contextmanager
def running(protocol, port, extensions=None, **options):
    """wick before that port, and a function that sends it a request."""
    own = harness.free_port()
    retry = {"initial_interval": "100ms", "max_interval": "100ms", "max_elapsed_time": "60s"}
    exporter = {"endpoint": f"http://127.0.0.1:{port}", "protocol": protocol, "retry_on_failure": retry, **options}
    config = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{own}"}}}},
              "exporters": {"pyroscope": exporter}, "extensions": extensions or {},
              "service": {"extensions": list(extensions or {}),
                          "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["pyroscope"]}}}}
    with harness.Wick(config, [own]) as wick:
        client = harness.HttpClient(own)
        yield wick, lambda host: client.send(host.raw) == 200
        client.close()


def port_of(behind, protocol):
    return behind.grpc_port if protocol == "otlp_grpc" else behind.http_port


def settled(wick, host, seconds=20):
    """Whether as many samples as came were sent or dropped."""
    def done():
        return wick.metric(SENT) + wick.metric(FAILED) == host.samples
    good = harness.wait_for(done, seconds, 0.05)
    TAP.check("every sample is accounted for", good, "" if good else
              f"sent {wick.metric(SENT)}, failed {wick.metric(FAILED)} of {host.samples}: {wick.said()[-500:]}")


def passes(name, protocol, host, failed=0, script=None, per_series=None, extensions=None, server=Pyroscope, **options):
    """The request through wick, to the fake: what it got. Of samples that were joined, a part counts as its share."""
    with server(script, per_series) as behind:
        with running(protocol, port_of(behind, protocol), extensions, **options) as (wick, send):
            TAP.check(f"{name}: wick takes it", send(host))
            settled(wick, host)
            found = wick.metric(FAILED)
            TAP.check(f"{name}: {failed} samples are dropped", abs(found - failed) <= failed // 20, f"{found:g}")
            said, metrics = wick.said(), wick.metrics()
    return behind, said, metrics


# ---- What arrives --------------------------------------------------------------------------

def contents(protocol):
    host = usual()
    behind, said, metrics = passes(protocol, protocol, host, tenant="team-a", headers={"x-mine": "1"})
    check_contents(protocol, behind, host)
    request = behind.requests[0]
    TAP.check(f"{protocol}: tenant and headers", request.headers.get("x-scope-orgid") == "team-a" and
              request.headers.get("x-mine") == "1", str(request.headers))
    if protocol == "otlp_http":
        TAP.check("otlp_http: gzip", request.encoding == "gzip")
    TAP.check(f"{protocol}: nothing is refused", not behind.refusals and "warn" not in said, str(behind.refusals or said))
    TAP.check(f"{protocol}: processes of one program are one series", len(behind.kept) == 3, str(len(behind.kept)))
    shop = next(series.labels for series in behind.kept if series.labels["service_name"] == "shop")
    TAP.check(f"{protocol}: important labels stay, cleaned",
              shop.get("service.name", "shop") == "shop" and shop.get("process.executable.name") == "java" and
              "process.pid" not in shop and len(shop["long"]) == 2048, str(sorted(shop)))
    dropped = sum(value for name, _, value in metrics if name == "wick_pyroscope_dropped_attributes")
    TAP.check(f"{protocol}: attributes that did not fit are counted", dropped == 19, f"{dropped:g}")


def large(protocol):
    """More samples and bytes than one request may have."""
    host = Host(2).process(7, "big", 40_000, depth=9).process(8, "small", 10)
    behind, _, _ = passes(f"large, {protocol}", protocol, host)
    check_contents(f"large, {protocol}", behind, host)
    most = max(len(request.raw) for request in behind.requests)
    TAP.check(f"large, {protocol}: requests are small", len(behind.requests) > 2 and most < 2 << 20,
              f"{len(behind.requests)} requests, the largest of {most} bytes")
    TAP.check(f"large, {protocol}: nothing is refused", not behind.refusals, str(behind.refusals[:1]))


def many(protocol):
    """More series than one request has."""
    host = Host(3)
    for i in range(450):
        host.process(i, f"program{i}", 3)
    behind, _, _ = passes(f"many, {protocol}", protocol, host)
    check_contents(f"many, {protocol}", behind, host)
    TAP.check(f"many, {protocol}: in three requests", len(behind.requests) == 3, str(len(behind.requests)))


def ages(protocol):
    host = Host(4).process(1, "old", 10, age=2 * 3600).process(2, "early", 7, age=-1200).process(3, "fresh", 20)
    behind, said, metrics = passes(f"ages, {protocol}", protocol, host, failed=17)
    del host.stacks["unknown_service:old"], host.stacks["unknown_service:early"]
    check_contents(f"ages, {protocol}", behind, host)
    TAP.check(f"ages, {protocol}: nothing is refused", not behind.refusals, str(behind.refusals[:1]))
    reasons = {labels["reason"]: value for name, labels, value in metrics if name == DROPPED}
    TAP.check(f"ages, {protocol}: counted by reason", reasons.get("too_old") == 10 and reasons.get("too_new") == 7, str(reasons))
    TAP.check(f"ages, {protocol}: one line says so", said.count("older than max_age") == 1, said[-300:])


def services(_):
    container = [("container.id", "0123456789abcdef"), ("k8s.container.name", "web")]
    for mode, wanted in (("unknown", {"unknown_service:app", "unknown_service:nginx"}), ("executable", {"app", "nginx"}),
                         ("container", {"app", "web"})):
        host = Host(5).process(1, "app", 5).process(2, "nginx", 5, attributes=container)
        behind, _, _ = passes(f"service_name: {mode}", "otlp_http", host, service_name=mode)
        TAP.check(f"service_name: {mode}", behind.services() == wanted, str(behind.services()))
    host = Host(6).process(1, "app", 9).process(2, "app", 9)
    behind, _, _ = passes("per_process", "otlp_http", host, per_process=True, sample_attributes=["thread.id"])
    TAP.check("per_process: a series for each", {series.labels["process.pid"] for series in behind.kept} == {"1", "2"})
    TAP.check("sample_attributes: they are kept", all(set(own) == {"thread.id"} for series in behind.kept
                                                      for _, _, own in series.samples))


# ---- What is refused ---------------------------------------------------------------------------

def refuse_other(series):
    if series.labels["service_name"] == "unknown_service:other":
        raise invalid("invalid_argument: label value is not good enough")


def one_is_bad(protocol):
    """The others were taken by the same request: they are not sent again."""
    host = usual()
    name = f"one bad series, {protocol}"
    behind, said, metrics = passes(name, protocol, host, failed=40, per_series=refuse_other)
    del host.stacks["unknown_service:other"]
    check_contents(name, behind, host)
    TAP.check(f"{name}: one request", len(behind.requests) == 1, str(len(behind.requests)))
    reasons = {labels["reason"]: value for series, labels, value in metrics if series == DROPPED}
    TAP.check(f"{name}: counted and told", abs(reasons.get("refused") - 40) <= 2 and "not good enough" in said, str(reasons) + said)


def does_not_say_which(protocol):
    """Before 2.2: what came before the bad one is sent again, to be taken for a copy; what came behind it is not lost."""
    host = usual()
    name = f"a server before 2.2, {protocol}"
    behind, said, _ = passes(name, protocol, host, failed=40, per_series=refuse_other, server=OldPyroscope)
    TAP.check(f"{name}: all others arrive", behind.services() == {"unknown_service:app", "shop"}, str(behind.services()))
    TAP.check(f"{name}: the log says why", "not good enough" in said, said[-300:])


def whole_is_refused(protocol):
    """An answer that does not say which: nothing of the request was taken, and it is cut until the bad one is alone."""
    def script(request):
        raw = backend.gzip.decompress(request.raw) if request.encoding else request.raw
        if b"program13" in raw:
            raise Refused(500, "INVALID_ARGUMENT", "failed to convert otel profile: it is the 13th")

    host = Host(8)
    for i in range(32):
        host.process(i, f"program{i}", 4)
    name = f"refused as a whole, {protocol}"
    behind, said, _ = passes(name, protocol, host, failed=4, script=script)
    del host.stacks["unknown_service:program13"]
    check_contents(name, behind, host)
    TAP.check(f"{name}: by halves", len(behind.requests) == 11, str(len(behind.requests)))
    TAP.check(f"{name}: the log says why", "13th" in said, said[-300:])


def refuses_everything(protocol):
    """It is not asked about each series of each batch."""
    def script(_):
        raise invalid("no")

    host = Host(9)
    for i in range(180):
        host.process(i, f"program{i}", 2)
    name = f"all refused, {protocol}"
    behind, _, _ = passes(name, protocol, host, failed=360, script=script)
    TAP.check(f"{name}: it gives up soon", len(behind.requests) < 140, str(len(behind.requests)))


def limited(protocol):
    """Its rate limit, twice for all and once for one series, without a word about when to come again."""
    seen = collections.Counter()

    def script(_):
        seen["requests"] += 1
        if seen["requests"] <= 2:
            raise Refused(429, "RESOURCE_EXHAUSTED", "push rate limit exceeded")

    def per_series(series):
        seen[series.labels["service_name"]] += 1
        if series.labels["service_name"] == "shop" and seen["shop"] == 1:
            raise Refused(429, "RESOURCE_EXHAUSTED", "resource_exhausted: push rate limit (4.0 MiB) exceeded")

    host = usual()
    name = f"rate limit, {protocol}"
    behind, _, _ = passes(name, protocol, host, script=script, per_series=per_series)
    check_contents(name, behind, host)
    TAP.check(f"{name}: in four requests", len(behind.requests) == 4, str(len(behind.requests)))


# ---- What goes wrong on the way ------------------------------------------------------------------

def faults(protocol):
    """Away, mute, slow, 503 and 500: it arrives, once."""
    host = usual()
    for mode in ("away", "mute"):
        name = f"{mode}, {protocol}"
        with Pyroscope() as behind, backend.Proxy(port_of(behind, protocol), mode) as proxy:
            with running(protocol, proxy.port, timeout="1s") as (wick, send):
                send(host)
                harness.wait_for(lambda: wick.metric("wick_exporter_retries") >= 2, 20, 0.05)
                proxy.set("pass")
                settled(wick, host, 30)
            check_contents(name, behind, host)
    for what, answer in (("503", Refused(503, "UNAVAILABLE", "later")), ("500", Refused(500, "UNKNOWN", "ring is empty"))):
        seen = collections.Counter()

        def script(_, seen=seen, answer=answer):
            seen["requests"] += 1
            if seen["requests"] < 3:
                raise answer

        behind, _, _ = passes(f"{what}, {protocol}", protocol, host, script=script)
        check_contents(f"{what}, {protocol}", behind, host)


def slow(protocol):
    host = usual()
    with Pyroscope() as behind:
        behind.delay = 1
        with running(protocol, port_of(behind, protocol), timeout="10s") as (wick, send):
            send(host)
            settled(wick, host)
        check_contents(f"slow, {protocol}", behind, host)


def refused(_):
    """What `wick validate` says."""
    for options, sentence in (({"endpoint": "localhost:4040"}, "it must begin with http:// or https://"),
                              ({"protocol": "zipkin"}, "protocol"), ({"tenant": "a\nb"}, "more than one line")):
        config = {"receivers": {"nop": {}}, "exporters": {"pyroscope": options},
                  "service": {"pipelines": {"profiles": {"receivers": ["nop"], "exporters": ["pyroscope"]}}}}
        with harness.tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            harness.json.dump(config, file)
            file.flush()
            found = subprocess.run([harness.WICK, "validate", f"--config={file.name}"], capture_output=True, text=True,
                                   check=False)
        TAP.check(f"validate says: {sentence}", found.returncode != 0 and sentence in found.stderr, found.stderr[-300:])
    example = os.path.join(harness.ROOT, "deploy/pyroscope.yaml")
    found = subprocess.run([harness.WICK, "validate", f"--config={example}"], capture_output=True, text=True, check=False)
    TAP.check("deploy/pyroscope.yaml is valid", found.returncode == 0, found.stderr[-300:])


def main():
    for protocol in PROTOCOLS:
        for run in (contents, large, many, ages, one_is_bad, whole_is_refused, refuses_everything, limited, faults, slow):
            relay.guarded(f"{run.__name__}, {protocol}", run, protocol)
    for protocol in ("otlp_http", "otlp_grpc"):
        relay.guarded(f"does_not_say_which, {protocol}", does_not_say_which, protocol)
    for run in (services, refused):
        relay.guarded(run.__name__, run, None)
    TAP.end()


if __name__ == "__main__":
    main()
