# SPDX-License-Identifier: Apache-2.0
"""What the Python tests share: TAP lines, running `wick record`, and reading the OTLP that it writes.

Standard library only. Every test prints `ok - NAME`, `not ok - NAME` or `ok - NAME # SKIP REASON`, one line a check,
and ends with status 1 if one failed.
"""
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

import elf
import otlp

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("WICK_BUILD", os.path.join(ROOT, "build"))
WICK = os.path.join(BUILD, "wick")
VICTIMS = os.path.join(BUILD, "victims")
RATE_HZ = 997
RARELY = 3.5        # standard deviations: so far off is one share of two thousand

# Frames of these modules are shown as {module}name: their inside differs with the library's version and debug files.
LIBRARIES = re.compile(r"^(libc|libm|ld-linux|ld-musl|libgcc_s|libstdc\+\+|libpthread|linux-vdso|\[vdso\]|vdso)")

ROOTS = ("_start", "clone3", "__clone3", "clone", "__clone")


class Tap:
    def __init__(self):
        self.failed = 0
        self.count = 0

    def check(self, name, good, detail=""):
        self.count += 1
        self.failed += not good
        print(f"{'' if good else 'not '}ok - {name}{': ' if detail else ''}{detail}", flush=True)
        return good

    def check_or_note(self, name, good, why=""):
        """Why only if it is not."""
        if not self.check(name, bool(good)):
            self.note(str(why)[-1500:])

    def skip(self, name, reason):
        self.count += 1
        print(f"ok - {name} # SKIP {reason}", flush=True)

    def note(self, text):
        for line in str(text).splitlines():
            print(f"# {line}", flush=True)

    def end(self):
        sys.exit(1 if self.failed or not self.count else 0)


given_ports = set()


def free_port():
    """A port of loopback that nobody has, and that this test did not give away yet."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port not in given_ports:
            given_ports.add(port)
            return port


def by_chance(share, *counts):
    """How far apart shares of so many samples may be by chance."""
    return RARELY * sum(share * (1 - share) / count for count in counts) ** 0.5


def privileged_or_skip(tap, name):
    """wick needs the kernel's permission; without root nothing here can be tried."""
    if os.geteuid() == 0:
        return True
    tap.skip(name, "needs root to load BPF programs")
    return False


def any_value(value):
    for kind, content in (value or {}).items():
        return int(content) if kind == "intValue" else content
    return None


class Sample:
    __slots__ = ("resource", "attributes", "kernel", "user", "locations", "count", "times_ns", "type")

    def __init__(self, resource, attributes, kernel, user, locations, count, times_ns, kind):
        self.resource = resource        # attributes of the process
        self.attributes = attributes    # thread.name, ...
        self.kernel = kernel            # names, outermost first
        self.user = user                # names, outermost first, inlined functions as frames of their own
        self.locations = locations      # indices, leaf first
        self.count = count
        self.times_ns = times_ns        # of each, if the file has them
        self.type = kind                # what was sampled

    @property
    def executable(self):
        return str(self.resource.get("process.executable.name", ""))

    @property
    def pid(self):
        return self.resource.get("process.pid")

    @property
    def text(self):
        return ";".join(self.user)


