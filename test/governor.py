#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What wick costs, and that it stays within its budget in storms. Prints TAP.

Processes, executables and code come and go, all at once, while somebody has asked for 199 samples a second. Without the governor
that is past the budget of a machine of this size (or nothing would be shown); with it, what the processes have used by /proc and the
BPF programs by the kernel's own statistics is within the budget. What a program has used is in the store as it was, though the rate
has changed meanwhile. The span is 10 s instead of a minute; `--minute` takes a minute."""
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "collector"))
from process import TAP, Wick, free_port, wait_for  # noqa: E402
import common  # noqa: E402
from governor_cost import Cost  # noqa: E402

HZ = 199
SPAN = 60 if "--minute" in sys.argv else 10
LAG = 4                 # s: what is told comes with a window of 2 s, and was noted before
STORM = os.path.join(common.VICTIMS, "storm")
STATS = "/proc/sys/kernel/bpf_stats_enabled"
BUDGET = max(1.0, (os.cpu_count() or 1) / 16)       # percent of one CPU


def config(folder, port, enabled):
    return {"receivers": {"profiling": {"samples_per_second": HZ, "reporter_interval": "2s",
                                        "governor": {"enabled": enabled, "average_over": f"{SPAN}s"}}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{port}"}},
            "service": {"extensions": ["page"], "pipelines": {"profiles": {"receivers": ["profiling"], "exporters": ["store"]}}}}


class Storms:
    def __init__(self, folder):
        self.folder, self.running = folder, []

    def __enter__(self):
        for what in (["fork", "60", "600"], ["exec", "60", "600", self.folder], ["jit", "300", "600"]):
            self.running.append(subprocess.Popen(["nice", STORM, *what], stdout=subprocess.DEVNULL))
        return self

    def __exit__(self, *_):
        for process in self.running:
            process.kill()
            process.wait()


def answer(port, question):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/api/v1/" + question)
    reply = connection.getresponse()
    body = json.loads(reply.read())
    connection.close()
    return body


def counter(port, name):
    return sum(each["value"] for each in answer(port, "status")["sampling"] if each["name"] == name)


def without_it(folder):
    port = free_port()
    with Wick(config(folder, port, False), (port,)) as wick, Storms(folder):
        time.sleep(10)
        used = sum(Cost(wick).over(SPAN))
        TAP.check("without the governor the storms cost more than the budget, which is what is shown", used > BUDGET * 1.2,
                  f"{used:.2f} % of a CPU, the budget is {BUDGET:.2f} %")
        TAP.check("nothing is left out then", counter(port, "governor_step") == 0 and counter(port, "ticks_spared") == 0)


class Victim:
    """Works for as long as it should; its own clock tells how much that was."""

    def __init__(self, seconds):
        self.process = subprocess.Popen([STORM, "work", str(seconds), "1"], stdout=subprocess.PIPE)

    def cpu_seconds(self):
        _, _, usage = os.wait4(self.process.pid, 0)
        return usage.ru_utime + usage.ru_stime


def stored(port, pid):
    """Seconds of CPU time."""
    found = answer(port, "values?label=pid&from=now-1h")
    return sum(row[1] for row in found if str(row[0]) == str(pid)) / HZ


def main():
    if os.geteuid() != 0:
        TAP.skip("what wick costs", "needs root")
        TAP.end()
    with open(STATS, "r+", encoding="ascii") as file:
        counted = file.read().strip()
        file.seek(0)
        file.write("1")
    try:
        measure()
    finally:
        with open(STATS, "w", encoding="ascii") as file:
            file.write(counted)
    TAP.end()


def idle_seconds():
    """Of all CPUs, since the machine started."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[4]) / os.sysconf("SC_CLK_TCK")


def check_budget(used, detail, idle):
    """The same work costs half as much again where others want every CPU."""
    name = "in the storms wick stays within its budget and a fifth"
    if used <= BUDGET * 1.2:
        TAP.check(name, True, detail)
    elif idle < 0.02 * SPAN * (os.cpu_count() or 1):
        TAP.skip(name, f"others here use all CPUs ({detail})")
    else:
        TAP.check(name, False, detail)


def measure():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        without_it(folder)
    port = free_port()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, Wick(config(folder, port, True), (port,)) as wick:
        cost = Cost(wick)
        time.sleep(2)
        victim = Victim(2 * SPAN)
        with Storms(folder):
            stepped = wait_for(lambda: counter(port, "governor_step") > 0, 4 * SPAN, 0.5)
            TAP.check("past the budget something is left out", stepped)
            # Until it has found what is enough: the step is the same for a third of a span.
            steps = []
            wait_for(lambda: steps.append(counter(port, "governor_step")) or len(set(steps[-SPAN:])) == 1 and len(steps) > SPAN,
                     5 * SPAN, 0.5)
            events, idle = counter(port, "process_events"), idle_seconds()
            cost.over(LAG)
            processes, programs = cost.over(SPAN)
            idle = idle_seconds() - idle
            events = (counter(port, "process_events") - events) / SPAN
            told = counter(port, "cpu_used_ppm") / 1e4
            status = answer(port, "status")
            check_budget(processes + programs, f"{processes:.2f} % of a CPU by /proc, {programs:.2f} % in BPF by the kernel; "
                         f"step {steps[-1]:.0f}, {events:.0f} events of processes a second; {cost.busiest}", idle)
            spans = cost.spans(SPAN, LAG)
            TAP.check("what it tells is what it used", 0.7 * min(spans) <= told <= 1.3 * max(spans),
                      f"{told:.2f} % told; {min(spans):.2f} to {max(spans):.2f} % used in spans that ended within {LAG} s")
            TAP.check("the API says what is left out, and the log, too",
                      status["left_out"] and "and may use" in wick.said(), status["left_out"])
            TAP.check("ticks that were spared are counted", counter(port, "ticks_spared") > 0 or steps[-1] < 4)
        used = victim.cpu_seconds()
        time.sleep(5)
        kept = stored(port, victim.process.pid)
        TAP.check("what a program used is in the store, whatever the rate was", abs(kept - used) <= 0.06 * used,
                  f"{kept:.2f} s of {used:.2f} s")
        taken_up_again(port, counter(port, "governor_step"))


def taken_up_again(port, lowest):
    """What others run here may be a storm of its own."""
    name = "when the storms are over all is taken up again, step by step"
    back = wait_for(lambda: counter(port, "governor_step") < lowest, 6 * SPAN, 0.5)
    told = counter(port, "cpu_used_ppm") / 1e4
    if not back and told > BUDGET / 2:
        TAP.skip(name, f"the machine is busy otherwise: wick still uses {told:.2f} % of a CPU")
    else:
        TAP.check(name, back, f"step {lowest:.0f}, then {counter(port, 'governor_step'):.0f}")


main()
