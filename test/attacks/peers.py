#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One user of the machine takes all there is of the server: connections, streams, threads. Others are answered all the
same. Prints TAP. The attackers run as another user, in processes of their own: peers.py KIND PORT SECONDS."""
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time

from attack import PATH, PAYLOAD, TAP, Healthy, Wick, become_stranger, free_port, packed, post
from forge import message

SECONDS = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


# ---- The attackers ------------------------------------------------------------------------------

def frame(kind, flags, stream, body=b""):
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body


def head(stream, method, path, more=b"", end=True):
    """HEADERS, each field spelled out."""
    fields = bytes([0x82 if method == "GET" else 0x83, 0x86, 0x04, len(path)]) + path.encode()
    fields += bytes([0x01, 9]) + b"localhost" + more
    return frame(1, 0x5 if end else 0x4, stream, fields)


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=5)


def slow(port, ends):
    """As many connections as there can be, each of which sends a byte now and then."""
    held = []
    while time.monotonic() < ends:
        try:
            held.append(connect(port))
            held[-1].sendall(b"POST / HTTP/1.1\r\nHost: local")
        except OSError:
            pass
        for one in held[::50]:
            try:
                one.sendall(b"x")
            except OSError:
                pass


def window(port, ends):
    """Asks by hundreds of streams and takes no byte of an answer."""
    held = []
    while time.monotonic() < ends:
        try:
            one = connect(port)
            one.sendall(PREFACE + frame(4, 0, 0, b"\0\4\0\0\0\0") +
                        b"".join(head(1 + 2 * i, "GET", "/metrics") for i in range(100)))
            held.append(one)
        except OSError:
            time.sleep(0.01)


def resets(port, ends):
    """Requests that are taken back at once, over new connections."""
    field = bytes([0x00, 12]) + b"content-type" + bytes([22]) + b"application/x-protobuf"
    while time.monotonic() < ends:
        try:
            with connect(port) as one:
                one.sendall(PREFACE + frame(4, 0, 0) + b"".join(
                    head(1 + 2 * i, "POST", PATH, field, False) + frame(0, 1, 1 + 2 * i, b"x" * 100) +
                    frame(3, 0, 1 + 2 * i, b"\0\0\0\x08") for i in range(100)))
        except OSError:
            pass


def busy(port, ends):
    """50 clients with small requests that are much work."""
    body = packed(message(1, message(2, message(2, message(2, b"") * (5 << 20)))))

    def send():
        while time.monotonic() < ends:
            post(port, body, {"content-encoding": "gzip"})
    threads = [threading.Thread(target=send, daemon=True) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


KINDS = {"slow": slow, "window": window, "resets": resets, "busy": busy}


# ---- The test ------------------------------------------------------------------------------------

def config(port, folder):
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{port}"}},
            "service": {"extensions": ["page"],
                        "telemetry": {"logs": {"level": "warn"}, "metrics": {"readers": [{"pull": {"exporter": {
                            "prometheus": {"host": "127.0.0.1", "port": port}}}}]}},
                        "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}


def attack(kind):
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        wick = Wick(config(port, folder), (port,))
        wick.metrics_port, wick.ports = port, (port,)
        with wick:
            command = [sys.executable, os.path.abspath(__file__), kind, str(port), str(SECONDS)]
            with subprocess.Popen(command) as attackers:
                time.sleep(1.5)
                with Healthy(port, tries=1) as healthy:
                    attackers.wait(20 * SECONDS)
            TAP.check(f"{kind}: the attack took place", attackers.returncode == 0)
            healthy.check(kind)
            TAP.check(f"{kind}: it lives on", wick.alive() and post(port, PAYLOAD) == 200)


def main():
    if os.geteuid() != 0:
        TAP.skip("attacks by another user", "needs root to become one")
        TAP.end()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for kind in KINDS:
        # Of a small limit connections run out sooner.
        resource.setrlimit(resource.RLIMIT_NOFILE, (600 if kind == "slow" else soft, hard))
        attack(kind)
    TAP.end()


if len(sys.argv) == 4:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    become_stranger()
    KINDS[sys.argv[1]](int(sys.argv[2]), time.monotonic() + float(sys.argv[3]))
else:
    main()
