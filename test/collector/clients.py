#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Foreign clients at the otlp receiver: grpcio and curl, every compression, TLS and mTLS, tokens, and all that can be wrong
with a request. Each gets the status that the specification or the Collector has for it."""
import base64
import gzip
import json
import os
import subprocess
import tempfile

import harness          # first: it finds the Python that has the next two
import grpc
import zstandard

import canonical
import forged
import relay

TAP = harness.TAP
GOOD = harness.payload("ebpf-profiler-go")
PROTO, JSON = "application/x-protobuf", "application/json"


def openssl(*arguments, cwd):
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)


def make_certificates(folder):
    """ca.pem, server.pem for localhost, client.pem, and stranger.pem by nobody."""
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    for name in ("ca", "stranger"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", cwd=folder)
    with open(os.path.join(folder, "names"), "w", encoding="ascii") as file:
        file.write(names)
    for name in ("server", "client"):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout",
                f"{name}.key", "-out", f"{name}.csr", cwd=folder)
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", f"{name}.pem", cwd=folder)


class Curl:
    """One endpoint; send() gives the status of HTTP, and keeps the body."""

    def __init__(self, url, folder, *options):
        self.url, self.folder, self.options, self.body = url, folder, options, b""

    def send(self, raw=b"", *options, path=harness.PATH, content=PROTO, method="POST"):
        out, body = os.path.join(self.folder, "answer"), os.path.join(self.folder, "body")
        for stale in (out, out + ".headers"):
            with open(stale, "wb"):
                pass
        with open(body, "wb") as file:
            file.write(raw)
        given = ["--data-binary", f"@{body}", "-H", f"content-type: {content}"] if method == "POST" else ["-X", method]
        ran = subprocess.run(["curl", "-sS", "--max-time", "20", "--noproxy", "*", "-o", out, "-D", out + ".headers", "-w",
                              "%{http_code}", *self.options, *given, *options, self.url + path], capture_output=True, check=False)
        self.error = ran.stderr.decode(errors="replace").strip()
        self.body = read(self.folder, "answer")
        self.headers = read(self.folder, "answer.headers").decode("latin-1").lower()
        return int(ran.stdout or 0)


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def expect(name, found, wanted, text=""):
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    TAP.check(name, found in wanted, "" if found in wanted else f"{found}, not {wanted[0]}; {text}")


def receiver(protocols, extensions=None):
    return {"receivers": {"otlp": {"protocols": protocols}}, "exporters": {"nop": None}, "extensions": extensions or {},
            "service": {"extensions": list(extensions or {}),
                        "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["nop"]}}}}


# ---- Plain -------------------------------------------------------------------------

def out_of_range():
    data = canonical.parse(GOOD)
    data.resource_profiles[0].scope_profiles[0].profiles[0].samples[0].stack_index = 1 << 30
    return data.SerializeToString()


def samples_of(wick):
    return wick.metric("otelcol_receiver_accepted_profile_samples")


def grpc_plain(port, wick):
    def send(raw, compression="none", **keywords):
        client = harness.GrpcClient(port, compression, **keywords)
        code = client.send(raw)
        client.close()
        return code

    before = samples_of(wick)
    expect("gRPC: accepted", send(GOOD), "OK")
    expect("gRPC, gzip: accepted", send(GOOD, "gzip"), "OK")
    old = harness.METHOD.replace("v1development", "v1experimental")
    expect("gRPC: the older package is accepted", send(GOOD, method=old), "OK")
    harness.wait_for(lambda: samples_of(wick) == before + 3 * 602, 5)
    expect("gRPC: samples are counted", samples_of(wick) - before, 3 * 602)
    expect("gRPC: an empty request is fine", send(b""), "OK")
    expect("gRPC: malformed", send(b"\xff\xff\xff\xff"), "INVALID_ARGUMENT")
    expect("gRPC: cut in the middle", send(GOOD[:len(GOOD) // 2]), "INVALID_ARGUMENT")
    expect("gRPC: an index out of range", send(out_of_range()), "INVALID_ARGUMENT")
    expect("gRPC: oversize", send(forged.small("x", padding=2 << 20)), "RESOURCE_EXHAUSTED")
    expect("gRPC: oversize once decompressed", send(forged.small("x") + b"\x12\x82\x80\x80\x01" + bytes(2 << 20), "gzip"),
           ("RESOURCE_EXHAUSTED", "INVALID_ARGUMENT"))
    expect("gRPC: no such method", send(GOOD, method=harness.METHOD.replace("Export", "Import")), "UNIMPLEMENTED")
    expect("gRPC: no such service", send(GOOD, method="/a.b/C"), "UNIMPLEMENTED")
    for value, wanted in (("1", "OK"), ("01", "INVALID_ARGUMENT"), ("2", "INVALID_ARGUMENT"), ("", "INVALID_ARGUMENT")):
        found = send(GOOD, metadata=(("otlp-profiles-development-version", value),))
        expect(f"gRPC: development version '{value}'", found, wanted)
    twice = (("otlp-profiles-development-version", "1"),) * 2
    expect("gRPC: development version given twice", send(GOOD, metadata=twice), "INVALID_ARGUMENT")


def http_plain(name, curl, wick):
    before = samples_of(wick)
    as_json = canonical.to_json(canonical.parse(GOOD)).encode()
    expect(f"{name}: protobuf", curl.send(GOOD), 200, curl.error)
    expect(f"{name}: its answer says nothing", curl.body, (b"", b"\n\0"))
    expect(f"{name}: JSON", curl.send(as_json, content=JSON), 200, curl.body)
    expect(f"{name}: its answer is JSON", curl.body, (b"{}", b'{"partialSuccess":{}}'))
    expect(f"{name}: gzip", curl.send(gzip.compress(GOOD), "-H", "content-encoding: gzip"), 200, curl.body)
    expect(f"{name}: zstd", curl.send(zstandard.compress(GOOD), "-H", "content-encoding: zstd"), 200, curl.body)
    expect(f"{name}: chunked", curl.send(GOOD, "-H", "transfer-encoding: chunked"), 200, curl.body)
    harness.wait_for(lambda: samples_of(wick) == before + 5 * 602, 5)
    expect(f"{name}: samples are counted", samples_of(wick) - before, 5 * 602)
    expect(f"{name}: an empty request is fine", curl.send(b""), 200)
    expect(f"{name}: malformed", curl.send(b"\xff\xff\xff\xff"), 400)
    TAP.check(f"{name}: the error is a google.rpc.Status", curl.body[:1] in (b"\x08", b"\x12"), str(curl.body[:60]))
    expect(f"{name}: malformed JSON", curl.send(b'{"resourceProfiles": [', content=JSON), 400)
    TAP.check(f"{name}: the error is JSON", "message" in json.loads(curl.body or b"{}"), str(curl.body[:60]))
    expect(f"{name}: an index out of range", curl.send(out_of_range()), 400)
    expect(f"{name}: broken gzip", curl.send(b"not gzip", "-H", "content-encoding: gzip"), 400)
    expect(f"{name}: an encoding nobody knows", curl.send(GOOD, "-H", "content-encoding: br"), (415, 400))
    expect(f"{name}: no such content type", curl.send(GOOD, content="text/plain"), 415)
    expect(f"{name}: no such path", curl.send(GOOD, path="/v1/profiles/none"), 404)
    expect(f"{name}: GET", curl.send(method="GET"), 405)
    expect(f"{name}: oversize", curl.send(forged.small("x", padding=2 << 20)), 413)
    bomb = gzip.compress(bytes(64 << 20))
    expect(f"{name}: a bomb", curl.send(bomb, "-H", "content-encoding: gzip"), (413, 400))
    for value, wanted in (("1", 200), ("01", 400), ("2", 400)):
        found = curl.send(GOOD, "-H", f"otlp-profiles-development-version: {value}")
        expect(f"{name}: development version {value}", found, wanted)


def plain(folder):
    ports = harness.free_port(), harness.free_port()
    unix = os.path.join(folder, "socket")
    protocols = {"grpc": {"endpoint": f"127.0.0.1:{ports[0]}", "max_recv_msg_size_mib": 1},
                 "http": {"endpoint": f"127.0.0.1:{ports[1]}", "max_request_body_size": 1 << 20,
                          "cors": {"allowed_origins": ["https://*.example.com"], "max_age": 600}}}
    config = receiver(protocols)
    config["receivers"]["otlp/unix"] = {"protocols": {"grpc": {"endpoint": unix, "transport": "unix"}}}
    config["service"]["pipelines"]["profiles"]["receivers"].append("otlp/unix")
    with harness.Wick(config, ports) as wick:
        url = f"http://127.0.0.1:{ports[1]}"
        grpc_plain(ports[0], wick)
        http_plain("HTTP/1.1", Curl(url, folder, "--http1.1"), wick)
        http_plain("HTTP/2", Curl(url, folder, "--http2-prior-knowledge"), wick)
        client = harness.GrpcClient(f"unix:{unix}")
        expect("gRPC on a unix socket", client.send(GOOD), "OK", client.text)
        client.close()
        cors(Curl(url, folder))
        TAP.check("after all that it lives", wick.alive() and wick.stop() == 0)


def cors(curl):
    for origin, allowed in (("https://a.example.com", True), ("https://example.org", False)):
        curl.send(b"", "-H", f"origin: {origin}", "-H", "access-control-request-method: POST", "-H",
                  "access-control-request-headers: content-type", method="OPTIONS")
        TAP.check(f"CORS: {origin} is {'' if allowed else 'not '}allowed",
                  (f"access-control-allow-origin: {origin}" in curl.headers) == allowed)


# ---- TLS ------------------------------------------------------------------------------

def tls(folder, mutual):
    name = "mTLS" if mutual else "TLS"
    ports = harness.free_port(), harness.free_port()
    options = {"cert_file": os.path.join(folder, "server.pem"), "key_file": os.path.join(folder, "server.key")}
    if mutual:
        options["client_ca_file"] = os.path.join(folder, "ca.pem")
    config = receiver({"grpc": {"endpoint": f"127.0.0.1:{ports[0]}", "tls": options},
                       "http": {"endpoint": f"127.0.0.1:{ports[1]}", "tls": options}})
    with harness.Wick(config, ports):
        for who, good in (("client", True), ("stranger", not mutual), (None, not mutual)):
            pair = {"private_key": read(folder, f"{who}.key"), "certificate_chain": read(folder, f"{who}.pem")} if who else {}
            credentials = grpc.ssl_channel_credentials(root_certificates=read(folder, "ca.pem"), **pair)
            client = harness.GrpcClient(f"localhost:{ports[0]}", credentials=credentials)
            expect(f"{name}, gRPC, certificate: {who}", client.send(GOOD), "OK" if good else "UNAVAILABLE", client.text)
            client.close()
            shown = ["--cert", os.path.join(folder, f"{who}.pem"), "--key", os.path.join(folder, f"{who}.key")] if who else []
            curl = Curl(f"https://localhost:{ports[1]}", folder, "--cacert", os.path.join(folder, "ca.pem"), *shown)
            for version in ("--http1.1", "--http2"):
                expect(f"{name}, curl {version}, certificate: {who}", curl.send(GOOD, version), 200 if good else 0, curl.error)
        plain_client = harness.GrpcClient(ports[0])
        expect(f"{name}: a client without TLS", plain_client.send(GOOD), "UNAVAILABLE", plain_client.text)
        plain_client.close()
        curl = Curl(f"https://localhost:{ports[1]}", folder, "--cacert", os.path.join(folder, "ca.pem"), "--tls-max", "1.1")
        expect(f"{name}: a client of TLS 1.1", curl.send(GOOD), 0)


# ---- Who may ----------------------------------------------------------------------------

def authenticated(folder):
    ports = [harness.free_port() for _ in range(4)]
    extensions = {"bearertokenauth": {"token": "s3cret"}, "basicauth/server": {"htpasswd": {"inline": "ann:word"}}}
    config = receiver({"grpc": {"endpoint": f"127.0.0.1:{ports[0]}", "auth": {"authenticator": "bearertokenauth"}},
                       "http": {"endpoint": f"127.0.0.1:{ports[1]}", "auth": {"authenticator": "bearertokenauth"}}}, extensions)
    config["receivers"]["otlp/basic"] = {"protocols": {
        "grpc": {"endpoint": f"127.0.0.1:{ports[2]}", "auth": {"authenticator": "basicauth/server"}},
        "http": {"endpoint": f"127.0.0.1:{ports[3]}", "auth": {"authenticator": "basicauth/server"}}}}
    config["service"]["pipelines"]["profiles"]["receivers"].append("otlp/basic")

    def basic(text):
        return "Basic " + base64.b64encode(text.encode()).decode()

    cases = (("bearer", ports[0], ports[1], "Bearer s3cret", ("Bearer wrong", "s3cret!", "Bearer", basic("ann:word"))),
             ("basic", ports[2], ports[3], basic("ann:word"), (basic("ann:wrong"), basic("bob:word"), "Basic !", "Bearer s3cret")))
    with harness.Wick(config, ports):
        for name, grpc_port, http_port, right, wrong in cases:
            curl = Curl(f"http://127.0.0.1:{http_port}", folder)
            for value in (right, None, *wrong):
                client = harness.GrpcClient(grpc_port, metadata=(("authorization", value),) if value else ())
                expect(f"{name}, gRPC, {value}", client.send(GOOD), "OK" if value == right else "UNAUTHENTICATED", client.text)
                client.close()
                header = ["-H", f"authorization: {value}"] if value else []
                expect(f"{name}, HTTP, {value}", curl.send(GOOD, *header), 200 if value == right else 401, curl.error)


def main():
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder:
        make_certificates(folder)
        relay.guarded("plain", plain, folder)
        relay.guarded("TLS", tls, folder, False)
        relay.guarded("mTLS", tls, folder, True)
        relay.guarded("authenticators", authenticated, folder)
    TAP.end()


if __name__ == "__main__":
    main()
