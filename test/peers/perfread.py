#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perf.data as wick reads it, against perf script on the same file: samples and periods of each event, times, threads, CPUs,
and every whole stack of programs with known functions; recorded by perf itself in each of its ways. Prints TAP."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from common import VICTIMS, WICK, Profile, Tap  # noqa: E402

SECONDS = "0.4"
EVENT = re.compile(r"^\s*(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?P<time>\d+\.\d+):\s+(?P<period>\d+)\s+"
                   r"(?P<event>\S+):(?P<leaf>\s.*)?$")
FRAME = re.compile(r"^\s+[0-9a-f]+ (?P<name>.*?)(?:\+0x[0-9a-f]+)? \((?P<module>[^()]*(?:\([^()]*\))?[^()]*)\)$")
LIBRARIES = re.compile(r"^(lib|ld-|\[vdso\]|\[unknown\])")


def kernel_aliases():
    """Names of one address are one function: name -> the first of them."""
    at = collections.defaultdict(set)
    places = collections.Counter()
    with open("/proc/kallsyms", encoding="ascii", errors="replace") as file:
        for line in file:
            address, kind, name = line.split()[:3]
            if kind in "tTwW":
                at[address].add(name)
                places[name] += 1
    return {name: min(names) for names in at.values() for name in names if places[name] == 1}


ALIASES = kernel_aliases()


def frame(name, module):
    """What both sides must agree on: functions of programs and of the kernel by name, of libraries by their file."""
    base = os.path.basename(module)
    if module.startswith("[") and "kallsyms" in module:
        return ALIASES.get(name, name)
    if not base or name == "[unknown]" or LIBRARIES.match(base):
        return f"{{{base}}}"
    # To perf, what lies behind the last function of .init is that, too, where it makes no names of .plt itself.
    return "{plt}" if name == "_init" or name.endswith("@plt") else name


def without_modifiers(event):
    return re.sub(r":[upkhGHDSWe]+$", "", event)


class Perf:
    """What perf script says."""

    @staticmethod
    def script(path, more):
        return subprocess.run(["perf", "script", "-i", path, "--ns", "--no-inline", "-F",
                               f"{more}comm,pid,tid,time,period,event,ip,sym,symoff,dso"],
                              capture_output=True, text=True, errors="replace", check=False).stdout

    @staticmethod
    def samples(text):
        """The lines of each sample: what it is, then its frames. Without stacks the only frame is in the first."""
        found = []
        for line in text.splitlines():
            if EVENT.match(line):
                found.append([line])
            elif found and line.strip():
                found[-1].append(line)
        return found

    def __init__(self, path):
        text = self.script(path, "cpu,") or self.script(path, "")  # it refuses to print what samples do not have
        self.counts, self.periods = collections.Counter(), collections.Counter()
        self.owners, self.stacks, self.times = collections.Counter(), collections.Counter(), []
        for lines in self.samples(text):
            head = EVENT.match(lines[0])
            if head["leaf"] and head["leaf"].strip():
                lines = [lines[0], head["leaf"]]
            event = without_modifiers(head["event"])
            self.counts[event] += 1
            self.periods[event] += int(head["period"])
            comm = None if head["comm"].startswith(":") else head["comm"]  # it knows no name
            self.owners[comm, int(head["pid"]), int(head["tid"]), head["cpu"] and int(head["cpu"])] += 1
            self.times.append(int(head["time"].replace(".", "")))
            frames = [FRAME.match(line) for line in lines[1:]]
            self.stacks[int(head["pid"]), tuple(frame(f["name"], f["module"]) for f in frames if f)] += 1


class Wick:
    """What wick makes of the file."""

    def __init__(self, path, directory):
        out = os.path.join(directory, "out.otlp")
        self.run = subprocess.run([WICK, "convert", path, out], capture_output=True, text=True, check=False)
        self.counts, self.periods = collections.Counter(), collections.Counter()
        self.owners, self.stacks, self.times = collections.Counter(), collections.Counter(), []
        if self.run.returncode == 0:
            self.profile = Profile(out)
            for resource in self.profile.data["resourceProfiles"]:
                self.add(resource)

    def frames(self, stack):
        p = self.profile
        for index in p.tables["stackTable"][stack].get("locationIndices", []):
            location = p.tables["locationTable"][index]
            mapping = p.tables["mappingTable"][location.get("mappingIndex", 0)]
            module = p.strings[mapping.get("filenameStrindex", 0)]
            lines = location.get("lines", [])
            function = p.tables["functionTable"][lines[-1].get("functionIndex", 0)] if lines else {}
            yield frame(p.strings[function.get("nameStrindex", 0)] or "[unknown]", module or "[unknown]")

    def add(self, resource):
        pid = next(int(a["value"]["intValue"]) for a in resource["resource"]["attributes"] if a["key"] == "process.pid")
        for profile in resource["scopeProfiles"][0]["profiles"]:
            name = without_modifiers(self.profile.strings[profile["sampleType"]["typeStrindex"]])
            for sample in profile["samples"]:
                times = [int(t) for t in sample["timestampsUnixNano"]]
                periods = [int(v) for v in sample.get("values", [])] or [int(profile["period"])] * len(times)
                attributes = self.profile.attributes(sample)
                self.counts[name] += len(times)
                self.periods[name] += sum(periods)
                self.owners[attributes.get("thread.name"), pid, attributes.get("thread.id", -1), attributes.get("cpu.logical_number")] += len(times)
                self.times += times
                self.stacks[pid, tuple(self.frames(sample.get("stackIndex", 0)))] += len(times)


