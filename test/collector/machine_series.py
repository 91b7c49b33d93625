#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What hosts tell of themselves, as the page of another wick shows it: CPU, memory, load and processes of an agent against
/proc; made-up hosts whose truth is known, by every protocol and through the OpenTelemetry Collector; senders that lie, flood or
tell of others; peers that take no metrics."""
import bisect
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import harness
import senders
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2

TAP = harness.TAP
METHOD = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
PATH = "/v1/metrics"
GIB = 1 << 30
NOBODY = 65534
STATES = ("user", "nice", "system", "idle", "wait", "interrupt", "softirq", "steal")


class Made:
    """A request of metrics under construction."""

    def __init__(self):
        self.data = metrics_service_pb2.ExportMetricsServiceRequest()

    def host(self, name, **more):
        self.resource = self.data.resource_metrics.add()
        for key, value in {"host.name": name, **more}.items():
            self.resource.resource.attributes.add(key=key).value.string_value = value
        self.scope = self.resource.scope_metrics.add()
        return self

    def _points(self, metric, points, at):
        for value, attributes in points:
            point = metric.add(time_unix_nano=int(at * 1e9))
            if isinstance(value, int):
                point.as_int = value
            else:
                point.as_double = value
            for key, text in attributes.items():
                point.attributes.add(key=key).value.string_value = text

    def total(self, name, at, points):
        metric = self.scope.metrics.add(name=name)
        metric.sum.is_monotonic = True
        metric.sum.aggregation_temporality = metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
        self._points(metric.sum.data_points, points, at)
        return self

    def gauge(self, name, at, points):
        self._points(self.scope.metrics.add(name=name).gauge.data_points, points, at)
        return self

    def machine(self, at, busy_seconds, used=3 * GIB, cpus=4, load=1.5):
        """Of a host that has been busy for so long, as the Collector's hostmetrics has it: each CPU by itself."""
        share = busy_seconds / cpus
        self.total("system.cpu.time", at, [(value, {"cpu": f"cpu{cpu}", "state": state}) for cpu in range(cpus)
                                           for state, value in (("user", 0.75 * share), ("system", 0.25 * share), ("wait", 1.0), ("idle", 5000.0))])
        self.gauge("system.memory.usage", at, [(used, {"state": "used"}), (2 * GIB, {"state": "free"}), (3 * GIB, {"state": "cached"}),
                                               (0, {"state": "buffered"})])
        self.gauge("system.cpu.load_average.1m", at, [(load, {})])
        self.gauge("system.processes.count", at, [(100, {"status": "sleeping"}), (3, {"status": "running"})])
        self.gauge("process.memory.usage", at, [(GIB, {"process.pid": "77", "process.executable.name": "big"})])
        self.gauge("http.server.active_requests", at, [(1, {})])
        return self

    @property
    def raw(self):
        return self.data.SerializeToString()

    @property
    def json(self):
        return json_format.MessageToJson(self.data).encode()


def ask(page, host, seconds=120, rows=1000):
    now = time.time()
    return page.ask("series", host=host, rows=rows, **{"from": now - seconds, "to": now + 60})


class Json:
    def __init__(self, port):
        self.client = harness.HttpClient(port, "zstd", "application/json", path=PATH)

    def send(self, made):
        return self.client.send(made.json) == 200


class Http:
    def __init__(self, port, encoding):
        self.client = harness.HttpClient(port, encoding, path=PATH)

    def send(self, made):
        return self.client.send(made.raw) == 200


class Grpc:
    def __init__(self, port, compression):
        self.client = harness.GrpcClient(port, compression, method=METHOD)

    def send(self, made):
        return self.client.send(made.raw) == "OK"


