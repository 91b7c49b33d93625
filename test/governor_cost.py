# SPDX-License-Identifier: Apache-2.0
"""What all processes of a wick cost, by /proc and the kernel's statistics of BPF programs."""
import os
import time


def below(pid):
    """A process and those that it started, and they."""
    found = [pid]
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        if parent == pid:
            found += below(int(name))
    return found


class Cost:
    """CPU seconds of all of wick's processes, also those that have ended, and of its BPF programs."""

    def __init__(self, wick):
        self.wick, self.seen, self.programs = wick, {}, {}

    def note(self):
        for pid in below(self.wick.process.pid):
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                        self.seen[pid, thread] = int(file.read().split()[0]) / 1e9
                for fd in os.listdir(f"/proc/{pid}/fdinfo"):
                    with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii", errors="replace") as file:
                        told = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
                    if "prog_id" in told and "run_time_ns" in told:
                        self.programs[told["prog_id"]] = int(told["run_time_ns"]) / 1e9
            except (OSError, ValueError):
                pass
        return sum(self.seen.values()), sum(self.programs.values())

    def over(self, seconds):
        """Percent of a CPU over that time: processes, programs."""
        before, began = self.note(), time.monotonic()
        ends = began + seconds
        while time.monotonic() < ends:
            time.sleep(0.5)
            after = self.note()
        took = time.monotonic() - began
        return [100 * (b - a) / took for a, b in zip(before, after)]