def perf_stopped(theirs, ours, total):
    """Whether what differs are a few stacks that perf has unwound in part (it stops in clone3, for one)."""
    rest = ours.copy()
    for (pid, stack), count in theirs.items():
        longer = next((key for key in rest if key[0] == pid and key[1][:len(stack)] == stack and rest[key] >= count), None)
        if not longer:
            return False
        rest[longer] -= count
    return not +rest and sum(theirs.values()) <= 0.05 * total


def compare(tap, name, path, directory, only_pid=None, unwound=False):
    perf, wick = Perf(path), Wick(path, directory)
    if not tap.check(f"{name}: wick reads it", wick.run.returncode == 0 and sum(perf.counts.values()) > 0,
                     wick.run.stderr.strip()):
        return
    renamed = {"samples": next((e for e in ("cpu-clock", "task-clock") if e in perf.counts), "samples")}
    counts = {renamed.get(event, event): count for event, count in wick.counts.items()}
    periods = {renamed.get(event, event): period for event, period in wick.periods.items()}
    tap.check(f"{name}: samples of each event", counts == dict(perf.counts), f"{counts}, perf {dict(perf.counts)}")
    tap.check(f"{name}: periods of each event", periods == dict(perf.periods))
    first, began = min(perf.times), min(wick.times)
    tap.check(f"{name}: times", sorted(t - first for t in perf.times) == sorted(t - began for t in wick.times))
    tap.check(f"{name}: threads, their names and CPUs", perf.owners == wick.owners)
    theirs, ours = perf.stacks, wick.stacks
    if only_pid:
        theirs = collections.Counter({k: v for k, v in theirs.items() if k[0] == only_pid})
        ours = collections.Counter({k: v for k, v in ours.items() if k[0] == only_pid})
    same = tap.check(f"{name}: all {sum(theirs.values())} stacks, {len(theirs)} of them distinct",
                     theirs == ours or (unwound and perf_stopped(theirs - ours, ours - theirs, sum(theirs.values()))))
    for (_, stack), count in theirs.most_common(3):
        tap.note(f"{count} {';'.join(reversed(stack))}")
    if not same:
        for side, rest in (("perf", theirs - ours), ("wick", ours - theirs)):
            for (_, stack), count in rest.most_common(5):
                tap.note(f"only {side}: {count} {';'.join(reversed(stack))}")


