#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For which request each sample was: the trace and span of programs that publish OpenTelemetry's process and thread context, of those
that do as APM agents, and of goroutines with labels. The judges are the programs themselves: which function works for which span, and what each span took by the
thread's own clock."""
import collections
import gzip
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import common

TAP = common.Tap()
RATE = 997
KINDS = "cpu,off_cpu,wall,faults"
SHOWN = ("datadog.local_root_span_id", "http.route", "process.context.label.trace endpoint", "transaction.id")
# The function that works for each span.
EXPECTED = {"outside": "outside", "grafana": "grafana", "datadog": "datadog",
            **{name: "work_" + name for name in ("a", "b", "sleeping", "faulting", "hopping")}}


def victim(name):
    return os.path.join(common.VICTIMS, name)


class Judged:
    """What a recording says of a program, beside what that says itself."""

    def __init__(self, path, said, pid=None):
        self.profile = path if isinstance(path, common.Profile) else common.Profile(path)
        self.pid = pid
        self.links = self.profile.tables.get("linkTable", [])
        self.spans = collections.Counter()      # name: cpu_ns
        self.names = {}                         # (trace, span): name
        for line in said.splitlines():
            words = line.split()
            if words and words[0] == "span":
                self.spans[words[3]] += int(words[4])
                self.names[words[1], words[2]] = words[3]
        self.by_kind = collections.defaultdict(collections.Counter)     # (type, function's span): link's span, value
        self.attributes = collections.defaultdict(set)
        samples = list(self.samples())
        first_ns = min((min(self.times(s)) for _, s in samples), default=0)
        self.known_ns = min((min(self.times(s)) for _, s in samples if s.get("linkIndex")), default=0)
        self.waited_ns = self.known_ns - first_ns   # until wick knew that the program says for what it works
        for kind, sample in samples:
            self.count_sample(kind, sample)

    @staticmethod
    def times(sample):
        return [int(t) for t in sample["timestampsUnixNano"]]

    def samples(self):
        for resource in self.profile.data.get("resourceProfiles", []):
            said = {a["key"]: common.any_value(a.get("value")) for a in resource.get("resource", {}).get("attributes", [])}
            if self.pid and said.get("process.pid") != self.pid:
                continue
            for scope in resource.get("scopeProfiles", []):
                for profile in scope.get("profiles", []):
                    kind = self.profile.strings[profile["sampleType"].get("typeStrindex", 0)]
                    for sample in profile.get("samples", []):
                        yield kind, sample

    def count_sample(self, kind, sample):
        _, user, _ = self.profile.stack(sample.get("stackIndex", 0))
        times = self.times(sample)
        values = [int(v) for v in sample.get("values", [])] or [1] * len(times)
        value = sum(v for v, t in zip(values, times) if t >= self.known_ns)
        link = self.links[sample.get("linkIndex", 0)] if self.links else {}
        ids = tuple(bytes(link.get(key, b"")).hex() for key in ("traceId", "spanId"))
        told = self.names.get(ids, "none" if not ids[0].strip("0") else "another")
        meant = next((name for name, function in EXPECTED.items() if any(function == f.split("}")[-1].split(".")[-1] for f in user)), "between")
        # A wait that has not ended when the recording does has no ids: its thread is not there to be asked.
        kind += " in waits" if kind == "wall" and "wait.reason" in self.profile.attributes(sample) else ""
        self.by_kind[kind, meant][told] += value
        if told in self.spans:
            self.attributes[told].add(tuple(sorted((k, v) for k, v in self.profile.attributes(sample).items()
                                                   if k in SHOWN)))

    def share(self, kind, name):
        """The part of what the span's function took, and of which kind, that has the span's ids; and all of it."""
        found = self.by_kind[kind, name]
        everything = sum(found.values())
        return (found[name] / everything if everything else 0.0), everything


def recorded(command, arguments=(), environment=None, seconds=4, wait=0.1, quiet=False):
    """The program runs already when it is recorded, and ends after."""
    with tempfile.TemporaryDirectory(prefix="wick-requests-") as folder:
        out = f"{folder}/r.otlp"
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})},
                                   stderr=subprocess.DEVNULL if quiet else None)
        time.sleep(wait)
        result = subprocess.run([common.WICK, "record", "-v", "-F", str(RATE), "-d", str(seconds), "-p", str(process.pid), *arguments, "-o", out],
                                capture_output=True, text=True, timeout=120, check=False)
        said, _ = process.communicate(timeout=60)
        if result.returncode or not os.path.exists(out):
            TAP.note(result.stderr[-2000:])
            return None, ""
        return Judged(out, said), result.stderr


