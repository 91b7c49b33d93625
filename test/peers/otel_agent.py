# SPDX-License-Identifier: Apache-2.0
"""The OTel eBPF profiler, running: what it sends is taken by a wick that only relays, and written, a request a line."""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

from common import WICK, Profile  # noqa: E402

TRACEFS = "/sys/kernel/tracing"


def get(seconds=600):
    """Its command, or None with the reason."""
    result = subprocess.run([os.path.join(HERE, "otel-profiler", "get.sh"), str(seconds)], capture_output=True, text=True,
                            check=False)
    if result.returncode:
        return None, (result.stderr.strip().splitlines() or ["it cannot be built"])[-1]
    return result.stdout.split(), ""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for_port(port, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise OSError(f"nothing listens on port {port}")


class OtelAgent:
    """`process` is the profiler; it is there for the length of a with block, and profiles() has all that it sent."""

    def __init__(self, command, rate_hz):
        self.folder = tempfile.TemporaryDirectory(prefix="wick-otel-")
        self.path = os.path.join(self.folder.name, "requests.json")
        self.port = free_port()
        self.command = [*command, f"-collection-agent=127.0.0.1:{self.port}", "-disable-tls", "-send-error-frames",
                        "-reporter-interval=1s", f"-samples-per-second={rate_hz}"]
        self.relay = self.process = None

    def configuration(self):
        return json.dumps({
            "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{self.port}",
                                                          "max_recv_msg_size_mib": 64}}}},
            "exporters": {"file": {"path": self.path}},
            "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["file"]}},
                        "telemetry": {"metrics": {"level": "none"}}}})

    def __enter__(self):
        if not os.path.exists(TRACEFS + "/events"):
            subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=False)
        path = os.path.join(self.folder.name, "relay.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.configuration())
        self.log = open(os.path.join(self.folder.name, "log"), "w+", encoding="utf-8")
        self.relay = subprocess.Popen([WICK, f"--config={path}"], stdout=self.log, stderr=self.log)
        wait_for_port(self.port)
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        return self

    def __exit__(self, *unused):
        time.sleep(2)   # what it has not reported yet is lost when it ends
        for process in (self.process, self.relay):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def said(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def profiles(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as file:
            return [Profile(json.loads(line)) for line in file if line.strip()]
