#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""This one now, faster: of two busy programs one is sampled ten times as often for some seconds. It has ten times the samples then, the
other has what it had; the CPU time of both, in the store and in a file, is that of their own clocks. What is refused; a boost that ends
with the service, by hand, and where wick's CPU budget is short."""
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "collector"))
from process import TAP, Wick, free_port, wait_for  # noqa: E402
import common  # noqa: E402

HZ = 49
FAST = 10 * HZ
SECONDS = 1.5     # on a CPU, of each, in a span that is looked at


def busy(service):
    return subprocess.Popen([sys.executable, "-c", "while 1: pass"], env={**os.environ, "OTEL_SERVICE_NAME": service})


def ran(process):
    """Seconds on a CPU, as the kernel counts them."""
    with open(f"/proc/{process.pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


class Collector(Wick):
    """With the page, a store and a file."""

    def __init__(self, folder, **options):
        self.port, self.out = free_port(), f"{folder}/out.json"
        super().__init__({"receivers": {"profiling": {"samples_per_second": HZ, "reporter_interval": "500ms", **options}},
                          "exporters": {"store": {"path": f"{folder}/store"}, "file": {"path": self.out, "flush_interval": "50ms"}},
                          "extensions": {"page": {"endpoint": f"127.0.0.1:{self.port}"}},
                          "service": {"extensions": ["page"], "telemetry": {"logs": {"level": "info"}, "metrics": {"level": "none"}},
                                      "pipelines": {"profiles": {"receivers": ["profiling"], "exporters": ["store", "file"]}}}})
        self.ports = [self.port]

    def ask(self, method, path, **form):
        """(status, what was answered)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, "/api/v1/" + path, urllib.parse.urlencode(form) if form else None)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def boost(self, **form):
        """... again while the sampler is busy with the names of its first windows, and does not answer."""
        for _ in range(6):
            answer = self.ask("POST", "boosts", **form)
            if answer[0] != 503:
                break
        return answer

    def rows(self):
        return self.ask("GET", "boosts")[1]["rows"]

    def running(self):
        return [row for row in self.rows() if row["state"] == "runs"]

    def half(self, name):
        out = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(self.process.pid)], capture_output=True, text=True, check=False).stdout
        return next((int(line.split()[0]) for line in out.splitlines() if f"wick: {name}" in line), None)

    def clocks(self):
        """Events of perf that the sampler has open."""
        found, folder = 0, f"/proc/{self.half('sampler')}/fd"
        for fd in os.listdir(folder):
            try:
                found += "perf_event" in os.readlink(f"{folder}/{fd}")
            except OSError:
                pass
        return found

    def samples(self):
        """(pid, time in seconds, seconds that it stands for) of each."""
        found = []
        try:
            with open(self.out, encoding="utf-8") as file:
                lines = file.read().split("\n")[:-1]
        except FileNotFoundError:
            return found
        for line in lines:
            data = json.loads(line)
            for resource in data["resourceProfiles"]:
                for one in [p for scope in resource["scopeProfiles"] for p in scope["profiles"]]:
                    part = common.Profile({**data, "resourceProfiles": [{**resource, "scopeProfiles": [{"profiles": [one]}]}]})
                    for sample in part.samples:
                        weight = sample.count / len(sample.times_ns) * int(one["period"]) / 1e9
                        found += [(sample.pid, at / 1e9, weight) for at in sample.times_ns]
        return found

    def stored(self, pid):
        """Seconds of CPU time."""
        answer = self.ask("GET", f"top?from=now-10m&rows=1&pid={pid}")[1]
        return answer["total"] * (int(answer["period"]) if answer["unit"] == "count" else 1) / 1e9


def near(count, expected):
    """By what chance allows: five deviations; and a clock's ticks come late, or not at all, while the machine has no time for us."""
    return abs(count - expected) <= 5 * expected ** 0.5 + 0.1 * expected


def measured(both):
    """A span in which each has run for a while: (begin, end, {pid: seconds on a CPU})."""
    begin, before = time.time(), {p.pid: ran(p) for p in both}
    wait_for(lambda: all(ran(p) - before[p.pid] >= SECONDS for p in both), 60)
    after, end = {p.pid: ran(p) for p in both}, time.time()
    return begin, end, {pid: after[pid] - before[pid] for pid in before}


def check_span(title, samples, span, rates):
    begin, end, seconds = span
    for name, process, rate in rates:
        mine = [weight for pid, at, weight in samples if pid == process.pid and begin <= at < end]
        expected = seconds[process.pid] * rate
        TAP.check(f"{title}: {name} has {rate} samples for each second that it ran", near(len(mine), expected), f"{len(mine)}, expected {expected:.0f}")
        TAP.check("... which stand for that time", near(sum(mine) * rate, expected) and all(abs(w * rate - 1) < 0.01 for w in mine),
                  f"{sum(mine):.2f} s of {seconds[process.pid]:.2f}")


def faster(folder):
    one, other = busy("boosted"), busy("usual")
    try:
        with Collector(folder, governor={"enabled": False}) as collector:
            wait_for(lambda: {one.pid, other.pid} <= {pid for pid, *_ in collector.samples()}, 60)
            start = {p.pid: ran(p) for p in (one, other)}
            began_at = time.time()
            clocks = collector.clocks()
            status, said = collector.boost(service="boosted", rate=FAST, seconds=100)
            TAP.check("a boost is taken", status == 200 and said["id"] > 0, f"{status} {said}")
            row = collector.rows()[0]
            TAP.check("... and listed, with who asked", row["state"] == "runs" and 90 < row["left"] <= 100 and row["rate"] == FAST and
                      row["where"] == {"service": "boosted"} and "uid 0 at 127.0.0.1:" in row["by"], str(row))
            TAP.check("... and logged", f"boost {row['id']}, asked for by uid 0 at 127.0.0.1:" in collector.said() and "service=boosted" in collector.said(),
                      collector.said()[-300:])
            wait_for(lambda: any(pid == one.pid and weight < 0.5 / HZ for pid, _, weight in collector.samples()), 3)
            during = measured((one, other))
            TAP.check("its clocks are beside those that there were", collector.clocks() == clocks + os.cpu_count(), f"{clocks} {collector.clocks()}")
            status, said = collector.ask("DELETE", f"boosts?id={row['id']}")
            wait_for(lambda: not collector.running(), 30)
            TAP.check("it is stopped by hand", status == 200 and collector.rows()[0]["state"] == "ended", f"{status} {said} {collector.rows()[0]}")
            TAP.check("... and its clocks with it", collector.clocks() == clocks, f"{clocks} {collector.clocks()}")
            time.sleep(0.5)
            after = measured((one, other))
            ended_at, end = time.time(), {p.pid: ran(p) for p in (one, other)}
            wait_for(lambda: all(any(pid == p.pid and at > ended_at for pid, at, _ in collector.samples()) for p in (one, other)), 30)
            samples = collector.samples()
            check_span("while it runs", samples, during, (("the one", one, FAST), ("the other", other, HZ)))
            check_span("afterwards", samples, after, (("the one", one, HZ), ("the other", other, HZ)))
            for name, process in (("the one", one), ("the other", other)):
                seconds = end[process.pid] - start[process.pid]
                has = sum(weight for pid, at, weight in samples if pid == process.pid and began_at <= at < ended_at)
                TAP.check(f"the CPU time of {name} is that of its own clock, with both ends of the boost", near(has * HZ, seconds * HZ),
                          f"{has:.2f} s of {seconds:.2f}")
            check_store(collector, samples, (("the one", one), ("the other", other)))
    finally:
        for process in (one, other):
            process.kill()
            process.wait()


def check_store(collector, samples, both):
    """What the store has lies between what the file had before and after."""
    for name, process in both:
        stored = collector.stored(process.pid)
        before = sum(weight for pid, _, weight in samples if pid == process.pid)
        after = sum(weight for pid, _, weight in collector.samples() if pid == process.pid)
        TAP.check(f"the store has the same CPU time of {name}", 0.95 * before - 0.6 <= stored <= after + 1, f"{stored:.2f} s, {before:.2f} to {after:.2f}")


def refused(folder):
    one = busy("boosted")
    try:
        with Collector(folder, governor={"enabled": False}) as collector:
            wait_for(lambda: one.pid in {pid for pid, *_ in collector.samples()}, 60)
            clocks = collector.clocks()
            for form, wanted, words in (
                    ({"service": "x", "rate": 1000}, 400, "1 to 999"), ({"service": "x", "seconds": 601}, 400, "1 to 600"),
                    ({"rate": 100}, 400, "says nothing"), ({"service": "x" * 256}, 400, "longer"), ({"service": "a\nb"}, 400, "no text"),
                    ({"service": "x", "thread": "y"}, 400, "chosen by"), ({"service": "x", "host": "another"}, 400, "another host"),
                    ({"user": "no-such-user"}, 400, "no user"), ({"pid": 0}, 400, "pid"),
                    ({"service": "x", "rate": HZ}, 409, "not above")):
                status, said = collector.boost(**form)
                TAP.check(f"{wanted}, with words: {str(form)[:60]}", status == wanted and words in said.get("error", ""), f"{status} {said}")
            first = collector.boost(pid=one.pid, rate=FAST, seconds=60)
            TAP.check("a boost of a process", first[0] == 200, str(first))
            TAP.check("... only once", collector.boost(pid=one.pid, rate=99, seconds=60)[0] == 409)
            more = [collector.boost(executable=f"no-such-{i}", rate=FAST + i, seconds=60)[0] for i in range(4)]
            TAP.check("four at once, not more", more == [200, 200, 200, 409] and len(collector.running()) == 4, f"{more} {collector.rows()}")
            TAP.check("one that is not there is not stopped", collector.ask("DELETE", "boosts?id=99")[0] == 404)
            collector.ask("DELETE", f"boosts?id={first[1]['id']}")
            TAP.check("one less, and there is room", wait_for(lambda: len(collector.running()) == 3, 20), str(collector.running()))
            ended = collector.boost(pid=one.pid, rate=FAST, seconds=1)
            wait_for(lambda: len(collector.running()) == 3, 30)
            TAP.check("one ends by itself", ended[0] == 200 and collector.rows()[0]["text"] == "its time is over", f"{ended} {collector.rows()[0]}")
            TAP.check("nobody else may ask", others(collector.port) == 401)
            sampler = collector.half("sampler")
            os.kill(collector.half("service"), signal.SIGKILL)
            gone = wait_for(lambda: collector.clocks() == clocks, 30)
            TAP.check("they end with the service, while the sampler goes on", gone and collector.half("sampler") == sampler,
                      f"{clocks} {collector.clocks()}")
    finally:
        one.kill()
        one.wait()


def others(port):
    """What another user is answered."""
    out = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-d", "pid=1", f"http://127.0.0.1:{port}/api/v1/boosts"],
                         user=65534, group=65534, extra_groups=[], capture_output=True, text=True, check=True)
    return int(out.stdout)


def short_of_time(folder):
    """A budget that wick is past as soon as that is looked at: a boost that runs ends, others do not start."""
    with Collector(folder, governor={"max_cpu": 0.01, "average_over": "10s"}) as collector, busy("boosted") as one:
        status, said = collector.boost(service="boosted", rate=FAST, seconds=120)
        TAP.check("a boost starts before the budget is looked at", status == 200, f"{status} {said}")
        wait_for(lambda: not collector.running(), 60)
        TAP.check("it ends where the budget is short", "budget" in collector.rows()[0]["text"] and collector.rows()[0]["state"] == "ended",
                  str(collector.rows()))
        status, said = collector.boost(service="boosted", rate=FAST, seconds=5)
        TAP.check("... and none starts then, with words", status == 409 and "budget" in said["error"], f"{status} {said}")
        one.kill()


def main():
    if common.privileged_or_skip(TAP, "boosts"):
        for part in (faster, refused, short_of_time):
            with tempfile.TemporaryDirectory(prefix="wick-boosts-") as folder:
                os.chmod(folder, 0o777)
                part(folder)
    TAP.end()


if __name__ == "__main__":
    main()
