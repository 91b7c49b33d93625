#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Backends that are away, slow, mute, reset connections or answer with every code there is, and a wick that is killed: what
was accepted arrives if the queue can hold it, what does not is counted, one by one.

failures.py [--full] [NAME...]: --full has the backend away for 60 s, and kills more often.
"""
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import harness
import backend
import canonical
import forged
import relay
from backend import Answer

TAP = harness.TAP
FULL = "--full" in sys.argv
SAMPLES = 20
RETRY = {"initial_interval": "100ms", "max_interval": "500ms", "max_elapsed_time": "0s"}
SENT = "otelcol_exporter_sent_profile_samples"
SEND_FAILED = "otelcol_exporter_send_failed_profile_samples"
ENQUEUE_FAILED = "otelcol_exporter_enqueue_failed_profile_samples"
REFUSED = "otelcol_receiver_refused_profile_samples"


class Load:
    """Batches with names, and what became of each: accepted or refused."""

    def __init__(self, port, prefix="b", samples=SAMPLES, padding=0):
        self.client, self.prefix, self.samples, self.padding = harness.GrpcClient(port), prefix, samples, padding
        self.accepted, self.refused, self.unknown, self.codes = [], [], [], set()
        self.made = {}

    def send(self, count=1):
        for _ in range(count):
            name = f"{self.prefix}{len(self.made)}"
            raw = forged.small(name, self.samples, self.padding)
            self.made[name] = backend.contents_of(canonical.parse(raw))[name]
            code = self.client.send(raw, 10)
            self.codes.add(code)
            # Without an answer nobody knows: it may arrive.
            unknown = code != "OK" and not self.client.trailers and "wick" not in (self.client.text or "") and code in (
                "UNAVAILABLE", "DEADLINE_EXCEEDED", "UNKNOWN", "INTERNAL")
            (self.accepted if code == "OK" else self.unknown if unknown else self.refused).append(name)
        return self

    def close(self):
        self.client.close()


def config_for(proxy, out, queue=None, retry=None, exporter=None, extensions=None):
    """(configuration, grpc port): otlp to an exporter behind the proxy."""
    port = harness.free_port()
    name, options = ("otlp", {"endpoint": f"127.0.0.1:{proxy.port}", "tls": {"insecure": True}}) if out == "grpc" else (
        "otlphttp", {"endpoint": f"http://127.0.0.1:{proxy.port}"})
    options.update({"compression": "none", "retry_on_failure": {**RETRY, **(retry or {})}, "sending_queue": queue or {},
                    **(exporter or {})})
    config = {"receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}"}}}},
              "exporters": {name: options}, "extensions": extensions or {},
              "service": {"extensions": list(extensions or {}),
                          "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": [name]}}}}
    return config, port


@contextlib.contextmanager
def scene(out, mode="pass", script=None, cut=None, **keywords):
    """A backend, a proxy before it, wick, and a load for it."""
    with backend.Backend(script, remember=False) as behind:
        target = behind.grpc_port if out == "grpc" else behind.http_port
        with backend.Proxy(target, mode, cut) as proxy:
            config, port = config_for(proxy, out, **keywords)
            with harness.Wick(config, [port]) as wick:
                load = Load(port)
                try:
                    yield behind, proxy, wick, load
                finally:
                    load.close()


def check_delivery(name, behind, load, seconds=30, exactly_once=False):
    """All that was accepted is there, as it was sent."""
    behind.wait(load.accepted, seconds)
    missing = [batch for batch in load.accepted if not behind.delivered[batch]]
    TAP.check(f"{name}: all that was accepted arrived", not missing and load.accepted,
              f"{len(load.accepted) - len(missing)} of {len(load.accepted)}")
    wrong = [batch for batch, found in behind.contents.items() if set(found) != {load.made.get(batch)}]
    TAP.check(f"{name}: nothing arrived broken", not wrong and not behind.broken, f"{(wrong + behind.broken)[:3] or ''}")
    if exactly_once:
        twice = [batch for batch, count in behind.delivered.items() if count > 1]
        TAP.check(f"{name}: nothing arrived twice", not twice, f"{twice[:5] or ''}")


def check_metric(name, wick, metric, wanted):
    harness.wait_for(lambda: wick.metric(metric) == wanted, 5, 0.1)
    found = wick.metric(metric)
    TAP.check(f"{name}: {metric} is {wanted}", found == wanted, "" if found == wanted else f"it is {found:g}")


# ---- A backend that is not there ---------------------------------------------------

def away(out):
    """For 60 s (10 s in short runs): nothing is lost, nothing is sent twice."""
    name = f"away, {out}"
    with scene(out, "away", queue={"queue_size": 5000}) as (behind, proxy, wick, load):
        ends = time.monotonic() + (60 if FULL else 8)
        while time.monotonic() < ends:
            load.send(5)
            time.sleep(0.2)
        TAP.check(f"{name}: the queue took everything", load.codes == {"OK"}, str(load.codes))
        proxy.set("pass")
        check_delivery(name, behind, load, exactly_once=True)
        check_metric(name, wick, SENT, SAMPLES * len(load.made))
        check_metric(name, wick, ENQUEUE_FAILED, 0)
        check_metric(name, wick, SEND_FAILED, 0)


def full_queue(out):
    """A mute backend and a queue of 5: the rest is refused, and the counters say exactly how many."""
    name = f"full queue, {out}"
    with scene(out, "mute", queue={"queue_size": 5, "num_consumers": 1}, exporter={"timeout": "60s"}) as (
            behind, proxy, wick, load):
        load.send(40)
        TAP.check(f"{name}: about five were taken", 5 <= len(load.accepted) <= 7, f"{len(load.accepted)} of 40, {load.codes}")
        check_metric(name, wick, ENQUEUE_FAILED, SAMPLES * (len(load.refused) + len(load.unknown)))
        check_metric(name, wick, "otelcol_exporter_queue_capacity", 5)
        proxy.set("pass")
        check_delivery(name, behind, load, exactly_once=True)
        check_metric(name, wick, SENT, SAMPLES * len(load.accepted))


def gives_up(out):
    """max_elapsed_time passes: what was accepted is dropped and counted."""
    name = f"gives up, {out}"
    with scene(out, "away", retry={"max_elapsed_time": "1s"}) as (behind, _, wick, load):
        load.send(10)
        harness.wait_for(lambda: wick.metric(SEND_FAILED) == 10 * SAMPLES, 15, 0.2)
        check_metric(name, wick, SEND_FAILED, 10 * SAMPLES)
        check_metric(name, wick, SENT, 0)
        TAP.check(f"{name}: nothing arrived", not behind.delivered)


def bounded_memory(_):
    """A queue bounded in bytes, and four times as much for it."""
    name = "memory while the backend is away"
    queue = {"sizer": "bytes", "queue_size": 16 << 20}
    with scene("grpc", "away", queue=queue) as (behind, proxy, wick, load):
        load.padding = 1 << 20
        load.send(60)
        refused = len(load.refused) + len(load.unknown)
        TAP.check(f"{name}: the queue is bounded by bytes", 10 <= len(load.accepted) <= 20, f"{len(load.accepted)} MB of 60")
        check_metric(name, wick, ENQUEUE_FAILED, SAMPLES * refused)
        peak = wick.memory("VmHWM") >> 20
        TAP.check(f"{name}: at most 90 MB", peak <= 90 or harness.SANITIZED, f"VmHWM {peak} MB")
        proxy.set("pass")
        check_delivery(name, behind, load, exactly_once=True)


# ---- A backend that is slow or breaks off --------------------------------------------

def slow(out):
    """Each request takes 300 ms; ten are under way at once."""
    name = f"slow, {out}"
    with scene(out, script=lambda request: Answer(delay=0.3)) as (behind, _, wick, load):
        load.send(60)
        TAP.check(f"{name}: the queue took everything", load.codes == {"OK"}, str(load.codes))
        check_delivery(name, behind, load, exactly_once=True)
        check_metric(name, wick, SENT, SAMPLES * 60)


def times_out(out):
    """The first attempt of every third batch takes longer than the timeout: it is tried again."""
    def script(request):
        late = behind.attempts[request.ids[0]] == 1 and int(request.ids[0][1:]) % 3 == 0
        return Answer("DEADLINE_EXCEEDED", 504, delay=1.5) if late else Answer()

    name = f"times out, {out}"
    with scene(out, script=script, exporter={"timeout": "500ms"}) as (behind, _, wick, load):
        load.send(20)
        check_delivery(name, behind, load)
        check_metric(name, wick, SENT, SAMPLES * 20)
        check_metric(name, wick, SEND_FAILED, 0)


def resets(out):
    """The first 30 connections are reset somewhere in the middle of requests of 100 KB."""
    chance = random.Random(1)
    name = f"resets, {out}"
    with scene(out, cut=lambda n: chance.randrange(1, 300_000) if n <= 30 else None) as (behind, _, wick, load):
        load.padding = 100_000
        load.send(60)
        check_delivery(name, behind, load, 60)
        check_metric(name, wick, SENT, SAMPLES * 60)
        check_metric(name, wick, SEND_FAILED, 0)


# ---- Every code ------------------------------------------------------------------------

GRPC_RETRYABLE = ("CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS")
GRPC_PERMANENT = ("UNKNOWN", "INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
                  "FAILED_PRECONDITION", "UNIMPLEMENTED", "INTERNAL", "UNAUTHENTICATED")
HTTP_RETRYABLE = (429, 502, 503, 504)
HTTP_PERMANENT = (400, 401, 403, 404, 405, 406, 408, 410, 411, 413, 414, 415, 421, 422, 431, 500, 501, 505, 507, 511)


def codes(out):
    """Batch n gets the n-th code, twice if it is to be retried, then all is well."""
    retryable, permanent = (GRPC_RETRYABLE, GRPC_PERMANENT) if out == "grpc" else (HTTP_RETRYABLE, HTTP_PERMANENT)
    listed = retryable + permanent

    def script(request):
        code = listed[int(request.ids[0][1:])]
        if code in retryable and behind.attempts[request.ids[0]] > 2:
            return Answer()
        return Answer(grpc=code) if out == "grpc" else Answer(http=code)

    name = f"codes, {out}"
    with scene(out, script=script) as (behind, _, wick, load):
        load.send(len(listed))
        behind.wait([f"b{i}" for i in range(len(retryable))], 20)
        check_metric(name, wick, SENT, SAMPLES * len(retryable))
        check_metric(name, wick, SEND_FAILED, SAMPLES * len(permanent))
        for i, code in enumerate(listed):
            attempts, delivered = behind.attempts[f"b{i}"], behind.delivered[f"b{i}"]
            wanted = (3, 1) if code in retryable else (1, 0)
            TAP.check(f"{name}: {code} is {'retried' if code in retryable else 'permanent'}", (attempts, delivered) == wanted,
                      f"{attempts} attempts" if (attempts, delivered) != wanted else "")


def throttled(out):
    """The other side says when to come again: RESOURCE_EXHAUSTED with RetryInfo, 429 and 503 with Retry-After."""
    at = {}

    def script(request):
        at.setdefault(request.ids[0], []).append(request.at)
        if behind.attempts[request.ids[0]] > 1:
            return Answer()
        return Answer("RESOURCE_EXHAUSTED" if request.ids[0] == "b0" else "UNAVAILABLE",
                      429 if request.ids[0] == "b0" else 503, retry_after=2)

    name = f"throttled, {out}"
    with scene(out, script=script) as (behind, _, wick, load):
        load.send(2)
        check_delivery(name, behind, load)
        waited = [times[1] - times[0] for times in at.values() if len(times) > 1]
        TAP.check(f"{name}: it came again when it was told to", len(waited) == 2 and min(waited) >= 1.9,
                  " ".join(f"{w:.1f} s" for w in waited))
        check_metric(name, wick, SENT, 2 * SAMPLES)


def partial(out):
    """Partial success is not sent again; an answer that is no protobuf neither."""
    bodies = {"b0": backend.partial_success(1, "one is bad"), "b1": backend.partial_success(0, "a warning"), "b2": b""}
    if out == "http":
        bodies["b3"] = b"\xff\xff\xff\xff not protobuf"
    name = f"partial success, {out}"
    with scene(out, script=lambda request: Answer(body=bodies[request.ids[0]])) as (behind, _, wick, load):
        load.send(len(bodies))
        behind.wait(bodies, 10)
        harness.wait_for(lambda: wick.metric(SENT) + wick.metric(SEND_FAILED) >= SAMPLES * len(bodies), 5, 0.1)
        time.sleep(1)
        TAP.check(f"{name}: each was sent once", all(behind.attempts[batch] == 1 for batch in bodies), str(behind.attempts))
        check_metric(name, wick, SEND_FAILED, SAMPLES * (len(bodies) - 3))


# ---- Two exporters ---------------------------------------------------------------------

def two_exporters(_):
    """One is mute with a full queue; the other gets everything, and no later than without it."""
    name = "two exporters"
    with backend.Backend(remember=False) as behind, backend.Proxy(behind.grpc_port, "mute") as dead:
        config, port = config_for(dead, "grpc", queue={"queue_size": 5, "num_consumers": 2})
        config["exporters"]["otlphttp/alive"] = {"endpoint": f"http://127.0.0.1:{behind.http_port}", "compression": "none"}
        config["service"]["pipelines"]["profiles"]["exporters"].append("otlphttp/alive")
        with harness.Wick(config, [port]) as wick:
            load = Load(port).send(100)
            load.close()
            everything = [f"b{i}" for i in range(100)]
            TAP.check(f"{name}: the living one gets all", behind.wait(everything, 20), f"{len(behind.delivered)} of 100")
            TAP.check(f"{name}: once each", set(behind.delivered.values()) == {1})
            found = wick.metric(SENT, exporter="otlphttp/alive")
            TAP.check(f"{name}: the living one counts all", found == 100 * SAMPLES, f"{found:g}")
            found = wick.metric(ENQUEUE_FAILED, exporter="otlp")
            TAP.check(f"{name}: the dead one counts what it dropped", 93 * SAMPLES <= found <= 95 * SAMPLES, f"{found:g}")


# ---- A queue on disk -----------------------------------------------------------------------

def stored(folder):
    return {"queue": {"queue_size": 1000, "storage": "file_storage"},
            "extensions": {"file_storage": {"directory": folder, "fsync": True, "create_directory": True}}}


def killed(out):
    """kill -9 at random moments, some while the backend is away: at least once, none broken."""
    name = f"killed, {out}"
    rounds = 25 if FULL else 6
    chance = random.Random(out)
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder, scene(out, "away", **stored(folder)) as (
            behind, proxy, wick, load):
        loads = []
        for n in range(rounds):
            proxy.set("pass" if n % 2 else "away")
            if n:
                wick.start()
            loads.append(Load(wick.ports[0], f"r{n}."))
            sender = threading.Thread(target=loads[-1].send, args=(60,))
            sender.start()
            time.sleep(chance.uniform(0.05, 1.0))
            wick.kill()
            sender.join()
            loads[-1].close()
        proxy.set("pass")
        wick.start()
        for part in loads:
            load.accepted += part.accepted
            load.made.update(part.made)
        TAP.check(f"{name}: batches were accepted between the kills", len(load.accepted) > 2 * rounds,
                  f"{len(load.accepted)} in {rounds} lives")
        check_delivery(name, behind, load, 60)
        check_metric(name, wick, "otelcol_exporter_queue_size", 0)
        TAP.check(f"{name}: ends well", wick.stop() == 0)


def full_disk(_):
    """A queue on a disk of 1 MB: what does not fit is refused and counted, what was taken outlives a kill."""
    name = "full disk"
    if os.geteuid():
        TAP.skip(name, "needs root to mount a small disk")
        return
    with tempfile.TemporaryDirectory(prefix="wick-test-") as disk:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=False).returncode:
            TAP.skip(name, "tmpfs cannot be mounted here")
            return
        try:
            with scene("grpc", "away", **stored(os.path.join(disk, "storage"))) as (behind, proxy, wick, _):
                fill_disk(name, behind, proxy, wick, wick.ports[0])
        finally:
            subprocess.run(["umount", "-l", disk], check=False)


def fill_disk(name, behind, proxy, wick, port):
    load = Load(port, "f", padding=50_000).send(60)
    refused = 60 - len(load.accepted)
    TAP.check(f"{name}: what does not fit is refused", 5 <= len(load.accepted) <= 22, f"{len(load.accepted)} taken of 60")
    check_metric(name, wick, "wick_exporter_storage_failures", refused)
    check_metric(name, wick, ENQUEUE_FAILED, SAMPLES * refused)
    wick.kill()
    wick.start()
    proxy.set("pass")
    check_delivery(f"{name}, after a kill", behind, load)
    load.close()
    load.client = harness.GrpcClient(port)
    before = len(load.accepted)
    load.send(20)
    TAP.check(f"{name}: with room again it takes all", len(load.accepted) == before + 20, f"{len(load.accepted) - before} of 20")
    check_delivery(f"{name}, later", behind, load)
    load.close()


# ---- Ends and reloads ----------------------------------------------------------------------

def drains(out):
    """SIGTERM while a slow backend has work for a second: it is finished first."""
    name = f"drains, {out}"
    with scene(out, script=lambda request: Answer(delay=0.2)) as (behind, _, wick, load):
        load.send(40)
        TAP.check(f"{name}: ends well", wick.stop() == 0, wick.said()[-500:])
        check_delivery(name, behind, load, 1, exactly_once=True)


def reloads(out):
    """SIGHUP under load: nothing accepted is lost, and nobody is turned away for good."""
    name = f"reloads, {out}"
    with scene(out) as (behind, _, wick, load):
        sender = threading.Thread(target=load.send, args=(300,))
        sender.start()
        for _ in range(3):
            time.sleep(0.4)
            wick.signal(signal.SIGHUP)
        sender.join()
        TAP.check(f"{name}: most were accepted", len(load.accepted) >= 290, f"{len(load.accepted)} of 300, {load.codes}")
        check_delivery(name, behind, load)
        TAP.check(f"{name}: it lives on", wick.alive())


# ---- Memory over time ------------------------------------------------------------------------

def flat_memory(_):
    """RSS does not grow from round to round of the same load, each sent to its end, nor when nothing happens."""
    name = "flat memory"
    with scene("grpc") as (_, _, wick, load):
        requests = [harness.payload(f"ebpf-profiler-{kind}") for kind in ("c", "go", "node", "python")]
        samples = sum(canonical.count(canonical.parse(raw)) for raw in requests)
        sizes = []
        rounds, count = (12, 100) if FULL else (6, 25)
        for n in range(rounds):
            for i in range(4 * count):
                load.client.send(requests[i % 4])
            harness.wait_for(lambda n=n: wick.metric(SENT) == (n + 1) * count * samples, 30, 0.05)
            sizes.append(wick.memory("VmRSS"))
        time.sleep(10 if FULL else 2)
        sizes.append(wick.memory("VmRSS"))
        text = " ".join(f"{size / 1e6:.1f}" for size in sizes) + " MB"
        half = len(sizes) // 2
        TAP.check(f"{name}: under load", max(sizes[half:]) <= max(sizes[:half]) + (4 << 20) or harness.SANITIZED, text)
        TAP.check(f"{name}: idle", sizes[-1] <= sizes[-2] + (1 << 20) or harness.SANITIZED, text)


SCENARIOS = [(away, "grpc"), (away, "http"), (full_queue, "grpc"), (full_queue, "http"), (gives_up, "grpc"),
             (bounded_memory, ""), (slow, "grpc"), (slow, "http"), (times_out, "grpc"), (times_out, "http"),
             (resets, "grpc"), (resets, "http"), (codes, "grpc"), (codes, "http"), (throttled, "grpc"), (throttled, "http"),
             (partial, "grpc"), (partial, "http"), (two_exporters, ""), (killed, "grpc"), (killed, "http"), (full_disk, ""),
             (drains, "grpc"), (reloads, "http"), (flat_memory, "")]


def main():
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")]
    for run, out in SCENARIOS:
        if not wanted or run.__name__ in wanted:
            relay.guarded(f"{run.__name__} {out}", run, out)
    TAP.end()


if __name__ == "__main__":
    main()
