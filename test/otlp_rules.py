# SPDX-License-Identifier: Apache-2.0
"""What OTLP asks of profiles: the rules that the profiling SIG's checker (profcheck) holds, and those of the schema's text.
Works on what otlp.py has read, or on the JSON form."""
import collections
import itertools

TABLES = ("mappingTable", "locationTable", "functionTable", "linkTable", "stringTable", "attributeTable", "stackTable")


def number(entry, name):
    return int(entry.get(name, 0))


def profiles(data):
    """(where, the profile) of each; a resource or scope without one is a place without a profile."""
    for r, resource in enumerate(data.get("resourceProfiles", [])):
        scopes = resource.get("scopeProfiles", [])
        if not scopes:
            yield f"resource {r}", None
        for s, scope in enumerate(scopes):
            found = scope.get("profiles", [])
            if not found:
                yield f"resource {r}, scope {s}", None
            for p, profile in enumerate(found):
                yield f"resource {r}, scope {s}, profile {p}", profile


def references(data):
    """(table, index, who refers to it) of everything that is one."""
    tables = data.get("dictionary", {})

    def strings(entry, where, *names):
        for name in names:
            yield "stringTable", number(entry, name), f"{where}: {name}"

    def many(entry, where, name, table):
        for index in entry.get(name, []):
            yield table, int(index), f"{where}: {name}"

    def attributes(entry, where):
        return many(entry, where, "attributeIndices", "attributeTable")

    for where, profile in profiles(data):
        for name in ("sampleType", "periodType"):
            yield from strings((profile or {}).get(name, {}), where, "typeStrindex", "unitStrindex")
        yield from attributes(profile or {}, where)
        for i, sample in enumerate((profile or {}).get("samples", [])):
            yield "stackTable", number(sample, "stackIndex"), f"{where}, sample {i}"
            yield "linkTable", number(sample, "linkIndex"), f"{where}, sample {i}"
            yield from attributes(sample, f"{where}, sample {i}")
    for i, stack in enumerate(tables.get("stackTable", [])):
        yield from many(stack, f"stack {i}", "locationIndices", "locationTable")
    for i, location in enumerate(tables.get("locationTable", [])):
        yield "mappingTable", number(location, "mappingIndex"), f"location {i}"
        yield from attributes(location, f"location {i}")
        for line in location.get("lines", []):
            yield "functionTable", number(line, "functionIndex"), f"location {i}"
    for i, mapping in enumerate(tables.get("mappingTable", [])):
        yield from strings(mapping, f"mapping {i}", "filenameStrindex")
        yield from attributes(mapping, f"mapping {i}")
    for i, function in enumerate(tables.get("functionTable", [])):
        yield from strings(function, f"function {i}", "nameStrindex", "systemNameStrindex", "filenameStrindex")
    for i, attribute in enumerate(tables.get("attributeTable", [])):
        yield from strings(attribute, f"attribute {i}", "keyStrindex", "unitStrindex")


def table_problems(data):
    tables = data.get("dictionary", {})
    used = collections.defaultdict(set)
    for table, index, where in references(data):
        used[table].add(index)
        if not 0 <= index < len(tables.get(table, [])):
            yield f"{where} points to {table}[{index}] of {len(tables.get(table, []))}"
    for name in TABLES:
        table = tables.get(name, [])
        if not table or table[0] not in ("", {}):
            yield f"{name}[0] is {table[0] if table else 'missing'}, not the zero value"
        for index in range(1, len(table)):
            if index not in used[name]:
                yield f"{name}[{index}] is referred to by nobody: {table[index]}"
        first = {}
        for index, entry in enumerate(table):
            had = first.setdefault(repr(sorted(entry.items()) if isinstance(entry, dict) else entry), index)
            if had != index:
                yield f"{name}[{index}] says what [{had}] says: {entry}"


def key_problems(data):
    """Attributes of one thing have different keys."""
    tables = data.get("dictionary", {})
    samples = ((f"{where}, sample {i}", sample) for where, profile in profiles(data)
               for i, sample in enumerate((profile or {}).get("samples", [])))
    rows = ((f"{name}[{i}]", entry) for name in ("mappingTable", "locationTable") for i, entry in enumerate(tables.get(name, [])))
    for where, entry in itertools.chain(((w, p or {}) for w, p in profiles(data)), samples, rows):
        keys = [number(tables["attributeTable"][int(i)], "keyStrindex") for i in entry.get("attributeIndices", [])
                if int(i) < len(tables["attributeTable"])]
        if len(keys) != len(set(keys)):
            yield f"{where} has a key twice: {sorted(tables['stringTable'][k] for k in keys)}"


def row_problems(data):
    tables = data.get("dictionary", {})
    for i, link in enumerate(tables.get("linkTable", [])[1:], 1):
        per_byte = 2 if isinstance(link.get("traceId", b""), str) else 1
        if [len(link.get(name, "")) // per_byte for name in ("traceId", "spanId")] != [16, 8]:
            yield f"link {i} is not 16 and 8 bytes: {link}"
    for i, mapping in enumerate(tables.get("mappingTable", [])):
        start, limit = number(mapping, "memoryStart"), number(mapping, "memoryLimit")
        if (start or limit) and start >= limit:
            yield f"mapping {i} ends before it starts: {start:x}-{limit:x}"
    for i, function in enumerate(tables.get("functionTable", [])[1:], 1):
        if not any(number(function, name) for name in ("nameStrindex", "systemNameStrindex", "filenameStrindex")):
            yield f"function {i} has no string"
        if number(function, "startLine") < 0:
            yield f"function {i} starts at line {function['startLine']}"
    for i, location in enumerate(tables.get("locationTable", [])):
        if any(number(line, name) < 0 for line in location.get("lines", []) for name in ("line", "column")):
            yield f"location {i} has a line below 0"


def shape_of(sample):
    return bool(sample.get("values")), bool(sample.get("timestampsUnixNano"))


def sample_problems(where, sample, start, end):
    values, times = sample.get("values", []), [int(t) for t in sample.get("timestampsUnixNano", [])]
    if not values and not times:
        yield f"{where} has neither values nor times"
    if values and times and len(values) != len(times):
        yield f"{where} has {len(values)} values for {len(times)} times"
    if len(values) > 1 and not times:
        yield f"{where} has {len(values)} values and no times"
    outside = [t for t in times if not start <= t < end]
    if outside:
        yield (f"{where}: {len(outside)} of {len(times)} times are outside the profile's, the first "
               f"{(start - min(outside)) / 1e9:.6f} s before its start, the last {(max(outside) - end) / 1e9:.6f} s after its end")


def profile_problems(data):
    if not data.get("resourceProfiles"):
        yield "there is no resource"
    for where, profile in profiles(data):
        if profile is None:
            yield f"{where} is empty"
            continue
        start = number(profile, "timeUnixNano")
        shapes, seen = set(), set()
        for i, sample in enumerate(profile.get("samples", [])):
            yield from sample_problems(f"{where}, sample {i}", sample, start, start + number(profile, "durationNano"))
            shapes.add(shape_of(sample))
            identity = (number(sample, "stackIndex"), number(sample, "linkIndex"),
                        tuple(sorted(int(a) for a in sample.get("attributeIndices", []))))
            if identity in seen:
                yield f"{where}, sample {i}: another has the same stack, link and attributes"
            seen.add(identity)
        if len(shapes) > 1:
            yield f"{where}: some samples have (values, times) {sorted(shapes)}"


def problems(data):
    """Everything that is wrong with it, a sentence each."""
    return [*table_problems(data), *key_problems(data), *row_problems(data), *profile_problems(data)]
