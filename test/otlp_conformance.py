#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever wick writes as OTLP keeps OTLP's rules (otlp_rules.py): recordings, what the exporters otlp and file and the page give
away, under a load that makes samples late. PROFCHECK=/path/to/profcheck asks the profiling SIG's checker as well."""
import copy
import http.client
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "collector"))
import process  # noqa: E402
from process import TAP  # noqa: E402
import common  # noqa: E402
import otlp  # noqa: E402
import otlp_rules  # noqa: E402

CHECKER = os.environ.get("PROFCHECK")
BUSY = 14
SHOWN = 6


def profcheck(raw):
    """What the SIG's checker says against these bytes, where there is one."""
    if not CHECKER:
        return []
    with tempfile.NamedTemporaryFile(suffix=".otlp") as file:
        file.write(raw)
        file.flush()
        done = subprocess.run([CHECKER, "-check-dupes", "-check-orphans", file.name], capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else ["profcheck: " + line[:300] for line in done.stdout.splitlines()]


def judge(name, payloads):
    """payloads: OTLP bytes, or texts of JSON. All of them keep the rules."""
    found = []
    for i, payload in enumerate(payloads):
        raw = isinstance(payload, bytes)
        found += [f"{i}: {text}" for text in otlp_rules.problems(otlp.decode(payload) if raw else json.loads(payload))]
        found += [f"{i}: {text}" for text in (profcheck(payload) if raw else [])]
    TAP.check(name, payloads and not found, f"{len(payloads)} payloads, {len(found)} problems")
    TAP.note("\n".join(found[:SHOWN]))


def good():
    """A small profile without a fault."""
    return {"resourceProfiles": [{"resource": {}, "scopeProfiles": [{"profiles": [{
        "sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "timeUnixNano": 1000, "durationNano": 100,
        "samples": [{"stackIndex": 1, "attributeIndices": [1], "linkIndex": 1, "timestampsUnixNano": [1000, 1099]}]}]}]}],
        "dictionary": {"mappingTable": [{}, {"memoryStart": 1, "memoryLimit": 2, "filenameStrindex": 3}],
                       "locationTable": [{}, {"mappingIndex": 1, "lines": [{"functionIndex": 1}]}],
                       "functionTable": [{}, {"nameStrindex": 4}], "linkTable": [{}, {"traceId": b"1" * 16, "spanId": b"1" * 8}],
                       "stringTable": ["", "samples", "count", "file", "main", "key"],
                       "attributeTable": [{}, {"keyStrindex": 5, "value": {"intValue": 1}}],
                       "stackTable": [{}, {"locationIndices": [1]}]}}


def rules():
    """The rules find each fault, and nothing in what has none."""
    TAP.check("a profile that is right has no problem", not otlp_rules.problems(good()), str(otlp_rules.problems(good())))

    def sample(data):
        return data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0]["samples"]

    faults = {
        "link_table[0] is spelt out": lambda d: d["dictionary"]["linkTable"].__setitem__(
            0, {"traceId": bytes(16), "spanId": bytes(8)}),
        "a table is missing": lambda d: d["dictionary"].pop("linkTable"),
        "the first string is not empty": lambda d: d["dictionary"]["stringTable"].__setitem__(0, "x"),
        "an attribute that nobody has": lambda d: d["dictionary"]["attributeTable"].append({"keyStrindex": 1}),
        "a string that nobody says": lambda d: d["dictionary"]["stringTable"].append("nobody"),
        "a mapping without a location": lambda d: d["dictionary"]["mappingTable"].append({"memoryStart": 4, "memoryLimit": 5}),
        "a function without a line": lambda d: d["dictionary"]["functionTable"].append({"nameStrindex": 1}),
        "a location without a stack": lambda d: d["dictionary"]["locationTable"].append({"address": 4}),
        "a stack without a sample": lambda d: d["dictionary"]["stackTable"].append({"locationIndices": [1, 1]}),
        "a link without a sample": lambda d: d["dictionary"]["linkTable"].append({"traceId": b"2" * 16, "spanId": b"2" * 8}),
        "a string twice": lambda d: (d["dictionary"]["stringTable"].append("main"),
                                     d["dictionary"]["functionTable"][1].update(filenameStrindex=6)),
        "an index out of its table": lambda d: sample(d)[0].update(stackIndex=7),
        "a location out of its table": lambda d: d["dictionary"]["stackTable"][1]["locationIndices"].append(9),
        "a key twice": lambda d: sample(d)[0].update(attributeIndices=[1, 1]),
        "a time before the start": lambda d: sample(d)[0].update(timestampsUnixNano=[999]),
        "a time at the end": lambda d: sample(d)[0].update(timestampsUnixNano=[1100]),
        "a sample that says nothing": lambda d: sample(d)[0].pop("timestampsUnixNano"),
        "more values than times": lambda d: sample(d)[0].update(values=[1, 2, 3]),
        "values without times": lambda d: (sample(d)[0].pop("timestampsUnixNano"), sample(d)[0].update(values=[1, 2])),
        "two shapes": lambda d: sample(d).append({"stackIndex": 0, "values": [1]}),
        "a sample twice": lambda d: sample(d).append(copy.deepcopy(sample(d)[0])),
        "a mapping that ends before it starts": lambda d: d["dictionary"]["mappingTable"][1].update(memoryLimit=1),
        "a scope without profiles": lambda d: d["resourceProfiles"][0]["scopeProfiles"].append({}),
    }
    for name, damage in faults.items():
        data = good()
        damage(data)
        TAP.check(f"the rules find: {name}", otlp_rules.problems(data))


