# SPDX-License-Identifier: Apache-2.0
"""What the tests of languages share: a running victim, `wick record` beside it, and its stacks with types and lines."""
import collections
import os
import re
import signal
import subprocess
import time

from common import RATE_HZ, Recording

REAL = 0.97     # of a real program's samples in user mode
ENOUGH = 0.9    # of the samples that were asked for; else the victim is recorded again, for so many times as long:
TIMES = (1, 2, 4)


class Frame:
    __slots__ = ("name", "file", "line", "kind", "module")

    def __init__(self, name, file, line, kind, module):
        self.name, self.file, self.line, self.kind, self.module = name, file, line, kind, module


def is_compiler(sample):
    """A thread of .NET's own, which compiles what the victim calls often: sooner or later, as the machine is busy."""
    return str(sample.attributes.get("thread.name", "")).startswith(".NET Tiered")


class Stacks:
    """The user stacks of one process, outermost frame first, each with how often it was seen and its attributes.

    With a kind, samples before the first frame of that kind do not count: until wick has looked at the process they
    have none. How long that took is `late_ns`. With settle_ns, those of so long after it do not count either.
    """

    def __init__(self, profile, pid, kind=None, settle_ns=0):
        self.profile = profile
        self.cache = {}
        mine = [(self.user_frames(s), s) for s in profile.samples if s.pid == pid and not is_compiler(s)]
        times = [t for _, s in mine for t in s.times_ns]
        # "(jit)" and the like is only code that a runtime has generated.
        seen = [t for frames, s in mine for t in s.times_ns if any(f.kind == kind and f.name[:1] != "(" for f in frames)]
        first_ns = min(seen) if kind and seen else 0
        self.late_ns = first_ns - min(times) if first_ns else 0
        self.all = [(frames, self.counted(s, first_ns + settle_ns), s.attributes) for frames, s in mine]
        self.count = sum(count for _, count, _ in self.all)

    @staticmethod
    def counted(sample, first_ns):
        return sum(t >= first_ns for t in sample.times_ns) if sample.times_ns else sample.count

    def user_frames(self, sample):
        return [f for i in reversed(sample.locations) for f in self.frames(i) if f.kind != "kernel"]

    def frames(self, index):
        if index not in self.cache:
            tables, strings = self.profile.tables, self.profile.strings
            location = tables["locationTable"][index]
            kind = self.profile.attributes(location).get("profile.frame.type")
            module = self.profile.module(location)
            found = []
            for line in reversed(location.get("lines", [])):
                function = tables["functionTable"][line.get("functionIndex", 0)]
                name = function.get("nameStrindex", 0) or function.get("systemNameStrindex", 0)
                file = strings[function.get("filenameStrindex", 0)]
                found.append(Frame(strings[name], file, int(line.get("line", 0)), kind, module))
            self.cache[index] = found or [Frame(f"{module}+0x{int(location.get('address', 0)):x}", "", 0, kind, module)]
        return self.cache[index]

    def texts(self, kind):
        """Stacks as text: names of frames of that kind, and * for one or more others; with how often."""
        totals = {}
        for frames, count, _ in self.all:
            parts = []
            for frame in frames:
                part = frame.name if frame.kind == kind else "*"
                if part != "*" or not parts or parts[-1] != "*":
                    parts.append(part)
            text = ";".join(parts)
            totals[text] = totals.get(text, 0) + count
        return totals

    def inclusive(self, kind):
        """The share of samples that each function of that kind is in."""
        totals = {}
        for frames, count, _ in self.all:
            for name in {f.name for f in frames if f.kind == kind}:
                totals[name] = totals.get(name, 0) + count
        return {name: count / max(1, self.count) for name, count in totals.items()}

    def matching(self, kind, pattern):
        """The share of samples whose text matches, and the commonest that do not."""
        wanted = re.compile(pattern)
        good, bad = 0, []
        for text, count in self.texts(kind).items():
            if wanted.fullmatch(text):
                good += count
            else:
                bad.append((count, text))
        return good / max(1, self.count), sorted(bad, reverse=True)[:5]


