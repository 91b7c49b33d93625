#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions that cost much: over a century, several at a time, by clients that leave before they are answered. Prints TAP.

They share a part of the memory budget; what does not fit is refused in words. Work for a client that has left ends.
"""
import os
import socket
import tempfile
import time

from attack import MIB, TAP, Healthy, Wick, at_once, free_port, get, packed, post, within
from forge import unique_stacks

CENTURY = "from=0&to=4102444800"
REQUESTS, STACKS, DEPTH = 4, 2000, 24
BUDGET = 96


def config(port, folder):
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{port}"}},
            "service": {"extensions": ["page"],
                        "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}


def fill(port):
    """Years of work for a tree: millions of nodes."""
    for seed in range(REQUESTS):
        body = packed(unique_stacks(seed, STACKS, DEPTH))
        for _ in range(50):
            status = post(port, body, {"content-encoding": "gzip"})
            if status == 200:
                break
            time.sleep(0.2)
        else:
            return status
    return 200


def leave_early(port, path, count):
    """Asks and is gone."""
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            time.sleep(0.05)


def main():
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, Wick(config(port, folder), (port,), (f"--max-memory={BUDGET}",)) as wick:
        status = fill(port)
        TAP.check("the store has many stacks", status == 200, str(status))
        time.sleep(2)
        before = wick.memory("VmRSS")
        with Healthy(port) as healthy:
            for name, path in (("8 flame graphs", f"flame?{CENTURY}&nodes=1000000&group=thread"),
                               ("8 tables", f"top?{CENTURY}&rows=100000"),
                               ("8 searches", f"search?{CENTURY}&text=f"),
                               ("2 exports as HTML", f"export?{CENTURY}&format=html"),
                               ("2 exports as pprof", f"export?{CENTURY}&format=pprof")):
                answers = at_once(int(name.split()[0]), lambda _, path=path: get(port, f"/api/v1/{path}", timeout=100))
                statuses = [status for status, _ in answers]
                good = all(status in (200, 413, 503) for status in statuses)
                words = [body for status, body in answers if status in (413, 503)]
                TAP.check(f"{name} over a century are answered, or refused in words",
                          good and all(b"error" in body for body in words),
                          f"{statuses} {words[0][:120] if words else ''} peak {wick.memory('VmHWM') / MIB:.0f} MiB")
        held = wick.metric("wick_memory_used_bytes", account="questions")
        TAP.check("nothing is held for questions that were answered", held < MIB, f"{held:.0f} bytes")
        within("questions over a century", wick, before, BUDGET * MIB)
        healthy.check("questions over a century")
        spent = wick.cpu_seconds()
        started = time.monotonic()
        status, _ = get(port, f"/api/v1/flame?{CENTURY}&nodes=1000000&group=thread", timeout=100)
        TAP.check("one question alone is answered", status == 200, str(status))
        one = wick.cpu_seconds() - spent
        spent = wick.cpu_seconds()
        leave_early(port, f"/api/v1/flame?{CENTURY}&nodes=1000000&group=thread", 20)
        status, _ = get(port, "/api/v1/status", timeout=100)
        spent = wick.cpu_seconds() - spent
        TAP.check("20 clients that left cost less than four that stayed", status == 200 and spent < 4 * one + 0.5,
                  f"one costs {one:.2f} s of CPU, 20 cost {spent:.2f} s; {time.monotonic() - started:.1f} s passed")
    TAP.end()


main()
