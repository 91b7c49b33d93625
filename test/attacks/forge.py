# SPDX-License-Identifier: Apache-2.0
"""OTLP requests made by hand: standard library only."""
import random
import struct
import time


def varint(number):
    out = bytearray()
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def message(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def number_field(number, value):
    return varint(number << 3) + varint(value)


def attribute(key, text):
    """KeyValue with a string."""
    return message(1, key.encode()) + message(2, message(1, text.encode()))


def unique_stacks(seed, stacks, depth, host="attacker", seconds_ago=0):
    """A request with so many stacks that no other seed has, each sampled once."""
    rng, names = random.Random(seed), 120
    frames = bytes(1 + i % names for i in range(256))      # indices that take a byte
    strings = ["", "cpu", "nanoseconds"] + [f"f{seed}_{i}" for i in range(names)]
    dictionary = [message(1, b""), message(4, b""), message(6, b"")]
    dictionary += [message(5, text.encode()) for text in strings]
    dictionary += [message(3, b"")] + [message(3, number_field(1, 3 + i)) for i in range(names)]
    dictionary += [message(2, b"")] + [message(2, message(3, number_field(1, 1 + i))) for i in range(names)]
    dictionary += [message(7, b"")]
    dictionary += [message(7, message(1, rng.randbytes(depth).translate(frames))) for _ in range(stacks)]
    now = time.time_ns() - seconds_ago * 10**9
    samples = b"".join(message(2, number_field(1, 1 + i) + message(4, varint(1)) + message(5, struct.pack("<Q", now)))
                       for i in range(stacks))
    profile = (message(1, number_field(1, 1) + number_field(2, 2)) + samples + b"\x19" + struct.pack("<Q", now) +
               number_field(4, 10**9))
    resource = message(1, message(1, attribute("host.name", host)) + message(1, attribute("service.name", "x")))
    return message(1, resource + message(2, message(2, profile))) + message(2, b"".join(dictionary))
