# SPDX-License-Identifier: Apache-2.0
"""JavaScript in Node.js: test/victims/v8/victim.js against what its source says of its stacks, with V8's tiers as they
come and with single ones, against Node's own profiler (--cpu-prof), and bundled, by its source map."""
import collections
import glob
import json
import os
import re
import subprocess
import tempfile

from common import RATE_HZ, ROOT, Recording
from hostile import RSS_LIMIT_MIB, Peak
from runtime_profile import Victim, check_most, record_beside

KIND = "v8js"
VICTIM = os.path.join(ROOT, "test", "victims", "v8", "victim.js")
CORRUPT = os.path.join(ROOT, "test", "victims", "v8", "corrupt.py")
MAPPED = os.path.join(ROOT, "test", "victims", "v8", "mapped")
NPM, ESBUILD = os.path.join(ROOT, "test", "peers", "npm.sh"), "0.25.10"
INSTALL = os.path.join(ROOT, "test", "runtimes", "install.sh")
VERSION = "20"
VERSIONS = ["16", "18", "20", "22", "24", "25", "26"]
EXACT = 0.99
SHARE_POINTS = 3
JUDGE_POINTS = 5
SAMPLES, FULL_SAMPLES = int(os.environ.get("SAMPLES", 1500)), 6000
# Until wick has its tables it walks copies of stacks; functions that the collector has moved since have no names there.
SETTLE_NS = 1_000_000_000

CALLEES = ("split", "a", "b", "c", "spin")
SPIN = "(;spin)?"
# What is below main(); * is code that is not JavaScript: stubs, built-in functions, C++.
SCENARIOS = {
    "split": ("split(;(a|b|c)" + SPIN + ")?", {"a": 0.6, "b": 0.3, "c": 0.1}),
    "recursion": ("recursion(;down){0,500}" + SPIN, {"spin": None}),
    "exceptions": (r"exceptions(;(thrower|handler)(;\*)?" + SPIN + ")?.*", {"thrower": 0.5, "handler": 0.5}),
    "generators": (r"generators(;\*)?(;numbers" + SPIN + ")?", {"numbers": None}),
    "builtins": (r"builtins((;\*)?;each" + SPIN + ")?", {"each": None}),
    "substitution": (r"substitution((;\*)?;replace" + SPIN + ")?", {"replace": None}),
    # Of a getter that it has inlined into main(), TurboFan's positions do not always tell the callers between.
    "objects": (r"(objects((;\*)?;Derived((;\*)?;Base|;größe)?" + SPIN + ")?|größe" + SPIN + ")",
                {"Base": 0.5, "größe": 0.5}),
    "coroutines": (None, {"inner": None, "spin": None}),
}
TIERS = {
    "interpreter": ["--no-opt", "--no-sparkplug"],
    "baseline": ["--no-opt", "--always-sparkplug"],
}
# The functions of the program that Node runs before it comes to main(), which looks at the clock now and then.
BEFORE, CLOCK = r".*;main", r"(;(\*|now|get).*)?"


def find_node(version):
    """Its path, or None with the reason."""
    result = subprocess.run([INSTALL, "node", version], capture_output=True, text=True, timeout=400, check=False)
    if result.returncode:
        return None, (result.stderr.strip().splitlines() or ["it cannot be installed"])[-1]
    return result.stdout.strip(), ""


def stacks_of(command, samples):
    with Victim(command) as victim:
        if victim.pid is None:
            return None, "the victim did not start"
        recording, stacks = record_beside(victim, samples, KIND, settle_ns=SETTLE_NS)
        return (stacks, "") if stacks and stacks.count else (None, recording.said()[-300:])


def check_scenario(tap, name, command, scenario, samples):
    pattern, shares = SCENARIOS[scenario]
    stacks, reason = stacks_of([*command, VICTIM, scenario], samples)
    if not tap.check(f"{name}: recorded", stacks is not None, reason):
        return None
    if pattern:
        # What interrupts the innermost function, or what it calls in C++, is not the program's.
        share, bad = stacks.matching(KIND, f"{BEFORE}({CLOCK}|;{pattern}(;[*])?)")
        tap.check(f"{name}: every frame, in order", share >= EXACT, f"{100 * share:.2f} % of {stacks.count}")
        for count, text in bad:
            tap.note(f"{count} {text[-200:]}")
    found = stacks.inclusive(KIND)
    for function, wanted in shares.items():
        got = found.get(function, 0)
        good = got >= 0.97 if wanted is None else abs(got - wanted) <= SHARE_POINTS / 100
        tap.check(f"{name}: share of {function}", good, f"{got:.3f}, of {wanted or 'nearly all'}")
    return stacks


def marks(path=VICTIM):
    """{function: the line that the victim's source marks with its name}"""
    with open(path, encoding="utf-8") as file:
        found = ((re.search(r"// @(\w+)$", line), number) for number, line in enumerate(file, 1))
        return {match[1]: number for match, number in found if match}


def check_lines(tap, name, stacks):
    """Of the functions that call others, while they do: exactly."""
    lines, right, wrong = marks(), 0, collections.Counter()
    for frames, count, _ in stacks.all:
        mine = [f for f in frames if f.kind == KIND]
        for frame, callee in zip(mine, mine[1:]):
            if callee.name not in CALLEES or frame.name not in lines:
                continue
            if frame.file == VICTIM and frame.line == lines[frame.name]:
                right += count
            else:
                wrong[f"{frame.name} {frame.file}:{frame.line}"] += count
    check_most(tap, f"{name}: files and lines of callers", right, wrong, EXACT)


