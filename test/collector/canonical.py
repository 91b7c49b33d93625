# SPDX-License-Identifier: Apache-2.0
"""OTLP profiles as what they say, whatever way they say it: every sample spelt out, with no index into a table left.

samples(data) is a multiset of samples, each with all of its resource, scope, profile, stack, attributes, link, values and
timestamps. Two requests say the same if their multisets are equal; the multisets of parts add up to that of the whole.
"""
import base64
import collections
import hashlib
import json

from google.protobuf import json_format
from opentelemetry.proto.profiles.v1development import profiles_pb2


def digest(what):
    return hashlib.blake2b(repr(what).encode(), digest_size=16).hexdigest()


class Spelling:
    """What the rows of one request's dictionary mean."""

    def __init__(self, data):
        self.tables = data.dictionary
        self.strings = list(data.dictionary.string_table) or [""]
        self.links = [(row.trace_id or bytes(16), row.span_id or bytes(8)) for row in self.tables.link_table]
        self.functions = [(self.strings[row.name_strindex], self.strings[row.system_name_strindex],
                           self.strings[row.filename_strindex], row.start_line) for row in self.tables.function_table]
        self.attributes = [(self.strings[row.key_strindex], self.value(row.value), self.strings[row.unit_strindex])
                           for row in self.tables.attribute_table]
        self.mappings = [(row.memory_start, row.memory_limit, row.file_offset, self.strings[row.filename_strindex],
                          self.listed(row.attribute_indices)) for row in self.tables.mapping_table]
        self.locations = [digest(self.location(row)) for row in self.tables.location_table]
        self.stacks = [digest([self.locations[i] for i in row.location_indices]) for row in self.tables.stack_table]

    def value(self, value):
        kind = value.WhichOneof("value")
        if kind is None:
            return None
        if kind == "string_value_strindex":
            return ("string_value", self.strings[value.string_value_strindex])
        if kind == "array_value":
            return (kind, tuple(self.value(item) for item in value.array_value.values))
        if kind == "kvlist_value":
            return (kind, self.pairs(value.kvlist_value.values))
        return (kind, getattr(value, kind))

    def pairs(self, attributes):
        return tuple(sorted((a.key or self.strings[a.key_strindex], repr(self.value(a.value))) for a in attributes))

    def listed(self, indices):
        return tuple(sorted((self.attributes[i] for i in indices), key=repr))

    def location(self, row):
        lines = tuple((self.functions[line.function_index] if line.function_index else None, line.line, line.column)
                      for line in row.lines)
        return (self.mappings[row.mapping_index] if row.mapping_index else None, row.address, lines,
                self.listed(row.attribute_indices))

    def type(self, value_type):
        return self.strings[value_type.type_strindex], self.strings[value_type.unit_strindex]

    def resource(self, owner, without=()):
        pairs = tuple(pair for pair in self.pairs(owner.resource.attributes) if pair[0] not in without)
        entities = tuple(entity.SerializeToString() for entity in owner.resource.entity_refs)
        return (pairs, owner.resource.dropped_attributes_count, entities, owner.schema_url)

    def scope(self, owner):
        scope = owner.scope
        return (scope.name, scope.version, self.pairs(scope.attributes), scope.dropped_attributes_count, owner.schema_url)

    def profile(self, profile):
        return (self.type(profile.sample_type), profile.time_unix_nano, profile.duration_nano, self.type(profile.period_type),
                profile.period, profile.profile_id, profile.dropped_attributes_count, profile.original_payload_format,
                profile.original_payload, self.listed(profile.attribute_indices))

    def sample(self, sample):
        link = self.links[sample.link_index] if sample.link_index else None
        stack = self.stacks[sample.stack_index] if sample.stack_index else None
        return (stack, self.listed(sample.attribute_indices), link, tuple(sample.values), tuple(sample.timestamps_unix_nano))


def walk(data, without=()):
    """Of each profile: the dictionary, its resource as it came, (resource, scope, profile) spelt out, itself."""
    spelling = Spelling(data)
    for owner in data.resource_profiles:
        resource = spelling.resource(owner, without)
        for scoped in owner.scope_profiles:
            scope = spelling.scope(scoped)
            for profile in scoped.profiles:
                yield spelling, owner.resource, (resource, scope, spelling.profile(profile)), profile


def samples(data, without=()):
    """The multiset of samples."""
    found = collections.Counter()
    for spelling, _, owner, profile in walk(data, without):
        owner = digest(owner)
        found.update((owner, *spelling.sample(sample)) for sample in profile.samples)
    return found


def profiles(data, without=()):
    """The multiset of profiles, each with the number of its samples; empty ones too."""
    return collections.Counter((owner, len(profile.samples)) for _, _, owner, profile in walk(data, without))


def count(data):
    return sum(len(profile.samples) for owner in data.resource_profiles for scoped in owner.scope_profiles
               for profile in scoped.profiles)


def difference(expected, found):
    """What a person wants to see first when two multisets differ; "" if they do not."""
    missing, extra = expected - found, found - expected
    if not missing and not extra:
        return ""
    text = f"{sum(missing.values())} of {sum(expected.values())} missing, {sum(extra.values())} that nobody sent"
    if missing and extra:
        text += f"; such as {str(next(iter(missing)))[:300]} / {str(next(iter(extra)))[:300]}"
    return text


# ---- Bytes and JSON --------------------------------------------------------------

def parse(raw):
    data = profiles_pb2.ProfilesData()
    data.ParseFromString(raw)
    return data


IDS = ("traceId", "spanId", "profileId")


def convert_ids(node, convert):
    if isinstance(node, list):
        return [convert_ids(item, convert) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: convert(value) if key in IDS else convert_ids(value, convert) for key, value in node.items()}


def parse_json(text):
    """OTLP's JSON has ids in hexadecimal where protobuf's has base64."""
    data = profiles_pb2.ProfilesData()
    node = convert_ids(json.loads(text), lambda value: base64.b64encode(bytes.fromhex(value)).decode())
    json_format.ParseDict(node, data)
    return data


def to_json(data):
    return json.dumps(convert_ids(json_format.MessageToDict(data), lambda value: base64.b64decode(value).hex()))
