#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our unwind rows with readelf and llvm-dwarfdump, at every row boundary of real files. Prints TAP.

    cfi_selfcheck.py [--all] [-d ROWS_DUMP] [FILE ...]

Without files: those of this system that are there; --all adds libLLVM, which takes a minute.
A row counts as known better if it is a signal trampoline, the entry point or where a coroutine of makecontext() ends
(its CFI says that somebody called it; nobody did); as refused if its CFI needs what our rules cannot say (then ours must say "none", never something else). Anything else must be equal.

The CFA is compared with readelf's, registers and expressions with those of llvm-dwarfdump: the former does not
print expressions nor tell "undefined" from "not said", the latter forgets until version 15 that
DW_CFA_restore_state restores the CFA too.
"""
import argparse
import bisect
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

X86 = {"RAX": 0, "RDX": 1, "RCX": 2, "RBX": 3, "RSI": 4, "RDI": 5, "RBP": 6, "RSP": 7, "RIP": 16}
X86.update({f"R{n}": n for n in range(8, 16)})
ARM64 = {f"{w}{n}": n for n in range(31) for w in "WX"}
ARM64.update({"WSP": 31, "SP": 31, "FP": 29, "LR": 30})
S16 = range(-32768, 32768)

ROW = re.compile(r"^  (0x[0-9a-f]+): CFA=(.*)$")
FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.\.([0-9a-f]+)$")
CIE = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE$")
REG_OFF = re.compile(r"^([A-Z0-9]+)([+-]\d+)?$")
BREG = r"DW_OP_breg\d+ ([A-Z0-9]+)([+-]\d+)"
DEREF = re.compile(rf"^{BREG}, DW_OP_deref(?:, DW_OP_plus_uconst (0x[0-9a-f]+))?$")
PLT = re.compile(rf"^{BREG}, DW_OP_breg16 RIP\+0, DW_OP_lit15, DW_OP_and, DW_OP_lit(\d+), DW_OP_ge, DW_OP_lit3, "
                 r"DW_OP_shl, DW_OP_plus$")

Rule = collections.namedtuple("Rule", "kind reg off add ra_kind ra_off fp_kind fp_off")
NONE = Rule("none", *[0] * 7)
END = Rule("end", *[0] * 7)


def number(text):
    return int(text or "0", 0)


def readelf_cfas(path):
    """Address -> CFA as readelf sees it, "exp" for expressions."""
    cfas, cies, cie, start = {}, {}, None, None
    process = subprocess.Popen(["readelf", "--debug-dump=frames-interp", path], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        f = line.split()
        if len(f) > 3 and f[3] == "CIE":
            cie, start = int(f[0], 16), None
        elif len(f) > 5 and f[3] == "FDE":
            start = int(f[5][3:].split("..")[0], 16)
            cfas.setdefault(start, cies.get(int(f[4][4:], 16), "none"))
        elif len(f) > 1 and re.fullmatch("[0-9a-f]{16}", f[0]):
            if start is None:
                cies[cie] = f[1]
            else:
                cfas[int(f[0], 16)] = f[1]
    process.wait()
    return cfas


def want_cfa(text, regs):
    """(kind, register, offset, add) or None where our rules have no word for it."""
    if m := REG_OFF.match(text):
        return ("cfa", regs[m[1]], number(m[2]), 0) if m[1] in regs else None
    if m := PLT.match(text):
        return "plt", regs[m[1]], number(m[2]), int(m[3])
    if m := DEREF.match(text):
        return "deref", regs[m[1]], number(m[2]), number(m[3])
    return None


def want_rule(text, regs, ra_name, arm64):
    """The rule that a line of llvm-dwarfdump asks for; None if our rules cannot say it."""
    cfa_text, _, saved_text = text.partition(": ")
    saved = dict(s.split("=", 1) for s in re.split(r", (?=[A-Z0-9]+=)", saved_text)) if saved_text else {}
    fp_name = "W29" if arm64 else "RBP"
    ra, fp = saved.get(ra_name, "same"), saved.get(fp_name, "same")
    if ra == "undefined":
        return END
    cfa = want_cfa(cfa_text, regs)
    at_cfa = re.compile(r"^\[CFA([+-]\d+)?\]$")
    if not cfa:
        return None
    if m := at_cfa.match(ra):
        want_ra = (0, number(m[1]))
    elif ra == "same" and arm64:
        want_ra = (1, regs[ra_name])
    elif ra in regs:
        want_ra = (1, regs[ra])
    else:
        return None
    if m := at_cfa.match(fp):
        want_fp = (1, number(m[1]))
    elif m := re.match(rf"^\[{BREG}\]$", fp):
        want_fp = (2, number(m[2])) if m[1] == fp_name else None
    else:
        want_fp = (0, 0) if fp in ("same", "undefined") else None
    if arm64 and want_fp and cfa[0] == "cfa" and want_ra[0] == 0 and want_ra[1] not in S16:
        base = want_ra[1]       # of a large frame: both are told from its bottom
        cfa, want_ra = (*cfa[:3], base), (0, 0)
        want_fp = (1, want_fp[1] - base) if want_fp[0] == 1 else want_fp
    if not want_fp or want_ra[1] not in S16 or want_fp[1] not in S16:
        return None
    if cfa[0] == "cfa" and (m := at_cfa.match(saved.get("RBX", "same"))):
        cfa = (*cfa[:3], number(m[1]))      # where rbx is saved
    return Rule(*cfa, *want_ra, *want_fp)


def our_rows(dump, path):
    addresses, rules = [], []
    out = subprocess.run([dump, path], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        f = line.split()
        addresses.append(int(f[0], 16))
        rules.append(Rule(f[1], *map(int, f[2:])) if f[1] not in ("end", "none") else END if f[1] == "end" else NONE)
    return addresses, rules


def entry_of(path):
    head = subprocess.run(["readelf", "-h", path], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"Entry point address:\s*(0x[0-9a-f]+)", head)[1], 16), "AArch64" in head


def end_of_contexts(path):
    """Where makecontext() lets a coroutine return to, as it says itself: the address that it puts onto the new stack."""
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=makecontext", path], capture_output=True,
                         text=True, check=False).stdout
    return {int(m[1], 16) for m in re.finditer(r"\slea\s+0x\w+\(%rip\),%\w+\s+# ([0-9a-f]+) ", out)}


def executable_ranges(path):
    out = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    for m in re.finditer(r"LOAD\s+0x\w+ (0x\w+) 0x\w+ 0x\w+ (0x\w+) ..E", out):
        yield range(int(m[1], 16), int(m[1], 16) + int(m[2], 16))


class Cie:
    """What rows of its FDEs need to know."""
    def __init__(self):
        self.signal, self.ra = False, 0


def their_rows(path):
    """Yields (address, rule text, CIE, start of the FDE) of .eh_frame. A row at the end of its FDE covers nothing."""
    cies, cie, start, end, in_eh = {}, None, None, None, False
    process = subprocess.Popen(["llvm-dwarfdump", "--eh-frame", path], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith(".eh_frame"):
            in_eh = True
        elif not in_eh:
            continue
        elif line.startswith("  Augmentation:"):
            cie.signal = "S" in line
        elif line.startswith("  Return address column:"):
            cie.ra = int(line.split()[-1])
        elif m := CIE.match(line):
            start, cie = None, cies.setdefault(int(m[1], 16), Cie())
        elif m := FDE.match(line):
            cie, start, end = cies[int(m[1], 16)], int(m[2], 16), int(m[3], 16)
        elif start is not None and (m := ROW.match(line)) and int(m[1], 16) < end:
            yield int(m[1], 16), m[2].strip(), cie, start
    process.wait()


def check(dump, path):
    addresses, rules = our_rows(dump, path)
    entry, arm64 = entry_of(path)
    regs = ARM64 if arm64 else X86
    roots = {entry} | end_of_contexts(path)
    executable = list(executable_ranges(path))
    cfas = readelf_cfas(path)
    tally, wrong = collections.Counter(), []
    for address, text, cie, start in their_rows(path):
        if not any(start in r for r in executable):
            continue
        i = bisect.bisect_right(addresses, address) - 1
        got = rules[i] if i >= 0 and addresses[i] >> 16 == address >> 16 else NONE
        cfa = cfas.get(address, "none")
        if cfa not in ("exp", "none"):
            text = cfa.upper().replace("X", "W" if arm64 else "X") + ": " + text.partition(": ")[2]
        want = want_rule(text, regs, f"W{cie.ra}" if arm64 else "RIP", arm64)
        if got == want:
            tally["equal"] += 1
        elif (cie.signal and got.kind == "signal") or (start in roots and got == END):
            tally["known better"] += 1
        elif want is None and got == NONE:
            tally["refused"] += 1
        elif cfa == "exp" and "DW_OP" not in text.partition(": ")[0] and got.kind in ("deref", "plt"):
            tally["unseen"] += 1    # the expression came back by DW_CFA_restore_state
        else:
            wrong.append(f"{address:#x}: {text} gave {got}")
    return tally, wrong


def check_by_page(dump, path):
    """Rows that are compiled page by page, as those of large files are: equal to those of the whole. What is said."""
    said = subprocess.run([dump, "-p", path], capture_output=True, text=True, check=False).stdout
    found = re.search(r": (\d+) of \d+ pages by page, (\d+) of (\d+) rows differ", said)
    return found is not None and int(found[1]) > 0 and int(found[2]) == 0, said.strip()


def by_page_files():
    """Not libc, where makecontext() is known by its name, nor what has a language's runtime: those are read whole."""
    patterns = ["/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib/x86_64-linux-gnu/libcrypto.so.3", "/bin/bash",
                "/usr/aarch64-linux-gnu/lib/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libLLVM-*.so.1"]
    return sorted({os.path.realpath(f) for p in patterns for f in glob.glob(p)})


