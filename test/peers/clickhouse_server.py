# SPDX-License-Identifier: Apache-2.0
"""ClickHouse's HTTP interface before the real engine, which chdb has as a library: what wick uses of it. Faults can be
asked for: faults is a list of functions that get a request each, and say what becomes of it.

Alone: clickhouse_server.py PORT FOLDER
"""
import http.server
import re
import sys
import tempfile
import threading
import urllib.parse

from chdb import session

# How the server maps codes to statuses of HTTP, for those that tests meet.
STATUS = {60: 404, 81: 404, 62: 400, 47: 404, 27: 400, 115: 404, 497: 403, 516: 403}
# Of the URL: not settings.
NOT_SETTINGS = ("query", "database", "default_format", "user", "password", "query_id", "wait_end_of_query")


class Request:
    def __init__(self, handler, body):
        url = urllib.parse.urlparse(handler.path)
        self.parameters = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = body
        self.sql = self.parameters.get("query")
        self.data = body if self.sql is not None else b""
        if self.sql is None:
            self.sql = body.decode("utf8", "surrogateescape")

    def settings(self):
        found = [f"{key} = '{value}'" for key, value in self.parameters.items() if key not in NOT_SETTINGS]
        return " SETTINGS " + ", ".join(found) if found else ""

    @property
    def is_insert(self):
        return self.sql.lstrip().upper().startswith("INSERT")


class Fault:
    """What happens instead of an answer. when: before or after the statement was run."""

    def __init__(self, status=0, text="", when="before", cut=False, hold=None):
        self.status, self.text, self.when, self.cut, self.hold = status, text, when, cut, hold


class Engine:
    def __init__(self, folder):
        self.session, self.lock = session.Session(folder), threading.Lock()

    def run(self, request):
        """(bytes, format) of the answer."""
        with self.lock:
            database = request.parameters.get("database") or request.headers.get("x-clickhouse-database")
            self.session.query("USE " + (f"`{database}`" if database else "default"))
            insert = re.match(r"(?is)^\s*insert\s+into\s+(.*?)\s+format\s+(\w+)\s*$", request.sql)
            if insert:
                return self.insert(request, *insert.groups()), "Native"
            found = re.search(r"(?is)\bformat\s+(\w+)\s*;?\s*$", request.sql)
            kind = found.group(1) if found else request.parameters.get("default_format", "TabSeparated")
            sql = request.sql[:found.start()] if found else request.sql
            result = self.session.query(sql, kind)
            return (result.bytes() if result is not None else b"") or b"", kind

    def insert(self, request, into, kind):
        packed = request.headers.get("content-encoding", "none")
        with tempfile.NamedTemporaryFile() as file:
            file.write(request.data)
            file.flush()
            self.session.query(f"INSERT INTO {into} FROM INFILE '{file.name}' COMPRESSION '{packed}'"
                               f"{request.settings()} FORMAT {kind}")
        return b""

    def ask(self, sql):
        """Rows of a question, as lists of text."""
        with self.lock:
            text = self.session.query(sql, "TabSeparatedRaw").bytes().decode()
        return [line.split("\t") for line in text.splitlines()]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply(200, b"Ok.\n")

    def do_POST(self):
        request = Request(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))
        server = self.server
        with server.lock:
            server.requests.append(request)
            fault = server.faults.pop(0)(request) if server.faults else None
        if fault and fault.hold:
            fault.hold.wait()
        if fault and fault.when == "before":
            return self.fail(fault)
        status, text, headers = self.run(request)
        if fault:
            return self.fail(fault)
        return self.reply(status, text, headers)

    def run(self, request):
        try:
            text, kind = self.server.engine.run(request)
            return 200, text, {"X-ClickHouse-Format": kind}
        except Exception as error:  # pylint: disable=broad-except
            code = re.match(r"Code: (\d+)\.", str(error))
            code = int(code.group(1)) if code else 1
            return STATUS.get(code, 500), f"{error}\n".encode(), {"X-ClickHouse-Exception-Code": str(code)}

    def fail(self, fault):
        if fault.cut:
            self.close_connection = True
            return
        self.reply(fault.status, fault.text.encode())

    def reply(self, status, body, headers=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port, engine):
        super().__init__(("127.0.0.1", port), Handler)
        self.engine, self.lock, self.requests, self.faults = engine, threading.Lock(), [], []
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True, args=(0.05,)).start()

    def handle_error(self, request, client_address):
        """Clients that go away are part of the tests."""

    def stop(self):
        self.shutdown()
        self.server_close()


if __name__ == "__main__":
    started = Server(int(sys.argv[1]), Engine(sys.argv[2]))
    print(f"ready on {started.port}", flush=True)
    threading.Event().wait()
