# SPDX-License-Identifier: Apache-2.0
"""The OTel eBPF profiler, running: what it sends is taken by a wick that only relays, and written, a request a line."""
import contextlib
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../collector"))

import process  # noqa: E402
from common import Profile  # noqa: E402

TRACEFS = "/sys/kernel/tracing"


def get(seconds=600):
    """Its command, or None with the reason."""
    result = subprocess.run([os.path.join(HERE, "otel-profiler", "get.sh"), str(seconds)], capture_output=True, text=True,
                            check=False)
    if result.returncode:
        return None, (result.stderr.strip().splitlines() or ["it cannot be built"])[-1]
    return result.stdout.split(), ""


def relay(port):
    return process.Wick({
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}", "max_recv_msg_size_mib": 64}}}},
        "exporters": {"file": {"path": "requests.json"}},
        "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["file"]}}}}, (port,), name="relay")


class OtelAgent:
    """`process` is the profiler, for the length of a with block; after it profiles() has all that it sent."""

    def __init__(self, command, rate_hz):
        port = process.free_port()
        self.relay = relay(port)
        self.agent = process.Process([*command, f"-collection-agent=127.0.0.1:{port}", "-disable-tls", "-send-error-frames",
                                      "-reporter-interval=1s", f"-samples-per-second={rate_hz}"], "", name="profiler")
        self.stack, self.requests, self.log = contextlib.ExitStack(), [], ""

    @property
    def process(self):
        return self.agent.process

    def __enter__(self):
        if not os.path.exists(TRACEFS + "/events"):
            subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=False)
        with contextlib.ExitStack() as started:
            started.enter_context(self.relay)
            started.enter_context(self.agent)
            self.stack = started.pop_all()
        return self

    def __exit__(self, *unused):
        with self.stack:
            time.sleep(2)   # what it has not reported yet is lost when it ends
            self.agent.stop()
            self.relay.stop()
            self.log = self.agent.said() + self.relay.said()
            path = os.path.join(self.relay.folder, "requests.json")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    self.requests = [json.loads(line) for line in file if line.strip()]

    def said(self):
        return self.log[-2000:]

    def profiles(self):
        return [Profile(request) for request in self.requests]
