#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are the names right? Compares the name that wick gives to each sampled address with other tools'.

A load with much code (compilers, Python, Perl, gdb, the victims) is recorded by wick, then by perf: not at the same time, since
the kernel marks perf's mapping records as having a build id, which they have not, once anybody asks for build ids,
and perf dies of that. For each distinct address of a native frame:
  - a symbol of the file or of its debug file covers it: the physical function must be one of the symbols there (any alias);
  - none does: the name must be module+0xstart, not a neighbour's, or that of _start or main, by what the file says of them;
  - the file has DWARF: `addr2line -i` must give the same inline chain;
and for each address that perf met, too, user or kernel: `perf script`'s name must be an alias. 99.9 % of 10,000 must
agree.
"""
import collections
import functools
import os
import re
import subprocess
import sys
import tempfile

import elf
from common import ROOT, VICTIMS, Recording, Tap, privileged_or_skip

ADDRESSES = 10000
AGREEMENT = 0.999
SHOWN = 15
PERF_RATE_HZ = 997


def load_script(folder):
    """About half a minute of code from many files."""
    source = os.path.join(folder, "much.cc")
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <regex>\n#include <map>\n#include <iostream>\n#include <algorithm>\n"
                   "int main(int c, char **v) { std::map<std::string, std::regex> m; for (int i = 0; i < c; i++) "
                   "m[v[i]] = std::regex(v[i]); return (int)m.size(); }\n")
    script = [
    f"g++ -O2 -o {folder}/much {source}",
    f"clang++ -O2 -c -o {folder}/much.o {source}",
    "python3 -c 'import json, re, ast, inspect, glob; [ast.parse(open(f, errors=\"replace\").read()) "
    "for f in glob.glob(inspect.__file__[:-10] + \"*.py\")[:150]]'",
    "perl -e 'my %h; for (1..400000) { $h{$_ % 5000} .= sprintf(\"%x\", $_); } print scalar keys %h' >/dev/null",
    f"gdb -batch -ex 'info functions leaf' {os.path.join(VICTIMS, 'v-static')} >/dev/null 2>&1",
    f"find {ROOT} -name '*.[ch]' | xargs sort | uniq -c | sort -n >/dev/null",
     f"xz -k -c {os.path.join(VICTIMS, 'v-static')} >/dev/null"]
    script += [f"{os.path.join(VICTIMS, v)} 0.5 >/dev/null"
               for v in ("v-inline", "v-exceptions", "v-calls", "v-qsort", "v-rust", "v-asm", "v-debugframe")]
    return " & ".join(("( " + "; ".join(script[0::2]) + " )", "( " + "; ".join(script[1::2]) + " )")) + " & wait"


def demangled(names):
    """{name: its demangled form} by c++filt, which shares nothing with wick but the language's rules."""
    names = sorted(names)
    result = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, result.stdout.splitlines()))


def normal(name):
    """One spelling for all tools: no parameters, no return type's or clone's decoration, no hash of Rust."""
    name = re.sub(r"::h[0-9a-f]{16}$", "", name)
    name = re.sub(r"@@?[A-Z][\w.]*$", "", name)
    name = re.sub(r" \[clone [^\]]*\]|\.(?:isra|part|cold|constprop|lto_priv)\b(?:\.\d+)*", "", name)
    depth, kept = 0, []
    name = name.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{call}")
    for letter in name:
        depth += letter == "("
        if not depth:
            kept.append(letter)
        depth -= letter == ")"
    name = re.sub(r"\s+const$", "", "".join(kept).strip())
    return re.sub(r"\s+", "", re.sub(r"\babi:cxx11\b|\[\]", "", name))


class Address:
    def __init__(self, path, module, address, names):
        self.path, self.module, self.address, self.names = path, module, address, names     # innermost first


def native_addresses(profile):
    found = {}
    for index in {i for s in profile.samples for i in s.locations}:
        location = profile.tables["locationTable"][index]
        path = None if profile.frames(index)[0] else profile.mapped_file(location)
        if path and elf.load(path):
            names = [n.split("}", 1)[1] if n.startswith("{") else n for n in reversed(profile.frames(index)[1])]
            address = int(location.get("address", 0))
            found[(path, address)] = Address(path, profile.module(location), address, names)
    return list(found.values())