def record(path, options, command):
    with open(path if "-o" in options else os.devnull, "wb") as out:
        run = subprocess.run(["perf", "record", "-q", *options, *(() if "-o" in options else ("-o", path)), "--", *command],
                             stdout=out, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    return run.returncode == 0 and os.path.getsize(path) > 200, run.stderr


def victim(name):
    return [os.path.join(VICTIMS, name), SECONDS]


WAYS = (
    ("frame pointers", ["-F", "997", "-g"], "v-fp"),
    ("without stacks, with CPUs", ["-F", "997", "--sample-cpu"], "v-fp"),
    ("packed", ["-F", "997", "-g", "-z"], "v-fp"),
    ("to a pipe", ["-F", "997", "-g", "-o", "-"], "v-fp"),
    ("build ids in mappings", ["-F", "997", "-g", "--buildid-mmap"], "v-syscalls"),
    ("copied stacks", ["-F", "997", "--call-graph", "dwarf"], "v-omitfp"),
    ("copied stacks of threads, packed", ["-F", "997", "-z", "--call-graph", "dwarf,4096"], "v-threads"),
    ("the vDSO", ["-F", "997", "-g"], "v-vdso"),
    ("threads", ["-F", "997", "-g"], "v-threads"),
    ("forks", ["-F", "997", "-g"], "v-fork"),
    ("without sample ids", ["-F", "997", "-g", "--no-buffering", "--no-bpf-event", "-k", "CLOCK_MONOTONIC"], "v-fp"),
    ("several events", ["-c", "500000", "-e", "cpu-clock", "-e", "task-clock:u", "-e", "page-faults", "-g"], "v-fp"),
    ("tracepoints", ["-c", "1", "-e", "sched:sched_switch", "-e", "sched:sched_process_exec", "-g"], "v-fork"),
)


def whole_machine(tap, directory):
    path = os.path.join(directory, "all.data")
    good, why = record(path, ["-a", "-F", "199", "-g"], ["sh", "-c", 'echo $$; exec "$@"', "sh", *victim("v-fp")])
    if not good:
        tap.skip("whole machine", why.strip().split("\n")[0])
        return
    pids = collections.Counter()
    for (pid, stack), count in Perf(path).stacks.items():
        pids[pid] += count if "victim_main" in stack else 0
    compare(tap, "whole machine, stacks of the program", path, directory, pids.most_common(1)[0][0])


def other_binary(tap, directory):
    """A program that was replaced since has another build id: its symbols are not those of what ran."""
    program, path = os.path.join(directory, "program"), os.path.join(directory, "old.data")
    for home, what, good in (
            ("nobody", "stay addresses",
             lambda names: any(n.startswith("program+0x") for n in names) and not any("tiny" in n or "leaf" in n for n in names)),
            ("", "are named from perf's cache of files",
             lambda names: "leaf_a" in names and not any(n.startswith("program+0x") for n in names))):
        shutil.copy(os.path.join(VICTIMS, "v-fp"), program)
        record(path, ["-F", "199", "-g"], [program, SECONDS])
        shutil.copy(os.path.join(VICTIMS, "v-calls-fp"), program)
        report = subprocess.run([WICK, "report", "--json", path], capture_output=True, text=True, check=False,
                                env={**os.environ, "HOME": os.path.join(directory, home)})
        names = [row["name"] for row in json.loads(report.stdout)["rows"]]
        tap.check(f"functions of a program that was replaced {what}", good(names), names[:4])


def cut(tap, directory):
    """On one CPU: perf writes one CPU's events after another's, and the mappings must be in the half that stays."""
    path = os.path.join(directory, "cut.data")
    record(path, ["-F", "997", "-g"], ["taskset", "-c", "0", *victim("v-fp")])
    with open(path, "rb") as file:
        offset, size = struct.unpack_from("<QQ", file.read(104), 40)
    os.truncate(path, offset + size // 2)
    report = subprocess.run([WICK, "report", path], capture_output=True, text=True, check=False)
    tap.check("a file that is cut gives what it has, and a warning", report.returncode == 0 and "leaf_a" in report.stdout and
              "not whole" in report.stderr, report.stderr.strip().replace("\n", "; "))


def from_standard_input(tap, directory):
    path = os.path.join(directory, "piped.data")
    record(path, ["-F", "997", "-g", "-o", "-"], victim("v-fp"))
    with open(path, "rb") as file:
        piped = subprocess.run([WICK, "report", "--json", "-"], stdin=file, capture_output=True, text=True, check=False)
    read = subprocess.run([WICK, "report", "--json", path], capture_output=True, text=True, check=False)
    tap.check("standard input gives what the file does", read.returncode == 0 and json.loads(piped.stdout)["rows"] ==
              json.loads(read.stdout)["rows"])


def refused(tap, directory):
    path = os.path.join(directory, "other.data")
    with open(path, "wb") as file:
        file.write(b"2ELIFREP" + bytes(96))
    report = subprocess.run([WICK, "report", path], capture_output=True, text=True, check=False)
    tap.check("the other order of bytes is refused with a sentence",
              report.returncode == 1 and "order of bytes" in report.stderr, report.stderr.strip())


def written_by_wick(tap, directory):
    """What wick has written as perf.data, of which most functions have only a name there."""
    source, path = os.path.join(directory, "source.folded"), os.path.join(directory, "wick.data")
    with open(source, "w", encoding="ascii") as file:
        file.write("app;main;parse;read 7\napp;main;draw 3\napp;main 1\n")
    subprocess.run([WICK, "convert", "--from=folded", source, path], check=True)
    reports = [subprocess.run([WICK, "report", "--json", f"--from={form}", p], capture_output=True, text=True, check=True)
               for form, p in (("folded", source), ("perfdata", path))]
    seen = [{(row["name"], row["self"], row["total"]) for row in json.loads(r.stdout)["rows"]} for r in reports]
    tap.check("what wick has written comes back by name and weight", seen[0] == seen[1] and len(seen[0]) == 5, seen[1])


def main():
    tap = Tap()
    if not shutil.which("perf"):
        tap.skip("perfread", "perf is not installed")
        tap.end()
    with tempfile.TemporaryDirectory(prefix="wick-perfread-") as directory:
        os.environ["HOME"] = directory  # perf keeps copies of files below it
        for name, options, program in WAYS:
            path = os.path.join(directory, "perf.data")
            good, why = record(path, options, victim(program))
            if good:
                compare(tap, name, path, directory, unwound="--call-graph" in options)
            else:
                tap.skip(name, f"perf record does not: {why.strip().splitlines()[:1]}")
        whole_machine(tap, directory)
        other_binary(tap, directory)
        cut(tap, directory)
        from_standard_input(tap, directory)
        refused(tap, directory)
        written_by_wick(tap, directory)
    tap.end()


main()
