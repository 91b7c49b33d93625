# SPDX-License-Identifier: Apache-2.0
"""An API server of Kubernetes with the rules of the real one as far as pods go: TLS, bearer tokens, lists in pages, watches from a
version, bookmarks, versions that expire. It is strict: what a client does wrong is in .wrong. Standard library only."""
import http.server
import json
import os
import ssl
import subprocess
import threading
import time
import urllib.parse

BOOKMARK_SECONDS = 0.5


class Server:
    def __init__(self, folder, node):
        self.node, self.folder = node, folder
        self.lock = threading.Condition()
        self.objects = {}           # path of a single object -> it
        self.pods = {}              # uid -> pod
        self.version = 1000
        self.oldest = 0             # versions before that are forgotten
        self.events = []            # (version, type, pod)
        self.tokens = {"first"}
        self.wrong = []
        self.seen = {"list": 0, "page": 0, "watch": 0, "bookmark": 0, "401": 0, "410": 0, "get": 0, "429": 0}
        self.cut = 0                # watches that are to be cut in the middle of a line
        self.expire_line = 0        # watches that are to hear of 410 in a line
        self.busy = 0               # requests that are to be answered 429
        self.certificate()
        self.write_token("first")
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.http.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/server.pem", f"{folder}/server.key")
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def account(self):
        path = os.path.join(self.folder, "secrets", "kubernetes.io", "serviceaccount")
        os.makedirs(path, exist_ok=True)
        return path

    def certificate(self):
        account = self.account()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=kube", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{self.folder}/server.key", "-out",
                        f"{self.folder}/server.pem"], check=True, capture_output=True)
        with open(f"{self.folder}/server.pem", encoding="ascii") as source, open(f"{account}/ca.crt", "w", encoding="ascii") as to:
            to.write(source.read())

    def write_token(self, token):
        """As the kubelet does: the whole file is another one."""
        path = os.path.join(self.account(), "token")
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(token)
        os.replace(path + ".new", path)

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    # ---- What the test does ----

    def put(self, pod):
        with self.lock:
            self.version += 1
            pod["metadata"]["resourceVersion"] = str(self.version)
            kind = "MODIFIED" if pod["metadata"]["uid"] in self.pods else "ADDED"
            self.pods[pod["metadata"]["uid"]] = pod
            self.events.append((self.version, kind, pod))
            self.lock.notify_all()

    def delete(self, uid):
        with self.lock:
            pod = self.pods.pop(uid)
            self.version += 1
            gone = json.loads(json.dumps(pod))
            gone["metadata"]["resourceVersion"] = str(self.version)
            self.events.append((self.version, "DELETED", gone))
            self.lock.notify_all()

    def forget(self):
        """Compaction: nobody can go on from before now."""
        with self.lock:
            self.oldest = self.version + 1
            self.events = []
            self.version += 2

    def rotate(self, token):
        with self.lock:
            self.tokens = {token}
        self.write_token(token)

    # ---- What requests see ----

    def fault(self, text):
        with self.lock:
            self.wrong.append(text)

    def selected(self, query):
        wanted = query.get("fieldSelector", [""])[0]
        if wanted != f"spec.nodeName={self.node}":
            self.fault(f"fieldSelector {wanted}")
        return [p for p in self.pods.values() if p["spec"]["nodeName"] == self.node]


def handler(server):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, status, body, headers=()):
            raw = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        def status(self, code, headers=()):
            self.answer(code, {"kind": "Status", "code": code}, headers)

        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            query = urllib.parse.parse_qs(url.query)
            token = self.headers.get("authorization", "")
            if token.removeprefix("Bearer ") not in server.tokens or not token.startswith("Bearer "):
                server.seen["401"] += 1
                return self.status(401)
            if server.busy:
                server.busy -= 1
                server.seen["429"] += 1
                return self.status(429, [("retry-after", "1")])
            if url.path != "/api/v1/pods":
                server.seen["get"] += 1
                found = server.objects.get(url.path)
                return self.answer(200, found) if found else self.status(404)
            return self.watch(query) if query.get("watch") else self.list(query)

        def do_POST(self):
            server.fault("POST")
            self.status(405)

        do_PUT = do_DELETE = do_PATCH = do_POST

        def list(self, query):
            limit = int(query.get("limit", ["0"])[0])
            start = int(query.get("continue", ["0"])[0])
            if not 0 < limit <= 500:
                server.fault("a list without a limit")
            if start and "resourceVersion" in query:
                server.fault("a continued list names a version")
            with server.lock:
                server.seen["page" if start else "list"] += 1
                pods = sorted(server.selected(query), key=lambda p: p["metadata"]["uid"])
                version = str(server.version)
            limit = min(limit, 200)     # a server may give fewer
            more = {"continue": str(start + limit)} if start + limit < len(pods) else {}
            self.answer(200, {"kind": "PodList", "metadata": {"resourceVersion": version, **more}, "items": pods[start:start + limit]})

        def line(self, data):
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def watch(self, query):
            at = int(query.get("resourceVersion", ["0"])[0] or 0)
            seconds = int(query.get("timeoutSeconds", ["0"])[0])
            if not at or not seconds or query.get("allowWatchBookmarks") != ["true"]:
                server.fault(f"watch {query}")
            server.selected(query)
            if at < server.oldest:
                server.seen["410"] += 1
                return self.status(410)
            server.seen["watch"] += 1
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                return self.follow(at, time.monotonic() + seconds)
            except OSError:
                self.close_connection = True
                return None

        def follow(self, at, end):
            marked = time.monotonic()
            while time.monotonic() < end:
                with server.lock:
                    server.lock.wait_for(lambda: [e for e in server.events if e[0] > at] or server.cut or server.expire_line,
                                         BOOKMARK_SECONDS)
                    news = [e for e in server.events if e[0] > at and e[2]["spec"]["nodeName"] == server.node]
                    at = max([at] + [e[0] for e in server.events])
                    cut, expired = server.cut > 0, server.expire_line > 0
                    server.cut -= cut
                    server.expire_line -= expired and not cut
                for _, kind, pod in news:
                    raw = json.dumps({"type": kind, "object": pod}).encode() + b"\n"
                    # Chunks have nothing to do with lines.
                    self.line(raw[:100])
                    self.line(raw[100:])
                if cut:
                    self.line(b'{"type":"ADDED","object":{"metadata":{"na')
                    self.connection.shutdown(2)
                    raise OSError("cut")
                if expired:
                    server.seen["410"] += 1
                    self.line(json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410}}).encode() + b"\n")
                    break
                if time.monotonic() - marked > BOOKMARK_SECONDS:
                    marked = time.monotonic()
                    server.seen["bookmark"] += 1
                    self.line(json.dumps({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {
                        "resourceVersion": str(at)}}}).encode() + b"\n")
            self.line(b"")
            self.close_connection = True

    return Handler
