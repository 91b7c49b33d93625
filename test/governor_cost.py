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
        self.wick, self.seen, self.programs, self.names, self.busiest, self.history = wick, {}, {}, {}, "", []

    def note(self):
        for pid in below(self.wick.process.pid):
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                        self.seen[pid, thread] = int(file.read().split()[0]) / 1e9
                    with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii", errors="replace") as file:
                        self.names[pid, thread] = file.read().strip()
                for fd in os.listdir(f"/proc/{pid}/fdinfo"):
                    with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii", errors="replace") as file:
                        told = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
                    if "prog_id" in told and "run_time_ns" in told:
                        self.programs[told["prog_id"]] = int(told["run_time_ns"]) / 1e9
            except (OSError, ValueError):
                pass
        self.history.append((time.monotonic(), sum(self.seen.values()) + sum(self.programs.values())))
        return sum(self.seen.values()), sum(self.programs.values())

    def spans(self, seconds, lag):
        """Percent of a CPU over each such time that ends no longer than `lag` before the last note: what was told may be so old."""
        ends = [note for note in self.history if note[0] >= self.history[-1][0] - lag]
        found = []
        for at, used in ends:
            before = [note for note in self.history if note[0] <= at - seconds]
            if before:
                found.append(100 * (used - before[-1][1]) / (at - before[-1][0]))
        return found

    def over(self, seconds):
        """Percent of a CPU over that time: processes, programs. Which threads that was is in `busiest`."""
        before, began = self.note(), time.monotonic()
        threads = dict(self.seen)
        ends = began + seconds
        while time.monotonic() < ends:
            time.sleep(0.5)
            after = self.note()
        took = time.monotonic() - began
        threads = sorted(((100 * (used - threads.get(key, 0)) / took, self.names[key]) for key, used in self.seen.items() if key in self.names),
                         reverse=True)
        self.busiest = ", ".join(f"{name} {percent:.2f} %" for percent, name in threads[:4])
        return [100 * (b - a) / took for a, b in zip(before, after)]
