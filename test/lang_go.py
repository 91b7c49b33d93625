# SPDX-License-Identifier: Apache-2.0
"""Go: programs linked in every way, against what their sources say of their stacks (test/victims/go/work) and of their
goroutines' labels (test/victims/go/labels), and against Go's own CPU profile of the same run."""
import collections
import os
import re
import shutil
import subprocess
import tempfile

from common import ROOT, Recording
from runtime_profile import Stacks, Victim, check_most, check_real, record_beside

KIND = "go"
VICTIMS = os.path.join(ROOT, "test", "victims", "go")
PREFIX = "process.context.label."
INSTALL = os.path.join(ROOT, "test", "runtimes", "install.sh")
VERSION = "installed"
VERSIONS = ["1.19", "1.20.14", "1.21.13", "1.22.12", "1.23.12", "1.24.13", "1.25.14", "1.26.8", "1.27.3"]
SAMPLES, FULL_SAMPLES = 800, 5600
EXACT = 0.99
SHARE_POINTS = 3
JUDGE_POINTS = 5
JUDGE_HZ, JUDGE_SAMPLES = 250, 1500
# Until wick has its tables, and the kernel has checked the program that walks Go, it walks copies of stacks, in which there
# are no labels. On a busy machine that takes a second.
SETTLE_NS = 1_500_000_000

# What a function's goroutine is labelled with while it runs.
MANY = {f"key{i:02}": str(i % 10) * (10 * i + 1) for i in range(12)}
LABELS = {
    "main.viaC": {"function": "viaC"},
    "main.long": {"function": "long"},
    "main.inner": {"größe": "长", "level": "inner", "of": "nested"},
    "main.many": MANY,
    "main.none": {},
}

# What is below main.scenario(), or a goroutine's first function; * is code that is not Go's. The runtime may interrupt.
MAIN = r"runtime\.goexit;runtime\.main;main\.main;main\.scenario;"
SPLIT = r"main\.split(;main\.[abc](;main\.spin)?)?"
SCENARIOS = {
    "split": MAIN + SPLIT,
    "recursion": MAIN + r"main\.recursion((;main\.down){0,500}|(;main\.down){500};main\.spin)",
    "panics": MAIN +
              r"main\.catcher(;main\.thrower(;main\.spin|;runtime\.gopanic(;main\.catcher\.func1(;main\.spin)?)?)?)?",
    "objects": MAIN +
               r"main\.objects(;main\.sum\[\.\.\.\](;main\.shape\.area)?(;main\.\(\*square\)\.area(;main\.spin)?)?)?",
    "goroutines": r"runtime\.goexit;(main\.goroutines\.gowrap\d;)?main\.goroutines\.func1;" + SPLIT,
    "growth": r"runtime\.goexit;main\.growth\.func1(;main\.eat)*",
}
# Stacks of these come to an end at a function that nobody has called.
WHOLE = ["channels", "garbage"]
ROOTS = {"runtime.goexit", "runtime.mstart", "runtime.mcall", "runtime.rt0_go", "runtime.gogo", "gogo",
         "runtime.morestack"}
RUNTIME = r"(;(runtime\.|\*).*)?"
# A stack that has one of these is one of the chain's.
INSIDE = {"main.spin", "main.a", "main.b", "main.c", "main.split", "main.down", "main.thrower", "main.eat",
          "main.(*square).area", "runtime.copystack"}
# Go's own profile leaves out what it calls wrappers, and where a stack ends. SIGPROF that comes with the signal of a
# preemption is handled behind it, where that signal has just made the goroutine call asyncPreempt().
UNJUDGED = re.compile(
    r"runtime\.(goexit|asyncPreempt|runOpenDeferFrame|deferCallSave|deferreturn|_.*)|.*\.gowrap\d+")

# How a program may be linked: flags, whether cgo is on, whether it is stripped.
MODES = {
    "plain": ([], "0"),
    "stripped": (["-ldflags=-s -w"], "0"),
    "PIE": (["-buildmode=pie"], "0"),
    "cgo": (["-tags=with_c"], "1"),
    "static": (["-tags=with_c", "-ldflags=-linkmode=external -extldflags=-static"], "1"),
    "c-shared": (["-tags=with_c", "-buildmode=c-shared"], "1"),
}


def build(folder, go, victim, flags=(), **environment):
    """The path of the program, or None with the reason."""
    path = os.path.join(folder, victim)
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", **environment}
    result = subprocess.run([go, "build", *flags, "-o", path, "./" + victim], cwd=VICTIMS, env=environment,
                            capture_output=True, text=True, timeout=600, check=False)
    return (path, "") if result.returncode == 0 else (None, result.stderr[-500:])


def link_library(folder, library):
    """A program in C that runs one built as a library."""
    path = os.path.join(folder, "run_main")
    os.rename(library, os.path.join(folder, "liblabels.so"))
    source = os.path.join(VICTIMS, "run_main.c")
    result = subprocess.run(["gcc", "-o", path, source, "-L" + folder, "-llabels", "-Wl,-rpath," + folder],
                            capture_output=True, text=True, timeout=60, check=False)
    return (path, "") if result.returncode == 0 else (None, result.stderr[-500:])


