#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For viewers.sh: do readers of our files see what the source has? Totals, top functions, and all whole stacks.

viewers.py term OTLP                  a pattern for the function with most time of its own
viewers.py speedscope OTLP SAVED      what speedscope saved after it had loaded our file
viewers.py firefox OTLP FILE          by the rules of the Firefox Profiler's format
viewers.py perfetto OTLP FILE         read by Perfetto's published proto
viewers.py pprof OTLP RAW             what `pprof -raw` printed
viewers.py perf OTLP SCRIPT           what `perf script -F comm,pid,tid,cpu,time,period,event,ip,sym` printed
viewers.py perf-top OTLP REPORT       what `perf report --stdio --no-children --sort sym -g none` printed
viewers.py lanes FIREFOX PERFETTO     both show the same times of the same threads, and do not show two at once
viewers.py shares OTLP FOUND          what searches in SVG and HTML found, as viewers.mjs printed it
"""
import collections
import decimal
import json
import os
import re
import sys

from formats import profiles, read


def place(file, address):
    """What code without a name is called."""
    file = file.rsplit("/", 1)[-1]
    return f"{file}{'+' if file else ''}{address:#x}" if file or address else "[unknown]"


# ---- The source, as opentelemetry-proto reads it ------------------------------------------------------------

class Source:
    def __init__(self, path):
        self.data = read(path)
        self.dictionary = self.data.dictionary
        self.strings = self.dictionary.string_table
        first = next(p for p in profiles(self.data) if len(p.samples))
        self.kind = first.sample_type.type_strindex
        self.period = first.period
        # (process, frames from the root on): count
        self.stacks = collections.Counter()
        for resource in self.data.resource_profiles:
            owner = {self.text(kv.key, kv.key_strindex): self.value(kv.value) for kv in resource.resource.attributes}
            for scope in resource.scope_profiles:
                for profile in scope.profiles:
                    if profile.sample_type.type_strindex == self.kind:
                        self.add(owner, profile)
        assert self.total() > 0 and len(self.stacks) > 3

    def text(self, inline, index):
        return inline or self.strings[index]

    def value(self, value):
        kind = value.WhichOneof("value")
        return self.strings[value.string_value_strindex] if kind == "string_value_strindex" else getattr(value, kind or "int_value")

    def add(self, owner, profile):
        for sample in profile.samples:
            labels = dict(owner)
            for index in sample.attribute_indices:
                row = self.dictionary.attribute_table[index]
                labels[self.strings[row.key_strindex]] = self.value(row.value)
            process = (labels.get("process.executable.name") or labels.get("process.name") or
                       os.path.basename(labels.get("process.executable.path", "")) or labels.get("thread.name") or "")
            weight = sum(sample.values) if sample.values else len(sample.timestamps_unix_nano)
            self.stacks[(process, self.frames(sample.stack_index))] += weight

    def frames(self, stack):
        names = []
        for index in reversed(self.dictionary.stack_table[stack].location_indices):
            location = self.dictionary.location_table[index]
            for line in reversed(location.lines):
                function = self.dictionary.function_table[line.function_index]
                names.append(self.strings[function.name_strindex or function.system_name_strindex] or self.address(location))
            if not location.lines:
                names.append(self.address(location))
        return tuple(names)

    def address(self, location):
        return place(self.strings[self.dictionary.mapping_table[location.mapping_index].filename_strindex], location.address)

    def total(self):
        return sum(self.stacks.values())

    def with_process(self):
        """Stacks that begin with their process, if it is known."""
        stacks = collections.Counter()
        for (process, frames), weight in self.stacks.items():
            path = ((process,) if process else ()) + frames
            stacks[path or ("[unknown]",)] += weight
        return stacks

    def without_process(self):
        stacks = collections.Counter()
        for (_, frames), weight in self.stacks.items():
            stacks[frames] += weight
        return stacks


def top(stacks):
    functions = collections.Counter()
    for path, weight in stacks.items():
        functions[path[-1] if path else ""] += weight
    return sorted(functions.items(), key=lambda item: (-item[1], item[0]))[:10]


def same(expected, got, factor=1):
    """True if totals, the top functions and all stacks are equal."""
    expected = {path: weight * factor for path, weight in expected.items() if weight}
    got = {path: weight for path, weight in got.items() if weight}
    for name, a, b in (("total", sum(expected.values()), sum(got.values())), ("top", top(expected), top(got))):
        if a != b:
            print(f"{name} is {b}, not {a}")
            return False
    for path in expected.keys() ^ got.keys():
        print("only in", "the source:" if path in expected else "the file:", ";".join(path))
        return False
    wrong = [path for path in expected if expected[path] != got[path]]
    for path in wrong[:1]:
        print(f"{';'.join(path)} is {got[path]}, not {expected[path]}")
    return not wrong


# ---- Readers -------------------------------------------------------------------------------------------------

def speedscope(path):
    """speedscope saves a profile as frames that are opened and closed."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    frames = [frame["name"] for frame in data["shared"]["frames"]]
    stacks, stack, before = collections.Counter(), [], 0
    for event in data["profiles"][0]["events"]:
        if event["at"] > before:
            stacks[tuple(stack)] += event["at"] - before
            before = event["at"]
        if event["type"] == "O":
            stack.append(frames[event["frame"]])
        else:
            assert stack.pop() == frames[event["frame"]]
    return stacks


