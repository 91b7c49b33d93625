#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The receivers that do not listen: this machine, files, a program's pprof endpoint, made-up profiles. What each sends on is
read from the file exporter's JSON."""
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time

import process

TAP = process.TAP
SECOND = 10 ** 9


def pipeline(receivers, path, **service):
    return {"receivers": receivers, "exporters": {"file": {"path": path, "flush_interval": "100ms"}},
            "service": {"pipelines": {"profiles": {"receivers": list(receivers), "exporters": ["file"]}}, **service}}


def requests(path):
    """What was written so far, whole lines only."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def profiles(request):
    for resource in request.get("resourceProfiles", []):
        attributes = {a["key"]: next(iter(a["value"].values()), None) for a in resource["resource"].get("attributes", [])}
        for scope in resource.get("scopeProfiles", []):
            for profile in scope.get("profiles", []):
                yield attributes, profile


def sample_attributes(request, sample):
    dictionary = request["dictionary"]
    for index in sample.get("attributeIndices", []):
        attribute = dictionary["attributeTable"][index]
        yield dictionary["stringTable"][attribute["keyStrindex"]], next(iter(attribute["value"].values()))


def samples(found):
    return sum(len(p.get("samples", [])) for r in found for _, p in profiles(r))


def wait_for_samples(path, count, seconds=30):
    return process.wait_for(lambda: samples(requests(path)) >= count, seconds, 0.1)


# ---- Made up, and files ---------------------------------------------------------------

def made_up_and_files(folder):
    first, second = os.path.join(folder, "first.json"), os.path.join(folder, "second.json")
    tail = {"otlp_json_file": {"include": [os.path.join(folder, "first*.json")], "start_at": "beginning"}}
    with process.Wick(pipeline({"customprofilesreceiver": {"report_interval": "100ms"}}, first)) as maker:
        with process.Wick(pipeline(tail, second)) as reader:
            TAP.check("made-up profiles come", wait_for_samples(first, 3))
            TAP.check("files are read while they are written", wait_for_samples(second, 3))
            os.rename(first, os.path.join(folder, "first-old.json"))
            with open(first, "w", encoding="utf-8") as file:
                file.write("nonsense\n" + json.dumps({"resourceProfiles": []}) + "\n")
            failed = "otelcol_receiver_requests"
            TAP.check("a line that is not OTLP is counted",
                      process.wait_for(lambda: reader.metric(failed, outcome="failure") == 1, 10))
            TAP.check("the maker stops when told", maker.stop() == 0)
            wanted = samples(requests(os.path.join(folder, "first-old.json")))
            TAP.check("a renamed file is read to its end", wait_for_samples(second, wanted))
            TAP.check("the reader stops when told", reader.stop() == 0)
            TAP.check("nothing was read twice", samples(requests(second)) == wanted,
                      f"{samples(requests(second))} of {wanted}")
    container = {a.get("container.id") for r in requests(second) for a, _ in profiles(r)}
    TAP.check("made-up profiles have a container", len(container) == 1 and len(container.pop() or "") == 64)


# ---- pprof -------------------------------------------------------------------------------

class Endpoint(http.server.BaseHTTPRequestHandler):
    body, asked = b"", []

    def do_GET(self):
        self.asked.append((self.path, self.headers.get("authorization")))
        self.send_response(200)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        pass


def pprof(folder):
    path, out = os.path.join(folder, "p.pb.gz"), os.path.join(folder, "pprof.json")
    source = os.path.join(process.PAYLOADS, "ebpf-profiler-go.bin")
    subprocess.run([process.WICK, "convert", source, path], check=True)
    with open(path, "rb") as file:
        Endpoint.body = file.read()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    config = pipeline({"pprof": {"endpoint": endpoint, "collection_interval": "200ms", "initial_delay": "0s",
                                 "auth": {"authenticator": "basicauth"}}}, out, extensions=["basicauth"])
    config["extensions"] = {"basicauth": {"client_auth": {"username": "ann", "password": "word"}}}
    with process.Wick(config) as wick:
        TAP.check("pprof profiles come", wait_for_samples(out, 1))
        TAP.check("it stops when told", wick.stop() == 0)
    server.shutdown()
    TAP.check("pprof: the path and the seconds are asked for", Endpoint.asked[0][0] == "/debug/pprof/profile?seconds=1",
              str(Endpoint.asked[0]))
    TAP.check("pprof: the password goes along", Endpoint.asked[0][1] == "Basic YW5uOndvcmQ=", str(Endpoint.asked[0]))
    attributes = [a for r in requests(out)[:1] for a, _ in profiles(r)]
    TAP.check("pprof: the source is named", all(a["server.address"] == "127.0.0.1" for a in attributes), str(attributes[:1]))
    types = {(r["dictionary"]["stringTable"][p["sampleType"]["typeStrindex"]]) for r in requests(out)[:1] for _, p in profiles(r)}
    TAP.check("pprof: both of its values come", "samples" in types, str(types))


# ---- This machine --------------------------------------------------------------------------

BUSY = "import sys\nwhile True: pass"


def machine(folder):
    if not process.common.privileged_or_skip(TAP, "profiling"):
        return
    out = os.path.join(folder, "machine.json")
    options = {"SamplesPerSecond": 97, "reporter_interval": "1s", "reporter_jitter": 0, "include_env_vars": "WICK_A,WICK_B",
               "pin_cpu_ids": "0", "tracers": "all"}
    busy = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", BUSY], env={**os.environ, "WICK_A": "one"})
    started = time.time_ns()
    try:
        with process.Wick(pipeline({"profiling": options}, out)) as wick:
            came = process.wait_for(lambda: len(requests(out)) >= 3, 30, 0.1)
            TAP.check("profiling: a window each interval", came)
            value = wick.metric("wick_profiler_process_events")
            TAP.check("profiling: its counters are metrics", value > 0, str(value))
            wick.signal(signal.SIGHUP)
            seen = len(requests(out))
            TAP.check("profiling: it goes on after a reload",
                      process.wait_for(lambda: len(requests(out)) >= seen + 2, 30, 0.1))
            TAP.check("profiling: it stops when told", wick.stop() == 0)
    finally:
        busy.kill()
        busy.wait()
    found = requests(out)
    mine = [(r, a, p) for r in found for a, p in profiles(r) if str(a.get("process.pid")) == str(busy.pid)]
    TAP.check("profiling: a busy process is seen", len(mine) >= 3, str(len(mine)))
    TAP.check("profiling: variables that were asked for", all(
        a.get("process.environment_variable.WICK_A") == "one" and "process.environment_variable.WICK_B" not in a
        for _, a, _ in mine), str(mine[0][1] if mine else ""))
    cpus = {int(value) for r in found for _, p in profiles(r) for s in p["samples"]
            for key, value in sample_attributes(r, s) if key == "cpu.logical_number"}
    TAP.check("profiling: only the CPU that was asked for", cpus == {0}, str(cpus))
    check_times(mine, started)


def check_times(mine, started):
    """Samples lie in their windows, windows follow each other, all in the time since the test began. Each window has the time
    of day as it was at its end: a clock that is being corrected makes neighbours overlap a little."""
    outside, late, last = 0, 0, 0
    for _, _, profile in mine:
        begin = int(profile["timeUnixNano"])
        end = begin + int(profile.get("durationNano", 0))
        late += begin < last - SECOND // 100
        last = end
        outside += sum(not begin <= int(t) < end for s in profile["samples"] for t in s["timestampsUnixNano"])
    first = int(mine[0][2]["timeUnixNano"]) if mine else 0
    TAP.check("profiling: times lie in their windows", outside == 0, f"{outside} do not" if outside else "")
    TAP.check("profiling: windows do not overlap", late == 0, f"{late} do" if late else "")
    TAP.check("profiling: it is now", started - SECOND < first and last < time.time_ns() + SECOND)


def machine_without_privileges(folder):
    """error_mode: what happens to the rest if sampling cannot start."""
    if os.geteuid() != 0:
        TAP.skip("error_mode", "needs root to give privileges up")
        return
    out = os.path.join(folder, "unprivileged.json")
    os.chmod(folder, 0o777)
    for mode in ("propagate", "ignore"):
        config = pipeline({"profiling": {"error_mode": mode}, "customprofilesreceiver": {"report_interval": "100ms"}}, out)
        wick = process.Wick(config, name=mode)
        os.chmod(wick.folder, 0o755)
        wick.command = ["setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all", *wick.command]
        try:
            wick.start()
            # It may listen for a moment before what cannot start ends it.
            process.wait_for(lambda: mode == "ignore" or not wick.alive(), process.START_SECONDS)
        except RuntimeError as error:
            TAP.note(error)
        try:
            if mode == "ignore":
                TAP.check("error_mode: ignore: the rest runs", wick.alive() and wait_for_samples(out, 2))
            else:
                TAP.check("error_mode: propagate: nothing starts, with a sentence",
                          not wick.alive() and "root" in wick.said(), wick.said()[-300:])
        finally:
            wick.kill()


def main():
    with process.tempfile.TemporaryDirectory(prefix="wick-receivers-") as folder:
        made_up_and_files(folder)
        pprof(folder)
        machine(folder)
        machine_without_privileges(folder)
    TAP.end()


main()
