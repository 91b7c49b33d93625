# SPDX-License-Identifier: Apache-2.0
"""pprof files, read as profile.proto says: what samples stand for, with no ids and indices left. Standard library only."""
import collections

Sample = collections.namedtuple("Sample", "stack values labels")


def varint(raw, at):
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(raw):
    """(number, value) of each field: an int, or bytes."""
    at = 0
    while at < len(raw):
        key, at = varint(raw, at)
        if key & 7 == 0:
            value, at = varint(raw, at)
        elif key & 7 == 2:
            size, at = varint(raw, at)
            value, at = raw[at:at + size], at + size
            if len(value) < size:
                raise ValueError("cut off")
        else:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def numbers(value):
    """Of a repeated field: one of them, or several packed."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Profile:
    """types, samples (stacks leaf first, inlined functions one by one), lines (function, file, line), period, period_type,
    default_type, times."""

    def __init__(self, raw):
        found = collections.defaultdict(list)
        for number, value in fields(raw):
            found[number].append(value)
        self.strings = [text.decode() for text in found[6]]
        functions = list(map(dict, map(fields, found[5])))
        self.functions = {of[1]: self.strings[of.get(2, 0)] for of in functions}
        self.files = {of[1]: self.strings[of.get(4, 0)] for of in functions}
        self.lines = []
        self.locations = dict(map(self.location, found[4]))
        self.mappings = [dict(fields(mapping)) for mapping in found[3]]
        self.types = [self.type(kind) for kind in found[1]]
        self.samples = [self.sample(sample) for sample in found[2]]
        self.period_type = self.type(found[11][0]) if found[11] else None
        self.time_ns, self.duration_ns, self.period = (found[n][0] if found[n] else 0 for n in (9, 10, 12))
        self.default_type = self.strings[found[14][0]] if found[14] else ""

    def type(self, raw):
        of = dict(fields(raw))
        return self.strings[of.get(1, 0)], self.strings[of.get(2, 0)]

    def location(self, raw):
        ids = [value for number, value in fields(raw) if number == 1]
        lines = [dict(fields(value)) for number, value in fields(raw) if number == 4]
        self.lines += [(self.functions[line[1]], self.files[line[1]], line.get(2, 0)) for line in lines]
        return ids[0], [self.functions[line[1]] for line in lines]

    def label(self, raw):
        of = dict(fields(raw))
        return self.strings[of[1]], self.strings[of[2]] if 2 in of else signed(of.get(3, 0))

    def sample(self, raw):
        stack, values, labels = [], [], {}
        for number, value in fields(raw):
            if number == 1:
                stack += [name for location in numbers(value) for name in self.locations[location] or [""]]
            elif number == 2:
                values += map(signed, numbers(value))
            elif number == 3:
                key, text = self.label(value)
                labels[key] = text
        return Sample(tuple(stack), values, labels)

    def column(self, name):
        return [kind for kind, _ in self.types].index(name)