def counter(said, name):
    found = re.search(rf"^\s*(\d+)\s+{name}\b", said, re.M)
    return int(found.group(1)) if found else 0


def in_exe():
    """One thread in the program's own variable: CPU time, waits, faults, and time as a whole."""
    judged, said = recorded([victim("v-requests"), "work", "6"], ["-e", KINDS])
    if not TAP.check("record takes all kinds of a program that says for what it works", judged is not None):
        return
    check_kinds(judged)
    TAP.check("local root span and route are attributes", judged.attributes["a"] == {(("datadog.local_root_span_id", "0000000000001234"),
              ("http.route", "GET /a"))}, str(judged.attributes["a"]))
    TAP.check_or_note("samples with a request are counted", counter(said, "samples_with_request") > 100, said)


def check_kinds(judged, who=""):
    """Samples of each kind in a span have its ids, and those outside of all have none."""
    for kind, name in (("samples", "a"), ("samples", "b"), ("off_cpu", "sleeping"), ("wall", "a"), ("wall in waits", "sleeping"), ("page-faults", "faulting")):
        share, everything = judged.share(kind, name)
        TAP.check(f"{who}{kind} in span {name} has its ids", everything > 50 and share >= 0.99, f"{100 * share:.2f} % of {everything}")
    outside = judged.by_kind["samples", "outside"]
    wrong = sum(outside.values()) - outside["none"]
    TAP.check(f"{who}what was outside of all spans has none", outside["none"] > 50 and wrong <= 0.01 * outside["none"], str(dict(outside)))


def recorded_whole(program, seconds, *arguments):
    """The whole run of a program that wick starts."""
    with tempfile.TemporaryDirectory(prefix="wick-requests-") as folder:
        out = f"{folder}/r.otlp"
        result = subprocess.run([common.WICK, "record", "-v", "-F", str(RATE), *arguments, "-o", out, "--", victim(program), "work", str(seconds)],
                                capture_output=True, text=True, timeout=120, check=False)
        if not TAP.check(f"record of {program} from its start", result.returncode == 0, result.stderr[-300:] if result.returncode else ""):
            return None, ""
        return Judged(out, result.stdout), result.stderr


def cpu_time():
    """What spans took, by the samples and by the thread's own clock."""
    judged, _ = recorded_whole("v-requests", 10)
    if judged:
        check_cpu_time(judged)


def check_cpu_time(judged, who=""):
    period_ns = max(judged.profile.periods_ns)
    for name in ("a", "b"):
        sampled = sum(found[name] for (kind, _), found in judged.by_kind.items() if kind == "samples") * period_ns
        true = judged.spans[name]
        share, _ = judged.share("samples", name)
        TAP.check(f"{who}from its start on, span {name}'s samples have its ids", share >= 0.99, f"{100 * share:.2f} %")
        TAP.check(f"{who}span {name}'s CPU time is what its thread's clock says", abs(sampled - true) <= 0.05 * true,
                  f"{sampled / 1e9:.3f} s of {true / 1e9:.3f} s")


def hopping():
    judged, _ = recorded([victim("v-requests"), "hop", "6"])
    if not TAP.check("record of a span that hops", judged is not None):
        return
    share, everything = judged.share("samples", "hopping")
    threads = collections.Counter()
    for sample in judged.profile.samples:
        if any("work_hopping" in f for f in sample.user):
            threads[sample.attributes.get("thread.id")] += sample.count
    TAP.check("a span that hops from thread to thread keeps its ids", share >= 0.99 and everything > 200, f"{100 * share:.2f} % of {everything}")
    TAP.check("... in both", len(threads) == 2 and min(threads.values()) > 50, str(dict(threads)))


