# SPDX-License-Identifier: Apache-2.0
"""Reads OTLP profiles (protobuf, numbering of 1.10) into the shape of their JSON form. Written from the public schema, shares
nothing with the reader in src/wire."""
import struct

# message: {field: (JSON name, kind)}; kind is int, sint (64-bit two's complement), fixed64, string, bytes or a message;
# a name that ends in [] repeats.
SCHEMA = {
    "ProfilesData": {1: ("resourceProfiles[]", "ResourceProfiles"), 2: ("dictionary", "Dictionary")},
    "Dictionary": {1: ("mappingTable[]", "Mapping"), 2: ("locationTable[]", "Location"), 3: ("functionTable[]", "Function"),
                   4: ("linkTable[]", "Link"), 5: ("stringTable[]", "string"), 6: ("attributeTable[]", "KeyValueAndUnit"),
                   7: ("stackTable[]", "Stack")},
    "ResourceProfiles": {1: ("resource", "Resource"), 2: ("scopeProfiles[]", "ScopeProfiles"), 3: ("schemaUrl", "string")},
    "Resource": {1: ("attributes[]", "KeyValue")},
    "ScopeProfiles": {1: ("scope", "Scope"), 2: ("profiles[]", "Profile"), 3: ("schemaUrl", "string")},
    "Scope": {1: ("name", "string"), 2: ("version", "string")},
    "Profile": {1: ("sampleType", "ValueType"), 2: ("samples[]", "Sample"), 3: ("timeUnixNano", "fixed64"),
                4: ("durationNano", "int"), 5: ("periodType", "ValueType"), 6: ("period", "sint"), 7: ("profileId", "bytes"),
                11: ("attributeIndices[]", "int")},
    "Sample": {1: ("stackIndex", "int"), 2: ("attributeIndices[]", "int"), 3: ("linkIndex", "int"), 4: ("values[]", "sint"),
               5: ("timestampsUnixNano[]", "fixed64")},
    "Stack": {1: ("locationIndices[]", "int")},
    "Location": {1: ("mappingIndex", "int"), 2: ("address", "int"), 3: ("lines[]", "Line"), 4: ("attributeIndices[]", "int")},
    "Line": {1: ("functionIndex", "int"), 2: ("line", "sint"), 3: ("column", "sint")},
    "Function": {1: ("nameStrindex", "int"), 2: ("systemNameStrindex", "int"), 3: ("filenameStrindex", "int"),
                 4: ("startLine", "sint")},
    "Mapping": {1: ("memoryStart", "int"), 2: ("memoryLimit", "int"), 3: ("fileOffset", "int"), 4: ("filenameStrindex", "int"),
                5: ("attributeIndices[]", "int")},
    "Link": {1: ("traceId", "bytes"), 2: ("spanId", "bytes")},
    "ValueType": {1: ("typeStrindex", "int"), 2: ("unitStrindex", "int")},
    "KeyValueAndUnit": {1: ("keyStrindex", "int"), 2: ("value", "AnyValue"), 3: ("unitStrindex", "int")},
    "KeyValue": {1: ("key", "string"), 2: ("value", "AnyValue")},
    "AnyValue": {1: ("stringValue", "string"), 2: ("boolValue", "int"), 3: ("intValue", "sint"), 4: ("doubleValue", "fixed64"),
                 7: ("bytesValue", "bytes")},
}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def number(value, kind):
    return value - (1 << 64) if kind == "sint" and value >> 63 else value


def packed(data, kind):
    if kind == "fixed64":
        return list(struct.unpack(f"<{len(data) // 8}Q", data))
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(number(value, kind))
    return values


def content(data, kind):
    if kind == "string":
        return data.decode(errors="surrogateescape")
    return bytes(data) if kind == "bytes" else decode(data, kind)


def decode(data, message="ProfilesData"):
    fields, result, at = SCHEMA[message], {}, 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind = fields.get(key >> 3, ("", ""))
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
            value = number(value, kind)
        elif wire == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            part, at = data[at:at + size], at + size
            if len(part) != size:
                raise ValueError(f"{message} is cut off")
            if name and kind in ("int", "sint", "fixed64"):
                result.setdefault(name[:-2], []).extend(packed(part, kind))
                continue
            value = content(part, kind) if name else None
        else:
            raise ValueError(f"{message} has wire type {wire}")
        if name.endswith("[]"):
            result.setdefault(name[:-2], []).append(value)
        elif name:
            result[name] = value
    return result


def read(path):
    with open(path, "rb") as file:
        return decode(file.read())