class Load:
    """Busy programs, and new ones all the time: what is sampled of those waits for their files."""

    def __enter__(self):
        script = "import sys,zlib\ndef f(n):\n  while 1: zlib.crc32(b'x' * n)\nf(4096)"
        self.busy = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(BUSY)]
        self.is_over = False
        self.storm = threading.Thread(target=self.start_programs)
        self.storm.start()
        return self

    def start_programs(self):
        while not self.is_over:
            subprocess.run([sys.executable, "-c", "sum(range(2000000))"], check=False)

    def __exit__(self, *_):
        self.is_over = True
        for process_ in self.busy:
            process_.kill()
            process_.wait()
        self.storm.join()


class Sink(http.server.ThreadingHTTPServer):
    """Takes OTLP/HTTP and keeps it."""

    def __init__(self):
        received = self.received = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802
                received.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def recordings():
    """{what it is: payloads}."""
    found = {}
    for name, file, arguments in (("CPU", "out.otlp", []), ("two kinds", "out.otlp", ["-e", "cpu,faults"]),
                                  ("JSON", "out.otlp.json", [])):
        done = common.Recording(["-d", "3", *arguments], rate=97, name=file).wait()
        if not TAP.check(f"record: {name}", done.status == 0):
            TAP.note(done.said())
            continue
        raw = read(done.path)
        found[f"what record has written: {name}"] = [raw.decode() if file.endswith("json") else raw]
    return found


def ask(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read() if answer.status == 200 else b""
    finally:
        connection.close()


def framed(raw):
    """The messages of a file that has the length before each."""
    at, found = 0, []
    while at < len(raw):
        size = int.from_bytes(raw[at:at + 4], "big")
        found.append(raw[at + 4:at + 4 + size])
        at += 4 + size
    return found


def config(sink, page, folder):
    return {"receivers": {"profiling": {"samples_per_second": 97, "reporter_interval": "1s", "reporter_jitter": 0,
                                        "kinds": ["cpu", "faults"]}},
            "exporters": {"otlp_http": {"endpoint": f"http://127.0.0.1:{sink}", "compression": "none"},
                          "file/proto": {"path": f"{folder}/p", "format": "proto"}, "file/json": {"path": f"{folder}/j"},
                          "store": {"path": f"{folder}/store"}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{page}"}},
            "service": {"extensions": ["page"], "pipelines": {"profiles": {
                "receivers": ["profiling"], "exporters": ["otlp_http", "file/proto", "file/json", "store"]}}}}


def pipeline():
    """{what it is: payloads} of exporters and of the page."""
    page, sink = process.free_port(), Sink()
    with tempfile.TemporaryDirectory() as folder:
        with process.Wick(config(sink.server_port, page, folder), [page]) as wick:
            TAP.check("ten windows are sent", process.wait_for(lambda: len(sink.received) >= 10, 150))
            time.sleep(0.5)
            shown = [ask(page, "/api/v1/export?format=otlp")]
            TAP.check("wick ends well", wick.stop() == 0)
        sink.close()
        return {"what the page gives away": shown, "what the exporter otlp_http sends": sink.received,
                "what the exporter file writes": framed(read(f"{folder}/p")),
                "what the exporter file writes as JSON": read(f"{folder}/j").decode().splitlines()}


def main():
    rules()
    if common.privileged_or_skip(TAP, "OTLP of this machine"):
        with Load():
            found = {**recordings(), **pipeline()}
        for name, payloads in found.items():
            judge(f"{name} keeps the rules", payloads)
    TAP.end()


if __name__ == "__main__":
    main()
