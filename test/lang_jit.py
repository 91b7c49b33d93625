# SPDX-License-Identifier: Apache-2.0
"""Real runtimes that generate code: a chain of calls through it, by each of the ways in which they tell of it. What is
called a version elsewhere is a runtime here."""
import collections
import os
import re
import subprocess
import tempfile

from common import ROOT
from runtime_profile import Victim, check_most, record_beside

VICTIMS = os.path.join(ROOT, "test", "victims", "jit")
INSTALL = os.path.join(ROOT, "test", "runtimes", "install.sh")
VERSION = "lli-orc"
VERSIONS = ["lli-orc", "lli-mcjit", "numba", "wasmtime", "wasmtime-jitdump"]
EXACT = 0.99
AT_WORK = 0.5   # of all samples, at least, are in generated code
# Until wick has taken up Python, a second on a busy machine, its functions are those of the interpreter.
SETTLE_NS = 1_000_000_000
SAMPLES, FULL_SAMPLES = int(os.environ.get("SAMPLES", 1000)), 5600

PYTHON_JITS = ("numba", "wasmtime", "wasmtime-jitdump")
PYTHON = r"_start;.*;<module>;work;"
# The whole stack, and what tells that a sample was taken in generated code.
CHAINS = {
    "lli-orc": (r"_start;.*;llvm::orc::runAsMain;main;outer;middle;leaf", "leaf"),
    "lli-mcjit": (r"_start;.*;llvm::MCJIT::runFunction;main;outer;middle;leaf", "leaf"),
    # Its names are mangled as those of C++, with a part that differs from version to version.
    "numba": (PYTHON + r"caller;.*;Dispatcher_call;cpython::__main__::outer\[[^;]*;__main__::outer\[[^;]*;"
              r"__main__::leaf\[[^;]*", r"__main__::leaf\[.*"),
    "wasmtime": (PYTHON + r".*;wasm\[0\]::array_to_wasm_trampoline\[2\];outer;middle;leaf", "leaf"),
    "wasmtime-jitdump": (PYTHON + r".*;wasm\[0\]::array_to_wasm_trampoline\[2\];.*outer;.*middle;.*leaf", ".*leaf"),
}


def run_tool(command, **options):
    """What it printed, or None and the end of what it said was wrong."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **options)
    except FileNotFoundError:
        return None, f"there is no {command[0]}"
    if result.returncode:
        return None, (result.stderr.strip().splitlines() or [f"{command[0]} failed"])[-1]
    return result.stdout.strip(), ""


def command_of(runtime, directory):
    """How its victim is run, or None and the reason why it cannot be."""
    if runtime.startswith("lli"):
        code = os.path.join(directory, "chain.bc")
        made, why = run_tool(["clang", "-O1", "-fomit-frame-pointer", "-emit-llvm", "-c", "-o", code,
                              os.path.join(VICTIMS, "chain.c")])
        return (None, why) if made is None else (["lli", f"--jit-kind={runtime[4:]}", code], "")
    python, why = run_tool([INSTALL, "python-jits", "1"])
    if python is None:
        return None, why
    if runtime == "numba":
        return [python, os.path.join(VICTIMS, "chain_numba.py")], ""
    how = "jitdump" if runtime.endswith("jitdump") else "perfmap"
    return [python, os.path.join(VICTIMS, "chain_wasm.py"), how], ""


def check_chain(tap, runtime, stacks, samples):
    whole, mark = (re.compile(pattern) for pattern in CHAINS[runtime])
    good, bad = 0, collections.Counter()
    for frames, count, _ in stacks.all:
        names = [f.name for f in frames]
        if whole.fullmatch(";".join(names)):
            good += count
        elif count and (any(mark.fullmatch(n) for n in names) or not names or names[-1].startswith("[")):
            bad[";".join(names)[-300:]] += count
    check_most(tap, f"jit {runtime}: exact chain", good, bad, EXACT, least=0.8 * samples * AT_WORK)
    share = good / max(1, stacks.count)
    tap.check(f"jit {runtime}: samples in generated code", share >= AT_WORK, f"{100 * share:.1f} % of {stacks.count}")


def run(tap, runtime, full):
    samples = FULL_SAMPLES if full else SAMPLES
    with tempfile.TemporaryDirectory() as directory:
        command, why = command_of(runtime, directory)
        if command is None:
            tap.skip(f"jit {runtime}", why)
            return
        with Victim(command, cwd=directory) as victim:
            if not tap.check(f"jit {runtime}: the victim runs", victim.pid is not None):
                return
            if runtime in PYTHON_JITS:
                recording, stacks = record_beside(victim, samples, "cpython", settle_ns=SETTLE_NS)
            else:
                recording, stacks = record_beside(victim, samples, None)
        if tap.check(f"jit {runtime}: recorded", stacks is not None, "" if stacks else recording.said()[-300:]):
            check_chain(tap, runtime, stacks, samples)
