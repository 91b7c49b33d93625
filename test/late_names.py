#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that come late, over a whole wick: profiles of a stripped program with build id and addresses alone, as OpenTelemetry's
profiler sends them; then its symbols, uploaded or from debuginfod. Old rows must have names, exactly joined. Prints TAP."""
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from common import free_port

WICK = os.environ.get("WICK", "build/wick")
SOURCE = """
static volatile long sink;
__attribute__((noinline)) void inner_work(int n) { for (int i = 0; i < n; i++) sink += i * 3; }
__attribute__((noinline)) void outer_work(int n) { inner_work(n); inner_work(n + 1); sink++; }
__attribute__((noinline)) void other_work(int n) { sink -= n; sink *= 3; sink ^= 5; }
int main(int argc, char **argv) { outer_work(argc); other_work(argc); return 0; }
"""
FUNCTIONS = ["main", "outer_work", "inner_work", "other_work"]


def check(name, holds, *notes):
    print(("ok - " if holds else "not ok - ") + name, flush=True)
    for note in notes if not holds else ():
        print(f"# {note}")
    return holds


class Victim:
    """A program, stripped, and its symbols aside."""

    def __init__(self, directory):
        full, self.stripped = os.path.join(directory, "full"), os.path.join(directory, "victim")
        self.debug = os.path.join(directory, "victim.debug")
        subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id", "-x", "c", "-", "-o", full], input=SOURCE.encode(), check=True)
        subprocess.run(["strip", "-o", self.stripped, full], check=True)
        subprocess.run(["objcopy", "--only-keep-debug", full, self.debug], check=True)
        notes = subprocess.run(["readelf", "-n", full], capture_output=True, text=True, check=True).stdout
        self.build_id = notes.split("Build ID: ")[1].split()[0]
        self.range = {}
        for line in subprocess.run(["nm", "-S", full], capture_output=True, text=True, check=True).stdout.splitlines():
            fields = line.split()
            if len(fields) == 4 and fields[3] in FUNCTIONS:
                self.range[fields[3]] = (int(fields[0], 16), int(fields[1], 16))
        self.unstripped = os.path.join(directory, "whole", "victim")
        os.mkdir(os.path.dirname(self.unstripped))
        os.rename(full, self.unstripped)

    def stacks(self):
        """Stacks of addresses, leaf first, with how often each is sent: every address of each function."""
        main, outer = self.range["main"], self.range["outer_work"]
        for name in FUNCTIONS:
            start, size = self.range[name]
            for offset in range(0, size):
                path = {"main": [], "outer_work": [main[0] + 3], "other_work": [main[0] + 9],
                        "inner_work": [outer[0] + 1 + offset % 5, main[0] + 3]}[name]
                yield [start + offset] + path, 1 + offset % 3

    def called(self, address):
        return next(n for n, (start, size) in self.range.items() if start <= address < start + size)

    def tree(self):
        """What a flame of it must be, once named: paths from the outermost function on with their own samples."""
        paths = collections.Counter()
        for stack, count in self.stacks():
            paths[tuple(self.called(a) for a in reversed(stack))] += count
        return paths

    def request(self, now_ns, name="victim", executable=None):
        strings = ["", name, "process.executable.build_id.gnu", "profile.frame.type", "samples", "count"]
        addresses, stacks, samples = [], [[]], []
        for stack, count in self.stacks():
            for address in stack:
                if address not in addresses:
                    addresses.append(address)
            stacks.append([addresses.index(a) + 1 for a in stack])
            samples.append({"stackIndex": len(stacks) - 1, "values": [str(count)], "timestampsUnixNano": [str(now_ns)]})
        told = {"host.name": "far", **({"process.executable.path": executable} if executable else {})}
        return {"resourceProfiles": [{"resource": {"attributes": [{"key": k, "value": {"stringValue": v}} for k, v in told.items()]},
                                      "scopeProfiles": [{"profiles": [{
                                          "sampleType": {"typeStrindex": 4, "unitStrindex": 5}, "timeUnixNano": str(now_ns),
                                          "samples": samples}]}]}],
                "dictionary": {"mappingTable": [{}, {"filenameStrindex": 1, "attributeIndices": [1]}], "linkTable": [{}],
                               "attributeTable": [{}, {"keyStrindex": 2, "value": {"stringValue": self.build_id}},
                                                  {"keyStrindex": 3, "value": {"stringValue": "native"}}],
                               "functionTable": [{}],
                               "locationTable": [{}] + [{"mappingIndex": 1, "address": str(a), "attributeIndices": [2]}
                                                        for a in addresses],
                               "stackTable": [{"locationIndices": s} for s in stacks], "stringTable": strings}}


class Wick:
    def __init__(self, store, **late_names):
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        endpoint = f"127.0.0.1:{self.port}"
        config = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": endpoint}}}},
                  "exporters": {"store": {"path": store, "late_names": {"interval": "200ms", **late_names}}},
                  "extensions": {"page": {"endpoint": endpoint}},
                  "service": {"extensions": ["page"], "telemetry": {"metrics": {"level": "none"}},
                              "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}
        path = os.path.join(os.path.dirname(store), "wick.yaml")
        with open(path, "w") as file:
            json.dump(config, file)
        self.log = open(os.path.join(os.path.dirname(store), "wick.log"), "a")
        environment = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
        self.process = subprocess.Popen([WICK, "--config", path], stderr=self.log, stdout=self.log, env=environment)
        self.until(lambda: self.ask("generation") is not None)

    def until(self, holds):
        for _ in range(300):
            try:
                if holds():
                    return True
            except (OSError, KeyError):
                pass
            time.sleep(0.1)
        return False

    def ask(self, name, **query):
        query = {"from": "now-5m", "to": "now", **query}
        with urllib.request.urlopen(f"{self.base}/api/v1/{name}?" + urllib.parse.urlencode(query), timeout=20) as answer:
            return json.load(answer)

    def post(self, path, body, content_type="application/octet-stream", **headers):
        request = urllib.request.Request(self.base + path, body, {"Content-Type": content_type, **headers}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or "{}")
        except urllib.error.HTTPError as error:
            text = error.read()
            return error.code, json.loads(text) if text.startswith(b"{") else {"error": text}

    def paths(self):
        """A flame as paths of names with their own samples; each at most once, or the tree is not joined."""
        flame, found = self.ask("flame"), {}
        nodes, names = flame["nodes"], flame["frames"]["name"]
        rows, seen = zip(nodes["frame"], nodes["self"], nodes["rest"], nodes["children"]), 0

        def read(path):
            nonlocal seen
            back, own, rest, children = next(rows)
            name = names[seen - back] if back else names[seen]
            seen += not back
            path = path + (name,) if path is not None else ()
            if path in found or rest:
                raise SystemExit(f"not ok - {path} is there twice, or not all of it")
            found[path] = own
            for _ in range(children):
                read(path)
        read(None)
        return {path: own for path, own in found.items() if own}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.log.close()


def state(wick):
    return next((row for row in wick.ask("executables")["rows"] if row["path"] == "victim"), {})


def send(wick, victim, **told):
    before = wick.ask("flame")["root"]
    total = sum(victim.tree().values())
    request = json.dumps(victim.request(time.time_ns(), **told)).encode()
    # The receiver starts after the page.
    wick.until(lambda: wick.post("/v1development/profiles", request, "application/json")[0] == 200)
    return check("profiles with addresses alone come in", wick.until(lambda: wick.ask("flame")["root"] == before + total))


def check_upload(directory, victim):
    wick = Wick(os.path.join(directory, "uploaded"))
    total = sum(victim.tree().values())
    good = send(wick, victim)
    good &= check("what has no name is a place", all(name.startswith("victim+0x") for p in wick.paths() for name in p))
    good &= check("... and the executable is said to have none", state(wick)["state"] == "none", state(wick))
    with open(victim.debug, "rb") as file:
        debug = file.read()
    status, answer = wick.post("/api/v1/symbols", b"no ELF file at all")
    good &= check("what is no ELF file is refused", status == 400 and "ELF" in answer["error"], status, answer)
    status, answer = wick.post("/api/v1/symbols", debug[:len(debug) // 2])
    good &= check("... half a file names nothing", status == 400 or not sum(e["named"] for e in answer["executables"]), answer)
    status, answer = wick.post("/api/v1/symbols", debug, Origin="http://evil.example")
    good &= check("... and so are other sites", status == 403, status, answer)
    status, answer = wick.post("/api/v1/symbols", debug)
    good &= check("an uploaded debug file names the executable", status == 200 and answer["build_id"] == victim.build_id and
                  [e["path"] for e in answer["executables"]] == ["victim"] and
                  answer["executables"][0]["named"] == answer["executables"][0]["addresses"] > 40, status, answer)
    good &= check("old rows have names, totals are the same, functions are joined", wick.paths() == dict(victim.tree()) and
                  wick.ask("flame")["root"] == total, wick.paths(), victim.tree())
    row = state(wick)
    good &= check("... and the executable is named, by an upload", row["state"] == "named" and
                  row["sources"] == {"uploaded": len(FUNCTIONS)}, row)
    good &= send(wick, victim)
    twice = {path: 2 * own for path, own in victim.tree().items()}
    good &= check("what comes later is the same", wick.paths() == twice, wick.paths())
    wick.stop()
    wick = Wick(os.path.join(directory, "uploaded"))
    good &= check("names outlive the process", wick.paths() == twice, wick.paths())
    wick.stop()
    return good


def check_background(name, source, victim, store, **late_names):
    """A wick that looks for names, after one that did not."""
    wick = Wick(store, enabled=False)
    good = send(wick, victim)
    good &= check("nobody looks for names unless told to", state(wick)["state"] == "none", state(wick))
    wick.stop()
    wick = Wick(store, **late_names)
    good &= check(f"{name} names old rows in the background", wick.until(lambda: state(wick).get("state") == "named"),
                  wick.ask("executables"))
    good &= check("... totals are the same, functions are joined", wick.paths() == dict(victim.tree()), wick.paths())
    good &= check("... and it is told where names came from", state(wick).get("sources") == {source: len(FUNCTIONS)},
                  state(wick))
    wick.stop()
    return good


def check_local(directory, victim):
    """What is too large to be uploaded may be put there."""
    store = os.path.join(directory, "local")
    os.makedirs(os.path.join(store, "symbols"))
    shutil.copy(victim.debug, os.path.join(store, "symbols", victim.build_id))
    return check_background("a file that was put into the store by hand", "uploaded", victim, store)


def check_paths(directory, victim):
    """A file of this machine in a folder that nobody would look into, named by the last part of its path alone."""
    good = True
    for name, store, first in (("a program whose whole path its process tells", "process", {"executable": victim.unstripped}),
                               ("a file whose path another sender tells", "sender", {"name": victim.unstripped})):
        wick = Wick(os.path.join(directory, store))
        if "name" in first:
            good &= send(wick, victim)
            time.sleep(1)
            good &= check("a name without a folder is found nowhere", state(wick)["state"] == "none", state(wick))
        good &= send(wick, victim, **first)
        good &= check(f"{name} gets its names from there", wick.until(lambda w=wick: state(w).get("state") == "named") and
                      state(wick)["sources"] == {"local": len(FUNCTIONS)}, wick.ask("executables"))
        wick.stop()
    return good


def check_debuginfod(directory, victim):
    for tool in ("debuginfod", "curl"):
        if not shutil.which(tool):
            print(f"ok - names from debuginfod # SKIP {tool} is not installed")
            return True
    served = os.path.join(directory, "served")
    os.mkdir(served)
    shutil.copy(victim.debug, served)
    port = free_port()
    environment = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
    with open(os.path.join(directory, "debuginfod.log"), "w") as log:
        server = subprocess.Popen(["debuginfod", "-F", served, "-p", str(port), "-d", ":memory:", "-t", "0"], stdout=log,
                                  stderr=log, env=environment)
    url = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{url}/buildid/{victim.build_id}/debuginfo", timeout=5).read()
            break
        except OSError:
            time.sleep(0.1)
    good = check_background("debuginfod", "debuginfod", victim, os.path.join(directory, "debuginfod"),
                            debuginfod={"urls": [url], "cache_directory": os.path.join(directory, "cache")})
    server.terminate()
    server.wait(10)
    return good


def main():
    for tool in ("gcc", "strip", "objcopy", "readelf", "nm"):
        if not shutil.which(tool):
            print(f"ok - late names # SKIP {tool} is not installed")
            return 0
    with tempfile.TemporaryDirectory() as directory:
        victim = Victim(directory)
        good = check_upload(directory, victim)
        good &= check_local(directory, victim)
        good &= check_paths(directory, victim)
        good &= check_debuginfod(directory, victim)
        if not good:
            with open(os.path.join(directory, "wick.log")) as log:
                print("".join(f"# {line}" for line in log.readlines()[-20:]))
    return 0 if good else 1


sys.exit(main())
