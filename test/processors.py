#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processors in running pipelines: OTLP in, one processor or several, a file out; what comes out is compared with
what must. Prints TAP."""
import hashlib
import http.client
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "collector"))
from process import TAP, WICK, Wick, free_port, payload  # noqa: E402

WORK = tempfile.mkdtemp(prefix="wick-processors-")


# ---- A profile as text, both ways -----------------------------------------------------------------

class Dictionary:
    def __init__(self):
        self.strings, self.attributes = [""], [{}]
        self.mappings, self.locations, self.stacks = [{}], [{}], [{}]

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def attribute(self, key, value):
        kind = "intValue" if isinstance(value, int) else "stringValue"
        row = {"keyStrindex": self.string(key), "value": {kind: str(value)}}
        if row not in self.attributes:
            self.attributes.append(row)
        return self.attributes.index(row)

    def tables(self):
        return {"stringTable": self.strings, "attributeTable": self.attributes, "mappingTable": self.mappings,
                "locationTable": self.locations, "functionTable": [{}], "linkTable": [{}], "stackTable": self.stacks}


def keyvalues(attributes):
    return [{"key": key, "value": {"intValue" if isinstance(value, int) else "stringValue": str(value)}}
            for key, value in attributes.items()]


def request(resources, dictionary=None):
    """resources: [(attributes, [(value, attributes of the sample)])], one profile each."""
    d = dictionary or Dictionary()
    made = []
    for attributes, samples in resources:
        profile = {"sampleType": {"typeStrindex": d.string("cpu"), "unitStrindex": d.string("nanoseconds")},
                   "period": "50", "timeUnixNano": "1700000000000000000",
                   "samples": [{"stackIndex": stack, "values": [str(value)],
                                "attributeIndices": [d.attribute(*one) for one in extra.items()]}
                               for value, extra, *rest in samples for stack in [rest[0] if rest else 0]]}
        made.append({"resource": {"attributes": keyvalues(attributes)},
                     "scopeProfiles": [{"scope": {"name": "test"}, "profiles": [profile]}]})
    return json.dumps({"resourceProfiles": made, "dictionary": d.tables()}).encode()


def plain(value):
    for kind, content in value.items():
        if kind == "arrayValue":
            return [plain(one) for one in content.get("values", [])]
        return int(content) if kind == "intValue" else content
    return None


def read(line):
    """The same shape back: [(attributes, [(value, attributes)])], and the decoded request."""
    data = json.loads(line)
    d = data["dictionary"]

    def attributes_of(indices):
        rows = [d["attributeTable"][i] for i in indices]
        return {row.get("key") or d["stringTable"][row["keyStrindex"]]: plain(row["value"]) for row in rows}

    found = []
    for resource in data.get("resourceProfiles", []):
        samples = [(int(sample["values"][0]) if "values" in sample else tuple(sample["timestampsUnixNano"]),
                    attributes_of(sample.get("attributeIndices", [])))
                   for scope in resource["scopeProfiles"] for profile in scope["profiles"]
                   for sample in profile.get("samples", [])]
        found.append(({a["key"]: plain(a["value"]) for a in resource["resource"].get("attributes", [])}, samples))
    return found, data


def frames(data):
    """The names of the only stack's frames, a list for each location, innermost first."""
    d = data["dictionary"]
    stack = d["stackTable"][1]["locationIndices"]
    return [[d["stringTable"][d["functionTable"][line["functionIndex"]]["nameStrindex"]]
             for line in d["locationTable"][location].get("lines", [])] for location in stack]


# ---- Running ----------------------------------------------------------------------------------------

def post(port, body, kind="application/json"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/v1development/profiles", body, {"Content-Type": kind})
    status = connection.getresponse().status
    connection.close()
    return status


def pipeline(processors, exporters=None):
    port = free_port()
    config = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
              "processors": processors,
              "exporters": exporters or {"file": {"path": "out.json", "flush_interval": "50ms"}},
              "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "processors": list(processors),
                                                     "exporters": list(exporters or {"file": 0})}}}}
    return Wick(config, (port,)), port


def through(processors, bodies, kind="application/json"):
    """Every line that came out, and the metrics at the end."""
    wick, port = pipeline(processors)
    with wick:
        statuses = [post(port, body, kind) for body in bodies]
        metrics = {(name, labels.get("processor")): value for name, labels, value in wick.metrics()}
        status = wick.stop()
        with open(os.path.join(wick.folder, "out.json"), encoding="utf-8") as file:
            lines = file.read().splitlines()
    if set(statuses) != {200} or status != 0:
        raise RuntimeError(f"statuses {statuses}, exit {status}: {wick}")
    return lines, metrics