def firefox(path):
    """docs-developer/processed-profile-format.md: a stack is a frame and a prefix, a frame has a function, that a name."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    shared = data["shared"]
    for table in list(shared.values()) + [t["samples"] for t in data["threads"]]:
        for column in (c for c in (table.values() if isinstance(table, dict) else []) if isinstance(c, list)):
            assert len(column) == table["length"]
    stack, frame, function = shared["stackTable"], shared["frameTable"], shared["funcTable"]
    assert all(prefix is None or prefix < i for i, prefix in enumerate(stack["prefix"]))
    assert all(r == -1 or r < shared["resourceTable"]["length"] for r in function["resource"])
    assert all(lib < len(data["libs"]) for lib in shared["resourceTable"]["lib"])
    assert any(c["color"] == "grey" for c in data["meta"]["categories"])
    stacks = collections.Counter()
    for thread in data["threads"]:
        samples = thread["samples"]
        assert samples["time"] == sorted(samples["time"])
        for at, weight in zip(samples["stack"], samples["weight"]):
            path = []
            while at is not None:
                path.append(shared["stringArray"][function["name"][frame["func"][stack["frame"][at]]]])
                at = stack["prefix"][at]
            if thread["processName"] != "[unknown]":
                path.append(thread["processName"])
            stacks[tuple(reversed(path)) or ("[unknown]",)] += weight
    return stacks


def perfetto(path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    trace = perfetto_trace_pb2.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    names, frames, callstacks, processes, mappings = {}, {}, {}, {}, set()
    stacks = collections.Counter()
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        rows = packet.interned_data
        names.update((row.iid, row.str.decode()) for row in rows.function_names)
        mappings.update(row.iid for row in rows.mappings)
        frames.update((row.iid, names[row.function_name_id]) for row in rows.frames if row.mapping_id in mappings)
        callstacks.update((row.iid, tuple(frames[i] for i in row.frame_ids)) for row in rows.callstacks)
        processes.update((row.pid, row.cmdline[0]) for row in packet.process_tree.processes)
        if packet.HasField("perf_sample"):
            process, path = processes[packet.perf_sample.pid], callstacks[packet.perf_sample.callstack_iid]
            stacks[(((process,) if process != "[unknown]" else ()) + path) or ("[unknown]",)] += 1
    return stacks


def pprof(path):
    locations, samples, files, part = {}, [], {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith(("Samples:", "Locations", "Mappings")):
                part = line[0]
            elif part == "S" and (found := re.match(r"^ *(\d+) +\d+: ([\d ]*)$", line)):
                samples.append((int(found[1]), found[2].split()))
            elif part == "M" and (found := re.match(r"^(\d+): \S+ (\S*)", line)):
                files[found[1]] = found[2]
            elif part == "L" and (found := re.match(r"^ *(\d+): (0x[0-9a-f]+) (?:M=(\d+) )?\s*$", line)):
                locations[found[1]] = [(found[3], found[2])]
            elif part == "L" and (found := re.match(r"^ *(?:(\d+): 0x[0-9a-f]+ (?:M=\d+ )?)?(.*) \S*:\d+:\d+ s=\d+", line)):
                if found[1]:
                    lines = locations[found[1]] = []
                lines.append(found[2])
    stacks = collections.Counter()
    for weight, ids in samples:
        stacks[tuple(name if isinstance(name, str) else place(files.get(name[0], ""), int(name[1], 16))
                     for i in reversed(ids) for name in reversed(locations[i]))] += weight
    return stacks


def perf(path):
    """Blocks: a line for the sample, a line for each frame, innermost first, an empty line."""
    head = re.compile(r"^(?P<comm>.*?) +(?P<pid>\d+)/(?P<tid>\d+) +(?:\[\S+\] +)?\d+\.\d{6}: +(?P<period>\d+) +(?P<event>\S+): *$")
    stacks, period, frames = collections.Counter(), None, []
    with open(path, encoding="utf-8") as file:
        for line in list(file) + ["\n"]:
            if found := head.match(line):
                period, frames = int(found["period"]), []
            elif found := re.match(r"^\t *([0-9a-f]+) (.*)$", line):
                frames.append(found[2])
            else:
                assert not line.strip(), line
                if period:
                    stacks[tuple(reversed(frames))] += period
                period = None
    return stacks


def perf_top(source, path):
    """The functions that perf report shows first are those with most time of their own."""
    with open(path, encoding="utf-8") as file:
        rows = [found for line in file if (found := re.match(r"^ +(\d+\.\d\d)%  \[.\] (.*?) *$", line))]
    got = sorted(((row[2], float(row[1])) for row in rows), key=lambda item: (-item[1], item[0]))
    want = [(name, 100 * weight / source.total()) for name, weight in top(source.without_process())]
    print(got[:10], want)
    return len(want) >= 3 and all(any(name == other and abs(share - percent) < 0.02 for other, percent in got[:20])
                                  for name, share in want[:5])


def shares(source, term, path):
    """Searches find the share that the source has; SVG leaves out what is too narrow to be seen."""
    with open(path, encoding="utf-8") as file:
        found = dict(line.rstrip("\n").split(" ", 1) for line in file)
    stacks = source.with_process()
    matching = sum(weight for path, weight in stacks.items() if any(re.search(term, name, re.I) for name in path))
    expected = 100 * matching / source.total()
    print(found, f"expected {expected:.2f}")
    return ("error" not in found and found["svg-zoom"] == found["html-zoom"] == "works" and
            abs(float(found["html"]) - expected) < 0.006 and abs(float(found["svg"]) - expected) < 0.2 and
            re.fullmatch(term, found["html-functions"]))


def firefox_lanes(path):
    """By thread: (what it did, from, to) in nanoseconds."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file, parse_float=decimal.Decimal)
    names, origin, lanes = data["shared"]["stringArray"], data["meta"]["startTime"], collections.defaultdict(list)
    for thread in data["threads"]:
        markers = thread["markers"]
        lanes[int(thread["tid"])] += [(names[name], int((origin + start) * 1000000), int((origin + end) * 1000000))
                                      for name, start, end in zip(markers["name"], markers["startTime"], markers["endTime"])]
    return {tid: sorted(lane, key=lambda part: part[1]) for tid, lane in lanes.items() if lane}