def labels_of(attributes):
    return {key[len(PREFIX):]: value for key, value in attributes.items() if key.startswith(PREFIX)}


def is_request(labels, parity):
    """Labels that were garbage soon after: gone, but never those of another request."""
    return not labels or (labels.get("kind") == parity and labels.get("request", "").startswith(parity + "-"))


def settled(stacks, pid):
    """Names of functions, labels and how often, from a little after the first labels on."""
    samples = [s for s in stacks.profile.samples if s.pid == pid]
    first_ns = min((t for s in samples if labels_of(s.attributes) for t in s.times_ns), default=0) + SETTLE_NS
    for sample in samples:
        count = sum(t >= first_ns for t in sample.times_ns)
        if count:
            yield {f.name for f in stacks.user_frames(sample)}, labels_of(sample.attributes), count


def check_labels(tap, name, stacks, pid):
    good, bad, requests, kept, many, many_kept = 0, [], 0, 0, 0, 0
    for names, labels, count in settled(stacks, pid):
        function = next((n for n in LABELS if n in names), None)
        parity = next((p for p in ("even", "odd") if "main." + p in names), None)
        if function == "main.many":
            # More than the kernel half reads: where the process has used their memory again they are gone, but never garbage.
            right = not labels or labels == LABELS[function]
            many += count
            many_kept += count * bool(labels)
        elif function:
            right = labels == LABELS[function]
        elif parity:
            right = is_request(labels, parity)
            requests += count
            kept += count * bool(labels)
        else:
            continue
        good += count * right
        if not right:
            bad.append((count, function or parity, labels))
    total = good + sum(count for count, _, _ in bad)
    tap.check(f"{name}: labels of the function that runs", total > 100 and good / total >= EXACT, f"{good} of {total}")
    for entry in sorted(bad, key=lambda e: -e[0])[:3]:
        tap.note(entry)
    tap.check(f"{name}: labels that are soon garbage", requests and kept / requests >= 0.5, f"{kept} of {requests}")
    tap.check(f"{name}: more labels than are signed", many and many_kept / many >= 0.9, f"{many_kept} of {many}")


def run_labels(tap, name, path, samples):
    with Victim([path, "600s"]) as victim:
        if not tap.check(f"{name}: started", victim.pid):
            return
        recording, stacks = record_beside(victim, samples, KIND, settle_ns=SETTLE_NS)
        pid = victim.pid
    if tap.check(f"{name}: recorded", stacks and stacks.count, "" if stacks else recording.said()[-300:]):
        check_labels(tap, name, stacks, pid)


def marks():
    """{function: the line that the victim's source marks with its name}"""
    with open(os.path.join(VICTIMS, "work", "main.go"), encoding="utf-8") as file:
        found = ((re.search(r"// @(\w+)$", line), number) for number, line in enumerate(file, 1))
        return {"main." + match[1]: number for match, number in found if match}


def check_split(tap, name, stacks):
    """Shares and lines of the functions that split() calls."""
    lines, right, wrong, totals = marks(), 0, collections.Counter(), collections.Counter()
    for frames, count, _ in stacks.all:
        for frame, callee in zip(frames, frames[1:]):
            totals[callee.name] += count
            if callee.name != "main.spin":
                continue
            if frame.file.endswith("work/main.go") and frame.line == lines.get(frame.name):
                right += count
            else:
                wrong[f"{frame.name} {frame.file}:{frame.line}"] += count
    check_most(tap, f"{name}: lines of callers", right, wrong, EXACT)
    for function, wanted in (("main.a", 60), ("main.b", 30), ("main.c", 10)):
        share = 100 * totals[function] / max(1, totals["main.split"])
        tap.check(f"{name}: share of {function}", abs(share - wanted) <= SHARE_POINTS, f"{share:.1f} %")


def check_chain(tap, name, stacks, pattern):
    wanted, good, bad = re.compile(pattern + RUNTIME), 0, collections.Counter()
    for frames, count, _ in stacks.all:
        if not INSIDE & {f.name for f in frames}:
            continue
        parts = []
        for frame in frames:
            part = frame.name if frame.kind == KIND else "*"
            if part != "*" or parts[-1:] != ["*"]:
                parts.append(part)
        text = ";".join(parts)
        if wanted.fullmatch(text):
            good += count
        elif count:
            bad[f"{text[:150]} ... {text[-150:]}"] += count
    check_most(tap, f"{name}: every frame, in order", good, bad, EXACT, least=51)
    if not good and not bad:
        for frames, count, _ in sorted(stacks.all, key=lambda s: -s[1])[:5]:
            tap.note(f"{count} of {stacks.count}: " + ";".join(f"{f.name}({f.kind})" for f in frames)[-300:])


def check_whole(tap, name, stacks):
    bad = collections.Counter()
    for frames, count, _ in stacks.all:
        if count and frames and frames[0].name not in ROOTS:
            bad[";".join(f.name for f in frames)[:200]] += count
    check_most(tap, f"{name}: whole stacks", stacks.count - sum(bad.values()), bad, EXACT)


