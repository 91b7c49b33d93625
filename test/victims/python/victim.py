# SPDX-License-Identifier: Apache-2.0
"""A Python program whose stacks are known: victim.py SCENARIO runs one for ever. It prints its pid when it is there.

What a caller's line must be is marked: "# -> CALLEE". Runs on CPython 3.8 and later.
"""
import asyncio
import ctypes
import itertools
import os
import re
import sys
import threading


def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def a(n):
    total = 0
    for i in range(n):
        total = total + i & 1023  # small: the cost of a round must not depend on n
    return total


def b(n):
    total = 0
    for i in range(n):
        total = total + i & 1023  # small: the cost of a round must not depend on n
    return total


def c(n):
    total = 0
    for i in range(n):
        total = total + i & 1023  # small: the cost of a round must not depend on n
    return total


def split():
    # Rounds of one length could keep step with the sampler's clock.
    for length in itertools.cycle((300, 700, 1300, 500, 1700, 1100)):
        a(6 * length)  # -> a
        b(3 * length)  # -> b
        c(1 * length)  # -> c


def down(n):
    if n:
        return down(n - 1)  # -> down
    return spin(30000)  # -> spin


def recursion():
    while True:
        down(499)  # -> down


def thrower():
    spin(2000)  # -> spin
    raise ValueError("expected")


def handler():
    spin(2000)  # -> spin


def catcher():
    try:
        thrower()  # -> thrower
    except ValueError:
        handler()  # -> handler


def exceptions():
    while True:
        catcher()  # -> catcher


def numbers():
    while True:
        yield spin(2000)  # -> spin


def doubled():
    for n in numbers():  # -> numbers
        yield 2 * n


def generators():
    for _ in doubled():  # -> doubled
        pass


async def inner():
    return spin(2000)  # -> spin


async def middle():
    return await inner()  # -> inner


async def outer():
    while True:
        for _ in range(100):
            await middle()  # -> middle
        await asyncio.sleep(0)


def coroutines():
    asyncio.run(outer())


async def busy_task():
    for _ in range(20):
        spin(20000)  # -> spin
        await asyncio.sleep(0)


async def step_task():
    await busy_task()  # -> busy_task


async def gatherer():
    await asyncio.gather(step_task())  # -> step_task


async def grouper():
    async with asyncio.TaskGroup() as group:
        group.create_task(gatherer())


async def waiter():
    while True:
        await asyncio.create_task(grouper())  # -> grouper


def waiting():
    """Tasks that await each other: what runs is only the innermost."""
    asyncio.run(waiter())


def key(value):
    return -value + spin(500) * 0  # -> spin


def sorting():
    while True:
        sorted(range(20), key=key)  # -> key


def replace(match):
    spin(500)  # -> spin
    return match.group()


def substitution():
    pattern = re.compile("x")
    while True:
        pattern.sub(replace, "xxxxxxxxxxxxxxxx")  # -> replace


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
def compare(left, right):
    spin(500)  # -> spin
    return left[0] - right[0]


def foreign():
    libc = ctypes.CDLL(None)
    while True:
        array = (ctypes.c_int * 8)(5, 3, 8, 1, 9, 2, 7, 4)
        libc.qsort(array, 8, ctypes.sizeof(ctypes.c_int), compare)  # -> compare


class Base:
    def __init__(self, n):
        self.value = spin(n)  # -> spin


class Derived(Base):
    def __init__(self, n):
        super().__init__(n)  # -> Base.__init__


def objects():
    while True:
        Derived(2000)  # -> Derived.__init__


def größe_長さ():
    return [spin(n) for n in (2000, 2000)]  # -> spin


def unicode_names():
    while True:
        größe_長さ()  # -> größe_長さ


def evaluated():
    code = compile("def made():\n    return spin(2000)\nwhile True:\n    made()\n", "<made up>", "exec")
    exec(code, {"spin": spin})  # -> <module>


def passing():
    """Code that is freed as soon as it has run, as that of modules is."""
    while True:
        code = compile("def made():\n    return spin(40000)\nmade()\n", "<made up>", "exec")
        exec(code, {"spin": spin})  # -> <module>
        del code


def thread_0():
    while True:
        spin(2000)  # -> spin


def thread_1():
    while True:
        spin(2000)  # -> spin


def threads():
    started = [threading.Thread(target=(thread_0, thread_1)[i % 2], name=f"victim-{i % 2}") for i in range(8)]
    for thread in started:
        thread.start()
    started[0].join()


SUB = """
def sub(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

while True:
    sub(2000)
"""


def subinterpreter():
    try:
        import _interpreters
    except ImportError:
        import _xxsubinterpreters as _interpreters
    run = getattr(_interpreters, "exec", None) if sys.version_info >= (3, 13) else _interpreters.run_string
    run(_interpreters.create(), SUB)  # -> <module>


def subinterpreters():
    """At once, from 3.12 on: each has a lock of its own."""
    started = [threading.Thread(target=subinterpreter) for _ in range(3)]
    for thread in started:
        thread.start()
    started[0].join()


def element(x):
    return x + spin(200) * 0  # -> spin


def arrays():
    import numpy
    each = numpy.frompyfunc(element, 1, 1)
    values = numpy.arange(64)
    while True:
        each(values)  # -> element


def products():
    import numpy
    left = numpy.random.default_rng(1).random((120, 120), dtype="float32")
    while True:
        numpy.sort(left, axis=1)


def green():
    spin(2000)  # -> spin


def switching():
    import greenlet

    def run():
        while True:
            green()  # -> green
            greenlet.getcurrent().parent.switch()

    one, two = greenlet.greenlet(run), greenlet.greenlet(run)
    while True:
        one.switch()
        two.switch()


def deep(n, what):
    """Calls it from further down the C stack."""
    return list(map(deep, [n - 1], [what])) if n else what()


def nesting():
    """Greenlets that start greenlets, each gone on with from another place of the stack than where it has begun."""
    import greenlet

    def leaf():
        while True:
            green()  # -> green
            greenlet.getcurrent().parent.switch()

    def branch():
        child = greenlet.greenlet(leaf)
        while True:
            green()  # -> green
            deep(3, child.switch)
            greenlet.getcurrent().parent.switch()

    one, two = greenlet.greenlet(branch), greenlet.greenlet(branch)
    for n in itertools.cycle((2, 7, 0, 5, 3)):
        deep(n, one.switch)
        deep(n, two.switch)


def events():
    import gevent

    def worker():
        while True:
            green()  # -> green
            gevent.sleep(0)

    gevent.joinall([gevent.spawn(worker) for _ in range(4)])


def corrupt():
    """Spoils, at random, what it never looks at itself but a profiler does: lines, names and files of running code."""
    import random
    rng = random.Random(int(os.environ.get("VICTIM_SEED", "1")))
    code = id(spin.__code__)
    # Of the code object, in that version: its first line; then file, name, qualified name and line table.
    line, names, end = (40, 104, 128) if sys.version_info < (3, 11) else (68, 112, 144)
    line += 4 * (sys.version_info[:2] == (3, 11))
    places = [*range(line, line + 4), *range(names, end)]
    while True:
        spin(2000)
        where = rng.choice(places)
        ctypes.memset(code + where, rng.randrange(256), 1)


NEEDS = {"arrays": "numpy", "products": "numpy", "switching": "greenlet", "nesting": "greenlet",
         "events": "gevent"}


def main():
    scenario = globals()[sys.argv[1]]
    if sys.argv[1] in NEEDS:
        __import__(NEEDS[sys.argv[1]])
    sys.setrecursionlimit(2000)
    print(os.getpid(), flush=True)
    scenario()


main()
