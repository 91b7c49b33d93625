#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thread-local variables as labels of samples (docs/requests.md): arrays of characters, pointers and numbers, in programs and libraries that
reach them in each way there is. The judges are the programs themselves: which function works for whom, and what that took by the clocks of
its threads. And programs whose variables say what nobody could mean."""
import collections
import gzip
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import common

TAP = common.Tap()
RATE = 997
LABELS = ("tenant=current_tenant:string", "route=current_route:pointer", "job=current_job:u32", "offset=current_offset:s64")
# What the variables say while the function works for that tenant.
VALUES = {"a": ("a", "GET /a", "1", "-1"), "b": ("b", "GET /b", "2", "-2"), "sleeping": ("sleeping", "GET /sleeping", "3", "-3"),
          "faulting": ("faulting", "GET /faulting", "4", "-4"), "beside": ("beside", "GET /beside", "4000000000", str(-2 ** 63))}
NAMES = ("tenant", "route", "job", "offset")
NOBODY = (None, None, "0", "0")


def victim(name):
    return os.path.join(common.VICTIMS, name)


class Judged:
    """What a recording says of a program, beside what that says itself."""

    def __init__(self, source, said):
        self.profile = common.Profile(source)
        self.took = {words[1]: int(words[2]) for words in map(str.split, said.splitlines()) if words[:1] == ["tenant"]}
        self.by_kind = collections.defaultdict(collections.Counter)     # (type, function's tenant): what labels say, value
        samples = list(self.samples())
        first_ns = min((min(self.times(s)) for _, s in samples), default=0)
        self.known_ns = min((min(self.times(s)) for _, s in samples if self.told(s) != (None,) * 4), default=0)
        self.waited_ns = self.known_ns - first_ns   # until wick knew where the variables are
        for kind, sample in samples:
            self.count_sample(kind, sample)

    @staticmethod
    def times(sample):
        return [int(t) for t in sample["timestampsUnixNano"]]

    def told(self, sample):
        attributes = self.profile.attributes(sample)
        return tuple(attributes.get(name) for name in NAMES)

    def samples(self):
        for resource in self.profile.data.get("resourceProfiles", []):
            for scope in resource.get("scopeProfiles", []):
                for profile in scope.get("profiles", []):
                    kind = self.profile.strings[profile["sampleType"].get("typeStrindex", 0)]
                    for sample in profile.get("samples", []):
                        yield kind, sample

    def count_sample(self, kind, sample):
        _, user, _ = self.profile.stack(sample.get("stackIndex", 0))
        times = self.times(sample)
        values = [int(v) for v in sample.get("values", [])] or [1] * len(times)
        value = sum(v for v, t in zip(values, times) if t >= self.known_ns)
        meant = next((name for name in VALUES if "work_" + name in user), "outside" if "outside" in user else "between")
        # A wait that has not ended when the recording does has no labels: its thread is not there to be asked.
        kind += " in waits" if kind == "wall" and "wait.reason" in self.profile.attributes(sample) else ""
        self.by_kind[kind, meant][self.told(sample)] += value

    def share(self, kind, name):
        """The part of what the tenant's function took, and of which kind, whose labels all say so; and all of it."""
        found = self.by_kind[kind, name]
        everything = sum(found.values())
        return (found[VALUES[name]] / everything if everything else 0.0), everything

    def texts(self, label):
        """What is said under that label, with how many samples."""
        found = collections.Counter()
        for sample in self.profile.samples:
            if label in sample.attributes:
                found[sample.attributes[label]] += sample.count
        return found


def flags(labels):
    return [word for label in labels for word in ("--thread-label", label)]


def recorded(command, arguments=(), environment=None, seconds=4, labels=LABELS):
    """The program runs already when it is recorded, and ends after."""
    with tempfile.TemporaryDirectory(prefix="wick-labels-") as folder:
        out = f"{folder}/r.otlp"
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        time.sleep(0.1)
        result = subprocess.run([common.WICK, "record", "-v", "-F", str(RATE), "-d", str(seconds), "-p", str(process.pid), *flags(labels),
                                 *arguments, "-o", out], capture_output=True, text=True, timeout=120, check=False)
        said, _ = process.communicate(timeout=60)
        if result.returncode or not os.path.exists(out):
            TAP.note(result.stderr[-2000:])
            return None, ""
        return Judged(out, said), result.stderr


def counter(said, name):
    found = re.search(rf"^\s*(\d+)\s+{name}\b", said, re.M)
    return int(found.group(1)) if found else 0