def system_files(everything):
    patterns = ["/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib64/ld-linux-x86-64.so.2",
                "/lib/x86_64-linux-gnu/libcrypto.so.3", "/bin/bash", "/usr/bin/python3", "/usr/aarch64-linux-gnu/lib/libc.so.6",
                "/usr/aarch64-linux-gnu/lib/libstdc++.so.6", "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1"]
    if everything:
        patterns += ["/usr/lib/llvm-*/lib/libLLVM-*.so.1", "/usr/lib/jvm/*/lib/server/libjvm.so", "/usr/bin/node"]
    return [f for p in patterns for f in glob.glob(p)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("-d", "--dump", default="build/test/tools/rows_dump")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    if not shutil.which("llvm-dwarfdump") or not shutil.which("readelf") or not os.access(args.dump, os.X_OK):
        print(f"1..0 # SKIP needs llvm-dwarfdump, readelf and {args.dump}")
        return 0
    failed, files = 0, args.files or system_files(args.all)
    paged = [] if args.files else by_page_files()
    print(f"1..{len(files) + len(paged)}")
    for n, path in enumerate(files, 1):
        tally, wrong = check(args.dump, path)
        rows = tally.total() + len(wrong)
        good = not wrong and tally["equal"] > 0 and tally["refused"] <= 0.01 * rows
        failed += not good
        print(f"{'' if good else 'not '}ok {n} - {path}: {rows} rows, {tally['equal']} equal, "
              f"{tally['known better']} known better, {tally['refused']} refused, {tally['unseen']} unseen, {len(wrong)} wrong", flush=True)
        for line in wrong[:5]:
            print(f"# {line}")
    for n, path in enumerate(paged, len(files) + 1):
        good, said = check_by_page(args.dump, path)
        failed += not good
        print(f"{'' if good else 'not '}ok {n} - page by page: {said}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