def variants():
    """Each way to reach a thread's variable: in programs and libraries, from the start on and loaded later, glibc and musl."""
    tries = [(name, name, None, None) for name in ("v-requests-nopie", "v-requests-static", "v-requests-static-pie", "v-requests-musl",
                                                   "v-requests-linked")]
    tries += [(f"v-requests-dl with {kind}", "v-requests-dl", kind, None) for kind in ("default", "ie", "large", "local", "gnu2", "gnu2-large")]
    tries += [("v-requests-dl with gnu2, no static room", "v-requests-dl", "gnu2", "glibc.rtld.optional_static_tls=0"),
              ("v-requests-dl-musl", "v-requests-dl-musl", "musl", None)]
    for title, program, library, tunables in tries:
        path = victim(f"libv-requests-{library}.so") if library else None
        if not os.path.exists(victim(program)) or (path and not os.path.exists(path)):
            TAP.skip(title, "was not built here")
            continue
        environment = {**({"REQUESTS_LIBRARY": path} if path else {}), **({"GLIBC_TUNABLES": tunables} if tunables else {})}
        everything = 0
        for seconds in (1.5, 6, 15):    # what comes late on a busy machine needs more of it
            if everything <= 20:
                judged, _ = recorded([victim(program), "work", str(seconds + 2)], environment=environment, seconds=seconds)
                share, everything = judged.share("samples", "a") if judged and judged.known_ns else (0, 0)
        TAP.check(title, share >= 0.99 and everything > 20, f"{100 * share:.2f} % of {everything}, the first after "
                  f"{judged.waited_ns / 1e6 if judged else 0:.0f} ms")


def hostile():
    """Threads that say what nobody could mean: nothing is made up of it, and it is counted."""
    for how, is_counted, has_ids in (("nowhere", True, False), ("kernel", True, False), ("noncanonical", True, False), ("long", True, True),
                                     ("invalid", True, False), ("cut", False, True), ("edge", True, True), ("changing", None, None)):
        for seconds in (1.5, 6, 15):
            judged, said = recorded([victim("v-requests"), "hostile", str(seconds + 2), how], seconds=seconds)
            if counter(said, "requests_unreadable") + counter(said, "samples_with_request") > 10:
                break
        if not TAP.check(f"hostile, {how}: wick is well", judged is not None and "samples_lost" not in said):
            continue
        unread, taken = counter(said, "requests_unreadable"), counter(said, "samples_with_request")
        TAP.check(f"hostile, {how}: it is counted, and nothing is made up",
                  (is_counted is None or (unread > 10) == is_counted) and (has_ids is None or (taken > 10) == has_ids),
                  f"{taken} taken, {unread} unreadable")
    judged, said = recorded([victim("v-requests"), "work", "2.5"], environment={"REQUESTS_SCHEMA": "of_nobody_v9"}, seconds=1.5)
    TAP.check("a schema that is not known is left alone", judged is not None and counter(said, "samples_with_request") == 0)


def recorded_together(runs, seconds):
    """Programs, {title: (path, environment)}, in one recording: {title: what it says of each}, and what wick said."""
    programs = {title: subprocess.Popen([path, "work", str(seconds + 2)], stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
                for title, (path, environment) in runs.items()}
    with tempfile.TemporaryDirectory(prefix="wick-requests-") as folder:
        pids = ",".join(str(program.pid) for program in programs.values())
        result = subprocess.run([common.WICK, "record", "-v", "-F", str(RATE), "-d", str(seconds), "-p", pids, "-o", f"{folder}/r.otlp"],
                                capture_output=True, text=True, timeout=120, check=False)
        said = {title: program.communicate(timeout=60)[0] for title, program in programs.items()}
        if not TAP.check(f"record of {len(runs)} programs at once", result.returncode == 0, result.stderr[-300:] if result.returncode else ""):
            return {}, ""
        profile = common.Profile(f"{folder}/r.otlp")
        return {title: Judged(profile, said[title], program.pid) for title, program in programs.items()}, result.stderr


def apm():
    """Programs that say it as APM agents of Elastic's protocol do: all kinds, CPU time, the service's name; in libraries that are loaded
    later; and what nobody could mean."""
    judged, _ = recorded_whole("v-requests-apm", 5, "-e", KINDS)
    if judged:
        check_kinds(judged, "APM: ")
        check_cpu_time(judged, "APM: ")
        TAP.check("APM: the transaction is an attribute", judged.attributes["a"] == {(("transaction.id", "18191a1b1c1d1e1f"),)}, str(judged.attributes["a"]))
        named = {tuple(s.resource.get(key) for key in ("service.name", "deployment.environment.name")) for s in judged.profile.samples
                 if s.resource.get("wick.service.source") == "apm_agent"}
        TAP.check("APM: the service is called what the agent says", named == {("requests", "testing")}, str(named))
    libraries = {kind: (victim("v-requests-dl-musl" if kind == "musl" else "v-requests-dl"), {"REQUESTS_LIBRARY": victim(f"libv-requests-apm-{kind}.so")})
                 for kind in ("default", "gnu2", "large", "musl")}
    libraries = {kind: run for kind, run in libraries.items() if os.path.exists(run[0]) and os.path.exists(run[1]["REQUESTS_LIBRARY"])}
    hostile_ones = {how: (victim("v-requests-apm"), {"REQUESTS_HOSTILE": how})
                    for how in ("null", "nowhere", "kernel", "version", "present", "torn", "changing", "later", "storage")}
    found, said = recorded_together({**libraries, **hostile_ones}, 3)
    for kind in [*libraries, "later", "storage"] if found else []:
        share, everything = found[kind].share("samples", "a")
        TAP.check(f"APM, {kind}: samples have the span's ids", share >= 0.99 and everything > 20 and found[kind].known_ns, f"{100 * share:.2f} % of {everything}")
    for how in ("null", "nowhere", "kernel", "version", "present", "torn") if found else []:
        told = found[how].by_kind["samples", "a"]
        TAP.check(f"APM, {how}: nothing is made up", told["none"] > 20 and set(told) == {"none"}, str(dict(told)))
    if found:
        TAP.check("APM: what cannot be read is counted", counter(said, "requests_unreadable") > 80 and "samples_lost" not in said,
                  f"{counter(said, 'requests_unreadable')}")
        names = {s.resource.get("service.name") for s in found["storage"].profile.samples if s.pid == found["storage"].pid}
        TAP.check("APM: a name that cannot be is none", names == {"v-requests-apm"}, str(names))


def beside_obi(*commands):
    """The last one's output and messages, with a BPF file system of their own."""
    script = "mount -t bpf bpf /sys/fs/bpf && " + " && ".join(commands)
    return subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=120, check=False)


