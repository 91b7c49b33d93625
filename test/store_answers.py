#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the page's API answers, against a count of the samples that were sent in. Prints TAP.

store_answers.py [--clickhouse] [SEED]: sends profiles of made-up hosts by OTLP/HTTP, then asks for random selections:
ranges, filters, groups. Every function's total must be exactly what counting the sent samples one by one gives.

With --clickhouse they are kept by a ClickHouse server, which two wicks write to; a third one has the page. It must give
the same answers, and say what is wrong while the server is away. What hosts tell of themselves goes to one with a store of its
own as well: both must chart the same.
"""
import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from common import Profile, free_port

WICK = os.environ.get("WICK", "build/wick")
SELECTIONS = 20
WINDOWS = 60
HERE = os.path.dirname(os.path.abspath(__file__))


def attribute(key, value):
    return {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}


class Window:
    """One OTLP request of one host, and what is in it."""

    def __init__(self, rng, host, start_ns):
        self.samples = []
        strings, functions, locations, stacks, attributes, links = [""], [0], [None], [()], [None], [None]

        def number(table, item):
            if item not in table:
                table.append(item)
            return table.index(item)

        resources = []
        for process in rng.sample(["web", "db", "cron"], 2):
            samples = []
            for _ in range(rng.randrange(1, 40)):
                names = ["main"] + [f"f{rng.randrange(6)}" for _ in range(rng.randrange(0, 5))]
                thread, cpu, wait = rng.choice(["io", "work"]), rng.randrange(4), rng.choice(["", "", "futex", "run_queue", "disk"])
                time_ns = start_ns + rng.randrange(5_000_000_000)
                link = rng.choice([None, (f"{rng.randrange(5):032x}", f"{rng.randrange(3) + 1:016x}")])
                link = None if link and not int(link[0], 16) else link
                tenant, route = rng.choice(["", "acme", "beta", "a=b~c"]), rng.choice(["", "", "/a", "/b"])
                lines = [rng.randrange(4) for _ in names]
                stack = tuple(number(locations, (number(functions, number(strings, name)), line)) for name, line in zip(reversed(names), lines))
                samples.append({"stackIndex": number(stacks, stack), "timestampsUnixNano": [str(time_ns)],
                                "linkIndex": number(links, link),
                                "attributeIndices": [number(attributes, ("thread.name", thread)),
                                                     number(attributes, ("cpu.logical_number", cpu))] +
                                                    ([number(attributes, ("wait.reason", wait))] if wait else []) +
                                                    ([number(attributes, ("tenant", tenant))] if tenant else []) +
                                                    ([number(attributes, ("process.context.label.route", route))] if route else [])})
                self.samples.append({"host": host, "process": process, "thread": thread, "cpu": str(cpu), "time": time_ns,
                                     "wait": wait, "names": names, "link": link, "line": lines[0],
                                     "label.tenant": tenant, "label.route": route})
            resources.append({"resource": {"attributes": [attribute("host.name", host),
                                                          attribute("process.executable.name", process)]},
                              "scopeProfiles": [{"profiles": [{
                                  "sampleType": {"typeStrindex": number(strings, "samples"),
                                                 "unitStrindex": number(strings, "count")},
                                  "timeUnixNano": str(start_ns), "samples": samples}]}]})
        self.request = {"resourceProfiles": resources, "dictionary": {
            "mappingTable": [{}], "linkTable": [{}] + [{"traceId": trace, "spanId": span} for trace, span in links[1:]],
            "attributeTable": [{}] + [dict(attribute(*a), keyStrindex=number(strings, a[0])) for a in attributes[1:]],
            "functionTable": [{}] + [{"nameStrindex": f, "filenameStrindex": number(strings, f"/build/{strings[f]}.c"), "startLine": 1} for f in functions[1:]],
            "locationTable": [{}] + [{"lines": [{"functionIndex": f, "line": line}]} for f, line in locations[1:]],
            "stackTable": [{"locationIndices": list(stack)} for stack in stacks],
            "stringTable": strings}}
        for row in self.request["dictionary"]["attributeTable"]:
            row.pop("key", None)


def totals(samples):
    """Of each function, how many samples have it on their stack."""
    found = collections.Counter()
    for sample in samples:
        found.update(set(sample["names"]))
    return found


def ask(base, name, **query):
    with urllib.request.urlopen(f"{base}/api/v1/{name}?" + urllib.parse.urlencode(query, doseq=True), timeout=20) as answer:
        return json.load(answer)


LABELS = (("host", "a"), ("process", "db"), ("thread", "io"), ("cpu", "2"), ("wait", "futex"))
OWN_LABELS = (("label.tenant", "acme"), ("label.route", "/a"), ("label.tenant", "a=b~c"))


def selection(rng, first_ns, last_ns, labels=LABELS):
    """A random range and filters: for the API, and as a test of a sample."""
    from_ns, to_ns = sorted(rng.sample(range(first_ns // 1000, last_ns // 1000), 2))
    from_ns, to_ns = from_ns * 1000, to_ns * 1000
    where, tests = [], [lambda s: from_ns <= s["time"] < to_ns]
    for label, value in labels:
        kind = rng.randrange(5)
        if kind == 0:
            where.append(f"{label}={value}")
            tests.append(lambda s, l=label, v=value: s[l] == v)
        elif kind == 1:
            where.append(f"{label}!={value}")
            tests.append(lambda s, l=label, v=value: s[l] != v)
    seconds = [f"{t // 10**9}.{t % 10**9:09}" for t in (from_ns, to_ns)]
    return {"from": seconds[0], "to": seconds[1], "where": where}, lambda s: all(test(s) for test in tests)


def check(name, holds, *notes):
    print(("ok - " if holds else "not ok - ") + name)
    for note in notes if not holds else ():
        print(f"# {note}")
    return holds


def compare(base, rng, samples, first_ns, last_ns):
    query, wanted = selection(rng, first_ns, last_ns)
    chosen = [s for s in samples if wanted(s)]
    top = ask(base, "top", rows=1000, **query)
    got = {row[0]: row[5] for row in top["rows"]}
    good = top["total"] == len(chosen) and got == dict(totals(chosen))
    grouped = ask(base, "values", label="thread", **query)
    by_thread = collections.Counter(s["thread"] for s in chosen)
    waits = ask(base, "values", label="wait", **query)
    good &= dict(map(tuple, waits)) == dict(collections.Counter(s["wait"] for s in chosen))
    return check(f"answers {query} ({len(chosen)} samples)", good and dict(map(tuple, grouped)) == dict(by_thread),
                 f"total {top['total']}, not {len(chosen)}", f"{got}, not {dict(totals(chosen))}", grouped, by_thread, waits)


def narrowed(names, focus, ignore, hide):
    """A stack with less in it, or None."""
    if any(f not in names for f in focus) or any(i in names for i in ignore):
        return None
    left = [name for name in names if name not in hide]
    return [name for i, name in enumerate(left) if not i or left[i - 1] != name]


def tree_totals(answer):
    """Of each path in an answer of columns its total, added up as docs/api.md says."""
    nodes, frames, paths, open_nodes, newest = answer["nodes"], [], [], [], 0
    for distance, children in zip(nodes["frame"], nodes["children"]):
        frames.append(newest if distance == 0 else newest - distance)
        newest += distance == 0
        while open_nodes and not open_nodes[-1][1]:
            open_nodes.pop()
        if open_nodes:
            open_nodes[-1][1] -= 1
        paths.append(open_nodes[-1][0] + (answer["frames"]["name"][frames[-1]],) if open_nodes else ())
        open_nodes.append([paths[-1], children])
    found = collections.Counter()
    for path, own, rest in zip(paths, nodes["self"], nodes["rest"]):
        for depth in range(len(path) + 1):
            found[path[:depth]] += own + rest
    return found


def compare_narrowed(base, rng, samples, first_ns, last_ns):
    """Only stacks with a function, without one, frames hidden, recursion collapsed: all paths, and what a search finds."""
    query, wanted = selection(rng, first_ns, last_ns)
    focus, ignore, hide = (rng.sample([f"f{i}" for i in range(6)], rng.randrange(2)) for _ in range(3))
    stacks = [narrowed(s["names"], focus, ignore, hide) for s in samples if wanted(s)]
    stacks = [stack for stack in stacks if stack is not None]
    want = collections.Counter(tuple(stack[:depth]) for stack in stacks for depth in range(len(stack) + 1))
    query |= {"focus": [f"/^{f}$/" for f in focus], "ignore": ignore, "hide": [h.upper() for h in hide], "collapse": 1}
    got = tree_totals(ask(base, "flame", **query))
    search = ask(base, "search", text="/f[0-2]/", **query)
    matched = sum(any(name in ("f0", "f1", "f2") for name in stack) for stack in stacks)
    good = +got == +want and search["matched"] == matched and search["total"] == len(stacks)
    return check(f"narrows {query} ({len(stacks)} samples)", good, +got, +want, search, matched)


def compare_traces(base, rng, samples, first_ns, last_ns):
    """Traces, the spans of one, and what is left of the functions when it is chosen by the name others give its id."""
    query, wanted = selection(rng, first_ns, last_ns)
    linked = [s for s in samples if wanted(s) and s["link"]]
    want = {t: [len({s["link"][1] for s in linked if s["link"][0] == t}), sum(s["link"][0] == t for s in linked)]
            for t in {s["link"][0] for s in linked}}
    rows = ask(base, "traces", **query)["rows"]
    good = {row["trace"]: [row["spans"], row["samples"]] for row in rows} == want
    good &= [row["value"] for row in rows] == sorted((row["value"] for row in rows), reverse=True)
    for row in rows[:1]:
        mine = [s for s in linked if s["link"][0] == row["trace"]]
        times = [s["time"] for s in mine]
        good &= abs(row["first"] - min(times) / 1e9) < 1e-3 and abs(row["last"] - max(times) / 1e9) < 1e-3
        spans = ask(base, "traces", by="span", trace_id=row["trace"].upper(), **query)["rows"]
        good &= {s["span"]: s["samples"] for s in spans} == dict(collections.Counter(s["link"][1] for s in mine))
        top = ask(base, "top", trace_id=row["trace"], span_id=spans[0]["span"], rows=1000, **query)
        of_span = [s for s in mine if s["link"][1] == spans[0]["span"]]
        good &= {r[0]: r[5] for r in top["rows"]} == dict(totals(of_span))
    return check(f"knows {len(want)} traces of {query}", good, rows, want)


def send(base, window):
    request = urllib.request.Request(base + "/v1development/profiles", json.dumps(window.request).encode(),
                                     {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=20).read()


def check_arrivals(base, windows):
    """What came, who sent it, and what was refused and why; then only what is new."""
    rows = ask(base, "arrivals")
    taken = [row for row in rows["rows"] if row["kind"] == "request"]
    good = len(taken) == len(windows) and sum(row["samples"] for row in taken) == sum(len(w.samples) for w in windows)
    good &= all(row["peer"].startswith("127.0.0.1:") and row["agent"].startswith("Python-urllib") and
                row["protocol"] == "http json" and row["bytes"] > 100 and row["resources"] == 2 for row in taken)
    request = urllib.request.Request(base + "/v1development/profiles", b"{", {"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=20)
        good = False
    except urllib.error.HTTPError as error:
        good &= error.code == 400
    try:
        urllib.request.urlopen(urllib.request.Request(base + "/v1/traces", b"{}"), timeout=20)
        good = False
    except urllib.error.HTTPError as error:
        good &= error.code == 404
    new = ask(base, "arrivals", after=rows["last"])["rows"]
    refused = [row for row in new if row["kind"] == "request"]
    good &= [row["level"] for row in refused] == ["error", "error"] and "not OTLP" in refused[0]["text"]
    good &= refused[1]["text"] == "nothing is served at /v1/traces" and refused[1]["peer"].startswith("127.0.0.1:")
    return check("tells what arrived, and what was refused", good, taken[:2], refused)


def check_series(base, samples, first_ns, last_ns):
    """A host that sends only profiles has the CPUs of its samples, and no memory."""
    # An hour more: roll-ups before the first block are spread over their whole period.
    series = ask(base, "series", host="a", rows=50, **{"from": first_ns / 1e9 - 3600, "to": last_ns / 1e9})
    mean = [e - s for s, e in zip(series["start"], series["end"])]
    total = sum(busy * seconds for busy, seconds in zip(series["busy"], mean))
    want = sum(s["host"] == "a" for s in samples)
    return check("charts the CPUs of a host that sends only profiles", series["source"] == "samples" and
                 "memory_used" not in series and abs(total - want) < 0.01 * want and
                 {line["name"] for line in series["by_cpu"]} == {"web", "db", "cron"}, total, want)


def compare_heat(base, samples, first_ns):
    """Samples by second and a tenth of it, and by process in a chart of whole minutes, which roll-ups have too."""
    from_s, seconds = (first_ns // 10**9 + 1800) // 60 * 60, 3600
    query = {"from": from_s, "to": from_s + seconds}
    cells = collections.Counter((s["time"] // 10**9 - from_s) * 10 + s["time"] % 10**9 // 10**8 for s in samples
                                if from_s <= s["time"] // 10**9 < from_s + seconds)
    heat = ask(base, "heat", rows=10, **query)
    good = {i: n for i, n in enumerate(heat["cells"]) if n} == dict(cells) and heat["max"] == max(cells.values())
    want = collections.defaultdict(lambda: [0] * 60)
    for s in samples:
        if from_s <= s["time"] // 10**9 < from_s + seconds:
            want[s["process"]][(s["time"] // 10**9 - from_s) // 60] += 1 / 60
    lines = {line["name"]: line["values"] for line in ask(base, "chart", by="process", buckets=60, **query)["lines"]}
    good &= lines.keys() == want.keys() and all(same(lines[name], want[name]) for name in want)
    few = ask(base, "chart", by="process", buckets=60, lines=2, **query)["lines"]
    good &= few[1]["name"] == "(other)" and same(few[0]["values"], want[few[0]["name"]])
    good &= same(map(sum, zip(*(line["values"] for line in few))), map(sum, zip(*want.values())))
    return check("draws heat maps and charts", good, heat["max"], lines, dict(want), few)


def compare_inverted(base, rng, samples, first_ns, last_ns):
    """Bottom up: from the functions that samples are of to their callers; below whose they are."""
    query, wanted = selection(rng, first_ns, last_ns)
    chosen = [s for s in samples if wanted(s)]
    good = True
    for group in ("", "process", "wait"):
        stacks = [((s[group] or "(running)",) if group else ()) + tuple(reversed(s["names"])) for s in chosen]
        want = collections.Counter(stack[:depth] for stack in stacks for depth in range(len(stack) + 1))
        good &= +tree_totals(ask(base, "flame", inverted=1, group=group, **query)) == +want
    return check(f"turns {query} around ({len(chosen)} samples)", good)


def compare_tables(base, rng, samples, first_ns, last_ns):
    """The functions below a place, and those of two ranges with what changed most first."""
    query, wanted = selection(rng, first_ns, last_ns)
    other, _ = selection(rng, first_ns, last_ns)
    chosen, path = [s for s in samples if wanted(s)], ["db", "main", f"f{rng.randrange(6)}"]
    below = [s["names"][1:] for s in chosen if s["process"] == "db" and s["names"][1:2] == path[2:]]
    good = True
    if below:
        top = ask(base, "top", rows=1000, group="process", path="\x1f".join(path), **query)
        good = {row[0]: row[5] for row in top["rows"]} == dict(totals([{"names": names} for names in below])) and top["total"] == len(chosen)
    # Filters are those of the first range.
    first = {"from": first_ns // 10**9 - 1, "to": last_ns // 10**9 + 10, "where": query["where"]}
    inside = [s for s in samples if selection_filters(query["where"], s)]
    begin_ns, end_ns = (int(other[key].replace(".", "")) for key in ("from", "to"))
    then = [s for s in inside if begin_ns <= s["time"] < end_ns]
    rows = ask(base, "top", rows=1000, order="change", base_from=other["from"], base_to=other["to"], **first)
    got = {row[0]: tuple(row[5:8:2]) for row in rows["rows"]}
    now, before = totals(inside), totals(then)
    good &= got == {name: (now[name], before[name]) for name in now | before} and rows["base_total"] == len(then)
    changes = [abs(row[4] / (rows["total"] or 1) - row[6] / (rows["base_total"] or 1)) for row in rows["rows"]]
    return check(f"has tables of {path} and of {other['from']} to {other['to']}", good and changes == sorted(changes, reverse=True),
                 got, now, before, rows)


def selection_filters(where, sample):
    return all((sample[label.rstrip("!")] == value) != label.endswith("!") for label, value in (text.split("=") for text in where))


def compare_some_stacks(base, rng, samples, first_ns, last_ns):
    """Values of a label, and a chart, of stacks with and without certain functions."""
    query, wanted = selection(rng, first_ns, last_ns)
    focus, ignore = (rng.sample([f"f{i}" for i in range(6)], rng.randrange(2)) for _ in range(2))
    left = [s for s in samples if wanted(s) and narrowed(s["names"], focus, ignore, ()) is not None]
    query |= {"focus": [f"/^{f}$/" for f in focus], "ignore": ignore}
    good = True
    for label in ("process", "thread", "cpu", "wait"):
        good &= dict(map(tuple, ask(base, "values", label=label, **query))) == dict(collections.Counter(s[label] for s in left))
    # A minute and more at each end, where roll-ups are spread.
    chart = ask(base, "chart", by="process", buckets=1, **query)
    seconds = chart["to"] - chart["from"]
    lines = {line["name"]: round(line["values"][0] * seconds) for line in chart["lines"]}
    good &= chart["narrowed"] == bool(focus or ignore) and lines == dict(collections.Counter(s["process"] for s in left))
    return check(f"has values and charts of some stacks {query} ({len(left)} samples)", good, lines, collections.Counter(s["process"] for s in left))


def compare_source(base, rng, samples, first_ns, last_ns, keeps_lines):
    """What each line of a function has: of callers none is kept, recursion counts once. Together that is what the table of functions says."""
    query, wanted = selection(rng, first_ns, last_ns)
    chosen, function = [s for s in samples if wanted(s)], rng.choice(["main", "f1", "f2"])
    mine = [s for s in chosen if function in s["names"]]
    leaf = collections.Counter(s["line"] for s in mine if keeps_lines and s["line"] and s["names"][-1] == function)
    answer, top = ask(base, "source", function=function, **query), ask(base, "top", rows=1000, **query)
    row = next((row[4:6] for row in top["rows"] if row[0] == function), [0, 0])
    got = {line: (own, total) for file in answer["files"] for line, own, total in file["lines"]}
    good = got == {line: (count, count) for line, count in leaf.items()} and answer["all"] == len(chosen)
    good &= row == [answer["self"], answer["total"]] == [sum(s["names"][-1] == function for s in mine), len(mine)]
    good &= [answer["unknown"][key] + sum(line[i] for line in got.values()) for i, key in enumerate(("self", "total"))] == row
    good &= [file["file"] for file in answer["files"]] == ([f"/build/{function}.c"] if mine else [])
    return check(f"adds up the lines of {function} in {query} ({len(mine)} samples)", good, answer, leaf, row)


def compare_labels(base, rng, samples, first_ns, last_ns):
    """Labels of the samples themselves: filters, values, keys, groups, charts, and what is given away."""
    query, wanted = selection(rng, first_ns, last_ns, LABELS[:2] + OWN_LABELS if rng.randrange(2) else LABELS + OWN_LABELS)
    left = [s for s in samples if wanted(s)]
    sums = {label: dict(collections.Counter(s[label] for s in left)) for label in ("label.tenant", "label.route")}
    found = {label: dict(map(tuple, ask(base, "values", label=label, **query))) for label in sums}
    keys = dict(map(tuple, ask(base, "values", label="label", **query)))
    good = found == sums and keys == {label[6:]: len(left) - sums[label].get("", 0) for label in sums if len(left) > sums[label].get("", 0)}
    stacks = [(s["label.tenant"] or "(none)", *s["names"]) for s in left]
    want = collections.Counter(stack[:depth] for stack in stacks for depth in range(len(stack) + 1))
    good &= +tree_totals(ask(base, "flame", group="label.tenant", **query)) == +want
    chart = ask(base, "chart", by="label.tenant", buckets=1, **query)
    lines = {line["name"]: round(line["values"][0] * (chart["to"] - chart["from"])) for line in chart["lines"]}
    good &= chart["by"] == "label.tenant" and lines == sums["label.tenant"]
    given = Profile(ask(base, "export", format="json", **query))
    away = collections.Counter()
    for sample in given.samples:
        away[sample.attributes.get("tenant", ""), sample.attributes.get("process.context.label.route", "")] += sample.count
    good &= away == collections.Counter((s["label.tenant"], s["label.route"]) for s in left)
    return check(f"knows labels of {query} ({len(left)} samples)", good, found, sums, keys, lines, away)


def flooding(host, start_ns, count):
    """A window whose samples all have a value of their own."""
    def window():
        pass
    window.request = {
        "resourceProfiles": [{"resource": {"attributes": [attribute("host.name", host)]}, "scopeProfiles": [{"profiles": [{
            "sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "timeUnixNano": str(start_ns),
            "samples": [{"stackIndex": 1, "timestampsUnixNano": [str(start_ns + i)], "attributeIndices": [i + 1]} for i in range(count)]}]}]}],
        "dictionary": {"mappingTable": [{}], "linkTable": [{}], "functionTable": [{}, {"nameStrindex": 3}],
                       "attributeTable": [{}] + [{"keyStrindex": 4, "value": {"stringValue": f"{start_ns}-{i}"}} for i in range(count)],
                       "locationTable": [{}, {"lines": [{"functionIndex": 1}]}], "stackTable": [{}, {"locationIndices": [1]}],
                       "stringTable": ["", "samples", "count", "main", "tenant"]}}
    return window


def compare_flood(base, rng, samples, first_ns, last_ns):
    """A host with ever new values keeps some of them; what others have said stays."""
    count, windows, span = 3000, 5, {"from": first_ns / 1e9 - 60, "to": last_ns / 1e9 + 60}
    for _ in range(windows):
        send(base, flooding("flood", rng.randrange(first_ns, last_ns), count))
    came = eventually(lambda: dict(map(tuple, ask(base, "values", label="host", **span))).get("flood") == windows * count)
    values = dict(map(tuple, ask(base, "values", label="label.tenant", max=100000, host="flood", **span)))
    past = ask(base, "status")["labels_past_limit"]
    # Windows that were rolled up together have as many values as one.
    good = came and past == windows * (count - 1024) <= values["[other]"] and 1024 < len(values) <= windows * 1024 + 1
    good &= sum(values.values()) == windows * count
    others = dict(map(tuple, ask(base, "values", label="label.tenant", where="host!=flood", **span)))
    good &= others == dict(collections.Counter(s["label.tenant"] for s in samples))
    return check("ever new values of a label are bounded, and cost others nothing", good, len(values), values.get("[other]"), past, others)


def same(got, want):
    return all(abs(a - b) < 1e-6 for a, b in zip(got, want))


def eventually(holds):
    for _ in range(200):
        try:
            if holds():
                return True
        except OSError:
            pass
        time.sleep(0.1)
    return False


def wait_for(base, count, first_ns, last_ns):
    """Until all that was sent is in the store; the queue is not waited for otherwise."""
    return eventually(lambda: ask(base, "top", **{"from": first_ns / 1e9 - 60, "to": last_ns / 1e9 + 60})["total"] == count)


class Wick:
    """One that takes profiles for an exporter, and has a page."""

    def __init__(self, work, exporter, exporter_options, page_options):
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        address = f"127.0.0.1:{self.port}"
        config = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": address}}}},
                  "exporters": {exporter: exporter_options}, "extensions": {"page": {"endpoint": address} | page_options},
                  "service": {"extensions": ["page"], "telemetry": {"metrics": {"level": "none"}},
                              "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": [exporter]}}}}
        path = os.path.join(work, f"{self.port}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        self.process = subprocess.Popen([WICK, "--config", path], stderr=subprocess.PIPE)
        for line in self.process.stderr:
            if b"Everything is ready" in line:
                break

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return check("it ends well", self.process.wait(30) == 0)


class ClickHouse:
    """The real engine behind HTTP, as a process of its own."""

    def __init__(self, python, folder):
        self.python, self.folder, self.port = python, folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.python, os.path.join(HERE, "peers/clickhouse_server.py"), str(self.port),
                                         self.folder], stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def stop(self):
        self.process.kill()
        self.process.wait()


def failure(base, name):
    """The status and the sentence of an answer that fails."""
    try:
        ask(base, name)
        return 200, ""
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)["error"]


def compare_all(base, rng, samples, first_ns, last_ns, keeps_lines=True):
    ok = check("all that was sent is there", wait_for(base, len(samples), first_ns, last_ns))
    for _ in range(SELECTIONS):
        ok &= compare(base, rng, samples, first_ns, last_ns)
        ok &= compare_narrowed(base, rng, samples, first_ns, last_ns)
    for _ in range(5):
        ok &= compare_traces(base, rng, samples, first_ns, last_ns)
        ok &= compare_inverted(base, rng, samples, first_ns, last_ns)
        ok &= compare_tables(base, rng, samples, first_ns, last_ns)
        ok &= compare_source(base, rng, samples, first_ns, last_ns, keeps_lines)
    ok &= compare_heat(base, samples, first_ns)
    return ok & check_series(base, samples, first_ns, last_ns)


def one_second(host, hz, start_ns):
    """A second of one CPU, as an agent at that rate tells of it."""
    def window():
        pass
    times = [str(start_ns + i * 10**9 // hz) for i in range(hz)]
    window.request = {
        "resourceProfiles": [{"resource": {"attributes": [attribute("host.name", host)]}, "scopeProfiles": [{"profiles": [{
            "sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "periodType": {"typeStrindex": 3, "unitStrindex": 4},
            "period": str(10**9 // hz), "timeUnixNano": str(start_ns), "durationNano": str(10**9),
            "samples": [{"stackIndex": 1, "timestampsUnixNano": times}]}]}]}],
        "dictionary": {"mappingTable": [{}], "linkTable": [{}], "attributeTable": [{}], "functionTable": [{}, {"nameStrindex": 5}],
                       "locationTable": [{}, {"lines": [{"functionIndex": 1}]}], "stackTable": [{}, {"locationIndices": [1]}],
                       "stringTable": ["", "samples", "count", "cpu", "nanoseconds", f"on_{host}"]}}
    return window


def compare_rates(sender, base, before_ns):
    """Agents at 20 and at 200 Hz: a second of each weighs the same. In an hour of their own, as it may be rolled up by now."""
    start_ns = before_ns - 3 * 3600 * 10**9
    span = {"from": start_ns / 1e9 - 60, "to": start_ns / 1e9 + 60}
    for host, hz in (("slow", 20), ("fast", 200)):
        send(sender, one_second(host, hz, start_ns))
    came = eventually(lambda: len(ask(base, "values", label="host", **span)) == 2)
    ok = check("both rates came", came)
    for query in ({}, {"group": "host"}):
        flame = ask(base, "flame", **span, **query)
        ok &= check(f"samples of different rates are weighed {query}", (flame["total"], flame["unit"]) == (2 * 10**9, "nanoseconds"),
                    flame["total"], flame["unit"])
    rows = {row[0]: row[5] for row in ask(base, "top", **span)["rows"]}
    ok &= check("... in tables, too", rows == {"on_slow": 10**9, "on_fast": 10**9}, rows)
    folded = urllib.request.urlopen(f"{base}/api/v1/export?format=folded&" + urllib.parse.urlencode(span)).read().decode()
    ok &= check("... and in files", sorted(folded.split()) == ["1000000000", "1000000000", "on_fast", "on_slow"], folded)
    one = ask(base, "flame", host="slow", **span)
    return ok & check("one rate is told in samples and its period", (one["total"], one["unit"]) == (20, "count"), one["total"])


class Machine:
    """A host that tells of itself every five seconds for a while, as OTLP has it: one request."""

    def __init__(self, rng, host, start_ns, seconds):
        self.host, self.start_ns, self.end_ns = host, start_ns, start_ns + seconds * 10**9
        metrics, user_s, idle_s = collections.defaultdict(list), 0.0, 0.0

        def point(name, at_ns, value, **attributes):
            metrics[name].append({"timeUnixNano": str(at_ns), "asDouble": value, "attributes": [
                {"key": key.replace("_", "."), "value": {"stringValue": text}} for key, text in attributes.items()]})

        for at_ns in range(self.start_ns, self.end_ns + 1, 5 * 10**9):
            busy = rng.uniform(0, 4)
            user_s, idle_s = user_s + 5 * busy, idle_s + 5 * (4 - busy)
            point("system.cpu.time", at_ns, user_s, state="user")
            point("system.cpu.time", at_ns, idle_s, state="idle")
            point("system.cpu.logical.count", at_ns, 4)
            point("system.cpu.load_average.1m", at_ns, rng.uniform(0, 9))
            point("system.processes.count", at_ns, rng.randrange(100, 200))
            point("system.memory.limit", at_ns, 1 << 34)
            point("system.linux.memory.available", at_ns, rng.randrange(1 << 30, 1 << 34))
            for pid in rng.sample(range(7), 5):
                name = {"process_pid": str(70 + pid), "process_executable_name": f"p{pid}\'\\"}
                point("process.cpu.utilization", at_ns, rng.uniform(0.001, 1), **name)
                point("process.memory.usage", at_ns, rng.randrange(1 << 20, 1 << 33), **name)
        total = {"aggregationTemporality": 2, "isMonotonic": True}
        self.request = {"resourceMetrics": [{"resource": {"attributes": [attribute("host.name", host)]}, "scopeMetrics": [{"metrics": [
            {"name": name, **({"sum": total | {"dataPoints": points}} if name == "system.cpu.time" else {"gauge": {"dataPoints": points}})}
            for name, points in metrics.items()]}]}]}

    def send(self, base):
        request = urllib.request.Request(base + "/v1/metrics", json.dumps(self.request).encode(), {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=20).read()

    def ask(self, base, first_s, last_s, rows):
        return ask(base, "series", host=self.host, rows=rows, **{"from": self.start_ns / 1e9 + first_s, "to": self.start_ns / 1e9 + last_s})


def same_series(got, want):
    """The same rows, but for what rounding costs a roll-up: some thousandths of a CPU, some bytes, one process."""
    def close(a, b, most=2.001e-3):
        return len(a) == len(b) and all(abs(x - y) <= most or abs(x - y) <= 2 and x > 1e6 for x, y in zip(a, b))
    good = got.keys() == want.keys() and got["source"] == want["source"] == "proc" and got["start"] and got["host"] == want["host"]
    good = good and close(got["processes"], want["processes"], 1)
    good = good and all(close(got[key], want[key]) for key in want if key not in ("host", "source", "by_cpu", "by_memory", "processes"))
    for key in ("by_cpu", "by_memory"):
        lines = [{(line["pid"], line["name"]): line["values"] for line in series[key]} for series in (got, want)]
        good = good and len(lines[0]) == 7 and lines[0].keys() == lines[1].keys() and all(close(lines[0][who], lines[1][who]) for who in lines[0])
    return bool(good)


def compare_machines(rng, local, writer, shows):
    """What two hosts told, in a store of this machine and in ClickHouse: rows as they came, by minute, and by ten minutes."""
    start_ns = (int(time.time()) - 3600) // 600 * 600 * 10**9
    machines = [Machine(rng, host, start_ns, 1260) for host in ("m\'1", "m2")]
    eventually(lambda: ask(shows, "generation") == (time.sleep(1.5), ask(shows, "generation"))[1])
    before = ask(shows, "generation")["generation"]
    for machine in machines:
        machine.send(local)
        machine.send(writer)
    ok = check("pages hear of what hosts told", eventually(lambda: ask(shows, "generation")["generation"] > before))
    for machine in machines:
        ok &= check(f"all that {machine.host} told is there", eventually(lambda m=machine: len(m.ask(shows, 0, 1260, 10000)["start"]) == 252))
        for span in ((0, 1260, 10000), (62, 303, 300), (0, 1200, 30), (61, 1139, 20), (0, 1200, 2), (3, 7, 1)):
            got, want = (machine.ask(base, *span) for base in (shows, local))
            ok &= check(f"charts {machine.host} as a store of this machine does {span}", same_series(got, want), got, want)
    nobody = ask(shows, "series", host="nobody", rows=10)
    return ok & check("a host that told nothing has no rows", nobody["source"] == "samples" and not any(nobody["busy"]), nobody)


def change_annotations(base, method, query="", **form):
    request = urllib.request.Request(f"{base}/api/v1/annotations{query}", urllib.parse.urlencode(form).encode() or None, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def compare_annotations(base, last_ns):
    """What is said of moments is told of its time, host and service, until it is taken back."""
    at, evil = last_ns // 10**9, "it\'s \\ `v2`; --\n"

    def listed(**query):
        return [row for row in ask(base, "annotations", **query, **{"from": at - 100, "to": at + 100})["rows"] if row["kind"] != "restart"]
    ids = [change_annotations(base, "POST", **form)[1].get("id") for form in (
        {"title": evil, "text": evil, "kind": "deploy", "time": at - 50, "host": "a"}, {"title": "long", "time": at - 200, "end": at - 90},
        {"title": "past", "time": at - 101}, {"title": "now", "time": at, "service": "s"})]
    rows = listed()
    ok = check("annotations are kept", [row["title"] for row in rows] == ["now", evil, "long"] and rows[1]["text"] == evil and
               (rows[1]["kind"], rows[1]["host"], rows[0]["service"], rows[2]["end"]) == ("deploy", "a", "s", at - 90), rows)
    ok &= check("... by host", [row["title"] for row in listed(host="b")] == ["now", "long"])
    dropped = [change_annotations(base, "DELETE", f"?id={ids[0]}")[0] for _ in range(2)]
    left = [row["id"] for row in listed()]
    ok &= check("... and taken back", dropped == [200, 404] and left == [ids[3], ids[1]], dropped, left, ids)
    return ok & check("an id that cannot be is refused", change_annotations(base, "DELETE", "?id=1x")[0] == 400)


REASONS = ["", "futex", "run_queue", "disk", "poll"]


class Lanes:
    """Threads that do one thing after the other without gaps, told as kinds tell it: at its end, or (lanes) at its beginning."""

    def __init__(self, rng, host, start_ns, types):
        strings, attributes, profiles = ["", "main", "cpu", "nanoseconds"], [{}], []
        self.host, self.start_ns, self.parts = host, start_ns, []

        def string(text):
            if text not in strings:
                strings.append(text)
            return strings.index(text)

        def sample(tid, reason, time_ns, value):
            named = [("thread.id", {"intValue": str(tid)})] + ([("wait.reason", {"stringValue": reason})] if reason else [])
            attributes.extend({"keyStrindex": string(key), "value": text} for key, text in named)
            return {"stackIndex": 1, "timestampsUnixNano": [str(time_ns)], "values": [str(value)],
                    "attributeIndices": list(range(len(attributes) - len(named), len(attributes)))}

        samples = collections.defaultdict(list)
        for tid in (71, 72, 73):
            at_ns = start_ns
            while at_ns < start_ns + 20 * 10**9:
                reason, long_ns = rng.choice(REASONS), rng.choice([10, 250, 3000]) * 10**6 * rng.randrange(1, 4)
                self.parts.append((tid, reason, at_ns, at_ns + long_ns))
                at_ns += long_ns
                if "samples" in types and not reason:
                    samples["samples"] += [sample(tid, "", at_ns - i * 10**7, 1) for i in range(long_ns // 10**7)]
                else:
                    samples[types[-1]].append(sample(tid, reason, at_ns - long_ns if types[-1] == "lanes" else at_ns, long_ns))
        for kind in types:
            profiles.append({"sampleType": {"typeStrindex": string(kind), "unitStrindex": string("count" if kind == "samples" else "nanoseconds")},
                             "timeUnixNano": str(start_ns), "samples": samples[kind]})
            if kind == "samples":
                profiles[-1] |= {"periodType": {"typeStrindex": 2, "unitStrindex": 3}, "period": str(10**7)}
        self.request = {"resourceProfiles": [{"resource": {"attributes": [attribute("host.name", host), attribute("process.pid", 70)]},
                                              "scopeProfiles": [{"profiles": profiles}]}],
                        "dictionary": {"mappingTable": [{}], "linkTable": [{}], "attributeTable": attributes, "stringTable": strings,
                                       "functionTable": [{}, {"nameStrindex": 1}], "locationTable": [{}, {"lines": [{"functionIndex": 1}]}],
                                       "stackTable": [{}, {"locationIndices": [1]}]}}


def compare_lanes(base, rng, kind, lanes):
    """Of each thread and bucket how long it did what, in microseconds, by the parts that are known."""
    from_us, to_us = sorted(rng.sample(range(0, 18_000_000, 1000), 2))
    begin_ns, buckets = lanes.start_ns + from_us * 1000, rng.choice([1, 7, 200])
    width_ns = (to_us - from_us) * 1000 / buckets
    got = ask(base, "lanes", host=lanes.host, buckets=buckets, where=["type=samples", "wait!=disk"], **{"from": f"{begin_ns // 10**9}.{begin_ns % 10**9:09}",
              "to": f"{(begin_ns + (to_us - from_us) * 1000) // 10**9}.{(begin_ns + (to_us - from_us) * 1000) % 10**9:09}"})
    found = {(lane["tid"], line["wait"]): line["values"] for lane in got["lanes"] for line in lane["lines"]}
    want = collections.defaultdict(lambda: [0.0] * buckets)
    for tid, reason, first_ns, last_ns in lanes.parts:
        for i in range(buckets):
            overlap = min(last_ns - begin_ns, (i + 1) * width_ns) - max(first_ns - begin_ns, i * width_ns)
            if overlap > 0:
                want[tid, reason][i] += overlap / 1000
    good = found.keys() == want.keys() and all(abs(a - b) <= 1 for key in want for a, b in zip(found[key], want[key]))
    ran = {tid: sum(sum(values) for (who, reason), values in want.items() if who == tid and reason in ("", "run_queue")) for tid in (71, 72, 73)}
    order = [ran[lane["tid"]] for lane in got["lanes"]]
    good &= got["exact"] == (kind == "lanes") and got["threads"] == 3 and all(a >= b - 3 for a, b in zip(order, order[1:]))
    ends = {tid: max(last_ns for who, _, first_ns, last_ns in lanes.parts if who == tid and first_ns < begin_ns + (to_us - from_us) * 1000) for tid in (71, 72, 73)}
    if kind == "wall":
        good &= all(abs(lane["last"] - max(got["to"], ends[lane["tid"]] / 1e9)) < 1e-3 for lane in got["lanes"])
    return check(f"knows what threads did by {kind} in {buckets} parts of {(to_us - from_us) / 1e6} s", good, found, dict(want), got["source"])


def compare_all_lanes(base, rng, before_ns):
    ok = True
    for i, types in enumerate((["wall"], ["samples", "off_cpu"], ["lanes"])):
        lanes = Lanes(rng, "lanes-" + types[-1], before_ns + i * 60 * 10**9, types)
        send(base, lanes)
        span = {"from": lanes.start_ns / 1e9 - 60, "to": lanes.start_ns / 1e9 + 60}
        ok &= check(f"{types[-1]} came", eventually(lambda lanes=lanes, span=span: [lanes.host] in [row[:1] for row in ask(base, "values", label="host", **span)]))
        for _ in range(4):
            ok &= compare_lanes(base, rng, types[-1], lanes)
    few = ask(base, "lanes", host="lanes-wall", max=1, **{"from": before_ns / 1e9, "to": before_ns / 1e9 + 20})
    ok &= check("shows no more threads than asked for, and says how many there are", len(few["lanes"]) == 1 and few["threads"] == 3, few["threads"])
    long = ask(base, "lanes", **{"from": before_ns / 1e9 - 7200, "to": before_ns / 1e9})
    return ok & check("shows the end of a long range", abs(long["to"] - long["from"] - 900) < 1e-6, long["from"], long["to"])


def check_local(work, rng, windows, first_ns, last_ns):
    wick = Wick(work, "store", {"path": os.path.join(work, "store")}, {})
    ok = False
    try:
        for window in windows:
            send(wick.base, window)
        ok = compare_all(wick.base, rng, [s for w in windows for s in w.samples], first_ns, last_ns)
        for _ in range(SELECTIONS):
            ok &= compare_some_stacks(wick.base, rng, [s for w in windows for s in w.samples], first_ns, last_ns)
            ok &= compare_labels(wick.base, rng, [s for w in windows for s in w.samples], first_ns, last_ns)
        status, sentence = failure(wick.base, "chart?focus=/(/&part=")
        ok &= check("says what is wrong with an expression", status == 400 and "parenthesis" in sentence, sentence)
        ok &= check_arrivals(wick.base, windows)
        levels = {level["name"]: level["blocks"] for level in ask(wick.base, "status")["levels"]}
        ok &= check("minutes and hours were rolled up", levels["1 m"] > 0 and levels["1 h"] > 0, levels)
        ok &= compare_flood(wick.base, rng, [s for w in windows for s in w.samples], first_ns, last_ns)
        ok &= compare_rates(wick.base, wick.base, first_ns)
        ok &= compare_annotations(wick.base, last_ns)
        ok &= compare_all_lanes(wick.base, rng, last_ns - 6 * 3600 * 10**9)
    finally:
        ok &= wick.stop()
    return ok


def check_away(wick, server):
    """The server goes, and comes back: wick stays, says so, and answers again."""
    before = ask(wick.base, "generation")["generation"]
    server.stop()
    status, sentence = failure(wick.base, "flame")
    ok = check("a server that is away is a sentence", status == 503 and f"ClickHouse at {server.url}: " in sentence, sentence)
    ok &= check("pages hear of it", eventually(lambda: ask(wick.base, "generation")["generation"] > before))
    server.start()
    return ok & check("it answers again", eventually(lambda: failure(wick.base, "flame")[0] == 200))


def check_clickhouse(python, work, rng, windows, first_ns, last_ns):
    server = ClickHouse(python, os.path.join(work, "clickhouse"))
    options = {"clickhouse": {"endpoint": server.url, "database": "fleet"}}
    shows = Wick(work, "nop", {}, options)
    missing = failure(shows.base, "flame")
    writers = [Wick(work, "clickhouse", options["clickhouse"], page) for page in (options, {})]
    local = Wick(work, "store", {"path": os.path.join(work, "store")}, {})
    ok = False
    try:
        ok = check("tables that are not there yet are a sentence", missing[0] == 503 and "no profiles of wick" in missing[1], missing)
        for i, window in enumerate(windows):
            send(writers[i % 2].base, window)
        ok &= compare_all(shows.base, rng, [s for w in windows for s in w.samples], first_ns, last_ns, keeps_lines=False)
        ok &= check("a page that names no store shows what its exporter writes", ask(writers[1].base, "status")["backend"] == "clickhouse")
        status = ask(shows.base, "status")
        ok &= check("it says what there is", status["backend"] == "clickhouse" and status["bytes"] > 1000 and
                    status["levels"][0]["rows"] == sum(len(w.samples) for w in windows), status)
        ok &= compare_rates(writers[0].base, shows.base, first_ns)
        ok &= compare_machines(rng, local.base, writers[0].base, shows.base)
        ok &= compare_annotations(shows.base, last_ns)
        status, sentence = failure(shows.base, "lanes")
        ok &= check("says that it has no lanes", status == 400 and "sums only" in sentence, sentence)
        ok &= check("lists no labels of samples", ask(shows.base, "values", label="label") == [])
        for question in ("flame?where=label.tenant%3Da&part=", "chart?by=label.tenant&part=", "values?label=label.tenant&part="):
            status, sentence = failure(shows.base, question)
            ok &= check(f"says that it has no labels of samples: {question}", status == 400 and "label.KEY" in sentence, sentence)
        ok &= check_away(shows, server)
    finally:
        for wick in writers + [shows, local]:
            ok &= wick.stop()
        server.stop()
    return ok


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--clickhouse", action="store_true")
    options.add_argument("seed", nargs="?", type=int, default=1)
    options = options.parse_args()
    rng = random.Random(options.seed)
    if options.clickhouse:
        venv = subprocess.run([os.path.join(HERE, "peers/venv.sh"), "clickhouse"], stdout=subprocess.PIPE, text=True,
                              check=False)
        if venv.returncode:
            print("ok - clickhouse # SKIP the engine, chdb of PyPI, cannot be installed here")
            return
    # Two hours ago: minutes, ten minutes and an hour of it are rolled up while the test runs.
    last_ns = (int(time.time()) - 60) * 10**9
    first_ns = last_ns - 2 * 3600 * 10**9
    windows = [Window(rng, rng.choice("ab"), rng.randrange(first_ns, last_ns - 5 * 10**9)) for _ in range(WINDOWS)]
    with tempfile.TemporaryDirectory() as work:
        if options.clickhouse:
            ok = check_clickhouse(venv.stdout.strip(), work, rng, windows, first_ns, last_ns)
        else:
            ok = check_local(work, rng, windows, first_ns, last_ns)
    sys.exit(not ok)


if __name__ == "__main__":
    main()