def run_scenario(tap, name, path, scenario, samples):
    with Victim([path, scenario, "600"]) as victim:
        recording, stacks = record_beside(victim, samples, KIND, settle_ns=SETTLE_NS)
    if not tap.check(f"{name}: recorded", stacks and stacks.count, "" if stacks else recording.said()[-300:]):
        return
    if scenario in WHOLE:
        check_whole(tap, name, stacks)
    else:
        check_chain(tap, name, stacks, SCENARIOS[scenario])
    if scenario == "split":
        check_split(tap, name, stacks)


def judged(go, path):
    """By Go's own profile: how many samples there are, and the inclusive share of each function in percent."""
    def tool(*flags):
        return subprocess.run([go, "tool", "pprof", *flags, path], capture_output=True, text=True, timeout=120,
                              check=True).stdout.splitlines()
    rows = (re.fullmatch(r"\s*\S+\s+\S+%\s+\S+%\s+\S+\s+(\S+)%\s+(.*?)( \((partial-)?inline\))?", row)
            for row in tool("-top", "-cum", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0"))
    samples = (re.match(r"\s*(\d+)\s+\d+:", row) for row in tool("-raw"))
    return sum(int(s[1]) for s in samples if s), {row[2]: float(row[1]) for row in rows if row}


def check_judge(tap, name, go, path, scenario, samples, folder):
    profile = os.path.join(folder, "cpu.pprof")
    # The kernel looks at such timers only at its own ticks: some are lost.
    seconds = 1.4 * samples / JUDGE_HZ
    victim = ["env", "WICK_CPU_PROFILE=" + profile, path, scenario, f"{seconds:.1f}"]
    recording = Recording([], command=victim, timeout=60 + 12 * seconds).wait()
    if not tap.check(f"{name}: judged", recording.status == 0, recording.said()[-300:] if recording.status else ""):
        return
    ours = recording.profile()
    pids = collections.Counter(s.pid for s in ours.samples for _ in s.times_ns)
    stacks = Stacks(ours, pids.most_common(1)[0][0])
    count, truth = judged(go, profile)
    found = {function: 100 * share for function, share in stacks.inclusive(KIND).items()}
    off = {f: found.get(f, 0) - truth.get(f, 0) for f in {*truth, *found}
           if max(truth.get(f, 0), found.get(f, 0)) >= 2 and not UNJUDGED.fullmatch(f)}
    worst = sorted(off, key=lambda f: -abs(off[f]))[:5]
    told = ", ".join(f"{f} {off[f]:+.1f}" for f in worst)
    tap.check(f"{name}: within {JUDGE_POINTS} points of Go's own profile", off and abs(off[worst[0]]) <= JUDGE_POINTS,
              f"{stacks.count} and {count} samples, {len(off)} functions; {told}")


def run_mode(tap, version, go, mode, full):
    """One way to link a program: labels, and a chain of calls where there is no C."""
    flags, cgo = MODES[mode]
    samples, name = FULL_SAMPLES if full else SAMPLES, f"{version} {mode}"
    with tempfile.TemporaryDirectory() as folder:
        path, reason = build(folder, go, "labels", flags, CGO_ENABLED=cgo)
        if path and mode == "c-shared":
            path, reason = link_library(folder, path)
        if tap.check(f"{name} labels: built", path, reason):
            run_labels(tap, f"{name} labels", path, samples)
        if cgo == "1":
            return
        path, reason = build(folder, go, "work", flags, CGO_ENABLED=cgo)
        if not tap.check(f"{name}: built", path, reason):
            return
        for scenario in [*SCENARIOS, *WHOLE] if mode == "plain" else ["split", "growth"]:
            run_scenario(tap, f"{name} {scenario}", path, scenario, samples)
        for scenario in [] if mode != "plain" else ["goroutines", "panics"] if full else ["goroutines"]:
            check_judge(tap, f"{name} {scenario}", go, path, scenario, max(samples, JUDGE_SAMPLES), folder)


def check_build(tap, name, go, packages, folder):
    """A real program: Go builds its own library."""
    environment = ["GOTOOLCHAIN=local", "GOFLAGS=-buildvcs=false", "GOCACHE=" + os.path.join(folder, "cache")]
    check_real(tap, name, ["env", *environment, go, "build", *packages])


def find_go(version):
    """Its command, or None with the reason."""
    if version == VERSION:
        return ("go", "") if shutil.which("go") else (None, "go is not installed")
    result = subprocess.run([INSTALL, "go", version], capture_output=True, text=True, timeout=700, check=False)
    if result.returncode:
        return None, (result.stderr.strip().splitlines() or ["it cannot be installed"])[-1]
    return result.stdout.strip(), ""


def run(tap, version, full):
    go, reason = find_go(version)
    if not go:
        tap.skip(f"go {version}", reason)
        return
    for mode in MODES if full else ["plain", "c-shared"]:
        run_mode(tap, version, go, mode, full)
    if not full or version == VERSIONS[-1]:
        with tempfile.TemporaryDirectory() as folder:
            packages = ["std"] if full else ["sort"]
            check_build(tap, f"{version} go build {packages[0]}", go, packages, folder)
