#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet's week in ClickHouse, and how soon wick's page has a flame graph of it. Samples, stacks and rows about machines are made on the
server, in the tables that wick made, in the shape that its exporter writes. bench/README.md says what is dense and what is thin. It never
fails because of a number.

    HOSTS=1000  DAYS=7  SERVICES=50  STACKS=1000 (of a service)  HZ=20 (samples of a host in a second)  THIN=500
    FOLDER= where the tables are (a temporary folder)  WICK=build/wick
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../test"))
import store_answers  # noqa: E402

HOSTS, DAYS, SERVICES, STACKS, HZ, THIN = (int(os.environ.get(name, value)) for name, value in (
    ("HOSTS", 1000), ("DAYS", 7), ("SERVICES", 50), ("STACKS", 1000), ("HZ", 20), ("THIN", 500)))
CHUNK = 20_000_000      # rows of a statement
SERVICE = 7 % SERVICES  # the one whose week is dense
STEP = 7                # hosts have five services each, STEP and OTHER apart
OTHER = 11
HOUR = 3600 * 10**9

SETTINGS = ("max_insert_threads = 2, max_block_size = 1048576, min_insert_block_size_rows = 4194304, "
            "min_insert_block_size_bytes = 2000000000, max_partitions_per_insert_block = 0")

SAMPLE = """
INSERT INTO fleet.wick_samples (Timestamp, SampleType, SampleUnit, Period, Value, StackHash, HostName, ServiceName, Namespace, PodName, ContainerId,
    ProcessName, ExecutablePath, ProcessId, ThreadName, ThreadId, Cpu, FrameType)
SELECT fromUnixTimestamp64Nano(toInt64({start} + intDiv((number + {first}) * {span}, {count}) + Random % 1000000), 'UTC'), 'samples', 'count', {period}, 1,
    cityHash64('stack', Service, Stack), concat('host-', leftPad(toString(Host), 4, '0')), concat('service-', toString(Service)), 'default',
    concat('service-', toString(Service), '-', toString(Host)), lower(hex(cityHash64(Host, Service))), concat('service-', toString(Service)),
    concat('/usr/bin/service-', toString(Service)), 1000 + Service, concat('worker-', toString(bitShiftRight(Random, 50) % 8)),
    2000 + bitShiftRight(Random, 50) % 8, bitShiftRight(Random, 53) % 16, if(Stack % 5 = 0, 'kernel', 'native')
FROM (SELECT number, cityHash64(number + {first}, {seed}) AS Random, {who},
             toUInt64(floor({stacks} * pow(bitAnd(bitShiftRight(Random, 12), 1048575) / 1048576, 2.5))) AS Stack FROM numbers_mt({rows}))
SETTINGS {settings}"""

ANY = f"Random % {HOSTS} AS Host, (Host * {STEP} + bitShiftRight(Random, 32) % 5 * {OTHER}) % {SERVICES} AS Service"

# Shared at the root, its own at the leaf: about 30 deep.
STACK = """
INSERT INTO fleet.wick_stacks SELECT toDate(toDateTime({start_s} + intDiv(number, {all}) * 86400, 'UTC')) AS Day,
    cityHash64('stack', Service, Stack) AS StackHash,
    arrayMap(j -> if(j % 3 = 0, concat('lib_call_', toString((Of[j] * 31 + j) % 997)), concat('service', toString(Service), '::step_', toString(j), '_',
        toString(Of[j]))), Levels) AS Functions,
    arrayMap(j -> concat('src/step', toString(j), '.c'), Levels), arrayMap(j -> toUInt32(j * 10), Levels), arrayMap(j -> toUInt32(j), Levels),
    arrayMap(j -> toUInt64(4096 * j + Of[j] * 16), Levels),
    arrayMap(j -> if(j % 3 = 0, '/usr/lib/libc.so.6', concat('/usr/bin/service-', toString(Service))), Levels),
    arrayMap(j -> if(j % 3 = 0, 'c0ffee', lower(hex(cityHash64(Service)))), Levels), arrayMap(j -> 'native', Levels), arrayMap(j -> 0, Levels)
FROM (SELECT number, intDiv(number % {all}, {stacks}) AS Service, number % {stacks} AS Stack, 20 + Stack % 20 AS Depth,
             arrayMap(j -> bitShiftRight(Stack, toUInt64(greatest(0, 10 - intDiv(j, 2)))), range(1, Depth + 1)) AS Of,
             arrayReverse(range(1, Depth + 1)) AS Levels FROM numbers({count}))
SETTINGS {settings}"""

