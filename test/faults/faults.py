#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One thing fails, wherever that may be: no crash, no hang, a sentence that says so. Prints TAP.

Commands are run again and again, and each time another of their calls fails (failing.c: memory, files, sockets, threads): they end by
themselves, with what they print as it should be, or with a status and a sentence; no half of a file is left. A collector does its work while
one of its calls fails. wick starts with 64 file descriptors. Each of its processes is killed at random. `--full`: every call of the
collector, and kills for ten minutes."""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "collector"))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "attacks"))
from attack import PAYLOAD, TAP, Wick, free_port, post  # noqa: E402
from process import PAYLOADS, WICK, wait_for  # noqa: E402
sys.path.insert(0, os.path.dirname(HERE))
from governor_cost import below  # noqa: E402

FULL = "--full" in sys.argv
SAMPLER_POINTS = [int(1.15 ** i) + i for i in range(0, 76, 1 if FULL else 9)]      # to 30,000, dense at the start
SERVICE_POINTS = 1 << 30 if FULL else 100
KILLS_SECONDS = 600 if FULL else 25
INPUT = os.path.join(PAYLOADS, "ebpf-profiler-c.bin")
HANG = 20


def build(folder):
    """The library, or None."""
    path = os.path.join(folder, "failing.so")
    made = subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", path, os.path.join(HERE, "failing.c"), "-ldl"], check=False)
    return path if made.returncode == 0 else None


def run(library, command, at, folder):
    """The status (None: it hung), output, errors, calls."""
    count = os.path.join(folder, "count")
    environment = {**os.environ, "LD_PRELOAD": library, "FAIL_AT": str(at), "FAIL_COUNT": count}
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HANG, check=False)
    except subprocess.TimeoutExpired:
        return None, b"", b"", 0
    calls = 0
    if os.path.exists(count):
        with open(count, encoding="ascii") as file:
            calls = int(file.read() or 0)
        os.unlink(count)
    return done.returncode, done.stdout, done.stderr, calls


def points(calls, wanted):
    """Numbers of calls, all of them or about as many as wanted."""
    return range(1, calls + 1, max(1, calls // wanted))


class Command:
    """One that ends. output: a file that it makes, or None."""

    def __init__(self, name, arguments, output=None):
        self.name, self.arguments, self.output = name, arguments, output

    def bad(self, status, out, err, good, written):
        if status is None:
            return "hangs"
        if status < 0 or status >= 128:
            return f"ended by signal {-status}: {err[-200:]}"
        if status and not err.strip():
            return f"status {status} without a word"
        if written is not None and written != good[1]:
            return f"half a file is left, of {len(written)} bytes (status {status})"
        if status == 0 and not err.strip() and (out != good[0] or (self.output and written is None)):
            return "says that all went well, but printed something else"
        return None

    def read(self, folder):
        path = os.path.join(folder, self.output) if self.output else None
        if not path or not os.path.exists(path):
            return None
        with open(path, "rb") as file:
            content = file.read()
        os.unlink(path)
        return content

    def test(self, library, folder):
        command = [WICK, *(part.replace("FOLDER", folder) for part in self.arguments)]
        status, out, _, calls = run(library, command, 0, folder)
        good = (out, self.read(folder))
        failed, failures, tried = 0, [], 0
        for at in range(1, calls + 1) if status == 0 else ():
            status, out, err, _ = run(library, command, at, folder)
            why = self.bad(status, out, err, good, self.read(folder))
            tried += 1
            failed += bool(status)
            if why:
                failures.append(f"call {at}: {why}")
        TAP.check(f"{self.name}: one call fails, it ends with a sentence or as it should", tried > 0 and not failures,
                  f"{tried} of {calls} calls tried, {failed} ended it; " + "; ".join(failures[:4]))


COMMANDS = (
    Command("report", ["report", INPUT]),
    Command("convert", ["convert", INPUT, "FOLDER/out.pb.gz"], "out.pb.gz"),
    Command("diff", ["diff", INPUT, INPUT]),
    Command("validate", ["validate", "--config=yaml:{receivers: {otlp: {protocols: {http: {}}}}, exporters: {debug: {}}, "
                         "service: {pipelines: {profiles: {receivers: [otlp], exporters: [debug]}}}}"]),
)


# ---- A collector ---------------------------------------------------------------------------------

def config(port, folder, samples=False):
    receivers = {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}}
    if samples:
        receivers["profiling"] = {"reporter_interval": "1s"}
    return {"receivers": receivers, "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "service": {"pipelines": {"profiles": {"receivers": list(receivers), "exporters": ["store"]}}}}


def one_service(library, at, folder):
    """(why it is bad or None, calls)."""
    os.makedirs(folder)
    port = free_port()
    count = os.path.join(folder, "count")
    wick = Wick(config(port, folder), (port,))
    wick.command = ["env", f"LD_PRELOAD={library}", f"FAIL_AT={at}", f"FAIL_COUNT={count}", *wick.command]
    why = None
    try:
        wick.start()
    except RuntimeError as error:
        text = str(error)
        shutil.rmtree(wick.folder, ignore_errors=True)
        return ("does not start, and says nothing" if text.rstrip().endswith(":") else "hangs at the start" if "status None" in text
                else "ended by a signal" if "status -" in text else None), 0
    for _ in range(4):
        post(port, PAYLOAD, timeout=5)
    if not wick.alive() and wick.process.returncode < 0:
        why = f"ended by signal {-wick.process.returncode}"
    if why is None and wick.alive():
        status = wick.stop()
        why = "does not end" if status is None else f"ended by signal {-status}" if status < 0 else None
    wick.__exit__()
    calls = int(open(count, encoding="ascii").read() or 0) if os.path.exists(count) else 0
    return why, calls


def services(library, folder):
    _, calls = one_service(library, 0, os.path.join(folder, "s0"))
    failures, tried = [], 0
    for at in points(calls, SERVICE_POINTS):
        why, _ = one_service(library, at, os.path.join(folder, f"s{at}"))
        tried += 1
        if why:
            failures.append(f"call {at}: {why}")
    TAP.check("a collector: one call fails, it goes on or ends with a sentence", tried > 0 and not failures,
              f"{tried} of {calls} calls tried; " + "; ".join(failures[:4]))


def one_sampler(library, at, folder):
    """In each of the processes one call fails. Why it is bad, or None."""
    os.makedirs(folder)
    port = free_port()
    wick = Wick(config(port, folder, True), (port,))
    wick.command = ["env", f"LD_PRELOAD={library}", f"FAIL_AT={at}", *wick.command]
    try:
        wick.start()
    except RuntimeError as error:
        shutil.rmtree(wick.folder, ignore_errors=True)
        return str(error) if "status None" in str(error) or "status -" in str(error) or str(error).rstrip().endswith(":") else None
    # Who ends with a word about it is started again: its next life begins at the first call.
    wait_for(lambda: not wick.alive() or "killed by signal" in wick.said(), 4, 0.2)
    said, alive = wick.said(), wick.alive()
    status = wick.stop() if alive else wick.process.returncode
    wick.__exit__()
    if "killed by signal" in said:
        return said[said.index("killed by signal") - 60:][:90]
    return "does not end" if status is None else f"ended by signal {-status}" if status < 0 else None


def samplers(library, folder):
    tried = SAMPLER_POINTS
    failures = [f"call {at}: {why}" for at, why in ((at, one_sampler(library, at, os.path.join(folder, f"m{at}"))) for at in tried) if why]
    TAP.check("who samples, serves and watches: one call of each fails, none crashes or hangs", not failures,
              f"{len(tried)} calls tried; " + "; ".join(failures[:4]))


# ---- All of it ------------------------------------------------------------------------------------

def few_files(folder):
    os.makedirs(folder)
    port = free_port()
    wick = Wick(config(port, folder, True), (port,))
    wick.command = ["/bin/sh", "-c", 'ulimit -n 64 && exec "$@"', "sh", *wick.command]
    with wick:
        time.sleep(4)
        statuses = [post(port, PAYLOAD) for _ in range(5)]
        # A sampler that finds no descriptor for a window begins anew, and so do its counters.
        sent, end = 0, time.monotonic() + 20
        while not sent and time.monotonic() < end:
            sent = wick.metric("wick_profiler_samples_sent")
            time.sleep(0.1)
        TAP.check("64 file descriptors: it samples, and takes what is sent", wick.alive() and statuses == [200] * 5 and sent > 0,
                  f"{statuses}, {sent:.0f} samples, {wick.metric('wick_profiler_files_unreadable'):.0f} files unread, which is counted")


def halves(wick):
    """Name to pid."""
    found = {}
    for pid in below(wick.process.pid):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                found.setdefault(file.read().strip(), pid)
        except OSError:
            pass
    return found


def kills(folder):
    os.makedirs(folder)
    port, killed, draw = free_port(), {}, random.Random(1)
    wick = Wick(config(port, folder, True), (port,))
    with wick:
        ends = time.monotonic() + KILLS_SECONDS
        while time.monotonic() < ends:
            time.sleep(draw.uniform(1, 4))
            name = draw.choice(["wick: sampler", "wick: service", "wick: reader", "wick"])
            pid = halves(wick).get(name)
            if not pid:
                continue
            os.kill(pid, signal.SIGKILL)
            killed[name] = killed.get(name, 0) + 1
            if name == "wick":
                before = halves(wick)
                wick.process.wait()
                TAP.check("the supervisor is killed: nobody is left behind",
                          wait_for(lambda: not any(os.path.exists(f"/proc/{each}") for each in before.values()), 10))
                wick.start()
        back = wait_for(lambda: {"wick: sampler", "wick: service"} <= set(halves(wick)), 30) and wait_for(lambda: post(port, PAYLOAD) == 200, 30)
        TAP.check("killed at random: all are back, and take what is sent", back, str(killed))
        sampled = wait_for(lambda: wick.metric("wick_profiler_samples_sent") > 0, 30, 0.5)
        TAP.check("killed at random: samples are taken again", sampled)


def main():
    with tempfile.TemporaryDirectory() as folder:
        library = build(folder)
        if not library:
            TAP.skip("calls that fail", "gcc does not make the library")
        for command in COMMANDS if library else ():
            command.test(library, folder)
        if library:
            services(library, folder)
        if os.geteuid() == 0:
            samplers(library, folder)
            few_files(os.path.join(folder, "few"))
            kills(os.path.join(folder, "kills"))
        else:
            TAP.skip("64 file descriptors, and kills", "needs root")
    TAP.end()


main()
