# SPDX-License-Identifier: Apache-2.0
"""A Pyroscope as strict as the real one (its 2.x sources and what it did when it was run): it converts what comes to series,
checks each by itself, keeps those that are good and answers with one status for all. It reads with the published protocol."""
import collections
import dataclasses
import gzip
import json
import re
import time

import grpc

import backend
import canonical
import harness

HOUR = 3600
LABELS_MAX = 30
SAMPLES_MAX = 16000
PROFILE_BYTES_MAX = 2_000_000       # the burst of its rate limit: a larger one is never let in
VALUE_BYTES_MAX = 2048
OWN_LABELS = {"__delta__": "false", "__otel__": "true"}
PUSH = "/push.v1.PusherService/Push"
LABEL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


class Refused(Exception):
    """A status of HTTP and gRPC, for a request as a whole or for one series."""

    def __init__(self, http, code, text):
        super().__init__(text)
        self.http, self.code = http, code


def invalid(text):
    return Refused(400, "INVALID_ARGUMENT", text)


@dataclasses.dataclass
class Series:
    labels: dict
    kind: str               # process_cpu:cpu:nanoseconds:cpu:nanoseconds
    time_ns: int
    samples: list           # ((names, leaf first), value, labels)
    bytes: int
    nameless: int = 0

    @property
    def key(self):
        return self.kind, tuple(sorted(self.labels.items()))


# ---- OTLP ---------------------------------------------------------------------------------

def plain(value):
    """An attribute's value as a label: "" if it cannot be one. References are not resolved."""
    if value.HasField("array_value") and len(value.array_value.values) == 1:
        value = value.array_value.values[0]
    if value.HasField("int_value"):
        return str(value.int_value)
    return value.string_value


def labels_of(attributes, labels):
    for attribute in attributes:
        text = plain(attribute.value)
        if text and attribute.key not in labels:
            labels[attribute.key] = text


def service_of(attributes):
    name = "unknown_service"
    for attribute in attributes:
        if attribute.key == "service.name" and plain(attribute.value):
            return plain(attribute.value)
        if attribute.key == "process.executable.name" and plain(attribute.value):
            name += ":" + plain(attribute.value)
    return name


class Converter:
    def __init__(self, tables):
        self.tables, self.strings = tables, tables.string_table

    def at(self, table, index):
        if not 0 <= index < len(table):
            raise Refused(500, "INVALID_ARGUMENT", f"failed to convert otel profile: index {index} out of bounds")
        return table[index]

    def text(self, index):
        return self.at(self.strings, index)

    def names(self, location):
        self.at(self.tables.mapping_table, location.mapping_index)
        names = [self.text(self.at(self.tables.function_table, line.function_index).name_strindex) for line in location.lines]
        return [name for name in names if name] or [""]

    def stack(self, sample):
        locations = self.at(self.tables.stack_table, sample.stack_index).location_indices
        return tuple(name for index in locations for name in self.names(self.at(self.tables.location_table, index)))

    def kind(self, profile):
        """(name of the series, type:unit:period:unit, factor of the values)."""
        sample = [self.text(i) for i in (profile.sample_type.type_strindex, profile.sample_type.unit_strindex)]
        period = ["", ""]
        if profile.HasField("period_type") and profile.period:
            period = [self.text(i) for i in (profile.period_type.type_strindex, profile.period_type.unit_strindex)]
        if (sample, period) == (["samples", "count"], ["cpu", "nanoseconds"]):
            return "process_cpu", ["cpu", "nanoseconds", *period], profile.period
        if (sample, period) == (["off_cpu", "nanoseconds"], ["", ""]):
            return "off_cpu", [*sample, *period], 1
        return period[0], [*sample, *period], 1

    def value(self, profile, sample, factor):
        values = list(sample.values) or ([len(sample.timestamps_unix_nano)] if sample.timestamps_unix_nano else [])
        if not values:
            raise Refused(500, "INVALID_ARGUMENT", "failed to convert otel profile: sample value is required")
        if profile.period and len(values) != 1:
            raise Refused(500, "INVALID_ARGUMENT", "failed to convert otel profile: sample values length mismatch")
        return sum(values) * factor

    def series(self, labels, profile):
        if not profile.HasField("sample_type"):
            raise Refused(500, "INVALID_ARGUMENT", "failed to convert otel profile: sample type is missing")
        name, kind, factor = self.kind(profile)
        samples = []
        for sample in profile.samples:
            rows = [self.at(self.tables.attribute_table, i) for i in sample.attribute_indices]
            own = {self.text(row.key_strindex): plain(row.value) for row in rows}
            samples.append((self.stack(sample), self.value(profile, sample, factor), own))
        size = profile.ByteSize() + sum(len(name) for stack, _, _ in samples for name in set(stack))
        return Series({**labels, "__name__": name}, ":".join([name, *kind]), profile.time_unix_nano, samples, size,
                      sum("" in stack for stack, _, _ in samples))