MACHINE = """
INSERT INTO fleet.wick_machines SELECT fromUnixTimestamp64Nano(toInt64({start} + number * {every}), 'UTC') AS Start,
    fromUnixTimestamp64Nano(toInt64({start} + (number + 1) * {every}), 'UTC'), '{host}', 16, rand(1) % 16000, rand(1) % 16000, rand(2) % 100, 0,
    68719476736, 30000000000 + rand(3), 30000000000 + rand(3), rand(4) % 16000, 300 + rand(5) % 20,
    arrayMap(i -> toUInt32(1000 + i), range(10)), arrayMap(i -> concat('program-', toString(i)), range(10)),
    arrayMap(i -> toUInt64(cityHash64(number, i) % 2000), range(10)),
    arrayMap(i -> toUInt32(1000 + i), range(10)), arrayMap(i -> concat('program-', toString(i)), range(10)),
    arrayMap(i -> toUInt64(1000000000 + cityHash64(number, i) % 100000000), range(10))
FROM numbers({rows}) SETTINGS {settings}"""


class Fleet:
    def __init__(self, server):
        self.server = server
        self.end_ns = time.time_ns() // HOUR * HOUR
        self.start_ns = self.end_ns - DAYS * 24 * HOUR
        # Not a whole one: any hour.
        self.hour_ns = self.start_ns + DAYS * 12 * HOUR + 17 * 60 * 10**9

    def run(self, sql):
        request = urllib.request.Request(self.server.url + "/?default_format=JSONCompact", sql.encode())
        try:
            body = urllib.request.urlopen(request, timeout=3600).read()
        except urllib.error.HTTPError as error:
            sys.exit(f"{error.read().decode()}\n{sql}")
        return json.loads(body)["data"] if body else []

    def make(self, rate, span_ns, start_ns, who, seed):
        """Samples of so many a second, in the order of time."""
        count = int(rate * span_ns / 1e9)
        for first in range(0, count, CHUNK):
            self.run(SAMPLE.format(start=start_ns, first=first, span=span_ns, count=count, period=10**9 // HZ, seed=seed, who=who, stacks=STACKS,
                                   rows=min(CHUNK, count - first), settings=SETTINGS))
        return count

    def fill(self):
        week_ns, every_s = DAYS * 24 * HOUR, 1
        count = (DAYS + 1) * SERVICES * STACKS
        self.run(STACK.format(start_s=self.start_ns // 10**9, all=SERVICES * STACKS, stacks=STACKS, count=count, settings=SETTINGS))
        thin = self.make(HOSTS * HZ / THIN, week_ns, self.start_ns, ANY, 1)
        hour = self.make(HOSTS * HZ, HOUR, self.hour_ns, ANY, 2)
        # Hosts that have it: Host * STEP = SERVICE - k * OTHER.
        who = (f"toUInt64({SERVICE}) AS Service, ({SERVICE} + {5 * OTHER} * {SERVICES} - bitShiftRight(Random, 32) % 5 * {OTHER}) * {pow(STEP, -1, SERVICES)} % {SERVICES}"
               f" + {SERVICES} * (Random % {max(1, HOSTS // SERVICES)}) AS Host")
        service = self.make(HOSTS * HZ / SERVICES, week_ns, self.start_ns, who, 3)
        self.run(MACHINE.format(start=self.start_ns, every=every_s * 10**9, host="host-0007", rows=week_ns // 10**9 // every_s, settings=SETTINGS))
        return thin, hour, service

    def settle(self):
        """Until the server has merged what it wants to."""
        for _ in range(600):
            if not int(self.run("SELECT count() FROM system.merges")[0][0]):
                return
            time.sleep(1)

    def sizes(self):
        return self.run("SELECT table, sum(rows), sum(bytes_on_disk), count() FROM system.parts WHERE active AND database = 'fleet' "
                        "GROUP BY table ORDER BY table")


def cpu_seconds(*pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            total += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def ask(base, name, query):
    """The engine answers one question at a time: wick may take it for away while it is busy, and says so."""
    while True:
        start = time.perf_counter()
        try:
            with urllib.request.urlopen(f"{base}/api/v1/{name}?" + urllib.parse.urlencode(query), timeout=300) as answer:
                body = answer.read()
            return time.perf_counter() - start, json.loads(body)
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            time.sleep(2)


def measure(page, fleet):
    week = {"from": fleet.start_ns / 1e9, "to": fleet.end_ns / 1e9}
    hour = {"from": fleet.hour_ns / 1e9, "to": fleet.hour_ns / 1e9 + 3600}
    service, host = {"where": f"service=service-{SERVICE}"}, {"host": "host-0007", "rows": 300}
    rows = (("flame of any hour, all hosts", 1, "flame", hour), ("flame of any hour, a service", 1, "flame", hour | service),
            ("flame of a service's week", 3, "flame", week | service), ("services of an hour", None, "values", hour | {"label": "service"}),
            ("chart of an hour by service", None, "chart", hour | {"by": "service", "buckets": 120}),
            ("a machine's hour", None, "series", hour | host), ("a machine's week", None, "series", week | host))
    print(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs\n"
          f"{'question':32}{'target s':>10}{'median s':>10}{'worst s':>10}{'CPU s':>8}  met   samples")
    for text, target, name, query in rows:
        cpu = cpu_seconds(page.process.pid, fleet.server.process.pid)
        took, answers = zip(*(ask(page.base, name, query) for _ in range(3)))
        cpu = (cpu_seconds(page.process.pid, fleet.server.process.pid) - cpu) / len(took)
        total = f"{answers[0]['total']:,} {answers[0]['unit']}" if name == "flame" else ""
        met = "" if target is None else "yes" if max(took) <= target else "NO"
        print(f"{text:32}{target or '':>10}{statistics.median(took):>10.2f}{max(took):>10.2f}{cpu:>8.2f}  {met:5} {total}", flush=True)


def main():
    python = subprocess.run([os.path.join(HERE, "../../test/peers/venv.sh"), "clickhouse"], stdout=subprocess.PIPE, text=True, check=False)
    if python.returncode:
        sys.exit("the engine of ClickHouse, chdb of PyPI, cannot be installed here")
    with tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER")) as work:
        server = store_answers.ClickHouse(python.stdout.strip(), os.path.join(work, "clickhouse"))
        options = {"clickhouse": {"endpoint": server.url, "database": "fleet"}}
        wick = store_answers.Wick(work, "clickhouse", options["clickhouse"], {"clickhouse": options["clickhouse"] | {"timeout": "300s"}})
        try:
            store_answers.send(wick.base, store_answers.one_second("first", 20, time.time_ns() - 60 * 10**9))
            store_answers.eventually(lambda: store_answers.failure(wick.base, "flame")[0] == 200)
            fleet, start = Fleet(server), time.perf_counter()
            thin, hour, service = fleet.fill()
            print(f"{HOSTS} hosts of {HZ} samples a second, {DAYS} days, {SERVICES} services of {STACKS} stacks. All of it would be "
                  f"{HOSTS * HZ * DAYS * 86400:,} samples;\nmade in {time.perf_counter() - start:.0f} s: {hour:,} of one hour, {service:,} of "
                  f"one service, 1 in {THIN} of the others ({thin:,})")
            fleet.settle()
            for table, rows, size, parts in fleet.sizes():
                print(f"{table:16}{int(rows):>16,} rows{int(size):>18,} bytes{int(parts):>6} parts")
            measure(wick, fleet)
        finally:
            wick.stop()
            server.stop()


if __name__ == "__main__":
    main()
