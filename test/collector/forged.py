# SPDX-License-Identifier: Apache-2.0
"""Requests made for tests: one that has every field there is, and small ones that say who they are."""
import random

from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.profiles.v1development import profiles_pb2

import backend

START_NS = 1_790_000_000_000_000_000


class Forge:
    """A request under construction; strings get a row of their own."""

    def __init__(self):
        self.data = profiles_pb2.ProfilesData()
        tables = self.tables = self.data.dictionary
        self.indices = {}
        self.text("")
        tables.mapping_table.add()
        tables.location_table.add()
        tables.function_table.add()
        tables.link_table.add(trace_id=bytes(16), span_id=bytes(8))
        tables.attribute_table.add()
        tables.stack_table.add()

    def text(self, string):
        if string not in self.indices:
            self.indices[string] = len(self.indices)
            self.tables.string_table.append(string)
        return self.indices[string]

    def attribute(self, key, unit="", **value):
        self.tables.attribute_table.add(key_strindex=self.text(key), value=common_pb2.AnyValue(**value),
                                        unit_strindex=self.text(unit))
        return len(self.tables.attribute_table) - 1

    def function(self, name, file="", system="", line=0):
        self.tables.function_table.add(name_strindex=self.text(name), filename_strindex=self.text(file),
                                       system_name_strindex=self.text(system), start_line=line)
        return len(self.tables.function_table) - 1

    def location(self, address, lines=(), mapping=0, attributes=()):
        row = self.tables.location_table.add(address=address, mapping_index=mapping, attribute_indices=attributes)
        for function, line, column in lines:
            row.lines.add(function_index=function, line=line, column=column)
        return len(self.tables.location_table) - 1

    def stack(self, locations):
        self.tables.stack_table.add(location_indices=locations)
        return len(self.tables.stack_table) - 1

    def value_type(self, kind, unit):
        return profiles_pb2.ValueType(type_strindex=self.text(kind), unit_strindex=self.text(unit))


def key_value(key, **value):
    return common_pb2.KeyValue(key=key, value=common_pb2.AnyValue(**value))


# ---- Older numbering --------------------------------------------------------------

def packed(number, values):
    """Numbers as varints; negative ones as 64 bits of two's complement."""
    return backend.field(number, b"".join(backend.varint(v % (1 << 64)) for v in values)) if values else b""


def older_sample(sample):
    times = b"".join(t.to_bytes(8, "little") for t in sample.timestamps_unix_nano)
    return (b"\x08" + backend.varint(sample.stack_index) + packed(2, sample.values) + packed(3, sample.attribute_indices)
            + (b"\x20" + backend.varint(sample.link_index) if sample.link_index else b"")
            + (backend.field(5, times) if times else b""))


def older_profile(profile, shift):
    """shift 1: comments stood at 7, and all that follows one further."""
    rest = profiles_pb2.Profile()
    rest.CopyFrom(profile)
    for name in ("samples", "profile_id", "dropped_attributes_count", "original_payload_format", "original_payload",
                 "attribute_indices"):
        rest.ClearField(name)
    raw = rest.SerializeToString() + b"".join(backend.field(2, older_sample(sample)) for sample in profile.samples)
    if profile.profile_id:
        raw += backend.field(7 + shift, profile.profile_id)
    if profile.dropped_attributes_count:
        raw += backend.varint(8 + shift << 3) + backend.varint(profile.dropped_attributes_count)
    if profile.original_payload_format:
        raw += backend.field(9 + shift, profile.original_payload_format.encode())
        raw += backend.field(10 + shift, profile.original_payload)
    return raw + packed(11 + shift, profile.attribute_indices)


def older(data, version):
    """The request as senders of protocol 1.8 or 1.9 number it."""
    raw = backend.field(2, data.dictionary.SerializeToString())
    for owner in data.resource_profiles:
        inner = b""
        for scoped in owner.scope_profiles:
            profiles = b"".join(backend.field(2, older_profile(p, version == "1.8")) for p in scoped.profiles)
            bare = profiles_pb2.ScopeProfiles(scope=scoped.scope, schema_url=scoped.schema_url)
            inner += backend.field(2, bare.SerializeToString() + profiles)
        bare = profiles_pb2.ResourceProfiles(resource=owner.resource, schema_url=owner.schema_url)
        raw += backend.field(1, bare.SerializeToString() + inner)
    return raw


# ---- Requests -------------------------------------------------------------------------