def made_up_hosts():
    """Six points of each, ten seconds apart; the machine starts anew after the third."""
    with tempfile.TemporaryDirectory() as folder, senders.Page(os.path.join(folder, "store")) as page:
        ways = {"grpc": Grpc(page.port, "none"), "grpc, gzip": Grpc(page.port, "gzip"), "http": Http(page.port, "none"),
                "http, gzip": Http(page.port, "gzip"), "json, zstd": Json(page.port)}
        start = int(time.time()) - 60
        for way, client in ways.items():
            host = "made-" + way.replace(", ", "-")
            busy = [100.0, 115.0, 135.0, 2.0, 12.0, 12.0]      # of CPUs: 1.5, 2, -, 1, 0
            taken = [client.send(Made().host(host).machine(start + 10 * i, value)) for i, value in enumerate(busy)]
            series = ask(page, host)
            got = [round(value, 3) for value in series["busy"]]
            TAP.check(f"{way}: CPU of a host, with a restart", all(taken) and series["source"] == "proc" and
                      got == [1.5, 2.0, 1.0, 0.0], f"{taken} {got}")
            times = [(round(a) - start, round(b) - start) for a, b in zip(series["start"], series["end"])]
            TAP.check(f"{way}: at the times it told", times == [(0, 10), (10, 20), (30, 40), (40, 50)], times)
            right = {key: set(series[key]) for key in ("cpus", "memory_total", "memory_used", "load", "processes", "iowait")}
            TAP.check(f"{way}: memory, load, processes", right == {"cpus": {4}, "memory_total": {8 * GIB}, "memory_used": {3 * GIB},
                      "load": {1.5}, "processes": {103}, "iowait": {0}}, right)
            TAP.check(f"{way}: who has most", [(p["pid"], p["name"], p["values"]) for p in series["by_memory"]] ==
                      [(77, "big", [GIB] * 4)], series["by_memory"])
        ignored = page.metric("wick_receiver_ignored_metric_points", reason="other_metric")
        TAP.check("what is no machine's is counted", ignored == 6 * len(ways), ignored)
        TAP.check("each row is counted", page.metric("wick_receiver_machine_rows") == 4 * len(ways))


def wrong(page, name, made, **expected):
    """Taken, so that nobody sends it again; counted; and no row."""
    counter, labels = expected.pop("counter"), expected
    before = page.metric(counter, **labels)
    status = harness.HttpClient(page.port, path=PATH).send(made.raw)
    after = page.metric(counter, **labels)
    TAP.check(f"{name}: taken and counted", status == 200 and after > before, f"{status} {before} {after}")


def liars():
    refused, ignored = "wick_receiver_machine_samples_refused", "wick_receiver_ignored_metric_points"
    with tempfile.TemporaryDirectory() as folder, senders.Page(os.path.join(folder, "store")) as page:
        now = time.time()
        client = harness.HttpClient(page.port, path=PATH)
        for value in (float("nan"), float("inf"), -1.0, 1e300, -(1 << 62)):
            made = Made().host("liar").total("system.cpu.time", now, [(value, {"state": "user"})])
            wrong(page, f"CPU time {value}", made, counter=ignored, reason="value")
        for value in (float("nan"), -5.0, float("inf")):
            made = Made().host("liar").machine(now - 30, 100).gauge("system.memory.limit", now - 30, [(value, {})])
            wrong(page, f"memory {value}", made, counter=ignored, reason="value")
        wrong(page, "more than its CPUs can do", Made().host("liar").machine(now - 20, 1e6), counter=refused, reason="value")
        wrong(page, "the same once more", Made().host("liar").machine(now - 20, 1e6), counter=refused, reason="time")
        wrong(page, "no CPU time", Made().host("liar").gauge("system.memory.limit", now, [(1, {})]), counter=refused, reason="no_cpu_time")
        wrong(page, "no host", Made().host("").machine(now, 1), counter=ignored, reason="other_metric")
        wrong(page, "a name that is a kilobyte", Made().host("x" * 1024).machine(now, 1), counter=ignored, reason="other_metric")
        many = Made().host("liar")
        for i in range(400):
            many.machine(now - 4000 + 10 * i, 1)
        wrong(page, "too many times at once", many, counter=ignored, reason="too_many")
        TAP.check("nothing of it is a row", ask(page, "liar")["source"] == "samples")
        # A clock of another year: of when it came.
        for i in range(3):
            client.send(Made().host("other-year").machine(4e9 + 2 * i, 100 + i).raw)
            time.sleep(2)
        series = ask(page, "other-year")
        TAP.check("a clock of another year: of when it came", len(series["busy"]) == 2 and all(0.4 < busy < 0.6 for busy in series["busy"]) and
                  all(now < at < time.time() + 1 for at in series["end"]), series["busy"])
        for body in (b"\x0a\xff", b"\xff" * 1000, b"{"):
            status = client.send(body)
            TAP.check(f"{len(body)} bytes that are no request: 400", status == 400, status)
        TAP.check("it goes on", client.send(Made().host("fine").machine(now, 1).raw) == 200)