INPUT = [({"host": "a"}, [(1, {"thread": "t1"}), (2, {"thread": "t2"})]),
         ({"host": "b"}, [(3, {"thread": "t1"}), (4, {"thread": "t2"})])]

HASH = hashlib.sha256(b"t1").hexdigest()

CASES = [
    ("resource", {"resource": {"attributes": [{"key": "env", "value": "prod", "action": "upsert"},
                                              {"key": "copy", "from_attribute": "host", "action": "insert"},
                                              {"key": "host", "action": "delete"}]}},
     [({"env": "prod", "copy": "a"}, INPUT[0][1]), ({"env": "prod", "copy": "b"}, INPUT[1][1])]),
    ("attributes", {"attributes": {
        "include": {"match_type": "regexp", "attributes": [{"key": "thread", "value": "1$"}]},
        "actions": [{"key": "thread", "action": "hash"}]}},
     [({"host": h}, [(v, {"thread": HASH}), (v + 1, {"thread": "t2"})])
      for h, v in (("a", 1), ("b", 3))]),
    ("filter of resources", {"filter": {"profile_conditions": ['resource.attributes["host"] == "a"']}}, [INPUT[1]]),
    ("filter of samples", {"filter": {"profile_conditions": [
        'sample.attributes["thread"] == "t1" or sample.values[0] == 4']}},
     [({"host": "a"}, [(2, {"thread": "t2"})])]),
    ("filter, older form", {"filter": {"profiles": {"resource": ['attributes["host"] == "b"'],
                                                    "profile": ["period != 50"]}}},
     [INPUT[0]]),
    ("transform", {"transform": {"profile_statements": [
        'set(sample.attributes["host"], Concat([resource.attributes["host"], profile.period], "-"))',
        'delete_key(resource.attributes, "host")',
        'replace_pattern(sample.attributes["thread"], "^t(\\\\d)$", "thread $$1")']}},
     [({}, [(1, {"thread": "thread 1", "host": "a-50"}), (2, {"thread": "thread 2", "host": "<nil>-50"})]),
      ({}, [(3, {"thread": "thread 1", "host": "b-50"}), (4, {"thread": "thread 2", "host": "<nil>-50"})])]),
    ("customprofilesprocessor", {"customprofilesexporter": {"foo": "bar"}},
     [({"host": h, "foo": "bar"}, s) for (a, s) in INPUT for h in [a["host"]]]),
    ("several in a row", {"filter": {"profile_conditions": ['resource.attributes["host"] == "a"']},
                          "batch": {"timeout": "10ms"},
                          "resource": {"attributes": [{"key": "x", "value": 1, "action": "insert"}]},
                          "probabilistic_sampler": {"sampling_percentage": 100}},
     [({"host": "b", "x": 1}, INPUT[1][1])]),
]


def try_cases():
    for name, processors, want in CASES:
        lines, _ = through(processors, [request(INPUT)])
        got = read(lines[0])[0] if len(lines) == 1 else lines
        TAP.check(name, got == want, "" if got == want else f"{got} is not {want}")


def try_counts():
    lines, metrics = through({"filter": {"profile_conditions": ["sample.values[0] > 0"]}}, [request(INPUT)] * 3)
    dropped = metrics.get(("otelcol_processor_filter_profiles_filtered", "filter"))
    TAP.check("a batch without samples ends in the filter, counted", not lines and dropped == 12,
              f"{len(lines)} {dropped}")


def try_real_payload():
    body = payload("ebpf-profiler-c")
    whole, _ = through({"resource": {"attributes": [{"key": "x", "value": 1, "action": "insert"}]}}, [body],
                       "application/x-protobuf")
    found = read(whole[0])[0]
    total = sum(len(samples) for _, samples in found)
    keep = found[0][0]["process.pid"]
    condition = f'resource.attributes["process.pid"] != {keep}'
    some, metrics = through({"filter": {"profile_conditions": [condition]}}, [body], "application/x-protobuf")
    kept = read(some[0])[0]
    want = [(attributes, samples) for attributes, samples in found if attributes["process.pid"] == keep]
    for attributes, _ in want:
        attributes.pop("x")
    TAP.check("one process of the OTel profiler's payload is kept whole", kept == want)
    left = total - sum(len(samples) for _, samples in want)
    dropped = metrics[("otelcol_processor_filter_profiles_filtered", "filter")]
    TAP.check("what was dropped is counted", dropped == left, f"{dropped} of {total}")


