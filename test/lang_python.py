# SPDX-License-Identifier: Apache-2.0
"""CPython 3.8 to 3.15: test/victims/python/victim.py against what its source says of its stacks, and against py-spy.

A Python runs in a root of its own (test/runtimes/install.sh), as in a container.
"""
import os
import re
import shutil
import subprocess

from common import ROOT, by_chance
from runtime_profile import Victim, lines_of_calls, record_beside, wrong_lines

KIND = "cpython"
VICTIM = os.path.join(ROOT, "test", "victims", "python", "victim.py")
INSTALL = os.path.join(ROOT, "test", "runtimes", "install.sh")
VERSION = "3.13"
VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
PYSPY = "0.4.3"

# What a stack of each scenario is below main(): "a > b" a calls b, "a * b" by way of C code, "a ? b" by way of C code
# in some versions, [...] perhaps; then functions and the share of samples they must be in (None: nearly all).
SCENARIOS = {
    "split": ("split [> (a|b|c)]", {"a": 0.6, "b": 0.3, "c": 0.1}),
    "recursion": ("recursion [> down( > down){0,499}] [> spin]", {"spin": None}),
    "exceptions": ("exceptions [> catcher [> (thrower|handler) [> spin]]]", {"spin": None}),
    "generators": ("generators [? doubled [? numbers [> spin]]]", {"spin": None}),
    "coroutines": ("coroutines(;(\\*|(\\w|\\.)+))*", {"inner": None}),
    "sorting": ("sorting [* key [> spin]]", {"key": None}),
    "substitution": ("substitution [* replace [> spin]]", {"replace": None}),
    "foreign": ("foreign [* compare [> spin]]", {"compare": None}),
    "objects": ("objects [? Derived.__init__ [? Base.__init__ [> spin]]]",
                {"Derived.__init__": None, "Base.__init__": None}),
    "unicode_names": ("unicode_names [> größe_長さ [> größe_長さ.<locals>.<listcomp>] [> spin]]",
                      {"größe_長さ": None}),
    "evaluated": ("evaluated [* <module> [> made [> spin]]]", {"made": None}),
    "passing": ("passing [* <module> [> made [> spin]]]", {"made": None}),
    "threads": (None, {"spin": None}),
    "subinterpreter": (None, {"sub": None}),
    "subinterpreters": (None, {"sub": None}),
    "arrays": ("arrays [* element [> spin]]", {"element": None}),
    "products": ("products [? .*]", {"products": None}),
    "switching": (None, {"green": None}),
    "nesting": (None, {"green": None}),
    "events": (None, {"green": None}),
}
# Without main() above: a thread begins by itself, and a greenlet has its own stack.
OTHER = {
    "threads": "Thread._bootstrap > Thread._bootstrap_inner ? Thread.run ? (thread_0|thread_1) [> spin]",
    "switching": "(<module> > main > switching|switching.<locals>.run [> green [> spin]])",
    "nesting": "(<module> > main > nesting(;(\\*|deep))*|nesting.<locals>.leaf [> green [> spin]]|"
               "nesting.<locals>.branch [> green [> spin]](;(\\*|deep))*)",
    "events": "(<module> > main > events.*|Hub.run.*|events.<locals>.worker [> green [> spin]](;(\\*|sleep))*)",
    # Frames of an interpreter say nothing of the one that has started it.
    "subinterpreter": "(<module> > main > subinterpreter * )?<module> [> sub]",
    # Before 3.12 they share a lock; one that waits for it is known by the functions that have started it.
    "subinterpreters": "(Thread._bootstrap.*subinterpreter|<module> [> sub])",
}


