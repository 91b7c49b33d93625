# SPDX-License-Identifier: Apache-2.0
"""PHP 7.4 to 8.5: test/victims/php/victim.php against what its source says of its stacks, without opcache, with it, and with
both of its JITs; against PHP itself, which is asked by a signal; php-fpm at work.

A PHP runs in a root of its own (test/runtimes/install.sh), as in a container.
"""
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

from common import ROOT, Recording
from runtime_profile import Stacks, Victim
from victim_source import Source, check_judged, installed, numbers

KIND = "php"
VICTIMS = os.path.join(ROOT, "test", "victims", "php")
VICTIM = os.path.join(VICTIMS, "victim.php")
VERSION = "8.2"
VERSIONS = ["7.4", "8.1", "8.2", "8.3", "8.4", "8.5"]

# What a stack of each scenario is, outermost first: {main} the file, * native code, [...] perhaps; functions written in C may
# stand at the end. Then functions and the share of samples they must be in (None: nearly all), and the oldest version.
MAIN = "*;{main};main;"
CLOSURE = r"\{closure[^;]*\}"
SCENARIOS = {
    "split_time": (MAIN + "split_time[;(a|b|c)]", {"a": 0.6, "b": 0.3, "c": 0.1}, "7.4"),
    "recursion": (MAIN + "recursion[;down(;down){0,499}][;spin]", {"spin": None}, "7.4"),
    "exceptions": (MAIN + "exceptions[;catcher[;(thrower[;spin]|handler[;spin])]]", {"spin": None}, "7.4"),
    "closures": (MAIN + "closures[;CLOSURE[;spin]]", {"spin": None}, "7.4"),
    "mapping": (MAIN + "mapping[;array_map[;*;mapped[;spin]]]", {"array_map": None, "mapped": None}, "7.4"),
    "sorting": (MAIN + "sorting[;usort[;*;compare[;spin]]]", {"usort": None, "compare": None}, "7.4"),
    "sorting_much": (MAIN + "sorting_much[;usort[;*;tiny]]", {"usort": None}, "7.4"),
    "substitution": (MAIN + "substitution[;preg_replace_callback[;*;replaced[;spin]]]", {"replaced": None}, "7.4"),
    "objects": (MAIN + "objects[;Derived::work[;Base::work[;Base::shared[;spin]]]]", {"Base::shared": None}, "7.4"),
    "unicode_names": (MAIN + "unicode_names[;Derived::größe[;spin]]", {"Derived::größe": None}, "7.4"),
    "magic": (MAIN + "magic[;Base::__call[;spin]]", {"Base::__call": None}, "7.4"),
    "generators": (MAIN + "generators[;*;numbers[;spin]]", {"numbers": None}, "7.4"),
    "fibers": ("(" + MAIN + "fibers|fiber_body[;spin])", {"fiber_body": None}, "8.1"),
    "destroying": (MAIN + "destroying[;*;Gone::__destruct[;spin]]", {"Gone::__destruct": None}, "7.4"),
    "evaluated": (MAIN + "evaluated[;eval[;spin]]", {"spin": None}, "7.4"),
    "including": (MAIN + "including[;include[;spin]]", {"spin": None}, "7.4"),
    "strings": (MAIN + "strings[;md5]", {"md5": None}, "7.4"),
}
# What `make test` runs, and what runs with opcache.
QUICK = "split_time recursion exceptions mapping objects unicode_names generators fibers including"
JIT_OPTIONS = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=16M"]
VARIANTS = {"": [], "opcache": ["-d", "opcache.enable_cli=1"], "function JIT": [*JIT_OPTIONS, "-d", "opcache.jit=function"],
            "tracing JIT": [*JIT_OPTIONS, "-d", "opcache.jit=tracing"]}


def pattern_of(text):
    """The regular expression of a chain."""
    text = text.replace("{main}", r"\{main\}").replace("*", r"\*").replace("[", "(").replace("]", ")?")
    return text.replace("CLOSURE", CLOSURE.replace("\\*", "*")) + r"(;[\w:]+)?(;\*)?"


SOURCE = Source(KIND, VICTIM, lambda name: name)


class Php:
    """One in a root of its own."""

    def __init__(self, version, root):
        self.version, self.root = numbers(version), root
        self.command = ["chroot", root, f"/usr/bin/php{version}", "-n"]
        self.opcache = ["-d", "zend_extension=opcache.so"] if self.version < (8, 5) else []
        for name in ("victim.php", "included.php", "page.php"):
            shutil.copy(os.path.join(VICTIMS, name), os.path.join(root, "tmp", name))

    def start(self, scenario, options=(), arguments=()):
        return Victim([*self.command, *(self.opcache if options else ()), *options, "/tmp/victim.php", scenario, *arguments],
                      env={"PATH": "/usr/sbin:/usr/bin", "LANG": "C.UTF-8"}, stderr=subprocess.DEVNULL)