# ---- resource_detection ----------------------------------------------------------------------------------

EC2 = "http://169.254.169.254"


class Metadata(http.server.BaseHTTPRequestHandler):
    """The proxy that wick asks for http://169.254.169.254/..., and what is behind it."""

    def do_PUT(self):  # noqa: N802
        self.answer("TOKEN" if self.path == EC2 + "/latest/api/token" else None)

    def do_GET(self):  # noqa: N802
        document = {"accountId": "1", "region": "eu-1", "availabilityZone": "eu-1a", "instanceId": "i-1",
                    "imageId": "ami", "instanceType": "t3"}
        known = {EC2 + "/latest/dynamic/instance-identity/document": json.dumps(document),
                 EC2 + "/latest/meta-data/hostname": "ip-1"}
        allowed = self.headers.get("X-aws-ec2-metadata-token") == "TOKEN"
        self.answer(known.get(self.path) if allowed else None)

    def answer(self, text):
        self.send_response(200 if text else 404)
        self.send_header("Content-Length", str(len(text or "")))
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, *_):
        pass


def serve(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}"


def try_detection():
    server, url = serve(Metadata)
    os.environ.update({"http_proxy": url, "OTEL_RESOURCE_ATTRIBUTES": "team=x,host.name=mine"})
    lines, _ = through({"resourcedetection": {"detectors": ["env", "ec2"], "ec2": {"resource_attributes": {
        "host.image.id": {"enabled": False}}}}}, [request(INPUT[:1])])
    want = {"host": "a", "team": "x", "host.name": "mine", "cloud.account.id": "1", "cloud.region": "eu-1",
            "cloud.availability_zone": "eu-1a", "host.id": "i-1", "host.type": "t3", "cloud.provider": "aws",
            "cloud.platform": "aws_ec2"}
    got = read(lines[0])[0][0][0]
    TAP.check("resource_detection: the environment, then EC2", got == want, "" if got == want else str(got))
    for name in ("http_proxy", "OTEL_RESOURCE_ATTRIBUTES"):
        del os.environ[name]
    server.shutdown()


# ---- symbolize --------------------------------------------------------------------------------------------

SOURCE = """
static inline __attribute__((always_inline)) long inner(long x) { __asm__ volatile("nop" : "+r"(x)); return x * 3; }
__attribute__((noinline)) long outer(long x) { return inner(x) + 1; }
int main(int argc, char **argv) { return (int)outer(argc); }
"""


def build_victim():
    """(stripped program, debug file, build id, address inside of what is inlined into outer())"""
    source, full = os.path.join(WORK, "victim.c"), os.path.join(WORK, "full")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id", source, "-o", full], check=True)
    notes = subprocess.run(["readelf", "-n", full], capture_output=True, text=True, check=True).stdout
    build_id = notes.split("Build ID:")[1].split()[0]
    disassemble = ["objdump", "-d", "--no-show-raw-insn", full]
    code = subprocess.run(disassemble, capture_output=True, text=True, check=True).stdout
    body = code.split("<outer>:")[1].split("\n\n")[0]
    address = next(int(line.split(":")[0], 16) for line in body.splitlines() if line.rstrip().endswith("nop"))
    debug, stripped = os.path.join(WORK, "victim.debug"), os.path.join(WORK, "victim")
    subprocess.run(["objcopy", "--only-keep-debug", full, debug], check=True)
    subprocess.run(["strip", "-o", stripped, full], check=True)
    os.remove(full)
    return stripped, debug, build_id, address


def unnamed(build_id, address, name):
    d = Dictionary()
    d.mappings.append({"filenameStrindex": d.string(name),
                       "attributeIndices": [d.attribute("process.executable.build_id.gnu", build_id)]})
    for kind in ("native", "kernel"):
        d.locations.append({"mappingIndex": 1, "address": str(address),
                            "attributeIndices": [d.attribute("profile.frame.type", kind)]})
    d.stacks.append({"locationIndices": [1, 2]})
    return request([({"host": "a"}, [(1, {}, 1)])], d)


