#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exports.py URL WICK DIRECTORY: files of a selection hold what the store has of it: processes, threads, hosts and times, in every format that can
(docs/formats.md), each read by `wick report` or by hand and compared with what the API sums. Prints TAP."""
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter

URL, WICK, DIRECTORY = sys.argv[1:4]
TO = round(time.time() - 3, 3)
RANGE = f"from={TO - 12:.3f}&to={TO:.3f}"
FAILED = []


def check(name, holds, *got):
    print(f"{'ok' if holds else 'not ok'} - export {name}{'' if holds else ': ' + ' '.join(str(part)[:600] for part in got)}")
    if not holds:
        FAILED.append(name)


def ask(question):
    return urllib.request.urlopen(f"{URL}/api/v1/{question}&{RANGE}").read()


def save(form, suffix):
    path = f"{DIRECTORY}/export.{suffix}"
    with open(path, "wb") as file:
        file.write(ask(f"export?format={form}"))
    return path


def report(path, by):
    """{name: samples} as wick reads it; a row is of one process or thread, of which many have one name."""
    text = subprocess.run([WICK, "report", "--json", "--by", by, "-n", "100000", path], stdout=subprocess.PIPE, text=True, check=False).stdout
    found, answer = Counter(), json.loads(text)
    for row in answer["rows"]:
        found[row["name"]] += row["self"] // (answer["period"] if answer["unit"] == "nanoseconds" else 1)
    return found


def values(label):
    return Counter({name or "[unknown]": total for name, total in json.loads(ask(f"values?label={label}"))})


def otlp_times(path):
    with open(path, encoding="utf-8") as file:
        profiles = json.load(file)
    times = [int(at) for resource in profiles["resourceProfiles"] for scope in resource["scopeProfiles"] for one in scope["profiles"]
             for sample in one["samples"] for at in sample.get("timestampsUnixNano", [])]
    hosts = {attribute["value"]["stringValue"] for resource in profiles["resourceProfiles"]
             for attribute in resource["resource"].get("attributes", []) if attribute["key"] == "host.name"}
    return times, hosts


def main():
    # All of the range has come when something later has: windows come in their order, on a slow machine late.
    for _ in range(300):
        if json.loads(urllib.request.urlopen(f"{URL}/api/v1/values?label=pid&from={TO + 1:.3f}").read()):
            break
        time.sleep(0.2)
    processes, threads = values("process"), values("thread")
    total = sum(processes.values())
    check("has something to compare", total > 100 and len(processes) > 1, processes)
    paths = {"otlp": save("otlp", "otlp"), "json": save("json", "json"), "pprof": save("pprof", "pb.gz"), "perfdata": save("perfdata", "perf.data")}
    for form, path in paths.items():
        got = report(path, "process")
        # Kernel threads have no executable: report calls them by their thread's name.
        named = {name: count for name, count in processes.items() if name != "[unknown]"}
        if form == "perfdata":      # which calls a process by what its first thread is called
            check("perfdata has the processes", len(got) > len(processes) / 2 and sum(got.values()) == total, got, total)
            continue
        check(f"{form} has the processes", all(got.get(name) == count for name, count in named.items()) and sum(got.values()) == total,
              {name: (got.get(name), count) for name, count in named.items() if got.get(name) != count}, total)
    for form, path in paths.items():
        got = report(path, "thread")
        check(f"{form} has the threads", all(got.get(name) == count for name, count in threads.items() if name != "[unknown]"),
              {name: (got.get(name), count) for name, count in threads.items() if got.get(name) != count})
    times, hosts = otlp_times(paths["json"])
    check("json has a time for each sample, in the range", len(times) == total and all(TO - 12.001 <= at / 1e9 < TO + 0.001 for at in times), len(times), total)
    check("json has the host", hosts == set(values("host")), hosts, values("host"))
    with open(save("firefox", "firefox.json"), encoding="utf-8") as file:
        firefox = json.load(file)
    at = [time for thread in firefox["threads"] for time in thread["samples"]["time"]]
    check("firefox has threads and times", len(firefox["threads"]) > 2 and len(set(at)) > 100, len(firefox["threads"]), len(set(at)))
    script = subprocess.run(["perf", "script", "-F", "comm,time", "-i", paths["perfdata"]], capture_output=True, text=True, check=False)
    stamps = set(re.findall(r"(\d+\.\d+):", script.stdout))
    if script.returncode == 0:
        check("perf.data has times", len(stamps) > 100, len(stamps), script.stdout)
    else:
        print("ok - export perf.data has times # SKIP there is no perf")
    sys.exit(bool(FAILED))


main()
