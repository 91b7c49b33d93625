#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A start, and 200 times SIGHUP, under senders that do not try again. Prints TAP. Who can connect is answered as if
nothing happened: 404 would make senders drop what they have."""
import os
import signal
import tempfile
import threading
import time

from attack import MIB, PAYLOAD, TAP, Healthy, Wick, free_port, post, telemetry, wait_for

SIGNALS = 200


def config(port, folder):
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "processors": {"batch": {}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{port}"}},
            "service": {"extensions": ["page"],
                        "pipelines": {"profiles": {"receivers": ["otlp"], "processors": ["batch"],
                                                   "exporters": ["store"]}}}}


class Hasty:
    """Asks from before there is somebody to answer; who refuses the connection is not there yet."""

    def __init__(self, port):
        self.port, self.statuses, self.done = port, [], threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(4)]

    def run(self):
        while not self.done.is_set():
            status = post(self.port, PAYLOAD)
            if status:
                self.statuses.append(status)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for thread in self.threads:
            thread.join()


def start(folder):
    port = free_port()
    with Hasty(port) as hasty, Wick(config(port, folder), (port,)):
        time.sleep(0.5)
        hasty.done.set()
        for thread in hasty.threads:
            thread.join()
    TAP.check("a start: whoever gets an answer gets 200", hasty.statuses and set(hasty.statuses) == {200},
              str({status: hasty.statuses.count(status) for status in set(hasty.statuses)}))


def reload(folder):
    port, last = free_port(), free_port()
    with Wick(config(port, folder), (port,)) as wick:
        for _ in range(20):
            post(port, PAYLOAD)
        before = wick.memory("VmRSS")
        with Healthy(port, pause=0.01, tries=1) as healthy:
            for _ in range(SIGNALS - 1):
                wick.signal(signal.SIGHUP)
                time.sleep(0.02)
        changed = config(last, folder)
        changed["service"]["telemetry"] = telemetry(wick.metrics_port)
        wick.write(changed)
        wick.signal(signal.SIGHUP)
        healthy.check(f"{SIGNALS} times SIGHUP")
        TAP.check(f"{SIGNALS} times SIGHUP: it is answered within a second", healthy.longest < 1, f"{healthy.longest:.2f} s")
        after = wick.memory("VmHWM")
        TAP.check(f"{SIGNALS} times SIGHUP: memory stays", after < before + 16 * MIB,
                  f"{before / MIB:.0f} MiB before, {after / MIB:.0f} at most")
        TAP.check(f"{SIGNALS} times SIGHUP: the last one counts", wait_for(lambda: post(last, PAYLOAD) == 200, 5))


def main():
    with tempfile.TemporaryDirectory() as folder:
        start(folder)
    with tempfile.TemporaryDirectory() as folder:
        reload(folder)
    TAP.end()


main()
