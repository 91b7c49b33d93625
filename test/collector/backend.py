# SPDX-License-Identifier: Apache-2.0
"""A backend that does as it is told, over gRPC (grpcio) and HTTP, and remembers what it got.

Requests carry the resource attribute `test.batch`; the backend knows by it what arrived, how often, and whether it is what
was sent. A Proxy before it is away, mute, slow or resets connections in the middle.
"""
import collections
import concurrent.futures
import dataclasses
import gzip
import http.server
import socket
import struct
import threading
import time

import grpc
import zstandard

import canonical
import harness

BATCH = "test.batch"


@dataclasses.dataclass
class Answer:
    """What to say to one request. kept: whether it counts as delivered."""
    grpc: str = "OK"
    http: int = 200
    retry_after: float = 0      # seconds; RetryInfo, Retry-After
    delay: float = 0            # before the answer
    body: bytes = b""           # of a 200
    reset: bool = False         # HTTP: reset the connection instead

    @property
    def kept(self):
        return self.grpc == "OK" and self.http == 200 and not self.reset


@dataclasses.dataclass
class Request:
    protocol: str
    raw: bytes
    headers: dict
    encoding: str
    at: float
    answer: Answer = None
    ids: tuple = ()

    @property
    def data(self):
        json = self.headers.get("content-type", "").startswith("application/json")
        return canonical.parse_json(self.raw) if json else canonical.parse(self.raw)


def batch_of(resource):
    return next((a.value.string_value for a in resource.attributes if a.key == BATCH), None)


def batch_ids(data):
    """Of each resource that has one."""
    return tuple(dict.fromkeys(filter(None, (batch_of(owner.resource) for owner in data.resource_profiles))))


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, raw):
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def status_details(code, seconds):
    """google.rpc.Status with a RetryInfo, as it stands in grpc-status-details-bin."""
    delay = b"\x08" + varint(int(seconds)) + b"\x10" + varint(int(seconds % 1 * 1e9))
    any_of = field(1, b"type.googleapis.com/google.rpc.RetryInfo") + field(2, field(1, delay))
    return b"\x08" + varint(code) + field(2, b"later") + field(3, any_of)


def partial_success(rejected, message=""):
    """ExportProfilesServiceResponse."""
    return field(1, b"\x08" + varint(rejected) + (field(2, message.encode()) if message else b""))


class Backend:
    """script(request) gives the Answer; by default all is well."""

    def __init__(self, script=None, remember=True):
        self.script = script or (lambda request: Answer())
        self.remember = remember
        self.lock = threading.Lock()
        self.requests = []                          # all of them, if they are to be remembered
        self.attempts = collections.Counter()       # by batch
        self.delivered = collections.Counter()      # by batch: answered well
        self.contents = {}                          # by batch: digests of its samples
        self.broken = []                            # what could not be read
        self.grpc_port, self.http_port = harness.free_port(), harness.free_port()
        self.start_grpc()
        self.start_http()

    def start_grpc(self):
        handler = grpc.unary_unary_rpc_method_handler(self.serve_grpc)
        service, method = harness.METHOD.strip("/").split("/")
        self.grpc = grpc.server(concurrent.futures.ThreadPoolExecutor(32), options=[("grpc.max_receive_message_length", -1)])
        self.grpc.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {method: handler})])
        assert self.grpc.add_insecure_port(f"127.0.0.1:{self.grpc_port}")
        self.grpc.start()

    def start_http(self):
        self.http = HttpServer(("127.0.0.1", self.http_port), HttpHandler)
        self.http.daemon_threads = True
        self.http.backend = self
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.grpc.stop(0).wait()
        self.http.shutdown()
        self.http.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def take(self, request):
        """Counts the request and finds its answer."""
        try:
            data = request.data
            request.ids = batch_ids(data)
            contents = contents_of(data)
        except Exception as error:      # whatever a parser throws at broken bytes
            with self.lock:
                self.broken.append(f"{request.protocol}, {len(request.raw)} bytes: {error!r}")
            return Answer("INVALID_ARGUMENT", 400)
        with self.lock:
            self.attempts.update(request.ids)
            request.answer = self.script(request)
            if request.answer.kept:
                self.delivered.update(request.ids)
                for batch, digests in contents.items():
                    self.contents.setdefault(batch, []).append(digests)
            if self.remember:
                self.requests.append(request)
        if request.answer.delay:
            time.sleep(request.answer.delay)
        return request.answer

    def serve_grpc(self, raw, context):
        headers = dict(context.invocation_metadata())
        answer = self.take(Request("grpc", raw, headers, "", time.monotonic()))
        if answer.grpc == "OK":
            return answer.body
        code = getattr(grpc.StatusCode, answer.grpc)
        if answer.retry_after:
            context.set_trailing_metadata((("grpc-status-details-bin", status_details(code.value[0], answer.retry_after)),))
        context.abort(code, "as told")
        return None

    def wait(self, batches, seconds):
        """Whether each was delivered in time."""
        return harness.wait_for(lambda: all(self.delivered[batch] for batch in batches), seconds)

    def data(self):
        """All that was kept, each request parsed."""
        with self.lock:
            return [request.data for request in self.requests if request.answer.kept]


