#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names as the symbolizer gives them, against /proc/kallsyms, perf script, readelf, addr2line -i and gdb.

usage: names.py [COUNT]    addresses of each kind, 10,000 unless given
Prints TAP. A name agrees if the function starts at the same address, or if it is one of the names that the other tool
knows at that start; inline chains agree if all functions do, in order. What the other tool has no name for is not counted.
SHOW=1 lists what differs.
"""
import bisect
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from common import BUILD, ROOT, Tap  # noqa: E402

TOOL = os.path.join(BUILD, 'test/tools/symbolize')
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
AGREE = 0.999
SHOW = 'SHOW' in os.environ

Name = collections.namedtuple('Name', 'start source chain')  # chain: [(function, name in the file)], innermost first

LOAD = r'''
import hashlib, json, os, re, subprocess, zlib
for i in range(6):
    json.loads(json.dumps([{"a": list(range(50))}] * 2000))
    re.findall(r"(a|b)+c", "ababab" * 3000)
    zlib.compress(os.urandom(1 << 20))
    hashlib.sha256(os.urandom(1 << 20)).hexdigest()
    sorted(str(x) for x in range(100000))
    subprocess.run(["sh", "-c", "find /usr/share -name '*.gz' | sort | tail -n 1; ls -lR /usr/lib > /dev/null"], capture_output=True)
'''


def output(command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors='replace', **options).stdout


def ours(questions, *options):
    """What the symbolizer says for each (path, address)."""
    text = ''.join(f'{path} {ea:x}\n' for path, ea in questions)
    run = subprocess.run([TOOL, *options], input=text, capture_output=True, text=True, errors='replace')
    answers = {}
    for line in run.stdout.splitlines():
        part = line.split('\t')
        if len(part) > 5:
            chain = [(part[i], part[i + 1]) for i in range(5, len(part) - 3, 4)]
            answers[part[0], int(part[1], 16)] = Name(int(part[2], 16), part[3], chain)
    for note in run.stderr.splitlines():
        print('#', note)
    return answers


def show(*what):
    if SHOW:
        print('#', *what)


def verdict(tap, name, agreed, compared, least):
    share = agreed / compared if compared else 0
    tap.check(name, compared >= least and share >= AGREE, f'{compared} compared, {share:.3%} agree')


# ---- the kernel --------------------------------------------------------------------------------------------------------------

def kallsyms():
    """Start addresses, ascending, and the names at each; the end of the text."""
    names = collections.defaultdict(set)
    end = None
    for line in open('/proc/kallsyms'):
        part = line.split()
        if part[1] in 'tTwW' and int(part[0], 16):
            names[int(part[0], 16)].add(part[2])
            if part[2] == '_etext':
                end = int(part[0], 16)
    starts = sorted(names)
    return starts, names, end or starts[-1]


def compare_kernel(tap):
    starts, names, end = kallsyms()
    if not starts:
        tap.skip('kernel addresses', 'kernel.kptr_restrict hides them')
        return
    low = starts[0]
    picked = sorted({random.randrange(low, end) for _ in range(COUNT)})
    answers = ours([('[kernel]', va) for va in picked])
    agreed = compared = 0
    for va in picked:
        start = starts[bisect.bisect_right(starts, va) - 1]
        known = names[start]
        if all(n.endswith('_text_end') for n in known):
            continue  # between two sections
        compared += 1
        name = answers['[kernel]', va]
        function = name.chain[0][0]
        same = function in known and name.start == start or f'__pfx_{function}' in known
        agreed += same
        if not same:
            show(hex(va), known, name)
    verdict(tap, 'kernel addresses against /proc/kallsyms', agreed, compared, COUNT // 2)


# ---- what perf samples -------------------------------------------------------------------------------------------------------

class Segments:
    """File offsets to addresses of ELF files."""
    def __init__(self):
        self.known = {}

    def ea(self, path, offset):
        if path not in self.known:
            rows = re.findall(r'^\s+LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)', output(['readelf', '-lW', path]), re.M)
            self.known[path] = [tuple(int(v, 16) for v in row) for row in rows]
        for file_offset, ea, size in self.known[path]:
            if file_offset <= offset < file_offset + size:
                return offset - file_offset + ea
        return None


def sampled(directory):
    """(path, address, perf's name, its offset into the function) of what perf samples on this machine."""
    data = f'{directory}/perf.data'
    load = f'{directory}/load.py'
    with open(load, 'w') as f:
        f.write(LOAD)
    rate = min(4999, int(open('/proc/sys/kernel/perf_event_max_sample_rate').read()))  # a busy kernel lowers it
    command = ['perf', 'record', '-q', '-a', '-B', '-N', '-F', str(rate), '-o', data, '--', 'python3', load]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode or not os.path.exists(data):
        print('#', run.stderr.strip()[-200:])
        return None
    script = ['perf', 'script', '-i', data, '--no-demangle', '--no-inline', '-F']
    mapped = re.compile(r'PERF_RECORD_MMAP2? (\d+)/\d+: \[(0x\w+)\((0x\w+)\) @ (0x\w+|0) .*?\]: \S*x\S* (/.*)')
    sample = re.compile(r'^\s*(\d+)\s+([0-9a-f]+) (\S+)\+0x([0-9a-f]+) \((.*)\)$')
    maps, segments, found = collections.defaultdict(list), Segments(), {}
    for line in output([*script, 'pid,ip,sym,symoff,dso', '--show-mmap-events']).splitlines():
        match = mapped.search(line)
        if match:
            pid, start, size, offset, path = match.groups()
            maps[pid].append((int(start, 16), int(size, 16), int(offset, 16), path))
            continue
        match = sample.match(line)
        if not match:
            continue
        pid, ip, symbol, offset, dso = match.groups()
        # perf 6.1 takes the n-th entry of a PLT for the n-th relocation: in libc, whose IRELATIVE entries stand between
        # the others, it calls most of them by another's name (objdump agrees with wick).
        if symbol.endswith('@plt'):
            continue
        ip = int(ip, 16)
        if dso.startswith('[kernel'):
            found['[kernel]', ip] = symbol, int(offset, 16)
        for start, size, file_offset, path in reversed(maps[pid]) if dso.startswith('/') else ():
            if start <= ip < start + size and path == dso and os.path.isfile(path):
                ea = segments.ea(path, ip - start + file_offset)
                if ea is not None:
                    found[path, ea] = symbol, int(offset, 16)
                break
    return found


def compare_perf(tap, directory):
    found = sampled(directory) if shutil.which('perf') else None
    if not found:
        tap.skip('names against perf script', 'perf cannot sample here')
        return
    keys = sorted(found, key=lambda k: random.random())[:COUNT]
    answers = ours(keys)
    for kind, chosen in (('kernel', [k for k in keys if k[0] == '[kernel]']), ('native', [k for k in keys if k[0] != '[kernel]'])):
        agreed = 0
        for key in chosen:
            symbol, offset = found[key]
            name = answers[key]
            same = key[1] - name.start == offset or symbol in name.chain[-1] or symbol == f'__pfx_{name.chain[-1][0]}'
            agreed += same
            if not same:
                show(key[0], hex(key[1]), symbol, hex(offset), name)
        verdict(tap, f'{kind} names against perf script', agreed, len(chosen), 300)


# ---- files -------------------------------------------------------------------------------------------------------------------

def build_id_file(path):
    match = re.search(r'Build ID: (\w\w)(\w+)', output(['readelf', '-n', path]))
    debug = match and f'/usr/lib/debug/.build-id/{match[1]}/{match[2]}.debug'
    return debug if debug and os.path.exists(debug) else None


def symbols_of(*paths):
    """Functions by start: their size and all their names."""
    row = re.compile(r'^ *\d+: ([0-9a-f]+) +(0x[0-9a-f]+|\d+) (?:FUNC|IFUNC) +\w+ +\w+ +(?:\[.*\] )?\d+ (\S+)', re.M)
    table = {}
    for path in paths:
        for value, size, name in row.findall(output(['readelf', '-sW', path])):
            known, names = table.setdefault(int(value, 16), (0, set()))
            table[int(value, 16)] = (max(known, int(size, 0)), names | {name.split('@')[0]})
    return {start: (size, names) for start, (size, names) in table.items() if size}


def pick(table, count):
    """Addresses in functions, as likely as those are large, without those where functions overlap."""
    starts = sorted(table)
    chosen = random.choices(starts, weights=[table[s][0] for s in starts], k=count)
    picked = set()
    for start in chosen:
        ea = start + random.randrange(table[start][0])
        if starts[bisect.bisect_right(starts, ea) - 1] == start:
            picked.add((ea, start))
    return dict(sorted(picked))


def addr2line(path, addresses):
    text = ''.join(f'{a:x}\n' for a in addresses)
    chains, lines = {}, []
    for line in output(['addr2line', '-a', '-f', '-i', '-e', path], input=text).splitlines():
        if line.startswith('0x') and ':' not in line and len(lines) % 2 == 0:
            lines = chains.setdefault(int(line, 16), [])
        else:
            lines.append(line)
    return {a: lines[0::2] for a, lines in chains.items()}


def gdb(path, addresses):
    """Functions as gdb names them, mangled."""
    with tempfile.NamedTemporaryFile('w', suffix='.gdb') as script:
        script.write('set print asm-demangle off\nset print demangle off\nset demangle-style none\n')
        script.writelines(f'info symbol 0x{a:x}\n' for a in addresses)
        script.flush()
        lines = output(['gdb', '-nx', '-batch', '-iex', 'set debuginfod enabled off', '-x', script.name, path]).splitlines()
    lines = [line for line in lines if ' in section ' in line or line.startswith('No symbol matches')]
    if len(lines) != len(addresses):
        return {}
    return {a: line.split(' in section ')[0].split(' + ')[0] for a, line in zip(addresses, lines) if ' in section ' in line}


def plain(name):
    """A name without what compilers add to parts and copies of functions."""
    name = re.split(r'\.(?:constprop|isra|part|cold|lto_priv|llvm|localalias)\b|@', name)[0]
    return re.sub(r'([CD])[014](E|I)', r'\g<1>2\2', name)


def same_chain(mine, theirs, aliases):
    """Inlined functions must be called the same; the last is the function itself, for which any of its names will do."""
    if theirs and len(mine) != len(theirs):
        return False
    inner = all(plain(m[1]) == plain(t) for m, t in zip(mine[:-1], theirs))
    return inner and plain(mine[-1][1]) in {plain(a) for a in aliases} | {plain(theirs[-1])}


def compare_file(tap, label, path, asked=None):
    """path has the symbols; asked, if it differs, is the stripped file that the symbolizer gets to see."""
    debug = build_id_file(path)
    table = symbols_of(path, *([debug] if debug else []))
    picked = pick(table, COUNT) if table else {}
    if not picked:
        tap.skip(label, f'{path} has no symbols')
        return
    asked = asked or path
    answers = ours([(asked, ea) for ea in picked])
    agreed = 0
    for ea, start in picked.items():
        name = answers[asked, ea]
        same = name.start == start and (plain(name.chain[-1][1]) in {plain(n) for n in table[start][1]})
        agreed += same
        if not same:
            show(path, hex(ea), hex(start), table[start], name)
    verdict(tap, f'{label}: functions against readelf', agreed, len(picked), COUNT // 4)

    chains = addr2line(debug or path, picked)
    by_dwarf = [ea for ea in picked if answers[asked, ea].source == 'dwarf' and chains.get(ea, ['??'])[0] != '??']
    agreed = 0
    for ea in by_dwarf:
        same = same_chain(answers[asked, ea].chain, chains[ea], table[picked[ea]][1])
        agreed += same
        if not same:
            show(path, hex(ea), chains[ea], answers[asked, ea])
    if len(by_dwarf) >= COUNT // 10:
        verdict(tap, f'{label}: inline chains against addr2line -i', agreed, len(by_dwarf), COUNT // 10)

    known = gdb(path, list(picked)[:: max(1, len(picked) // 2000)]) if shutil.which('gdb') else {}
    agreed = 0
    for ea, symbol in known.items():
        same = plain(symbol) in {plain(n) for n in table[picked[ea]][1] | {answers[asked, ea].chain[-1][1]}} and \
            answers[asked, ea].start == picked[ea]
        agreed += same
        if not same:
            show(path, hex(ea), symbol, answers[asked, ea])
    if known:
        verdict(tap, f'{label}: functions against gdb', agreed, len(known), len(known))


def library(name, program):
    match = program and re.search(re.escape(name) + r'\S* => (\S+)', output(['ldd', program]))
    return match and os.path.realpath(match[1])


def split(directory):
    """This program, stripped, with its symbols in a file of its own that only a debuglink names."""
    full, bare = f'{directory}/full', f'{directory}/bare'
    os.mkdir(f'{directory}/.debug')
    shutil.copy(os.path.join(BUILD, 'unit'), full)
    for command in (['objcopy', '--remove-section=.note.gnu.build-id', full],
                    ['objcopy', '--only-keep-debug', full, f'{directory}/.debug/bare.debug'],
                    ['strip', '-o', bare, full],
                    ['objcopy', f'--add-gnu-debuglink={directory}/.debug/bare.debug', bare]):
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return full, bare


def main():
    random.seed(int(os.environ.get('SEED', 7)))
    tap = Tap()
    subprocess.run(['make', '-C', ROOT, 'O=' + BUILD, TOOL, os.path.join(BUILD, 'unit')], check=True, capture_output=True)
    with tempfile.TemporaryDirectory() as directory:
        compare_kernel(tap)
        compare_perf(tap, directory)
        full, bare = split(directory)
        compare_file(tap, 'a stripped program with a debuglink', full, bare)
        for label, path in (('wick', os.path.join(BUILD, 'wick')), ('libc', library('libc.so', TOOL)),
                            ('libstdc++', library('libstdc++.so', shutil.which('gdb'))),
                            ('libpython', library('libpython', sys.executable)), ('node', shutil.which('node')),
                            ('gdb', shutil.which('gdb'))):
            if path and os.path.exists(path):
                compare_file(tap, label, path)
            else:
                tap.skip(label, 'it is not installed')
    tap.end()


main()
