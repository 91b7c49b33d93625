#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time of day is set while wick samples, receives and writes: an hour ahead and back, a day back, as by a suspend. Each process of wick
gets its time of day from test/faults/clock_shim.c, so that the machine keeps its own. Nothing is lost, no window has a time that was
never, or lasts less than nothing; nobody hangs. Prints TAP."""
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "attacks"))
from attack import PAYLOAD, TAP, Wick, free_port, get, post, wait_for  # noqa: E402
import common  # noqa: E402

HZ = 50
# Where the clock is, in seconds, one after the other. Last ahead of all, so that questions about the past see everything.
STEPS = (3600, 0, -86400, -86400 + 1, 90000, 7200, 100000)


def config(folder, port, page):
    return {"receivers": {"profiling": {"reporter_interval": "1s", "samples_per_second": HZ, "governor": {"max_cpu": 0}},
                          "otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"store": {"path": f"{folder}/store"}, "file": {"path": f"{folder}/out.json"}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{page}"}},
            "service": {"extensions": ["page"], "pipelines": {"profiles": {"receivers": ["profiling"], "exporters": ["store", "file"]},
                                                              "profiles/sent": {"receivers": ["otlp"], "exporters": ["file"]}}}}


class Clock:
    def __init__(self, folder):
        self.path = os.path.join(folder, "clock")
        self.set(0)

    def set(self, seconds):
        with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as file:
            file.write(struct.pack("<q", seconds * 10**9))


def build_shim(folder):
    path = os.path.join(folder, "clock_shim.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", path, os.path.join(HERE, "faults", "clock_shim.c")], check=True)
    return path


def profiles_in(path):
    """Of this machine: (time, duration) of each, as the file has them."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            for resource in json.loads(line).get("resourceProfiles", []):
                for scope in resource.get("scopeProfiles", []):
                    for profile in scope.get("profiles", []):
                        if "wick" in scope.get("scope", {}).get("name", ""):
                            yield int(profile.get("timeUnixNano", 0)) / 1e9, int(profile.get("durationNano", 0)) / 1e9


def windows(wick, count):
    """That many windows have come."""
    for _ in range(count):
        before = taken(wick)
        if not wait_for(lambda: taken(wick) > before, 20):  # pylint: disable=cell-var-from-loop
            return False
    return True


def taken(wick):
    return sum(value for series, labels, value in wick.metrics()
               if series == "otelcol_receiver_accepted_profile_samples" and labels.get("receiver") == "profiling")


def check_times(path, began):
    """Each is a time that some clock of the test showed, and each clock has some."""
    ends, count, bad, seen = time.time(), 0, [], set()
    for at, lasts in profiles_in(path):
        count += 1
        clocks = [step for step in (0, *STEPS) if began + step - 5 <= at <= ends + step + 5]
        seen.update(clocks)
        if not clocks or not 0 <= lasts <= 30:
            bad.append((at - began, lasts))
    TAP.check("windows have times that there were, and last no less than nothing", count > 3 * len(STEPS) and not bad, f"{count} windows; {bad[:5]}")
    TAP.check("windows follow the clock", seen >= set(STEPS), str(sorted(seen)))


def check_steps(wick, clock, port):
    windows(wick, 3)
    for step in STEPS:
        clock.set(step)
        TAP.check(f"the clock is set to {step:+} s: windows go on", windows(wick, 4))
        TAP.check(f"the clock is set to {step:+} s: senders are answered", post(port, PAYLOAD) == 200)


def sent(wick):
    return wick.metric("wick_profiler_samples_sent")


def told_later(wick):
    """What was sent is told before the window that has it, as it was when the one before ended: at the third word after now, all is."""
    for _ in range(3):
        told = sent(wick)
        wait_for(lambda: sent(wick) > told, 20)  # pylint: disable=cell-var-from-loop
    return sent(wick)


def check_lost(wick, page):
    """What the sampler has handed over is in the store, whatever the time was, but for what is under way."""
    least = sent(wick)
    windows(wick, 3)
    _, body = get(page, "/api/v1/top?from=now-10d&rows=1")
    found = json.loads(body)["total"]
    most = told_later(wick)
    lost = {series: value for series, _, value in wick.metrics() if value and series.startswith("wick_profiler_samples_lost")}
    TAP.check("no window is lost: all that was sampled is in the store", least <= found <= most and not lost,
              f"{least:.0f} sent, then {found:.0f} in the store, then {most:.0f} sent {lost}")


def main():
    if not common.privileged_or_skip(TAP, "clock"):
        TAP.end()
    port, page = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        clock, began = Clock(folder), time.time()
        os.environ.update(LD_PRELOAD=build_shim(folder), CLOCK_FILE=clock.path)
        with Wick(config(folder, port, page), (port, page)) as wick:
            del os.environ["LD_PRELOAD"]
            if not TAP.check("windows come", windows(wick, 2), wick.said()[-500:]):
                TAP.end()
            with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
                try:
                    check_steps(wick, clock, port)
                    check_lost(wick, page)
                finally:
                    busy.kill()
            TAP.check("the page answers", get(page, "/api/v1/status")[0] == 200)
            wick.process.send_signal(signal.SIGTERM)
            TAP.check("it ends", wick.process.wait(30) == 0)
            check_times(f"{folder}/out.json", began)
    TAP.end()


main()
