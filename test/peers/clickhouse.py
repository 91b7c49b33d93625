#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exporter clickhouse against the engine of ClickHouse 26.9: what its tables hold is what was sent, in both layouts;
what is sent again is not there twice; a server that is away, slow, mute or refuses costs nothing but what it refuses, and
that is counted. Prints TAP.
"""
import collections
import copy
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../collector"), HERE]
import process  # noqa: E402
from process import TAP, wait_for  # noqa: E402

if "WICK_TEST_PYTHON" not in os.environ:
    found = subprocess.run([os.path.join(HERE, "venv.sh"), "clickhouse"], stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode:
        TAP.skip("the exporter clickhouse", "chdb, the engine of ClickHouse, cannot be installed from PyPI")
        TAP.end()
    os.environ["WICK_TEST_PYTHON"] = found.stdout.strip()
    os.execv(os.environ["WICK_TEST_PYTHON"], [os.environ["WICK_TEST_PYTHON"], *sys.argv])

import clickhouse_server  # noqa: E402
from clickhouse_server import Fault  # noqa: E402

SECONDS = 60                    # for what must come; nothing is measured by it
SENT, FAILED = "otelcol_exporter_sent_profile_samples", "otelcol_exporter_send_failed_profile_samples"


# ---- What is sent --------------------------------------------------------------------------

class Source:
    """A request of the OpenTelemetry eBPF profiler, as JSON, with its samples spelt out."""

    def __init__(self, name, folder):
        path = os.path.join(folder, name + ".json")
        subprocess.run([process.WICK, "convert", os.path.join(process.PAYLOADS, name + ".bin"), path], check=True)
        with open(path, encoding="utf-8") as file:
            self.request = json.load(file)
        self.request = shifted(self.request, time.time_ns() - 60 * 10**9 - self.first_ns())
        self.tables = self.request["dictionary"]
        self.strings = self.tables["stringTable"]
        self.frames = [self.frames_of(location) for location in self.tables["locationTable"]]
        self.stacks = [tuple(frame for location in stack.get("locationIndices", []) for frame in self.frames[location])
                       for stack in self.tables["stackTable"]]
        self.samples = list(self.spell_out())

    def first_ns(self):
        return min(int(profile["timeUnixNano"]) for resource in self.request["resourceProfiles"]
                   for scope in resource["scopeProfiles"] for profile in scope["profiles"])

    def frames_of(self, location):
        """[(function, file, line)], leaf first."""
        functions = self.tables["functionTable"]
        found = []
        for line in location.get("lines", []):
            function = functions[line.get("functionIndex", 0)]
            found.append((self.strings[function.get("nameStrindex", 0)], self.strings[function.get("filenameStrindex", 0)],
                          int(line.get("line", 0))))
        return found or [("", "", 0)]

    def attributes(self, thing):
        table = self.tables["attributeTable"]
        rows = [table[i] for i in thing.get("attributeIndices", [])]
        return {self.strings[row["keyStrindex"]]: next(iter(row["value"].values())) for row in rows if "value" in row}

    def spell_out(self):
        for resource in self.request["resourceProfiles"]:
            labels = {a["key"]: next(iter(a["value"].values()), "") for a in resource["resource"].get("attributes", [])}
            for scope in resource.get("scopeProfiles", []):
                for profile in scope.get("profiles", []):
                    for sample in profile.get("samples", []):
                        yield (labels, self.attributes(sample), self.stacks[sample.get("stackIndex", 0)],
                               [int(t) for t in sample.get("timestampsUnixNano", [])])

    @property
    def rows(self):
        return sum(max(1, len(times)) for _, _, _, times in self.samples)


def shifted(request, by_ns):
    """The same request some time later: another one, for who looks at bytes."""
    request = copy.deepcopy(request)
    for resource in request["resourceProfiles"]:
        for scope in resource.get("scopeProfiles", []):
            for profile in scope.get("profiles", []):
                profile["timeUnixNano"] = str(int(profile.get("timeUnixNano", 0)) + by_ns)
                for sample in profile.get("samples", []):
                    sample["timestampsUnixNano"] = [str(int(t) + by_ns) for t in sample.get("timestampsUnixNano", [])]
    return request


def send(port, request):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request("POST", "/v1development/profiles", json.dumps(request), {"content-type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    return status


def running(server_port, **options):
    """wick between OTLP and the server; .port takes requests."""
    port = process.free_port()
    exporter = {"endpoint": f"http://127.0.0.1:{server_port}", "database": "fleet", "timeout": "30s",
                "retry_on_failure": {"initial_interval": "50ms", "max_interval": "200ms", "max_elapsed_time": "0s"}, **options}
    wick = process.Wick({"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
                         "exporters": {"clickhouse": exporter},
                         "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["clickhouse"]}}}},
                        (port,))
    wick.port = port
    return wick


def delivered(wick, samples):
    return wait_for(lambda: wick.metric(SENT) >= samples, SECONDS)


# ---- What came -------------------------------------------------------------------------------

def text_list(values):
    return json.loads(values) if values else []


def stacks_in(engine, sql):
    """{((function, file, line), ...): how often}"""
    counted = collections.Counter()
    for count, functions, files, lines in engine.ask(sql):
        counted[tuple(zip(text_list(functions), text_list(files), text_list(lines)))] += int(count)
    return counted


WICK_STACKS = """SELECT sum(n), toJSONString(Functions), toJSONString(Files), toJSONString(Lines) FROM
 (SELECT StackHash, sum(Value) AS n FROM fleet.wick_samples GROUP BY StackHash) AS s
 JOIN (SELECT * FROM fleet.wick_stacks LIMIT 1 BY StackHash) AS t USING StackHash GROUP BY Functions, Files, Lines"""
OTEL_STACKS = """SELECT sum(length(TimestampsUnixNano)), toJSONString(FunctionNames), toJSONString(FileNames),
 toJSONString(LineNumbers) FROM fleet.otel_profiles GROUP BY FunctionNames, FileNames, LineNumbers"""


def compare_stacks(name, sources, got):
    want = collections.Counter()
    for source in sources:
        for _, _, stack, times in source.samples:
            want[stack] += max(1, len(times))
    TAP.check(f"{name}: the total is that of the source", sum(got.values()) == sum(want.values()),
              f"{sum(got.values())} and {sum(want.values())}")
    leaves = [collections.Counter(), collections.Counter()]
    for counted, stacks in zip(leaves, (got, want)):
        for stack, count in stacks.items():
            counted[stack[0][0] if stack else ""] += count
    top = leaves[1].most_common(20)
    TAP.check(f"{name}: so are the top functions", [leaves[0][f] for f, _ in top] == [n for _, n in top])
    deep = sorted(want, key=lambda stack: (-len(stack), stack))[:3]
    TAP.check(f"{name}: so are whole stacks", all(got[stack] == want[stack] for stack in deep),
              f"of {[len(stack) for stack in deep]} frames")
    TAP.check(f"{name}: and all others", got == want)


def compare_labels(engine, sources):
    want = collections.Counter()
    for source in sources:
        for labels, attributes, _, times in source.samples:
            want[(str(labels.get("process.executable.name", "")), str(attributes.get("thread.name", "")),
                  str(attributes.get("thread.id", 0)), str(attributes.get("cpu.logical_number", -1)))] += max(1, len(times))
    got = {tuple(row[:4]): int(row[4]) for row in engine.ask(
        "SELECT ProcessName, ThreadName, ThreadId, Cpu, count() FROM fleet.wick_samples GROUP BY 1, 2, 3, 4")}
    TAP.check("wick: processes, threads and CPUs are those of the source", got == dict(want))
    times = sorted(t for source in sources for _, _, _, all_times in source.samples for t in all_times)
    TAP.check("wick: so are all times", times == [int(row[0]) for row in engine.ask(
        "SELECT toUnixTimestamp64Nano(Timestamp) AS t FROM fleet.wick_samples ORDER BY t")])


def same_in_both_layouts(engine, sources, compress):
    for layout, sql in (("wick", WICK_STACKS), ("otel", OTEL_STACKS)):
        server = clickhouse_server.Server(0, engine)
        with running(server.port, layout=layout, ttl="240h", compress=compress[layout]) as wick:
            statuses = [send(wick.port, source.request) for source in sources]
            good = delivered(wick, sum(len(source.samples) for source in sources))
            TAP.check(f"{layout}: everything was taken ({compress[layout]})", good and statuses == [200] * len(sources),
                      "" if good else wick.said()[-1000:])
            compare_stacks(layout, sources, stacks_in(engine, sql))
            asked = [r for r in server.requests if r.is_insert and "wick_notes" not in r.sql]
            TAP.check(f"{layout}: every insert has a token", all("insert_deduplication_token" in r.parameters for r in asked))
        server.stop()
    compare_labels(engine, sources)
    check_otel(engine)


def check_otel(engine):
    """Their hash is the Collector's: that of the names and files, as ClickHouse itself counts it."""
    wrong = engine.ask("SELECT count(), countIf(StackHash != xxHash64(arrayStringConcat(arrayMap((a, b) -> "
                       "concat(a, '\\0', b, '\\0'), FunctionNames, FileNames)))) FROM fleet.otel_profiles")
    TAP.check("otel: stacks have the Collector's hash", wrong[0][1] == "0" and wrong[0][0] != "0", str(wrong))


