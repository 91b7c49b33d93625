# SPDX-License-Identifier: Apache-2.0
"""A chain of Python, code that Numba has compiled, and a callee of that."""
import os

import numba


@numba.njit
def leaf(n):
    x = n
    for i in range(100000):
        x = (x * 1103515245 + 12345) & 0x7fffffff
        if x == 7:
            x += i
    return x


@numba.njit
def outer(n):
    a = leaf(n)
    return a ^ 9


def caller(n):
    return outer(n)


def work(n):
    while True:
        n = caller(n)


caller(1)
print(os.getpid(), flush=True)
work(1)
