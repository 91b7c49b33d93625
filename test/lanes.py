#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another user fills what senders share, while this machine is sampled: local samples lost are 0, a healthy sender is
answered within a second. Prints TAP. The backend is slow, so that the exporter's queue is full."""
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "attacks"))
from attack import PAYLOAD, TAP, Healthy, Wick, become_stranger, free_port, post  # noqa: E402

SECONDS, QUEUE = 15, 40


class Slow(http.server.BaseHTTPRequestHandler):
    """A backend that takes five requests a second."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        time.sleep(0.2)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def config(port, backend, folder):
    queue = {"queue_size": QUEUE, "num_consumers": 1}
    return {"receivers": {"profiling": {"reporter_interval": "1s"},
                          "otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"otlphttp": {"endpoint": f"http://127.0.0.1:{backend}", "sending_queue": queue},
                          "store": {"path": os.path.join(folder, "store")}},
            "service": {"pipelines": {"profiles": {"receivers": ["profiling", "otlp"],
                                                   "exporters": ["otlphttp", "store"]}}}}


def flood(port, ends):
    def send():
        while time.monotonic() < ends:
            post(port, PAYLOAD)
    threads = [threading.Thread(target=send, daemon=True) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    if os.geteuid() != 0:
        TAP.skip("lanes", "needs root")
        TAP.end()
    port, backend = free_port(), free_port()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", backend), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder, Wick(config(port, backend, folder), (port,)) as wick:
        time.sleep(3)
        command = [sys.executable, os.path.abspath(__file__), str(port), str(SECONDS)]
        with subprocess.Popen(command) as attackers:
            time.sleep(SECONDS / 2)
            full = wick.metric("otelcol_exporter_queue_size", exporter="otlphttp")
            with Healthy(port, pause=0.5, tries=1) as healthy:
                attackers.wait(4 * SECONDS)
        refused = wick.metric("otelcol_receiver_refused_profile_samples", receiver="otlp")
        TAP.check("a flood: the queue is full and the attacker refused", full >= QUEUE - 2 and refused > 0,
                  f"{full:.0f} of {QUEUE}, {refused:.0f} samples refused")
        lost = wick.metric("otelcol_receiver_refused_profile_samples", receiver="profiling")
        taken = wick.metric("otelcol_receiver_accepted_profile_samples", receiver="profiling")
        TAP.check("a flood: no local sample is lost", lost == 0 and taken > 0, f"{taken:.0f} taken, {lost:.0f} refused")
        TAP.check("a flood: a healthy sender is answered within a second", healthy.longest < 1, f"{healthy.longest:.2f} s")
        healthy.check("a flood")
    server.shutdown()
    TAP.end()


if len(sys.argv) == 3:
    become_stranger()
    flood(int(sys.argv[1]), time.monotonic() + float(sys.argv[2]))
else:
    main()
