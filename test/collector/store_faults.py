#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the store stands: kill -9 at random moments, full and read-only disks, broken files, a second wick, clocks that are off.

store_faults.py [KILLS]: wick must start again, say what it lost, and go on with whatever is still possible.
"""
import contextlib
import http.client
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import process
from process import TAP

SAMPLES = 50        # of a window


def configuration(port, directory):
    """An answer says that the store has it."""
    endpoint = f"127.0.0.1:{port}"
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": endpoint}}}},
            "exporters": {"store": {"path": directory, "sending_queue": {"wait_for_result": True},
                                    "retry_on_failure": {"enabled": False}}},
            "extensions": {"page": {"endpoint": endpoint}},
            "service": {"extensions": ["page"],
                        "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}


class Store(process.Wick):
    """A wick that keeps what it is sent in a directory."""

    def __init__(self, directory):
        self.port = process.free_port()
        super().__init__(configuration(self.port, directory), (self.port,))

    def start(self):
        """The page answers before the receivers of the same port do."""
        super().start()
        process.wait_for(lambda: self.post({}), process.START_SECONDS)
        return self

    def post(self, request, timeout=20):
        url = f"http://127.0.0.1:{self.port}/v1development/profiles"
        try:
            urllib.request.urlopen(urllib.request.Request(url, json.dumps(request).encode(),
                                                          {"Content-Type": "application/json"}), timeout=timeout).read()
            return True
        except (OSError, http.client.HTTPException):
            return False

    def send(self, number, times=None, timeout=20):
        """Whether a window was taken; its process has its number."""
        times = times or [time.time_ns()] * SAMPLES
        strings = ["", "samples", "count", "main", f"function_{number}"]
        request = {"resourceProfiles": [{
            "resource": {"attributes": [{"key": "process.executable.name", "value": {"stringValue": f"w{number}"}}]},
            "scopeProfiles": [{"profiles": [{"sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "samples": [
                {"stackIndex": 1, "timestampsUnixNano": [str(t) for t in times]}]}]}]}],
            "dictionary": {"stringTable": strings, "functionTable": [{}, {"nameStrindex": 3}, {"nameStrindex": 4}],
                           "locationTable": [{}, {"lines": [{"functionIndex": 1}]}, {"lines": [{"functionIndex": 2}]}],
                           "stackTable": [{}, {"locationIndices": [2, 1]}],
                           "mappingTable": [{}], "linkTable": [{}], "attributeTable": [{}]}}
        return self.post(request, timeout)

    def ask(self, name, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{name}?" + urllib.parse.urlencode(query)
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)

    def windows(self):
        """How many samples of each window there are."""
        now = time.time()
        return dict(map(tuple, self.ask("values", label="process", max=100000, **{"from": now - 86400, "to": now + 600})))


@contextlib.contextmanager
def directory():
    with tempfile.TemporaryDirectory(prefix="wick-store-") as path:
        yield os.path.join(path, "store")


def file_of(path):
    return os.path.join(path, "wick.db")


# ---- Ends ---------------------------------------------------------------------------------------------------------

def check_kills(count):
    """What was answered is there after kill -9, and the window that was under way is there as a whole or not at all."""
    rng = random.Random(5)
    acknowledged, under_way, lost, torn, number = set(), set(), [], [], 0
    with directory() as path:
        for _ in range(count):
            with Store(path) as wick:
                there = wick.windows()
                lost += [n for n in acknowledged if f"w{n}" not in there]
                torn += [(name, total) for name, total in there.items() if total != SAMPLES]
                ends = time.monotonic() + rng.random() * 0.3
                killer = subprocess.Popen(["sh", "-c", f"sleep {rng.random() * 0.3:.3f}; kill -9 {wick.process.pid}"])
                while time.monotonic() < ends + 5:
                    number += 1
                    if not wick.send(number, timeout=5):
                        under_way.add(number)
                        break
                    acknowledged.add(number)
                killer.wait()
        with Store(path) as wick:
            there = wick.windows()
            lost += [n for n in acknowledged if f"w{n}" not in there]
            torn += [(name, total) for name, total in there.items() if total != SAMPLES]
            TAP.check(f"after {count} times kill -9 all {len(acknowledged)} windows that were answered are there",
                      not lost and len(acknowledged) > count, sorted(set(lost))[:10] or "")
            TAP.check("no window is there in part", not torn, torn[:5] or "")
            extra = {int(name[1:]) for name in there} - acknowledged
            TAP.check("what was not answered is at most the last window of each run", extra <= under_way, extra - under_way or "")
            TAP.check("it stops well after that", wick.stop() == 0)


# ---- Who else is there ----------------------------------------------------------------------------------------------

def fails_to_start(config, *words):
    """What a wick says that cannot start: one line with all of the words."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        ended = subprocess.run([process.WICK, "--config", path], capture_output=True, text=True, timeout=30, check=False)
    lines = [line for line in ended.stderr.splitlines() if all(word in line for word in words)]
    return ended.returncode == 1 and len(lines) == 1, ended.stderr[-500:]


