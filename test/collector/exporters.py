#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How otlp_grpc and otlp_http reach a backend: TLS in all its forms, sockets, proxies, headers, encodings, connections
that are kept; and what they refuse to do. What becomes of batches is failures.py's.
"""
import base64
import concurrent.futures
import contextlib
import http.server
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import threading

import harness
import backend
import canonical
import clients
import failures
import forged
import relay
from backend import Answer

import grpc

TAP = harness.TAP
SENT = "otelcol_exporter_sent_profile_samples"
SAMPLES = 3


def start_grpc(behind, add_port):
    """grpcio with the port that add_port(server) gives it, not the one that backend.py would."""
    handler = grpc.unary_unary_rpc_method_handler(behind.serve_grpc)
    service, method = harness.METHOD.strip("/").split("/")
    behind.grpc = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    behind.grpc.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {method: handler})])
    add_port(behind.grpc)
    behind.grpc.start()


class SocketBackend(backend.Backend):
    def __init__(self, path):
        self.path = path
        super().__init__()

    def start_grpc(self):
        start_grpc(self, lambda server: server.add_insecure_port(f"unix:{self.path}"))


class TlsBackend(backend.Backend):
    """The same behind TLS; ask: wants a certificate of the clients. Remembers whose it saw."""

    def __init__(self, folder, server="server", ask=False):
        self.folder, self.server, self.ask, self.peers = folder, server, ask, []
        super().__init__()

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def start_grpc(self):
        pair = (self.read(f"{self.server}.key"), self.read(f"{self.server}.pem"))
        credentials = grpc.ssl_server_credentials([pair], self.read("ca.pem") if self.ask else None, self.ask)
        start_grpc(self, lambda server: server.add_secure_port(f"127.0.0.1:{self.grpc_port}", credentials))

    def serve_grpc(self, raw, context):
        self.peers += context.auth_context().get("x509_common_name", [])
        return super().serve_grpc(raw, context)

    def start_http(self):
        super().start_http()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.folder, f"{self.server}.pem"), os.path.join(self.folder, f"{self.server}.key"))
        if self.ask:
            context.load_verify_locations(os.path.join(self.folder, "ca.pem"))
            context.verify_mode = ssl.CERT_REQUIRED
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)


def pipeline(exporters, extensions=None):
    """(configuration, port): otlp by HTTP into all of them."""
    port = harness.free_port()
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}}, "exporters": exporters,
            "extensions": extensions or {},
            "service": {"extensions": list(extensions or {}),
                        "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": list(exporters)}}}}, port


@contextlib.contextmanager
def running(exporter, options, extensions=None):
    """wick with one exporter that tries again soon, and a function that sends it a batch."""
    retry = {"initial_interval": "100ms", "max_interval": "100ms"}
    config, port = pipeline({exporter: {"retry_on_failure": retry, **options}}, extensions)
    with harness.Wick(config, [port]) as wick:
        client = harness.HttpClient(port)
        yield wick, lambda name: client.send(forged.small(name, SAMPLES)) == 200
        client.close()


def arrives(name, behind, exporter, options, extensions=None, batch="b0"):
    """A batch through wick to the backend, once."""
    with running(exporter, options, extensions) as (wick, send):
        good = send(batch) and behind.wait([batch], 10)
        TAP.check(f"{name}: it arrives", good, "" if good else wick.said()[-600:])
        TAP.check(f"{name}: nothing is broken", not behind.broken, str(behind.broken or ""))
    return behind.requests[-1] if behind.requests else None


def fails(name, behind, exporter, options, why, batch="b0"):
    """Nothing arrives, and the log says why."""
    with running(exporter, options) as (wick, send):
        send(batch)
        harness.wait_for(lambda: why in wick.said(), 10)
        TAP.check(f"{name}: the log says why", why in wick.said(), "" if why in wick.said() else wick.said()[-600:])
        TAP.check(f"{name}: nothing arrives", not behind.delivered and wick.metric(SENT) == 0)


# ---- TLS --------------------------------------------------------------------------------

def make_other_certificate(folder):
    """elsewhere.pem, for backend.example."""
    with open(os.path.join(folder, "other"), "w", encoding="ascii") as file:
        file.write("subjectAltName=DNS:backend.example")
    clients.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=elsewhere",
                    "-keyout", "elsewhere.key", "-out", "elsewhere.csr", cwd=folder)
    clients.openssl("x509", "-req", "-in", "elsewhere.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                    "2", "-extfile", "other", "-out", "elsewhere.pem", cwd=folder)


def endpoints(behind):
    return (("otlp_grpc", {"endpoint": f"localhost:{behind.grpc_port}"}),
            ("otlp_http", {"endpoint": f"https://localhost:{behind.http_port}"}))


def tls(folder):
    ca = os.path.join(folder, "ca.pem")
    for i in range(2):
        with TlsBackend(folder) as behind:
            exporter, options = endpoints(behind)[i]
            arrives(f"{exporter}, TLS", behind, exporter, {**options, "tls": {"ca_file": ca}})
        with TlsBackend(folder) as behind:
            exporter, options = endpoints(behind)[i]
            pem = behind.read("ca.pem").decode()
            arrives(f"{exporter}, TLS with ca_pem", behind, exporter,
                    {**options, "tls": {"ca_pem": pem, "min_version": "1.3", "curve_preferences": ["X25519", "P256"]}})
        with TlsBackend(folder) as behind:
            exporter, options = endpoints(behind)[i]
            arrives(f"{exporter}, insecure_skip_verify", behind, exporter,
                    {**options, "tls": {"insecure_skip_verify": True}})
        with TlsBackend(folder) as behind:
            exporter, options = endpoints(behind)[i]
            fails(f"{exporter}, an authority that is not trusted", behind, exporter, options, "certificate")
        with TlsBackend(folder, "elsewhere") as behind:
            exporter, options = endpoints(behind)[i]
            fails(f"{exporter}, another name", behind, exporter, {**options, "tls": {"ca_file": ca}}, "localhost")
        with TlsBackend(folder, "elsewhere") as behind:
            exporter, options = endpoints(behind)[i]
            request = arrives(f"{exporter}, server_name_override", behind, exporter,
                              {**options, "tls": {"ca_file": ca, "server_name_override": "backend.example"}})
            if request and exporter == "otlp_http":
                TAP.check("otlp_http, server_name_override: Host is the endpoint's",
                          request.headers["host"] == f"localhost:{behind.http_port}", request.headers["host"])


def mutual(folder):
    """A client's certificate, and another one after the files have changed."""
    ca = os.path.join(folder, "ca.pem")
    for i in range(2):
        with TlsBackend(folder, ask=True) as behind:
            exporter, options = endpoints(behind)[i]
            fails(f"{exporter}, no certificate to show", behind, exporter, {**options, "tls": {"ca_file": ca}}, "warn")
        with TlsBackend(folder, ask=True) as behind:
            exporter, options = endpoints(behind)[i]
            pair = {"ca_file": ca, "cert_file": os.path.join(folder, "client.pem"),
                    "key_file": os.path.join(folder, "client.key")}
            arrives(f"{exporter}, mTLS", behind, exporter, {**options, "tls": pair})


