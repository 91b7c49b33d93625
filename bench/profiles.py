# SPDX-License-Identifier: Apache-2.0
"""Reads what the profilers wrote: OTLP JSON of wick, perf.data through perf script."""
import bisect
import json
import os
import re
import subprocess


class Otlp:
    def __init__(self, source):
        """Of a file, or of what was read of one."""
        self.data = source if isinstance(source, dict) else {}
        if isinstance(source, str) and os.path.exists(source):
            with open(source) as f:
                self.data = json.load(f)
        self.dictionary = self.data.get("dictionary", {})
        self.strings = self.dictionary.get("stringTable", [""])
        self.sample_count = sum(samples_in(sample) for _, sample in self.samples())

    def samples(self):
        """(resource, sample) for each sample of the CPU."""
        for resource in self.data.get("resourceProfiles", []):
            for scope in resource.get("scopeProfiles", []):
                for profile in scope.get("profiles", []):
                    for sample in profile.get("samples", []):
                        yield resource, sample

    def executable(self, resource):
        attributes = {a["key"]: a["value"] for a in resource.get("resource", {}).get("attributes", [])}
        return attributes.get("process.executable.name", {}).get("stringValue", "")

    def share_of(self, names):
        """The share of samples of these executables (or of python3.11, where python3 is named)."""
        found = sum(samples_in(sample) for resource, sample in self.samples() if self.executable(resource).startswith(names))
        return found / self.sample_count if self.sample_count else 0

    @staticmethod
    def times_between(sample, start_ns, end_ns):
        return sum(start_ns <= int(when) < end_ns for when in sample.get("timestampsUnixNano", []))

    def samples_between(self, start_ns, end_ns):
        return sum(self.times_between(sample, start_ns, end_ns) for _, sample in self.samples())

    def locations(self, sample):
        stack = self.dictionary["stackTable"][sample.get("stackIndex", 0)]
        return [self.dictionary["locationTable"][i] for i in stack.get("locationIndices", [])]

    def names(self, location):
        functions = self.dictionary["functionTable"]
        return [self.strings[functions[line.get("functionIndex", 0)].get("nameStrindex", 0)]
                for line in location.get("lines", [])]

    def attribute(self, owner, key):
        """The value of a location's or a sample's attribute."""
        for index in owner.get("attributeIndices", []):
            attribute = self.dictionary["attributeTable"][index]
            if self.strings[attribute.get("keyStrindex", 0)] == key:
                return attribute["value"].get("stringValue", "")
        return ""

    def frame_type(self, location):
        return self.attribute(location, "profile.frame.type")

    def stacks_of(self, name, root):
        """(whole, short) samples of processes with that executable; those in exec and exit are neither."""
        whole = short = 0
        for resource, sample in self.samples():
            if self.executable(resource) != name:
                continue
            user = [location for location in self.locations(sample) if self.frame_type(location) != "kernel"]
            if user and root in self.names(user[-1]):
                whole += samples_in(sample)
            elif self.attribute(sample, "wick.stack.end") not in ("in_exec", "in_exit"):
                short += samples_in(sample)
        return whole, short

    def native_names(self):
        """(frames with a symbol's name, frames that a symbol table on this machine covers), by samples."""
        named = covered = 0
        tables = {}
        for _, sample in self.samples():
            weight = samples_in(sample)
            for location in self.locations(sample):
                if self.frame_type(location) != "native" or not location.get("mappingIndex"):
                    continue  # not a file's code
                name = (self.names(location) or [""])[-1]
                module = re.fullmatch(r"\[?(.+?)\+0x([0-9a-f]+)\]?", name)
                if not module:
                    named += weight
                    covered += weight
                elif self.has_symbol(location, int(module.group(2), 16), tables):
                    covered += weight
        return named, covered

    def has_symbol(self, location, address, tables):
        mapping = self.dictionary["mappingTable"][location.get("mappingIndex", 0)]
        path = self.strings[mapping.get("filenameStrindex", 0)]
        if path not in tables:
            tables[path] = symbols_of(path)
        starts, ends = tables[path]
        i = bisect.bisect_right(starts, address) - 1
        return i >= 0 and address < ends[i]


def samples_in(sample):
    return len(sample.get("timestampsUnixNano", [])) or sum(int(value) for value in sample.get("values", []))


def symbols_of(path):
    """The functions of a file's symbol tables: sorted starts, and their ends."""
    lines = []
    for option in ([], ["-D"]):
        listing = subprocess.run(["nm", "-S", "--defined-only", *option, path], capture_output=True, text=True)
        lines += [line.split() for line in listing.stdout.splitlines()]
    found = sorted((int(f[0], 16), int(f[1], 16)) for f in lines if len(f) == 4 and f[2] in "tTwWiuV")
    return [start for start, _ in found], [start + size for start, size in found]


def perf_samples_between(path, start_ns, end_ns):
    times = subprocess.run(["perf", "script", "-i", path, "--ns", "-F", "time"], capture_output=True, text=True)
    return sum(start_ns <= int(float(line.strip().rstrip(":")) * 1e9) < end_ns
               for line in times.stdout.splitlines() if line.strip())