class Profile:
    """An OTLP file, or what was read of one, with stacks spelt out."""

    def __init__(self, source):
        data = otlp.read(source) if isinstance(source, str) else source
        self.data = data
        self.tables = data["dictionary"]
        self.strings = self.tables["stringTable"]
        self.frames_of = {}
        self.stacks = {}
        self.samples = []
        self.periods_ns = set()
        self.paths = {}
        for resource in data.get("resourceProfiles", []):
            found = resource.get("resource", {}).get("attributes", [])
            attributes = {a["key"]: any_value(a.get("value")) for a in found}
            for scope in resource.get("scopeProfiles", []):
                for profile in scope.get("profiles", []):
                    self.add(attributes, profile)

    def add(self, resource, profile):
        period = int(profile.get("period", 0))
        kind = profile.get("sampleType", {})
        unit = self.strings[kind.get("unitStrindex", 0)]
        kind = self.strings[kind.get("typeStrindex", 0)]
        if period:
            self.periods_ns.add(period)
        for sample in profile.get("samples", []):
            values = [int(v) for v in sample.get("values", [])]
            count = sum(values) if values else len(sample.get("timestampsUnixNano", []))
            if values and unit == "nanoseconds" and period:
                count = round(count / period)
            kernel, user, locations = self.stack(sample.get("stackIndex", 0))
            times_ns = [int(t) for t in sample.get("timestampsUnixNano", [])]
            self.samples.append(Sample(resource, self.attributes(sample), kernel, user, locations, count, times_ns, kind))

    def attributes(self, entry):
        found = {}
        for index in entry.get("attributeIndices", []):
            attribute = self.tables["attributeTable"][index]
            found[self.strings[attribute.get("keyStrindex", 0)]] = any_value(attribute.get("value"))
        return found

    def module(self, location):
        index = location.get("mappingIndex", 0)
        if not index:
            return ""
        mapping = self.tables["mappingTable"][index]
        return os.path.basename(self.strings[mapping.get("filenameStrindex", 0)])

    def frames(self, index):
        """(is it the kernel's, names outermost first) of one location."""
        if index in self.frames_of:
            return self.frames_of[index]
        location = self.tables["locationTable"][index]
        module = self.module(location)
        names = []
        for line in reversed(location.get("lines", [])):
            function = self.tables["functionTable"][line.get("functionIndex", 0)]
            names.append(self.strings[function.get("nameStrindex", 0) or function.get("systemNameStrindex", 0)])
        if not names:
            names = [f"{module}+0x{int(location.get('address', 0)):x}"]
        if LIBRARIES.match(module):
            names = [f"{{{module}}}{name}" for name in names]
        kernel = self.attributes(location).get("profile.frame.type") == "kernel"
        self.frames_of[index] = (kernel, tuple(names))
        return self.frames_of[index]

    def stack(self, index):
        if index not in self.stacks:
            kernel, user = [], []
            locations = self.tables["stackTable"][index].get("locationIndices", [])
            for location in reversed(locations):
                is_kernel, names = self.frames(location)
                (kernel if is_kernel else user).extend(names)
            self.stacks[index] = (tuple(kernel), tuple(user), tuple(locations))
        return self.stacks[index]

    def mapped_file(self, location):
        """The path of the file that a location is in, or None."""
        index = location.get("mappingIndex", 0)
        name = self.strings[self.tables["mappingTable"][index].get("filenameStrindex", 0)] if index else ""
        if name not in self.paths:
            self.paths[name] = elf.find(name, *
    {str(s.resource.get("process.executable.path", "")) for s in self.samples})
        return self.paths[name]

    def is_rooted(self, sample):
        """Whether the outermost user frame is where a program or a thread starts, by the file's own word."""
        user = [i for i in sample.locations if not self.frames(i)[0]]
        if not user:
            return False
        if self.frames(user[-1])[1][0].split("}")[-1] in ROOTS:
            return True
        location = self.tables["locationTable"][user[-1]]
        path = self.mapped_file(location)
        return bool(path) and elf.is_root(path, int(location.get("address", 0)))

    def of(self, executable):
        """The samples of the programs whose file name matches."""
        wanted = re.compile(executable)
        return [s for s in self.samples if wanted.search(s.executable)]


def has_events(folder):
    """Whether one of the open files of a process, which are in that folder, is an event of perf's."""
    try:
        return any("perf_event" in os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder))
    except OSError:
        return False


class Recording:
    """One run of `wick record`: its status, what it said, and what it wrote."""

    def __init__(self, arguments, command=None, timeout=300, name="out.otlp", rate=RATE_HZ):
        self.folder = tempfile.TemporaryDirectory(prefix="wick-test-")
        self.path = os.path.join(self.folder.name, name)
        self.arguments = [WICK, "record", "-F", str(rate), "-o", self.path, *arguments]
        if command:
            self.arguments += ["--", *command]
        self.timeout = timeout
        self.process = subprocess.Popen(
    self.arguments,
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
     start_new_session=True)
        self.stdout = self.stderr = b""

    def wait_watching(self, limit=60):
        """Until it has opened events of the kernel's: on a busy machine that is seconds after it was started."""
        end = time.monotonic() + limit
        folder = f"/proc/{self.process.pid}/fd"
        while self.process.poll() is None and time.monotonic() < end and not has_events(folder):
            time.sleep(0.02)

    def wait(self):
        try:
            self.stdout, self.stderr = self.process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.stdout, self.stderr = self.process.communicate(timeout=10)
            self.stderr += b"\nended by the test: it ran for too long"
        self.status = self.process.returncode
        return self

    def profile(self):
        return Profile(self.path)

    def said(self):
        return f"$ {shlex.join(self.arguments)}\nstatus {self.status}\n{self.stderr.decode(errors='replace')[-3000:]}"


def victim_reports(text):
    """The JSON lines that victims print, added up."""
    total = {}

    def add(into, values):
        for key, value in values.items():
            if isinstance(value, dict):
                add(into.setdefault(key, {}), value)
            elif key != "pid":
                into[key] = into.get(key, 0) + value

    for line in text.splitlines():
        if line.startswith("{"):
            add(total, json.loads(line))
    return total


def steal_share(before, after):
    """What the hypervisor took, as a share of all CPU time between two readings of cpu_times()."""
    spent = [b - a for a, b in zip(before, after)]
    return spent[7] / max(1, sum(spent[:8]))


def cpu_times():
    with open("/proc/stat", encoding="ascii") as file:
        return [int(x) for x in file.readline().split()[1:]]