def small(batch, samples=20, padding=0):
    """A request of so many samples, whose stacks and times are its own; padding makes it larger by so many bytes."""
    made = Forge()
    chance = random.Random(batch)
    owner = made.data.resource_profiles.add(schema_url="https://opentelemetry.io/schemas/1.37.0")
    owner.resource.attributes.append(key_value(backend.BATCH, string_value=batch))
    owner.resource.attributes.append(key_value("service.name", string_value="forged"))
    if padding:
        owner.resource.attributes.append(key_value("padding", string_value=chance.randbytes(padding // 2).hex()))
    profile = owner.scope_profiles.add().profiles.add(time_unix_nano=START_NS, duration_nano=5_000_000_000, period=50_000_000)
    profile.sample_type.CopyFrom(made.value_type("samples", "count"))
    profile.period_type.CopyFrom(made.value_type("cpu", "nanoseconds"))
    functions = [made.function(f"work_{i}", f"work_{i}.c") for i in range(8)]
    for i in range(samples):
        locations = [made.location(chance.randrange(1 << 40), [(chance.choice(functions), chance.randrange(1000), 0)])
                     for _ in range(chance.randrange(1, 5))]
        thread = made.attribute("thread.name", string_value=f"{batch}.{i}")
        profile.samples.add(stack_index=made.stack(locations), attribute_indices=[thread],
                            timestamps_unix_nano=[START_NS + chance.randrange(5_000_000_000)])
    return made.data.SerializeToString()


def everything():
    """Every field of every message, every kind of value, references, and three shapes of samples."""
    made = Forge()
    kinds = [{"string_value": "text äöü 漢"}, {"bool_value": True}, {"bool_value": False}, {"int_value": -(1 << 63)},
             {"double_value": -0.1}, {"bytes_value": bytes(range(256))}, {"string_value": ""}, {},
             {"array_value": common_pb2.ArrayValue(values=[common_pb2.AnyValue(int_value=1), common_pb2.AnyValue(
                 string_value="b")])},
             {"kvlist_value": common_pb2.KeyValueList(values=[key_value("in", int_value=(1 << 63) - 1)])}]
    listed = [made.attribute(f"kind.{i}", "By" if i % 2 else "", **kind) for i, kind in enumerate(kinds)]
    made.tables.mapping_table.add(memory_start=0x400000, memory_limit=(1 << 64) - 1, file_offset=0x1000,
                                  filename_strindex=made.text("libx.so"),
                                  attribute_indices=[made.attribute("process.executable.build_id.gnu", string_value="abcd")])
    functions = [made.function(f"f{i}", f"f{i}.c", f"_Z1f{i}", i) for i in range(3)]
    native = made.attribute("profile.frame.type", string_value="native")
    locations = [made.location((1 << 63) + i, [(f, 10 * i, i) for f in functions[:i + 1]], i % 2, [native]) for i in range(3)]
    made.tables.link_table.add(trace_id=bytes(range(16)), span_id=bytes(range(8)))
    stacks = [made.stack(locations[:i + 1]) for i in range(3)]
    for i in range(2):
        owner = made.data.resource_profiles.add(schema_url=f"https://opentelemetry.io/schemas/1.{37 + i}.0")
        owner.resource.dropped_attributes_count = i
        owner.resource.attributes.extend(key_value(f"resource.{n}", **kind) for n, kind in enumerate(kinds))
        owner.resource.attributes.append(common_pb2.KeyValue(key_strindex=made.text("referred"), value=common_pb2.AnyValue(
            string_value_strindex=made.text(f"value {i}"))))
        scoped = owner.scope_profiles.add(schema_url="https://example.com/scope")
        scoped.scope.name, scoped.scope.version, scoped.scope.dropped_attributes_count = "scope", f"v{i}", 3
        scoped.scope.attributes.append(key_value("pprof.scope.default_sample_type", string_value="cpu"))
        add_profiles(made, scoped, stacks, listed)
    return made.data.SerializeToString()


def add_profiles(made, scoped, stacks, listed):
    """Timestamps only; one value; values with timestamps."""
    for i, (values, times) in enumerate((((), (1, 2, 3)), ((-5,), ()), ((7, 8), (4, 5)))):
        profile = scoped.profiles.add(time_unix_nano=START_NS + i, duration_nano=10 + i, period=i - 1, profile_id=bytes([i + 1] * 16),
                                      dropped_attributes_count=i, attribute_indices=listed[:3])
        profile.sample_type.CopyFrom(made.value_type(f"type{i}", f"unit{i}"))
        profile.period_type.CopyFrom(made.value_type("cpu", "nanoseconds"))
        if i == 1:
            profile.original_payload_format, profile.original_payload = "pprof", b"\x00\xffpayload"
        for n, stack in enumerate(stacks):
            profile.samples.add(stack_index=stack, attribute_indices=listed[n:n + 4], link_index=n % 2, values=values,
                                timestamps_unix_nano=[START_NS + t for t in times])