def convert(data):
    """All series of a request."""
    if not data.HasField("dictionary") or not data.resource_profiles:
        raise Refused(500, "INVALID_ARGUMENT", "missing resource profiles or dictionary")
    converter = Converter(data.dictionary)
    found = []
    for owner in data.resource_profiles:
        for scoped in owner.scope_profiles:
            labels = dict(OWN_LABELS)
            labels_of(owner.resource.attributes, labels)
            labels_of(scoped.scope.attributes, labels)
            labels["service_name"] = service_of(owner.resource.attributes)
            if any(a.key_strindex for a in (*owner.resource.attributes, *scoped.scope.attributes)):
                raise invalid("an attribute is sent by reference")
            found += [converter.series(labels, profile) for profile in scoped.profiles if profile.samples]
    return found


# ---- Its own push: pprof ---------------------------------------------------------------------

def fields(raw):
    """(number, value) of each field of a protobuf message: bytes, or a number."""
    at = 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            value |= (raw[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if raw[at - 1] < 128:
                return value

    while at < len(raw):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 2:
            size = varint()
            yield tag >> 3, raw[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {tag & 7}")


def numbers(value):
    """A packed list of varints, as signed numbers."""
    if isinstance(value, int):
        return [value]
    found, now, shift = [], 0, 0
    for byte in value:
        now, shift = now | (byte & 127) << shift, shift + 7
        if byte < 128:
            found.append(now - (1 << 64) if now >> 63 else now)
            now, shift = 0, 0
    return found


class Pprof:
    def __init__(self, raw):
        self.strings, self.functions, self.locations, self.mappings, self.samples = [], {}, {}, set(), []
        self.types, self.period_type, self.period, self.time_ns = [], (0, 0), 0, 0
        for number, value in fields(raw):
            if number == 1:
                self.types.append(self.pair(value))
            elif number == 2:
                self.samples.append(list(fields(value)))
            elif number == 3:
                self.mappings.add(dict(fields(value))[1])
            elif number == 4:
                self.add_location(value)
            elif number == 5:
                row = dict(fields(value))
                self.functions[row[1]] = row.get(2, 0)
            elif number == 6:
                self.strings.append(value.decode())
            elif number == 9:
                self.time_ns = value
            elif number == 11:
                self.period_type = self.pair(value)
            elif number == 12:
                self.period = value
        if not self.strings or self.strings[0] or not self.types:
            raise ValueError("no sample types, or a string table without its first entry")

    @staticmethod
    def pair(value):
        row = dict(fields(value))
        return row.get(1, 0), row.get(2, 0)

    def add_location(self, value):
        row = list(fields(value))
        lines = [dict(fields(line)).get(1, 0) for number, line in row if number == 4]
        self.locations[dict(row)[1]] = lines
        if not dict(row)[1]:
            raise invalid("location id is 0")

    def stack(self, ids):
        found = []
        for location in ids:
            names = [self.strings[self.functions[f]] for f in self.locations[location]]
            found += [name for name in names if name] or [""]
        return tuple(found)

    def read(self, sample):
        """(stack, values, labels)."""
        ids, values, labels = [], [], {}
        for number, value in sample:
            if number == 1:
                ids += numbers(value)
            elif number == 2:
                values += numbers(value)
            elif number == 3:
                row = dict(fields(value))
                labels[self.strings[row[1]]] = self.strings[row[2]] if 2 in row else str(row.get(3, 0))
        if len(values) != len(self.types):
            raise invalid("sample value length mismatch")
        return self.stack(ids), values, labels


def convert_push(raw):
    """All series of a PushRequest. A pprof of several values is several series; the last one is what is compared here."""
    found = []
    for _, series in fields(raw):
        labels, profiles = {}, []
        for number, value in fields(series):
            if number == 1:
                row = dict(fields(value))
                labels[row[1].decode()] = row[2].decode()
            elif number == 2:
                row = dict(fields(value))
                if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", row[2].decode()):
                    raise invalid("the ID is not a UUID")
                profiles.append(row[1])
        labels.setdefault("service_name", "unknown_service")
        for packed in profiles:
            plain_bytes = gzip.decompress(packed)
            profile = Pprof(plain_bytes)
            rows = [profile.read(sample) for sample in profile.samples]
            text = profile.strings
            kind = ":".join([labels.get("__name__", ""), *(text[i] for i in (*profile.types[-1], *profile.period_type))])
            found.append(Series(labels, kind, profile.time_ns, [(stack, values[-1], own) for stack, values, own in rows],
                                len(plain_bytes), sum("" in stack for stack, _, _ in rows)))
    return found


# ---- What each series must be --------------------------------------------------------------

def check_labels(labels):
    if len(labels) > LABELS_MAX:
        raise invalid(f"{len(labels)} label names; limit {LABELS_MAX}")
    if not labels.get("__name__"):
        raise invalid("invalid metric name")
    seen = {}
    for name, value in labels.items():
        if not LABEL_NAME.fullmatch(name) or len(name) > 1024:
            raise invalid(f"invalid label name '{name}'")
        if len(value.encode()) > VALUE_BYTES_MAX:
            raise invalid(f"label value too long: {name}")
        if seen.setdefault(name.replace(".", "_"), value) != value:
            raise invalid(f"duplicate label name after sanitization: {name}")


def check_series(series, now):
    check_labels(series.labels)
    for own in {tuple(sorted(own.items())) for _, _, own in series.samples}:
        check_labels({**series.labels, **dict(own)})
    if series.time_ns and not now - HOUR < series.time_ns / 1e9 < now + HOUR / 6:
        raise invalid("the profile is out of the ingestion window")
    if len(series.samples) > SAMPLES_MAX:
        raise invalid(f"{len(series.samples)} samples; limit {SAMPLES_MAX}")
    if "-" in series.kind.split(":")[1]:
        raise invalid("sample type contains -")
    if series.bytes > PROFILE_BYTES_MAX:
        raise Refused(429, "RESOURCE_EXHAUSTED", "resource_exhausted: push rate limit exceeded")


# ---- The server ----------------------------------------------------------------------------

class Pyroscope(backend.Backend):
    """script(request) may raise Refused for the whole; per_series(series) for one."""

    def __init__(self, script=None, per_series=None):
        self.per_series = per_series or (lambda series: None)
        self.kept = []                          # every Series that was taken
        self.times = collections.Counter()      # (series, millisecond)
        self.nameless = 0
        self.refusals = []                      # texts
        self.delay = 0
        super().__init__(script or (lambda request: None))

    def start_http(self):
        self.http = backend.HttpServer(("127.0.0.1", self.http_port), Handler)
        self.http.daemon_threads = True
        self.http.backend = self
        backend.threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def push(self, found):
        """Each by itself; the good ones stay, whatever becomes of the others."""
        failed = []
        for i, series in enumerate(found):
            try:
                check_series(series, time.time())
                self.per_series(series)
            except Refused as error:
                failed.append((error, f"push series with index {i} and id {i:08x} failed: {error}"))
                continue
            self.kept.append(series)
            self.times[series.key, series.time_ns // 1_000_000] += 1
            self.nameless += series.nameless
        if failed:
            text = f"failed to make a GRPC request: {len(failed)} errors: " + "; ".join(text for _, text in failed)
            raise Refused(failed[0][0].http, failed[0][0].code, text)

    def answer(self, request, convert_request):
        with self.lock:
            self.requests.append(request)
        if self.delay:
            time.sleep(self.delay)
        try:
            with self.lock:
                self.script(request)
                self.push(convert_request(request))
        except Refused as error:
            self.refusals.append(str(error))
            return error
        except Exception as error:      # whatever a parser throws at broken bytes
            self.broken.append(repr(error))
            return invalid("it cannot be read")
        return None

    def serve_grpc(self, raw, context):
        headers = dict(context.invocation_metadata())
        request = backend.Request("grpc", raw, headers, "", time.monotonic())
        error = self.answer(request, lambda _: convert(canonical.parse(raw)))
        if error:
            context.abort(getattr(grpc.StatusCode, error.code), str(error))
        return b""

    # ---- What a test asks ----

    def stacks(self, service=None):
        """The sum of each stack, of one service or all."""
        found = collections.Counter()
        for series in self.kept:
            if service in (None, series.labels["service_name"]):
                for stack, value, _ in series.samples:
                    found[stack] += value
        return found

    def services(self):
        return {series.labels["service_name"] for series in self.kept}

    def doubles(self):
        """Profiles that it would take for copies of each other, and keep only one of."""
        return [key for key, count in self.times.items() if count > 1]


class OldPyroscope(Pyroscope):
    """Before 2.2, by OTLP: one series after another, until one fails; each has the number 0, and the status says nothing."""

    def push(self, found):
        for series in found:
            try:
                super().push([series])
            except Refused as error:
                raise Refused(500, "UNKNOWN", str(error)) from error


class Handler(backend.HttpHandler):
    def do_POST(self):
        raw = self.body()
        headers = {key.lower(): value for key, value in self.headers.items()}
        request = backend.Request("http", raw, headers, headers.get("content-encoding", ""), time.monotonic())
        error = self.check(request) or self.server.backend.answer(request, self.convert)
        self.reply(error)

    def check(self, request):
        if self.path == PUSH:
            good = request.headers.get("content-type") == "application/proto" and not request.encoding
            return None if good else Refused(415, "INTERNAL", "Unsupported Content-Type")
        if self.path != harness.PATH:
            return Refused(404, "UNIMPLEMENTED", "not found")
        if request.headers.get("content-type") not in ("application/x-protobuf", "application/protobuf"):
            return Refused(415, "INTERNAL", "Unsupported Content-Type")
        if request.encoding not in ("", "gzip"):
            return invalid("Failed to parse protobuf request")
        return None

    def convert(self, request):
        if self.path == PUSH:
            return convert_push(request.raw)
        if request.encoding == "gzip":
            request.raw = gzip.decompress(request.raw)
        return convert(canonical.parse(request.raw))

    def reply(self, error):
        body = f"{error}\n".encode() if error else b""
        kind = "text/plain; charset=utf-8" if error else "application/x-protobuf"
        if self.path == PUSH:       # Connect's errors are JSON; conversions are part of checking
            body = json.dumps({"code": error.code.lower(), "message": str(error)}).encode() if error else b""
            kind = "application/json" if error else "application/proto"
        self.send_response(error.http if error else 200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