def contents_of(data):
    """By batch, the samples that arrived with it, as a digest."""
    found = collections.defaultdict(collections.Counter)
    for spelling, resource, owner, profile in canonical.walk(data):
        batch = batch_of(resource)
        for sample in profile.samples if batch else ():
            found[batch][canonical.digest((owner, spelling.sample(sample)))] += 1
    return {batch: canonical.digest(sorted(samples.items())) for batch, samples in found.items()}


class HttpServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """Connections break here all the time, by design."""


class HttpHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120

    def log_message(self, *_):
        pass

    def body(self):
        if "chunked" in self.headers.get("transfer-encoding", ""):
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return raw
        size = int(self.headers.get("content-length", 0))
        raw = self.rfile.read(size)
        if len(raw) < size:
            raise ConnectionError("cut off")
        return raw

    def do_POST(self):
        raw = self.body()
        encoding = self.headers.get("content-encoding", "")
        if encoding == "gzip":
            raw = gzip.decompress(raw)
        elif encoding == "zstd":
            raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        headers = {key.lower(): value for key, value in self.headers.items()}
        request = Request("http", raw, headers, encoding, time.monotonic())
        if self.path != harness.PATH:
            self.say(Answer(http=404))
            return
        answer = self.server.backend.take(request)
        if answer.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        self.say(answer)

    def say(self, answer):
        body = answer.body if answer.http == 200 else status_details(14, 0)
        self.send_response(answer.http)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(body)))
        if answer.retry_after:
            self.send_header("retry-after", str(int(answer.retry_after)))
        self.end_headers()
        self.wfile.write(body)


class Proxy:
    """Stands before a port. mode: pass, away (connections are refused), mute (taken, never answered); cut(n) says after how
    many bytes towards the backend the n-th connection is reset, None: never."""

    def __init__(self, target, mode="pass", cut=None):
        self.target, self.port, self.cut = target, harness.free_port(), cut or (lambda n: None)
        self.connections, self.count, self.listener, self.mode = set(), 0, None, "away"
        self.lock = threading.Lock()
        self.set(mode)

    def set(self, mode):
        if mode == "away" and self.listener:
            self.listener.close()
            self.listener = None
        self.mode = mode
        for connection in list(self.connections):
            reset(connection)
        if mode != "away" and not self.listener:
            self.listener = socket.create_server(("127.0.0.1", self.port))
            threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        listener.settimeout(0.1)
        while self.listener is listener:
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            self.count += 1
            self.connections.add(client)
            if self.mode == "mute":
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target), 5)
            except OSError:
                reset(client)
                continue
            server.settimeout(None)
            self.connections.add(server)
            limit = self.cut(self.count)
            threading.Thread(target=self.pump, args=(client, server, limit), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, None), daemon=True).start()

    def pump(self, source, sink, limit):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                if limit is not None and len(data) >= limit:
                    sink.sendall(data[:limit])
                    break
                limit = limit if limit is None else limit - len(data)
                sink.sendall(data)
        except OSError:
            pass
        for connection in (source, sink):
            self.connections.discard(connection)
            reset(connection)

    def close(self):
        self.set("away")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def reset(connection):
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RD)     # wakes who reads it here; nothing is sent
        connection.close()
    except OSError:
        pass