def nested_set(engine, sql, want):
    """Grafana's rows: each node follows its parent, and has what its children have and what it has itself."""
    rows = [(int(level), int(value), int(self)) for level, value, self, _ in engine.ask(sql)]
    good = rows[0][:2] == (0, want)
    for i, (level, value, own) in enumerate(rows):
        end = next((n for n in range(i + 1, len(rows)) if rows[n][0] <= level), len(rows))
        good &= value == own + sum(child[1] for child in rows[i + 1:end] if child[0] == level + 1)
    return good


def documented(engine, sources):
    """The statements that the documentation has."""
    with open(os.path.join(process.ROOT, "docs/clickhouse.md"), encoding="utf-8") as file:
        statements = re.findall(r"```sql\n(.*?)```", file.read(), re.S)
    TAP.check("the documentation has statements", len(statements) >= 4)
    answers = [engine.ask(sql) for sql in statements]
    TAP.check("all of them have an answer", all(answers), str([len(answer) for answer in answers]))
    TAP.check("Grafana's is a nested set", nested_set(engine, statements[-1], sum(source.rows for source in sources)))


# ---- Faults ----------------------------------------------------------------------------------

def count_rows(engine):
    return int(engine.ask("SELECT count() FROM fleet.wick_samples")[0][0])


def fault(when, *answers):
    """Faults for the next requests that are `when`; others pass."""
    left = list(answers)

    def choose(request):
        return left.pop(0) if left and when(request) else None
    return [choose] * 1000