def perfetto_lanes(path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    trace = perfetto_trace_pb2.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    names, tracks, opened, threads, lanes = {}, {}, {}, set(), collections.defaultdict(list)
    for packet in trace.packet:
        names.update((row.iid, row.name) for row in packet.interned_data.event_names)
        threads.update((row.tid, row.tgid) for row in packet.process_tree.threads)
        if packet.HasField("track_descriptor"):
            thread = packet.track_descriptor.thread
            assert (thread.tid, thread.pid) in threads
            tracks[packet.track_descriptor.uuid] = thread.tid
        event = packet.track_event
        if event.type == event.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in opened
            opened[event.track_uuid] = (names[event.name_iid], packet.timestamp)
        elif event.type == event.TYPE_SLICE_END:
            name, start = opened.pop(event.track_uuid)
            lanes[tracks[event.track_uuid]].append((name, start, packet.timestamp))
    assert not opened
    return {tid: sorted(lane, key=lambda part: part[1]) for tid, lane in lanes.items()}


def same_lanes(one, other):
    for lane in one.values():
        assert all(a[1] < a[2] <= b[1] for a, b in zip(lane, lane[1:])), lane
    print({tid: len(lane) for tid, lane in one.items()}, {tid: len(lane) for tid, lane in other.items()})
    return one == other and sum(len(lane) for lane in one.values()) > 20 and any(
        part[0] == "sleep" for lane in one.values() for part in lane)


def main():
    if sys.argv[1] == "lanes":
        return 0 if same_lanes(firefox_lanes(sys.argv[2]), perfetto_lanes(sys.argv[3])) else 1
    source = Source(sys.argv[2])
    term = re.escape(top(source.without_process())[0][0]).replace("\\ ", " ")
    if sys.argv[1] == "term":
        print(term)
        return 0
    if sys.argv[1] == "perf-top":
        return 0 if perf_top(source, sys.argv[3]) else 1
    if sys.argv[1] == "shares":
        return 0 if shares(source, term, sys.argv[3]) else 1
    reader, stacks, factor = {
        "speedscope": (speedscope, source.with_process, source.period or 1),
        "firefox": (firefox, source.with_process, 1),
        "perfetto": (perfetto, source.with_process, 1),
        "pprof": (pprof, source.without_process, 1),
        "perf": (perf, source.without_process, source.period or 1),
    }[sys.argv[1]]
    return 0 if same(stacks(), reader(sys.argv[3]), factor) else 1


if __name__ == "__main__":
    sys.exit(main())
