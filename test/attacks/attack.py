# SPDX-License-Identifier: Apache-2.0
"""What the attacks share: a collector to attack, a healthy client beside each attack, and a bound on memory. Standard
library only, loopback only. An attack is a test: it fails where the attacker wins."""
import gzip
import http.client
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "collector"))
from process import *  # noqa: E402,F403
from process import TAP, Wick, free_port, payload  # noqa: E402

MIB = 1 << 20
PATH = "/v1development/profiles"
TYPE = {"content-type": "application/x-protobuf"}
PAYLOAD = payload("ebpf-profiler-c")
SECONDS = 20        # the ordinary timeout of a client
STRANGER = 65534    # a user who is nobody's


def answer_of(port, body, headers=None, path=PATH, timeout=SECONDS, source=None):
    """The status and the body of the answer; 0: no answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout, source_address=source)
    try:
        connection.request("POST", path, body, {**TYPE, **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error).encode()
    finally:
        connection.close()


def post(*arguments, **named):
    """The status; 0: no answer."""
    return answer_of(*arguments, **named)[0]


def get(port, path, headers=None, timeout=SECONDS):
    """The status and the body; 0: no answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def own_address():
    """One of this machine that is not loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return None


def become_stranger():
    socket.getaddrinfo("127.0.0.1", 1)      # loads what it needs while it may be read
    os.setgroups([])
    os.setresgid(STRANGER, STRANGER, STRANGER)
    os.setresuid(STRANGER, STRANGER, STRANGER)


class Healthy:
    """A sender as they are: one request after the other with an ordinary timeout, one again after 503 or 429 as the
    protocol asks for. Within a with; `lost` are those that it could not hand over in the end, `longest` is how long the
    slowest took, one way or the other."""

    def __init__(self, port, pause=0.2, tries=10):
        self.port, self.pause, self.tries = port, pause, tries
        self.sent, self.lost, self.again, self.longest = 0, [], 0, 0.0
        self.body, self.reasons = PAYLOAD, set()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def one(self):
        for attempt in range(self.tries):
            status, why = answer_of(self.port, self.body)
            if status == 200:
                self.sent += 1
                return
            if status not in (429, 502, 503, 504):
                break
            self.again += 1
            self.reasons.add((status, why[:200]))
            time.sleep(0.1 * (attempt + 1))
        self.lost.append((status, why))

    def run(self):
        while not self.done.is_set():
            began = time.monotonic()
            self.one()
            self.longest = max(self.longest, time.monotonic() - began)
            self.done.wait(self.pause)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join(timeout=2 * SECONDS)

    def check(self, name):
        TAP.check(f"{name}: a healthy sender beside it is answered", self.sent > 0 and not self.lost,
                  f"{self.sent} taken, {self.again} tried again, lost {self.lost[:5]}")
        if self.reasons:
            TAP.note(f"told to try again: {sorted(self.reasons)[:3]}")


def at_once(count, work):
    """Runs work(number) in that many threads and waits; the results."""
    results = [None] * count

    def run(number):
        results[number] = work(number)
    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def packed(body):
    return gzip.compress(body, 9)


def within(name, wick, before, allowed):
    """Its peak, compared with what it held before and what it may take besides."""
    peak = wick.memory("VmHWM")
    return TAP.check(f"{name}: memory stays within the budget and a fifth", peak <= before + allowed * 1.2,
                     f"{before / MIB:.0f} MiB before, {peak / MIB:.0f} at most, {allowed / MIB:.0f} allowed besides")