def check_scenario(tap, php, label, scenario, samples, variant=""):
    name = re.sub(" +", " ", f"php {label} {scenario} {variant}").strip()
    chain, shares, oldest = SCENARIOS[scenario]
    if php.version < numbers(oldest) or ("JIT" in variant and php.version < (8, 0)):
        tap.skip(name, "this PHP cannot run it")
        return
    if "JIT" in variant:
        shares = {n: share for n, share in shares.items() if share}     # compiled, spin() takes little
    with php.start(scenario, VARIANTS[variant]) as victim:
        SOURCE.check(tap, name, victim, samples, pattern_of(chain), shares)


def ask(pid, seconds):
    """Signals for the judge in the victim, which answers one at a time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        os.kill(pid, signal.SIGPROF)
        time.sleep(random.uniform(0.002, 0.008))       # lest it keep step with the victim's rounds


def check_itself(tap, php, label, samples):
    """Beside PHP itself, whose debug_backtrace() is asked by a signal."""
    name = f"php {label} agrees with its own debug_backtrace()"
    out = os.path.join(php.root, "tmp", "judge.json")
    if os.path.exists(out):
        os.remove(out)
    with php.start("split_time", arguments=["judged"]) as victim:
        if victim.pid is None:
            tap.check(name, False, "the victim does not run")
            return
        # Closures: its own handler.
        check_judged(tap, name, victim, samples, KIND, out, lambda function: "closure" not in function,
                     during=lambda: ask(victim.pid, 6))


def fcgi(path, script):
    """One request, by FastCGI."""
    def record(kind, body):
        return struct.pack(">BBHHBB", 1, kind, 1, len(body), 0, 0) + body

    names = {"SCRIPT_FILENAME": script, "REQUEST_METHOD": "GET", "SCRIPT_NAME": "/page.php"}
    pairs = b"".join(bytes([len(n), len(v)]) + n.encode() + v.encode() for n, v in names.items())
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(path)
        client.sendall(record(1, struct.pack(">HB5x", 1, 0)) + record(4, pairs) + record(4, b"") + record(5, b""))
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
    return b"done" in answer


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(p) for p in file.read().split()]


def check_fpm(tap, php, label, requests):
    """A site under php-fpm, with load: functions of each request are freed with it."""
    name = f"php {label} php-fpm under load"
    with open(os.path.join(php.root, "tmp", "fpm.conf"), "w", encoding="ascii") as file:
        file.write("[global]\nerror_log = /tmp/fpm.log\n[www]\nlisten = /tmp/fpm.sock\nuser = 0\ngroup = 0\n"
                   "pm = static\npm.max_children = 1\n")
    path = os.path.join(php.root, "tmp", "fpm.sock")
    if os.path.exists(path):
        os.remove(path)
    with subprocess.Popen(["chroot", php.root, f"/usr/sbin/php-fpm{label}", "-n", "-R", "-F", "-y", "/tmp/fpm.conf"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as fpm:
        try:
            for _ in range(100):
                if os.path.exists(path) and children(fpm.pid):
                    break
                time.sleep(0.1)
            else:
                tap.check(name, False, "it does not start")
                return
            worker = children(fpm.pid)[0]
            recording = Recording(["-p", str(worker)])
            good = sum(fcgi(path, "/tmp/page.php") for _ in range(requests))
            recording.process.send_signal(signal.SIGINT)
            recording.wait()
        finally:
            fpm.terminate()
    tap.check(f"{name}: requests", good == requests, f"{good} of {requests} answered")
    stacks = Stacks(recording.profile(), worker, KIND)
    whole = re.compile(r"\*(;\{main\}(;page(;Shop::(list|item)(;\w+)?)*)?)?(;[\w:]+)?(;\*)?")
    matching, other = 0, {}
    for text, count in stacks.texts(KIND).items():
        if whole.fullmatch(text):
            matching += count
        else:
            other[text] = count
    with_page = stacks.inclusive(KIND).get("Shop::list", 0)
    tap.check(f"{name}: exact", stacks.count > 200 and matching / stacks.count >= 0.97 and with_page > 0.8,
              f"{100 * matching / max(1, stacks.count):.2f} % of {stacks.count}, {with_page:.0%} in Shop::list" +
              (f", {max(other, key=other.get)[:200]}" if other else ""))


def run(tap, version, full):
    root, why = installed("php", version)
    if not root:
        tap.skip(f"php {version}", why or "it cannot be installed")
        return
    php = Php(version, root)
    samples = int(os.environ.get("SAMPLES", 5600 if full else 1200))
    for variant in VARIANTS:
        for scenario in os.environ.get("SCENARIOS", " ".join(SCENARIOS) if full else QUICK).split():
            check_scenario(tap, php, version, scenario, samples, variant)
    check_itself(tap, php, version, samples)
    check_fpm(tap, php, version, 400 if full else 100)
