# SPDX-License-Identifier: Apache-2.0
"""What the collector's tests share: process.py, and clients.

Import it first: it runs the test again in the Python of test/peers/venv.sh, which has grpcio and opentelemetry-proto.
"""
import gzip
import http.client
import os
import subprocess
import sys

from process import *  # noqa: F403
from process import ROOT, TAP


def enter_venv():
    if "WICK_TEST_PYTHON" in os.environ:
        return
    found = subprocess.run([os.path.join(ROOT, "test/peers/venv.sh")], stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode:
        TAP.skip(os.path.basename(sys.argv[0]), "grpcio and opentelemetry-proto cannot be installed from PyPI")
        TAP.end()
    python = found.stdout.strip()
    os.environ["WICK_TEST_PYTHON"] = python
    os.execv(python, [python, *sys.argv])


enter_venv()
os.environ.pop("WICK_TEST_PYTHON")
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc  # noqa: E402
import zstandard  # noqa: E402

METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
PATH = "/v1development/profiles"


def compress(raw, encoding):
    if encoding == "gzip":
        return gzip.compress(raw, 1)
    if encoding == "zstd":
        return zstandard.compress(raw)
    return raw


class GrpcClient:
    """grpcio, without its own retries."""

    def __init__(self, target, compression="none", credentials=None, metadata=(), method=METHOD):
        options = [("grpc.enable_retries", 0), ("grpc.max_send_message_length", -1),
                   ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
        kind = {"none": grpc.Compression.NoCompression, "gzip": grpc.Compression.Gzip}[compression]
        target = target if isinstance(target, str) else f"127.0.0.1:{target}"
        if credentials:
            self.channel = grpc.secure_channel(target, credentials, options, kind)
        else:
            self.channel = grpc.insecure_channel(target, options, kind)
        self.call = self.channel.unary_unary(method)
        self.metadata = metadata

    def send(self, raw, timeout=20):
        """The name of the status: OK, UNAVAILABLE, ...; its text is in self.text."""
        self.text, self.answer, self.trailers = "", b"", ()
        try:
            self.answer, call = self.call.with_call(raw, timeout=timeout, metadata=self.metadata)
            self.trailers = call.trailing_metadata()
            return "OK"
        except grpc.RpcError as error:
            self.text, self.trailers = error.details(), error.trailing_metadata()
            return error.code().name

    def close(self):
        self.channel.close()


class HttpClient:
    """OTLP/HTTP over one connection."""

    def __init__(self, port, encoding="none", content_type="application/x-protobuf", headers=None, path=PATH):
        self.port, self.encoding, self.path = port, encoding, path
        self.headers = {"content-type": content_type, **(headers or {})}
        if encoding != "none":
            self.headers["content-encoding"] = encoding
        self.connection = None

    def send(self, raw, timeout=20):
        """The status as a number; 0: there was no answer."""
        self.answer, self.answer_headers, self.text = b"", {}, ""
        try:
            if not self.connection:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
            self.connection.request("POST", self.path, compress(raw, self.encoding), self.headers)
            response = self.connection.getresponse()
            self.answer, self.answer_headers = response.read(), dict(response.getheaders())
            return response.status
        except (OSError, http.client.HTTPException) as error:
            self.text = repr(error)
            self.close()
            return 0

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None
