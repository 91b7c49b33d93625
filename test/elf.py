# SPDX-License-Identifier: Apache-2.0
"""A small reader of ELF files, independent of the one under test: symbols, entry, where unwinding ends."""
import bisect
import functools
import glob
import itertools
import os
import re
import struct
import subprocess

SHT_SYMTAB, SHT_DYNSYM = 2, 11
STT_FUNC, STT_NOTYPE, STT_GNU_IFUNC = 2, 0, 10
PT_NOTE = 4
NT_GNU_BUILD_ID = 3


class Elf:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        if self.bytes[:5] != b"\x7fELF\x02":
            raise ValueError(f"{path} is not a 64-bit ELF file")
        (self.type, self.machine, _, self.entry, phoff, shoff, _, _, phsize, phcount, shsize, shcount,
         _) = struct.unpack_from("<HHIQQQIHHHHHH", self.bytes, 16)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.bytes, phoff + i * phsize) for i in range(phcount)]
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, shoff + i * shsize) for i in range(shcount)]
        self.set_symbols(self.read_symbols())

    def read_symbols(self):
        for section in self.sections:
            if section[1] not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            strings = self.sections[section[6]]
            for at in range(section[4], section[4] + section[5], 24):
                name, info, _, index, value, size = struct.unpack_from("<IBBHQQ", self.bytes, at)
                if index and info & 15 in (STT_FUNC, STT_NOTYPE, STT_GNU_IFUNC) and value:
                    end = self.bytes.index(b"\0", strings[4] + name)
                    text = self.bytes[strings[4] + name:end].decode(errors="replace")
                    if text and not text.startswith("$"):
                        yield value, size, text

    def set_symbols(self, symbols):
        """Sorted by start; reach[i] is where the last of the first i + 1 ends: a search back knows when to stop."""
        self.symbols = sorted(set(symbols))
        self.starts = [s[0] for s in self.symbols]
        self.reach = list(itertools.accumulate((s[0] + s[1] for s in self.symbols), max))

    def covering(self, address):
        """All (start, size, name) whose range holds the address."""
        found = []
        at = bisect.bisect_right(self.starts, address) - 1
        while at >= 0 and self.reach[at] > address:
            start, size, name = self.symbols[at]
            if start <= address < start + size:
                found.append((start, size, name))
            at -= 1
        return found

    def unsized_at_or_before(self, address):
        """Names without a size at the nearest such start: hand-written assembly; they may count, none must."""
        at = bisect.bisect_right(self.starts, address) - 1
        return {n for s, size, n in self.symbols[max(0, at - 4):at + 1] if not size}

    def build_id(self):
        for kind, _, offset, _, _, size, _, _ in self.segments:
            at = offset
            while kind == PT_NOTE and at + 12 <= offset + size:
                name_size, content_size, note = struct.unpack_from("<III", self.bytes, at)
                content = at + 12 + (name_size + 3 & ~3)
                if note == NT_GNU_BUILD_ID and self.bytes[at + 12:at + 16] == b"GNU\0":
                    return self.bytes[content:content + content_size].hex()
                at = content + (content_size + 3 & ~3)
        return ""

    def debug_file(self):
        build_id = self.build_id()
        path = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        return path if build_id and os.path.exists(path) else None

    def has_dwarf(self):
        """Has it a section .debug_info?"""
        names = struct.unpack_from("<H", self.bytes, 62)[0]
        if names >= len(self.sections):
            return False
        at = self.sections[names][4]
        return any(self.bytes.startswith(b".debug_info\0", at + s[0]) for s in self.sections)


@functools.lru_cache(maxsize=None)
def load(path):
    """The file, with the symbols of its separate debug file; None if it cannot be read."""
    try:
        elf = Elf(path)
    except (OSError, ValueError, struct.error):
        return None
    debug = elf.debug_file()
    if debug and debug != path:
        more = Elf(debug)
        if more.symbols:
            elf.set_symbols(elf.symbols + more.symbols)
    return elf


@functools.lru_cache(maxsize=None)
def dwarf_path(path):
    """Where its DWARF is: in the file, or in its debug file; None without."""
    elf = load(path)
    if not elf or elf.has_dwarf():
        return path if elf else None
    debug = elf.debug_file()
    return debug if debug and Elf(debug).has_dwarf() else None


@functools.lru_cache(maxsize=None)
def library_paths():
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    paths = {}
    for path in re.findall(r"\(libc6,(?:x86-64|AArch64)\b.*=> (\S+)", listing):
        paths.setdefault(os.path.basename(path), path)
        paths.setdefault(os.path.basename(os.path.realpath(path)), os.path.realpath(path))
    for path in glob.glob("/lib*/ld-*.so*") + glob.glob("/lib/*/ld-*.so*"):
        paths.setdefault(os.path.basename(path), path)
    return paths


def find(name, *candidates):
    """The path of a mapped file, from its name and paths that it may have."""
    if os.path.isabs(name):
        return name if os.path.exists(name) else None
    for path in candidates:
        if path and os.path.basename(path) == name and os.path.exists(path):
            return path
    return library_paths().get(name)


@functools.lru_cache(maxsize=None)
def unwinding_ends(path):
    """The address ranges of a file where the return address is told to be undefined: clone, _start."""
    listing = subprocess.run(["readelf", "--wide", "--debug-dump=frames", path],
                             capture_output=True, text=True, check=False).stdout
    ranges, current = [], None
    for line in listing.splitlines():
        match = re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if match:
            current = (int(match[1], 16), int(match[2], 16))
        elif " CIE" in line:
            current = None
        elif current and re.search(r"DW_CFA_undefined: r(16 \(rip\)|30 \(x30\))", line):
            ranges.append(current)
            current = None
    return ranges


def is_root(path, address):
    """Does the outermost frame of a complete stack lie here?"""
    elf = load(path)
    if not elf:
        return False
    if elf.entry <= address < elf.entry + 64:
        return True
    return any(start <= address < end for start, end in unwinding_ends(path))
