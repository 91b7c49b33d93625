#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is what wick says of its own completeness true? Prints TAP.

A program works in a cgroup of its own for a known CPU time. What wick tells of that cgroup, sampled and by the kernel, is compared with
the kernel's file, read here, and with the program's own clock; what it tells of services with sums over the store."""
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

HZ, SECONDS, WINDOW = 99, 24, 2
STORM = os.path.join(common.VICTIMS, "storm")
# folder of cgroups, file, its unit in seconds, how wick names what is there
PLACES = (("/sys/fs/cgroup/cpuacct", "cpuacct.usage", 1e-9, "cpuacct:/"), ("/sys/fs/cgroup/cpu,cpuacct", "cpuacct.usage", 1e-9, "cpuacct:/"),
          ("/sys/fs/cgroup", "cpu.stat", 1e-6, "/"))


class Cgroup:
    def __init__(self):
        self.folder = None
        for parent, self.file, self.unit, self.prefix in PLACES:
            if os.path.exists(os.path.join(parent, "cgroup.procs")):
                self.parent = parent
                break
        else:
            raise OSError("no hierarchy of cgroups counts CPU time here")

    def __enter__(self):
        self.folder = os.path.join(self.parent, f"wick-test-{os.getpid()}")
        os.mkdir(self.folder)
        return self

    def __exit__(self, *_):
        wait_for(lambda: self.remove(), 5, 0.1)

    def remove(self):
        try:
            os.rmdir(self.folder)
        except OSError:
            return False
        return True

    def name(self):
        return self.prefix + os.path.basename(self.folder)

    def enter(self):
        """In the child, before it becomes the program."""
        with open(os.path.join(self.folder, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def seconds(self):
        with open(os.path.join(self.folder, self.file), encoding="ascii") as file:
            text = file.read()
        return int(text.split("usage_usec", 1)[1].split()[0] if "usage_usec" in text else text) * self.unit


def answer(port, question):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/api/v1/" + question)
    body = json.loads(connection.getresponse().read())
    connection.close()
    return body


def config(folder, port):
    return {"receivers": {"profiling": {"samples_per_second": HZ, "reporter_interval": f"{WINDOW}s", "governor": {"enabled": False}}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{port}"}},
            "service": {"extensions": ["page"], "pipelines": {"profiles": {"receivers": ["profiling"], "exporters": ["store"]}}}}


def told(wick, name, **labels):
    return wick.metric("wick_profiler_" + name, **labels) / 1e9


def check_cgroup(wick, cgroup, used):
    sampled, exact = (told(wick, f"cgroup_cpu_{what}_ns", cgroup=cgroup.name()) for what in ("sampled", "exact"))
    kernel = cgroup.seconds()
    # It is met with the first window, and counted from the end of the next one on.
    TAP.check("the kernel's time is what its file says, less what was before it was met", kernel - 3.5 * WINDOW <= exact <= kernel + 0.01,
              f"{exact:.2f} s told, {kernel:.2f} s in the file, {used:.2f} s by the program's own clock")
    TAP.check("the sampled time beside it is within 5 % of it", abs(sampled - exact) <= 0.05 * exact,
              f"{sampled:.2f} s sampled, {exact:.2f} s counted")


def check_services(wick, port, pid):
    service = "storm"
    whole, cut, unnamed = (told(wick, f"service_{what}_ns", service=service) for what in ("whole", "cut", "unnamed"))
    stored = sum(row[1] for row in answer(port, "values?label=pid&from=now-1h") if row[0] == str(pid)) / HZ
    TAP.check("whole and cut add up to what the store has of the service", stored and abs(whole + cut - stored) <= 0.02 * stored,
              f"{whole:.2f} s whole, {cut:.2f} s cut, {stored:.2f} s stored")
    TAP.check("a program whose stacks are whole is told to be so", cut <= 0.05 * whole, f"{cut:.2f} s cut")
    TAP.check("a program with symbols is told to have names", unnamed <= 0.1 * whole, f"{unnamed:.2f} s without")
    rows = [row for row in answer(port, "status")["sampling"] if row["of"] == service and row["label"] == "service"]
    TAP.check("the API tells the same", any(abs(row["value"] / 1e9 - whole) < 0.01 for row in rows), str(len(rows)))


def main():
    if not common.privileged_or_skip(TAP, "completeness"):
        TAP.end()
    port = free_port()
    try:
        cgroup = Cgroup().__enter__()
    except OSError as error:
        TAP.skip("completeness", str(error))
        TAP.end()
    try:
        with tempfile.TemporaryDirectory() as folder, Wick(config(folder, port), (port,)) as wick:
            program = subprocess.Popen([STORM, "work", str(SECONDS), "1"], preexec_fn=cgroup.enter)     # pylint: disable=subprocess-popen-preexec-fn
            _, _, usage = os.wait4(program.pid, 0)
            time.sleep(2.5 * WINDOW)
            check_cgroup(wick, cgroup, usage.ru_utime + usage.ru_stime)
            check_services(wick, port, program.pid)
    finally:
        cgroup.__exit__()
    TAP.end()


main()