def check_others():
    with directory() as path, Store(path) as wick:
        pid = str(wick.process.pid)
        for name, config in (("a second wick on the same store", configuration(process.free_port(), path)),
                             ("a second wick on the same port", configuration(wick.port, path + "2"))):
            good, said = fails_to_start(config, "in use", pid)
            TAP.check(f"{name} says in one sentence who has it", good, "" if good else said)
        TAP.check("the first goes on", wick.send(1) and wick.windows() == {"w1": SAMPLES})


# ---- Broken files ------------------------------------------------------------------------------------------------------

def overwrite(path, at, data):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def truncate(path):
    os.truncate(path, os.path.getsize(path) // 2)


def fill_store(path, windows=40):
    with Store(path) as wick:
        for number in range(windows):
            wick.send(number)
        wick.stop()


def check_broken(name, damage):
    """It starts, tells of the loss unless all is there, and keeps what comes."""
    with directory() as path:
        fill_store(path)
        damage(file_of(path))
        with Store(path) as wick:
            took = wick.send(1000)
            there = wick.windows()
            said = wick.said()
            told = len(there) == 41 or "broken" in said or "lost" in said or wick.ask("status").get("blocks_broken", 0) > 0
            TAP.check(f"{name}: starts, says what it lost, goes on", took and there.get("w1000") == SAMPLES and told and
                      wick.alive(), "" if took and told else f"{len(there)} windows; {said[-300:]}")


def check_newer():
    with directory() as path:
        fill_store(path, 2)
        file = sqlite3.connect(file_of(path))
        file.execute("PRAGMA user_version = 99")
        file.close()
        good, said = fails_to_start(configuration(process.free_port(), path), "newer wick")
        TAP.check("a store of a newer wick is left alone, and it says so", good and os.path.exists(file_of(path)),
                  "" if good else said)


# ---- Disks -----------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def small_disk(megabytes):
    """A file system of its own, or None."""
    path = tempfile.mkdtemp(prefix="wick-disk-")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", path], capture_output=True,
                             check=False).returncode == 0
    try:
        yield path if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", path], check=False)
        os.rmdir(path)


def remount(path, options):
    subprocess.run(["mount", "-o", f"remount,{options}", path], check=True)


def check_full():
    with small_disk(2) as disk:
        if not disk:
            TAP.skip("a full disk", "a file system cannot be mounted here")
            return
        with Store(os.path.join(disk, "store")) as wick:
            took = wick.send(0)
            filler = os.path.join(disk, "filler")
            with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            refused = [number for number in range(1, 400) if not wick.send(number)]
            failed = wick.metric("otelcol_exporter_send_failed_profile_samples")
            TAP.check("a full disk: what does not fit is refused and counted, not lost in silence",
                      took and refused and failed == len(refused), f"{failed:.0f} of {len(refused)}")
            TAP.check("a full disk: the page still answers", wick.windows().get("w0") == SAMPLES and wick.alive())
            os.remove(filler)
            TAP.check("a full disk: with room again it goes on", wick.send(9999) and wick.windows().get("w9999") == SAMPLES,
                      "" if wick.alive() else wick.said()[-500:])


def check_read_only():
    with small_disk(8) as disk:
        if not disk:
            TAP.skip("a read-only disk", "a file system cannot be mounted here")
            return
        path = os.path.join(disk, "store")
        fill_store(path, 3)
        remount(disk, "ro")
        good, said = fails_to_start(configuration(process.free_port(), path), path)
        TAP.check("a read-only disk: one sentence at the start", good, "" if good else said)
        remount(disk, "rw")
        with Store(path) as wick:
            TAP.check("a disk that can be written to again is used again", wick.send(10) and len(wick.windows()) == 4)


# ---- Clocks -----------------------------------------------------------------------------------------------------------------

def check_clocks():
    """Samples of 1970, of last year and of next week are kept where they can be found: under the time of their arrival."""
    now = time.time_ns()
    with directory() as path, Store(path) as wick:
        for number, when in enumerate((1000, now - 400 * 86400 * 10**9, now + 7 * 86400 * 10**9, 2**63 - 1, 2**64 - 1)):
            wick.send(number, [when] * SAMPLES)
        wick.send(5, [now] * SAMPLES)
        there, status = wick.windows(), wick.ask("status")
        TAP.check("samples whose time cannot be are found under that of their arrival",
                  there == {f"w{n}": SAMPLES for n in range(6)}, there)
        TAP.check("and counted", status.get("times_wrong") == 5 * SAMPLES, status.get("times_wrong"))


def main():
    check_kills(int(sys.argv[1]) if len(sys.argv) > 1 else 25)
    check_others()
    check_broken("random bytes over the whole file", lambda path: overwrite(path, 0, random.Random(1).randbytes(20000)))
    check_broken("random bytes in the middle", lambda path: overwrite(path, 8192, random.Random(2).randbytes(6000)))
    check_broken("a file that was cut", truncate)
    check_broken("an empty file", lambda path: os.truncate(path, 0))
    check_newer()
    check_full()
    check_read_only()
    check_clocks()
    TAP.end()


if __name__ == "__main__":
    main()
