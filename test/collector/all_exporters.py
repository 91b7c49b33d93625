#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every exporter at once for an hour: 720 windows go through one pipeline as fast as they are taken, and what each exporter
made of them, read back by who reads such things, has the same total for every stack as what was sent."""
import collections
import contextlib
import os
import random
import re
import subprocess
import tempfile
import time
import urllib.request

import harness
import backend
import canonical
import datadog
import forged
import pyroscope_fake

TAP = harness.TAP
WINDOWS = 720
WINDOW_NS = 4_800_000_000       # Pyroscope takes what is less than an hour old, and sending takes its time, too
PERIOD_NS = 50_000_000
PROCESSES = ("web", "db")
SAMPLES = 6                     # of a process in a window; each has one to three times
SENT, FAILED = "otelcol_exporter_sent_profile_samples", "otelcol_exporter_send_failed_profile_samples"
MEMORY_MAX = 100 << 20          # of all exporters that got an hour within seconds
QUEUE = {"queue_size": 5000, "block_on_overflow": True}


def window(number, start_ns, all_times, all_samples):
    """A request of all processes; counts its times and samples by process and stack, root first."""
    made, chance = forged.Forge(), random.Random(number)
    functions = {}
    for process in PROCESSES:
        owner = made.data.resource_profiles.add()
        for key, value in (("service.name", process), ("process.executable.name", process), ("container.id", f"{process:c<64}")):
            owner.resource.attributes.append(forged.key_value(key, string_value=value))
        owner.resource.attributes.append(forged.key_value("process.pid", int_value=100 + PROCESSES.index(process)))
        profile = owner.scope_profiles.add().profiles.add(time_unix_nano=start_ns, duration_nano=WINDOW_NS, period=PERIOD_NS)
        profile.sample_type.CopyFrom(made.value_type("samples", "count"))
        profile.period_type.CopyFrom(made.value_type("cpu", "nanoseconds"))
        for _ in range(SAMPLES):
            names = ["main", *(f"{process}_{chance.randrange(5)}" for _ in range(chance.randrange(1, 4)))]
            for name in names:
                if name not in functions:
                    functions[name] = made.location(0, [(made.function(name, "a.c"), 0, 0)])
            times = sorted(start_ns + chance.randrange(WINDOW_NS) for _ in range(chance.randrange(1, 4)))
            profile.samples.add(stack_index=made.stack([functions[name] for name in reversed(names)]), timestamps_unix_nano=times,
                                attribute_indices=[made.attribute("thread.id", int_value=100 + PROCESSES.index(process))])
            all_times[process, *names] += len(times)
            all_samples[process, *names] += 1
    return made.data.SerializeToString()


# ---- What is read back: Counters by process and stack, root first --------------------------

def count_otlp(requests):
    found = collections.Counter()
    for data in requests:
        tables = data.dictionary
        names = [[tables.string_table[tables.function_table[line.function_index].name_strindex] for line in row.lines]
                 for row in tables.location_table]
        stacks = [tuple(names[i][0] for i in reversed(row.location_indices)) for row in tables.stack_table]
        for owner in data.resource_profiles:
            process = next(a.value.string_value for a in owner.resource.attributes if a.key == "process.executable.name")
            for sample in (s for scoped in owner.scope_profiles for profile in scoped.profiles for s in profile.samples):
                found[process, *stacks[sample.stack_index]] += sum(sample.values) or len(sample.timestamps_unix_nano)
    return found


def count_json_file(path):
    with open(path, "rb") as file:
        return count_otlp(canonical.parse_json(line) for line in file)


def count_proto_file(path):
    requests = []
    with open(path, "rb") as file:
        while size := file.read(4):
            requests.append(canonical.parse(file.read(int.from_bytes(size, "big"))))
    return count_otlp(requests)


def count_folded(text):
    found = collections.Counter()
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        found[tuple(stack.split(";"))] += int(count)
    return found


def count_perfdata(folder):
    found = collections.Counter()
    for name in os.listdir(folder):
        text = subprocess.run([harness.WICK, "convert", os.path.join(folder, name), "-", "--format", "folded"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        found += count_folded(text)
    return found


def count_pyroscope(fake):
    found = collections.Counter()
    for series in fake.kept:
        for stack, value, _ in series.samples:
            found[series.labels["service_name"], *reversed(stack)] += value // PERIOD_NS
    return found


def count_datadog(fake):
    found = collections.Counter()
    for upload in fake.uploads:
        column = [kind for kind, _ in upload.profile.types].index("cpu-samples")
        for sample in upload.profile.samples:
            found[upload.tag("service"), *reversed(sample.stack)] += sample.values[column]
    return found


def count_records(text):
    """What customprofilesexporter prints: samples, however many times they have."""
    found, process, stack = collections.Counter(), "", []
    for line in text.splitlines():
        if match := re.fullmatch(r" *process\.executable\.name: (.*) \(Str\)", line):
            process = match[1]
        elif match := re.fullmatch(r"Instrumentation: .*, Function: (.*)", line):
            stack.append(match[1])
        elif "End Sample" in line:
            found[process, *reversed(stack)] += 1
            stack = []
    return found


def count_debug(path):
    with open(path, encoding="utf-8") as file:
        return sum(int(count) for count in re.findall(r'"sample records": (\d+)', file.read()))


def ask_page(port, start_ns):
    url = f"http://127.0.0.1:{port}/api/v1/export?format=folded&group=process&from={start_ns // 10**9}&to=now"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return count_folded(answer.read().decode())


class ClickHouse:
    """Its engine, if that can be had, and a page that reads from it."""

    def __init__(self, stack, folder):
        self.counts, self.port = {}, None
        peers = os.path.join(harness.ROOT, "test/peers")
        venv = subprocess.run([os.path.join(peers, "venv.sh"), "clickhouse"], stdout=subprocess.PIPE, text=True, check=False)
        if venv.returncode:
            return
        self.port, self.page = harness.free_port(), harness.free_port()
        server = subprocess.Popen([venv.stdout.strip(), os.path.join(peers, "clickhouse_server.py"), str(self.port),
                                   os.path.join(folder, "clickhouse")], stdout=subprocess.PIPE, text=True)
        stack.callback(server.wait)
        stack.callback(server.kill)
        server.stdout.readline()        # ready

    def options(self):
        return {"endpoint": f"http://127.0.0.1:{self.port}"}

    def exporters(self):
        return {"clickhouse": self.options()} if self.port else {}

    def pages(self):
        return {"page/clickhouse": {"endpoint": f"127.0.0.1:{self.page}", "clickhouse": self.options()}} if self.port else {}

    def ask(self, wick, start_ns):
        if self.port:
            harness.wait_for(lambda: wick.metric(SENT, exporter="clickhouse") == WINDOWS * len(PROCESSES) * SAMPLES, 60)
            self.counts["clickhouse"] = ask_page(self.page, start_ns)


# ---- The run ----------------------------------------------------------------------------------

class Run:
    """All exporters, each with its own queue, and what stands behind them."""

    def __init__(self, stack):
        self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="wick-test-"))
        self.grpc, self.http = stack.enter_context(backend.Backend()), stack.enter_context(backend.Backend())
        self.agent = stack.enter_context(datadog.Fake())
        self.pyroscopes = [stack.enter_context(pyroscope_fake.Pyroscope()) for _ in range(3)]
        self.clickhouse = ClickHouse(stack, self.folder)
        self.receive, self.page = harness.free_port(), harness.free_port()
        self.wick = stack.enter_context(harness.Wick(self.config(), [self.receive, self.page]))

    def exporters(self):
        return {
            **self.clickhouse.exporters(),
            "customprofilesexporter": {},
            "datadog": {"endpoint": self.agent.url, "interval": "1s"},
            "debug": {"use_internal_logger": False, "output_paths": [f"{self.folder}/debug"], "sampling_initial": WINDOWS + 1},
            "file/json": {"path": f"{self.folder}/x.json"},
            "file/proto": {"path": f"{self.folder}/x.otlp", "format": "proto"},
            "otlp_grpc": {"endpoint": f"127.0.0.1:{self.grpc.grpc_port}", "tls": {"insecure": True}},
            "otlp_http": {"endpoint": f"http://127.0.0.1:{self.http.http_port}"},
            "perfdata": {"path": f"{self.folder}/perf"},
            "pyroscope": {"endpoint": f"http://127.0.0.1:{self.pyroscopes[0].http_port}"},
            "pyroscope/grpc": {"endpoint": f"http://127.0.0.1:{self.pyroscopes[1].grpc_port}", "protocol": "otlp_grpc"},
            "pyroscope/push": {"endpoint": f"http://127.0.0.1:{self.pyroscopes[2].http_port}", "protocol": "push"},
            "store": {"path": f"{self.folder}/store"},
        }

    def config(self):
        exporters = {name: {**options, "sending_queue": QUEUE} for name, options in self.exporters().items()}
        exporters["nop"] = {}
        return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{self.receive}"}}}},
                "exporters": exporters, "extensions": self.pages(),
                "service": {"extensions": list(self.pages()),
                            "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": list(exporters)}}}}

    def pages(self):
        return {"page": {"endpoint": f"127.0.0.1:{self.page}"}, **self.clickhouse.pages()}

    def counts(self, start_ns):
        """What each has, once nothing is on its way any more: (by times, by samples)."""
        harness.wait_for(lambda: self.wick.metric(SENT, exporter="store") == WINDOWS * len(PROCESSES) * SAMPLES, 30)
        store = ask_page(self.page, start_ns)
        self.clickhouse.ask(self.wick, start_ns)
        failed, peak = self.wick.metric(FAILED), self.wick.memory("VmHWM")
        TAP.check("it ends when it is told to", self.wick.stop() == 0, self.wick.said()[-1000:])
        doubles = [double for fake in self.pyroscopes for double in fake.doubles()]
        TAP.check("nothing fails, nothing is sent twice", failed == 0 and not doubles, f"{failed:.0f} failed, {len(doubles)} doubles")
        TAP.check("memory is bounded", peak < MEMORY_MAX or harness.SANITIZED, f"{peak >> 20} MiB")
        return {"datadog": count_datadog(self.agent), "file/json": count_json_file(f"{self.folder}/x.json"),
                "file/proto": count_proto_file(f"{self.folder}/x.otlp"), "otlp_grpc": count_otlp(self.grpc.data()),
                "otlp_http": count_otlp(self.http.data()), "perfdata": count_perfdata(f"{self.folder}/perf"),
                "store": store, **self.clickhouse.counts,
                **{name: count_pyroscope(fake) for name, fake in zip(("pyroscope", "pyroscope/grpc", "pyroscope/push"),
                                                                     self.pyroscopes)}}, \
               {"customprofilesexporter": count_records(self.wick.printed())}


def check_totals(counts, totals):
    for name, found in counts.items():
        wrong = [(stack, found[stack], totals[stack]) for stack in {*found, *totals} if found[stack] != totals[stack]]
        TAP.check(f"{name}: {len(totals)} stacks and their totals are what was sent", not wrong,
                  f"{sum(found.values())} of {sum(totals.values())}; {wrong[:3]}" if wrong else "")


def check_all_are_here(names):
    """A new exporter must be read back here, too."""
    text = subprocess.run([harness.WICK, "components"], stdout=subprocess.PIPE, text=True, check=True).stdout
    known = re.findall(r"- name: (\S+)", re.search(r"^exporters:\n(.*?)^\S", text, re.M | re.S)[1])
    tried = {name.split("/")[0] for name in names}
    for name in sorted(set(known) - tried):
        TAP.skip(f"{name}: its totals", "nothing here reads it back" if name != "nop" else "it drops everything")


def main():
    times, samples = collections.Counter(), collections.Counter()
    with contextlib.ExitStack() as stack:
        run = Run(stack)        # may take minutes, which would make the first windows too old
        start_ns = time.time_ns() - WINDOWS * WINDOW_NS
        requests = [window(i, start_ns + i * WINDOW_NS, times, samples) for i in range(WINDOWS)]
        client = harness.HttpClient(run.receive)
        refused = [status for status in map(client.send, requests) if status != 200]
        client.close()
        TAP.check(f"{WINDOWS} windows of an hour are taken", not refused, str(refused[:3] or ""))
        by_times, by_samples = run.counts(start_ns)
        check_totals(by_times, times)
        check_totals(by_samples, samples)
        shown = count_debug(f"{run.folder}/debug")
        TAP.check("debug: all samples are shown", shown == sum(samples.values()), str(shown))
        check_all_are_here(run.exporters())
    TAP.end()


if __name__ == "__main__":
    main()