def is_samples(request):
    return request.is_insert and "wick_samples" in request.sql


def sent_again(engine, source):
    """The insert is done, its answer is lost: wick sends it again, and the server knows it."""
    server = clickhouse_server.Server(0, engine)
    server.faults = fault(is_samples, Fault(when="after", cut=True), Fault(when="after", status=500, text="oops"),
                          Fault(when="after", status=503))
    before = count_rows(engine)
    with running(server.port) as wick:
        send(wick.port, shifted(source.request, 1_000_000_007))
        good = delivered(wick, len(source.samples))
        tokens = collections.Counter(r.parameters["insert_deduplication_token"] for r in server.requests if is_samples(r))
        bodies = {r.body for r in server.requests if is_samples(r)}
        TAP.check("what may have come is sent again, with the same bytes and token",
                  good and list(tokens.values()) == [4] and len(bodies) == 1, str(tokens))
        TAP.check("but it is not there twice", count_rows(engine) - before == source.rows,
                  f"{count_rows(engine) - before} rows of {source.rows}")
    server.stop()


def refused(engine, source):
    """What is wrong for good is dropped and counted; what may get better is not."""
    server = clickhouse_server.Server(0, engine)
    server.faults = fault(is_samples, Fault(status=400, text="Code: 62. DB::Exception: Syntax error. (SYNTAX_ERROR)"))
    before = count_rows(engine)
    with running(server.port) as wick:
        send(wick.port, shifted(source.request, 2_000_000_011))
        good = wait_for(lambda: wick.metric(FAILED) == len(source.samples), SECONDS)
        TAP.check("what the server refuses is dropped and counted", good and count_rows(engine) == before)
        TAP.check("and the log says why", "Syntax error (code 62, SYNTAX_ERROR)" in wick.said())
        server.faults = fault(is_samples, Fault(status=429), Fault(status=500, text="Code: 252. DB::Exception: Too many "
                              "parts. (TOO_MANY_PARTS)"), Fault(status=502, text="<html>"))
        send(wick.port, shifted(source.request, 3_000_000_019))
        good = delivered(wick, len(source.samples))
        TAP.check("what may get better is tried again", good and count_rows(engine) - before == source.rows)
    server.stop()