def reloaded(folder):
    with TlsBackend(folder, ask=True) as behind, tempfile.TemporaryDirectory() as own:
        def put(name):
            for end in ("pem", "key"):
                with open(os.path.join(own, f"mine.{end}"), "wb") as file:
                    file.write(behind.read(f"{name}.{end}"))

        put("client")
        options = {"endpoint": f"localhost:{behind.grpc_port}",
                   "tls": {"ca_file": os.path.join(folder, "ca.pem"), "cert_file": os.path.join(own, "mine.pem"),
                           "key_file": os.path.join(own, "mine.key"), "reload_interval": "100ms"}}
        with running("otlp_grpc", options) as (wick, send):
            send("b0")
            behind.wait(["b0"], 10)
            put("server")

            def seen():
                send(f"b{len(behind.peers)}")
                return b"server" in behind.peers

            TAP.check("reload_interval: a new certificate is shown", harness.wait_for(seen, 10, 0.2),
                      f"{set(behind.peers)} {wick.said()[-300:]}")


# ---- Ways -------------------------------------------------------------------------------

def unix_socket(folder):
    path = os.path.join(folder, "grpc.sock")
    with SocketBackend(path) as behind:
        arrives("otlp_grpc, unix socket", behind, "otlp_grpc", {"endpoint": f"unix://{path}", "tls": {"insecure": True}})


