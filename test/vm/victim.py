# SPDX-License-Identifier: Apache-2.0
"""A Python program whose stack is known, and that imports nothing: victim.py runs for ever."""


def victim_spin(n):
    total = 0
    for i in range(n):
        total = total + i & 1023
    return total


def victim_key(n):
    return victim_spin(n)


def victim_sort():
    sorted((3000, 4000, 5000, 3500), key=victim_key)


def victim_main():
    while True:
        victim_sort()


victim_main()
