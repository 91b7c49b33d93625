#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For formats.sh: what opentelemetry-proto makes of OTLP files.

formats.py totals FILE       samples and nanoseconds, of all profiles that count samples
formats.py same FILE FILE    0 if both say the same
"""
import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.profiles.v1development import profiles_pb2


def ids_to_base64(node):
    """OTLP's JSON has ids in hexadecimal where protobuf's has base64."""
    if isinstance(node, list):
        return [ids_to_base64(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: base64.b64encode(bytes.fromhex(value)).decode() if key in ("traceId", "spanId", "profileId")
            else ids_to_base64(value) for key, value in node.items()}


def read(path):
    data = profiles_pb2.ProfilesData()
    with open(path, "rb") as file:
        raw = file.read()
    if path.endswith(".json"):
        json_format.ParseDict(ids_to_base64(json.loads(raw)), data)
    else:
        data.ParseFromString(raw)
    return data


def profiles(data):
    for resource in data.resource_profiles:
        for scope in resource.scope_profiles:
            yield from scope.profiles


def totals(data):
    samples = time = 0
    for profile in profiles(data):
        count = sum(sum(s.values) if s.values else len(s.timestamps_unix_nano) for s in profile.samples)
        samples += count
        time += count * profile.period
    return samples, time


def resolve(value, strings):
    """References to the string table, written out."""
    if value.WhichOneof("value") == "string_value_strindex":
        value.string_value = strings[value.string_value_strindex]
    for item in value.array_value.values if value.HasField("array_value") else []:
        resolve(item, strings)
    for item in value.kvlist_value.values if value.HasField("kvlist_value") else []:
        resolve(item.value, strings)


def normal(data):
    """One of the several ways to say the same: no references, and first rows of tables absent."""
    strings = data.dictionary.string_table
    for resource in data.resource_profiles:
        for owner in [resource.resource] + [scope.scope for scope in resource.scope_profiles]:
            for attribute in owner.attributes:
                if attribute.key_strindex:
                    attribute.key = strings[attribute.key_strindex]
                    attribute.ClearField("key_strindex")
                resolve(attribute.value, strings)
    for table in ("mapping_table", "location_table", "function_table", "link_table", "attribute_table", "stack_table"):
        rows = getattr(data.dictionary, table)
        if rows:
            del rows[0]
    return data


def main():
    if sys.argv[1] == "totals":
        print(*totals(read(sys.argv[2])))
        return 0
    a, b = normal(read(sys.argv[2])), normal(read(sys.argv[3]))
    assert totals(a)[0] > 0
    if a == b:
        return 0
    for field in a.dictionary.DESCRIPTOR.fields:
        if getattr(a.dictionary, field.name) != getattr(b.dictionary, field.name):
            print(field.name, "differs")
    if a.resource_profiles != b.resource_profiles:
        print("resource_profiles differ")
    return 1


if __name__ == "__main__":
    sys.exit(main())
