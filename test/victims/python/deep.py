# SPDX-License-Identifier: Apache-2.0
"""deep.py SECONDS DEPTH: as many calls below outer(), of three functions that take turns, then leaf()."""
import sys
import time


def leaf(seconds):
    end = time.process_time() + seconds
    x = 1
    while time.process_time() < end:
        for i in range(1000):
            x = x * 5 + i & 0xffff
    return x


def turn_0(left, seconds):
    return (turn_1(left - 1, seconds) if left > 1 else leaf(seconds)) + 1


def turn_1(left, seconds):
    return (turn_2(left - 1, seconds) if left > 1 else leaf(seconds)) + 1


def turn_2(left, seconds):
    return (turn_0(left - 1, seconds) if left > 1 else leaf(seconds)) + 1


def outer():
    return turn_0(int(sys.argv[2]), float(sys.argv[1]))


sys.setrecursionlimit(100000)
outer()