def kinds():
    """Samples of all kinds, in two threads that work for different tenants at once."""
    judged, said = recorded([victim("v-labels"), "work", "6"], ["-e", "cpu,off_cpu,wall,faults"])
    if not TAP.check("record takes all kinds of a program with labels", judged is not None):
        return
    for kind, name in (("samples", "a"), ("samples", "b"), ("samples", "beside"), ("off_cpu", "sleeping"), ("wall", "a"),
                       ("wall in waits", "sleeping"), ("page-faults", "faulting")):
        share, everything = judged.share(kind, name)
        TAP.check(f"{kind} for {name} say so", everything > 50 and share >= 0.99, f"{100 * share:.2f} % of {everything}")
    outside = judged.by_kind["samples", "outside"]
    TAP.check("an empty text and NULL are no labels, 0 is one", outside[NOBODY] > 50 and outside[NOBODY] >= 0.99 * sum(outside.values()),
              str(dict(outside)))
    TAP.check_or_note("samples with labels, and the process, are counted", counter(said, "samples_with_thread_labels") > 100 and
                      counter(said, "processes_with_thread_labels") == 1, said)


def cpu_time():
    """What tenants took, by the samples and by the clocks of the threads, of the whole run of a program that wick starts."""
    with tempfile.TemporaryDirectory(prefix="wick-labels-") as folder:
        out = f"{folder}/r.otlp"
        result = subprocess.run([common.WICK, "record", "-v", "-F", str(RATE), *flags(LABELS), "-o", out, "--", victim("v-labels"), "work", "10"],
                                capture_output=True, text=True, timeout=120, check=False)
        if not TAP.check("record of a program from its start", result.returncode == 0, result.stderr[-300:] if result.returncode else ""):
            return
        judged = Judged(out, result.stdout)
    period_ns = max(judged.profile.periods_ns)
    for label, place in (("tenant", 0), ("route", 1), ("job", 2)):
        texts = judged.texts(label)
        for name in ("a", "b", "beside"):
            sampled, true = texts[VALUES[name][place]] * period_ns, judged.took[name]
            # On a busy machine the program gets little time, and chance a larger part of it.
            allowed = max(0.05 * true, common.RARELY * math.sqrt(true * period_ns))
            TAP.check(f"the CPU time of {label} {VALUES[name][place]} is what the thread's clock says", abs(sampled - true) <= allowed,
                      f"{sampled / 1e9:.3f} s of {true / 1e9:.3f} s, {allowed / 1e9:.3f} s allowed")


def variants():
    """Each way to reach a thread's variable: in programs and libraries, from the start on and loaded later, glibc and musl."""
    tries = [(name, name, None, None) for name in ("v-labels-hidden", "v-labels-nopie", "v-labels-static", "v-labels-static-pie",
                                                   "v-labels-musl", "v-labels-linked")]
    tries += [(f"v-labels-dl with {kind}", "v-labels-dl", kind, None) for kind in ("default", "ie", "large", "hidden", "gnu2", "gnu2-hidden")]
    tries += [("v-labels-dl with gnu2-hidden, no static room", "v-labels-dl", "gnu2-hidden", "glibc.rtld.optional_static_tls=0"),
              ("v-labels-dl-musl", "v-labels-dl-musl", "musl", None)]
    for title, program, library, tunables in tries:
        path = victim(f"libv-labels-{library}.so") if library else None
        if not os.path.exists(victim(program)) or (path and not os.path.exists(path)):
            TAP.skip(title, "was not built here")
            continue
        environment = {**({"LABELS_LIBRARY": path} if path else {}), **({"GLIBC_TUNABLES": tunables} if tunables else {})}
        share, everything, judged = 0, 0, None
        for seconds in (1.5, 6, 15):    # what comes late on a busy machine needs more of it
            if everything <= 20:
                judged, _ = recorded([victim(program), "work", str(seconds + 1)], environment=environment, seconds=seconds)
                share, everything = judged.share("samples", "a") if judged and judged.known_ns else (0, 0)
        TAP.check(title, share >= 0.99 and everything > 20, f"{100 * share:.2f} % of {everything}, the first after "
                  f"{judged.waited_ns / 1e6 if judged else 0:.0f} ms")


def children():
    judged, _ = recorded([victim("v-labels"), "fork", "5"], ["--children"])
    share, everything = judged.share("samples", "a") if judged else (0, 0)
    TAP.check("a child of a fork has the labels of its own threads", share >= 0.99 and everything > 50, f"{100 * share:.2f} % of {everything}")


