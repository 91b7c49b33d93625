#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names and inline chains of random addresses, as the reader process tells them, against addr2line and llvm-symbolizer.

usage: lines.py [FILE ...]    without files: programs compiled here, and what else on this machine has DWARF
Prints TAP. An address agrees if its whole chain of function names is that of one of the two; both are shown apart.
"""
import glob
import os
import random
import subprocess
import sys
import tempfile

O = os.environ.get('WICK_BUILD', 'build')
TOOL = f'{O}/test/tools/lines_dump'
COUNT = int(os.environ.get('COUNT', 4000))
AGREE = 0.999

CXX = r'''
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace outer { namespace {
template <typename T> struct heap {
	std::vector<T> all;
	void push(T t) { all.push_back(t); std::push_heap(all.begin(), all.end()); }
	T pop() { std::pop_heap(all.begin(), all.end()); T t = all.back(); all.pop_back(); return t; }
};
} 
static inline unsigned mix(unsigned x) { x ^= x << 13; x ^= x >> 17; return x ^ x << 5; }
int run(int n) {
	heap<std::string> words;
	std::map<unsigned, std::string> seen;
	unsigned x = n;
	auto next = [&] { return x = mix(x); };
	for (int i = 0; i < n; i++) { std::string s = std::to_string(next()); words.push(s); seen[next() % 97] = s; }
	size_t sum = 0;
	while (!words.all.empty()) sum += words.pop().size();
	try { if (sum % 3 == 1) throw std::string("odd"); } catch (std::string &s) { sum += s.size(); }
	for (auto &e : seen) sum += e.first * e.second.size();
	return sum;
} }
int main(int argc, char **argv) { std::printf("%d\n", outer::run(1000 * argc)); }
'''


def text_of(path):
    """Address ranges of the functions of a file."""
    ranges = []
    out = subprocess.run(['nm', '--defined-only', '-S', path], capture_output=True, text=True).stdout
    for line in out.splitlines():
        part = line.split()
        if len(part) == 4 and part[2] in 'tTwWi':
            ranges.append((int(part[0], 16), int(part[1], 16)))
    return [r for r in ranges if r[1]]


def addresses_of(path):
    ranges = text_of(path)
    if not ranges:
        return []
    picked = random.choices(ranges, weights=[r[1] for r in ranges], k=COUNT)
    return sorted({start + random.randrange(size) for start, size in picked})


def ours(path, addresses):
    text = '\n'.join(f'{a:x}' for a in addresses)
    out = subprocess.run([TOOL, 'lines', path], input=text, capture_output=True, text=True)
    chains = {}
    for line in out.stdout.splitlines():
        if line.startswith('#'):
            print('#', os.path.basename(path), line[2:])
            continue
        address, _, rest = line.partition(' ')
        part = rest.split('\t')
        chains[int(address, 16)] = [(part[i], part[i + 1], part[i + 2]) for i in range(0, len(part) - 2, 3)]
    if out.returncode:
        print('#', out.stderr.strip())
    return chains


def from_addr2line(path, addresses):
    """addr2line -a: the address, then a function and a file:line for each frame."""
    text = '\n'.join(f'{a:x}' for a in addresses)
    out = subprocess.run(['addr2line', '-a', '-f', '-i', '-e', path], input=text, capture_output=True, text=True).stdout
    chains, now, names = {}, None, []
    for line in out.splitlines():
        if line.startswith('0x') and ':' not in line and len(names) % 2 == 0:
            now, names = int(line, 16), []
            chains[now] = names
        else:
            names.append(line)
    return {a: list(zip(n[0::2], n[1::2])) for a, n in chains.items()}


def from_llvm(path, addresses):
    text = '\n'.join(f'0x{a:x}' for a in addresses)
    out = subprocess.run(['llvm-symbolizer', '--no-demangle', '--inlining', '--output-style=GNU', '-a', '-f', '-e', path],
                         input=text, capture_output=True, text=True).stdout
    chains, names = {}, []
    for line in out.splitlines():
        if line.startswith('0x') and ':' not in line and len(names) % 2 == 0:
            names = []
            chains[int(line, 16)] = names
        else:
            names.append(line)
    return {a: list(zip(n[0::2], n[1::2])) for a, n in chains.items()}


def plain(name):
    """What is left of a name when compilers and tools have had their way with it."""
    for mark in ('.constprop.', '.isra.', '.part.', '.cold', '.lto_priv.', '.llvm.', '.localalias', '.abi0', '@@', '@plt'):
        name = name.split(mark)[0]
    return name.replace('C4E', 'C2E').replace('C1E', 'C2E').replace('D4E', 'D2E').replace('D1E', 'D2E')


def compare(path, show):
    addresses = addresses_of(path)
    mine = ours(path, addresses)
    peers = {'addr2line': from_addr2line(path, addresses)}
    if subprocess.run(['which', 'llvm-symbolizer'], capture_output=True).returncode == 0:
        peers['llvm-symbolizer'] = from_llvm(path, addresses)
    looked = [a for a in addresses if mine.get(a)]
    agree = dict.fromkeys([*peers, 'any', 'line'], 0)
    for a in looked:
        names = [plain(f[0]) for f in mine[a]]
        lines = [f[2] for f in mine[a]]
        theirs = {k: [plain(f[0]) for f in p.get(a, [])] for k, p in peers.items()}
        same = {k: names == t or (names == [''] and len(t) == 1) for k, t in theirs.items()}
        for k in same:
            agree[k] += same[k]
        agree['any'] += any(same.values())
        agree['line'] += any(lines == [f[1].rpartition(':')[2].split()[0].replace('?', '0') for f in p.get(a, [])]
                             for p in peers.values())
        if show and not any(same.values()):
            print(f'# {a:x} {mine[a]}')
            for k, p in peers.items():
                print(f'#    {k}: {p.get(a)}')
    return len(addresses), len(looked), agree


def compiled(directory):
    """C and C++ of our own, by what compilers there are."""
    source = f'{directory}/inlines.cc'
    with open(source, 'w') as f:
        f.write(CXX)
    for name, command in (('gxx-O2', ['g++', '-O2', '-g']), ('gxx-O3-dwarf4', ['g++', '-O3', '-gdwarf-4']),
                          ('gxx-gz', ['g++', '-O2', '-g', '-gz']), ('gxx-lto', ['g++', '-O2', '-g', '-flto']),
                          ('clangxx-O2', ['clang++', '-O2', '-g'])):
        out = f'{directory}/{name}'
        try:
            if subprocess.run([*command, source, '-o', out], capture_output=True).returncode == 0:
                yield out
        except FileNotFoundError:
            pass


def main():
    random.seed(7)
    with tempfile.TemporaryDirectory() as directory:
        files = sys.argv[1:] or [*compiled(directory), f'{O}/wick',
                                 *sorted(glob.glob(os.path.expanduser('~/.pyenv/versions/*/lib/libpython3.1*.so.1.0')))[:2]]
        failed = False
        print(f'1..{len(files)}')
        for i, path in enumerate(files, 1):
            total, looked, agree = compare(path, 'SHOW' in os.environ)
            share = agree['any'] / looked if looked else 0
            ok = looked > total / 2 and share >= AGREE
            failed |= not ok
            print(f'{"" if ok else "not "}ok {i} - {os.path.basename(path)}: {looked} of {total} addresses have DWARF, '
                  f'{share:.2%} of chains agree, lines {agree["line"] / max(looked, 1):.2%} '
                  f'({", ".join(f"{k} {v / max(looked, 1):.2%}" for k, v in agree.items() if k not in ("any", "line"))})')
    return failed


sys.exit(main())
