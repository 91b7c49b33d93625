#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the page's API answers, against a count of the samples that were sent in. Prints TAP.

store_answers.py [SEED]: sends profiles of made-up hosts by OTLP/HTTP, then asks for random selections: ranges, filters,
groups. Every function's total must be exactly what counting the sent samples one by one gives.
"""
import collections
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

WICK = os.environ.get("WICK", "build/wick")
SELECTIONS = 20
WINDOWS = 60
RECEIVE = {"receivers": {"otlp": {"protocols": {"http": {}}}}, "exporters": {"store": {}}, "extensions": {"page": {}},
           "service": {"extensions": ["page"], "telemetry": {"metrics": {"level": "none"}},
                       "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}


def attribute(key, value):
    return {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}


class Window:
    """One OTLP request of one host, and what is in it."""

    def __init__(self, rng, host, start_ns):
        self.samples = []
        strings, functions, stacks, attributes = [""], [0], [()], [None]

        def number(table, item):
            if item not in table:
                table.append(item)
            return table.index(item)

        resources = []
        for process in rng.sample(["web", "db", "cron"], 2):
            samples = []
            for _ in range(rng.randrange(1, 40)):
                names = ["main"] + [f"f{rng.randrange(6)}" for _ in range(rng.randrange(0, 5))]
                thread, cpu = rng.choice(["io", "work"]), rng.randrange(4)
                time_ns = start_ns + rng.randrange(5_000_000_000)
                stack = tuple(number(functions, number(strings, name)) for name in reversed(names))
                samples.append({"stackIndex": number(stacks, stack), "timestampsUnixNano": [str(time_ns)],
                                "attributeIndices": [number(attributes, ("thread.name", thread)),
                                                     number(attributes, ("cpu.logical_number", cpu))]})
                self.samples.append({"host": host, "process": process, "thread": thread, "cpu": str(cpu), "time": time_ns,
                                     "names": names})
            resources.append({"resource": {"attributes": [attribute("host.name", host),
                                                          attribute("process.executable.name", process)]},
                              "scopeProfiles": [{"profiles": [{
                                  "sampleType": {"typeStrindex": number(strings, "samples"),
                                                 "unitStrindex": number(strings, "count")},
                                  "timeUnixNano": str(start_ns), "samples": samples}]}]})
        self.request = {"resourceProfiles": resources, "dictionary": {
            "mappingTable": [{}], "linkTable": [{}],
            "attributeTable": [{}] + [dict(attribute(*a), keyStrindex=number(strings, a[0])) for a in attributes[1:]],
            "functionTable": [{"nameStrindex": f} for f in functions],
            "locationTable": [{}] + [{"lines": [{"functionIndex": i}]} for i in range(1, len(functions))],
            "stackTable": [{"locationIndices": list(stack)} for stack in stacks],
            "stringTable": strings}}
        for row in self.request["dictionary"]["attributeTable"]:
            row.pop("key", None)


def totals(samples):
    """Of each function, how many samples have it on their stack."""
    found = collections.Counter()
    for sample in samples:
        found.update(set(sample["names"]))
    return found


def ask(base, name, **query):
    with urllib.request.urlopen(f"{base}/api/v1/{name}?" + urllib.parse.urlencode(query, doseq=True), timeout=20) as answer:
        return json.load(answer)


def selection(rng, first_ns, last_ns):
    """A random range and filters: for the API, and as a test of a sample."""
    from_ns, to_ns = sorted(rng.sample(range(first_ns // 1000, last_ns // 1000), 2))
    from_ns, to_ns = from_ns * 1000, to_ns * 1000
    where, tests = [], [lambda s: from_ns <= s["time"] < to_ns]
    for label, value in (("host", "a"), ("process", "db"), ("thread", "io"), ("cpu", "2")):
        kind = rng.randrange(4)
        if kind == 0:
            where.append(f"{label}={value}")
            tests.append(lambda s, l=label, v=value: s[l] == v)
        elif kind == 1:
            where.append(f"{label}!={value}")
            tests.append(lambda s, l=label, v=value: s[l] != v)
    seconds = [f"{t // 10**9}.{t % 10**9:09}" for t in (from_ns, to_ns)]
    return {"from": seconds[0], "to": seconds[1], "where": where}, lambda s: all(test(s) for test in tests)


def check(name, holds, *notes):
    print(("ok - " if holds else "not ok - ") + name)
    for note in notes if not holds else ():
        print(f"# {note}")
    return holds


def compare(base, rng, samples, first_ns, last_ns):
    query, wanted = selection(rng, first_ns, last_ns)
    chosen = [s for s in samples if wanted(s)]
    top = ask(base, "top", rows=1000, **query)
    got = {row[0]: row[5] for row in top["rows"]}
    good = top["total"] == len(chosen) and got == dict(totals(chosen))
    grouped = ask(base, "values", label="thread", **query)
    by_thread = collections.Counter(s["thread"] for s in chosen)
    return check(f"answers {query} ({len(chosen)} samples)", good and dict(map(tuple, grouped)) == dict(by_thread),
                 f"total {top['total']}, not {len(chosen)}", f"{got}, not {dict(totals(chosen))}", grouped, by_thread)


def send(base, window):
    request = urllib.request.Request(base + "/v1development/profiles", json.dumps(window.request).encode(),
                                     {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=20).read()


def wait_for(base, count, first_ns, last_ns):
    """Until all that was sent is in the store; the queue is not waited for otherwise."""
    for _ in range(200):
        try:
            if ask(base, "top", **{"from": first_ns / 1e9 - 60, "to": last_ns / 1e9 + 60})["total"] == count:
                return True
        except OSError:
            pass
        time.sleep(0.1)
    return False


def main():
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    ok = True
    with tempfile.TemporaryDirectory() as work:
        config = json.loads(json.dumps(RECEIVE))
        config["receivers"]["otlp"]["protocols"]["http"]["endpoint"] = f"127.0.0.1:{port}"
        config["exporters"]["store"]["path"] = os.path.join(work, "store")
        config["extensions"]["page"]["endpoint"] = f"127.0.0.1:{port}"
        path = os.path.join(work, "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        # Two hours ago: minutes, ten minutes and an hour of it are rolled up while the test runs.
        last_ns = (int(time.time()) - 60) * 10**9
        first_ns = last_ns - 2 * 3600 * 10**9
        windows = [Window(rng, rng.choice("ab"), rng.randrange(first_ns, last_ns - 5 * 10**9)) for _ in range(WINDOWS)]
        samples = [s for w in windows for s in w.samples]
        wick = subprocess.Popen([WICK, "--config", path], stderr=subprocess.PIPE)
        try:
            for _ in range(100):
                try:
                    ask(base, "status")
                    break
                except OSError:
                    time.sleep(0.1)
            for window in windows:
                send(base, window)
            ok &= check("all that was sent is there", wait_for(base, len(samples), first_ns, last_ns))
            for _ in range(SELECTIONS):
                ok &= compare(base, rng, samples, first_ns, last_ns)
            levels = {level["name"]: level["blocks"] for level in ask(base, "status")["levels"]}
            ok &= check("minutes and hours were rolled up", levels["1 m"] > 0 and levels["1 h"] > 0, levels)
        finally:
            wick.send_signal(signal.SIGTERM)
            ok &= check("it ends well", wick.wait(30) == 0)
    sys.exit(not ok)


if __name__ == "__main__":
    main()