def absent():
    """Who is not meant has none, and costs none."""
    for title, label in (("a variable that nobody has", "tenant=of_nobody:u32"), ("a file that does not fit", "tenant=current_tenant:string@/libapp"),
                         ("a function of that name", "tenant=burn:u32")):
        judged, said = recorded([victim("v-labels"), "work", "2"], seconds=1, labels=[label])
        TAP.check(f"{title}: no labels", judged is not None and not judged.texts("tenant") and not counter(said, "samples_with_thread_labels"))
    judged, said = recorded([victim("v-labels"), "work", "2"], seconds=1, labels=["tenant=current_job:u64"])
    TAP.check_or_note("a variable that is too small for its type is refused, and counted", judged is not None and not judged.texts("tenant") and
                      counter(said, "processes_with_thread_labels_refused") == 1, said)
    judged, _ = recorded([victim("v-labels"), "work", "3"], seconds=2, labels=["tenant=of_nobody:u32", r"tenant=current_tenant:string@/v-labels$"])
    TAP.check("of two labels of one name that which is there counts", judged is not None and judged.texts("tenant")["a"] > 50)


def hostile():
    """Nothing is made up of what nobody could mean, it is counted, and what the others say stays."""
    cut = "x" * 63
    for how, label, expected, unread in (("nowhere", "route", None, True), ("kernel", "route", None, True), ("noncanonical", "route", None, True),
                                         ("edge", "route", None, True), ("long", "route", cut, False),
                                         ("unterminated", "tenant", "0123456789abcdef" * 2, False), ("binary", "route", "????(?", False)):
        for seconds in (1.5, 6, 15):
            judged, said = recorded([victim("v-labels"), "hostile", str(seconds + 1), how], seconds=seconds)
            if counter(said, "samples_with_thread_labels") > 10:
                break
        if not TAP.check(f"hostile, {how}: wick is well", judged is not None and "samples_lost" not in said):
            continue
        texts, jobs = judged.texts(label), judged.texts("job")
        TAP.check(f"hostile, {how}: it is shown as far as it is text, or counted",
                  set(texts) == ({expected} if expected else set()) and (counter(said, "thread_labels_unreadable") > 10) == unread,
                  f"{dict(texts)}, {counter(said, 'thread_labels_unreadable')} unreadable")
        TAP.check(f"hostile, {how}: other labels stay", jobs["7"] > 10, str(dict(jobs)))
    judged, said = recorded([victim("v-labels"), "hostile", "3", "changing"], seconds=1.5)
    TAP.check("hostile, changing: wick is well", judged is not None and "samples_lost" not in said and
              all(min(text) >= " " and len(text.encode()) < 64 for text in judged.texts("route")))
    for seconds in (6, 20):     # a program that gets little time has few samples in a window
        judged, said = recorded([victim("v-labels"), "hostile", str(seconds + 2), "new"], seconds=seconds)
        lost = counter(said, "thread_labels_past_limit")
        if lost > 100:
            break
    if TAP.check("hostile, new: wick is well", judged is not None and "samples_lost" not in said):
        texts, windows = judged.texts("job"), seconds // 5 + 2
        TAP.check("hostile, new: so many values of a process are kept in a window, the rest is one", 900 < len(texts) <= windows * 1024 + 1 and
                  texts["[other]"] == lost > 100, f"{len(texts)} values, {texts['[other]']} samples of others, {lost} counted")


CONFIG = """
receivers:
  profiling:
    samples_per_second: %(rate)d
    reporter_interval: 500ms
    include: [{executable: "v-labels$"}]
    governor: {max_cpu: 0}
    thread_labels:
      - {name: tenant, variable: current_tenant, file: 'v-labels$', type: string}
      - {name: not.meant, variable: current_tenant, file: 'libv-', type: string}
      - {name: job, variable: current_job, type: u32}
exporters:
  file: {path: "%(folder)s/out.json", flush_interval: 50ms, append: true}
  store: {path: "%(folder)s/store"}
extensions:
  page: {endpoint: "127.0.0.1:%(port)d"}
service:
  extensions: [page]
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [profiling], exporters: [file, store]}
"""


def in_file(path):
    """Samples by their labels, as the receiver has sent them."""
    found = collections.Counter()
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    for sample in common.Profile(json.loads(line)).samples:
                        found[tuple(sample.attributes.get(name) for name in ("tenant", "job", "not.meant"))] += sample.count
    return found


