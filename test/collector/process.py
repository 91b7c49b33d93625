# SPDX-License-Identifier: Apache-2.0
"""Runs `wick --config` and the OpenTelemetry Collector, each in a folder of its own, and reads their metrics. Standard library
only: the benchmark uses it too. WICK=build/san/wick tries another binary."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import common  # noqa: E402
from common import free_port  # noqa: E402,F401

TAP = common.Tap()
ROOT = common.ROOT
WICK = os.path.abspath(os.environ.get("WICK", common.WICK))
SANITIZED = b"__asan_init" in open(WICK, "rb").read() if os.path.exists(WICK) else False
PAYLOADS = os.path.join(ROOT, "test/golden/otlp")
START_SECONDS = 60 if SANITIZED else 20
STOP_SECONDS = 30
for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "grpc_proxy", "all_proxy", "ALL_PROXY"):
    os.environ.pop(variable, None)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))   # at a time limit, so that what was started ends with us

def listens(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition, seconds, step=0.02):
    """Whether it came true in time."""
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(step)
    return True


def payload(name):
    with open(os.path.join(PAYLOADS, name + ".bin"), "rb") as file:
        return file.read()


def payload_names():
    return sorted(name[:-4] for name in os.listdir(PAYLOADS) if name.endswith(".bin"))


class Process:
    """A program with one configuration file, in a folder of its own. A JSON text is YAML too."""

    def __init__(self, command, config, ports=(), name="collector"):
        self.folder = tempfile.mkdtemp(prefix="wick-test-")
        self.path = os.path.join(self.folder, "config.yaml")
        self.errors = os.path.join(self.folder, "stderr")
        self.output = os.path.join(self.folder, "stdout")
        self.command = [part.replace("CONFIG", self.path) for part in command]
        self.ports, self.name, self.process = ports, name, None
        self.write(config)

    def write(self, config):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(config if isinstance(config, str) else json.dumps(config, indent=1))

    def start(self):
        with open(self.errors, "ab") as errors, open(self.output, "ab") as output:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                            cwd=self.folder)
        ready = wait_for(lambda: self.process.poll() is not None or all(map(listens, self.ports)), START_SECONDS)
        if not ready or self.process.poll() is not None:
            status = self.process.poll()
            self.kill()
            raise RuntimeError(f"{self.name} did not start (status {status}): {self.said()[-2000:]}")
        return self

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=STOP_SECONDS):
        """The status after SIGTERM; None if it had to be killed."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def alive(self):
        return self.process.poll() is None

    def said(self):
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            return file.read()

    def printed(self):
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return file.read()

    def memory(self, name):
        """VmHWM, VmRSS, in bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii", errors="replace") as file:
            return int(re.search(rf"^{name}:\s+(\d+) kB", file.read(), re.M).group(1)) * 1024

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def __exit__(self, *_):
        self.kill()
        if SANITIZED and "ERROR: AddressSanitizer" in self.said() or "runtime error:" in self.said():
            TAP.check(f"{self.name} is clean", False, self.said()[-3000:])
        shutil.rmtree(self.folder, ignore_errors=True)


def telemetry(port):
    """service.telemetry that serves the metrics at this port, and says little."""
    return {"logs": {"level": "warn"},
            "metrics": {"readers": [{"pull": {"exporter": {"prometheus": {"host": "127.0.0.1", "port": port}}}}]}}


class Wick(Process):
    def __init__(self, config, ports=(), arguments=(), name="wick"):
        if isinstance(config, dict):
            self.metrics_port = free_port()
            config["service"].setdefault("telemetry", telemetry(self.metrics_port))
            ports = (*ports, self.metrics_port)
        super().__init__([WICK, "--config=CONFIG", *arguments], config, ports, name)

    def metrics(self):
        return scrape(self.metrics_port)

    def metric(self, name, **labels):
        """The sum of all series of that name that have these labels."""
        return sum(value for series, had, value in self.metrics()
                   if series == name and all(had.get(key) == wanted for key, wanted in labels.items()))


class Otelcol(Process):
    """The OpenTelemetry Collector."""

    def __init__(self, binary, config, ports=()):
        config["service"].setdefault("telemetry", {"logs": {"level": "warn"}, "metrics": {"level": "none"}})
        super().__init__([binary, "--config=CONFIG", "--feature-gates=service.profilesSupport"], config, ports, "otelcol")


def otelcol(seconds=600):
    """Its path, or None after a skip was printed."""
    found = subprocess.run([os.path.join(ROOT, "test/peers/otelcol/get.sh"), str(seconds)], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False)
    if found.returncode == 0:
        return found.stdout.strip()
    TAP.skip("the OpenTelemetry Collector", found.stderr.strip().splitlines()[-1])
    return None


SERIES = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)$')


def scrape(port):
    """[(name, labels, value)] of a Prometheus endpoint."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    found = []
    for line in text.splitlines():
        parts = SERIES.match(line)
        if parts and not line.startswith("#"):
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', parts.group(2) or ""))
            found.append((parts.group(1), labels, float(parts.group(3))))
    return found