def obi():
    """Threads that say nothing themselves, of which a map tells that is pinned where OBI does it."""
    if os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC:
        TAP.skip("a map of OBI", "it has numbers of the machine's first PID namespace, where this is not")
        return
    program, record = victim("v-requests-obi"), f"{common.WICK} record -v -F {RATE}"
    with tempfile.TemporaryDirectory(prefix="wick-requests-") as folder:
        for title, before, seconds in (("OBI: ", f"{program} work 0", 4), ("OBI that comes later: ", "true", 3.5)):
            out = f"{folder}/r.otlp"
            result = beside_obi(before, f"{record} -e {KINDS} -o {out} -- {program} work {seconds}")
            if not TAP.check(f"{title}it is recorded", result.returncode == 0, result.stderr[-300:] if result.returncode else ""):
                continue
            judged = Judged(out, result.stdout)
            check_kinds(judged, title)
            if seconds == 4:
                check_cpu_time(judged, title)
            TAP.check(f"{title}its map is counted", counter(result.stderr, "obi_maps") == 1)
        result = beside_obi(f"OBI_VALUE_BYTES=32 {program} work 0", f"{record} -d 1 -o {folder}/r.otlp -- {victim('v-requests-obi')} work 0.5")
        TAP.check("OBI: a map of another shape is left alone", result.returncode == 0 and counter(result.stderr, "obi_maps_refused") == 1 and
                  counter(result.stderr, "samples_with_request") == 0, result.stderr[-300:] if result.returncode else "")


def check_ids(who, judged, spans):
    """Those of each span, whose name says what is checked, and none outside."""
    for name, what in spans.items():
        share, everything = judged.share("samples", name)
        TAP.check(f"{who}: {what}", share >= 0.99 and everything > 50, f"{100 * share:.2f} % of {everything}")
    outside = judged.by_kind["samples", "outside"]
    TAP.check(f"{who}: what is outside has none", outside["none"] >= 0.99 * sum(outside.values()), str(dict(outside)))


