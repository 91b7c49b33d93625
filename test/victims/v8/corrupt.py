#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corrupt.py SEED SECONDS COMMAND...: runs a program of V8 again and again, and spoils its memory while it runs.

What is spoiled is what a profiler looks at: objects that pointers in the stack lead to, directly or by way of others. Few
programs survive that for long; the next one is started at once.
"""
import os
import random
import re
import struct
import subprocess
import sys
import time

WORD = struct.Struct("<Q")
LIFE_SECONDS = 2        # of one that does not notice


class Memory:
    """The memory of a process; what is not there reads as nothing."""

    def __init__(self, pid):
        self.file = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            found = re.findall(r"^(\w+)-(\w+) rw.p .*? (?:0 *|(\[stack\]))$", file.read(), re.M)
        self.heap = [(int(start, 16), int(end, 16)) for start, end, stack in found if not stack]
        self.stack = [(int(start, 16), int(end, 16)) for start, end, stack in found if stack]

    def words(self, va, count):
        try:
            data = os.pread(self.file, 8 * count, va)
        except (OSError, OverflowError):
            return []
        return [WORD.unpack_from(data, at)[0] for at in range(0, len(data) - 7, 8)]

    def objects(self, words):
        """The tagged pointers among them."""
        return [w for w in words if w & 3 == 1 and any(start < w < end for start, end in self.heap)]

    def spoil(self, pick, roots):
        """One field of an object that a few steps lead to from the stack."""
        target = pick.choice(roots)
        for _ in range(pick.randrange(3)):
            target = pick.choice(self.objects(self.words(target - 1, 12)) or [target])
        value = pick.choice((0, 1, 2 ** 64 - 1, pick.getrandbits(64), pick.getrandbits(31) << 32, pick.choice(roots),
                             target))
        os.pwrite(self.file, WORD.pack(value), target - 1 + 8 * pick.randrange(12))

    def close(self):
        os.close(self.file)


def torment(pick, child, end):
    memory = Memory(child.pid)
    try:
        while child.poll() is None and time.monotonic() < end:
            start, stop = memory.stack[0]
            roots = memory.objects(memory.words(start, (stop - start) // 8))
            for _ in range(20 if roots else 0):
                memory.spoil(pick, roots)
                time.sleep(0.002)
    except OSError:
        pass        # it is gone
    finally:
        memory.close()


def main():
    pick = random.Random(int(sys.argv[1]))
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        with subprocess.Popen(sys.argv[3:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            child.stdout.readline()
            time.sleep(pick.random() / 2)
            try:
                torment(pick, child, min(end, time.monotonic() + LIFE_SECONDS))
            except (OSError, IndexError):
                pass        # it was gone before it was looked at
            child.kill()


main()