def try_symbolize():
    if not all(map(shutil.which, ("gcc", "objcopy", "strip", "readelf", "objdump"))):
        TAP.skip("symbolize", "gcc and binutils are not installed")
        return
    stripped, debug, build_id, address = build_victim()
    body = unnamed(build_id, address, os.path.basename(stripped))
    nothing = {"local_processes": False, "roots": [], "directories": [], "debug_directories": []}
    named, bare = [["inner", "outer"], []], [[], []]

    by_id = os.path.join(WORK, "by-id", build_id[:2])
    os.makedirs(by_id)
    shutil.copy(debug, os.path.join(by_id, build_id[2:] + ".debug"))
    lines, _ = through({"symbolize": {**nothing, "debug_directories": [os.path.dirname(by_id)]}}, [body])
    TAP.check("symbolize: a debug file by build id, the kernel's frame left alone", frames(read(lines[0])[1]) == named,
              str(frames(read(lines[0])[1])))

    beside = {**nothing, "directories": [WORK], "debug_directories": [os.path.dirname(by_id)]}
    lines, _ = through({"symbolize": beside}, [body])
    TAP.check("symbolize: the debug file of a stripped program that is there too", frames(read(lines[0])[1]) == named,
              str(frames(read(lines[0])[1])))

    lines, _ = through({"symbolize": nothing}, [body])
    TAP.check("symbolize: what is nowhere passes as it came", frames(read(lines[0])[1]) == bare)

    class Debuginfod(Metadata):
        def do_GET(self):  # noqa: N802
            if self.path != f"/buildid/{build_id}/debuginfo":
                return self.answer(None)
            with open(debug, "rb") as file:
                content = file.read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server, url = serve(Debuginfod)
    cache = os.path.join(WORK, "cache")
    both = {"symbolize": {**nothing, "debuginfod": {"urls": [url], "cache_directory": cache}}}
    lines, _ = through(both, [body])
    TAP.check("symbolize: a debug file from debuginfod", frames(read(lines[0])[1]) == named,
              str(frames(read(lines[0])[1])))
    server.shutdown()
    lines, _ = through(both, [body])
    TAP.check("symbolize: from the cache once the server is gone", frames(read(lines[0])[1]) == named)
    lines, _ = through({"symbolize": {**both["symbolize"], "directories": [WORK]}}, [body] * 12)
    TAP.check("symbolize: the stripped program and its debug file; batches in order",
              [frames(read(line)[1]) for line in lines] == [named] * 12)


def try_symbolize_payload():
    body = payload("ebpf-profiler-c")
    delete = {"resource": {"attributes": [{"key": "x", "action": "delete"}]}}
    before, _ = through(delete, [body], "application/x-protobuf")
    after, _ = through({"symbolize": {}}, [body], "application/x-protobuf")
    TAP.check("symbolize loses nothing of the OTel profiler's payload", read(after[0])[0] == read(before[0])[0])


# ---- What is wrong is said before anything runs ---------------------------------------------------------------

def try_errors():
    for name, processor, want in (
            ("a path that is not there", {"filter": {"profile_conditions": ['profile.perid == 1']}},
             "column 1: profile has no perid; did you mean period?"),
            ("an editor that is not there", {"transform": {"profile_statements": ["sett(profile.period, 1)"]}},
             "column 1: there is no function sett(); did you mean set()?"),
            ("a detector that is not there", {"resource_detection": {"detectors": ["ec22"]}},
             "there is no detector ec22; did you mean ec2?"),
            ("an action without a value", {"resource": {"attributes": [{"key": "a", "action": "insert"}]}},
             "action 1, of a: insert needs value, from_attribute or default_value")):
        path = os.path.join(WORK, "bad.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"receivers": {"nop": None}, "exporters": {"nop": None}, "processors": processor,
                       "service": {"pipelines": {"profiles": {"receivers": ["nop"], "processors": list(processor),
                                                              "exporters": ["nop"]}}}}, file)
        done = subprocess.run([WICK, "validate", f"--config={path}"], capture_output=True, text=True, timeout=60,
                              check=False)
        said = done.stdout + done.stderr
        TAP.check(f"validate: {name}", done.returncode == 1 and want in said, "" if want in said else said)


def main():
    try:
        try_cases()
        try_counts()
        try_real_payload()
        try_detection()
        try_symbolize()
        try_symbolize_payload()
        try_errors()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    TAP.end()


main()