def dropped_tables(engine, source):
    """Somebody drops the tables: they are made again, and stacks are sent again."""
    server = clickhouse_server.Server(0, engine)
    with running(server.port) as wick:
        send(wick.port, shifted(source.request, 4_000_000_007))
        good = delivered(wick, len(source.samples))
        engine.ask("DROP TABLE fleet.wick_samples SYNC")
        engine.ask("DROP TABLE fleet.wick_stacks SYNC")
        send(wick.port, shifted(source.request, 5_000_000_009))
        good = good and delivered(wick, 2 * len(source.samples))
        TAP.check("tables that were dropped are made again", good and count_rows(engine) == source.rows)
        lost = engine.ask("SELECT count() FROM fleet.wick_samples WHERE StackHash NOT IN "
                          "(SELECT StackHash FROM fleet.wick_stacks)")
        TAP.check("no sample is without its stack", lost == [["0"]], str(lost))
    server.stop()


def away_and_back(engine, source):
    """Nobody listens, then somebody accepts and says nothing, then the server is slow: nothing is lost."""
    port = process.free_port()
    before = count_rows(engine)
    with running(port, timeout="2s") as wick:
        statuses = [send(wick.port, shifted(source.request, 10_000_000_019 + i)) for i in range(3)]
        waits = wait_for(lambda: wick.metric("otelcol_exporter_queue_size") == 3, SECONDS)
        TAP.check("a server that is away slows nobody", statuses == [200] * 3 and waits)
        mute = socket.create_server(("127.0.0.1", port))
        mute.settimeout(SECONDS)
        half_open, _ = mute.accept()
        mute.close()
        hold = threading.Event()
        server = clickhouse_server.Server(port, engine)
        server.faults = fault(is_samples, Fault(hold=hold, when="after", status=500), Fault(cut=True))
        threading.Timer(3, hold.set).start()
        good = delivered(wick, 3 * len(source.samples))
        hold.set()
        half_open.close()
        TAP.check("a server that was away, mute, slow and cut connections has all of it once",
                  good and count_rows(engine) - before == 3 * source.rows and not wick.metric(FAILED),
                  f"{count_rows(engine) - before} rows of {3 * source.rows}")
        TAP.check("and wick ends at once", wick.stop() == 0)
        server.stop()


def main():
    folder = tempfile.mkdtemp(prefix="wick-clickhouse-")
    try:
        engine = clickhouse_server.Engine(os.path.join(folder, "db"))
        sources = [Source(name, folder) for name in process.payload_names() if name.startswith("ebpf")]
        same_in_both_layouts(engine, sources, {"wick": "zstd", "otel": "gzip"})
        documented(engine, sources)
        sent_again(engine, sources[0])
        refused(engine, sources[0])
        dropped_tables(engine, sources[0])
        away_and_back(engine, sources[0])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.flush()
    os._exit(1 if TAP.failed else 0)    # the engine's threads do not end by themselves


main()