def as_nobody(work):
    """In a process of another user, who is another sender. Its exit status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def floods():
    """Another user brings thousands of hosts, and tells of those of others."""
    if os.geteuid():
        TAP.skip("senders that flood", "needs root to be two users")
        return
    refused = "wick_receiver_machine_samples_refused"
    with tempfile.TemporaryDirectory() as folder, senders.Page(os.path.join(folder, "store")) as page:
        start = int(time.time()) - 100
        own = harness.HttpClient(page.port, path=PATH)
        good = [f"good-{i}" for i in range(40)]

        def tell(round_number):
            return all(own.send(Made().host(host).machine(start + 10 * round_number, 100 + 10 * round_number).raw) == 200 for host in good)

        def flood(round_number):
            def work():
                client = harness.HttpClient(page.port, path=PATH)
                made = Made()
                for i in range(3000):
                    if i % 50 == 0 and i:
                        if client.send(made.raw) != 200:
                            return 2
                        made = Made()
                    made.host(f"flood-{round_number % 2}-{i}").total("system.cpu.time", start + 10 * round_number,
                                                                 [(float(round_number), {"state": s}) for s in ("user", "idle")])
                for host in good:
                    client.send(Made().host(host).machine(start + 10 * round_number + 5, 9e5).raw)
                return 0
            return as_nobody(work)

        before = page.memory("VmHWM")
        statuses = {(tell(i), flood(i)) for i in range(6)}
        TAP.check("all of it is taken", statuses == {(True, 0)}, statuses)
        rows = [[round(value, 3) for value in ask(page, host, 300)["busy"]] for host in good]
        TAP.check("hosts of others have every row, and no other", all(row == [1.0] * 5 for row in rows), rows[0])
        counts = {reason: page.metric(refused, reason=reason) for reason in ("too_many_hosts", "other_sender")}
        TAP.check("what was refused is counted", counts["other_sender"] == 6 * len(good) and counts["too_many_hosts"] > 10000, counts)
        grown = page.memory("VmHWM") - before
        TAP.check("memory has a limit", grown < 24 << 20 or harness.SANITIZED, f"{grown >> 20} MiB")
        size = sum(os.path.getsize(os.path.join(folder, "store", name)) for name in os.listdir(os.path.join(folder, "store")))
        TAP.check("so has the store", size < 16 << 20, f"{size >> 10} KiB")


def through_collector():
    """made-up host -> the OpenTelemetry Collector, which batches -> the page."""
    binary = harness.otelcol()
    if not binary:
        return
    with tempfile.TemporaryDirectory() as folder, senders.Page(os.path.join(folder, "store")) as page:
        port = harness.free_port()
        config = {"receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}"}}}},
                  "processors": {"batch": {"timeout": "2s"}},
                  "exporters": {"otlp_http": {"endpoint": f"http://127.0.0.1:{page.port}", "compression": "gzip"}},
                  "service": {"pipelines": {"metrics": {"receivers": ["otlp"], "processors": ["batch"], "exporters": ["otlp_http"]}}}}
        with harness.Otelcol(binary, config, (port,)):
            start, client = int(time.time()) - 60, Grpc(port, "gzip")
            sent = [client.send(Made().host(host).machine(start + 10 * i, 100 + 20 * i)) for i in range(4) for host in ("behind-a", "behind-b")]
            harness.wait_for(lambda: len(ask(page, "behind-b").get("cpus", [])) >= 3, 20, 0.2)
            for host in ("behind-a", "behind-b"):
                got = [round(value, 3) for value in ask(page, host)["busy"]]
                TAP.check(f"through the Collector: {host}", all(sent) and got == [2.0] * 3, got)


class Unknowing(http.server.BaseHTTPRequestHandler):
    """Answers as a Collector without a pipeline for metrics does, and counts."""
    asked = 0

    def do_POST(self):      # noqa: N802
        Unknowing.asked += 1
        self.rfile.read(int(self.headers["content-length"]))
        self.send_error(404)

    def log_message(self, *_):
        pass


def pushes_in_vain(protocol, port):
    ours = {"receivers": {"nop": {}}, "exporters": {"nop": {}}, "service": {"pipelines": {"profiles": {"receivers": ["nop"], "exporters": ["nop"]}}}}
    wick = harness.Wick(ours)
    ours["service"]["telemetry"]["logs"] = {"level": "info"}
    otlp = {"protocol": protocol, "endpoint": f"http://127.0.0.1:{port}"}
    ours["service"]["telemetry"]["metrics"]["readers"].append(
        {"periodic": {"interval": 200, "about": "machine", "if_taken": True, "exporter": {"otlp": otlp}}})
    wick.write(ours)
    with wick:
        told = harness.wait_for(lambda: "takes no metrics" in wick.said(), 20)
        time.sleep(1.5)
        failures = wick.metric("wick_metrics_push_failures")
        wick.stop()
        TAP.check(f"{protocol}: one who takes none is told of once", told and wick.said().count("takes no metrics") == 1 and failures == 0)


def not_taken():
    """Where metrics are not taken: said once, no failure, not asked again."""
    port = harness.free_port()
    receiver = {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}"}, "http": {"endpoint": f"127.0.0.1:{port}"}}}}
    behind = {"receivers": receiver, "exporters": {"nop": {}}, "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["nop"]}}}}
    with harness.Wick(behind, (port,)):
        status = harness.HttpClient(port, path=PATH).send(b"")
        TAP.check("without a store metrics are 404", status == 404, status)
        status = harness.GrpcClient(port, method=METHOD).send(b"")
        TAP.check("... and UNIMPLEMENTED", status == "UNIMPLEMENTED", status)
        pushes_in_vain("grpc", port)
    with http.server.HTTPServer(("127.0.0.1", 0), Unknowing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pushes_in_vain("http/protobuf", server.server_port)
        TAP.check("... and asked once", Unknowing.asked == 1, Unknowing.asked)
        server.shutdown()


class Proc:
    """What /proc says, looked at while somebody else does, too."""

    def __init__(self):
        self.times, self.busy, self.used, self.load = [], [], [], []
        self.tick = os.sysconf("SC_CLK_TCK")

    def look(self):
        with open("/proc/stat", encoding="ascii") as file:
            fields = dict(zip(STATES, map(int, file.readline().split()[1:9])))
        with open("/proc/meminfo", encoding="ascii") as file:
            memory = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in file}
        with open("/proc/loadavg", encoding="ascii") as file:
            self.load.append(float(file.read().split()[0]))
        self.times.append(time.time())
        self.busy.append(sum(v for k, v in fields.items() if k not in ("idle", "wait", "steal")) / self.tick)
        self.used.append(memory["MemTotal"] - memory["MemAvailable"])
        self.total = memory["MemTotal"]

    def busy_at(self, at):
        i = min(max(bisect.bisect(self.times, at), 1), len(self.times) - 1)
        part = (at - self.times[i - 1]) / (self.times[i] - self.times[i - 1])
        return self.busy[i - 1] + part * (self.busy[i] - self.busy[i - 1])

    def near(self, values, at):
        return values[min(range(len(self.times)), key=lambda i: abs(self.times[i] - at))]


class Agent:
    """`wick -collection-agent` on a machine of that name, which tells of itself each two seconds."""

    def __init__(self, host, port, folder):
        flags = [f"-collection-agent=127.0.0.1:{port}", "-disable-tls", "-reporter-interval=2s"]
        config = subprocess.run([harness.WICK, "print-config", *flags], capture_output=True, text=True, check=True).stdout
        self.is_told = "about: machine" in config and "interval: 10000" in config
        path = os.path.join(folder, "agent.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config.replace("interval: 10000", "interval: 2000").replace("port: 8888", f"port: {harness.free_port()}"))
        self.command = ["unshare", "--uts", "sh", "-c", f'hostname {host} && exec "$0" "$@"', harness.WICK, f"--config={path}"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.said = self.process.communicate(timeout=30)[1]


def check_series(series, proc, burner):
    rows = [i for i, start in enumerate(series["start"]) if start >= proc.times[0] and series["end"][i] <= proc.times[-1]]
    TAP.check("agent: rows without gaps", len(rows) >= 5 and series["source"] == "proc" and
              all(abs(series["end"][i] - series["start"][i + 1]) < 0.01 for i in rows[:-1]), f"{len(rows)} rows")
    first, last = rows[0], rows[-1]
    seconds = series["end"][last] - series["start"][first]
    truth = (proc.busy_at(series["end"][last]) - proc.busy_at(series["start"][first])) / seconds
    got = sum(series["busy"][i] * (series["end"][i] - series["start"][i]) for i in rows) / seconds
    TAP.check("agent: CPU as /proc has it", abs(got - truth) <= 0.03 * truth + 0.02, f"{got:.3f}, /proc {truth:.3f}")
    off = sorted(abs(series["memory_used"][i] / proc.near(proc.used, series["end"][i]) - 1) for i in rows)
    TAP.check("agent: memory as /proc has it", off[len(off) // 2] < 0.02 and off[-1] < 0.1 and set(series["memory_total"]) == {proc.total}, f"{off[len(off) // 2]:.2%} off, at most {off[-1]:.2%}")
    loads = [abs(series["load"][i] - proc.near(proc.load, series["end"][i])) for i in rows]
    TAP.check("agent: load as /proc has it", sorted(loads)[len(loads) // 2] < 0.15, f"{max(loads):.2f} off")
    TAP.check("agent: CPUs", set(series["cpus"]) == {os.cpu_count()}, set(series["cpus"]))
    lines = [line["values"] for line in series["by_cpu"] if line["pid"] == burner.pid]
    TAP.check("agent: the program that burns is among the first", lines and sorted(lines[0])[len(lines[0]) // 2] > 0.3, lines)


def agent():
    if os.geteuid():
        TAP.skip("an agent's series", "needs root to load BPF programs")
        return
    with tempfile.TemporaryDirectory() as folder, senders.Page(os.path.join(folder, "store")) as page:
        proc = Proc()
        with Agent("far-away", page.port, folder) as far, subprocess.Popen([sys.executable, "-c", "while True: pass"]) as burner:
            TAP.check("flags ask for metrics each ten seconds", far.is_told)
            harness.wait_for(lambda: len(ask(page, "far-away").get("cpus", [])) >= 2, 60, 0.5)
            ends = time.time() + 16
            while time.time() < ends:
                proc.look()
                time.sleep(0.1)
            series = ask(page, "far-away")
            burner.kill()
        check_series(series, proc, burner)
        harness.wait_for(lambda: "far-away" in senders.values(page, "host"), 20, 0.5)
        TAP.check("agent: profiles and series have one name", senders.values(page, "host") == {"far-away"}, senders.values(page, "host"))
        now = time.time()
        unasked = page.ask("series", **{"from": now - 60, "to": now + 60})
        TAP.check("agent: the only host need not be named", (unasked["host"], unasked["source"]) == ("far-away", "proc"), unasked["host"])
        TAP.check("agent: only what is about the machine is sent", page.metric("wick_receiver_ignored_metric_points", reason="value") == 0)


def own_machine():
    """Of the machine that is sampled here nobody else tells."""
    if os.geteuid():
        TAP.skip("this machine's own series", "needs root to load BPF programs")
        return
    with tempfile.TemporaryDirectory() as folder:
        port = harness.free_port()
        config = senders.configuration(port, os.path.join(folder, "store"))
        config["receivers"]["profiling"] = {"reporter_interval": "1s"}
        config["service"]["pipelines"]["profiles"]["receivers"] = ["profiling", "otlp"]
        host = os.uname().nodename
        with harness.Wick(config, (port,)) as wick:
            client, start, sent = harness.HttpClient(port, path=PATH), time.time(), 0
            harness.wait_for(lambda: client.send(b"") == 200, 20)
            while time.time() < start + 12:
                client.send(Made().host(host).machine(time.time(), 100 + sent, used=77).raw)
                sent += 1
                time.sleep(1)
            query = urllib.parse.urlencode({"host": host, "from": start - 60, "to": start + 60, "rows": 1000})
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/series?{query}", timeout=30) as answer:
                series = json.load(answer)
            refused = wick.metric("wick_receiver_machine_samples_refused", reason="own_host")
            TAP.check("this machine's rows are its own", series["source"] == "proc" and len(series["busy"]) > 3 and
                      77 not in series["memory_used"] and set(series["cpus"]) == {os.cpu_count()} and refused >= sent - 1,
                      f"{len(series['busy'])} rows, {refused} of {sent} refused")


SCENARIOS = {f.__name__: f for f in (made_up_hosts, liars, floods, not_taken, through_collector, own_machine, agent)}


def main():
    for name in sys.argv[1:] or SCENARIOS:
        SCENARIOS[name]()
    TAP.end()


if __name__ == "__main__":
    main()