def ddtrace():
    """A library of PyPI that publishes both contexts by itself: the variable is in a block that threads get when they first use it."""
    found = subprocess.run([os.path.join(common.ROOT, "test/peers/venv.sh"), "ddtrace"], stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode:
        TAP.skip("Datadog's Python library", "ddtrace cannot be installed from PyPI")
        return
    environment = {"DD_TRACE_AGENT_URL": "http://127.0.0.1:9", "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false", "DD_SERVICE": "shop",
                   "DD_REMOTE_CONFIGURATION_ENABLED": "false"}
    program = os.path.join(common.ROOT, "test/victims/requests_ddtrace.py")
    judged, _ = recorded([found.stdout.strip(), program, "8"], environment=environment, wait=2, quiet=True)
    if not TAP.check("record of a program with Datadog's Python library", judged is not None):
        return
    check_ids("ddtrace", judged, {name: f"samples in span {name} have its ids" for name in ("a", "b")})
    roots = {value for shown in judged.attributes["a"] for key, value in shown if key == "datadog.local_root_span_id"}
    known = {span for (_, span) in judged.names}
    TAP.check("ddtrace: the local root span is told", roots and roots <= known, f"{len(roots)} of them")


def goroutines():
    """Labels in the keys of two tracing libraries; requests of 10 ms that go from goroutine to goroutine."""
    with tempfile.TemporaryDirectory(prefix="wick-requests-") as folder:
        path = f"{folder}/requests"
        built = subprocess.run(["go", "build", "-o", path, "./requests"], cwd=os.path.join(common.ROOT, "test/victims/go"), text=True,
                               env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"},
                               capture_output=True, timeout=300, check=False) if shutil.which("go") else None
        if not built or built.returncode:
            TAP.skip("labels of goroutines", built.stderr[-200:] if built else "there is no Go")
            return
        judged, _ = recorded([path, "6", "10ms"])
    if not TAP.check("record of goroutines with labels", judged is not None):
        return
    check_ids("goroutines", judged, {name: f"samples have the ids that {name}'s keys say" for name in ("grafana", "datadog")})
    TAP.check("goroutines: the endpoint is told", (("process.context.label.trace endpoint", "GET /y"),) in judged.attributes["datadog"])


class Sink(http.server.BaseHTTPRequestHandler):
    """Takes everything, and keeps it."""
    bodies = collections.defaultdict(bytes)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        Sink.bodies[self.path] += unpacked(body)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):      # pylint: disable=arguments-differ
        pass


def unpacked(body):
    """Files within that are packed by gzip, unpacked."""
    at = body.find(b"\x1f\x8b\x08")
    return body if at < 0 else body[:at] + zlib.decompressobj(31).decompress(body[at:])


EXPORT = """
receivers:
  profiling: {samples_per_second: 97, reporter_interval: 500ms, include: [{executable: "v-requests$"}]}
exporters:
  datadog: {endpoint: "http://127.0.0.1:%d", interval: 500ms, compression: gzip}
  pyroscope: {endpoint: "http://127.0.0.1:%d", protocol: push}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [profiling], exporters: [datadog, pyroscope]}
"""


def exported():
    """What the agent's own links become for others."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="wick-requests-") as folder:
        with open(f"{folder}/config.yaml", "w", encoding="utf-8") as file:
            file.write(EXPORT % (server.server_port, server.server_port))
        program = subprocess.Popen([victim("v-requests"), "work", "30"], stdout=subprocess.DEVNULL)
        with open(f"{folder}/log", "wb") as log:
            wick = subprocess.Popen([common.WICK, "--config", f"{folder}/config.yaml"], stdout=log, stderr=log)
        span = "a0a1a2a3a4a5a6a7"
        wanted = {"Datadog": (b"local root span id", b"4660", b"trace endpoint", b"GET /a", b"span id", str(int(span, 16)).encode()),
                  "Pyroscope": (b"span_id", span.encode(), b"trace_id", b"101112131415161718191a1b1c1d1e1f")}

        def sent(name):
            return b"".join(body for path, body in list(Sink.bodies.items()) if ("push" in path or "ingest" in path) == (name == "Pyroscope"))
        end = time.monotonic() + 25
        while time.monotonic() < end and not all(text in sent(name) for name, texts in wanted.items() for text in texts):
            time.sleep(0.2)
        for process in (wick, program):
            process.terminate()
            process.wait(timeout=30)
        with open(f"{folder}/log", encoding="utf-8", errors="replace") as log:
            said = log.read()[-500:]
    server.shutdown()
    for name, texts in wanted.items():
        missing = [text for text in texts if text not in sent(name)]
        TAP.check(f"{name} gets the ids of the agent's own samples", not missing, f"missing {missing} at {list(Sink.bodies)}: {said}" if missing else "")


def main():
    if not common.privileged_or_skip(TAP, "requests"):
        TAP.end()
    wanted = sys.argv[1:] or ["in_exe", "cpu_time", "hopping", "variants", "hostile", "apm", "obi", "ddtrace", "goroutines", "exported"]
    for part in wanted:
        globals()[part]()
    TAP.end()


main()