def installed(*what):
    result = subprocess.run([INSTALL, *what], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return (result.stdout.strip() if result.returncode == 0 else None), result.stderr.strip()[-300:]


class Python:
    def __init__(self, version, root):
        self.version = tuple(int(n) for n in version.split("."))
        self.root = root
        self.command = ["chroot", root, f"/usr/bin/python{version}", "-s", "/tmp/victim.py"]
        self.environment = {"PATH": "/usr/sbin:/usr/bin", "PYTHONPATH": "/modules:/gevent", "LANG": "C.UTF-8",
                            "OPENBLAS_NUM_THREADS": "1"}
        shutil.copy(VICTIM, os.path.join(root, "tmp", "victim.py"))

    def start(self, scenario, before=()):
        return Victim([*before, *self.command, scenario], env=self.environment, stderr=subprocess.DEVNULL)

    def pattern(self, text):
        """The regular expression of a chain; before 3.11 a call of a function goes through C code."""
        direct = ";" if self.version >= (3, 11) else r";(\*;)?"
        if self.version < (3, 11):
            text = re.sub(r"\w+\.(?=[_a-z<])", "", text)        # only the last part of a name is known
            text = text.replace("<locals>.", "")
        text = text.replace("<", "\\<").replace(".__", "\\.__")
        text = re.sub(r" *\[", "(", text)
        text = re.sub(r"\] *", ")?", text)
        for sign, expression in ((">", direct), ("*", r";\*;"), ("?", r";(\*;)?")):
            text = re.sub(rf"\({re.escape(sign)} ", f"({expression}".replace("\\", "\\\\"), text)
            text = text.replace(f" {sign} ", expression)
        return text + r"(;\*)?"


def chain_of(python, scenario):
    if scenario in OTHER:
        return r"\*;" + python.pattern(OTHER[scenario])
    return r"\*;" + python.pattern("<module> > main > " + SCENARIOS[scenario][0])


def plain(name):
    return name.split(".")[-1]


CALLS = lines_of_calls(VICTIM, plain)


def wrong_lines_of(stacks):
    return wrong_lines(stacks, KIND, CALLS, plain, lambda path: path == "/tmp/victim.py")


def check_scenario(tap, python, label, scenario, samples):
    name = f"python {label} {scenario}"
    with python.start(scenario) as victim:
        if victim.pid is None:
            tap.skip(name, "the victim does not run")
            return
        recording, stacks = record_beside(victim, samples, KIND)
        if victim.process.poll() is not None:
            tap.skip(name, "this Python cannot run it")
            return
    if not stacks or stacks.count < samples // 2:
        tap.note(recording.said())
        tap.check(name, False, f"{stacks.count if stacks else 0} samples")
        return
    judge(tap, python, name, scenario, stacks)


def judge(tap, python, name, scenario, stacks):
    pattern = chain_of(python, scenario)
    good, bad = stacks.matching(KIND, pattern)
    shares = {k if python.version >= (3, 11) else k.split(".")[-1]: v for k, v in SCENARIOS[scenario][1].items()}
    seen = stacks.inclusive(KIND)
    # Three points, or what so many samples are off by rarely, where that is more.
    off = {f: round(seen.get(f, 0), 3) for f, share in shares.items()
           if abs(seen.get(f, 0) - share) > max(0.03, by_chance(share, stacks.count))} if None not in shares.values() else \
          {f: round(seen.get(f, 0), 3) for f in shares if seen.get(f, 0) < 0.9}
    lines, example = wrong_lines_of(stacks)
    fine = tap.check(name, good >= 0.99 and not off and lines <= 0.01,
                     f"{good:.2%} of {stacks.count} stacks as expected, {1 - lines:.1%} lines, "
                     f"from {stacks.late_ns / 1e6:.0f} ms on" +
                     (f", shares {off}" if off else "") + (f", {example}" if lines > 0.01 else ""))
    if not fine:
        tap.note(f"pattern {pattern}")
        for count, text in bad:
            tap.note(f"{count:6} {text[:300]}")


def check_awaiting(tap, python, label, samples):
    """Tasks that await the running one are shown on demand, between it and the event loop."""
    running = "step_task;busy_task"
    whole = f"waiter;grouper;TaskGroup.__aexit__;TaskGroup._aexit;gatherer;{running}"
    for options, wanted in ((["--python-await-chain"], whole), ([], running)):
        name = f"python {label} waiting {' '.join(options)}".strip()
        with python.start("waiting") as victim:
            _, stacks = record_beside(victim, samples, KIND, options=options)
        count = stacks.count if stacks else 0
        if count < samples // 2:
            tap.check(name, False, f"{count} samples")
            continue
        # The event loop and the end of a round are at work for a moment, too.
        busy = stacks.inclusive(KIND).get("spin", 0)
        good, bad = stacks.matching(KIND, rf".*;Handle\._run;\*;{re.escape(wanted)};spin(;\*)?")
        good /= max(busy, 0.01)
        lines, example = wrong_lines_of(stacks)
        if not tap.check(name, busy >= 0.9 and good >= 0.99 and lines <= 0.01,
                         f"{good:.2%} of {round(busy * count)} stacks as expected, {1 - lines:.1%} lines {example}"):
            for number, text in bad:
                tap.note(f"{number:6} {text[:300]}")


def start_pyspy(path, pid, seconds, into):
    command = [path, "record", "-p", str(pid), "-d", str(seconds), "-r", "500", "-f", "raw", "-F", "--nonblocking",
               "-o", into]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def read_folded(path):
    totals, all_count = {}, 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            names = {re.sub(r" \(.*\)$", "", frame) for frame in stack.split(";")}
            all_count += int(count)
            for name in names:
                totals[name] = totals.get(name, 0) + int(count)
    return {name: count / max(1, all_count) for name, count in totals.items()}, all_count


def check_pyspy(tap, python, label, samples):
    name = f"python {label} agrees with py-spy"
    path, why = installed("py-spy", PYSPY)
    if not path:
        tap.skip(name, why or "py-spy cannot be had")
        return
    folded = os.path.join(python.root, "tmp", "pyspy.folded")
    # py-spy looks by the clock on the wall, however often in a row at a victim that has to wait for the processor.
    with python.start("split", ("nice", "-n", "-15")) as victim:
        peer = []
        _, stacks = record_beside(victim, samples, KIND, lambda: peer.append(
            start_pyspy(path, victim.pid, max(4, samples // 500), folded)))
        _, said = peer[0].communicate(timeout=120)
    if peer[0].returncode != 0 or not stacks:
        tap.skip(name, f"py-spy failed: {said.strip()[-200:]}")
        return
    theirs, count = read_folded(folded)
    ours = {n.split(".")[-1]: share for n, share in stacks.inclusive(KIND).items()}
    apart = {n: (round(ours.get(n, 0), 3), round(share, 3)) for n, share in theirs.items()
             if share >= 0.02 and abs(ours.get(n.split(".")[-1], 0) - share) > 0.05}
    tap.check(name, not apart and count > 200,
              f"{stacks.count} samples of ours, {count} of its, apart: {apart or 'none'}")


def check_hostile(tap, python, label, rounds):
    """A process that spoils its own structures must not harm wick."""
    for seed in range(rounds):
        name = f"python {label} hostile, seed {seed}"
        python.environment["VICTIM_SEED"] = str(seed)
        with python.start("corrupt") as victim:
            recording, stacks = record_beside(victim, 500, KIND)
        count = stacks.count if stacks else 0
        tap.check(name, recording.status == 0 and count > 100, f"{count} samples")


def run(tap, version, full):
    root, why = installed("python", version)
    if not root:
        tap.skip(f"python {version}", why or "it cannot be installed")
        return
    python = Python(version, root)
    samples = int(os.environ.get("SAMPLES", 5600 if full else 1200))
    for scenario in SCENARIOS:
        check_scenario(tap, python, version, scenario, samples)
    if python.version >= (3, 14):
        check_awaiting(tap, python, version, samples)
    check_pyspy(tap, python, version, samples)
    check_hostile(tap, python, version, 5 if full else 1)