class Verdicts:
    def __init__(self, tap, what):
        self.tap, self.what = tap, what
        self.agreed = 0
        self.wrong = []

    def add(self, agrees, *words):
        self.agreed += agrees
        if not agrees:
            self.wrong.append(" ".join(map(str, words)))

    def check(self, minimum):
        total = self.agreed + len(self.wrong)
        share = self.agreed / total if total else 0
        good = self.tap.check(f"names {self.what}", total >= minimum and share >= AGREEMENT,
                              f"{100 * share:.3f} % of {total} addresses agree")
        if not good:
            for line in self.wrong[:SHOWN]:
                self.tap.note(f"  {line}")


@functools.lru_cache(maxsize=None)
def first_functions(path):
    """{name: (start, end)} of _start, which is where a program is entered, and main, which it gives to libc; by readelf and objdump."""
    head = subprocess.run(["readelf", "-hW", "--debug-dump=frames", path], capture_output=True, text=True, check=False).stdout
    entry = re.search(r"Entry point address:\s*0x([0-9a-f]+)", head)
    entry = int(entry[1], 16) if entry else 0
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={entry}", f"--stop-address={entry + 64}", path],
                          capture_output=True, text=True, check=False).stdout
    main = re.search(r"lea +0x[0-9a-f]+\(%rip\),%rdi +# ([0-9a-f]+)|lea +-0x[0-9a-f]+\(%rip\),%rdi +# ([0-9a-f]+)|mov +\$0x([0-9a-f]+),%rdi", code)
    starts = {"_start": entry, "main": int(next(g for g in main.groups() if g), 16) if main else 0}
    ends = {int(m[1], 16): int(m[2], 16) for m in re.finditer(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", head)}
    return {name: (start, ends.get(start, start)) for name, start in starts.items()}


def check_symbols(tap, addresses):
    verdicts = Verdicts(tap, "agree with the files' symbols")
    sources = collections.Counter()
    covering = {id(a): {n for _, _, n in elf.load(a.path).covering(a.address)} for a in addresses}
    plain = demangled({n for names in covering.values() for n in names})
    for a in addresses:
        names = covering[id(a)]
        got = a.names[-1]
        if names:
            agrees = normal(got) in {normal(plain[n]) for n in names} | {normal(n) for n in names}
            sources["symbol"] += 1
        else:
            unsized = elf.load(a.path).unsized_at_or_before(a.address)
            start, end = first_functions(a.path)[got] if got in ("_start", "main") else (0, 0)
            agrees = bool(re.fullmatch(re.escape(a.module) + r"\+0x[0-9a-f]+", got)) or got in unsized or \
                got.endswith("@plt") or start <= a.address < end
            sources["no symbol"] += 1
        verdicts.add(agrees, f"{a.path} 0x{a.address:x}: {got!r}, the file says {sorted(names)[:4]}")
    tap.note(f"{sources['symbol']} addresses have a symbol, {sources['no symbol']} have none")
    verdicts.check(ADDRESSES)


def addr2line(path, addresses):
    """[[function, outermost last], ...] for each address."""
    text = "\n".join(f"0x{a:x}" for a in addresses) + "\n"
    output = subprocess.run(["addr2line", "-a", "-i", "-f", "-C", "-e", path], input=text,
                            capture_output=True, text=True, check=False).stdout.splitlines()
    chains = []
    for number, line in enumerate(output):
        if re.fullmatch(r"0x[0-9a-f]{8,}", line):
            chains.append([])
            first = number + 1
        elif chains and (number - first) % 2 == 0:
            chains[-1].append(line)
    return chains


def check_inlines(tap, addresses):
    verdicts = Verdicts(tap, "agree with addr2line -i")
    by_path = collections.defaultdict(list)
    for a in addresses:
        if elf.dwarf_path(a.path):
            by_path[elf.dwarf_path(a.path)].append(a)
    for path, group in by_path.items():
        for a, chain in zip(group, addr2line(path, [a.address for a in group])):
            if chain and chain[0] != "??":
                verdicts.add([normal(n) for n in a.names[:-1]] == [normal(n) for n in chain[:-1]],
                             f"{path} 0x{a.address:x}: {a.names}, addr2line says {chain}")
    verdicts.check(1)


def record_by_perf(load, data):
    subprocess.run(["perf", "record", "-q", "-B", "-N", "-e", "cpu-clock", "-F", str(PERF_RATE_HZ),
                   "-g", "-o", data, "--", *load], check=False, timeout=300, stderr=subprocess.DEVNULL)
    return data


def perf_frames(data):
    """Distinct (file, symbol, offset) and kernel (address, symbol) that perf script names."""
    output = subprocess.run(["perf", "script", "--no-inline", "-i", data, "-F", "ip,sym,symoff,dso"],
                            capture_output=True, text=True, errors="replace", check=False).stdout
    user, kernel = set(), {}
    for address, symbol, offset, path in re.findall(r"^\s+([0-9a-f]+) (.+)\+0x([0-9a-f]+) \((.*)\)$", output, re.M):
        if path.startswith("[kernel") or path.endswith(".ko"):
            kernel[int(address, 16)] = symbol
        elif os.path.isabs(path):
            user.add((path, symbol, int(offset, 16)))
    return user, kernel


def check_perf_user(tap, addresses, frames):
    verdicts = Verdicts(tap, "agree with perf script")
    ours = {(os.path.realpath(a.path), a.address): a for a in addresses}
    starts = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in {path for path, _, _ in frames}:
        loaded = elf.load(path)
        for start, _, name in loaded.symbols if loaded else ():
            starts[path][name.split("@")[0]].add(start)
    for path, symbol, offset in frames:
        for start in starts[path].get(symbol, ()):
            # perf shows return addresses as they are, wick names the call before them: another function at offset 0.
            a = ours.get((os.path.realpath(path), start + offset))
            if not a and offset:
                a = ours.get((os.path.realpath(path), start + offset - 1))
            if a:
                aliases = {normal(n) for _, _, n in elf.load(path).covering(a.address)} | {normal(symbol)}
                verdicts.add(normal(a.names[-1]) in aliases, f"{path} 0x{a.address:x}: {a.names}, perf says {symbol}")
    verdicts.check(200)


def check_perf_kernel(tap, profile, frames):
    verdicts = Verdicts(tap, "of the kernel agree with perf script")
    for index in {i for s in profile.samples for i in s.locations}:
        is_kernel, names = profile.frames(index)
        address = int(profile.tables["locationTable"][index].get("address", 0))
        symbol = frames.get(address) or frames.get(address + 1)
        if is_kernel and symbol:
            verdicts.add(normal(names[0]) == normal(symbol), f"0x{address:x}: {names[0]}, perf says {symbol}")
    verdicts.check(100)


def main():
    tap = Tap()
    if not privileged_or_skip(tap, "names"):
        tap.end()
    with tempfile.TemporaryDirectory(prefix="wick-names-") as folder:
        load = ["sh", "-c", load_script(folder)]
        recording = Recording([], load, timeout=300).wait()
        try:
            profile = recording.profile()
        except (OSError, ValueError, KeyError) as error:
            tap.check("names", False, f"no readable profile: {error}")
            tap.note(recording.said())
            tap.end()
        addresses = native_addresses(profile)
        check_symbols(tap, addresses)
        check_inlines(tap, addresses)
        user, kernel = perf_frames(record_by_perf(load, os.path.join(folder, "perf.data")))
        if user:
            check_perf_user(tap, addresses, user)
            check_perf_kernel(tap, profile, kernel)
        else:
            tap.skip("names agree with perf script",
     "perf cannot read what it recorded: does another profiler ask for build ids?")
    tap.end()


if __name__ == "__main__":
    sys.exit(main())