def cpu_seconds(pid):
    """What the process has run so far, all threads."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Victim:
    """A program that prints its pid when it has begun; ended, with what it started, on leaving."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, text=True, **options)
        line = self.process.stdout.readline()
        self.pid = int(line) if line.strip().isdigit() else None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()

    def wait_cpu(self, seconds, limit):
        """Until it has run for so long from now on, or for limit seconds, or is gone."""
        end = time.monotonic() + limit
        try:
            start = cpu_seconds(self.pid)
            while self.process.poll() is None and time.monotonic() < end and cpu_seconds(self.pid) - start < seconds:
                time.sleep(0.05)
        except (FileNotFoundError, ProcessLookupError):
            pass


def record_once(victim, samples, kind, during, settle_ns, options):
    recording = Recording(["-p", str(victim.pid), *options])
    recording.wait_watching()
    if during:
        during()
    victim.wait_cpu(1.1 * samples / RATE_HZ + 0.3 + settle_ns / 1e9, limit=30 + 10 * samples / RATE_HZ)
    recording.process.send_signal(signal.SIGINT)
    recording.wait()
    if recording.status != 0:
        return recording, None
    return recording, Stacks(recording.profile(), victim.pid, kind, settle_ns)


def record_beside(victim, samples, kind, during=None, settle_ns=0, options=()):
    """Records the victim until it was sampled about so often; during() runs meanwhile. (recording, Stacks or None)"""
    for times in TIMES:
        recording, stacks = record_once(victim, samples * times, kind, during, settle_ns, options)
        # On a busy machine the victim may have had its time before wick was ready.
        if not stacks or stacks.count >= ENOUGH * samples or during or victim.process.poll() is not None:
            break
    return recording, stacks


def lines_of_calls(victim, plain):
    """{callee: lines that call it}, as marked in the victim; plain(name): the callee as it is marked."""
    found = {}
    with open(victim, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            mark = re.search(r"# -> (.+)$", line)
            for callee in mark[1].split() if mark else ():
                found.setdefault(plain(callee), set()).add(number)
    return found


def wrong_lines(stacks, kind, calls, plain, is_ours):
    """The share of samples in which a caller's line is not one that calls the next function, and an example."""
    wrong, example = 0, ""
    for frames, count, _ in stacks.all:
        chain = [f for f in frames if f.kind == kind]
        for caller, callee in zip(chain, chain[1:]):
            lines = calls.get(plain(callee.name))
            if caller.file == callee.file and is_ours(caller.file) and lines and caller.line not in lines:
                wrong += count
                example = f"{caller.name}:{caller.line} calls {callee.name}"
                break
    return wrong / max(1, stacks.count), example


def check_most(tap, name, good, bad, share, least=1):
    """Whether that share of what was counted is good, of at least so many; `bad` counts the rest by what it was."""
    total = good + sum(bad.values())
    tap.check(name, total >= least and good / total >= share, f"{good} of {total}, {100 * good / max(1, total):.2f} %")
    for text, count in bad.most_common(3):
        tap.note(f"{count} {text}")


def is_named(frame):
    return frame.name and "+0x" not in frame.name and not frame.name.startswith("[")


def check_real(tap, name, command, cwd=None, kind=None, may_lack=False):
    """Runs a real program: of its samples in user mode, REAL are whole, and all of their frames have names; with a kind,
    there are frames of that kind, and these have names: for programs without symbols. may_lack: or there are none, as
    where such a program collects garbage in threads of its own."""
    here = os.getcwd()
    os.chdir(cwd or here)
    try:
        recording = Recording([], command=command, timeout=1800).wait()
    finally:
        os.chdir(here)
    if not tap.check(f"{name}: recorded", recording.status == 0, recording.said()[-300:] if recording.status else ""):
        return
    stacks, good, bad = Stacks(recording.profile(), None), 0, collections.Counter()
    for sample in stacks.profile.samples:
        frames = [f for i in sample.locations for f in stacks.frames(i)]
        if any(f.kind == "kernel" for f in frames):
            continue
        end = sample.attributes.get("wick.stack.end")
        looked_at = [f for f in frames if f.kind == kind] if kind else frames
        unnamed = [f for f in looked_at if not is_named(f)]
        if (looked_at or may_lack) and not end and not unnamed:
            good += sample.count
        else:
            shown = (unnamed or frames or [None])[0]
            bad[f"{sample.executable} {end} {shown.name if shown else ''}"] += sample.count
    check_most(tap, f"{name}: whole and named", good, bad, REAL, least=501)
