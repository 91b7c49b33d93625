#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exporter datadog: into Datadog's own test agent, through its real trace-agent to an intake, by TCP and by socket, and
without an Agent; what is read back must be what was sent. Then all that can go wrong on the way."""
import base64
import collections
import contextlib
import email
import email.policy
import gzip
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import harness
import backend
import canonical
import clients
import forged
import pprof

import zstandard

TAP = harness.TAP
AGENT, INTAKE = "/profiling/v1/input", "/api/v2/profile"
REQUESTS = [harness.payload(name) for name in harness.payload_names() if name.startswith("ebpf-profiler")]
SENT, FAILED = "otelcol_exporter_sent_profile_samples", "otelcol_exporter_send_failed_profile_samples"
JOINED = "wick_exporter_datadog_joined_samples"
for variable in [name for name in os.environ if name.startswith("DD_")]:
    del os.environ[variable]


# ---- The other side ---------------------------------------------------------------------

class Upload:
    """A request taken apart as a multipart form is; fails if it is none."""

    def __init__(self, path, headers, raw):
        self.path, self.headers, self.raw = path, {key.lower(): value for key, value in headers.items()}, raw
        head = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
        form = email.message_from_bytes(head + raw, policy=email.policy.HTTP)
        assert form.is_multipart() and not form.defects, form.defects
        self.parts = {}
        for part in form.iter_parts():
            name = part.get_param("name", header="content-disposition")
            self.parts[name] = (part.get_filename(), part.get_content_type(), part.get_payload(decode=True))
        self.event = json.loads(self.parts["event"][2])
        assert set(self.parts) == {"event", *self.event["attachments"]}, self.parts.keys()
        self.tags = [tuple(tag.split(":", 1)) for tag in self.event["tags_profiler"].split(",")]
        self.profile = pprof.Profile(unpack(self.parts[self.event["attachments"][0]][2]))

    def tag(self, name):
        return dict(self.tags).get(name)


def unpack(raw):
    if raw[:4] == b"\x28\xb5\x2f\xfd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(raw)
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


class Handler(backend.HttpHandler):
    timeout = 60

    def address_string(self):
        return "somebody"

    def do_POST(self):
        self.server.owner.take(self, self.body())


class Fake:
    """An Agent or an intake. script(n): what the n-th request gets: a status, or (status, seconds to wait before). Requests are
    read when somebody looks at them, lest one who is in a hurry take this for a slow one."""

    def __init__(self, script=lambda n: 200, folder=None):
        self.script, self.count, self.lock = script, 0, threading.Lock()
        self.taken, self.read, self.broken = [], [], []
        self.port = harness.free_port()
        self.server = backend.HttpServer(("127.0.0.1", self.port), Handler)
        self.server.owner = self
        if folder:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(os.path.join(folder, "server.pem"), os.path.join(folder, "server.key"))
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def take(self, handler, raw):
        with self.lock:
            self.count += 1
            answer = self.script(self.count)
            status, delay = answer if isinstance(answer, tuple) else (answer, 0)
            self.taken += [(handler.path, dict(handler.headers.items()), raw)] if status < 300 else []
        if delay:
            time.sleep(delay)
        with contextlib.suppress(OSError):
            handler.send_response(status)
            handler.send_header("content-length", "3")
            handler.end_headers()
            handler.wfile.write(b"{}\n")

    @property
    def uploads(self):
        with self.lock:
            while self.taken:
                try:
                    self.read.append(Upload(*self.taken.pop(0)))
                except Exception as error:      # whatever a parser throws at broken bytes
                    self.broken.append(repr(error))
            return list(self.read)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


# ---- What was sent, and what came -------------------------------------------------------

def named(data, location):
    """Innermost first; an address where there is no name."""
    tables, strings = data.dictionary, data.dictionary.string_table
    functions = [tables.function_table[line.function_index] for line in location.lines]
    names = [strings[f.name_strindex] or strings[f.system_name_strindex] for f in functions] or [""]
    file = os.path.basename(strings[tables.mapping_table[location.mapping_index].filename_strindex])
    bare = f"{file}+{location.address:#x}" if file else f"{location.address:#x}" if location.address else "[unknown]"
    return [name or bare for name in names]


def weight(sample):
    return sum(sample.values) if sample.values else len(sample.timestamps_unix_nano)


class Profiled:
    """Of one side: the weight of each stack and thread, and the time of each stack."""

    def __init__(self):
        self.counts, self.times, self.rows = collections.Counter(), collections.Counter(), 0

    def add_request(self, raw):
        data = canonical.parse(raw)
        strings = data.dictionary.string_table
        names = [named(data, location) for location in data.dictionary.location_table]
        for owner in data.resource_profiles:
            for profile in (profile for scoped in owner.scope_profiles for profile in scoped.profiles):
                assert strings[profile.sample_type.type_strindex] == "samples"
                for sample in profile.samples:
                    locations = data.dictionary.stack_table[sample.stack_index].location_indices
                    stack = tuple(name for i in locations if i for name in names[i])
                    self.counts[stack, thread_of(data, sample)] += weight(sample)
                    self.times[stack] += weight(sample) * profile.period
                    self.rows += 1
        return self

    def add_upload(self, upload):
        profile = upload.profile
        count, nanoseconds = profile.column("cpu-samples"), profile.column("cpu-time")
        for sample in profile.samples:
            self.counts[sample.stack, sample.labels.get("thread id", "")] += sample.values[count]
            self.times[sample.stack] += sample.values[nanoseconds]
            self.rows += 1
        return self

    def functions(self):
        """The ten that most was spent in, and below which."""
        self_time, total_time = collections.Counter(), collections.Counter()
        for stack, value in self.times.items():
            self_time[stack[0] if stack else ""] += value
            total_time.update({name: value for name in set(stack)})
        order = lambda item: (-item[1], item[0])
        return sorted(self_time.items(), key=order)[:10], sorted(total_time.items(), key=order)[:10]

    def heaviest(self):
        return sorted(self.times.items(), key=lambda item: (-item[1], item[0]))[:3]


def thread_of(data, sample):
    for index in sample.attribute_indices:
        row = data.dictionary.attribute_table[index]
        if data.dictionary.string_table[row.key_strindex] == "thread.id":
            return str(row.value.int_value)
    return ""


def source():
    wanted = Profiled()
    for raw in REQUESTS:
        wanted.add_request(raw)
    return wanted


def total(uploads):
    found = Profiled()
    for upload in list(uploads):
        found.add_upload(upload)
    return sum(found.counts.values())


def judge(name, uploads):
    wanted, found = source(), Profiled()
    for upload in uploads:
        found.add_upload(upload)
    TAP.check(f"{name}: totals", sum(found.counts.values()) == sum(wanted.counts.values()) and
              sum(found.times.values()) == sum(wanted.times.values()), f"{sum(found.times.values())} ns")
    TAP.check(f"{name}: top functions", found.functions() == wanted.functions(), str(found.functions()[0][:2]))
    TAP.check(f"{name}: the three heaviest stacks", found.heaviest() == wanted.heaviest() and len(wanted.heaviest()) == 3)
    TAP.check(f"{name}: every stack of every thread", found.counts == wanted.counts,
              canonical.difference(wanted.counts, found.counts))
    TAP.check(f"{name}: no frame without a name", all(all(stack) for stack in found.times))


# ---- Running ----------------------------------------------------------------------------

@contextlib.contextmanager
def running(options, environment=None, extensions=None):
    """wick with the exporter, and a function that sends it a request."""
    port = harness.free_port()
    exporter = {"interval": "200ms", "retry_on_failure": {"initial_interval": "100ms", "max_interval": "200ms"}, **options}
    config = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
              "exporters": {"datadog": exporter}, "extensions": extensions or {},
              "service": {"extensions": list(extensions or {}),
                          "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["datadog"]}}}}
    with variables(environment or {}), harness.Wick(config, [port]) as wick:
        client = harness.HttpClient(port)
        yield wick, client.send
        client.close()


@contextlib.contextmanager
def variables(given):
    os.environ.update(given)
    yield
    for name in given:
        del os.environ[name]


def send_all(send):
    return all(send(raw) == 200 for raw in REQUESTS)


def arrives(uploads, seconds=20):
    """Whether all that was sent is there."""
    wanted = sum(source().counts.values())
    return harness.wait_for(lambda: total(uploads()) >= wanted, seconds, 0.1)


def small(service, container=None, samples=3, env=None):
    data = canonical.parse(forged.small("b0", samples))
    attributes = data.resource_profiles[0].resource.attributes
    del attributes[:]
    for key, value in (("service.name", service), ("container.id", container), ("deployment.environment.name", env)):
        if value:
            attributes.append(forged.key_value(key, string_value=value))
    return data.SerializeToString()


# ---- Datadog's test agent ---------------------------------------------------------------

class TestAgent(harness.Process):
    def __init__(self, python):
        self.port, others = harness.free_port(), [str(harness.free_port()) for _ in range(3)]
        super().__init__([os.path.join(os.path.dirname(python), "ddapm-test-agent"), "--port", str(self.port),
                          "--otlp-http-port", others[0], "--otlp-grpc-port", others[1], "--web-ui-port", others[2],
                          "--trace-uds-socket", "apm.socket"], "", [self.port], "ddapm-test-agent")
        self.socket = os.path.join(self.folder, "apm.socket")

    def uploads(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/test/session/requests")
        requests = json.loads(connection.getresponse().read())
        connection.close()
        return [Upload(r["url"], r["headers"], base64.b64decode(r["body"])) for r in requests if r["url"].endswith(AGENT)]


def with_test_agent():
    found = subprocess.run([os.path.join(harness.ROOT, "test/peers/venv.sh"), "datadog"], stdout=subprocess.PIPE, text=True,
                           check=False)
    if found.returncode:
        TAP.skip("Datadog's test agent", "ddapm-test-agent cannot be installed from PyPI")
        return
    for way in ("TCP", "socket"):
        with TestAgent(found.stdout.strip()) as agent:
            where = {"DD_AGENT_HOST": "127.0.0.1", "DD_TRACE_AGENT_PORT": str(agent.port)} if way == "TCP" else \
                {"DD_TRACE_AGENT_URL": f"unix://{agent.socket}"}
            harness.wait_for(lambda: way == "TCP" or os.path.exists(agent.socket), 10)
            with running({"compression": "zstd" if way == "TCP" else "gzip"}, where) as (wick, send):
                TAP.check(f"test agent, {way}: accepted", send_all(send))
                arrives(agent.uploads)
                judge(f"test agent, {way}", agent.uploads())
                counted = harness.wait_for(lambda: wick.metric(SENT) + wick.metric(JOINED) == source().rows, 10)
                TAP.check(f"test agent, {way}: all are counted", counted and wick.metric(FAILED) == 0, wick.said()[-300:])


# ---- Datadog's trace-agent --------------------------------------------------------------

class TraceAgent(harness.Process):
    def __init__(self, binary, intake):
        self.port = harness.free_port()
        super().__init__([binary, str(self.port), "apm.socket", intake], "", [self.port], "trace-agent")
        self.socket = os.path.join(self.folder, "apm.socket")


def with_trace_agent():
    found = subprocess.run([os.path.join(harness.ROOT, "test/peers/trace-agent/get.sh")], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False)
    if found.returncode:
        TAP.skip("Datadog's trace-agent", found.stderr.strip().splitlines()[-1])
        return
    for way in ("TCP", "socket"):
        with Fake(lambda n: 202) as intake, TraceAgent(found.stdout.strip(), intake.url) as agent:
            endpoint = f"http://127.0.0.1:{agent.port}/" if way == "TCP" else agent.socket
            with running({"endpoint": endpoint}) as (wick, send):
                TAP.check(f"trace-agent, {way}: accepted", send_all(send))
                arrives(lambda: intake.uploads)
                judge(f"trace-agent, {way}", intake.uploads)
                headers = intake.uploads[0].headers
                TAP.check(f"trace-agent, {way}: it is its proxy", headers.get("via", "").startswith("trace-agent") and
                          headers["dd-api-key"] == "the-agents-key" and intake.uploads[0].path == INTAKE, str(headers))
                TAP.check(f"trace-agent, {way}: it adds the host, we do not",
                          "host:agents-host" in headers["x-datadog-additional-tags"] and not intake.uploads[0].tag("host"))
                TAP.check(f"trace-agent, {way}: nothing is broken", not intake.broken and wick.metric(FAILED) == 0,
                          str(intake.broken))


# ---- Without an Agent -------------------------------------------------------------------

def agentless():
    with tempfile.TemporaryDirectory() as folder:
        clients.make_certificates(folder)
        with Fake(lambda n: 202, folder) as intake:
            options = {"api": {"key": "0123456789abcdef", "site": "datadoghq.eu"}, "hostname": "h1",
                       "profiles": {"endpoint": f"https://localhost:{intake.port}{INTAKE}"},
                       "tls": {"ca_file": os.path.join(folder, "ca.pem")}}
            with running(options) as (wick, send):
                send_all(send)
                arrives(lambda: intake.uploads)
                judge("agentless", intake.uploads)
                TAP.check("agentless: the key is sent", intake.uploads[0].headers["dd-api-key"] == "0123456789abcdef")
                TAP.check("agentless: so is the host", intake.uploads[0].tag("host") == "h1")
                TAP.check("agentless: the key is not logged", "0123456789abcdef" not in wick.said())
            with running({**options, "tls": {}}) as (wick, send):
                before = len(intake.uploads)
                send(REQUESTS[0])
                harness.wait_for(lambda: wick.metric("wick_exporter_retries"), 10)
                TAP.check("agentless: a stranger does not get it", len(intake.uploads) == before)


# ---- What an upload says ----------------------------------------------------------------

def owners():
    """One upload for each service and container, when it stops; with tags from everywhere."""
    environment = {"DD_SERVICE": "fallback", "DD_ENV": "prod", "DD_VERSION": "7", "DD_TAGS": "team:web region:eu"}
    options = {"interval": "1h", "tags": ["a:b"], "sending_queue": {"batch": {"min_size": 1000}}}
    with Fake() as agent, running({"endpoint": agent.url, **options}, environment) as (wick, send):
        for service, container, env in (("shop", "c1", None), ("shop", "c2", None), ("cart", "c1", "test"), (None, None, None),
                                        ("shop", "c1", None)):
            send(small(service, container, env=env))
        status = wick.stop()
        found = {(u.tag("service"), u.headers.get("datadog-container-id"), u.headers.get("datadog-entity-id")): u
                 for u in agent.uploads}
        TAP.check("owners: at its end all is sent, once for each", status == 0 and len(agent.uploads) == 4 and set(found) == {
            ("shop", "c1", "ci-c1"), ("shop", "c2", "ci-c2"), ("cart", "c1", "ci-c1"), ("fallback", None, None)}, str(list(found)))
        TAP.check("owners: nothing is lost", total(agent.uploads) == 15, str(total(agent.uploads)))
        shop, fallback, cart = (next(u for key, u in found.items() if key[0] == name) for name in ("shop", "fallback", "cart"))
        TAP.check("owners: env and version", (shop.tag("env"), shop.tag("version"), fallback.tag("version"), cart.tag("env")) ==
                  ("prod", None, "7", "test"), str(fallback.tags))
        TAP.check("owners: tags", all({("a", "b"), ("team", "web"), ("region", "eu")} <= set(u.tags) for u in agent.uploads),
                  str(shop.tags))
        event, profile = shop.event, shop.profile
        TAP.check("event: version 4", event["version"] == "4" and event["family"] == "ebpf" and
                  shop.parts["event"][0] == "event.json" and shop.parts["profile.pprof"][0] == "profile.pprof", str(event))
        TAP.check("event: times", all(event[key].endswith("Z") and "." in event[key] for key in ("start", "end")) and
                  event["start"] <= event["end"])
        TAP.check("pprof: Datadog's types", profile.types == [("cpu-samples", "count"), ("cpu-time", "nanoseconds")] and
                  profile.default_type == "cpu-time" and profile.period_type == ("cpu-time", "nanoseconds"), str(profile.types))
        TAP.check("headers: who sends it", shop.headers["dd-evp-origin"] == "wick" and
                  shop.headers["user-agent"].startswith("wick/") and "dd-api-key" not in shop.headers, str(shop.headers))
        TAP.check("owners: nothing is broken", not agent.broken, str(agent.broken))


def with_all():
    """A request that has what Datadog cannot hold, and what it calls otherwise."""
    made = forged.Forge()
    owner = made.data.resource_profiles.add()
    texts = {"service.name": "a,b" + "x" * 300, "host.name": "h", "process.executable.name": "p", "k8s.pod.name": "pod"}
    owner.resource.attributes.extend(forged.key_value(key, string_value=value) for key, value in texts.items())
    owner.resource.attributes.append(forged.key_value("process.pid", int_value=7))
    made.tables.mapping_table.add(memory_start=0x1000, memory_limit=0x9000, filename_strindex=made.text("/usr/lib/libx.so"),
                                  attribute_indices=[made.attribute("process.executable.build_id.gnu", string_value="abcd")])
    inlined, outer = made.function("inlined", "a.c", line=3), made.function("outer", "b.c", line=9)
    stack = made.stack([made.location(0x1230, mapping=1), made.location(0x1300, [(inlined, 5, 0), (outer, 11, 0)], mapping=1)])
    attributes = [made.attribute("thread.id", int_value=9), made.attribute("thread.name", string_value="t"),
                  made.attribute("request.size", int_value=0)]
    made.tables.link_table.add(trace_id=bytes(range(16)), span_id=bytes([0, 0, 0, 0, 0, 0, 1, 2]))
    for kind, unit, value in (("samples", "count", 2), ("alloc_space", "bytes", 64), ("off_cpu", "nanoseconds", 5)):
        profile = owner.scope_profiles.add().profiles.add(time_unix_nano=forged.START_NS, duration_nano=10 ** 9)
        profile.sample_type.CopyFrom(made.value_type(kind, unit))
        if kind == "samples":
            profile.period_type.CopyFrom(made.value_type("cpu", "nanoseconds"))
            profile.period = 10
        profile.samples.add(stack_index=stack, attribute_indices=attributes, link_index=1, values=[value])
    return made.data.SerializeToString()


def losses():
    """docs/formats.md, line by line. What owners() has shown is not shown again."""
    with Fake() as agent, running({"endpoint": agent.url, "interval": "1h"}) as (wick, send):
        for _ in range(2):
            send(with_all())
        wick.stop()
        upload = agent.uploads[0]
        profile, labels = upload.profile, upload.profile.samples[0].labels
        TAP.check("losses: resources", {**labels, "process_id": "7", "process_name": "p", "pod_name": "pod"} == labels and
                  "h" not in labels.values(), str(labels))
        TAP.check("losses: attributes are texts", {**labels, "thread id": "9", "thread name": "t", "request.size": "0"} == labels,
                  str(labels))
        TAP.check("losses: links", {**labels, "trace_id": bytes(range(16)).hex(), "span id": "258"} == labels, str(labels))
        sums = {name: sum(sample.values[i] for sample in profile.samples) for i, (name, _) in enumerate(profile.types)}
        TAP.check("losses: types and sums", sums == {"cpu-samples": 4, "cpu-time": 40, "alloc-space": 128, "off_cpu": 10}, str(sums))
        TAP.check("losses: equal samples are joined", len(agent.uploads) == 1 and len(profile.samples) == 1, str(len(profile.samples)))
        TAP.check("losses: names, inlined functions", profile.samples[0].stack == ("libx.so+0x1230", "inlined", "outer"),
                  str(profile.samples[0].stack))
        mapping = profile.mappings[0]
        TAP.check("losses: mappings", (mapping[2], mapping[3], profile.strings[mapping[5]], profile.strings[mapping[6]]) ==
                  (0x1000, 0x9000, "/usr/lib/libx.so", "abcd"), str(mapping))
        TAP.check("losses: files and lines", sorted(profile.lines) == [("inlined", "a.c", 5), ("libx.so+0x1230", "", 0),
                                                                      ("outer", "b.c", 11)], str(profile.lines))
        TAP.check("losses: tags", len("service:" + upload.tag("service")) == 200 and upload.tag("service").startswith("a_bxxx"),
                  upload.tag("service"))


# ---- Faults -----------------------------------------------------------------------------

def refused():
    """What is refused for good is not sent again, and counted."""
    for status in (400, 403, 404, 413):
        with Fake(lambda n, status=status: status) as agent, running({"endpoint": agent.url}) as (wick, send):
            send(small("shop"))
            counted = harness.wait_for(lambda: wick.metric(FAILED) == 3, 10)
            TAP.check(f"status {status}: dropped at once, and counted", counted and agent.count == 1 and wick.metric(SENT) == 0,
                      f"{agent.count} requests")
            TAP.check(f"status {status}: the log says so", f"HTTP status {status}" in wick.said(), wick.said()[-300:])


def again():
    """What may pass is sent until it does, and arrives once."""
    for status in (408, 429, 500, 502, 503, 504):
        with Fake(lambda n, status=status: status if n < 3 else 200) as agent, running({"endpoint": agent.url}) as (wick, send):
            send(small("shop"))
            came = harness.wait_for(lambda: wick.metric(SENT) == 3, 10)
            TAP.check(f"status {status}: sent again until it is taken", came and agent.count == 3 and total(agent.uploads) == 3 and
                      wick.metric(FAILED) == 0, f"{agent.count} requests")


def away():
    """Nobody there, somebody who does not answer, somebody slow: nothing is lost once he is back."""
    for mode in ("away", "mute"):
        with Fake() as agent, backend.Proxy(agent.port, mode) as proxy, \
                running({"endpoint": f"http://127.0.0.1:{proxy.port}", "timeout": "4s"}) as (wick, send):
            send_all(send)
            harness.wait_for(lambda: wick.metric("wick_exporter_retries") >= 1, 10)
            proxy.set("pass")
            arrives(lambda: agent.uploads)
            judge(f"agent {mode} for a while", agent.uploads)
            TAP.check(f"agent {mode} for a while: nothing failed", wick.metric(FAILED) == 0)
    with Fake(lambda n: (200, 60) if n == 1 else 200) as agent, running({"endpoint": agent.url, "timeout": "2s"}) as (wick, send):
        send(small("shop"))
        TAP.check("a slow agent is asked again", harness.wait_for(lambda: wick.metric(SENT) == 3, 20) and agent.count > 1,
                  f"{agent.count} requests")


def gone():
    """Retries have an end, and so has the time to stop in; what is not sent is counted."""
    retry = {"initial_interval": "50ms", "max_interval": "50ms", "max_elapsed_time": "300ms"}
    options = {"endpoint": f"http://127.0.0.1:{harness.free_port()}"}
    with running({**options, "retry_on_failure": retry}) as (wick, send):
        send(small("shop"))
        TAP.check("agent gone: counted once retries end", harness.wait_for(lambda: wick.metric(FAILED) == 3, 10))
    with running({**options, "interval": "1h"}) as (wick, send):
        send(small("shop"))
        started = time.monotonic()
        status = wick.stop()
        TAP.check("agent gone: it stops within its time, and says what is lost", status == 0 and
                  "dropped 3 samples: wick stops" in wick.said() and time.monotonic() - started < 25, wick.said()[-300:])


def survives():
    """A reload and, with a queue on disk, kill -9: what waits is sent by who comes next."""
    with Fake() as agent, running({"endpoint": agent.url, "interval": "1h"}) as (wick, send):
        send(small("shop"))
        wick.signal(signal.SIGHUP)
        TAP.check("a reload sends what an interval has", harness.wait_for(lambda: total(agent.uploads) == 3, 20), wick.said()[-300:])
        TAP.check("after it, profiles are taken", send(small("shop")) == 200 and wick.stop() == 0 and total(agent.uploads) == 6)
    with Fake() as agent, backend.Proxy(agent.port, "away") as proxy, tempfile.TemporaryDirectory() as folder, \
            running({"endpoint": f"http://127.0.0.1:{proxy.port}", "sending_queue": {"storage": "file_storage"}},
                    extensions={"file_storage": {"directory": folder}}) as (wick, send):
        send(small("shop"))
        send(small("cart"))
        harness.wait_for(lambda: wick.metric("wick_exporter_retries") >= 2, 10)
        wick.kill()
        proxy.set("pass")
        wick.start()
        TAP.check("kill -9 costs nothing that is on disk", harness.wait_for(lambda: total(agent.uploads) == 6, 20) and
                  {u.tag("service") for u in agent.uploads} == {"shop", "cart"}, wick.said()[-300:])


def large():
    """What is more than an interval may hold is sent before its end: memory is bounded, nothing is lost."""
    count, samples = 24, 4000
    with Fake() as agent, running({"endpoint": agent.url, "interval": "1h"}) as (wick, send):
        before = wick.memory("VmRSS")
        good = all(send(forged.small(f"b{i}", samples)) == 200 for i in range(count))
        early = harness.wait_for(lambda: agent.count > 0, 20)
        peak = wick.memory("VmHWM") - before
        TAP.check("large: it does not wait for the end", good and early, f"{agent.count} uploads")
        TAP.check("large: memory", peak < (600 if harness.SANITIZED else 150) << 20, f"{peak >> 20} MiB more")
        TAP.check("large: nothing is lost", wick.stop() == 0 and total(agent.uploads) == count * samples, str(total(agent.uploads)))


# ---- This machine -----------------------------------------------------------------------

def flags():
    """The flags of an older agent, for a whole machine with something to do."""
    if os.geteuid():
        TAP.skip("flags", "needs root")
        return
    victim = subprocess.Popen([sys.executable, "-c", "while True: sum(range(1000))"])
    with Fake() as agent, variables({"DD_AGENT_HOST": "127.0.0.1", "DD_TRACE_AGENT_PORT": str(agent.port)}):
        command = [harness.WICK, "--enable-profiling-datadog", "--profiling-datadog-service=shop",
                   "--profiling-datadog-env=prod", "--profiling-interval=1"]
        with harness.Process(command, "", name="wick") as wick:
            def seen():
                return [sample for upload in list(agent.uploads) for sample in upload.profile.samples
                        if sample.labels.get("process_id") == str(victim.pid)]

            TAP.check("flags: the victim is there", harness.wait_for(lambda: len(seen()) > 1, 30, 0.2), wick.said()[-600:])
            upload = agent.uploads[0]
            TAP.check("flags: service and env", (upload.tag("service"), upload.tag("env")) == ("shop", "prod"), str(upload.tags))
            sample = seen()[0]
            TAP.check("flags: labels", {"thread id", "thread name", "process_id", "process_name"} <= set(sample.labels),
                      str(sample.labels))
            TAP.check("flags: every frame has a name", all(all(s.stack) for u in agent.uploads for s in u.profile.samples))
            TAP.check("flags: it ends well", wick.stop() == 0)
    victim.kill()
    victim.wait()


if __name__ == "__main__":
    with_test_agent()
    with_trace_agent()
    agentless()
    owners()
    losses()
    refused()
    again()
    away()
    gone()
    survives()
    large()
    flags()
    TAP.end()