def page(port, name, **query):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{name}?" + urllib.parse.urlencode(query), timeout=20) as answer:
        return answer.read()


def on_page(port, label, **query):
    try:
        return dict(map(tuple, json.loads(page(port, "values", label=label, **query))))
    except OSError:
        return {}


def whose_time(port, found, took):
    """What the page says each tenant took: sample by sample what was sent, and a split that the program's own clocks confirm."""
    sent, seen = collections.Counter(), {}
    for (tenant, _, _), count in found.items():
        sent[tenant or ""] += count
    end = time.monotonic() + 15
    while time.monotonic() < end and seen != dict(sent):
        seen = on_page(port, "label.tenant")
        time.sleep(0.3)
    TAP.check("the page has the time by tenant that was sent", bool(seen) and seen == dict(sent), f"{seen}, sent {dict(sent)}")
    names = ("a", "b", "beside")
    sampled, true = sum(seen.get(name, 0) for name in names), sum(took.get(name, 0) for name in names)
    for name in names:
        share, wanted = seen.get(name, 0) / max(sampled, 1), took.get(name, 0) / max(true, 1)
        allowed = max(0.01, common.by_chance(wanted, max(sampled, 1)))
        TAP.check(f"the page's split of CPU time: {name}", sampled > 500 and abs(share - wanted) <= allowed,
                  f"{100 * share:.2f} % of {sampled}, by its clock {100 * wanted:.2f} %")
    jobs = on_page(port, "label.job", where="label.tenant=a")
    rows = {row[0]: row[5] for row in json.loads(page(port, "top", where="label.tenant=a", rows=1000))["rows"]}
    TAP.check("filters by tenant", jobs == {"1": seen.get("a")} and rows.get("work_a", 0) >= 0.99 * seen.get("a", 0) > 0 and
              not rows.get("work_b"), f"{jobs}, work_a {rows.get('work_a')}, work_b {rows.get('work_b')}")
    TAP.check("what is downloaded has labels again", all(text in gzip.decompress(page(port, "export", format="pprof"))
                                                         for text in (b"tenant", b"beside", b"job")))


def configured():
    """The receiver's option, through a sampler of its own; the page's answers; and labels in pprof."""
    with tempfile.TemporaryDirectory(prefix="wick-labels-") as folder:
        port = common.free_port()
        with open(f"{folder}/config.yaml", "w", encoding="utf-8") as file:
            file.write(CONFIG % {"folder": folder, "port": port, "rate": RATE})
        with open(f"{folder}/log", "wb") as log:
            wick = subprocess.Popen([common.WICK, "--config", f"{folder}/config.yaml"], stdout=log, stderr=log)
        program = subprocess.Popen([victim("v-labels"), "work", "12"], stdout=subprocess.PIPE, text=True)
        printed, _ = program.communicate(timeout=60)
        took = {words[1]: int(words[2]) for words in map(str.split, printed.splitlines()) if words[:1] == ["tenant"]}
        found, before = in_file(f"{folder}/out.json"), None
        end = time.monotonic() + 20
        while time.monotonic() < end and (found["a", "1", None] < 20 or found != before):
            time.sleep(1)
            before, found = found, in_file(f"{folder}/out.json")
        with open(f"{folder}/log", encoding="utf-8", errors="replace") as log:
            said = log.read()[-500:]
        TAP.check("thread_labels of the receiver, in files that fit", found["a", "1", None] >= 20 and not any(labels[2] for labels in found),
                  f"{dict(found)} {said if not found else ''}")
        whose_time(port, found, took)
        wick.terminate()
        wick.wait(timeout=30)
        subprocess.run([common.WICK, "record", "-F", str(RATE), *flags(LABELS), "-o", f"{folder}/r.pb.gz", "--", victim("v-labels"), "work", "1.5"],
                       capture_output=True, timeout=60, check=False)
        with gzip.open(f"{folder}/r.pb.gz") as file:
            body = file.read()
        TAP.check("pprof has them as labels", all(text in body for text in (b"tenant", b"beside", b"route", b"GET /a", b"4000000000")))


def main():
    if not common.privileged_or_skip(TAP, "thread labels"):
        TAP.end()
    for part in sys.argv[1:] or ["kinds", "cpu_time", "variants", "children", "absent", "hostile", "configured"]:
        globals()[part]()
    TAP.end()


main()