class ForwardProxy(http.server.BaseHTTPRequestHandler):
    """CONNECT only."""

    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        self.server.asked.append(self.path)
        host, port = self.path.rsplit(":", 1)
        server = socket.create_connection((host, int(port)), 5)
        self.send_response(200)
        self.end_headers()
        threads = [threading.Thread(target=pump, args=pair, daemon=True)
                   for pair in ((self.connection, server), (server, self.connection))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def pump(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def proxied(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ForwardProxy)
    server.daemon_threads, server.asked = True, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with TlsBackend(folder) as behind:
        arrives("otlp_http, proxy_url", behind, "otlp_http",
                {"endpoint": f"https://localhost:{behind.http_port}", "tls": {"ca_file": os.path.join(folder, "ca.pem")},
                 "proxy_url": f"http://127.0.0.1:{server.server_port}"})
        TAP.check("otlp_http, proxy_url: the proxy was asked", server.asked == [f"localhost:{behind.http_port}"],
                  str(server.asked))
    server.shutdown()
    server.server_close()


def kept_connections(_):
    """Ten requests under way at once, each taking a while, and ten more: over the same connections, once each. A libcurl
    newer than Debian 12's needs only one."""
    with backend.Backend(lambda request: Answer(delay=0.3)) as behind, backend.Proxy(behind.grpc_port) as proxy:
        options = {"endpoint": f"127.0.0.1:{proxy.port}", "tls": {"insecure": True}}
        with running("otlp_grpc", options) as (_, send):
            batches = [f"b{i}" for i in range(30)]
            for batch in batches:
                send(batch)
            good = behind.wait(batches, 10)
        TAP.check("otlp_grpc: connections are kept", good and proxy.count <= 10, f"{proxy.count} for 30 requests")
        TAP.check("otlp_grpc: each arrives once", set(behind.delivered.values()) == {1})


def reload_while_away(_):
    """What waits when the configuration is read again goes to the exporter of the new one."""
    for out in ("grpc", "http"):
        with failures.scene(out, "away") as (behind, proxy, wick, load):
            load.send(20)
            wick.signal(signal.SIGHUP)
            load.send(20)
            proxy.set("pass")
            name = f"reload while the backend is away, {out}"
            failures.check_delivery(name, behind, load)
            failures.check_metric(name, wick, failures.SEND_FAILED, 0)


# ---- What is in a request ---------------------------------------------------------------

def contents(_):
    auth = {"basicauth/client": {"client_auth": {"username": "who", "password": "secret"}}}
    wanted = "Basic " + base64.b64encode(b"who:secret").decode()
    for encoding in ("gzip", "zstd", "none"):
        with backend.Backend() as behind:
            request = arrives(f"otlp_http, {encoding}", behind, "otlp_http",
                              {"endpoint": f"http://127.0.0.1:{behind.http_port}/", "compression": encoding,
                               "headers": {"X-Scope-OrgID": "tenant", "x-empty": ""},
                               "auth": {"authenticator": "basicauth/client"}}, auth)
            if not request:
                continue
            TAP.check(f"otlp_http, {encoding}: says so", request.encoding == ("" if encoding == "none" else encoding))
            TAP.check(f"otlp_http, {encoding}: headers", request.headers.get("x-scope-orgid") == "tenant" and
                      request.headers.get("authorization") == wanted and
                      request.headers.get("otlp-profiles-development-version") == "1" and
                      request.headers.get("x-empty") == "", str(request.headers))
            TAP.check(f"otlp_http, {encoding}: the bytes are those that came", request.raw == forged.small("b0", SAMPLES))
        if encoding == "zstd":
            continue            # which grpcio does not speak
        with backend.Backend() as behind:
            request = arrives(f"otlp_grpc, {encoding}", behind, "otlp_grpc",
                              {"endpoint": f"http://127.0.0.1:{behind.grpc_port}", "compression": encoding,
                               "tls": {"insecure": True}, "headers": [{"name": "x-scope-orgid", "value": "tenant"}]})
            if request:
                TAP.check(f"otlp_grpc, {encoding}: headers", request.headers.get("x-scope-orgid") == "tenant" and
                          request.headers.get("user-agent", "").startswith("wick/"), str(request.headers))


def json_encoding(_):
    with backend.Backend() as behind:
        request = arrives("otlp_http, json", behind, "otlp_http",
                          {"endpoint": f"http://127.0.0.1:{behind.http_port}", "encoding": "json"})
        TAP.check("otlp_http, json: it is JSON", request and request.raw.startswith(b"{"))
        same = canonical.parse(forged.small("b0", SAMPLES))
        TAP.check("otlp_http, json: of the same samples", behind.contents.get("b0") == [backend.contents_of(same)["b0"]])


# ---- What is refused --------------------------------------------------------------------

def refused(_):
    grpc_options = {"endpoint": "127.0.0.1:1", "tls": {"insecure": True}}
    http_options = {"endpoint": "http://127.0.0.1:1"}
    for exporter, options, sentence in (
            ("otlp_grpc", {}, "endpoint"),
            ("otlp_grpc", {"endpoint": "backend"}, "it needs a host and a port"),
            ("otlp_grpc", {**grpc_options, "compression": "snappy"}, "wick does not speak snappy; use gzip, zstd or none"),
            ("otlp_grpc", {**grpc_options, "tls": {"cert_file": "/x"}}, "a certificate needs its key"),
            ("otlp_grpc", {**grpc_options, "tls": {"tpm": {"enabled": True}}}, "TPM"),
            ("otlp_http", {}, "endpoint is missing"),
            ("otlp_http", {"endpoint": "127.0.0.1:4318"}, "it must begin with http:// or https://"),
            ("otlp_http", {**http_options, "compression": "lz4"}, "wick does not speak lz4"),
            ("otlp_http", {**http_options, "cookies": {"enabled": True}}, "wick keeps no cookies"),
            ("otlp_http", {**http_options, "sending_queue": {"storage": "file_storage", "wait_for_result": True}},
             "wait_for_result does not go with storage"),
            ("otlp_http", {**http_options, "sending_queue": {"batch": {"min_size": 10, "max_size": 5}}},
             "max_size is below min_size")):
        config, _ = pipeline({exporter: options})
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            harness.json.dump(config, file)
            file.flush()
            found = subprocess.run([harness.WICK, "validate", f"--config={file.name}"], capture_output=True, text=True,
                                   check=False)
        TAP.check(f"{exporter} says: {sentence}", found.returncode != 0 and sentence in found.stderr,
                  "" if sentence in found.stderr else found.stderr[-300:])


def main():
    with tempfile.TemporaryDirectory() as folder:
        clients.make_certificates(folder)
        make_other_certificate(folder)
        for run in (contents, json_encoding, kept_connections, reload_while_away, refused, unix_socket, tls, mutual,
                    reloaded, proxied):
            relay.guarded(run.__name__, run, folder)
    TAP.end()


if __name__ == "__main__":
    main()