def judged(folder):
    """The inclusive share of each function by Node's own profile."""
    with open(glob.glob(os.path.join(folder, "*.cpuprofile"))[0], encoding="utf-8") as file:
        profile = json.load(file)
    nodes = {node["id"]: node for node in profile["nodes"]}
    parent = {child: node["id"] for node in profile["nodes"] for child in node.get("children", [])}
    totals, all_of_them = collections.Counter(), 0
    for sample in profile["samples"]:
        names, at = set(), sample
        while at is not None:
            names.add(nodes[at]["callFrame"]["functionName"])
            at = parent.get(at)
        if "main" in names:
            all_of_them += 1
            totals.update(names)
    return {name: count / max(1, all_of_them) for name, count in totals.items()}


def check_judge(tap, version, node, samples):
    name = f"{version} split"
    with tempfile.TemporaryDirectory() as folder:
        seconds = 2 + 2 * samples / RATE_HZ
        # --cpu-prof does not tell what was inlined.
        flags = ["--no-turbo-inlining", "--cpu-prof", f"--cpu-prof-dir={folder}"]
        if int(version) >= 22:
            flags.append("--no-maglev-inlining")
        with Victim([node, *flags, VICTIM, "split", str(seconds)]) as victim:
            _, stacks = record_beside(victim, samples, KIND, settle_ns=SETTLE_NS)
            victim.process.wait(timeout=60 + seconds)
        if not tap.check(f"{name}: judged", stacks and glob.glob(os.path.join(folder, "*.cpuprofile"))):
            return
        truth, found = judged(folder), stacks.inclusive(KIND)
    # Node's profiler has a thread of its own, in which main() is not.
    off = {n: 100 * (found.get(n, 0) / max(found.get("main", 0), 0.01) - truth.get(n, 0)) for n in CALLEES}
    tap.check(f"{name}: within {JUDGE_POINTS} points of --cpu-prof", max(map(abs, off.values())) <= JUDGE_POINTS,
              ", ".join(f"{n} {d:+.1f}" for n, d in off.items()))


def with_sections(text):
    """The same map, as one of several that a tool has put together."""
    return json.dumps({"version": 3, "sections": [{"offset": {"line": 0, "column": 0}, "map": json.loads(text)}]})


def bundle(folder, how):
    """The victim of several modules, bundled and made small: the script's path."""
    root = subprocess.run([NPM, "esbuild", ESBUILD], capture_output=True, text=True, timeout=400, check=True)
    script = os.path.join(folder, "dist", "app.js")
    subprocess.run([os.path.join(root.stdout.strip(), "node_modules", ".bin", "esbuild"),
                    os.path.join(MAPPED, "main.ts"), "--bundle", "--minify", "--platform=node", "--log-level=error",
                    "--sourcemap" + ("=inline" if how == "inline" else ""), f"--outfile={script}"],
                   check=True, timeout=60)
    if how == "sections":
        with open(script + ".map", encoding="utf-8") as file:
            text = file.read()
        with open(script + ".map", "w", encoding="utf-8") as file:
            file.write(with_sections(text))
    return script


def check_source_map(tap, version, node, how, samples):
    name = f"{version} source map, {how}"
    lines = marks(os.path.join(MAPPED, "main.ts"))
    with tempfile.TemporaryDirectory() as folder:
        try:
            script = bundle(folder, how)
        except (OSError, subprocess.SubprocessError) as error:
            tap.skip(name, f"no bundle could be made: {error}")
            return
        stacks, reason = stacks_of([node, script], samples)
    if not tap.check(f"{name}: recorded", stacks is not None, reason):
        return
    right, wrong = 0, collections.Counter()
    for frames, count, _ in stacks.all:
        mine = [f for f in frames if f.kind == KIND and f.file.startswith(MAPPED)]
        names = [f.name for f in mine]
        good = len(names) >= 4 and names[-4:-2] == ["runForEver", "runBoth"] and names[-2] in lines and \
            names[-1] == "spinAround" and mine[-1].file.endswith("/work.ts") and \
            all(f.line == lines[f.name] for f in mine if f.name in lines)
        if good:
            right += count
        else:
            wrong[";".join(f"{f.name} {f.file}:{f.line}" for f in frames if f.kind == KIND)[-300:]] += count
    check_most(tap, f"{name}: original names, files and lines", right, wrong, 0.97, least=samples // 4)


def check_hostile(tap, version, node, seconds):
    """Processes whose objects are spoiled while they are looked at must not harm wick."""
    name = f"{version} spoiled memory"
    peak = Peak()
    peak.start()
    recording = Recording([], [CORRUPT, version, str(seconds), node, VICTIM, "split"], timeout=120 + 10 * seconds).wait()
    peak.stop = True
    peak.join()
    count = sum(s.count for s in recording.profile().of(r"^node")) if recording.status == 0 else 0
    tap.check(name, count > 200 and peak.mib <= RSS_LIMIT_MIB,
              f"status {recording.status}, {count} samples, peak {peak.mib:.0f} MiB")


def run(tap, version, full):
    node, reason = find_node(version)
    samples = FULL_SAMPLES if full else SAMPLES
    if not node:
        tap.skip(f"v8 {version}", reason)
        return
    for scenario in SCENARIOS:
        stacks = check_scenario(tap, f"{version} {scenario}", [node], scenario, samples)
        if stacks and scenario == "split":
            check_lines(tap, f"{version} {scenario}", stacks)
    for tier, flags in TIERS.items():
        flags = flags + ["--no-maglev"] if int(version) >= 20 else flags
        stacks = check_scenario(tap, f"{version} split, {tier}", [node, *flags], "split", samples)
        if stacks:
            check_lines(tap, f"{version} split, {tier}", stacks)
    for how in ("file", "inline", "sections") if full else ("file", "inline"):
        check_source_map(tap, version, node, how, samples // 3)
    check_hostile(tap, version, node, 30 if full else 6)
    check_judge(tap, version, node, samples)
