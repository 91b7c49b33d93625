#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""10,000 processes that do nothing cost wick next to nothing. Prints TAP.

What wick uses of a CPU, and how many files it reads, before they are there and with them: the difference is theirs. What others do on
this machine is in both."""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "collector"))
from process import TAP, Wick, wait_for  # noqa: E402
from governor_cost import Cost, below  # noqa: E402
import common  # noqa: E402

COUNT, SECONDS = 10000, 20
PERCENT_MAX = 1.5           # of one CPU, all of wick
READS_MAX = 250             # a second; each of them once in a window of 5 s would be 4,000: a file is read until it ends


def config(folder):
    return {"receivers": {"profiling": {"governor": {"enabled": False}}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "service": {"pipelines": {"profiles": {"receivers": ["profiling"], "exporters": ["store"]}}}}


def reads(wick):
    total = 0
    for pid in below(wick.process.pid):
        try:
            with open(f"/proc/{pid}/io", encoding="ascii") as file:
                total += int(dict(line.split(": ") for line in file.read().splitlines())["syscr"])
        except OSError:
            pass
    return total


def measure(wick):
    """Percent of a CPU, reads a second."""
    before, began = reads(wick), time.monotonic()
    used = sum(Cost(wick).over(SECONDS))
    return used, (reads(wick) - before) / (time.monotonic() - began)


def end_group(leader):
    """Ends all of them, and waits until they are gone."""
    os.killpg(leader.pid, signal.SIGKILL)
    leader.wait()
    wait_for(lambda: not members(leader.pid), 60, 0.5)


def members(group):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(name)) == group:
                found.append(int(name))
        except OSError:
            pass
    return found


def main():
    if not common.privileged_or_skip(TAP, "sleepers"):
        TAP.end()
    with tempfile.TemporaryDirectory() as folder, Wick(config(folder)) as wick:
        time.sleep(15)
        alone, reads_alone = measure(wick)
        with subprocess.Popen([os.path.join(common.VICTIMS, "storm"), "sleep", str(COUNT)], stdout=subprocess.PIPE, text=True,
                              start_new_session=True) as sleepers:
            try:
                there = sleepers.stdout.readline() == "asleep\n"
                TAP.check(f"{COUNT} processes sleep", there)
                time.sleep(25)          # each was looked at once
                beside, reads_beside = measure(wick)
            finally:
                end_group(sleepers)
        time.sleep(5)
        after, _ = measure(wick)
        TAP.note(f"before {alone:.2f} %, after {after:.2f} %")
        alone = (alone + after) / 2     # what others do meanwhile changes
        TAP.note(f"alone {alone:.2f} % of a CPU and {reads_alone:.0f} reads a second, with them {beside:.2f} % and {reads_beside:.0f}")
        TAP.check(f"{COUNT} sleeping processes cost less than {PERCENT_MAX} % of a CPU", beside - min(alone, beside) <= PERCENT_MAX / 2,
                  f"{beside - alone:.2f} % more")
        if alone <= PERCENT_MAX / 2:
            TAP.check("... all of wick does", beside <= PERCENT_MAX, f"{beside:.2f} %")
        else:
            TAP.skip("... all of wick does", f"others keep wick busy: {alone:.2f} % without them")
        TAP.check("... and few of them are looked at in a second", reads_beside - reads_alone <= READS_MAX,
                  f"{reads_beside - reads_alone:.0f} reads a second more")
    TAP.end()


main()
